//! How long links have exhausted the buffers behind them: *saturation time*, the "time that the buffers stay full for that
//! particular link" of M. Mubarak et al. (IEEE TPDS 28(1), 2017).
//!
//! A virtual channel is exhausted while a packet waits for it and its buffer has no room for a full packet. Pipelined
//! routers count the time in which a flit lacks a credit and the link idles instead. A link is exhausted while one of its channels is, whether or not it transmits.
//!
//! Routers say when a channel is exhausted. It is so until the credit is due that makes room, which may have been a while ago
//! when that credit is counted.

use super::port::PortFlags;
use super::{Flow, VcRanges};
use crate::features::Uses;
use odonata_engine::{Store, Time};
use odonata_topology::LinkClass;

/// What a link has exhausted.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Exhausted {
    /// The channels: bits, by the first channel of a level where packets may choose among several.
    channels: u128,
    /// Since when there are any.
    since: Time,
    /// For how long there were, before.
    total: Time,
}

/// A credit that makes room.
type Due = (Time, u8, u32);

/// The exhausted channels of router ports.
#[derive(Debug)]
pub(super) struct Exhaustion {
    links: Store<Exhausted>,
    /// The channels of each level, if packets may take any of them.
    levels: Option<VcRanges>,
    /// Flits of room without which a channel is exhausted.
    room: u32,
    /// Empty between events.
    scratch: Vec<Due>,
}
odonata_engine::journalled!(Exhaustion { links });

/// The bit of a channel; those from 127 on share one.
fn channel_bit(vc: u8) -> u128 {
    1 << vc.min(127)
}

impl Exhaustion {
    /// Of so many router ports.
    pub(super) fn new(ports: u32, levels: Option<VcRanges>, room: u32) -> Exhaustion {
        let none = Exhausted {
            channels: 0,
            since: Time::ZERO,
            total: Time::ZERO,
        };
        Exhaustion {
            links: Store::filled(ports as usize, none),
            levels,
            room,
            scratch: Vec::new(),
        }
    }

    /// Bytes of a router port.
    pub(super) const OF_A_PORT: usize = size_of::<Exhausted>();

    pub(super) fn memory(&self) -> usize {
        self.links.memory()
    }

    /// Of what is exhausted, what ends if channel `vc` has room: the channel, or its level where packets may take any of that.
    fn bits(&self, class: LinkClass, vc: u8) -> u128 {
        match &self.levels {
            None => channel_bit(vc),
            Some(levels) => (0..=vc)
                .filter(|&first| levels.end(class, first) > vc)
                .fold(0, |bits, first| bits | channel_bit(first)),
        }
    }

    /// The channels in `bits` of `link` are not exhausted any more, since `at`; whether none is, that was before.
    fn end<M: Uses>(&mut self, link: u32, bits: u128, at: Time) -> bool {
        let before = *self.links.get(link);
        let ended = before.channels & bits;
        if ended == 0 {
            return false;
        }
        let cell = self.links.edit::<M>(link);
        cell.channels &= !ended;
        if cell.channels == 0 {
            cell.total += at.saturating_sub(cell.since);
        }
        cell.channels == 0
    }
}

impl Flow {
    /// A packet waits for channel `vc` of router port `link`, or for one of its level, and `lacks` room there at `now`.
    pub(crate) fn set_exhausted<M: Uses>(&mut self, link: u32, vc: u8, lacks: bool, now: Time) {
        let bit = channel_bit(vc);
        let Exhausted { channels, .. } = *self.exhaustion.links.get(link);
        match lacks {
            true if channels & bit == 0 => {
                let cell = self.exhaustion.links.edit::<M>(link);
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

    /// Beside the state of the port, so that nobody looks here who has no need to.
    fn flag_exhausted<M: Uses>(&mut self, link: u32, is_set: bool) {
        self.ports.edit::<M>(link).flags.set(PortFlags::EXHAUSTED, is_set);
    }

    /// For how long `link`, a router port, has been exhausted.
    pub(crate) fn exhausted_for(&self, link: u32) -> Time {
        self.exhaustion.links.get(link).total
    }

    /// Before the credits of `link`, which [is exhausted](super::OutPort::is_exhausted), are counted that are due: those of them that make room
    /// for a packet end that.
    #[inline(never)]
    pub(super) fn make_room<M: Uses>(&mut self, link: u32, now: Time) {
        let mut due = std::mem::take(&mut self.exhaustion.scratch);
        self.each_credit(link, |at, vc, flits| {
            if at <= now {
                due.push((at, vc, u32::from(flits)));
            }
        });
        due.sort_unstable();
        let of = self.link(link);
        for (i, &(at, vc, _)) in due.iter().enumerate() {
            let freed: u32 = due[..=i]
                .iter()
                .filter(|credit| credit.1 == vc)
                .map(|credit| credit.2)
                .sum();
            let used = self.vcs.get(of.first_vc + u32::from(vc)).used;
            if used - freed + self.exhaustion.room > of.capacity {
                continue;
            }
            let bits = self.exhaustion.bits(of.class, vc);
            self.end_exhaustion::<M>(link, bits, at);
        }
        due.clear();
        self.exhaustion.scratch = due;
    }
}
