//! What is lost with one wait.

use super::{Lost, LostTime, Waiter, kind_of};
use crate::message::Traffic;
use odonata_blame::lost::{Kind, Loss, LostAt, Origin, Vector, add, bound_places, part, scale, total};
use odonata_blame::{Cause, Place};
use odonata_engine::{Mode, Time};

/// Who had what was waited for, and from when to when.
pub(super) type HeldSpan = ((Traffic, Cause), (Time, Time));

/// Room for what is lost with a wait, which is not allocated anew for each.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Who had what was waited for.
    pub(super) spans: Vec<HeldSpan>,
    /// What the one that waits had lost before.
    pub(super) before: Vec<Loss>,
    /// What the last one of its own traffic had lost to others.
    pub(super) of_own: Vec<Loss>,
    /// What it has lost after the wait.
    pub(super) losses: Vec<Loss>,
    /// What it has lost to others: with the wait; of all of that, where places are asked for.
    by_others: Vec<Loss>,
    pub(super) filtered: Vec<Loss>,
}

/// A wait that is over.
pub(super) struct Wait {
    pub(super) owner: Traffic,
    pub(super) since: Time,
    pub(super) now: Time,
    /// The last one of its own traffic that has had what it has waited for, if one has meanwhile.
    pub(super) own: Option<Own>,
}

/// One that has had what was waited for: until when, and what it had lost to others.
#[derive(Clone, Copy)]
pub(super) struct Own {
    pub(super) at: Time,
    pub(super) to_others: Vector,
}

/// How long one has waited for its own traffic, by kind, and in all.
#[derive(Default)]
struct Sums {
    link: Time,
    buffer: Time,
    waited: Time,
}

impl Sums {
    /// Adds a span of `wait`; what another one has held since the own traffic last had it comes to `others`.
    fn held(&mut self, others: &mut Vec<Loss>, wait: &Wait, ((culprit, cause), (begin, end)): HeldSpan) {
        let from = wait.own.map_or(wait.since, |own| own.at);
        let kind = kind_of(cause);
        self.waited += end - begin;
        if culprit == wait.owner {
            match kind {
                Kind::Link => self.link += end - begin,
                _ => self.buffer += end - begin,
            }
        } else if end > from {
            let loss = Loss {
                culprit,
                kind,
                place: LostAt::NOWHERE,
                time: end - begin.max(from),
            };
            add(others, loss);
        }
    }
}

impl LostTime {
    /// `who` has lost what `wait` says at `line`, where its place was; it is not asked for where that is. Who had the line when
    /// that was not known is `lacked`, who also had what was lacked since `idle`.
    pub(super) fn lose<M: Mode>(
        &mut self,
        (line, place): (u32, Place),
        who: Waiter,
        wait: &Wait,
        (lacked, idle): ((Traffic, Cause), Time),
    ) {
        let (others, mut sums) = (&mut self.scratch.by_others, Sums::default());
        others.clear();
        self.histories.leave::<M>(line, place, wait.now, lacked, |by, span| {
            sums.held(others, wait, (by, span))
        });
        if idle < wait.now {
            sums.held(others, wait, (lacked, (idle, wait.now)));
        }
        let lost = self.settle::<M>(self.account(who).lost, wait, &sums);
        self.edit_account::<M>(who).lost = lost;
    }

    /// What one has lost that had lost `before`, after a wait in which `by` alone had what it waited for, at `line`.
    pub(super) fn lose_span<M: Mode>(&mut self, line: u32, before: Lost, wait: &Wait, by: (Traffic, Cause)) -> Lost {
        let span = (by, (wait.since, wait.now));
        if let Some(&here) = self.places.get(line as usize) {
            let mut scratch = std::mem::take(&mut self.scratch);
            scratch.spans.clear();
            scratch.spans.push(span);
            return self.settle_here::<M>(scratch, before, wait, here);
        }
        let (others, mut sums) = (&mut self.scratch.by_others, Sums::default());
        others.clear();
        sums.held(others, wait, span);
        self.settle::<M>(before, wait, &sums)
    }

    /// What one has lost that had lost `before`, after `wait` with these sums, where places are not asked for.
    ///
    /// The same as [`settle_here`](Self::settle_here), but for the places: what its own traffic has lost to others is shared where it
    /// is all that counts.
    fn settle<M: Mode>(&mut self, before: Lost, wait: &Wait, sums: &Sums) -> Lost {
        let Wait { owner, since, now, own } = *wait;
        let Sums { link, buffer, waited } = *sums;
        let mut lost = before;
        lost.own_link += link;
        lost.own_buffer += buffer;
        match own {
            None if self.scratch.by_others.is_empty() => {}
            None => lost.to_others = self.keep_with_others::<M>(before.to_others, None),
            Some(own) => {
                let had = self.vectors.total(before.to_others);
                let by_own = before.own_link + before.own_buffer + self.vectors.total(before.own);
                let passed_on = self.vectors.total(own.to_others);
                let whole = by_own + had + waited;
                let most = whole.min(had + (now - since));
                lost.to_others = match self.scratch.by_others.is_empty() && passed_on <= most {
                    true if own.to_others == before.to_others => before.to_others,
                    true => self.vectors.share::<M>(own.to_others),
                    false => self.keep_with_others::<M>(own.to_others, Some(most)),
                };
                // All else is its owner's own doing.
                let rest = whole - self.vectors.total(lost.to_others);
                match (by_own + link + buffer).cmp(&rest) {
                    std::cmp::Ordering::Greater => self.cut_own::<M>(&mut lost, owner, rest),
                    _ => lost.own_link += rest - (by_own + link + buffer),
                }
            }
        }
        if lost.to_others != before.to_others {
            self.vectors.release::<M>(before.to_others);
        }
        lost
    }

    /// Keeps the losses of `vector` and those that the last wait has brought by others, cut down to `most` together.
    fn keep_with_others<M: Mode>(&mut self, vector: Vector, most: Option<Time>) -> Vector {
        let all = &mut self.scratch.losses;
        self.vectors.read(vector, all);
        self.scratch.by_others.iter().for_each(|&loss| add(all, loss));
        if let Some(most) = most {
            scale(all, most);
        }
        self.vectors.keep::<M>(Origin::NONE, all)
    }

    /// Cuts down what is `lost` by the fault of `owner`'s own traffic to `rest`.
    fn cut_own<M: Mode>(&mut self, lost: &mut Lost, owner: Traffic, rest: Time) {
        if lost.own.is_empty() {
            lost.own_link = part(lost.own_link, rest, lost.own_link + lost.own_buffer);
            lost.own_buffer = rest - lost.own_link;
            return;
        }
        let own = Lost {
            to_others: Vector::EMPTY,
            ..*lost
        };
        let mut losses = std::mem::take(&mut self.scratch.losses);
        self.read(own, owner, &mut losses);
        scale(&mut losses, rest);
        let origin = self.vectors.origin(lost.own);
        let cut = self.with_own::<M>(lost.to_others, origin, &losses);
        self.vectors.release::<M>(lost.own);
        *lost = cut;
        self.scratch.losses = losses;
    }

    /// The same as [`lose`](Self::lose) at `here`, which is asked for.
    pub(super) fn lose_here<M: Mode>(
        &mut self,
        (line, place, here): (u32, Place, LostAt),
        who: Waiter,
        wait: &Wait,
        (lacked, idle): ((Traffic, Cause), Time),
    ) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.spans.clear();
        self.histories
            .leave::<M>(line, place, wait.now, lacked, |by, span| scratch.spans.push((by, span)));
        if idle < wait.now {
            scratch.spans.push((lacked, (idle, wait.now)));
        }
        let lost = self.settle_here::<M>(scratch, self.account(who).lost, wait, here);
        self.edit_account::<M>(who).lost = lost;
    }

    /// What one has lost that had lost `before`, after `wait` with the spans in `scratch`, `here`.
    fn settle_here<M: Mode>(&mut self, mut scratch: Scratch, before: Lost, wait: &Wait, here: LostAt) -> Lost {
        self.read(before, wait.owner, &mut scratch.before);
        if let Some(own) = wait.own {
            self.vectors.read(own.to_others, &mut scratch.of_own);
        }
        wait.add_to(&mut scratch, here);
        let origin = self.vectors.origin(before.own);
        self.scratch.filtered = std::mem::take(&mut scratch.filtered);
        let lost = self.keep::<M>(wait.owner, origin, &scratch.losses);
        scratch.filtered = std::mem::take(&mut self.scratch.filtered);
        self.scratch = scratch;
        self.release::<M>(before);
        lost
    }
}

impl Wait {
    /// Adds to `losses` those of the wait after `from`.
    fn add_after(from: Time, spans: &[HeldSpan], here: LostAt, losses: &mut Vec<Loss>) {
        for &((culprit, cause), (begin, end)) in spans {
            let loss = Loss {
                culprit,
                kind: kind_of(cause),
                place: here,
                time: end.saturating_sub(begin.max(from)),
            };
            add(losses, loss);
        }
    }

    /// What is lost with this wait `here` comes to `losses` of `all`. If a packet of the same owner has had the link meanwhile,
    /// without what that had lost to others it would have gone earlier, and this one after it.
    fn add_to(&self, all: &mut Scratch, here: LostAt) {
        let Scratch {
            spans,
            before,
            of_own,
            losses,
            by_others,
            ..
        } = all;
        losses.clear();
        losses.extend_from_slice(before);
        Self::add_after(self.since, spans, here, losses);
        if let Some(own) = self.own {
            let whole = total(losses);
            Self::beside(of_own, before, here, by_others);
            let had: u64 = (before
                .iter()
                .filter(|loss| loss.culprit != self.owner)
                .map(|loss| loss.time.0))
            .sum();
            let most = Time(had) + (self.now - self.since);
            Self::add_after(own.at, spans, here, by_others);
            by_others.retain(|loss| loss.culprit != self.owner);
            scale(by_others, most.min(whole));
            // All else is its owner's own doing.
            let rest = whole - total(by_others);
            losses.retain(|loss| loss.culprit == self.owner);
            scale(losses, rest);
            let missing = Loss {
                culprit: self.owner,
                kind: Kind::Link,
                place: here,
                time: rest - total(losses),
            };
            add(losses, missing);
            by_others.iter().for_each(|&loss| add(losses, loss));
        }
        bound_places(losses);
    }

    /// `of_own`, what another packet has lost to others, beside this one with the losses `mine`, comes to `known`. What was lost
    /// before it is known where, and more than this packet had lost then, counts as lost here.
    fn beside(of_own: &[Loss], mine: &[Loss], here: LostAt, known: &mut Vec<Loss>) {
        known.clear();
        for &loss in of_own {
            let before = match loss.place {
                LostAt::NOWHERE => mine
                    .iter()
                    .find(|of| (of.culprit, of.kind, of.place) == (loss.culprit, loss.kind, LostAt::NOWHERE)),
                _ => Some(&loss),
            };
            let kept = before.map_or(Time::ZERO, |of| of.time.min(loss.time));
            add(known, Loss { time: kept, ..loss });
            let rest = Loss {
                time: loss.time - kept,
                place: here,
                ..loss
            };
            add(known, rest);
        }
    }
}
