//! One record: a call with its times and arguments.

use std::io::{Read, Seek};
use std::sync::LazyLock;

use super::error::{Fault, Found};
use super::input::Input;
use super::table::{CALLS, END_OF_STREAM, FUNCTION_ENTER, FUNCTION_EXIT, PCONTROL, TABLE};
use super::trailer::Version;

macro_rules! names {
    ($($name:ident $text:literal),* $(,)?) => {
        /// Arguments that are kept; the others are skipped.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum Arg { $($name),* }
        const ARGS: &[(&str, Arg)] = &[$(($text, Arg::$name)),*];
    };
}

names! {
    Count "count", Type "type", Dest "dest", Tag "tag", Comm "comm", Source "source", Req "req", Flag "flag",
    Reqs "reqs", Index "index", Outcount "outcount", Indices "indices", Rcount "rcount", Rtype "rtype", Rtag "rtag",
    Old "old", New "new", Bl "bl", Lens "lens", Olds "olds", V "v", Root "root", Rank "rank", Scount "scount",
    Stype "stype", Rcounts "rcounts", Scounts "scounts", Counts "counts", Op "op", Group "group", G1 "g1", G2 "g2",
    Ranks "ranks", Ranges "ranges", Color "color", Key "key", Local "local", Lleader "lleader", Remote "remote",
    Rleader "rleader", High "high", Ndim "ndim", Dims "dims", Reorder "reorder", Nodes "nodes", Remain "remain",
    Name "name", Win "win", Types "types", Rtypes "rtypes", Sub "sub", File "file", Off "off", Et "et", Ft "ft",
    Ioreq "ioreq", Whence "whence", Newcomm "newcomm", Target "target", Amode "amode", Size "size",
}

/// Number of kept arguments.
const KEPT: usize = ARGS.len();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    U8,
    I16,
    I32,
    I64,
    ListU8,
    ListI16,
    ListI32,
    NestedI32,
    Text,
    Texts,
    NestedTexts,
    Statuses,
}

#[derive(Clone, Copy, Debug)]
enum Presence {
    Always,
    AtRoot,
    Below(Version),
    From(Version),
}

/// One argument of a call.
#[derive(Clone, Copy, Debug)]
struct Field {
    kind: Kind,
    /// Its slot; [`KEPT`] or more if it is skipped.
    slot: u8,
    when: Presence,
}

fn version(text: &str) -> Version {
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    let mut part = || parts.next().unwrap_or(0);
    Version(part(), part(), part())
}

/// Parses `name:type` of the table.
fn field(text: &str) -> Field {
    let (text, at_root) = match text.strip_prefix('?') {
        Some(text) => (text, true),
        None => (text, false),
    };
    let (name, kind) = text.split_once(':').expect("the table has name:type");
    let (kind, when) = if let Some((kind, below)) = kind.split_once('<') {
        (kind, Presence::Below(version(below)))
    } else if let Some((kind, from)) = kind.split_once(">=") {
        (kind, Presence::From(version(from)))
    } else if at_root {
        (kind, Presence::AtRoot)
    } else {
        (kind, Presence::Always)
    };
    let kind = match kind {
        "u8" => Kind::U8,
        "i16" => Kind::I16,
        "i32" => Kind::I32,
        "i64" => Kind::I64,
        "[u8]" => Kind::ListU8,
        "[i16]" => Kind::ListI16,
        "[i32]" => Kind::ListI32,
        "[[i32]]" => Kind::NestedI32,
        "str32" => Kind::Text,
        "[str32]" => Kind::Texts,
        "[[str32]]" => Kind::NestedTexts,
        "status[]" => Kind::Statuses,
        other => unreachable!("no type {other} in the notation of the table"),
    };
    let slot = ARGS.iter().find(|(text, _)| *text == name);
    Field {
        kind,
        slot: slot.map_or(u8::MAX, |&(_, arg)| arg as u8),
        when,
    }
}

/// The arguments of every label.
static LAYOUTS: LazyLock<Vec<Box<[Field]>>> = LazyLock::new(|| {
    TABLE
        .iter()
        .map(|(_, text)| text.split_whitespace().map(field).collect())
        .collect()
});

/// The name of the call with this label, or of the instrumented function.
pub fn call_name(label: u16) -> &'static str {
    match label {
        FUNCTION_ENTER => "function enter",
        FUNCTION_EXIT => "function exit",
        _ => TABLE.get(usize::from(label)).map_or("?", |(name, _)| name),
    }
}

/// A stored status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Size of the message in bytes.
    pub bytes: i32,
    /// Its sender, a rank of the communicator.
    pub source: i32,
    /// Its tag; -1 in files that do not store it.
    pub tag: i32,
    /// Whether the operation was cancelled.
    pub cancelled: bool,
}

/// A time span on the clock of a rank, as stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Enter, in ns since the epoch of the clock.
    pub start: i64,
    /// Return.
    pub stop: i64,
}

/// A record with room for the arguments of any call; reused for each record.
#[derive(Clone, Debug, smart_default::SmartDefault)]
pub struct Record {
    /// The call; below 290, or a label of instrumented functions.
    pub label: u16,
    /// The thread that called.
    pub thread: u16,
    /// CPU time, if stored.
    pub cpu: Option<Span>,
    /// Wall time, if stored.
    pub wall: Option<Span>,
    /// Offset of the record in its file, in bytes.
    pub offset: u64,
    threaded: bool,
    present: u64,
    #[default([0; KEPT])]
    values: [i64; KEPT],
    /// Parts of `numbers`.
    #[default([(0, 0); KEPT])]
    lists: [(u32, u32); KEPT],
    numbers: Vec<i32>,
    text: String,
    statuses: Vec<Status>,
}

impl Record {
    /// Integer argument `arg`, if the record has it.
    #[inline]
    pub fn get(&self, arg: Arg) -> Option<i64> {
        (self.present & (1 << arg as u64) != 0).then(|| self.values[arg as usize])
    }

    /// Integer argument `arg`, or 0; all integers except offsets fit.
    #[inline]
    pub fn int(&self, arg: Arg) -> i32 {
        self.get(arg).unwrap_or(0) as i32
    }

    /// List argument `arg`, empty if the record does not have it. Nested lists are concatenated.
    #[inline]
    pub fn list(&self, arg: Arg) -> &[i32] {
        if self.present & (1 << arg as u64) == 0 {
            return &[];
        }
        let (start, end) = self.lists[arg as usize];
        &self.numbers[start as usize..end as usize]
    }

    /// File offset of the wall times, if stored.
    pub(super) fn wall_at(&self) -> Option<u64> {
        let before = 3 + if self.threaded { 2 } else { 0 } + if self.cpu.is_some() { 12 } else { 0 };
        self.wall.map(|_| self.offset + before)
    }

    /// The file name, for calls with one.
    pub fn name(&self) -> &str {
        &self.text
    }

    /// The statuses; empty if they were ignored.
    #[inline]
    pub fn statuses(&self) -> &[Status] {
        &self.statuses
    }

    fn keep_value(&mut self, slot: u8, value: i64) {
        if let Some(place) = self.values.get_mut(usize::from(slot)) {
            *place = value;
            self.present |= 1 << slot;
        }
    }
}

/// Properties common to all records of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) version: Version,
    pub(super) cpu_base: i64,
    pub(super) wall_base: i64,
}

const NS: i64 = 1_000_000_000;

/// Start and stop; see [`Record`].
#[inline]
fn span<R: Read + Seek>(input: &mut Input<R>, base: i64) -> Found<Span> {
    let mut time = || -> Found<i64> {
        let seconds = i64::from(input.u16()?);
        let ns = i64::from(input.u32()?);
        Ok((base + seconds) * NS + ns)
    };
    Ok(Span {
        start: time()?,
        stop: time()?,
    })
}

/// Reads the next record into `record`; `false` at the end-of-stream label.
pub(super) fn read<R: Read + Seek>(input: &mut Input<R>, frame: &Frame, record: &mut Record) -> Found<bool> {
    let offset = input.position();
    let label = input.u16()?;
    if label == END_OF_STREAM {
        return Ok(false);
    }
    let function = matches!(label, FUNCTION_ENTER | FUNCTION_EXIT);
    if !(function || usize::from(label) < CALLS) || label == PCONTROL {
        return Err(Fault::new(
            offset,
            format!("label {label}"),
            "that of a call, 0 to 289, or 293 for the end",
        ));
    }
    let mask = input.u8()?;
    if mask & 0x30 != 0 {
        return Err(Fault::new(
            offset + 2,
            format!("mask {mask:#04x}"),
            "bits 0x10 and 0x20 to be 0",
        ));
    }
    (record.label, record.offset, record.present) = (label, offset, 0);
    record.threaded = mask & 0x40 != 0;
    record.thread = if mask & 0x40 != 0 { input.u16()? } else { 0 };
    record.cpu = if mask & 0x04 != 0 {
        Some(span(input, frame.cpu_base)?)
    } else {
        None
    };
    record.wall = if mask & 0x08 != 0 {
        Some(span(input, frame.wall_base)?)
    } else {
        None
    };
    if mask & 0x80 != 0 {
        let counters = input.u8()?;
        input.skip(u64::from(counters) * 16)?;
    }
    record.numbers.clear();
    record.statuses.clear();
    record.text.clear();
    if function {
        input.i64()?;
        return Ok(true);
    }
    // Forcing the `LazyLock` costs one load.
    for field in &LAYOUTS[usize::from(label)] {
        let there = match field.when {
            Presence::Always => true,
            Presence::AtRoot => record.int(Arg::Rank) == record.int(Arg::Root),
            Presence::Below(version) => frame.version < version,
            Presence::From(version) => frame.version >= version,
        };
        if there && !(field.kind == Kind::Statuses && mask & 3 == 0) {
            argument(input, frame, field, record)?;
        }
    }
    Ok(true)
}

#[inline]
fn argument<R: Read + Seek>(input: &mut Input<R>, frame: &Frame, field: &Field, record: &mut Record) -> Found<()> {
    match field.kind {
        Kind::U8 => {
            let value = i64::from(input.u8()?);
            record.keep_value(field.slot, value);
        }
        Kind::I16 => {
            let value = i64::from(input.i16()?);
            record.keep_value(field.slot, value);
        }
        Kind::I32 => {
            let value = i64::from(input.i32()?);
            record.keep_value(field.slot, value);
        }
        Kind::I64 => {
            let value = input.i64()?;
            record.keep_value(field.slot, value);
        }
        _ => long_argument(input, frame, field, record)?,
    }
    Ok(())
}

fn long_argument<R: Read + Seek>(input: &mut Input<R>, frame: &Frame, field: &Field, record: &mut Record) -> Found<()> {
    let kept = usize::from(field.slot) < KEPT;
    let start = record.numbers.len();
    match field.kind {
        Kind::ListU8 => {
            let length = input.length(1)?;
            input.skip(length as u64)?;
        }
        Kind::ListI16 => {
            let length = input.length(2)?;
            for _ in 0..length {
                record.numbers.push(i32::from(input.i16()?));
            }
        }
        Kind::ListI32 => {
            let length = input.length(4)?;
            if kept {
                record.numbers.reserve(length);
                for _ in 0..length {
                    record.numbers.push(input.i32()?);
                }
            } else {
                input.skip(length as u64 * 4)?;
            }
        }
        Kind::NestedI32 => {
            for _ in 0..input.length(4)? {
                for _ in 0..input.length(4)? {
                    record.numbers.push(input.i32()?);
                }
            }
        }
        Kind::Text => {
            let length = input.length(1)?;
            if kept {
                record.text = input.text(length)?;
            } else {
                input.skip(length as u64)?;
            }
        }
        Kind::Texts => texts(input)?,
        Kind::NestedTexts => {
            for _ in 0..input.length(4)? {
                texts(input)?;
            }
        }
        Kind::Statuses => {
            let tagged = frame.version >= Version(0, 6, 3);
            for _ in 0..input.length(if tagged { 14 } else { 10 })? {
                record.statuses.push(Status {
                    bytes: input.i32()?,
                    source: input.i32()?,
                    cancelled: input.u8()? != 0,
                    tag: {
                        input.u8()?; // the error code
                        if tagged { input.i32()? } else { -1 }
                    },
                });
            }
        }
        Kind::U8 | Kind::I16 | Kind::I32 | Kind::I64 => unreachable!("these are short"),
    }
    if kept && field.kind != Kind::Text {
        record.lists[usize::from(field.slot)] = (start as u32, record.numbers.len() as u32);
        record.present |= 1 << field.slot;
    }
    Ok(())
}

fn texts<R: Read + Seek>(input: &mut Input<R>) -> Found<()> {
    for _ in 0..input.length(4)? {
        let length = input.length(1)?;
        input.skip(length as u64)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read_and_every_kept_argument_occurs() {
        assert_eq!(LAYOUTS.len(), CALLS);
        const { assert!(KEPT <= 64, "presence is kept in 64 bits") };
        for (number, (name, _)) in ARGS.iter().enumerate() {
            let found = LAYOUTS.iter().flatten().any(|field| usize::from(field.slot) == number);
            assert!(found, "no call has {name}");
        }
    }
}
