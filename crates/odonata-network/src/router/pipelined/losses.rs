//! What flits lose by their waits, carried along with them ([`lost`](crate::observe::lost)).
//!
//! [`waits`](super::waits) says for whom a flit has waited and for how long. Here that is added to what it had lost before; where it has
//! waited for its own traffic, it has lost what the flit had lost that it has waited for:
//!
//! | has waited for | that is |
//! |---|---|
//! | a virtual channel of its output, its output, the link behind it | the last flit of its traffic on that link |
//! | its input port | the last flit of its traffic on the link of whoever was granted that |
//! | a credit | the flit whose credit made the room |
//! | a packet in front of it in its virtual channel | the tail of that packet |
//!
//! A flit that leaves its buffer takes along what it has lost, and so does its credit; the next flit of its packet needs it.

use super::Pipelined;
use super::switch_traversal::Traversal;
use super::waits::Culprit;
use crate::fabric::Shared;
use crate::features::Uses;
use crate::flow::{Flow, Link};
use crate::observe::blame::{CREDIT, INPUT};
use crate::observe::{LostTime, OwnWait, Tag};
use crate::{Payload, Traffic};
use odonata_engine::Time;

/// A flit that has passed the crossbar.
#[derive(Clone, Copy)]
pub(super) struct Passed {
    /// The input virtual channel that it has left, and whose it is.
    pub(super) at: u32,
    pub(super) owner: Traffic,
    /// Its packet, if it is the head of that or completes it at its node.
    pub(super) packet: Option<u32>,
    /// Whether it is the last one of its packet.
    pub(super) tail: bool,
    /// Its output, and the buffer behind that.
    pub(super) port: u32,
    pub(super) buffer: u32,
    /// When it is at the other end of its link.
    pub(super) arrival: Time,
}

/// Lost time, among the instruments.
fn lost(flow: &mut Flow) -> &mut LostTime {
    &mut flow.observers.contention.lost
}

/// A flit that waits: where, whose it is, and for which output.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) at: u32,
    pub(super) owner: Traffic,
    pub(super) port: u32,
}

impl Pipelined {
    /// The next flit of `at`.
    pub(super) fn next_flit_of(&self, at: u32) -> Waiting {
        let vc = self.vcs.get(at);
        Waiting {
            at,
            owner: vc.traffic,
            port: vc.port,
        }
    }

    /// A flit has waited during `span` at `line`: what it has lost by that.
    pub(super) fn lose<M: Uses>(&self, flow: &mut Flow, who: Waiting, line: u32, span: (Time, Time), by: Culprit) {
        if span.1 <= span.0 {
            return;
        }
        let Waiting { at, owner, .. } = who;
        let (culprit, cause) = by.by;
        if culprit == owner && cause != CREDIT {
            if let Some(before) = lost(flow).waits_for_own::<M>(at, span, cause) {
                self.lose_to_own::<M>(flow, who, before);
            }
            return;
        }
        self.settle_own::<M>(flow, who);
        let own = match by.room {
            Some((port, channel)) if culprit == owner => {
                let channel = flow.first_vc(port) + u32::from(channel);
                Some(flow.observers.contention.room_vector(channel, owner))
            }
            _ => None,
        };
        lost(flow).flit_waits::<M>((at, line), owner, span, by.by, own);
    }

    /// If a flit has waited for its own traffic last, that is over.
    #[inline]
    pub(super) fn settle_own<M: Uses>(&self, flow: &mut Flow, who: Waiting) {
        if let Some(wait) = lost(flow).end_own_wait::<M>(who.at) {
            self.lose_to_own::<M>(flow, who, wait);
        }
    }

    fn lose_to_own<M: Uses>(&self, flow: &mut Flow, who: Waiting, wait: OwnWait) {
        let Waiting { at, owner, port } = who;
        let OwnWait { since, until, cause } = wait;
        let (line, link) = match cause {
            INPUT => {
                let layout = self.layout(flow.links.sender(port));
                (
                    flow.observers.contention.blame.line_of_buffer(at),
                    self.granted_output(layout, at),
                )
            }
            _ => (port, port),
        };
        let own = lost(flow).last_own(link, owner, since);
        lost(flow).flit_waits::<M>((at, line), owner, (since, until), (owner, cause), own);
    }

    /// What a flit that leaves its buffer has lost to others, which its credit takes along.
    pub(super) fn lost_at_crossbar<M: Uses>(&self, flow: &mut Flow, who: Waiting) -> Tag {
        self.settle_own::<M>(flow, who);
        flow.observers.tag_of_front::<M>(who.at)
    }

    /// The front packet of `at`, of `owner`, is gone, and others are behind it: its last flit had lost what `tag` says.
    pub(super) fn packet_leaves_front<M: Uses>(
        &self,
        flow: &mut Flow,
        (at, owner): (u32, Traffic),
        tag: Tag,
        traversal: &Traversal,
    ) {
        let until = self.timing.in_front_since(self.timing.following(traversal.granted));
        flow.observers.front_is_left::<M>((at, owner), until, tag);
    }

    /// A flit is on its way: it takes along what it has lost.
    pub(super) fn take_along<M: Uses>(&self, shared: &mut Shared<impl Payload>, link: &Link, flit: &Passed) {
        let &Passed {
            at,
            owner,
            packet,
            tail,
            port,
            buffer,
            arrival,
        } = flit;
        self.settle_own::<M>(&mut shared.flow, Waiting { at, owner, port });
        let (_, sent) = link.times_on(arrival);
        let lost = &mut shared.flow.observers.contention.lost;
        lost.flit_takes_link::<M>(port, at, owner, sent);
        match packet {
            // Of a packet that goes to a node its tail alone counts.
            Some(packet) => lost.front_to_packet::<M>(at, packet, tail),
            None if link.to_node => {}
            None if link.leaves => {
                for loss in lost.export_body::<M>((at, tail), owner, buffer, arrival) {
                    shared.boundary.export_loss(link.far_lp, arrival, loss);
                }
            }
            None => lost.body_goes::<M>((at, tail), buffer, arrival),
        }
    }

    /// The flit of `at` that has crossed is out at `sent`; the next one of its packet, which is here if `present`, follows it.
    pub(super) fn next_flit_follows<M: Uses>(
        &self,
        flow: &mut Flow,
        at: u32,
        traversal: &Traversal,
        sent: Time,
        present: bool,
    ) {
        let step = self.timing.following(traversal.granted).taken();
        lost(flow).next_after::<M>(at, sent.max(self.timing.earliest_flit(step)));
        if present {
            self.body_to_front::<M>(flow, at);
        }
    }

    /// The next flit of `at`, which is no head, has come.
    pub(super) fn body_to_front<M: Uses>(&self, flow: &mut Flow, at: u32) {
        let owner = self.vcs.get(at).traffic;
        let start = |came| self.timing.earliest_flit(self.timing.cycle_at(came));
        lost(flow).body_to_front::<M>(at, owner, start);
    }

    /// All of the front packet of `at`, whose head could have begun at `begins`, has come.
    pub(super) fn whole_to_front<M: Uses>(&self, flow: &mut Flow, at: u32, begins: Time) {
        let vc = self.vcs.get(at);
        if vc.left > 1 {
            let start = |came| self.timing.earliest_head(self.timing.cycle_at(came));
            lost(flow).whole_to_front::<M>((at, vc.left), vc.traffic, begins, start);
        }
    }

    /// `packet` has come to its buffer.
    pub(super) fn head_comes<M: Uses>(&self, shared: &mut Shared<impl Payload>, packet: u32) {
        if !shared.flow.observers.contention.lost.is_on::<M>() {
            return;
        }
        let p = shared.packets.get(packet);
        let (owner, came) = (p.traffic, p.tail_in);
        lost(&mut shared.flow).head_comes::<M>(packet, owner, came, |came| self.timing.cycle_at(came));
    }
}
