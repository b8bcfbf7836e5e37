//! Synthetic traffic: open-loop sources, which send whether or not the network keeps up.
//!
//! A source needs two random draws per message, one for the destination and one for the gap. They
//! come from the caller, as 64 random bits each, so that they can be part of the state that an
//! engine rolls back; everything here is a pure function of them.

use std::sync::Arc;

use odonata_units::Time;

/// The traffic of a job without a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthetic {
    /// Where messages go.
    pub pattern: Pattern,
    /// Size of a message in bytes.
    pub bytes: u64,
    /// How the times between the messages of a rank are distributed.
    pub arrival: Arrival,
    /// How many messages each rank sends; `None`: until `stop`.
    pub messages: Option<u64>,
    /// No message starts at or after this time; `None`: when `messages` are sent.
    pub stop: Option<Time>,
}

impl Synthetic {
    /// Checks that the traffic can run on `ranks` ranks, and ends.
    ///
    /// # Errors
    /// As [`Pattern::check`]; or neither `messages` nor `stop` is given.
    pub fn check(&self, ranks: u32) -> Result<(), String> {
        if self.messages.is_none() && self.stop.is_none() {
            return Err("synthetic traffic without end: expected messages, stop, or both".into());
        }
        self.pattern.check(ranks)
    }
}

/// Where messages go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// To all other ranks alike.
    Uniform,
    /// To all ranks of the next group alike; the last group sends to the first. With one group of
    /// ranks per group of a dragonfly all traffic of a group shares one global link, the worst case
    /// for minimal routing (Kim, Dally, Scott, Abts, "Technology-Driven, Highly-Scalable Dragonfly
    /// Topology", ISCA 2008).
    NextGroup {
        /// Consecutive ranks that make a group; the last group may be smaller.
        ranks_per_group: u32,
    },
    /// Each rank to one other, as [`Pattern::permutation`] draws them.
    Permutation {
        /// The destination of each rank.
        targets: Arc<[u32]>,
    },
}

impl Pattern {
    /// A random permutation in which no rank sends to itself. `random(n)` gives a number below `n`.
    ///
    /// It is drawn uniformly from the permutations that are one cycle through all ranks (S. Sattolo,
    /// "An algorithm to generate a random cyclic permutation", Information Processing Letters 22,
    /// 1986), which have no fixed points and need no second attempt.
    ///
    /// # Errors
    /// There are fewer than two ranks.
    pub fn permutation(ranks: u32, mut random: impl FnMut(u32) -> u32) -> Result<Pattern, String> {
        if ranks < 2 {
            return Err(format!(
                "a permutation without fixed points needs 2 ranks at least, not {ranks}"
            ));
        }
        let mut targets: Vec<u32> = (0..ranks).collect();
        for last in (1..ranks).rev() {
            // The remainder only guards against a caller that breaks the rule.
            let other = random(last) % last;
            targets.swap(last as usize, other as usize);
        }
        Ok(Pattern::Permutation {
            targets: targets.into(),
        })
    }

    /// Checks that every one of `ranks` ranks has a destination other than itself.
    ///
    /// # Errors
    /// Says which rule is broken: too few ranks or groups, or a bad entry of a permutation.
    pub fn check(&self, ranks: u32) -> Result<(), String> {
        match self {
            _ if ranks < 2 => Err(format!("synthetic traffic needs 2 ranks at least, not {ranks}")),
            Pattern::Uniform => Ok(()),
            Pattern::NextGroup { ranks_per_group: 0 } => Err("ranks_per_group is 0: expected at least 1".into()),
            Pattern::NextGroup { ranks_per_group } if *ranks_per_group >= ranks => Err(format!(
                "{ranks} ranks in groups of {ranks_per_group} make one group: expected at least 2"
            )),
            Pattern::NextGroup { .. } => Ok(()),
            Pattern::Permutation { targets } => {
                if targets.len() as u64 != u64::from(ranks) {
                    return Err(format!(
                        "the permutation has {} entries for {ranks} ranks",
                        targets.len()
                    ));
                }
                let mut taken = vec![false; targets.len()];
                for (rank, &target) in targets.iter().enumerate() {
                    match taken.get_mut(target as usize) {
                        None => return Err(format!("rank {rank} sends to {target}, but there are {ranks} ranks")),
                        Some(_) if target as usize == rank => return Err(format!("rank {rank} sends to itself")),
                        Some(true) => return Err(format!("two ranks send to {target}: not a permutation")),
                        Some(free) => *free = true,
                    }
                }
                Ok(())
            }
        }
    }

    /// Where `rank` of `ranks` sends its next message; `draw` is 64 random bits, used up.
    ///
    /// Never `rank` itself if the pattern passes [`Pattern::check`]; if it does not, the answer may
    /// be, but it is always one of the ranks (0 if there are none).
    #[inline]
    pub fn destination(&self, rank: u32, ranks: u32, draw: u64) -> u32 {
        match self {
            Pattern::Uniform => {
                // One of the others: those from `rank` on move up by one.
                let other = below(ranks.saturating_sub(1), draw);
                let other = if other >= rank { other.saturating_add(1) } else { other };
                other.min(ranks.saturating_sub(1))
            }
            Pattern::NextGroup { ranks_per_group } => {
                let size = (*ranks_per_group).max(1);
                let next = (u64::from(rank / size) + 1) * u64::from(size);
                let first = if next < u64::from(ranks) { next as u32 } else { 0 };
                first + below(size.min(ranks.saturating_sub(first)), draw)
            }
            Pattern::Permutation { targets } => targets
                .get(rank as usize)
                .map_or(0, |&t| t.min(ranks.saturating_sub(1))),
        }
    }
}

/// Uniform below `n` by multiplication (Lemire, "Fast Random Integer Generation in an Interval",
/// 2019, without rejection: the bias is below `n / 2^64`); 0 for 0.
#[inline]
fn below(n: u32, draw: u64) -> u32 {
    ((u128::from(draw) * u128::from(n)) >> 64) as u32
}

/// How the times between the messages of a rank are distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrival {
    /// All the same.
    Fixed,
    /// Exponential: messages arrive as a Poisson process.
    #[default]
    Exponential,
}

impl Arrival {
    /// The time to the next message, 1 ps at least, for gaps of `mean` on average; `draw` is 64
    /// random bits, used up.
    #[inline]
    pub fn gap(self, mean: Time, draw: u64) -> Time {
        let gap = match self {
            Arrival::Fixed => mean.0,
            Arrival::Exponential => {
                // In (0, 1], so that the logarithm is finite: a gap is 36.7 means at most.
                let uniform = ((draw >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64);
                (-ln(uniform) * mean.0 as f64 + 0.5) as u64
            }
        };
        Time(gap.max(1))
    }
}

/// The natural logarithm of a positive, normal number, to about 1e-15 of its value.
///
/// `f64::ln` may round differently with every C library, and a gap that differs by 1 ps makes a
/// different run; sums and products do not.
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = (bits >> 52) as i64 - 1023;
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    // The mantissa is brought to [sqrt(1/2), sqrt(2)), so that s^2 < 0.0295 below.
    let high = mantissa >= std::f64::consts::SQRT_2;
    let (m, e) = if high {
        (mantissa / 2.0, exponent + 1)
    } else {
        (mantissa, exponent)
    };
    // ln m = 2 artanh s = 2 (s + s^3 / 3 + s^5 / 5 + ...); the terms left out are below 1e-17 s.
    let s = (m - 1.0) / (m + 1.0);
    let mut series = 0.0;
    for k in (0..=10).rev() {
        series = series * (s * s) + 1.0 / f64::from(2 * k + 1);
    }
    e as f64 * std::f64::consts::LN_2 + 2.0 * s * series
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plain generator for tests (Knuth's MMIX constants).
    fn draws() -> impl Iterator<Item = u64> {
        std::iter::successors(Some(1u64), |x| {
            Some(
                x.wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407),
            )
        })
        .map(|x| x ^ (x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9))
    }

    #[test]
    fn uniform_reaches_all_others_alike_and_never_itself() {
        let mut counts = [0u32; 10];
        for draw in draws().take(90_000) {
            counts[Pattern::Uniform.destination(3, 10, draw) as usize] += 1;
        }
        assert_eq!(counts[3], 0);
        // 90,000 / 9 = 10,000 each, standard deviation sqrt(10,000 x 8 / 9) = 94.
        assert!(
            counts
                .iter()
                .enumerate()
                .all(|(rank, &n)| rank == 3 || n.abs_diff(10_000) < 500),
            "{counts:?}"
        );
    }

    #[test]
    fn the_last_group_sends_to_the_first_and_a_short_group_is_hit_only_within() {
        // Groups 0..4, 4..8, 8..10.
        let pattern = Pattern::NextGroup { ranks_per_group: 4 };
        for draw in draws().take(1_000) {
            assert!((4..8).contains(&pattern.destination(1, 10, draw)));
            assert!((8..10).contains(&pattern.destination(7, 10, draw)));
            assert!((0..4).contains(&pattern.destination(9, 10, draw)));
        }
    }

    #[test]
    fn a_permutation_hits_everybody_once_and_nobody_itself() {
        for ranks in 2..50 {
            let mut random = draws();
            let pattern = Pattern::permutation(ranks, |n| below(n, random.next().unwrap_or(0))).unwrap();
            assert_eq!(pattern.check(ranks), Ok(()));
            let mut hit: Vec<u32> = (0..ranks).map(|rank| pattern.destination(rank, ranks, 0)).collect();
            assert!(hit.iter().enumerate().all(|(rank, &to)| rank as u32 != to));
            hit.sort_unstable();
            assert!(hit.iter().copied().eq(0..ranks));
        }
        assert!(Pattern::permutation(1, |_| 0).is_err());
    }

    #[test]
    fn patterns_that_cannot_run_are_errors_and_still_do_not_panic() {
        let targets = |list: &[u32]| Pattern::Permutation { targets: list.into() };
        let next_group = |ranks_per_group| Pattern::NextGroup { ranks_per_group };
        let bad = [
            (Pattern::Uniform, 1),
            (Pattern::Uniform, 0),
            (next_group(0), 4),
            (next_group(4), 4),
            (targets(&[1, 0]), 3),
            (targets(&[1, 2]), 2),
            (targets(&[0, 1]), 2),
            (targets(&[2, 2, 1]), 3),
        ];
        for (pattern, ranks) in bad {
            assert!(pattern.check(ranks).is_err(), "{pattern:?} on {ranks}");
            for draw in [0, u64::MAX] {
                for rank in [0, 1, u32::MAX] {
                    assert!(pattern.destination(rank, ranks, draw) < ranks.max(1));
                }
            }
        }
    }

    #[test]
    fn exponential_gaps_have_the_mean_and_the_deviation_that_was_asked_for() {
        let mean = Time::from_ns(1_000);
        let gaps: Vec<f64> = draws()
            .take(100_000)
            .map(|d| Arrival::Exponential.gap(mean, d).nanoseconds())
            .collect();
        let average = gaps.iter().sum::<f64>() / 1e5;
        let deviation = (gaps.iter().map(|g| (g - average).powi(2)).sum::<f64>() / 1e5).sqrt();
        // Both are the mean itself; their standard errors are 3 and 4.5 ns.
        assert!(
            (average - 1_000.0).abs() < 20.0 && (deviation - 1_000.0).abs() < 30.0,
            "{average} {deviation}"
        );
        assert_eq!(Arrival::Fixed.gap(mean, 77), mean);
        assert_eq!(Arrival::Fixed.gap(Time::ZERO, 77), Time::from_ps(1));
        assert_eq!(Arrival::Exponential.gap(mean, u64::MAX), Time::from_ps(1));
        // -ln(2^-53) = 36.7368 means.
        assert_eq!(Arrival::Exponential.gap(mean, 0).0, 36_736_801);
    }

    #[test]
    fn the_logarithm_is_that_of_the_library_to_a_few_ulp() {
        for draw in draws().take(10_000) {
            let x = ((draw >> 11) + 1) as f64 / (1u64 << 53) as f64;
            assert!((ln(x) - x.ln()).abs() <= 1e-15 * x.ln().abs().max(1.0), "{x}");
        }
    }

    #[test]
    fn traffic_without_end_is_an_error() {
        let endless = Synthetic {
            pattern: Pattern::Uniform,
            bytes: 4_096,
            arrival: Arrival::Exponential,
            messages: None,
            stop: None,
        };
        assert!(endless.check(4).is_err());
        assert!(
            Synthetic {
                stop: Some(Time::from_ns(1)),
                ..endless
            }
            .check(4)
            .is_ok()
        );
    }
}
