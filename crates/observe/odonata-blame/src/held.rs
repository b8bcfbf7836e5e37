//! Lines of a resource that is held for times known in advance, such as a link that sends a packet.
//!
//! No waiter leaves such a line before the resource is free. So a new holder charges all waiters at once for its whole
//! time, and a later waiter for the rest of it: one update per waiter and holder. The general way ([`Ledger::charge`])
//! updates every line before each change.
//!
//! The resource can be *idle* with waiters in line, if all of them lack something else, such as room behind a link. The
//! first waiter that no longer lacks it takes the resource and names the owner that held the missing thing. That owner
//! is charged for all idle time since `free_at`. A waiter that joins during idle time starts with the time since
//! `free_at` as a debt.

use crate::line::Waiters;
use crate::{Cause, Ledger, Owner};
use odonata_engine::{Mode, Time};

/// The holder of a resource, and the kind of resource.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    /// When the resource becomes, or became, free.
    pub free_at: Time,
    /// The holder until then.
    pub holder: Owner,
    /// The kind of resource.
    pub cause: Cause,
}

/// A waiter that takes the resource.
#[derive(Clone, Copy, Debug)]
pub struct Taker<L: Fn() -> (Owner, Cause)> {
    /// Whether the waiter is in the line. A waiter outside the ledger lacked the same thing as the others.
    pub joined: bool,
    /// Whether the waiter queues again after its turn; otherwise it leaves.
    pub returns: bool,
    /// The owner and kind of the thing that the waiter lacked while the resource was idle; called only if it was idle.
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
            self.claims.edit_trusted::<M>(him.claim).defer(debt);
        }
    }

    /// At `now`, a taker holds the resource of `line` until `next.free_at`; the resource was free since `free_at`. The
    /// taker is from the line, or arrives without waiting and passes the waiters that lack something.
    #[inline]
    pub fn pass<M: Mode, L: Fn() -> (Owner, Cause)>(
        &mut self,
        line: u32,
        (free_at, now): (Time, Time),
        next: Hold,
        taker: Option<Taker<L>>,
    ) {
        let cell = self.lines.trusted::<M>(line);
        if cell.total == 0 {
            return;
        }
        let (places, has_more) = (cell.places_with_waiters(), cell.has_more());
        let idle = now.saturating_sub(free_at).0;
        for place in places {
            if let Some(waiters) = self.lines.trusted::<M>(line).waiters(place) {
                self.pass_by::<M, L>(line, waiters, (idle, now), next, taker.as_ref());
            }
        }
        if has_more {
            self.pass_by_further::<M, L>(line, (idle, now), next, taker.as_ref());
        }
        if let Some(Taker {
            joined: true, returns, ..
        }) = taker
        {
            let waited = self.waited.edit_trusted::<M>(u32::from(next.holder));
            waited.end(now);
            if returns {
                waited.begin(next.free_at);
            }
        }
    }

    /// The same for the current waiters of one owner.
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
            self.claims.edit_trusted::<M>(waiters.claim).defer(idle * waiters.count);
        }
        if let Some(Taker {
            joined,
            returns,
            lacked,
        }) = taker
        {
            if self.claims.trusted::<M>(waiters.claim).deferred > 0 {
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

    /// The same for owners without a place in the line itself.
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

    /// A waiter of `owner` leaves `line` at `now` without taking the resource, which was free since `free_at`, and
    /// waits for something else. `lacked` returns the owner and kind of the thing it lacked.
    pub fn leave_held<M: Mode>(
        &mut self,
        line: u32,
        (free_at, now): (Time, Time),
        owner: Owner,
        lacked: (Owner, Cause),
    ) {
        if let Some(waiters) = self.find(line, owner) {
            let idle = now.saturating_sub(free_at).0;
            self.claims.edit_trusted::<M>(waiters.claim).defer(idle);
            // Other waiters of the same owner settle the debt later.
            if waiters.count == 1 {
                self.clear::<M>(line, waiters, now, lacked.0, lacked.1);
            }
            self.depart::<M>(line, waiters);
        }
        self.waited.edit_trusted::<M>(u32::from(owner)).end(now);
    }

    /// Closes the accounts of `line` at `now`, with waits in progress: takes back charges for times after `now`, and
    /// defers idle time.
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
