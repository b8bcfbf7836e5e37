//! Waits and tests: operations take complete requests and wait for incomplete ones.

use super::{RequestCell, RequestKind, Requests, State};
use crate::Hosts;
use crate::context::HostContext;
use crate::lost::Dependent;
use crate::mpi::match_log::{MatchLog, MatchRecord};
use crate::rank::Ranks;
use crate::rank::activity::{Activity, Phase};
use crate::timeline::{Step, StepRecord};
use odonata_engine::{Mode, NIL, Time};
use odonata_workload::{OpKind, Request};

/// How many complete requests a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Take {
    /// The lowest complete number.
    One,
    /// All complete ones.
    Some,
    /// All, provided that all are complete.
    All,
}

impl Requests {
    /// Operation `waiter` takes complete, numbered request `slot`.
    fn take<M: Mode>(&mut self, ranks: &mut Ranks, log: &mut MatchLog, waiter: u32, slot: u32) {
        let RequestCell {
            rank,
            number,
            kind,
            plan,
            op: begun,
            state,
            ..
        } = *self.cells.get(slot);
        ranks.lost.wait::<M>(waiter, slot);
        if plan == NIL {
            self.unlink::<M>(slot);
            self.cells.free::<M>(slot);
        } else {
            let cell = self.cells.edit::<M>(slot);
            (cell.state, cell.waiter) = (State::Idle, NIL);
        }
        let activity = ranks.edit_activity::<M>(waiter);
        activity.book(kind);
        let op = activity.op.id;
        log.record::<M>(|| MatchRecord::Completed { rank, op, number });
        if kind == RequestKind::Receive && state == State::Done && log.steps.wants_now(rank) {
            let taken = StepRecord::of(Step::Taken, rank, Time::ZERO).with_request(number, op.0);
            log.steps.add_now::<M>(StepRecord { call: begun, ..taken });
        }
    }

    /// Makes operation `waiter` wait for all requests numbered `first .. first + count`.
    pub(crate) fn await_all<M: Mode>(
        &mut self,
        ranks: &mut Ranks,
        log: &mut MatchLog,
        waiter: u32,
        (first, count): (Request, u32),
    ) {
        let rank = ranks.activity(waiter).rank;
        let mut found = 0;
        let mut at = self.lists.get(rank).head;
        while at != NIL && found < count {
            let cell = *self.cells.get(at);
            if cell.concerns(waiter, first, count) {
                found += 1;
                if cell.state == State::Done {
                    self.take::<M>(ranks, log, waiter, at);
                } else {
                    self.cells.edit::<M>(at).waiter = waiter;
                    ranks.edit_activity::<M>(waiter).pending += 1;
                }
            }
            at = cell.next;
        }
    }

    /// Makes operation `waiter` wait until one of the requests numbered `first .. first + count` is complete, and then
    /// take requests according to `take`.
    pub(crate) fn await_one<M: Mode>(
        &mut self,
        ranks: &mut Ranks,
        log: &mut MatchLog,
        waiter: u32,
        (first, count): (Request, u32),
        take: Take,
    ) {
        if self.take_complete::<M>(ranks, log, waiter, (first, count), take) {
            return;
        }
        let rank = ranks.activity(waiter).rank;
        let mut waits = false;
        let mut at = self.lists.get(rank).head;
        while at != NIL {
            let cell = *self.cells.get(at);
            if cell.concerns(waiter, first, count) {
                self.cells.edit::<M>(at).waiter = waiter;
                waits = true;
            }
            at = cell.next;
        }
        ranks.edit_activity::<M>(waiter).pending += u32::from(waits);
    }

    /// Takes complete requests among `first .. first + count` for operation `waiter`, which then waits for none of
    /// them. Returns whether there were any.
    pub(crate) fn take_complete<M: Mode>(
        &mut self,
        ranks: &mut Ranks,
        log: &mut MatchLog,
        waiter: u32,
        (first, count): (Request, u32),
        take: Take,
    ) -> bool {
        let rank = ranks.activity(waiter).rank;
        let ours = self.of_rank(rank).filter(|cell| cell.concerns(waiter, first, count));
        let (mut lowest, mut open) = (None, false);
        for cell in ours {
            if cell.state == State::Open {
                open = true;
            } else if lowest.is_none_or(|number| cell.number < number) {
                lowest = Some(cell.number);
            }
        }
        let Some(lowest) = lowest.filter(|_| !(open && take == Take::All)) else {
            return false;
        };
        let mut at = self.lists.get(rank).head;
        while at != NIL {
            let cell = *self.cells.get(at);
            if cell.concerns(waiter, first, count) {
                if cell.waiter == waiter {
                    self.cells.edit::<M>(at).waiter = NIL;
                }
                if cell.state == State::Done && (take != Take::One || cell.number == lowest) {
                    self.take::<M>(ranks, log, waiter, at);
                }
            }
            at = cell.next;
        }
        true
    }

    /// The call that takes numbered request `slot` if it completes now because it waits for exactly this request;
    /// [`NIL`]: none.
    pub(crate) fn taker(&self, ranks: &Ranks, slot: u32) -> u32 {
        let RequestCell { waiter, number, .. } = *self.cells.get(slot);
        if waiter == NIL || number == NIL {
            return NIL;
        }
        let op = &ranks.activity(waiter).op;
        match op.kind {
            OpKind::WaitAny { .. } | OpKind::WaitSome { .. } => NIL,
            _ => op.id.0,
        }
    }

    /// Completes request `slot`; returns the waiting operation that has taken it, if there is one.
    fn complete<M: Mode>(&mut self, ranks: &mut Ranks, log: &mut MatchLog, slot: u32) -> Option<u32> {
        let RequestCell {
            number,
            waiter,
            kind,
            freed,
            rank,
            op,
            ..
        } = *self.cells.get(slot);
        if number != NIL && log.steps.wants_now(rank) {
            // For a receive that is taken now, the step of its message holds this information.
            if kind != RequestKind::Receive || self.taker(ranks, slot) == NIL {
                let complete = StepRecord::of(Step::Complete, rank, Time::ZERO).with_request(number, NIL);
                log.steps.add_now::<M>(StepRecord { call: op, ..complete });
            }
        }
        if waiter == NIL {
            if freed {
                self.discard::<M>(slot);
            } else {
                self.cells.edit::<M>(slot).state = State::Done;
            }
            return None;
        }
        if number == NIL {
            ranks.edit_activity::<M>(waiter).book(kind);
            ranks.lost.wait::<M>(waiter, slot);
            self.cells.free::<M>(slot);
        } else if matches!(
            ranks.activity(waiter).op.kind,
            OpKind::WaitAny { .. } | OpKind::WaitSome { .. }
        ) {
            // The wait takes all complete requests at the end of this event, which may complete more.
            ranks.wake::<M>(waiter);
            self.cells.edit::<M>(slot).state = State::Done;
            return None;
        } else {
            self.take::<M>(ranks, log, waiter, slot);
        }
        ranks.edit_activity::<M>(waiter).pending -= 1;
        Some(waiter)
    }
}

impl Hosts {
    /// Resumes operation `waiter`, which was woken while waiting for one of several requests.
    pub(crate) fn wake<C: HostContext>(&mut self, ctx: &mut C, waiter: u32) {
        self.mpi.log.steps.set_now(ctx.now());
        let activity = self.ranks.edit_activity::<C>(waiter);
        activity.phase = Phase::Blocked;
        activity.pending -= 1;
        let (numbers, take) = match activity.op.kind {
            OpKind::WaitAny { first, count } => ((first, count), Take::One),
            OpKind::WaitSome { first, count } => ((first, count), Take::Some),
            _ => unreachable!("only waits for one of several are woken"),
        };
        let requests = &mut self.mpi.requests;
        requests.take_complete::<C>(&mut self.ranks, &mut self.mpi.log, waiter, numbers, take);
        self.settle(ctx, waiter);
    }

    /// Completes request `slot`. The caller lets the rank [advance](Hosts::advance).
    pub(crate) fn complete<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        if slot == NIL {
            return;
        }
        self.mpi.log.steps.set_now(ctx.now());
        self.ranks.lost.note::<C>(Dependent::Request(slot));
        let requests = &mut self.mpi.requests;
        let Some(waiter) = requests.complete::<C>(&mut self.ranks, &mut self.mpi.log, slot) else {
            return;
        };
        let Activity {
            rank,
            pending,
            background,
            ..
        } = *self.ranks.activity(waiter);
        // A background collective handles its receives when the library makes progress.
        if !background || self.may_progress(rank) {
            self.handle_receives::<C>(waiter, ctx.now());
        }
        if pending == 0 {
            let before = self.ranks.lost.current.clone();
            self.settle(ctx, waiter);
            self.ranks.lost.is_now(before);
        }
    }
}

impl Activity {
    /// Counts a completed request.
    fn book(&mut self, kind: RequestKind) {
        self.receives += u32::from(kind == RequestKind::Receive);
        self.for_io = kind == RequestKind::Io;
    }
}
