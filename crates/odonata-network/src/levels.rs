//! Levels and virtual channels.
//!
//! A routing tells packets apart by *levels*, as many per link class as it needs to be free of deadlock. A machine may
//! have more virtual channels than that: then each level is a range of channels, of `V` channels and `K` levels
//!
//! ```text
//! level l:  floor(l V / K) .. floor((l + 1) V / K)
//! ```

use crate::params::VirtualChannels;
use odonata_topology::LinkClass;
use std::ops::Range;

/// The channels of each level, per link class.
#[derive(Clone, Debug)]
pub(crate) struct Spans([Vec<Range<u8>>; LinkClass::COUNT]);

impl Spans {
    /// For a routing that needs `levels` on links with `vcs` channels, of which there are not fewer.
    pub(crate) fn new(levels: VirtualChannels, vcs: VirtualChannels) -> Spans {
        Spans(std::array::from_fn(|class| {
            let (k, v) = (u32::from(levels[class]), u32::from(vcs[class]));
            let bound = |level: u32| (level * v / k.max(1)) as u8;
            (0..k).map(|level| bound(level)..bound(level + 1)).collect()
        }))
    }

    /// The channels of `level` on links of `class`.
    #[inline]
    pub(crate) fn of(&self, class: LinkClass, level: u8) -> Range<u8> {
        self.0[class as usize][usize::from(level)].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_share_the_channels_in_order_and_none_is_empty() {
        for levels in 1..=6 {
            for vcs in levels..=20 {
                let spans = Spans::new([levels; LinkClass::COUNT], [vcs; LinkClass::COUNT]);
                let mut next = 0;
                for level in 0..levels {
                    let span = spans.of(LinkClass::Local, level);
                    assert!(span.start == next && span.end > span.start);
                    next = span.end;
                }
                assert_eq!(next, vcs);
            }
        }
    }
}
