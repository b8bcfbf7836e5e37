//! The holders of the resource of a line over time: the waits of a single waiter, where the ledger has those of an
//! owner.
//!
//! ```text
//!  line     0 us     4 us   6 us            11 us
//!  spans    | job B  | B    | job C          |         one that waits from 2 us to 11 us has waited 4 us for B, 5 us for C
//! ```
//!
//! A history starts when the earliest current waiter joined. Each waiter keeps a [`Place`] in it until it leaves.

use crate::{Cause, Owner};
use odonata_engine::{GrowableStore, Mode, NIL, Pool, Time};

/// The holder of a span whose culprit is not known yet.
const UNKNOWN: Owner = Owner::MAX;

/// A time span with one holder.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Span {
    from: Time,
    to: Time,
    /// Waiters whose place is this span.
    places: u32,
    next: u32,
    holder: Owner,
    cause: Cause,
}

odonata_engine::slots!(Span);

/// The spans of a line, oldest first; empty without waiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, smart_default::SmartDefault)]
struct History {
    #[default(NIL)]
    head: u32,
    #[default(NIL)]
    tail: u32,
    waiters: u32,
    unknown: u32,
}

/// The start of a wait, and its position in the history of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Place {
    /// The beginning of the wait.
    pub since: Time,
    span: u32,
}

impl Place {
    /// The place of no waiter.
    pub const NONE: Place = Place {
        since: Time::ZERO,
        span: NIL,
    };

    /// Whether a waiter holds this place.
    pub fn is_taken(self) -> bool {
        self.span != NIL
    }
}

impl Default for Place {
    fn default() -> Place {
        Place::NONE
    }
}

/// The histories of many lines.
#[derive(Debug)]
pub struct Histories {
    kept: bool,
    lines: GrowableStore<History>,
    spans: Pool<Span>,
}
odonata_engine::journalled!(Histories { lines, spans });

impl Histories {
    /// Histories for a number of lines that grows on demand; none if not `kept`.
    pub fn new(kept: bool) -> Histories {
        Histories {
            kept,
            lines: GrowableStore::new(),
            spans: Pool::new(),
        }
    }

    fn edit<M: Mode>(&mut self, line: u32) -> &mut History {
        self.lines.edit::<M>(line as usize)
    }

    /// Whether histories are kept.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.kept
    }

    /// Whether `line` has waiters.
    #[inline]
    pub fn is_waited_for(&self, line: u32) -> bool {
        self.lines.get(line as usize).waiters > 0
    }

    /// A waiter joins `line` at `since`. For the first waiter, `held` is the current holder and the end of its hold.
    pub fn join<M: Mode>(&mut self, line: u32, since: Time, held: Option<(Time, Owner, Cause)>) -> Place {
        if self.lines.get(line as usize).waiters == 0 {
            let (until, holder, cause) = held.unwrap_or((since, UNKNOWN - 1, 0));
            self.edit::<M>(line).waiters = 1;
            self.append::<M>(line, (since, until.max(since)), holder, cause);
        } else {
            self.edit::<M>(line).waiters += 1;
        }
        let span = self.lines.get(line as usize).tail;
        self.spans.edit::<M>(span).places += 1;
        Place { since, span }
    }

    /// Until when the holders of `line` are known, if it has waiters.
    pub fn known_until(&self, line: u32) -> Option<Time> {
        let History { tail, .. } = self.lines.get(line as usize);
        (tail != NIL).then(|| self.spans.get(tail).to)
    }

    /// `by` holds `line` in a span after all known ones; `None` is [settled](Self::settle) later.
    pub fn held<M: Mode>(&mut self, line: u32, (from, to): (Time, Time), by: Option<(Owner, Cause)>) {
        if self.lines.get(line as usize).waiters > 0 && to > from {
            let (holder, cause) = by.unwrap_or((UNKNOWN, 0));
            self.append::<M>(line, (from, to), holder, cause);
        }
    }

    /// The same for a line that is held without gaps.
    pub fn held_until<M: Mode>(&mut self, line: u32, to: Time, by: Option<(Owner, Cause)>) {
        if let Some(from) = self.known_until(line) {
            self.held::<M>(line, (from, to), by);
        }
    }

    fn append<M: Mode>(&mut self, line: u32, (from, to): (Time, Time), holder: Owner, cause: Cause) {
        let tail = self.lines.get(line as usize).tail;
        if tail != NIL {
            let last = self.spans.get(tail);
            if (last.holder, last.cause, last.to) == (holder, cause, from) {
                self.spans.edit::<M>(tail).to = to;
                return;
            }
        }
        let slot = self.spans.allocate::<M>(Span {
            from,
            to,
            places: 0,
            next: NIL,
            holder,
            cause,
        });
        if tail != NIL {
            self.spans.edit::<M>(tail).next = slot;
        }
        let history = self.edit::<M>(line);
        history.tail = slot;
        history.unknown += u32::from(holder == UNKNOWN);
        if history.head == NIL {
            history.head = slot;
        }
    }

    /// Sets the holder of the spans of `line` that have none yet.
    pub fn settle<M: Mode>(&mut self, line: u32, by: (Owner, Cause)) {
        let History { head, unknown, .. } = self.lines.get(line as usize);
        if unknown == 0 {
            return;
        }
        self.edit::<M>(line).unknown = 0;
        let (mut at, mut left) = (head, unknown);
        while left > 0 {
            let span = *self.spans.get(at);
            if span.holder == UNKNOWN {
                let cell = self.spans.edit::<M>(at);
                (cell.holder, cell.cause) = by;
                left -= 1;
            }
            at = span.next;
        }
    }

    /// A waiter leaves `line` at `until`: calls back with each holder and its span. Spans without a known holder count
    /// as `unknown`.
    pub fn leave<M: Mode>(
        &mut self,
        line: u32,
        place: Place,
        until: Time,
        unknown: (Owner, Cause),
        mut each: impl FnMut((Owner, Cause), (Time, Time)),
    ) {
        let mut at = place.span;
        while at != NIL {
            let Span {
                from,
                to,
                holder,
                cause,
                next,
                ..
            } = *self.spans.get(at);
            let (from, to) = (from.max(place.since), to.min(until));
            let by = if holder == UNKNOWN { unknown } else { (holder, cause) };
            if to > from {
                each(by, (from, to));
            }
            at = next;
        }
        self.spans.edit::<M>(place.span).places -= 1;
        let mut history = self.lines.get(line as usize);
        history.waiters -= 1;
        while history.head != NIL {
            let Span {
                places, next, holder, ..
            } = *self.spans.get(history.head);
            if places > 0 || (history.waiters > 0 && next == NIL) {
                break;
            }
            self.spans.free::<M>(history.head);
            history.unknown -= u32::from(holder == UNKNOWN);
            history.head = next;
        }
        if history.head == NIL {
            history.tail = NIL;
        }
        *self.edit::<M>(line) = history;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    const fn us(n: u64) -> Time {
        Time::from_ns(1_000 * n)
    }

    fn shares(histories: &mut Histories, place: Place, until: Time) -> Vec<(Owner, Time)> {
        let mut shares = Vec::new();
        histories.leave::<Plain>(0, place, until, (99, 0), |(owner, _), (from, to)| {
            shares.push((owner, to - from))
        });
        shares
    }

    #[test]
    fn each_waiter_has_waited_for_all_holders_since_its_arrival() {
        let mut histories = Histories::new(true);
        let first = histories.join::<Plain>(0, us(2), Some((us(4), 1, 0)));
        histories.held::<Plain>(0, (us(4), us(6)), Some((1, 0)));
        let second = histories.join::<Plain>(0, us(5), None);
        histories.held::<Plain>(0, (us(6), us(11)), Some((2, 0)));
        assert_eq!(shares(&mut histories, first, us(11)), [(1, us(4)), (2, us(5))]);
        assert_eq!(shares(&mut histories, second, us(8)), [(1, us(1)), (2, us(2))]);
        assert_eq!((histories.known_until(0), histories.spans.live()), (None, 0));
    }

    #[test]
    fn later_settlements_count_for_all_waiters_of_that_time() {
        let mut histories = Histories::new(true);
        let first = histories.join::<Plain>(0, us(1), None);
        histories.held_until::<Plain>(0, us(3), None);
        let second = histories.join::<Plain>(0, us(3), None);
        histories.held_until::<Plain>(0, us(7), None);
        histories.settle::<Plain>(0, (5, 0));
        histories.held_until::<Plain>(0, us(8), None);
        assert_eq!(shares(&mut histories, second, us(8)), [(5, us(4)), (99, us(1))]);
        assert_eq!(shares(&mut histories, first, us(8)), [(5, us(6)), (99, us(1))]);
    }

    #[test]
    fn a_history_is_no_longer_than_the_oldest_wait() {
        let mut histories = Histories::new(true);
        let mut last = histories.join::<Plain>(0, us(0), None);
        for n in 1..1_000 {
            histories.held_until::<Plain>(0, us(n), Some(((n % 2) as Owner, 0)));
            let next = histories.join::<Plain>(0, us(n), None);
            assert_eq!(shares(&mut histories, last, us(n)), [((n % 2) as Owner, us(1))]);
            last = next;
        }
        assert!(histories.spans.live() <= 2, "{} spans", histories.spans.live());
    }
}
