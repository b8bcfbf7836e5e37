//! What the threads of a process share, and what each of them does in a round.

use super::clocks::Clocks;
use super::letters::{Letters, LettersOf};
use super::office::{Bag, Messenger, Office};
use super::part::{Part, Window};
use super::reach::{Horizon, Reach};
use super::record;
use super::roster::Roster;
use super::sync::{AtomicBool, AtomicU64, Mutex, Ordering, Padded, alone, lock};
use crate::{Model, Partition, Time};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

/// A part of this process, and what others may know of it.
pub(super) struct Seat<M: Model> {
    pub(super) part: Mutex<Part<M>>,
    pub(super) news: Padded<News>,
}

/// What others may know of a part. Written by whoever runs it, read when all parts stand still.
#[derive(Debug)]
pub(super) struct News {
    next: AtomicU64,
    done: AtomicU64,
    events: AtomicU64,
    /// When it first halted the run; in an optimistic run perhaps to be taken back.
    halted: AtomicU64,
    /// Whether something that it has done can be taken back.
    ahead: AtomicU64,
}

impl<M: Model> Seat<M> {
    pub(super) fn new(part: Part<M>) -> Self {
        let news = News {
            next: AtomicU64::new(0),
            done: AtomicU64::new(0),
            events: AtomicU64::new(0),
            halted: AtomicU64::new(Time::NEVER.0),
            ahead: AtomicU64::new(0),
        };
        news.publish(&part);
        Seat {
            part: Mutex::new(part),
            news: Padded(news),
        }
    }
}

impl News {
    /// When the part's next event is due, letters aside.
    fn next(&self) -> Time {
        Time(self.next.load(Ordering::Relaxed))
    }

    /// Nothing may come to it any more that is earlier.
    pub(super) fn done(&self) -> Time {
        Time(self.done.load(Ordering::Relaxed))
    }

    pub(super) fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    pub(super) fn halted(&self) -> Time {
        Time(self.halted.load(Ordering::Relaxed))
    }

    pub(super) fn is_ahead(&self) -> bool {
        self.ahead.load(Ordering::Relaxed) != 0
    }

    /// As [`publish`](Self::publish), for a part that has become another.
    fn restart<M: Model>(&self, part: &Part<M>) {
        self.events.store(part.events(), Ordering::Relaxed);
        self.publish(part);
    }

    /// The number of events since the last time.
    pub(super) fn publish<M: Model>(&self, part: &Part<M>) -> u64 {
        self.next.store(part.next().0, Ordering::Relaxed);
        self.done.store(part.done().0, Ordering::Relaxed);
        let halted = part.halted().map_or(Time::NEVER, |(time, _)| time);
        self.halted.store(halted.0, Ordering::Relaxed);
        self.ahead.store(u64::from(!part.is_final()), Ordering::Relaxed);
        let before = self.events();
        self.events.store(part.events(), Ordering::Relaxed);
        part.events() - before
    }
}

/// Counters of a thread; only it writes them.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) events: AtomicU64,
    pub(super) windows: AtomicU64,
    pub(super) stolen: AtomicU64,
    pub(super) sent: AtomicU64,
    /// Time at work, ns.
    pub(super) busy: AtomicU64,
}

pub(super) fn add(counter: &AtomicU64, count: u64) {
    counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
}

/// Everything of this process that its threads share.
pub(super) struct Shared<M: Model> {
    pub(super) partition: Arc<Partition>,
    /// The number of the first part here.
    pub(super) first: usize,
    pub(super) seats: Vec<Padded<Seat<M>>>,
    pub(super) office: Office<M>,
    pub(super) reach: Reach,
    /// When the next event is due at each part of the model, or just at the first of all: as [`Reach::bound`] wants
    /// it. Written between rounds.
    pub(super) times: Vec<AtomicU64>,
    /// Nobody goes farther than this in the round.
    pub(super) limit: AtomicU64,
    /// Parts may go beyond their windows.
    pub(super) optimistic: bool,
    /// In this round they do not.
    pub(super) restrained: AtomicBool,
    /// In this round windows slide.
    pub(super) sliding: AtomicBool,
    pub(super) roster: Roster,
    /// For rounds in which windows slide.
    pub(super) clocks: Clocks,
    /// Events of a part in such a round before it tells others how far it is.
    pub(super) stride: AtomicU64,
    /// Threads wait for nothing before they take parts of others, or let theirs go beyond their windows: to test with.
    pub(super) eager: AtomicBool,
    pub(super) tallies: Vec<Padded<Tally>>,
    /// The first panic of a handler.
    pub(super) failed: Mutex<Option<Box<dyn Any + Send>>>,
}

/// What a thread needs to work; its memory is used again and again.
pub(super) struct Hand<M: Model> {
    pub(super) bag: Bag<M>,
    pub(super) letters: LettersOf<M>,
    pub(super) horizon: Horizon,
}

impl<M: Model> Hand<M> {
    pub(super) fn new(parts: usize) -> Self {
        Hand {
            bag: Bag::new(parts),
            letters: Letters::new(),
            horizon: Horizon::new(),
        }
    }
}

impl<M: Model> Shared<M> {
    /// When part `seat` of this process, on its own, has something to do.
    pub(super) fn due(&self, seat: usize) -> Time {
        self.seats[seat]
            .news
            .next()
            .min(self.office.earliest(self.first + seat))
    }

    /// What part `seat` may do in a round, if there is anything for it to do.
    #[inline]
    fn window(&self, seat: usize, horizon: &Horizon) -> Option<Window> {
        let (number, due) = (self.first + seat, self.due(seat));
        // Letters that come in this very round are for later than the bound: it does not matter whether they are seen
        // here.
        if !self.optimistic {
            let safe = self.reach.bound(number, due, horizon)?;
            return Some(Window {
                safe,
                limit: safe,
                most: u64::MAX,
            });
        }
        let safe = self.reach.safe(number, horizon);
        let restrained = self.restrained.load(Ordering::Relaxed);
        let limit = if restrained { safe } else { horizon.limit() };
        let useful = due < limit || (restrained && self.seats[seat].news.is_ahead());
        let most = u64::MAX;
        useful.then_some(Window { safe, limit, most })
    }

    pub(super) fn look_ahead(&self, horizon: &mut Horizon) {
        let times = self.times.iter().map(|time| Time(time.load(Ordering::Relaxed)));
        horizon.set(times, Time(self.limit.load(Ordering::Relaxed)));
    }

    /// Does of a round what `thread` can claim; when it last did something, if at all.
    fn work(&self, thread: usize, hand: &mut Hand<M>) -> Option<Instant> {
        let tally = &self.tallies[thread];
        self.look_ahead(&mut hand.horizon);
        let (begin, mut windows) = (Instant::now(), 0);
        while let Some((index, stolen)) = self.roster.claim(thread) {
            let Some(window) = self.window(index, &hand.horizon) else {
                continue;
            };
            let seat = &self.seats[index];
            let mut part = lock(&seat.part);
            self.office.fetch(self.first + index, &mut hand.letters);
            part.work(window, &mut hand.letters, &self.partition, &mut hand.bag);
            hand.bag.empty(&self.office);
            let events = seat.news.publish(&part);
            drop(part);
            add(&tally.events, events);
            add(&tally.stolen, u64::from(stolen));
            windows += 1;
        }
        if windows == 0 {
            return None;
        }
        let end = Instant::now();
        add(&tally.windows, windows);
        add(&tally.busy, (end - begin).as_nanos() as u64);
        tally.sent.store(hand.bag.sent, Ordering::Relaxed);
        Some(end)
    }

    /// As [`work`](Self::work), or [`slide`](Self::slide) if that is what the round is; a panic is kept for the leader.
    pub(super) fn work_caught(&self, thread: usize, hand: &mut Hand<M>) -> Option<Instant> {
        let work = || match self.sliding.load(Ordering::Relaxed) {
            true => self.slide(thread, hand),
            false => self.work(thread, hand),
        };
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            lock(&self.failed).get_or_insert(panic);
            self.clocks.break_off();
            None
        })
    }

    /// Does a round with the only thread, without locks.
    pub(super) fn work_alone(&mut self, hand: &mut Hand<M>) {
        self.look_ahead(&mut hand.horizon);
        let (mut windows, mut events) = (0, 0);
        for index in 0..self.seats.len() {
            let Some(window) = self.window(index, &hand.horizon) else {
                continue;
            };
            let Seat { part, news } = &mut self.seats[index].0;
            let part = alone(part);
            self.office.fetch_alone(self.first + index, &mut hand.letters);
            let mut messenger = Messenger {
                office: &mut self.office,
                sent: &mut hand.bag.sent,
            };
            part.work(window, &mut hand.letters, &self.partition, &mut messenger);
            events += news.publish(part);
            windows += 1;
        }
        let tally = &self.tallies[0];
        add(&tally.events, events);
        add(&tally.windows, windows);
        tally.sent.store(hand.bag.sent, Ordering::Relaxed);
    }

    /// Hands letters from other processes to their inboxes.
    ///
    /// # Errors
    /// `bytes` are not what such a process sends.
    pub(super) fn deliver(&self, hand: &mut Hand<M>, bytes: &[u8]) -> Result<(), String> {
        let lps = self.partition.processes();
        let place = |lp| {
            let part = (lp < lps).then(|| self.partition.part_of(lp))?;
            let seat = self.seats.get(part.checked_sub(self.first)?)?;
            Some((part, seat.news.done()))
        };
        let sent = hand.bag.sent;
        let result = record::read_all(bytes, lps, self.optimistic, place, &mut hand.bag);
        hand.bag.empty(&self.office);
        // It was counted where it was sent.
        hand.bag.sent = sent;
        result
    }

    /// Takes in all letters, so that nothing is under way within this process.
    pub(super) fn settle(&self, hand: &mut Hand<M>) {
        // What was done ahead of windows in the last round is final now, and counts.
        let mut events = 0;
        for (index, seat) in self.seats.iter().enumerate() {
            let mut part = lock(&seat.part);
            self.office.fetch(self.first + index, &mut hand.letters);
            part.settle(&mut hand.letters, &mut hand.bag);
            events += seat.news.publish(&part);
        }
        add(&self.tallies[0].events, events);
    }

    /// Lets others know how far all parts are, after these have become others.
    pub(super) fn publish_all(&self) {
        for seat in &self.seats {
            let part = lock(&seat.part);
            seat.news.restart(&part);
        }
    }

    /// Sum of a counter over the threads.
    pub(super) fn sum(&self, counter: impl Fn(&Tally) -> &AtomicU64) -> u64 {
        let tallies = self.tallies.iter();
        tallies.map(|tally| counter(tally).load(Ordering::Relaxed)).sum()
    }
}
