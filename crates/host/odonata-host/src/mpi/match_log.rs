//! Match log: a record of each decision of message matching, if requested.
//!
//! It allows comparing a run with another implementation of the MPI matching rules. The module also keeps the message
//! steps for a timeline.

use crate::timeline::{StepLog, TimelineParams};
use odonata_engine::{Mode, Rows};
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
    /// Steps of messages and requests for a timeline.
    pub(crate) steps: StepLog,
}
odonata_engine::journalled!(MatchLog { rows, steps });

impl MatchLog {
    pub(crate) fn new(enabled: bool, timeline: Option<&TimelineParams>) -> Self {
        MatchLog {
            enabled,
            rows: Rows::new(),
            steps: StepLog::new(timeline),
        }
    }

    /// Records a step, if requested.
    #[inline(always)]
    pub(crate) fn record<M: Mode>(&mut self, record: impl FnOnce() -> MatchRecord) {
        if self.enabled {
            self.rows.push::<M>(record());
        }
    }

    /// The steps in order.
    pub(crate) fn records(&self) -> &[MatchRecord] {
        self.rows.as_slice()
    }
}
