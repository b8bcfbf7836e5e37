//! The trailer of a file: header, footer, datatype sizes, located by the index at the end.
//!
//! ```text
//!  magic | records, last label | header | footer | keyvals | counters | sizes | addresses | index
//! ```
//!
//! The reader accounts for every byte: the parts are contiguous, and the index, written last, ends the file. So
//! truncated files, and files with appended bytes, are detected.

use std::io::{Read, Seek};

use super::error::{Fault, Found};
use super::input::Input;
use super::table::CALLS;

/// First and index magic.
pub(super) const MAGIC: u64 = 0xffaa_dd44_554d_5049;
/// Magic of the footer.
pub(super) const FOOTER: u64 = 0xf007_fee7;
/// Where the body starts.
pub(super) const BODY: u64 = 8;
/// Number of bytes before the end that are searched for a misplaced index.
const SEARCHED: u64 = 1 << 20;

/// Version of the format: major, minor, patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u8, pub u8, pub u8);

/// Call counts by label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footer {
    /// Calls.
    pub calls: Vec<u32>,
    /// Calls without a record, because they were made from within another.
    pub ignored: Vec<u32>,
    /// The totals of both, as stated in the file.
    pub totals: [u32; 2],
}

/// Metadata of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// Version of the format.
    pub version: Version,
    /// Start of the program, Unix seconds.
    pub start_time: u64,
    /// The machine that traced.
    pub hostname: String,
    /// The user.
    pub username: String,
    /// Counts of calls.
    pub footer: Option<Footer>,
    /// Size of each datatype in bytes, by id; 0: unused. Empty if the file states none.
    pub sizes: Vec<i32>,
    /// Where the records end.
    pub(super) body_end: u64,
}

/// A part of a file after its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Header,
    Footer,
    Keyvals,
    Counters,
    Sizes,
    Addresses,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Header => "header",
            Part::Footer => "footer",
            Part::Keyvals => "keyvals",
            Part::Counters => "counter labels",
            Part::Sizes => "sizes of datatypes",
            Part::Addresses => "addresses",
        }
    }
}

/// The contents of the index.
struct Index {
    /// Where it is.
    at: u64,
    /// The parts of the file, in file order, with their offsets.
    parts: Vec<(u64, Part)>,
}

/// Checks the start of a DUMPI file.
pub(super) fn check_start<R: Read + Seek>(input: &mut Input<R>, length: u64) -> Found<()> {
    input.seek(0, length)?;
    match input.u64()? {
        MAGIC => Ok(()),
        other => {
            let expected = format!("{MAGIC:#018x}, as at the start of every DUMPI file");
            Err(Fault::new(0, format!("{other:#018x}"), expected))
        }
    }
}

/// Reads the part after the records of a file of `length` bytes.
pub(super) fn read<R: Read + Seek>(input: &mut Input<R>, length: u64) -> Found<Trailer> {
    let index = index(input, length)?;
    let (mut header, mut footer, mut sizes) = (None, None, Vec::new());
    let mut parts = index.parts.iter().peekable();
    let mut at = match parts.peek() {
        Some(&&(first, Part::Header)) if first > BODY => first,
        first => {
            let (problem, offset) = match first {
                Some((offset, part)) => (format!("the {} at byte {offset}", part.name()), *offset),
                None => ("an index without a header".into(), index.at),
            };
            let expected = format!("a header after the records, which begin at byte {BODY}");
            return Err(Fault::new(offset, problem, expected));
        }
    };
    let body_end = at;
    // Tracers write the keyvals after the footer and omit them from the index.
    let mut keyvals = index.parts.iter().any(|&(_, part)| part == Part::Keyvals);
    loop {
        let next = parts.peek().map_or(index.at, |&&(offset, _)| offset);
        let what = parts.peek().map_or("index", |(_, part)| part.name());
        if next < at {
            let expected = format!("it at byte {at}, where the preceding part ends");
            return Err(Fault::new(next, format!("the {what} at byte {next}"), expected));
        }
        if next > at && !keyvals {
            keyvals = true;
            input.seek(at, next)?;
            skip_keyvals(input).map_err(|fault| of_part(Part::Keyvals, fault))?;
            at = input.position();
            continue;
        }
        if next > at {
            let problem = format!("{} bytes before the {what} that belong to no part", next - at);
            return Err(Fault::new(at, problem, format!("the {what} here")));
        }
        let Some(&(_, part)) = parts.next() else { break };
        input.seek(at, index.at)?;
        let read = match part {
            Part::Header => read_header(input).map(|found| header = Some(found)),
            Part::Footer => read_footer(input).map(|found| footer = Some(found)),
            Part::Keyvals => skip_keyvals(input),
            Part::Counters => skip_texts(input, 0),
            Part::Addresses => skip_texts(input, 8),
            Part::Sizes => read_sizes(input).map(|found| sizes = found),
        };
        read.map_err(|fault| of_part(part, fault))?;
        at = input.position();
    }
    let (version, start_time, hostname, username) = header.expect("it is the first part");
    Ok(Trailer {
        version,
        start_time,
        hostname,
        username,
        footer,
        sizes,
        body_end,
    })
}

fn of_part(part: Part, mut fault: Box<Fault>) -> Box<Fault> {
    fault.problem = format!("{}: {}", part.name(), fault.problem);
    fault.ended = false;
    fault
}

/// Finds the index of a file of `length` bytes, and checks its consistency.
fn index<R: Read + Seek>(input: &mut Input<R>, length: u64) -> Found<Index> {
    let mut impossible = None;
    // From the longest to the shortest: magic, then (sizes, (addresses, (counters))), header, body, footer, keyvals.
    for words in [8, 7, 6, 5] {
        let size = words * 8;
        if length < size + BODY {
            continue;
        }
        let at = length - size;
        input.seek(at, length)?;
        if input.u64()? != MAGIC {
            continue;
        }
        let mut offsets = [0; 7];
        for offset in &mut offsets[8 - words as usize..] {
            *offset = input.u64()?;
        }
        // The start of a truncated long index looks like a short one with other words.
        match checked(at, offsets) {
            Ok(index) => return Ok(index),
            Err(fault) => impossible = impossible.or(Some(fault)),
        }
    }
    match impossible {
        Some(fault) => Err(fault),
        None => Err(no_index(input, length)?),
    }
}

/// The index at byte `at`, whose words after the magic are `offsets`.
fn checked(at: u64, offsets: [u64; 7]) -> Found<Index> {
    let [sizes, addresses, counters, header, body, footer, keyvals] = offsets;
    if body != 0 && body != BODY {
        let problem = format!("index: the records at byte {body}");
        return Err(Fault::new(at, problem, format!("them at byte {BODY}")));
    }
    let parts = [
        (header, Part::Header),
        (footer, Part::Footer),
        (keyvals, Part::Keyvals),
        (counters, Part::Counters),
        (sizes, Part::Sizes),
        (addresses, Part::Addresses),
    ];
    // An absent part has offset 0.
    let mut parts: Vec<(u64, Part)> = parts.into_iter().filter(|&(offset, _)| offset != 0).collect();
    parts.sort_by_key(|&(offset, _)| offset);
    if let Some((offset, part)) = parts.last().filter(|&&(offset, _)| offset > at) {
        let problem = format!("index: the {} at byte {offset}", part.name());
        return Err(Fault::new(at, problem, format!("at most {at}, where the index is")));
    }
    Ok(Index { at, parts })
}

/// The reason why a file of `length` bytes has no index at its end.
fn no_index<R: Read + Seek>(input: &mut Input<R>, length: u64) -> Found<Box<Fault>> {
    let whole = "64 bytes at the end of the file (40 to 56 from old tracers)";
    let Some(at) = last_magic(input, length)? else {
        let expected = "an index at the end: the traced program died, or the file was truncated";
        return Ok(Fault::new(length, "the file ends without an index", expected));
    };
    Ok(match length - at {
        short @ ..64 => Fault::new(at, format!("a truncated index of {short} bytes"), whole),
        long => Fault::new(
            at,
            format!("an index of up to 64 bytes, and {} more bytes after it", long - 64),
            whole,
        ),
    })
}

/// The last magic after the first one that is well before the end of the file.
fn last_magic<R: Read + Seek>(input: &mut Input<R>, length: u64) -> Found<Option<u64>> {
    let start = length.saturating_sub(SEARCHED).max(BODY);
    input.seek(start.min(length), length)?;
    let (mut word, mut last) = (0u64, None);
    for at in start..length {
        word = word << 8 | u64::from(input.u8()?);
        if word == MAGIC && at >= start + 7 {
            last = Some(at - 7);
        }
    }
    Ok(last)
}

fn read_header<R: Read + Seek>(input: &mut Input<R>) -> Found<(Version, u64, String, String)> {
    let version = Version(input.u8()?, input.u8()?, input.u8()?);
    let start_time = input.u64()?;
    let (hostname, username) = (input.short_text()?, input.short_text()?);
    // Coordinates and size of a mesh.
    let lists = if version < Version(0, 5, 0) { 1 } else { 2 };
    for _ in 0..lists {
        let length = input.length(4)?;
        input.skip(length as u64 * 4)?;
    }
    Ok((version, start_time, hostname, username))
}

fn read_footer<R: Read + Seek>(input: &mut Input<R>) -> Found<Footer> {
    let at = input.position();
    let magic = input.u64()?;
    if magic != FOOTER {
        let expected = format!("{FOOTER:#018x}, the start of a footer");
        return Err(Fault::new(at, format!("{magic:#018x}"), expected));
    }
    let mut table = || -> Found<(Vec<u32>, u32)> {
        let calls = (0..CALLS).map(|_| input.u32()).collect::<Found<Vec<u32>>>()?;
        Ok((calls, input.u32()?))
    };
    let ((calls, all), (ignored, all_ignored)) = (table()?, table()?);
    Ok(Footer {
        calls,
        ignored,
        totals: [all, all_ignored],
    })
}

fn read_sizes<R: Read + Seek>(input: &mut Input<R>) -> Found<Vec<i32>> {
    let count = input.length(4)?;
    (0..count).map(|_| input.i32()).collect()
}

fn skip_keyvals<R: Read + Seek>(input: &mut Input<R>) -> Found<()> {
    for _ in 0..input.length(4)? {
        for _ in 0..2 {
            let length = input.u16()?;
            input.skip(length.into())?;
        }
    }
    Ok(())
}

/// Skips a list of texts, each preceded by `before` bytes.
fn skip_texts<R: Read + Seek>(input: &mut Input<R>, before: u64) -> Found<()> {
    for _ in 0..input.length(2 + before)? {
        input.skip(before)?;
        let length = input.u16()?;
        input.skip(length.into())?;
    }
    Ok(())
}
