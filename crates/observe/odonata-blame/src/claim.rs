//! The waits of one owner in one line; a cache line.
//!
//! A claim names its first culprits. A ledger with few owners and causes has a table per claim for all others
//! ([`Charged`]), so that a charge is found without a search. With many, most cells of such tables would stay empty:
//! continuations of the claim name further culprits.
//!
//! The line itself counts the current waiters if it has room, see `line.rs`.

use crate::{Cause, Owner};
use odonata_engine::{GrowableStore, Mode, NIL, Time};

/// Culprits per claim; continuations hold more.
const CULPRITS: usize = 3;

/// Culprit (upper bits) and cause (lower bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Name(u32);

impl Name {
    const NONE: Name = Name(u32::MAX);

    #[inline(always)]
    fn of(culprit: Owner, cause: Cause) -> Name {
        Name(u32::from(culprit) << 8 | u32::from(cause))
    }

    fn parts(self) -> (Owner, Cause) {
        ((self.0 >> 8) as Owner, self.0 as Cause)
    }
}

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[repr(align(64))]
pub(crate) struct Claim {
    times: [Time; CULPRITS],
    /// Time waited for a culprit not known yet, in ps modulo 2^64. A waiter that joins while a held resource is idle
    /// begins with a debt.
    pub(crate) deferred: u64,
    names: [Name; CULPRITS],
    /// In the table of this claim: the cells that have been charged, as bits.
    pub(crate) booked: u32,
    /// Current waiters of the owner, if the line has no room to count them.
    pub(crate) waiting: u32,
    /// The claim of the next owner.
    pub(crate) next: u32,
    /// The continuation of this claim, with more culprits.
    pub(crate) more: u32,
    pub(crate) owner: Owner,
}

impl Claim {
    pub(crate) fn new(owner: Owner) -> Claim {
        Claim {
            times: [Time::ZERO; CULPRITS],
            deferred: 0,
            names: [Name::NONE; CULPRITS],
            booked: 0,
            waiting: 0,
            next: NIL,
            more: NIL,
            owner,
        }
    }

    /// Adds `time` (ps modulo 2^64) to the deferred time.
    #[inline]
    pub(crate) fn defer(&mut self, time: u64) {
        self.deferred = self.deferred.wrapping_add(time);
    }

    /// Adds `time` (ps modulo 2^64) to the charge of `culprit`; false if the claim has no room for it.
    #[inline(always)]
    pub(crate) fn add(&mut self, culprit: Owner, cause: Cause, time: u64) -> bool {
        let name = Name::of(culprit, cause);
        let is_his = |known: Name| known == name || known == Name::NONE;
        // By index: zipping two arrays costs a function call.
        let Some(place) = (0..CULPRITS).find(|&place| is_his(self.names[place])) else {
            return false;
        };
        self.names[place] = name;
        self.times[place] = Time(self.times[place].0.wrapping_add(time));
        true
    }

    /// The charges of this claim; deferred time has no culprit.
    pub(crate) fn charges(&self) -> impl Iterator<Item = (Option<Owner>, Cause, Time)> + use<> {
        let Claim {
            names, times, deferred, ..
        } = *self;
        (0..CULPRITS)
            .filter(move |&i| names[i] != Name::NONE)
            .map(move |i| {
                let (culprit, cause) = names[i].parts();
                (Some(culprit), cause, times[i])
            })
            .chain((deferred > 0).then_some((None, 0, Time(deferred))))
    }
}

odonata_engine::slots!(Claim);

/// Tables of charges, by claim, cause and culprit; off for a ledger with many owners or causes.
#[derive(Debug)]
pub(crate) struct Charged {
    cells: GrowableStore<Time>,
    owners: usize,
    /// Cells per claim; 0 if off.
    width: usize,
}
odonata_engine::journalled!(Charged { cells });

impl Charged {
    /// Most cells per claim: 8 owners and 3 causes take 192 bytes, as much as three claims that name their culprits.
    const MOST: usize = 24;

    pub(crate) fn new(owners: Owner, causes: Cause) -> Charged {
        let owners = usize::from(owners);
        let width = owners * usize::from(causes);
        Charged {
            cells: GrowableStore::new(),
            owners,
            width: if width <= Self::MOST { width } else { 0 },
        }
    }

    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.width > 0
    }

    /// Adds `time` (ps modulo 2^64) to the charge of claim `at` for `culprit`. Returns the cell within its table.
    #[inline(always)]
    pub(crate) fn add<M: Mode>(&mut self, at: u32, culprit: Owner, cause: Cause, time: u64) -> u32 {
        let cell = usize::from(cause) * self.owners + usize::from(culprit);
        let sum = self.cells.edit::<M>(at as usize * self.width + cell);
        *sum = Time(sum.0.wrapping_add(time));
        cell as u32
    }

    /// The charges of claim `at`, of which the cells `booked` are charged.
    pub(crate) fn charges(&self, at: u32, booked: u32) -> impl Iterator<Item = (Owner, Cause, Time)> + '_ {
        let cells = (0..self.width).filter(move |cell| booked >> cell & 1 != 0);
        cells.map(move |cell| {
            let time = self.cells.get(at as usize * self.width + cell);
            ((cell % self.owners) as Owner, (cell / self.owners) as Cause, time)
        })
    }
}

const _: () = assert!(size_of::<Claim>() == 64);
