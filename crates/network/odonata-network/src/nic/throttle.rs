//! Injection throttling: the reaction of a source's NIC to a congestion notification.

use super::Nics;
use crate::control::{Advice, HOLD, Notification};
use crate::fabric::Shared;
use crate::features::HandlerContext;
use crate::router::Router;
use crate::{Notice, Payload};
use odonata_engine::{Mode, NIL};

impl Nics {
    /// The NIC of the source slows a flow down.
    pub(crate) fn throttle<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        router: &mut impl Router,
        notification: &Notification,
    ) -> Option<Notice> {
        let now = ctx.now();
        let settings = shared.congestion.settings();
        let nic = shared.flow.links.nic(notification.header.target);
        let channel = self.channel::<C>(shared, (nic, notification.about), notification.class);
        let lane = self.lane(nic, channel);
        let (target, limits) = (notification.about, &mut shared.congestion.limits);
        limits.prune::<C>(lane, now);
        let mut limit = limits.find(lane, target);
        let known = limit != NIL;
        if !known {
            let link = shared.flow.link::<C>(shared.flow.links.ports + nic);
            let packet = link.serialization(shared.setup.params.packet as u32);
            limit = limits.create::<C>(lane, target, now, packet)?;
        }
        match notification.advice {
            Advice::Rate(rate) => limits.set_rate::<C>(limit, rate, now, HOLD),
            Advice::Window(window) => limits.set_window::<C>(limit, window, now, !known),
            Advice::SlowDown => {
                if !known || now >= limits.get(limit).updated() + *settings.interval {
                    let rate = limits.rate(limit, now) * (1.0 - *settings.decrease);
                    limits.set_rate::<C>(limit, rate, now, 0.0);
                }
            }
        }
        if !known {
            self.move_messages::<C>(shared, lane, limit);
        }
        router.serve_nic(ctx, shared, self, nic)
    }

    /// Moves the messages of a newly limited flow into its queue.
    fn move_messages<M: Mode>(&mut self, shared: &mut Shared<impl Payload>, lane: u32, limit: u32) {
        let target = shared.congestion.limits.get(limit).target;
        let cell = *self.lanes.get(lane);
        if self.peers.are_on() {
            let (moved, left) = self.peers.take::<M>(lane, target, (cell.queue, cell.unsent));
            let mut at = moved.0.head;
            while at != NIL {
                let next = shared.messages.get(at).next;
                shared.congestion.limits.push::<M>(&mut shared.messages, limit, at);
                if at == moved.0.head {
                    shared.congestion.limits.resume::<M>(limit, moved.1);
                }
                at = next;
            }
            let cell = self.lanes.edit::<M>(lane);
            (cell.queue, cell.unsent) = left;
            return;
        }
        let (mut at, mut kept) = (cell.queue.head, odonata_engine::List::EMPTY);
        let mut moved = false;
        while at != NIL {
            let message = *shared.messages.get(at);
            if message.target == target {
                moved = true;
                shared.congestion.limits.push::<M>(&mut shared.messages, limit, at);
                if at == cell.queue.head {
                    shared.congestion.limits.resume::<M>(limit, cell.unsent);
                }
            } else if moved {
                kept.push::<M, _>(&mut shared.messages, at);
            } else {
                // No message before this one is removed, so it keeps its place.
                kept = odonata_engine::List {
                    head: if kept.is_empty() { at } else { kept.head },
                    tail: at,
                };
            }
            at = message.next;
        }
        if !moved {
            return;
        }
        if kept.tail != NIL && shared.messages.get(kept.tail).next != NIL {
            shared.messages.edit::<M>(kept.tail).next = NIL;
        }
        let unsent = match kept.head {
            NIL => 0,
            head if head == cell.queue.head => cell.unsent,
            head => shared.messages.get(head).bytes,
        };
        let cell = self.lanes.edit::<M>(lane);
        (cell.queue, cell.unsent) = (kept, unsent);
    }
}
