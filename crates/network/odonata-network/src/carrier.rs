//! Carriers: how messages get from node to node.
//!
//! | carrier | a message is |
//! |---|---|
//! | [`Packets`] | packets, which NICs send through routers |
//! | [`Fluid`](crate::fluid::Fluid) | a flow, with a rate on each link of its paths |
//! | [`EthernetCarrier`](crate::ethernet::EthernetCarrier) | frames, which a transport sends, and repeats where a switch loses them |
//! | [`Analytic`](crate::analytic::Analytic) | a time, by the LogGP model |
//!
//! A [`Carrier`] owns its state and its events, and shares links, pools and instruments with the others
//! ([`Shared`]). [`Carriers`] are the carriers of a fabric: a message goes by the carrier of its traffic. To add a
//! carrier, implement [`Carrier`], make it a field of [`Carriers`], and extend the four matches there.

mod carriers;
mod packets;

pub(crate) use carriers::Carriers;
pub(crate) use packets::Packets;

use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::{FabricEvent, Notice, Payload};
use odonata_engine::Time;

/// Carries messages from their sources to their targets.
pub(crate) trait Carrier<P: Payload> {
    /// Message `slot` is submitted at the node of its source now.
    fn submit<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<P>, slot: u32) -> Option<Notice>;

    /// Handles an event of this carrier at logical process `lp`; returns a notice for the hosts, if any.
    fn handle<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        lp: u32,
        event: FabricEvent,
    ) -> Option<Notice>;

    /// The host at the source has processed [`Notice::Sent`] of message `slot`, and does not use it again.
    fn note_sent<M: Uses>(&mut self, shared: &mut Shared<P>, slot: u32);

    /// The smallest delay between any two routers; `None` if it is that of links, or if nothing goes by this carrier.
    fn least_delay(&self) -> Option<Time>;

    /// Checks after a complete run that nothing is left.
    ///
    /// # Errors
    /// Says what is left.
    fn audit(&self) -> Result<(), String>;
}
