//! Time between the calls of each thread, which the program computes.
//!
//! Time between two unsuccessful polls is waiting, unless time in calls counts as computation, too.

use odonata_units::Time;

use crate::label as l;
use crate::record::{Arg, Record};

/// A thread of a rank.
#[derive(Clone, Copy, Debug)]
struct Thread {
    number: u16,
    /// Return of its last call.
    stop: i64,
    /// Whether that call was an unsuccessful poll.
    polling: bool,
    /// Computation time not yet replayed, in ns; zero at the start of a chunk.
    debt: u64,
}

/// The threads of a rank in the order of their first calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Threads {
    threads: Vec<Thread>,
    /// Start of the first call.
    begin: Option<i64>,
}

/// The thread of a call, and its time in it.
pub(super) struct Passed {
    /// Index among the threads.
    pub(super) thread: usize,
    /// In ns.
    pub(super) inside: u64,
    pub(super) is_failed_poll: bool,
}

impl Threads {
    pub(super) fn len(&self) -> usize {
        self.threads.len()
    }

    /// Accounts for the time since the last call of the thread.
    pub(super) fn pass(&mut self, record: &Record, counts_calls: bool) -> Passed {
        let begin = record.wall.map_or(0, |span| *self.begin.get_or_insert(span.start));
        let known = self.threads.iter().position(|thread| thread.number == record.thread);
        let index = known.unwrap_or_else(|| {
            self.threads.push(Thread {
                number: record.thread,
                stop: begin,
                polling: false,
                debt: 0,
            });
            self.threads.len() - 1
        });
        let thread = &mut self.threads[index];
        let sort = sort(record);
        let mut inside = 0;
        if let Some(span) = record.wall {
            // Between two polls, the program waits.
            let waited = thread.polling && sort != Sort::Other && !counts_calls;
            if !waited {
                let gap = span.start.saturating_sub(thread.stop).max(0);
                thread.debt = thread.debt.saturating_add(gap as u64);
            }
            inside = span.stop.saturating_sub(span.start.max(thread.stop)).max(0) as u64;
            thread.stop = thread.stop.max(span.stop);
        }
        match sort {
            Sort::Local => {}
            Sort::FailedPoll => thread.polling = true,
            Sort::Poll | Sort::Other => thread.polling = false,
        }
        Passed {
            thread: index,
            inside,
            is_failed_poll: sort == Sort::FailedPoll,
        }
    }

    /// `thread` has computed for `ns` more nanoseconds.
    pub(super) fn owe(&mut self, thread: usize, ns: u64) {
        let thread = &mut self.threads[thread];
        thread.debt = thread.debt.saturating_add(ns);
    }

    /// The computation of `thread` not yet replayed, which ends with this; times `scale`.
    pub(super) fn settle(&mut self, thread: usize, scale: f64) -> Time {
        scaled(std::mem::take(&mut self.threads[thread].debt), scale)
    }

    /// Forgets the computation of `thread` not yet replayed.
    pub(super) fn forgive(&mut self, thread: usize) {
        self.threads[thread].debt = 0;
    }
}

/// The kind of a call for the accounting of time between calls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Local,
    FailedPoll,
    Poll,
    Other,
}

fn sort(record: &Record) -> Sort {
    let hit = match record.label {
        l::TEST | l::TESTALL | l::TESTANY | l::IPROBE | l::MPIO_TEST | l::MPIO_TESTALL | l::MPIO_TESTANY => {
            record.int(Arg::Flag) != 0
        }
        l::REQUEST_GET_STATUS => false,
        l::TESTSOME | l::MPIO_TESTSOME => record.int(Arg::Outcount) > 0,
        l::GET_COUNT | l::OP_CREATE | l::OP_FREE => return Sort::Local,
        l::SEND..=l::SENDRECV_REPLACE
        | l::BARRIER..=l::SCAN
        | l::COMM_DUP..=l::COMM_FREE
        | l::ALLTOALLW
        | l::EXSCAN
        | l::FILE_OPEN..=l::MPIO_TESTSOME => return Sort::Other,
        _ => return Sort::Local,
    };
    if hit { Sort::Poll } else { Sort::FailedPoll }
}

/// `ns` nanoseconds times `scale`; at most [`Time::BEYOND`].
fn scaled(ns: u64, scale: f64) -> Time {
    let ps = if scale == 1.0 {
        ns.saturating_mul(1_000)
    } else {
        (ns as f64 * 1_000.0 * scale).round() as u64
    };
    Time(ps).min(Time::BEYOND)
}
