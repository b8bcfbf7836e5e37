//! Collectives: schedules of point-to-point messages.
//!
//! A collective runs the steps of [`odonata_workload::collective`]. A step posts its receive and its send at the same
//! time; the next step begins when both are complete. If several steps begin together, their sends are spaced by the
//! overhead of a send call.
//!
//! The messages have a context of their own and carry a *stamp*: the kind of collective, its call number on the
//! communicator, and a hash of root and sizes. A stamp that differs from the rank's own shows that the ranks called
//! different collectives.

use crate::Hosts;
use crate::context::HostContext;
use crate::diagnosis::outcome::{Failure, InvalidOperation};
use crate::layout::Layout;
use crate::mpi::communicator::collective_of;
use crate::mpi::matching::{PostedReceive, Poster};
use crate::mpi::point_to_point::SendMode;
use crate::mpi::request::RequestKind;
use crate::mpi::sequence::context;
use crate::rank::activity::Activity;
use odonata_engine::{Mode, NIL, Time};
use odonata_workload::collective::{Sizes, Step, Transfer, choose_in, step};
use odonata_workload::{Collective, Comm, Counts, Program, Source, Tag};

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

impl Hosts {
    /// Prepares operation `slot` for `collective`.
    ///
    /// # Errors
    /// The rank is not in the communicator, or the collective cannot run there.
    pub(crate) fn start_collective<M: Mode>(
        &mut self,
        slot: u32,
        collective: &Collective,
    ) -> Result<(), InvalidOperation> {
        let rank = self.ranks.activity(slot).rank;
        let comm = collective.comm();
        let (member, members) = self.layout.member_of(rank, comm)?;
        if collective.check(members).is_err() {
            return Err(InvalidOperation::Collective { members });
        }
        let call = self.mpi.sequences.next_collective::<M>(&self.layout, rank, comm);
        let lists = self.layout.lists(rank);
        let algorithm = choose_in(lists.program, collective, members, &self.params.rules, &lists);
        let activity = self.ranks.edit_activity::<M>(slot);
        (activity.member, activity.members) = (member, members);
        (activity.algorithm, activity.step, activity.stamp) = (algorithm, 0, stamp(collective, call));
        Ok(())
    }

    /// Prepares operation `slot`, which creates a communicator, for its first collective.
    pub(crate) fn start_creation<M: Mode>(&mut self, slot: u32) -> Result<(), InvalidOperation> {
        let Activity { op, rank, part, .. } = *self.ranks.activity(slot);
        let comm = collective_of(&op.kind, part).map_or(Comm::WORLD, |collective| collective.comm());
        self.layout.member_of(rank, comm)?;
        match collective_of(&op.kind, part) {
            Some(collective) => self.start_collective::<M>(slot, &collective),
            None => Ok(()),
        }
    }

    /// Counts the start (`more`) or end of a non-blocking collective of `rank` on `comm`.
    ///
    /// # Errors
    /// Too many are active.
    pub(crate) fn count_background<M: Mode>(
        &mut self,
        rank: u32,
        comm: Comm,
        more: bool,
    ) -> Result<(), InvalidOperation> {
        let sequences = &mut self.mpi.sequences;
        if sequences.count_background::<M>(&self.layout, rank, comm, more) > MOST_BACKGROUND {
            return Err(InvalidOperation::TooManyCollectives);
        }
        Ok(())
    }

    /// Completes the non-blocking collective of operation `activity`.
    pub(crate) fn end_background<C: HostContext>(&mut self, ctx: &mut C, activity: &Activity) {
        if let Some(collective) = collective_of(&activity.op.kind, 0) {
            let counted = self.count_background::<C>(activity.rank, collective.comm(), false);
            debug_assert!(counted.is_ok(), "there are fewer now");
        }
        self.complete(ctx, activity.request);
    }

    /// Begins the next step of operation `slot` and the steps that start together with it. Returns `false` if there is
    /// none or the operation is not a collective.
    pub(crate) fn next_step<C: HostContext>(&mut self, ctx: &mut C, slot: u32) -> bool {
        let (collective, mut step) = loop {
            let Activity { op, part, .. } = *self.ranks.activity(slot);
            let Some(collective) = collective_of(&op.kind, part) else {
                return false;
            };
            if let Some(step) = self.step_of(slot, &collective) {
                break (collective, step);
            }
            let Some(next) = collective_of(&op.kind, part + 1) else {
                return false;
            };
            self.ranks.edit_activity::<C>(slot).part += 1;
            if self.start_collective::<C>(slot, &next).is_err() {
                return false;
            }
        };
        let now = ctx.now();
        self.ranks.lost.begin_step::<C>(slot, now);
        let mut busy = Time::ZERO;
        let activity = self.ranks.edit_activity::<C>(slot);
        // Counts this loop as pending: a message that has already arrived must not end the step before its send.
        (activity.pending, activity.busy_until) = (1, now);
        loop {
            self.ranks.edit_activity::<C>(slot).step += 1;
            match self.begin_step(ctx, slot, &collective, step, busy) {
                Ok(sent) if sent => busy += self.params.mpi.send_overhead,
                Ok(_) => {}
                Err(why) => {
                    let Activity { op, rank, .. } = *self.ranks.activity(slot);
                    self.fail(ctx, Failure::Invalid { rank, op, why });
                    return false;
                }
            }
            if !step.more {
                break;
            }
            match self.step_of(slot, &collective) {
                Some(next) => step = next,
                None => break,
            }
        }
        self.occupy::<C>(slot, busy);
        self.ranks.edit_activity::<C>(slot).pending -= 1;
        true
    }

    /// The current step of operation `slot` in its collective.
    #[inline]
    fn step_of(&self, slot: u32, collective: &Collective) -> Option<Step> {
        let Activity {
            rank,
            algorithm,
            step: index,
            member,
            members,
            ..
        } = *self.ranks.activity(slot);
        step(collective, algorithm, member, members, index, &self.layout.lists(rank))
    }

    /// Posts the receive of a step and sends its message after a delay of `after`. Returns whether the step sends.
    ///
    /// # Errors
    /// The communicator has no such member.
    fn begin_step<C: HostContext>(
        &mut self,
        ctx: &mut C,
        slot: u32,
        collective: &Collective,
        step: Step,
        after: Time,
    ) -> Result<bool, InvalidOperation> {
        let Activity { op, rank, stamp, .. } = *self.ranks.activity(slot);
        let comm = collective.comm();
        let context = context(comm, true);
        if let Some(Transfer { peer, bytes }) = step.recv {
            let source = Source::Rank(self.layout.rank_of(rank, comm, peer)?);
            let request = self
                .mpi
                .requests
                .open_blocking::<C>(&mut self.ranks, slot, RequestKind::Receive);
            let receive = PostedReceive {
                source,
                tag: Tag::Any,
                context,
                bytes,
                request,
                op: op.id,
                poster: Poster::Collective { activity: slot, stamp },
                next: NIL,
            };
            self.post_receive(ctx, rank, receive);
        }
        let Some(Transfer { peer, bytes }) = step.send else {
            return Ok(false);
        };
        let to = self.layout.rank_of(rank, comm, peer)?;
        let request = self
            .mpi
            .requests
            .open_blocking::<C>(&mut self.ranks, slot, RequestKind::Send);
        self.send_to_rank(
            ctx,
            (rank, op.id),
            to,
            stamp,
            context,
            bytes,
            request,
            SendMode::Standard { after },
        );
        Ok(true)
    }
}
