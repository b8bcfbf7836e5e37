//! Host context: the side effects available to handlers of the hosts.

use crate::event::HostEvent;
use crate::payload::Payload;
use odonata_blame::lost::Carried;
use odonata_engine::{Context, Lp, Mode, Plain, Speculative, Time};
use odonata_network::{Contribution, FabricEvent, Message};

/// The fabric, carrying messages of the hosts.
pub type Fabric = odonata_network::Fabric<Payload>;

/// The context of a handler in a model whose events include those of the fabric and of the hosts.
pub trait MachineContext: Context<Event: From<FabricEvent> + From<HostEvent>> {}

impl<C: Context<Event: From<FabricEvent> + From<HostEvent>>> MachineContext for C {}

/// How state is edited, and whether the instruments that a run may leave out are compiled. Handlers are compiled with and
/// without them; speculation, which journals every change anyway, has them always.
pub(crate) trait Uses: Mode {
    /// Whether they are compiled.
    const OBSERVED: bool;
}

impl Uses for Plain {
    const OBSERVED: bool = true;
}

impl Uses for Speculative {
    const OBSERVED: bool = true;
}

/// The side effects available to a handler of the hosts.
pub(crate) trait HostContext: Uses {
    /// The current time.
    fn now(&self) -> Time;
    /// Schedules `event` for the hosts of LP `lp`, the LP of the current event.
    fn schedule(&mut self, lp: Lp, at: Time, event: HostEvent);
    /// Hands a message to the network interface of its source at `at`; `losses` is its lost time so far.
    fn submit(&mut self, at: Time, message: Message<Payload>, losses: Carried);
    /// Hands a message that needs no notice of its send to the network interface now.
    fn submit_now(&mut self, message: Message<Payload>);
    /// Hands a rank's part in a sum of routers to its interface at `at`.
    fn reduce(&mut self, at: Time, contribution: Contribution);
    /// Ends the run after this event.
    fn halt(&mut self, code: u32);
}

/// The [`HostContext`] of a run: the scheduler's context and the fabric.
pub(crate) struct RunContext<'a, C, const OBSERVED: bool> {
    ctx: &'a mut C,
    fabric: &'a mut Fabric,
}

impl<'a, C, const OBSERVED: bool> RunContext<'a, C, OBSERVED> {
    pub(crate) fn new(ctx: &'a mut C, fabric: &'a mut Fabric) -> Self {
        RunContext { ctx, fabric }
    }

    /// Message `slot` of the fabric.
    #[inline]
    pub(crate) fn message(&self, slot: u32) -> &Message<Payload> {
        self.fabric.message(slot)
    }

    /// The losses of message `slot` so far.
    #[inline]
    pub(crate) fn losses(&self, slot: u32) -> Carried {
        self.fabric.losses(slot)
    }
}

impl<C: MachineContext, const OBSERVED: bool> RunContext<'_, C, OBSERVED> {
    /// The hosts have used message `slot`, which has been sent.
    #[inline]
    pub(crate) fn note_sent(&mut self, slot: u32) {
        self.fabric.note_sent::<C>(slot);
    }

    /// Takes a contribution to the ended operation `operation` of routers; `None` after the last one.
    pub(crate) fn take_reduced(&mut self, operation: u32) -> Option<Contribution> {
        self.fabric.take_reduced::<C>(operation)
    }

    /// The hosts have used message `slot`, which has arrived.
    #[inline]
    pub(crate) fn release(&mut self, slot: u32) {
        self.fabric.release::<C>(slot);
    }
}

impl<C: Mode, const OBSERVED: bool> Mode for RunContext<'_, C, OBSERVED> {
    const JOURNAL: bool = C::JOURNAL;
}

impl<C: Mode, const OBSERVED: bool> Uses for RunContext<'_, C, OBSERVED> {
    const OBSERVED: bool = OBSERVED;
}

impl<C: MachineContext, const OBSERVED: bool> HostContext for RunContext<'_, C, OBSERVED> {
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

    fn reduce(&mut self, at: Time, contribution: Contribution) {
        self.fabric.reduce(self.ctx, at, contribution);
    }

    fn halt(&mut self, code: u32) {
        self.ctx.halt(code);
    }
}
