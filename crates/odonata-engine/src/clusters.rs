//! Clusters: the LPs of one model in blocks that take turns, a window at a time, each with a queue of its own.
//!
//! The model is not divided: all LPs share one state, and nothing is copied from cluster to cluster. Only the order in which
//! events are handled is another one. Nothing that happens in a window, which is as long as the shortest delay between two
//! clusters, can influence another cluster in it, so that each handles all its events of the window before the next one
//! begins, and finds its state in the caches after the first of them:
//!
//! ```text
//!  time ►   window 1     window 2              one queue:    a b c a c b a b c ...
//!  cluster a  1 2 3        7 8                 clusters:     a a a b b c c c ...
//!  cluster b  4            9
//!  cluster c  5 6          10 11
//! ```
//!
//! An event may so be handled before an earlier one of another cluster. For what LPs do to each other's state directly (a credit
//! that is put where its receiver will look for it) there is [`Context::now_of`](crate::Context::now_of).

use crate::core::{Core, Stop, after, halt_end};
use crate::saved::{Damaged, Loader, Saver};
use crate::scheduler::Pause;
use crate::wheel::{BUCKETS, Scheduled, Wheel};
use crate::{Cell, Lp, Model, Partition, Saved, Time};
use std::ops::Range;

/// Buckets of all event queues together, as long as each has at least [`FEWEST_BUCKETS`], or [`LEAST_BUCKETS`] of a great
/// many queues.
const ALL_BUCKETS: usize = 8 * BUCKETS;
const FEWEST_BUCKETS: usize = 512;
const LEAST_BUCKETS: usize = 64;
const MANY: usize = 4096;

/// Buckets of the event queue of each of so many blocks.
pub(crate) fn buckets(blocks: usize) -> usize {
    let fewest = if blocks > MANY { LEAST_BUCKETS } else { FEWEST_BUCKETS };
    (ALL_BUCKETS / blocks.max(1)).clamp(fewest, BUCKETS)
}

/// A cluster whose turn it is not.
struct Waiting<E> {
    queue: Wheel<E>,
    /// The time of its last event.
    now: Time,
    /// When its next one is due.
    next: Time,
}

/// The clusters of a [`Core`]; none if it has one queue for all.
pub(crate) struct Clusters<E> {
    /// The first LP of each, and the number of LPs.
    bounds: Vec<Lp>,
    /// Per LP.
    cluster_of: Vec<u32>,
    waiting: Vec<Waiting<E>>,
    /// The shortest delay between two.
    lookahead: Time,
    /// The window: from the first event due to where a cluster can hear from another.
    pub(crate) begin: Time,
    pub(crate) end: Time,
    /// Windows, and turns in which there was something to do.
    pub(crate) rounds: u64,
    pub(crate) turns: u64,
}

impl<E> Clusters<E> {
    pub(crate) const NONE: Clusters<E> = Clusters {
        bounds: Vec::new(),
        cluster_of: Vec::new(),
        waiting: Vec::new(),
        lookahead: Time::NEVER,
        begin: Time::ZERO,
        end: Time::ZERO,
        rounds: 0,
        turns: 0,
    };
}

impl<E: Copy> Clusters<E> {
    /// The parts of `partition` as clusters.
    pub(crate) fn new(partition: &Partition) -> Clusters<E> {
        let waiting = || Waiting {
            queue: Wheel::with_buckets(buckets(partition.len())),
            now: Time::ZERO,
            next: Time::NEVER,
        };
        let numbers = (0..partition.len()).flat_map(|part| partition.range(part).map(move |_| part as u32));
        Clusters {
            bounds: partition.bounds().to_vec(),
            cluster_of: numbers.collect(),
            waiting: (0..partition.len()).map(|_| waiting()).collect(),
            lookahead: partition.lookahead(),
            ..Clusters::NONE
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    fn range(&self, cluster: usize) -> Range<Lp> {
        self.bounds[cluster]..self.bounds[cluster + 1]
    }

    /// The time of the last event of the cluster of `lp`, whose turn it is not.
    #[inline]
    pub(crate) fn now_of(&self, lp: Lp) -> Time {
        self.waiting[self.cluster_of[lp as usize] as usize].now
    }

    /// Queues an event for a cluster whose turn it is not.
    #[inline(never)]
    pub(crate) fn push(&mut self, item: Scheduled<E>) {
        let (at, end) = (item.time, self.end);
        assert!(
            at >= end,
            "LP {} is sent something for {at:?} in a window that ends at {end:?}: sooner than the lookahead",
            item.lp
        );
        let cluster = &mut self.waiting[self.cluster_of[item.lp as usize] as usize];
        cluster.next = cluster.next.min(at);
        cluster.queue.push(item);
    }

    /// The time of the last event of all.
    pub(crate) fn now(&self) -> Time {
        let times = self.waiting.iter().map(|cluster| cluster.now);
        times.max().unwrap_or(Time::ZERO)
    }

    /// The events of all clusters, while none has its turn.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Scheduled<E>> {
        self.waiting.iter().flat_map(|cluster| cluster.queue.iter())
    }

    /// Number of them.
    pub(crate) fn queued(&self) -> usize {
        self.waiting.iter().map(|cluster| cluster.queue.len()).sum()
    }
}

impl<E: Copy> Core<E> {
    /// Handles events in windows, until one of the reasons of [`Pause`] holds at the end of one.
    pub(crate) fn take_turns<M: Model<Event = E>>(&mut self, model: &mut M, until: Time, last: u64) -> Pause {
        loop {
            let limit = self.limit(until);
            let waiting = &self.clusters.waiting;
            let first = waiting.iter().map(|cluster| cluster.next).min().unwrap_or(Time::NEVER);
            if first > limit || first == Time::NEVER {
                return match self.halted {
                    Some((_, code)) => Pause::Halted(code),
                    None if first == Time::NEVER => Pause::Idle,
                    None => Pause::TimeLimit,
                };
            }
            if self.events >= last {
                return Pause::Budget;
            }
            // Whether a run is halted is known before anybody goes beyond the next multiple of the grid.
            let grid = after(halt_end(first));
            let end = Time(first.0.saturating_add(self.clusters.lookahead.0));
            (self.clusters.begin, self.clusters.end) = (first, end.min(grid).min(after(limit)));
            self.clusters.rounds += 1;
            for cluster in 0..self.clusters.len() {
                if self.clusters.waiting[cluster].next < self.clusters.end {
                    self.take_turn(model, cluster);
                }
            }
        }
    }

    /// The turn of a cluster: all its events of the window.
    fn take_turn<M: Model<Event = E>>(&mut self, model: &mut M, cluster: usize) {
        self.clusters.turns += 1;
        self.own = self.clusters.range(cluster);
        let waiting = &mut self.clusters.waiting[cluster];
        self.now = waiting.now;
        std::mem::swap(&mut self.queue, &mut waiting.queue);
        self.bound = self.clusters.end;
        let stop = self.run(model, u64::MAX);
        debug_assert_eq!(stop, Stop::Bound, "an undivided model has nobody to export to");
        let waiting = &mut self.clusters.waiting[cluster];
        std::mem::swap(&mut self.queue, &mut waiting.queue);
        waiting.now = self.now;
        waiting.next = waiting.queue.next_time().unwrap_or(Time::NEVER);
        self.own = 0..0;
    }
}

/// Between turns.
impl<E: Cell> Saved for Clusters<E> {
    fn save(&self, to: &mut Saver<'_>) {
        for cluster in &self.waiting {
            cluster.queue.save(to);
            to.value(&cluster.now);
        }
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged> {
        for number in 0..self.len() {
            let own = self.range(number);
            let cluster = &mut self.waiting[number];
            cluster.queue.load(from)?;
            cluster.now = from.value()?;
            cluster.next = cluster.queue.next_time().unwrap_or(Time::NEVER);
            let due = |item: &Scheduled<E>| item.time >= cluster.now && own.contains(&item.lp);
            if !cluster.queue.iter().all(due) {
                return Err(Damaged("an event is late, or for another cluster".into()));
            }
        }
        Ok(())
    }
}
