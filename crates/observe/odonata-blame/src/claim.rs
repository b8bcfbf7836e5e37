//! The waits of one owner in one line; a cache line.
//!
//! The line itself counts the current waiters if it has room, see `line.rs`.

use crate::{Cause, Owner};
use odonata_engine::{NIL, Time};

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

const _: () = assert!(size_of::<Claim>() == 64);
