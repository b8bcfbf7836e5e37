//! Lost time: how much later ranks reach their position because of waits, and which traffic caused the delay
//! ([`odonata_blame::lost`]).
//!
//! Every occurrence at a host has a [`Stamp`]: its time, its time in a run without waits, and the traffic that caused
//! the difference. While the hosts handle an event, one stamp is [current](StampTable::current): that of the arrived
//! message, the resumed operation, or the request in service. A message sent during the event carries the current
//! stamp, and a completion takes it over:
//!
//! | stamp of | value |
//! |---|---|
//! | a rank | the stamp of the operation that ended last |
//! | an operation | the stamp of its rank at its begin, joined with those of all requests that it has waited for and with its own end |
//! | a request | the stamp of the message, or of the departure, that completed it |
//! | a message | the stamp at its send, plus the loss of its last packet on its route |
//! | a message by rendezvous | receive and RTS are joined at the match; CTS and data carry the result |
//! | a request at a server | the stamp of its message, plus its waits at the server, joined with each piece that arrives |
//! | a request to the next lower tier | the stamp of the request whose piece it serves, which needs all answers |
//! | the end of a job | the join over all its ranks, with the loss of each before its start |
//! | the start of a job | the join over the ends of all jobs that it starts after, and over its stage-in |
//!
//! Culprits are traffic classes: `2 job` is the job's MPI, `2 job + 1` its I/O.

mod facts;
mod outside;
pub(crate) mod path;
pub(crate) mod progress;
mod stamps;
mod start;
mod storage;

pub(crate) use stamps::{Dependent, StampTable};

use crate::params::HostParams;
use outside::OutsideLinks;
use path::PathLog;
use progress::ProgressLog;
use std::sync::Arc;

/// The lost time of the hosts of a part; empty if it is not recorded.
#[derive(Debug)]
pub(crate) struct LostTime {
    pub(crate) stamps: StampTable,
    path: PathLog,
    progress: ProgressLog,
    outside: OutsideLinks,
}
odonata_engine::journalled!(LostTime {
    stamps,
    path,
    progress,
    outside
});

impl LostTime {
    /// For a part with these ranks, given as for a [`SparseStore`](odonata_engine::SparseStore), in a run of `jobs`
    /// jobs.
    pub(crate) fn new(params: &HostParams, ranks: &(Arc<[u32]>, Arc<[u32]>), jobs: usize) -> LostTime {
        let kept = params.lost_time;
        let keep = if kept { params.lost_time_path } else { 0 };
        LostTime {
            stamps: StampTable::new(if kept { 8 * ranks.1.len() + 1 } else { 0 }),
            path: PathLog::new(ranks, keep),
            progress: ProgressLog::new(kept, jobs, params.lost_time_interval),
            outside: OutsideLinks::default(),
        }
    }

    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.stamps.is_on()
    }

    /// The last waits of ranks, if they are recorded.
    pub(crate) fn path(&self) -> Option<&PathLog> {
        self.path.is_on().then_some(&self.path)
    }

    /// Lost time per iteration and per interval.
    pub(crate) fn progress(&self) -> &ProgressLog {
        &self.progress
    }
}
