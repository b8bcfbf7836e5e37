//! Schedulers of the machine: what runs its parts.

use crate::Machine;
use odonata_engine::{Options, Parallel, Partition, RollbackCheck, Scheduler, Sequential, Transport};
use std::sync::Arc;

/// Starts the parts of a machine, from part `first` of `partition` on, under a parallel scheduler with these options. Without
/// options the whole machine runs sequentially, and its clusters take turns.
///
/// # Errors
/// The parts do not match the partition, the partition has no lookahead, or a process cannot be reached.
pub fn schedule(
    mut parts: Vec<Machine>,
    partition: Partition,
    first: usize,
    options: Option<Options>,
    transport: Box<dyn Transport>,
) -> Result<Box<dyn Scheduler<Machine>>, String> {
    match options {
        None if parts.len() == 1 => Ok(Box::new(Sequential::in_clusters(parts.remove(0), &partition)?)),
        None => Err(format!("one machine, not {}, runs sequentially", parts.len())),
        Some(options) => Ok(Box::new(Parallel::new(
            parts,
            Arc::new(partition),
            first,
            options,
            transport,
        )?)),
    }
}

/// The test harness for restarts, see [`odonata_engine::run_with_restarts`]; returns the final machine.
///
/// # Errors
/// A loaded state differs from the saved one; the error has the number of events before it.
pub fn run_with_restarts(
    make: &mut dyn FnMut() -> Machine,
    interval: &mut dyn FnMut() -> u64,
) -> Result<Box<dyn Scheduler<Machine>>, String> {
    Ok(Box::new(odonata_engine::run_with_restarts(make, interval)?))
}

/// The test harness for rollback, see [`odonata_engine::RollbackCheck`]: how many events were done, undone and redone, `limit` at most,
/// and the machine that is left.
///
/// # Errors
/// Names the first event whose undo or redo did not restore the state.
pub fn undo_and_redo(machine: Machine, limit: u64) -> Result<(u64, Machine), String> {
    let mut check = RollbackCheck::new(machine);
    let events = check.run(limit)?;
    Ok((events, check.into_model()))
}
