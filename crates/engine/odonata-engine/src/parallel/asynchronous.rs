//! Asynchronous conservative synchronization: rounds in which the threads of a process do not wait for each other at
//! the end of each window (Chandy, Misra, Bryant).
//!
//! A part waits only for the parts that can send to it and whose [clocks](super::clocks) are more than a lookahead
//! behind. Each thread runs its own parts over and over again. It steals the parts of a thread that sleeps or is not
//! scheduled. The round ends when all parts have reached its end, some hundred windows later.
//!
//! This pays if windows hold enough events: the clock of a part must advance even if the part is idle.

use super::distances::Horizon;
use super::part::{Part, Window};
use super::shared::{Shared, Worker, add};
use super::sync::{Ordering, try_lock};
use super::thread_pool::SPIN_TIME;
use crate::core::after;
use crate::{Model, Time};
use std::time::{Duration, Instant};

/// A part publishes its clock this many times per window ...
const STRIDES: u64 = 4;
/// ... but at least this many and at most that many events apart.
const LEAST_STRIDE: u64 = 8;
const MOST_STRIDE: u64 = 1_024;
/// Idle time after which a thread lets its parts speculate, and events per attempt.
const SPECULATE_AFTER: Duration = Duration::from_micros(30);
const SPECULATION_STRIDE: u64 = 8;
/// Idle time after which a thread steals parts of other threads.
const STEAL_AFTER: Duration = Duration::from_micros(30);
/// Sleep between polls of a thread that has stopped spinning.
const SLEEP: Duration = Duration::from_micros(50);
/// Polls between two readings of the time.
const POLLS: u32 = 32;

/// A period in which a thread finds nothing to do.
struct IdlePeriod {
    since: Instant,
    /// Time since then, as last read.
    waited: Duration,
    polls: u32,
    /// The thread is speculating.
    speculating: bool,
}

/// The idle time of a thread: the current period, and the sum of those before.
#[derive(Default)]
struct IdleTime {
    idle: Option<IdlePeriod>,
    before: Duration,
}

impl<M: Model> Shared<M> {
    /// Leader: begins a round that handles no event after `last`. `density` is the number of events of all parts in a
    /// lookahead.
    pub(super) fn begin_asynchronous_round(&self, horizon: &mut Horizon, last: Time, density: u64) {
        self.set_horizon(horizon);
        self.clocks
            .begin(self.first, &self.distances, horizon, after(last), density);
        let stride = density / self.slots.len() as u64 / STRIDES;
        self.stride
            .store(stride.clamp(LEAST_STRIDE, MOST_STRIDE), Ordering::Relaxed);
    }

    /// Does the work of `thread` until the end of the round. Returns when it last made progress, if at all.
    pub(super) fn run_asynchronously(&self, thread: usize, worker: &mut Worker<M>) -> Option<Instant> {
        let (clocks, counters) = (&self.clocks, &self.thread_counters[thread]);
        let (begin, mut idle_time) = (Instant::now(), IdleTime::default());
        let (mut windows, mut stolen) = (0, 0);
        while !clocks.is_over() {
            clocks.set_active(thread, true);
            let (done, taken) = self.advance_parts(thread, worker, &mut idle_time);
            if done > 0 {
                windows += done;
                stolen += taken;
                continue;
            }
            let idle = idle_time.idle.get_or_insert_with(IdlePeriod::begin);
            idle.poll();
            if idle.waited > SPIN_TIME {
                // While it sleeps, other threads may steal its parts.
                clocks.set_active(thread, false);
                std::thread::sleep(SLEEP);
            }
        }
        clocks.set_active(thread, false);
        let end = Instant::now();
        let last = idle_time.idle.map_or(end, |idle| idle.since);
        add(&counters.windows, windows);
        add(&counters.stolen, stolen);
        add(
            &counters.busy,
            (last - begin).saturating_sub(idle_time.before).as_nanos() as u64,
        );
        counters.sent.store(worker.sender.sent, Ordering::Relaxed);
        (windows > 0).then_some(last)
    }

    /// Advances the parts of `thread`, and stolen parts when idle. Returns the number of parts that handled events, and
    /// how many of them were stolen.
    fn advance_parts(&self, thread: usize, worker: &mut Worker<M>, idle_time: &mut IdleTime) -> (u64, u64) {
        let clocks = &self.clocks;
        let eager = self.eager.load(Ordering::Relaxed);
        let waited = idle_time.idle.as_ref().map_or(Duration::ZERO, |idle| idle.waited);
        let speculating = waited >= SPECULATE_AFTER || idle_time.idle.as_ref().is_some_and(|idle| idle.speculating);
        let speculate = self.optimistic && (speculating || eager);
        let (mut done, mut taken) = (0, 0);
        for owner in self.queues.from(thread) {
            let own = owner == thread;
            let is_needed = !clocks.is_active(owner) || waited >= STEAL_AFTER || eager;
            if !own && (done > 0 || !is_needed) {
                continue;
            }
            for slot in self.queues.list(owner) {
                if clocks.bound(slot).is_some() {
                    let begin = idle_time.idle.as_ref().map(|_| Instant::now());
                    let Some(events) = self.run_part(slot, thread, worker) else {
                        continue;
                    };
                    if let Some(begin) = begin {
                        idle_time.end(begin);
                    }
                    if events > 0 {
                        done += 1;
                        if !own {
                            taken += 1;
                            // Until the owner is active again, other threads may steal without delay.
                            clocks.set_active(owner, false);
                        }
                    }
                } else if own && speculate {
                    self.speculate(slot, thread, worker, idle_time);
                }
            }
        }
        (done, taken)
    }

    /// Runs a part up to its bound. Returns its number of committed events; `None` if another thread runs it.
    fn run_part(&self, slot: usize, thread: usize, worker: &mut Worker<M>) -> Option<u64> {
        let mut part = try_lock(&self.slots[slot].part)?;
        let most = self.stride.load(Ordering::Relaxed);
        while let Some(safe) = self.clocks.bound(slot) {
            let limit = safe;
            self.advance(slot, &mut part, Window { safe, limit, most }, worker);
        }
        let events = self.slots[slot].status.publish(&part);
        add(&self.thread_counters[thread].events, events);
        Some(events)
    }

    /// Lets a part speculate beyond its bound.
    fn speculate(&self, slot: usize, thread: usize, worker: &mut Worker<M>, idle_time: &mut IdleTime) {
        let clocks = &self.clocks;
        let (safe, limit, most) = (clocks.clock(slot), clocks.sync_point(), SPECULATION_STRIDE);
        if safe >= limit {
            return;
        }
        let Some(mut part) = try_lock(&self.slots[slot].part) else {
            return;
        };
        // The part may have advanced before the lock was taken.
        if clocks.clock(slot) != safe {
            return;
        }
        let (begin, before) = (Instant::now(), part.counts().speculated);
        self.advance(slot, &mut part, Window { safe, limit, most }, worker);
        add(
            &self.thread_counters[thread].events,
            self.slots[slot].status.publish(&part),
        );
        if part.counts().speculated > before {
            idle_time.end(begin);
            idle_time.idle = Some(IdlePeriod {
                speculating: true,
                ..IdlePeriod::begin()
            });
        }
    }

    /// Runs a part in a window, routes its messages, and then publishes its clock.
    fn advance(&self, slot: usize, part: &mut Part<M>, window: Window, worker: &mut Worker<M>) {
        if self.router.earliest(self.first + slot) < Time::NEVER {
            self.router.receive(self.first + slot, &mut worker.messages);
        }
        part.work(window, &mut worker.messages, &self.partition, &mut worker.sender);
        worker.sender.flush(&self.router);
        let halted = part.halted().is_some_and(|(time, _)| time < window.safe);
        self.clocks.advance(slot, part.next().min(window.safe), halted);
    }
}

impl IdleTime {
    /// Ends the current idle period at `now`.
    fn end(&mut self, now: Instant) {
        if let Some(idle) = self.idle.take() {
            self.before += now - idle.since;
        }
    }
}

impl IdlePeriod {
    fn begin() -> IdlePeriod {
        IdlePeriod {
            since: Instant::now(),
            waited: Duration::ZERO,
            polls: 0,
            speculating: false,
        }
    }

    /// Counts a poll that found nothing.
    fn poll(&mut self) {
        self.polls = self.polls.wrapping_add(1);
        if self.polls.is_multiple_of(POLLS) {
            self.waited = self.since.elapsed();
        }
        std::hint::spin_loop();
    }
}
