//! The data from which the tables are made, and helpers shared by several tables.

use crate::placement::Placement;
use crate::scenario::resolved::Resolved;
use odonata_engine::Time;
use odonata_host::HostMeasured;
use odonata_network::Measured;
use odonata_topology::{LinkClass, Peer, Topology};

/// Names of the two traffic classes of a job.
pub(super) const CLASSES: [&str; 2] = ["mpi", "io"];

/// All measurements until `now`.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub(super) scenario: &'a Resolved,
    pub(super) placement: &'a Placement,
    pub(super) topology: &'a Topology,
    pub(super) fabric: &'a Measured,
    pub(super) hosts: &'a HostMeasured,
    /// Per job, when its first rank started; `now` if none did.
    pub(super) starts: &'a [Time],
    pub(super) now: Time,
}

/// A sum of times in seconds.
pub(super) fn seconds(ps: u128) -> f64 {
    ps as f64 / 1e12
}

pub(super) fn mean(sum: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// The kind of a link's end that is a node.
const NODE: &str = "node";

/// The ends of a link: kind and number of both.
pub(crate) struct LinkEnds {
    pub(crate) class: LinkClass,
    pub(crate) source: (&'static str, u32),
    pub(crate) target: (&'static str, u32),
    /// The interface of the node, where nodes have several.
    pub(crate) interface: Option<u32>,
}

impl LinkEnds {
    /// Such as `r3>n12`; `r3>n12.1` to interface 1 of node 12.
    pub(crate) fn name(&self) -> String {
        let mut name = String::with_capacity(16);
        self.push_end(&mut name, self.source);
        name.push('>');
        self.push_end(&mut name, self.target);
        name
    }

    fn push_end(&self, name: &mut String, (kind, number): (&str, u32)) {
        name.push_str(&kind[..1]);
        name.push_str(&number.to_string());
        if let Some(interface) = self.interface.filter(|_| kind == NODE) {
            name.push('.');
            name.push_str(&interface.to_string());
        }
    }
}

/// The ends of link `link`; `None` for a port without cable.
pub(crate) fn ends(topology: &Topology, link: u32) -> Option<LinkEnds> {
    let several = topology.interfaces();
    let interface_of = |number: u32| (several > 1).then_some(number % several);
    let Some(number) = link.checked_sub(topology.ports()) else {
        let (target, interface) = match topology.peer(link) {
            Peer::Router { router, .. } => (("router", router), None),
            Peer::Node(number) => ((NODE, number / several), interface_of(number)),
            Peer::Free => return None,
        };
        return Some(LinkEnds {
            class: topology.class(link),
            source: ("router", topology.router_of_port(link)),
            target,
            interface,
        });
    };
    Some(LinkEnds {
        class: LinkClass::Terminal,
        source: (NODE, number / several),
        target: ("router", topology.node_router(number)),
        interface: interface_of(number),
    })
}
