//! A scenario as it is written: every key that a file may have, its unit and its default.
//!
//! These comments are the option reference: the JSON Schema that editors show is generated from them. Keys whose
//! default depends on others, or that a preset may set, are optional here; the resolved form
//! ([`Resolved`](super::Resolved)) has them all.

use schemars::JsonSchema;
use serde::Deserialize;

pub use super::job::Job;
pub use super::run::Run;
pub use odonata_host::settings::Mpi;
pub use odonata_network::settings::{CongestionControl, Jitter, Link, Links, Network, Nic, Routing, TrafficClass};
pub use odonata_storage::settings::Storage;
pub use odonata_topology::family::MachineTable as Machine;

/// A scenario: a machine, its network and storage, and the jobs that share it.
///
/// Quantities are strings of a number and a unit, such as "30 ns", "8 KiB" or "5.25 GiB/s"; GiB (2^30) and GB (10^9)
/// are different units. Keys that a file leaves out are taken from its preset, or else have their defaults.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Odonata scenario", rename = "Scenario")]
pub struct Written {
    /// Name of the scenario, for titles and tables. Default: the name of its file, or "scenario" if it is not in a
    /// file.
    pub name: Option<String>,
    /// Seed of every random choice; equal seeds give equal results. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(max = 9_223_372_036_854_775_807u64))]
    pub seed: u64,
    /// A set of keys to start from: "codes-compatible" (the MFNetSim case study as it was run) or "mfnetsim" (as its
    /// paper describes it); a machine without jobs: "theta", "theta-full", "edison", "cori", "cori-like",
    /// "cori-like-authors", "trinity" (Cray XC), "bluegene-p", "bluegene-q", "frontier", "frontier-like", "lumi", "perlmutter",
    /// "aurora", "alps" (Slingshot), "leonardo", "marenostrum5" (InfiniBand), "fugaku" (Tofu), "dgx-h100-superpod", "dgx-h100-superpod-like", "dgx-gb200" (GPUs with rails);
    /// BookSim 2's router without a machine: "booksim". Keys of this file replace those of the preset one by one.
    /// Default: none.
    pub preset: Option<String>,
    /// How long to run, what to record, and on how many cores.
    #[serde(default)]
    pub run: Run,
    /// The machine's graph. Required, here or in the preset.
    pub machine: Option<Machine>,
    /// Links, routers, routing.
    #[serde(default)]
    pub network: Network,
    /// The interface between a node and its router.
    #[serde(default)]
    pub nic: Nic,
    /// Costs and protocols of MPI calls, algorithms of collectives.
    #[serde(default)]
    pub mpi: Mpi,
    /// Storage servers on nodes of the machine. Default: none; jobs that do I/O need some.
    pub storage: Option<Storage>,
    /// The jobs; at least one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job>,
}

fn one() -> u64 {
    1
}
