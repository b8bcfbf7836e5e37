//! Clusters of LPs: the sequential scheduler runs them one after the other, a window at a time, each with its own event
//! queue.
//!
//! The model is not divided: all LPs share one state, and nothing is copied between clusters. Only the order of events
//! differs. A window is as long as the shortest delay between two clusters, so events of a window cannot affect another
//! cluster in it. Each cluster handles all its events of the window before the next cluster runs, and finds its state
//! in the caches after the first of them:
//!
//! ```text
//!  time ►   window 1     window 2              one queue:    a b c a c b a b c ...
//!  cluster a  1 2 3        7 8                 clusters:     a a a b b c c c ...
//!  cluster b  4            9
//!  cluster c  5 6          10 11
//! ```
//!
//! So an event can be handled before an earlier one of another cluster. Handlers that change the state of another LP
//! directly (a credit written into its receiver's state) use [`Context::now_of`](crate::Context::now_of).

use crate::core::{Core, Stop, after, halt_end};
use crate::saved::{Damaged, Loader, Saver};
use crate::scheduler::Pause;
use crate::wheel::{BUCKETS, CLUSTER_QUEUES, Scheduled, Wheel};
use crate::{Cell, Lp, Model, Partition, Saved, Time};
use std::ops::Range;

/// Total buckets of all event queues; each queue has at least [`FEWEST_BUCKETS`], or [`LEAST_BUCKETS`] if there are
/// very many queues.
const ALL_BUCKETS: usize = CLUSTER_QUEUES * BUCKETS;
const FEWEST_BUCKETS: usize = 512;
const LEAST_BUCKETS: usize = 64;
const MANY: usize = 4096;

/// Buckets per event queue for this number of blocks.
pub(crate) fn buckets(blocks: usize) -> usize {
    let fewest = if blocks > MANY { LEAST_BUCKETS } else { FEWEST_BUCKETS };
    (ALL_BUCKETS / blocks.max(1)).clamp(fewest, BUCKETS)
}

/// A cluster that is not running.
struct ClusterState<E> {
    queue: Wheel<E>,
    /// The time of its last event.
    now: Time,
    /// The time of its next event.
    next: Time,
}

/// The clusters of a [`Core`]; empty with a single event queue.
pub(crate) struct Clusters<E> {
    /// The first LP of each, and the number of LPs.
    bounds: Vec<Lp>,
    /// Per LP.
    cluster_of: Vec<u32>,
    states: Vec<ClusterState<E>>,
    /// The shortest delay between two clusters.
    lookahead: Time,
    /// The window: from the first event to the time at which a cluster can affect another.
    pub(crate) begin: Time,
    pub(crate) end: Time,
    /// Windows, and runs of a cluster in which it had events.
    pub(crate) rounds: u64,
    pub(crate) cluster_windows: u64,
}

impl<E> Clusters<E> {
    pub(crate) const NONE: Clusters<E> = Clusters {
        bounds: Vec::new(),
        cluster_of: Vec::new(),
        states: Vec::new(),
        lookahead: Time::NEVER,
        begin: Time::ZERO,
        end: Time::ZERO,
        rounds: 0,
        cluster_windows: 0,
    };
}

impl<E: Copy> Clusters<E> {
    /// The parts of `partition` as clusters.
    pub(crate) fn new(partition: &Partition) -> Clusters<E> {
        let state = || ClusterState {
            queue: Wheel::with_buckets(buckets(partition.len())),
            now: Time::ZERO,
            next: Time::NEVER,
        };
        let numbers = (0..partition.len()).flat_map(|part| partition.range(part).map(move |_| part as u32));
        Clusters {
            bounds: partition.bounds().to_vec(),
            cluster_of: numbers.collect(),
            states: (0..partition.len()).map(|_| state()).collect(),
            lookahead: partition.lookahead(),
            ..Clusters::NONE
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    fn range(&self, cluster: usize) -> Range<Lp> {
        self.bounds[cluster]..self.bounds[cluster + 1]
    }

    /// The time of the last event in the cluster of `lp`, which is not running.
    #[inline]
    pub(crate) fn now_of(&self, lp: Lp) -> Time {
        self.states[self.cluster_of[lp as usize] as usize].now
    }

    /// Queues an event with this [rank](Scheduled::rank) for a cluster that is not running.
    // Takes the fields, so that its caller needs no memory for them.
    #[inline(never)]
    pub(crate) fn push(&mut self, lp: Lp, (at, order): (Time, u64), event: E) {
        let end = self.end;
        assert!(
            at >= end,
            "LP {lp} is sent something for {at:?} in a window that ends at {end:?}: sooner than the lookahead"
        );
        let cluster = &mut self.states[self.cluster_of[lp as usize] as usize];
        cluster.next = cluster.next.min(at);
        cluster.queue.push(Scheduled::ranked(lp, (at, order), event));
    }

    /// The time of the last event of all.
    pub(crate) fn now(&self) -> Time {
        let times = self.states.iter().map(|cluster| cluster.now);
        times.max().unwrap_or(Time::ZERO)
    }

    /// The time of the first event of all clusters; no cluster may be running.
    pub(crate) fn next_time(&self) -> Option<Time> {
        self.states.iter().filter_map(|cluster| cluster.queue.next_time()).min()
    }

    /// The events of all clusters; no cluster may be running.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Scheduled<E>> {
        self.states.iter().flat_map(|cluster| cluster.queue.iter())
    }

    /// Number of them.
    pub(crate) fn queued(&self) -> usize {
        self.states.iter().map(|cluster| cluster.queue.len()).sum()
    }
}

impl<E: Copy> Core<E> {
    /// Runs the clusters window by window, until one of the reasons of [`Pause`] holds at the end of a window.
    pub(crate) fn run_windows<M: Model<Event = E>>(&mut self, model: &mut M, until: Time, last: u64) -> Pause {
        loop {
            let limit = self.limit(until);
            let states = &self.clusters.states;
            let first = states.iter().map(|cluster| cluster.next).min().unwrap_or(Time::NEVER);
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
            // Before a cluster passes the next multiple of the grid, it must be known whether the run is halted.
            let grid = after(halt_end(first));
            let end = Time(first.0.saturating_add(self.clusters.lookahead.0));
            (self.clusters.begin, self.clusters.end) = (first, end.min(grid).min(after(limit)));
            self.clusters.rounds += 1;
            for cluster in 0..self.clusters.len() {
                if self.clusters.states[cluster].next < self.clusters.end {
                    self.run_cluster(model, cluster);
                }
            }
        }
    }

    /// Runs a cluster: handles all its events of the window.
    fn run_cluster<M: Model<Event = E>>(&mut self, model: &mut M, cluster: usize) {
        self.clusters.cluster_windows += 1;
        self.own = self.clusters.range(cluster);
        let state = &mut self.clusters.states[cluster];
        self.now = state.now;
        std::mem::swap(&mut self.queue, &mut state.queue);
        self.bound = self.clusters.end;
        let stop = self.run(model, u64::MAX);
        debug_assert_eq!(stop, Stop::Bound, "an undivided model has no other part to send to");
        let state = &mut self.clusters.states[cluster];
        std::mem::swap(&mut self.queue, &mut state.queue);
        state.now = self.now;
        state.next = state.queue.next_time().unwrap_or(Time::NEVER);
        self.own = 0..0;
    }
}

/// Only between two runs of a cluster.
impl<E: Cell> Saved for Clusters<E> {
    fn save(&self, to: &mut Saver<'_>) {
        for cluster in &self.states {
            cluster.queue.save(to);
            to.value(&cluster.now);
        }
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged> {
        for number in 0..self.len() {
            let own = self.range(number);
            let cluster = &mut self.states[number];
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
