//! Checks of a trace.

use std::collections::HashMap;
use std::path::Path;

use odonata_trace_format::{Check, Finding, Severity, lint_program};

use super::error::TraceError;
use super::rank_file::{Incomplete, RankFile};
use super::record::{Record, call_name};
use super::set::TraceFiles;
use super::table::CALLS;
use super::trace::Trace;

/// Checks a trace: reads all files three times.
///
/// # Errors
/// A file cannot be read.
pub fn lint(files: &TraceFiles) -> Result<Vec<Finding>, TraceError> {
    let mut list = Vec::new();
    for (rank, path) in (0..).zip(&files.ranks) {
        file(files, rank, path, &mut list)?;
    }
    let trace = Trace::of(files.clone().with(Incomplete::Read), 1.0)?;
    let mut communicators = Check::new("communicators", &mut list);
    for problem in trace.problems() {
        communicators.error(|| problem.clone());
    }
    drop(communicators);
    list.extend(lint_program(&trace, &files.cancellation));
    if files.cancellation.is_requested() {
        return Err(TraceError::cancelled(&files.ranks[0]));
    }
    if let Some(error) = trace.lost() {
        return Err(error.clone());
    }
    for (oddity, count) in trace.oddities() {
        list.push(Finding {
            severity: Severity::Note,
            check: "replay",
            text: format!("{count} {}", oddity.describe()),
        });
    }
    Ok(list)
}

/// Checks one file by itself.
fn file(files: &TraceFiles, rank: u32, path: &Path, list: &mut Vec<Finding>) -> Result<(), TraceError> {
    let mut file = RankFile::open(path, Incomplete::Read)?.cancelled_by(&files.cancellation);
    let footer = file.trailer().and_then(|trailer| trailer.footer.clone());
    let mut calls = vec![0u32; CALLS];
    let mut stops: HashMap<u16, i64> = HashMap::new();
    let mut times = Check::new("times", list);
    file.for_each(path, |record: &Record| {
        if let Some(count) = calls.get_mut(usize::from(record.label)) {
            *count = count.wrapping_add(1);
        }
        let Some(span) = record.wall else { return };
        let name = call_name(record.label);
        if span.stop < span.start {
            let by = span.start - span.stop;
            times.error(|| {
                format!(
                    "rank {rank}, byte {}: {name} ends {by} ns before it starts",
                    record.offset
                )
            });
        }
        let stop = stops.entry(record.thread).or_insert(i64::MIN);
        if span.start < *stop {
            let by = stop.saturating_sub(span.start);
            times.error(|| {
                format!(
                    "rank {rank}, byte {}: {name} starts {by} ns before the previous call ends",
                    record.offset
                )
            });
        }
        *stop = span.stop.max(*stop);
    })?;
    drop(times);
    if let Some(damage) = file.damage(path) {
        Check::new("complete", list).error(|| damage.to_string());
    }
    let mut counts = Check::new("footer", list);
    for (label, &seen) in calls.iter().enumerate() {
        let Some(footer) = &footer else { break };
        let stated = footer.calls[label].wrapping_sub(footer.ignored[label]);
        if stated != seen {
            let name = call_name(label as u16);
            counts.error(|| format!("rank {rank}: {seen} records of {name}, the footer counts {stated}"));
        }
    }
    if let Some(footer) = &footer {
        for (what, list, total) in [
            ("calls", &footer.calls, footer.totals[0]),
            ("ignored calls", &footer.ignored, footer.totals[1]),
        ] {
            let sum = list.iter().fold(0u32, |sum, &count| sum.wrapping_add(count));
            if sum != total {
                counts.error(|| format!("rank {rank}: {sum} {what} in the footer, whose total is {total}"));
            }
        }
    }
    Ok(())
}
