//! Credit-based flow control: the sending sides of all links, and the credits in flight to them.
//!
//! A port may send into a buffer as many flits as it has credits for. Credits are lazy: a credit is stored with its due
//! time and counted when the port is next used. Only a port that awaits credits gets events: one per credit that is of use
//! to a waiting packet.

mod channel_set;
mod coupling;
mod credits;
mod exhaustion;
mod flit_credit;
mod flow_waits;
mod late_tails;
mod link;
mod link_traversal;
mod load_exchange;
mod packet_credits;
mod port;
mod vc_ranges;

pub(crate) use channel_set::ChannelSet;
pub use coupling::LinkPart;
pub(crate) use coupling::{Coupling, WHOLE};
pub(crate) use credits::{CountCredits, Space};
pub(crate) use flit_credit::FlitCredits;
pub use flow_waits::FlowWait;
pub(crate) use flow_waits::OUTPUTS;
pub(crate) use link::{CableDelays, Link, Links, Upstream, VcNumbers};
pub(crate) use load_exchange::exchange_loads;
pub(crate) use port::{OutPort, OutVc};
pub(crate) use vc_ranges::VcRanges;
pub use vc_ranges::VirtualChannels;

use crate::boundary::RemoteLoss;
use crate::features::{HandlerContext, Uses};
use crate::observe::{Observed, Observer, Observers, Saturation};
use crate::{FabricEvent, Traffic};
use exhaustion::Exhaustion;
use late_tails::LateTails;
use link::LinkEntry;
use odonata_engine::{CacheLine, Mode, Store, Time};
use packet_credits::PacketCredits;

/// The sending sides of all links (router ports, then NICs; see [`link`]).
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) links: Links,
    ports: Store<OutPort>,
    vcs: Store<OutVc>,
    packet_credits: PacketCredits,
    /// Credits of single flits, with pipelined routers.
    pub(crate) flits: FlitCredits,
    /// The instruments; stored here because credits are counted wherever the model asks for room.
    pub(crate) observers: Observers,
    /// Links shared with flows.
    pub(crate) coupling: Coupling,
    late_tails: LateTails,
    exhaustion: Exhaustion,
    /// Offset from the number of a link to the id of its wake-ups.
    first_wake_up_id: u32,
    /// Whether a credit is of use only to the packets that wait for its own channel of a router port.
    own_channel_alone: bool,
    /// Whether due credits of a port that is not exhausted may be counted at any time without effect on results.
    pub(crate) counts_early: bool,
}
odonata_engine::journalled!(Flow {
    ports,
    vcs,
    packet_credits,
    flits,
    observers,
    coupling,
    late_tails,
    exhaustion
});

/// The bit of virtual channel `vc`, if it has one.
#[inline(always)]
fn bit(vc: u8) -> u32 {
    if vc < OutPort::MASKED { 1 << vc } else { 0 }
}

impl Flow {
    pub(crate) fn new(
        links: Links,
        observers: Observers,
        coupling: Coupling,
        flits: bool,
        (levels, room): (Option<VcRanges>, u32),
        first_wake_up_id: u32,
        (own_channel_alone, counts_early): (bool, bool),
    ) -> Self {
        let exhaustion = Exhaustion::new(links.ports, levels, room);
        let packet_links = if flits { 0 } else { links.len() };
        let delays = (0..packet_links).map(|link| links.credit_number(links.entry(link)));
        Flow {
            ports: Store::from_vec((0..links.len()).map(|link| OutPort::idle(links.entry(link))).collect()),
            vcs: Store::filled(links.vcs() as usize, OutVc::IDLE),
            packet_credits: PacketCredits::new(delays),
            flits: FlitCredits::new(if flits { links.len() as usize } else { 0 }),
            links,
            observers,
            coupling,
            late_tails: LateTails::default(),
            exhaustion,
            first_wake_up_id,
            own_channel_alone,
            counts_early,
        }
    }

    #[inline(always)]
    pub(crate) fn port<M: Mode>(&self, link: u32) -> &OutPort {
        self.ports.trusted::<M>(link)
    }

    #[inline(always)]
    pub(crate) fn edit_port<M: Uses>(&mut self, link: u32) -> &mut OutPort {
        self.ports.edit_trusted::<M>(link)
    }

    /// The link, assembled from what is stored beside its sending port.
    #[inline(always)]
    pub(crate) fn link<M: Mode>(&self, link: u32) -> Link {
        self.links.whole::<M>(link, self.ports.trusted::<M>(link).link)
    }

    /// The LP of the sender of `link`.
    #[inline(always)]
    pub(crate) fn sender<M: Mode>(&self, link: u32) -> u32 {
        self.ports.trusted::<M>(link).link.sender
    }

    /// The local number of virtual channel 0 of `link`.
    #[inline(always)]
    pub(crate) fn first_vc<M: Mode>(&self, link: u32) -> u32 {
        self.links.first_vc::<M>(link)
    }

    /// The cache lines of the sending port of `link`, and of its first channels.
    #[inline(always)]
    pub(crate) fn lines<M: Mode>(&self, link: u32) -> [CacheLine; 3] {
        const CHANNELS_PER_LINE: u32 = (64 / size_of::<OutVc>()) as u32;
        let first = self.links.first_vc::<M>(link);
        [
            self.ports.line(link),
            self.vcs.line(first),
            self.vcs.line(first + CHANNELS_PER_LINE),
        ]
    }

    #[inline(always)]
    pub(crate) fn prefetch_port(&self, link: u32) {
        self.ports.prefetch(link);
    }

    /// Prefetches the ports of `links` links from `first` on, and their credits of single flits.
    #[inline(always)]
    pub(crate) fn prefetch_links(&self, first: u32, links: u32) {
        self.ports.prefetch_span(first, links);
        self.flits.prefetch(first, links);
    }

    /// Prefetches the state from which the load of `link` is computed.
    #[inline(always)]
    pub(crate) fn prefetch_load(&self, link: u32) {
        self.prefetch_credits(link);
        self.prefetch_port(link);
    }

    /// Prefetches what the instruments keep of the waits at `link`.
    #[inline(always)]
    pub(crate) fn prefetch_waits<M: Uses>(&self, link: u32) {
        self.observers.prefetch_waits::<M>(link, || self.first_vc::<M>(link));
    }

    /// Prefetches what the instruments keep of the owners that wait at `link`. The rest is in the cache.
    #[inline(always)]
    pub(crate) fn prefetch_waiters<M: Uses>(&self, link: u32) {
        self.observers.prefetch_waiters::<M>(link);
    }

    #[inline(always)]
    pub(crate) fn prefetch_credits(&self, link: u32) {
        self.packet_credits.prefetch(link);
    }

    /// The delay of a credit of `link` to its sender. Not with pipelined routers.
    #[inline(always)]
    pub(crate) fn credit_delay<M: Mode>(&self, link: u32) -> Time {
        self.links.credit_delay::<M>(self.packet_credits.delay::<M>(link))
    }

    /// Receives a loss of a packet from another part, or of a packet there that has freed a buffer.
    pub(crate) fn import_loss<M: Mode>(&mut self, loss: RemoteLoss) {
        let Flow { observers, links, .. } = self;
        let first_vc = |link| links.first_vc::<M>(links.port(link));
        observers.loss_enters_part::<M>(loss, first_vc, |buffer| links.buffer(buffer));
    }

    /// Virtual channel `at`, numbered over all links.
    #[inline(always)]
    pub(crate) fn vc<M: Mode>(&self, at: u32) -> &OutVc {
        self.vcs.trusted::<M>(at)
    }

    #[inline(always)]
    pub(crate) fn edit_vc<M: Uses>(&mut self, at: u32) -> &mut OutVc {
        self.vcs.edit_trusted::<M>(at)
    }

    /// States that a packet begins to wait for `channel` of `link`.
    #[inline]
    pub(crate) fn packet_waits<M: Uses>(&mut self, channel: (u32, u32), packet: Observed, now: Time) {
        let port = self.ports.trusted::<M>(channel.0);
        self.observers.packet_waits::<M>(channel, port, packet, now);
    }

    /// States that a packet which waits for `channel` of `link` is routed again.
    pub(crate) fn packet_is_rerouted<M: Uses>(&mut self, channel: (u32, u32), packet: Observed, now: Time) {
        let port = self.ports.trusted::<M>(channel.0);
        self.observers.packet_is_rerouted::<M>(channel, port, packet, now);
    }

    /// States that message `slot` of `owner` begins to wait at its NIC for `link`.
    #[inline]
    pub(crate) fn message_waits<M: Uses>(&mut self, link: u32, (slot, owner): (u32, Traffic), now: Time) {
        self.observers
            .message_waits::<M>(link, self.ports.trusted::<M>(link), (slot, owner), now);
    }

    /// States the end of the run at `now`.
    pub(crate) fn run_ends(&mut self, now: Time) {
        self.observers.run_ends(self.ports.iter(), now);
    }

    /// The id of wake-ups of the sending port of `link`.
    pub(crate) fn wake_up_id(&self, link: u32) -> u32 {
        self.first_wake_up_id | link
    }

    /// Bytes per link without credits in flight, and per virtual channel.
    pub(crate) const BYTES_PER_LINK: usize = Links::BYTES_PER_LINK + size_of::<OutPort>();
    /// Bytes per router port, in addition to those of its link.
    pub(crate) const BYTES_PER_PORT: usize = Exhaustion::BYTES_PER_PORT + Saturation::BYTES_PER_PORT;
    /// Bytes of the credits in flight per link, for credits of packets.
    pub(crate) const CREDIT_BYTES_PER_LINK: usize = PacketCredits::BYTES_PER_LINK;
    pub(crate) const BYTES_PER_CHANNEL: usize = size_of::<OutVc>();

    /// A packet of `owner` from input port `input` occupies `link` until `free_at` on virtual channel `vc`, and takes
    /// credits for `flits` flits.
    #[inline(always)]
    pub(crate) fn occupy<M: Uses>(
        &mut self,
        (link, first_vc): (u32, u32),
        vc: u8,
        flits: u32,
        (owner, input): (Traffic, u32),
        free_at: Time,
    ) {
        if flits > 0 {
            self.vcs.edit_trusted::<M>(first_vc + u32::from(vc)).used += flits;
        }
        let out = self.ports.edit_trusted::<M>(link);
        out.used += flits;
        out.free_at = free_at;
        out.last_vc = vc;
        out.last_input = input;
        out.holder = owner;
        out.stalled_since = Time::NEVER;
    }

    /// A packet of `flits` begins to wait for virtual channel `vc` of router port `link`.
    #[inline(always)]
    pub(crate) fn begin_wait<M: Uses>(&mut self, link: u32, vc: u8, flits: u32) {
        let out = self.ports.edit_trusted::<M>(link);
        out.waiting_vcs |= bit(vc);
        out.waiting += 1;
        out.waiting_flits += flits;
    }

    /// The packet stops waiting. `last`: no other packet waits for the channel.
    #[inline(always)]
    pub(crate) fn end_wait<M: Uses>(&mut self, link: u32, (vc, last): (u8, bool), flits: u32) {
        let out = self.ports.edit_trusted::<M>(link);
        if last {
            out.waiting_vcs &= !bit(vc);
        }
        out.waiting -= 1;
        out.waiting_flits -= flits;
    }

    /// Whether virtual channel `vc` of `link` has credits for `flits` more flits at `now`.
    #[inline(always)]
    pub(crate) fn has_room<M: Uses>(&mut self, link: u32, vc: u8, flits: u32, now: Time) -> bool {
        let link_of = self.link::<M>(link);
        let (at, most) = (link_of.first_vc + u32::from(vc), link_of.capacity);
        if self.vcs.trusted::<M>(at).used + flits <= most {
            return true;
        }
        self.count_credits::<M>(link, now);
        self.vcs.trusted::<M>(at).used + flits <= most
    }

    /// The same for virtual channel `at`, numbered over all links, of the link `link_of`.
    #[inline(always)]
    pub(crate) fn has_room_at<M: Uses>(
        &mut self,
        (link, link_of): (u32, &Link),
        at: u32,
        flits: u32,
        now: Time,
    ) -> bool {
        if self.vcs.trusted::<M>(at).used + flits <= link_of.capacity {
            return true;
        }
        self.count_credits::<M>(link, now);
        self.vcs.trusted::<M>(at).used + flits <= link_of.capacity
    }

    /// Takes credits for `flits` flits of virtual channel `vc` of `link` at `now`.
    #[inline]
    pub(crate) fn claim<M: Uses>(&mut self, link: u32, vc: u8, flits: u32, now: Time) {
        let at = self.first_vc::<M>(link) + u32::from(vc);
        self.observers.credits_are_taken::<M>(at, flits, now);
        self.vcs.edit_trusted::<M>(at).used += flits;
        self.ports.edit_trusted::<M>(link).used += flits;
    }

    /// The load of `link`: flits downstream without a returned credit or waiting for its port, and the equivalent of
    /// its flows.
    #[inline(always)]
    pub(crate) fn load<M: Uses>(&mut self, link: u32, now: Time) -> u32 {
        self.count_credits::<M>(link, now);
        let port = self.ports.trusted::<M>(link);
        port.used + port.waiting_flits + self.coupling.load::<M>(link)
    }

    /// The same, with credits counted by `count`.
    #[inline(always)]
    pub(crate) fn load_counted_by<M: Uses>(&mut self, count: CountCredits, link: u32, now: Time) -> u32 {
        if self.has_due_credits::<M>(link, now) {
            count(self, link, now);
        }
        let port = self.ports.trusted::<M>(link);
        port.used + port.waiting_flits + self.coupling.load::<M>(link)
    }

    /// A packet at the port of `link` has found the buffers exhausted; the port awaits credits from now on.
    pub(crate) fn stall<C: HandlerContext>(&mut self, ctx: &mut C, link: u32) {
        let now = ctx.now();
        let port = self.ports.edit_trusted::<C>(link);
        if port.stalled_since == Time::NEVER {
            port.stalled_since = now;
        }
        self.await_credits(ctx, link);
    }

    /// Schedules a wake-up of the sending port of `link` at `at`.
    ///
    /// Only the earliest wake-up is stored: its handler schedules the next one. Scheduling all of them would multiply
    /// the wake-ups of a port that waits for both its link and credits.
    #[inline]
    pub(crate) fn wake_up<C: HandlerContext>(&mut self, ctx: &mut C, link: u32, at: Time) {
        let OutPort {
            service_at: pending,
            link: LinkEntry { sender: lp, .. },
            ..
        } = *self.ports.trusted::<C>(link);
        if pending <= ctx.now_of(lp) || pending > at {
            self.schedule_wake_up(ctx, (link, lp), at);
        }
    }

    #[inline(never)]
    fn schedule_wake_up<C: HandlerContext>(&mut self, ctx: &mut C, (link, lp): (u32, u32), at: Time) {
        self.ports.edit_trusted::<C>(link).service_at = at;
        let event = if link < self.links.ports {
            FabricEvent::Port { port: link }
        } else {
            FabricEvent::Nic {
                nic: link - self.links.ports,
            }
        };
        ctx.wake_up(lp, at, self.first_wake_up_id | link, event.into());
    }

    /// From now on the port of `link` gets an event for each credit [of use](Self::channels_in_need) to a waiting packet,
    /// those in flight included.
    pub(crate) fn await_credits<C: HandlerContext>(&mut self, ctx: &mut C, link: u32) {
        self.set_awaits_credit::<C>(link, true);
        let due = match self.channels_in_need::<C>(link) {
            None => self.earliest_credit::<C>(link, ctx.now()),
            Some(channels) => self.packet_credits.earliest_of::<C>(link, channels, ctx.now()),
        };
        if let Some(due) = due {
            self.wake_up(ctx, link, due);
        }
    }

    /// The channels of `link` whose credits are of use to waiting packets, as bits; `None`: maybe all. A packet that
    /// begins to wait looks for credits in flight itself.
    #[inline(always)]
    pub(super) fn channels_in_need<M: Mode>(&self, link: u32) -> Option<u32> {
        (self.own_channel_alone && link < self.links.ports).then(|| self.ports.trusted::<M>(link).waiting_vcs)
    }
}
