//! Sets of virtual channels.

/// Virtual channels of a link, as bits; channels from 127 share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChannelSet(pub(super) u128);

impl ChannelSet {
    #[inline(always)]
    pub(crate) fn has(self, vc: u8) -> bool {
        self.0 & channel_bit(vc) != 0
    }

    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The channels `vcs`.
    #[cfg(test)]
    pub(crate) fn of(vcs: &[u8]) -> ChannelSet {
        ChannelSet(vcs.iter().fold(0, |bits, &vc| bits | channel_bit(vc)))
    }
}

/// The bit of a channel.
pub(super) fn channel_bit(vc: u8) -> u128 {
    1 << vc.min(127)
}
