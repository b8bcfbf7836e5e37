//! The instrument of pipelined routers: waits of flits, charged to the traffic that causes them ([`blame`](super::blame)),
//! and carried with the flits ([`lost`](super::lost)).
//!
//! A packet waits at a router while its next flit there could move and does not. The duration is known at the end: the
//! flit's start on its link minus its start at zero load, as pipeline stages have fixed lengths. The cause is recorded
//! cycle by cycle:
//!
//! ```text
//!  head is routed        loses          no credit       loses        crosses        starts on the link
//!  ├─ stages of the ─────┼── link ──────┼─── credit ────┼── input ───┼──── link ────┤
//!     pipeline        expected       to the owner of  to the winner  to the flits ahead
//!                                    the credit                      on the link
//! ```
//!
//! | cause | resource | charged to the owner of |
//! |---|---|---|
//! | other packets hold the virtual channels of its output | [`LINK`] | the packet that holds the first of them |
//! | another flit was granted its output in this cycle | [`LINK`] | that flit |
//! | there is no credit | [`CREDIT`] | the packet whose flit freed the space |
//! | another flit of its input port was granted the crossbar | [`INPUT`] | that flit |
//! | it has crossed, and others are ahead on the link | [`LINK`] | each of them, for its flit |
//! | another packet is ahead in its virtual channel | [`INPUT`] | that packet |
//!
//! If a separable allocator grants neither its input nor its output, no other packet is the cause: the charge goes to
//! the packet's own traffic. A cause holds until the router's next cycle; in sleep nothing changes. So charges do not
//! depend on superfluous cycles of a scheduler.

mod link_queues;
mod losses;
mod reasons;
mod wait;

use super::blame::{INPUT, LINK};
use super::pipeline_facts::{PassedFlit, PipelineObserver};
use super::{Contention, Observed, Observer, Tag};
use crate::fabric::Shared;
use crate::features::Uses;
use crate::flow::{Flow, Link};
use crate::params::NetworkParams;
use crate::router::pipelined::{Channels, InVc, RouterLayout, Stage, Subcycle, Traversal};
use crate::{Payload, Traffic};
use link_queues::LinkQueues;
use losses::Waiting;
use odonata_blame::Cause;
use odonata_engine::{Plain, Store, Time};
use wait::{Reason, Wait};

/// The owner, cycle and output of the last grant of a port.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Granted {
    cycle: Time,
    output: u32,
    owner: Traffic,
}

/// The owner and cause to charge for a wait; for a credit, also the port and virtual channel.
#[derive(Clone, Copy)]
struct Culprit {
    by: (Traffic, Cause),
    room: Option<(u32, u8)>,
}

impl Culprit {
    fn holding(by: (Traffic, Cause)) -> Culprit {
        Culprit { by, room: None }
    }
}

/// The state of all waits; empty unless waits are charged.
#[derive(Debug)]
pub(crate) struct FlitWaits {
    /// By input virtual channel.
    vcs: Store<Wait>,
    /// By input port and by output port.
    inputs: Store<Granted>,
    outputs: Store<Granted>,
    on_links: LinkQueues,
}
odonata_engine::journalled!(FlitWaits {
    vcs,
    inputs,
    outputs,
    on_links
});

fn contention(flow: &mut Flow) -> &mut Contention {
    &mut flow.observers.contention
}

impl FlitWaits {
    /// The state of `channels` input virtual channels and `ports` ports; empty if waits are not charged.
    pub(crate) fn new(params: &NetworkParams, channels: usize, ports: usize) -> FlitWaits {
        let (channels, ports) = if params.blame { (channels, ports) } else { (0, 0) };
        let none = Granted {
            cycle: Time::NEVER,
            output: 0,
            owner: 0,
        };
        FlitWaits {
            vcs: Store::filled(channels, Wait::NONE),
            inputs: Store::filled(ports, none),
            outputs: Store::filled(ports, none),
            on_links: LinkQueues::new(ports),
        }
    }

    /// Bytes of `ports` idle ports and `channels` input virtual channels.
    pub(crate) fn bytes(params: &NetworkParams, ports: u64, channels: u64) -> u64 {
        let of = |count: u64, size: usize| count.saturating_mul(size as u64);
        let of_ports = of(ports, 2 * size_of::<Granted>() + LinkQueues::BYTES_PER_PORT);
        match params.blame {
            true => of_ports.saturating_add(of(channels, size_of::<Wait>())),
            false => 0,
        }
    }

    #[inline(always)]
    fn is_on<U: Uses>(&self) -> bool {
        U::BLAME && !self.vcs.is_empty()
    }

    /// Whether the order of the heads that arrive in a cycle matters.
    #[inline(always)]
    pub(crate) fn follows_heads<U: Uses>(&self) -> bool {
        self.is_on::<U>()
    }

    /// When the next flit of a front packet starts on its link if all its requests from `cycle` on are granted.
    fn starts(channels: &Channels, vc: &InVc, cycle: Time) -> Time {
        let from = vc.ready.max(cycle);
        match vc.stage {
            Stage::Active => channels.timing.earliest_flit(from),
            Stage::Empty | Stage::New | Stage::Routed => channels.timing.earliest_head(from),
        }
    }

    /// Charges to `by` the wait of input virtual channel `at` until `cycle`, in which it may progress.
    fn charge_until<M: Uses>(&mut self, channels: &Channels, flow: &mut Flow, at: u32, cycle: Time, by: Culprit) {
        let vc = channels.vcs.get(at);
        let starts = Self::starts(channels, vc, cycle);
        let wait = self.vcs.edit::<M>(at);
        wait.reason = Reason::None;
        let from = wait.expected;
        wait.expected = from.max(starts);
        self.charge::<M>(channels, flow, at, (from, starts), by);
    }

    /// Charges to `by` the wait of the front packet of `at` from `from` to `until`, if it is not empty: at its output,
    /// or, behind others of its input, in its buffer.
    fn charge<M: Uses>(&self, channels: &Channels, flow: &mut Flow, at: u32, span: (Time, Time), by: Culprit) {
        let vc = channels.vcs.get(at);
        let line = if by.by.1 == INPUT {
            contention(flow).blame.line_of_buffer(at)
        } else {
            vc.port
        };
        contention(flow).blame.charge_wait::<M>(line, vc.traffic, span, by.by);
        if contention(flow).lost.is_on::<M>() {
            self.lose::<M>(channels, flow, Waiting::at(channels, at), line, span, by);
        }
    }

    /// A flit of `at` has been granted the crossbar: charges the rest of its wait there.
    fn wait_ends<M: Uses>(
        &mut self,
        channels: &Channels,
        flow: &mut Flow,
        layout: RouterLayout,
        at: u32,
        traversal: &Traversal,
    ) {
        let Wait { expected, reason, .. } = *self.vcs.get(at);
        if traversal.crossed <= expected {
            return;
        }
        let cycle = traversal.granted.cycle;
        let by = match reason {
            Reason::Credit(out) => Self::made_room::<M>(channels, flow, layout, out, cycle),
            Reason::Held(by) => Culprit::holding(by),
            // It has lost in an earlier step of this cycle.
            Reason::None => Culprit::holding(self.winner(channels, layout, at, cycle)),
        };
        self.charge::<M>(channels, flow, at, (expected, traversal.crossed), by);
    }

    /// `flit`, whose wait at the crossbar has [ended](Self::wait_ends), occupies its link from `departure` to `sent`:
    /// charges its wait behind others there.
    fn wait_on_link<M: Uses>(
        &mut self,
        channels: &Channels,
        flow: &mut Flow,
        layout: RouterLayout,
        flit: &PassedFlit,
        traversal: &Traversal,
        (departure, sent): (Time, Time),
    ) {
        let Wait { began, expected, .. } = *self.vcs.get(flit.at);
        let &PassedFlit { at, owner, port, .. } = flit;
        let cycle = traversal.granted.cycle;
        let granted = Granted {
            cycle,
            output: port,
            owner,
        };
        *self.inputs.edit::<M>(channels.port_of(layout, at)) = granted;
        *self.outputs.edit::<M>(port) = granted;
        self.on_links.forget::<M>(port, cycle);
        let from = expected.max(traversal.crossed);
        if departure > from {
            for stretch in self.on_links.of(port) {
                let span = (stretch.from.max(from), stretch.until.min(departure));
                let by = (stretch.owner, LINK);
                contention(flow).blame.charge_wait::<M>(port, owner, span, by);
                if contention(flow).lost.is_on::<M>() {
                    let flit = Waiting { at, owner, port };
                    self.lose::<M>(channels, flow, flit, port, span, Culprit::holding(by));
                }
            }
        }
        self.on_links.push::<M>(port, owner, (departure, sent));
        contention(flow).blame.waited::<M>(owner, (began, departure));
    }

    /// Begins the wait of the next flit of the packet of `at`, if it has arrived; the flit before it ends at `sent`.
    fn wait_of_next<M: Uses>(
        &mut self,
        channels: &Channels,
        flow: &mut Flow,
        at: u32,
        traversal: &Traversal,
        sent: Time,
    ) {
        let vc = *channels.vcs.get(at);
        let present = vc.stage == Stage::Active && vc.present > 0;
        if contention(flow).lost.is_on::<M>() && vc.stage == Stage::Active {
            Self::next_flit_follows::<M>(channels, flow, at, traversal, sent, present);
        }
        let next = match present {
            true => sent.max(
                channels
                    .timing
                    .earliest_flit(channels.timing.following(traversal.granted).taken()),
            ),
            false => Time::NEVER,
        };
        *self.vcs.edit::<M>(at) = Wait::of_flit(next, sent);
    }

    /// Closes the waits that last at `now`, the end of the run.
    pub(crate) fn run_ends(&mut self, channels: &Channels, flow: &mut Flow, now: Time) {
        if !self.is_on::<Plain>() {
            return;
        }
        let cycle = channels.timing.cycle_at(now);
        for &layout in &channels.layouts {
            channels.for_each_occupied(layout, |at| match self.vcs.get(at).reason {
                Reason::None => {}
                Reason::Held(by) => self.charge_until::<Plain>(channels, flow, at, cycle, Culprit::holding(by)),
                Reason::Credit(_) => {
                    let vc = channels.vcs.get(at);
                    let starts = Self::starts(channels, vc, cycle);
                    let time = starts.saturating_sub(self.vcs.get(at).expected);
                    (contention(flow).blame).lacked_room(vc.port, vc.traffic, time);
                }
            });
        }
    }
}

impl PipelineObserver for FlitWaits {
    #[inline]
    fn head_arrives<M: Uses>(&mut self, channels: &Channels, shared: &mut Shared<impl Payload>, packet: u32) {
        if contention(&mut shared.flow).lost.is_on::<M>() {
            Self::head_is_late::<M>(channels, shared, packet);
        }
    }

    #[inline]
    fn body_flit_arrives<M: Uses>(
        &mut self,
        channels: &Channels,
        flow: &mut Flow,
        at: u32,
        cycle: impl FnOnce() -> Time,
    ) {
        if !self.is_on::<M>() {
            return;
        }
        let vc = channels.vcs.get(at);
        let wait = *self.vcs.get(at);
        if wait.began != Time::NEVER {
            return;
        }
        let cycle = cycle();
        let began = match vc.stage {
            Stage::Active => wait.sent.max(channels.timing.earliest_flit(vc.ready.max(cycle))),
            Stage::Routed | Stage::New if vc.present >= vc.left => channels.timing.earliest_head(vc.ready.max(cycle)),
            Stage::Routed | Stage::New | Stage::Empty => return,
        };
        if contention(flow).lost.is_on::<M>() {
            match vc.stage {
                Stage::Active => Self::body_to_front::<M>(channels, flow, at),
                _ => Self::whole_to_front::<M>(channels, flow, at, channels.timing.earliest_head(vc.ready)),
            }
        }
        *self.vcs.edit::<M>(at) = Wait::of_flit(began, wait.sent);
    }

    #[inline]
    fn packet_moves_up<M: Uses>(
        &mut self,
        channels: &Channels,
        flow: &mut Flow,
        (at, packet): (u32, Observed),
        begin: Subcycle,
    ) {
        if self.is_on::<M>() {
            let until = channels.timing.in_front_since(begin);
            flow.observers.packet_leads_fifo::<M>(at, packet, until);
        }
    }

    #[inline]
    fn packet_leads<M: Uses>(&mut self, channels: &Channels, flow: &mut Flow, at: u32) {
        if !self.is_on::<M>() {
            return;
        }
        let vc = channels.vcs.get(at);
        let whole = channels.settings.store_and_forward;
        let is_complete = !whole || vc.present >= vc.left;
        let began = match is_complete {
            true => channels.timing.earliest_head(vc.ready),
            false => Time::NEVER,
        };
        *self.vcs.edit::<M>(at) = Wait::of_flit(began, Time::ZERO);
        if contention(flow).lost.is_on::<M>() {
            (contention(flow).lost).head_to_front::<M>(at, vc.heads.head, vc.traffic);
            if is_complete && whole {
                Self::whole_to_front::<M>(channels, flow, at, began);
            }
        }
    }

    /// Charges the waits since the last cycle.
    #[inline]
    fn cycle_begins<M: Uses>(
        &mut self,
        channels: &Channels,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        cycle: Time,
    ) {
        if !self.is_on::<M>() {
            return;
        }
        channels.for_each_occupied(layout, |at| {
            let by = match self.vcs.get(at).reason {
                Reason::None => return,
                Reason::Held(by) => Culprit::holding(by),
                Reason::Credit(_) => match Self::channel_with_room::<M>(channels, shared, at, cycle) {
                    Some(room) => Self::room_made::<M>(&mut shared.flow, room, cycle),
                    // It continues to wait for the same reason.
                    None => return,
                },
            };
            self.charge_until::<M>(channels, &mut shared.flow, at, cycle, by);
        });
    }

    /// Records why the remaining flits have not departed.
    #[inline]
    fn cycle_ends<M: Uses>(
        &mut self,
        channels: &Channels,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        cycle: Time,
    ) {
        if !self.is_on::<M>() {
            return;
        }
        let next = cycle + channels.timing.period();
        channels.for_each_occupied(layout, |at| {
            let (wait, vc) = (*self.vcs.get(at), channels.vcs.get(at));
            // Even if it is not late yet: the router may sleep until it is.
            if wait.began == Time::NEVER || vc.stage == Stage::New || vc.ready >= next {
                return;
            }
            let reason = match vc.stage {
                Stage::Active => self.no_passage::<M>(channels, shared, layout, at, cycle),
                Stage::Empty | Stage::New | Stage::Routed => self.no_channel::<M>(channels, shared, layout, at, cycle),
            };
            if let (Reason::Credit(out), Reason::Held(..)) = (wait.reason, reason) {
                // Another flit has taken the space that it waited for.
                let by = Self::made_room::<M>(channels, &mut shared.flow, layout, out, cycle);
                self.charge_until::<M>(channels, &mut shared.flow, at, cycle, by);
            }
            self.vcs.edit::<M>(at).reason = reason;
        });
    }

    #[inline(always)]
    fn flit_crosses<M: Uses>(
        &mut self,
        channels: &Channels,
        flow: &mut Flow,
        (layout, at): (RouterLayout, u32),
        traversal: &Traversal,
    ) -> Tag {
        if !self.is_on::<M>() {
            return Tag::NONE;
        }
        self.wait_ends::<M>(channels, flow, layout, at, traversal);
        match contention(flow).lost.is_on::<M>() {
            true => self.lost_at_crossbar::<M>(channels, flow, Waiting::at(channels, at)),
            false => Tag::NONE,
        }
    }

    #[inline(always)]
    fn flit_departs<M: Uses>(
        &mut self,
        channels: &Channels,
        shared: &mut Shared<impl Payload>,
        (layout, link): (RouterLayout, &Link),
        traversal: &Traversal,
        flit: &PassedFlit,
    ) {
        if !self.is_on::<M>() {
            return;
        }
        let times @ (_, sent) = link.times_on(flit.arrival);
        self.wait_on_link::<M>(channels, &mut shared.flow, layout, flit, traversal, times);
        if contention(&mut shared.flow).lost.is_on::<M>() {
            self.take_along::<M>(channels, shared, link, flit);
        }
        self.wait_of_next::<M>(channels, &mut shared.flow, flit.at, traversal, sent);
    }

    #[inline(always)]
    fn packet_leaves<M: Uses>(
        &mut self,
        channels: &Channels,
        flow: &mut Flow,
        (at, owner): (u32, Traffic),
        tag: Tag,
        traversal: &Traversal,
    ) {
        if contention(flow).lost.is_on::<M>() {
            let behind = channels.timing.following(traversal.granted);
            let until = channels.timing.in_front_since(behind);
            let line = contention(flow).blame.line_of_buffer(at);
            (contention(flow).lost).was_in_front::<M>(line, owner, until, tag.0);
        }
    }
}
