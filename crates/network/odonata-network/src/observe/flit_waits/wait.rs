//! The wait of a packet at the front of an input virtual channel.

use crate::Traffic;
use odonata_blame::Cause;
use odonata_engine::Time;

/// Why the next flit of an input virtual channel has not departed since its last cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Reason {
    /// It was not delayed, or the delay is charged already.
    None,
    /// There was no credit for the output virtual channel of this number.
    Credit(u32),
    /// Another flit or packet held a resource.
    Held((Traffic, Cause)),
}

/// The wait of the front packet of an input virtual channel.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Wait {
    /// When its next flit would have started on its link; [`Time::NEVER`] until that flit has arrived.
    pub(super) began: Time,
    /// The same plus the time that has been charged.
    pub(super) expected: Time,
    /// When its last flit completes its transmission.
    pub(super) sent: Time,
    pub(super) reason: Reason,
}

impl Wait {
    pub(super) const NONE: Wait = Wait {
        began: Time::NEVER,
        expected: Time::NEVER,
        sent: Time::ZERO,
        reason: Reason::None,
    };

    /// The wait of a flit expected to start on its link at `began`, behind one of its packet sent by `sent`.
    pub(super) fn of_flit(began: Time, sent: Time) -> Wait {
        Wait {
            began,
            expected: began,
            sent,
            reason: Reason::None,
        }
    }
}
