//! Skeletons: the communication and I/O of applications without their arithmetic, and simpler patterns such as one
//! repeated collective.
//!
//! | workload | point to point | collectives | I/O |
//! |---|---|---|---|
//! | [`milc`] | 8 neighbors in a 4-D torus | all-reduces of 8 B | none |
//! | [`nekbone`] | 26 neighbors in a 3-D mesh | all-reduces of 8 B, barriers | none |
//! | [`checkpoint`] | none | barriers, optional | writes to a shared file, or one per rank |
//! | [`checkpoint_restart`] | words along a tree | barriers | writes, and reads after failures |
//! | [`data_loader`] | none | all-reduces | many small reads ahead of each step |
//! | [`cosmoflow`] | none | all-reduces of 28 MiB | a file per rank and iteration |
//! | [`stencil`] | faces in 1 to 4 dimensions | an all-reduce, optional | none |
//! | [`amg`] | 6 to 124 neighbors, by the level of a V-cycle | none | none |
//! | [`multigrid`] | faces of boxes; edges and corners at the periodic boundary | all-reduces, broadcasts of 8 B | none |
//! | [`fill_boundary`] | 26 neighbors of boxes | an all-reduce, broadcasts of 8 B | none |
//! | [`crystal_router`] | the mirror in ever smaller halves | none | none |
//! | [`collective`] | none | one kind, repeated | none |
//! | [`nccl`] | rings or trees of several channels | none | none |
//! | [`training`] | activations between pipeline stages | all-reduces, all-to-alls, gradients | samples, checkpoints, optional |
//! | [`inference`] | keys and values from prefill to decode | all-reduces of a tensor group | none |
//! | [`compute`] | none | none | none |
//! | [`ping_pong`] | two ranks of a pair in turn | none | none |
//! | [`ior`] | none | barriers | writes and reads of files, N-N or N-1 |
//! | [`mdtest`] | none | barriers | files and directories created, looked up, removed |
//!
//! MILC, Nekbone, checkpoint and CosmoFlow are the case study of MFNetSim (300 ranks each), with its values as the
//! `Default` of their parameters. Their structure follows the skeletons published with it (repositories
//! `SPEAR-UIC/MFNetSim` and `SPEAR-UIC/Union`). If these differ from the paper's text, a parameter chooses, and its
//! documentation names the default. AMG, multigrid, fill-boundary and crystal router derive from measurements of the
//! traces of the DOE's Design Forward program.
//!
//! A skeleton is a file here and a line in [`for_each_skeleton!`](crate::for_each_skeleton), which scenarios use: its
//! parameters are the keys of its table, and implement [`Parameters`].

pub mod amg;
mod boxes;
pub mod checkpoint;
pub mod checkpoint_restart;
pub mod collective;
mod command_line;
pub mod compute;
pub mod cosmoflow;
pub mod crystal_router;
pub mod data_loader;
mod failures;
pub mod fill_boundary;
mod ghost_cells;
mod halo;
pub mod inference;
pub mod ior;
pub mod mdtest;
pub mod milc;
pub mod multigrid;
pub mod nccl;
pub mod nekbone;
mod parameters;
pub mod ping_pong;
pub mod stencil;
pub mod training;
mod two_phase;

use parameters::{allreduce, barrier, fsync};
use serde::Serialize;

pub use amg::{Amg, AmgParams};
pub use checkpoint::{Checkpoint, CheckpointFile, CheckpointOffset, CheckpointParams};
pub use checkpoint_restart::{CheckpointRestart, CheckpointRestartParams};
pub use collective::{
    AllgatherParams, AllreduceParams, AlltoallParams, BarrierParams, BroadcastParams, CollectiveLoop, ExscanParams,
    GatherParams, ReduceParams, ReduceScatterParams, ScanParams, ScatterParams,
};
pub use compute::{Compute, ComputeParams};
pub use cosmoflow::{CosmoFlow, CosmoFlowIo, CosmoFlowParams};
pub use crystal_router::{CrystalRouter, CrystalRouterParams};
pub use data_loader::{DataLoader, DataLoaderParams};
pub use fill_boundary::{FillBoundary, FillBoundaryParams};
pub use inference::{Inference, InferenceParams, KvTransfer};
pub use ior::{Ior, IorApi, IorParams, IorProgram};
pub use mdtest::{Mdtest, MdtestParams, MdtestProgram, MdtestTest};
pub use milc::{Milc, MilcParams};
pub use multigrid::{Multigrid, MultigridParams};
pub use nccl::{Nccl, NcclAlgorithm, NcclCollective, NcclParams, NcclProtocol};
pub use nekbone::{Nekbone, NekboneParams};
pub use parameters::{OfJob, Parameters};
pub use ping_pong::{Pairs, PingPong, PingPongParams};
pub use stencil::{Stencil, StencilParams};
pub use training::{Training, TrainingParams};
pub use two_phase::CollectiveIo;

/// Passes the list of all skeletons to the macro `$with`: for each its documentation, its variant, its name in a
/// scenario and the type of its parameters.
#[macro_export]
macro_rules! for_each_skeleton {
    ($with:ident) => {
        $with! {
            /// MILC's solver: nearest neighbors in a 4-D torus, small all-reduces.
            Milc "milc" MilcParams;
            /// Nekbone: 26 neighbors in a 3-D mesh, small all-reduces.
            Nekbone "nekbone" NekboneParams;
            /// Periodic checkpoints to a common file.
            Checkpoint "checkpoint" CheckpointParams;
            /// Training of CosmoFlow: a file per rank and step, large all-reduces.
            Cosmoflow "cosmoflow" CosmoFlowParams;
            /// Halo exchange on a grid of 1 to 4 dimensions.
            Stencil "stencil" StencilParams;
            /// AMG: V-cycles of an algebraic multigrid solver, nearest neighbors in a 3-D mesh on every level.
            Amg "amg" AmgParams;
            /// Multigrid: a V-cycle of a geometric multigrid solver on boxes, periodic, with neighbors across the diagonal.
            Multigrid "multigrid" MultigridParams;
            /// FillBoundary: exchange of ghost cells of boxes with 26 neighbors.
            FillBoundary "fill-boundary" FillBoundaryParams;
            /// Crystal router: many-to-many messages by recursive halving.
            CrystalRouter "crystal-router" CrystalRouterParams;
            /// Repeated barriers.
            Barrier "barrier" BarrierParams;
            /// Repeated broadcasts.
            Broadcast "broadcast" BroadcastParams;
            /// Repeated reductions to one rank.
            Reduce "reduce" ReduceParams;
            /// Repeated all-reduces.
            Allreduce "allreduce" AllreduceParams;
            /// Repeated gathers.
            Gather "gather" GatherParams;
            /// Repeated scatters.
            Scatter "scatter" ScatterParams;
            /// Repeated all-gathers.
            Allgather "allgather" AllgatherParams;
            /// Repeated reduce-scatters of equal blocks.
            ReduceScatter "reduce-scatter" ReduceScatterParams;
            /// Repeated inclusive scans.
            Scan "scan" ScanParams;
            /// Repeated exclusive scans.
            Exscan "exscan" ExscanParams;
            /// Repeated all-to-alls; "all-to-all" is open-loop traffic.
            Alltoall "alltoall" AlltoallParams;
            /// A collective of NCCL: rings or double binary trees on several channels, chunk by chunk.
            Nccl "nccl" NcclParams;
            /// Training of a transformer with data, tensor, pipeline and expert parallelism.
            Training "training" TrainingParams;
            /// Inference of a transformer with prefill and decode on separate GPUs.
            Inference "inference" InferenceParams;
            /// Computation alone.
            Compute "compute" ComputeParams;
            /// Ping-pong between pairs of ranks.
            PingPong "ping-pong" PingPongParams;
            /// IOR, the parallel I/O benchmark: its command line, or a table of its parameters.
            Ior "ior" Ior;
            /// Checkpoints and restarts of a job with random failures, up to its solution.
            CheckpointRestart "checkpoint-restart" CheckpointRestartParams;
            /// Training that prefetches samples: shuffled, with several readers, overlapped with computation and
            /// all-reduce.
            DataLoader "data-loader" DataLoaderParams;
            /// mdtest, the metadata benchmark: its command line, or a table of its parameters.
            Mdtest "mdtest" Mdtest;
        }
    };
}

macro_rules! skeletons {
    ($($(#[$doc:meta])* $variant:ident $name:literal $params:ident;)*) => {
        /// A skeleton with its parameters.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub enum Skeleton {
            $($(#[$doc])* #[serde(rename = $name)] $variant($params),)*
        }

        impl Skeleton {
            /// Its name in a scenario.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Skeleton::$variant(_) => $name,)*
                }
            }

            /// Its parameters.
            pub fn parameters(&self) -> &dyn Parameters {
                match self {
                    $(Skeleton::$variant(params) => params,)*
                }
            }

            /// Its parameters, for resolving.
            pub fn parameters_mut(&mut self) -> &mut dyn Parameters {
                match self {
                    $(Skeleton::$variant(params) => params,)*
                }
            }
        }
    };
}
for_each_skeleton!(skeletons);
