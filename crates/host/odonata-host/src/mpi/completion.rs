//! Completion: a request completes, and with the last one that a call waits for, the call ends when its cost has
//! passed, or a collective continues with its next step.

use super::Mpi;
use super::calls::Call;
use super::collective::Schedule;
use super::communicator::collective_of;
use super::effect::MpiEffect;
use super::matching::{PostedReceive, Poster};
use super::message::Transmission;
use super::one_sided::end_epoch;
use super::progress::ProtocolWork;
use super::request::kind::RequestKind;
use super::request::wait::Completion;
use super::sequence::context;
use crate::context::Uses;
use crate::failure::{Failure, InvalidOperation};
use crate::observe::{Observer, OperationEnd, StepEnd};
use crate::turn::Turn;
use odonata_engine::{NIL, Time};
use odonata_workload::collective::{Step, Transfer};
use odonata_workload::{Algorithm, Collective, OpKind, Source, Tag};

impl Mpi {
    /// Completes request `slot`, unless it is [`NIL`].
    pub(crate) fn complete<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32) {
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
            let before = turn.observers.acts_for::<M>();
            self.settle::<M>(turn, waiter);
            turn.observers.act_again_for::<M>(before);
        }
    }

    /// Lets call `slot`, which was woken while waiting for one of several requests, take them.
    pub(crate) fn wake<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32) {
        let call = self.calls.edit::<M>(slot);
        call.pending -= 1;
        let selection = call.selection;
        self.requests.take_complete::<M>(turn, &mut self.calls, slot, selection);
        self.settle::<M>(turn, slot);
    }

    /// The time during which call `slot` occupied its stream has passed.
    pub(crate) fn resume<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32) {
        let call = self.calls.get(slot);
        if call.is_background() || (call.is_collective() && self.next_step::<M>(turn, slot)) {
            self.settle::<M>(turn, slot);
        } else {
            self.end_call::<M>(turn, slot);
        }
    }

    /// If all requests of call `slot` are complete: it ends when its cost has passed, or continues with the next step
    /// of a collective. A non-blocking collective continues when the library makes progress.
    pub(super) fn settle<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32) {
        let Call { rank, caller, .. } = *self.calls.get(slot);
        let background = caller == NIL;
        let needs_library = || !self.calls.schedule(slot).is_some_and(Schedule::is_offloaded);
        if background && self.calls.get(slot).pending == 0 && !self.deferred.may_progress(rank) && needs_library() {
            self.progress::<M>(turn, rank, ProtocolWork::CollectiveStep { call: slot });
            return;
        }
        let operation = self.calls.operation(slot);
        loop {
            if self.calls.get(slot).pending > 0 {
                return;
            }
            self.handle_receives::<M>(turn, slot);
            self.begin_local_work::<M>(turn, slot);
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
            if !(self.calls.get(slot).is_collective() && self.next_step::<M>(turn, slot)) {
                self.end_call::<M>(turn, slot);
                return;
            }
        }
    }

    /// The processor handles the completed receives of call `slot` one after the other, starting now or when it becomes
    /// free. Handling that overlaps with waiting costs no further time (LogP).
    #[inline(always)]
    pub(super) fn handle_receives<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32) {
        if self.calls.get(slot).receives > 0 {
            self.handle_completed_receives::<M>(turn, slot);
        }
    }

    #[inline(never)]
    fn handle_completed_receives<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32) {
        let operation = self.calls.operation(slot);
        let Call { schedule, rank, .. } = *self.calls.get(slot);
        let schedules = &self.calls.schedules;
        let by_interface = schedule != NIL && schedules.goes_on_in_interfaces((schedule, rank), &self.layout);
        let call = self.calls.edit::<M>(slot);
        let receives = std::mem::take(&mut call.receives);
        let copies = std::mem::take(&mut call.copies);
        let cost = match by_interface {
            true => Time::ZERO,
            false => self.settings.recv_overhead.times(receives.into()) + copies,
        };
        call.busy_until = self.noise.end_of_work(rank, turn.now.max(call.busy_until), cost);
        turn.observers.receives_are_handled::<M>(operation, call.busy_until);
    }

    /// The processor sums and copies what the step of call `slot` asks for, after its messages.
    #[inline]
    fn begin_local_work<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32) {
        if !self.settings.has_local_work() || self.calls.schedule(slot).is_none() {
            return;
        }
        let work = std::mem::take(&mut self.calls.edit_schedule::<M>(slot).local_work);
        if work > Time::ZERO {
            let operation = self.calls.operation(slot);
            let call = self.calls.edit::<M>(slot);
            call.busy_until = (self.noise).end_of_work(call.rank, turn.now.max(call.busy_until), work);
            turn.observers.stream_is_occupied::<M>(operation, call.busy_until);
        }
    }

    /// Ends call `slot`; a non-blocking collective completes its request.
    pub(super) fn end_call<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32) {
        let Call {
            rank,
            caller,
            for_io,
            in_library,
            ..
        } = *self.calls.get(slot);
        let background = caller == NIL;
        if !background && let Some(OpKind::OneSided(call)) = self.calls.schedule(slot).map(|schedule| schedule.op.kind)
        {
            end_epoch::<M>(turn, (&self.settings, &self.layout), rank, call);
        }
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

    /// Begins the next step of call `slot` and the steps that start together with it. Returns `false` if there is none
    /// or the call is not a collective.
    pub(super) fn next_step<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32) -> bool {
        let Call { schedule, rank, .. } = *self.calls.get(slot);
        if schedule == NIL {
            return false;
        }
        let (schedules, layout) = (&mut self.calls.schedules, &self.layout);
        let Some((collective, mut step)) = schedules.coming_step::<M>((schedule, rank), layout, &mut self.sequences)
        else {
            return false;
        };
        turn.observers.step_begins::<M>(self.calls.operation(slot), turn.now);
        let mut busy = match self.calls.schedules.get(schedule).step {
            0 => self.settings.collective_overhead,
            _ => Time::ZERO,
        };
        let call = self.calls.edit::<M>(slot);
        // Counts this loop as pending: a message that has already arrived must not end the step before its send.
        (call.pending, call.busy_until) = (1, turn.now);
        loop {
            let schedules = &mut self.calls.schedules;
            if self.settings.has_local_work() {
                schedules.add_local_work::<M>(schedule, &self.settings, &collective, step);
            }
            schedules.edit::<M>(schedule).step += 1;
            match self.begin_step::<M>(turn, slot, &collective, step, busy) {
                Ok(occupied) => busy += occupied,
                Err(why) => {
                    let op = self.calls.schedules.get(schedule).op;
                    turn.fails(Failure::Invalid { rank, op, why });
                    return false;
                }
            }
            if !step.more {
                break;
            }
            match (self.calls.schedules).step((schedule, rank), &collective, &self.layout) {
                Some(next) => step = next,
                None => break,
            }
        }
        self.occupy::<M>(turn, slot, busy);
        self.calls.edit::<M>(slot).pending -= 1;
        true
    }

    /// Posts the receive of a step and sends its message after a delay of `after`. Returns the time that the step
    /// occupies the rank.
    ///
    /// # Errors
    /// The communicator has no such member.
    fn begin_step<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        slot: u32,
        collective: &Collective,
        step: Step,
        after: Time,
    ) -> Result<Time, InvalidOperation> {
        let Call { rank, op, schedule, .. } = *self.calls.get(slot);
        let Schedule { stamp, algorithm, .. } = *self.calls.schedules.get(schedule);
        if algorithm == Algorithm::Switches {
            return Ok(self.contribute::<M>(turn, slot, collective, after));
        }
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
            return Ok(Time::ZERO);
        };
        let to = self.layout.rank_of(rank, comm, peer)?;
        let request = self.open_request::<M>(slot, RequestKind::Send);
        let send = Transmission {
            after,
            sender: (self.calls.schedules).sender(
                (schedule, rank),
                collective,
                &self.layout,
                self.settings.offload.delay,
            ),
            ..Transmission::new(rank, op, stamp, bytes, request)
        };
        Ok(self.send::<M>(turn, send, to, context))
    }

    /// Does `work` for `rank`, now or in its next call.
    pub(super) fn progress<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, rank: u32, work: ProtocolWork) {
        if self.deferred.may_progress(rank) {
            self.work::<M>(turn, work);
        } else {
            turn.observers.work_is_deferred::<M>(work);
            self.deferred.defer::<M>(rank, work);
        }
    }

    /// Does all work deferred to this call of `rank`.
    #[inline(always)]
    pub(super) fn catch_up<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, rank: u32) {
        if self.deferred.has_work(rank) {
            self.do_deferred_work::<M>(turn, rank);
        }
    }

    #[inline(never)]
    fn do_deferred_work<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, rank: u32) {
        while let Some(work) = self.deferred.next::<M>(rank) {
            self.work::<M>(turn, work);
        }
    }

    /// The program of `rank` has ended: the rank stays in `MPI_Finalize`.
    pub(crate) fn finalize<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, rank: u32) {
        self.deferred.enter::<M>(rank);
        self.catch_up::<M>(turn, rank);
    }

    fn work<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, work: ProtocolWork) {
        let before = turn.observers.acts_for::<M>();
        let operation = match work {
            ProtocolWork::CollectiveStep { call } => self.calls.operation(call),
            ProtocolWork::SendCts { .. } | ProtocolWork::SendData { .. } | ProtocolWork::Combine { .. } => NIL,
        };
        turn.observers.work_is_done::<M>(work, operation);
        match work {
            ProtocolWork::SendCts { incoming } => self.rendezvous.send_cts::<M>(turn, &self.settings, incoming),
            ProtocolWork::SendData { outgoing } => self.rendezvous.send_data::<M>(turn, &self.settings, outgoing),
            ProtocolWork::CollectiveStep { call } => self.settle::<M>(turn, call),
            ProtocolWork::Combine { answer } => self.windows.combine::<M>(turn, &self.settings, answer),
        }
        turn.observers.act_again_for::<M>(before);
    }
}
