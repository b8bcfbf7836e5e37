//! Collectives: their operations and the sizes of each member.

use odonata_workload::{Collective, Comm, Counts};

use super::Blocks;
use crate::knowledge::CommOf;
use crate::label as l;
use crate::record::{Arg, Record};
use crate::types::Sizes;

/// The size lists of a v-variant; `None` for other calls. Only arguments significant at this rank are used, because
/// the others may be arbitrary (`MPI_IN_PLACE`).
pub(super) fn blocks(sizes: Sizes, record: &Record, me: u32) -> Option<Blocks> {
    let root = record.int(Arg::Rank) == record.int(Arg::Root);
    Some(match record.label {
        l::GATHERV if root => Blocks::ByGiver(sizes.of_list(record.list(Arg::Rcounts), record.int(Arg::Rtype))),
        l::GATHERV => Blocks::Own(sizes.bytes(record, Arg::Scount, Arg::Stype)),
        l::SCATTERV if root => Blocks::ByTaker(sizes.of_list(record.list(Arg::Scounts), record.int(Arg::Stype))),
        l::SCATTERV => Blocks::Own(sizes.bytes(record, Arg::Rcount, Arg::Rtype)),
        l::ALLGATHERV => Blocks::ByGiver(sizes.of_list(record.list(Arg::Rcounts), record.int(Arg::Rtype))),
        l::REDUCE_SCATTER => Blocks::ByTaker(sizes.of_list(record.list(Arg::Rcounts), record.int(Arg::Type))),
        l::ALLTOALLV => Blocks::Both {
            me,
            give: sizes.of_list(record.list(Arg::Counts), record.int(Arg::Type)),
            get: sizes.of_list(record.list(Arg::Rcounts), record.int(Arg::Rtype)),
        },
        l::ALLTOALLW => Blocks::Both {
            me,
            give: sizes.of_each(record.list(Arg::Counts), record.list(Arg::Types)),
            get: sizes.of_each(record.list(Arg::Rcounts), record.list(Arg::Rtypes)),
        },
        _ => return None,
    })
}

/// The call of `record`; `None` if its root is not in the communicator.
pub(super) fn call(sizes: Sizes, record: &Record, of: CommOf, list: u32) -> Option<Collective> {
    let (comm, counts) = (Comm(of.number), Counts(list));
    let count = u64::from(record.int(Arg::Count).max(0) as u32);
    let bytes = sizes.bytes(record, Arg::Count, Arg::Type);
    let root = || {
        u32::try_from(record.int(Arg::Root))
            .ok()
            .filter(|&root| root < of.peers)
    };
    let at_root = record.int(Arg::Rank) == record.int(Arg::Root);
    let sent = || sizes.bytes(record, Arg::Scount, Arg::Stype);
    let received = || sizes.bytes(record, Arg::Rcount, Arg::Rtype);
    Some(match record.label {
        l::BARRIER => Collective::Barrier { comm },
        l::BCAST => Collective::Broadcast {
            comm,
            root: root()?,
            bytes,
        },
        l::REDUCE => Collective::Reduce {
            comm,
            root: root()?,
            bytes,
            count,
        },
        l::ALLREDUCE => Collective::Allreduce { comm, bytes, count },
        l::SCAN => Collective::Scan { comm, bytes, count },
        l::EXSCAN => Collective::Exscan { comm, bytes, count },
        l::GATHER => Collective::Gather {
            comm,
            root: root()?,
            bytes: if at_root { received() } else { sent() },
        },
        l::SCATTER => Collective::Scatter {
            comm,
            root: root()?,
            bytes: if at_root { sent() } else { received() },
        },
        l::ALLGATHER => Collective::Allgather {
            comm,
            bytes: received(),
        },
        l::ALLTOALL => Collective::Alltoall {
            comm,
            bytes: received(),
        },
        l::GATHERV => Collective::Gatherv {
            comm,
            root: root()?,
            counts,
        },
        l::SCATTERV => Collective::Scatterv {
            comm,
            root: root()?,
            counts,
        },
        l::ALLGATHERV => Collective::Allgatherv { comm, counts },
        l::REDUCE_SCATTER => Collective::ReduceScatter { comm, counts },
        l::ALLTOALLV | l::ALLTOALLW => Collective::Alltoallv { comm, counts },
        _ => return None,
    })
}

/// Whether a creating call returned a communicator in `handle`: neither error nor null.
pub(crate) fn makes(handle: i32) -> bool {
    !(0..=3).contains(&handle)
}
