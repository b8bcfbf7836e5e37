//! Lost time: how much later something happens because of waits, by whose fault and of which kind; carried along what
//! depends on it.
//!
//! A [`Stamp`] says when something happened, when it would have happened without waits, and to whom the difference is due
//! (delay vectors: D. Böhme, M. Geimer, F. Wolf, L. Arnold, "Identifying the root causes of wait states in large-scale
//! parallel applications", ICPP 2010). Stamps are [joined](Stamp::join) where something needs several others: both clocks take
//! the maximum (max-plus algebra), and the time lost is that of the one that came last, cut down to what is left of it.
//!
//! [`Stamps`] keeps them by key, journalled like all state.
//!
//! Where the chain is asked for that ends a job, a loss says *where* it was ([`LostAt`]) as long as it is not older than the
//! last [`Origin`] of its stamp: a point in the life of a rank up to which another table says the same. [`Stamp::rebase`]
//! begins anew at such a point.

use crate::Owner;
use odonata_engine::{Mode, NIL, Pool, Store, Time};

/// What kind of thing was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum Kind {
    /// A link that sent something else.
    Link,
    /// Room in the buffer behind a link, or a packet in front in the same FIFO.
    Buffer,
    /// Memory of a storage server.
    Memory,
    /// Space of a storage server.
    Space,
    /// A storage device.
    Device,
    /// A metadata server: a thread, or a directory.
    Metadata,
}

impl Kind {
    /// All of them, by number.
    pub const ALL: [Kind; 6] = [
        Kind::Link,
        Kind::Buffer,
        Kind::Memory,
        Kind::Space,
        Kind::Device,
        Kind::Metadata,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Link => "link",
            Kind::Buffer => "buffer",
            Kind::Memory => "memory",
            Kind::Space => "space",
            Kind::Device => "device",
            Kind::Metadata => "metadata",
        }
    }

    /// That of number `number`.
    pub fn of(number: u8) -> Option<Kind> {
        Kind::ALL.get(usize::from(number)).copied()
    }
}

/// Where something was waited for: a link, a storage server or a metadata server, by its number in the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct LostAt(pub u32);

impl LostAt {
    /// Not asked for, or before the origin.
    pub const NOWHERE: LostAt = LostAt(0);

    const CLASS: u32 = 30;

    const fn new(class: u32, number: u32) -> LostAt {
        LostAt(class << Self::CLASS | (number & ((1 << Self::CLASS) - 1)))
    }

    /// At link `number`.
    pub const fn link(number: u32) -> LostAt {
        Self::new(1, number)
    }

    /// At storage server `number`.
    pub const fn server(number: u32) -> LostAt {
        Self::new(2, number)
    }

    /// At metadata server `number`.
    pub const fn metadata(number: u32) -> LostAt {
        Self::new(3, number)
    }

    /// Its class (0: nowhere; link, server, metadata) and number.
    pub const fn parts(self) -> (u32, u32) {
        (self.0 >> Self::CLASS, self.0 & ((1 << Self::CLASS) - 1))
    }
}

/// A point in the life of a rank: of its waits that are recorded, the one of this number was the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Origin {
    /// The rank, counted over all jobs.
    pub rank: u32,
    /// Counted from 1; 0 is its start.
    pub number: u32,
}

impl Origin {
    /// Not asked for.
    pub const NONE: Origin = Origin { rank: NIL, number: 0 };
}

impl Default for Origin {
    fn default() -> Origin {
        Origin::NONE
    }
}

/// What a message takes along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Where it stems from.
    pub origin: Origin,
    /// What was lost, in order.
    pub losses: Vec<Loss>,
}

impl Carried {
    /// Whether it is that of something of which nothing is known.
    pub fn is_empty(&self) -> bool {
        self.losses.is_empty() && self.origin == Origin::NONE
    }
}

/// Time lost by the fault of one culprit in one kind of wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Loss {
    /// Who held what was waited for: a job.
    pub culprit: Owner,
    /// What that was.
    pub kind: Kind,
    /// Where.
    pub place: LostAt,
    /// How long.
    pub time: Time,
}

impl Loss {
    fn name(&self) -> (Owner, Kind, LostAt) {
        (self.culprit, self.kind, self.place)
    }
}

/// The sum of losses.
pub fn total(losses: &[Loss]) -> Time {
    losses.iter().fold(Time::ZERO, |sum, loss| sum + loss.time)
}

/// Adds `loss` to `losses`, which are in order of culprit, kind and place and stay so.
pub fn add(losses: &mut Vec<Loss>, loss: Loss) {
    if loss.time == Time::ZERO {
        return;
    }
    match losses.binary_search_by_key(&loss.name(), Loss::name) {
        Ok(at) => losses[at].time += loss.time,
        Err(at) => losses.insert(at, loss),
    }
}

/// Scales `losses` down so that they add up to `sum` exactly, if they are more: each by the same share, rounded so that the
/// sums of the first ones are rounded down. What all places of a culprit and kind have together does not depend on the places.
pub fn scale(losses: &mut Vec<Loss>, sum: Time) {
    let whole = total(losses);
    if whole <= sum {
        return;
    }
    let (mut before, mut given) = (Time::ZERO, Time::ZERO);
    for loss in losses.iter_mut() {
        before += loss.time;
        let until = Time((u128::from(before.0) * u128::from(sum.0) / u128::from(whole.0)) as u64);
        loss.time = until - given;
        given = until;
    }
    losses.retain(|loss| loss.time > Time::ZERO);
}

/// Forgets where `losses` were.
pub fn without_places(losses: &mut Vec<Loss>) {
    losses.iter_mut().for_each(|loss| loss.place = LostAt::NOWHERE);
    losses.dedup_by(|next, sum| {
        let same = next.name() == sum.name();
        if same {
            sum.time += next.time;
        }
        same
    });
}

/// When something happened, and what of that was lost to whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Stamp {
    /// When it happened.
    pub at: Time,
    /// When it would have happened without waits.
    pub undisturbed: Time,
    /// The point from which on it is known where something was lost.
    pub origin: Origin,
    /// The difference, in order of culprit, kind and place.
    pub losses: Vec<Loss>,
}

impl Stamp {
    /// Something that happened at `at` with these losses.
    pub fn new(at: Time, mut losses: Vec<Loss>) -> Stamp {
        scale(&mut losses, at);
        let undisturbed = at - total(&losses);
        Stamp {
            at,
            undisturbed,
            origin: Origin::NONE,
            losses,
        }
    }

    /// Something that happened at `at`, with what was carried there.
    pub fn carried(at: Time, carried: Carried) -> Stamp {
        Stamp {
            origin: carried.origin,
            ..Stamp::new(at, carried.losses)
        }
    }

    /// Something that began at `at`, with nothing lost.
    pub fn start(at: Time) -> Stamp {
        Stamp::new(at, Vec::new())
    }

    /// From here on places count from `origin`: those until now are forgotten.
    pub fn rebase(&mut self, origin: Origin) {
        self.origin = origin;
        without_places(&mut self.losses);
    }

    /// What was lost in all.
    pub fn lost(&self) -> Time {
        self.at - self.undisturbed
    }

    /// Where it leads to at `at`, when nothing more is lost.
    #[must_use]
    pub fn later(mut self, at: Time) -> Stamp {
        if at > self.at {
            self.undisturbed += at - self.at;
            self.at = at;
        }
        self
    }

    /// What needs both this and `other`.
    pub fn join(&mut self, other: &Stamp) {
        let undisturbed = self.undisturbed.max(other.undisturbed);
        // Of two at the same instant the one that has lost less says how it would have been.
        if other.at > self.at || (other.at == self.at && other.lost() < self.lost()) {
            *self = other.clone();
        }
        self.undisturbed = undisturbed;
        let lost = self.lost();
        scale(&mut self.losses, lost);
    }

    /// Checks that the losses add up to the time lost.
    ///
    /// # Errors
    /// Says what they add up to.
    pub fn audit(&self) -> Result<(), String> {
        let (sum, lost) = (total(&self.losses), self.lost());
        match sum == lost {
            true => Ok(()),
            false => Err(format!(
                "lost time: contributions add up to {} ps, but {} ps were lost",
                sum.0, lost.0
            )),
        }
    }
}

/// What a stamp is kept for: numbers that its user chooses.
pub type Key = (u64, u64);

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Cell {
    key: Key,
    at: Time,
    undisturbed: Time,
    origin: Origin,
    losses: u32,
    next: u32,
}

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Entry {
    loss: Loss,
    next: u32,
}

odonata_engine::slots!(Cell Entry);

/// Stamps by key: a hash table with chains.
#[derive(Debug)]
pub struct Stamps {
    heads: Store<u32>,
    cells: Pool<Cell>,
    entries: Pool<Entry>,
}
odonata_engine::journalled!(Stamps { heads, cells, entries });

impl Stamps {
    /// For about `expected` stamps at a time; for 0, none are kept.
    pub fn new(expected: usize) -> Stamps {
        let heads = match expected {
            0 => 0,
            n => n.clamp(64, 1 << 20).next_power_of_two(),
        };
        Stamps {
            heads: Store::filled(heads, NIL),
            cells: Pool::new(),
            entries: Pool::new(),
        }
    }

    /// Whether stamps are kept.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        !self.heads.is_empty()
    }

    fn chain(&self, key: Key) -> u32 {
        let mixed = (key.0 ^ key.1.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as u32 & (self.heads.len() as u32 - 1)
    }

    fn find(&self, key: Key) -> Option<u32> {
        let mut at = *self.heads.get(self.chain(key));
        while at != NIL && self.cells.get(at).key != key {
            at = self.cells.get(at).next;
        }
        (at != NIL).then_some(at)
    }

    fn losses_of(&self, cell: u32) -> Vec<Loss> {
        let mut losses = Vec::new();
        let mut at = self.cells.get(cell).losses;
        while at != NIL {
            let entry = self.entries.get(at);
            losses.push(entry.loss);
            at = entry.next;
        }
        losses.sort_unstable();
        losses
    }

    /// The stamp of `key`.
    pub fn get(&self, key: Key) -> Option<Stamp> {
        let cell = self.find(key)?;
        let Cell {
            at,
            undisturbed,
            origin,
            ..
        } = *self.cells.get(cell);
        Some(Stamp {
            at,
            undisturbed,
            origin,
            losses: self.losses_of(cell),
        })
    }

    /// Keeps `stamp` for `key`, in place of any other.
    pub fn set<M: Mode>(&mut self, key: Key, stamp: &Stamp) {
        let cell = self.find(key).unwrap_or_else(|| {
            let chain = self.chain(key);
            let slot = self.cells.allocate::<M>(Cell {
                key,
                at: Time::ZERO,
                undisturbed: Time::ZERO,
                origin: Origin::NONE,
                losses: NIL,
                next: *self.heads.get(chain),
            });
            *self.heads.edit::<M>(chain) = slot;
            slot
        });
        self.clear::<M>(cell);
        let mut losses = NIL;
        for &loss in &stamp.losses {
            losses = self.entries.allocate::<M>(Entry { loss, next: losses });
        }
        let cell = self.cells.edit::<M>(cell);
        (cell.at, cell.undisturbed) = (stamp.at, stamp.undisturbed);
        (cell.origin, cell.losses) = (stamp.origin, losses);
    }

    fn clear<M: Mode>(&mut self, cell: u32) {
        let mut at = self.cells.get(cell).losses;
        while at != NIL {
            let next = self.entries.get(at).next;
            self.entries.free::<M>(at);
            at = next;
        }
    }

    /// The stamp of `key`, which is no longer kept.
    pub fn take<M: Mode>(&mut self, key: Key) -> Option<Stamp> {
        let stamp = self.get(key)?;
        self.forget::<M>(key);
        Some(stamp)
    }

    /// Keeps no stamp for `key`.
    pub fn forget<M: Mode>(&mut self, key: Key) {
        let Some(cell) = self.find(key) else { return };
        self.clear::<M>(cell);
        let (chain, next) = (self.chain(key), self.cells.get(cell).next);
        let mut at = *self.heads.get(chain);
        if at == cell {
            *self.heads.edit::<M>(chain) = next;
        } else {
            while self.cells.get(at).next != cell {
                at = self.cells.get(at).next;
            }
            self.cells.edit::<M>(at).next = next;
        }
        self.cells.free::<M>(cell);
    }

    /// Adds `loss` to what is kept for `key`, whose time stays as it is.
    pub fn lose<M: Mode>(&mut self, key: Key, loss: Loss) {
        let mut stamp = self.get(key).unwrap_or_default();
        add(&mut stamp.losses, loss);
        self.set::<M>(key, &stamp);
    }

    /// What is kept for `key` stems from `origin`.
    pub fn stems<M: Mode>(&mut self, key: Key, origin: Origin) {
        match self.find(key) {
            Some(cell) => self.cells.edit::<M>(cell).origin = origin,
            None => self.set::<M>(
                key,
                &Stamp {
                    origin,
                    ..Stamp::default()
                },
            ),
        }
    }

    /// Stamps that are kept.
    pub fn live(&self) -> u32 {
        self.cells.live()
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.heads.memory() + self.cells.memory() + self.entries.memory()
    }
}

#[cfg(test)]
mod tests;
