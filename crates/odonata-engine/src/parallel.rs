//! The parallel schedulers: parts side by side, on threads and processes.
//!
//! They work in rounds. At the beginning of one it is known when the next event of every part is due, and from that
//! how far each can go without anything coming to it any more: its *window*. Parts handle the events of their windows
//! in any order, on any thread; what they have for each other is put into inboxes, and taken in when the receiver goes on.
//! As windows begin where the next event is, times at which nothing happens cost nothing.
//!
//! - *Conservative*, a part ends its share of a round with its window. Nothing that it is sent in the round can be for
//!   before, so no event ever has to be taken back.
//! - *Optimistic*, a part goes on beyond its window, and takes back what turns out to have been too early ([`ahead`]). That
//!   makes fewer, longer rounds where windows are short. Events in its window it handles like the conservative one, with
//!   no undo log, if it has nothing to take back.
//!
//! Nobody goes beyond a multiple of [`HALT_GRID`](crate::HALT_GRID) before it is known that no part has halted the run
//! before it.
//!
//! - With one thread there are no locks, and no waiting: parts take turns, and each finds its state in the cache
//!   (after its first event). That is what makes large networks fast on one core.
//! - With several, parts are claimed by whoever is there. Where windows hold enough, they [slide]: a round is then many windows
//!   long, and a part waits only for those that can send to it, and for those of other processes.
//! - With several processes, each round begins with two collective operations of the [`Transport`]: who is how far,
//!   and what is for whom.

mod ahead;
mod body;
mod clocks;
mod door;
mod history;
mod inputs;
mod letters;
#[cfg(all(loom, test))]
mod loom_tests;
mod office;
mod part;
mod quiet;
mod reach;
mod record;
mod roster;
mod rounds;
mod shared;
mod slide;
mod sync;
mod team;

use crate::saved::{Damaged, Loader, Saver};
use crate::scheduler::{Figures, PartView, Pause, Scheduler};
use crate::{Model, Partition, Saved, Time, Transport};
use ahead::Counts;
use clocks::Clocks;
use office::Office;
use part::Part;
use reach::Reach;
use roster::Roster;
use shared::{Hand, Seat, Shared, Tally};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::{AtomicBool, AtomicU64, Mutex, Ordering, Padded, lock};
use team::Team;

pub use ahead::Optimism;
pub use quiet::is_speculating;

/// How a run is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Threads of this process. There are never more than parts, and no more of them run at a time than there are processors.
    pub threads: usize,
    /// How far parts may go beyond their windows; `None`: not at all, the run is conservative.
    pub optimism: Option<Optimism>,
}

impl Options {
    /// Of a conservative run.
    pub const fn conservative(threads: usize) -> Options {
        Options {
            threads,
            optimism: None,
        }
    }
}

/// See the [module](self).
pub struct Parallel<M: Model> {
    shared: Arc<Shared<M>>,
    /// If there is more than one thread.
    team: Option<Team>,
    hand: Hand<M>,
    transport: Box<dyn Transport>,
    /// Values to be agreed on in a round.
    values: Vec<u64>,
    outgoing: Vec<Vec<u8>>,
    incoming: Vec<Vec<u8>>,
    now: Time,
    /// The first instant at which a part halted the run, as last agreed on.
    halted: Time,
    /// When the first event of the round was due, and before when its events lie at most.
    first: Time,
    end: Time,
    /// The last instant that is handled at all.
    last: Time,
    rounds: u64,
    /// Events handled before this state was loaded.
    before: u64,
    /// Events, and windows, of all rounds since.
    total: (u64, u64),
    /// What a round is expected to have.
    expected: Expected,
    /// Events of each part when parts were last dealt out.
    dealt: Vec<u64>,
    /// Events of all when they were.
    dealt_at: u64,
    /// Wall time spent in [`run`](Scheduler::run), and of it in waiting for other processes.
    running: Duration,
    away: Duration,
    /// Why the run cannot go on.
    lost: Option<String>,
    /// A handler has panicked, if this stays.
    unsafe_to_go_on: bool,
}

impl<M: Model + 'static> Parallel<M> {
    /// Starts the LPs of `models`, which are the parts of `partition` from `first_part` on. Collective over the
    /// processes of `transport`, which together have all parts.
    ///
    /// # Errors
    /// The models are not those of the partition, the processes do not have every part once, a thread cannot be
    /// started, or the transport failed.
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
        let Options { threads, optimism } = options;
        let parts = models.len();
        let start = |(model, number)| Part::new(model, number, buckets, optimism, parts);
        let parts = models.into_iter().zip(here.clone()).map(start);
        let seats: Vec<_> = parts.map(|part| Padded(Seat::new(part))).collect();
        let threads = threads.clamp(1, seats.len().min(door::MOST));
        let reach = Reach::new(&partition);
        let times = if reach.is_by_part() { partition.len() } else { 1 };
        let processes = transport.size();
        let shared = Arc::new(Shared {
            first: first_part,
            office: Office::new(transport.rank(), processes, process_of),
            reach,
            times: (0..times).map(|_| AtomicU64::new(0)).collect(),
            limit: AtomicU64::new(0),
            optimistic: optimism.is_some(),
            restrained: AtomicBool::new(false),
            sliding: AtomicBool::new(false),
            clocks: Clocks::new(&partition, here, threads),
            stride: AtomicU64::new(u64::MAX),
            eager: AtomicBool::new(false),
            roster: Roster::new(seats.len(), threads),
            tallies: (0..threads).map(|_| Padded(Tally::default())).collect(),
            failed: Mutex::new(None),
            seats,
            partition,
        });
        let team = (threads > 1).then(|| Team::new(&shared, threads - 1));
        Ok(Parallel {
            team: team.transpose()?,
            hand: Hand::new(shared.partition.len()),
            transport,
            values: Vec::new(),
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
            dealt: vec![0; shared.seats.len()],
            dealt_at: 0,
            running: Duration::ZERO,
            away: Duration::ZERO,
            lost: None,
            unsafe_to_go_on: false,
            shared,
        })
    }

    /// Lets all threads run at a time and in every round, even if there are fewer processors or little to do, with windows that
    /// slide in all rounds or in none. Slower: to test with.
    pub fn crowd(&mut self, sliding: bool) {
        if let Some(team) = &mut self.team {
            team.crowd(sliding);
            self.shared.eager.store(sliding, Ordering::Relaxed);
        }
    }
}

/// What a round is expected to have: means over the last ones, in sixteenths, but for the windows, which are as many as the
/// last one had.
#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    events: u64,
    windows: u64,
    /// Picoseconds from the first event to the one of the next round, as far as that was within the round's reach.
    advance: u64,
}

/// Which process has each part.
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
        self.before + self.shared.sum(|tally| &tally.events)
    }
}

/// Between runs nothing is on its way from part to part, so that the parts are all there is.
impl<M: Model + 'static> Saved for Parallel<M> {
    fn save(&self, to: &mut Saver<'_>) {
        for seat in &self.shared.seats {
            lock(&seat.part).save(to);
        }
        to.value(&(self.now, self.handled()));
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged> {
        for seat in &self.shared.seats {
            lock(&seat.part).load(from)?;
        }
        let handled: u64;
        (self.now, handled) = from.value()?;
        self.before = handled.saturating_sub(self.shared.sum(|tally| &tally.events));
        self.shared.publish_all();
        Ok(())
    }
}

impl<M: Model + 'static> Scheduler<M> for Parallel<M> {
    fn run(&mut self, until: Time, budget: u64) -> Pause {
        if let Some(text) = &self.lost {
            return Pause::Lost(text.clone());
        }
        assert!(!self.unsafe_to_go_on, "a handler has panicked in this run");
        self.unsafe_to_go_on = true;
        let begin = Instant::now();
        let pause = self.go(until, budget).unwrap_or_else(|text| {
            self.lost = Some(text.clone());
            Pause::Lost(text)
        });
        self.running += begin.elapsed();
        self.unsafe_to_go_on = false;
        pause
    }

    fn now(&self) -> Time {
        self.now
    }

    fn events(&self) -> u64 {
        self.handled()
    }

    fn view(&mut self, see: &mut dyn FnMut(PartView<'_, M>)) {
        for seat in &self.shared.seats {
            see(lock(&seat.part).view());
        }
    }

    fn into_parts(self: Box<Self>) -> Vec<M> {
        let Parallel { shared, team, .. } = *self;
        // Ends the threads, which have the other handles.
        drop(team);
        let shared = Arc::into_inner(shared).expect("no thread is left");
        let parts = shared.seats.into_iter().map(|seat| sync::into_inner(seat.0.part));
        parts.map(Part::into_model).collect()
    }

    fn figures(&self) -> Figures {
        let shared = &*self.shared;
        let threads = shared.tallies.len();
        let running = self.running.as_secs_f64();
        let waiting = match threads {
            1 => self.away.as_secs_f64() / running,
            _ => 1.0 - shared.sum(|tally| &tally.busy) as f64 / 1e9 / (running * threads as f64),
        };
        let counts: Vec<Counts> = shared.seats.iter().map(|seat| lock(&seat.part).counts()).collect();
        let sum = |count: fn(&Counts) -> u64| counts.iter().map(count).sum();
        Figures {
            threads,
            parts: shared.seats.len(),
            processes: self.transport.size(),
            events: self.handled(),
            sent: shared.sum(|tally| &tally.sent),
            rounds: self.rounds,
            windows: shared.sum(|tally| &tally.windows),
            stolen: shared.sum(|tally| &tally.stolen),
            waiting: if running > 0.0 { waiting.clamp(0.0, 1.0) } else { 0.0 },
            speculated: sum(|counts| counts.speculated),
            rolled_back: sum(|counts| counts.rolled_back),
            rollbacks: sum(|counts| counts.rollbacks),
            anti_messages: sum(|counts| counts.recalls),
            gvt_rounds: if shared.optimistic { self.rounds } else { 0 },
            peak_journal_bytes: sum(|counts| counts.peak_bytes),
        }
    }
}
