//! The bound on messages that wait at a NIC: a source that offers more load than its link carries would fill the
//! memory.
//!
//! The scenario sets the bound. It is checked when a message joins the queue, so that a run ends at the same event on
//! every scheduler.

use super::Nics;
use crate::features::HandlerContext;
use odonata_engine::Time;

/// The code with which a fabric [halts](odonata_engine::Context::halt) a run in which more messages wait at a NIC than
/// [allowed](crate::settings::Nic::message_queue); [`Fabric::overflow_first`](crate::Fabric::overflow_first) gives the
/// place. It is above the codes of hosts, so that a program error at the same time is reported first.
pub const HALT_QUEUE: u32 = 2;

/// More messages waited at a NIC than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Overflow {
    /// The time.
    pub at: Time,
    /// The node of the NIC.
    pub node: u32,
}

impl Nics {
    /// One message too many has joined the queue of `node`'s NIC.
    #[cold]
    pub(super) fn overflow<C: HandlerContext>(&mut self, ctx: &mut C, node: u32) {
        self.overflows.push::<C>(Overflow { at: ctx.now(), node });
        ctx.halt(HALT_QUEUE);
    }

    /// The first overflow, if any; among several at one time that of the lowest node.
    pub(crate) fn overflow_first(&self) -> Option<Overflow> {
        self.overflows.as_slice().iter().min().copied()
    }

    /// Number of waiting messages, partly sent ones included; and the largest number at one NIC, with that NIC.
    pub(crate) fn waiting_messages(&self) -> (u64, Option<(u32, u32)>) {
        let first_lanes = self.lanes.iter().step_by(usize::from(self.queues_per_nic()));
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
