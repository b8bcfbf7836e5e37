//! Waits in pipelined routers, charged to the traffic that causes them ([`blame`](crate::observe::blame)).
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

mod wait;

use super::channels::{Channels, RouterLayout};
use super::cycle::Traversal;
use super::in_vc::{InVc, Stage};
use super::losses::{Passed, Waiting};
use crate::fabric::Shared;
use crate::features::Uses;
use crate::flow::{Flow, Link};
use crate::observe::blame::{CREDIT, INPUT, LINK};
use crate::observe::{Observer, Tag};
use crate::{Payload, Traffic};
use odonata_blame::Cause;
use odonata_engine::{List, NIL, Pool, Store, Time};
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
pub(super) struct Culprit {
    pub(super) by: (Traffic, Cause),
    pub(super) room: Option<(u32, u8)>,
}

impl Culprit {
    fn holding(by: (Traffic, Cause)) -> Culprit {
        Culprit { by, room: None }
    }
}

/// Consecutive flits of one owner that have crossed and wait for the link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Stretch {
    from: Time,
    until: Time,
    next: u32,
    owner: Traffic,
}
odonata_engine::slots!(Stretch);

/// The state of all waits; empty unless waits are charged.
#[derive(Debug)]
pub(super) struct Waits {
    /// By input virtual channel.
    vcs: Store<Wait>,
    /// By input port and by output port.
    inputs: Store<Granted>,
    outputs: Store<Granted>,
    /// By output port: the flits that have crossed and not completed their transmission.
    queues: Store<List>,
    stretches: Pool<Stretch>,
}
odonata_engine::journalled!(Waits {
    vcs,
    inputs,
    outputs,
    queues,
    stretches
});

impl Waits {
    /// The state of `channels` input virtual channels and `ports` ports.
    pub(super) fn new(channels: usize, ports: usize) -> Waits {
        let none = Granted {
            cycle: Time::NEVER,
            output: 0,
            owner: 0,
        };
        Waits {
            vcs: Store::filled(channels, Wait::NONE),
            inputs: Store::filled(ports, none),
            outputs: Store::filled(ports, none),
            queues: Store::filled(ports, List::EMPTY),
            stretches: Pool::new(),
        }
    }

    /// Bytes per input virtual channel, and per port.
    pub(super) const BYTES_PER_CHANNEL: usize = size_of::<Wait>();
    pub(super) const BYTES_PER_PORT: usize = 2 * size_of::<Granted>() + size_of::<List>();

    #[inline(always)]
    pub(super) fn are_charged<U: Uses>(&self) -> bool {
        U::BLAME && !self.vcs.is_empty()
    }

    /// A flit of `owner` occupies the link of `port` from `from` to `until`, behind all that have crossed before.
    fn queue<M: Uses>(&mut self, port: u32, owner: Traffic, (from, until): (Time, Time)) {
        let mut queue = *self.queues.get(port);
        if !queue.is_empty() {
            let last = self.stretches.get(queue.tail);
            if last.owner == owner && last.until == from {
                self.stretches.edit::<M>(queue.tail).until = until;
                return;
            }
        }
        let next = NIL;
        let stretch = self.stretches.allocate::<M>(Stretch {
            from,
            until,
            next,
            owner,
        });
        queue.push::<M, _>(&mut self.stretches, stretch);
        *self.queues.edit::<M>(port) = queue;
    }

    /// Removes the flits whose transmission on the link of `port` is complete at `now`.
    fn forget<M: Uses>(&mut self, port: u32, now: Time) {
        let mut queue = *self.queues.get(port);
        let before = queue.head;
        while queue.head != NIL && self.stretches.get(queue.head).until <= now {
            let gone = queue.head;
            queue.pop(&self.stretches);
            self.stretches.free::<M>(gone);
        }
        if queue.head != before {
            *self.queues.edit::<M>(port) = queue;
        }
    }
}

impl Waits {
    /// The packet of `owner` at the front of input virtual channel `at` may request an output channel from `ready`.
    pub(super) fn wait_of_front<M: Uses>(
        &mut self,
        channels: &Channels,
        flow: &mut Flow,
        at: u32,
        owner: Traffic,
        ready: Time,
    ) {
        flow.observers.fifo_is_held::<M>(at, owner);
        let vc = channels.vcs.get(at);
        let packet = vc.heads.head;
        let complete = !channels.settings.store_and_forward || vc.present >= vc.left;
        let began = if complete {
            channels.timing.earliest_head(ready)
        } else {
            Time::NEVER
        };
        *self.vcs.edit::<M>(at) = Wait::of_flit(began, Time::ZERO);
        if flow.observers.contention.lost.is_on::<M>() {
            flow.observers.contention.lost.head_to_front::<M>(at, packet, owner);
            if complete && channels.settings.store_and_forward {
                self.whole_to_front::<M>(channels, flow, at, began);
            }
        }
    }

    /// A body flit has arrived at input virtual channel `at`, in time for `cycle`.
    pub(super) fn flit_may_wait<M: Uses>(&mut self, channels: &Channels, flow: &mut Flow, at: u32, cycle: Time) {
        let vc = channels.vcs.get(at);
        let wait = *self.vcs.get(at);
        if wait.began != Time::NEVER {
            return;
        }
        let began = match vc.stage {
            Stage::Active => wait.sent.max(channels.timing.earliest_flit(vc.ready.max(cycle))),
            Stage::Routed | Stage::New if vc.present >= vc.left => channels.timing.earliest_head(vc.ready.max(cycle)),
            Stage::Routed | Stage::New | Stage::Empty => return,
        };
        if flow.observers.contention.lost.is_on::<M>() {
            match vc.stage {
                Stage::Active => self.body_to_front::<M>(channels, flow, at),
                _ => self.whole_to_front::<M>(channels, flow, at, channels.timing.earliest_head(vc.ready)),
            }
        }
        *self.vcs.edit::<M>(at) = Wait::of_flit(began, wait.sent);
    }

    /// When the next flit of a front packet starts on its link if all its requests from `cycle` on are granted.
    fn starts(&self, channels: &Channels, vc: &InVc, cycle: Time) -> Time {
        let from = vc.ready.max(cycle);
        match vc.stage {
            Stage::Active => channels.timing.earliest_flit(from),
            Stage::Empty | Stage::New | Stage::Routed => channels.timing.earliest_head(from),
        }
    }

    /// At the beginning of `cycle`: charges the waits since the last cycle.
    pub(super) fn charge_waits<M: Uses>(
        &mut self,
        channels: &Channels,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        cycle: Time,
    ) {
        channels.for_each_occupied(layout, |at| {
            let by = match self.vcs.get(at).reason {
                Reason::None => return,
                Reason::Held(by) => Culprit::holding(by),
                Reason::Credit(_) => match self.channel_with_room::<M>(channels, shared, at, cycle) {
                    Some(room) => Self::room_made::<M>(&mut shared.flow, room, cycle),
                    // It continues to wait for the same reason.
                    None => return,
                },
            };
            self.charge_until::<M>(channels, &mut shared.flow, at, cycle, by);
        });
    }

    /// The output channel of the next flit of `at`, or the first possible one of its packet, if it has room.
    fn channel_with_room<M: Uses>(
        &self,
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

    /// Charges to `by` the wait of input virtual channel `at` until `cycle`, in which it may progress.
    fn charge_until<M: Uses>(&mut self, channels: &Channels, flow: &mut Flow, at: u32, cycle: Time, by: Culprit) {
        let vc = channels.vcs.get(at);
        let starts = self.starts(channels, vc, cycle);
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
            flow.observers.contention.blame.line_of_buffer(at)
        } else {
            vc.port
        };
        let blame = &mut flow.observers.contention.blame;
        blame.charge_wait::<M>(line, vc.traffic, span, by.by);
        if flow.observers.contention.lost.is_on::<M>() {
            self.lose::<M>(channels, flow, self.next_flit_of(channels, at), line, span, by);
        }
    }

    /// At the end of `cycle`: records why the remaining flits have not departed.
    pub(super) fn find_reasons<M: Uses>(
        &mut self,
        channels: &Channels,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        cycle: Time,
    ) {
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
                let by = self.made_room::<M>(channels, &mut shared.flow, layout, out, cycle);
                self.charge_until::<M>(channels, &mut shared.flow, at, cycle, by);
            }
            self.vcs.edit::<M>(at).reason = reason;
        });
    }

    /// The culprit that freed space in output channel `out`.
    fn made_room<M: Uses>(
        &self,
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
    fn room_made<M: Uses>(flow: &mut Flow, (port, channel): (u32, u8), cycle: Time) -> Culprit {
        flow.count_flit_credits::<M>(port, cycle);
        let channel_number = flow.first_vc::<M>(port) + u32::from(channel);
        Culprit {
            by: (flow.observers.contention.blame.last_freed(channel_number), CREDIT),
            room: Some((port, channel)),
        }
    }

    /// The output granted last to the input port of `at`.
    pub(super) fn granted_output(&self, channels: &Channels, layout: RouterLayout, at: u32) -> u32 {
        self.inputs.get(channels.port_of(layout, at)).output
    }

    /// Why the next flit of `at`, which has an output channel, has not crossed in `cycle`.
    fn no_passage<M: Uses>(
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
    fn winner(&self, channels: &Channels, layout: RouterLayout, at: u32, cycle: Time) -> (Traffic, Cause) {
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
    fn no_channel<M: Uses>(
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

    /// A flit of `at` has been granted the crossbar: charges the rest of its wait there.
    pub(super) fn wait_ends<M: Uses>(
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
            Reason::Credit(out) => self.made_room::<M>(channels, flow, layout, out, cycle),
            Reason::Held(by) => Culprit::holding(by),
            // It has lost in an earlier step of this cycle.
            Reason::None => Culprit::holding(self.winner(channels, layout, at, cycle)),
        };
        self.charge::<M>(channels, flow, at, (expected, traversal.crossed), by);
    }

    /// A flit of `owner` from input virtual channel `at` of port `input`, expected on the link of `port` at `expected`,
    /// starts at `departure` and ends at `sent`: charges its wait behind others there.
    pub(super) fn wait_for_link<M: Uses>(
        &mut self,
        channels: &Channels,
        flow: &mut Flow,
        (at, input, port): (u32, u32, u32),
        (owner, expected): (Traffic, Time),
        traversal: &Traversal,
        (departure, sent): (Time, Time),
    ) {
        let cycle = traversal.granted.cycle;
        let granted = Granted {
            cycle,
            output: port,
            owner,
        };
        *self.inputs.edit::<M>(input) = granted;
        *self.outputs.edit::<M>(port) = granted;
        self.forget::<M>(port, cycle);
        let from = expected.max(traversal.crossed);
        let mut next = self.queues.get(port).head;
        while next != NIL && departure > from {
            let stretch = *self.stretches.get(next);
            let span = (stretch.from.max(from), stretch.until.min(departure));
            let by = (stretch.owner, LINK);
            let blame = &mut flow.observers.contention.blame;
            blame.charge_wait::<M>(port, owner, span, by);
            if flow.observers.contention.lost.is_on::<M>() {
                let flit = Waiting { at, owner, port };
                self.lose::<M>(channels, flow, flit, port, span, Culprit::holding(by));
            }
            next = stretch.next;
        }
        self.queue::<M>(port, owner, (departure, sent));
    }

    /// The flit of `at` whose wait has [ended](Self::wait_ends) occupies its link from `departure` to `sent`.
    pub(super) fn wait_on_link<M: Uses>(
        &mut self,
        channels: &Channels,
        flow: &mut Flow,
        layout: RouterLayout,
        at: u32,
        traversal: &Traversal,
        (departure, sent): (Time, Time),
    ) {
        let Wait { began, expected, .. } = *self.vcs.get(at);
        let vc = *channels.vcs.get(at);
        let places = (at, channels.port_of(layout, at), vc.port);
        self.wait_for_link::<M>(
            channels,
            flow,
            places,
            (vc.traffic, expected),
            traversal,
            (departure, sent),
        );
        let blame = &mut flow.observers.contention.blame;
        blame.waited::<M>(vc.traffic, (began, departure));
    }

    /// Begins the wait of the next flit of the packet of `at`, if it has arrived; the flit before it ends at `sent`.
    pub(super) fn wait_of_next<M: Uses>(
        &mut self,
        channels: &Channels,
        flow: &mut Flow,
        at: u32,
        traversal: &Traversal,
        sent: Time,
    ) {
        let vc = *channels.vcs.get(at);
        let present = vc.stage == Stage::Active && vc.present > 0;
        if flow.observers.contention.lost.is_on::<M>() && vc.stage == Stage::Active {
            self.next_flit_follows::<M>(channels, flow, at, traversal, sent, present);
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

    /// The next flit of `at` leaves its buffer through the crossbar. Returns the tag of its credit.
    #[inline(always)]
    pub(super) fn flit_crosses<M: Uses>(
        &mut self,
        channels: &Channels,
        flow: &mut Flow,
        layout: RouterLayout,
        at: u32,
        traversal: &Traversal,
    ) -> Tag {
        if !self.are_charged::<M>() {
            return Tag::NONE;
        }
        self.wait_ends::<M>(channels, flow, layout, at, traversal);
        match flow.observers.contention.lost.is_on::<M>() {
            true => self.lost_at_crossbar::<M>(channels, flow, self.next_flit_of(channels, at)),
            false => Tag::NONE,
        }
    }

    /// The flit is in flight on the link.
    #[inline(always)]
    pub(super) fn flit_departs<M: Uses>(
        &mut self,
        channels: &Channels,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        link: &Link,
        traversal: &Traversal,
        flit: &Passed,
    ) {
        if !self.are_charged::<M>() {
            return;
        }
        let times @ (_, sent) = link.times_on(flit.arrival);
        self.wait_on_link::<M>(channels, &mut shared.flow, layout, flit.at, traversal, times);
        if shared.flow.observers.contention.lost.is_on::<M>() {
            self.take_along::<M>(channels, shared, link, flit);
        }
        self.wait_of_next::<M>(channels, &mut shared.flow, flit.at, traversal, sent);
    }

    /// Closes the waits that last at `now`.
    pub(super) fn close(&mut self, channels: &Channels, flow: &mut Flow, now: Time) {
        use odonata_engine::Plain;
        if !self.are_charged::<Plain>() {
            return;
        }
        let cycle = channels.timing.cycle_at(now);
        for &layout in &channels.layouts {
            channels.for_each_occupied(layout, |at| match self.vcs.get(at).reason {
                Reason::None => {}
                Reason::Held(by) => self.charge_until::<Plain>(channels, flow, at, cycle, Culprit::holding(by)),
                Reason::Credit(_) => {
                    let vc = channels.vcs.get(at);
                    let time = self
                        .starts(channels, vc, cycle)
                        .saturating_sub(self.vcs.get(at).expected);
                    let blame = &mut flow.observers.contention.blame;
                    blame.lacked_room(vc.port, vc.traffic, time);
                }
            });
        }
    }
}
