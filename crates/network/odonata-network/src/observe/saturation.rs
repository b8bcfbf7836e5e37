//! Saturation: how long the buffers behind each router port are exhausted, the "time that the buffers stay full for that
//! particular link" of M. Mubarak et al. (IEEE TPDS 28(1), 2017). The model states when they are (`flow/exhaustion.rs`).
//!
//! A pipelined router states which channels lack room. If packets may take any channel of a level, its link is exhausted
//! while all channels of a level lack room; otherwise while one does. The time counts up to the last flit that the link
//! sends, so it depends only on flits and credits, not on how often cycles are evaluated.

use super::facts::Observer;
use crate::features::Uses;
use crate::flow::{ChannelSet, VcRanges};
use odonata_engine::{Store, Time};
use odonata_topology::LinkClass;

/// The exhaustion of a link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Exhausted {
    /// Since when the link is exhausted; with pipelined routers, that or the time of its last flit.
    since: Time,
    /// Total exhausted time before `since`.
    total: Time,
    /// Pipelined routers: exhausted time since the last flit, before `since`.
    pending: Time,
}

/// The exhausted times of router ports.
#[derive(Debug)]
pub(crate) struct Saturation {
    links: Store<Exhausted>,
    /// Pipelined routers: the channels of each level, if packets may take any of them.
    levels: Option<VcRanges>,
}
odonata_engine::journalled!(Saturation { links });

impl Saturation {
    /// Of `ports` router ports. `levels`: of pipelined routers, the channels of each level, if packets may take any of them.
    pub(crate) fn new(ports: u32, levels: Option<VcRanges>) -> Saturation {
        let none = Exhausted {
            since: Time::ZERO,
            total: Time::ZERO,
            pending: Time::ZERO,
        };
        Saturation {
            links: Store::filled(ports as usize, none),
            levels,
        }
    }

    pub(crate) const BYTES_PER_PORT: usize = size_of::<Exhausted>();

    /// Whether a link of this class and number of channels is exhausted while the channels `lacking` have no room.
    fn is_exhausted(&self, (class, vcs): (LinkClass, u8), lacking: ChannelSet) -> bool {
        let Some(levels) = &self.levels else {
            return !lacking.is_empty();
        };
        let mut first = 0;
        while !lacking.is_empty() && first < vcs {
            let end = levels.end(class, first);
            if (first..end).all(|vc| lacking.has(vc)) {
                return true;
            }
            first = end;
        }
        false
    }

    /// Total exhausted time of router port `link`.
    pub(crate) fn of_link(&self, link: u32) -> Time {
        self.links.get(link).total
    }
}

impl Observer for Saturation {
    #[inline]
    fn link_is_exhausted<M: Uses>(&mut self, link: u32, now: Time) {
        self.links.edit_trusted::<M>(link).since = now;
    }

    #[inline]
    fn link_has_room<M: Uses>(&mut self, link: u32, since: Time) {
        let cell = self.links.edit_trusted::<M>(link);
        cell.total += since.saturating_sub(cell.since);
    }

    #[inline]
    fn channel_has_room<M: Uses>(
        &mut self,
        (link, class, vcs): (u32, LinkClass, u8),
        lacking: (ChannelSet, ChannelSet),
        since: Time,
    ) {
        if self.is_exhausted((class, vcs), lacking.0) && !self.is_exhausted((class, vcs), lacking.1) {
            let cell = self.links.edit_trusted::<M>(link);
            cell.pending += since.saturating_sub(cell.since);
        }
    }

    #[inline]
    fn short_link_sends<M: Uses>(&mut self, (link, class, vcs): (u32, LinkClass, u8), lacked: ChannelSet, now: Time) {
        let was_exhausted = self.is_exhausted((class, vcs), lacked);
        let cell = self.links.edit_trusted::<M>(link);
        let since_then = match was_exhausted {
            true => now.saturating_sub(cell.since),
            false => Time::ZERO,
        };
        cell.total += std::mem::take(&mut cell.pending) + since_then;
        cell.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    /// A link of four channels.
    const LINK: (u32, LinkClass, u8) = (0, LinkClass::Local, 4);

    #[test]
    fn time_counts_between_exhaustion_and_room() {
        let mut saturation = Saturation::new(2, None);
        for (from, to) in [(10, 25), (40, 47)] {
            saturation.link_is_exhausted::<Plain>(1, Time(from));
            saturation.link_has_room::<Plain>(1, Time(to));
        }
        assert_eq!([0, 1].map(|link| saturation.of_link(link)), [0, 22].map(Time));
    }

    /// Exhausted from the flit at 10 to 25, again from the flit at 40, which is not counted before the next flit.
    #[test]
    fn of_pipelined_routers_time_counts_up_to_the_last_flit() {
        let mut saturation = Saturation::new(1, None);
        let [none, one] = [&[][..], &[2]].map(ChannelSet::of);
        saturation.short_link_sends::<Plain>(LINK, none, Time(10));
        saturation.channel_has_room::<Plain>(LINK, (one, none), Time(25));
        assert_eq!(saturation.of_link(0), Time::ZERO);
        saturation.short_link_sends::<Plain>(LINK, none, Time(40));
        assert_eq!(saturation.of_link(0), Time(15));
        saturation.short_link_sends::<Plain>(LINK, one, Time(46));
        assert_eq!(saturation.of_link(0), Time(21));
    }

    /// Two levels of two channels: exhausted from the flit at 20, when both channels of level 1 lack room, to 35.
    #[test]
    fn a_link_is_exhausted_while_all_channels_of_a_level_lack_room() {
        let levels = VcRanges::new([2; LinkClass::COUNT], [4; LinkClass::COUNT], 1);
        let mut saturation = Saturation::new(1, Some(levels));
        let [none, two, across, both] = [&[][..], &[2], &[1, 2], &[1, 2, 3]].map(ChannelSet::of);
        for (lacked, now) in [(none, 5), (two, 10), (across, 20)] {
            saturation.short_link_sends::<Plain>(LINK, lacked, Time(now));
        }
        saturation.channel_has_room::<Plain>(LINK, (both, ChannelSet::of(&[2, 3])), Time(30));
        saturation.channel_has_room::<Plain>(LINK, (ChannelSet::of(&[2, 3]), two), Time(35));
        saturation.short_link_sends::<Plain>(LINK, two, Time(50));
        assert_eq!(saturation.of_link(0), Time(15));
    }
}
