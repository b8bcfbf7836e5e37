//! Notifications of congestion control: what a source is told about a flow.

use crate::routing::Header;
use odonata_engine::NIL;

/// A notification in flight.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Notification {
    /// Its path to the source of the flow.
    pub(crate) header: Header,
    pub(crate) about: u32,
    pub(crate) class: u8,
    /// Whether it is on the last link.
    pub(super) arriving: bool,
    /// The rate of the flow, as a fraction of the link's; 0: it must slow down.
    pub(crate) rate: f64,
    next: u32,
}

impl Notification {
    pub(crate) fn new(header: Header, about: u32, class: u8, rate: f64) -> Notification {
        Notification {
            header,
            about,
            class,
            arriving: false,
            rate,
            next: NIL,
        }
    }
}

odonata_engine::slots!(Notification);
