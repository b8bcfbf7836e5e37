//! Routing on a Slim Fly (M. Besta, T. Hoefler, "Slim Fly: a cost effective low-diameter network topology", SC 2014).
//!
//! - **minimal**: at most two cables; of several shortest paths a random one;
//! - **Valiant**: minimal to a random router, then minimal: at most four;
//! - **UGAL-L**: at the source router one or the other, by the load of the first port.
//!
//! A packet's level is the number of cables between routers that it has taken: 2 levels for minimal, else 4, in both
//! classes (I. Gopal, "Prevention of store-and-forward deadlock in computer networks", IEEE Trans. Communications 33(12),
//! 1985, as there). All cables are needed: these algorithms know no way around a failed one.

use super::{Choice, Decision, Header, NOWHERE, Path};
use odonata_topology::SlimFly;

/// How paths on a Slim Fly are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlimFlyAlgorithm {
    /// Shortest paths.
    Minimal,
    /// Over a random router.
    Valiant,
    /// Minimal or over a random router, decided by load at the source.
    Ugal,
}

/// A routing algorithm on a Slim Fly.
#[derive(Debug)]
pub struct SlimFlyRouting {
    fly: SlimFly,
    algorithm: SlimFlyAlgorithm,
    candidates: u32,
}

impl SlimFlyRouting {
    /// A routing on `fly`; `candidates` (at least 1) random non-minimal paths are compared before the lightest is held
    /// against the minimal one.
    ///
    /// # Errors
    /// Cables failed.
    pub fn new(fly: SlimFly, algorithm: SlimFlyAlgorithm, candidates: u32) -> Result<Self, String> {
        super::refuse_failed(fly.topology(), "a Slim Fly")?;
        Ok(SlimFlyRouting {
            fly,
            algorithm,
            candidates: candidates.max(1),
        })
    }

    /// The Slim Fly it routes on.
    pub fn fly(&self) -> &SlimFly {
        &self.fly
    }

    pub(super) fn virtual_channels(&self) -> crate::VirtualChannels {
        match self.algorithm {
            SlimFlyAlgorithm::Minimal => [1, 2, 2, 0],
            SlimFlyAlgorithm::Valiant | SlimFlyAlgorithm::Ugal => [1, 4, 4, 0],
        }
    }

    #[inline]
    pub(super) fn decide(&self, router: u32, header: &mut Header, choice: &mut impl Choice) -> Decision {
        let topology = self.fly.topology();
        let home = topology.node_router(header.target);
        if header.via == NOWHERE && header.level == 0 {
            match self.algorithm {
                SlimFlyAlgorithm::Minimal => {}
                SlimFlyAlgorithm::Valiant => header.via = choice.pick(topology.routers()),
                SlimFlyAlgorithm::Ugal if router == home => {}
                SlimFlyAlgorithm::Ugal => {
                    let port = self.choose_via(router, home, header, choice);
                    return Self::take(port, header);
                }
            }
        }
        if header.via != NOWHERE && !header.via_reached {
            if router != header.via {
                return Self::take(self.minimal(router, header.via, choice), header);
            }
            header.via_reached = true;
        }
        if router == home {
            return Decision::new(topology.node_port(header.target), 0);
        }
        Self::take(self.minimal(router, home, choice), header)
    }

    #[inline]
    fn take(port: u32, header: &mut Header) -> Decision {
        header.level += 1;
        Decision::new(port, header.level - 1)
    }

    /// The next port of a shortest path to another router.
    #[inline]
    fn minimal(&self, router: u32, to: u32, choice: &mut impl Choice) -> u32 {
        if let Some(port) = self.fly.direct_port(router, to) {
            return port;
        }
        let n = self.fly.middles(router, to);
        self.fly.middle_port(router, to, if n > 1 { choice.pick(n) } else { 0 })
    }

    /// Decides whether a packet goes over a random router; its first port.
    fn choose_via(&self, router: u32, home: u32, header: &mut Header, choice: &mut impl Choice) -> u32 {
        let routers = self.fly.topology().routers();
        let minimal = self.minimal(router, home, choice);
        let best = super::lightest_port(self.candidates, choice, |choice| {
            let via = choice.pick(routers);
            let elsewhere = via != router && via != home;
            elsewhere.then(|| (via, self.minimal(router, via, choice)))
        });
        let Some((via, port)) = best else {
            return minimal;
        };
        let links = |a, b| 2 - u32::from(self.fly.direct_port(a, b).is_some());
        let path = |port, links| Path {
            port,
            hops: links,
            remote: NOWHERE,
        };
        let (direct, detour) = (links(router, home), links(router, via) + links(via, home));
        if !choice.divert(path(minimal, direct), path(port, detour)) {
            return minimal;
        }
        header.via = via;
        port
    }
}
