//! What is lost with one wait.

use super::kind_of;
use crate::message::Traffic;
use odonata_blame::Cause;
use odonata_blame::lost::{Kind, Loss, LostAt, add, bound_places, scale, total};
use odonata_engine::Time;

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
    /// Of that, what it has lost to others.
    by_others: Vec<Loss>,
    pub(super) filtered: Vec<Loss>,
}

/// A wait that is over.
pub(super) struct Wait {
    pub(super) owner: Traffic,
    pub(super) since: Time,
    pub(super) now: Time,
    /// Where it was, if that is asked for.
    pub(super) here: LostAt,
}

/// The last one of its own traffic that had what it has waited for: until when. What that had lost to others is in [`Scratch::of_own`].
pub(super) struct Own {
    pub(super) at: Time,
}

impl Wait {
    /// Adds to `losses` those of the wait after `from`.
    fn add_after(&self, from: Time, spans: &[HeldSpan], losses: &mut Vec<Loss>) {
        for &((culprit, cause), (begin, end)) in spans {
            let loss = Loss {
                culprit,
                kind: kind_of(cause),
                place: self.here,
                time: end.saturating_sub(begin.max(from)),
            };
            add(losses, loss);
        }
    }

    /// What is lost with this wait comes to `losses` of `all`. If a packet of the same owner has had the link meanwhile, `own`
    /// says until when: without what that had lost to others it would have gone earlier, and this one after it.
    pub(super) fn add_to(&self, all: &mut Scratch, own: Option<Own>) {
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
        self.add_after(self.since, spans, losses);
        if let Some(own) = own.filter(|own| own.at > self.since && own.at <= self.now) {
            let whole = total(losses);
            self.beside(of_own, before, by_others);
            let had: u64 = (before
                .iter()
                .filter(|loss| loss.culprit != self.owner)
                .map(|loss| loss.time.0))
            .sum();
            let most = Time(had) + (self.now - self.since);
            self.add_after(own.at, spans, by_others);
            by_others.retain(|loss| loss.culprit != self.owner);
            scale(by_others, most.min(whole));
            // All else is its owner's own doing.
            let rest = whole - total(by_others);
            losses.retain(|loss| loss.culprit == self.owner);
            scale(losses, rest);
            let missing = Loss {
                culprit: self.owner,
                kind: Kind::Link,
                place: self.here,
                time: rest - total(losses),
            };
            add(losses, missing);
            by_others.iter().for_each(|&loss| add(losses, loss));
        }
        bound_places(losses);
    }

    /// `of_own`, what another packet has lost to others, beside this one with the losses `mine`, comes to `known`. What was lost
    /// before it is known where, and more than this packet had lost then, counts as lost here.
    fn beside(&self, of_own: &[Loss], mine: &[Loss], known: &mut Vec<Loss>) {
        known.clear();
        if self.here == LostAt::NOWHERE {
            known.extend_from_slice(of_own);
            return;
        }
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
                place: self.here,
                ..loss
            };
            add(known, rest);
        }
    }
}
