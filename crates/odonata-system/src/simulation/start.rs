//! Who runs which parts of the machine: the share of each process, and its scheduler.

use crate::company::Company;
use crate::machine::Machine;
use crate::scenario::resolved::Scheduler as SchedulerKind;
use crate::schedule;
use odonata_engine::{Alone, Conservative, Scheduler, Sequential, Transport};
use std::ops::Range;
use std::sync::Arc;

/// The processes that share a run with this one: what its scheduler needs to reach them, and the run itself.
pub struct Others {
    /// For the scheduler.
    pub transport: Box<dyn Transport>,
    /// For the run.
    pub company: Company,
}

impl Default for Others {
    /// There are none.
    fn default() -> Self {
        Others {
            transport: Box::new(Alone),
            company: Company::default(),
        }
    }
}

/// The parts of process `process` of `processes`.
pub(super) fn share_of(schedule: &schedule::Plan, process: usize, processes: usize) -> Result<Range<usize>, String> {
    let parts = schedule.partition.len();
    if parts < processes {
        return Err(format!(
            "the machine has {parts} parts, and {processes} processes share the run"
        ));
    }
    Ok(parts * process / processes..parts * (process + 1) / processes)
}

/// The routers of each of `parts`.
pub(super) fn ranges(schedule: &schedule::Plan, parts: Range<usize>) -> Vec<Range<u32>> {
    parts.map(|part| schedule.partition.range(part)).collect()
}

/// Starts the parts of a machine from `first` on under the scheduler that was chosen.
pub(super) fn start(
    schedule: &schedule::Plan,
    first: usize,
    mut parts: Vec<Machine>,
    transport: Box<dyn Transport>,
) -> Result<Box<dyn Scheduler<Machine>>, String> {
    let (partition, threads) = (Arc::new(schedule.partition.clone()), schedule.threads as usize);
    Ok(match schedule.scheduler {
        SchedulerKind::Conservative => Box::new(Conservative::new(parts, partition, first, threads, transport)?),
        SchedulerKind::Optimistic => return Err("this version has no optimistic scheduler yet".into()),
        SchedulerKind::Sequential | SchedulerKind::Auto => Box::new(Sequential::new(parts.remove(0))),
    })
}
