//! Lines of a resource that is held for times known in advance: a link sends a packet for so long.
//!
//! Nobody leaves such a line before the resource is free. So when somebody takes it, all who wait can be charged for
//! the whole time at once, and who comes later for what is left of it: one change per waiter and holder, where
//! the general way ([`Ledger::charge`]) books every line up to the moment before anything changes in it.
//!
//! In between the resource may be *idle*, though somebody waits: all lack something else, such as room behind a link.
//! When one of them has got it, he takes the resource and says who had it before him; all idle time since the
//! resource was free is charged to that one. Idle time counts from the moment at which the resource was free,
//! `free_at`, which is the same for all: who comes later starts with the time before as a debt.

use crate::line::Waiters;
use crate::{Cause, Ledger, Owner};
use odonata_engine::{Mode, Time};

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

/// A waiter that takes the resource that he has waited for.
#[derive(Clone, Copy, Debug)]
pub struct Taker {
    /// Whether he waits again when he has had the resource; if not, he leaves.
    pub returns: bool,
    /// Who had what he lacked while the resource was idle, and what kind of thing that is.
    pub lacked: (Owner, Cause),
}

impl Ledger {
    /// A waiter of `owner` joins `line` at `now`.
    #[inline]
    pub fn join_held<M: Mode>(&mut self, line: u32, now: Time, owner: Owner, hold: Hold) {
        let at = self.enter::<M>(line, now, owner);
        if hold.free_at > now {
            self.book::<M>(at, hold.holder, hold.cause, (hold.free_at - now).0);
            self.series
                .book::<M>(line, (now, hold.free_at), 1, owner, hold.holder, hold.cause);
        } else if hold.free_at < now {
            let claim = self.claims.edit::<M>(at);
            claim.deferred = claim.deferred.wrapping_sub((now - hold.free_at).0);
        }
    }

    /// At `now` somebody takes the resource of `line` until `next.free_at`, after it was free since `free_at`: a `taker`
    /// from the line, or somebody who has not waited and passes by those who lack something.
    #[inline]
    pub fn pass<M: Mode>(&mut self, line: u32, (free_at, now): (Time, Time), next: Hold, taker: Option<Taker>) {
        if self.lines.get(line).total == 0 {
            return;
        }
        let held = (next.free_at - now).0;
        let idle = now.saturating_sub(free_at).0;
        let mut walk = self.walk(line);
        while let Some(waiters) = self.next(&mut walk) {
            let Waiters {
                claim, owner, count, ..
            } = waiters;
            if count == 0 {
                continue;
            }
            if idle > 0 {
                let claim = self.claims.edit::<M>(claim);
                claim.deferred = claim.deferred.wrapping_add(idle * u64::from(count));
            }
            let mut left = u64::from(count);
            if let Some(Taker { returns, lacked }) = taker {
                self.clear::<M>(line, waiters, now, lacked.0, lacked.1);
                if owner == next.holder {
                    left -= 1;
                    if !returns {
                        self.depart::<M>(line, waiters);
                    }
                }
            }
            if left > 0 {
                self.book::<M>(claim, next.holder, next.cause, held * left);
                self.series
                    .book::<M>(line, (now, next.free_at), left, owner, next.holder, next.cause);
            }
        }
        if let Some(Taker { returns, .. }) = taker {
            let waited = self.waited.edit::<M>(u32::from(next.holder));
            waited.waits += 1;
            let again = if returns { next.free_at } else { Time::ZERO };
            waited.time = Time(waited.time.0.wrapping_add(now.0).wrapping_sub(again.0));
        }
    }

    /// Ends the books of `line` at `now`, in the middle of waits: what was charged in advance for later is taken back,
    /// and idle time is deferred.
    pub fn close_held(&mut self, line: u32, now: Time, hold: Hold) {
        use odonata_engine::Plain;
        let mut walk = self.walk(line);
        while let Some(waiters) = self.next(&mut walk) {
            let count = u64::from(waiters.count);
            if count > 0 && hold.free_at > now {
                let ahead = ((hold.free_at - now).0 * count).wrapping_neg();
                self.book::<Plain>(waiters.claim, hold.holder, hold.cause, ahead);
                let fewer = count.wrapping_neg();
                self.series
                    .book::<Plain>(line, (now, hold.free_at), fewer, waiters.owner, hold.holder, hold.cause);
            } else if count > 0 {
                let claim = self.claims.edit::<Plain>(waiters.claim);
                claim.deferred = claim.deferred.wrapping_add((now - hold.free_at).0 * count);
            }
        }
    }
}
