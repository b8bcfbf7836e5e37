//! Cables that differ from their class: failed ones, and ones with another class, bandwidth, latency or buffer.
//!
//! A cable is named by the two routers it connects and, among several, its index in the order of the first router's
//! ports. The ports of a failed cable are free. Families route around it as long as another path exists.

use odonata_units::{Bytes, Time};

use crate::{LinkClass, Topology};

/// How a cable differs from its class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// It carries no traffic: its two ports are free.
    Failed,
    /// It has this fraction of the bandwidth of its class; above 0.
    Degraded(f64),
    /// It has bandwidth, latency and buffers of this class in place of its own.
    Medium(LinkClass),
    /// It has this latency in place of that of its class.
    Latency(Time),
    /// It has buffers of this size, per virtual channel, in place of those of its class.
    Buffer(Bytes),
}

/// A difference of one cable, or of all cables between two routers, from their class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// The two routers.
    pub routers: (u32, u32),
    /// The index of the cable, from 0, in the order of the first router's ports; `None` for all of them.
    pub index: Option<u32>,
    /// What differs.
    pub effect: Effect,
}

impl Topology {
    /// Applies `faults`. Indices refer to the cables before the call. Of several faults of a cable, `Failed` wins,
    /// otherwise the last.
    ///
    /// # Errors
    /// The pair of routers without this cable, or a factor that is not above 0. Nothing is changed then.
    pub fn impair(&mut self, faults: &[Fault]) -> Result<(), String> {
        let mut failed = Vec::new();
        let mut degraded = Vec::new();
        let mut media = Vec::new();
        let mut latencies = Vec::new();
        let mut buffers = Vec::new();
        for fault in faults {
            let (a, b) = fault.routers;
            if let Some(wrong) = [a, b].into_iter().find(|&router| router >= self.routers()) {
                return Err(format!("no router {wrong}: there are {}", self.routers()));
            }
            let cables: Vec<u32> = self
                .ports_of(a)
                .filter(|&port| self.neighbour(port) == Some(b))
                .collect();
            let chosen = match fault.index {
                None => &cables[..],
                Some(index) => cables.get(index as usize).map_or(&[][..], std::slice::from_ref),
            };
            if chosen.is_empty() {
                return Err(match fault.index {
                    Some(index) if !cables.is_empty() => format!(
                        "no cable {index} between routers {a} and {b}: there are {}",
                        cables.len()
                    ),
                    _ => format!("no cable between routers {a} and {b}"),
                });
            }
            match fault.effect {
                Effect::Failed => failed.extend(chosen),
                Effect::Medium(class) => media.extend(chosen.iter().map(|&port| (port, class))),
                Effect::Latency(latency) => latencies.extend(chosen.iter().map(|&port| (port, latency))),
                Effect::Buffer(buffer) => buffers.extend(chosen.iter().map(|&port| (port, buffer))),
                Effect::Degraded(factor) if factor.is_finite() && factor > 0.0 => {
                    degraded.extend(chosen.iter().map(|&port| (port, factor)));
                }
                Effect::Degraded(factor) => {
                    return Err(format!(
                        "the cable between routers {a} and {b} has {factor} of its bandwidth: a number above 0 is expected"
                    ));
                }
            }
        }
        for (port, class) in media {
            self.set_medium(port, class);
        }
        for (port, latency) in latencies {
            self.set_latency(port, latency);
        }
        for (port, buffer) in buffers {
            self.set_buffer(port, buffer);
        }
        for (port, factor) in degraded {
            self.set_factor(port, factor)?;
        }
        for port in failed {
            self.disconnect(port);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cable, Peer};

    /// Two routers with three cables, and a third router with one to the second.
    fn topology() -> Topology {
        let cable = |a, b| Cable {
            a,
            b,
            class: LinkClass::Local,
        };
        let cables = [
            cable((0, 0), (1, 2)),
            cable((0, 1), (1, 1)),
            cable((0, 2), (1, 0)),
            cable((1, 3), (2, 0)),
        ];
        Topology::new(&[3, 4, 1], &[], &cables).unwrap()
    }

    fn fault(routers: (u32, u32), index: Option<u32>, effect: Effect) -> Fault {
        Fault { routers, index, effect }
    }

    #[test]
    fn a_failed_cable_leaves_two_free_ports() {
        let mut t = topology();
        t.impair(&[fault((0, 1), Some(0), Effect::Failed)]).unwrap();
        assert_eq!((t.peer(0), t.peer(5)), (Peer::Free, Peer::Free));
        assert_eq!(t.failed(), [(0, 5)]);
        assert_eq!((t.live(0..3), t.nth_live(0..3, 0), t.nth_live(0..3, 1)), (2, 1, 2));
    }

    #[test]
    fn indices_count_from_the_first_router_and_before_any_fault() {
        let mut t = topology();
        let second = fault((0, 1), Some(1), Effect::Failed);
        let last_seen_from_1 = fault((1, 0), Some(0), Effect::Failed);
        t.impair(&[second, last_seen_from_1]).unwrap();
        assert_eq!(t.failed(), [(1, 4), (3, 2)]);
        let mut all = topology();
        all.impair(&[fault((1, 0), None, Effect::Failed)]).unwrap();
        assert_eq!((all.live(0..3), all.failed().len()), (0, 3));
    }

    #[test]
    fn a_degraded_cable_has_its_factor_at_both_ends() {
        let mut t = topology();
        assert!(!t.has_factors());
        t.impair(&[fault((1, 2), None, Effect::Degraded(0.25))]).unwrap();
        assert_eq!((t.factor(6), t.factor(7), t.factor(0)), (0.25, 0.25, 1.0));
    }

    #[test]
    fn missing_targets_are_named_and_nothing_changes() {
        let mut t = topology();
        let good = fault((0, 1), None, Effect::Failed);
        for (wrong, text) in [
            (fault((0, 2), None, Effect::Failed), "between routers 0 and 2"),
            (fault((0, 1), Some(3), Effect::Failed), "there are 3"),
            (fault((0, 3), None, Effect::Failed), "no router 3"),
            (fault((0, 1), None, Effect::Degraded(0.0)), "above 0"),
            (fault((0, 1), None, Effect::Degraded(f64::NAN)), "above 0"),
        ] {
            assert!(t.impair(&[good, wrong]).unwrap_err().contains(text));
        }
        assert!(t.failed().is_empty() && !t.has_factors());
    }
}
