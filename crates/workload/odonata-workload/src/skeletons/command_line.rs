//! Command lines of benchmarks: words, quotes, and short flags parsed like `getopt`. Several switches may share a word,
//! and the last may be followed by its argument, with or without `=`.
//!
//! A benchmark describes its flags in a [`Grammar`]. Flags without effect here are kept with the reason; unmodeled or
//! unknown flags are errors that name them. Input is hostile: lines and quoted excerpts have a maximum length.

use odonata_units::Bytes;

/// Longest command line, in bytes.
const LONGEST: usize = 1 << 16;
/// Maximum length of an excerpt in errors, in characters.
const SHOWN: usize = 40;
/// Minimum similarity (Jaro-Winkler) of a misspelled name.
const NEAR: f64 = 0.8;

/// Sets a parameter of `P` from an argument; a switch gets "1".
pub(super) type Set<P> = fn(&mut P, &str) -> Result<(), String>;

/// The effect of a flag here.
pub(super) enum Meaning<P> {
    /// It sets something.
    Sets(Set<P>),
    /// It has no effect in a simulation, for this reason.
    Nothing(&'static str),
    /// It would change the behavior, but is not modeled, for this reason.
    Refused(&'static str),
}

/// A flag of a benchmark.
pub(super) struct Flag<P> {
    letter: char,
    /// Its name in the benchmark.
    name: &'static str,
    argument: bool,
    meaning: Meaning<P>,
}

pub(super) const fn switch<P>(letter: char, name: &'static str, set: Set<P>) -> Flag<P> {
    Flag {
        letter,
        name,
        argument: false,
        meaning: Meaning::Sets(set),
    }
}

pub(super) const fn value<P>(letter: char, name: &'static str, set: Set<P>) -> Flag<P> {
    Flag {
        letter,
        name,
        argument: true,
        meaning: Meaning::Sets(set),
    }
}

pub(super) const fn nothing<P>(letter: char, name: &'static str, argument: bool, why: &'static str) -> Flag<P> {
    Flag {
        letter,
        name,
        argument,
        meaning: Meaning::Nothing(why),
    }
}

pub(super) const fn refused<P>(letter: char, name: &'static str, argument: bool, why: &'static str) -> Flag<P> {
    Flag {
        letter,
        name,
        argument,
        meaning: Meaning::Refused(why),
    }
}

/// Parameters set by name, with their meanings.
type Names<P> = &'static [(&'static str, Meaning<P>)];

/// An option `--name` or `--name=value`.
pub(super) struct Long<P> {
    pub(super) name: &'static str,
    /// Whether it has an argument, after `=` or in the next word.
    pub(super) argument: bool,
    pub(super) meaning: Meaning<P>,
}

/// The command line of a benchmark.
pub(super) struct Grammar<P: 'static> {
    /// The command name that may precede the flags, as the last part of a path.
    pub(super) command: &'static str,
    /// Example flags for error messages.
    pub(super) example: &'static str,
    pub(super) flags: &'static [Flag<P>],
    pub(super) long: &'static [Long<P>],
    /// Prefixes of long options of the benchmark that are not supported, with the reason.
    pub(super) unsupported: &'static [(&'static str, &'static str)],
    /// The flag followed by `name=value,...`, and names that are not flags.
    pub(super) directives: Option<(char, Names<P>)>,
}

/// A parsed command line.
#[derive(Debug)]
pub(super) struct CommandLine<P> {
    pub(super) params: P,
    /// Flags without effect, with reasons.
    pub(super) without_effect: Vec<String>,
}

impl<P: Default> Grammar<P> {
    /// Parses the arguments, with or without the command before them.
    ///
    /// # Errors
    /// An unknown flag, a missing or wrong argument, or a flag that is not modeled.
    pub(super) fn parse(&self, text: &str) -> Result<CommandLine<P>, String> {
        if text.len() > LONGEST {
            return Err(format!("the command line is longer than {LONGEST} bytes"));
        }
        let words = words(text)?;
        let mut words = words.iter().map(String::as_str).peekable();
        if let Some(first) = words.next_if(|first| !first.starts_with('-')) {
            let command = first.rsplit('/').next().unwrap_or(first);
            if !command.eq_ignore_ascii_case(self.command) {
                let expected = format!("expected the flags of {}, such as {}", self.command, self.example);
                return Err(format!("{:?} is not a flag: {expected}", shown(first)));
            }
        }
        let mut line = CommandLine {
            params: P::default(),
            without_effect: Vec::new(),
        };
        while let Some(word) = words.next() {
            if let Some(option) = word.strip_prefix("--") {
                self.long_option(&mut line, option, &mut words)?;
                continue;
            }
            let Some(mut letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
                let problem = "is not a flag, and the flag before it takes no argument";
                return Err(format!("{:?} {problem}", shown(word)));
            };
            while let Some(letter) = letters.chars().next() {
                let rest = &letters[letter.len_utf8()..];
                let at = format!("-{letter}");
                let names = self.directives.filter(|(flag, _)| *flag == letter);
                let flag = self.flags.iter().find(|flag| flag.letter == letter);
                let takes = names.is_some() || flag.is_some_and(|flag| flag.argument);
                let argument = match (takes, rest) {
                    (false, _) => "1",
                    (true, "") => words
                        .next()
                        .ok_or_else(|| format!("{at} has no argument: the command line ends"))?,
                    (true, rest) => rest.strip_prefix('=').unwrap_or(rest),
                };
                match (names, flag) {
                    (Some((_, names)), _) => self.directives(&mut line, names, &at, argument)?,
                    (None, Some(flag)) => line.apply(&flag.meaning, &at, flag.name, argument)?,
                    (None, None) => return Err(self.unknown(word, Some(letter))),
                }
                letters = if takes { "" } else { rest };
            }
        }
        Ok(line)
    }

    /// `--name`, or `--name=value` or `--name value`.
    fn long_option<'w>(
        &self,
        line: &mut CommandLine<P>,
        option: &str,
        words: &mut impl Iterator<Item = &'w str>,
    ) -> Result<(), String> {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        let Some(long) = self.long.iter().find(|long| long.name == name) else {
            let known = self.unsupported.iter().find(|(begin, _)| name.starts_with(begin));
            return Err(match known {
                Some((_, why)) => format!("--{} is not supported: {why}", shown(name)),
                None => self.unknown(&format!("--{option}"), None),
            });
        };
        let argument = match (long.argument, value) {
            (false, None) => "1",
            (false, Some(_)) => return Err(format!("--{name} takes no argument")),
            (true, Some(value)) => value,
            (true, None) => (words.next()).ok_or_else(|| format!("--{name} has no argument: the command line ends"))?,
        };
        line.apply(&long.meaning, &format!("--{name}"), name, argument)
    }

    /// `name=value,...`
    fn directives(&self, line: &mut CommandLine<P>, names: Names<P>, at: &str, text: &str) -> Result<(), String> {
        let known = || {
            let flags = self.flags.iter().map(|flag| (flag.name, &flag.meaning));
            flags.chain(names.iter().map(|(name, meaning)| (*name, meaning)))
        };
        for directive in text.split(',') {
            let (name, value) = directive
                .split_once('=')
                .ok_or_else(|| format!("{at} {:?}: expected name=value", shown(directive)))?;
            let name = name.trim();
            let Some((name, meaning)) = known().find(|(known, _)| known.eq_ignore_ascii_case(name)) else {
                let hint = match nearest(name, known().map(|(known, _)| known)) {
                    Some(near) => format!("; did you mean {near}?"),
                    None => String::new(),
                };
                let command = self.command;
                return Err(format!(
                    "{at} {:?}: {command} has no parameter of this name{hint}",
                    shown(name)
                ));
            };
            line.apply(meaning, at, name, value.trim())?;
        }
        Ok(())
    }

    /// The error for an unknown flag: `letter` of `word`, or a whole long option.
    fn unknown(&self, word: &str, letter: Option<char>) -> String {
        let letters: String = self.flags.iter().map(|flag| flag.letter).collect();
        // A long option is a name.
        let long = word.trim_start_matches('-');
        let long = long.split('=').next().unwrap_or(long);
        let found = match letter {
            Some(letter) => (self.flags.iter()).find(|flag| flag.letter.to_lowercase().eq(letter.to_lowercase())),
            None => {
                let name = nearest(long, self.flags.iter().map(|flag| flag.name));
                name.and_then(|name| self.flags.iter().find(|flag| flag.name == name))
            }
        };
        let hint = match found {
            Some(flag) => format!("; did you mean -{} ({})?", flag.letter, flag.name),
            None => String::new(),
        };
        let what = match letter {
            None => format!("{:?}", shown(word)),
            Some(letter) if word.chars().count() > 2 => format!("\"-{letter}\" in {:?}", shown(word)),
            Some(letter) => format!("\"-{letter}\""),
        };
        let command = self.command;
        format!("{what} is not a flag of {command}: expected one of -{letters}{hint}")
    }
}

impl<P> CommandLine<P> {
    fn apply(&mut self, meaning: &Meaning<P>, at: &str, name: &str, argument: &str) -> Result<(), String> {
        match meaning {
            Meaning::Sets(set) => set(&mut self.params, argument).map_err(|why| format!("{at} ({name}): {why}"))?,
            Meaning::Nothing(why) => self.without_effect.push(format!("{at} ({name}: {why})")),
            Meaning::Refused(why) => return Err(format!("{at} ({name}) is not supported: {why}")),
        }
        Ok(())
    }
}

/// The most similar name, if it is similar enough.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > 64 {
        return None;
    }
    let name = name.to_lowercase();
    let like = |known: &str| strsim::jaro_winkler(&known.to_lowercase(), &name);
    let near = names
        .map(|known| (like(known), known))
        .filter(|(like, _)| *like >= NEAR);
    near.max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, known)| known)
}

/// The excerpt of a word for errors.
fn shown(word: &str) -> String {
    word.chars().take(SHOWN).collect()
}

/// The words of a command line; quotes group words.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    if let Some(open) = quote {
        return Err(format!("the quote {open} is not closed"));
    }
    words.extend(word);
    Ok(words)
}

/// A size: bytes, or with a suffix for a power of two.
pub(super) fn size(text: &str) -> Result<Bytes, String> {
    let expected = "expected a number, optionally with k, m, g or t (powers of two)";
    let wrong = || format!("{:?} is not a size: {expected}", shown(text));
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        Some((at, 't' | 'T')) => (&text[..at], 40),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).map(Bytes).ok_or_else(wrong)
}

/// A count.
pub(super) fn count(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| format!("{:?} is not a number: expected 0 to {}", shown(text), u32::MAX))
}
