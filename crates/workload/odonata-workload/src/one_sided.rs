//! One-sided communication (MPI 4.1, chapter 12).
//!
//! The ranks of a communicator have one window: the memory that the others may access. Another window of the same ranks
//! is that of a duplicated communicator. Accesses do not block; they are complete, at the origin and at the target, when
//! a flush, a fence, an unlock or a complete returns, or a wait for its request. An epoch of `MPI_Win_lock_all`, as SHMEM has it, needs no call.

use serde::{Deserialize, Serialize};

use crate::{Comm, Request, Source};

/// What an access does with the memory of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Access {
    /// `MPI_Put`: writes.
    Put,
    /// `MPI_Get`: reads.
    Get,
    /// `MPI_Accumulate`: combines data with the memory.
    Accumulate,
    /// `MPI_Get_accumulate`, `MPI_Fetch_and_op`, `MPI_Compare_and_swap`: the same, and returns the former content.
    GetAccumulate,
}

/// A call of one-sided communication. Targets are ranks of `comm`, whose ranks have the window; groups are the other
/// members of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OneSided {
    /// An access.
    Access {
        /// What it does.
        access: Access,
        /// Whose memory.
        target: u32,
        /// Size in bytes; may be zero.
        bytes: u64,
        /// The communicator.
        comm: Comm,
        /// The request of `MPI_Rput` and its like, which a wait takes; otherwise [`Request::DETACHED`].
        request: Request,
    },
    /// `MPI_Win_flush`, or `MPI_Win_flush_all` for any target: waits until the rank's accesses are complete.
    Flush {
        /// Whose memory they access.
        target: Source,
        /// The communicator.
        comm: Comm,
    },
    /// `MPI_Win_fence`: waits until all accesses of all ranks are complete.
    Fence {
        /// The communicator.
        comm: Comm,
    },
    /// `MPI_Win_lock`.
    Lock {
        /// Whose memory.
        target: u32,
        /// Whether no other rank may have the lock at the same time.
        exclusive: bool,
        /// The communicator.
        comm: Comm,
    },
    /// `MPI_Win_unlock`: waits until the accesses to the target are complete, and gives the lock back.
    Unlock {
        /// Whose memory.
        target: u32,
        /// The communicator.
        comm: Comm,
    },
    /// `MPI_Win_post`: lets a group access the memory of the rank.
    Post {
        /// The group.
        group: Comm,
        /// The communicator.
        comm: Comm,
    },
    /// `MPI_Win_start`: waits for the posts of a group.
    Start {
        /// The group.
        group: Comm,
        /// The communicator.
        comm: Comm,
    },
    /// `MPI_Win_complete`: waits until all accesses of the rank are complete, and tells the group.
    Complete {
        /// The group.
        group: Comm,
        /// The communicator.
        comm: Comm,
    },
    /// `MPI_Win_wait`: waits until a group has completed its accesses.
    Wait {
        /// The group.
        group: Comm,
        /// The communicator.
        comm: Comm,
    },
}

impl OneSided {
    /// Number of [names](Self::index).
    pub const KINDS: usize = 17;

    /// The communicator whose ranks have the window.
    pub const fn comm(&self) -> Comm {
        match *self {
            OneSided::Access { comm, .. }
            | OneSided::Flush { comm, .. }
            | OneSided::Fence { comm }
            | OneSided::Lock { comm, .. }
            | OneSided::Unlock { comm, .. }
            | OneSided::Post { comm, .. }
            | OneSided::Start { comm, .. }
            | OneSided::Complete { comm, .. }
            | OneSided::Wait { comm, .. } => comm,
        }
    }

    /// The communicator whose other members are its group.
    pub const fn group(&self) -> Option<Comm> {
        match *self {
            OneSided::Post { group, .. }
            | OneSided::Start { group, .. }
            | OneSided::Complete { group, .. }
            | OneSided::Wait { group, .. } => Some(group),
            _ => None,
        }
    }

    /// The rank of the communicator that it names.
    pub const fn target(&self) -> Option<Source> {
        match *self {
            OneSided::Access { target, .. } | OneSided::Lock { target, .. } | OneSided::Unlock { target, .. } => {
                Some(Source::Rank(target))
            }
            OneSided::Flush { target, .. } => Some(target),
            _ => None,
        }
    }

    /// Renames its communicators.
    pub(crate) fn rename(&mut self, name: impl Fn(Comm) -> Comm) {
        match self {
            OneSided::Post { group, comm }
            | OneSided::Start { group, comm }
            | OneSided::Complete { group, comm }
            | OneSided::Wait { group, comm } => (*group, *comm) = (name(*group), name(*comm)),
            OneSided::Access { comm, .. }
            | OneSided::Flush { comm, .. }
            | OneSided::Fence { comm }
            | OneSided::Lock { comm, .. }
            | OneSided::Unlock { comm, .. } => *comm = name(*comm),
        }
    }

    /// The number of its kind, below [`KINDS`](Self::KINDS), in the order of programs in files.
    pub const fn index(&self) -> usize {
        match *self {
            OneSided::Access {
                access,
                request: Request::DETACHED,
                ..
            } => access as usize,
            // Behind all others, which were there first.
            OneSided::Access { access, .. } => 13 + access as usize,
            OneSided::Flush { .. } => 4,
            OneSided::Fence { .. } => 5,
            OneSided::Lock { exclusive: true, .. } => 6,
            OneSided::Lock { exclusive: false, .. } => 7,
            OneSided::Unlock { .. } => 8,
            OneSided::Post { .. } => 9,
            OneSided::Start { .. } => 10,
            OneSided::Complete { .. } => 11,
            OneSided::Wait { .. } => 12,
        }
    }
}
