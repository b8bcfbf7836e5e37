//! mdtest's command line: its flags, read as `getopt` reads them.
//!
//! Flags and meanings are those of mdtest 3 and 4 (github.com/hpc/ior, `src/mdtest.c`). Sizes may have the suffixes k, m, g, which
//! are powers of two.

use odonata_units::Bytes;

use super::{MdtestParams, MdtestTest};

/// Longest command line, in bytes.
const LONGEST: usize = 1 << 16;

/// What a flag does here.
enum Meaning {
    /// A switch that sets something.
    On(fn(&mut MdtestParams)),
    /// It sets something to its argument.
    Value(fn(&mut MdtestParams, &str) -> Result<(), String>),
    /// It changes nothing that a simulation has; whether it takes an argument.
    Nothing(bool),
    /// It would change what is done, and that is not modelled, for this reason.
    Refused(&'static str),
}
use Meaning::{Nothing, On, Refused, Value};

/// All flags, with their names in mdtest's help.
const FLAGS: &[(char, &str, Meaning)] = &[
    ('a', "API for I/O", Nothing(true)),
    (
        'b',
        "branching factor",
        Value(|p, text| count(text).map(|value| p.branch = value)),
    ),
    ('B', "no barriers between phases", On(|p| p.no_barriers = true)),
    (
        'c',
        "collective creation",
        Refused("task 0 creating everything is not modelled: expected it without -c"),
    ),
    ('C', "only create", On(|p| p.tests.push(MdtestTest::Create))),
    ('d', "directory", Nothing(true)),
    ('D', "directories only", On(|p| p.directories_only = true)),
    (
        'e',
        "bytes to read",
        Value(|p, text| size(text).map(|value| p.read_bytes = value)),
    ),
    ('E', "only read", On(|p| p.tests.push(MdtestTest::Read))),
    (
        'f',
        "first number of tasks",
        Refused("the tasks are the ranks of the job"),
    ),
    ('F', "files only", On(|p| p.files_only = true)),
    ('G', "seed of the data", Nothing(true)),
    (
        'i',
        "iterations",
        Value(|p, text| count(text).map(|value| p.iterations = value)),
    ),
    (
        'I',
        "items per directory",
        Value(|p, text| count(text).map(|value| p.items_per_directory = Some(value))),
    ),
    ('k', "mknod", Nothing(false)),
    (
        'l',
        "last number of tasks",
        Refused("the tasks are the ranks of the job"),
    ),
    ('L', "files at the leaves only", On(|p| p.leaf_only = true)),
    (
        'n',
        "items per task",
        Value(|p, text| count(text).map(|value| p.items = Some(value))),
    ),
    (
        'N',
        "stride",
        Value(|p, text| count(text).map(|value| p.stride = value)),
    ),
    (
        'p',
        "delay before an iteration",
        Refused("a pause is a phase: workload = [{ compute = ... }, { mdtest = ... }]"),
    ),
    ('P', "print rates and times", Nothing(false)),
    ('r', "only remove", On(|p| p.tests.push(MdtestTest::Remove))),
    (
        'R',
        "random order of stat",
        Refused("items are looked up in their order"),
    ),
    (
        's',
        "stride of the number of tasks",
        Refused("the tasks are the ranks of the job"),
    ),
    ('S', "shared file", Refused("each item is a file of its own")),
    ('t', "time of unique directories", Nothing(false)),
    ('T', "only stat", On(|p| p.tests.push(MdtestTest::Stat))),
    ('u', "unique directory per task", On(|p| p.unique_directories = true)),
    ('v', "verbosity", Nothing(false)),
    ('V', "verbosity", Nothing(true)),
    (
        'w',
        "bytes to write",
        Value(|p, text| size(text).map(|value| p.write_bytes = value)),
    ),
    ('W', "stonewall timer", Refused("all items are done")),
    ('x', "stonewall file", Nothing(true)),
    ('X', "verify data", Nothing(false)),
    ('y', "sync after writing", On(|p| p.sync = true)),
    (
        'Y',
        "sync after each phase",
        Refused("a sync of the whole file system is not modelled: expected -y"),
    ),
    ('z', "depth", Value(|p, text| count(text).map(|value| p.depth = value))),
    ('Z', "print times", Nothing(false)),
];

/// Reads the arguments of `mdtest`, with or without the command itself before them.
///
/// # Errors
/// A flag that mdtest does not have, an argument that is missing or wrong, or what is not modelled; the text says which.
pub(super) fn parse(text: &str) -> Result<MdtestParams, String> {
    if text.len() > LONGEST {
        return Err(format!("the command line is longer than {LONGEST} bytes"));
    }
    let mut words = text.split_whitespace().peekable();
    if let Some(first) = words.peek().copied().filter(|first| !first.starts_with('-')) {
        let command = first.rsplit('/').next().unwrap_or(first);
        if command != "mdtest" {
            let expected = "expected the flags of mdtest, such as -n 100 -F -u";
            return Err(format!("{:?} is no flag: {expected}", shown(first)));
        }
        words.next();
    }
    let mut params = MdtestParams::default();
    while let Some(word) = words.next() {
        let Some(mut letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            let problem = "is no flag, and the flag before it takes no argument";
            return Err(format!("{:?} {problem}", shown(word)));
        };
        // Several switches in one word, the last of which may have its argument behind it.
        while let Some(letter) = letters.chars().next() {
            let rest = &letters[letter.len_utf8()..];
            let Some((_, name, meaning)) = FLAGS.iter().find(|flag| flag.0 == letter) else {
                return Err(unknown(word, letter));
            };
            let mut argument = || match rest.strip_prefix('=').unwrap_or(rest) {
                "" => words
                    .next()
                    .ok_or_else(|| format!("-{letter} has no argument, and ends the command line")),
                rest => Ok(rest),
            };
            letters = match meaning {
                On(set) => {
                    set(&mut params);
                    rest
                }
                Value(set) => {
                    let text = argument()?;
                    set(&mut params, text).map_err(|why| format!("-{letter} ({name}): {why}"))?;
                    ""
                }
                Nothing(true) => {
                    argument()?;
                    ""
                }
                Nothing(false) => rest,
                Refused(why) => return Err(format!("-{letter} ({name}): {why}")),
            };
        }
    }
    Ok(params)
}

fn shown(word: &str) -> String {
    word.chars().take(40).collect()
}

/// That `letter` of `word` is no flag.
fn unknown(word: &str, letter: char) -> String {
    let letters: String = FLAGS.iter().map(|flag| flag.0).collect();
    let swapped = |flag: &&(char, &str, Meaning)| flag.0.eq_ignore_ascii_case(&letter);
    let hint = match FLAGS.iter().find(swapped) {
        Some((other, name, _)) => format!("; did you mean -{other} ({name})?"),
        None => String::new(),
    };
    let of = if word.starts_with("--") || word.chars().count() > 2 {
        format!(" of {:?}", shown(word))
    } else {
        String::new()
    };
    format!("-{letter}{of} is no flag of mdtest: expected one of -{letters}{hint}")
}

fn count(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| format!("{:?} is no number: expected 0 to {}", shown(text), u32::MAX))
}

/// A size: bytes, or with a suffix for a power of two.
fn size(text: &str) -> Result<Bytes, String> {
    let wrong = || {
        format!(
            "{:?} is no size: expected a number with k, m, g (powers of two) or without",
            shown(text)
        )
    };
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).map(Bytes).ok_or_else(wrong)
}
