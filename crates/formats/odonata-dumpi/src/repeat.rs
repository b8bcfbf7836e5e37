//! Writing a trace that repeats its program.
//!
//! Records are copied unchanged except for their times and the counts of the footer. The part before the first call
//! after `MPI_Init`, and the part from `MPI_Finalize` on, occur once.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::error::{Fault, TraceError};
use super::label as l;
use super::rank_file::{Incomplete, RankFile, opened};
use super::record::{Record, Span};
use super::set::TraceFiles;
use super::table::CALLS;
use super::trailer::MAGIC;

/// Largest repeated part, in bytes: it is in memory during writing.
const LARGEST_PART: u64 = 1 << 30;

/// The period of the stored seconds.
const SECONDS: i64 = 65_536;
const NS: i64 = 1_000_000_000;

/// The position of a record's times.
struct Stamp {
    /// Offset in the file.
    at: u64,
    span: Span,
}

/// Writes the trace of `files` to the folder `target`, created if missing, with the part between `MPI_Init` and
/// `MPI_Finalize` repeated `times` times. On failure, a folder that existed before is left as it is, for its owner to
/// remove.
///
/// # Errors
/// A file cannot be read, or is truncated; the folder has such files or cannot be written; or `times` is 0.
pub fn repeat(files: &TraceFiles, target: &Path, times: u32) -> Result<(), TraceError> {
    if times == 0 {
        return Err(TraceError::about(target, "a trace 0 times", "at least 1"));
    }
    let made = match std::fs::create_dir(target) {
        Ok(()) => true,
        Err(_) if target.is_dir() => false,
        Err(cause) => {
            return Err(TraceError {
                expected: "a new folder".into(),
                ..TraceError::unwritable(target, &cause)
            });
        }
    };
    let written = write(files, target, times);
    if written.is_err() && made {
        // The folder is new. A failed removal is no worse than the original error.
        let _ = std::fs::remove_dir_all(target);
    }
    written
}

fn write(files: &TraceFiles, target: &Path, times: u32) -> Result<(), TraceError> {
    let mut prefix = None;
    for path in &files.ranks {
        let name = path.file_name().unwrap_or_default();
        prefix = super::rank_file::rank_of(path).map(|(prefix, _)| prefix).or(prefix);
        rank(files, path, &target.join(name), times)?;
    }
    let Some(prefix) = prefix.filter(|_| !files.meta.is_empty()) else {
        return Ok(());
    };
    let lines: String = files
        .meta
        .iter()
        .map(|(key, value)| format!("{key}={value}\n"))
        .collect();
    let meta = target.join(format!("{prefix}.meta"));
    let save = || {
        let mut file = File::create_new(&meta)?;
        file.write_all(lines.as_bytes())?;
        file.sync_all()
    };
    save().map_err(|cause| TraceError::unwritable(&meta, &cause))
}

/// The parts of a file, in bytes from its start: `first` to `last` is repeated.
struct Parts {
    first: u64,
    last: u64,
    /// End of the records, including the end-of-stream label.
    end: u64,
    /// Time from the first repeated call to the last return before the end.
    period: i64,
    stamps: Vec<Stamp>,
    tail: Vec<Stamp>,
    /// Calls in the part, by label.
    calls: Vec<u32>,
}

fn parts(files: &TraceFiles, path: &Path) -> Result<Parts, TraceError> {
    let mut file = RankFile::open(path, Incomplete::Refused)?.cancelled_by(&files.cancellation);
    let mut parts = Parts {
        first: file.place().offset,
        last: 0,
        end: 0,
        period: 0,
        stamps: Vec::new(),
        tail: Vec::new(),
        calls: vec![0; CALLS],
    };
    let (mut finalize, mut after) = (None, parts.first);
    let (mut start, mut stop) = (None, i64::MIN);
    let mut record = Record::default();
    while file.read(&mut record).map_err(|fault: Box<Fault>| fault.of(path))? {
        after = file.place().offset;
        if matches!(record.label, l::INIT | l::INIT_THREAD) {
            // Earlier records belong to the start of the program.
            parts.first = after;
            parts.stamps.clear();
            parts.calls.fill(0);
            (start, stop) = (None, i64::MIN);
            continue;
        }
        if record.label == l::FINALIZE {
            finalize.get_or_insert(record.offset);
        }
        if finalize.is_none()
            && let Some(count) = parts.calls.get_mut(usize::from(record.label))
        {
            *count = count.saturating_add(1);
        }
        let Some((span, at)) = record.wall.zip(record.wall_at()) else {
            continue;
        };
        let stamp = Stamp { at, span };
        if finalize.is_some() {
            parts.tail.push(stamp);
        } else {
            start.get_or_insert(span.start);
            stop = span.stop.max(stop);
            parts.stamps.push(stamp);
        }
    }
    parts.last = finalize.unwrap_or(after).max(parts.first);
    parts.end = file.place().offset;
    parts.period = start.map_or(0, |start| stop.saturating_sub(start));
    Ok(parts)
}

fn rank(files: &TraceFiles, path: &Path, target: &Path, times: u32) -> Result<(), TraceError> {
    let parts = parts(files, path)?;
    if parts.last - parts.first > LARGEST_PART {
        let problem = format!("{} bytes of calls", parts.last - parts.first);
        return Err(TraceError::about(path, problem, "at most 1 GiB for repetition"));
    }
    let unreadable = |cause: std::io::Error| TraceError::about(path, format!("cannot be read: {cause}"), "");
    let unwritable = |cause: std::io::Error| TraceError::unwritable(target, &cause);
    let mut source = opened(path)?;
    let mut read = |from: u64, to: u64| -> Result<Vec<u8>, TraceError> {
        let mut bytes = vec![0; (to - from) as usize];
        source.seek(SeekFrom::Start(from)).map_err(unreadable)?;
        source.read_exact(&mut bytes).map_err(unreadable)?;
        Ok(bytes)
    };
    let length = std::fs::metadata(path).map_err(unreadable)?.len();
    let head = read(0, parts.first)?;
    let part = read(parts.first, parts.last)?;
    let mut tail = read(parts.last, parts.end)?;
    let mut rest = read(parts.end, length)?;
    let added = (parts.last - parts.first) * u64::from(times - 1);
    let mut out = BufWriter::new(File::create_new(target).map_err(unwritable)?);
    out.write_all(&head).map_err(unwritable)?;
    for turn in 0..i64::from(times) {
        if files.cancellation.is_requested() {
            return Err(TraceError::cancelled(target));
        }
        let mut copy = part.clone();
        restamp(&mut copy, parts.first, &parts.stamps, turn * parts.period, path)?;
        out.write_all(&copy).map_err(unwritable)?;
    }
    restamp(
        &mut tail,
        parts.last,
        &parts.tail,
        i64::from(times - 1) * parts.period,
        path,
    )?;
    out.write_all(&tail).map_err(unwritable)?;
    move_index(&mut rest, parts.end, added, &parts.calls, times);
    out.write_all(&rest).map_err(unwritable)?;
    let file = out.into_inner().map_err(|cause| unwritable(cause.into_error()))?;
    file.sync_all().map_err(unwritable)
}

/// Shifts the times in `bytes`, which start at file offset `from`, by `by` ns.
fn restamp(bytes: &mut [u8], from: u64, stamps: &[Stamp], by: i64, path: &Path) -> Result<(), TraceError> {
    for stamp in stamps {
        let at = (stamp.at - from) as usize;
        for (at, time) in [(at, stamp.span.start), (at + 6, stamp.span.stop)] {
            let Some(stored) = bytes.get_mut(at..at + 6) else {
                return Err(TraceError::about(path, "has changed while it was read", ""));
            };
            let seconds = i64::from(u16::from_be_bytes([stored[0], stored[1]]));
            let ns = time.rem_euclid(NS) + by.rem_euclid(NS);
            let seconds = seconds + by.div_euclid(NS) + ns / NS;
            stored[..2].copy_from_slice(&(seconds.rem_euclid(SECONDS) as u16).to_be_bytes());
            stored[2..].copy_from_slice(&((ns % NS) as u32).to_be_bytes());
        }
    }
    Ok(())
}

/// Updates the part after the records: offsets of the index, counts of the footer.
fn move_index(rest: &mut [u8], from: u64, by: u64, calls: &[u32], times: u32) {
    let word = |rest: &[u8], at: usize| {
        let bytes = rest.get(at..at + 8)?;
        Some(u64::from_be_bytes(bytes.try_into().ok()?))
    };
    let start = [64, 56, 48, 40].into_iter().find_map(|size| {
        let at = rest.len().checked_sub(size)?;
        (word(rest, at)? == MAGIC).then_some(at)
    });
    let Some(start) = start else { return };
    // The last four offsets are header, body, footer, keyvals.
    let footer_at = rest.len() - 16;
    let footer = word(rest, footer_at).filter(|&offset| offset >= from);
    // An offset beyond the end of the file is invalid, and stays as it is.
    let end = from.saturating_add(rest.len() as u64);
    for at in (start + 8..rest.len()).step_by(8) {
        if let Some(offset) = word(rest, at).filter(|&offset| offset >= from && offset <= end) {
            rest[at..at + 8].copy_from_slice(&(offset + by).to_be_bytes());
        }
    }
    let Some(footer) = footer.filter(|&offset| offset <= end) else {
        return;
    };
    let footer = (footer - from) as usize + 8;
    let mut total = 0u32;
    for (label, &count) in calls.iter().chain([&0]).enumerate() {
        let at = footer + 4 * label;
        let Some(stored) = rest.get_mut(at..at + 4) else { return };
        let more = if label < CALLS {
            count.wrapping_mul(times - 1)
        } else {
            total
        };
        total = total.wrapping_add(if label < CALLS { more } else { 0 });
        let old = u32::from_be_bytes([stored[0], stored[1], stored[2], stored[3]]);
        stored.copy_from_slice(&old.wrapping_add(more).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part after the records, from file offset 100 on: `before`, then the index with its offsets.
    fn rest(before: usize, offsets: [u64; 4]) -> Vec<u8> {
        let mut bytes = vec![0; before];
        for word in [MAGIC].into_iter().chain(offsets) {
            bytes.extend(word.to_be_bytes());
        }
        bytes
    }

    #[test]
    fn offsets_behind_the_records_move_and_those_that_lead_nowhere_stay() {
        for offset in [u64::MAX, u64::MAX - 7, 1 << 63, 1_000] {
            let mut moved = rest(16, [8, 24, offset, 100]);
            move_index(&mut moved, 100, 5_000, &[3; CALLS], 2);
            assert_eq!(moved, rest(16, [8, 24, offset, 5_100]), "{offset}");
        }
    }
}
