//! A step of a collective, and the arithmetic of ranks in a communicator.

use crate::Counts;

/// The sizes of the v-variants, as [`Program::bytes`](crate::Program::bytes) returns them for one rank.
pub trait Sizes {
    /// Bytes that member `from` gives to member `to` by list `counts`. A rank queries only sizes it may know: its own
    /// sends and receives, and the whole list of all-gathers and reduce-scatters (block `i` by `from = to = i`).
    fn bytes(&self, counts: Counts, from: u32, to: u32) -> u64;
}

impl<F: Fn(Counts, u32, u32) -> u64> Sizes for F {
    fn bytes(&self, counts: Counts, from: u32, to: u32) -> u64 {
        self(counts, from, to)
    }
}

/// One direction of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The other rank, numbered in the communicator.
    pub peer: u32,
    /// Payload in bytes; empty messages are sent.
    pub bytes: u64,
}

/// The concurrent actions of a rank; both directions start together and complete before the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it sends.
    pub send: Option<Transfer>,
    /// What it receives.
    pub recv: Option<Transfer>,
    /// Whether the next step starts at once, too, with a common wait at the end. Such a step may be empty if the
    /// library skips messages of size zero.
    pub more: bool,
}

impl Step {
    #[inline]
    pub(super) const fn send(peer: u32, bytes: u64) -> Step {
        Step {
            send: Some(Transfer { peer, bytes }),
            recv: None,
            more: false,
        }
    }

    #[inline]
    pub(super) const fn recv(peer: u32, bytes: u64) -> Step {
        Step {
            send: None,
            recv: Some(Transfer { peer, bytes }),
            more: false,
        }
    }

    /// Both directions: (peer, bytes) to send and to receive.
    #[inline]
    pub(super) const fn both(send: (u32, u64), recv: (u32, u64)) -> Step {
        Step {
            send: Step::send(send.0, send.1).send,
            recv: Step::recv(recv.0, recv.1).recv,
            more: false,
        }
    }

    /// Neither direction: what others do does not concern the rank.
    pub(super) const fn nothing() -> Step {
        Step {
            send: None,
            recv: None,
            more: false,
        }
    }

    pub(super) const fn and_more(self, more: bool) -> Step {
        Step { more, ..self }
    }
}

/// The number `by < n` after `number`, modulo `n`.
#[inline]
pub(super) fn forward(number: u32, by: u32, n: u32) -> u32 {
    if by < n - number {
        number + by
    } else {
        by - (n - number)
    }
}

/// The number `by < n` before `number`, modulo `n`.
#[inline]
pub(super) fn back(number: u32, by: u32, n: u32) -> u32 {
    if number >= by { number - by } else { number + (n - by) }
}

/// `ceil(log2 n)` for `n >= 1`.
pub(super) fn rounds(n: u32) -> u32 {
    u32::BITS - (n - 1).leading_zeros()
}

/// The largest power of two that is at most `n`; 1 for 0.
pub(super) fn power_of_two_within(n: u32) -> u32 {
    1 << n.max(1).ilog2()
}
