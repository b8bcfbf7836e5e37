//! Completion: a request completes, and with the last one that a call waits for, the call ends when its cost has
//! passed, or a collective continues with its next step.

use super::Mpi;
use super::call::{Call, Schedule};
use super::collective::stamp;
use super::communicator::collective_of;
use super::effect::MpiEffect;
use super::matching::{PostedReceive, Poster};
use super::message::Transmission;
use super::progress::ProtocolWork;
use super::request::RequestKind;
use super::request::wait::Completion;
use super::sequence::context;
use crate::diagnosis::outcome::{Failure, InvalidOperation};
use crate::observe::{Observer, OperationEnd, StepEnd};
use crate::turn::Turn;
use odonata_engine::{Mode, NIL, Time};
use odonata_workload::collective::{Step, Transfer, choose_in, step};
use odonata_workload::{Collective, Comm, Source, Tag};

impl Mpi {
    /// Completes request `slot`, unless it is [`NIL`].
    pub(crate) fn complete<M: Mode>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32) {
        if slot == NIL {
            return;
        }
        let completion = self.requests.complete::<M>(turn, &mut self.calls, slot);
        let waiter = match completion {
            Completion::Noted => return,
            Completion::Wakes(waiter) => {
                let caller = self.calls.get(waiter).caller;
                turn.effects.push(MpiEffect::Wake { caller });
                return;
            }
            Completion::Taken(waiter) => waiter,
        };
        let call = self.calls.get(waiter);
        let pending = call.pending;
        // A background collective handles its receives when the library makes progress.
        if !call.is_background() || self.deferred.may_progress(call.rank) {
            self.handle_receives::<M>(turn, waiter);
        }
        if pending == 0 {
            let before = turn.observers.acts_for();
            self.settle::<M>(turn, waiter);
            turn.observers.act_again_for(before);
        }
    }

    /// Lets call `slot`, which was woken while waiting for one of several requests, take them.
    pub(crate) fn wake<M: Mode>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32) {
        let call = self.calls.edit::<M>(slot);
        call.pending -= 1;
        let selection = call.selection;
        self.requests.take_complete::<M>(turn, &mut self.calls, slot, selection);
        self.settle::<M>(turn, slot);
    }

    /// The time during which call `slot` occupied its stream has passed.
    pub(crate) fn resume<M: Mode>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32) {
        if self.calls.get(slot).is_background() || self.next_step::<M>(turn, slot) {
            self.settle::<M>(turn, slot);
        } else {
            self.end_call::<M>(turn, slot);
        }
    }

    /// If all requests of call `slot` are complete: it ends when its cost has passed, or continues with the next step
    /// of a collective. A non-blocking collective continues when the library makes progress.
    pub(super) fn settle<M: Mode>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32) {
        let Call { rank, caller, .. } = *self.calls.get(slot);
        let background = caller == NIL;
        if background && self.calls.get(slot).pending == 0 && !self.deferred.may_progress(rank) {
            self.progress::<M>(turn, rank, ProtocolWork::CollectiveStep { call: slot });
            return;
        }
        let operation = self.calls.operation(slot);
        loop {
            if self.calls.get(slot).pending > 0 {
                return;
            }
            self.handle_receives::<M>(turn, slot);
            let call = self.calls.get(slot);
            let until = turn.now.max(call.busy_until);
            turn.observers.step_ends::<M>(&StepEnd {
                operation,
                until,
                rank,
                kind: call.kind,
                number: call.op.0,
                since: call.since,
            });
            if until > turn.now {
                turn.effects.push(match background {
                    false => MpiEffect::Occupy { caller, until },
                    true => MpiEffect::StepEnds { call: slot, at: until },
                });
                return;
            }
            if !self.next_step::<M>(turn, slot) {
                self.end_call::<M>(turn, slot);
                return;
            }
        }
    }

    /// The processor handles the completed receives of call `slot` one after the other, starting now or when it becomes
    /// free. Handling that overlaps with waiting costs no further time (LogP).
    pub(super) fn handle_receives<M: Mode>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32) {
        if self.calls.get(slot).receives == 0 {
            return;
        }
        let operation = self.calls.operation(slot);
        let call = self.calls.edit::<M>(slot);
        let receives = std::mem::take(&mut call.receives);
        let cost = self.settings.recv_overhead.times(receives.into());
        call.busy_until = turn.now.max(call.busy_until) + cost;
        turn.observers.receives_are_handled::<M>(operation, call.busy_until);
    }

    /// Ends call `slot`; a non-blocking collective completes its request.
    pub(super) fn end_call<M: Mode>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32) {
        let Call {
            rank,
            caller,
            for_io,
            in_library,
            ..
        } = *self.calls.get(slot);
        let background = caller == NIL;
        turn.observers.operation_ends::<M>(&OperationEnd {
            operation: self.calls.operation(slot),
            rank,
            job: self.layout.place(rank).job,
            background,
            now: turn.now,
        });
        if !background {
            self.calls.end::<M>(slot);
            if in_library {
                self.deferred.leave::<M>(rank);
            }
            turn.effects.push(MpiEffect::End { caller, for_io });
            return;
        }
        let ended = self
            .calls
            .schedule(slot)
            .map(|schedule| (schedule.request, schedule.op));
        self.calls.end::<M>(slot);
        let Some((request, op)) = ended else { return };
        if let Some(collective) = collective_of(&op.kind, 0) {
            self.sequences
                .end_background::<M>(&self.layout, rank, collective.comm());
        }
        self.complete::<M>(turn, request);
    }

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

    /// Begins the next step of call `slot` and the steps that start together with it. Returns `false` if there is none
    /// or the call is not a collective.
    pub(super) fn next_step<M: Mode>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32) -> bool {
        let Some((collective, mut step)) = self.coming_step::<M>(slot) else {
            return false;
        };
        turn.observers.step_begins::<M>(self.calls.operation(slot), turn.now);
        let mut busy = Time::ZERO;
        let call = self.calls.edit::<M>(slot);
        // Counts this loop as pending: a message that has already arrived must not end the step before its send.
        (call.pending, call.busy_until) = (1, turn.now);
        loop {
            self.calls.edit_schedule::<M>(slot).step += 1;
            match self.begin_step::<M>(turn, slot, &collective, step, busy) {
                Ok(true) => busy += self.settings.send_overhead,
                Ok(false) => {}
                Err(why) => {
                    let rank = self.calls.get(slot).rank;
                    if let Some(schedule) = self.calls.schedule(slot) {
                        let op = schedule.op;
                        turn.fails(Failure::Invalid { rank, op, why });
                    }
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
        self.occupy::<M>(turn, slot, busy);
        self.calls.edit::<M>(slot).pending -= 1;
        true
    }

    /// Posts the receive of a step and sends its message after a delay of `after`. Returns whether the step sends.
    ///
    /// # Errors
    /// The communicator has no such member.
    fn begin_step<M: Mode>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        slot: u32,
        collective: &Collective,
        step: Step,
        after: Time,
    ) -> Result<bool, InvalidOperation> {
        let Call { rank, op, .. } = *self.calls.get(slot);
        let stamp = self.calls.schedule(slot).map_or(0, |schedule| schedule.stamp);
        let comm = collective.comm();
        let context = context(comm, true);
        if let Some(Transfer { peer, bytes }) = step.recv {
            let source = Source::Rank(self.layout.rank_of(rank, comm, peer)?);
            let receive = PostedReceive {
                source,
                tag: Tag::Any,
                context,
                bytes,
                request: self.open_request::<M>(slot, RequestKind::Receive),
                op,
                poster: Poster::Collective { call: slot, stamp },
                next: NIL,
            };
            self.post_receive::<M>(turn, rank, receive);
        }
        let Some(Transfer { peer, bytes }) = step.send else {
            return Ok(false);
        };
        let to = self.layout.rank_of(rank, comm, peer)?;
        let request = self.open_request::<M>(slot, RequestKind::Send);
        let send = Transmission {
            after,
            ..Transmission::new(rank, op, stamp, bytes, request)
        };
        self.send::<M>(turn, send, to, context);
        Ok(true)
    }

    /// Does `work` for `rank`, now or in its next call.
    pub(super) fn progress<M: Mode>(&mut self, turn: &mut Turn<'_, MpiEffect>, rank: u32, work: ProtocolWork) {
        if self.deferred.may_progress(rank) {
            self.work::<M>(turn, work);
        } else {
            turn.observers.work_is_deferred::<M>(work);
            self.deferred.defer::<M>(rank, work);
        }
    }

    /// Does all work deferred to this call of `rank`.
    pub(super) fn catch_up<M: Mode>(&mut self, turn: &mut Turn<'_, MpiEffect>, rank: u32) {
        while let Some(work) = self.deferred.next::<M>(rank) {
            self.work::<M>(turn, work);
        }
    }

    /// The program of `rank` has ended: the rank stays in `MPI_Finalize`.
    pub(crate) fn finalize<M: Mode>(&mut self, turn: &mut Turn<'_, MpiEffect>, rank: u32) {
        self.deferred.enter::<M>(rank);
        self.catch_up::<M>(turn, rank);
    }

    fn work<M: Mode>(&mut self, turn: &mut Turn<'_, MpiEffect>, work: ProtocolWork) {
        let before = turn.observers.acts_for();
        let operation = match work {
            ProtocolWork::CollectiveStep { call } => self.calls.operation(call),
            ProtocolWork::SendCts { .. } | ProtocolWork::SendData { .. } => NIL,
        };
        turn.observers.work_is_done::<M>(work, operation);
        match work {
            ProtocolWork::SendCts { incoming } => self.send_cts(turn, incoming),
            ProtocolWork::SendData { outgoing } => self.send_data::<M>(turn, outgoing),
            ProtocolWork::CollectiveStep { call } => self.settle::<M>(turn, call),
        }
        turn.observers.act_again_for(before);
    }
}
