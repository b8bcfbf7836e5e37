//! Synthetic traffic: open-loop sources, which send whether or not the network keeps up.
//!
//! A source needs two random draws per message, one for the destination and one for the gap. They
//! come from the caller, as 64 random bits each, so that they can be part of the state that an
//! engine rolls back; everything here is a pure function of them, of the rank, and of how many messages
//! the rank has sent.

mod arrival;
mod neighbours;
mod pattern;

pub use arrival::{Arrival, Bursts};
pub use neighbours::{Neighbours, Reach, Tornado, Turn};
pub use pattern::Pattern;

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
    /// Bursts and silences; `None`: the source is never silent.
    pub bursts: Option<Bursts>,
    /// How many messages each rank sends; `None`: any number.
    pub messages: Option<u64>,
    /// No message starts at or after this time; `None`: at any time.
    pub stop: Option<Time>,
    /// Whether somebody will tell the ranks to stop.
    pub told: bool,
}

impl Synthetic {
    /// Checks that the traffic can run on `ranks` ranks, and ends.
    ///
    /// # Errors
    /// As [`Pattern::check`]; a burst or a silence without duration; or none of `messages`, `stop`, `told`
    /// is given.
    pub fn check(&self, ranks: u32) -> Result<(), String> {
        if self.messages.is_none() && self.stop.is_none() && !self.told {
            return Err("synthetic traffic without end: expected messages, stop, or both".into());
        }
        if let Some(Bursts { on, off }) = self.bursts
            && (on == Time::ZERO || off == Time::ZERO)
        {
            return Err("a burst or a silence takes no time: expected at least 1 ps each".into());
        }
        self.pattern.check(ranks)
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
            told: false,
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
                told: true,
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
}
