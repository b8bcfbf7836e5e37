//! The way of a notification back to the source of its flow.

use super::Notification;
use crate::FabricEvent;
use crate::Payload;
use crate::fabric::Shared;
use crate::features::HandlerContext;
use crate::routing::Unloaded;
use odonata_engine::Time;

/// A notification is at `router`: it continues, or it has reached the NIC of its source and is returned.
#[cold]
pub(crate) fn forward_notification<C: HandlerContext>(
    shared: &mut Shared<impl Payload>,
    ctx: &mut C,
    router: u32,
    slot: u32,
) -> Option<Notification> {
    let notifications = &mut shared.congestion.notifications;
    let mut notification = *notifications.get(slot);
    if notification.arriving {
        notifications.free::<C>(slot);
        return Some(notification);
    }
    let decision = (shared.routes.routing).decide(router, &mut notification.header, &mut Unloaded::<true>);
    let link = shared.flow.link::<C>(shared.flow.links.port(decision.port));
    notification.arriving = link.to_node;
    let at = ctx.now() + (link.latency + shared.setup.params.router_latency()).max(Time(1));
    if link.leaves {
        notifications.free::<C>(slot);
        shared.boundary.export_notification(link.far_lp, at, &notification);
        return None;
    }
    *notifications.edit::<C>(slot) = notification;
    ctx.send(link.far_lp, at, FabricEvent::Notify { notification: slot }.into());
    None
}
