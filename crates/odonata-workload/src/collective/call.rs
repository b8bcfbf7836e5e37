//! Collective calls: what a program can ask all ranks of a communicator to do together.
//!
//! Semantics are those of MPI 4.1, chapter 6. All that the rest of the system has to know about a call
//! (its name, its arguments in words and as numbers) is here, so that a further collective is one
//! variant here and its algorithms beside it.

use std::fmt;

use crate::Comm;

/// A collective operation; which messages it becomes is the choice of
/// [`choose`](super::choose).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
        /// Who has the data, a rank of `comm`.
        root: u32,
        /// How much, in bytes.
        bytes: u64,
    },
    /// `MPI_Allreduce` with a commutative operation.
    Allreduce {
        /// The communicator.
        comm: Comm,
        /// Size of the whole vector in bytes.
        bytes: u64,
        /// Number of its elements: one is never cut.
        count: u64,
    },
}

impl Collective {
    /// The communicator it runs on.
    pub const fn comm(&self) -> Comm {
        match *self {
            Collective::Barrier { comm } | Collective::Broadcast { comm, .. } | Collective::Allreduce { comm, .. } => {
                comm
            }
        }
    }

    /// Checks that it can run on a communicator of `ranks` ranks.
    ///
    /// # Errors
    /// Says what is wrong: a root outside the communicator, or elements that are not whole bytes.
    pub fn check(&self, ranks: u32) -> Result<(), String> {
        match *self {
            Collective::Broadcast { root, .. } if root >= ranks => Err(format!(
                "broadcast from rank {root}, but the communicator has only {ranks} ranks"
            )),
            Collective::Allreduce { bytes, count, .. } if bytes % count.max(1) != 0 || (count == 0 && bytes > 0) => {
                Err(format!(
                    "all-reduce of {bytes} bytes does not divide into {count} elements"
                ))
            }
            _ => Ok(()),
        }
    }

    /// The number of its kind, below [`Collective::KINDS`].
    pub const fn kind(&self) -> u32 {
        match self {
            Collective::Barrier { .. } => 0,
            Collective::Broadcast { .. } => 1,
            Collective::Allreduce { .. } => 2,
        }
    }

    /// How many kinds there are.
    pub const KINDS: u32 = 3;

    /// The name of kind `kind`.
    pub const fn name_of(kind: u32) -> &'static str {
        match kind {
            0 => "barrier",
            1 => "broadcast",
            2 => "all-reduce",
            _ => "unknown collective",
        }
    }

    /// The arguments that all ranks must agree on, as numbers.
    pub const fn agreed(&self) -> [u64; 2] {
        match *self {
            Collective::Barrier { .. } => [0; 2],
            Collective::Broadcast { root, bytes, .. } => [root as u64, bytes],
            Collective::Allreduce { bytes, count, .. } => [bytes, count],
        }
    }
}

/// The call in words, such as `Broadcast of 8 B from 3`, without its communicator.
impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Collective::Barrier { .. } => write!(f, "Barrier"),
            Collective::Broadcast { root, bytes, .. } => write!(f, "Broadcast of {bytes} B from {root}"),
            Collective::Allreduce { bytes, .. } => write!(f, "Allreduce of {bytes} B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_outside_the_communicator_is_an_error() {
        let broadcast = Collective::Broadcast {
            comm: Comm::WORLD,
            root: 4,
            bytes: 1,
        };
        assert!(broadcast.check(4).is_err() && broadcast.check(5).is_ok());
        let sum = |bytes, count| Collective::Allreduce {
            comm: Comm::WORLD,
            bytes,
            count,
        };
        assert!(sum(8, 1).check(4).is_ok() && sum(0, 0).check(4).is_ok());
        assert!(sum(9, 2).check(4).is_err() && sum(8, 0).check(4).is_err());
    }
}
