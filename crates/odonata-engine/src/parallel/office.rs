//! The post office of a process: an inbox for every part, and a sack for every other process.

use super::letters::{Inbox, Letters, LettersOf, Recall};
use super::record;
use super::sync::{Mutex, Padded, alone, lock};
use crate::{Key, Lp, Model, Time};

/// Takes what a part has for others.
pub(super) trait Carrier<M: Model> {
    /// A parcel for `lp` of `part`, whose event has its place at `key`.
    fn parcel(&mut self, part: usize, lp: Lp, key: Key, parcel: M::Parcel);
    /// A token for `lp` of `part` that counts from `at`.
    fn token(&mut self, part: usize, lp: Lp, at: Time, token: M::Token);
    /// Takes back what `part` was sent before.
    fn recall(&mut self, part: usize, recall: Recall<M::Token>);
}

/// See the [module](self).
pub(super) struct Office<M: Model> {
    rank: u32,
    /// Which process has each part.
    process_of: Vec<u32>,
    inboxes: Vec<Padded<Inbox<M::Parcel, M::Token>>>,
    /// What is to be sent to each process, as [records](record).
    sacks: Vec<Mutex<Vec<u8>>>,
}

impl<M: Model> Office<M> {
    pub(super) fn new(rank: usize, processes: usize, process_of: Vec<u32>) -> Self {
        Office {
            rank: rank as u32,
            inboxes: process_of.iter().map(|_| Padded(Inbox::new())).collect(),
            process_of,
            sacks: (0..processes).map(|_| Mutex::new(Vec::new())).collect(),
        }
    }

    /// Whether `part` is of this process.
    pub(super) fn is_here(&self, part: usize) -> bool {
        self.process_of[part] == self.rank
    }

    /// The time of the first letter under way to `part`, as far as this process knows.
    pub(super) fn earliest(&self, part: usize) -> Time {
        self.inboxes[part].earliest()
    }

    /// Fetches the letters for `part`, which is here, into `letters`, which are empty.
    pub(super) fn fetch(&self, part: usize, letters: &mut LettersOf<M>) {
        self.inboxes[part].take(letters);
    }

    /// As [`fetch`](Self::fetch), for the only thread.
    pub(super) fn fetch_alone(&mut self, part: usize, letters: &mut LettersOf<M>) {
        self.inboxes[part].0.take_alone(letters);
    }

    /// Posts at least one letter for `part`, and leaves `letters` empty.
    fn post(&self, part: usize, letters: &mut LettersOf<M>) {
        if self.is_here(part) {
            self.inboxes[part].put(letters);
            return;
        }
        self.inboxes[part].announce(letters.earliest());
        let mut sack = lock(&self.sacks[self.process_of[part] as usize]);
        record::all(&mut sack, letters);
    }

    /// Swaps the sacks for empty ones; whether there was something in one.
    pub(super) fn swap_sacks(&self, sacks: &mut [Vec<u8>]) -> bool {
        for (sack, here) in sacks.iter_mut().zip(&self.sacks) {
            std::mem::swap(sack, &mut lock(here));
        }
        sacks.iter().any(|sack| !sack.is_empty())
    }

    /// Forgets what it knows of letters to other processes: they have been sent.
    pub(super) fn sacks_are_gone(&self) {
        for (part, inbox) in self.inboxes.iter().enumerate() {
            if !self.is_here(part) {
                inbox.forget();
            }
        }
    }
}

/// Carries letters for a thread among others: gathers them, and posts them together.
pub(super) struct Bag<M: Model> {
    /// Per part.
    letters: Vec<LettersOf<M>>,
    /// The parts for which there are some.
    parts: Vec<u32>,
    /// Letters posted.
    pub(super) sent: u64,
}

impl<M: Model> Bag<M> {
    pub(super) fn new(parts: usize) -> Self {
        Bag {
            letters: (0..parts).map(|_| Letters::new()).collect(),
            parts: Vec::new(),
            sent: 0,
        }
    }

    #[inline]
    fn letters(&mut self, part: usize) -> &mut LettersOf<M> {
        let letters = &mut self.letters[part];
        if letters.is_empty() {
            self.parts.push(part as u32);
        }
        letters
    }

    /// Posts all there is.
    pub(super) fn empty(&mut self, office: &Office<M>) {
        for part in self.parts.drain(..) {
            let letters = &mut self.letters[part as usize];
            self.sent += (letters.parcels.len() + letters.tokens.len() + letters.recalls.len()) as u64;
            office.post(part as usize, letters);
        }
    }
}

impl<M: Model> Carrier<M> for Bag<M> {
    #[inline]
    fn parcel(&mut self, part: usize, lp: Lp, key: Key, parcel: M::Parcel) {
        self.letters(part).parcels.push((lp, key, parcel));
    }

    #[inline]
    fn token(&mut self, part: usize, lp: Lp, at: Time, token: M::Token) {
        self.letters(part).tokens.push((lp, at, token));
    }

    fn recall(&mut self, part: usize, recall: Recall<M::Token>) {
        self.letters(part).recall(recall);
    }
}

/// Carries letters for the only thread: straight into the inbox, without a lock.
pub(super) struct Messenger<'a, M: Model> {
    pub(super) office: &'a mut Office<M>,
    /// Letters posted.
    pub(super) sent: &'a mut u64,
}

impl<M: Model> Carrier<M> for Messenger<'_, M> {
    #[inline]
    fn parcel(&mut self, part: usize, lp: Lp, key: Key, parcel: M::Parcel) {
        *self.sent += 1;
        let here = self.office.is_here(part);
        let inbox = &mut self.office.inboxes[part].0;
        let letters = inbox.open(key.time);
        if here {
            letters.parcels.push((lp, key, parcel));
        } else {
            let process = self.office.process_of[part] as usize;
            record::parcel(alone(&mut self.office.sacks[process]), lp, key, &parcel);
        }
    }

    #[inline]
    fn token(&mut self, part: usize, lp: Lp, at: Time, token: M::Token) {
        *self.sent += 1;
        let here = self.office.is_here(part);
        let inbox = &mut self.office.inboxes[part].0;
        let letters = inbox.open(at);
        if here {
            letters.tokens.push((lp, at, token));
        } else {
            let process = self.office.process_of[part] as usize;
            record::token(alone(&mut self.office.sacks[process]), lp, at, &token);
        }
    }

    fn recall(&mut self, part: usize, recall: Recall<M::Token>) {
        *self.sent += 1;
        let here = self.office.is_here(part);
        let letters = self.office.inboxes[part].0.open(recall.time());
        if here {
            letters.recall(recall);
        } else {
            let process = self.office.process_of[part] as usize;
            record::recall(alone(&mut self.office.sacks[process]), &recall);
        }
    }
}
