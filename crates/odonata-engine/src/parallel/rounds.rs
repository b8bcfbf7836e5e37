//! The rounds of a run: agree on how far all are, work, agree on what is left.

use super::shared::News;
use super::sync::lock;
use super::{Expected, Parallel};
use crate::core::{after, halt_end};
use crate::scheduler::Pause;
use crate::{Model, Time};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Rounds, and events, after which parts are dealt out anew among the threads.
const ARRANGE_EVERY: u64 = 256;
const ARRANGE_AFTER: u64 = 1 << 17;

/// What is known when nothing is under way.
struct Settled {
    /// When the next event is due.
    next: Time,
    /// With which code the run was halted.
    halted: Option<u32>,
}

/// What the values of a round are: 0 if a process has used up its budget, ...
const BUDGET: usize = 0;
/// ... 0 if one has done something that it may have to take back, ...
const AHEAD: usize = 1;
/// ... 0 if one has sent something to another, ...
const SENT: usize = 2;
/// ... the first instant at which the run was halted, ...
const HALTED: usize = 3;
/// ... and when the next event is due: of every part, or of all.
const NEXT: usize = 4;

impl<M: Model> Parallel<M> {
    /// Agrees with the other processes on how far all are, gets what they have sent, and sets the bounds of the next
    /// round; or says why there is none.
    fn agree(&mut self, until: Time, budget_left: bool) -> Result<Option<Pause>, String> {
        let shared = &*self.shared;
        let due = (0..shared.seats.len()).map(|seat| shared.due(seat).0);
        let announced = (0..shared.partition.len()).map(|part| shared.office.earliest(part).0);
        let news = || shared.seats.iter().map(|seat| &*seat.news);
        let halted = news().map(News::halted).min().unwrap_or(Time::NEVER);
        let ahead = news().any(News::is_ahead);
        self.values.clear();
        self.values
            .extend([u64::from(budget_left), u64::from(!ahead), 1, halted.0]);
        if shared.reach.is_by_part() {
            self.values.extend(announced);
            let own = &mut self.values[NEXT + shared.first..];
            own.iter_mut().zip(due).for_each(|(value, due)| *value = due);
        } else {
            self.values.extend(due.chain(announced).min());
        }
        if self.transport.size() > 1 {
            let begin = Instant::now();
            self.exchange()?;
            self.away += begin.elapsed();
        }
        let shared = &*self.shared;
        let first = self.values[NEXT..].iter().min().map_or(Time::NEVER, |&time| Time(time));
        let halted = Time(self.values[HALTED]);
        self.halted = halted;
        let no_budget = self.values[BUDGET] == 0;
        if no_budget && self.values[AHEAD] == 1 {
            return Ok(Some(Pause::Budget));
        }
        // Before a pause, what was done too early becomes final, or is taken back.
        shared.restrained.store(no_budget, Ordering::Relaxed);
        if first == Time::NEVER {
            return Ok(Some(Pause::Idle));
        }
        // The last instant that is handled at all.
        let last = if halted < Time::NEVER {
            until.min(halt_end(halted))
        } else {
            until
        };
        if first > last {
            return Ok(Some(Pause::TimeLimit));
        }
        let advance = first.min(self.end).0.saturating_sub(self.first.0);
        self.expected.advance = (self.expected.advance - self.expected.advance / 16).saturating_add(advance);
        (self.first, self.last) = (first, last);
        let limit = after(halt_end(first).min(last));
        shared.limit.store(limit.0, Ordering::Relaxed);
        for (time, &value) in shared.times.iter().zip(&self.values[NEXT..]) {
            time.store(value, Ordering::Relaxed);
        }
        Ok(None)
    }

    /// Agrees on the values, and sends and receives if anybody has sent something.
    fn exchange(&mut self) -> Result<(), String> {
        let shared = &*self.shared;
        let any = shared.office.swap_sacks(&mut self.outgoing);
        self.values[SENT] = u64::from(!any);
        self.transport.all_min(&mut self.values)?;
        if self.values[SENT] == 1 {
            return Ok(());
        }
        self.transport.exchange(&mut self.outgoing, &mut self.incoming)?;
        shared.office.sacks_are_gone();
        for (process, bytes) in self.incoming.iter().enumerate() {
            let delivered = shared.deliver(&mut self.hand, bytes);
            delivered.map_err(|text| format!("what process {process} sent cannot be read: {text}"))?;
        }
        Ok(())
    }

    fn round(&mut self) {
        self.rounds += 1;
        let Some(team) = &self.team else {
            let shared = Arc::get_mut(&mut self.shared).expect("the only thread has the only handle");
            shared.work_alone(&mut self.hand);
            return;
        };
        let shared = &*self.shared;
        let Expected {
            events,
            windows,
            advance,
        } = self.expected;
        let large = events >= team.worthwhile * 16;
        // Events of all parts in a lookahead.
        let lookahead = shared.partition.lookahead().0;
        let density = u128::from(events) * u128::from(lookahead) / u128::from(advance.max(1));
        let density = u64::try_from(density).unwrap_or(u64::MAX);
        let worthwhile = team.sliding.unwrap_or(large && density >= team.worthwhile);
        // What was done too early becomes final window by window, even where nothing else is left to do.
        let restrained = shared.restrained.load(Ordering::Relaxed);
        let slides = worthwhile && shared.reach.is_by_part() && !restrained;
        shared.sliding.store(slides, Ordering::Relaxed);
        self.end = match shared.optimistic {
            true => Time(shared.limit.load(Ordering::Relaxed)),
            false => self.first + shared.partition.lookahead(),
        };
        let mut wanted = (windows as usize).saturating_sub(1);
        if slides {
            shared.begin_to_slide(&mut self.hand.horizon, self.last, density);
            wanted = shared.seats.len() - 1;
            self.end = shared.clocks.limit();
        }
        team.work(shared, &mut self.hand, if large { wanted } else { 0 });
        let total = (shared.sum(|tally| &tally.events), shared.sum(|tally| &tally.windows));
        let last = (total.0 - self.total.0, total.1 - self.total.1);
        self.total = total;
        self.expected.events = events - events / 16 + last.0;
        self.expected.windows = last.1;
        if self.rounds.is_multiple_of(ARRANGE_EVERY) || total.0 - self.dealt_at >= ARRANGE_AFTER {
            self.dealt_at = total.0;
            let mut loads = Vec::with_capacity(self.dealt.len());
            for (seat, dealt) in self.shared.seats.iter().zip(&mut self.dealt) {
                let events = seat.news.events();
                loads.push(events.saturating_sub(*dealt));
                *dealt = events;
            }
            self.shared.roster.arrange(&loads);
        }
    }

    /// Between rounds: takes in all letters, and agrees on what that leaves.
    fn settle(&mut self) -> Result<Settled, String> {
        let shared = &*self.shared;
        shared.settle(&mut self.hand);
        let halted = self.halted;
        let (mut now, mut next, mut lowest) = (self.now, Time::NEVER, u64::MAX);
        for seat in &shared.seats {
            let part = lock(&seat.part);
            now = now.max(part.now());
            next = next.min(part.next());
            let code = part.halted().filter(|&(time, _)| time == halted);
            lowest = code.map_or(lowest, |(_, code)| lowest.min(u64::from(code)));
        }
        // The latest is the smallest of what is left to the end of time.
        let mut values = [u64::MAX - now.0, next.0, lowest];
        self.transport.all_min(&mut values)?;
        self.now = Time(u64::MAX - values[0]);
        Ok(Settled {
            next: Time(values[1]),
            halted: (halted < Time::NEVER).then_some(values[2] as u32),
        })
    }

    /// Rounds until there is a reason to pause.
    pub(super) fn go(&mut self, until: Time, budget: u64) -> Result<Pause, String> {
        let last = self.handled().saturating_add(budget);
        let pause = loop {
            let budget_left = self.handled() < last;
            if let Some(pause) = self.agree(until, budget_left)? {
                break pause;
            }
            self.round();
        };
        let settled = self.settle()?;
        Ok(match (pause, settled.halted) {
            (Pause::Budget, _) => Pause::Budget,
            (_, Some(code)) => Pause::Halted(code),
            // What was due were tokens, for which nobody waits.
            _ if settled.next == Time::NEVER => Pause::Idle,
            (pause, None) => pause,
        })
    }
}
