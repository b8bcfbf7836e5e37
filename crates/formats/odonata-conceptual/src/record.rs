//! Records: all operations of every rank, and whether the ranks finish, without a clock.

mod completion;

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use odonata_workload::{ReportColumn, ReportText};

use super::ast::CounterAction;
use super::diagnostic::Diagnostics;
use super::functions::print;
use super::instance::{Abort, Instance};
use super::ir::{Piece, Report, word};
use super::machine::Step;
use super::sets::Members;
use completion::completion;

/// Maximum number of operations of all ranks in a record.
const MOST_OPERATIONS: usize = 1 << 22;
/// Maximum number of listed members of collectives: each collective lists them for every member, tasks^2 in total.
const MOST_LISTED: usize = if cfg!(fuzzing) { 1 << 12 } else { 1 << 23 };
/// Maximum number of task pairs that are listed individually.
const MOST_ROWS: usize = 64;
/// Maximum number of tasks whose counters are listed.
const MOST_COUNTED: u32 = 8;

/// The result of a program: accepted with all operations, or aborted.
#[derive(Clone, Debug)]
pub struct Record {
    json: Json,
    /// The message of an abort.
    pub failure: Option<String>,
}

/// The record of an invalid program text.
pub fn reject(program: &str, tasks: u32, args: &[String], errors: &Diagnostics) -> Record {
    Record {
        json: json!({
            "program": stem(program), "tasks": tasks, "args": args, "verdict": "reject",
            "reason": errors.reason(), "error_line": errors.line(),
        }),
        failure: Some(errors.to_string()),
    }
}

/// The name of a file without folders and suffix.
fn stem(file: &str) -> String {
    let path = std::path::Path::new(file);
    path.file_stem()
        .map_or_else(|| file.into(), |stem| stem.to_string_lossy().into_owned())
}

impl Record {
    /// One JSON object.
    pub fn json(&self) -> &Json {
        &self.json
    }

    pub(super) fn new(
        file: &str,
        tasks: u32,
        args: &[String],
        warnings: &[String],
        instance: Result<Instance, Abort>,
    ) -> Record {
        match instance.and_then(|instance| accept(&instance, warnings)) {
            Ok(mut json) => {
                json["program"] = stem(file).into();
                json["tasks"] = tasks.into();
                json["args"] = json!(args);
                Record { json, failure: None }
            }
            Err(abort) => Record {
                json: json!({
                    "program": stem(file), "tasks": tasks, "args": args, "verdict": "abort", "reason": abort.reason,
                    "when": if abort.early { "before any communication" } else { "during execution" },
                }),
                failure: Some(abort.message),
            },
        }
    }
}

fn list(members: &Members) -> Vec<u32> {
    members.iter().collect()
}

fn without(members: &Members, one: u32) -> Vec<u32> {
    members.iter().filter(|&member| member != one).collect()
}

fn label(pieces: &[Piece], values: &[f64]) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Value(value) => print(values.get(*value as usize).copied().unwrap_or(f64::NAN)),
    };
    pieces.iter().map(piece).collect()
}

/// The layout of report `report`.
pub(super) fn report_text(report: &Report) -> Option<ReportText> {
    let pieces = |pieces: &[Piece]| {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => Ok(text.clone()),
            Piece::Value(value) => Err(*value),
        };
        pieces.iter().map(piece).collect::<Vec<_>>()
    };
    Some(match report {
        Report::Output { pieces: texts, values } => ReportText::Line {
            pieces: pieces(texts),
            values: values.len().max(1) as u32,
        },
        Report::Log { columns, values } => ReportText::Columns {
            columns: columns
                .iter()
                .map(|column| ReportColumn {
                    label: pieces(&column.label),
                    aggregate: column.aggregate,
                    percent: column.percent,
                    value: column.value,
                })
                .collect(),
            values: values.len().max(1) as u32,
        },
    })
}

/// Collects the values of reports; complete reports become operations.
struct Reporter<'a> {
    instance: &'a Instance,
    values: Vec<f64>,
}

impl Reporter<'_> {
    fn take(&mut self, site: u32, index: u32, value: f64) -> Option<Json> {
        if index == 0 {
            self.values.clear();
        }
        self.values.push(value);
        let report = &self.instance.code.reports[site as usize];
        if self.values.len() < report.values().len().max(1) {
            return None;
        }
        Some(match report {
            Report::Output { pieces, .. } => json!(["output", label(pieces, &self.values)]),
            Report::Log { columns, .. } => {
                let mut op = vec![json!("log")];
                for column in columns {
                    op.push(json!([
                        label(&column.label, &self.values),
                        self.values[column.value as usize]
                    ]));
                }
                Json::Array(op)
            }
        })
    }
}

/// `step` as written in the record; `None` for steps without a record, and values of an unfinished report.
fn operation(step: &Step, reporter: &mut Reporter) -> Option<Json> {
    Some(match step {
        Step::Message {
            send,
            peer,
            bytes,
            tag,
            text_tag,
            asynchronous,
            detached,
        } => {
            let name = if *send { "send" } else { "recv" };
            let mode = match (*asynchronous, *detached) {
                (_, true) => "detached",
                (true, false) => "async",
                (false, false) => "block",
            };
            if *text_tag {
                json!([name, peer, bytes, mode, "string-tag"])
            } else if *tag > 0 {
                json!([name, peer, bytes, mode, tag])
            } else {
                json!([name, peer, bytes, mode])
            }
        }
        Step::WaitAll => json!(["waitall"]),
        Step::Barrier(None) => json!(["barrier", (0..reporter.instance.tasks).collect::<Vec<_>>()]),
        Step::Barrier(Some(data)) => json!(["barrier", list(&data.circles[0].members)]),
        Step::Multicast {
            data,
            root,
            circle,
            bytes,
        } => json!(["mcast", root, without(&data.circles[*circle].members, *root), bytes]),
        Step::Reduce { data, bytes, .. } => {
            json!([
                "reduce",
                list(&data.circles[0].members),
                list(&data.circles[1].members),
                bytes
            ])
        }
        Step::Delay { microseconds, sleep } => {
            json!([if *sleep { "sleep_us" } else { "compute_us" }, microseconds])
        }
        Step::Touch {
            region,
            word,
            first,
            count,
            stride,
        } => match stride {
            Some(stride) => json!(["touch", region, word, first, count, stride]),
            None => json!(["touch", region, word, first, count, "random"]),
        },
        Step::Report { site, index, value } => reporter.take(*site, *index, *value)?,
        Step::Aggregate => json!(["aggregate"]),
        Step::Counters(CounterAction::Reset) => json!(["reset"]),
        Step::Counters(CounterAction::Store) => json!(["store"]),
        Step::Counters(CounterAction::Restore) => json!(["restore"]),
        Step::Text(text) => json!(["backend", text]),
        Step::Open(file) => json!(["open", file]),
        Step::Close(file) => json!(["close", file]),
        Step::Sync(file) => json!(["sync", file]),
        Step::Transfer { write, bytes, .. } => json!([if *write { "write" } else { "read" }, bytes]),
        Step::Plain(_) => return None,
    })
}

/// Number of tasks that the record of `step` lists.
fn members_of(step: &Step, tasks: u32) -> usize {
    let count = |members: &Members| members.len() as usize;
    match step {
        Step::Barrier(None) => tasks as usize,
        Step::Barrier(Some(data)) => count(&data.circles[0].members),
        Step::Multicast { data, circle, .. } => count(&data.circles[*circle].members),
        Step::Reduce { data, .. } => count(&data.circles[0].members) + count(&data.circles[1].members),
        _ => 0,
    }
}

/// The name under which an operation is counted.
fn counted(op: &Json) -> &str {
    match op[0].as_str().unwrap_or("") {
        "barrier" => "sync",
        "waitall" => "wait",
        "compute_us" => "compute",
        "sleep_us" => "sleep",
        other => match other {
            "send" => "send",
            "recv" => "recv",
            "mcast" => "mcast",
            "reduce" => "reduce",
            "touch" => "touch",
            "output" => "output",
            "log" => "log",
            "aggregate" => "aggregate",
            "reset" => "reset",
            "store" => "store",
            "restore" => "restore",
            "backend" => "backend",
            "open" => "open",
            "close" => "close",
            "write" => "write",
            _ => "read",
        },
    }
}

#[derive(Default)]
struct Totals {
    barriers: u64,
    barrier_participants: u64,
    multicasts: u64,
    deliveries: u64,
    delivered: u64,
    reductions: u64,
    contributions: u64,
    contributed: u64,
    read: (u64, u64),
    written: (u64, u64),
    files: bool,
    matrix: BTreeMap<(u32, u32), (u64, u64)>,
}

impl Totals {
    fn add(&mut self, rank: u32, step: &Step, tasks: u32) {
        match step {
            Step::Message {
                send: true,
                peer,
                bytes,
                ..
            } => {
                let pair = self.matrix.entry((rank, *peer)).or_default();
                pair.0 += 1;
                pair.1 = pair.1.wrapping_add(*bytes);
            }
            Step::Barrier(data) => {
                let all = Members::All(tasks);
                let members = data.as_ref().map_or(&all, |data| &data.circles[0].members);
                self.barriers += u64::from(members.get(0) == Some(rank));
                self.barrier_participants += u64::from(members.get(0) == Some(rank)) * u64::from(members.len());
            }
            Step::Multicast {
                data,
                root,
                circle,
                bytes,
            } if *root == rank => {
                let others = u64::from(data.circles[*circle].members.len()) - 1;
                self.multicasts += 1;
                self.deliveries += others;
                self.delivered = self.delivered.wrapping_add(others.wrapping_mul(*bytes));
            }
            Step::Reduce { data, bytes, .. } if data.circles[2].members.get(0) == Some(rank) => {
                let from = u64::from(data.circles[0].members.len());
                self.reductions += 1;
                self.contributions += from;
                self.contributed = self.contributed.wrapping_add(from.wrapping_mul(*bytes));
            }
            Step::Transfer { write, bytes, .. } => {
                let total = if *write { &mut self.written } else { &mut self.read };
                total.0 = total.0.wrapping_add(*bytes);
                total.1 += 1;
                self.files = true;
            }
            Step::Open(_) | Step::Close(_) | Step::Sync(_) => self.files = true,
            _ => {}
        }
    }
}

fn accept(instance: &Instance, warnings: &[String]) -> Result<Json, Abort> {
    let mut all: Vec<Vec<Step>> = Vec::new();
    let mut ranks = Vec::new();
    let mut counters = Vec::new();
    let mut totals = Totals::default();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut left = MOST_OPERATIONS;
    let mut listed = MOST_LISTED;
    for rank in 0..instance.tasks {
        let mut memory = instance.memory();
        let steps = instance.steps(rank, left, &mut memory)?;
        left -= steps.len();
        let mut reporter = Reporter {
            instance,
            values: Vec::new(),
        };
        let mut runs: Vec<(u64, Json)> = Vec::new();
        for step in &steps {
            totals.add(rank, step, instance.tasks);
            if members_of(step, instance.tasks) > listed {
                return Err(instance.abort_with(
                    "too many members of collectives to list",
                    format!("{MOST_LISTED} at most, at {} tasks", instance.tasks),
                ));
            }
            let Some(op) = operation(step, &mut reporter) else {
                continue;
            };
            *counts.entry(counted(&op).to_owned()).or_default() += 1;
            match runs.last_mut() {
                Some((repeat, last)) if *last == op => *repeat += 1,
                _ => {
                    listed -= members_of(step, instance.tasks);
                    runs.push((1, op));
                }
            }
        }
        ranks.push(
            runs.into_iter()
                .map(|(repeat, op)| json!([repeat, op]))
                .collect::<Vec<_>>(),
        );
        let at = |word: usize| memory[word];
        counters.push(json!({
            "msgs_sent": at(word::SENT), "bytes_sent": at(word::SENT_BYTES),
            "msgs_received": at(word::RECEIVED), "bytes_received": at(word::RECEIVED_BYTES),
            "total_msgs": at(word::SENT) + at(word::RECEIVED),
            "total_bytes": at(word::SENT_BYTES).wrapping_add(at(word::RECEIVED_BYTES)),
            // The reference's RESETS zeroes its copy of this constant with the counters.
            "num_tasks": if at(word::WAS_RESET) == 0 { instance.tasks } else { 0 },
        }));
        all.push(steps);
    }
    let rows: Vec<String> = {
        let mut rows: Vec<_> = totals
            .matrix
            .iter()
            .map(|(&(src, dst), &(n, bytes))| (src, dst, n, bytes))
            .collect();
        rows.sort_unstable();
        rows.iter()
            .map(|(src, dst, n, bytes)| format!("{src} {dst} {n} {bytes}"))
            .collect()
    };
    let hash: String = Sha256::digest(rows.join("\n"))
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut summary = json!({
        "p2p_messages": totals.matrix.values().map(|pair| pair.0).sum::<u64>(),
        "p2p_bytes": totals.matrix.values().fold(0u64, |sum, pair| sum.wrapping_add(pair.1)),
        "p2p_pairs": totals.matrix.len(),
        "matrix_sha256": hash,
        "barriers": totals.barriers, "barrier_participants": totals.barrier_participants,
        "multicasts": totals.multicasts, "multicast_deliveries": totals.deliveries,
        "multicast_bytes_delivered": totals.delivered,
        "reductions": totals.reductions, "reduction_contributions": totals.contributions,
        "reduction_bytes_contributed": totals.contributed,
        "op_counts": counts,
    });
    if totals.matrix.len() <= MOST_ROWS {
        let rows: Vec<Json> = totals
            .matrix
            .iter()
            .map(|((src, dst), (n, bytes))| json!([src, dst, n, bytes]))
            .collect();
        summary["matrix"] = rows.into();
    }
    if totals.files {
        summary["io_read_bytes"] = totals.read.0.into();
        summary["io_read_ops"] = totals.read.1.into();
        summary["io_write_bytes"] = totals.written.0.into();
        summary["io_write_ops"] = totals.written.1.into();
    }
    let mut json = json!({
        "verdict": "accept", "warnings": warnings, "completion": completion(&all, instance.tasks),
        "summary": summary, "ranks": ranks,
    });
    // Like the reference's records: for few tasks, and if all operations count.
    if instance.tasks <= MOST_COUNTED && totals.multicasts == 0 && totals.reductions == 0 && !totals.files {
        json["final_counters"] = counters.into();
    }
    Ok(json)
}
