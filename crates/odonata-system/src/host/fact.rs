//! What happened in the matching of messages, step by step: tests compare it with a reference that is
//! plainly right. Nothing is recorded outside of tests.

use super::Hosts;
use odonata_engine::Mode;
use odonata_workload::OpId;

/// One step. Ranks count over all jobs; `source` is a rank of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(not(test), allow(dead_code, reason = "read by tests only"))]
pub(crate) enum Fact {
    /// A message was let through to the matching, in the order of sending.
    Offered {
        rank: u32,
        source: u32,
        context: u32,
        sequence: u32,
    },
    /// The receive that operation `op` began took it.
    Matched {
        rank: u32,
        op: u32,
        source: u32,
        context: u32,
        sequence: u32,
    },
    /// Wait or test `op` took the complete request with number `number`.
    Chosen { rank: u32, op: OpId, number: u32 },
}

impl Hosts {
    /// Records a step, in tests.
    #[inline(always)]
    pub(crate) fn note<M: Mode>(&mut self, fact: Fact) {
        if cfg!(test) {
            self.facts.push::<M>(fact);
        }
    }
}
