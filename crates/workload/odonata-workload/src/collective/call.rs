//! Collective calls: joint operations of all ranks of a communicator.
//!
//! Semantics follow MPI 4.1, chapter 6. Everything about a call (name, arguments as text and as numbers) is here: a new
//! collective is one variant here and its algorithms.

use odonata_units::Bytes;
use std::fmt;

use super::Kind;
use crate::{Comm, Counts};

/// A collective operation; [`choose`](super::choose) decides on its messages.
///
/// Reductions use a commutative operation. [`local_work`](super::local_work) tells what is summed and copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Collective {
    /// `MPI_Barrier`.
    Barrier {
        /// The communicator.
        comm: Comm,
    },
    /// `MPI_Bcast`.
    Broadcast {
        /// The communicator.
        comm: Comm,
        /// The rank of `comm` with the data.
        root: u32,
        /// Size in bytes.
        bytes: u64,
    },
    /// `MPI_Allreduce` with a commutative operation.
    Allreduce {
        /// The communicator.
        comm: Comm,
        /// Size of the whole vector in bytes.
        bytes: u64,
        /// Number of its elements, which are never split.
        count: u64,
    },
    /// `MPI_Reduce`.
    Reduce {
        /// The communicator.
        comm: Comm,
        /// The rank of `comm` that gets the result.
        root: u32,
        /// Size of the whole vector in bytes.
        bytes: u64,
        /// Number of its elements, which are never split.
        count: u64,
    },
    /// `MPI_Gather`.
    Gather {
        /// The communicator.
        comm: Comm,
        /// The rank of `comm` that gets the data.
        root: u32,
        /// Bytes given by each rank.
        bytes: u64,
    },
    /// `MPI_Gatherv`.
    Gatherv {
        /// The communicator.
        comm: Comm,
        /// The rank of `comm` that gets the data.
        root: u32,
        /// Bytes given by each rank: queried from the rank to the root.
        counts: Counts,
    },
    /// `MPI_Scatter`.
    Scatter {
        /// The communicator.
        comm: Comm,
        /// The rank of `comm` with the data.
        root: u32,
        /// Bytes received by each rank.
        bytes: u64,
    },
    /// `MPI_Scatterv`.
    Scatterv {
        /// The communicator.
        comm: Comm,
        /// The rank of `comm` with the data.
        root: u32,
        /// Bytes received by each rank: queried from the root to the rank.
        counts: Counts,
    },
    /// `MPI_Allgather`.
    Allgather {
        /// The communicator.
        comm: Comm,
        /// Bytes given by each rank; the result has this size times the number of ranks.
        bytes: u64,
    },
    /// `MPI_Allgatherv`.
    Allgatherv {
        /// The communicator.
        comm: Comm,
        /// Bytes given by each rank; every rank knows the whole list.
        counts: Counts,
    },
    /// `MPI_Reduce_scatter`.
    ReduceScatter {
        /// The communicator.
        comm: Comm,
        /// Each rank's share of the result; every rank knows the whole list.
        counts: Counts,
    },
    /// `MPI_Reduce_scatter_block`.
    ReduceScatterBlock {
        /// The communicator.
        comm: Comm,
        /// Each rank's share of the result, in bytes; the vector has this size times the number of ranks.
        bytes: u64,
        /// Number of elements of a share.
        count: u64,
    },
    /// `MPI_Scan`.
    Scan {
        /// The communicator.
        comm: Comm,
        /// Size of the whole vector in bytes.
        bytes: u64,
        /// Number of its elements.
        count: u64,
    },
    /// `MPI_Exscan`.
    Exscan {
        /// The communicator.
        comm: Comm,
        /// Size of the whole vector in bytes.
        bytes: u64,
        /// Number of its elements.
        count: u64,
    },
    /// `MPI_Alltoall`.
    Alltoall {
        /// The communicator.
        comm: Comm,
        /// Bytes given by each rank to each rank.
        bytes: u64,
    },
    /// `MPI_Alltoallv` and, as all sizes are in bytes, `MPI_Alltoallw`.
    Alltoallv {
        /// The communicator.
        comm: Comm,
        /// Bytes given by each rank to each rank; a rank knows its own sends and receives.
        counts: Counts,
    },
}

/// Arguments of a collective call.
#[derive(Clone, Copy, Debug)]
pub struct Arguments {
    /// The root.
    pub root: u32,
    /// The size in bytes.
    pub bytes: u64,
    /// Number of elements of a vector.
    pub count: u64,
    /// Sizes that differ between ranks.
    pub counts: Counts,
}

impl Arguments {
    /// All zero.
    pub const NONE: Arguments = Arguments {
        root: 0,
        bytes: 0,
        count: 0,
        counts: Counts(0),
    };
}

impl Kind {
    /// The call of this kind on `comm`, with those of the arguments that it has.
    pub const fn call(self, comm: Comm, arguments: Arguments) -> Collective {
        use Collective as C;
        let Arguments {
            root,
            bytes,
            count,
            counts,
        } = arguments;
        match self {
            Kind::Barrier => C::Barrier { comm },
            Kind::Broadcast => C::Broadcast { comm, root, bytes },
            Kind::Allreduce => C::Allreduce { comm, bytes, count },
            Kind::Reduce => C::Reduce {
                comm,
                root,
                bytes,
                count,
            },
            Kind::Gather => C::Gather { comm, root, bytes },
            Kind::Gatherv => C::Gatherv { comm, root, counts },
            Kind::Scatter => C::Scatter { comm, root, bytes },
            Kind::Scatterv => C::Scatterv { comm, root, counts },
            Kind::Allgather => C::Allgather { comm, bytes },
            Kind::Allgatherv => C::Allgatherv { comm, counts },
            Kind::ReduceScatter => C::ReduceScatter { comm, counts },
            Kind::ReduceScatterBlock => C::ReduceScatterBlock { comm, bytes, count },
            Kind::Scan => C::Scan { comm, bytes, count },
            Kind::Exscan => C::Exscan { comm, bytes, count },
            Kind::Alltoall => C::Alltoall { comm, bytes },
            Kind::Alltoallv => C::Alltoallv { comm, counts },
        }
    }
}

impl Collective {
    /// The communicator it runs on.
    pub const fn comm(&self) -> Comm {
        let mut copy = *self;
        *copy.comm_mut()
    }

    /// The communicator, for renaming.
    pub(crate) const fn comm_mut(&mut self) -> &mut Comm {
        match self {
            Collective::Barrier { comm }
            | Collective::Broadcast { comm, .. }
            | Collective::Allreduce { comm, .. }
            | Collective::Reduce { comm, .. }
            | Collective::Gather { comm, .. }
            | Collective::Gatherv { comm, .. }
            | Collective::Scatter { comm, .. }
            | Collective::Scatterv { comm, .. }
            | Collective::Allgather { comm, .. }
            | Collective::Allgatherv { comm, .. }
            | Collective::ReduceScatter { comm, .. }
            | Collective::ReduceScatterBlock { comm, .. }
            | Collective::Scan { comm, .. }
            | Collective::Exscan { comm, .. }
            | Collective::Alltoall { comm, .. }
            | Collective::Alltoallv { comm, .. } => comm,
        }
    }

    /// The size list of a v-variant, for renaming.
    pub const fn counts_mut(&mut self) -> Option<&mut Counts> {
        match self {
            Collective::Gatherv { counts, .. }
            | Collective::Scatterv { counts, .. }
            | Collective::Allgatherv { counts, .. }
            | Collective::ReduceScatter { counts, .. }
            | Collective::Alltoallv { counts, .. } => Some(counts),
            _ => None,
        }
    }

    /// The root, for rooted collectives.
    pub const fn root(&self) -> Option<u32> {
        match *self {
            Collective::Broadcast { root, .. }
            | Collective::Reduce { root, .. }
            | Collective::Gather { root, .. }
            | Collective::Gatherv { root, .. }
            | Collective::Scatter { root, .. }
            | Collective::Scatterv { root, .. } => Some(root),
            _ => None,
        }
    }

    /// Checks that it can run on a communicator of `ranks` ranks.
    ///
    /// # Errors
    /// The root is outside the communicator, or elements are not whole bytes.
    pub fn check(&self, ranks: u32) -> Result<(), String> {
        let name = self.which().name();
        if let Some(root) = self.root()
            && root >= ranks
        {
            let way = match self {
                Collective::Reduce { .. } | Collective::Gather { .. } | Collective::Gatherv { .. } => "to",
                _ => "from",
            };
            return Err(format!(
                "{name} {way} rank {root}, but the communicator has only {ranks} ranks"
            ));
        }
        match *self {
            Collective::Allreduce { bytes, count, .. }
            | Collective::Reduce { bytes, count, .. }
            | Collective::ReduceScatterBlock { bytes, count, .. }
            | Collective::Scan { bytes, count, .. }
            | Collective::Exscan { bytes, count, .. }
                if bytes % count.max(1) != 0 || (count == 0 && bytes > 0) =>
            {
                Err(format!("{name} of {bytes} bytes does not divide into {count} elements"))
            }
            _ => Ok(()),
        }
    }

    /// Its kind.
    pub const fn which(&self) -> Kind {
        match self {
            Collective::Barrier { .. } => Kind::Barrier,
            Collective::Broadcast { .. } => Kind::Broadcast,
            Collective::Allreduce { .. } => Kind::Allreduce,
            Collective::Reduce { .. } => Kind::Reduce,
            Collective::Gather { .. } => Kind::Gather,
            Collective::Gatherv { .. } => Kind::Gatherv,
            Collective::Scatter { .. } => Kind::Scatter,
            Collective::Scatterv { .. } => Kind::Scatterv,
            Collective::Allgather { .. } => Kind::Allgather,
            Collective::Allgatherv { .. } => Kind::Allgatherv,
            Collective::ReduceScatter { .. } => Kind::ReduceScatter,
            Collective::ReduceScatterBlock { .. } => Kind::ReduceScatterBlock,
            Collective::Scan { .. } => Kind::Scan,
            Collective::Exscan { .. } => Kind::Exscan,
            Collective::Alltoall { .. } => Kind::Alltoall,
            Collective::Alltoallv { .. } => Kind::Alltoallv,
        }
    }

    /// The number of its kind, below [`Collective::KINDS`].
    pub const fn kind(&self) -> u32 {
        self.which() as u32
    }

    /// Number of kinds.
    pub const KINDS: u32 = Kind::ALL.len() as u32;

    /// The name of kind `kind`.
    pub const fn name_of(kind: u32) -> &'static str {
        if kind < Self::KINDS {
            Kind::ALL[kind as usize].name()
        } else {
            "unknown collective"
        }
    }

    /// The arguments on which all ranks must agree by the MPI standard, as numbers. With sizes that differ between
    /// ranks only the root counts: a list of counts has a rank-local number.
    pub const fn agreed(&self) -> [u64; 2] {
        match *self {
            Collective::Barrier { .. }
            | Collective::Allgatherv { .. }
            | Collective::ReduceScatter { .. }
            | Collective::Alltoallv { .. } => [0; 2],
            Collective::Broadcast { root, bytes, .. }
            | Collective::Gather { root, bytes, .. }
            | Collective::Scatter { root, bytes, .. } => [root as u64, bytes],
            Collective::Gatherv { root, .. } | Collective::Scatterv { root, .. } => [root as u64, 0],
            // Root in the lower, count in the upper half: unique for counts below 2^32.
            Collective::Reduce { root, bytes, count, .. } => [root as u64 ^ count.rotate_left(32), bytes],
            Collective::Allreduce { bytes, count, .. }
            | Collective::ReduceScatterBlock { bytes, count, .. }
            | Collective::Scan { bytes, count, .. }
            | Collective::Exscan { bytes, count, .. } => [bytes, count],
            Collective::Allgather { bytes, .. } | Collective::Alltoall { bytes, .. } => [bytes, 0],
        }
    }
}

/// The call as text, such as `Broadcast of 8 B from 3`, without its communicator.
impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Collective::Barrier { .. } => write!(f, "Barrier"),
            Collective::Broadcast { root, bytes, .. } => write!(f, "Broadcast of {} from {root}", Bytes(*bytes)),
            Collective::Allreduce { bytes, .. } => write!(f, "Allreduce of {}", Bytes(*bytes)),
            Collective::Reduce { root, bytes, .. } => write!(f, "Reduce of {} to {root}", Bytes(*bytes)),
            Collective::Gather { root, bytes, .. } => write!(f, "Gather of {} per rank to {root}", Bytes(*bytes)),
            Collective::Gatherv { root, .. } => write!(f, "Gatherv to {root}"),
            Collective::Scatter { root, bytes, .. } => write!(f, "Scatter of {} per rank from {root}", Bytes(*bytes)),
            Collective::Scatterv { root, .. } => write!(f, "Scatterv from {root}"),
            Collective::Allgather { bytes, .. } => write!(f, "Allgather of {} per rank", Bytes(*bytes)),
            Collective::Allgatherv { .. } => write!(f, "Allgatherv"),
            Collective::ReduceScatter { .. } => write!(f, "Reduce_scatter"),
            Collective::ReduceScatterBlock { bytes, .. } => {
                write!(f, "Reduce_scatter_block of {} per rank", Bytes(*bytes))
            }
            Collective::Scan { bytes, .. } => write!(f, "Scan of {}", Bytes(*bytes)),
            Collective::Exscan { bytes, .. } => write!(f, "Exscan of {}", Bytes(*bytes)),
            Collective::Alltoall { bytes, .. } => write!(f, "Alltoall of {} per pair", Bytes(*bytes)),
            Collective::Alltoallv { .. } => write!(f, "Alltoallv"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMM: Comm = Comm::WORLD;

    #[test]
    fn a_root_outside_the_communicator_is_an_error() {
        let broadcast = Collective::Broadcast {
            comm: COMM,
            root: 4,
            bytes: 1,
        };
        assert!(broadcast.check(4).is_err() && broadcast.check(5).is_ok());
        let gatherv = Collective::Gatherv {
            comm: COMM,
            root: 2,
            counts: Counts(0),
        };
        assert_eq!(
            gatherv.check(2),
            Err("gatherv to rank 2, but the communicator has only 2 ranks".into())
        );
    }

    #[test]
    fn elements_are_whole_bytes() {
        let calls = |bytes, count| {
            let vector = Arguments {
                bytes,
                count,
                ..Arguments::NONE
            };
            [
                Kind::Allreduce,
                Kind::Reduce,
                Kind::ReduceScatterBlock,
                Kind::Scan,
                Kind::Exscan,
            ]
            .map(|kind| kind.call(COMM, vector))
        };
        for (bytes, count, good) in [(8, 1, true), (0, 0, true), (9, 2, false), (8, 0, false)] {
            assert!(calls(bytes, count).iter().all(|call| call.check(4).is_ok() == good));
        }
    }

    #[test]
    fn arguments_that_must_agree_distinguish_roots_and_sizes() {
        let reduce = |root, bytes, count| {
            Collective::Reduce {
                comm: COMM,
                root,
                bytes,
                count,
            }
            .agreed()
        };
        let all = [reduce(0, 8, 1), reduce(1, 8, 1), reduce(0, 16, 1), reduce(0, 8, 2)];
        for (i, a) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|b| a != b));
        }
        // Each rank may number its list freely.
        let allgatherv = |list| Collective::Allgatherv {
            comm: COMM,
            counts: Counts(list),
        };
        assert_eq!(allgatherv(0).agreed(), allgatherv(7).agreed());
    }
}
