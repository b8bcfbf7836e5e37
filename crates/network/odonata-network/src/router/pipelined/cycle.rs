//! A cycle of a router: its subcycles in order, and whether it needs another cycle.
//!
//! ```text
//!  step 1: requests, grants, flits that pass    step 2: ...    next cycle, or sleep until a flit or a credit arrives
//! ```

use super::Pipelined;
use super::clock::Subcycle;
use super::requests::CycleOutcome;
use super::settings::{Any, Common};
use super::{LAG, RouterLayout};
use crate::Payload;
use crate::fabric::Shared;
use crate::features::HandlerContext;
use odonata_engine::Time;

impl Pipelined {
    /// A cycle of `router`.
    // Inlined into its caller, which knows the offset between its two components.
    #[inline(always)]
    pub(crate) fn cycle<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<impl Payload>, router: u32) {
        let cycle = ctx.now() - LAG;
        let clock = router - self.first_router;
        if self.clocks.get(clock).done == ctx.now() {
            return;
        }
        let layout = self.layout(router);
        let mut outcome = CycleOutcome::default();
        let steps = self.timing.steps(cycle);
        self.take_in::<C>(shared, router, cycle, self.lets_pass(steps));
        let charged = self.waits.are_charged::<C>();
        if charged {
            self.charge_waits::<C>(shared, layout, cycle);
        }
        for before in 0..steps {
            let step = before + 1;
            let last = step == steps;
            let subcycle = Subcycle { cycle, step, last };
            if self.small {
                if !self.has_queued(layout) {
                    outcome.granted_some |= step == 2 && self.pass_all(ctx, shared, layout, subcycle);
                    continue;
                }
                self.step_small::<C>(shared, layout, subcycle, &mut outcome);
            } else if self.common {
                self.step::<Common, C>(shared, router, layout, subcycle, &mut outcome);
            } else {
                self.step::<Any, C>(shared, router, layout, subcycle, &mut outcome);
            }
            self.traverse_all(ctx, shared, layout, subcycle);
        }
        if charged {
            self.find_reasons::<C>(shared, layout, cycle);
        }
        let cell = self.clocks.edit::<C>(clock);
        cell.done = ctx.now();
        cell.awaits_credit = outcome.waits && !outcome.granted_some && !outcome.soon;
        if outcome.granted_some || outcome.soon {
            // Without flits the router has nothing left to do.
            let words = layout.first_word..layout.first_word + layout.words();
            if words.into_iter().any(|word| *self.occupied.get(word) != 0) {
                let next = cycle + self.timing.period();
                self.wake_up(ctx, router, next);
            }
        } else if outcome.waits {
            self.await_credits(ctx, shared, router, layout, cycle);
        }
    }

    /// The flits that were granted the crossbar in this subcycle traverse it.
    #[inline]
    fn traverse_all<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        granted: Subcycle,
    ) {
        if self.switch_allocator.matches.is_empty() {
            return;
        }
        let traversal = self.traversal(granted);
        let mut matches = std::mem::take(&mut self.switch_allocator.matches);
        for one in &matches {
            if self.passes(layout, granted, one.channel) {
                self.pass(ctx, shared, (layout, one.input), one.channel, &traversal);
            } else {
                self.traverse_switch(ctx, shared, layout, one.channel, &traversal);
            }
        }
        matches.clear();
        self.switch_allocator.matches = matches;
    }

    /// No packet in the router can progress: requests the cycle of the next credit that a packet waits for.
    fn await_credits<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        router: u32,
        layout: RouterLayout,
        cycle: Time,
    ) {
        let ports = layout.first_port..layout.first_port + u32::from(layout.ports);
        let due = ports
            .filter_map(|port| shared.flow.next_flit_credit::<C>(port, cycle))
            .min();
        if let Some(due) = due {
            let cycle = self.timing.cycle_at(due);
            self.wake_up(ctx, router, cycle);
        }
    }
}
