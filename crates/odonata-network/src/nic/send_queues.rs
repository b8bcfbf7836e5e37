//! Queues of a NIC for each output: which one a message waits in.
//!
//! A node whose router has several cables, as a GPU with NVLink and an interface on its rail, has an engine for each that reads what
//! goes over it: a message for a slow cable holds up none for a fast one. So, if [`nic.send_queues`](crate::settings::SendQueues)
//! says so, messages wait by the cable over which their packets leave the node's router, and by their [level] on it: what goes on
//! to a slow cable from there has one of its own. Each queue has room of its own in the router: in one that they shared, packets for the slow
//! cable would come to fill it, whoever takes turns.
//!
//! [level]: crate::routing::Decision::level

use crate::params::{NetworkParams, VirtualChannels};
use crate::routing::{Choice, Header, Path, Routing};
use odonata_topology::{LinkClass, Peer, Topology};

/// The queue of messages whose packets leave by no cable, or by one that is drawn or chosen by load, packet by packet.
const ANY: u8 = 0;

/// Most cables of each class at a router that has nodes.
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

/// How many queues a NIC has for each traffic class, with so many virtual channels of each.
pub(crate) fn count(params: &NetworkParams, topology: &Topology, vcs: VirtualChannels) -> u8 {
    match params.nic.send_queues.are_several() {
        true => params.nic.send_queues.count(&outputs(topology), vcs),
        false => 1,
    }
}

/// The queue, of so many, of messages from `source` to `target`.
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
    // More outputs than queues share them in turn.
    1 + ((before + u32::from(decision.level)) % u32::from(queues - 1)) as u8
}

/// Notes whether the routing has asked for anything but the header.
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
