//! The kinds of operations as rows: their names, and the column of each argument, in both directions.

use odonata_workload::{Collective, OpKind};

use super::from_row::{Found, Given};
use super::to_row::Filled;

/// Declares operations by name, each with its arguments and their columns: methods of [`Given`] and [`Filled`]. A
/// column may need an argument before it.
macro_rules! operations {
    ($($text:literal $name:ident { $($argument:ident: $column:ident $(($earlier:ident))?),* })*) => {
        /// Their names.
        pub(super) const NAMES: [&str; [$($text),*].len()] = [$($text),*];

        /// The operation of a row; `None` if its kind is not one of these.
        pub(super) fn take(row: &mut Given<'_>) -> Found<Option<OpKind>> {
            Ok(Some(match row.kind {
                $($text => {
                    $(let $argument = row.$column($($earlier)?)?;)*
                    OpKind::$name { $($argument),* }
                })*
                _ => return Ok(None),
            }))
        }

        /// Fills in the row of an operation, and returns its name; `None` if its kind is not one of these.
        pub(super) fn put(kind: &OpKind, row: &mut Filled) -> Option<&'static str> {
            match *kind {
                $(OpKind::$name { $($argument),* } => {
                    $(row.$column($argument);)*
                    Some($text)
                })*
                OpKind::Collective(_)
                | OpKind::Icollective { .. }
                | OpKind::OneSided(_)
                | OpKind::Metadata { .. }
                | OpKind::Mark { .. }
                | OpKind::Elapsed(_)
                | OpKind::Report { .. } => None,
            }
        }
    };
}

operations! {
    "compute" Compute { duration: duration }
    "send" Send { to: to, tag: tag, bytes: bytes, comm: comm }
    "recv" Recv { from: from, tag: any_tag, bytes: bytes, comm: comm }
    "isend" Isend { to: to, tag: tag, bytes: bytes, comm: comm, request: request }
    "irecv" Irecv { from: from, tag: any_tag, bytes: bytes, comm: comm, request: request }
    "ssend" Ssend { to: to, tag: tag, bytes: bytes, comm: comm }
    "issend" Issend { to: to, tag: tag, bytes: bytes, comm: comm, request: request }
    "sendrecv" Sendrecv {
        from: recv_peer, recv_tag: recv_tag, to: to, send_tag: tag, send_bytes: bytes, recv_bytes: recv_bytes, comm: comm
    }
    "probe" Probe { from: from, tag: any_tag, comm: comm }
    "iprobe" Iprobe { from: from, tag: any_tag, comm: comm }
    "send_init" SendInit { to: to, tag: tag, bytes: bytes, comm: comm, request: waited }
    "recv_init" RecvInit { from: from, tag: any_tag, bytes: bytes, comm: comm, request: waited }
    "start" Start { request: waited }
    "start_all" StartAll { first: waited, count: requests(first) }
    "request_free" RequestFree { request: waited }
    "wait" Wait { request: waited }
    "wait_all" WaitAll { first: waited, count: requests(first) }
    "wait_any" WaitAny { first: waited, count: requests(first) }
    "wait_some" WaitSome { first: waited, count: requests(first) }
    "test" Test { request: waited }
    "test_any" TestAny { first: waited, count: requests(first) }
    "test_all" TestAll { first: waited, count: requests(first) }
    "test_some" TestSome { first: waited, count: requests(first) }
    "comm_dup" CommDup { comm: comm, new: new_comm }
    "comm_split" CommSplit { comm: comm, new: new_comm }
    "comm_create" CommCreate { comm: comm, new: new_comm }
    "comm_free" CommFree { comm: freed_comm }
    "open" Open { file: file }
    "close" Close { file: file }
    "read" Read { file: file, offset: offset, bytes: bytes }
    "write" Write { file: file, offset: offset, bytes: bytes }
    "iread" Iread { file: file, offset: offset, bytes: bytes, request: request }
    "iwrite" Iwrite { file: file, offset: offset, bytes: bytes, request: request }
}

/// Declares collectives by their names when blocking and otherwise, in the order of
/// [`Kind`](odonata_workload::collective::Kind).
macro_rules! collectives {
    ($($text:literal $other:literal $name:ident { $($argument:ident: $column:ident),* })*) => {
        /// Names of collectives, by kind; blocking, then nonblocking.
        pub(super) const COLLECTIVES: [(&str, &str); [$($text),*].len()] = [$(($text, $other)),*];

        /// The collective of a row; `None` if its kind is another.
        pub(super) fn take_collective(row: &mut Given<'_>) -> Found<Option<Collective>> {
            Ok(Some(match row.kind {
                $($text | $other => {
                    $(let $argument = row.$column()?;)*
                    Collective::$name { $($argument),* }
                })*
                _ => return Ok(None),
            }))
        }

        /// Fills in the row of a collective.
        pub(super) fn put_collective(collective: &Collective, row: &mut Filled) {
            match *collective {
                $(Collective::$name { $($argument),* } => {
                    $(row.$column($argument);)*
                })*
            }
        }
    };
}

collectives! {
    "barrier" "ibarrier" Barrier { comm: comm }
    "broadcast" "ibroadcast" Broadcast { comm: comm, root: root, bytes: bytes }
    "allreduce" "iallreduce" Allreduce { comm: comm, bytes: bytes, count: elements }
    "reduce" "ireduce" Reduce { comm: comm, root: root, bytes: bytes, count: elements }
    "gather" "igather" Gather { comm: comm, root: root, bytes: bytes }
    "gatherv" "igatherv" Gatherv { comm: comm, root: root, counts: counts }
    "scatter" "iscatter" Scatter { comm: comm, root: root, bytes: bytes }
    "scatterv" "iscatterv" Scatterv { comm: comm, root: root, counts: counts }
    "allgather" "iallgather" Allgather { comm: comm, bytes: bytes }
    "allgatherv" "iallgatherv" Allgatherv { comm: comm, counts: counts }
    "reduce_scatter" "ireduce_scatter" ReduceScatter { comm: comm, counts: counts }
    "reduce_scatter_block" "ireduce_scatter_block" ReduceScatterBlock { comm: comm, bytes: bytes, count: elements }
    "scan" "iscan" Scan { comm: comm, bytes: bytes, count: elements }
    "exscan" "iexscan" Exscan { comm: comm, bytes: bytes, count: elements }
    "alltoall" "ialltoall" Alltoall { comm: comm, bytes: bytes }
    "alltoallv" "ialltoallv" Alltoallv { comm: comm, counts: counts }
}
