//! Collectives: schedules of point-to-point messages.
//!
//! A collective runs the steps of [`odonata_workload::collective`]. A step posts its receive and its send at the same
//! time; the next step begins when both are complete. If several steps begin together, their sends are spaced by the
//! overhead of a send call. The messages have a context of their own and carry a [stamp](super::stamp).

use super::call::Schedule;
use super::communicator::collective_of;
use crate::layout::Layout;
use odonata_workload::collective::Sizes;
use odonata_workload::{Collective, Counts, Program};

/// The size lists of a program, as one of its ranks knows them.
pub(super) struct Lists<'a> {
    pub(super) program: Option<&'a dyn Program>,
    rank: u32,
}

impl Sizes for Lists<'_> {
    fn bytes(&self, counts: Counts, from: u32, to: u32) -> u64 {
        self.program
            .map_or(0, |program| program.bytes(self.rank, counts, from, to))
    }
}

impl Layout {
    #[inline]
    pub(super) fn lists(&self, rank: u32) -> Lists<'_> {
        Lists {
            program: self.program(rank),
            rank: self.local(rank),
        }
    }
}

impl Schedule {
    /// The collective in progress.
    #[inline]
    pub(super) fn collective(&self) -> Option<Collective> {
        collective_of(&self.op.kind, self.part)
    }
}
