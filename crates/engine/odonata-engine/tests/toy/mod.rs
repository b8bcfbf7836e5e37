//! A model for scheduler tests: jobs that wander over LPs, after PHOLD (Fujimoto, "Performance of Time Warp under
//! synthetic workloads", 1990), with everything that makes the models of this simulator hard to run in parallel.
//!
//! - A job's content is state of its current part, and is sent by value ([`RemoteJob`]).
//! - Some jobs pay: they need a credit of the LP that they leave. It returns ([`RemoteCredit`]) when the job has
//!   arrived, with the time from which it counts. Credits are lazy: they stay in a list until the LP examines it.
//! - An LP sends one job at a time, and wakes up ([`Toy::serve`]) when it is free or a credit counts.
//! - Times are rounded up to a *grain*: with a coarse grain, many events share a picosecond.
//! - The digest of an LP depends on the order in which its jobs are handled.

// Every test file compiles this module and uses a part of it.
#![allow(dead_code)]

mod params;

use odonata_engine::random::Purpose;
use odonata_engine::{
    Context, Digest, List, Lp, Mode, Model, NIL, Partition, Pool, RangeStore, SendBuffer, Store, Stream, Time,
    WireFormat,
};
#[allow(unused_imports)]
pub(crate) use params::{Halt, Params, SMALLEST};
use std::ops::Range;
use std::sync::Arc;

/// The state of an LP.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Place {
    stream: Stream,
    /// Over the jobs handled, in their order.
    digest: u64,
    visits: u32,
    ended: u32,
    /// Credits that count and that the LP has collected.
    purse: u32,
    /// Sum over the collected credits.
    receipts: u64,
    /// Until when the LP sends a job.
    busy: Time,
    /// The next wake-up of the LP, if it lies in the future.
    wake_up: Time,
    waiting: List,
    credits: List,
}

/// A job at an LP.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Job {
    job: RemoteJob,
    next: u32,
}

/// A returned credit that is not collected yet.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Credit {
    at: Time,
    from: Lp,
    next: u32,
}

odonata_engine::slots!(Job Credit);

/// A job in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub(crate) struct RemoteJob {
    pub(crate) id: u32,
    /// Visits to come.
    pub(crate) left: u32,
    /// The sending LP, and whether the job holds one of its credits.
    pub(crate) from: Lp,
    pub(crate) paid: bool,
}

impl WireFormat for RemoteJob {
    fn write(&self, bytes: &mut Vec<u8>) {
        for word in [self.id, self.left, self.from] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.push(u8::from(self.paid));
    }

    fn read(bytes: &mut &[u8]) -> Option<RemoteJob> {
        let mut word = || {
            let (word, rest) = bytes.split_first_chunk()?;
            *bytes = rest;
            Some(u32::from_le_bytes(*word))
        };
        let (id, left, from) = (word()?, word()?, word()?);
        let (&paid, rest) = bytes.split_first()?;
        *bytes = rest;
        (paid < 2).then_some(RemoteJob {
            id,
            left,
            from,
            paid: paid == 1,
        })
    }
}

/// A credit in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RemoteCredit {
    from: Lp,
}

impl WireFormat for RemoteCredit {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.from.to_le_bytes());
    }

    fn read(bytes: &mut &[u8]) -> Option<RemoteCredit> {
        let (word, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(RemoteCredit {
            from: u32::from_le_bytes(*word),
        })
    }
}

/// The events of an LP.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Event {
    /// The job in this slot arrives.
    Job(u32),
    /// The LP may be free, or a credit may count.
    WakeUp,
}

/// A part of the model.
#[derive(Debug)]
pub(crate) struct Toy {
    params: Arc<Params>,
    range: Range<Lp>,
    places: RangeStore<Place>,
    jobs: Pool<Job>,
    credits: Pool<Credit>,
    /// When the last job arrived in this part.
    last: Store<Time>,
    send_buffer: SendBuffer<RemoteJob, RemoteCredit>,
}

odonata_engine::journalled!(Toy {
    places,
    jobs,
    credits,
    last
});

/// The parts of the model.
pub(crate) fn divide(params: &Params, partition: &Partition) -> Vec<Toy> {
    let params = Arc::new(params.clone());
    let part = |part| Toy::new(params.clone(), partition.range(part));
    (0..partition.len()).map(part).collect()
}

/// The results, independent of the parts.
pub(crate) fn results(parts: &[Toy]) -> u128 {
    let mut digest = Digest::new();
    for part in parts {
        part.results(&mut digest);
    }
    digest.value()
}

fn mix(a: u64, b: u64) -> u64 {
    let x = (a ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^ (x >> 32)
}

impl Toy {
    fn new(params: Arc<Params>, range: Range<Lp>) -> Toy {
        let place = |lp| Place {
            stream: Stream::new(params.seed, u64::from(lp), Purpose::Destination),
            digest: 0,
            visits: 0,
            ended: 0,
            purse: params.purse,
            receipts: 0,
            busy: Time::ZERO,
            wake_up: Time::ZERO,
            waiting: List::EMPTY,
            credits: List::EMPTY,
        };
        Toy {
            places: RangeStore::with(range.clone(), place),
            jobs: Pool::new(),
            credits: Pool::new(),
            last: Store::filled(1, Time::ZERO),
            send_buffer: SendBuffer::new(),
            params,
            range,
        }
    }

    /// The job carried by `event`.
    pub(crate) fn job(&self, event: &Event) -> Option<RemoteJob> {
        match *event {
            Event::Job(slot) => Some(self.jobs.get(slot).job),
            Event::WakeUp => None,
        }
    }

    /// When the last job arrived here.
    pub(crate) fn last(&self) -> Time {
        *self.last.get(0)
    }

    /// The credits of each LP, including uncollected ones.
    pub(crate) fn credits(&self) -> impl Iterator<Item = u32> {
        let lying = |place: &Place| place.credits.iter(&self.credits).count() as u32;
        self.places.iter().map(move |place| place.purse + lying(place))
    }

    fn allocate<C: Mode>(&mut self, job: RemoteJob) -> Event {
        Event::Job(self.jobs.allocate::<C>(Job { job, next: NIL }))
    }

    /// The arrival time of something that `from` sends to `to` now.
    fn arrival<C: Context<Event = Event>>(&mut self, ctx: &C, from: Lp, to: Lp) -> Time {
        let least = if from == to {
            Time(1)
        } else {
            self.params.delay(from, to)
        };
        let random = self
            .places
            .edit::<C>(from)
            .stream
            .exponential(self.params.mean.0 as f64);
        self.params.round(ctx.now() + least + Time(random as u64))
    }

    /// Returns a credit to `lp` that counts from `at` on.
    fn give_back<C: Context<Event = Event>>(&mut self, ctx: &mut C, lp: Lp, at: Time, from: Lp) {
        let slot = self.credits.allocate::<C>(Credit { at, from, next: NIL });
        let mut list = self.places.get(lp).credits;
        list.push::<C, _>(&mut self.credits, slot);
        self.places.edit::<C>(lp).credits = list;
        if !self.places.get(lp).waiting.is_empty() {
            self.wake_up_at(ctx, lp, at, 1);
        }
    }

    /// Wakes up `lp` at `at`, unless it wakes up earlier.
    fn wake_up_at<C: Context<Event = Event>>(&mut self, ctx: &mut C, lp: Lp, at: Time, what: u32) {
        let wake_up = self.places.get(lp).wake_up;
        if wake_up <= ctx.now_of(lp) || at < wake_up {
            self.places.edit::<C>(lp).wake_up = at;
            ctx.wake_up(lp, at, what, Event::WakeUp);
        }
    }

    /// Collects the credits of `lp` that count.
    fn harvest<C: Context<Event = Event>>(&mut self, ctx: &C, lp: Lp) {
        let now = ctx.now();
        let mut list = self.places.get(lp).credits;
        while let Some(slot) = list.remove_first::<C, _>(&mut self.credits, |credit| credit.at <= now) {
            let Credit { at, from, .. } = *self.credits.get(slot);
            self.credits.free::<C>(slot);
            let place = self.places.edit::<C>(lp);
            place.purse += 1;
            place.receipts = place.receipts.wrapping_add(mix(at.0, u64::from(from)));
        }
        self.places.edit::<C>(lp).credits = list;
    }

    /// Sends the jobs that can be sent. Does nothing if nothing has changed since the last call.
    fn serve<C: Context<Event = Event>>(&mut self, ctx: &mut C, lp: Lp) {
        self.harvest(ctx, lp);
        while let head = self.places.get(lp).waiting.head
            && head != NIL
        {
            let (job, place) = (self.jobs.get(head).job, *self.places.get(lp));
            if ctx.now() < place.busy {
                self.wake_up_at(ctx, lp, place.busy, 0);
                return;
            }
            let pays = self.params.pays(job.id);
            if pays && place.purse == 0 {
                let times = place.credits.iter(&self.credits).map(|slot| self.credits.get(slot).at);
                if let Some(first) = times.min() {
                    self.wake_up_at(ctx, lp, first, 1);
                }
                return;
            }
            let busy = ctx.now() + self.params.service;
            let place = self.places.edit::<C>(lp);
            place.purse -= u32::from(pays);
            place.busy = busy;
            let mut waiting = place.waiting;
            waiting.pop(&self.jobs);
            place.waiting = waiting;
            self.depart(ctx, lp, head);
        }
    }

    fn depart<C: Context<Event = Event>>(&mut self, ctx: &mut C, lp: Lp, slot: u32) {
        let mut stream = self.places.get(lp).stream;
        let to = self.params.destination(lp, &mut stream);
        self.places.edit::<C>(lp).stream = stream;
        let at = self.arrival(ctx, lp, to);
        let old = self.jobs.get(slot).job;
        let job = RemoteJob {
            id: old.id,
            left: old.left - 1,
            from: lp,
            paid: self.params.pays(old.id),
        };
        if self.range.contains(&to) {
            self.jobs.edit::<C>(slot).job = job;
            ctx.send(to, at, Event::Job(slot));
        } else {
            self.jobs.free::<C>(slot);
            self.send_buffer.events.push((to, at, job));
        }
    }

    fn arrive<C: Context<Event = Event>>(&mut self, ctx: &mut C, lp: Lp, slot: u32) {
        let job = self.jobs.get(slot).job;
        let now = ctx.now();
        // LPs may be at different times.
        let last = self.last.edit::<C>(0);
        *last = now.max(*last);
        let place = self.places.edit::<C>(lp);
        place.visits += 1;
        place.digest = mix(
            place.digest,
            mix(
                now.0,
                mix(u64::from(job.id) << 32 | u64::from(job.left), u64::from(job.from)),
            ),
        );
        for i in 0..self.params.work {
            place.digest = mix(place.digest, u64::from(i));
        }
        let visits = place.visits;
        assert_ne!(self.params.breaks, Some((lp, visits)), "the toy breaks");
        for halt in self
            .params
            .halts
            .iter()
            .filter(|halt| (halt.lp, halt.visits) == (lp, visits))
        {
            ctx.halt(halt.code);
        }
        if job.paid {
            let at = self.arrival(ctx, lp, job.from);
            if self.range.contains(&job.from) {
                self.give_back(ctx, job.from, at, lp);
            } else {
                self.send_buffer.updates.push((job.from, at, RemoteCredit { from: lp }));
            }
        }
        if job.left == 0 {
            self.jobs.free::<C>(slot);
            self.places.edit::<C>(lp).ended += 1;
        } else {
            let mut waiting = self.places.get(lp).waiting;
            waiting.push::<C, _>(&mut self.jobs, slot);
            self.places.edit::<C>(lp).waiting = waiting;
        }
    }
}

impl Model for Toy {
    type Event = Event;
    type RemoteEvent = RemoteJob;
    type RemoteUpdate = RemoteCredit;

    fn processes(&self) -> Range<Lp> {
        self.range.clone()
    }

    fn start<C: Context<Event = Event>>(&mut self, ctx: &mut C, lp: Lp) {
        for i in 0..self.params.jobs {
            let at = self.arrival(ctx, lp, lp);
            let event = self.allocate::<C>(RemoteJob {
                id: lp * self.params.jobs + i,
                left: self.params.visits,
                from: lp,
                paid: false,
            });
            ctx.send(lp, at, event);
        }
    }

    fn handle<C: Context<Event = Event>>(&mut self, ctx: &mut C, lp: Lp, event: Event) {
        if let Event::Job(slot) = event {
            self.arrive(ctx, lp, slot);
        }
        self.serve(ctx, lp);
    }

    fn send_buffer(&mut self) -> &mut SendBuffer<RemoteJob, RemoteCredit> {
        &mut self.send_buffer
    }

    fn receive_event<C: Context<Event = Event>>(&mut self, _: &mut C, _: Lp, job: RemoteJob) -> Event {
        self.allocate::<C>(job)
    }

    fn apply_update<C: Context<Event = Event>>(&mut self, ctx: &mut C, lp: Lp, at: Time, credit: RemoteCredit) {
        assert!(ctx.now_of(lp) < at, "an update is applied before it takes effect");
        self.give_back(ctx, lp, at, credit.from);
    }

    fn lookahead(&self, from: Lp, to: Lp) -> Time {
        self.params.delay(from, to)
    }

    fn results(&self, digest: &mut Digest) {
        for place in self.places.iter() {
            // Whether a credit is collected depends on wake-ups, so both kinds count.
            let lying = place.credits.iter(&self.credits).map(|slot| self.credits.get(slot));
            let lying = lying.fold((0, 0u64), |(count, sum), credit| {
                (count + 1, sum.wrapping_add(mix(credit.at.0, u64::from(credit.from))))
            });
            digest.word(place.digest);
            digest.word(u64::from(place.visits) << 32 | u64::from(place.ended));
            digest.word(u64::from(place.purse + lying.0));
            digest.word(place.receipts.wrapping_add(lying.1));
            digest.word(place.busy.0);
            for slot in place.waiting.iter(&self.jobs) {
                digest.word(u64::from(self.jobs.get(slot).job.id));
            }
        }
    }
}
