//! Which global ports lead from group to group: the table that the routing of every kind of dragonfly asks.
//!
//! Its size is the number of global ports plus groups². It is read off the graph, so that failed cables are not in it.

use crate::{LinkClass, Topology};

/// A global port that leads from one group to another: the router it is at, the port (numbered over
/// the machine), and the router at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gateway {
    /// Router on this side.
    pub router: u32,
    /// Its global port.
    pub port: u32,
    /// Router on the far side.
    pub far_router: u32,
}

/// The gateways of each ordered pair of groups, in the order of their ports.
#[derive(Clone, Debug)]
pub(crate) struct Gateways {
    groups: usize,
    /// Where the gateways of each pair (from · groups + to) begin, and their number at the end.
    first: Vec<u32>,
    gateways: Vec<Gateway>,
}

impl Gateways {
    /// Of a machine of `groups` groups of `routers` consecutive routers each.
    pub(crate) fn new(topology: &Topology, groups: u32, routers: u32) -> Self {
        let (g, a) = (groups as usize, routers.max(1));
        // By counting: every pair's gateways stay in the order of ports.
        let global = || {
            (0..topology.ports()).filter_map(|port| {
                let far_router = topology.neighbour(port)?;
                let router = topology.router_of_port(port);
                let pair = (router / a) as usize * g + (far_router / a) as usize;
                let gateway = Gateway {
                    router,
                    port,
                    far_router,
                };
                (topology.class(port) == LinkClass::Global).then_some((pair, gateway))
            })
        };
        let mut first = vec![0; g * g + 1];
        global().for_each(|(pair, _)| first[pair + 1] += 1);
        for pair in 0..g * g {
            first[pair + 1] += first[pair];
        }
        let nothing = Gateway {
            router: u32::MAX,
            port: u32::MAX,
            far_router: u32::MAX,
        };
        let mut gateways = vec![nothing; first[g * g] as usize];
        let mut next = first.clone();
        for (pair, gateway) in global() {
            gateways[next[pair] as usize] = gateway;
            next[pair] += 1;
        }
        Gateways {
            groups: g,
            first,
            gateways,
        }
    }

    /// With the gateways of each pair in the order of `key`; those of one key keep their order.
    pub(crate) fn sorted_by_key(mut self, key: impl Fn(&Gateway) -> u32) -> Self {
        for pair in self.first.windows(2) {
            self.gateways[pair[0] as usize..pair[1] as usize].sort_by_key(&key);
        }
        self
    }

    /// The gateways from group `from` to group `to`.
    #[inline]
    pub(crate) fn between(&self, from: u32, to: u32) -> &[Gateway] {
        let pair = from as usize * self.groups + to as usize;
        &self.gateways[self.first[pair] as usize..self.first[pair + 1] as usize]
    }

    /// The gateways of `router`, which belongs to group `from`, to group `to`.
    #[inline]
    pub(crate) fn own(&self, router: u32, from: u32, to: u32) -> &[Gateway] {
        let all = self.between(from, to);
        let start = all.partition_point(|gateway| gateway.router < router);
        let own = &all[start..];
        let count = own.iter().take_while(|gateway| gateway.router == router).count();
        &own[..count]
    }

    /// Whether every pair of different groups has a gateway.
    ///
    /// # Errors
    /// A text naming the first pair without.
    pub(crate) fn check(&self) -> Result<(), String> {
        let g = self.groups;
        let missing = (0..g * g).find(|pair| pair / g != pair % g && self.first[*pair] == self.first[pair + 1]);
        match missing {
            Some(pair) => Err(format!("no cable is left between groups {} and {}", pair / g, pair % g)),
            None => Ok(()),
        }
    }
}
