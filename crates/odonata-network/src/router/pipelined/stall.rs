//! Stall diagnosis in pipelined routers: who waits for whom, for [`stall`](crate::stall).
//!
//! Only the front packet of an input virtual channel matters to it. It cannot move on if every output virtual channel that
//! it may have, or the one it has, leads to a buffer without room for it whose own front packet cannot move on, or
//! belongs to an input virtual channel that cannot. Flits on wires count for nothing, so that what is found to be stuck
//! is stuck whatever happens, and what stands still is found to be stuck.

use super::Pipelined;
use super::in_vc::{InVc, Stage};
use crate::Payload;
use crate::deadlock::outcomes;
use crate::fabric::Shared;
use crate::routing::Decision;
use crate::stall::{Channel, Deadlock, PacketView, Waiting, around};
use odonata_engine::NIL;
use std::collections::BTreeMap;

/// A virtual channel that a front packet waits for.
#[derive(Clone, Copy, Debug)]
struct Way {
    wants: Channel,
    /// The input virtual channel, of another packet, that has it.
    owner: Option<Channel>,
    /// Flits of room that are needed, of so many.
    room: u32,
    capacity: u32,
}

/// An input virtual channel that is not empty.
#[derive(Debug)]
pub(crate) struct Front {
    waiting: Waiting,
    /// Whether the front packet's head is here; if not, [`waiting`](Self::waiting) does not say yet who it is.
    head: bool,
    /// The packet whose head came last, if it is here.
    last: Option<PacketView>,
    heads: usize,
    present: u32,
    /// Nothing holds the packet up if there are none.
    ways: Vec<Way>,
}

impl Pipelined {
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
            ..shared.view_of(packet)
        }
    }

    /// What the front packet of `at` waits for; nothing if it can go on as far as this router is concerned.
    fn ways(&self, shared: &Shared<impl Payload>, router: u32, vc: &InVc) -> Vec<Way> {
        let flits = u32::from(vc.left);
        let mut ways = Vec::new();
        // Nodes take everything.
        let mut add = |port: u32, channel: u8, room: u32, active: bool| {
            let link = shared.flow.link(port);
            let owner = *self.owners.get(link.first_vc + u32::from(channel));
            ways.push((!link.to_node).then(|| Way {
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
            for channel in shared.setup.vcs.of(shared.flow.link(port).class, level, vc.class) {
                add(port, channel, room, false);
            }
        };
        match vc.stage {
            Stage::Empty | Stage::New => {}
            Stage::Active if vc.present == 0 => {}
            Stage::Active => add(vc.port, vc.vc, 1, true),
            // Any of the ways that it might be given when it is decided upon again.
            Stage::Routed if self.settings.reroutes => {
                let header = shared.packets.get(vc.heads.head).header;
                let mut decisions: Vec<Decision> = Vec::new();
                // Many outcomes lead the same way.
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
        ways.into_iter().collect::<Option<Vec<Way>>>().unwrap_or_default()
    }

    /// Calls `see` with every input virtual channel of this part that is not empty, and its router.
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

    /// Where a front packet goes or wants to go: of several channels of a level the first.
    fn wanted(&self, shared: &Shared<impl Payload>, vc: &InVc) -> Channel {
        let link = shared.flow.link(vc.port);
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
                    output_until: shared.flow.port(vc.port).free_at,
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
            let ways = self.ways(shared, router, vc);
            let known = slot != NIL;
            let holds = self.buffer_of(shared, at);
            let nobody = PacketView {
                traffic: 0,
                source: NIL,
                target: NIL,
                bytes: 0,
                created: vc.created,
                hops: 0,
                holds,
            };
            let wants = ways.first().map_or(holds, |way| way.wants);
            let waiting = Waiting {
                packet: if known { self.view(shared, slot, at) } else { nobody },
                wants,
                since: vc.ready,
                output_until: if vc.stage == Stage::New {
                    vc.ready
                } else {
                    shared.flow.port(vc.port).free_at
                },
            };
            all.push(Front {
                waiting,
                head: known,
                last,
                heads,
                present: u32::from(vc.present),
                ways,
            });
        });
    }
}

/// The deadlock that these are in, of all parts.
pub(crate) fn find_deadlock(fronts: &[Front]) -> Option<Deadlock> {
    let index: BTreeMap<Channel, usize> = (fronts.iter().zip(0..))
        .map(|(front, place)| (front.waiting.packet.holds, place))
        .collect();
    let mut stuck: Vec<bool> = fronts.iter().map(|front| !front.ways.is_empty()).collect();
    loop {
        let mut moved = false;
        for place in 0..fronts.len() {
            let can = |way: &Way| {
                let is_stuck = |channel: &Channel| index.get(channel).filter(|&&at| stuck[at]);
                let room = way.capacity - is_stuck(&way.wants).map_or(0, |&at| fronts[at].present.min(way.capacity));
                way.owner.is_none_or(|owner| is_stuck(&owner).is_none()) && room >= way.room
            };
            if stuck[place] && fronts[place].ways.iter().any(can) {
                stuck[place] = false;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    // A worm whose head is further on is the packet that came last to where it goes.
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
