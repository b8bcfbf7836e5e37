//! Losses of flits by their waits, carried with the flits ([`lost`]).
//!
//! [`FlitWaits`] determines the culprit and duration of each wait. This module adds the wait to the flit's
//! losses. A flit that waits for its own traffic inherits the losses of the flit that it waits for:
//!
//! | waits for | inherits from |
//! |---|---|
//! | a virtual channel of its output, its output, the link behind it | the last flit of its traffic on that link |
//! | its input port | the last flit of its traffic on the link that the port was granted |
//! | a credit | the flit that freed the space |
//! | a packet ahead in its virtual channel | the tail of that packet |
//!
//! A flit that leaves its buffer carries its losses, and so does its credit. The next flit of its packet depends on it.

use super::{Culprit, FlitWaits, contention};
use crate::fabric::Shared;
use crate::features::Uses;
use crate::flow::{Flow, Link};
use crate::observe::Tag;
use crate::observe::blame::{CREDIT, INPUT};
use crate::observe::lost::{LostTime, OwnWait};
use crate::observe::pipeline_facts::PassedFlit;
use crate::router::pipelined::{Channels, Traversal};
use crate::{Payload, Traffic};
use odonata_engine::Time;

fn lost(flow: &mut Flow) -> &mut LostTime {
    &mut contention(flow).lost
}

/// A waiting flit: its place, owner and output.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) at: u32,
    pub(super) owner: Traffic,
    pub(super) port: u32,
}

impl Waiting {
    /// The next flit of input virtual channel `at`.
    pub(super) fn at(channels: &Channels, at: u32) -> Waiting {
        let vc = channels.vcs.get(at);
        Waiting {
            at,
            owner: vc.traffic,
            port: vc.port,
        }
    }
}

impl FlitWaits {
    /// Adds to a flit's losses its wait during `span` at `line`.
    pub(super) fn lose<M: Uses>(
        &self,
        channels: &Channels,
        flow: &mut Flow,
        flit: Waiting,
        line: u32,
        span: (Time, Time),
        by: Culprit,
    ) {
        if span.1 <= span.0 {
            return;
        }
        let Waiting { at, owner, .. } = flit;
        let (culprit, cause) = by.by;
        if culprit == owner && cause != CREDIT {
            if let Some(before) = lost(flow).waits_for_own::<M>(at, span, cause) {
                self.lose_to_own::<M>(channels, flow, flit, before);
            }
            return;
        }
        self.settle_own::<M>(channels, flow, flit);
        let own = match by.room {
            Some((port, channel)) if culprit == owner => {
                let channel = flow.first_vc::<M>(port) + u32::from(channel);
                Some(contention(flow).room_vector(channel, owner))
            }
            _ => None,
        };
        lost(flow).flit_waits::<M>((at, line), owner, span, by.by, own);
    }

    /// Ends the flit's wait for its own traffic, if that was the last one.
    #[inline]
    pub(super) fn settle_own<M: Uses>(&self, channels: &Channels, flow: &mut Flow, flit: Waiting) {
        if let Some(wait) = lost(flow).end_own_wait::<M>(flit.at) {
            self.lose_to_own::<M>(channels, flow, flit, wait);
        }
    }

    fn lose_to_own<M: Uses>(&self, channels: &Channels, flow: &mut Flow, flit: Waiting, wait: OwnWait) {
        let Waiting { at, owner, port } = flit;
        let OwnWait { since, until, cause } = wait;
        let (line, link) = match cause {
            INPUT => {
                let layout = channels.layout(flow.links.sender(port));
                (
                    contention(flow).blame.line_of_buffer(at),
                    self.granted_output(channels, layout, at),
                )
            }
            _ => (port, port),
        };
        let own = lost(flow).last_own(link, owner, since);
        lost(flow).flit_waits::<M>((at, line), owner, (since, until), (owner, cause), own);
    }

    /// The losses to others of a flit that leaves its buffer, for its credit.
    pub(super) fn lost_at_crossbar<M: Uses>(&self, channels: &Channels, flow: &mut Flow, flit: Waiting) -> Tag {
        self.settle_own::<M>(channels, flow, flit);
        Tag(lost(flow).share_of_front::<M>(flit.at))
    }

    /// A flit departs with its losses.
    pub(super) fn take_along<M: Uses>(
        &self,
        channels: &Channels,
        shared: &mut Shared<impl Payload>,
        link: &Link,
        flit: &PassedFlit,
    ) {
        let &PassedFlit {
            at,
            owner,
            packet,
            is_tail,
            port,
            buffer,
            arrival,
        } = flit;
        self.settle_own::<M>(channels, &mut shared.flow, Waiting { at, owner, port });
        let (_, sent) = link.times_on(arrival);
        let lost = lost(&mut shared.flow);
        lost.flit_takes_link::<M>(port, at, owner, sent);
        match packet {
            // For a packet to a node only the tail counts.
            Some(packet) => lost.front_to_packet::<M>(at, packet, is_tail),
            None if link.to_node => {}
            None if link.leaves => {
                for loss in lost.export_body::<M>((at, is_tail), owner, buffer, arrival) {
                    shared.boundary.export_loss(link.far_lp, arrival, loss);
                }
            }
            None => lost.body_goes::<M>((at, is_tail), buffer, arrival),
        }
    }

    /// The flit of `at` that has crossed completes its transmission at `sent`; the next flit of its packet, which has
    /// arrived if `present`, follows it.
    pub(super) fn next_flit_follows<M: Uses>(
        channels: &Channels,
        flow: &mut Flow,
        at: u32,
        traversal: &Traversal,
        sent: Time,
        present: bool,
    ) {
        let step = channels.timing.following(traversal.granted).taken();
        lost(flow).next_after::<M>(at, sent.max(channels.timing.earliest_flit(step)));
        if present {
            Self::body_to_front::<M>(channels, flow, at);
        }
    }

    /// The next flit of `at`, a body flit, has arrived.
    pub(super) fn body_to_front<M: Uses>(channels: &Channels, flow: &mut Flow, at: u32) {
        let owner = channels.vcs.get(at).traffic;
        let start = |came| channels.timing.earliest_flit(channels.timing.cycle_at(came));
        lost(flow).body_to_front::<M>(at, owner, start);
    }

    /// The whole front packet of `at`, whose head could have begun at `begins`, has arrived.
    pub(super) fn whole_to_front<M: Uses>(channels: &Channels, flow: &mut Flow, at: u32, begins: Time) {
        let vc = channels.vcs.get(at);
        if vc.left > 1 {
            let start = |came| channels.timing.earliest_head(channels.timing.cycle_at(came));
            lost(flow).whole_to_front::<M>((at, vc.left), vc.traffic, begins, start);
        }
    }

    /// `packet` has arrived in its buffer, later than without its losses.
    pub(super) fn head_is_late<M: Uses>(channels: &Channels, shared: &mut Shared<impl Payload>, packet: u32) {
        let p = shared.packets.get(packet);
        let (owner, came) = (p.traffic, p.tail_in);
        lost(&mut shared.flow).head_comes::<M>(packet, owner, came, |came| channels.timing.cycle_at(came));
    }
}
