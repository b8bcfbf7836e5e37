//! Queues of a NIC per output: which queue a message waits in.
//!
//! A node whose router has several cables, such as a GPU with NVLink and a NIC on its rail, reads the data of each
//! cable with a separate engine. A message for a slow cable does not delay one for a fast cable. So with
//! [`nic.send_queues`](crate::settings::SendQueues) per output, messages wait by the cable over which their packets
//! leave the node's router, and by their [level] on it. Packets that continue to a slow cable have their own level.
//! Each queue has its own room in the router. In shared room, packets for the slow cable would fill it, whatever the
//! order of turns.
//!
//! [level]: crate::routing::Decision::level

use crate::params::{NetworkParams, VirtualChannels};
use crate::routing::{Choice, Header, Path, Routing};
use odonata_topology::{LinkClass, Peer, Topology};

/// The queue of messages whose packets leave by no cable, or by one that is chosen per packet, at random or by load.
const ANY: u8 = 0;

/// Largest number of cables of each class at a router with nodes.
pub fn outputs(topology: &Topology) -> [u64; LinkClass::COUNT] {
    let mut most = [0; LinkClass::COUNT];
    let mut last = None;
    for router in (0..topology.nodes()).map(|node| topology.node_router(node)) {
        if last.replace(router) == Some(router) {
            continue;
        }
        let mut of_router = [0; LinkClass::COUNT];
        cables(topology, router).for_each(|port| of_router[topology.class(port) as usize] += 1);
        (most.iter_mut().zip(of_router)).for_each(|(most, cables)| *most = cables.max(*most));
    }
    most
}

/// The ports of `router` that lead to other routers.
fn cables(topology: &Topology, router: u32) -> impl Iterator<Item = u32> + '_ {
    (topology.ports_of(router)).filter(|&port| matches!(topology.peer(port), Peer::Router { .. }))
}

/// Number of queues of a NIC per traffic class, with these virtual channels.
pub(crate) fn count(params: &NetworkParams, topology: &Topology, vcs: VirtualChannels) -> u8 {
    match params.nic.send_queues.are_several() {
        true => params.nic.send_queues.count(&outputs(topology), vcs),
        false => 1,
    }
}

/// The queue, of `queues`, of messages from `source` to `target`.
pub(crate) fn of(queues: u8, routing: &Routing, source: u32, target: u32) -> u8 {
    if queues <= 1 {
        return ANY;
    }
    let topology = routing.topology();
    let router = topology.node_router(source);
    let mut choices = Choices(false);
    let decision = routing.decide(router, &mut Header::new(target), &mut choices);
    if choices.0 || !matches!(topology.peer(decision.port), Peer::Router { .. }) {
        return ANY;
    }
    let levels = routing.virtual_channels();
    let before = cables(topology, router).take_while(|&port| port != decision.port);
    let before: u32 = before
        .map(|port| u32::from(levels[topology.class(port) as usize]))
        .sum();
    // If there are more outputs than queues, they share the queues in turn.
    1 + ((before + u32::from(decision.level)) % u32::from(queues - 1)) as u8
}

/// Records whether the routing has used anything but the header.
struct Choices(bool);

impl Choice for Choices {
    fn pick(&mut self, n: u32) -> u32 {
        self.0 |= n > 1;
        0
    }
    fn lighter(&mut self, _: u32, _: u32) -> bool {
        self.0 = true;
        false
    }
    fn divert(&mut self, _: Path, _: Path) -> bool {
        self.0 = true;
        false
    }
    fn room(&mut self, _: u32, _: u8) -> bool {
        self.0 = true;
        true
    }
}
