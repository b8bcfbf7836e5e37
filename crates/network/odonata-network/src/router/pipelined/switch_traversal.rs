//! Switch traversal: flits with a granted crossbar traversal leave their buffers and are in flight.

use super::clock::Subcycle;
use super::congestion::Leaving;
use super::in_vc::Stage;
use super::losses::Passed;
use super::{Freed, Pipelined, RouterLayout};
use crate::Payload;
use crate::fabric::Shared;
use crate::features::HandlerContext;
use crate::flow::Link;
use crate::observe::{Observer, Transmission};
use crate::router::NO_INPUT;
use odonata_engine::{List, NIL, Time};

/// Cycles that a due credit may stay uncounted. Counting each credit separately costs more than its flit; counting them
/// only when a buffer seems full would fill the caches.
const OVERDUE: u64 = 8;

/// The times of all flits that traverse the crossbar of a router in one subcycle.
#[derive(Clone, Copy)]
pub(super) struct Traversal {
    pub(super) granted: Subcycle,
    /// When they leave their buffers.
    pub(super) left: Time,
    /// When they can start on their links.
    pub(super) crossed: Time,
    /// Credits due by then are counted.
    overdue: Time,
}

impl Pipelined {
    /// The times of the flits granted the crossbar in subcycle `granted`.
    pub(super) fn traversal(&self, granted: Subcycle) -> Traversal {
        let overdue = granted.cycle.0.saturating_sub(OVERDUE * self.timing.period().0);
        Traversal {
            granted,
            left: self.timing.left(granted),
            crossed: self.timing.crossed(granted),
            overdue: Time(overdue),
        }
    }
}

impl Pipelined {
    /// A flit departs on `port`, on virtual channel `out`, numbered over all. Returns its arrival time at the other
    /// end.
    #[inline(always)]
    pub(super) fn depart<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        (port, link): (u32, &Link),
        out: u32,
        traversal: &Traversal,
        sent: Transmission,
    ) -> Time {
        let cycle = traversal.granted.cycle;
        if self.counts_waiting {
            shared.flow.edit_port::<C>(port).waiting_flits -= 1;
        }
        shared.flow.count_overdue_flits::<C>(port, traversal.overdue, cycle);
        let (departure, since) = shared.flow.send_flit::<C>(port, out, traversal.crossed, link.flit);
        shared.flow.observers.credits_are_taken::<C>(out, 1, cycle);
        if shared.flow.leaves_no_room(port, out, link.capacity) {
            shared.flow.flit_leaves::<C>(port, out, cycle);
        }
        shared.remote.load_grows(ctx, &shared.flow.links, port, 1);
        shared.flow.observers.port_resumes::<C>(port, since, cycle);
        (shared.flow.observers).port_sends::<C>((port, link.class), departure, sent);
        departure + link.flit + link.latency
    }

    /// The next flit of `at` traverses the crossbar.
    #[inline]
    pub(super) fn traverse_switch<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        at: u32,
        traversal: &Traversal,
    ) {
        let tag = self.flit_crosses::<C>(&mut shared.flow, layout, at, traversal);
        let vc = self.vcs.edit::<C>(at);
        let (port, out, packet, owner) = (vc.port, vc.vc, vc.heads.head, vc.traffic);
        let (head, tail) = (!vc.headless, vc.left == 1);
        let bytes = if tail {
            u64::from(vc.last)
        } else {
            shared.setup.params.flit
        } as u32;
        if head {
            // Avoids reading the packet if it is the only one.
            if packet == vc.heads.tail {
                vc.heads = List::EMPTY;
            } else {
                vc.heads.pop(&shared.packets);
            }
            vc.headless = true;
        }
        let following = vc.heads.head;
        vc.present -= 1;
        vc.left -= 1;
        if tail {
            vc.stage = Stage::Empty;
        }
        let link = shared.flow.link::<C>(port);
        let mut delivered = NIL;
        if link.to_node {
            delivered = if head { packet } else { vc.delivered };
            vc.delivered = if tail { NIL } else { delivered };
        }

        let sent = Transmission {
            packets: u64::from(tail),
            bytes,
            busy: link.flit,
        };
        let out_vc = link.first_vc + u32::from(out);
        let arrival = self.depart(ctx, shared, (port, &link), out_vc, traversal, sent);
        if shared.classes.is_on::<C>() {
            let input = self.port_of(layout, at);
            let sender = (self.vcs.get(at).class, 0, NO_INPUT);
            let lacking = |port: u32, side: usize| self.lacking[port as usize][side];
            let (out, of_input) = (lacking(port, 0), lacking(input, 1));
            let rooms = (shared.room_behind::<C>(port), shared.room_behind::<C>(input));
            shared.classes.sent::<C>(port, sender, bytes, out, rooms.0);
            self.input_classes.sent::<C>(input, sender, bytes, of_input, rooms.1);
        }
        if shared.congestion.is_on::<C>() && (if link.to_node { tail } else { head }) {
            let leaving = Leaving {
                packet: if link.to_node { delivered } else { packet },
                at,
                following,
                port,
                arrival,
            };
            self.packet_leaves(ctx, shared, layout, &link, traversal, leaving);
        }
        let buffer = link.far + u32::from(out);
        let space = Freed { owner, tag };
        let flit = Passed {
            at,
            owner,
            packet: match link.to_node {
                true => tail.then_some(delivered),
                false => head.then_some(packet),
            },
            tail,
            port,
            buffer,
            arrival,
        };
        self.flit_departs::<C>(shared, layout, &link, traversal, &flit);
        if link.to_node {
            let due = arrival + self.timing.period() + link.credit_delay;
            self.return_flit(ctx, shared, (port, out), space, due);
            if tail {
                shared.deliver(ctx, delivered, (arrival, false));
            }
        } else if head {
            if link.leaves {
                shared.packets.edit::<C>(packet).buffer = buffer;
                shared.export::<C>(packet, link.far_lp, arrival);
            } else {
                self.send_head(ctx, shared, (link.far_lp, buffer), packet, arrival);
            }
        } else if link.leaves {
            shared.boundary.export_flit(link.far_lp, arrival, buffer);
        } else {
            self.send_body(ctx, (link.far_lp, buffer), arrival);
        }
        let of_input = self.places[at as usize].1;
        self.free_flit(ctx, shared, (at, of_input), space, traversal.left);
        if tail && following != NIL {
            self.packet_leaves_front::<C>(&mut shared.flow, (at, owner), tag, traversal);
        }
        shared.flow.observers.release_tag::<C>(tag);

        if !tail {
            return;
        }
        *self.owners.edit::<C>(link.first_vc + u32::from(out)) = NIL;
        if following == NIL {
            self.edit_occupied::<C>(layout, at, false);
        } else {
            let begin = self.timing.following(traversal.granted);
            self.move_up::<C>(shared, at, following, begin);
        }
    }
}
