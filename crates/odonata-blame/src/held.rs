//! Lines of a resource that is held for times known in advance: a link sends a packet for so long.
//!
//! Nobody leaves such a line before the resource is free. So when somebody takes it, all who wait can be charged for
//! the whole time at once, and who comes later for what is left of it: one change per waiter and holder, where
//! the general way ([`Ledger::charge`]) books every line up to the moment before anything changes in it.
//!
//! In between the resource may be *idle*, though somebody waits: he lacks something else (a credit), and whose fault
//! that was turns out later. That time is counted from the moment at which the resource was free,
//! `free_at`, which is the same for all: who comes later starts with the time before as a debt.

use crate::{Cause, Claim, Ledger, Line, Owner};
use odonata_engine::{Mode, NIL, Time};

/// Who holds a resource, and what kind of resource it is.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    /// When the resource is free, or has been since.
    pub free_at: Time,
    /// Who holds it until then.
    pub holder: Owner,
    /// The kind of resource.
    pub cause: Cause,
}

impl Ledger {
    /// A waiter of `owner` joins `line` at `now`.
    #[inline]
    pub fn join_held<M: Mode>(&mut self, line: u32, now: Time, owner: Owner, hold: Hold) {
        let at = self.enter::<M>(line, now, owner);
        if hold.free_at > now {
            self.book::<M>(at, hold.holder, hold.cause, hold.free_at - now);
            self.series
                .book::<M>(line, (now, hold.free_at), 1, owner, hold.holder, hold.cause);
        } else if hold.free_at < now {
            let claim = self.claims.edit::<M>(at);
            claim.deferred = claim.deferred.wrapping_sub((now - hold.free_at).0);
        }
    }

    /// At `now` somebody takes the resource until `next.free_at`, after it was free since `free_at`. If he is a waiter
    /// of this line, `taker` is his owner and he waits no more until then; with `back`, he waits again from
    /// then on, else he leaves.
    #[inline]
    pub fn pass<M: Mode>(
        &mut self,
        line: u32,
        (free_at, now): (Time, Time),
        next: Hold,
        taker: Option<Owner>,
        back: bool,
    ) {
        let Line { claims, waiting, .. } = *self.lines.get(line);
        if waiting == 0 {
            return;
        }
        let (idle, held) = (now.saturating_sub(free_at).0, next.free_at - now);
        if idle > 0 {
            self.lines.edit::<M>(line).since = now;
        }
        let mut at = claims;
        let mut taken = false;
        while at != NIL {
            let Claim {
                next: following,
                owner,
                waiting,
                ..
            } = *self.claims.get(at);
            if waiting > 0 {
                if idle > 0 {
                    let claim = self.claims.edit::<M>(at);
                    claim.deferred = claim.deferred.wrapping_add(idle * u64::from(waiting));
                }
                let mut left = waiting;
                if taker == Some(owner) && !taken {
                    taken = true;
                    left -= 1;
                    if !back {
                        self.claims.edit::<M>(at).waiting = left;
                    }
                }
                if left > 0 {
                    self.book::<M>(at, next.holder, next.cause, Time(held.0 * u64::from(left)));
                    self.series.book::<M>(
                        line,
                        (now, next.free_at),
                        u64::from(left),
                        owner,
                        next.holder,
                        next.cause,
                    );
                }
            }
            at = following;
        }
        if taken {
            if !back {
                self.lines.edit::<M>(line).waiting -= 1;
            }
            let waited = self.waited.edit::<M>(u32::from(next.holder));
            waited.waits += 1;
            let again = if back { next.free_at } else { Time::ZERO };
            waited.time = Time(waited.time.0.wrapping_add(now.0).wrapping_sub(again.0));
        }
    }

    /// Whether anybody in `line` waited while the resource was idle, and that has not been settled.
    #[inline]
    pub fn has_idle(&self, line: u32, (free_at, now): (Time, Time)) -> bool {
        let line = self.lines.get(line);
        line.since > Time::ZERO || (line.waiting > 0 && free_at < now)
    }

    /// The time for which the resource was idle, up to `now`, was the fault of `culprit`. The time series books it in
    /// the interval of `now`.
    pub fn settle_idle<M: Mode>(&mut self, line: u32, (free_at, now): (Time, Time), culprit: Owner, cause: Cause) {
        let mut at = self.lines.get(line).claims;
        let idle = now.saturating_sub(free_at).0;
        self.lines.edit::<M>(line).since = Time::ZERO;
        while at != NIL {
            let Claim {
                deferred,
                owner,
                waiting,
                next,
                ..
            } = *self.claims.get(at);
            // What has passed since the resource was free is added when it is taken; until then it is a debt.
            let debt = idle * u64::from(waiting);
            let time = Time(deferred.wrapping_add(debt));
            if time > Time::ZERO {
                self.claims.edit::<M>(at).deferred = debt.wrapping_neg();
                self.book::<M>(at, culprit, cause, time);
                self.series.add::<M>(line, now, time.0, owner, culprit, cause);
            }
            at = next;
        }
    }

    /// Ends the books of `line` at `now`, in the middle of waits: what was charged in advance for later is taken back,
    /// and idle time is deferred.
    pub fn close_held(&mut self, line: u32, now: Time, hold: Hold) {
        use odonata_engine::Plain;
        let mut at = self.lines.get(line).claims;
        while at != NIL {
            let claim = self.claims.get(at);
            let (waiting, owner, next) = (u64::from(claim.waiting), claim.owner, claim.next);
            if waiting > 0 && hold.free_at > now {
                let ahead = (hold.free_at - now).0;
                self.book_raw::<Plain>(at, hold.holder, hold.cause, (ahead * waiting).wrapping_neg());
                let of_late = waiting.wrapping_neg();
                self.series
                    .book::<Plain>(line, (now, hold.free_at), of_late, owner, hold.holder, hold.cause);
            } else if waiting > 0 {
                let claim = self.claims.edit::<Plain>(at);
                claim.deferred = claim.deferred.wrapping_add((now - hold.free_at).0 * waiting);
            }
            at = next;
        }
    }
}
