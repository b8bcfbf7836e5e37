//! The way of a notification back to the source of its flow.

use super::Notification;
use crate::FabricEvent;
use crate::Payload;
use crate::fabric::Shared;
use crate::features::HandlerContext;
use crate::routing::Unloaded;
use odonata_engine::Time;

impl<P: Payload> Shared<P> {
    /// A notification is at `router`: it continues, or it has reached the NIC of its source and is returned.
    #[cold]
    pub(crate) fn forward_notification<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        router: u32,
        slot: u32,
    ) -> Option<Notification> {
        let notifications = &mut self.congestion.notifications;
        let mut notification = *notifications.get(slot);
        if notification.arriving {
            notifications.free::<C>(slot);
            return Some(notification);
        }
        let decision = (self.routes.routing).decide(router, &mut notification.header, &mut Unloaded::<true>);
        let link = self.flow.link::<C>(self.flow.links.port(decision.port));
        notification.arriving = link.to_node;
        let at = ctx.now() + (link.latency + self.setup.params.router_latency()).max(Time(1));
        if link.leaves {
            notifications.free::<C>(slot);
            self.boundary.export_notification(link.far_lp, at, &notification);
            return None;
        }
        *notifications.edit::<C>(slot) = notification;
        ctx.send(link.far_lp, at, FabricEvent::Notify { notification: slot }.into());
        None
    }
}
