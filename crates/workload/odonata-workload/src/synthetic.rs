//! Synthetic traffic: open-loop sources, which send whether or not the network keeps up.
//!
//! A source needs two random draws per message, one for the destination and one for the gap. The caller provides them
//! as 64 random bits each, so they can be part of rolled-back state; everything here is a pure function of the draws,
//! of the rank, and of the number of messages it has sent.

mod arrival;
mod choice;
mod grid_shift;
mod neighbors;
mod params;
mod pattern;
mod traffic_matrix;
mod worst_case;

pub use arrival::{Arrival, Bursts, OnOff};
pub use choice::ArrivalKind;
pub use grid_shift::{GridShift, Step};
pub use neighbors::{Neighbors, Reach, Tornado, Turn};
pub use params::{PatternParams, Surroundings, SyntheticParams, table, wrong_dims};
pub use pattern::Pattern;
pub use traffic_matrix::TrafficMatrix;
pub use worst_case::WorstCase;

use odonata_units::Time;

/// The traffic of a job without a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthetic {
    /// Where messages go.
    pub pattern: Pattern,
    /// Size of a message in bytes.
    pub bytes: u64,
    /// Distribution of the times between the messages of a rank.
    pub arrival: Arrival,
    /// Bursts and silences; `None` without bursts.
    pub bursts: Option<Bursts>,
    /// Number of messages of each rank; `None` for no limit.
    pub messages: Option<u64>,
    /// No message starts at or after this time; `None` for no limit.
    pub stop: Option<Time>,
    /// Whether another job will stop the ranks.
    pub stopped_by_job: bool,
    /// Whether ranks send to themselves if the pattern says so, over the network like any other message.
    pub itself: bool,
}

impl Synthetic {
    /// Checks that the traffic can run on `ranks` ranks, and ends.
    ///
    /// # Errors
    /// Those of [`Pattern::check`]; a burst or a silence without duration; or none of `messages`, `stop`, `stopped_by_job` is
    /// given.
    pub fn check(&self, ranks: u32) -> Result<(), String> {
        if self.messages.is_none() && self.stop.is_none() && !self.stopped_by_job {
            return Err("endless synthetic traffic: expected messages, stop, or both".into());
        }
        if let Some(Bursts { on, off }) = self.bursts
            && (on == Time::ZERO || off == Time::ZERO)
        {
            return Err("a burst or a silence takes no time: expected at least 1 ps each".into());
        }
        match self.pattern {
            Pattern::Permutation { ref targets } if self.itself => pattern::permutes(targets, ranks),
            Pattern::Matrix(ref matrix) if self.itself => pattern::same_ranks(matrix.ranks(), ranks),
            _ => self.pattern.check(ranks),
        }
    }

    /// Whether `rank` of `ranks` sends.
    pub fn sends(&self, rank: u32, ranks: u32) -> bool {
        match self.pattern {
            Pattern::Incast { .. } | Pattern::Matrix(_) => self.pattern.sends(rank, ranks),
            _ => self.itself || self.pattern.sends(rank, ranks),
        }
    }

    /// Destination of message number `sequence`, from 0, of `rank` among `ranks`; `draw` is 64 fresh random bits.
    #[inline]
    pub fn destination(&self, rank: u32, ranks: u32, draw: u64, sequence: u64) -> u32 {
        match self.itself {
            false => self.pattern.destination(rank, ranks, draw, sequence),
            true => self.pattern.destination_or_itself(rank, ranks, draw, sequence),
        }
    }
}

/// Uniform below `n` by multiplication (Lemire, "Fast Random Integer Generation in an Interval",
/// 2019, without rejection: the bias is below `n / 2^64`); 0 for 0.
#[inline]
fn below(n: u32, draw: u64) -> u32 {
    ((u128::from(draw) * u128::from(n)) >> 64) as u32
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A plain generator for tests (Knuth's MMIX constants).
    pub(crate) fn draws() -> impl Iterator<Item = u64> {
        std::iter::successors(Some(1u64), |x| {
            Some(
                x.wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407),
            )
        })
        .map(|x| x ^ (x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9))
    }

    #[test]
    fn traffic_without_end_is_an_error() {
        let endless = Synthetic {
            pattern: Pattern::Uniform,
            bytes: 4_096,
            arrival: Arrival::Exponential,
            bursts: None,
            messages: None,
            stop: None,
            stopped_by_job: false,
            itself: false,
        };
        assert!(endless.check(4).is_err());
        let stop = Some(Time::from_ns(1));
        assert!(
            Synthetic {
                stop,
                ..endless.clone()
            }
            .check(4)
            .is_ok()
        );
        assert!(
            Synthetic {
                stopped_by_job: true,
                ..endless.clone()
            }
            .check(4)
            .is_ok()
        );
        let bursts = Some(Bursts {
            on: Time::from_ns(1),
            off: Time::ZERO,
        });
        assert!(
            Synthetic {
                stop,
                bursts,
                ..endless
            }
            .check(4)
            .is_err()
        );
    }

    #[test]
    fn ranks_send_to_themselves_only_if_they_are_allowed_to() {
        let traffic = |pattern, itself| Synthetic {
            pattern,
            bytes: 64,
            arrival: Arrival::Exponential,
            bursts: None,
            messages: Some(1),
            stop: None,
            stopped_by_job: false,
            itself,
        };
        // Uniform: 80,000 draws over 8 ranks, 10,000 each, standard deviation 94.
        let uniform = traffic(Pattern::Uniform, true);
        let mut counts = [0u32; 8];
        for draw in draws().take(80_000) {
            counts[uniform.destination(3, 8, draw, 0) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 500), "{counts:?}");
        // The diagonal of a square.
        let silent = |itself| {
            let transpose = traffic(Pattern::Transpose, itself);
            (0..16).filter(|&rank| !transpose.sends(rank, 16)).count()
        };
        assert_eq!((silent(false), silent(true)), (4, 0));
        assert_eq!(traffic(Pattern::Transpose, true).destination(5, 16, 0, 0), 5);
        // All ranks in turn, the rank itself last.
        let all: Vec<u32> = (0..4)
            .map(|k| traffic(Pattern::AllToAll, true).destination(1, 4, 0, k))
            .collect();
        assert_eq!(all, [2, 3, 0, 1]);
        // Targets of an incast only receive, and a permutation may have fixed points.
        let targets = [0].into();
        assert!(!traffic(Pattern::Incast { targets }, true).sends(0, 4));
        let fixed = |itself| {
            traffic(
                Pattern::Permutation {
                    targets: [1, 0, 2].into(),
                },
                itself,
            )
            .check(3)
        };
        assert!(fixed(true).is_ok() && fixed(false).is_err());
    }
}
