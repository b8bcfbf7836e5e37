//! Traffic of flows on links, pipes and sets of links: that of a pipe or set is distributed over its links evenly when
//! it is read.

use super::pipes::Pipes;
use crate::observe::statistics::LinkStats;
use odonata_engine::{Store, Time};
use odonata_topology::Topology;

/// Units of a byte, and of a packet. The traffic of a whole machine may exceed 64 bits of them.
const UNIT: f64 = 4096.0;

/// Bytes and packets in [`UNIT`]s: integers, so that sums are exact.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct LinkTraffic {
    bytes: u128,
    packets: u128,
    /// Mean time of its links.
    busy: Time,
}

impl LinkTraffic {
    /// Adds this fraction of a message; `capacity` in bytes per picosecond.
    pub(super) fn add(&mut self, bytes: u64, packets: u64, fraction: f64, capacity: f64) {
        let on_link = |number: u64| (number as f64 * fraction * UNIT).round() as u128;
        self.bytes += on_link(bytes);
        self.packets += on_link(packets);
        self.busy += Time((bytes as f64 * fraction / capacity).round() as u64);
    }

    /// The part of link `number` of `of` equal ones.
    fn part(&self, number: u32, of: u32) -> LinkTraffic {
        let (number, of) = (u128::from(number), u128::from(of));
        let part = |all: u128| all * (number + 1) / of - all * number / of;
        LinkTraffic {
            bytes: part(self.bytes),
            packets: part(self.packets),
            busy: self.busy,
        }
    }

    fn join(&mut self, other: LinkTraffic) {
        self.bytes += other.bytes;
        self.packets += other.packets;
        self.busy += other.busy;
    }
}

/// The traffic on each link, router ports first, then NICs.
pub(super) fn of_links(traffic: &Store<LinkTraffic>, pipes: &Pipes, topology: &Topology) -> Vec<LinkStats> {
    // Links of each pipe and set so far.
    let mut before = vec![0; traffic.len()];
    let links = 0..topology.ports() + topology.nodes();
    let of_link = |link: u32| {
        let mut sum = LinkTraffic::default();
        let mut add = |number: u32| {
            let at = &mut before[number as usize];
            sum.join(traffic.get(number).part(*at, pipes.members(number)));
            *at += 1;
        };
        if link >= topology.ports() {
            add(link);
        } else if topology.is_live(link) {
            add(pipes.number(link));
            pipes.sets_of(topology, link).for_each(add);
        }
        let whole = |parts: u128| (parts as f64 / UNIT).round() as u64;
        LinkStats {
            bytes: whole(sum.bytes),
            packets: whole(sum.packets),
            busy: sum.busy,
            ..LinkStats::default()
        }
    };
    links.map(of_link).collect()
}
