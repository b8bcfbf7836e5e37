//! Lookahead: how soon one part of a machine can influence another; it sets the windows of parallel schedulers.
//!
//! Over a cable between two parts travel
//!
//! - packets: the event at the far router is when the head has been routed, at least the link's latency and the
//!   router's pipeline after it was sent;
//! - credits, against the direction of their link: a credit delay after the buffer was freed.
//!
//! A cable has two directions, so the two parts of a cut cable can influence each other after
//!
//! ```text
//! min(latency + router_delay, credit_delay)
//! ```
//!
//! and two parts after the minimum over the cables between them. If the routers of a group publish their loads
//! ([`Knowledge`](crate::Knowledge)), two parts with routers of one group can also influence each other after that
//! delay, with or without a cable between them. A node is always in the part of its router, so terminal links do not
//! count.

use crate::flow::CableDelays;
use crate::settings::Fidelity;
use crate::{Fidelities, NetworkParams};
use odonata_engine::{Partition, Time};
use odonata_topology::{LinkClass, Peer, Topology};

/// The delays of influence over the links of each class, by [`LinkClass`] number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkDelays {
    /// Latency.
    pub latency: [Time; LinkClass::COUNT],
    /// Time from freeing a buffer until the credit counts.
    pub credit: [Time; LinkClass::COUNT],
    /// Time from the arrival of a head until it has been routed.
    pub router: Time,
    /// The number of routers per group, and the delay of their published loads, if any.
    pub groups: Option<(u32, Time)>,
    /// The latency of messages without packets, and of announcements of messages of an Ethernet: from any router to any other, over no cable.
    pub everywhere: Option<Time>,
    /// Whether there are also packets.
    pub packets: bool,
}

impl LinkDelays {
    /// The delays of links with these latencies and credit delays, and of routers with this pipeline.
    pub fn new(links: [(Time, Time); LinkClass::COUNT], router_delay: Time) -> LinkDelays {
        LinkDelays {
            latency: links.map(|(latency, _)| latency),
            credit: links.map(|(_, credit_delay)| credit_delay),
            router: router_delay,
            groups: None,
            everywhere: None,
            packets: true,
        }
    }

    /// Adds groups whose routers publish loads, as [`Fabric::groups`](crate::Fabric::groups) gives.
    pub fn with_groups(self, groups: Option<(u32, Time)>) -> LinkDelays {
        LinkDelays { groups, ..self }
    }

    /// Adds messages without packets from any router to any other, with delay `flow` as flows and `analytic` in the
    /// LogGP model; `fidelities` gives the models in use. An Ethernet announces them after the latency of a terminal link.
    pub fn with_messages(self, fidelities: &Fidelities, flow: Time, analytic: Time) -> LinkDelays {
        let announcement = self.latency[LinkClass::Terminal as usize];
        let delays = [
            (Fidelity::Flow, flow),
            (Fidelity::Analytic, analytic),
            (Fidelity::Ethernet, announcement),
        ];
        let used = delays.into_iter().filter(|&(fidelity, _)| fidelities.has(fidelity));
        LinkDelays {
            everywhere: used.map(|(_, delay)| delay).min(),
            packets: fidelities.use_cables(),
            ..self
        }
    }

    /// Least time from the start of a packet on a link of `class` until its head has been routed at the far end.
    pub fn packet(&self, class: LinkClass) -> Time {
        self.of_cable(class, None).0
    }

    /// The lookahead over a cut cable of `class`, with latency `own` in place of that of its class.
    pub fn lookahead(&self, class: LinkClass, own: Option<Time>) -> Time {
        let (packet, credit) = self.of_cable(class, own);
        packet.min(credit)
    }

    /// The delays of packets and of credits over a cable of `class`, with latency `own` in place of that of its class.
    fn of_cable(&self, class: LinkClass, own: Option<Time>) -> (Time, Time) {
        let (latency, credit) = (self.latency[class as usize], self.credit[class as usize]);
        let delays = CableDelays::new((latency, credit), own);
        (delays.latency + self.router, delays.credit)
    }
}

impl From<&NetworkParams> for LinkDelays {
    fn from(params: &NetworkParams) -> LinkDelays {
        let links = params.links.map(|link| (*link.latency, *link.credit_delay));
        let analytic = params.analytic.map_or(Time::NEVER, |model| model.latency);
        let flow = crate::fluid::hand_over(params);
        LinkDelays::new(links, params.routing_delay()).with_messages(&params.fidelities, flow, analytic)
    }
}

/// A cable with zero delay between two parts: parts that influence each other at once cannot run in parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoLookahead {
    /// The routers at its ends.
    pub routers: (u32, u32),
    /// Its class.
    pub class: LinkClass,
    /// Whether its credits have zero delay; otherwise its packets.
    pub credit: bool,
}

impl std::fmt::Display for NoLookahead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (a, b) = self.routers;
        let class = self.class.name();
        let what = if self.credit { "a credit" } else { "a packet" };
        write!(
            f,
            "routers {a} and {b} cannot be in different parts: {what} takes no time over the {class} link between them"
        )
    }
}

impl std::error::Error for NoLookahead {}

/// The parts whose first routers are `bounds` (the last bound is the number of routers), with the lookahead between
/// parts that share a cable. Time and memory are proportional to the ports, the parts, and the pairs of parts that
/// share a cable.
///
/// # Errors
/// A cable without lookahead would be cut.
///
/// # Panics
/// The bounds do not rise from 0 to the number of routers.
pub fn partition(topology: &Topology, delays: &LinkDelays, bounds: &[u32]) -> Result<Partition, NoLookahead> {
    let part_of = parts_of_routers(topology, bounds);
    let parts = bounds.len() - 1;
    let mut senders = Vec::with_capacity(parts);
    // Per other part the smallest delay so far, and the list of parts that have one.
    let mut smallest = vec![Time::NEVER; parts];
    let mut found: Vec<u32> = Vec::new();
    if let Some(latency) = delays.everywhere.filter(|_| !delays.packets) {
        let others = |part| (0..parts as u32).filter(move |&other| other != part);
        let senders = (0..parts as u32).map(|part| others(part).map(|other| (other, latency)).collect());
        return Ok(
            Partition::new(bounds.to_vec(), senders.collect()).expect("bounds rise, and the latency is positive")
        );
    }
    for part in 0..parts {
        for cable in cables_of(topology, bounds[part]..bounds[part + 1]) {
            let sender = part_of[cable.far_router as usize];
            if sender as usize == part {
                continue;
            }
            let own = topology.latency(cable.port);
            let lookahead = delays.lookahead(cable.medium, own);
            if lookahead == Time::ZERO {
                return Err(NoLookahead {
                    routers: (cable.router, cable.far_router),
                    class: cable.class,
                    credit: delays.of_cable(cable.medium, own).1 == Time::ZERO,
                });
            }
            let entry = &mut smallest[sender as usize];
            if *entry == Time::NEVER {
                found.push(sender);
            }
            *entry = (*entry).min(lookahead);
        }
        if let Some((size, delay)) = delays.groups {
            // Only the first and the last group of a part can have routers in other parts.
            for router in [bounds[part], bounds[part + 1] - 1] {
                let group = router / size * size..((router / size + 1) * size).min(topology.routers());
                for &sender in part_of[group.start as usize..group.end as usize].iter() {
                    if sender as usize == part {
                        continue;
                    }
                    let entry = &mut smallest[sender as usize];
                    if *entry == Time::NEVER {
                        found.push(sender);
                    }
                    *entry = (*entry).min(delay);
                }
            }
        }
        if let Some(latency) = delays.everywhere {
            found.clear();
            for sender in (0..parts as u32).filter(|&sender| sender as usize != part) {
                smallest[sender as usize] = smallest[sender as usize].min(latency);
                found.push(sender);
            }
        }
        found.sort_unstable();
        let take = |sender| (sender, std::mem::replace(&mut smallest[sender as usize], Time::NEVER));
        senders.push(found.drain(..).map(take).collect());
    }
    Ok(Partition::new(bounds.to_vec(), senders).expect("bounds rise, and no delay is zero"))
}

/// The cut of a division: all cables and cables between parts, by [`LinkClass`] number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// All cables; of the terminal class one per node.
    pub cables: [u32; LinkClass::COUNT],
    /// Cables whose ends are in different parts.
    pub cut: [u32; LinkClass::COUNT],
}

/// Counts the cables that the parts starting at `bounds` cut.
///
/// # Panics
/// The bounds do not rise from 0 to the number of routers.
pub fn cut(topology: &Topology, bounds: &[u32]) -> Cut {
    let part_of = parts_of_routers(topology, bounds);
    let mut counts = Cut::default();
    counts.cables[LinkClass::Terminal as usize] = topology.nodes();
    for cable in cables_of(topology, 0..topology.routers()) {
        // Each cable occurs from both ends.
        if cable.port < cable.far_port {
            let class = cable.class as usize;
            counts.cables[class] += 1;
            counts.cut[class] += u32::from(part_of[cable.router as usize] != part_of[cable.far_router as usize]);
        }
    }
    counts
}

struct CableEnd {
    router: u32,
    port: u32,
    far_router: u32,
    far_port: u32,
    class: LinkClass,
    /// The class that gives its delays.
    medium: LinkClass,
}

/// The cables from the ports of `routers` to other routers.
fn cables_of(topology: &Topology, routers: std::ops::Range<u32>) -> impl Iterator<Item = CableEnd> {
    routers.flat_map(move |router| {
        topology
            .ports_of(router)
            .filter_map(move |port| match topology.peer(port) {
                Peer::Router {
                    router: far_router,
                    port: far_port,
                } => Some(CableEnd {
                    router,
                    port,
                    far_router,
                    far_port,
                    class: topology.class(port),
                    medium: topology.medium(port),
                }),
                Peer::Node(_) | Peer::Free => None,
            })
    })
}

fn parts_of_routers(topology: &Topology, bounds: &[u32]) -> Vec<u32> {
    let routers = topology.routers();
    assert!(
        bounds.first() == Some(&0) && bounds.last() == Some(&routers) && bounds.is_sorted_by(|a, b| a < b),
        "parts cover all routers, and none is empty"
    );
    let mut part_of = Vec::with_capacity(routers as usize);
    for (part, range) in (0..).zip(bounds.windows(2)) {
        part_of.resize(range[1] as usize, part);
    }
    part_of
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_topology::{Arrangement, Cable, Dragonfly, DragonflyShape};

    const DELAYS: LinkDelays = LinkDelays {
        latency: [Time(7), Time(50), Time(900), Time(60)],
        credit: [Time(1), Time(30), Time(400), Time(20)],
        router: Time::ZERO,
        groups: None,
        everywhere: None,
        packets: true,
    };

    fn dragonfly() -> Topology {
        let shape = DragonflyShape {
            groups: 5,
            routers: 4,
            nodes: 2,
            global_ports: 2,
            cables: None,
        };
        Dragonfly::new(shape, Arrangement::Absolute).unwrap().topology().clone()
    }

    /// The smallest delay over all pairs of ports of two parts, by definition.
    fn by_pairs(topology: &Topology, from: std::ops::Range<u32>, to: std::ops::Range<u32>) -> Time {
        let mut least = Time::NEVER;
        for port in from.flat_map(|router| topology.ports_of(router)) {
            if let Peer::Router { router, port: far } = topology.peer(port)
                && to.contains(&router)
            {
                // A packet along the link, and a credit of the link from the other end.
                least = least.min(DELAYS.packet(topology.class(port)));
                least = least.min(DELAYS.credit[topology.class(far) as usize]);
            }
        }
        least
    }

    #[test]
    fn lookahead_is_the_smallest_over_the_cables_between_two_parts() {
        let topology = dragonfly();
        for bounds in [
            vec![0, 20],
            vec![0, 8, 20],
            vec![0, 4, 8, 12, 16, 20],
            vec![0, 1, 6, 7, 18, 20],
        ] {
            let partition = partition(&topology, &DELAYS, &bounds).unwrap();
            let mut smallest = Time::NEVER;
            for to in 0..partition.len() {
                let senders = partition.senders(to);
                assert!(senders.is_sorted_by_key(|&(sender, _)| sender));
                for from in (0..partition.len()).filter(|&from| from != to) {
                    let expected = by_pairs(&topology, partition.range(from), partition.range(to));
                    let found = senders.iter().find(|&&(sender, _)| sender as usize == from);
                    assert_eq!(found.map_or(Time::NEVER, |&(_, delay)| delay), expected);
                    smallest = smallest.min(expected);
                }
            }
            assert_eq!(partition.lookahead(), smallest);
        }
    }

    /// Cuts between whole groups cut only global cables; with one group per part, all of them.
    #[test]
    fn cut_cables_are_counted_once() {
        let topology = dragonfly();
        let groups = cut(&topology, &[0, 4, 8, 12, 16, 20]);
        assert_eq!((groups.cables, groups.cut), ([40, 30, 20, 0], [0, 0, 20, 0]));
        assert_eq!(cut(&topology, &[0, 20]).cut, [0; 4]);
        // Two routers of group 0 are separate from the other two: 2 x 2 of its cables, and 2 x 2 to other groups.
        assert_eq!(cut(&topology, &[0, 2, 20]).cut, [0, 4, 4, 0]);
    }

    #[test]
    fn a_cable_over_which_something_takes_no_time_is_not_cut() {
        let topology = dragonfly();
        let free = LinkDelays {
            credit: [Time::ZERO, Time::ZERO, Time(9), Time(9)],
            ..DELAYS
        };
        // Between groups there is lookahead, inside them none.
        assert_eq!(partition(&topology, &free, &[0, 4, 20]).unwrap().lookahead(), Time(9));
        let error = partition(&topology, &free, &[0, 5, 20]).unwrap_err();
        assert_eq!((error.class, error.credit), (LinkClass::Local, true));
        assert_eq!(
            error.to_string(),
            "routers 4 and 5 cannot be in different parts: a credit takes no time over the local link between them"
        );
        let at_once = LinkDelays::new([1, 1, 0, 1].map(|latency| (Time(latency), Time(1))), Time::ZERO);
        let error = partition(&topology, &at_once, &[0, 4, 20]).unwrap_err();
        assert_eq!((error.class, error.credit), (LinkClass::Global, false));
        assert!(
            error
                .to_string()
                .contains("a packet takes no time over the global link")
        );
        assert!(partition(&topology, &at_once, &[0, 20]).is_ok());
    }

    #[test]
    fn a_pipeline_delays_packets_and_no_credits() {
        let links = [20, 500, 110, 70].map(|credit_delay| (Time(10), Time(credit_delay)));
        let delays = LinkDelays::new(links, Time(100));
        assert_eq!(
            LinkClass::ALL.map(|class| delays.lookahead(class, None)),
            [20, 110, 110, 70].map(Time)
        );
    }

    #[test]
    fn parts_without_a_cable_between_them_have_no_lookahead_to_keep() {
        let cable = Cable {
            a: (0, 0),
            b: (1, 0),
            class: LinkClass::Local,
        };
        let topology = Topology::new(&[1, 1, 1], &[], &[cable]).unwrap();
        let partition = partition(&topology, &DELAYS, &[0, 1, 2, 3]).unwrap();
        assert_eq!(partition.senders(0), [(1, Time(30))]);
        assert_eq!(partition.senders(1), [(0, Time(30))]);
        assert!(partition.senders(2).is_empty());
    }
}
