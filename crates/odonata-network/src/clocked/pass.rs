//! What happens to flits that have won the crossbar: they leave their buffers, and are on their way.

use super::in_vc::Stage;
use super::moment::Moment;
use super::{Clocked, Plan};
use crate::FabricEvent;
use crate::fabric::Fabric;
use odonata_engine::{Context, List, NIL, Time};

/// Whose credits: waits are not booked here.
const NOBODY: crate::Traffic = 0;

/// Cycles that a credit may have counted for before somebody looks at it without need. Looked at one by one, credits cost
/// more than the flits that they stand for; looked at only when a buffer seems to be full, they would fill the caches.
const OVERDUE: u64 = 8;

/// The times of all flits that pass the crossbar of a router in one step.
#[derive(Clone, Copy)]
pub(super) struct Passage {
    granted: Moment,
    /// When they leave their buffers.
    left: Time,
    /// When they can start on their links.
    crossed: Time,
    /// Credits that have counted since then get counted.
    overdue: Time,
}

impl Clocked {
    /// The times of those who have asked for the crossbar in the step `granted` and got it.
    pub(super) fn passage(&self, granted: Moment) -> Passage {
        let overdue = granted.cycle.0.saturating_sub(OVERDUE * self.beat.period().0);
        Passage {
            granted,
            left: self.beat.left(granted),
            crossed: self.beat.crossed(granted),
            overdue: Time(overdue),
        }
    }
}

impl Fabric {
    /// The next flit of `at` passes the crossbar.
    #[inline]
    pub(super) fn pass<E, C>(&mut self, ctx: &mut C, plan: Plan, at: u32, passage: &Passage)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let cycle = passage.granted.cycle;
        let vc = self.clocked.vcs.edit::<C>(at);
        let (port, out, packet) = (vc.port, vc.vc, vc.heads.head);
        let (head, tail) = (!vc.headless, vc.left == 1);
        let bytes = if tail { u64::from(vc.last) } else { self.params.flit } as u32;
        if head {
            // Not worth a look at the packet where it is the only one.
            if packet == vc.heads.tail {
                vc.heads = List::EMPTY;
            } else {
                vc.heads.pop(&self.packets);
            }
            vc.headless = true;
        }
        let following = vc.heads.head;
        vc.present -= 1;
        vc.left -= 1;
        if tail {
            vc.stage = Stage::Empty;
        }
        let link = *self.flow.links.get(port);
        let mut delivered = NIL;
        if link.to_node {
            delivered = if head { packet } else { vc.delivered };
            vc.delivered = if tail { NIL } else { delivered };
        }

        if self.flow.flits.next_due(port) <= passage.overdue {
            self.flow.harvest_flits::<C>(port, cycle);
        }
        self.flow.vcs.edit::<C>(link.first_vc + u32::from(out)).used += 1;
        let sender = self.flow.ports.edit::<C>(port);
        sender.used += 1;
        let departure = passage.crossed.max(sender.free_at);
        sender.free_at = departure + link.flit;
        let since = std::mem::replace(&mut sender.full_since, Time::NEVER);
        self.load_changes::<E, C>(ctx, port, ctx.now());
        let stats = self.links.edit::<C>(port);
        stats.bytes += u64::from(bytes);
        stats.packets += u64::from(tail);
        stats.busy += link.flit;
        if since != Time::NEVER {
            stats.saturation += cycle.saturating_sub(since);
        }
        if self.params.series.is_some() {
            let class = self.params.traffics as usize + link.class as usize;
            self.count_series::<C>(departure, class, (u64::from(tail), bytes), link.flit);
        }
        let arrival = departure + link.flit + link.latency;

        let buffer = link.far + u32::from(out);
        if link.to_node {
            let due = arrival + self.clocked.beat.period() + link.credit_delay;
            self.return_flit::<E, C>(ctx, port, out, due);
            if tail {
                self.deliver::<E, C>(ctx, delivered, arrival);
            }
        } else if head {
            if link.leaves {
                self.packets.edit::<C>(packet).buffer = buffer;
                self.export::<C>(packet, link.far_lp, arrival);
            } else {
                ctx.send(link.far_lp, arrival, FabricEvent::Head { packet, buffer }.into());
            }
        } else if link.leaves {
            self.export_flit(link.far_lp, arrival, buffer);
        } else {
            ctx.send(link.far_lp, arrival, FabricEvent::Flit { buffer }.into());
        }
        let channel = self.clocked.places[at as usize].1;
        self.give_back::<E, C>(ctx, at, channel, (1, NOBODY), passage.left);

        if !tail {
            return;
        }
        *self.clocked.owners.edit::<C>(link.first_vc + u32::from(out)) = NIL;
        if following == NIL {
            self.clocked.edit_occupied::<C>(plan, at, false);
        } else {
            let begin = self.clocked.beat.following(passage.granted);
            self.move_up::<C>(link.lp, at, following, begin, cycle);
        }
    }
}
