//! The losses caused by one wait.

use super::account::{Lost, Waiter};
use super::{LostTime, kind_of};
use crate::message::Traffic;
use odonata_blame::lost::{Kind, Loss, LostAt, Origin, Vector, add, bound_places, part, scale, total};
use odonata_blame::{Cause, Place};
use odonata_engine::{Mode, Time};

/// The holder of the resource, and the start and end of its hold.
pub(super) type HeldSpan = ((Traffic, Cause), (Time, Time));

/// Reusable buffers for computing the losses of a wait without allocation.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The holders of the resource.
    pub(super) spans: Vec<HeldSpan>,
    /// The losses of the waiter before the wait.
    pub(super) before: Vec<Loss>,
    /// The losses to others of the last packet of its own traffic.
    pub(super) of_own: Vec<Loss>,
    /// Its losses after the wait.
    pub(super) losses: Vec<Loss>,
    /// Its losses to others: in this wait; if places are recorded, in total.
    losses_to_others: Vec<Loss>,
}

/// A completed wait.
pub(super) struct Wait {
    pub(super) owner: Traffic,
    pub(super) since: Time,
    pub(super) now: Time,
    /// The last packet of its own traffic that held the resource during the wait, if any.
    pub(super) own: Option<Own>,
}

/// A packet that held the resource: until when, and its losses to others.
#[derive(Clone, Copy)]
pub(super) struct Own {
    pub(super) at: Time,
    pub(super) losses_to_others: Vector,
}

/// Time waited for its own traffic, by kind and in total.
#[derive(Default)]
struct Sums {
    link: Time,
    buffer: Time,
    waited: Time,
}

impl Sums {
    /// Adds a span of `wait`. Holds by other traffics since the last hold by its own traffic go to `others`.
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
    /// Adds the losses of `wait` at `line` to `waiter`; places are not recorded. Unknown holders are replaced by
    /// `lacked`, which is also charged for the time since `idle`.
    pub(super) fn lose<M: Mode>(
        &mut self,
        (line, place): (u32, Place),
        waiter: Waiter,
        wait: &Wait,
        (lacked, idle): ((Traffic, Cause), Time),
    ) {
        let (others, mut sums) = (&mut self.scratch.losses_to_others, Sums::default());
        others.clear();
        self.histories.leave::<M>(line, place, wait.now, lacked, |by, span| {
            sums.held(others, wait, (by, span))
        });
        if idle < wait.now {
            sums.held(others, wait, (lacked, (idle, wait.now)));
        }
        let lost = self.settle::<M>(self.accounts.get(waiter).lost, wait, &sums);
        self.accounts.edit::<M>(waiter).lost = lost;
    }

    /// The losses after a wait at `line` in which `by` alone held the resource; `before` are those before.
    pub(super) fn lose_span<M: Mode>(&mut self, line: u32, before: Lost, wait: &Wait, by: (Traffic, Cause)) -> Lost {
        let span = (by, (wait.since, wait.now));
        if let Some(&here) = self.places.get(line as usize) {
            let mut scratch = std::mem::take(&mut self.scratch);
            scratch.spans.clear();
            scratch.spans.push(span);
            return self.settle_here::<M>(scratch, before, wait, here);
        }
        let (others, mut sums) = (&mut self.scratch.losses_to_others, Sums::default());
        others.clear();
        sums.held(others, wait, span);
        self.settle::<M>(before, wait, &sums)
    }

    /// The losses after `wait` with these sums; `before` are those before. Places are not recorded.
    ///
    /// The same as [`settle_here`](Self::settle_here) without places: if only the own traffic's losses to others count,
    /// they are shared.
    fn settle<M: Mode>(&mut self, before: Lost, wait: &Wait, sums: &Sums) -> Lost {
        let Wait { owner, since, now, own } = *wait;
        let Sums { link, buffer, waited } = *sums;
        let mut lost = before;
        lost.own_link += link;
        lost.own_buffer += buffer;
        match own {
            None if self.scratch.losses_to_others.is_empty() => {}
            None => lost.losses_to_others = self.keep_with_others::<M>(before.losses_to_others, None),
            Some(own) => {
                let had = self.losses.vectors.total(before.losses_to_others);
                let by_own = before.own_link + before.own_buffer + self.losses.vectors.total(before.own);
                let passed_on = self.losses.vectors.total(own.losses_to_others);
                let whole = by_own + had + waited;
                let most = whole.min(had + (now - since));
                lost.losses_to_others = match self.scratch.losses_to_others.is_empty() && passed_on <= most {
                    true if own.losses_to_others == before.losses_to_others => before.losses_to_others,
                    true => self.losses.vectors.share::<M>(own.losses_to_others),
                    false => self.keep_with_others::<M>(own.losses_to_others, Some(most)),
                };
                // The rest is due to the owner itself.
                let rest = whole - self.losses.vectors.total(lost.losses_to_others);
                match (by_own + link + buffer).cmp(&rest) {
                    std::cmp::Ordering::Greater => self.cut_own::<M>(&mut lost, owner, rest),
                    _ => lost.own_link += rest - (by_own + link + buffer),
                }
            }
        }
        if lost.losses_to_others != before.losses_to_others {
            self.losses.vectors.release::<M>(before.losses_to_others);
        }
        lost
    }

    /// Stores the losses of `vector` plus those of the last wait to others, cut down to `most` in total.
    fn keep_with_others<M: Mode>(&mut self, vector: Vector, most: Option<Time>) -> Vector {
        let all = &mut self.scratch.losses;
        self.losses.vectors.read(vector, all);
        self.scratch.losses_to_others.iter().for_each(|&loss| add(all, loss));
        if let Some(most) = most {
            scale(all, most);
        }
        self.losses.vectors.keep::<M>(Origin::NONE, all)
    }

    /// Cuts down the losses `lost` to `owner`'s own traffic to `rest`.
    fn cut_own<M: Mode>(&mut self, lost: &mut Lost, owner: Traffic, rest: Time) {
        if lost.own.is_empty() {
            lost.own_link = part(lost.own_link, rest, lost.own_link + lost.own_buffer);
            lost.own_buffer = rest - lost.own_link;
            return;
        }
        let own = Lost {
            losses_to_others: Vector::EMPTY,
            ..*lost
        };
        let mut losses = std::mem::take(&mut self.scratch.losses);
        self.losses.read(own, owner, &mut losses);
        scale(&mut losses, rest);
        let origin = self.losses.vectors.origin(lost.own);
        let cut = self.losses.with_own::<M>(lost.losses_to_others, origin, &losses);
        self.losses.vectors.release::<M>(lost.own);
        *lost = cut;
        self.scratch.losses = losses;
    }

    /// The same as [`lose`](Self::lose) with the place `here`, which is recorded.
    pub(super) fn lose_here<M: Mode>(
        &mut self,
        (line, place, here): (u32, Place, LostAt),
        waiter: Waiter,
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
        let lost = self.settle_here::<M>(scratch, self.accounts.get(waiter).lost, wait, here);
        self.accounts.edit::<M>(waiter).lost = lost;
    }

    /// The losses after `wait` at place `here` with the spans in `scratch`; `before` are those before.
    fn settle_here<M: Mode>(&mut self, mut scratch: Scratch, before: Lost, wait: &Wait, here: LostAt) -> Lost {
        self.losses.read(before, wait.owner, &mut scratch.before);
        if let Some(own) = wait.own {
            self.losses.vectors.read(own.losses_to_others, &mut scratch.of_own);
        }
        wait.add_to(&mut scratch, here);
        let origin = self.losses.vectors.origin(before.own);
        let lost = self.losses.keep::<M>(wait.owner, origin, &scratch.losses);
        self.scratch = scratch;
        self.losses.release::<M>(before);
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

    /// Adds the losses of this wait at `here` to `losses` of `all`. If a packet of the same owner has held the link
    /// during the wait, without its losses to others it would have departed earlier, and this packet after it.
    fn add_to(&self, all: &mut Scratch, here: LostAt) {
        let Scratch {
            spans,
            before,
            of_own,
            losses,
            losses_to_others,
            ..
        } = all;
        losses.clear();
        losses.extend_from_slice(before);
        Self::add_after(self.since, spans, here, losses);
        if let Some(own) = self.own {
            let whole = total(losses);
            Self::beside(of_own, before, here, losses_to_others);
            let had: u64 = (before
                .iter()
                .filter(|loss| loss.culprit != self.owner)
                .map(|loss| loss.time.0))
            .sum();
            let most = Time(had) + (self.now - self.since);
            Self::add_after(own.at, spans, here, losses_to_others);
            losses_to_others.retain(|loss| loss.culprit != self.owner);
            scale(losses_to_others, most.min(whole));
            // The rest is due to the owner itself.
            let rest = whole - total(losses_to_others);
            losses.retain(|loss| loss.culprit == self.owner);
            scale(losses, rest);
            let missing = Loss {
                culprit: self.owner,
                kind: Kind::Link,
                place: here,
                time: rest - total(losses),
            };
            add(losses, missing);
            losses_to_others.iter().for_each(|&loss| add(losses, loss));
        }
        bound_places(losses);
    }

    /// Merges into `known` the losses to others `of_own` of another packet with the losses `mine` of this one. Losses
    /// from before keep their place; those that exceed this packet's losses count as lost here.
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
