//! What skeletons have in common: the trait of their parameters, and operations of their programs.

use crate::{Collective, Comm, FileCall, OpKind, Program};
use odonata_units::Problem;

/// Defaults that a skeleton may take from its job, besides the number of ranks.
#[derive(Clone, Copy, Debug)]
pub struct OfJob {
    /// Ranks on a node.
    pub ranks_per_node: u32,
    /// The seed of the scenario, mixed with the number of the job.
    pub seed: u64,
}

/// The parameters of a skeleton: the keys of its table in a scenario.
pub trait Parameters {
    /// Takes defaults from the job; called before [`resolve`](Parameters::resolve).
    fn of_job(&mut self, job: OfJob) {
        let _ = job;
    }

    /// Fills in defaults and checks the ranges, for `ranks` ranks, at key `at`.
    ///
    /// # Errors
    /// A key is missing or out of its range.
    fn resolve(&mut self, at: &str, ranks: u32) -> Result<(), Problem> {
        let _ = (at, ranks);
        Ok(())
    }

    /// The program of `ranks` ranks.
    ///
    /// # Errors
    /// The parameters do not fit the number of ranks.
    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String>;

    /// Removes the extents of its grid; returns whether there were any.
    fn take_dims(&mut self) -> bool {
        false
    }

    /// Whether it reads or writes files.
    fn does_io(&self) -> bool {
        false
    }
}

/// `fsync`: waits until the written data of the file is committed.
pub(super) fn fsync(file: u64) -> OpKind {
    OpKind::Metadata {
        call: FileCall::Sync,
        directory: 0,
        file,
    }
}

/// An all-reduce over the job.
pub(super) fn allreduce(bytes: u64, count: u64) -> OpKind {
    OpKind::Collective(Collective::Allreduce {
        comm: Comm::WORLD,
        bytes,
        count,
    })
}

/// A barrier over the job.
pub(super) fn barrier() -> OpKind {
    OpKind::Collective(Collective::Barrier { comm: Comm::WORLD })
}
