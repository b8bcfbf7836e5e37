//! The operations that a handler of the fabric needs besides changing its state.

use crate::FabricEvent;
use odonata_engine::Context;

/// The context of an event handler in any model whose events include those of the fabric: the current time, scheduling,
/// the end of the run. It also decides whether changes are journalled ([`Mode`](odonata_engine::Mode)).
pub trait FabricContext: Context<Event: From<FabricEvent>> {}

impl<C: Context<Event: From<FabricEvent>>> FabricContext for C {}
