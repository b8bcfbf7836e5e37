//! The table `logs`: values reported by programs, as rows of their logs.
//!
//! Values of a column are collected until the program completes them, or ends; then they are aggregated.

use std::collections::BTreeMap;

use super::row::row;
use super::sources::Sources;
use odonata_engine::Time;
use odonata_host::ReportRecord;
use odonata_workload::aggregate::Aggregate;
use odonata_workload::{Program, ReportText};

row! {
    /// Logs and output of programs, by job, rank and time; a rank with more than 1,048,576 rows ends the run.
    "logs" => pub struct LogRow {
        /// Name of the job.
        job: String,
        /// Rank of the job.
        rank: u64,
        /// Simulated time; for aggregated values, the time of the last one.
        #[unit = "s"]
        time_s: f64,
        /// Heading of the column; empty for a line of text.
        label: String,
        /// Aggregate of the column: each, mean, median, ...; text for a line.
        aggregate: &'static str,
        /// The value; 0 for a line of text.
        #[unit = "of the program"]
        value: f64,
        /// Count of the value in a histogram; otherwise 1.
        count: u64,
        /// The line of text.
        text: String,
    }
}

/// The open columns of one rank: (report, column) to heading, percentile and values.
type Open = BTreeMap<(u32, usize), (String, f64, Vec<f64>)>;

/// By job, rank and time.
pub(super) fn rows(from: &Sources<'_>) -> Vec<LogRow> {
    let (scenario, records) = (from.scenario, &from.hosts.reports);
    let mut rows = Vec::new();
    for of_rank in records.chunk_by(|a, b| (a.job, a.rank) == (b.job, b.rank)) {
        let job = &scenario.jobs[usize::from(of_rank[0].job)];
        // The program existed when the run began.
        let Ok(Some(program)) = job.program() else { continue };
        rank_rows(&job.name, &*program, of_rank, &mut rows);
    }
    rows
}

fn text(pieces: &[Result<String, u32>], values: &[f64]) -> String {
    let piece = |piece: &Result<String, u32>| match piece {
        Ok(text) => text.clone(),
        Err(value) => values
            .get(*value as usize)
            .map_or_else(String::new, |&value| odonata_conceptual::print(value)),
    };
    pieces.iter().map(piece).collect()
}

fn rank_rows(job: &str, program: &dyn Program, records: &[ReportRecord], rows: &mut Vec<LogRow>) {
    let mut open = Open::new();
    let mut values: Vec<f64> = Vec::new();
    let mut texts: BTreeMap<u32, Option<ReportText>> = BTreeMap::new();
    let rank = u64::from(records[0].rank);
    let row = |time: Time| LogRow {
        job: job.to_owned(),
        rank,
        time_s: time.seconds(),
        count: 1,
        ..LogRow::default()
    };
    let mut last = Time::ZERO;
    for record in records {
        last = record.time;
        if record.report == u32::MAX {
            close(program, &mut open, last, &row, rows);
            continue;
        }
        if record.index == 0 {
            values.clear();
        }
        values.push(f64::from_bits(record.value));
        let known = texts
            .entry(record.report)
            .or_insert_with(|| program.report(record.report));
        match known {
            Some(ReportText::Line { pieces, values: count }) if values.len() == *count as usize => rows.push(LogRow {
                aggregate: "text",
                text: text(pieces, &values),
                ..row(record.time)
            }),
            Some(ReportText::Columns { columns, values: count }) if values.len() == *count as usize => {
                for (number, column) in columns.iter().enumerate() {
                    let percent = column
                        .percent
                        .and_then(|which| values.get(which as usize))
                        .copied()
                        .unwrap_or(0.0);
                    let cell = open
                        .entry((record.report, number))
                        .or_insert_with(|| (text(&column.label, &values), percent, Vec::new()));
                    cell.2.push(values[column.value as usize]);
                }
            }
            _ => {}
        }
    }
    close(program, &mut open, last, &row, rows);
}

/// Aggregates the collected values.
fn close(program: &dyn Program, open: &mut Open, time: Time, row: &dyn Fn(Time) -> LogRow, rows: &mut Vec<LogRow>) {
    for ((report, number), (label, percent, values)) in std::mem::take(open) {
        let Some(ReportText::Columns { columns, .. }) = program.report(report) else {
            continue;
        };
        let aggregate: Aggregate = columns[number].aggregate;
        for (value, count) in aggregate.of(&values, percent) {
            rows.push(LogRow {
                label: label.clone(),
                aggregate: aggregate.name(),
                value,
                count,
                ..row(time)
            });
        }
    }
}
