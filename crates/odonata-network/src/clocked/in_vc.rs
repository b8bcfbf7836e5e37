//! Input virtual channels: what comes into them, and what comes to their front.

use super::moment::Moment;
use crate::FabricEvent;
use crate::fabric::Fabric;
use crate::packet::Wants;
use crate::routing::Header;
use odonata_engine::{Context, List, Mode, NIL, Time};

/// Where the front packet of an input virtual channel stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Stage {
    /// There is none.
    Empty,
    /// It has not been routed.
    New,
    /// It asks for a virtual channel of its output.
    Routed,
    /// It has one; its flits ask for the crossbar.
    Active,
}

/// An input virtual channel; one cache line.
#[repr(align(64))]
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct InVc {
    /// Packets whose head is here.
    pub(super) heads: List,
    /// When its front packet may ask for what comes next, see [`Moment`].
    pub(super) ready: Time,
    /// When the front packet was created.
    pub(super) created: Time,
    /// Output of the front packet.
    pub(super) port: u32,
    /// The front packet while it is delivered to a node.
    pub(super) delivered: u32,
    /// The front packet's header behind its output.
    pub(super) header: Header,
    /// Flits here.
    pub(super) present: u16,
    /// Flits of the front packet that have not gone.
    pub(super) left: u16,
    /// Bytes of its last flit.
    pub(super) last: u16,
    pub(super) stage: Stage,
    pub(super) level: u8,
    /// Virtual channel of the output.
    pub(super) vc: u8,
    pub(super) wants: Wants,
    /// Whether the head of the front packet has gone.
    pub(super) headless: bool,
}

impl InVc {
    pub(super) const EMPTY: InVc = InVc {
        heads: List::EMPTY,
        ready: Time::ZERO,
        created: Time::ZERO,
        port: NIL,
        delivered: NIL,
        header: Header::NONE,
        present: 0,
        left: 0,
        last: 0,
        stage: Stage::Empty,
        level: 0,
        vc: 0,
        wants: Wants::NONE,
        headless: false,
    };
}

impl Fabric {
    /// The head of `packet` is in buffer `at`.
    #[inline]
    pub(crate) fn arrive_clocked<E, C>(&mut self, ctx: &mut C, router: u32, packet: u32, at: u32)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let cycle = self.clocked.beat.cycle_now(ctx.now());
        self.visit::<C>(packet);
        let vc = self.clocked.vcs.edit::<C>(at);
        vc.heads.push::<C, _>(&mut self.packets, packet);
        vc.present += 1;
        if vc.stage == Stage::Empty {
            let plan = self.clocked.plan(router);
            self.clocked.edit_occupied::<C>(plan, at, true);
            let first = Moment {
                cycle,
                step: 1,
                last: false,
            };
            self.come_to_front::<C>(router, at, packet, first, ctx.now());
        }
        self.clocked.wake_for::<E, C>(ctx, router, cycle);
    }

    /// A body flit is in buffer `at`.
    #[inline]
    pub(crate) fn arrive_flit<E, C>(&mut self, ctx: &mut C, router: u32, at: u32)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        self.clocked.vcs.edit::<C>(at).present += 1;
        let cycle = self.clocked.beat.cycle_now(ctx.now());
        self.clocked.wake_for::<E, C>(ctx, router, cycle);
    }

    /// `packet`, which came behind another one, is the next one of buffer `at` to go, see
    /// [`come_to_front`](Self::come_to_front).
    #[inline(never)]
    pub(super) fn move_up<M: Mode>(&mut self, router: u32, at: u32, packet: u32, begin: Moment, now: Time) {
        self.come_to_front::<M>(router, at, packet, begin, now);
    }

    /// `packet` is the next one of buffer `at` to go, and can be routed in the step `begin`. Where it is routed at once,
    /// that is with the loads of `now`: of credits that come later not all may be known yet.
    #[inline(always)]
    fn come_to_front<M: Mode>(&mut self, router: u32, at: u32, packet: u32, begin: Moment, now: Time) {
        let p = self.packets.get(packet);
        let (created, bytes, message) = (p.created, p.bytes, p.message);
        let flits = self.flits(bytes);
        let settings = self.clocked.settings;
        // Where routing takes no time it is done while the packet is at hand.
        let early = !settings.late && !settings.again;
        let decision = early.then(|| self.decide_once::<M>(router, packet, flits, now));
        let ready = self.clocked.beat.routed(begin);
        let vc = self.clocked.vcs.edit::<M>(at);
        vc.stage = Stage::New;
        if let Some(decision) = decision {
            vc.stage = Stage::Routed;
            (vc.port, vc.level) = (self.flow.links.port(decision.port), decision.level);
            vc.wants = Wants::of(&decision);
            if self.flow.links.get(vc.port).to_node {
                self.messages.prefetch(message);
            }
        }
        vc.created = created;
        vc.ready = ready;
        vc.left = flits as u16;
        vc.last = (u64::from(bytes) - u64::from(flits - 1) * self.params.flit) as u16;
        vc.delivered = NIL;
        vc.headless = false;
    }
}
