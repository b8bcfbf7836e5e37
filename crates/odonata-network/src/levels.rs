//! Levels and virtual channels.
//!
//! A routing tells packets apart by *levels*, as many per link class as it needs to be free of deadlock. A machine may
//! have more virtual channels than that: then each level is a range of channels, of `V` channels and `K` levels
//!
//! ```text
//! level l:  floor(l V / K) .. floor((l + 1) V / K)
//! ```
//!
//! Each traffic class has all of this for itself: the channels of class `c` are those of the first, plus `c V`. A packet never
//! changes its class, so the dependencies between channels are those of one class, as many times as there are classes, with
//! none in between: what is free of deadlock with one class is so with several.

use crate::params::VirtualChannels;
use odonata_topology::LinkClass;
use std::ops::Range;

/// The channels of each level, per link class.
#[derive(Clone, Debug)]
pub(crate) struct Spans {
    /// Those of the first traffic class: first channel and the one behind the last, level by level, each of as many link
    /// classes.
    levels: Vec<[(u8, u8); LinkClass::COUNT]>,
    /// Channels of a traffic class.
    width: VirtualChannels,
}

impl Spans {
    /// For a routing that needs `levels` on links with `vcs` channels per traffic class, of which there are not fewer.
    pub(crate) fn new(levels: VirtualChannels, vcs: VirtualChannels) -> Spans {
        let bound = |class: usize, level: u8| {
            let (k, v) = (u32::from(levels[class]), u32::from(vcs[class]));
            (u32::from(level.min(levels[class])) * v / k.max(1)) as u8
        };
        let most = levels.into_iter().max().unwrap_or(0);
        let of_level = |level: u8| std::array::from_fn(|class| (bound(class, level), bound(class, level + 1)));
        Spans {
            levels: (0..most).map(of_level).collect(),
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

    /// Channels of a traffic class on links of `class`.
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
                let spans = Spans::new([levels; LinkClass::COUNT], [vcs; LinkClass::COUNT]);
                let mut next = 0;
                for traffic_class in 0..8 {
                    for level in 0..levels {
                        let span = spans.of(LinkClass::Local, level, traffic_class);
                        assert!(span.start == next && span.end > span.start);
                        next = span.end;
                    }
                    assert_eq!(next, (traffic_class + 1) * vcs);
                }
            }
        }
    }
}
