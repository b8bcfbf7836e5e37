//! Blame: every wait is charged to the holder of the resource.
//!
//! A [`Ledger`] keeps accounts for many *lines*. A line is a place where things wait for one resource: packets for an
//! output port, requests for a storage device. Everything in a line has an *owner*, a small number (a job's MPI
//! traffic, a job's I/O). The owner that holds the resource is the *culprit*. While it holds the resource, each waiter
//! adds one second per second to the charge (owner, culprit):
//!
//! ```text
//!  line of port r3>r7        0 us        4 us   6 us            11 us
//!  held by                   |-- job B --|- B --|---- job C -----|
//!  waiting                     A            A A       A
//!                              A: 4 us to B, A: 2 x 2 us to B, A: 5 us to C
//! ```
//!
//! If the holder is known only later, as with buffer space, the time is [deferred](Ledger::defer) and
//! [settled](Ledger::settle) later.
//!
//! **Charges add up to the waits exactly.** The ledger integrates the number of waiters between changes of a line. It
//! also adds up `end - start` of all waits ([`Ledger::waited`]), and [`Ledger::audit`] compares the two sums to the
//! picosecond.
//!
//! **Cost.** A change costs the cache line of the line, and one per owner with waiters in it. A ledger that is
//! [off](Ledger::off) costs one well-predicted branch.
//!
//! Units: [`Time`] (picoseconds) of one waiter; a charge of 2 s can be two waiters for a second each.
//!
//! ```
//! use odonata_blame::Ledger;
//! use odonata_engine::{Plain, Time};
//!
//! let (milc, cosmoflow, link) = (0, 2, 0);
//! let us = |n: u64| Time::from_ns(1_000 * n);
//! let mut ledger = Ledger::new(vec![0], 1, 4, 1, None);
//! ledger.join::<Plain>(0, us(1), milc);
//! ledger.charge::<Plain>(0, us(5), cosmoflow, link); // cosmoflow's packet ends at 5 us
//! ledger.leave::<Plain>(0, us(5), milc);
//! let charges: Vec<_> = ledger.charges().collect();
//! assert_eq!((charges[0].victim, charges[0].culprit, charges[0].time), (milc, Some(cosmoflow), us(4)));
//! ledger.audit().unwrap();
//! ```

mod claim;
mod held;
mod history;
mod line;
pub mod lost;
mod series;
mod shares;

pub use held::{Hold, Taker};
pub use history::{Histories, Place};
pub use series::SeriesCharge;
pub use shares::{Shares, Taking};

use claim::{Charged, Claim};
use line::{Line, Waiters};
use odonata_engine::{Digest, Mode, NIL, Pool, Store, Time};
use series::Series;

/// The owner of waiters or holders; numbered by the user of the ledger, from 0.
pub type Owner = u16;

/// The kind of resource; numbered by the user of the ledger, from 0.
pub type Cause = u8;

/// Time that one owner waited for another in one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Charge {
    /// The line.
    pub line: u32,
    /// The waiting owner.
    pub victim: Owner,
    /// The holder of the resource; `None` if the run ended before it was known.
    pub culprit: Option<Owner>,
    /// The kind of resource; meaningless without a culprit.
    pub cause: Cause,
    /// How long, summed over waiters.
    pub time: Time,
}

/// The waits of one owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Waited {
    /// Completed waits.
    pub waits: u64,
    /// Sum of ends minus sum of starts, modulo 2^64: the total duration once no wait is in progress.
    pub time: Time,
}

impl Waited {
    /// A wait begins.
    #[inline]
    fn begin(&mut self, now: Time) {
        self.time = Time(self.time.0.wrapping_sub(now.0));
    }

    /// A wait ends.
    #[inline]
    fn end(&mut self, now: Time) {
        self.waits += 1;
        self.time = Time(self.time.0.wrapping_add(now.0));
    }
}

/// Accounts of many lines.
#[derive(Debug)]
pub struct Ledger {
    lines: Store<Line>,
    claims: Pool<Claim>,
    charged: Charged,
    waited: Store<Waited>,
    series: Series,
}
odonata_engine::journalled!(Ledger {
    lines,
    claims,
    charged,
    waited,
    series
});

impl Ledger {
    /// A disabled ledger.
    pub fn off() -> Ledger {
        Ledger::new(Vec::new(), 0, 0, 0, None)
    }

    /// A ledger with one line per element of `places`, `owners` owners and `causes` causes. `places` gives each line's
    /// place in the time series, below `place_count`. With `interval`, charges are also kept over time.
    ///
    /// The time series of ledgers with equal counts and interval end at the same time, whichever lines they have.
    pub fn new(places: Vec<u8>, place_count: u8, owners: u16, causes: u8, interval: Option<Time>) -> Ledger {
        debug_assert!(
            places.iter().all(|&place| place < place_count),
            "a place beyond {place_count}"
        );
        Ledger {
            lines: Store::filled(places.len(), Line::EMPTY),
            claims: Pool::new(),
            charged: Charged::new(owners, causes),
            waited: Store::filled(usize::from(owners), Waited::default()),
            series: Series::new(places, place_count, owners, causes, interval),
        }
    }

    /// Whether the ledger is on.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Prefetches `line`.
    #[inline(always)]
    pub fn prefetch(&self, line: u32) {
        self.lines.prefetch(line);
    }

    /// Prefetches the claims of the owners that wait in `line`, which is in the cache; of those with a place.
    #[inline(always)]
    pub fn prefetch_waiters<M: Mode>(&self, line: u32) {
        let cell = self.lines.trusted::<M>(line);
        for place in cell.places_with_waiters() {
            self.claims.prefetch(cell.claim(place));
        }
    }

    /// Number of lines.
    pub fn lines(&self) -> u32 {
        self.lines.len() as u32
    }

    /// A waiter of `owner` joins `line` at `now`. The line must be charged until `now`.
    #[inline]
    pub fn join<M: Mode>(&mut self, line: u32, now: Time, owner: Owner) {
        let cell = self.lines.edit_trusted::<M>(line);
        debug_assert!(
            cell.total == 0 || cell.since == now,
            "line {line} is booked before it changes"
        );
        cell.since = now;
        self.enter::<M>(line, now, owner);
    }

    /// A waiter of `owner` leaves `line` at `now`. The line must be charged until `now`.
    #[inline]
    pub fn leave<M: Mode>(&mut self, line: u32, now: Time, owner: Owner) {
        let since = self.lines.trusted::<M>(line).since;
        debug_assert!(since == now, "line {line} is booked before it changes");
        if let Some(waiters) = self.find(line, owner) {
            self.depart::<M>(line, waiters);
        }
        self.waited.edit_trusted::<M>(u32::from(owner)).end(now);
    }

    /// The time from which `line` is not charged yet, if it has waiters.
    pub fn unbooked_since(&self, line: u32) -> Option<Time> {
        let Line { since, total, .. } = *self.lines.get(line);
        (total > 0).then_some(since)
    }

    /// Marks `line` as charged until `until`. Returns the start of the uncharged time if it has waiters and time has
    /// passed.
    #[inline]
    fn book_until<M: Mode>(&mut self, line: u32, until: Time) -> Option<Time> {
        let Line { since, total, .. } = *self.lines.trusted::<M>(line);
        if until <= since {
            return None;
        }
        self.lines.edit_trusted::<M>(line).since = until;
        (total > 0).then_some(since)
    }

    /// Charges all waits in `line` until `until` to `culprit`.
    #[inline]
    pub fn charge<M: Mode>(&mut self, line: u32, until: Time, culprit: Owner, cause: Cause) {
        let Some(since) = self.book_until::<M>(line, until) else {
            return;
        };
        let mut walk = self.walk(line);
        while let Some(waiters) = self.next(&mut walk) {
            if waiters.count > 0 {
                self.book_span::<M>(line, waiters, (since, until), culprit, cause);
            }
        }
    }

    /// Defers all waits in `line` until `until`: their culprit is not known yet.
    #[inline]
    pub fn defer<M: Mode>(&mut self, line: u32, until: Time) {
        let Some(since) = self.book_until::<M>(line, until) else {
            return;
        };
        let mut walk = self.walk(line);
        while let Some(waiters) = self.next(&mut walk) {
            if waiters.count > 0 {
                let time = (until - since).0 * waiters.count;
                self.claims.edit_trusted::<M>(waiters.claim).defer(time);
            }
        }
    }

    /// Charges the deferred time of `line` to `culprit`, in the time series at `now`.
    pub fn settle<M: Mode>(&mut self, line: u32, now: Time, culprit: Owner, cause: Cause) {
        let mut walk = self.walk(line);
        while let Some(waiters) = self.next(&mut walk) {
            self.clear::<M>(line, waiters, now, culprit, cause);
        }
    }

    /// A wait of `owner` begins at `now` outside all lines; the caller [charges](Self::charge_time) its time.
    pub fn wait_begins<M: Mode>(&mut self, now: Time, owner: Owner) {
        self.waited.edit_trusted::<M>(u32::from(owner)).begin(now);
    }

    /// A wait outside all lines ends.
    pub fn wait_ends<M: Mode>(&mut self, now: Time, owner: Owner) {
        self.waited.edit_trusted::<M>(u32::from(owner)).end(now);
    }

    /// Charges `time` of waits outside all lines to `culprit`, in the time series at `now`.
    pub fn charge_time<M: Mode>(&mut self, line: u32, now: Time, owner: Owner, time: Time, by: (Owner, Cause)) {
        if time > Time::ZERO {
            let claim = self.claim_of::<M>(line, owner);
            self.book::<M>(claim, by.0, by.1, time.0);
            self.series.add::<M>(line, now, time.0, owner, by.0, by.1);
        }
    }

    /// Defers `time` of a wait outside all lines whose culprit is unknown at the end of a run.
    pub fn defer_time<M: Mode>(&mut self, line: u32, owner: Owner, time: Time) {
        let claim = self.claim_of::<M>(line, owner);
        self.claims.edit::<M>(claim).defer(time.0);
    }

    /// Charges the deferred time of `waiters` to `culprit`.
    fn clear<M: Mode>(&mut self, line: u32, waiters: Waiters, now: Time, culprit: Owner, cause: Cause) {
        let time = self.claims.trusted::<M>(waiters.claim).deferred;
        if time > 0 {
            self.claims.edit_trusted::<M>(waiters.claim).deferred = 0;
            self.book::<M>(waiters.claim, culprit, cause, time);
            self.series.add::<M>(line, now, time, waiters.owner, culprit, cause);
        }
    }

    /// Charges `waiters` from `from` to `to`, also in the time series; a count modulo 2^64 takes charges back.
    #[inline(always)]
    fn book_span<M: Mode>(
        &mut self,
        line: u32,
        waiters: Waiters,
        (from, to): (Time, Time),
        culprit: Owner,
        cause: Cause,
    ) {
        let Waiters {
            claim, owner, count, ..
        } = waiters;
        self.book::<M>(claim, culprit, cause, (to - from).0.wrapping_mul(count));
        if self.series.is_on() {
            self.series.book::<M>(line, (from, to), count, owner, culprit, cause);
        }
    }

    /// Adds `time` to the charge of claim `at` for `culprit`; in ps modulo 2^64, so that it can be taken back.
    #[inline(always)]
    fn book<M: Mode>(&mut self, at: u32, culprit: Owner, cause: Cause, time: u64) {
        if !self.claims.edit_trusted::<M>(at).add(culprit, cause, time) {
            self.book_further::<M>(at, culprit, cause, time);
        }
    }

    /// The same if claim `at` has no room for this culprit.
    #[inline(never)]
    fn book_further<M: Mode>(&mut self, at: u32, culprit: Owner, cause: Cause, time: u64) {
        if self.charged.is_on() {
            let booked = 1 << self.charged.add::<M>(at, culprit, cause, time);
            if self.claims.trusted::<M>(at).booked & booked == 0 {
                self.claims.edit_trusted::<M>(at).booked |= booked;
            }
            return;
        }
        let mut slot = at;
        loop {
            let Claim { more, owner, .. } = *self.claims.get(slot);
            let next = match more {
                NIL => {
                    let more = self.claims.allocate::<M>(Claim::new(owner));
                    self.claims.edit::<M>(slot).more = more;
                    more
                }
                more => more,
            };
            if self.claims.edit::<M>(next).add(culprit, cause, time) {
                return;
            }
            slot = next;
        }
    }

    /// All charges, by line, then by victim, culprit, cause. Uncharged waits are missing: at the end of a run, first
    /// call [`charge`](Ledger::charge), [`defer`](Ledger::defer) or [`close_held`](Ledger::close_held) for every line.
    pub fn charges(&self) -> impl Iterator<Item = Charge> + '_ {
        (0..self.lines.len() as u32).flat_map(|line| {
            let mut charges = Vec::new();
            let mut walk = self.walk(line);
            while let Some(waiters) = self.next(&mut walk) {
                let mut at = waiters.claim;
                while at != NIL {
                    let claim = self.claims.get(at);
                    charges.extend(claim.charges().map(|(culprit, cause, time)| Charge {
                        line,
                        victim: claim.owner,
                        culprit,
                        cause,
                        time,
                    }));
                    charges.extend(
                        self.charged
                            .charges(at, claim.booked)
                            .map(|(culprit, cause, time)| Charge {
                                line,
                                victim: claim.owner,
                                culprit: Some(culprit),
                                cause,
                                time,
                            }),
                    );
                    at = claim.more;
                }
            }
            charges.sort_unstable();
            charges
        })
    }

    /// The charges over time, in order of time; empty without an interval.
    pub fn series(&self) -> impl Iterator<Item = SeriesCharge> + '_ {
        self.series.charges()
    }

    /// The end of the time series, if there is one: its memory is bounded.
    pub fn series_end(&self) -> Option<Time> {
        self.series.end()
    }

    /// The completed waits of `owner`.
    pub fn waited(&self, owner: Owner) -> Waited {
        *self.waited.get(u32::from(owner))
    }

    /// Checks that the charges of every owner add up to its waits, once no wait is in progress.
    ///
    /// # Errors
    /// Names the line with a waiter, or the owner whose charges differ from its waits.
    pub fn audit(&self) -> Result<(), String> {
        let mut charged = vec![0u128; self.waited.len()];
        for charge in self.charges() {
            let Charge {
                line,
                victim,
                culprit,
                time,
                ..
            } = charge;
            if culprit.is_none() {
                return Err(format!(
                    "blame: {} ps of owner {victim} in line {line} have no culprit",
                    time.0
                ));
            }
            charged[usize::from(victim)] += u128::from(time.0);
        }
        if let Some(line) = self.lines.iter().position(|line| line.total > 0) {
            return Err(format!("blame: there are still waiters in line {line}"));
        }
        for (owner, (charged, waited)) in charged.iter().zip(self.waited.iter()).enumerate() {
            if *charged != u128::from(waited.time.0) {
                return Err(format!(
                    "blame: owner {owner} was charged for {charged} ps, but waited {} ps",
                    waited.time.0
                ));
            }
        }
        Ok(())
    }

    /// Bytes of `lines` lines before their first wait.
    pub fn bytes(lines: u64) -> u64 {
        lines * size_of::<Line>() as u64
    }

    /// Adds every charge to a digest.
    pub fn results(&self, digest: &mut Digest) {
        for charge in self.charges() {
            let culprit = charge.culprit.map_or(u64::MAX, u64::from);
            let names = u64::from(charge.victim) << 8 | u64::from(charge.cause);
            for word in [u64::from(charge.line), names, culprit, charge.time.0] {
                digest.word(word);
            }
        }
    }
}

#[cfg(test)]
mod tests;
