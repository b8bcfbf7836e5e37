//! Collectives: schedules of point-to-point messages.
//!
//! A collective runs the steps of [`odonata_workload::collective`]. A step posts its receive and its send at the same
//! time; the next step begins when both are complete. If several steps begin together, their sends are spaced by the
//! overhead of a send call.
//!
//! The messages have a context of their own and carry a *stamp*: the kind of collective, its call number on the
//! communicator, and a hash of root and sizes. A stamp that differs from the rank's own shows that the ranks called
//! different collectives.

use super::call::Schedule;
use super::communicator::collective_of;
use crate::layout::Layout;
use odonata_workload::collective::Sizes;
use odonata_workload::{Collective, Counts, Program};

/// Bits of a stamp: kind, call number, hash.
const CALL_BITS: u32 = 12;
const HASH_BITS: u32 = 15;
/// Maximum number of active non-blocking collectives of a rank on a communicator. Call numbers distinguish them.
pub(crate) const MOST_BACKGROUND: u32 = (1 << CALL_BITS) - 1;
const _: () = assert!(Collective::KINDS <= 1 << (32 - CALL_BITS - HASH_BITS));

/// The stamp of the messages of the `call`-th collective of a rank.
pub(crate) fn stamp(collective: &Collective, call: u32) -> u32 {
    let mut digest = odonata_engine::Digest::new();
    collective.agreed().iter().for_each(|&word| digest.word(word));
    let hash = digest.value() as u32 & ((1 << HASH_BITS) - 1);
    collective.kind() << (CALL_BITS + HASH_BITS) | (call & ((1 << CALL_BITS) - 1)) << HASH_BITS | hash
}

/// The name of the collective in a stamp, and the low digits of its call number.
pub(crate) fn read_stamp(stamp: u32) -> (&'static str, u32) {
    let name = Collective::name_of(stamp >> (CALL_BITS + HASH_BITS));
    (name, stamp >> HASH_BITS & ((1 << CALL_BITS) - 1))
}

/// Whether two stamps have the same call number.
#[inline]
pub(crate) fn same_call(a: u32, b: u32) -> bool {
    (a ^ b) >> HASH_BITS & ((1 << CALL_BITS) - 1) == 0
}

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
