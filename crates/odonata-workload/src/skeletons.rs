//! Skeletons: the communication and I/O of applications, without their arithmetic.
//!
//! | program | point to point | collectives | I/O |
//! |---|---|---|---|
//! | [`Milc`] | 8 neighbours in a 4-D torus | all-reduces of 8 B | none |
//! | [`Nekbone`] | 26 neighbours in a 3-D mesh | all-reduces of 8 B, barriers | none |
//! | [`Checkpoint`] | none | barriers, optional | writes to a shared file |
//! | [`CosmoFlow`] | none | all-reduces of 28 MiB | a file per rank and iteration |
//! | [`Stencil`] | faces in 1 to 4 dimensions | an all-reduce, optional | none |
//!
//! The first four are the case study of MFNetSim (300 ranks each); the `Default` of their parameters
//! is that study. Their structure follows the skeletons published with it (repositories
//! `SPEAR-UIC/MFNetSim` and `SPEAR-UIC/Union`); where these differ from the paper's text, a parameter
//! chooses, and its documentation says which side the default takes.

mod checkpoint;
mod cosmoflow;
mod halo;
mod milc;
mod nekbone;
mod stencil;

pub use checkpoint::{Checkpoint, CheckpointOffset, CheckpointParams};
pub use cosmoflow::{CosmoFlow, CosmoFlowIo, CosmoFlowParams};
pub use milc::{Milc, MilcParams};
pub use nekbone::{Nekbone, NekboneParams};
pub use stencil::{Stencil, StencilLayout, StencilParams};

use crate::{Collective, Comm, OpKind};

/// An all-reduce over the job.
fn allreduce(bytes: u64, count: u64) -> OpKind {
    OpKind::Collective(Collective::Allreduce {
        comm: Comm::WORLD,
        bytes,
        count,
    })
}

/// A barrier over the job.
fn barrier() -> OpKind {
    OpKind::Collective(Collective::Barrier { comm: Comm::WORLD })
}
