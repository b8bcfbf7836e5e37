//! Observers: the instruments that record what happens in the fabric.
//!
//! NICs, routers and links state facts: a packet waits, departs, is delivered; a credit arrives. [`Observers`] passes
//! each fact to every instrument that implements it ([`Observer`]). The model never reads an instrument. A [`Tag`] that
//! an instrument gives to a credit travels with the credit, and the model does not look into it.
//!
//! | instrument | records |
//! |---|---|
//! | [`Statistics`] | counters of links, nodes and traffic; latencies; time series; sampling periods |
//! | [`Saturation`] | of router ports: how long the buffers behind the link are exhausted |
//! | [`Queues`] | of chosen links: how full buffers are, how many packets wait, how long the link stalls |
//! | [`Contention`] | which traffic delays which ([`blame`]), and what each message loses by its waits ([`lost`]) |
//! | [`FlitWaits`] | the same of single flits, by the facts of pipelined routers ([`PipelineObserver`]) |
//!
//! An instrument checks for itself whether it is on, first by the compiled feature set ([`Uses`]): what a scenario does
//! not use is not compiled into its handlers. To add an instrument, implement the facts that it needs and add it to
//! [`Observers`].

pub(crate) mod blame;
mod contention;
mod facts;
mod flit_waits;
mod lost;
mod pipeline_facts;
pub(crate) mod queues;
mod results;
mod saturation;
mod setup;
pub(crate) mod statistics;

pub(crate) use blame::{BlameLedger, has_input_lines};
use contention::Contention;
pub(crate) use facts::{
    ChunkDeparture, FlitDeparture, LinkDeparture, MessageDeparture, Observed, Observer, PackedTag, PacketDelivery, Tag,
};
pub(crate) use flit_waits::FlitWaits;
pub(crate) use pipeline_facts::{PassedFlit, PipelineObserver};
use queues::Queues;
pub(crate) use saturation::Saturation;
use statistics::Statistics;
pub(crate) use statistics::Transmission;

use crate::boundary::RemoteLoss;
use crate::features::Uses;
use crate::flow::{ChannelSet, OutPort};
use crate::message::{Message, Traffic};
use crate::packet::Packet;
use odonata_blame::lost::Carried;
use odonata_engine::{Mode, Time};
use odonata_topology::LinkClass;

/// The instruments of a part of the fabric.
#[derive(Debug)]
pub(crate) struct Observers {
    statistics: Statistics,
    saturation: Saturation,
    queues: Queues,
    contention: Contention,
}
odonata_engine::journalled!(Observers {
    statistics,
    saturation,
    queues,
    contention
});

/// Passes each fact on to all instruments, in this order.
macro_rules! pass_on {
    ($(fn $fact:ident $(<$generic:ident>)? ($($argument:ident: $type:ty),*);)+) => {
        #[warn(clippy::missing_trait_methods)]
        impl Observer for Observers {
            $(
                #[inline(always)]
                fn $fact<M: Uses $(, $generic)?>(&mut self, $($argument: $type),*) {
                    self.statistics.$fact::<M $(, $generic)?>($($argument),*);
                    self.saturation.$fact::<M $(, $generic)?>($($argument),*);
                    self.queues.$fact::<M $(, $generic)?>($($argument),*);
                    self.contention.$fact::<M $(, $generic)?>($($argument),*);
                }
            )+
        }
    };
}

pass_on! {
    fn message_submitted<P>(message: &Message<P>, packet: u64);
    fn message_waits(link: u32, port: &OutPort, message: (u32, Traffic), now: Time);
    fn message_departs(departure: &MessageDeparture<'_>);
    fn chunk_departs(departure: &ChunkDeparture<'_>);
    fn flit_departs(departure: &FlitDeparture<'_>);
    fn packet_starts(packet: u32, message: u32);
    fn packet_waits(channel: (u32, u32), port: &OutPort, packet: Observed, now: Time);
    fn packet_is_rerouted(channel: (u32, u32), port: &OutPort, packet: Observed, now: Time);
    fn packet_departs(departure: &LinkDeparture<'_>);
    fn packet_delivered(slot: u32, packet: &Packet, delivery: &PacketDelivery);
    fn message_delivered(owner: Traffic);
    fn message_delivered_whole<P>(message: &Message<P>, arrival: Time);
    fn packet_joins_fifo(buffer: u32, packet: Observed, now: Time);
    fn packet_leads_fifo(buffer: u32, packet: Observed, now: Time);
    fn fifo_is_held(buffer: u32, owner: Traffic);
    fn credits_are_taken(channel: u32, flits: u32, now: Time);
    fn credit_arrives(channel: (u32, Traffic), flits: u32, due: Time, tag: Tag, is_awaited: bool);
    fn link_is_exhausted(link: u32, now: Time);
    fn link_has_room(link: u32, since: Time);
    fn short_link_sends(link: (u32, LinkClass, u8), lacked: ChannelSet, now: Time);
    fn channel_has_room(link: (u32, LinkClass, u8), lacking: (ChannelSet, ChannelSet), since: Time);
    fn port_stalls(link: u32);
    fn port_resumes(link: u32, since: Time, now: Time);
    fn port_sends(port: (u32, LinkClass), at: Time, sent: Transmission);
    fn nic_sends(link: u32, sent: Transmission);
}

impl Observers {
    /// Prefetches the counters of `link`.
    #[inline(always)]
    pub(crate) fn prefetch(&self, link: u32) {
        self.statistics.prefetch(link);
    }

    /// Prefetches what the instruments keep of the waits at `link` and at its channels from `channel` on.
    #[inline(always)]
    pub(crate) fn prefetch_waits<M: Uses>(&self, link: u32, channel: impl FnOnce() -> u32) {
        if M::BLAME {
            self.contention.blame.prefetch(link, channel());
        }
    }

    /// Prefetches what the instruments keep of the owners that wait at `link`.
    #[inline(always)]
    pub(crate) fn prefetch_waiters<M: Uses>(&self, link: u32) {
        let blame = &self.contention.blame;
        if blame.is_on::<M>() {
            blame.ledger.prefetch_waiters::<M>(link);
        }
    }

    /// Gives a credit of `owner`, which counts from `due`, the tag that travels with it.
    #[inline(always)]
    pub(crate) fn credit_departs<M: Uses>(
        &mut self,
        channel: impl FnOnce() -> u32,
        owner: Traffic,
        due: Time,
        tag: Tag,
    ) -> PackedTag {
        self.contention.credit_departs::<M>(channel, owner, due, tag)
    }

    /// The tag of the credit for the buffer left by the packet that has just taken `link`.
    #[inline(always)]
    pub(crate) fn tag_of_last<M: Uses>(&self, link: u32) -> Tag {
        match self.contention.lost.is_on::<M>() {
            true => Tag(self.contention.lost.links.of_last(link)),
            false => Tag::NONE,
        }
    }

    /// The tag of the credit for the buffer that `packet` of `owner` leaves.
    #[inline]
    pub(crate) fn tag_of_packet<M: Uses>(&mut self, packet: u32, owner: Traffic) -> Tag {
        match self.contention.lost.is_on::<M>() {
            true => Tag(self.contention.lost.losses_to_others::<M>(packet, owner)),
            false => Tag::NONE,
        }
    }

    /// Releases the tag of a flit, whose credit has its own tag.
    #[inline(always)]
    pub(crate) fn release_tag<M: Uses>(&mut self, tag: Tag) {
        if self.contention.lost.is_on::<M>() {
            self.contention.lost.losses.vectors.release::<M>(tag.0);
        }
    }

    /// Gives the credit of a flit of `owner`, which counts from `due`, its tag.
    #[inline(always)]
    pub(crate) fn flit_credit_departs<M: Uses>(
        &mut self,
        channel: impl FnOnce() -> u32,
        owner: Traffic,
        due: Time,
        tag: Tag,
    ) {
        if self.contention.lost.is_on::<M>() {
            let lost = &mut self.contention.lost;
            lost.rooms
                .frees::<M>(&mut lost.losses.vectors, (channel(), owner), due, tag.0);
        }
    }

    /// The flit at `front`, a NIC's, departs as the head of `packet`. With `ends`, it is the last flit of its packet
    /// there.
    #[inline]
    pub(crate) fn head_starts<M: Uses>(&mut self, front: u32, packet: u32, ends: bool) {
        if self.contention.lost.is_on::<M>() {
            self.contention.lost.front_to_packet::<M>(front, packet, ends);
        }
    }

    /// The flit at `front`, a body flit of a NIC, departs for front `to`, where it arrives at `came`.
    #[inline]
    pub(crate) fn body_flit_starts<M: Uses>(&mut self, (front, ends): (u32, bool), to: u32, came: Time) {
        if self.contention.lost.is_on::<M>() {
            self.contention.lost.body_goes::<M>((front, ends), to, came);
        }
    }

    /// A body flit arrives from another part at input buffer `to`.
    #[inline]
    pub(crate) fn body_flit_enters_part<M: Uses>(&mut self, to: u32, came: Time) {
        if self.contention.lost.is_on::<M>() {
            self.contention.lost.body_arrives::<M>(to, came);
        }
    }

    /// `packet` of `message`, in slot `slot`, leaves for another part. Returns the losses to send ahead of it.
    pub(crate) fn packet_leaves_part<M: Mode, P>(
        &mut self,
        slot: u32,
        packet: &Packet,
        message: &Message<P>,
    ) -> Vec<RemoteLoss> {
        match self.contention.lost.is_kept() {
            true => self.contention.lost.export::<M, P>(slot, packet, message),
            false => Vec::new(),
        }
    }

    /// `packet` of `message` arrives from another part, into slot `slot`.
    pub(crate) fn packet_enters_part<M: Mode, P>(&mut self, slot: u32, packet: &Packet, message: &Message<P>) {
        if self.contention.lost.is_kept() {
            self.contention.lost.arrives::<M, P>(slot, packet, message);
        }
    }

    /// The losses that travel to another part with the credit of `owner` for virtual channel `vc` of `link`, due at
    /// that time.
    pub(crate) fn tag_leaves_part(
        &self,
        credit: (u32, u8, Traffic),
        due: Time,
        tag: Tag,
    ) -> impl Iterator<Item = RemoteLoss> + '_ {
        self.contention.lost.frees_remote(credit, due, tag.0)
    }

    /// The slot of a message becomes free.
    #[inline]
    pub(crate) fn message_is_freed<M: Mode>(&mut self, slot: u32) {
        if self.contention.lost.is_kept() {
            self.contention.lost.forget_message::<M>(slot);
        }
    }

    /// A loss arrives from another part: of a packet, or of a packet there that has freed a buffer. `first_vc` maps a
    /// link, `buffer` an input buffer, by their numbers in the machine to those here.
    pub(crate) fn loss_enters_part<M: Mode>(
        &mut self,
        loss: RemoteLoss,
        first_vc: impl FnOnce(u32) -> u32,
        buffer: impl FnOnce(u32) -> u32,
    ) {
        self.contention.lost.import::<M>(loss, first_vc, buffer);
    }

    /// Sets the losses of the message in slot `slot`, of `owner`, from before its submission.
    pub(crate) fn set_losses<M: Mode>(&mut self, slot: u32, owner: Traffic, losses: &Carried) {
        self.contention.lost.set_message::<M>(slot, owner, losses);
    }

    /// The losses of the message in slot `slot`, of `owner`, so far.
    pub(crate) fn losses(&self, slot: u32, owner: Traffic) -> Carried {
        match self.contention.lost.is_kept() {
            true => self.contention.lost.of_message(slot, owner),
            false => Carried::default(),
        }
    }
}
