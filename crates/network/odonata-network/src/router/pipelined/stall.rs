//! Stall diagnosis of pipelined routers: the dependencies between waiting packets, for [`stall`](crate::stall).
//!
//! Only the front packet of an input virtual channel matters. It is stuck if the output virtual channel that it has, or
//! each that it may have, is blocked. An output virtual channel is blocked if it leads to a buffer without room whose
//! front packet is stuck, or if a stuck input virtual channel holds it. Flits on wires are ignored. So packets found
//! stuck cannot move whatever happens, and at a standstill every stuck packet is found.

use super::channels::Channels;
use super::in_vc::{InVc, Stage};
use crate::Payload;
use crate::deadlock::outcomes;
use crate::fabric::Shared;
use crate::routing::Decision;
use crate::stall::{Channel, Deadlock, PacketView, Waiting, around, view_of};
use odonata_engine::{NIL, Speculative};
use std::collections::BTreeMap;

/// A virtual channel that a front packet waits for.
#[derive(Clone, Copy, Debug)]
struct WantedVc {
    wants: Channel,
    /// The input virtual channel, of another packet, that holds it.
    owner: Option<Channel>,
    /// Flits of room that are needed, and the capacity.
    room: u32,
    capacity: u32,
}

/// An input virtual channel that is not empty.
#[derive(Debug)]
pub(crate) struct Front {
    waiting: Waiting,
    /// Whether the head of the front packet is here; if not, [`waiting`](Self::waiting) does not identify it yet.
    head: bool,
    /// The packet whose head arrived last, if it is here.
    last: Option<PacketView>,
    heads: usize,
    present: u32,
    /// Nothing blocks the packet if this is empty.
    wanted_vcs: Vec<WantedVc>,
}

impl Channels {
    /// The buffer of input virtual channel `at`.
    fn buffer_of(&self, shared: &Shared<impl Payload>, at: u32) -> Channel {
        let (_, vc) = self.places[at as usize];
        let link = shared.flow.links.upstream_link(at).map_or(u32::MAX, |(link, _)| link);
        Channel { link, vc }
    }

    /// Packet `packet` in input virtual channel `at`.
    fn view(&self, shared: &Shared<impl Payload>, packet: u32, at: u32) -> PacketView {
        PacketView {
            holds: self.buffer_of(shared, at),
            ..view_of(shared, packet)
        }
    }

    /// The channels that the front packet of `at` waits for; empty if this router does not block it.
    fn wanted_vcs(&self, shared: &Shared<impl Payload>, router: u32, vc: &InVc) -> Vec<WantedVc> {
        let flits = u32::from(vc.left);
        let mut wanted_vcs = Vec::new();
        // Nodes accept all packets.
        let mut add = |port: u32, channel: u8, room: u32, active: bool| {
            let link = shared.flow.link::<Speculative>(port);
            let owner = *self.owners.get(link.first_vc + u32::from(channel));
            wanted_vcs.push((!link.to_node).then(|| WantedVc {
                wants: Channel {
                    link: shared.flow.links.number(port),
                    vc: channel,
                },
                owner: (!active && owner != NIL).then(|| self.buffer_of(shared, owner)),
                room,
                capacity: link.capacity,
            }));
        };
        let mut add_level = |port: u32, level: u8, spare: bool| {
            let room = self.room_wanted(&shared.setup, flits, spare).max(1);
            for channel in shared
                .setup
                .vcs
                .of(shared.flow.link::<Speculative>(port).class, level, vc.class)
            {
                add(port, channel, room, false);
            }
        };
        match vc.stage {
            Stage::Empty | Stage::New => {}
            Stage::Active if vc.present == 0 => {}
            Stage::Active => add(vc.port, vc.vc, 1, true),
            // Any of the channels that a new routing decision may give it.
            Stage::Routed if self.settings.reroutes => {
                let header = shared.packets.get(vc.heads.head).header;
                let mut decisions: Vec<Decision> = Vec::new();
                // Many outcomes lead to the same channel.
                outcomes(&shared.routes.routing, router, header, |decision, _| {
                    if !decisions.contains(&decision) {
                        decisions.push(decision);
                    }
                });
                for decision in decisions {
                    add_level(shared.flow.links.port(decision.port), decision.level, decision.spare);
                }
            }
            Stage::Routed => add_level(vc.port, vc.level, vc.terms.bubble()),
        }
        wanted_vcs
            .into_iter()
            .collect::<Option<Vec<WantedVc>>>()
            .unwrap_or_default()
    }

    /// Calls `see` with every non-empty input virtual channel of this part, and its router.
    fn see(&self, mut see: impl FnMut(u32, u32, &InVc)) {
        for (router, layout) in (self.first_router..).zip(&self.layouts) {
            for at in layout.first_vc..layout.first_vc + u32::from(layout.vcs) {
                let vc = self.vcs.get(at);
                if vc.stage != Stage::Empty {
                    see(router, at, vc);
                }
            }
        }
    }

    /// The channel that a front packet has or requests; of several channels of a level the first.
    fn wanted(&self, shared: &Shared<impl Payload>, vc: &InVc) -> Channel {
        let link = shared.flow.link::<Speculative>(vc.port);
        let channel = match vc.stage {
            Stage::Active => vc.vc,
            _ => shared.setup.vcs.of(link.class, vc.level, vc.class).start,
        };
        Channel {
            link: shared.flow.links.number(vc.port),
            vc: channel,
        }
    }

    /// The packets of this part whose head waits at the front of its buffer, for a virtual channel or for the switch.
    pub(crate) fn waiting(&self, shared: &Shared<impl Payload>, mut see: impl FnMut(Waiting)) {
        self.see(|_, at, vc| {
            if vc.stage != Stage::New && !vc.headless {
                see(Waiting {
                    packet: self.view(shared, vc.heads.head, at),
                    wants: self.wanted(shared, vc),
                    since: vc.ready,
                    output_until: shared.flow.port::<Speculative>(vc.port).free_at,
                });
            }
        });
    }

    /// Adds the input virtual channels of this part to a search for deadlocks.
    pub(crate) fn fronts(&self, shared: &Shared<impl Payload>, all: &mut Vec<Front>) {
        self.see(|router, at, vc| {
            let mut heads = 0;
            let mut next = vc.heads.head;
            while next != NIL {
                heads += 1;
                next = shared.packets.get(next).next;
            }
            let last = (heads > 0).then(|| self.view(shared, vc.heads.tail, at));
            let slot = if vc.headless { vc.delivered } else { vc.heads.head };
            let wanted_vcs = self.wanted_vcs(shared, router, vc);
            let known = slot != NIL;
            let holds = self.buffer_of(shared, at);
            let none = PacketView {
                traffic: 0,
                source: NIL,
                target: NIL,
                bytes: 0,
                created: vc.created,
                hops: 0,
                holds,
            };
            let wants = wanted_vcs.first().map_or(holds, |wanted_vc| wanted_vc.wants);
            let waiting = Waiting {
                packet: if known { self.view(shared, slot, at) } else { none },
                wants,
                since: vc.ready,
                output_until: if vc.stage == Stage::New {
                    vc.ready
                } else {
                    shared.flow.port::<Speculative>(vc.port).free_at
                },
            };
            all.push(Front {
                waiting,
                head: known,
                last,
                heads,
                present: u32::from(vc.present),
                wanted_vcs,
            });
        });
    }
}

/// The deadlock among `fronts`, those of all parts.
pub(crate) fn find_deadlock(fronts: &[Front]) -> Option<Deadlock> {
    let index: BTreeMap<Channel, usize> = (fronts.iter().zip(0..))
        .map(|(front, place)| (front.waiting.packet.holds, place))
        .collect();
    let mut stuck: Vec<bool> = fronts.iter().map(|front| !front.wanted_vcs.is_empty()).collect();
    loop {
        let mut moved = false;
        for place in 0..fronts.len() {
            let can = |wanted_vc: &WantedVc| {
                let is_stuck = |channel: &Channel| index.get(channel).filter(|&&at| stuck[at]);
                let room = wanted_vc.capacity
                    - is_stuck(&wanted_vc.wants).map_or(0, |&at| fronts[at].present.min(wanted_vc.capacity));
                wanted_vc.owner.is_none_or(|owner| is_stuck(&owner).is_none()) && room >= wanted_vc.room
            };
            if stuck[place] && fronts[place].wanted_vcs.iter().any(can) {
                stuck[place] = false;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    // A packet in several buffers, whose head is downstream, is the last one to arrive at its downstream buffer.
    let identify = |mut place: usize| {
        let front = &fronts[place];
        let mut known = front.head.then_some(front.waiting.packet);
        for _ in 0..fronts.len() {
            if known.is_some() {
                break;
            }
            place = *index.get(&fronts[place].waiting.wants)?;
            let next = &fronts[place];
            known = next.last.or(next.head.then_some(next.waiting.packet));
        }
        Some(Waiting {
            packet: PacketView {
                holds: front.waiting.packet.holds,
                ..known?
            },
            ..front.waiting
        })
    };
    let mut holders = BTreeMap::new();
    let mut packets = 0;
    for place in (0..fronts.len()).filter(|&place| stuck[place]) {
        packets += fronts[place].heads;
        if let Some(waiting) = identify(place) {
            holders.insert(waiting.packet.holds, waiting);
        }
    }
    around(&holders).map(|cycle| Deadlock { packets, cycle })
}
