//! Why the next flit of an input virtual channel does not move, and the owner to charge for it.

use super::wait::Reason;
use super::{Culprit, FlitWaits, contention};
use crate::fabric::Shared;
use crate::features::Uses;
use crate::flow::Flow;
use crate::observe::blame::{CREDIT, INPUT, LINK};
use crate::router::pipelined::{Channels, RouterLayout, Stage};
use crate::{Payload, Traffic};
use odonata_blame::Cause;
use odonata_engine::{NIL, Time};

impl FlitWaits {
    /// The output channel of the next flit of `at`, or the first possible one of its packet, if it has room.
    pub(super) fn channel_with_room<M: Uses>(
        channels: &Channels,
        shared: &mut Shared<impl Payload>,
        at: u32,
        cycle: Time,
    ) -> Option<(u32, u8)> {
        let vc = channels.vcs.get(at);
        let port = vc.port;
        if vc.stage == Stage::Active {
            let has_room = shared.flow.has_room::<M>(port, vc.vc, 1, cycle);
            return has_room.then_some((port, vc.vc));
        }
        let room = channels.room_wanted(&shared.setup, u32::from(vc.left), vc.terms.bubble());
        let link = shared.flow.link::<M>(port);
        let mut possible = shared.setup.vcs.of(link.class, vc.level, vc.class);
        let can = |&channel: &u8| {
            let free = channels.is_free::<M>(link.first_vc + u32::from(channel));
            free && (room == 0 || shared.flow.has_room::<M>(port, channel, room, cycle))
        };
        possible.find(can).map(|channel| (port, channel))
    }

    /// The culprit that freed space in output channel `out`.
    pub(super) fn made_room<M: Uses>(
        channels: &Channels,
        flow: &mut Flow,
        layout: RouterLayout,
        out: u32,
        cycle: Time,
    ) -> Culprit {
        let room = (channels.port_of(layout, out), channels.places[out as usize].1);
        Self::room_made::<M>(flow, room, cycle)
    }

    /// The same for a channel of a port.
    pub(super) fn room_made<M: Uses>(flow: &mut Flow, (port, channel): (u32, u8), cycle: Time) -> Culprit {
        flow.count_flit_credits::<M>(port, cycle);
        let channel_number = flow.first_vc::<M>(port) + u32::from(channel);
        Culprit {
            by: (contention(flow).blame.last_freed(channel_number), CREDIT),
            room: Some((port, channel)),
        }
    }

    /// The output granted last to the input port of `at`.
    pub(super) fn granted_output(&self, channels: &Channels, layout: RouterLayout, at: u32) -> u32 {
        self.inputs.get(channels.port_of(layout, at)).output
    }

    /// Why the next flit of `at`, which has an output channel, has not crossed in `cycle`.
    pub(super) fn no_passage<M: Uses>(
        &self,
        channels: &Channels,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        at: u32,
        cycle: Time,
    ) -> Reason {
        let vc = channels.vcs.get(at);
        if shared.flow.has_room::<M>(vc.port, vc.vc, 1, cycle) {
            return Reason::Held(self.winner(channels, layout, at, cycle));
        }
        Reason::Credit(shared.flow.first_vc::<M>(vc.port) + u32::from(vc.vc))
    }

    /// The flit granted the output of `at` in `cycle`, or else its input; without a grant, its own traffic.
    pub(super) fn winner(&self, channels: &Channels, layout: RouterLayout, at: u32, cycle: Time) -> (Traffic, Cause) {
        let vc = channels.vcs.get(at);
        let output = self.outputs.get(vc.port);
        let input = self.inputs.get(channels.port_of(layout, at));
        if output.cycle == cycle {
            (output.owner, LINK)
        } else if input.cycle == cycle {
            (input.owner, INPUT)
        } else {
            (vc.traffic, LINK)
        }
    }

    /// Why the front packet of `at` has got no output channel in `cycle`.
    pub(super) fn no_channel<M: Uses>(
        &self,
        channels: &Channels,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        at: u32,
        cycle: Time,
    ) -> Reason {
        let vc = channels.vcs.get(at);
        let room = channels.room_wanted(&shared.setup, u32::from(vc.left), vc.terms.bubble());
        let (port, link) = (vc.port, shared.flow.link::<M>(vc.port));
        let mut lacks = None;
        for channel in shared.setup.vcs.of(link.class, vc.level, vc.class) {
            let out = link.first_vc + u32::from(channel);
            let owner = *channels.owners.get(out);
            if owner != NIL {
                return Reason::Held((channels.vcs.get(owner).traffic, LINK));
            }
            if room > 0 && !shared.flow.has_room::<M>(port, channel, room, cycle) {
                lacks = lacks.or(Some(out));
            }
        }
        lacks.map_or_else(
            || Reason::Held(self.winner(channels, layout, at, cycle)),
            Reason::Credit,
        )
    }
}
