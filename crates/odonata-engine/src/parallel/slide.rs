//! Sliding windows: rounds in which the threads of a process do not wait for each other at the end of each window.
//!
//! A part is held up only by those that can send to it and are more than a lookahead behind it, as their
//! [clocks](super::clocks) say, and not by whoever is the last of all. Each thread looks after its own parts, over and over again; it takes
//! those of a thread that is not there, or that the system does not let run. A round ends when all parts have come to its end, which is
//! some hundred windows away.
//!
//! That is worth while where windows hold enough: of a part that has nothing to do, the clock has to be moved on all the same.

use super::part::{Part, Window};
use super::reach::Horizon;
use super::shared::{Hand, Shared, add};
use super::sync::{Ordering, try_lock};
use super::team::PATIENCE;
use crate::core::after;
use crate::{Model, Time};
use std::time::{Duration, Instant};

/// A part tells others how far it is this many times in a window ...
const STRIDES: u64 = 4;
/// ... but not after fewer events than this, nor after more.
const LEAST_STRIDE: u64 = 8;
const MOST_STRIDE: u64 = 1_024;
/// How long a thread finds nothing to do before it lets its parts go beyond their windows, and by how many events at a time.
const DARE_AFTER: Duration = Duration::from_micros(30);
const DARING_STRIDE: u64 = 8;
/// How long before it takes parts of other threads.
const TAKE_AFTER: Duration = Duration::from_micros(30);
/// How long a thread sleeps that has run out of patience, until it looks again.
const NAP: Duration = Duration::from_micros(50);
/// Looks between two looks at the time.
const LOOKS: u32 = 32;

/// A thread that finds nothing to do.
struct Rest {
    since: Instant,
    /// As far as it has looked at the time.
    waited: Duration,
    looks: u32,
    /// It has gone beyond its windows, and goes on with that.
    daring: bool,
}

/// When a thread found nothing to do: now, and how long before.
#[derive(Default)]
struct Waits {
    rest: Option<Rest>,
    before: Duration,
}

impl<M: Model> Shared<M> {
    /// Leader: begins a round, with so many events of all parts in a lookahead. Nothing after `last` is to be handled.
    pub(super) fn begin_to_slide(&self, horizon: &mut Horizon, last: Time, density: u64) {
        self.look_ahead(horizon);
        self.clocks
            .begin(self.first, &self.reach, horizon, after(last), density);
        let stride = density / self.seats.len() as u64 / STRIDES;
        self.stride
            .store(stride.clamp(LEAST_STRIDE, MOST_STRIDE), Ordering::Relaxed);
    }

    /// Does of a round what is there for `thread` to do, to its end; when it last did something, if at all.
    pub(super) fn slide(&self, thread: usize, hand: &mut Hand<M>) -> Option<Instant> {
        let (clocks, tally) = (&self.clocks, &self.tallies[thread]);
        let (begin, mut waits) = (Instant::now(), Waits::default());
        let (mut windows, mut stolen) = (0, 0);
        while !clocks.is_over() {
            clocks.set_present(thread, true);
            let (done, taken) = self.look_after_parts(thread, hand, &mut waits);
            if done > 0 {
                windows += done;
                stolen += taken;
                continue;
            }
            let rest = waits.rest.get_or_insert_with(Rest::begin);
            rest.look();
            if rest.waited > PATIENCE {
                // Meanwhile others may do what comes up.
                clocks.set_present(thread, false);
                std::thread::sleep(NAP);
            }
        }
        clocks.set_present(thread, false);
        let end = Instant::now();
        let last = waits.rest.map_or(end, |rest| rest.since);
        add(&tally.windows, windows);
        add(&tally.stolen, stolen);
        add(
            &tally.busy,
            (last - begin).saturating_sub(waits.before).as_nanos() as u64,
        );
        tally.sent.store(hand.bag.sent, Ordering::Relaxed);
        (windows > 0).then_some(last)
    }

    /// Lets all parts go on for which `thread` is to care. How often one did, and how many of those are another thread's.
    fn look_after_parts(&self, thread: usize, hand: &mut Hand<M>, waits: &mut Waits) -> (u64, u64) {
        let clocks = &self.clocks;
        let eager = self.eager.load(Ordering::Relaxed);
        let waited = waits.rest.as_ref().map_or(Duration::ZERO, |rest| rest.waited);
        let daring = waited >= DARE_AFTER || waits.rest.as_ref().is_some_and(|rest| rest.daring);
        let dare = self.optimistic && (daring || eager);
        let (mut done, mut taken) = (0, 0);
        for owner in self.roster.from(thread) {
            let own = owner == thread;
            let is_needed = !clocks.is_present(owner) || waited >= TAKE_AFTER || eager;
            if !own && (done > 0 || !is_needed) {
                continue;
            }
            for seat in self.roster.list(owner) {
                if clocks.bound(seat).is_some() {
                    let begin = waits.rest.as_ref().map(|_| Instant::now());
                    let Some(events) = self.go_on(seat, thread, hand) else {
                        continue;
                    };
                    if let Some(begin) = begin {
                        waits.end(begin);
                    }
                    if events > 0 {
                        done += 1;
                        if !own {
                            taken += 1;
                            // Until it comes back, nobody waits for it.
                            clocks.set_present(owner, false);
                        }
                    }
                } else if own && dare {
                    self.dare(seat, thread, hand, waits);
                }
            }
        }
        (done, taken)
    }

    /// Lets a part go on as long as it can. How many events it has handled for good; `None` if somebody else has it.
    fn go_on(&self, seat: usize, thread: usize, hand: &mut Hand<M>) -> Option<u64> {
        let mut part = try_lock(&self.seats[seat].part)?;
        let most = self.stride.load(Ordering::Relaxed);
        while let Some(safe) = self.clocks.bound(seat) {
            let limit = safe;
            self.advance(seat, &mut part, Window { safe, limit, most }, hand);
        }
        let events = self.seats[seat].news.publish(&part);
        add(&self.tallies[thread].events, events);
        Some(events)
    }

    /// Lets a part go on beyond its window.
    fn dare(&self, seat: usize, thread: usize, hand: &mut Hand<M>, waits: &mut Waits) {
        let clocks = &self.clocks;
        let (safe, limit, most) = (clocks.clock(seat), clocks.milestone(), DARING_STRIDE);
        if safe >= limit {
            return;
        }
        let Some(mut part) = try_lock(&self.seats[seat].part) else {
            return;
        };
        // It may have gone on before the lock was there.
        if clocks.clock(seat) != safe {
            return;
        }
        let (begin, before) = (Instant::now(), part.counts().speculated);
        self.advance(seat, &mut part, Window { safe, limit, most }, hand);
        add(&self.tallies[thread].events, self.seats[seat].news.publish(&part));
        if part.counts().speculated > before {
            waits.end(begin);
            waits.rest = Some(Rest {
                daring: true,
                ..Rest::begin()
            });
        }
    }

    /// A part does what it can in a window, and tells others how far it is.
    fn advance(&self, seat: usize, part: &mut Part<M>, window: Window, hand: &mut Hand<M>) {
        if self.office.earliest(self.first + seat) < Time::NEVER {
            self.office.fetch(self.first + seat, &mut hand.letters);
        }
        part.work(window, &mut hand.letters, &self.partition, &mut hand.bag);
        hand.bag.empty(&self.office);
        let halted = part.halted().is_some_and(|(time, _)| time < window.safe);
        self.clocks.pass(seat, part.next().min(window.safe), halted);
    }
}

impl Waits {
    /// There was something to do from `now` on.
    fn end(&mut self, now: Instant) {
        if let Some(rest) = self.rest.take() {
            self.before += now - rest.since;
        }
    }
}

impl Rest {
    fn begin() -> Rest {
        Rest {
            since: Instant::now(),
            waited: Duration::ZERO,
            looks: 0,
            daring: false,
        }
    }

    /// Another look was in vain.
    fn look(&mut self) {
        self.looks = self.looks.wrapping_add(1);
        if self.looks.is_multiple_of(LOOKS) {
            self.waited = self.since.elapsed();
        }
        std::hint::spin_loop();
    }
}
