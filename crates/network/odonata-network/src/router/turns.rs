//! Round-robin over the virtual channels of an output.

use crate::flow::OutPort;

/// The virtual channels in turn: those of a class with waiting packets, or all if the port has too many for bits.
pub(super) struct Turns {
    first: u8,
    /// Channels after the last one, then the others: bits, counted from the first.
    after: u64,
    others: u64,
    /// For channels without bits: the number left, and the next one.
    left: u8,
    next: u8,
    channels: u8,
}

impl Turns {
    /// Over `channels` from `first` on, starting after `last`; `waiting`: the channels that have bits and waiting
    /// packets.
    #[inline(always)]
    pub(super) fn new(waiting: u32, (first, channels): (u8, u8), last: u8, of_port: u8) -> Turns {
        if of_port > OutPort::MASKED {
            let next = if last + 1 < channels { last + 1 } else { 0 };
            return Turns {
                first,
                after: 0,
                others: 0,
                left: channels,
                next,
                channels,
            };
        }
        let own = (u64::from(waiting) >> first) & ((1 << channels) - 1);
        let behind = !0 << (last + 1);
        Turns {
            first,
            after: own & behind,
            others: own & !behind,
            left: 0,
            next: 0,
            channels,
        }
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<u8> {
        let bits = match self.after {
            0 => &mut self.others,
            _ => &mut self.after,
        };
        if *bits != 0 {
            let vc = bits.trailing_zeros() as u8;
            *bits &= *bits - 1;
            return Some(self.first + vc);
        }
        if self.left == 0 {
            return None;
        }
        let vc = self.next;
        self.left -= 1;
        self.next = if vc + 1 < self.channels { vc + 1 } else { 0 };
        Some(self.first + vc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with a loop over all channels.
    #[test]
    fn channels_with_waiting_packets_take_turns() {
        for (first, channels, of_port) in [(0, 1, 1), (0, 5, 5), (4, 4, 12), (0, 32, 32), (24, 8, 32), (20, 20, 40)] {
            for last in 0..channels {
                for waiting in [0, 1, 0b1011_0110, 0xdead_beef, u32::MAX] {
                    let around = (1..=channels).map(|turn| first + (last + turn) % channels);
                    let expected: Vec<u8> = around
                        .filter(|&vc| of_port > OutPort::MASKED || waiting >> vc & 1 != 0)
                        .collect();
                    let mut turns = Turns::new(waiting, (first, channels), last, of_port);
                    let found: Vec<u8> = std::iter::from_fn(|| turns.next()).collect();
                    assert_eq!(found, expected, "{first} {channels} {of_port} {last} {waiting:b}");
                }
            }
        }
    }
}
