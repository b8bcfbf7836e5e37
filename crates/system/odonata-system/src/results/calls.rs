//! The tables `calls` and `requests`: individual calls of selected ranks.

use super::row::row;
use super::sources::Sources;
use odonata_engine::{NIL, Time};
use odonata_host::{CallRecord, IterationRecord};

row! {
    /// One row per call of the ranks selected by run.timeline, up to its rows: computations, MPI calls, file accesses,
    /// ends of iterations. A call lasts as long as it blocks its stream.
    "calls" => pub struct CallRow {
        /// Name of the job.
        job: String,
        /// Rank in the job.
        rank: u64,
        /// Number of the call in the rank's program, from 0.
        call: u64,
        /// Stream of the program; a sequential program has only stream 0.
        stream: u64,
        /// Name of the call: compute, MPI_Send, MPI_Allreduce, write, ...; iteration: the end of one.
        name: &'static str,
        /// Class of its time in the table ranks: compute, mpi or io; other: MPI calls of streams except 0, and ends of
        /// iterations.
        class: &'static str,
        /// When it was called, simulated time.
        #[unit = "s"]
        begin_s: f64,
        /// When it ended; at most the end of the run.
        #[unit = "s"]
        end_s: f64,
        /// 1 if it ended before the run, else 0.
        finished: u64,
        /// The iteration in which it ended, as marked by the program; -1: after the last one, or there are none.
        iteration: i64,
        /// Rank of the job that it sends to or receives from, or the root of a collective; -1: none, or any.
        peer: i64,
        /// Size: of a sent message, of the buffer of a receive, of a rank's contribution to a collective (0 if sizes
        /// differ), of an access.
        #[unit = "bytes"]
        bytes: u64,
        /// File of an access; -1 for other calls.
        file: i64,
        /// The first request that it begins, waits for, tests or frees; -1: none.
        request: i64,
        /// Number of requests, numbered from that one on.
        requests: u64,
    }
}

row! {
    /// One row per request begun by a call of the table calls and completed by the end of the period of run.timeline.
    "requests" => pub struct RequestRow {
        /// Name of the job.
        job: String,
        /// Rank in the job.
        rank: u64,
        /// Number chosen by the program.
        request: u64,
        /// Number of the call that began it.
        call: u64,
        /// What was called.
        name: &'static str,
        /// When, simulated time.
        #[unit = "s"]
        begin_s: f64,
        /// When it completed: the data has left, or has arrived.
        #[unit = "s"]
        end_s: f64,
        /// As for the call.
        peer: i64,
        /// As for the call.
        #[unit = "bytes"]
        bytes: u64,
    }
}

/// A number, or -1 for none.
pub(super) fn number(number: u32) -> i64 {
    if number == NIL { -1 } else { i64::from(number) }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<CallRow> {
    let calls = &from.hosts.timeline.calls;
    let mut marks: Vec<(u16, u32, Time, u32)> = Vec::new();
    if !calls.is_empty() {
        let mark = |r: &IterationRecord| (r.job, r.rank, r.time, r.iteration);
        marks.extend(from.hosts.iterations.iter().map(mark));
        marks.sort_unstable();
    }
    let row = |call: &CallRecord| {
        let (job, rank) = from.hosts.job_of(call.rank);
        let name = call.kind.name();
        let next = marks.get(marks.partition_point(|&(j, r, time, _)| (j, r, time) < (job, rank, call.end)));
        let own = next.filter(|&&(j, r, ..)| (j, r) == (job, rank));
        let of_file = matches!(name, "open" | "close" | "read" | "write" | "iread" | "iwrite");
        CallRow {
            job: from.scenario.jobs[usize::from(job)].name.to_string(),
            rank: u64::from(rank),
            call: u64::from(call.call),
            stream: u64::from(call.stream),
            name,
            class: call.charge.name(),
            begin_s: call.begin.seconds(),
            end_s: call.end.seconds(),
            finished: u64::from(!call.unfinished),
            iteration: match name {
                "iteration" => call.number as i64,
                _ => own.map_or(-1, |&(.., iteration)| i64::from(iteration)),
            },
            peer: number(call.peer),
            bytes: call.bytes,
            file: if of_file { call.number as i64 } else { -1 },
            request: number(call.request),
            requests: u64::from(call.count),
        }
    };
    calls.iter().map(row).collect()
}

pub(super) fn request_rows(from: &Sources<'_>) -> Vec<RequestRow> {
    let row = |span: odonata_host::RequestSpan| {
        let (job, rank) = from.hosts.job_of(span.call.rank);
        RequestRow {
            job: from.scenario.jobs[usize::from(job)].name.to_string(),
            rank: u64::from(rank),
            request: u64::from(span.request),
            call: u64::from(span.call.call),
            name: span.call.kind.name(),
            begin_s: span.call.begin.seconds(),
            end_s: span.end.seconds(),
            peer: number(span.call.peer),
            bytes: span.call.bytes,
        }
    };
    from.hosts.timeline.requests().into_iter().map(row).collect()
}
