//! Stamps by key.

use super::{Loss, NO_JOB, Origin, Stamp, Vector, Vectors, add};
use odonata_engine::{Mode, NIL, Pool, Store, Time};

/// The key of a stamp; its user chooses the numbers.
pub type Key = (u64, u64);

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Cell {
    key: Key,
    at: Time,
    alone: Time,
    undisturbed: Time,
    origin: Origin,
    losses: Vector,
    next: u32,
    job: u16,
}

odonata_engine::slots!(Cell);

/// Stamps by key: a hash table with chaining.
#[derive(Debug)]
pub struct Stamps {
    heads: Store<u32>,
    cells: Pool<Cell>,
    vectors: Vectors,
}
odonata_engine::journalled!(Stamps { heads, cells, vectors });

impl Stamps {
    /// A table for about `expected` concurrent stamps; 0 turns it off.
    pub fn new(expected: usize) -> Stamps {
        let heads = match expected {
            0 => 0,
            n => n.clamp(64, 1 << 20).next_power_of_two(),
        };
        Stamps {
            heads: Store::filled(heads, NIL),
            cells: Pool::new(),
            vectors: Vectors::new(),
        }
    }

    /// Whether the table is on.
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

    fn stamp(&self, cell: u32) -> Stamp {
        let Cell {
            at,
            alone,
            undisturbed,
            origin,
            losses: vector,
            job,
            ..
        } = *self.cells.get(cell);
        let mut losses = Vec::new();
        self.vectors.read(vector, &mut losses);
        Stamp {
            at,
            alone,
            undisturbed,
            job,
            origin,
            losses,
        }
    }

    /// The stamp of `key`.
    pub fn get(&self, key: Key) -> Option<Stamp> {
        self.find(key).map(|cell| self.stamp(cell))
    }

    /// Whether `key` has a stamp.
    pub fn has(&self, key: Key) -> bool {
        self.find(key).is_some()
    }

    /// Stores `stamp` for `key`, replacing any other.
    pub fn set<M: Mode>(&mut self, key: Key, stamp: &Stamp) {
        let slot = self.find(key).unwrap_or_else(|| {
            let chain = self.chain(key);
            let slot = self.cells.allocate::<M>(Cell {
                key,
                at: Time::ZERO,
                alone: Time::ZERO,
                undisturbed: Time::ZERO,
                job: NO_JOB,
                origin: Origin::NONE,
                losses: Vector::EMPTY,
                next: *self.heads.get(chain),
            });
            *self.heads.edit::<M>(chain) = slot;
            slot
        });
        let before = self.cells.get(slot).losses;
        let losses = match self.vectors.are(before, &stamp.losses) {
            true => before,
            false => {
                self.vectors.release::<M>(before);
                self.vectors.keep::<M>(Origin::NONE, &stamp.losses)
            }
        };
        let cell = self.cells.edit::<M>(slot);
        (cell.at, cell.alone, cell.undisturbed) = (stamp.at, stamp.alone, stamp.undisturbed);
        (cell.job, cell.origin, cell.losses) = (stamp.job, stamp.origin, losses);
    }

    /// Joins `stamp` into the stamp of `key` ([`Stamp::join`]).
    pub fn join<M: Mode>(&mut self, key: Key, stamp: &Stamp) {
        let Some(slot) = self.find(key) else {
            let mut joined = Stamp::default();
            joined.join(stamp);
            self.set::<M>(key, &joined);
            return;
        };
        // Most joined stamps are earlier on all clocks and change nothing.
        let cell = self.cells.get(slot);
        let earlier = stamp.at < cell.at && stamp.alone <= cell.alone && stamp.undisturbed <= cell.undisturbed;
        if earlier && (stamp.job == cell.job || stamp.losses.is_empty()) {
            return;
        }
        let mut joined = self.stamp(slot);
        joined.join(stamp);
        self.set::<M>(key, &joined);
    }

    /// Removes and returns the stamp of `key`.
    pub fn take<M: Mode>(&mut self, key: Key) -> Option<Stamp> {
        let cell = self.find(key)?;
        let stamp = self.stamp(cell);
        self.remove::<M>(cell);
        Some(stamp)
    }

    /// Removes the stamp of `key`.
    pub fn forget<M: Mode>(&mut self, key: Key) {
        if let Some(cell) = self.find(key) {
            self.remove::<M>(cell);
        }
    }

    fn remove<M: Mode>(&mut self, cell: u32) {
        let Cell { key, losses, next, .. } = *self.cells.get(cell);
        self.vectors.release::<M>(losses);
        let chain = self.chain(key);
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

    /// Adds `loss` to the stamp of `key`; its time stays.
    pub fn lose<M: Mode>(&mut self, key: Key, loss: Loss) {
        let mut stamp = self.get(key).unwrap_or_default();
        add(&mut stamp.losses, loss);
        self.set::<M>(key, &stamp);
    }

    /// Sets the origin of the stamp of `key`.
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

    /// Number of stored stamps.
    pub fn live(&self) -> u32 {
        self.cells.live()
    }

    #[cfg(test)]
    pub(super) fn chunks(&self) -> u32 {
        self.vectors.live()
    }
}
