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

use crate::line::{INLINE, Waiters};
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
pub struct Taker<L: Fn() -> (Owner, Cause)> {
    /// Whether he is in the line. One that is not in the books has waited, too, and what he lacked the others have lacked.
    pub joined: bool,
    /// Whether he waits again when he has had the resource; if not, he leaves.
    pub returns: bool,
    /// Says who had what he lacked while the resource was idle, and what kind of thing that is; asked only if it was.
    pub lacked: L,
}

impl Ledger {
    /// A waiter of `owner` joins `line` at `now`.
    #[inline]
    pub fn join_held<M: Mode>(&mut self, line: u32, now: Time, owner: Owner, hold: Hold) {
        let him = self.enter::<M>(line, now, owner);
        if hold.free_at > now {
            self.book_span::<M>(line, him, (now, hold.free_at), hold.holder, hold.cause);
        } else if hold.free_at < now {
            let debt = (now - hold.free_at).0.wrapping_neg();
            self.claims.edit::<M>(him.claim).defer(debt);
        }
    }

    /// At `now` somebody takes the resource of `line` until `next.free_at`, after it was free since `free_at`: a `taker`
    /// from the line, or somebody who has not waited and passes by those who lack something.
    #[inline]
    pub fn pass<M: Mode, L: Fn() -> (Owner, Cause)>(
        &mut self,
        line: u32,
        (free_at, now): (Time, Time),
        next: Hold,
        taker: Option<Taker<L>>,
    ) {
        if self.lines.get(line).total == 0 {
            return;
        }
        let idle = now.saturating_sub(free_at).0;
        for place in 0..INLINE {
            let Some(waiters) = self.lines.get(line).waiters(place) else {
                break;
            };
            if waiters.count > 0 {
                self.pass_by::<M, L>(line, waiters, (idle, now), next, taker.as_ref());
            }
        }
        if self.lines.get(line).has_more() {
            self.pass_by_further::<M, L>(line, (idle, now), next, taker.as_ref());
        }
        if let Some(Taker {
            joined: true, returns, ..
        }) = taker
        {
            let waited = self.waited.edit::<M>(u32::from(next.holder));
            waited.end(now);
            if returns {
                waited.begin(next.free_at);
            }
        }
    }

    /// The same for the waiters of one owner, of whom there are some.
    #[inline(always)]
    fn pass_by<M: Mode, L: Fn() -> (Owner, Cause)>(
        &mut self,
        line: u32,
        waiters: Waiters,
        (idle, now): (u64, Time),
        next: Hold,
        taker: Option<&Taker<L>>,
    ) {
        let mut left = waiters;
        if idle > 0 {
            self.claims.edit::<M>(waiters.claim).defer(idle * waiters.count);
        }
        if let Some(Taker {
            joined,
            returns,
            lacked,
        }) = taker
        {
            if self.claims.get(waiters.claim).deferred > 0 {
                let (owner, cause) = lacked();
                self.clear::<M>(line, waiters, now, owner, cause);
            }
            if *joined && waiters.owner == next.holder {
                left.count -= 1;
                if !*returns {
                    self.depart::<M>(line, waiters);
                }
            }
        }
        if left.count > 0 {
            self.book_span::<M>(line, left, (now, next.free_at), next.holder, next.cause);
        }
    }

    /// The same for those who have no place in the line itself.
    #[inline(never)]
    fn pass_by_further<M: Mode, L: Fn() -> (Owner, Cause)>(
        &mut self,
        line: u32,
        when: (u64, Time),
        next: Hold,
        taker: Option<&Taker<L>>,
    ) {
        let mut walk = self.walk_further(line);
        while let Some(waiters) = self.next(&mut walk) {
            if waiters.count > 0 {
                self.pass_by::<M, L>(line, waiters, when, next, taker);
            }
        }
    }

    /// A waiter of `owner` leaves `line` at `now` without the resource, which was free since `free_at`: he goes to wait
    /// elsewhere. `lacked` is who has what he lacked, and what kind of thing that is.
    pub fn leave_held<M: Mode>(
        &mut self,
        line: u32,
        (free_at, now): (Time, Time),
        owner: Owner,
        lacked: (Owner, Cause),
    ) {
        if let Some(waiters) = self.find(line, owner) {
            let idle = now.saturating_sub(free_at).0;
            self.claims.edit::<M>(waiters.claim).defer(idle);
            // Others of the same owner settle the account for him.
            if waiters.count == 1 {
                self.clear::<M>(line, waiters, now, lacked.0, lacked.1);
            }
            self.depart::<M>(line, waiters);
        }
        self.waited.edit::<M>(u32::from(owner)).end(now);
    }

    /// Ends the books of `line` at `now`, in the middle of waits: what was charged in advance for later is taken back,
    /// and idle time is deferred.
    pub fn close_held(&mut self, line: u32, now: Time, hold: Hold) {
        use odonata_engine::Plain;
        let mut walk = self.walk(line);
        while let Some(waiters) = self.next(&mut walk) {
            if waiters.count > 0 && hold.free_at > now {
                let fewer = Waiters {
                    count: waiters.count.wrapping_neg(),
                    ..waiters
                };
                self.book_span::<Plain>(line, fewer, (now, hold.free_at), hold.holder, hold.cause);
            } else if waiters.count > 0 {
                let idle = (now - hold.free_at).0 * waiters.count;
                self.claims.edit::<Plain>(waiters.claim).defer(idle);
            }
        }
    }
}
