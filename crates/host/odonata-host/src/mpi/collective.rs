//! Collectives: schedules of point-to-point messages.
//!
//! A collective runs the steps of [`odonata_workload::collective`]. A step posts its receive and its send at the same
//! time; the next step begins when both are complete. If several steps begin together, their sends are spaced by the
//! overhead of a send call. The messages have a context of their own and carry a [stamp](super::stamp).

use super::communicator::collective_of;
use super::sequence::SequenceNumbers;
use super::stamp::stamp;
use crate::context::Uses;
use crate::failure::InvalidOperation;
use crate::layout::Layout;
use crate::settings::Mpi as Settings;
use odonata_engine::{NIL, Pool, Time};
use odonata_workload::collective::{LocalWork, Rules, Sizes, Step, choose_in, local_work, step};
use odonata_workload::{Algorithm, Collective, Comm, Counts, Op, Program};

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

/// The schedule of a collective, or of a call that consists of collectives.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Schedule {
    pub(crate) op: Op,
    /// Next step.
    pub(crate) step: u32,
    /// The number of the rank in the communicator, and the number of members.
    pub(crate) member: u32,
    pub(crate) members: u32,
    /// The stamp of its messages (see the head of this file).
    pub(crate) stamp: u32,
    /// The request that a non-blocking collective completes, or [`NIL`].
    pub(crate) request: u32,
    next: u32,
    pub(crate) algorithm: Algorithm,
    /// Sums and copies after the messages of the step.
    pub(crate) local_work: Time,
    /// Index of the current collective among those that the operation consists of.
    pub(crate) part: u8,
}

odonata_engine::slots!(Schedule);

impl Schedule {
    /// Whether the network interfaces or the routers carry it out.
    #[inline]
    pub(crate) fn is_offloaded(&self) -> bool {
        matches!(self.algorithm, Algorithm::Offload { .. } | Algorithm::Switches)
    }
    /// The collective in progress.
    #[inline]
    pub(super) fn collective(&self) -> Option<Collective> {
        collective_of(&self.op.kind, self.part)
    }
}

/// What sends the messages of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sender {
    /// The library, eagerly or by rendezvous.
    Library,
    /// The processor, which hands a collective to the interfaces.
    Processor,
    /// The interface, which carries out a collective, after this time.
    Interface(Time),
}

/// The collectives in progress at the ranks of a part, each at a step of its schedule.
#[derive(Debug)]
pub(crate) struct Schedules {
    schedules: Pool<Schedule>,
    /// They choose the algorithms, with and without a tree of routers.
    rules: Rules,
    without_routers: Rules,
}
odonata_engine::journalled!(Schedules { schedules });

impl Schedules {
    pub(super) fn new(rules: Rules) -> Schedules {
        Schedules {
            schedules: Pool::new(),
            rules,
            without_routers: rules.without_routers(),
        }
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> &Schedule {
        self.schedules.get(slot)
    }

    #[inline]
    pub(super) fn edit<M: Uses>(&mut self, slot: u32) -> &mut Schedule {
        self.schedules.edit::<M>(slot)
    }

    /// Adds the schedule of `op`, which completes `request` at its end.
    pub(super) fn open<M: Uses>(&mut self, op: &Op, request: u32) -> u32 {
        self.schedules.allocate::<M>(Schedule {
            op: *op,
            step: 0,
            member: 0,
            members: 0,
            stamp: 0,
            request,
            next: NIL,
            algorithm: Algorithm::Dissemination,
            local_work: Time::ZERO,
            part: 0,
        })
    }

    /// Removes schedule `slot`.
    pub(super) fn close<M: Uses>(&mut self, slot: u32) {
        self.schedules.free::<M>(slot);
    }

    /// Prepares schedule `slot` of `rank` for `collective`.
    ///
    /// # Errors
    /// The rank is not in the communicator, or the collective cannot run there.
    pub(super) fn start<M: Uses>(
        &mut self,
        (slot, rank): (u32, u32),
        collective: &Collective,
        layout: &Layout,
        sequences: &mut SequenceNumbers,
    ) -> Result<(), InvalidOperation> {
        let comm = collective.comm();
        let (member, members) = layout.member_of(rank, comm)?;
        if collective.check(members).is_err() {
            return Err(InvalidOperation::Collective { members });
        }
        let call = sequences.next_collective::<M>(layout, rank, comm);
        let lists = layout.lists(rank);
        let rules = match layout.tree_of(rank) {
            Some(_) if members == layout.job_of(rank).ranks => &self.rules,
            _ => &self.without_routers,
        };
        let algorithm = choose_in(lists.program, collective, members, rules, &lists);
        let schedule = self.schedules.edit::<M>(slot);
        (schedule.member, schedule.members) = (member, members);
        (schedule.algorithm, schedule.step, schedule.stamp) = (algorithm, 0, stamp(collective, call));
        Ok(())
    }

    /// Prepares schedule `slot` of `rank`, which creates a communicator, for its first collective.
    ///
    /// # Errors
    /// As of [`start`](Self::start).
    pub(super) fn start_creation<M: Uses>(
        &mut self,
        (slot, rank): (u32, u32),
        layout: &Layout,
        sequences: &mut SequenceNumbers,
    ) -> Result<(), InvalidOperation> {
        let first = self.schedules.get(slot).collective();
        let comm = first.map_or(Comm::WORLD, |collective| collective.comm());
        layout.member_of(rank, comm)?;
        match first {
            Some(collective) => self.start::<M>((slot, rank), &collective, layout, sequences),
            None => Ok(()),
        }
    }

    /// The collective in progress and its next step; a call that creates a communicator goes on to its next collective.
    /// `None` if there is no further step.
    pub(super) fn coming_step<M: Uses>(
        &mut self,
        (slot, rank): (u32, u32),
        layout: &Layout,
        sequences: &mut SequenceNumbers,
    ) -> Option<(Collective, Step)> {
        loop {
            let schedule = self.schedules.get(slot);
            let collective = schedule.collective()?;
            if let Some(step) = self.step((slot, rank), &collective, layout) {
                return Some((collective, step));
            }
            let next = collective_of(&schedule.op.kind, schedule.part + 1)?;
            self.schedules.edit::<M>(slot).part += 1;
            self.start::<M>((slot, rank), &next, layout, sequences).ok()?;
        }
    }

    /// The current step in `collective`.
    #[inline]
    pub(super) fn step(&self, (slot, rank): (u32, u32), collective: &Collective, layout: &Layout) -> Option<Step> {
        let Schedule {
            algorithm,
            step: index,
            member,
            members,
            ..
        } = *self.schedules.get(slot);
        step(collective, algorithm, member, members, index, &layout.lists(rank))
    }

    /// Adds the local work of the current step.
    #[inline(never)]
    pub(super) fn add_local_work<M: Uses>(
        &mut self,
        slot: u32,
        settings: &Settings,
        collective: &Collective,
        step: Step,
    ) {
        let schedule = self.schedules.edit::<M>(slot);
        let Schedule {
            algorithm,
            step: index,
            member,
            members,
            ..
        } = *schedule;
        let LocalWork { reduced, copied } = local_work(collective, algorithm, member, members, index, &step);
        schedule.local_work += settings.reduction(reduced) + settings.copy(copied);
    }

    /// What sends the message of the current step; interfaces take `delay`. The first step of a rank without children in
    /// the tree is its only one: the processor hands its part over.
    pub(super) fn sender(
        &self,
        (slot, rank): (u32, u32),
        collective: &Collective,
        layout: &Layout,
        delay: Time,
    ) -> Sender {
        let schedule = self.schedules.get(slot);
        if !schedule.is_offloaded() {
            return Sender::Library;
        }
        match schedule.step == 1 && self.step((slot, rank), collective, layout).is_none() {
            true => Sender::Processor,
            false => Sender::Interface(delay),
        }
    }

    /// Whether the interfaces go on: they carry the collective out, and it has steps left.
    pub(super) fn goes_on_in_interfaces(&self, (slot, rank): (u32, u32), layout: &Layout) -> bool {
        let offloaded = Some(self.schedules.get(slot)).filter(|schedule| schedule.is_offloaded());
        let collective = offloaded.and_then(Schedule::collective);
        collective.is_some_and(|collective| self.step((slot, rank), &collective, layout).is_some())
    }
}
