//! The bound on messages that wait at a NIC: a source that offers more load than its link carries would fill the
//! memory.
//!
//! The scenario sets the bound. It is checked when a message joins the queue, so that a run ends at the same event on
//! every scheduler.

use crate::features::HandlerContext;
use odonata_engine::{Rows, Time};

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

/// The overflows of a part, in the order of their events.
#[derive(Debug)]
pub(super) struct Overflows {
    rows: Rows<Overflow>,
}
odonata_engine::journalled!(Overflows { rows });

impl Overflows {
    pub(super) fn new() -> Overflows {
        Overflows { rows: Rows::new() }
    }

    /// One message too many has joined the queue of `node`'s NIC.
    pub(super) fn halt<C: HandlerContext>(&mut self, ctx: &mut C, node: u32) {
        self.rows.push::<C>(Overflow { at: ctx.now(), node });
        ctx.halt(HALT_QUEUE);
    }

    /// The first overflow, if any; among several at one time that of the lowest node.
    pub(super) fn first(&self) -> Option<Overflow> {
        self.rows.as_slice().iter().min().copied()
    }
}
