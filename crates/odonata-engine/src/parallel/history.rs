//! What a part has done and may have to take back: all that is needed for that besides the undo logs of the model.

use super::inputs::{Input, Place};
use super::letters::Recall;
use crate::core::Core;
use crate::wheel::Scheduled;
use crate::{Context, Key, Lp, Mode, Model, Moment, Speculative, Time};
use std::collections::VecDeque;

/// One thing done. What it did is in the other queues of the [`History`], so many entries of each.
#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    what: What<E>,
    place: Place,
    /// The time of the part before.
    before: Time,
    /// Sequence numbers taken.
    sequences: u32,
    /// Events queued in the part.
    queued: u32,
    /// Letters to other parts.
    sent: u32,
    halted: bool,
}

#[derive(Clone, Copy, Debug)]
enum What<E> {
    /// An event from the queue was handled.
    Event(Scheduled<E>),
    /// A letter was taken in; the event of a parcel was handled.
    Letter,
}

/// A letter of a model.
pub(super) type InputOf<M> = Input<<M as Model>::Parcel, <M as Model>::Token>;

/// See the [module](self). Its entries are numbered by [`Moment`]s.
#[derive(Debug)]
pub(super) struct History<M: Model> {
    entries: VecDeque<Entry<M::Event>>,
    /// The moment of the next entry.
    next: Moment,
    letters: VecDeque<InputOf<M>>,
    queued: VecDeque<(Lp, Key)>,
    /// To which part.
    sent: VecDeque<(u32, Recall<M::Token>)>,
    /// When and how the part had halted before an entry did.
    halted: VecDeque<Option<(Time, u32)>>,
}

/// What was taken back.
pub(super) struct Undone<M: Model> {
    /// Events and letters that wait again, the last first.
    pub(super) events: Vec<Scheduled<M::Event>>,
    pub(super) letters: Vec<InputOf<M>>,
    /// Events that were queued and are not to be.
    pub(super) queued: Vec<(Lp, Key)>,
    /// What others were sent, the last first.
    pub(super) sent: Vec<(u32, Recall<M::Token>)>,
}

impl<M: Model> History<M> {
    pub(super) const fn new() -> Self {
        History {
            entries: VecDeque::new(),
            next: Moment(0),
            letters: VecDeque::new(),
            queued: VecDeque::new(),
            sent: VecDeque::new(),
            halted: VecDeque::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of all entries.
    pub(super) fn memory(&self) -> usize {
        self.entries.len() * size_of::<Entry<M::Event>>()
            + self.letters.len() * size_of::<InputOf<M>>()
            + self.queued.len() * size_of::<(Lp, Key)>()
            + self.sent.len() * size_of::<(u32, Recall<M::Token>)>()
    }

    /// The place of the last thing done.
    pub(super) fn last(&self) -> Option<Place> {
        self.entries.back().map(|entry| entry.place)
    }

    /// The place of the first.
    pub(super) fn first(&self) -> Option<Place> {
        self.entries.front().map(|entry| entry.place)
    }

    /// The place of the letter that `recall` means, if it was taken in.
    pub(super) fn find(&self, recall: &Recall<M::Token>) -> Option<Place> {
        // The last one: of two with the same place, the first was recalled before the second was sent.
        let mut letters = self.letters.iter().rev();
        letters.find(|letter| letter.is_meant_by(recall)).map(Input::place)
    }

    /// Begins the next entry: the event `item` will be handled.
    #[inline]
    pub(super) fn begin_event(&mut self, item: Scheduled<M::Event>, core: &Core<M::Event>) {
        self.begin(What::Event(item), Place::event(item.rank()), core);
    }

    /// Begins the next entry: `letter` will be taken in.
    pub(super) fn begin_letter(&mut self, letter: InputOf<M>, core: &Core<M::Event>) {
        self.letters.push_back(letter);
        self.begin(What::Letter, letter.place(), core);
    }

    #[inline]
    fn begin(&mut self, what: What<M::Event>, place: Place, core: &Core<M::Event>) {
        self.next.begin();
        self.next = self.next.later(1);
        self.entries.push_back(Entry {
            what,
            place,
            before: core.now,
            sequences: 0,
            queued: 0,
            sent: 0,
            halted: false,
        });
    }

    /// The entry under way has sent `part` what `recall` takes back.
    pub(super) fn sent(&mut self, part: usize, recall: Recall<M::Token>) {
        let entry = self.entries.back_mut().expect("an entry is under way");
        entry.sent += 1;
        entry.sequences += u32::from(matches!(recall, Recall::Parcel(..)));
        self.sent.push_back((part as u32, recall));
    }

    /// Drops the entries before `bound`, which are final. Returns how many events they were, and the moment from which on
    /// things can still be taken back.
    pub(super) fn forget(&mut self, bound: Time) -> (u64, Moment) {
        let (mut events, mut letters, mut queued, mut sent, mut halted) = (0, 0, 0, 0, 0);
        let mut count = 0;
        for entry in self.entries.iter().take_while(|entry| entry.place.time < bound) {
            count += 1;
            queued += entry.queued as usize;
            sent += entry.sent as usize;
            halted += usize::from(entry.halted);
            letters += usize::from(matches!(entry.what, What::Letter));
            events += u64::from(entry.place.is_event());
        }
        self.entries.drain(..count);
        self.letters.drain(..letters);
        self.queued.drain(..queued);
        self.sent.drain(..sent);
        self.halted.drain(..halted);
        let first = Moment(self.next.0.wrapping_sub(self.entries.len() as u32));
        (events, first)
    }

    /// Takes back the entries after `place`, those at it too if so `including`: all of the part but the state of its model,
    /// which is to be undone from the moment that is returned on, and what is in `undone`.
    pub(super) fn take_back(
        &mut self,
        place: Place,
        including: bool,
        core: &mut Core<M::Event>,
        undone: &mut Undone<M>,
    ) -> Moment {
        while let Some(entry) = self.entries.back()
            && (entry.place > place || (including && entry.place == place))
        {
            let lp = match entry.what {
                What::Event(item) => {
                    undone.events.push(item);
                    item.lp
                }
                What::Letter => {
                    let letter = self.letters.pop_back().expect("an entry of a letter has one");
                    undone.letters.push(letter);
                    letter.lp()
                }
            };
            core.sequences.take_back(lp, entry.sequences);
            core.now = entry.before;
            if entry.halted {
                core.halted = self
                    .halted
                    .pop_back()
                    .expect("an entry that halts says what was before");
            }
            let from = self.queued.len() - entry.queued as usize;
            undone.queued.extend(self.queued.drain(from..));
            let from = self.sent.len() - entry.sent as usize;
            undone.sent.extend(self.sent.drain(from..));
            self.next = Moment(self.next.0.wrapping_sub(1));
            self.entries.pop_back();
        }
        self.next
    }
}

impl<M: Model> Undone<M> {
    pub(super) const fn new() -> Self {
        Undone {
            events: Vec::new(),
            letters: Vec::new(),
            queued: Vec::new(),
            sent: Vec::new(),
        }
    }
}

/// The context of a handler whose event may be taken back.
pub(super) struct Daring<'a, M: Model> {
    pub(super) core: &'a mut Core<M::Event>,
    pub(super) history: &'a mut History<M>,
}

impl<M: Model> Mode for Daring<'_, M> {
    const JOURNAL: bool = Speculative::JOURNAL;
}

impl<M: Model> Context<M::Event> for Daring<'_, M> {
    #[inline(always)]
    fn now(&self) -> Time {
        self.core.now
    }

    #[inline(always)]
    fn now_of(&self, _: Lp) -> Time {
        self.core.now
    }

    #[inline(always)]
    fn settled(&self) -> Time {
        self.core.now
    }

    #[inline]
    fn send(&mut self, to: Lp, at: Time, event: M::Event) {
        self.assert_possible(to, at);
        let key = self.core.sequences.key(self.core.lp, at);
        self.queue(to, key, event, 1);
    }

    #[inline]
    fn look_again(&mut self, lp: Lp, at: Time, what: u32, event: M::Event) {
        self.assert_possible(lp, at);
        let key = Key {
            time: at,
            sender: Key::CANONICAL,
            sequence: what,
        };
        self.queue(lp, key, event, 0);
    }

    #[cold]
    fn halt(&mut self, code: u32) {
        let entry = self.history.entries.back_mut().expect("an entry is under way");
        if !entry.halted {
            entry.halted = true;
            self.history.halted.push_back(self.core.halted);
        }
        self.core.halt(code);
    }
}

impl<M: Model> Daring<'_, M> {
    /// In a state that can never be, a handler may send to anybody: a panic is taken back with the event.
    #[inline]
    fn assert_possible(&self, to: Lp, at: Time) {
        assert!(at > self.core.now, "an event must lie strictly in the future");
        assert!(self.core.is_own(to), "an event for an LP of another part");
    }

    #[inline]
    fn queue(&mut self, to: Lp, key: Key, event: M::Event, sequences: u32) {
        let entry = self.history.entries.back_mut().expect("an entry is under way");
        entry.sequences += sequences;
        entry.queued += 1;
        self.history.queued.push_back((to, key));
        self.core.queue.push(Scheduled::new(to, key, event));
    }
}
