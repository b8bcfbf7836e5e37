//! Scenarios: written by the user, merged with a preset and with overrides, resolved.

pub mod choices;
pub mod resolved;
pub mod workload;

pub use resolved::Resolved;
