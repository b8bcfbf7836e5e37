//! Host context: the side effects available to handlers of the hosts.

use crate::Fabric;
use crate::event::HostEvent;
use crate::payload::Payload;
use odonata_blame::lost::Carried;
use odonata_engine::{Context, Lp, Mode, Time};
use odonata_network::{FabricEvent, Message};

/// The context of a handler in a model whose events include those of the fabric and of the hosts.
pub trait MachineContext: Context<Event: From<FabricEvent> + From<HostEvent>> {}

impl<C: Context<Event: From<FabricEvent> + From<HostEvent>>> MachineContext for C {}

/// The side effects available to a handler of the hosts.
pub(crate) trait HostContext: Mode {
    /// The current time.
    fn now(&self) -> Time;
    /// Schedules `event` for the hosts of LP `lp`, the LP of the current event.
    fn schedule(&mut self, lp: Lp, at: Time, event: HostEvent);
    /// Hands a message to the network interface of its source at `at`; `losses` is its lost time so far.
    fn submit(&mut self, at: Time, message: Message<Payload>, losses: Carried);
    /// Hands a message that needs no notice of its send to the network interface now.
    fn submit_now(&mut self, message: Message<Payload>);
    /// Ends the run after this event.
    fn halt(&mut self, code: u32);
}

/// The [`HostContext`] of a run: the scheduler's context and the fabric.
pub(crate) struct RunContext<'a, C> {
    ctx: &'a mut C,
    fabric: &'a mut Fabric,
}

impl<'a, C> RunContext<'a, C> {
    pub(crate) fn new(ctx: &'a mut C, fabric: &'a mut Fabric) -> Self {
        RunContext { ctx, fabric }
    }
}

impl<C: Mode> Mode for RunContext<'_, C> {
    const JOURNAL: bool = C::JOURNAL;
}

impl<C: MachineContext> HostContext for RunContext<'_, C> {
    #[inline]
    fn now(&self) -> Time {
        self.ctx.now()
    }

    #[inline]
    fn schedule(&mut self, lp: Lp, at: Time, event: HostEvent) {
        self.ctx.send(lp, at, event.into());
    }

    #[inline]
    fn submit(&mut self, at: Time, message: Message<Payload>, losses: Carried) {
        let slot = self.fabric.submit(self.ctx, at, message);
        if !losses.is_empty() {
            self.fabric.set_losses::<C>(slot, losses);
        }
    }

    #[inline]
    fn submit_now(&mut self, message: Message<Payload>) {
        self.fabric.submit_now(self.ctx, message);
    }

    fn halt(&mut self, code: u32) {
        self.ctx.halt(code);
    }
}
