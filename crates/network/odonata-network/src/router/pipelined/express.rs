//! Flits that pass a router in the cycle of their arrival, without being queued.
//!
//! A packet of one flit that arrives at an empty input port, and whose output has no other request, gets its virtual
//! channel in the first step of the cycle and the crossbar in the second. It shares neither input nor output with other
//! packets, so the allocators need not consider it; only the pointers of the arbiters that would have chosen it
//! advance.
//!
//! This takes two steps per cycle, and applies to [small](super::small) routers with the common settings.

use super::clock::Subcycle;
use super::congestion::Leaving;
use super::losses::Passed;
use super::small::{PORTS, next};
use super::switch_traversal::Traversal;
use super::{Freed, Pipelined, RouterLayout};
use crate::Payload;
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::observe::Transmission;
use crate::packet::Route;
use odonata_engine::{NIL, Time};

#[derive(Clone, Copy, Debug)]
pub(super) struct Passing {
    packet: u32,
    /// Local number of its output port and of the virtual channel there.
    port: u32,
    out: u32,
    /// The port, numbered in the router, and the channel, numbered in the port.
    pub(super) output: u16,
    channel: u8,
    /// The virtual channel of its input port.
    pub(super) of_input: u8,
}

impl Passing {
    pub(super) const NONE: Passing = Passing {
        packet: NIL,
        port: 0,
        out: 0,
        output: 0,
        channel: 0,
        of_input: 0,
    };
}

/// A packet that has arrived in this cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newcomer {
    packet: u32,
    at: u32,
    /// Input port and output, numbered in the router, and its virtual channel of the input port.
    input: u16,
    output: u16,
    channel: u8,
    /// Whether it has only one flit.
    single: bool,
    route: Route,
}

/// The ports of all packets that arrive in a cycle or are queued, as bits: used ports, and ports used more than once.
pub(super) struct Newcomers {
    inputs: u64,
    outputs: u64,
    crowded_inputs: u64,
    crowded_outputs: u64,
}

impl Pipelined {
    /// Whether flits may pass in a cycle with this number of steps.
    #[inline]
    pub(super) fn lets_pass(&self, steps: u32) -> bool {
        self.small && steps >= 2 && self.timing.allocates_in_a_step()
    }

    /// Begins the list of packets that arrive at a router in a cycle.
    pub(super) fn begin_newcomers(&mut self, layout: RouterLayout) -> Newcomers {
        self.newcomers.clear();
        // Used inputs and outputs, and those used more than once.
        let (inputs, outputs) = self.busy(layout);
        Newcomers {
            inputs,
            outputs,
            crowded_inputs: inputs,
            crowded_outputs: outputs,
        }
    }

    /// The head of `packet` has arrived at `arrival`.
    #[inline(always)]
    pub(super) fn newcomer<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        (router, layout): (u32, RouterLayout),
        (packet, arrival): (u32, Time),
        all: &mut Newcomers,
    ) {
        let (at, single, route) = self.route_arrival::<M>(shared, router, packet, arrival);
        let (input, channel) = self.places[at as usize];
        let output = (route.port - layout.first_port) as u16;
        let (in_bit, out_bit) = (1 << (input % 64), 1 << (output % 64));
        all.crowded_inputs |= all.inputs & in_bit;
        all.crowded_outputs |= all.outputs & out_bit;
        all.inputs |= in_bit;
        all.outputs |= out_bit;
        self.newcomers.push(Newcomer {
            packet,
            at,
            input,
            output,
            channel,
            single,
            route,
        });
    }

    /// All packets have arrived in time for `cycle`: each is queued or will pass.
    pub(super) fn settle_newcomers<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        all: &Newcomers,
        cycle: Time,
    ) {
        let newcomers = std::mem::take(&mut self.newcomers);
        for newcomer in &newcomers {
            let crowded =
                (all.crowded_inputs >> (newcomer.input % 64)) | (all.crowded_outputs >> (newcomer.output % 64));
            let passes = crowded & 1 == 0 && newcomer.single;
            if !passes || !self.can_pass::<M>(shared, layout, newcomer, cycle) {
                let &Newcomer { packet, at, route, .. } = newcomer;
                self.queue_head::<M>(shared, layout, (packet, at), Some(route), cycle);
            }
        }
        self.newcomers = newcomers;
    }

    /// The input and output ports of queued packets, as bits.
    #[inline]
    fn busy(&self, layout: RouterLayout) -> (u64, u64) {
        let (mut inputs, mut outputs) = (0, 0);
        for word in 0..layout.words() {
            let mut bits = *self.occupied.get(layout.first_word + word);
            while bits != 0 {
                let at = layout.first_vc + word * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                inputs |= 1 << (self.places[at as usize].0 % 64);
                outputs |= 1 << ((self.vcs.get(at).port - layout.first_port) % 64);
            }
        }
        (inputs, outputs)
    }

    /// Lets the packet pass if the buffer behind its output has room.
    #[inline]
    fn can_pass<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        newcomer: &Newcomer,
        cycle: Time,
    ) -> bool {
        let &Newcomer {
            packet,
            at,
            route,
            input,
            output,
            channel: of_input,
            ..
        } = newcomer;
        let link = shared.flow.link::<M>(route.port);
        let best = self.best_channel::<M>(shared, layout, (at, 1), (route, &link), cycle);
        if best == NIL {
            return false;
        }
        let out = layout.first_vc + best;
        if !shared.flow.has_room_at::<M>((route.port, &link), out, 1, cycle) {
            return false;
        }
        let local = at - layout.first_vc;
        if shared.setup.vcs.are_several() {
            *self.vc_inputs.edit::<M>(at) = next(best as u16, layout.vcs);
        }
        *self.vc_outputs.edit::<M>(out) = next(local as u16, layout.vcs);
        // No other packet may get the channel before the flit has left: a packet that reaches the front in the first
        // step could request it.
        *self.owners.edit::<M>(out) = at;
        if let Some(word) = self.candidates.passing.get_mut(local as usize / 64) {
            *word |= 1 << (local % 64);
        }
        self.candidates.flits[usize::from(input) % PORTS] = Passing {
            packet,
            port: route.port,
            out,
            output,
            channel: (out - link.first_vc) as u8,
            of_input,
        };
        true
    }

    #[inline]
    pub(super) fn has_queued(&self, layout: RouterLayout) -> bool {
        (0..layout.words()).any(|word| *self.occupied.get(layout.first_word + word) != 0)
    }

    /// Lets all passing flits through in a step without queued packets. Returns whether there are any.
    pub(super) fn pass_all<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        granted: Subcycle,
    ) -> bool {
        let mut traversal = None;
        for word in 0..layout.words() {
            let mut bits = self.candidates.passing.get(word as usize).copied().unwrap_or(0);
            while bits != 0 {
                let at = layout.first_vc + word * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                let (input, channel) = self.places[at as usize];
                let output = self.candidates.flits[usize::from(input) % PORTS].output;
                self.grant_passage::<C>(layout, (input, channel), output);
                let traversal = traversal.get_or_insert_with(|| self.traversal(granted));
                self.pass(ctx, shared, (layout, input), at, traversal);
            }
        }
        traversal.is_some()
    }

    /// Whether the traversal granted to virtual channel `at` is for a flit that passes without being queued.
    #[inline]
    pub(super) fn passes(&self, layout: RouterLayout, granted: Subcycle, at: u32) -> bool {
        let local = at - layout.first_vc;
        let word = self.candidates.passing.get(local as usize / 64);
        granted.step == 2 && word.is_some_and(|word| word >> (local % 64) & 1 != 0)
    }

    /// The flit that has arrived at input virtual channel `at` of port `input` traverses the crossbar.
    #[inline]
    pub(super) fn pass<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        (layout, input): (RouterLayout, u16),
        at: u32,
        traversal: &Traversal,
    ) {
        let Passing {
            packet,
            port,
            out,
            channel,
            of_input,
            ..
        } = self.candidates.flits[usize::from(input) % PORTS];
        let link = shared.flow.link::<C>(port);
        let p = shared.packets.get(packet);
        let owner = p.traffic;
        let sent = Transmission {
            packets: 1,
            bytes: p.bytes,
            busy: link.flit,
        };
        *self.owners.edit::<C>(out) = NIL;
        let arrival = self.depart(ctx, shared, (port, &link), out, traversal, sent);
        if shared.congestion.is_on::<C>() {
            let leaving = Leaving {
                packet,
                at,
                following: NIL,
                port,
                arrival,
            };
            self.packet_leaves(ctx, shared, layout, &link, traversal, leaving);
        }
        let buffer = link.far + u32::from(channel);
        let flit = Passed {
            at,
            owner,
            packet: Some(packet),
            tail: true,
            port,
            buffer,
            arrival,
        };
        let input = layout.first_port + u32::from(input);
        let tag = self.lone_flit_departs::<C>(shared, input, (packet, &link), traversal, &flit);
        let space = Freed { owner, tag };
        if link.to_node {
            let due = arrival + self.timing.period() + link.credit_delay;
            self.return_flit(ctx, shared, (port, channel), space, due);
            shared.deliver(ctx, packet, (arrival, false));
        } else if link.leaves {
            shared.packets.edit::<C>(packet).buffer = buffer;
            shared.export::<C>(packet, link.far_lp, arrival);
        } else {
            self.send_head(ctx, shared, (link.far_lp, buffer), packet, arrival);
        }
        self.free_flit(ctx, shared, (at, of_input), space, traversal.left);
        shared.flow.observers.release_tag::<C>(tag);
    }
}
