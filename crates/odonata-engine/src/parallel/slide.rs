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
use super::shared::{Hand, Shared, Tally, add};
use super::sync::{Ordering, try_lock};
use super::team::PATIENCE;
use crate::core::after;
use crate::{Model, Time};
use std::time::{Duration, Instant};

/// A part tells others how far it is this many times in a window ...
const STRIDES: u64 = 8;
/// ... but not after fewer events than this, nor after more.
const LEAST_STRIDE: u64 = 4;
const MOST_STRIDE: u64 = 1_024;
// Looks are some 30 ns each.
/// Looks of a thread in vain before it lets its parts go beyond their windows, and by how many events at a time.
const DARE_AFTER: u32 = 1_024;
const DARING_STRIDE: u64 = 8;
/// Looks in vain before it takes the parts of another thread.
const TAKE_AFTER: u32 = 1_024;
/// Looks in vain between two looks at the time.
const LOOKS: u32 = 1_024;
/// How long a thread sleeps that has run out of patience, until it looks again.
const NAP: Duration = Duration::from_micros(50);

/// A thread that finds nothing to do.
struct Rest {
    since: Instant,
    looks: u32,
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
        let (begin, mut idle) = (Instant::now(), Duration::ZERO);
        let (mut windows, mut stolen) = (0, 0);
        let mut rest: Option<Rest> = None;
        while !clocks.is_over() {
            clocks.set_present(thread, true);
            let (done, taken) = self.look_after_parts(thread, hand, &mut rest, &mut idle);
            if done > 0 {
                windows += done;
                stolen += taken;
                continue;
            }
            let rest = rest.get_or_insert_with(Rest::begin);
            rest.looks = rest.looks.saturating_add(1);
            std::hint::spin_loop();
            if rest.looks.is_multiple_of(LOOKS) && rest.since.elapsed() > PATIENCE {
                // Meanwhile others may do what comes up.
                clocks.set_present(thread, false);
                std::thread::sleep(NAP);
            }
        }
        clocks.set_present(thread, false);
        let end = Instant::now();
        let last = rest.map_or(end, |rest| rest.since);
        add(&tally.windows, windows);
        add(&tally.stolen, stolen);
        add(&tally.busy, (last - begin).saturating_sub(idle).as_nanos() as u64);
        tally.sent.store(hand.bag.sent, Ordering::Relaxed);
        (windows > 0).then_some(last)
    }

    /// Lets all parts go on for which `thread` is to care. How often one did, and how many of those are another thread's.
    fn look_after_parts(
        &self,
        thread: usize,
        hand: &mut Hand<M>,
        rest: &mut Option<Rest>,
        idle: &mut Duration,
    ) -> (u64, u64) {
        let clocks = &self.clocks;
        let looks = rest.as_ref().map_or(0, |rest| rest.looks);
        let (mut done, mut taken) = (0, 0);
        for owner in self.roster.from(thread) {
            if owner != thread && (done > 0 || (clocks.is_present(owner) && looks < TAKE_AFTER)) {
                continue;
            }
            for seat in self.roster.list(owner) {
                let dare = self.optimistic && owner == thread && looks > DARE_AFTER;
                if clocks.bound(seat).is_some() {
                    if let Some(rest) = rest.take() {
                        *idle += rest.since.elapsed();
                    }
                } else if !dare {
                    continue;
                }
                if self.go_on(seat, &self.tallies[thread], hand, dare) {
                    done += 1;
                    if owner != thread {
                        taken += 1;
                        // Until it comes back, nobody waits for it.
                        clocks.set_present(owner, false);
                    }
                }
            }
        }
        (done, taken)
    }

    /// Lets a part go on as long as it can, if nobody else has it; with `dare`, beyond its window. Returns whether it has handled
    /// events for good.
    fn go_on(&self, seat: usize, tally: &Tally, hand: &mut Hand<M>, dare: bool) -> bool {
        let clocks = &self.clocks;
        let Some(mut part) = try_lock(&self.seats[seat].part) else {
            return false;
        };
        let most = self.stride.load(Ordering::Relaxed);
        while let Some(safe) = clocks.bound(seat) {
            let limit = safe;
            self.advance(seat, &mut part, Window { safe, limit, most }, hand);
        }
        if dare {
            let (safe, limit, most) = (clocks.clock(seat), clocks.milestone(), DARING_STRIDE);
            self.advance(seat, &mut part, Window { safe, limit, most }, hand);
        }
        let events = self.seats[seat].news.publish(&part);
        add(&tally.events, events);
        events > 0
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

impl Rest {
    fn begin() -> Rest {
        Rest {
            since: Instant::now(),
            looks: 0,
        }
    }
}
