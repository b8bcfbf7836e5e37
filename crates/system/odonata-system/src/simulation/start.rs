//! The share of the machine that each process simulates, and its scheduler.

use crate::process_group::{self, ProcessGroup};
use crate::scenario::resolved::Scheduler as SchedulerKind;
use crate::schedule;
use odonata_engine::{Awake, Optimism, Options, Scheduler, SingleProcess, Transport};
use odonata_host::Interrupt;
use odonata_machine::Machine;
use std::ops::Range;

/// The environment of a run: the processes that share it, how its scheduler reaches them, and how it can be
/// interrupted.
pub struct Others {
    /// For the scheduler.
    pub transport: Box<dyn Transport>,
    /// For the run.
    pub group: ProcessGroup,
    /// Ends the part of this process, and thereby the run.
    pub interrupt: Interrupt,
}

impl Default for Others {
    /// There are none.
    fn default() -> Self {
        Others {
            transport: Box::new(SingleProcess),
            group: ProcessGroup::default(),
            interrupt: Interrupt::default(),
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
    Ok(process_group::share_of(parts, (process, processes)))
}

/// The routers of each machine that holds the state of `parts`: a single machine if the parts only take turns.
pub(crate) fn ranges(schedule: &schedule::Plan, parts: Range<usize>) -> Vec<Range<u32>> {
    if schedule.scheduler == SchedulerKind::Sequential {
        let routers = 0..schedule.partition.processes();
        return vec![routers];
    }
    parts.map(|part| schedule.partition.range(part)).collect()
}

/// Starts the parts of a machine, from `first` on, under the chosen scheduler.
pub(crate) fn start(
    schedule: &schedule::Plan,
    first: usize,
    parts: Vec<Machine>,
    transport: Box<dyn Transport>,
) -> Result<Box<dyn Scheduler<Machine>>, String> {
    let threads = schedule.threads as usize;
    let options = match schedule.scheduler {
        SchedulerKind::Sequential | SchedulerKind::Auto => None,
        SchedulerKind::Conservative => Some(Options {
            awake: if schedule.measured { Awake::Measured } else { Awake::All },
            ..Options::conservative(threads)
        }),
        SchedulerKind::Optimistic => Some(Options {
            awake: Awake::All,
            threads,
            optimism: Some(Optimism {
                events_per_round: schedule.optimism.events_per_round,
                journal: schedule.optimism.journal.0,
            }),
        }),
    };
    odonata_machine::schedule(parts, schedule.partition.clone(), first, options, transport)
}
