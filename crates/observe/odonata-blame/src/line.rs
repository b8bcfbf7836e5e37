//! A line: its current waiters, and the claims that hold their charges.

use crate::claim::Claim;
use crate::{Ledger, Owner};
use odonata_engine::{Mode, NIL, Time};
use std::num::NonZeroU8;

/// Owners counted in the line itself; few lines see more.
pub(crate) const INLINE: usize = 5;

/// No owner. Owners from this number on have no place in the line itself.
const NO_OWNER: u8 = u8::MAX;

/// The state of a line; a cache line.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[repr(align(64))]
pub(crate) struct Line {
    /// Until when the waits of this line are charged or deferred; unused in lines of [held](crate::Hold) resources.
    pub(crate) since: Time,
    /// The claims of the first owners that waited here, and their current waiters.
    claims: [u32; INLINE],
    waiting: [u32; INLINE],
    owners: [u8; INLINE],
    /// The places with waiters, as bits.
    waited_at: u8,
    /// The claims of further owners, as a chain.
    more: u32,
    /// Waiters of all owners.
    pub(crate) total: u32,
}

const _: () = assert!(size_of::<Line>() == 64);

impl Line {
    pub(crate) const EMPTY: Line = Line {
        since: Time::ZERO,
        claims: [NIL; INLINE],
        waiting: [0; INLINE],
        owners: [NO_OWNER; INLINE],
        waited_at: 0,
        more: NIL,
        total: 0,
    };

    /// The places with waiters.
    #[inline(always)]
    pub(crate) fn places_with_waiters(&self) -> Places {
        Places(self.waited_at)
    }

    /// The claim of the owner at `place`.
    #[inline(always)]
    pub(crate) fn claim(&self, place: usize) -> u32 {
        self.claims[place]
    }

    /// One more waiter at `place`.
    #[inline(always)]
    fn enter(&mut self, place: usize) {
        self.waiting[place] += 1;
        self.waited_at |= 1 << place;
    }

    /// One waiter less at `place`.
    #[inline(always)]
    fn depart(&mut self, place: usize) {
        self.waiting[place] -= 1;
        if self.waiting[place] == 0 {
            self.waited_at &= !(1 << place);
        }
    }

    /// The waiters at `place`.
    #[inline(always)]
    pub(crate) fn waiters(&self, place: usize) -> Option<Waiters> {
        let owner = self.owners[place];
        (owner != NO_OWNER).then(|| Waiters {
            claim: self.claims[place],
            owner: owner.into(),
            count: u64::from(self.waiting[place]),
            place,
        })
    }

    /// The place of `owner`, if it has one.
    #[inline(always)]
    fn place_of(&self, owner: Owner) -> Option<usize> {
        let is_its = |&place: &usize| self.owners[place] != NO_OWNER && Owner::from(self.owners[place]) == owner;
        (0..INLINE).find(is_its)
    }

    /// Whether owners without a place have claims here.
    #[inline(always)]
    pub(crate) fn has_more(&self) -> bool {
        self.more != NIL
    }
}

/// Places of a line, as bits.
pub(crate) struct Places(u8);

impl Iterator for Places {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let places = NonZeroU8::new(self.0)?;
        self.0 = places.get() & (places.get() - 1);
        // The bound spares the check of an index.
        Some((places.trailing_zeros() as usize).min(INLINE - 1))
    }
}

/// An owner with a claim on a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiters {
    /// Slot of the claim.
    pub(crate) claim: u32,
    pub(crate) owner: Owner,
    /// Its current waiters.
    pub(crate) count: u64,
    pub(crate) place: usize,
}

/// An iteration over the owners with a claim on a line; waiter counts may change meanwhile.
pub(crate) struct Walk {
    line: u32,
    place: usize,
    at: u32,
}

impl Ledger {
    /// Iterates over all owners of `line`.
    pub(crate) fn walk(&self, line: u32) -> Walk {
        Walk {
            line,
            place: 0,
            at: self.lines.get(line).more,
        }
    }

    /// Iterates over the owners without a place in `line` itself.
    pub(crate) fn walk_further(&self, line: u32) -> Walk {
        Walk {
            place: INLINE,
            ..self.walk(line)
        }
    }

    /// The next owner.
    pub(crate) fn next(&self, walk: &mut Walk) -> Option<Waiters> {
        let place = walk.place;
        if place < INLINE {
            if let Some(waiters) = self.lines.get(walk.line).waiters(place) {
                walk.place += 1;
                return Some(waiters);
            }
            walk.place = INLINE;
        }
        if walk.at == NIL {
            return None;
        }
        let slot = walk.at;
        let claim: &Claim = self.claims.get(slot);
        walk.at = claim.next;
        Some(Waiters {
            claim: slot,
            owner: claim.owner,
            count: u64::from(claim.waiting),
            place: INLINE,
        })
    }

    /// `owner` in `line`; `None` if it never waited there.
    #[inline]
    pub(crate) fn find(&self, line: u32, owner: Owner) -> Option<Waiters> {
        let cell = self.lines.get(line);
        match cell.place_of(owner) {
            Some(place) => cell.waiters(place),
            None => self.find_further(line, owner),
        }
    }

    #[inline(never)]
    fn find_further(&self, line: u32, owner: Owner) -> Option<Waiters> {
        let mut walk = self.walk_further(line);
        std::iter::from_fn(|| self.next(&mut walk)).find(|waiters| waiters.owner == owner)
    }

    /// The claim of `owner` on `line`.
    pub(crate) fn claim_of<M: Mode>(&mut self, line: u32, owner: Owner) -> u32 {
        match self.find(line, owner) {
            Some(waiters) => waiters.claim,
            None => self.admit::<M>(line, owner).claim,
        }
    }

    /// Counts one more waiter of `owner` in `line`; the result counts this waiter alone.
    #[inline(always)]
    pub(crate) fn enter<M: Mode>(&mut self, line: u32, now: Time, owner: Owner) -> Waiters {
        self.waited.edit_trusted::<M>(u32::from(owner)).begin(now);
        let cell = self.lines.edit_trusted::<M>(line);
        cell.total += 1;
        if let Some(place) = cell.place_of(owner) {
            cell.enter(place);
            return Waiters {
                claim: cell.claims[place],
                owner,
                count: 1,
                place,
            };
        }
        self.enter_further::<M>(line, owner)
    }

    /// The same for an owner without a place; the caller has updated the total.
    #[inline(never)]
    fn enter_further<M: Mode>(&mut self, line: u32, owner: Owner) -> Waiters {
        let waiters = match self.find_further(line, owner) {
            Some(waiters) => waiters,
            None => self.admit::<M>(line, owner),
        };
        match waiters.place < INLINE {
            true => self.lines.edit::<M>(line).enter(waiters.place),
            false => self.claims.edit::<M>(waiters.claim).waiting += 1,
        }
        Waiters { count: 1, ..waiters }
    }

    /// One waiter less.
    #[inline(always)]
    pub(crate) fn depart<M: Mode>(&mut self, line: u32, waiters: Waiters) {
        let cell = self.lines.edit_trusted::<M>(line);
        cell.total -= 1;
        match waiters.place < INLINE {
            true => cell.depart(waiters.place),
            false => self.claims.edit::<M>(waiters.claim).waiting -= 1,
        }
    }

    /// Creates a claim for an owner that is new in `line`.
    #[cold]
    fn admit<M: Mode>(&mut self, line: u32, owner: Owner) -> Waiters {
        let claim = self.claims.allocate::<M>(Claim::new(owner));
        let cell = self.lines.edit::<M>(line);
        let free = cell.owners.iter().position(|&other| other == NO_OWNER);
        let place = match (free, u8::try_from(owner)) {
            (Some(place), Ok(owner)) if owner != NO_OWNER => {
                (cell.owners[place], cell.claims[place]) = (owner, claim);
                place
            }
            _ => {
                self.claims.edit::<M>(claim).next = cell.more;
                self.lines.edit::<M>(line).more = claim;
                INLINE
            }
        };
        Waiters {
            claim,
            owner,
            count: 0,
            place,
        }
    }
}
