//! The uses of links: the last packet on each, and while packets wait, the last one of each traffic.

use crate::message::Traffic;
use odonata_blame::lost::{Vector, Vectors};
use odonata_engine::{Mode, NIL, Pool, Store, Time};

/// The last use of a link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Taken {
    /// The losses to others of the last packet on the link.
    pub(super) last: Vector,
    /// When that packet would have requested the link if it had been alone.
    pub(super) asked: Time,
    /// While packets wait: the last packet of each traffic on the link since then.
    pub(super) owners: u32,
}

/// The last packet of `owner` on a link: the end of its transmission, and its losses to others.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct LastUse {
    pub(super) until: Time,
    /// When it would have requested the link if it had been alone; [`Time::ZERO`] if the order of requests does not
    /// matter.
    pub(super) asked: Time,
    pub(super) losses_to_others: Vector,
    pub(super) next: u32,
    pub(super) owner: Traffic,
}

odonata_engine::slots!(LastUse);

/// The last uses of links, by ledger line.
#[derive(Debug)]
pub(in crate::observe) struct LinkUses {
    pub(super) links: Store<Taken>,
    owners: Pool<LastUse>,
}
odonata_engine::journalled!(LinkUses { links, owners });

impl LinkUses {
    pub(super) fn new(lines: usize) -> LinkUses {
        let unused = Taken {
            last: Vector::EMPTY,
            asked: Time::ZERO,
            owners: NIL,
        };
        LinkUses {
            links: Store::filled(lines, unused),
            owners: Pool::new(),
        }
    }

    /// Records the last packet of `owner` on `line`, until `until`, for the packets that wait. It has lost
    /// `losses_to_others` and would have requested the link at `asked` if it had been alone.
    pub(super) fn took<M: Mode>(
        &mut self,
        vectors: &mut Vectors,
        line: u32,
        owner: Traffic,
        (asked, until): (Time, Time),
        losses_to_others: Vector,
    ) {
        vectors.share::<M>(losses_to_others);
        match self.find_owner(line, owner) {
            NIL => {
                let next = self.links.get(line).owners;
                let slot = self.owners.allocate::<M>(LastUse {
                    until,
                    asked,
                    losses_to_others,
                    next,
                    owner,
                });
                self.links.edit::<M>(line).owners = slot;
            }
            slot => {
                let cell = self.owners.edit::<M>(slot);
                (cell.until, cell.asked) = (until, asked);
                let before = std::mem::replace(&mut cell.losses_to_others, losses_to_others);
                vectors.release::<M>(before);
            }
        }
    }

    fn find_owner(&self, line: u32, owner: Traffic) -> u32 {
        let mut at = self.links.get(line).owners;
        while at != NIL && self.owners.get(at).owner != owner {
            at = self.owners.get(at).next;
        }
        at
    }

    pub(super) fn last_of(&self, line: u32, owner: Traffic) -> Option<LastUse> {
        match self.find_owner(line, owner) {
            NIL => None,
            slot => Some(*self.owners.get(slot)),
        }
    }

    /// Clears the last packets per owner of `line`, for which no packet waits any more.
    pub(super) fn forget_owners<M: Mode>(&mut self, vectors: &mut Vectors, line: u32) {
        let mut at = self.links.get(line).owners;
        if at == NIL {
            return;
        }
        self.links.edit::<M>(line).owners = NIL;
        while at != NIL {
            let LastUse {
                losses_to_others, next, ..
            } = *self.owners.get(at);
            vectors.release::<M>(losses_to_others);
            self.owners.free::<M>(at);
            at = next;
        }
    }

    /// The losses to others of the last packet on link `line`.
    #[inline]
    pub(in crate::observe) fn of_last(&self, line: u32) -> Vector {
        self.links.get(line).last
    }
}
