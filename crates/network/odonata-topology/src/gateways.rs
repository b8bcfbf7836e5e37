//! Gateways: the global ports from group to group, a routing table for every kind of dragonfly.
//!
//! Its size is the number of global ports plus groups². It is built from the graph, so it excludes failed cables.

use crate::{LinkClass, Topology};

/// A global port from one group to another: its router, the port (numbered over the machine), and the router at the far
/// end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gateway {
    /// Router on this side.
    pub router: u32,
    /// Its global port.
    pub port: u32,
    /// Router on the far side.
    pub far_router: u32,
}

/// The gateways of each ordered pair of groups, in port order.
#[derive(Clone, Debug)]
pub(crate) struct Gateways {
    groups: usize,
    /// Start of each pair's gateways (from · groups + to), and their total at the end.
    first: Vec<u32>,
    gateways: Vec<Gateway>,
}

/// The gateways of each ordered pair of groups, by part (row or column) of the first group.
#[derive(Clone, Debug)]
pub(crate) struct GatewaysByPart {
    of_pairs: Gateways,
    parts: usize,
    /// Start for each pair and part ((from · groups + to) · parts + part), and the total at the end. Empty if pairs
    /// have so few gateways that the table would be much larger; then they are searched.
    first: Vec<u32>,
}

impl Gateways {
    /// For a machine of `groups` groups of `routers` consecutive routers each.
    pub(crate) fn new(topology: &Topology, groups: u32, routers: u32) -> Self {
        let (g, a) = (groups as usize, routers.max(1));
        // Counting sort keeps port order within each pair.
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

    /// The gateways from group `from` to group `to`.
    #[inline]
    pub(crate) fn between(&self, from: u32, to: u32) -> &[Gateway] {
        let pair = from as usize * self.groups + to as usize;
        &self.gateways[self.first[pair] as usize..self.first[pair + 1] as usize]
    }

    /// Checks that every pair of different groups has a gateway.
    ///
    /// # Errors
    /// The first pair without one.
    pub(crate) fn check(&self) -> Result<(), String> {
        let g = self.groups;
        let missing = (0..g * g).find(|pair| pair / g != pair % g && self.first[*pair] == self.first[pair + 1]);
        match missing {
            Some(pair) => Err(format!("no cable is left between groups {} and {}", pair / g, pair % g)),
            None => Ok(()),
        }
    }
}

impl GatewaysByPart {
    /// For a machine of `groups` groups of `routers` consecutive routers each; `part` returns the part, of `parts`, of
    /// a router.
    pub(crate) fn new(topology: &Topology, groups: u32, routers: u32, parts: u32, part: impl Fn(u32) -> u32) -> Self {
        let mut of_pairs = Gateways::new(topology, groups, routers);
        for pair in of_pairs.first.windows(2) {
            // A stable sort keeps port order within each part.
            of_pairs.gateways[pair[0] as usize..pair[1] as usize].sort_by_key(|gateway| part(gateway.router));
        }
        let (pairs, parts) = (of_pairs.groups * of_pairs.groups, parts as usize);
        let mut first = Vec::new();
        if pairs.saturating_mul(parts) <= 4 * of_pairs.gateways.len() {
            first = vec![0; pairs * parts + 1];
            for (pair, of_pair) in of_pairs.first.windows(2).enumerate() {
                for gateway in &of_pairs.gateways[of_pair[0] as usize..of_pair[1] as usize] {
                    first[pair * parts + part(gateway.router) as usize + 1] += 1;
                }
            }
            for place in 0..pairs * parts {
                first[place + 1] += first[place];
            }
        }
        GatewaysByPart { of_pairs, parts, first }
    }

    /// The gateways from group `from` to group `to`, part by part.
    #[inline]
    pub(crate) fn between(&self, from: u32, to: u32) -> &[Gateway] {
        self.of_pairs.between(from, to)
    }

    /// The gateways in part `wanted` of group `from`; `part` as in [`new`](Self::new).
    #[inline]
    pub(crate) fn of_part(&self, from: u32, wanted: u32, to: u32, part: impl Fn(u32) -> u32) -> &[Gateway] {
        let place = (from as usize * self.of_pairs.groups + to as usize) * self.parts + wanted as usize;
        if let [start, end, ..] = self.first.get(place..).unwrap_or_default() {
            return &self.of_pairs.gateways[*start as usize..*end as usize];
        }
        let all = self.between(from, to);
        let start = all.partition_point(|gateway| part(gateway.router) < wanted);
        let rest = &all[start..];
        &rest[..rest.partition_point(|gateway| part(gateway.router) == wanted)]
    }

    #[cfg(test)]
    pub(crate) fn is_searched(&self) -> bool {
        self.first.is_empty()
    }

    /// # Errors
    /// Those of [`Gateways::check`].
    pub(crate) fn check(&self) -> Result<(), String> {
        self.of_pairs.check()
    }
}

/// The entries of `gateways`, sorted by router, at `router`.
#[inline]
pub(crate) fn at(router: u32, gateways: &[Gateway]) -> &[Gateway] {
    let start = gateways.partition_point(|gateway| gateway.router < router);
    let own = &gateways[start..];
    let count = own.iter().take_while(|gateway| gateway.router == router).count();
    &own[..count]
}
