//! Exhaustion of the buffers behind links.
//!
//! A virtual channel is exhausted while a packet waits for it and its buffer lacks room for a full packet. A link is
//! exhausted while one of its channels is, whether or not it transmits. Routers state when a channel becomes exhausted.
//! Exhaustion ends at the due time of the credit that makes room, even if that credit is counted later.
//!
//! **Pipelined routers** use credits only. A channel lacks room from the flit that leaves no room for a full packet
//! (with wormhole switching: for a flit) until the due time of the credit that makes room.
//!
//! A port without an exhausted channel has a credit for each packet, or flit, that asks for one: its flag
//! ([`is_exhausted`](super::OutPort::is_exhausted)) spares routers a look at the channels. How long links are exhausted is
//! recorded by an instrument (`observe/saturation.rs`).

use super::channel_set::{ChannelSet, channel_bit};
use super::port::PortFlags;
use super::{Flow, Link, OutVc, VcRanges};
use crate::features::Uses;
use crate::observe::Observer;
use odonata_engine::{Store, Time};
use odonata_topology::LinkClass;

/// A credit that makes room: due time, virtual channel, flits.
type Due = (Time, u8, u32);

/// The exhausted channels of router ports.
#[derive(Debug)]
pub(super) struct Exhaustion {
    /// Channels as bits; the first channel of a level stands for the level if packets may choose among several.
    /// Pipelined routers: every channel without room.
    channels: Store<u128>,
    /// The channels of each level, if packets may take any of them.
    levels: Option<VcRanges>,
    /// A channel with less room than this, in flits, is exhausted.
    room: u32,
    /// Due credits of a port; empty between events.
    due: Vec<Due>,
}
odonata_engine::journalled!(Exhaustion { channels });

impl Exhaustion {
    /// The state of `ports` router ports.
    pub(super) fn new(ports: u32, levels: Option<VcRanges>, room: u32) -> Exhaustion {
        Exhaustion {
            channels: Store::filled(ports as usize, 0),
            levels,
            room,
            due: Vec::new(),
        }
    }

    pub(super) const BYTES_PER_PORT: usize = size_of::<u128>();

    /// The exhaustion bits that end if channel `vc` has room: the channel, or its level if packets may take any channel
    /// of it.
    fn bits(&self, class: LinkClass, vc: u8) -> u128 {
        match &self.levels {
            None => channel_bit(vc),
            Some(levels) => (0..=vc)
                .filter(|&first| levels.end(class, first) > vc)
                .fold(0, |bits, first| bits | channel_bit(first)),
        }
    }

    /// Whether a buffer of `capacity` flits lacks room while `used` are taken.
    #[inline(always)]
    fn lacks_room(&self, used: u32, capacity: u32) -> bool {
        used + self.room > capacity
    }

    /// Channel `vc` of a pipelined router's port has room for `free` flits. Returns the channels that lack room before and
    /// after that, if it is one of them and has enough.
    pub(super) fn has_room<M: Uses>(&mut self, link: u32, vc: u8, free: u32) -> Option<(ChannelSet, ChannelSet)> {
        let lacking = *self.channels.trusted::<M>(link);
        let left = lacking & !channel_bit(vc);
        if free < self.room || left == lacking {
            return None;
        }
        *self.channels.edit_trusted::<M>(link) = left;
        Some((ChannelSet(lacking), ChannelSet(left)))
    }

    /// A flit has left on channel `vc` of a pipelined router's port, which `lacks` room now or not. Returns the channels that
    /// lacked room before, and whether some do now.
    fn sends<M: Uses>(&mut self, link: u32, vc: u8, lacks: bool) -> (ChannelSet, bool) {
        let before = *self.channels.trusted::<M>(link);
        let lacking = if lacks { before | channel_bit(vc) } else { before };
        if lacking != before {
            *self.channels.edit_trusted::<M>(link) = lacking;
        }
        (ChannelSet(before), lacking != 0)
    }

    /// Channel `vc` of `link` becomes exhausted. Returns whether the link does.
    fn begin<M: Uses>(&mut self, link: u32, vc: u8) -> bool {
        let before = *self.channels.trusted::<M>(link);
        if before & channel_bit(vc) == 0 {
            *self.channels.edit_trusted::<M>(link) |= channel_bit(vc);
        }
        before == 0
    }

    /// Ends the exhaustion of the channels in `bits` of `link`. Returns whether the link was exhausted and is not any more.
    fn end<M: Uses>(&mut self, link: u32, bits: u128) -> bool {
        let channels = *self.channels.trusted::<M>(link);
        if channels & bits == 0 {
            return false;
        }
        *self.channels.edit_trusted::<M>(link) &= !bits;
        channels & !bits == 0
    }

    /// The credit in `due`, sorted, of `link` that makes room and ends its exhaustion, if there is one: its due time. `vcs` are
    /// the channels of all links, without these credits.
    #[inline(always)]
    fn end_by<M: Uses>(&mut self, (link, of): (u32, &Link), vcs: &Store<OutVc>, due: &[Due]) -> Option<Time> {
        let mut ended = None;
        for (i, &(at, vc, _)) in due.iter().enumerate() {
            let same = due[..=i].iter().filter(|credit| credit.1 == vc);
            let freed: u32 = same.map(|credit| credit.2).sum();
            let used = vcs.trusted::<M>(of.first_vc + u32::from(vc)).used - freed;
            if !self.lacks_room(used, of.capacity) && self.end::<M>(link, self.bits(of.class, vc)) {
                ended = Some(at);
            }
        }
        ended
    }
}

impl Flow {
    /// A packet waits for channel `vc` of router port `link`, or for one of its level; `lacks`: it has no room at
    /// `now`.
    pub(crate) fn set_exhausted<M: Uses>(&mut self, link: u32, vc: u8, lacks: bool, now: Time) {
        if lacks {
            if self.exhaustion.begin::<M>(link, vc) {
                self.observers.link_is_exhausted::<M>(link, now);
                self.flag_exhausted::<M>(link, true);
            }
        } else if self.exhaustion.end::<M>(link, channel_bit(vc)) {
            self.observers.link_has_room::<M>(link, now);
            self.flag_exhausted::<M>(link, false);
        }
    }

    /// Sets the flag in the state of the port, so that ports without exhaustion do not touch this state.
    fn flag_exhausted<M: Uses>(&mut self, link: u32, is_set: bool) {
        self.ports
            .edit_trusted::<M>(link)
            .flags
            .set(PortFlags::EXHAUSTED, is_set);
        if !self.flits.are_used() {
            (self.packet_credits).set_flag::<M>(link, PortFlags::EXHAUSTED, is_set);
        }
    }

    /// Whether a flit from `port` of a pipelined router to channel `out`, numbered over all, has left no room in its
    /// buffer of `capacity` flits, or an earlier one has. Then the caller must call [`flit_leaves`](Self::flit_leaves).
    #[inline(always)]
    pub(crate) fn leaves_no_room<M: Uses>(&self, port: u32, out: u32, capacity: u32) -> bool {
        let used = self.vcs.trusted::<M>(out).used;
        self.exhaustion.lacks_room(used, capacity) || self.ports.trusted::<M>(port).is_exhausted()
    }

    /// A flit has departed at `now` from `port` of a pipelined router to channel `out`, numbered over all.
    // Not inlined, so that the caller keeps the link in registers.
    #[inline(never)]
    pub(crate) fn flit_leaves<M: Uses>(&mut self, port: u32, out: u32, now: Time) {
        let link = self.link::<M>(port);
        self.count_flit_credits::<M>(port, now);
        let (used, vc) = (self.vcs.trusted::<M>(out).used, (out - link.first_vc) as u8);
        let lacks = self.exhaustion.lacks_room(used, link.capacity);
        let (lacked_room, is_short) = self.exhaustion.sends::<M>(port, vc, lacks);
        self.observers
            .short_link_sends::<M>((port, link.class, link.vcs), lacked_room, now);
        self.flag_exhausted::<M>(port, is_short);
    }

    /// Ends the exhaustion of `link`, which [is exhausted](super::OutPort::is_exhausted), at the due times of credits
    /// that make room. Called before these credits are counted.
    #[inline(never)]
    pub(super) fn make_room<M: Uses>(&mut self, link: u32, now: Time) {
        let (mut first, mut others) = (None, false);
        self.each_credit(link, |at, vc, flits| {
            if at <= now {
                others |= first.is_some();
                first = first.or(Some((at, vc, u32::from(flits))));
            }
        });
        match first {
            Some(_) if others => self.make_room_by_several::<M>(link, now),
            Some(credit) => self.make_room_by::<M>(link, &[credit]),
            None => {}
        }
    }

    #[inline(never)]
    fn make_room_by_several<M: Uses>(&mut self, link: u32, now: Time) {
        let mut due = std::mem::take(&mut self.exhaustion.due);
        self.each_credit(link, |at, vc, flits| {
            if at <= now {
                due.push((at, vc, u32::from(flits)));
            }
        });
        due.sort_unstable();
        self.make_room_by::<M>(link, &due);
        due.clear();
        self.exhaustion.due = due;
    }

    /// The same for these credits, sorted.
    #[inline(always)]
    fn make_room_by<M: Uses>(&mut self, link: u32, due: &[Due]) {
        let of = self.link::<M>(link);
        if let Some(at) = self.exhaustion.end_by::<M>((link, &of), &self.vcs, due) {
            self.observers.link_has_room::<M>(link, at);
            self.flag_exhausted::<M>(link, false);
        }
    }
}
