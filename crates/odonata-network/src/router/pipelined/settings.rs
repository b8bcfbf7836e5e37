//! The settings that the loops of a cycle ask for in every step, and the common ones among them.
//!
//! They are asked for so often that the branches on them cost more than what they decide. The loops are therefore compiled
//! twice: for the settings that most simulations have, of which the compiler knows every one, and for all others.

use crate::params::NetworkParams;
use crate::routing::Routing;
use crate::settings::{AdaptiveRequests, Allocator, Arbitration, Switching};

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) allocator: Allocator,
    pub(super) iterations: u32,
    pub(super) arbitration: Arbitration,
    pub(super) input_speedup: u16,
    /// Whether all of a packet must have come before it gets a virtual channel.
    pub(super) store_and_forward: bool,
    /// Whether a packet is routed anew in every step until it gets a virtual channel.
    pub(super) reroutes: bool,
    /// Whether such a packet asks for all outputs that might do, see [`Routing::takes_any`].
    pub(super) takes_any: bool,
    /// Whether it asks only for the first of them, and where it would wait.
    pub(super) first_only: bool,
    /// Whether packets are routed at the front of their buffer, and not on their way there.
    pub(super) late: bool,
    /// Whether there are several traffic classes.
    pub(super) classes: bool,
}

impl Settings {
    /// One round of round robin, inputs first, of packets that have been routed on their way.
    pub(super) const COMMON: Settings = Settings {
        allocator: Allocator::InputFirst,
        iterations: 1,
        arbitration: Arbitration::RoundRobin,
        input_speedup: 1,
        store_and_forward: false,
        reroutes: false,
        takes_any: false,
        first_only: false,
        late: false,
        classes: false,
    };

    pub(super) fn new(params: &NetworkParams, routing: &Routing) -> Settings {
        Settings {
            allocator: params.pipeline.allocator,
            iterations: params.pipeline.iterations,
            arbitration: params.arbitration,
            input_speedup: params.pipeline.input_speedup as u16,
            store_and_forward: params.switching == Switching::StoreAndForward,
            reroutes: routing.decides_again(),
            takes_any: routing.takes_any(),
            first_only: params.pipeline.adaptive_requests == AdaptiveRequests::First && routing.takes_any(),
            late: params.pipeline.routing > 0,
            classes: params.classes.count() > 1,
        }
    }

    /// Whether these are the [`Common`] ones.
    pub(super) fn are_common(&self) -> bool {
        *self == Settings::COMMON
    }

    /// Whether an input's choice among virtual channels can be made before the others are known.
    #[inline(always)]
    pub(super) fn chooses_alone(self) -> bool {
        self.iterations == 1 && self.allocator == Allocator::InputFirst
    }

    /// Whether the pointers of arbiters move.
    #[inline(always)]
    pub(super) fn takes_turns(self) -> bool {
        self.arbitration != Arbitration::LowestFirst
    }
}

/// For which settings a loop is compiled.
pub(super) trait Kind {
    /// The settings, given those of the fabric.
    fn of(own: Settings) -> Settings;
}

/// The common ones, whatever the fabric says: only where [`Settings::are_common`].
pub(super) struct Common;

impl Kind for Common {
    #[inline(always)]
    fn of(_: Settings) -> Settings {
        Settings::COMMON
    }
}

/// Any.
pub(super) struct Any;

impl Kind for Any {
    #[inline(always)]
    fn of(own: Settings) -> Settings {
        own
    }
}
