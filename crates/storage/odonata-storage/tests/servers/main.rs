//! Servers from request to response, driven by an event queue and a network given as a function.

mod back_pressure;
mod blame;
mod closed_forms;
mod contents;
mod device_failure;
mod devices;
mod failure;
mod random_operations;
mod removal;
mod rig;
mod sharing;
mod stage;
mod sync;
mod tiers;
