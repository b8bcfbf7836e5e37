//! Lines of a shared resource: processor sharing, where nothing queues but every taker gets less than it would alone.
//!
//! A taker with the share `s` of the resource that would be `1 / (1 - c)` times as fast alone waits `c` seconds per
//! second. So a flow of rate r that would have rate a alone waits `c = 1 - r / a`; in total, its waits are its extra
//! duration. The waits are charged to the takers of the rest, in proportion to their shares. Of owner o, whose takers f
//! wait at this line, owner q is charged per second
//!
//! ```text
//! K_o S_q - [o = q] M_o      K_o = sum c_f / (1 - s_f)      M_o = sum c_f s_f / (1 - s_f)      S_q = sum of q's parts
//! ```
//!
//! These charges add up to the sum of all `c_f` if the resource is fully used; if takers have just left, charges are
//! scaled up. A line keeps S, K and M per owner, so a change costs the number of owners, not of takers. They are
//! integers, so additions can be undone exactly.

use crate::{Cause, Charge, Owner, Series, SeriesCharge};
use odonata_engine::{Mode, NIL, Plain, Pool, Store, Time, slots};

/// Units of a share, and of seconds per second.
const UNIT: f64 = (1_u64 << 36) as f64;

/// A taker's share of the resource, and its slowdown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taking {
    /// The share of the resource: 0 to 1.
    pub part: f64,
    /// Seconds waited per second at this line; at most `1 - part`.
    pub wait: f64,
}

impl Taking {
    /// Nothing.
    pub const NONE: Taking = Taking { part: 0.0, wait: 0.0 };

    /// Its contribution to S of its owner.
    fn taken(self) -> i64 {
        (self.part * UNIT) as i64
    }

    /// Its contributions to K and M.
    fn waits(self) -> (i64, i64) {
        if self.wait <= 0.0 {
            return (0, 0);
        }
        let factor = (self.wait / (1.0 - self.part).max(f64::MIN_POSITIVE)).min(1.0) * UNIT;
        (factor as i64, (factor * self.part) as i64)
    }
}

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct SharedLine {
    /// Until when waits are charged.
    since: Time,
    /// S and K of all owners.
    taken: i64,
    factor: i64,
    /// Its first owner; NIL before the first taker.
    first: u32,
}

/// An owner on a line.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Member {
    /// S, K and M.
    taken: i64,
    factor: i64,
    own: i64,
    /// Its charges to the owners of the line, in the line's order of owners.
    charged: u32,
    /// The next owner, in order of arrival.
    next: u32,
    owner: Owner,
}

/// Time that one owner waited for another on a line.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Charged {
    time: Time,
    /// Of a picosecond.
    rest: f64,
    next: u32,
}

slots!(Member Charged);

/// Accounts of many lines of shared resources.
#[derive(Debug)]
pub struct Shares {
    lines: Store<SharedLine>,
    members: Pool<Member>,
    charged: Pool<Charged>,
    cause: Cause,
    series: Series,
}
odonata_engine::journalled!(Shares {
    lines,
    members,
    charged,
    series
});

impl Shares {
    /// Disabled accounts.
    pub fn off() -> Shares {
        Shares::new(Vec::new(), 0, 0, (0, 1), None)
    }

    /// Accounts for one line per element of `places` (as in [`Ledger::new`](crate::Ledger::new)) and `owners` owners,
    /// which wait for `cause`; with `interval`, also over time.
    pub fn new(
        places: Vec<u8>,
        place_count: u8,
        owners: u16,
        (cause, causes): (Cause, u8),
        interval: Option<Time>,
    ) -> Shares {
        let line = SharedLine {
            since: Time::ZERO,
            taken: 0,
            factor: 0,
            first: NIL,
        };
        Shares {
            lines: Store::filled(places.len(), line),
            members: Pool::new(),
            charged: Pool::new(),
            cause,
            series: Series::new(places, place_count, owners, causes, interval),
        }
    }

    /// Number of lines.
    pub fn lines(&self) -> u32 {
        self.lines.len() as u32
    }

    /// From `now` on, a taker of `owner` changes its share of `line`. `before` is [nothing](Taking::NONE) for an
    /// arrival, `after` for a departure.
    pub fn change<M: Mode>(&mut self, line: u32, now: Time, owner: Owner, before: Taking, after: Taking) {
        let ((factor_before, own_before), (factor, own)) = (before.waits(), after.waits());
        let taken = after.taken() - before.taken();
        let (factor, own) = (factor - factor_before, own - own_before);
        self.book::<M>(line, now);
        let member = self.member::<M>(line, owner);
        let member = self.members.edit::<M>(member);
        (member.taken, member.factor, member.own) = (member.taken + taken, member.factor + factor, member.own + own);
        let cell = self.lines.edit::<M>(line);
        (cell.taken, cell.factor) = (cell.taken + taken, cell.factor + factor);
    }

    /// Charges a wait of `owner` at `line` that is known as a whole, `time` from `since` until `until`, to `culprit`.
    pub fn charge<M: Mode>(
        &mut self,
        line: u32,
        (since, until): (Time, Time),
        (owner, culprit): (Owner, Owner),
        time: f64,
    ) {
        let (victim, culprit_at) = (self.member::<M>(line, owner), self.member::<M>(line, culprit));
        let mut charges = Charges::of(&self.members, self.lines.get(line).first, victim);
        loop {
            let (member, charged) = charges.next::<M>(&mut self.members, &mut self.charged);
            if member == culprit_at {
                self.add::<M>(line, (since, until), (owner, culprit), charged, time);
                return;
            }
        }
    }

    /// Charges a wait of `owner` at `line` that is known as a whole to the takers there, in proportion to their shares.
    pub fn charge_takers<M: Mode>(&mut self, line: u32, span: (Time, Time), owner: Owner, time: f64) {
        let SharedLine { taken, mut first, .. } = *self.lines.get(line);
        while first != NIL && taken > 0 {
            let member = *self.members.get(first);
            if member.taken > 0 {
                let part = member.taken as f64 / taken as f64;
                self.charge::<M>(line, span, (owner, member.owner), time * part);
            }
            first = member.next;
        }
    }

    /// Charges the waits at `line` until `now`.
    fn book<M: Mode>(&mut self, line: u32, now: Time) {
        let SharedLine {
            since,
            taken,
            factor,
            first,
        } = *self.lines.get(line);
        if now <= since {
            return;
        }
        self.lines.edit::<M>(line).since = now;
        if factor == 0 {
            return;
        }
        let mut victim = first;
        while victim != NIL {
            let Member {
                factor,
                own,
                next,
                owner,
                ..
            } = *self.members.get(victim);
            let [factor, own] = [factor, own].map(|sum| sum as f64 / UNIT);
            let charged = factor * taken as f64 / UNIT - own;
            if factor > 0.0 && charged > 0.0 {
                let scale = (factor - own) / charged;
                self.book_waits::<M>(line, (since, now), (victim, owner), (factor * scale, own * scale));
            }
            victim = next;
        }
    }

    /// The same for one owner, with its K and M.
    fn book_waits<M: Mode>(
        &mut self,
        line: u32,
        (since, now): (Time, Time),
        (victim, owner): (u32, Owner),
        (factor, own): (f64, f64),
    ) {
        let mut charges = Charges::of(&self.members, self.lines.get(line).first, victim);
        let span = (now - since).0 as f64;
        while charges.member != NIL {
            let (member, charged) = charges.next::<M>(&mut self.members, &mut self.charged);
            let culprit = *self.members.get(member);
            let of_own = if member == victim { own } else { 0.0 };
            let time = span * (factor * culprit.taken as f64 / UNIT - of_own);
            if time > 0.0 {
                self.add::<M>(line, (since, now), (owner, culprit.owner), charged, time);
            }
        }
    }

    /// Adds `time` to `charged`; in the time series, spread from `since` to `now`.
    fn add<M: Mode>(
        &mut self,
        line: u32,
        (since, now): (Time, Time),
        (owner, culprit): (Owner, Owner),
        charged: u32,
        time: f64,
    ) {
        let cell = self.charged.edit::<M>(charged);
        cell.rest += time;
        let whole = cell.rest as u64;
        cell.rest -= whole as f64;
        cell.time += Time(whole);
        if self.series.is_on() {
            (self.series).spread::<M>(line, (since, now), whole, (owner, culprit), self.cause);
        }
    }

    /// The member of `line` for `owner`, created if new.
    fn member<M: Mode>(&mut self, line: u32, owner: Owner) -> u32 {
        let (mut last, mut at) = (NIL, self.lines.get(line).first);
        while at != NIL {
            let member = self.members.get(at);
            if member.owner == owner {
                return at;
            }
            (last, at) = (at, member.next);
        }
        let new = self.members.allocate::<M>(Member {
            taken: 0,
            factor: 0,
            own: 0,
            charged: NIL,
            next: NIL,
            owner,
        });
        match last {
            NIL => self.lines.edit::<M>(line).first = new,
            last => self.members.edit::<M>(last).next = new,
        }
        new
    }

    /// Charges everything until `now`, the end of a run with waits in progress.
    pub fn close(&mut self, now: Time) {
        (0..self.lines()).for_each(|line| self.book::<Plain>(line, now));
    }

    /// All charges, by line; unordered within a line.
    pub fn charges(&self) -> impl Iterator<Item = Charge> + '_ {
        let mut all = Vec::new();
        for line in 0..self.lines() {
            let first = self.lines.get(line).first;
            let mut victim = first;
            while victim != NIL {
                let Member {
                    charged, next, owner, ..
                } = *self.members.get(victim);
                let (mut culprit, mut at) = (first, charged);
                while at != NIL {
                    let (of, cell) = (self.members.get(culprit), self.charged.get(at));
                    if cell.time > Time::ZERO {
                        all.push(Charge {
                            line,
                            victim: owner,
                            culprit: Some(of.owner),
                            cause: self.cause,
                            time: cell.time,
                        });
                    }
                    (culprit, at) = (of.next, cell.next);
                }
                victim = next;
            }
        }
        all.into_iter()
    }

    /// The charges over time; empty without an interval.
    pub fn series(&self) -> impl Iterator<Item = SeriesCharge> + '_ {
        self.series.charges()
    }

    /// The end of the time series, if there is one.
    pub fn series_end(&self) -> Option<Time> {
        self.series.end()
    }
}

/// An iteration over the owners of a line and their charges.
struct Charges {
    victim: u32,
    /// The next owner, and its last charge.
    member: u32,
    last: u32,
}

impl Charges {
    fn of(members: &Pool<Member>, first: u32, victim: u32) -> Charges {
        debug_assert!(members.get(first).next != first, "a list of owners ends");
        Charges {
            victim,
            member: first,
            last: NIL,
        }
    }

    /// Advances to the next charge.
    fn next<M: Mode>(&mut self, members: &mut Pool<Member>, charged: &mut Pool<Charged>) -> (u32, u32) {
        let known = match self.last {
            NIL => members.get(self.victim).charged,
            last => charged.get(last).next,
        };
        let at = match known {
            NIL => {
                let new = charged.allocate::<M>(Charged {
                    time: Time::ZERO,
                    rest: 0.0,
                    next: NIL,
                });
                match self.last {
                    NIL => members.edit::<M>(self.victim).charged = new,
                    last => charged.edit::<M>(last).next = new,
                }
                new
            }
            known => known,
        };
        let member = self.member;
        (self.member, self.last) = (members.get(member).next, at);
        (member, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Cause = 0;

    fn shares() -> Shares {
        Shares::new(vec![0, 1], 2, 4, (LINK, 1), Some(Time(1_000)))
    }

    fn taking(part: f64, wait: f64) -> Taking {
        Taking { part, wait }
    }

    /// (victim, culprit, ps) of line 0.
    fn charged(shares: &Shares) -> Vec<(Owner, Owner, u64)> {
        let of_line = shares.charges().filter(|charge| charge.line == 0);
        let mut all: Vec<_> = of_line.map(|c| (c.victim, c.culprit.unwrap(), c.time.0)).collect();
        all.sort_unstable();
        all
    }

    fn assert_charged(shares: &Shares, expected: &[(Owner, Owner, u64)]) {
        let found = charged(shares);
        let near =
            |(a, b): (&(Owner, Owner, u64), &(Owner, Owner, u64))| (a.0, a.1) == (b.0, b.1) && a.2.abs_diff(b.2) <= 1;
        assert!(
            found.len() == expected.len() && found.iter().zip(expected).all(near),
            "{found:?}, not {expected:?}"
        );
    }

    /// Owner 1 has one flow of four on a link, owner 2 three, and each would have the link alone. Each flow waits 3/4
    /// of the time: the flow of owner 1 for owner 2, each flow of owner 2 a third of it for owner 1 and the rest for
    /// the other two.
    #[test]
    fn the_owner_of_the_remaining_share_is_charged_for_that_share() {
        let mut shares = shares();
        let quarter = taking(0.25, 0.75);
        for owner in [1, 2, 2, 2] {
            shares.change::<Plain>(0, Time(1_000), owner, Taking::NONE, quarter);
        }
        shares.close(Time(5_000));
        let each = 3_000;
        assert_charged(&shares, &[(1, 2, each), (2, 1, 3 * each / 3), (2, 2, 3 * each * 2 / 3)]);
        let in_series: u64 = shares.series().map(|charge| charge.time.0).sum();
        assert!(in_series.abs_diff(4 * each) <= 12, "{in_series}");
        let first = shares.series().filter(|charge| charge.start == Time(1_000));
        assert!(first.map(|charge| charge.time.0).sum::<u64>().abs_diff(each) <= 4);
    }

    /// A taker at its full rate waits for nothing, and others wait for it.
    #[test]
    fn transfers_limited_at_another_place_do_not_wait() {
        let mut shares = shares();
        shares.change::<Plain>(0, Time(0), 1, Taking::NONE, taking(0.1, 0.0));
        shares.change::<Plain>(0, Time(0), 2, Taking::NONE, taking(0.9, 0.1));
        shares.close(Time(10_000));
        assert_charged(&shares, &[(2, 1, 1_000)]);
    }

    /// Random takers that come and go: each waits its extra duration.
    #[test]
    fn charges_add_up_to_the_waits() {
        let mut random = odonata_units::SplitMix64(7);
        let mut shares = shares();
        let mut takers: Vec<(Owner, f64)> = Vec::new();
        let of = |takers: &[(Owner, f64)], at: usize| {
            let all: f64 = takers.iter().map(|taker| taker.1).sum();
            let part = takers[at].1 / all;
            taking(part, 1.0 - part)
        };
        let (mut now, mut waited) = (0, [0.0; 4]);
        for _ in 0..2_000 {
            let before: Vec<Taking> = (0..takers.len()).map(|at| of(&takers, at)).collect();
            let span = u64::from(random.below(500));
            for (taking, &(owner, _)) in before.iter().zip(&takers) {
                waited[usize::from(owner)] += taking.wait * span as f64;
            }
            now += span;
            let comes = takers.is_empty() || (takers.len() < 20 && random.below(2) == 0);
            let gone = if comes {
                None
            } else {
                Some(random.below(takers.len() as u32) as usize)
            };
            if comes {
                takers.push((random.below(4) as Owner, f64::from(1 + random.below(9))));
            }
            for (at, &(owner, _)) in takers.iter().enumerate() {
                let old = before.get(at).copied().unwrap_or(Taking::NONE);
                shares.change::<Plain>(0, Time(now), owner, old, Taking::NONE);
            }
            if let Some(gone) = gone {
                takers.remove(gone);
            }
            for at in 0..takers.len() {
                shares.change::<Plain>(0, Time(now), takers[at].0, Taking::NONE, of(&takers, at));
            }
        }
        for owner in 0..4 {
            let charges = shares.charges().filter(|charge| charge.victim == owner);
            let sum = charges.map(|charge| charge.time.0).sum::<u64>() as f64;
            let expected = waited[usize::from(owner)];
            assert!(
                (sum - expected).abs() <= 1e-6 * expected + 4.0,
                "{owner}: {sum}, not {expected}"
            );
        }
    }

    #[test]
    fn a_wait_for_all_takers_is_charged_by_their_shares() {
        let mut shares = shares();
        for (owner, part) in [(1, 0.25), (2, 0.5), (3, 0.25)] {
            shares.change::<Plain>(0, Time(0), owner, Taking::NONE, taking(part, 0.0));
        }
        shares.charge_takers::<Plain>(0, (Time(10), Time(20)), 3, 40.0);
        assert_charged(&shares, &[(3, 1, 10), (3, 2, 20), (3, 3, 10)]);
    }

    #[test]
    fn a_wait_that_is_known_as_a_whole_is_charged_as_a_whole() {
        let mut shares = shares();
        let span = (Time(10), Time(20));
        shares.charge::<Plain>(0, span, (3, 1), 12.5);
        shares.charge::<Plain>(0, span, (3, 1), 12.5);
        shares.charge::<Plain>(0, span, (3, 3), 4.0);
        assert_charged(&shares, &[(3, 1, 25), (3, 3, 4)]);
    }
}
