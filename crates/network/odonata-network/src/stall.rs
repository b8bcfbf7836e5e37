//! Stall diagnosis: distinguishes deadlock, livelock and starvation of packets in a halted fabric.
//!
//! - **Deadlock**: packets that wait for room in each other's buffers. Found by elimination: waiting packets that would
//!   fit once everything else has left are removed repeatedly; the remaining ones can never move.
//!   ([`deadlock`](crate::deadlock) proves whether a *routing* can deadlock.)
//! - **Livelock**: a packet moves, but has visited more routers than any path has.
//! - **Starvation**: a packet has waited for long while its output sent others, and longer than with inputs in turn.
//!
//! It costs nothing during a run: the diagnosis reads the state on request.

use crate::Payload;
use crate::fabric::{Fabric, Shared};
use crate::message::Traffic;
use crate::router::pipelined::stall as pipelined;
use crate::router::{input_port, input_queued, output_queued};
use crate::settings::{Arbitration, RouterModel};
use odonata_engine::{NIL, Plain, Time};
use std::collections::BTreeMap;

/// A buffer: of a virtual channel at the receiving end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Channel {
    /// The link, by its sending router port, or after all of these by its node's number; as in the topology.
    pub link: u32,
    /// The virtual channel.
    pub vc: u8,
}

/// A packet in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketView {
    /// The owner.
    pub traffic: Traffic,
    /// Source node.
    pub source: u32,
    /// Destination node.
    pub target: u32,
    /// Payload, bytes.
    pub bytes: u32,
    /// When its message was created.
    pub created: Time,
    /// Routers visited so far.
    pub hops: u16,
    /// The buffer that it occupies.
    pub holds: Channel,
}

/// A packet that waits for an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The packet.
    pub packet: PacketView,
    /// The buffer in which it needs room.
    pub wants: Channel,
    /// Since when its tail has been where it waits; in a pipelined router, since when its request could have been
    /// granted.
    pub since: Time,
    /// End of its output's last accepted transmission.
    pub output_until: Time,
}

/// Packets that wait for each other forever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// Number of packets that can never move.
    pub packets: usize,
    /// Some of them: each waits for room in the buffer that the next one occupies, the last one for the first's.
    pub cycle: Vec<Waiting>,
}

/// A packet of a search for deadlocks.
struct Candidate {
    view: PacketView,
    flits: u32,
    /// Its request; `None` for a packet behind the head of a FIFO, which waits for the head.
    waiting: Option<Waiting>,
    /// End of the range of equivalent channels that starts with that of `waiting`.
    end: u8,
    /// The packet ahead in the same queue.
    ahead: Option<usize>,
    stuck: bool,
}

/// What the diagnosis says of `packet`.
pub(crate) fn view_of<P: Payload>(shared: &Shared<P>, packet: u32) -> PacketView {
    let p = shared.packets.get(packet);
    let buffer = match shared.setup.params.router {
        RouterModel::Pipelined => p.buffer,
        RouterModel::InputQueued | RouterModel::OutputQueued => input_port(p),
    };
    let (link, _) = shared
        .flow
        .links
        .upstream_link(buffer)
        .unwrap_or((u32::MAX, odonata_topology::LinkClass::Local));
    PacketView {
        traffic: p.traffic,
        source: shared.messages.get(p.message).source,
        target: p.header.target,
        bytes: p.bytes,
        created: shared.messages.get(p.message).created,
        hops: p.hops,
        holds: Channel { link, vc: p.vc },
    }
}

/// End of the range of equivalent channels for a packet that requests `channel`, of a port of this part.
fn channels_asked_for<P: Payload>(shared: &Shared<P>, channel: Channel) -> u8 {
    if shared.setup.params.arbitration == Arbitration::FirstCome {
        return channel.vc + 1;
    }
    let class = shared.flow.link::<Plain>(shared.flow.links.port(channel.link)).class;
    shared.setup.vcs.end(class, channel.vc)
}

/// Calls `see` with the packets of this part that wait for room in a buffer, queue by queue, in the order of
/// service; `true` for the first of a queue.
fn waiting_packets<P: Payload>(shared: &Shared<P>, mut see: impl FnMut(u32, Waiting, bool)) {
    let input_queued = shared.setup.params.router == RouterModel::InputQueued;
    let arbiter = match input_queued {
        true => input_queued::arbiter(&shared.setup.params),
        false => output_queued::arbiter(&shared.setup.params),
    };
    for port in 0..shared.flow.links.ports {
        let link = shared.flow.link::<Plain>(port);
        for vc in 0..link.vcs {
            let cell = shared.flow.vc::<Plain>(link.first_vc + u32::from(vc));
            let line = if input_queued { cell.queue } else { cell.overflow };
            let mut first = true;
            arbiter.each::<Plain>(&shared.packets, line, |at| {
                let p = shared.packets.get(at);
                let waiting = Waiting {
                    packet: view_of(shared, at),
                    wants: Channel {
                        link: shared.flow.links.number(port),
                        vc,
                    },
                    since: p.tail_in,
                    output_until: shared.flow.port::<Plain>(port).free_at,
                };
                see(at, waiting, first);
                first = false;
            });
        }
    }
}

impl<P: Payload> Fabric<P> {
    /// The packets of this part that wait for an output or for room behind it.
    pub fn waiting(&self) -> Vec<Waiting> {
        let mut all = Vec::new();
        match self.carriers.packets.router.pipelined() {
            Some(router) => router.channels.waiting(&self.shared, |waiting| all.push(waiting)),
            None => waiting_packets(&self.shared, |_, waiting, _| all.push(waiting)),
        }
        all
    }

    /// The waiting packet that has visited the most routers, if more than `most`.
    pub fn livelocked(&self, most: u16) -> Option<Waiting> {
        let all = self.waiting().into_iter();
        all.filter(|waiting| waiting.packet.hops > most)
            .max_by_key(|waiting| waiting.packet.hops)
    }

    /// The packet that has waited longest at `now`, if that is longer than `least` and than with inputs in turn, and
    /// its output has started another packet since then.
    pub fn starved(&self, now: Time, least: Time) -> Option<Waiting> {
        let since = now.saturating_sub(least);
        let all = self.waiting();
        let mut lengths: BTreeMap<u32, u64> = BTreeMap::new();
        for waiting in &all {
            *lengths.entry(waiting.wants.link).or_default() += 1;
        }
        let waits_too_long = |waiting: &Waiting| {
            let length = lengths.get(&waiting.wants.link).copied().unwrap_or_default();
            now - waiting.since > self.longest_turn(waiting.wants.link, length)
        };
        all.into_iter()
            .filter(|waiting| waiting.since < since && waiting.output_until > since)
            .filter(waits_too_long)
            .min_by_key(|waiting| waiting.since)
    }

    /// The longest wait of the last of `packets` packets for router port `link` without stalls, if all inputs of the
    /// router send one packet before each of them.
    fn longest_turn(&self, link: u32, packets: u64) -> Time {
        let Shared {
            flow, setup, routes, ..
        } = &self.shared;
        let topology = routes.routing.topology();
        let inputs = topology.ports_of(topology.router_of_port(link)).len() as u64;
        let packet = flow.link::<Plain>(flow.links.port(link)).time_for(setup.params.packet);
        Time(packet.0.saturating_mul(packets.saturating_mul(inputs)))
    }

    /// Adds this part's packets, and the room in the buffers behind its links, to a search for deadlocks.
    fn candidates(&self, all: &mut Vec<Candidate>, capacity: &mut BTreeMap<Channel, u32>) {
        let mut known = BTreeMap::new();
        let mut last = None;
        waiting_packets(&self.shared, |slot, waiting, first| {
            let ahead = if first { None } else { last };
            last = Some(all.len());
            known.insert(slot, all.len());
            all.push(Candidate {
                view: waiting.packet,
                flits: self.shared.setup.flits(waiting.packet.bytes),
                waiting: Some(waiting),
                end: channels_asked_for(&self.shared, waiting.wants),
                ahead,
                stuck: true,
            });
        });
        for port in 0..self.shared.flow.links.ports {
            let link = self.shared.flow.link::<Plain>(port);
            // Nodes accept all packets.
            let room = if link.to_node { u32::MAX } else { link.capacity };
            for vc in 0..link.vcs {
                let link = self.shared.flow.links.number(port);
                capacity.insert(Channel { link, vc }, room);
            }
        }
        // Packets behind the head of a FIFO have not requested an output.
        let router = self.carriers.packets.router.input_queued();
        for fifo in router.into_iter().flat_map(|router| router.fifos()) {
            let mut ahead = known.get(&fifo.head).copied();
            let mut at = fifo.head;
            while at != NIL {
                let next = self.shared.packets.get(at).next;
                if !known.contains_key(&at)
                    && let Some(before) = ahead
                {
                    let view = view_of(&self.shared, at);
                    ahead = Some(all.len());
                    all.push(Candidate {
                        view,
                        flits: self.shared.setup.flits(view.bytes),
                        waiting: None,
                        end: 0,
                        ahead: Some(before),
                        stuck: true,
                    });
                }
                at = next;
            }
        }
    }
}

/// The deadlock in a fabric, given as all its parts; `None` if the network lets every packet move eventually.
pub fn find_deadlock<'a, P: Payload>(parts: impl IntoIterator<Item = &'a Fabric<P>>) -> Option<Deadlock> {
    let (mut all, mut capacity, mut fronts) = (Vec::new(), BTreeMap::new(), Vec::new());
    for part in parts {
        match part.carriers.packets.router.pipelined() {
            Some(router) => router.channels.fronts(&part.shared, &mut fronts),
            None => part.candidates(&mut all, &mut capacity),
        }
    }
    if !fronts.is_empty() {
        return pipelined::find_deadlock(&fronts);
    }
    // Flits of stuck packets in each buffer.
    let mut held = BTreeMap::<Channel, u32>::new();
    for one in &all {
        *held.entry(one.view.holds).or_default() += one.flits;
    }
    loop {
        let mut moved = false;
        for i in 0..all.len() {
            let one = &all[i];
            let blocked_ahead = one.ahead.is_some_and(|ahead| all[ahead].stuck);
            let fits = one.waiting.is_none_or(|waiting| {
                (waiting.wants.vc..one.end).any(|vc| {
                    let channel = Channel { vc, ..waiting.wants };
                    let room = capacity.get(&channel).copied().unwrap_or(u32::MAX);
                    room.saturating_sub(held.get(&channel).copied().unwrap_or(0)) >= one.flits
                })
            });
            if one.stuck && !blocked_ahead && fits {
                if let Some(flits) = held.get_mut(&one.view.holds) {
                    *flits -= one.flits;
                }
                all[i].stuck = false;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    let stuck = |one: &&Candidate| one.stuck;
    let packets = all.iter().filter(stuck).count();
    // For each buffer, one of its packets that waits for another buffer.
    let mut holders = BTreeMap::new();
    for waiting in all.iter().filter(stuck).filter_map(|one| one.waiting) {
        holders.entry(waiting.packet.holds).or_insert(waiting);
    }
    around(&holders).map(|cycle| Deadlock { packets, cycle })
}

/// A cycle among packets, one per buffer, each of which waits for another buffer.
pub(crate) fn around(holders: &BTreeMap<Channel, Waiting>) -> Option<Vec<Waiting>> {
    let mut path: Vec<Waiting> = Vec::new();
    let mut next = holders.values().next().copied()?;
    loop {
        if let Some(start) = path
            .iter()
            .position(|waiting| waiting.packet.holds == next.packet.holds)
        {
            return Some(path.split_off(start));
        }
        path.push(next);
        next = *holders.get(&next.wants)?;
    }
}
