//! The event loop of one part: event queue, sequence numbers of the LPs, and the clock. All schedulers share it.

use crate::clusters::Clusters;
use crate::saved::{Damaged, Loader, Saver};
use crate::state::cell_mut;
use crate::wheel::{Scheduled, Wheel, order};
use crate::{Cell, Context, Key, Lp, Mode, Model, Partition, Plain, Saved, Time};
use std::ops::Range;

/// A run that its model [halts](Context::halt) ends at the next multiple of this time, 2^20 ps. All earlier events of
/// all LPs are handled, so the final state does not depend on the progress of each part.
pub const HALT_GRID: Time = Time(1 << 20);

/// The last instant handled in a run that is halted at `now`.
pub(crate) fn halt_end(now: Time) -> Time {
    Time((now.0 / HALT_GRID.0 + 1).saturating_mul(HALT_GRID.0) - 1)
}

/// The next instant, if there is one.
pub(crate) fn after(time: Time) -> Time {
    Time(time.0.saturating_add(1))
}

/// The time of an event sent for `at`. Overflowing sums saturate just below [`Time::NEVER`], which means "no event"
/// elsewhere: a run with such an event left is not idle.
#[inline(always)]
pub(crate) fn due(at: Time) -> Time {
    at.min(Time(Time::NEVER.0 - 1))
}

/// The sequence numbers of a part's LPs.
///
/// They may wrap: order needs them to be unique only among the events of one sender that meet at one
/// receiver in one picosecond.
#[derive(Debug)]
pub(crate) struct Sequences {
    first: Lp,
    next: Vec<u32>,
}

impl Sequences {
    pub(crate) fn new(processes: Range<Lp>) -> Sequences {
        Sequences {
            first: processes.start,
            next: vec![0; processes.len()],
        }
    }

    /// The key of the next event that `lp` sends, for `time`. The LP belongs to the part: it has received an event of
    /// the part's queue.
    #[inline]
    pub(crate) fn key(&mut self, lp: Lp, time: Time) -> Key {
        let next = cell_mut::<Plain, _>(&mut self.next, lp - self.first);
        let sequence = *next;
        *next = sequence.wrapping_add(1);
        Key {
            time: due(time),
            sender: lp,
            sequence,
        }
    }

    /// Rolls back the last `count` events sent by `lp`.
    pub(crate) fn roll_back(&mut self, lp: Lp, count: u32) {
        let next = &mut self.next[(lp - self.first) as usize];
        *next = next.wrapping_sub(count);
    }
}

/// Why [`Core::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// No event is due before the bound.
    Bound,
    /// The requested number of events was handled.
    Budget,
    /// The last event has sent something to other parts.
    RemoteSend,
}

/// The event loop of a part.
pub(crate) struct Core<E> {
    /// The event queue of all LPs, or of the running cluster.
    pub(crate) queue: Wheel<E>,
    /// The LPs whose events are in the queue.
    pub(crate) own: Range<Lp>,
    /// The other queues, if there are clusters.
    pub(crate) clusters: Clusters<E>,
    pub(crate) sequences: Sequences,
    pub(crate) now: Time,
    pub(crate) lp: Lp,
    pub(crate) events: u64,
    /// Events before this are handled.
    pub(crate) bound: Time,
    /// When the model first halted the run, and the smallest code at that instant.
    pub(crate) halted: Option<(Time, u32)>,
}

impl<E> Mode for Core<E> {
    const JOURNAL: bool = Plain::JOURNAL;
}

impl<E: Copy> Context for Core<E> {
    type Event = E;

    #[inline(always)]
    fn now(&self) -> Time {
        self.now
    }

    #[inline]
    fn now_of(&self, lp: Lp) -> Time {
        match self.is_own(lp) {
            true => self.now,
            false => self.clusters.now_of(lp),
        }
    }

    #[inline]
    fn handled_before(&self) -> Time {
        match self.clusters.len() {
            0 => self.now,
            _ => self.clusters.begin,
        }
    }

    #[inline]
    fn send(&mut self, to: Lp, at: Time, event: E) {
        assert!(at > self.now, "an event must lie strictly in the future");
        let key = self.sequences.key(self.lp, at);
        self.push(to, key, event);
    }

    #[inline(always)]
    fn wake_up(&mut self, lp: Lp, at: Time, id: u32, event: E) {
        assert!(at > self.now_of(lp), "an event must lie strictly in the future");
        let key = Key {
            time: due(at),
            sender: Key::WAKE_UP,
            sequence: id,
        };
        self.push(lp, key, event);
    }

    #[cold]
    fn halt(&mut self, code: u32) {
        let first = self.halted.get_or_insert((self.now, code));
        *first = (*first).min((self.now, code));
        self.bound = self.bound.min(after(halt_end(self.now)));
    }
}

impl<E: Copy> Core<E> {
    /// Starts every LP of `model`, with one queue of `buckets` buckets.
    pub(crate) fn start<M: Model<Event = E>>(model: &mut M, buckets: usize) -> Core<E> {
        Self::start_with(model, buckets, model.processes(), Clusters::NONE)
    }

    /// Starts every LP of `model`; the parts of `partition` are the clusters.
    pub(crate) fn start_in_clusters<M: Model<Event = E>>(model: &mut M, partition: &Partition) -> Core<E> {
        Self::start_with(model, 1, 0..0, Clusters::new(partition))
    }

    fn start_with<M: Model<Event = E>>(
        model: &mut M,
        buckets: usize,
        own: Range<Lp>,
        clusters: Clusters<E>,
    ) -> Core<E> {
        let processes = model.processes();
        let mut core = Core {
            queue: Wheel::with_buckets(buckets),
            own,
            clusters,
            sequences: Sequences::new(processes.clone()),
            now: Time::ZERO,
            lp: 0,
            events: 0,
            bound: Time::NEVER,
            halted: None,
        };
        for lp in processes {
            core.lp = lp;
            model.start(&mut core, lp);
        }
        core
    }

    /// The last instant handled in a run until `until`: earlier if the run was halted.
    pub(crate) fn limit(&self, until: Time) -> Time {
        self.halted.map_or(until, |(time, _)| until.min(halt_end(time)))
    }

    #[inline(always)]
    pub(crate) fn is_own(&self, lp: Lp) -> bool {
        lp.wrapping_sub(self.own.start) < self.own.end - self.own.start
    }

    #[inline(always)]
    fn push(&mut self, lp: Lp, key: Key, event: E) {
        if self.is_own(lp) {
            self.queue.push(Scheduled::new(lp, key, event));
        } else {
            self.clusters.push(lp, (key.time, order(key)), event);
        }
    }

    /// Handles the events of `model` before [`bound`](Self::bound), until `last` events are handled or an event sends
    /// something to other parts.
    ///
    /// This is the only loop that handles events without an undo log, so the handlers are inlined into it. With one
    /// loop per scheduler they were not inlined, which cost 3% more instructions.
    pub(crate) fn run<M: Model<Event = E>>(&mut self, model: &mut M, last: u64) -> Stop {
        loop {
            if self.events >= last {
                return Stop::Budget;
            }
            let Some(item) = self.queue.pop_prefetching(self.bound, |event| model.prefetch(event)) else {
                return Stop::Bound;
            };
            self.events += 1;
            self.now = item.time;
            self.lp = item.lp;
            model.handle(self, item.lp, item.event);
            if !model.send_buffer().is_empty() {
                return Stop::RemoteSend;
            }
        }
    }
}

impl Saved for Sequences {
    fn save(&self, to: &mut Saver<'_>) {
        to.values(self.next.iter());
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged> {
        from.fill_in(&mut self.next)
    }
}

impl<E: Cell> Saved for Core<E> {
    fn save(&self, to: &mut Saver<'_>) {
        self.queue.save(to);
        self.clusters.save(to);
        self.sequences.save(to);
        to.value(&(self.now, self.lp, self.events, self.bound, self.halted));
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged> {
        self.queue.load(from)?;
        self.clusters.load(from)?;
        self.sequences.load(from)?;
        (self.now, self.lp, self.events, self.bound, self.halted) = from.value()?;
        if self.clusters.len() > 0 && !self.queue.is_empty() {
            return Err(Damaged("an event is in no cluster".into()));
        }
        let processes = self.sequences.first..self.sequences.first + self.sequences.next.len() as Lp;
        match self
            .queue
            .iter()
            .all(|item| item.time >= self.now && processes.contains(&item.lp))
        {
            true => Ok(()),
            false => Err(Damaged("an event is late, or has no receiver".into())),
        }
    }
}
