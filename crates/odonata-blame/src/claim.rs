//! What one owner has waited for in one line; a cache line.
//!
//! Who waits now is counted in the line itself where there is room, see `line.rs`.

use crate::{Cause, Owner};
use odonata_engine::{NIL, Slot, Time};

/// Culprits per claim; further ones are in continuations.
const CULPRITS: usize = 3;

/// Channels of a [held](crate::Hold) resource that are told apart; those above count as the last.
pub(crate) const CHANNELS: usize = 5;

/// No culprit.
const NOBODY: Owner = Owner::MAX;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    times: [Time; CULPRITS],
    /// Waiters of the owner, where the line has no room to count them.
    pub(crate) waiting: u32,
    /// The claim of a further owner.
    pub(crate) next: u32,
    /// The claim of the same owner that has its further culprits.
    pub(crate) more: u32,
    /// Lines of held resources: those of the waiters who wait in channel 1, 2, ...; the others wait in channel 0.
    pub(crate) channels: [u32; CHANNELS - 1],
    culprits: [Owner; CULPRITS],
    causes: [Cause; CULPRITS],
    pub(crate) owner: Owner,
}

impl Claim {
    pub(crate) fn new(owner: Owner) -> Claim {
        Claim {
            times: [Time::ZERO; CULPRITS],
            waiting: 0,
            next: NIL,
            more: NIL,
            channels: [0; CHANNELS - 1],
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

    #[inline]
    pub(crate) fn add(&mut self, place: usize, culprit: Owner, cause: Cause, time: u64) {
        self.culprits[place] = culprit;
        self.causes[place] = cause;
        self.times[place] = Time(self.times[place].0.wrapping_add(time));
    }

    /// Those of `waiting` who wait in `channel`.
    #[inline]
    pub(crate) fn waiting_in(&self, channel: usize, waiting: u32) -> u32 {
        match channel {
            0 => waiting - self.channels.iter().sum::<u32>(),
            _ => self.channels[channel - 1],
        }
    }

    /// What is booked here.
    pub(crate) fn charges(&self) -> impl Iterator<Item = (Owner, Cause, Time)> + use<> {
        let Claim {
            culprits,
            causes,
            times,
            ..
        } = *self;
        (0..CULPRITS)
            .filter(move |&i| culprits[i] != NOBODY)
            .map(move |i| (culprits[i], causes[i], times[i]))
    }
}

/// What an owner has waited in one channel for somebody who is not known yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deferred {
    /// In ps modulo 2^64: who comes while a held resource is idle begins with a debt.
    pub(crate) time: u64,
    pub(crate) next: u32,
    pub(crate) owner: Owner,
    pub(crate) channel: u8,
}

impl Slot for Deferred {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

impl Slot for Claim {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

const _: () = assert!(size_of::<Claim>() == 64);
