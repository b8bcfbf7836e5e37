//! A cycle of a router: its steps, one after the other, and whether it needs another cycle.
//!
//! ```text
//!  step 1: who asks for what, grants, flits that pass    step 2: ...    next cycle, or sleep until a flit or a credit comes
//! ```

use super::Plan;
use super::gather::Look;
use super::moment::Moment;
use super::settings::{Any, Common};
use crate::FabricEvent;
use crate::fabric::Fabric;
use odonata_engine::{Context, Time};

impl Fabric {
    /// A cycle of `router`.
    // Not compiled into the handler of all events: it needs many registers, which all events would have to save.
    #[inline(never)]
    pub(crate) fn tick<E, C>(&mut self, ctx: &mut C, router: u32)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let cycle = Time(ctx.now().0 - 1);
        let clock = router - self.clocked.first_router;
        if self.clocked.clocks.get(clock).done == ctx.now() {
            return;
        }
        let plan = self.clocked.plan(router);
        let mut look = Look::default();
        let steps = self.clocked.beat.steps(cycle);
        for before in 0..steps {
            let step = before + 1;
            let last = step == steps;
            let moment = Moment { cycle, step, last };
            if self.clocked.common {
                self.step::<Common, C>(router, plan, moment, &mut look);
            } else {
                self.step::<Any, C>(router, plan, moment, &mut look);
            }
            self.pass_all::<E, C>(ctx, plan, moment);
        }
        let cell = self.clocked.clocks.edit::<C>(clock);
        cell.done = ctx.now();
        cell.hungry = look.waits && !look.moved && !look.soon;
        if look.moved || look.soon {
            // Nothing is left to do where the last flit has gone.
            let words = plan.first_word..plan.first_word + plan.words();
            if words.into_iter().any(|word| *self.clocked.occupied.get(word) != 0) {
                let next = cycle + self.clocked.beat.period();
                self.clocked.wake_for::<E, C>(ctx, router, next);
            }
        } else if look.waits {
            self.await_credits_clocked::<E, C>(ctx, router, plan, cycle);
        }
    }

    /// Those who have been granted a passage through the crossbar in this step pass it.
    #[inline]
    fn pass_all<E, C>(&mut self, ctx: &mut C, plan: Plan, granted: Moment)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        if self.clocked.switch.matches.is_empty() {
            return;
        }
        let passage = self.clocked.passage(granted);
        let mut matches = std::mem::take(&mut self.clocked.switch.matches);
        for granted in &matches {
            self.pass::<E, C>(ctx, plan, granted.channel, &passage);
        }
        matches.clear();
        self.clocked.switch.matches = matches;
    }

    /// Nobody in the router can go on: asks for the cycle at which the next credit comes that somebody waits for.
    fn await_credits_clocked<E, C>(&mut self, ctx: &mut C, router: u32, plan: Plan, cycle: Time)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let ports = plan.first_port..plan.first_port + u32::from(plan.ports);
        let due = ports
            .filter_map(|port| self.flow.next_flit_credit::<C>(port, cycle))
            .min();
        if let Some(due) = due {
            let cycle = self.clocked.beat.cycle_at(due);
            self.clocked.wake_for::<E, C>(ctx, router, cycle);
        }
    }
}
