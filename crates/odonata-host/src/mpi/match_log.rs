//! Match log: what the matching of messages has decided, step by step, as the records of a run that asks for them.
//!
//! By it a run can be held against another implementation of MPI's rules. Beside it the steps that a timeline asks for are
//! kept.

use crate::timeline::{StepLog, TimelineParams};
use odonata_engine::{Mode, Rows};
use odonata_workload::OpId;

/// One step. Ranks count over all jobs; `source` is a rank of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum MatchRecord {
    /// A message was let through to the matching, in the order of sending.
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
    /// The receive that operation `op` began took it.
    Matched {
        /// Receiver.
        rank: u32,
        /// Number of the operation in the receiver's program.
        op: u32,
        /// Sender.
        source: u32,
        /// As of an offered message.
        context: u32,
        /// As of an offered message.
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

/// The records, if they are asked for.
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

    /// Records a step, if that is asked for.
    #[inline(always)]
    pub(crate) fn record<M: Mode>(&mut self, record: impl FnOnce() -> MatchRecord) {
        if self.enabled {
            self.rows.push::<M>(record());
        }
    }

    /// The steps, in the order in which they were taken.
    pub(crate) fn records(&self) -> &[MatchRecord] {
        self.rows.as_slice()
    }
}
