//! The exchange of loads between flows and the packets beside them.

use super::coupling::LinkPart;
use super::flow_waits::{FlowWait, OUTPUTS};
use crate::boundary::RemoteEvent;
use crate::event::KEEPER;
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::{FabricEvent, Payload};
use odonata_engine::Time;

/// Handles an event of the exchange of loads at `router`; flows hear of it after `delay`.
pub(crate) fn exchange_loads<C: HandlerContext>(
    shared: &mut Shared<impl Payload>,
    ctx: &mut C,
    router: u32,
    event: FabricEvent,
    delay: Time,
) {
    match event {
        FabricEvent::LinkReport => report_links(shared, ctx, router, delay),
        FabricEvent::LinkShare { link, part, load } => shared.flow.coupling.flows::<C>(link, part, load),
        FabricEvent::FlowWait {
            port,
            wait,
            output,
            level,
        } => wait_behind_flows::<C>(
            shared,
            FlowWait {
                port,
                wait,
                output,
                level,
            },
        ),
        _ => debug_assert!(false, "{event:?} is no exchange of loads"),
    }
}

/// Sets the wait of packets behind flows from now on; `port` is local.
fn wait_behind_flows<M: Uses>(shared: &mut Shared<impl Payload>, of: FlowWait) {
    let (link, router) = (shared.flow.link::<M>(of.port), shared.flow.links.sender(of.port));
    let ports = shared.routes.routing.topology().ports_of_routers(router..router + 1);
    let output = shared.flow.links.own_number(ports.start) + u32::from(of.output) / OUTPUTS as u32;
    // A port's input buffers have the same numbers as its channels.
    for vc in shared.setup.vcs.of(link.class, of.level, 0) {
        let (channel, waits) = (link.first_vc + u32::from(vc), &mut shared.flow.coupling.waits);
        match of.output {
            FlowWait::TURN => waits.set_turn::<M>(channel, of.wait),
            which => waits.set_wait::<M>(channel, usize::from(which) % OUTPUTS, (output, of.wait)),
        }
    }
}

/// Sends the packet loads of the links of `router` in the last interval to the part that computes the rates of
/// flows.
fn report_links<C: HandlerContext>(shared: &mut Shared<impl Payload>, ctx: &mut C, router: u32, delay: Time) {
    let (flow, boundary) = (&mut shared.flow, &mut shared.boundary);
    let (here, at) = (shared.setup.routers.contains(&KEEPER), ctx.now() + delay);
    let (ports, follows_owners) = (&flow.ports, flow.observers.follow_owners::<C>());
    (flow.coupling).report(ctx, &flow.links, router, |ctx, used, own| {
        let LinkPart { link, part, note } = used;
        // The last owner on the link stands for all.
        let owner = follows_owners.then(|| ports.get(own).holder);
        if here {
            ctx.send(KEEPER, at, FabricEvent::LinkUse { link, part, note }.into());
        } else {
            (boundary.send_buffer.events).push((KEEPER, at, RemoteEvent::TakenByPackets(used)));
        }
        match owner {
            None => {}
            Some(owner) if here => ctx.send(KEEPER, at, FabricEvent::LinkUser { link, owner }.into()),
            Some(owner) => (boundary.send_buffer.events).push((KEEPER, at, RemoteEvent::PacketsOf(link, owner))),
        }
    });
}
