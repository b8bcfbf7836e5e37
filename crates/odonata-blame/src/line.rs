//! A line: who waits in it now, and where what he has waited for is booked.

use crate::claim::Claim;
use crate::{Ledger, Owner};
use odonata_engine::{Mode, NIL, Time};

/// Owners that are counted in the line itself. Few lines see more of them.
pub(crate) const INLINE: usize = 4;

/// No owner.
const NOBODY: Owner = Owner::MAX;

/// The state of a line; a cache line.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[repr(align(64))]
pub(crate) struct Line {
    /// Until when the waits of this line have been charged or deferred; unused in lines of [held](crate::Hold)
    /// resources.
    pub(crate) since: Time,
    /// The first owners that have ever waited here: their [`Claim`]s, and how many of them wait.
    claims: [u32; INLINE],
    waiting: [u32; INLINE],
    owners: [Owner; INLINE],
    /// Chain of the claims of further owners.
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
        owners: [NOBODY; INLINE],
        more: NIL,
        total: 0,
    };

    /// Whose place `place` is.
    #[inline(always)]
    pub(crate) fn waiters(&self, place: usize) -> Option<Waiters> {
        let owner = self.owners[place];
        (owner != NOBODY).then(|| Waiters {
            claim: self.claims[place],
            owner,
            count: u64::from(self.waiting[place]),
            place,
        })
    }

    /// The place of `owner`, if he has one.
    #[inline(always)]
    fn place_of(&self, owner: Owner) -> Option<usize> {
        (0..INLINE).find(|&place| self.owners[place] == owner)
    }

    /// Whether there are owners that have no place here.
    #[inline(always)]
    pub(crate) fn has_more(&self) -> bool {
        self.more != NIL
    }
}

/// Somebody who has a claim on a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiters {
    /// Slot of the claim.
    pub(crate) claim: u32,
    pub(crate) owner: Owner,
    /// How many of his wait.
    pub(crate) count: u64,
    pub(crate) place: usize,
}

/// A walk over the owners that have a claim on a line, whose waiters may change meanwhile.
pub(crate) struct Walk {
    line: u32,
    place: usize,
    at: u32,
}

impl Ledger {
    /// Walks over all owners of `line`.
    pub(crate) fn walk(&self, line: u32) -> Walk {
        Walk {
            line,
            place: 0,
            at: self.lines.get(line).more,
        }
    }

    /// Walks over those that have no place in `line` itself.
    pub(crate) fn walk_further(&self, line: u32) -> Walk {
        Walk {
            place: INLINE,
            ..self.walk(line)
        }
    }

    /// The next owner of a walk.
    pub(crate) fn next(&self, walk: &mut Walk) -> Option<Waiters> {
        let place = walk.place;
        if place < INLINE {
            walk.place += 1;
            return self.lines.get(walk.line).waiters(place);
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
            place,
        })
    }

    /// `owner` in `line`; `None` if nobody of his has ever waited there.
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

    /// Counts one more waiter of `owner` in `line`; he alone is what is returned.
    #[inline(always)]
    pub(crate) fn enter<M: Mode>(&mut self, line: u32, now: Time, owner: Owner) -> Waiters {
        self.waited.edit::<M>(u32::from(owner)).begin(now);
        let cell = self.lines.edit::<M>(line);
        cell.total += 1;
        if let Some(place) = cell.place_of(owner) {
            cell.waiting[place] += 1;
            return Waiters {
                claim: cell.claims[place],
                owner,
                count: 1,
                place,
            };
        }
        self.enter_further::<M>(line, owner)
    }

    /// The same where `owner` has no place in `line` itself, and the line has counted.
    #[inline(never)]
    fn enter_further<M: Mode>(&mut self, line: u32, owner: Owner) -> Waiters {
        let waiters = match self.find_further(line, owner) {
            Some(waiters) => waiters,
            None => self.admit::<M>(line, owner),
        };
        *self.counter::<M>(line, waiters) += 1;
        Waiters { count: 1, ..waiters }
    }

    /// One waiter less.
    #[inline(always)]
    pub(crate) fn depart<M: Mode>(&mut self, line: u32, waiters: Waiters) {
        let cell = self.lines.edit::<M>(line);
        cell.total -= 1;
        match cell.waiting.get_mut(waiters.place) {
            Some(waiting) => *waiting -= 1,
            None => self.claims.edit::<M>(waiters.claim).waiting -= 1,
        }
    }

    /// Where an owner's waiters are counted.
    #[inline]
    fn counter<M: Mode>(&mut self, line: u32, waiters: Waiters) -> &mut u32 {
        match waiters.place < INLINE {
            true => &mut self.lines.edit::<M>(line).waiting[waiters.place],
            false => &mut self.claims.edit::<M>(waiters.claim).waiting,
        }
    }

    /// A claim for an owner who comes to `line` for the first time.
    #[cold]
    fn admit<M: Mode>(&mut self, line: u32, owner: Owner) -> Waiters {
        let claim = self.claims.allocate::<M>(Claim::new(owner));
        let cell = self.lines.edit::<M>(line);
        let free = cell.owners.iter().position(|&other| other == NOBODY);
        let place = match free {
            Some(place) => {
                (cell.owners[place], cell.claims[place]) = (owner, claim);
                place
            }
            None => {
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
