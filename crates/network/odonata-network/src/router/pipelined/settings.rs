//! The settings that the loops of a cycle read in every step, and the most common ones, which have loops of their own.

use crate::params::NetworkParams;
use crate::routing::Routing;
use crate::settings::{AdaptiveRequests, Allocator, Arbitration, Switching};

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(super) allocator: Allocator,
    pub(super) iterations: u32,
    pub(super) arbitration: Arbitration,
    pub(super) input_speedup: u16,
    /// Whether a whole packet must have arrived before it gets a virtual channel.
    pub(crate) store_and_forward: bool,
    /// Whether a packet is routed again in every step until it gets a virtual channel.
    pub(super) reroutes: bool,
    /// Whether such a packet requests all possible outputs, see [`Routing::takes_any`].
    pub(super) takes_any: bool,
    /// Whether it requests only the first of them, and the one where it would wait.
    pub(super) first_only: bool,
    /// Whether packets are routed at the front of their buffer instead of on arrival.
    pub(super) late: bool,
    /// Whether there are several traffic classes.
    pub(super) classes: bool,
}

impl Settings {
    /// One round of round robin, inputs first, with packets routed on arrival.
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

    /// Whether the settings are the [common](Self::COMMON) ones.
    pub(super) fn are_common(&self) -> bool {
        *self == Settings::COMMON
    }

    /// Whether an input can choose among its virtual channels before the others are known.
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
