//! Next ports toward other groups, where every pair of groups has one cable.

use crate::routing::NOWHERE;
use odonata_topology::Dragonfly;

/// The only cable from a group to another: router, global port, and the router's position in its group.
#[derive(Clone, Copy, Debug)]
struct OnlyCable {
    router: u32,
    port: u32,
    position: u32,
}

/// The only cable from each group to each other; empty if two groups have several, or none.
#[derive(Debug)]
pub(super) struct OnlyCables {
    groups: usize,
    /// By from · groups + to. Not used where both are the same.
    cables: Box<[OnlyCable]>,
}

/// The ports of a router toward other groups.
#[derive(Clone, Copy)]
pub(super) struct PortsToGroups<'a> {
    router: u32,
    position: u32,
    first_local: u32,
    /// The cables of its group, by the other group.
    cables: &'a [OnlyCable],
}

impl OnlyCables {
    pub(super) fn new(dragonfly: &Dragonfly) -> OnlyCables {
        let shape = dragonfly.shape();
        let pairs = (0..shape.groups).flat_map(|from| (0..shape.groups).map(move |to| (from, to)));
        let cable = |(from, to)| match dragonfly.gateways(from, to) {
            [only] => Some(OnlyCable {
                router: only.router,
                port: only.port,
                position: only.router - from * shape.routers,
            }),
            _ if from == to => Some(OnlyCable {
                router: NOWHERE,
                port: NOWHERE,
                position: NOWHERE,
            }),
            _ => None,
        };
        OnlyCables {
            groups: shape.groups as usize,
            cables: pairs.map(cable).collect::<Option<_>>().unwrap_or_default(),
        }
    }

    /// Forgets the table, as if groups had several cables.
    #[cfg(test)]
    pub(super) fn clear(&mut self) {
        self.cables = Box::default();
    }

    /// The ports of `router` in group `here`, if every pair of groups has one cable.
    #[inline(always)]
    pub(super) fn ports(&self, dragonfly: &Dragonfly, router: u32, here: u32) -> Option<PortsToGroups<'_>> {
        let first = here as usize * self.groups;
        let cables = self.cables.get(first..first + self.groups)?;
        let shape = dragonfly.shape();
        Some(PortsToGroups {
            router,
            position: router - here * shape.routers,
            first_local: dragonfly.topology().first_port(router) + shape.nodes,
            cables,
        })
    }
}

impl PortsToGroups<'_> {
    /// The port toward another group; the global port behind it if that belongs to another router, else [`NOWHERE`].
    #[inline(always)]
    pub(super) fn toward(&self, group: u32) -> (u32, u32) {
        let cable = self.cables[group as usize];
        if cable.router == self.router {
            return (cable.port, NOWHERE);
        }
        // A router has no local port to itself.
        let skipped = u32::from(cable.position > self.position);
        (self.first_local + cable.position - skipped, cable.port)
    }
}
