//! Notifications of congestion control: what a source is told about a flow.

use super::pair_windows::Window;
use crate::routing::Header;
use odonata_engine::NIL;

/// What a source does with a flow.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Advice {
    /// Slow down.
    SlowDown,
    /// Adopt this rate, a fraction of the link's.
    Rate(f64),
    /// Adopt this window of the pair.
    Window(Window),
}

/// A notification in flight.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Notification {
    /// Its path to the source of the flow.
    pub(crate) header: Header,
    pub(crate) about: u32,
    pub(crate) class: u8,
    /// Whether it is on the last link.
    pub(super) arriving: bool,
    pub(crate) advice: Advice,
    next: u32,
}

impl Notification {
    pub(crate) fn new(header: Header, about: u32, class: u8, advice: Advice) -> Notification {
        Notification {
            header,
            about,
            class,
            arriving: false,
            advice,
            next: NIL,
        }
    }
}

odonata_engine::slots!(Notification);
