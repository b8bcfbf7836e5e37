//! Decision rules between algorithms.
//!
//! MPICH: the rules of 3.2.1, `src/mpi/coll/*.c`, with the defaults of its `MPIR_CVAR_*_MSG_SIZE` (bytes). 3.4 to 4.3
//! decide by `maint/tuning/coll/mpir/generic.json`, which has the same bounds except for all-reduces (8 B). Open MPI:
//! the rules of 4.0.7, `ompi/mca/coll/tuned/coll_tuned_decision_fixed.c`; scans and size lists, which it leaves to
//! `basic`, are linear.

use super::choice::AlgorithmSizes;
use super::{Algorithm, Collective, Kind, Sizes, power_of_two_within};
use crate::phases::is_world;
use crate::{Counts, Program};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The library whose decision rules apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Library {
    /// Rules of MPICH 3.2, with the thresholds of this table.
    #[default]
    Mpich,
    /// Rules of Open MPI 4.0; the thresholds of this table have no effect.
    OpenMpi,
}

/// The collectives that network interfaces or routers can take over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffloadLimits {
    /// Largest vector of an all-reduce, in bytes.
    pub up_to: u64,
    /// Communicators with a tree: those with lower numbers.
    pub trees: u32,
    /// Largest vector of an all-reduce in routers, in bytes; `None` without a tree of routers. Only the world has one.
    pub routers_up_to: Option<u64>,
}

impl Default for OffloadLimits {
    fn default() -> Self {
        OffloadLimits {
            up_to: 64,
            trees: 1,
            routers_up_to: None,
        }
    }
}

impl OffloadLimits {
    /// Whether `algorithm` may run `collective`: if it needs the interfaces or the routers, they take it.
    fn allow(&self, algorithm: Algorithm, collective: &Collective) -> bool {
        let bytes = match *collective {
            Collective::Allreduce { bytes, .. } => bytes,
            _ => 0,
        };
        let comm = collective.comm();
        match algorithm {
            Algorithm::Offload { .. } => bytes <= self.up_to && comm.0 < self.trees,
            Algorithm::Switches => is_world(comm) && self.routers_up_to.is_some_and(|most| bytes <= most),
            _ => true,
        }
    }
}

/// The decision rules between algorithms. The default is MPICH's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, smart_default::SmartDefault)]
pub struct Rules {
    /// The library whose decision rules apply.
    #[default(Library::Mpich)]
    pub library: Library,
    /// MPICH: all-reduces of at most this size use recursive doubling (`MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE`), longer
    /// ones reduce-scatter. All-reduces with fewer elements than the largest power of two of ranks, which cannot be
    /// scattered, use recursive doubling, too.
    #[default = 2_048]
    pub allreduce_recursive_doubling_up_to: u64,
    /// MPICH: broadcasts below this size use the binomial tree (`MPIR_CVAR_BCAST_SHORT_MSG_SIZE`).
    #[default = 12_288]
    pub broadcast_binomial_below: u64,
    /// MPICH: on fewer ranks, every broadcast uses the binomial tree (`MPIR_CVAR_BCAST_MIN_PROCS`).
    #[default = 8]
    pub broadcast_min_ranks: u32,
    /// MPICH: longer broadcasts on a power of two of ranks gather by recursive doubling below this size
    /// (`MPIR_CVAR_BCAST_LONG_MSG_SIZE`); all others gather around a ring.
    #[default = 524_288]
    pub broadcast_recursive_doubling_below: u64,
    /// Sizes for explicitly chosen algorithms.
    pub sizes: AlgorithmSizes,
    /// What network interfaces and routers can do.
    pub offload: OffloadLimits,
    /// A fixed algorithm per kind, used wherever it supports the collective.
    #[default([None; Kind::ALL.len()])]
    pub forced: [Option<Algorithm>; Kind::ALL.len()],
}

impl Rules {
    /// The same rules with `algorithm` fixed for collectives of this kind, wherever it supports them.
    #[must_use]
    pub const fn with(mut self, kind: Kind, algorithm: Algorithm) -> Rules {
        self.forced[kind as usize] = Some(algorithm);
        self
    }

    /// The same rules without a tree of routers.
    #[must_use]
    pub fn without_routers(mut self) -> Rules {
        self.offload.routers_up_to = None;
        self
    }

    /// Checks that fixed algorithms belong to their kind of collective.
    ///
    /// # Errors
    /// The wrong algorithm, and the possible ones.
    pub fn check(&self) -> Result<(), String> {
        for kind in Kind::ALL {
            let Some(algorithm) = self.forced[kind as usize] else {
                continue;
            };
            if !algorithm.serves(kind) {
                let valid = Algorithm::ALL.into_iter().filter(|other| other.serves(kind));
                let valid: Vec<&str> = valid.map(Algorithm::name).collect();
                return Err(format!(
                    "{} is not an algorithm of {}; expected one of {}",
                    algorithm.name(),
                    kind.name(),
                    valid.join(", ")
                ));
            }
        }
        Ok(())
    }
}

/// The algorithm that `rules` select for `collective` on `ranks` ranks. It always [supports](Algorithm::supports) the
/// collective: an unsupported fixed algorithm is ignored.
///
/// All ranks get the same answer. For all-gatherv and reduce-scatter, the whole list is summed.
pub fn choose(collective: &Collective, ranks: u32, rules: &Rules, sizes: &dyn Sizes) -> Algorithm {
    let forced = rules.forced[collective.which() as usize];
    let fits = |a: &Algorithm| a.supports(collective, ranks) && rules.offload.allow(*a, collective);
    if let Some(algorithm) = forced.filter(fits) {
        return algorithm;
    }
    match rules.library {
        Library::Mpich => mpich(collective, ranks, rules, sizes),
        Library::OpenMpi => open_mpi(collective, ranks, sizes),
    }
}

/// The algorithm of `collective` in `program`: the program's own choice if supported, otherwise the choice of `rules`
/// ([`choose`]).
#[inline]
pub fn choose_in(
    program: Option<&dyn Program>,
    collective: &Collective,
    ranks: u32,
    rules: &Rules,
    sizes: &dyn Sizes,
) -> Algorithm {
    let named = program.and_then(|program| program.algorithm(collective));
    match named.map(|algorithm| algorithm.sized(rules.sizes)) {
        Some(algorithm) if algorithm.supports(collective, ranks) && rules.offload.allow(algorithm, collective) => {
            algorithm
        }
        _ => choose(collective, ranks, rules, sizes),
    }
}

/// The sum of a list that every rank knows as a whole.
fn total(counts: Counts, ranks: u32, sizes: &dyn Sizes) -> u64 {
    (0..ranks).fold(0, |sum, block| sum.saturating_add(sizes.bytes(counts, block, block)))
}

fn mpich(collective: &Collective, ranks: u32, rules: &Rules, sizes: &dyn Sizes) -> Algorithm {
    let (n, power) = (u64::from(ranks), ranks.is_power_of_two());
    // MPIR_CVAR_ALLTOALL_THROTTLE.
    const SCATTERED: Algorithm = Algorithm::Scattered { window: 32 };
    // MPIR_CVAR_ALLGATHER_LONG_MSG_SIZE, _SHORT_MSG_SIZE.
    let allgather = |bytes: u64| {
        if bytes < 524_288 && power {
            Algorithm::RecursiveDoubling
        } else if bytes < 81_920 {
            Algorithm::Bruck
        } else {
            Algorithm::Ring
        }
    };
    // MPIR_CVAR_REDSCAT_COMMUTATIVE_LONG_MSG_SIZE.
    let reduce_scatter = |bytes: u64| {
        if bytes < 524_288 {
            Algorithm::RecursiveHalving
        } else {
            Algorithm::Pairwise
        }
    };
    match *collective {
        Collective::Barrier { .. } => Algorithm::Dissemination,
        Collective::Allreduce { bytes, count, .. } => {
            if bytes <= rules.allreduce_recursive_doubling_up_to || count < u64::from(power_of_two_within(ranks)) {
                Algorithm::RecursiveDoubling
            } else {
                Algorithm::ReduceScatterAllgather
            }
        }
        Collective::Broadcast { bytes, .. } => {
            if bytes < rules.broadcast_binomial_below || ranks < rules.broadcast_min_ranks {
                Algorithm::Binomial
            } else if bytes < rules.broadcast_recursive_doubling_below && power {
                Algorithm::ScatterRecursiveDoubling
            } else {
                Algorithm::ScatterRing
            }
        }
        // MPIR_CVAR_REDUCE_SHORT_MSG_SIZE.
        Collective::Reduce { bytes, count, .. } => {
            if bytes > 2_048 && count >= u64::from(power_of_two_within(ranks)) {
                Algorithm::ReduceScatterGather
            } else {
                Algorithm::Binomial
            }
        }
        Collective::Gather { .. } | Collective::Scatter { .. } => Algorithm::Binomial,
        Collective::Gatherv { .. } | Collective::Scatterv { .. } => Algorithm::Linear,
        Collective::Allgather { bytes, .. } => allgather(bytes.saturating_mul(n)),
        Collective::Allgatherv { counts, .. } => allgather(total(counts, ranks, sizes)),
        Collective::ReduceScatter { counts, .. } => reduce_scatter(total(counts, ranks, sizes)),
        Collective::ReduceScatterBlock { bytes, .. } => reduce_scatter(bytes.saturating_mul(n)),
        Collective::Scan { .. } | Collective::Exscan { .. } => Algorithm::RecursiveDoubling,
        // MPIR_CVAR_ALLTOALL_SHORT_MSG_SIZE, _MEDIUM_MSG_SIZE.
        Collective::Alltoall { bytes, .. } => {
            if bytes <= 256 && ranks >= 8 {
                Algorithm::Bruck
            } else if bytes <= 32_768 {
                SCATTERED
            } else if power {
                Algorithm::PairwiseExchange
            } else {
                Algorithm::Pairwise
            }
        }
        Collective::Alltoallv { .. } => SCATTERED,
    }
}

const KIB: u32 = 1 << 10;

fn open_mpi(collective: &Collective, ranks: u32, sizes: &dyn Sizes) -> Algorithm {
    let (n, power) = (u64::from(ranks), ranks.is_power_of_two());
    let long_allgather = if ranks.is_multiple_of(2) {
        Algorithm::NeighborExchange
    } else {
        Algorithm::Ring
    };
    match *collective {
        Collective::Barrier { .. } if power => Algorithm::RecursiveDoubling,
        Collective::Barrier { .. } => Algorithm::Dissemination,
        Collective::Allreduce { bytes, count, .. } => {
            let segment = KIB * KIB;
            if bytes < 10_000 {
                Algorithm::RecursiveDoubling
            } else if count <= n {
                Algorithm::ReduceBroadcast
            } else if bytes <= n * u64::from(segment) {
                Algorithm::Ring
            } else {
                Algorithm::SegmentedRing { segment }
            }
        }
        Collective::Broadcast { bytes, .. } => open_mpi_broadcast(bytes, ranks),
        Collective::Reduce { bytes, count, .. } => open_mpi_reduce(bytes, count, ranks),
        Collective::Gather { bytes, .. } => {
            if bytes > 92_160 {
                Algorithm::LinearSync { segment: 32 * KIB }
            } else if bytes > 6_000 {
                Algorithm::LinearSync { segment: KIB }
            } else if ranks > 60 || (ranks > 10 && bytes < 1_024) {
                Algorithm::Binomial
            } else {
                Algorithm::Linear
            }
        }
        Collective::Scatter { bytes, .. } if ranks > 10 && bytes < 300 => Algorithm::Binomial,
        Collective::Scatter { .. } | Collective::Gatherv { .. } | Collective::Scatterv { .. } => Algorithm::Linear,
        Collective::Allgather { bytes, .. } => {
            if ranks == 2 || (power && bytes.saturating_mul(n) < 50_000) {
                Algorithm::RecursiveDoubling
            } else if bytes.saturating_mul(n) < 50_000 {
                Algorithm::Bruck
            } else {
                long_allgather
            }
        }
        Collective::Allgatherv { counts, .. } => {
            if ranks == 2 {
                Algorithm::RecursiveDoubling
            } else if total(counts, ranks, sizes) < 50_000 {
                Algorithm::Bruck
            } else {
                long_allgather
            }
        }
        Collective::ReduceScatter { counts, .. } => {
            let bytes = total(counts, ranks, sizes);
            let short = bytes <= 12 * 1_024 || (bytes <= 256 * 1_024 && power);
            if short || f64::from(ranks) >= 0.0012 * bytes as f64 + 8.0 {
                Algorithm::RecursiveHalving
            } else {
                Algorithm::Ring
            }
        }
        Collective::ReduceScatterBlock { .. } => Algorithm::ReduceThenScatter,
        Collective::Scan { .. } | Collective::Exscan { .. } => Algorithm::Linear,
        Collective::Alltoall { bytes, .. } => {
            if ranks == 2 {
                Algorithm::Pairwise
            } else if bytes < 200 && ranks > 12 {
                Algorithm::Bruck
            } else if bytes < 3_000 {
                Algorithm::Linear
            } else {
                Algorithm::Pairwise
            }
        }
        Collective::Alltoallv { .. } => Algorithm::Pairwise,
    }
}

/// `ompi_coll_tuned_bcast_intra_dec_fixed`, whose boundaries in size and number of ranks were fitted to measurements.
fn open_mpi_broadcast(bytes: u64, ranks: u32) -> Algorithm {
    let below = |slope: f64, offset: f64| f64::from(ranks) < slope * bytes as f64 + offset;
    if bytes < 2_048 {
        Algorithm::Binomial
    } else if bytes < 370_728 {
        Algorithm::SplitBinary { segment: KIB }
    } else if below(1.6134e-6, 2.1102) {
        Algorithm::Chain { segment: 128 * KIB }
    } else if ranks < 13 {
        Algorithm::SplitBinary { segment: 8 * KIB }
    } else if below(2.3679e-6, 1.1787) {
        Algorithm::Chain { segment: 64 * KIB }
    } else if below(3.2118e-6, 8.7936) {
        Algorithm::Chain { segment: 16 * KIB }
    } else {
        Algorithm::Chain { segment: 8 * KIB }
    }
}

/// `ompi_coll_tuned_reduce_intra_dec_fixed`, likewise.
fn open_mpi_reduce(bytes: u64, count: u64, ranks: u32) -> Algorithm {
    let above = |slope: f64, offset: f64| f64::from(ranks) > slope / 1_024.0 * bytes as f64 + offset;
    if ranks < 8 && bytes < 512 {
        Algorithm::Linear
    } else if (ranks < 8 && bytes < 20_480) || bytes < 2_048 || count <= 1 {
        Algorithm::Binomial
    } else if above(0.6016, 1.3496) {
        Algorithm::SegmentedBinomial { segment: KIB }
    } else if above(0.0410, 9.7128) {
        Algorithm::Chain { segment: KIB }
    } else if above(0.0422, 1.1614) {
        Algorithm::Binary { segment: 32 * KIB }
    } else if above(0.0033, 1.6761) {
        Algorithm::Chain { segment: 32 * KIB }
    } else {
        Algorithm::Chain { segment: 64 * KIB }
    }
}
