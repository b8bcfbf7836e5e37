//! What a handler of the fabric may do besides changing its state.

use crate::FabricEvent;
use odonata_engine::Context;

/// The context of an event's handler in any model that has the fabric's events among its own: the current time, events to
/// schedule, the end of the run. Whether changes are journalled is decided by it, too ([`Mode`](odonata_engine::Mode)).
pub trait FabricContext: Context<Event: From<FabricEvent>> {}

impl<C: Context<Event: From<FabricEvent>>> FabricContext for C {}
