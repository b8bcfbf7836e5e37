//! Messages that wait at a NIC have a bound: a source that offers more than its link carries would fill the memory.
//!
//! The bound is a number of the scenario and is looked at when a message joins the queue, so that a run ends at the same
//! event whoever handles it.

use super::Nics;
use crate::features::HandlerContext;
use odonata_engine::Time;

/// The code with which a fabric [halts](odonata_engine::Context::halt) a run in which more messages wait at a NIC than
/// [may](crate::settings::Nic::message_queue); [`Fabric::overflow_first`](crate::Fabric::overflow_first) says where. Above the codes of hosts: what a program
/// did wrong at the same moment is told first.
pub const HALT_QUEUE: u32 = 2;

/// More messages than may have come to wait at a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Overflow {
    /// When.
    pub at: Time,
    /// Whose NIC it is.
    pub node: u32,
}

impl Nics {
    /// A message too many has come to the NIC of `node`.
    #[cold]
    pub(super) fn overflow<C: HandlerContext>(&mut self, ctx: &mut C, node: u32) {
        self.overflows.push::<C>(Overflow { at: ctx.now(), node });
        ctx.halt(HALT_QUEUE);
    }

    /// The first overflow, if there was one; of several at one moment that at the lowest node.
    pub(crate) fn overflow_first(&self) -> Option<Overflow> {
        self.overflows.as_slice().iter().min().copied()
    }

    /// Messages that wait, wholly or in part; and where most of them do, if any does: how many, at which NIC.
    pub(crate) fn waiting_messages(&self) -> (u64, Option<(u32, u32)>) {
        let first_lanes = self.lanes.iter().step_by(usize::from(self.lanes_of_a_nic()));
        let (mut all, mut most) = (0, None);
        for (number, nic) in (0..).zip(first_lanes) {
            all += u64::from(nic.waiting);
            if nic.waiting > most.map_or(0, |(count, _)| count) {
                most = Some((nic.waiting, number));
            }
        }
        (all, most)
    }
}
