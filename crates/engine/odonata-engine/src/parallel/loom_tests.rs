//! The synchronization between threads, under every interleaving (`make check-concurrency`).
//!
//! Loom also tries every value that a relaxed load may see, so the plain checks here prove that rounds are ordered.
//! Each test bounds the number of preemptions.

use super::barrier::RoundBarrier;
use super::clocks::Clocks;
use super::distances::{Distances, Horizon};
use super::messages::{Inbox, Messages};
use super::sync::{AtomicU64, Mutex, Ordering, lock};
use super::work_queues::WorkQueues;
use crate::{HALT_GRID, Key, Partition, Time};
use loom::model::Builder;
use loom::thread;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Two parts, counters that are incremented once per round, and the round number set by the leader.
struct Work {
    barrier: RoundBarrier,
    queues: WorkQueues,
    round: AtomicU64,
    parts: Vec<AtomicU64>,
    helped: AtomicU64,
}

impl Work {
    /// A thread that claims a part finds it in the state of the previous round.
    fn work(&self, thread: usize) -> Option<Instant> {
        let round = self.round.load(Ordering::Relaxed);
        let mut useful = None;
        while let Some((part, _)) = self.queues.claim(thread) {
            let before = self.parts[part].load(Ordering::Relaxed);
            assert_eq!(
                before + 1,
                round,
                "part {part} is claimed twice, or by a thread of another round"
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
            barrier: RoundBarrier::new(Duration::ZERO),
            queues: WorkQueues::new(2, helpers + 1),
            round: AtomicU64::new(0),
            parts: vec![AtomicU64::new(0), AtomicU64::new(0)],
            helped: AtomicU64::new(0),
        });
        let help = |thread: usize| {
            let work = work.clone();
            thread::spawn(move || {
                let mut participant = RoundBarrier::participant();
                while work.barrier.enter(&mut participant) {
                    let useful = work.work(thread);
                    work.helped.fetch_add(u64::from(useful.is_some()), Ordering::Relaxed);
                    work.barrier.leave(&mut participant, useful);
                }
            })
        };
        let threads: Vec<_> = (1..=helpers).map(help).collect();
        for round in 1..=rounds {
            work.round.store(round, Ordering::Relaxed);
            work.queues.refill();
            work.barrier.open(helpers, helpers);
            work.work(0);
            work.barrier.close();
            for part in &work.parts {
                assert_eq!(part.load(Ordering::Relaxed), round, "a round ends when all is done");
            }
        }
        work.barrier.end();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_round_ends_when_all_workers_have_left_and_none_sleeps_forever() {
    rounds(1, 2, 4);
}

#[test]
fn two_helpers_do_not_get_in_each_others_way() {
    rounds(2, 2, 2);
}

#[test]
fn messages_are_neither_lost_nor_duplicated_and_the_first_is_known_at_the_end_of_the_round() {
    loom::model(|| {
        let inbox: Arc<Inbox<u32, u32>> = Arc::new(Inbox::new());
        let taken = Arc::new(Mutex::new(Vec::new()));
        let route = |time: u64| {
            let inbox = inbox.clone();
            thread::spawn(move || {
                let key = Key {
                    time: Time(time),
                    sender: 0,
                    sequence: 0,
                };
                let mut messages = Messages::new();
                messages.events.push((0, key, time as u32));
                inbox.put(&mut messages);
                assert!(messages.is_empty());
            })
        };
        let threads = [route(30), route(20)];
        let mut messages = Messages::new();
        inbox.take(&mut messages);
        lock(&taken).extend(messages.events.drain(..).map(|(_, _, event)| event));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let earliest = inbox.earliest();
        inbox.take(&mut messages);
        let rest: Vec<u32> = messages.events.drain(..).map(|(_, _, event)| event).collect();
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

/// Two parts with delays of 10, 100 before a point of the grid, in a round that ends 20 after it.
fn two_clocks() -> Clocks {
    let senders = vec![vec![(1, Time(10))], vec![(0, Time(10))]];
    let partition = Partition::new(vec![0, 1, 2], senders).unwrap();
    let mut horizon = Horizon::new();
    horizon.set([Time(HALT_GRID.0 - 100); 2].into_iter(), HALT_GRID);
    let clocks = Clocks::new(&partition, 0..2, 2);
    let limit = HALT_GRID + Time(20);
    clocks.begin(0, &Distances::new(&partition), &mut horizon, limit, 1);
    clocks
}

/// A time relative to the start of the round.
fn at(time: u64) -> Time {
    Time(HALT_GRID.0 - 100 + time)
}

#[test]
fn a_thread_that_sees_a_clock_sees_the_messages_that_were_sent_before() {
    loom::model(|| {
        let shared: Arc<(Clocks, Inbox<u32, u32>)> = Arc::new((two_clocks(), Inbox::new()));
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || {
                let mut messages = Messages::new();
                messages.updates.push((1, at(12), 5));
                shared.1.put(&mut messages);
                shared.0.advance(0, at(5), false);
            })
        };
        let bound = shared.0.bound(1).expect("10 at least");
        if bound > at(10) {
            assert_eq!((bound, shared.1.earliest()), (at(15), at(12)));
        }
        sender.join().unwrap();
    });
}

/// Both parts advance to the synchronization point, where one may have halted the run, and then as far as possible.
fn two_sync_points(halted: bool) {
    loom::model(move || {
        let clocks = Arc::new(two_clocks());
        let go = move |clocks: &Clocks, slot: usize, halted: bool| {
            clocks.advance(slot, HALT_GRID, halted);
            if clocks.sync_point() > HALT_GRID {
                clocks.advance(slot, clocks.sync_point(), false);
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
        for slot in [0, 1] {
            // The first arrival has not seen the next synchronization point.
            if !halted && !went_on[slot] {
                assert!(!clocks.is_over());
                clocks.advance(slot, clocks.sync_point(), false);
            }
        }
        assert!(clocks.is_over());
        let end = if halted { HALT_GRID } else { HALT_GRID + Time(20) };
        assert_eq!([0, 1].map(|slot| clocks.clock(slot)), [end; 2]);
    });
}

#[test]
fn the_last_at_a_synchronisation_point_sets_the_next_one_and_at_the_end_ends_the_round() {
    two_sync_points(false);
}

#[test]
fn no_part_passes_a_synchronisation_point_before_which_the_run_was_halted() {
    two_sync_points(true);
}
