//! Calls: the kind of a rank's call, as a number with a name, and the category of its time.

use crate::layout::Layout;
use odonata_engine::NIL;
use odonata_workload::{Collective, Comm, FileCall, OneSided, Op, OpKind, PROC_NULL, Request, Source};
use serde::{Deserialize, Serialize};

/// The kind of a call: an index into [`CALLS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallKind(u8);

/// Indices of the first collective, of the first non-blocking one, and of the first call of one-sided communication, in the
/// order of their kinds.
const COLLECTIVES: u8 = 40;
const NON_BLOCKING: u8 = COLLECTIVES + Collective::KINDS as u8;
const ONE_SIDED: u8 = NON_BLOCKING + Collective::KINDS as u8;

/// The names of all calls: MPI calls by their standard names, file accesses, and activities that occupy a rank without
/// a call.
pub const CALLS: [&str; 89] = [
    "compute",
    "MPI_Send",
    "MPI_Recv",
    "MPI_Isend",
    "MPI_Irecv",
    "MPI_Ssend",
    "MPI_Issend",
    "MPI_Sendrecv",
    "MPI_Probe",
    "MPI_Iprobe",
    "MPI_Send_init",
    "MPI_Recv_init",
    "MPI_Start",
    "MPI_Startall",
    "MPI_Request_free",
    "MPI_Wait",
    "MPI_Waitall",
    "MPI_Waitany",
    "MPI_Waitsome",
    "MPI_Test",
    "MPI_Testany",
    "MPI_Testall",
    "MPI_Testsome",
    "MPI_Comm_dup",
    "MPI_Comm_split",
    "MPI_Comm_create",
    "MPI_Comm_free",
    "open",
    "close",
    "read",
    "write",
    "iread",
    "iwrite",
    "iteration",
    "create",
    "stat",
    "unlink",
    "sync",
    "mkdir",
    "rmdir",
    "MPI_Barrier",
    "MPI_Bcast",
    "MPI_Allreduce",
    "MPI_Reduce",
    "MPI_Gather",
    "MPI_Gatherv",
    "MPI_Scatter",
    "MPI_Scatterv",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
    "MPI_Scan",
    "MPI_Exscan",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Ibarrier",
    "MPI_Ibcast",
    "MPI_Iallreduce",
    "MPI_Ireduce",
    "MPI_Igather",
    "MPI_Igatherv",
    "MPI_Iscatter",
    "MPI_Iscatterv",
    "MPI_Iallgather",
    "MPI_Iallgatherv",
    "MPI_Ireduce_scatter",
    "MPI_Ireduce_scatter_block",
    "MPI_Iscan",
    "MPI_Iexscan",
    "MPI_Ialltoall",
    "MPI_Ialltoallv",
    "MPI_Put",
    "MPI_Get",
    "MPI_Accumulate",
    "MPI_Get_accumulate",
    "MPI_Win_flush",
    "MPI_Win_fence",
    "MPI_Win_lock",
    "MPI_Win_lock (shared)",
    "MPI_Win_unlock",
    "MPI_Win_post",
    "MPI_Win_start",
    "MPI_Win_complete",
    "MPI_Win_wait",
    "MPI_Rput",
    "MPI_Rget",
    "MPI_Raccumulate",
    "MPI_Rget_accumulate",
];
const _: () = assert!(CALLS.len() == ONE_SIDED as usize + OneSided::KINDS);

impl CallKind {
    /// The kind of call of `kind`.
    pub(crate) const fn of(kind: &OpKind) -> CallKind {
        CallKind(match kind {
            OpKind::Compute { .. } => 0,
            OpKind::Send { .. } => 1,
            OpKind::Recv { .. } => 2,
            OpKind::Isend { .. } => 3,
            OpKind::Irecv { .. } => 4,
            OpKind::Ssend { .. } => 5,
            OpKind::Issend { .. } => 6,
            OpKind::Sendrecv { .. } => 7,
            OpKind::Probe { .. } => 8,
            OpKind::Iprobe { .. } => 9,
            OpKind::SendInit { .. } => 10,
            OpKind::RecvInit { .. } => 11,
            OpKind::Start { .. } => 12,
            OpKind::StartAll { .. } => 13,
            OpKind::RequestFree { .. } => 14,
            OpKind::Wait { .. } => 15,
            OpKind::WaitAll { .. } => 16,
            OpKind::WaitAny { .. } => 17,
            OpKind::WaitSome { .. } => 18,
            OpKind::Test { .. } => 19,
            OpKind::TestAny { .. } => 20,
            OpKind::TestAll { .. } => 21,
            OpKind::TestSome { .. } => 22,
            OpKind::CommDup { .. } => 23,
            OpKind::CommSplit { .. } => 24,
            OpKind::CommCreate { .. } => 25,
            OpKind::CommFree { .. } => 26,
            OpKind::Open { .. } => 27,
            OpKind::Close { .. } => 28,
            OpKind::Read { .. } => 29,
            OpKind::Write { .. } => 30,
            OpKind::Iread { .. } => 31,
            OpKind::Iwrite { .. } => 32,
            OpKind::Mark { .. } | OpKind::Report { .. } => 33,
            OpKind::Elapsed(_) => 0,
            OpKind::Metadata { call, .. } => match call {
                FileCall::Open => 27,
                FileCall::Close => 28,
                FileCall::Create => 34,
                FileCall::Stat => 35,
                FileCall::Unlink => 36,
                FileCall::Sync => 37,
                FileCall::Mkdir => 38,
                FileCall::Rmdir => 39,
            },
            OpKind::Collective(collective) => COLLECTIVES + collective.kind() as u8,
            OpKind::Icollective { collective, .. } => NON_BLOCKING + collective.kind() as u8,
            OpKind::OneSided(call) => ONE_SIDED + call.index() as u8,
        })
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        CALLS[self.0 as usize]
    }
}

/// The category of a call's time in the metrics of its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Charge {
    /// Computation, on any stream.
    Compute,
    /// MPI calls of stream 0.
    Mpi,
    /// I/O calls of any stream.
    Io,
    /// MPI calls of other streams, and calls that take no time.
    Nothing,
}

impl Charge {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Charge::Compute => "compute",
            Charge::Mpi => "mpi",
            Charge::Io => "io",
            Charge::Nothing => "other",
        }
    }
}

/// The category of the time of operation `op`; the request that completed last may have been for I/O.
#[inline]
pub(crate) fn charge(op: &Op, for_io: bool) -> Charge {
    match op.kind {
        OpKind::Compute { .. } => Charge::Compute,
        // `Elapsed` is charged at its begin.
        OpKind::Mark { .. } | OpKind::Report { .. } | OpKind::Elapsed(_) => Charge::Nothing,
        OpKind::Open { .. }
        | OpKind::Close { .. }
        | OpKind::Metadata { .. }
        | OpKind::Read { .. }
        | OpKind::Write { .. }
        | OpKind::Iread { .. }
        | OpKind::Iwrite { .. } => Charge::Io,
        OpKind::Wait { .. } | OpKind::WaitAll { .. } | OpKind::WaitAny { .. } | OpKind::WaitSome { .. } if for_io => {
            Charge::Io
        }
        _ if op.stream == 0 => Charge::Mpi,
        _ => Charge::Nothing,
    }
}

/// The arguments of a call that a timeline shows.
pub(super) struct Arguments {
    pub(super) kind: CallKind,
    pub(super) peer: u32,
    pub(super) request: u32,
    pub(super) count: u32,
    pub(super) bytes: u64,
    pub(super) number: u64,
}

/// The arguments of a call of `rank` with `kind`.
pub(super) fn describe(layout: &Layout, rank: u32, kind: &OpKind) -> Arguments {
    let nothing = Arguments {
        kind: CallKind::of(kind),
        peer: NIL,
        request: NIL,
        count: 0,
        bytes: 0,
        number: 0,
    };
    let peer = |member: u32, comm: Comm| match member {
        PROC_NULL => NIL,
        _ => layout.rank_of(rank, comm, member).unwrap_or(NIL),
    };
    let source = |from: Source, comm: Comm| match from {
        Source::Rank(member) => peer(member, comm),
        Source::Any => NIL,
    };
    let one = |request: Request| (request.0, u32::from(request != Request::DETACHED));
    match *kind {
        OpKind::Send { to, bytes, comm, .. } | OpKind::Ssend { to, bytes, comm, .. } => Arguments {
            peer: peer(to, comm),
            bytes,
            ..nothing
        },
        OpKind::Isend {
            to,
            bytes,
            comm,
            request,
            ..
        }
        | OpKind::Issend {
            to,
            bytes,
            comm,
            request,
            ..
        }
        | OpKind::SendInit {
            to,
            bytes,
            comm,
            request,
            ..
        } => {
            let (request, count) = one(request);
            Arguments {
                peer: peer(to, comm),
                bytes,
                request,
                count,
                ..nothing
            }
        }
        OpKind::Recv { from, bytes, comm, .. } => Arguments {
            peer: source(from, comm),
            bytes,
            ..nothing
        },
        OpKind::Irecv {
            from,
            bytes,
            comm,
            request,
            ..
        }
        | OpKind::RecvInit {
            from,
            bytes,
            comm,
            request,
            ..
        } => {
            let (request, count) = one(request);
            Arguments {
                peer: source(from, comm),
                bytes,
                request,
                count,
                ..nothing
            }
        }
        OpKind::Sendrecv {
            to, send_bytes, comm, ..
        } => Arguments {
            peer: peer(to, comm),
            bytes: send_bytes,
            ..nothing
        },
        OpKind::Probe { from, comm, .. } | OpKind::Iprobe { from, comm, .. } => Arguments {
            peer: source(from, comm),
            ..nothing
        },
        OpKind::Start { request }
        | OpKind::RequestFree { request }
        | OpKind::Wait { request }
        | OpKind::Test { request } => {
            let (request, count) = one(request);
            Arguments {
                request,
                count,
                ..nothing
            }
        }
        OpKind::StartAll { first, count }
        | OpKind::WaitAll { first, count }
        | OpKind::WaitAny { first, count }
        | OpKind::WaitSome { first, count }
        | OpKind::TestAny { first, count }
        | OpKind::TestAll { first, count }
        | OpKind::TestSome { first, count } => Arguments {
            request: first.0,
            count,
            ..nothing
        },
        OpKind::Collective(collective) => {
            let (root, bytes) = size_of(&collective);
            Arguments {
                peer: root.map_or(NIL, |root| peer(root, collective.comm())),
                bytes,
                ..nothing
            }
        }
        OpKind::Icollective { collective, request } => {
            let ((root, bytes), (request, count)) = (size_of(&collective), one(request));
            Arguments {
                peer: root.map_or(NIL, |root| peer(root, collective.comm())),
                bytes,
                request,
                count,
                ..nothing
            }
        }
        OpKind::OneSided(call) => {
            let (bytes, (request, count)) = match call {
                OneSided::Access { bytes, request, .. } => (bytes, one(request)),
                _ => (0, (nothing.request, nothing.count)),
            };
            Arguments {
                peer: call.target().map_or(NIL, |target| source(target, call.comm())),
                bytes,
                request,
                count,
                ..nothing
            }
        }
        OpKind::Open { file } | OpKind::Close { file } | OpKind::Metadata { file, .. } => Arguments {
            number: file,
            ..nothing
        },
        OpKind::Read { file, bytes, .. } | OpKind::Write { file, bytes, .. } => Arguments {
            number: file,
            bytes,
            ..nothing
        },
        OpKind::Iread {
            file, bytes, request, ..
        }
        | OpKind::Iwrite {
            file, bytes, request, ..
        } => {
            let (request, count) = one(request);
            Arguments {
                number: file,
                bytes,
                request,
                count,
                ..nothing
            }
        }
        OpKind::Mark { iteration } => Arguments {
            number: u64::from(iteration),
            ..nothing
        },
        OpKind::Compute { .. }
        | OpKind::Elapsed(_)
        | OpKind::CommDup { .. }
        | OpKind::CommSplit { .. }
        | OpKind::CommCreate { .. }
        | OpKind::CommFree { .. }
        | OpKind::Report { .. } => nothing,
    }
}

/// The root of a collective, as a member of its communicator, and its size; zero if the size differs by rank.
fn size_of(collective: &Collective) -> (Option<u32>, u64) {
    match *collective {
        Collective::Broadcast { root, bytes, .. }
        | Collective::Reduce { root, bytes, .. }
        | Collective::Gather { root, bytes, .. }
        | Collective::Scatter { root, bytes, .. } => (Some(root), bytes),
        Collective::Gatherv { root, .. } | Collective::Scatterv { root, .. } => (Some(root), 0),
        Collective::Allreduce { bytes, .. }
        | Collective::Allgather { bytes, .. }
        | Collective::ReduceScatterBlock { bytes, .. }
        | Collective::Scan { bytes, .. }
        | Collective::Exscan { bytes, .. }
        | Collective::Alltoall { bytes, .. } => (None, bytes),
        Collective::Barrier { .. }
        | Collective::Allgatherv { .. }
        | Collective::ReduceScatter { .. }
        | Collective::Alltoallv { .. } => (None, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_workload::collective::Kind;

    #[test]
    fn every_collective_has_the_name_of_its_kind_twice() {
        let plain = |name: &str| name.to_lowercase().replace(['_', '-'], "");
        for kind in Kind::ALL {
            let expected = plain(kind.name()).replace("broadcast", "bcast");
            let at = kind as usize;
            assert_eq!(plain(CALLS[usize::from(COLLECTIVES) + at]), format!("mpi{expected}"));
            assert_eq!(plain(CALLS[usize::from(NON_BLOCKING) + at]), format!("mpii{expected}"));
        }
    }

    #[test]
    fn names_are_different() {
        let mut names = CALLS.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CALLS.len());
    }
}
