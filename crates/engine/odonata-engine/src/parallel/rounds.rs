//! The rounds of a run: a global reduction, work on the windows, and quiescence at the end.

use super::shared::PartStatus;
use super::sync::lock;
use super::{Expected, Parallel};
use crate::core::{after, halt_end};
use crate::scheduler::Pause;
use crate::{Model, Time};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Rounds and events between two distributions of the parts over the threads.
const REBALANCE_EVERY: u64 = 256;
const REBALANCE_AFTER: u64 = 1 << 17;
/// Up to this number of processes, messages are exchanged in every round: it takes no longer than the reduction.
const FEW_PROCESSES: usize = 4;
/// Events between two measurements of the speed.
const TELL_AFTER: u64 = 1 << 12;

/// The state of a run without messages in transit.
struct Quiescent {
    /// The time of the next event.
    next: Time,
    /// The code with which the run was halted.
    halted: Option<u32>,
}

/// Indices into the reduced values. 0 if a process has used up its budget, ...
const BUDGET: usize = 0;
/// ... 0 if a process has speculative state, ...
const SPECULATIVE: usize = 1;
/// ... 0 if a process has sent a message to another, ...
const SENT: usize = 2;
/// ... the first instant at which the run was halted, ...
const HALTED: usize = 3;
/// ... and the time of the next event: of every part, or the minimum.
const NEXT: usize = 4;

/// Takes the minima of `values` and of the values after the messages in `bytes`. Returns the messages.
///
/// # Errors
/// `bytes` hold fewer values.
fn take_minima<'a>(values: &mut [u64], bytes: &'a [u8]) -> Result<&'a [u8], String> {
    let split = bytes.len().checked_sub(size_of_val(values));
    let (messages, others) = bytes.split_at(split.ok_or("it holds too few values")?);
    for (value, other) in values.iter_mut().zip(others.as_chunks().0) {
        *value = (*value).min(u64::from_le_bytes(*other));
    }
    Ok(messages)
}

/// CPU time of this process so far; zero if the system does not provide it.
fn cpu_time() -> Duration {
    cpu_time::ProcessTime::try_now().map_or(Duration::ZERO, |time| time.as_duration())
}

impl<M: Model> Parallel<M> {
    /// Reduces the values over all processes, exchanges messages, and sets the bounds of the next round; or returns the
    /// reason for a pause.
    fn begin_round(&mut self, until: Time, budget_left: bool) -> Result<Option<Pause>, String> {
        let shared = &*self.shared;
        let due = (0..shared.slots.len()).map(|slot| shared.due(slot).0);
        let announced = (0..shared.partition.len()).map(|part| shared.router.earliest(part).0);
        let status = || shared.slots.iter().map(|slot| &*slot.status);
        let halted = status().map(PartStatus::halted).min().unwrap_or(Time::NEVER);
        let speculative = status().any(PartStatus::is_speculative);
        self.values.clear();
        self.values
            .extend([u64::from(budget_left), u64::from(!speculative), 1, halted.0]);
        if shared.distances.is_by_part() {
            self.values.extend(announced);
            let own = &mut self.values[NEXT + shared.first..];
            own.iter_mut().zip(due).for_each(|(value, due)| *value = due);
        } else {
            self.values.extend(due.chain(announced).min());
        }
        if self.transport.size() > 1 {
            let begin = Instant::now();
            self.exchange()?;
            self.exchange_time += begin.elapsed();
        }
        let shared = &*self.shared;
        let first = self.values[NEXT..].iter().min().map_or(Time::NEVER, |&time| Time(time));
        let halted = Time(self.values[HALTED]);
        self.halted = halted;
        let no_budget = self.values[BUDGET] == 0;
        if no_budget && self.values[SPECULATIVE] == 1 {
            return Ok(Some(Pause::Budget));
        }
        // Before a pause, all speculation is committed or rolled back.
        shared.speculation_suspended.store(no_budget, Ordering::Relaxed);
        if first == Time::NEVER {
            return Ok(Some(Pause::Idle));
        }
        // The last instant to handle.
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

    /// Reduces the values, and exchanges messages if any process has sent some. If that is likely, or there are few
    /// processes, the values travel with the messages and each process takes the minima: one operation instead of two.
    fn exchange(&mut self) -> Result<(), String> {
        let shared = &*self.shared;
        let any = shared.router.swap_process_buffers(&mut self.outgoing);
        self.values[SENT] = u64::from(!any);
        // All processes agree on this: it follows from the previous reduction.
        let piggyback = self.transport.size() <= FEW_PROCESSES || self.have_sent;
        if piggyback {
            let (own, values) = (self.transport.rank(), &self.values);
            let others = self
                .outgoing
                .iter_mut()
                .enumerate()
                .filter(|&(process, _)| process != own);
            for (_, buffer) in others {
                buffer.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            }
        } else {
            self.transport.all_min(&mut self.values)?;
            self.have_sent = self.values[SENT] == 0;
            if !self.have_sent {
                return Ok(());
            }
        }
        self.transport.exchange(&mut self.outgoing, &mut self.incoming)?;
        shared.router.process_buffers_were_sent();
        for (process, bytes) in self.incoming.iter().enumerate() {
            if process == self.transport.rank() {
                continue;
            }
            let read = if piggyback {
                take_minima(&mut self.values, bytes)
            } else {
                Ok(&bytes[..])
            };
            let delivered = read.and_then(|messages| shared.deliver(&mut self.worker, messages));
            delivered.map_err(|text| format!("what process {process} sent cannot be read: {text}"))?;
        }
        self.have_sent = self.values[SENT] == 0;
        Ok(())
    }

    fn round(&mut self) {
        self.rounds += 1;
        let Some(pool) = &self.pool else {
            let shared = Arc::get_mut(&mut self.shared).expect("the only thread has the only handle");
            shared.work_single_threaded(&mut self.worker);
            return;
        };
        let shared = &*self.shared;
        let Expected {
            events,
            windows,
            advance,
        } = self.expected;
        let large = events >= pool.least_events * 16;
        // Events of all parts per lookahead.
        let lookahead = shared.partition.lookahead().0;
        let density = u128::from(events) * u128::from(lookahead) / u128::from(advance.max(1));
        let density = u64::try_from(density).unwrap_or(u64::MAX);
        let dense = pool.asynchronous.unwrap_or(large && density >= pool.least_events);
        // Speculative events are committed window by window, even if no other work is left.
        let speculation_suspended = shared.speculation_suspended.load(Ordering::Relaxed);
        let asynchronously = dense && shared.distances.is_by_part() && !speculation_suspended;
        shared.asynchronous.store(asynchronously, Ordering::Relaxed);
        self.end = match shared.optimistic {
            true => Time(shared.limit.load(Ordering::Relaxed)),
            false => self.first + shared.partition.lookahead(),
        };
        let mut wanted = (windows as usize).saturating_sub(1);
        if asynchronously {
            shared.begin_asynchronous_round(&mut self.worker.horizon, self.last, density);
            wanted = shared.slots.len() - 1;
            self.end = shared.clocks.limit();
        }
        let awake = self.choice.awake(self.rounds);
        // The leader cannot choose the sleepers it wakes, so a change of the number wakes all of them.
        if shared.awake.swap(awake as u64, Ordering::Relaxed) == awake as u64 {
            wanted = wanted.min(awake - 1);
        }
        pool.work(shared, &mut self.worker, if large && awake > 1 { wanted } else { 0 });
        let total = (
            shared.sum(|counters| &counters.events),
            shared.sum(|counters| &counters.windows),
        );
        let last = (total.0 - self.total.0, total.1 - self.total.1);
        self.total = total;
        self.reported_events += last.0;
        if self.reported_events >= TELL_AFTER {
            let time = (self.running + self.begin.elapsed()).saturating_sub(self.exchange_time);
            let cpu = match self.choice.is_measured() {
                true => cpu_time(),
                false => Duration::ZERO,
            };
            let (clock, spent) = (
                time.saturating_sub(self.reported),
                cpu.saturating_sub(self.reported_cpu),
            );
            self.choice.passed(self.reported_events, clock, spent);
            (self.reported, self.reported_cpu, self.reported_events) = (time, cpu, 0);
        }
        self.expected.events = events - events / 16 + last.0;
        self.expected.windows = last.1;
        if self.rounds.is_multiple_of(REBALANCE_EVERY) || total.0 - self.balanced_at >= REBALANCE_AFTER {
            self.balanced_at = total.0;
            let mut loads = Vec::with_capacity(self.balanced.len());
            for (slot, balanced) in self.shared.slots.iter().zip(&mut self.balanced) {
                let events = slot.status.events();
                loads.push(events.saturating_sub(*balanced));
                *balanced = events;
            }
            self.shared.queues.rebalance(&loads);
        }
    }

    /// Quiesces the run between rounds: receives all messages and reduces the rest over all processes.
    fn quiesce(&mut self) -> Result<Quiescent, String> {
        let shared = &*self.shared;
        shared.quiesce(&mut self.worker);
        let halted = self.halted;
        let (mut now, mut next, mut lowest) = (self.now, Time::NEVER, u64::MAX);
        for slot in &shared.slots {
            let part = lock(&slot.part);
            now = now.max(part.now());
            next = next.min(part.next());
            let code = part.halted().filter(|&(time, _)| time == halted);
            lowest = code.map_or(lowest, |(_, code)| lowest.min(u64::from(code)));
        }
        // The maximum of the times is the minimum of their complements.
        let mut values = [u64::MAX - now.0, next.0, lowest];
        self.transport.all_min(&mut values)?;
        self.now = Time(u64::MAX - values[0]);
        Ok(Quiescent {
            next: Time(values[1]),
            halted: (halted < Time::NEVER).then_some(values[2] as u32),
        })
    }

    /// Runs rounds until there is a reason to pause.
    pub(super) fn run_rounds(&mut self, until: Time, budget: u64) -> Result<Pause, String> {
        let last = self.handled().saturating_add(budget);
        let pause = loop {
            let budget_left = self.handled() < last;
            if let Some(pause) = self.begin_round(until, budget_left)? {
                break pause;
            }
            self.round();
        };
        let quiescent = self.quiesce()?;
        Ok(match (pause, quiescent.halted) {
            (Pause::Budget, _) => Pause::Budget,
            (_, Some(code)) => Pause::Halted(code),
            // Only remote updates were left, which cause no event.
            _ if quiescent.next == Time::NEVER => Pause::Idle,
            (pause, None) => pause,
        })
    }
}
