//! What is under way between parts: letters, where they wait, and who carries them.

use super::sync::{AtomicU64, Mutex, Ordering, alone, lock};
use crate::{Key, Lp, Model, Time};

/// Parcels with the places of their events in the order, and tokens; and which of all that was sent before is taken back.
#[derive(Debug)]
pub(super) struct Letters<P, T> {
    pub(super) parcels: Vec<(Lp, Key, P)>,
    pub(super) tokens: Vec<(Lp, Time, T)>,
    /// Each with how many of the parcels and tokens were sent before it.
    pub(super) recalls: Vec<(Recall<T>, usize, usize)>,
}

/// What takes a letter back that was sent before: an anti-message (Jefferson 1985).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Recall<T> {
    /// The parcel for this LP whose event has this place.
    Parcel(Lp, Key),
    /// One of the tokens for this LP that are equal to this one and count from this time on.
    Token(Lp, Time, T),
}

/// One of all that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sent<P, T> {
    Parcel(Lp, Key, P),
    Token(Lp, Time, T),
    Recall(Recall<T>),
}

impl<T> Recall<T> {
    /// When what is taken back would have had an effect.
    pub(super) fn time(&self) -> Time {
        match *self {
            Recall::Parcel(_, key) => key.time,
            Recall::Token(_, at, _) => at,
        }
    }
}

/// The letters of a model.
pub(super) type LettersOf<M> = Letters<<M as Model>::Parcel, <M as Model>::Token>;

impl<P, T> Letters<P, T> {
    pub(super) const fn new() -> Self {
        Letters {
            parcels: Vec::new(),
            tokens: Vec::new(),
            recalls: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parcels.is_empty() && self.tokens.is_empty() && self.recalls.is_empty()
    }

    /// Adds a recall of something that was sent before.
    pub(super) fn recall(&mut self, recall: Recall<T>) {
        self.recalls.push((recall, self.parcels.len(), self.tokens.len()));
    }

    /// Hands all to `each`, every recall behind what was sent before it, and leaves nothing here.
    #[inline]
    pub(super) fn in_order(&mut self, mut each: impl FnMut(Sent<P, T>)) {
        let (mut parcels, mut tokens) = (self.parcels.drain(..), self.tokens.drain(..));
        let (mut parcels_gone, mut tokens_gone) = (0, 0);
        for (recall, parcels_before, tokens_before) in self.recalls.drain(..) {
            for (lp, key, parcel) in parcels.by_ref().take(parcels_before - parcels_gone) {
                each(Sent::Parcel(lp, key, parcel));
            }
            for (lp, at, token) in tokens.by_ref().take(tokens_before - tokens_gone) {
                each(Sent::Token(lp, at, token));
            }
            (parcels_gone, tokens_gone) = (parcels_before, tokens_before);
            each(Sent::Recall(recall));
        }
        parcels.for_each(|(lp, key, parcel)| each(Sent::Parcel(lp, key, parcel)));
        tokens.for_each(|(lp, at, token)| each(Sent::Token(lp, at, token)));
    }

    /// Moves all of `other` here; nothing is copied if there was nothing here.
    fn append(&mut self, other: &mut Self) {
        if self.is_empty() {
            std::mem::swap(self, other);
        } else {
            let (parcels, tokens) = (self.parcels.len(), self.tokens.len());
            let recalls = other.recalls.drain(..);
            self.recalls
                .extend(recalls.map(|(recall, p, t)| (recall, parcels + p, tokens + t)));
            self.parcels.append(&mut other.parcels);
            self.tokens.append(&mut other.tokens);
        }
    }

    /// The time of the first.
    pub(super) fn earliest(&self) -> Time {
        let parcels = self.parcels.iter().map(|(_, key, _)| key.time);
        let tokens = self.tokens.iter().map(|&(_, at, _)| at);
        let recalls = self.recalls.iter().map(|(recall, ..)| recall.time());
        parcels.chain(tokens).chain(recalls).min().unwrap_or(Time::NEVER)
    }
}

/// Where letters for a part wait: of this process until the part fetches them, of another until they are sent there.
#[derive(Debug)]
pub(super) struct Inbox<P, T> {
    letters: Mutex<Letters<P, T>>,
    /// The time of the first letter here, or under way to the other process. Written with the lock, read when all
    /// parts stand still, or by who has seen the sender's clock behind it.
    earliest: AtomicU64,
}

impl<P, T> Inbox<P, T> {
    pub(super) fn new() -> Self {
        Inbox {
            letters: Mutex::new(Letters::new()),
            earliest: AtomicU64::new(Time::NEVER.0),
        }
    }

    pub(super) fn earliest(&self) -> Time {
        Time(self.earliest.load(Ordering::Relaxed))
    }

    /// Puts `letters` here, of which there is at least one, and leaves them empty.
    pub(super) fn put(&self, letters: &mut Letters<P, T>) {
        let first = letters.earliest();
        let mut here = lock(&self.letters);
        here.append(letters);
        self.announce(first);
    }

    /// Says that a letter for `first` is under way.
    pub(super) fn announce(&self, first: Time) {
        self.earliest.fetch_min(first.0, Ordering::Relaxed);
    }

    /// Forgets what was announced.
    pub(super) fn forget(&self) {
        self.earliest.store(Time::NEVER.0, Ordering::Relaxed);
    }

    /// Takes all there is; `letters` are empty, and their memory is used here from now on.
    pub(super) fn take(&self, letters: &mut Letters<P, T>) {
        let mut here = lock(&self.letters);
        std::mem::swap(&mut *here, letters);
        self.forget();
    }

    /// As [`take`](Self::take), for the only thread.
    pub(super) fn take_alone(&mut self, letters: &mut Letters<P, T>) {
        std::mem::swap(alone(&mut self.letters), letters);
        self.forget();
    }

    /// For the only thread: announces a letter, and gives the place where to put it.
    #[inline]
    pub(super) fn open(&mut self, time: Time) -> &mut Letters<P, T> {
        if time < self.earliest() {
            self.earliest.store(time.0, Ordering::Relaxed);
        }
        alone(&mut self.letters)
    }
}
