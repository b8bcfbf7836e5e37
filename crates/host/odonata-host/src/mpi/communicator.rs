//! Communicators: their members, and the cost of creating them.
//!
//! [`Program::group`](odonata_workload::Program::group) defines the members of a communicator. This module stores
//! nothing and handles the world without a query. Messages match by rank of the job, in one context per communicator.
//!
//! The cost of creation is that of MPICH: an all-reduce of the mask of free context numbers (256 B, bitwise and). A
//! split precedes it with an all-gather of color and key (8 B per rank).

use crate::failure::InvalidOperation;
use crate::layout::Layout;
use crate::params::JobProgram;
use odonata_workload::{Collective, Comm, Group, OneSided, OpKind, Source};

/// MPICH's mask of context numbers: 64 words of 32 bits.
const MASK_BYTES: u64 = 256;
const MASK_WORDS: u64 = 64;
/// Color and key of a split.
const SPLIT_BYTES: u64 = 8;

/// Communicator numbers have 31 bits: a context is the number plus one bit for collectives.
const MOST: u32 = 1 << 31;

/// The `part`-th collective of operation `kind`.
#[inline]
pub(crate) fn collective_of(kind: &OpKind, part: u8) -> Option<Collective> {
    let mask = |comm| Collective::Allreduce {
        comm,
        bytes: MASK_BYTES,
        count: MASK_WORDS,
    };
    match (*kind, part) {
        (OpKind::Collective(collective) | OpKind::Icollective { collective, .. }, 0) => Some(collective),
        (OpKind::CommDup { comm, .. } | OpKind::CommCreate { comm, .. }, 0) => Some(mask(comm)),
        (OpKind::CommSplit { comm, .. }, 0) => Some(Collective::Allgather {
            comm,
            bytes: SPLIT_BYTES,
        }),
        (OpKind::CommSplit { comm, .. }, 1) => Some(mask(comm)),
        (OpKind::OneSided(OneSided::Fence { comm }), 0) => Some(Collective::Barrier { comm }),
        _ => None,
    }
}

impl Layout {
    /// The members of `comm` as `rank` knows it.
    fn group(&self, rank: u32, comm: Comm) -> Result<Group, InvalidOperation> {
        let job = self.job_of(rank);
        let group = match &job.program {
            JobProgram::Program(_) if comm == Comm::WORLD => Some(Group::world(job.ranks)),
            JobProgram::Program(program) if comm.0 < MOST => program.group(rank - job.first_rank, comm),
            _ => None,
        };
        group.ok_or(InvalidOperation::Communicator(comm))
    }

    /// The rank in the job of member `member` of `comm`, as `rank` knows it.
    ///
    /// # Errors
    /// `rank` has no such communicator, or it has no such member.
    #[inline]
    pub(crate) fn rank_of(&self, rank: u32, comm: Comm, member: u32) -> Result<u32, InvalidOperation> {
        let ranks = self.job_of(rank).ranks;
        if comm == Comm::WORLD && member < ranks {
            return Ok(member);
        }
        self.ask_rank_of(rank, comm, member, ranks)
    }

    #[inline(never)]
    fn ask_rank_of(&self, rank: u32, comm: Comm, member: u32, ranks: u32) -> Result<u32, InvalidOperation> {
        let group = self.group(rank, comm)?;
        let found = group.rank(member).filter(|&found| found < ranks);
        found.ok_or(InvalidOperation::Peer {
            comm,
            ranks: group.len(),
        })
    }

    /// The `source` of a receive of `rank` on `comm`, as a rank of the job.
    #[inline]
    pub(crate) fn source_of(&self, rank: u32, comm: Comm, source: Source) -> Result<Source, InvalidOperation> {
        match source {
            Source::Rank(member) => self.rank_of(rank, comm, member).map(Source::Rank),
            Source::Any if comm == Comm::WORLD => Ok(source),
            Source::Any => self.group(rank, comm).map(|_| source),
        }
    }

    /// The number of `rank` in `comm`, and the number of members.
    ///
    /// # Errors
    /// `rank` has no such communicator, or is not a member.
    pub(crate) fn member_of(&self, rank: u32, comm: Comm) -> Result<(u32, u32), InvalidOperation> {
        let job = self.job_of(rank);
        let local = rank - job.first_rank;
        if comm == Comm::WORLD {
            return Ok((local, job.ranks));
        }
        let group = self.group(rank, comm)?;
        let member = group.member(local).ok_or(InvalidOperation::Communicator(comm))?;
        Ok((member, group.len()))
    }

    /// Ranks of the job that may send to `rank` on `comm`, in the order of the communicator.
    pub(crate) fn members(&self, rank: u32, comm: Comm) -> impl Iterator<Item = u32> + use<> {
        let group = self.group(rank, comm).unwrap_or(Group::world(0));
        (0..group.len()).filter_map(move |member| group.rank(member))
    }

    /// The members of `comm` except `rank`, numbered over all jobs.
    ///
    /// # Errors
    /// `rank` has no such communicator, or is not a member.
    pub(super) fn others(&self, rank: u32, comm: Comm) -> Result<Vec<u32>, InvalidOperation> {
        self.member_of(rank, comm)?;
        let first = self.job_of(rank).first_rank;
        let members = self.members(rank, comm).map(|member| first + member);
        Ok(members.filter(|&member| member != rank).collect())
    }

    /// `MPI_Comm_free`.
    ///
    /// # Errors
    /// `rank` has no such communicator, or it is the world.
    pub(crate) fn free_communicator(&self, rank: u32, comm: Comm) -> Result<(), InvalidOperation> {
        if comm == Comm::WORLD {
            return Err(InvalidOperation::FreedWorld);
        }
        self.group(rank, comm).map(|_| ())
    }
}
