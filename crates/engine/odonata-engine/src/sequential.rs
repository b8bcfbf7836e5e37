//! The sequential scheduler: one part, one thread. With one event queue it is the reference for all other schedulers; with a
//! queue for each [cluster](crate::clusters) of LPs it is faster on large models.

use crate::core::{Core, Stop, after};
use crate::saved::{Damaged, Loader, Saver};
use crate::scheduler::{Figures, PartView, Pause, Scheduler};
use crate::wheel::BUCKETS;
use crate::{Context, Lp, Model, Partition, Saved, Time};

/// What another program does to a model between two runs.
pub trait Injection<M: Model> {
    /// Changes the model, and schedules events.
    fn apply<C: Context<Event = M::Event>>(self, model: &mut M, ctx: &mut C);
}

/// Runs a model's events one after the other.
pub struct Sequential<M: Model> {
    model: M,
    core: Core<M::Event>,
}

impl<M: Model> Sequential<M> {
    /// Starts every LP of `model`, which is undivided.
    pub fn new(mut model: M) -> Self {
        let core = Core::start(&mut model, BUCKETS);
        Sequential { model, core }
    }

    /// Starts every LP of `model`, which is undivided. The parts of `partition` are clusters, each with its own queue.
    ///
    /// # Errors
    /// The partition does not match the LPs of the model.
    pub fn in_clusters(mut model: M, partition: &Partition) -> Result<Self, String> {
        if partition.len() == 1 {
            return Ok(Self::new(model));
        }
        let (own, given) = (model.processes(), 0..partition.processes());
        if own != given {
            return Err(format!("clusters of LPs {given:?}, and the model has {own:?}"));
        }
        let core = Core::start_in_clusters(&mut model, partition);
        Ok(Sequential { model, core })
    }

    /// Handles events until one of the reasons of [`Pause`] holds.
    pub fn run(&mut self, until: Time, budget: u64) -> Pause {
        let last = self.core.events.saturating_add(budget);
        if self.core.clusters.len() > 0 {
            return self.core.run_windows(&mut self.model, until, last);
        }
        self.core.bound = after(self.core.limit(until));
        match (self.core.run(&mut self.model, last), self.core.halted) {
            (Stop::RemoteSend, _) => panic!("a whole model has no other part to send to"),
            (Stop::Budget, _) => Pause::Budget,
            (Stop::Bound, Some((_, code))) => Pause::Halted(code),
            (Stop::Bound, None) if self.core.queue.is_empty() => Pause::Idle,
            (Stop::Bound, None) => Pause::TimeLimit,
        }
    }

    /// Applies `injection` as LP `lp`, with the time of the last event handled. It schedules events for `lp` alone, after
    /// the time until which the model has run.
    pub fn inject(&mut self, lp: Lp, injection: impl Injection<M>) {
        self.core.lp = lp;
        injection.apply(&mut self.model, &mut self.core);
    }

    /// Write access to the model, between runs.
    pub fn model_mut(&mut self) -> &mut M {
        &mut self.model
    }

    /// The time of the last event handled.
    pub fn now(&self) -> Time {
        self.core.now.max(self.core.clusters.now())
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.core.events
    }

    /// Number of pending events.
    pub fn queued(&self) -> usize {
        self.core.queue.len() + self.core.clusters.queued()
    }

    /// The time of the first pending event.
    pub fn next_time(&self) -> Option<Time> {
        let core = &self.core;
        core.queue
            .next_time()
            .into_iter()
            .chain(core.clusters.next_time())
            .min()
    }

    /// The pending events, in arbitrary order.
    pub fn pending(&self) -> impl Iterator<Item = &M::Event> {
        let events = self.core.queue.iter().chain(self.core.clusters.iter());
        events.map(|item| &item.event)
    }

    /// Read access to the model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// Ends the run and returns the model.
    pub fn into_model(self) -> M {
        self.model
    }
}

impl<M: Model> Scheduler<M> for Sequential<M> {
    fn run(&mut self, until: Time, budget: u64) -> Pause {
        self.run(until, budget)
    }

    fn now(&self) -> Time {
        self.now()
    }

    fn events(&self) -> u64 {
        self.events()
    }

    fn view(&mut self, see: &mut dyn FnMut(PartView<'_, M>)) {
        see(PartView {
            model: &self.model,
            events: Box::new(self.pending()),
            remote_events: Box::new(std::iter::empty()),
        });
    }

    fn into_parts(self: Box<Self>) -> Vec<M> {
        vec![self.model]
    }

    fn figures(&self) -> Figures {
        Figures {
            threads: 1,
            parts: self.core.clusters.len().max(1),
            processes: 1,
            events: self.events(),
            rounds: self.core.clusters.rounds,
            windows: self.core.clusters.cluster_windows,
            ..Figures::default()
        }
    }

    fn save_state(&self, part: usize, to: &mut Saver<'_>) {
        assert_eq!(part, 0, "there is one state");
        self.save(to);
    }

    fn load_state(&mut self, part: usize, from: &mut Loader<'_>) -> Result<(), Damaged> {
        assert_eq!(part, 0, "there is one state");
        self.load(from)
    }

    fn go_on_from(&mut self, now: Time) {
        debug_assert_eq!(self.now(), now, "the state knows");
    }
}

impl<M: Model> Saved for Sequential<M> {
    fn save(&self, to: &mut Saver<'_>) {
        self.model.save(to);
        self.core.save(to);
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged> {
        self.model.load(from)?;
        self.core.load(from)
    }
}
