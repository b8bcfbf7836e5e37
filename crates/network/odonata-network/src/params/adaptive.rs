//! Adaptive routing: what a router knows of loads, and when a packet leaves its minimal path.

use crate::settings::Comparison;
use odonata_engine::Time;

/// The rule by which a packet leaves its minimal path. Loads are bytes that wait for a port or are in flight from it, m
/// on the minimal and o on the other path; h are the hops of each path, 1 unless [`hops`](Self::hops).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detour {
    /// How the loads are compared.
    pub rule: Comparison,
    /// T, bytes.
    pub threshold: u64,
    /// b.
    pub bias: f64,
    /// Whether loads are multiplied by the hops of their path (UGAL: Singh, "Load-balanced routing in interconnection
    /// networks", 2005).
    pub hops: bool,
}

impl Default for Detour {
    /// The path with less than half the load.
    fn default() -> Self {
        Detour {
            rule: Comparison::Both,
            threshold: 0,
            bias: 2.0,
            hops: false,
        }
    }
}

impl Detour {
    /// Whether a packet takes the other path, given (load, hops) of the minimal and of the other.
    #[inline]
    pub fn decide(&self, minimal: (u64, u32), other: (u64, u32)) -> bool {
        let weight = |(load, hops): (u64, u32)| match self.hops {
            true => load as f64 * f64::from(hops),
            false => load as f64,
        };
        let (m, o) = (weight(minimal), weight(other));
        match self.rule {
            Comparison::Both => minimal.0 > self.threshold && m > self.bias * o,
            Comparison::Sum => m > self.bias * o + self.threshold as f64,
        }
    }

    /// Whether a packet stays on a minimal path of this load, whatever the load of the other.
    #[inline]
    pub(crate) fn stays(&self, minimal: u64) -> bool {
        match self.rule {
            Comparison::Both => minimal <= self.threshold,
            Comparison::Sum => minimal == 0 && self.bias >= 0.0,
        }
    }
}

/// Which loads a router knows when it chooses among its ports ([`routers_of_a_group`] gives the networks on which it
/// can know more than its own). Loads are bytes as in [`Detour`].
///
/// [`routers_of_a_group`]: crate::routing::Routing::routers_of_a_group
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Knowledge {
    /// The loads of its own ports (UGAL-L).
    #[default]
    Local,
    /// Also the loads of all global ports of its group: a path through one of them has its load in addition to that of
    /// its first port (UGAL-G: J. Kim, W. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly
    /// topology", ISCA 2008; there without delay, here as published).
    Global {
        /// How loads are published.
        broadcast: Broadcast,
    },
    /// Also one bit for each global port of its group, whether it is congested: a packet whose minimal path uses a
    /// congested port leaves it; for others the router's own ports decide (piggybacking: N. Jiang, J. Kim, W. Dally,
    /// "Indirect adaptive routing on large scale interconnection networks", ISCA 2009). A port with load q is congested
    /// if q > T and q > f m, with m the mean load of its router's global ports.
    Piggyback {
        /// How it is published.
        broadcast: Broadcast,
        /// f. With n ports the load of one is at most n times their mean: a factor of n or more marks none as
        /// congested.
        factor: f64,
        /// T, bytes. The load in flight on a link at full rate is not congestion.
        threshold: u64,
    },
}

impl Knowledge {
    /// How loads of other routers are published, if they are.
    pub fn broadcast(&self) -> Option<Broadcast> {
        match *self {
            Knowledge::Local => None,
            Knowledge::Global { broadcast } | Knowledge::Piggyback { broadcast, .. } => Some(broadcast),
        }
    }
}

/// How routers publish the loads of their ports to their group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broadcast {
    /// A router publishes changes at multiples of this time; positive.
    pub interval: Time,
    /// Delay until the group knows them; positive.
    pub delay: Time,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_that_stays_leaves_for_no_other_load() {
        for rule in [Comparison::Both, Comparison::Sum] {
            for (threshold, bias, hops) in [(0, 2.0, false), (5, 0.0, true), (3, -1.0, false), (0, -1.0, true)] {
                let detour = Detour {
                    rule,
                    threshold,
                    bias,
                    hops,
                };
                for (m, o) in (0..9).flat_map(|m| (0..9).map(move |o| (m, o))) {
                    assert!(
                        !(detour.stays(m) && detour.decide((m, 3), (o, 5))),
                        "{detour:?} {m} {o}"
                    );
                }
                assert!(detour.stays(0) || (rule, bias) == (Comparison::Sum, -1.0), "{detour:?}");
                assert!(!detour.stays(threshold + 1), "{detour:?}");
            }
        }
    }
}
