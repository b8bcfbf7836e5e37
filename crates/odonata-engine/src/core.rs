//! What runs the events of one part for good: its queue, the counters of its LPs, and the time. All schedulers share it.

use crate::clusters::Clusters;
use crate::saved::{Damaged, Loader, Saver};
use crate::wheel::{Scheduled, Wheel};
use crate::{Cell, Context, Key, Lp, Mode, Model, Partition, Plain, Saved, Time};
use std::ops::Range;

/// A run that its model [halts](Context::halt) ends at the next multiple of this time, 2^20 ps: all events before are
/// handled, those of other LPs too, so that what is left behind does not depend on who was how far.
pub const HALT_GRID: Time = Time(1 << 20);

/// The last instant that is handled of a run that is halted at `now`.
pub(crate) fn halt_end(now: Time) -> Time {
    Time((now.0 / HALT_GRID.0 + 1).saturating_mul(HALT_GRID.0) - 1)
}

/// The next instant, if there is one.
pub(crate) fn after(time: Time) -> Time {
    Time(time.0.saturating_add(1))
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

    /// The key of the next event that `lp` sends, for `time`.
    #[inline]
    pub(crate) fn key(&mut self, lp: Lp, time: Time) -> Key {
        let next = &mut self.next[(lp - self.first) as usize];
        let sequence = *next;
        *next = sequence.wrapping_add(1);
        Key {
            time,
            sender: lp,
            sequence,
        }
    }

    /// Takes back that `lp` has sent the last `count` events.
    pub(crate) fn take_back(&mut self, lp: Lp, count: u32) {
        let next = &mut self.next[(lp - self.first) as usize];
        *next = next.wrapping_sub(count);
    }
}

/// Why [`Core::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// No event is due before the bound.
    Bound,
    /// As many events as asked for were handled.
    Budget,
    /// The last event has something for other parts.
    Export,
}

/// Everything of a part but its model.
pub(crate) struct Core<E> {
    /// Of all LPs, or of the cluster whose turn it is.
    pub(crate) queue: Wheel<E>,
    /// Whose events are in it.
    pub(crate) own: Range<Lp>,
    /// The other queues, if LPs take turns.
    pub(crate) clusters: Clusters<E>,
    pub(crate) sequences: Sequences,
    pub(crate) now: Time,
    pub(crate) lp: Lp,
    pub(crate) events: u64,
    /// Events are handled for now if they are earlier than this.
    pub(crate) bound: Time,
    /// When the model first halted the run, and the smallest code with which it did at that instant.
    pub(crate) halted: Option<(Time, u32)>,
}

impl<E> Mode for Core<E> {
    const JOURNAL: bool = Plain::JOURNAL;
}

impl<E: Copy> Context<E> for Core<E> {
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
    fn settled(&self) -> Time {
        match self.clusters.len() {
            0 => self.now,
            _ => self.clusters.begin,
        }
    }

    #[inline]
    fn send(&mut self, to: Lp, at: Time, event: E) {
        assert!(at > self.now, "an event must lie strictly in the future");
        let key = self.sequences.key(self.lp, at);
        self.push(Scheduled::new(to, key, event));
    }

    #[inline]
    fn look_again(&mut self, lp: Lp, at: Time, what: u32, event: E) {
        assert!(at > self.now_of(lp), "an event must lie strictly in the future");
        let key = Key {
            time: at,
            sender: Key::CANONICAL,
            sequence: what,
        };
        self.push(Scheduled::new(lp, key, event));
    }

    #[cold]
    fn halt(&mut self, code: u32) {
        let first = self.halted.get_or_insert((self.now, code));
        *first = (*first).min((self.now, code));
        self.bound = self.bound.min(after(halt_end(self.now)));
    }
}

impl<E: Copy> Core<E> {
    /// Starts every LP of `model`, with one queue of that many buckets.
    pub(crate) fn start<M: Model<Event = E>>(model: &mut M, buckets: usize) -> Core<E> {
        Self::start_with(model, buckets, model.processes(), Clusters::NONE)
    }

    /// Starts every LP of `model`; the parts of `partition` will take turns.
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

    /// The last instant to be handled of a run until `until`: sooner if it was halted.
    pub(crate) fn limit(&self, until: Time) -> Time {
        self.halted.map_or(until, |(time, _)| until.min(halt_end(time)))
    }

    #[inline(always)]
    pub(crate) fn is_own(&self, lp: Lp) -> bool {
        lp.wrapping_sub(self.own.start) < self.own.end - self.own.start
    }

    #[inline(always)]
    fn push(&mut self, item: Scheduled<E>) {
        if self.is_own(item.lp) {
            self.queue.push(item);
        } else {
            self.clusters.push(item);
        }
    }

    /// Handles the events of `model` before [`bound`](Self::bound), until `last` have been handled or one has something for
    /// other parts.
    ///
    /// The only place where events are handled for good, so that the handlers are compiled into this loop: with one loop for
    /// each scheduler they were functions of their own, which took 3 % more instructions.
    pub(crate) fn run<M: Model<Event = E>>(&mut self, model: &mut M, last: u64) -> Stop {
        loop {
            if self.events >= last {
                return Stop::Budget;
            }
            let Some(item) = self.queue.pop_foreseen(self.bound, |event| model.foresee(event)) else {
                return Stop::Bound;
            };
            self.events += 1;
            self.now = item.time;
            self.lp = item.lp;
            model.handle(self, item.lp, item.event);
            if !model.outbox().is_empty() {
                return Stop::Export;
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
            false => Err(Damaged("an event is late, or for nobody".into())),
        }
    }
}
