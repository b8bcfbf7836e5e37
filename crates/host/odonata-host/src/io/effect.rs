//! Effects of the I/O layer on ranks.

/// What an input to the I/O layer does to ranks, carried out in order after the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IoEffect {
    /// A request of a program is complete.
    Complete { request: u32 },
    /// Data that the rank has read are lost.
    DataLost { rank: u32 },
    /// Calls of the rank may return, since writes are acknowledged: [`Io::return_calls`](super::Io::return_calls).
    ReturnCalls { rank: u32 },
    /// A call of the rank has ended.
    Advance { rank: u32 },
    /// The rank and all ranks below it in the tree of its job have their input.
    RanksStaged { rank: u32 },
}
