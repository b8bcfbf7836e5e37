//! Collectives: their operations and the sizes of each member.

use odonata_workload::collective::{Arguments, Kind};
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
    let at_root = record.int(Arg::Rank) == record.int(Arg::Root);
    let bytes = || sizes.bytes(record, Arg::Count, Arg::Type);
    let sent = || sizes.bytes(record, Arg::Scount, Arg::Stype);
    let received = || sizes.bytes(record, Arg::Rcount, Arg::Rtype);
    let (kind, bytes) = match record.label {
        l::BARRIER => (Kind::Barrier, 0),
        l::BCAST => (Kind::Broadcast, bytes()),
        l::REDUCE => (Kind::Reduce, bytes()),
        l::ALLREDUCE => (Kind::Allreduce, bytes()),
        l::SCAN => (Kind::Scan, bytes()),
        l::EXSCAN => (Kind::Exscan, bytes()),
        l::GATHER => (Kind::Gather, if at_root { received() } else { sent() }),
        l::SCATTER => (Kind::Scatter, if at_root { sent() } else { received() }),
        l::ALLGATHER => (Kind::Allgather, received()),
        l::ALLTOALL => (Kind::Alltoall, received()),
        l::GATHERV => (Kind::Gatherv, 0),
        l::SCATTERV => (Kind::Scatterv, 0),
        l::ALLGATHERV => (Kind::Allgatherv, 0),
        l::REDUCE_SCATTER => (Kind::ReduceScatter, 0),
        l::ALLTOALLV | l::ALLTOALLW => (Kind::Alltoallv, 0),
        _ => return None,
    };
    let root = u32::try_from(record.int(Arg::Root)).unwrap_or(u32::MAX);
    let arguments = Arguments {
        root,
        bytes,
        count: u64::from(record.int(Arg::Count).max(0) as u32),
        counts: Counts(list),
    };
    let call = kind.call(Comm(of.number), arguments);
    (root < of.peers || call.root().is_none()).then_some(call)
}

/// Whether a creating call returned a communicator in `handle`: neither error nor null.
pub(crate) fn makes(handle: i32) -> bool {
    !(0..=3).contains(&handle)
}
