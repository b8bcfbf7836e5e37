//! The event queue (pending-event set): a timing wheel that sorts a bucket when it is opened, as in a ladder queue.
//!
//! A push links an event into a bucket, a pop costs a share of a small sort: about half the cost of a binary heap at
//! the event densities of a packet network. The queue has three parts:
//!
//! - the [*open bucket*](OpenBucket), sorted; a late push into it is an insertion;
//! - the *wheel*: [`BUCKETS`] unsorted buckets by default, of `2^shift` ps each, with a bitmap of the occupied ones. A
//!   bucket is a linked list through the [slots](Slots) of all events; the slot freed last is used first, so it is
//!   still in cache;
//! - the *overflow*: coarse buckets, and beyond them a binary heap, for events beyond the span of the wheel (timers,
//!   computation, copies of hosts; on a large machine, most events).
//!
//! The bucket width follows the measured density, aiming at [`TARGET`] events per opened bucket. It does not affect the
//! order.

mod open_bucket;
mod overflow;
mod slots;

use crate::saved::{Damaged, Loader, Saver};
use crate::state::cell_mut;
use crate::{Cell, Key, Lp, NIL, Plain, Saved, Time};
use open_bucket::{OpenBucket, WIDTH_BITS};
use overflow::Overflow;
use slots::Slots;

/// Default number of buckets. A bucket takes 4 bytes.
pub const BUCKETS: usize = 8192;
/// Default number of buckets of all clusters of a part, in queues of [`BUCKETS`].
pub const CLUSTER_QUEUES: usize = 8;
/// Target number of events per opened bucket. Values of 3 and 12 give the same run time.
const TARGET: u64 = 10;
/// Opened buckets between two measurements of the density; fewer for fewer buckets, where a fitting width matters more.
const REFIT_EVERY: u64 = 4096;
/// Bounds of the bucket width: 16 ps and 16 ns.
const SHIFTS: std::ops::RangeInclusive<u32> = 4..=WIDTH_BITS;

/// A pending event.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Scheduled<E> {
    /// Its time.
    pub time: Time,
    /// Sender and sequence number, see [`Key`].
    order: u64,
    /// The receiver.
    pub lp: Lp,
    /// The event itself.
    pub event: E,
}

/// Sender and sequence number as one number.
pub(crate) fn order(key: Key) -> u64 {
    u64::from(key.sender) << 32 | u64::from(key.sequence)
}

impl<E> Scheduled<E> {
    /// An event for `lp` with its key.
    #[inline]
    pub fn new(lp: Lp, key: Key, event: E) -> Self {
        Scheduled {
            time: key.time,
            order: order(key),
            lp,
            event,
        }
    }

    /// An event for `lp` with its [rank](Self::rank).
    pub(crate) fn ranked(lp: Lp, (time, order): (Time, u64), event: E) -> Self {
        Scheduled { time, order, lp, event }
    }

    #[inline]
    pub(crate) fn rank(&self) -> (Time, u64) {
        (self.time, self.order)
    }
}

/// The queue. Events come out in order of (time, sender, sequence).
#[derive(Debug)]
pub struct Wheel<E> {
    open: OpenBucket,
    /// Absolute number of the open bucket (time >> shift).
    position: u64,
    /// Per bucket: the slot of its first event, or [`NIL`].
    heads: Vec<u32>,
    slots: Slots<Scheduled<E>>,
    /// Number of buckets minus one.
    mask: u64,
    /// Buckets that enter the wheel together: an eighth of all, as a power of two.
    stretch: u32,
    /// The first bucket of the overflow, a multiple of a stretch; as late as the number of buckets allows.
    horizon: u64,
    occupied: Vec<u64>,
    /// Prefetch position in the bucket after the open one: the next slot, or [`NIL`].
    fetched: u32,
    overflow: Overflow<E>,
    shift: u32,
    len: usize,
    /// Buckets opened since the last fit of the width, and their events.
    opened: u64,
    opened_events: u64,
}

/// Bytes of an empty queue of `buckets` buckets: a slot and a bit for each.
pub const fn empty_bytes(buckets: usize) -> usize {
    buckets * size_of::<u32>() + buckets / 8
}

impl<E: Copy> Wheel<E> {
    /// An empty queue.
    pub fn new() -> Self {
        Self::with_buckets(BUCKETS)
    }

    /// An empty queue of `buckets` buckets, rounded up to a power of two, at least 64. Few buckets suit many queues
    /// with few events each.
    pub fn with_buckets(buckets: usize) -> Self {
        let buckets = buckets.next_power_of_two().max(64);
        let mut wheel = Wheel {
            open: OpenBucket::new(),
            position: 0,
            heads: vec![NIL; buckets],
            slots: Slots::new(),
            mask: buckets as u64 - 1,
            stretch: buckets.trailing_zeros() - 3,
            horizon: 0,
            occupied: vec![0; buckets / 64],
            fetched: NIL,
            overflow: Overflow::new(0, 0),
            shift: 10,
            len: 0,
            opened: 0,
            opened_events: 0,
        };
        wheel.begin(0, 10);
        wheel
    }

    /// Begins at bucket `position` of `2^shift` ps, with wheel and overflow empty.
    fn begin(&mut self, position: u64, shift: u32) {
        let stretch = self.stretch;
        self.position = position;
        self.shift = shift;
        self.horizon = ((position + self.mask + 1) >> stretch) << stretch;
        self.overflow = Overflow::new(shift + stretch, self.horizon >> stretch);
    }

    /// Number of queued events.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All pending events, in arbitrary order.
    pub fn iter(&self) -> impl Iterator<Item = &Scheduled<E>> {
        let open = self.open.slots().map(|slot| self.slots.get(slot));
        let in_wheel = self.heads.iter().flat_map(|&head| self.slots.list(head));
        open.chain(in_wheel).chain(self.overflow.iter())
    }

    /// Queues an event.
    #[inline(always)]
    pub fn push(&mut self, item: Scheduled<E>) {
        self.len += 1;
        self.place(item.time, item.order, item.lp, item.event);
    }

    // Takes the fields, which fit into registers.
    #[inline(never)]
    fn place(&mut self, time: Time, order: u64, lp: Lp, event: E) {
        let bucket = time.0 >> self.shift;
        let place = (bucket & self.mask) as usize;
        if bucket > self.position && bucket < self.horizon {
            let head = cell_mut::<Plain, _>(&mut self.heads, place as u32);
            if let Some((slot, cell)) = self.slots.reuse(*head) {
                *cell = Scheduled { time, order, lp, event };
                *head = slot;
                *cell_mut::<Plain, _>(&mut self.occupied, place as u32 / 64) |= 1 << (place % 64);
                return;
            }
        }
        self.place_apart(time, order, lp, event);
    }

    /// Queues an event in the open bucket, in the overflow, or in a new slot.
    // Takes the fields, so that its caller needs no memory for them.
    #[inline(never)]
    fn place_apart(&mut self, time: Time, order: u64, lp: Lp, event: E) {
        let (item, bucket) = (Scheduled { time, order, lp, event }, time.0 >> self.shift);
        if bucket >= self.horizon {
            return self.overflow.push(item);
        }
        if bucket <= self.position {
            if !self.open.insert(&mut self.slots, item) {
                // Begins again with the earliest event, near which no other can be too far from it.
                let first = self.open.first().map_or(time, |(first, _)| first.min(time));
                self.rebuild(first.0 >> self.shift, self.shift);
                self.place(time, order, lp, event);
            }
            return;
        }
        let place = (bucket & self.mask) as usize;
        self.heads[place] = self.slots.insert(item, self.heads[place]);
        self.occupied[place / 64] |= 1 << (place % 64);
    }

    /// The time of the next event. Opens no bucket, so that pushing an earlier event stays cheap.
    pub fn next_time(&self) -> Option<Time> {
        if let Some((first, _)) = self.open.first() {
            return Some(first);
        }
        match self.next_occupied() {
            Some(bucket) => {
                let head = self.heads[(bucket & self.mask) as usize];
                self.slots.list(head).map(|item| item.time).min()
            }
            None => self.overflow.next_time(),
        }
    }

    /// Removes and returns the first event.
    #[inline]
    pub fn pop(&mut self) -> Option<Scheduled<E>> {
        self.pop_before(Time::NEVER)
    }

    /// The first event if it is before `bound`; it can then be [taken](Self::pop). Opens no bucket that begins at
    /// `bound` or later.
    pub(crate) fn peek_before(&mut self, bound: Time) -> Option<&Scheduled<E>> {
        if self.open.is_empty() && !self.advance(bound) {
            return None;
        }
        let (first, slot) = self.open.first()?;
        (first < bound).then(|| self.slots.get(slot))
    }

    /// Removes and returns the first event if it is before `bound`. Opens no bucket that begins at `bound` or later.
    #[inline]
    pub fn pop_before(&mut self, bound: Time) -> Option<Scheduled<E>> {
        self.pop_prefetching(bound, |_| ())
    }

    /// Like [`pop_before`](Self::pop_before); with each event, calls `prefetch` for one event of the next bucket.
    #[inline(always)]
    pub(crate) fn pop_prefetching(&mut self, bound: Time, prefetch: impl Fn(&E)) -> Option<Scheduled<E>> {
        if self.open.is_empty() && !self.advance(bound) {
            return None;
        }
        let (time, slot) = self.open.first()?;
        if time >= bound {
            return None;
        }
        self.open.pop();
        self.len -= 1;
        if self.fetched != NIL {
            let (item, next) = self.slots.linked(self.fetched);
            prefetch(&item.event);
            self.slots.prefetch(next);
            self.fetched = next;
        }
        Some(self.slots.free(slot))
    }

    /// Opens the next occupied bucket, unless it begins at `bound` or later; `false` if there is none.
    #[inline(never)]
    fn advance(&mut self, bound: Time) -> bool {
        // Refits early if far more events have arrived than fit the width: wide buckets cost memory and sorting.
        let looks = REFIT_EVERY.min(self.mask + 1);
        if self.opened >= looks || self.opened_events >= looks * TARGET {
            self.refit();
            if !self.open.is_empty() {
                return true;
            }
        }
        let bucket = loop {
            if let Some(bucket) = self.next_occupied() {
                break bucket;
            }
            match self.overflow.next() {
                Some(next) if next << (self.stretch + self.shift) < bound.0 => {
                    self.overflow.skip_to(next);
                    self.horizon = next << self.stretch;
                    self.position = self.horizon - 1;
                    self.refill();
                }
                _ => return false,
            }
        };
        if bucket << self.shift >= bound.0 {
            return false;
        }
        self.position = bucket;
        let place = (bucket & self.mask) as usize;
        self.occupied[place / 64] &= !(1 << (place % 64));
        let head = std::mem::replace(&mut self.heads[place], NIL);
        self.open.fill(Time(bucket << self.shift), &self.slots, head);
        if self.horizon + (1 << self.stretch) - self.position <= self.mask + 1 {
            self.refill();
        }
        self.opened += 1;
        self.opened_events += self.open.len() as u64;
        self.fetched = match self.next_occupied() {
            Some(bucket) => self.heads[(bucket & self.mask) as usize],
            None => NIL,
        };
        self.slots.prefetch(self.fetched);
        true
    }

    /// Moves events from the overflow into the span of the wheel, after the span has advanced.
    #[inline(never)]
    fn refill(&mut self) {
        let stretch = 1 << self.stretch;
        while self.horizon + stretch - self.position <= self.mask + 1 {
            self.horizon += stretch;
            for item in self.overflow.take() {
                self.place(item.time, item.order, item.lp, item.event);
            }
        }
    }

    /// Removes the events `gone`, given by receiver and key; all are queued. Of events equal in both, any one is
    /// removed.
    pub(crate) fn remove_all(&mut self, gone: impl Iterator<Item = (Lp, Key)>) {
        let mut far: Vec<((Time, u64), Lp)> = Vec::new();
        for (lp, key) in gone {
            let rank = (key.time, order(key));
            let bucket = key.time.0 >> self.shift;
            if bucket <= self.position {
                let slot = self.open.remove(&self.slots, rank, lp);
                let removed = self.slots.free(slot);
                assert_eq!(removed.rank(), rank, "what is removed is there");
            } else if bucket < self.horizon {
                let place = (bucket & self.mask) as usize;
                let is_gone = |item: &Scheduled<E>| item.rank() == rank && item.lp == lp;
                self.slots.remove(&mut self.heads[place], is_gone);
                if self.heads[place] == NIL {
                    self.occupied[place / 64] &= !(1 << (place % 64));
                }
            } else {
                far.push((rank, lp));
                continue;
            }
            self.len -= 1;
        }
        self.len -= far.len();
        self.overflow.remove_all(far);
    }

    /// The absolute number of the first occupied bucket after the open one.
    fn next_occupied(&self) -> Option<u64> {
        let words = self.occupied.len() as u64;
        let start = (self.position + 1) & self.mask;
        let (first, bit) = (start / 64, start % 64);
        // Usually it is near.
        let near = self.occupied[first as usize] & !0 << bit;
        if near != 0 {
            return Some(self.position + 1 + (u64::from(near.trailing_zeros()) - bit));
        }
        // The first word is read twice: its upper part first, its lower part last.
        for i in 0..=words {
            let at = (first + i) & (words - 1);
            let mut word = self.occupied[at as usize];
            if i == 0 {
                word &= !0 << bit;
            }
            if word != 0 {
                let slot = at * 64 + u64::from(word.trailing_zeros());
                return Some(self.position + 1 + (slot.wrapping_sub(start) & self.mask));
            }
        }
        None
    }

    /// Fits the bucket width to the density since the last fit.
    #[cold]
    fn refit(&mut self) {
        let per_bucket = self.opened_events.max(1) as f64 / self.opened as f64;
        self.opened = 0;
        self.opened_events = 0;
        let steps = (TARGET as f64 / per_bucket).log2().round() as i32;
        // A factor of two lies on the flat part of the cost curve.
        if steps.abs() < 2 {
            return;
        }
        let shift = (self.shift as i32 + steps).clamp(*SHIFTS.start() as i32, *SHIFTS.end() as i32) as u32;
        if shift == self.shift {
            return;
        }
        // Keeps the time, so no event lies before the open bucket.
        self.rebuild((self.position << self.shift) >> shift, shift);
    }

    /// Begins again at bucket `position` of `2^shift` ps.
    fn rebuild(&mut self, position: u64, shift: u32) {
        let all: Vec<Scheduled<E>> = self.iter().copied().collect();
        self.open.clear();
        self.heads.fill(NIL);
        self.slots.free_all();
        self.fetched = NIL;
        self.occupied.fill(0);
        self.begin(position, shift);
        for item in all {
            self.place(item.time, item.order, item.lp, item.event);
        }
    }
}

/// Saved in key order, so the history of the queue does not matter.
impl<E: Cell> Saved for Wheel<E> {
    fn save(&self, to: &mut Saver<'_>) {
        let mut all: Vec<&Scheduled<E>> = self.iter().collect();
        all.sort_by_key(|item| (item.rank(), item.lp));
        to.values(all.into_iter());
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged> {
        *self = Wheel::with_buckets(self.heads.len());
        for item in from.values::<Scheduled<E>>()? {
            if self.is_empty() {
                self.begin(item.time.0 >> self.shift, self.shift);
            }
            self.push(item);
        }
        Ok(())
    }
}

impl<E: Copy> Default for Wheel<E> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
