//! Ranks: the position of each in its program, and its operations in progress.
//!
//! [`RankExecutor`] is a state machine. [`next`](RankExecutor::next) says what a rank does next; the hosts let the MPI
//! library, a storage client or the passing of time perform the operation, and tell the executor when it has ended.

pub(crate) mod activity;
pub(crate) mod execute;
pub(crate) mod memory;
pub(crate) mod perform;
pub(crate) mod zero_time_guard;

use crate::Interrupt;
use crate::layout::Layout;
use activity::{Activity, Phase};
use memory::ProgramMemory;
use odonata_engine::{List, Mode, NIL, Pool, SparseStore};
use odonata_workload::{Cursor, Op};

/// Number of operations that are searched for a second stream.
pub(crate) const SCAN: u32 = 256;

/// Maximum number of known, incomplete operations of `rank` if it has several streams. A rank with one stream looks at
/// one operation only.
pub(crate) fn look_ahead(layout: &Layout, rank: u32) -> u32 {
    layout.program(rank).map_or(1, |program| program.look_ahead().max(1))
}

/// The ordering constraint among the operations of a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// In program order.
    Sequential,
    /// One at a time, in any order.
    OneAtATime,
    /// None.
    Unordered,
}

impl Order {
    fn of(stream: u16) -> Order {
        match stream {
            Op::UNORDERED.. => Order::Unordered,
            Op::PROCESSORS.. => Order::OneAtATime,
            _ => Order::Sequential,
        }
    }
}

/// A rank that executes a program.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Rank {
    cursor: Cursor,
    /// Operations pulled and not complete, in program order.
    live: List,
    live_count: u32,
    /// Number of live operations that may begin or have been woken.
    ready: u32,
    /// Number of the operation at which to search for a second stream again.
    next_scan: u32,
    /// Whether the search has found several streams in the program of this rank.
    parallel: bool,
    /// Whether the program has no further operation.
    exhausted: bool,
    /// Whether the end of the rank is known to the hosts.
    ended: bool,
}

impl Rank {
    pub(crate) fn new() -> Self {
        Rank {
            cursor: Cursor::default(),
            live: List::EMPTY,
            live_count: 0,
            ready: 0,
            next_scan: 0,
            parallel: false,
            exhausted: false,
            ended: false,
        }
    }
}

/// The ranks of a part, with their operations in progress and the memory of their programs.
#[derive(Debug)]
pub(crate) struct RankExecutor {
    layout: Layout,
    interrupt: Interrupt,
    ranks: SparseStore<Rank>,
    activities: Pool<Activity>,
    memory: ProgramMemory,
}
odonata_engine::journalled!(RankExecutor {
    ranks,
    activities,
    memory
});

impl RankExecutor {
    pub(crate) fn new(layout: Layout, interrupt: Interrupt, ranks: SparseStore<Rank>, memory: ProgramMemory) -> Self {
        RankExecutor {
            layout,
            interrupt,
            ranks,
            activities: Pool::new(),
            memory,
        }
    }

    #[inline]
    pub(crate) fn activity(&self, slot: u32) -> &Activity {
        self.activities.get(slot)
    }

    /// All ranks with their operations in progress, in program order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, impl Iterator<Item = &Activity>)> {
        self.ranks
            .iter()
            .map(|(number, rank)| (number, self.activities_in(&rank.live)))
    }

    /// The operations of `rank` in progress, in program order.
    #[inline]
    pub(crate) fn activities_of(&self, rank: u32) -> impl Iterator<Item = &Activity> {
        self.activities_in(&self.ranks.get(rank).live)
    }

    #[inline]
    fn activities_in<'a>(&'a self, list: &'a List) -> impl Iterator<Item = &'a Activity> {
        list.iter(&self.activities).map(|slot| self.activities.get(slot))
    }

    /// Appends an operation to those in progress.
    fn admit<M: Mode>(&mut self, rank: u32, op: Op) {
        let mut activity = Activity::new(rank, op);
        let order = Order::of(op.stream);
        let mut taken = false;
        let mut live = self.ranks.get(rank).live;
        for slot in live.iter(&self.activities) {
            let other = self.activities.get(slot);
            let same = other.op.stream == op.stream;
            activity.behind |= same && order == Order::Sequential;
            taken |= same && order == Order::OneAtATime && other.phase != Phase::Parked;
            activity.missing += op.after.iter().filter(|&id| id == other.op.id).count() as u8;
        }
        let ready = !activity.behind && !taken && activity.missing == 0;
        activity.phase = if ready { Phase::Ready } else { Phase::Parked };
        let slot = self.activities.allocate::<M>(activity);
        live.push::<M, _>(&mut self.activities, slot);
        let state = self.ranks.edit::<M>(rank);
        state.live = live;
        state.live_count += 1;
        state.ready += u32::from(ready);
    }

    /// Takes the first operation of `rank` that may begin or has been woken, and clears its ready mark.
    fn next_ready<M: Mode>(&mut self, rank: u32) -> u32 {
        let ready = |&slot: &u32| matches!(self.activities.get(slot).phase, Phase::Ready | Phase::Woken);
        let live = self.ranks.get(rank).live;
        let slot = live
            .iter(&self.activities)
            .find(ready)
            .expect("as many are ready as were counted");
        self.ranks.edit::<M>(rank).ready -= 1;
        slot
    }

    /// Removes complete operation `slot` and readies its successors.
    fn remove<M: Mode>(&mut self, slot: u32) {
        let Activity { rank, op, .. } = self.activities.get(slot);
        let (rank, id, stream) = (*rank, op.id, op.stream);
        let mut live = self.ranks.get(rank).live;
        live.remove_first::<M, _>(&mut self.activities, |other| other.op.id == id);
        self.activities.free::<M>(slot);
        let mut ready = 0;
        let mut at = live.head;
        let mut successor = Order::of(stream) == Order::Sequential;
        let mut processors = Order::of(stream) == Order::OneAtATime;
        while at != NIL {
            let other = *self.activities.get(at);
            let follows = successor && other.op.stream == stream;
            let depended = other.op.after.iter().filter(|&other| other == id).count() as u8;
            if follows || depended > 0 {
                let cell = self.activities.edit::<M>(at);
                cell.behind &= !follows;
                cell.missing -= depended;
                if Order::of(other.op.stream) == Order::OneAtATime {
                    processors |= cell.missing == 0;
                } else if !cell.behind && cell.missing == 0 {
                    cell.phase = Phase::Ready;
                    ready += 1;
                }
                successor &= !follows;
            }
            at = other.next;
        }
        if processors {
            ready += self.take_processors::<M>(&live);
        }
        let state = self.ranks.edit::<M>(rank);
        state.live = live;
        state.live_count -= 1;
        state.ready += ready;
    }

    /// Assigns to every idle processor the first operation in `live` that may begin there; returns how many it
    /// assigned.
    fn take_processors<M: Mode>(&mut self, live: &List) -> u32 {
        let mut taken = [0_u64; (Op::UNORDERED - Op::PROCESSORS) as usize / 64];
        let place = |stream: u16| {
            let processor = usize::from(stream - Op::PROCESSORS);
            (processor / 64, 1_u64 << (processor % 64))
        };
        let on_processor = |activity: &Activity| Order::of(activity.op.stream) == Order::OneAtATime;
        for activity in self.activities_in(live).filter(|activity| on_processor(activity)) {
            let (word, bit) = place(activity.op.stream);
            taken[word] |= if activity.phase == Phase::Parked { 0 } else { bit };
        }
        let mut ready = 0;
        let mut at = live.head;
        while at != NIL {
            let other = *self.activities.get(at);
            if on_processor(&other) && other.phase == Phase::Parked && other.missing == 0 {
                let (word, bit) = place(other.op.stream);
                if taken[word] & bit == 0 {
                    taken[word] |= bit;
                    self.activities.edit::<M>(at).phase = Phase::Ready;
                    ready += 1;
                }
            }
            at = other.next;
        }
        ready
    }

    /// Wakes operation `slot`, which waits for one of several requests, since one is complete. It checks them at the
    /// end of this event.
    pub(crate) fn wake<M: Mode>(&mut self, slot: u32) {
        let activity = self.activities.edit::<M>(slot);
        if activity.phase == Phase::Blocked {
            activity.phase = Phase::Woken;
            let rank = activity.rank;
            self.ranks.edit::<M>(rank).ready += 1;
        }
    }

    /// Number of operations in progress.
    pub(crate) fn live(&self) -> u32 {
        self.activities.live()
    }
}
