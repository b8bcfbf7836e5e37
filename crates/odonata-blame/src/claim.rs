//! What one owner has waited for in one line; a cache line.
//!
//! Who waits now is counted in the line itself where there is room, see `line.rs`.

use crate::{Cause, Owner};
use odonata_engine::{NIL, Time};

/// Culprits per claim; further ones are in continuations.
const CULPRITS: usize = 3;

/// No culprit.
const NOBODY: Owner = Owner::MAX;

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[repr(align(64))]
pub(crate) struct Claim {
    times: [Time; CULPRITS],
    /// Waited for somebody who is not known yet, in ps modulo 2^64: who comes while a held resource is idle begins
    /// with a debt.
    pub(crate) deferred: u64,
    /// Waiters of the owner, where the line has no room to count them.
    pub(crate) waiting: u32,
    /// The claim of a further owner.
    pub(crate) next: u32,
    /// The claim of the same owner that has its further culprits.
    pub(crate) more: u32,
    culprits: [Owner; CULPRITS],
    causes: [Cause; CULPRITS],
    pub(crate) owner: Owner,
}

impl Claim {
    pub(crate) fn new(owner: Owner) -> Claim {
        Claim {
            times: [Time::ZERO; CULPRITS],
            deferred: 0,
            waiting: 0,
            next: NIL,
            more: NIL,
            culprits: [NOBODY; CULPRITS],
            causes: [0; CULPRITS],
            owner,
        }
    }

    /// Where `culprit` is booked, or could be.
    #[inline]
    pub(crate) fn place_of(&self, culprit: Owner, cause: Cause) -> Option<usize> {
        (0..CULPRITS).find(|&i| self.culprits[i] == NOBODY || (self.culprits[i] == culprit && self.causes[i] == cause))
    }

    /// Adds `time` (ps modulo 2^64) to what is deferred.
    #[inline]
    pub(crate) fn defer(&mut self, time: u64) {
        self.deferred = self.deferred.wrapping_add(time);
    }

    #[inline]
    pub(crate) fn add(&mut self, place: usize, culprit: Owner, cause: Cause, time: u64) {
        self.culprits[place] = culprit;
        self.causes[place] = cause;
        self.times[place] = Time(self.times[place].0.wrapping_add(time));
    }

    /// What is booked here; without a culprit what is deferred.
    pub(crate) fn charges(&self) -> impl Iterator<Item = (Option<Owner>, Cause, Time)> + use<> {
        let Claim {
            culprits,
            causes,
            times,
            deferred,
            ..
        } = *self;
        (0..CULPRITS)
            .filter(move |&i| culprits[i] != NOBODY)
            .map(move |i| (Some(culprits[i]), causes[i], times[i]))
            .chain((deferred > 0).then_some((None, 0, Time(deferred))))
    }
}

odonata_engine::slots!(Claim);

const _: () = assert!(size_of::<Claim>() == 64);
