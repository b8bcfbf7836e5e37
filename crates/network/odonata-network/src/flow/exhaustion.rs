//! Exhaustion of the buffers behind links: *saturation time*, the "time that the buffers stay full for that particular
//! link" of M. Mubarak et al. (IEEE TPDS 28(1), 2017).
//!
//! A virtual channel is exhausted while a packet waits for it and its buffer lacks room for a full packet. A link is
//! exhausted while one of its channels is, whether or not it transmits. Routers state when a channel becomes exhausted.
//! Exhaustion ends at the due time of the credit that makes room, even if that credit is counted later.
//!
//! **Pipelined routers** use credits only. A channel is exhausted from the flit that leaves no room for a full packet
//! (with wormhole switching: for a flit) until the due time of the credit that makes room. If packets may take any
//! channel of a level, the link is exhausted while all of them are. The time counts up to the last flit that the link
//! sends. It depends only on flits and credits, not on how often cycles are evaluated.

use super::port::PortFlags;
use super::{Flow, Link, VcRanges};
use crate::features::Uses;
use odonata_engine::{Store, Time};
use odonata_topology::LinkClass;

/// The exhausted channels of a link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Exhausted {
    /// Channels as bits; the first channel of a level stands for the level if packets may choose among several.
    /// Pipelined routers: every channel without room.
    channels: u128,
    /// Since when the link is exhausted; with pipelined routers, that or the time of its last flit.
    since: Time,
    /// Total exhausted time before `since`.
    total: Time,
    /// Pipelined routers: exhausted time since the last flit, before `since`.
    pending: Time,
}

/// A credit that makes room: due time, virtual channel, flits.
type Due = (Time, u8, u32);

/// The exhausted channels of router ports.
#[derive(Debug)]
pub(super) struct Exhaustion {
    links: Store<Exhausted>,
    /// The channels of each level, if packets may take any of them.
    levels: Option<VcRanges>,
    /// A channel with less room than this, in flits, is exhausted.
    room: u32,
    /// Temporary buffer; empty between events.
    scratch: Vec<Due>,
}
odonata_engine::journalled!(Exhaustion { links });

/// The bit of a channel; channels from 127 share one.
fn channel_bit(vc: u8) -> u128 {
    1 << vc.min(127)
}

impl Exhaustion {
    /// The state of `ports` router ports.
    pub(super) fn new(ports: u32, levels: Option<VcRanges>, room: u32) -> Exhaustion {
        let none = Exhausted {
            channels: 0,
            since: Time::ZERO,
            total: Time::ZERO,
            pending: Time::ZERO,
        };
        Exhaustion {
            links: Store::filled(ports as usize, none),
            levels,
            room,
            scratch: Vec::new(),
        }
    }

    pub(super) const BYTES_PER_PORT: usize = size_of::<Exhausted>();

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

    /// Whether a link with these channels is exhausted while the channels `lacking` have no room: all channels of some
    /// level.
    fn is_exhausted(&self, (class, vcs): (LinkClass, u8), lacking: u128) -> bool {
        let Some(levels) = &self.levels else {
            return lacking != 0;
        };
        let mut first = 0;
        while lacking != 0 && first < vcs {
            let end = levels.end(class, first);
            if (first..end).all(|vc| lacking & channel_bit(vc) != 0) {
                return true;
            }
            first = end;
        }
        false
    }

    /// Channel `vc` of a pipelined router's port has room for `free` flits since `at`.
    pub(super) fn has_room<M: Uses>(&mut self, (link, of): (u32, &Link), vc: u8, free: u32, at: Time) {
        let Exhausted { channels, since, .. } = *self.links.trusted::<M>(link);
        let left = channels & !channel_bit(vc);
        if free < self.room || left == channels {
            return;
        }
        let kind = (of.class, of.vcs);
        let ends = self.is_exhausted(kind, channels) && !self.is_exhausted(kind, left);
        let cell = self.links.edit_trusted::<M>(link);
        cell.channels = left;
        if ends {
            cell.pending += at.saturating_sub(since);
        }
    }

    /// Ends the exhaustion of the channels in `bits` of `link` at `at`. Returns whether the link was exhausted and is
    /// not any more.
    fn end<M: Uses>(&mut self, link: u32, bits: u128, at: Time) -> bool {
        let before = *self.links.trusted::<M>(link);
        let ended = before.channels & bits;
        if ended == 0 {
            return false;
        }
        let cell = self.links.edit_trusted::<M>(link);
        cell.channels &= !ended;
        if cell.channels == 0 {
            cell.total += at.saturating_sub(cell.since);
        }
        cell.channels == 0
    }
}

impl Flow {
    /// A packet waits for channel `vc` of router port `link`, or for one of its level; `lacks`: it has no room at
    /// `now`.
    pub(crate) fn set_exhausted<M: Uses>(&mut self, link: u32, vc: u8, lacks: bool, now: Time) {
        let bit = channel_bit(vc);
        let Exhausted { channels, .. } = *self.exhaustion.links.trusted::<M>(link);
        match lacks {
            true if channels & bit == 0 => {
                let cell = self.exhaustion.links.edit_trusted::<M>(link);
                cell.channels |= bit;
                if channels == 0 {
                    cell.since = now;
                    self.flag_exhausted::<M>(link, true);
                }
            }
            true => {}
            false => self.end_exhaustion::<M>(link, bit, now),
        }
    }

    fn end_exhaustion<M: Uses>(&mut self, link: u32, bits: u128, at: Time) {
        if self.exhaustion.end::<M>(link, bits, at) {
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
            let copy = &mut self.in_flight.edit_trusted::<M>(link).flags;
            copy.set(PortFlags::EXHAUSTED, is_set);
        }
    }

    /// Whether a flit from `port` of a pipelined router to channel `out`, numbered over all, has left no room in its
    /// buffer of `capacity` flits, or an earlier one has. Then the caller must call [`flit_leaves`](Self::flit_leaves).
    #[inline(always)]
    pub(crate) fn leaves_no_room<M: Uses>(&self, port: u32, out: u32, capacity: u32) -> bool {
        self.vcs.trusted::<M>(out).used + self.exhaustion.room > capacity
            || self.ports.trusted::<M>(port).is_exhausted()
    }

    /// A flit has departed at `now` from `port` of a pipelined router to channel `out`, numbered over all.
    // Not inlined, so that the caller keeps the link in registers.
    #[inline(never)]
    pub(crate) fn flit_leaves<M: Uses>(&mut self, port: u32, out: u32, now: Time) {
        let link = self.link::<M>(port);
        self.count_flit_credits::<M>(port, now);
        let lacks = self.vcs.trusted::<M>(out).used + self.exhaustion.room > link.capacity;
        let kind = (link.class, link.vcs);
        let Exhausted { channels, since, .. } = *self.exhaustion.links.trusted::<M>(port);
        let lacking = match lacks {
            true => channels | channel_bit((out - link.first_vc) as u8),
            false => channels,
        };
        let was = self.exhaustion.is_exhausted(kind, channels);
        let cell = self.exhaustion.links.edit_trusted::<M>(port);
        let since_then = if was { now.saturating_sub(since) } else { Time::ZERO };
        cell.total += std::mem::take(&mut cell.pending) + since_then;
        (cell.channels, cell.since) = (lacking, now);
        self.flag_exhausted::<M>(port, lacking != 0);
    }

    /// Total exhausted time of router port `link`.
    pub(crate) fn exhausted_for(&self, link: u32) -> Time {
        self.exhaustion.links.get(link).total
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
            Some((at, vc, flits)) => self.make_room_by::<M>(&self.link::<M>(link), (link, vc), flits, at),
            None => {}
        }
    }

    /// Credits for `freed` flits of channel `vc` are due at `at`.
    #[inline]
    fn make_room_by<M: Uses>(&mut self, of: &Link, (link, vc): (u32, u8), freed: u32, at: Time) {
        let used = self.vcs.trusted::<M>(of.first_vc + u32::from(vc)).used;
        if used - freed + self.exhaustion.room <= of.capacity {
            let bits = self.exhaustion.bits(of.class, vc);
            self.end_exhaustion::<M>(link, bits, at);
        }
    }

    /// The same for several due credits: the one that makes room counts.
    #[inline(never)]
    fn make_room_by_several<M: Uses>(&mut self, link: u32, now: Time) {
        let mut due = std::mem::take(&mut self.exhaustion.scratch);
        self.each_credit(link, |at, vc, flits| {
            if at <= now {
                due.push((at, vc, u32::from(flits)));
            }
        });
        due.sort_unstable();
        let of = self.link::<M>(link);
        for (i, &(at, vc, _)) in due.iter().enumerate() {
            let freed: u32 = due[..=i]
                .iter()
                .filter(|credit| credit.1 == vc)
                .map(|credit| credit.2)
                .sum();
            self.make_room_by::<M>(&of, (link, vc), freed, at);
        }
        due.clear();
        self.exhaustion.scratch = due;
    }
}
