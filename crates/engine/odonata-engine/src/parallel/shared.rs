//! The state shared by the threads of a process, and the work of a thread in a round.

use super::clocks::Clocks;
use super::distances::{Distances, Horizon};
use super::encoding;
use super::message_router::{BatchedSender, DirectSender, MessageRouter};
use super::messages::{Messages, MessagesOf};
use super::part::{Part, Window};
use super::sync::{AtomicBool, AtomicU64, CachePadded, Mutex, Ordering, exclusive, lock};
use super::work_queues::WorkQueues;
use crate::{Model, Partition, Time};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

/// A partition slot: a part of this process with its lock and its published status.
pub(super) struct PartitionSlot<M: Model> {
    pub(super) part: Mutex<Part<M>>,
    pub(super) status: CachePadded<PartStatus>,
}

/// The published status of a part. Written by the thread that runs the part, read between rounds.
#[derive(Debug)]
pub(super) struct PartStatus {
    next: AtomicU64,
    done: AtomicU64,
    events: AtomicU64,
    /// When the part first halted the run. An optimistic run may roll this back.
    halted: AtomicU64,
    /// Whether the part has speculative state.
    speculative: AtomicU64,
}

impl<M: Model> PartitionSlot<M> {
    pub(super) fn new(part: Part<M>) -> Self {
        let status = PartStatus {
            next: AtomicU64::new(0),
            done: AtomicU64::new(0),
            events: AtomicU64::new(0),
            halted: AtomicU64::new(Time::NEVER.0),
            speculative: AtomicU64::new(0),
        };
        status.publish(&part);
        PartitionSlot {
            part: Mutex::new(part),
            status: CachePadded::new(status),
        }
    }
}

impl PartStatus {
    /// The time of the part's next event, without messages in its inbox.
    fn next(&self) -> Time {
        Time(self.next.load(Ordering::Relaxed))
    }

    /// No message for an earlier time can arrive.
    pub(super) fn done(&self) -> Time {
        Time(self.done.load(Ordering::Relaxed))
    }

    pub(super) fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    pub(super) fn halted(&self) -> Time {
        Time(self.halted.load(Ordering::Relaxed))
    }

    pub(super) fn is_speculative(&self) -> bool {
        self.speculative.load(Ordering::Relaxed) != 0
    }

    /// Like [`publish`](Self::publish), after the state of the part was replaced.
    pub(super) fn restart<M: Model>(&self, part: &Part<M>) {
        self.events.store(part.events(), Ordering::Relaxed);
        self.publish(part);
    }

    /// Publishes the status, and returns the number of events since the last call.
    pub(super) fn publish<M: Model>(&self, part: &Part<M>) -> u64 {
        self.next.store(part.next().0, Ordering::Relaxed);
        self.done.store(part.done().0, Ordering::Relaxed);
        let halted = part.halted().map_or(Time::NEVER, |(time, _)| time);
        self.halted.store(halted.0, Ordering::Relaxed);
        self.speculative.store(u64::from(!part.is_final()), Ordering::Relaxed);
        let before = self.events();
        self.events.store(part.events(), Ordering::Relaxed);
        part.events() - before
    }
}

/// Performance counters of a thread, written by that thread only.
#[derive(Debug, Default)]
pub(super) struct ThreadCounters {
    pub(super) events: AtomicU64,
    pub(super) windows: AtomicU64,
    pub(super) stolen: AtomicU64,
    pub(super) sent: AtomicU64,
    /// Time spent working, ns.
    pub(super) busy: AtomicU64,
}

pub(super) fn add(counter: &AtomicU64, count: u64) {
    counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
}

/// State shared by all threads of this process.
pub(super) struct Shared<M: Model> {
    pub(super) partition: Arc<Partition>,
    /// The number of the first part of this process.
    pub(super) first: usize,
    pub(super) slots: Vec<CachePadded<PartitionSlot<M>>>,
    pub(super) router: MessageRouter<M>,
    pub(super) distances: Distances,
    /// The time of the next event of each part of the model, or the minimum, as [`Distances::bound`] needs it. Written
    /// between rounds.
    pub(super) times: Vec<AtomicU64>,
    /// No part advances beyond this time in the round.
    pub(super) limit: AtomicU64,
    /// Whether the scheduler is optimistic.
    pub(super) optimistic: bool,
    /// Whether speculation is suspended in this round.
    pub(super) speculation_suspended: AtomicBool,
    /// Whether this round is asynchronous.
    pub(super) asynchronous: AtomicBool,
    pub(super) queues: WorkQueues,
    /// For asynchronous rounds.
    pub(super) clocks: Clocks,
    /// Events after which a part publishes its clock in an asynchronous round.
    pub(super) stride: AtomicU64,
    /// For tests: threads steal and speculate without delay.
    pub(super) eager: AtomicBool,
    /// Number of threads that work in this round, by ascending number.
    pub(super) awake: AtomicU64,
    pub(super) thread_counters: Vec<CachePadded<ThreadCounters>>,
    /// The first panic of a handler.
    pub(super) failed: Mutex<Option<Box<dyn Any + Send>>>,
}

/// The working memory of a thread, reused in every round.
pub(super) struct Worker<M: Model> {
    pub(super) sender: BatchedSender<M>,
    pub(super) messages: MessagesOf<M>,
    pub(super) horizon: Horizon,
}

impl<M: Model> Worker<M> {
    pub(super) fn new(parts: usize) -> Self {
        Worker {
            sender: BatchedSender::new(parts),
            messages: Messages::new(),
            horizon: Horizon::new(),
        }
    }
}

impl<M: Model> Shared<M> {
    /// The time of the next event or message of the part in slot `slot`.
    pub(super) fn due(&self, slot: usize) -> Time {
        self.slots[slot]
            .status
            .next()
            .min(self.router.earliest(self.first + slot))
    }

    /// The window of the part in slot `slot`, if it has work.
    #[inline]
    fn window(&self, slot: usize, horizon: &Horizon) -> Option<Window> {
        let (number, due) = (self.first + slot, self.due(slot));
        // Messages that arrive in this round are due after the bound: whether they are seen here does not matter.
        if !self.optimistic {
            let safe = self.distances.bound(number, due, horizon)?;
            return Some(Window {
                safe,
                limit: safe,
                most: u64::MAX,
            });
        }
        let safe = self.distances.safe(number, horizon);
        let speculation_suspended = self.speculation_suspended.load(Ordering::Relaxed);
        let limit = if speculation_suspended { safe } else { horizon.limit() };
        let useful = due < limit || (speculation_suspended && self.slots[slot].status.is_speculative());
        let most = u64::MAX;
        useful.then_some(Window { safe, limit, most })
    }

    pub(super) fn set_horizon(&self, horizon: &mut Horizon) {
        let times = self.times.iter().map(|time| Time(time.load(Ordering::Relaxed)));
        horizon.set(times, Time(self.limit.load(Ordering::Relaxed)));
    }

    /// Claims and runs parts until none is left in this round. Returns when the thread last made progress, if at all.
    fn work(&self, thread: usize, worker: &mut Worker<M>) -> Option<Instant> {
        let counters = &self.thread_counters[thread];
        self.set_horizon(&mut worker.horizon);
        let (begin, mut windows) = (Instant::now(), 0);
        while let Some((index, stolen)) = self.queues.claim(thread) {
            let Some(window) = self.window(index, &worker.horizon) else {
                continue;
            };
            let slot = &self.slots[index];
            let mut part = lock(&slot.part);
            self.router.receive(self.first + index, &mut worker.messages);
            part.work(window, &mut worker.messages, &self.partition, &mut worker.sender);
            worker.sender.flush(&self.router);
            let events = slot.status.publish(&part);
            drop(part);
            add(&counters.events, events);
            add(&counters.stolen, u64::from(stolen));
            windows += 1;
        }
        if windows == 0 {
            return None;
        }
        let end = Instant::now();
        add(&counters.windows, windows);
        add(&counters.busy, (end - begin).as_nanos() as u64);
        counters.sent.store(worker.sender.sent, Ordering::Relaxed);
        Some(end)
    }

    /// Like [`work`](Self::work), or [`run_asynchronously`](Self::run_asynchronously) in an asynchronous round. Stores
    /// a panic for the leader. A thread that is not awake in this round returns.
    pub(super) fn work_caught(&self, thread: usize, worker: &mut Worker<M>) -> Option<Instant> {
        if thread as u64 >= self.awake.load(Ordering::Relaxed) {
            return None;
        }
        let work = || match self.asynchronous.load(Ordering::Relaxed) {
            true => self.run_asynchronously(thread, worker),
            false => self.work(thread, worker),
        };
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            lock(&self.failed).get_or_insert(panic);
            self.clocks.abort();
            None
        })
    }

    /// Does a round in a single-threaded process, without locks.
    pub(super) fn work_single_threaded(&mut self, worker: &mut Worker<M>) {
        self.set_horizon(&mut worker.horizon);
        let (mut windows, mut events) = (0, 0);
        for index in 0..self.slots.len() {
            let Some(window) = self.window(index, &worker.horizon) else {
                continue;
            };
            let PartitionSlot { part, status } = &mut *self.slots[index];
            let part = exclusive(part);
            self.router.receive_exclusive(self.first + index, &mut worker.messages);
            let mut messenger = DirectSender {
                router: &mut self.router,
                sent: &mut worker.sender.sent,
            };
            part.work(window, &mut worker.messages, &self.partition, &mut messenger);
            events += status.publish(part);
            windows += 1;
        }
        let counters = &self.thread_counters[0];
        add(&counters.events, events);
        add(&counters.windows, windows);
        counters.sent.store(worker.sender.sent, Ordering::Relaxed);
    }

    /// Delivers messages of other processes to their inboxes.
    ///
    /// # Errors
    /// `bytes` are not encoded messages for this process.
    pub(super) fn deliver(&self, worker: &mut Worker<M>, bytes: &[u8]) -> Result<(), String> {
        let lps = self.partition.processes();
        let place = |lp| {
            let part = (lp < lps).then(|| self.partition.part_of(lp))?;
            let slot = self.slots.get(part.checked_sub(self.first)?)?;
            Some((part, slot.status.done()))
        };
        let sent = worker.sender.sent;
        let result = encoding::read_all(bytes, lps, self.optimistic, place, &mut worker.sender);
        worker.sender.flush(&self.router);
        // The sender has counted the messages.
        worker.sender.sent = sent;
        result
    }

    /// Receives all messages: none is in transit within this process afterwards.
    pub(super) fn quiesce(&self, worker: &mut Worker<M>) {
        // The speculation of the last round is committed now, and its events count.
        let mut events = 0;
        for (index, slot) in self.slots.iter().enumerate() {
            let mut part = lock(&slot.part);
            self.router.receive(self.first + index, &mut worker.messages);
            part.quiesce(&mut worker.messages, &mut worker.sender);
            events += slot.status.publish(&part);
        }
        add(&self.thread_counters[0].events, events);
    }

    /// Sum of a counter over the threads.
    pub(super) fn sum(&self, counter: impl Fn(&ThreadCounters) -> &AtomicU64) -> u64 {
        let thread_counters = self.thread_counters.iter();
        thread_counters
            .map(|counters| counter(counters).load(Ordering::Relaxed))
            .sum()
    }
}
