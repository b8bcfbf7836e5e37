//! Match log: a record of each decision of message matching, if requested.
//!
//! It allows comparing a run with another implementation of the MPI matching rules.

use super::facts::{Match, Observer, RequestTaken};
use crate::context::Uses;
use crate::io::facts::IoObserver;
use crate::mpi::matching::Envelope;
use odonata_engine::{NIL, Rows};
use odonata_workload::OpId;

/// One step. Rank numbers run over all jobs; `source` is a rank of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum MatchRecord {
    /// A message was passed to matching, in the order of sending.
    Offered {
        /// Receiver.
        rank: u32,
        /// Sender.
        source: u32,
        /// Twice the number of the communicator, plus one for messages of collectives.
        context: u32,
        /// Number of the message among those of its sender, receiver and context.
        sequence: u32,
    },
    /// The receive of operation `op` took the message.
    Matched {
        /// Receiver.
        rank: u32,
        /// Number of the operation in the receiver's program.
        op: u32,
        /// Sender.
        source: u32,
        /// As in `Offered`.
        context: u32,
        /// As in `Offered`.
        sequence: u32,
    },
    /// A wait or test took a complete request.
    Completed {
        /// Rank.
        rank: u32,
        /// The wait or test.
        op: OpId,
        /// Number of the request.
        number: u32,
    },
}

/// The records, if requested.
#[derive(Debug)]
pub(crate) struct MatchLog {
    enabled: bool,
    rows: Rows<MatchRecord>,
}
odonata_engine::journalled!(MatchLog { rows });

impl MatchLog {
    pub(crate) fn new(enabled: bool) -> Self {
        MatchLog {
            enabled,
            rows: Rows::new(),
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.enabled
    }

    #[inline(always)]
    fn record<M: Uses>(&mut self, record: impl FnOnce() -> MatchRecord) {
        if self.enabled {
            self.rows.push::<M>(record());
        }
    }

    /// The steps in order.
    #[cfg(test)]
    pub(crate) fn records(&self) -> &[MatchRecord] {
        self.rows.as_slice()
    }
}

impl Observer for MatchLog {
    #[inline(always)]
    fn message_is_offered<M: Uses>(&mut self, rank: u32, message: &Envelope) {
        self.record::<M>(|| MatchRecord::Offered {
            rank,
            source: message.source,
            context: message.context,
            sequence: message.sequence,
        });
    }

    #[inline(always)]
    fn message_is_matched<M: Uses>(&mut self, found: &Match<'_>) {
        if found.receive.request != NIL {
            self.record::<M>(|| MatchRecord::Matched {
                rank: found.rank,
                op: found.begun_by,
                source: found.message.source,
                context: found.message.context,
                sequence: found.message.sequence,
            });
        }
    }

    #[inline(always)]
    fn request_is_taken<M: Uses>(&mut self, taken: &RequestTaken) {
        if taken.number != NIL {
            self.record::<M>(|| MatchRecord::Completed {
                rank: taken.rank,
                op: taken.taken_by,
                number: taken.number,
            });
        }
    }
}

impl IoObserver for MatchLog {}
