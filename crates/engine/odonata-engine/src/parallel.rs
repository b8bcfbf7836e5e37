//! The parallel schedulers, conservative and optimistic: parts on the threads of one process or more.
//!
//! A run is a sequence of rounds. At the start of a round, the time of every part's next event is known, and so is the
//! *window* of each part: the time before which no message can arrive at it. Parts handle the events of their windows
//! in any order, on any thread. Messages for other parts go to inboxes; the receiver takes them when it runs next.
//! Windows begin at the next event, so idle times cost nothing.
//!
//! - The *conservative* scheduler ends a part's share of a round at the end of its window. No message of the round is
//!   for an earlier time, so nothing is ever rolled back.
//! - The *optimistic* scheduler continues beyond the window and rolls back events that were too early
//!   ([`speculation`]). That makes fewer, longer rounds if windows are short. Events within the window need no undo log
//!   if nothing can be rolled back.
//!
//! No part passes a multiple of [`HALT_GRID`](crate::HALT_GRID) before all parts are known not to have halted the run
//! before it.
//!
//! - With one thread there are no locks and no waiting: parts run one after the other, and each finds its state in the
//!   cache after its first event. That makes large networks fast on one core.
//! - With several threads, parts are claimed from [work queues](work_queues). If windows hold enough events, rounds are
//!   [asynchronous]: a round spans many windows, and a part waits only for its senders and for parts of other
//!   processes.
//! - In measured runs, threads that gain nothing, for example because another program uses their cores,
//!   [sleep](thread_choice).
//! - With several processes, each round begins with a global reduction of times and an exchange of messages: one or two
//!   collective operations of the [`Transport`].

mod asynchronous;
mod barrier;
mod clocks;
mod distances;
mod encoding;
mod executor;
mod history;
mod input_queue;
#[cfg(all(loom, test))]
mod loom_tests;
mod message_router;
mod messages;
mod part;
pub(crate) mod rollback_check;
mod rounds;
mod shared;
mod speculation;
mod sync;
mod thread_choice;
mod thread_pool;
mod work_queues;

use crate::saved::{Damaged, Loader, Saver};
use crate::scheduler::{Figures, PartView, Pause, Scheduler};
use crate::{Model, Partition, Saved, Time, Transport};
use clocks::Clocks;
use distances::Distances;
use message_router::MessageRouter;
use part::Part;
use shared::{PartitionSlot, Shared, ThreadCounters, Worker};
use speculation::Counts;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::{AtomicBool, AtomicU64, CachePadded, Mutex, Ordering, lock};
use thread_choice::ThreadChoice;
use thread_pool::ThreadPool;
use work_queues::WorkQueues;

pub use rollback_check::RollbackCheck;
pub use speculation::Optimism;
pub use thread_choice::Awake;

/// Settings of a parallel scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Threads of this process: at most as many as parts, and at most as many awake as there are processors.
    pub threads: usize,
    /// Bounds of speculation; `None` for the conservative scheduler.
    pub optimism: Option<Optimism>,
    /// The number of working threads.
    pub awake: Awake,
}

impl Options {
    /// Options of a conservative scheduler.
    pub const fn conservative(threads: usize) -> Options {
        Options {
            threads,
            optimism: None,
            awake: Awake::All,
        }
    }
}

/// See the [module](self).
pub struct Parallel<M: Model> {
    shared: Arc<Shared<M>>,
    /// Present with more than one thread.
    pool: Option<ThreadPool>,
    worker: Worker<M>,
    transport: Box<dyn Transport>,
    /// The values of the global reduction.
    values: Vec<u64>,
    /// Whether a process sent a message to another in the last round.
    have_sent: bool,
    outgoing: Vec<Vec<u8>>,
    incoming: Vec<Vec<u8>>,
    now: Time,
    /// The first instant at which a part halted the run, by the last reduction.
    halted: Time,
    /// The time of the round's first event, and the bound of its events.
    first: Time,
    end: Time,
    /// The last instant to handle.
    last: Time,
    rounds: u64,
    /// Events handled before the states were loaded, minus those of the replaced states; wraps.
    before: u64,
    /// Events and windows of all rounds since then.
    total: (u64, u64),
    /// The expected size of a round.
    expected: Expected,
    /// The choice of the number of threads, and the running time (without exchanges) and CPU time reported to it so
    /// far.
    choice: ThreadChoice,
    reported: Duration,
    reported_cpu: Duration,
    /// Events since then.
    reported_events: u64,
    /// Events of each part at the last distribution over the threads.
    balanced: Vec<u64>,
    /// Events of all parts then.
    balanced_at: u64,
    /// Wall time spent in [`run`](Scheduler::run), and the part of it spent waiting for other processes.
    running: Duration,
    exchange_time: Duration,
    /// Start of the current run.
    begin: Instant,
    /// The reason why the run cannot continue.
    lost: Option<String>,
    /// Stays set after a panic of a handler.
    poisoned: bool,
}

impl<M: Model + 'static> Parallel<M> {
    /// Starts the LPs of `models`, the parts of `partition` from `first_part` on. Collective over the processes of
    /// `transport`, which together have all parts.
    ///
    /// # Errors
    /// The models differ from the partition, a part has no process or two, a thread cannot be started, or the transport
    /// failed.
    pub fn new(
        models: Vec<M>,
        partition: Arc<Partition>,
        first_part: usize,
        options: Options,
        mut transport: Box<dyn Transport>,
    ) -> Result<Self, String> {
        let here = first_part..first_part + models.len();
        if here.is_empty() || here.end > partition.len() {
            return Err(format!("a process has the parts {here:?} of {}", partition.len()));
        }
        for (model, part) in models.iter().zip(here.clone()) {
            let (range, own) = (partition.range(part), model.processes());
            if range != own {
                return Err(format!("part {part} has LPs {range:?}, its model {own:?}"));
            }
        }
        let process_of = agree_on_processes(&partition, here.clone(), transport.as_mut())?;
        let buckets = crate::clusters::buckets(models.len());
        let Options {
            threads,
            optimism,
            awake,
        } = options;
        let parts = models.len();
        let start = |(model, number)| Part::new(model, number, buckets, optimism, parts);
        let parts = models.into_iter().zip(here.clone()).map(start);
        let slots: Vec<_> = parts.map(|part| CachePadded::new(PartitionSlot::new(part))).collect();
        let threads = threads.clamp(1, slots.len().min(barrier::MOST));
        let distances = Distances::new(&partition);
        let times = if distances.is_by_part() { partition.len() } else { 1 };
        let processes = transport.size();
        let shared = Arc::new(Shared {
            first: first_part,
            router: MessageRouter::new(transport.rank(), processes, process_of),
            distances,
            times: (0..times).map(|_| AtomicU64::new(0)).collect(),
            limit: AtomicU64::new(0),
            optimistic: optimism.is_some(),
            speculation_suspended: AtomicBool::new(false),
            asynchronous: AtomicBool::new(false),
            clocks: Clocks::new(&partition, here, threads),
            stride: AtomicU64::new(u64::MAX),
            eager: AtomicBool::new(false),
            awake: AtomicU64::new(threads as u64),
            queues: WorkQueues::new(slots.len(), threads),
            thread_counters: (0..threads)
                .map(|_| CachePadded::new(ThreadCounters::default()))
                .collect(),
            failed: Mutex::new(None),
            slots,
            partition,
        });
        let pool = (threads > 1).then(|| ThreadPool::new(&shared, threads - 1));
        Ok(Parallel {
            pool: pool.transpose()?,
            worker: Worker::new(shared.partition.len()),
            transport,
            values: Vec::new(),
            have_sent: false,
            outgoing: vec![Vec::new(); processes],
            incoming: vec![Vec::new(); processes],
            now: Time::ZERO,
            halted: Time::NEVER,
            first: Time::ZERO,
            end: Time::ZERO,
            last: Time::NEVER,
            rounds: 0,
            before: 0,
            total: (0, 0),
            expected: Expected::default(),
            choice: ThreadChoice::new(threads, awake),
            reported: Duration::ZERO,
            reported_cpu: Duration::ZERO,
            reported_events: 0,
            balanced: vec![0; shared.slots.len()],
            balanced_at: 0,
            running: Duration::ZERO,
            exchange_time: Duration::ZERO,
            begin: Instant::now(),
            lost: None,
            poisoned: false,
            shared,
        })
    }

    /// For tests: uses all threads in every round, even without processors or work for them. Either all rounds are
    /// asynchronous, or none.
    pub fn oversubscribe(&mut self, asynchronous: bool) {
        if let Some(pool) = &mut self.pool {
            pool.oversubscribe(asynchronous);
            self.shared.eager.store(asynchronous, Ordering::Relaxed);
        }
    }
}

/// The expected size of a round: moving averages over the last rounds, in sixteenths; windows are from the last round.
#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    events: u64,
    windows: u64,
    /// Picoseconds from the first event of a round to the first event of the next one.
    advance: u64,
}

/// The process of each part.
fn agree_on_processes(
    partition: &Partition,
    here: std::ops::Range<usize>,
    transport: &mut dyn Transport,
) -> Result<Vec<u32>, String> {
    let rank = transport.rank() as u64;
    let none = u64::MAX;
    let mut lowest: Vec<u64> = (0..partition.len())
        .map(|part| if here.contains(&part) { rank } else { none })
        .collect();
    // The highest rank is the lowest of its complement.
    let highest = lowest
        .iter()
        .map(|&rank| if rank == none { none } else { none - 1 - rank });
    let mut both: Vec<u64> = lowest.iter().copied().chain(highest).collect();
    transport.all_min(&mut both)?;
    lowest.copy_from_slice(&both[..partition.len()]);
    for (part, (&lowest, &highest)) in lowest.iter().zip(&both[partition.len()..]).enumerate() {
        if lowest == none {
            return Err(format!("no process has part {part} of {}", partition.len()));
        }
        if lowest != none - 1 - highest {
            return Err(format!(
                "part {part} is in process {lowest} and in {}",
                none - 1 - highest
            ));
        }
    }
    Ok(lowest.iter().map(|&rank| rank as u32).collect())
}

impl<M: Model> Parallel<M> {
    fn handled(&self) -> u64 {
        self.before.wrapping_add(self.shared.sum(|counters| &counters.events))
    }
}

impl<M: Model + 'static> Scheduler<M> for Parallel<M> {
    fn run(&mut self, until: Time, budget: u64) -> Pause {
        if let Some(text) = &self.lost {
            return Pause::Lost(text.clone());
        }
        assert!(!self.poisoned, "a handler has panicked in this run");
        self.poisoned = true;
        self.begin = Instant::now();
        let pause = self.run_rounds(until, budget).unwrap_or_else(|text| {
            self.lost = Some(text.clone());
            Pause::Lost(text)
        });
        self.running += self.begin.elapsed();
        self.poisoned = false;
        pause
    }

    fn now(&self) -> Time {
        self.now
    }

    fn events(&self) -> u64 {
        self.handled()
    }

    fn view(&mut self, see: &mut dyn FnMut(PartView<'_, M>)) {
        for slot in &self.shared.slots {
            see(lock(&slot.part).view());
        }
    }

    fn into_parts(self: Box<Self>) -> Vec<M> {
        let Parallel { shared, pool, .. } = *self;
        // Joins the threads, which hold the other handles.
        drop(pool);
        let shared = Arc::into_inner(shared).expect("no thread is left");
        let parts = shared
            .slots
            .into_iter()
            .map(|slot| sync::into_inner(slot.into_inner().part));
        parts.map(Part::into_model).collect()
    }

    fn figures(&self) -> Figures {
        let shared = &*self.shared;
        let threads = shared.thread_counters.len();
        let running = self.running.as_secs_f64();
        let waiting = match threads {
            1 => self.exchange_time.as_secs_f64() / running,
            _ => 1.0 - shared.sum(|counters| &counters.busy) as f64 / 1e9 / (running * self.choice.mean_awake()),
        };
        let counts: Vec<Counts> = shared.slots.iter().map(|slot| lock(&slot.part).counts()).collect();
        let sum = |count: fn(&Counts) -> u64| counts.iter().map(count).sum();
        Figures {
            threads,
            parts: shared.slots.len(),
            processes: self.transport.size(),
            events: self.handled(),
            sent: shared.sum(|counters| &counters.sent),
            rounds: self.rounds,
            windows: shared.sum(|counters| &counters.windows),
            stolen: shared.sum(|counters| &counters.stolen),
            waiting: if running > 0.0 { waiting.clamp(0.0, 1.0) } else { 0.0 },
            speculated: sum(|counts| counts.speculated),
            rolled_back: sum(|counts| counts.rolled_back),
            rollbacks: sum(|counts| counts.rollbacks),
            anti_messages: sum(|counts| counts.anti_messages),
            gvt_rounds: if shared.optimistic { self.rounds } else { 0 },
            peak_journal_bytes: sum(|counts| counts.peak_bytes),
            thread_choice: self.choice.figures(),
        }
    }

    fn save_state(&self, part: usize, to: &mut Saver<'_>) {
        lock(&self.shared.slots[part].part).save(to);
    }

    fn load_state(&mut self, part: usize, from: &mut Loader<'_>) -> Result<(), Damaged> {
        let slot = &self.shared.slots[part];
        let (mut part, had) = (lock(&slot.part), slot.status.events());
        part.load(from)?;
        slot.status.restart(&part);
        // Counts since then belong to replaced states.
        self.before = self.before.wrapping_add(part.events()).wrapping_sub(had);
        Ok(())
    }

    fn go_on_from(&mut self, now: Time) {
        self.now = now;
    }
}
