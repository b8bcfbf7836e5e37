//! Lines of a resource that is held for times known in advance: a link sends a packet for so long.
//!
//! Nobody leaves such a line before the resource is free. So when somebody takes it, all who wait can be charged for
//! the whole time at once, and who comes later for what is left of it: one change per waiter and holder, where
//! the general way ([`Ledger::charge`]) books every line up to the moment before anything changes in it.
//!
//! In between the resource may be *idle*, though somebody waits: he lacks something else (a credit of his *channel*), and
//! whose fault that was turns out later. Idle time counts from the moment at which the resource was free, `free_at`,
//! which is the same for all: who comes later starts with the time before as a debt.

use crate::claim::{CHANNELS, Deferred};
use crate::line::Waiters;
use crate::{Cause, Ledger, Owner};
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

/// Who takes a resource that he has waited for.
#[derive(Clone, Copy, Debug)]
pub struct Taker {
    /// The channel in which he waited.
    pub channel: u8,
    /// Whether he waits again when he has had the resource; if not, he leaves.
    pub returns: bool,
}

/// The place of `channel` among those that are told apart.
#[inline]
fn place(channel: u8) -> usize {
    usize::from(channel).min(CHANNELS - 1)
}

impl Ledger {
    /// A waiter of `owner` joins `channel` of `line` at `now`.
    #[inline]
    pub fn join_held<M: Mode>(&mut self, line: u32, channel: u8, now: Time, owner: Owner, hold: Hold) {
        let at = self.enter::<M>(line, now, owner);
        if channel > 0 {
            self.claims.edit::<M>(at).channels[place(channel) - 1] += 1;
        }
        if hold.free_at > now {
            self.book::<M>(at, hold.holder, hold.cause, (hold.free_at - now).0);
            self.series
                .book::<M>(line, (now, hold.free_at), 1, owner, hold.holder, hold.cause);
        } else if hold.free_at < now {
            self.owe::<M>(line, owner, place(channel), (now - hold.free_at).0.wrapping_neg());
        }
    }

    /// At `now` somebody takes the resource of `line` until `next.free_at`, after it was free since `free_at`; `taker` says
    /// where he has waited for it, if he has.
    #[inline]
    pub fn pass<M: Mode>(&mut self, line: u32, (free_at, now): (Time, Time), next: Hold, taker: Option<Taker>) {
        if self.lines.get(line).total == 0 {
            return;
        }
        let held = (next.free_at - now).0;
        let mut walk = self.walk(line);
        while let Some(waiters) = self.next(&mut walk) {
            let Waiters {
                claim, owner, count, ..
            } = waiters;
            if count == 0 {
                continue;
            }
            if free_at < now {
                self.defer_idle::<M>(line, waiters, (now - free_at).0);
            }
            let mut left = u64::from(count);
            if owner == next.holder
                && let Some(Taker { channel, returns }) = taker
            {
                left -= 1;
                if !returns {
                    self.depart::<M>(line, waiters);
                    if channel > 0 {
                        self.claims.edit::<M>(claim).channels[place(channel) - 1] -= 1;
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

    /// `waiters` have waited while the resource was idle, for `idle` ps.
    fn defer_idle<M: Mode>(&mut self, line: u32, waiters: Waiters, idle: u64) {
        let claim = *self.claims.get(waiters.claim);
        for channel in 0..CHANNELS {
            let count = claim.waiting_in(channel, waiters.count);
            if count > 0 {
                self.owe::<M>(line, waiters.owner, channel, idle * u64::from(count));
            }
        }
    }

    /// Whether anybody in `line` has waited while the resource was idle, and that has not been settled.
    #[inline]
    pub fn has_idle(&self, line: u32, (free_at, now): (Time, Time)) -> bool {
        let line = self.lines.get(line);
        line.owed || (line.total > 0 && free_at < now)
    }

    /// The time for which the resource was idle, up to `now`, was for those in `channel` the fault of `culprit`. The
    /// time series books it in the interval of `now`.
    pub fn settle_idle<M: Mode>(
        &mut self,
        line: u32,
        channel: u8,
        (free_at, now): (Time, Time),
        culprit: Owner,
        cause: Cause,
    ) {
        let channel = place(channel);
        // What has passed since the resource was free is added when it is taken; until then it is a debt.
        if free_at < now {
            let mut walk = self.walk(line);
            while let Some(waiters) = self.next(&mut walk) {
                let count = self.claims.get(waiters.claim).waiting_in(channel, waiters.count);
                if count > 0 {
                    let passed = (now - free_at).0 * u64::from(count);
                    let cell = self.owe::<M>(line, waiters.owner, channel, passed);
                    self.clear::<M>(line, cell, now, culprit, cause, waiters.owner);
                    self.owe::<M>(line, waiters.owner, channel, passed.wrapping_neg());
                }
            }
            return;
        }
        let mut owed = false;
        let mut at = self.lines.get(line).deferred;
        while at != NIL {
            let Deferred {
                time,
                next,
                owner,
                channel: of,
            } = *self.deferred.get(at);
            if time > 0 && usize::from(of) == channel {
                self.clear::<M>(line, at, now, culprit, cause, owner);
            } else {
                owed |= time > 0;
            }
            at = next;
        }
        self.lines.edit::<M>(line).owed = owed;
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
                self.defer_idle::<Plain>(line, waiters, (now - hold.free_at).0);
            }
        }
    }
}
