//! What threads share, under every order in which they can do things (`make check-concurrency`).
//!
//! Loom also tries what a relaxed load may see when nothing orders it after a store, so that the plain checks here
//! prove that rounds are ordered. Orders in which threads that could go on are interrupted more often than a test says
//! are left out: there would be too many.

use super::clocks::Clocks;
use super::door::Door;
use super::letters::{Inbox, Letters};
use super::reach::{Horizon, Reach};
use super::roster::Roster;
use super::sync::{AtomicU64, Mutex, Ordering, lock};
use crate::{HALT_GRID, Key, Partition, Time};
use loom::model::Builder;
use loom::thread;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Two parts, counters that are to be raised once per round, and what the leader says the round is.
struct Work {
    door: Door,
    roster: Roster,
    round: AtomicU64,
    parts: Vec<AtomicU64>,
    helped: AtomicU64,
}

impl Work {
    /// Who claims a part finds it as it was left in the round before.
    fn work(&self, thread: usize) -> Option<Instant> {
        let round = self.round.load(Ordering::Relaxed);
        let mut useful = None;
        while let Some((part, _)) = self.roster.claim(thread) {
            let before = self.parts[part].load(Ordering::Relaxed);
            assert_eq!(
                before + 1,
                round,
                "part {part} is claimed twice, or by somebody of another round"
            );
            self.parts[part].store(round, Ordering::Relaxed);
            useful = Some(Instant::now());
        }
        useful
    }
}

fn rounds(helpers: usize, rounds: u64, preemptions: usize) {
    let mut model = Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let work = Arc::new(Work {
            door: Door::new(Duration::ZERO),
            roster: Roster::new(2, helpers + 1),
            round: AtomicU64::new(0),
            parts: vec![AtomicU64::new(0), AtomicU64::new(0)],
            helped: AtomicU64::new(0),
        });
        let help = |thread: usize| {
            let work = work.clone();
            thread::spawn(move || {
                let mut visitor = Door::visitor();
                while work.door.enter(&mut visitor) {
                    let useful = work.work(thread);
                    work.helped.fetch_add(u64::from(useful.is_some()), Ordering::Relaxed);
                    work.door.leave(&mut visitor, useful);
                }
            })
        };
        let threads: Vec<_> = (1..=helpers).map(help).collect();
        for round in 1..=rounds {
            work.round.store(round, Ordering::Relaxed);
            work.roster.refill();
            work.door.open(helpers, helpers);
            work.work(0);
            work.door.close();
            for part in &work.parts {
                assert_eq!(part.load(Ordering::Relaxed), round, "a round ends when all is done");
            }
        }
        work.door.end();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_round_ends_when_all_that_came_in_are_out_and_nobody_sleeps_for_ever() {
    rounds(1, 2, 4);
}

#[test]
fn two_helpers_do_not_get_in_each_others_way() {
    rounds(2, 2, 2);
}

#[test]
fn letters_are_neither_lost_nor_doubled_and_the_first_is_known_at_the_end_of_the_round() {
    loom::model(|| {
        let inbox: Arc<Inbox<u32, u32>> = Arc::new(Inbox::new());
        let taken = Arc::new(Mutex::new(Vec::new()));
        let post = |time: u64| {
            let inbox = inbox.clone();
            thread::spawn(move || {
                let key = Key {
                    time: Time(time),
                    sender: 0,
                    sequence: 0,
                };
                let mut letters = Letters::new();
                letters.parcels.push((0, key, time as u32));
                inbox.put(&mut letters);
                assert!(letters.is_empty());
            })
        };
        let threads = [post(30), post(20)];
        let mut letters = Letters::new();
        inbox.take(&mut letters);
        lock(&taken).extend(letters.parcels.drain(..).map(|(_, _, parcel)| parcel));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let earliest = inbox.earliest();
        inbox.take(&mut letters);
        let rest: Vec<u32> = letters.parcels.drain(..).map(|(_, _, parcel)| parcel).collect();
        assert_eq!(
            earliest,
            rest.iter().min().map_or(Time::NEVER, |&time| Time(time.into()))
        );
        let mut all = lock(&taken).clone();
        all.extend(rest);
        all.sort_unstable();
        assert_eq!(all, [20, 30]);
    });
}

/// Two parts that reach each other in 10, 100 before a point of the grid, in a round that ends 20 behind it.
fn two_clocks() -> Clocks {
    let senders = vec![vec![(1, Time(10))], vec![(0, Time(10))]];
    let partition = Partition::new(vec![0, 1, 2], senders).unwrap();
    let mut horizon = Horizon::new();
    horizon.set([Time(HALT_GRID.0 - 100); 2].into_iter(), HALT_GRID);
    let clocks = Clocks::new(&partition, 0..2, 2);
    let limit = HALT_GRID + Time(20);
    clocks.begin(0, &Reach::new(&partition), &mut horizon, limit, 1);
    clocks
}

/// So much after where the round begins.
fn at(time: u64) -> Time {
    Time(HALT_GRID.0 - 100 + time)
}

#[test]
fn who_sees_a_clock_sees_the_letters_that_were_posted_before() {
    loom::model(|| {
        let shared: Arc<(Clocks, Inbox<u32, u32>)> = Arc::new((two_clocks(), Inbox::new()));
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || {
                let mut letters = Letters::new();
                letters.tokens.push((1, at(12), 5));
                shared.1.put(&mut letters);
                shared.0.pass(0, at(5), false);
            })
        };
        let bound = shared.0.bound(1).expect("10 at least");
        if bound > at(10) {
            assert_eq!((bound, shared.1.earliest()), (at(15), at(12)));
        }
        sender.join().unwrap();
    });
}

/// Both go to the milestone, where one has halted the run or not, and then as far as they may.
fn two_milestones(halted: bool) {
    loom::model(move || {
        let clocks = Arc::new(two_clocks());
        let go = move |clocks: &Clocks, seat: usize, halted: bool| {
            clocks.pass(seat, HALT_GRID, halted);
            if clocks.milestone() > HALT_GRID {
                clocks.pass(seat, clocks.milestone(), false);
                return true;
            }
            false
        };
        let other = {
            let clocks = clocks.clone();
            thread::spawn(move || go(&clocks, 0, halted))
        };
        let mut went_on = [false, go(&clocks, 1, false)];
        went_on[0] = other.join().unwrap();
        for seat in [0, 1] {
            // Who came first has not seen the next milestone.
            if !halted && !went_on[seat] {
                assert!(!clocks.is_over());
                clocks.pass(seat, clocks.milestone(), false);
            }
        }
        assert!(clocks.is_over());
        let end = if halted { HALT_GRID } else { HALT_GRID + Time(20) };
        assert_eq!([0, 1].map(|seat| clocks.clock(seat)), [end; 2]);
    });
}

#[test]
fn the_last_at_a_milestone_sets_the_next_one_and_at_the_end_ends_the_round() {
    two_milestones(false);
}

#[test]
fn nobody_goes_beyond_a_milestone_before_which_the_run_was_halted() {
    two_milestones(true);
}
