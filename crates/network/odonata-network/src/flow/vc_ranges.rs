//! Levels and virtual channels.
//!
//! A routing assigns packets to *levels*, as many per link class as it needs to avoid deadlock. If a machine has more
//! virtual channels, each level is a range of them. With `V` channels and `K` levels:
//!
//! ```text
//! level l:  floor(l V / K) .. floor((l + 1) V / K)
//! ```
//!
//! Each traffic class has its own copy: the channels of class `c` are those of the first, plus `c V`. A packet never
//! changes its class. So the dependency graph consists of one copy per class without edges between them, and a routing
//! without deadlock for one class has none for several.

use odonata_topology::LinkClass;
use std::ops::Range;

/// Virtual channels of each link class, by [`LinkClass`] number.
pub type VirtualChannels = [u8; LinkClass::COUNT];

/// The channels of each level, per link class.
#[derive(Clone, Debug)]
pub(crate) struct VcRanges {
    /// The channels of the first traffic class: first and end (exclusive), by level and link class.
    levels: Vec<[(u8, u8); LinkClass::COUNT]>,
    /// Per link class and channel, over all traffic classes: the end (exclusive) of the channel's level.
    ends: [Vec<u8>; LinkClass::COUNT],
    /// Channels per traffic class.
    width: VirtualChannels,
    /// Whether a level has more than one channel.
    several: bool,
}

impl VcRanges {
    /// The ranges for a routing that needs `levels` on links with `vcs` channels per traffic class, at least as many.
    pub(crate) fn new(levels: VirtualChannels, vcs: VirtualChannels, traffic_classes: u8) -> VcRanges {
        let bound = |class: usize, level: u8| {
            let (k, v) = (u32::from(levels[class]), u32::from(vcs[class]));
            (u32::from(level.min(levels[class])) * v / k.max(1)) as u8
        };
        let most = levels.into_iter().max().unwrap_or(0);
        let of_level = |level: u8| std::array::from_fn(|class| (bound(class, level), bound(class, level + 1)));
        let levels: Vec<_> = (0..most).map(of_level).collect();
        let ends = |class: usize| {
            let width = vcs[class];
            let end = |vc: u8| {
                levels
                    .iter()
                    .map(|level| level[class].1)
                    .find(|&end| end > vc)
                    .unwrap_or(width)
            };
            let shifts = (0..traffic_classes).map(|traffic_class| width * traffic_class);
            shifts
                .flat_map(|shift| (0..width).map(move |vc| (vc, shift)))
                .map(|(vc, shift)| end(vc) + shift)
                .collect()
        };
        let several = levels.iter().flatten().any(|&(start, end)| end > start + 1);
        VcRanges {
            several,
            ends: std::array::from_fn(ends),
            levels,
            width: vcs,
        }
    }

    /// The channels of `level` on links of `class` for packets of traffic class `traffic_class`.
    #[inline]
    pub(crate) fn of(&self, class: LinkClass, level: u8, traffic_class: u8) -> Range<u8> {
        let (start, end) = self.levels[usize::from(level)][class as usize];
        let shift = self.width[class as usize] * traffic_class;
        start + shift..end + shift
    }

    /// The first of these channels.
    #[inline]
    pub(crate) fn first(&self, class: LinkClass, level: u8, traffic_class: u8) -> u8 {
        self.levels[usize::from(level)][class as usize].0 + self.width[class as usize] * traffic_class
    }

    /// Whether some level has more than one channel.
    #[inline]
    pub(crate) fn are_several(&self) -> bool {
        self.several
    }

    /// The end (exclusive) of the level of channel `vc` on links of `class`.
    #[inline]
    pub(crate) fn end(&self, class: LinkClass, vc: u8) -> u8 {
        self.ends[class as usize][usize::from(vc)]
    }

    /// Channels per traffic class on links of `class`.
    #[inline]
    pub(crate) fn width(&self, class: LinkClass) -> u8 {
        self.width[class as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_and_levels_share_the_channels_in_order_and_none_is_empty() {
        for levels in 1..=6 {
            for vcs in levels..=20 {
                let spans = VcRanges::new([levels; LinkClass::COUNT], [vcs; LinkClass::COUNT], 8);
                let mut next = 0;
                for traffic_class in 0..8 {
                    for level in 0..levels {
                        let span = spans.of(LinkClass::Local, level, traffic_class);
                        assert!(span.start == next && span.end > span.start);
                        for vc in span.clone() {
                            assert_eq!(spans.end(LinkClass::Local, vc), span.end);
                        }
                        next = span.end;
                    }
                    assert_eq!(next, (traffic_class + 1) * vcs);
                }
            }
        }
    }
}
