//! Collectives: schedules of point-to-point messages.
//!
//! A collective runs the steps of [`odonata_workload::collective`]. A step posts its receive and its send at the same
//! time; the next step begins when both are complete. If several steps begin together, their sends are spaced by the
//! overhead of a send call.
//!
//! The messages have a context of their own and carry a *stamp*: the kind of collective, its call number on the
//! communicator, and a hash of root and sizes. A stamp that differs from the rank's own shows that the ranks called
//! different collectives.

use super::Mpi;
use super::call::Schedule;
use super::communicator::collective_of;
use crate::diagnosis::outcome::InvalidOperation;
use crate::layout::Layout;
use odonata_engine::Mode;
use odonata_workload::collective::{Sizes, Step, choose_in, step};
use odonata_workload::{Collective, Comm, Counts, Program};

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
struct Lists<'a> {
    program: Option<&'a dyn Program>,
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
    fn lists(&self, rank: u32) -> Lists<'_> {
        Lists {
            program: self.program(rank),
            rank: self.local(rank),
        }
    }
}

impl Mpi {
    /// Prepares call `slot` for `collective`.
    ///
    /// # Errors
    /// The rank is not in the communicator, or the collective cannot run there.
    pub(super) fn start_collective<M: Mode>(
        &mut self,
        slot: u32,
        collective: &Collective,
    ) -> Result<(), InvalidOperation> {
        let rank = self.calls.get(slot).rank;
        let comm = collective.comm();
        let (member, members) = self.layout.member_of(rank, comm)?;
        if collective.check(members).is_err() {
            return Err(InvalidOperation::Collective { members });
        }
        let call = self.sequences.next_collective::<M>(&self.layout, rank, comm);
        let lists = self.layout.lists(rank);
        let algorithm = choose_in(lists.program, collective, members, &self.rules, &lists);
        let schedule = self.calls.edit_schedule::<M>(slot);
        (schedule.member, schedule.members) = (member, members);
        (schedule.algorithm, schedule.step, schedule.stamp) = (algorithm, 0, stamp(collective, call));
        Ok(())
    }

    /// Prepares call `slot`, which creates a communicator, for its first collective.
    pub(super) fn start_creation<M: Mode>(&mut self, slot: u32) -> Result<(), InvalidOperation> {
        let rank = self.calls.get(slot).rank;
        let first = self.calls.schedule(slot).and_then(Schedule::collective);
        let comm = first.map_or(Comm::WORLD, |collective| collective.comm());
        self.layout.member_of(rank, comm)?;
        match first {
            Some(collective) => self.start_collective::<M>(slot, &collective),
            None => Ok(()),
        }
    }

    /// The collective in progress of call `slot` and its next step; a call that creates a communicator goes on to its
    /// next collective. `None` if there is no further step, or the call is not a collective.
    pub(super) fn coming_step<M: Mode>(&mut self, slot: u32) -> Option<(Collective, Step)> {
        loop {
            let schedule = self.calls.schedule(slot)?;
            let collective = schedule.collective()?;
            if let Some(step) = self.step_of(slot, &collective) {
                return Some((collective, step));
            }
            let next = collective_of(&schedule.op.kind, schedule.part + 1)?;
            self.calls.edit_schedule::<M>(slot).part += 1;
            self.start_collective::<M>(slot, &next).ok()?;
        }
    }

    /// The current step of call `slot` in its collective.
    #[inline]
    pub(super) fn step_of(&self, slot: u32, collective: &Collective) -> Option<Step> {
        let Schedule {
            algorithm,
            step: index,
            member,
            members,
            ..
        } = *self.calls.schedule(slot)?;
        let lists = self.layout.lists(self.calls.get(slot).rank);
        step(collective, algorithm, member, members, index, &lists)
    }
}

impl Schedule {
    /// The collective in progress.
    #[inline]
    fn collective(&self) -> Option<Collective> {
        collective_of(&self.op.kind, self.part)
    }
}
