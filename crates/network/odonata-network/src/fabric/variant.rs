//! The features that a scenario uses.

use super::Shared;
use crate::carrier::Carriers;
use crate::features::Variant;
use odonata_engine::Plain;

/// The smallest set with all features that a fabric of these components uses.
pub(super) fn smallest_variant<P>(carriers: &Carriers, shared: &Shared<P>) -> Variant {
    let (nics, router) = (&carriers.packets.nics, &carriers.packets.router);
    let control = shared.classes.is_on::<Plain>()
        || shared.congestion.is_on::<Plain>()
        || nics.has_choice::<Plain>()
        || nics.has_peer_queues::<Plain>()
        || shared.exchanges.are_on();
    let observers = &shared.flow.observers;
    let extras = observers.need_extras()
        || shared.remote.is_on::<Plain>()
        || router.input_queued().is_some_and(|router| router.has_fifos::<Plain>())
        || shared.setup.params.limits_nics()
        || shared.flow.coupling.is_on::<Plain>();
    let (blame, lost) = observers.need_blame();
    match (control || extras, blame, lost) {
        (true, ..) => Variant::Everything,
        (false, _, true) => Variant::Traced,
        (false, true, false) => Variant::Blamed,
        (false, false, false) => Variant::Lean,
    }
}
