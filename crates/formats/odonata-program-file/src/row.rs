//! One operation as a row: its kind as a word, its arguments as numbers in named columns.

mod from_row;
mod to_row;

pub use from_row::from_row;
pub use to_row::to_row;

/// A numeric column that applies to some kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Field {
    /// The other rank of a message.
    Peer,
    /// Tag of a message.
    Tag,
    /// Size in bytes.
    Bytes,
    /// Communicator.
    Comm,
    /// Request.
    Request,
    /// Number of requests, or of elements.
    Count,
    /// Root of a collective.
    Root,
    /// List of sizes.
    Counts,
    /// The new communicator, or the group of an epoch.
    NewComm,
    /// File.
    File,
    /// Offset in the file.
    Offset,
    /// Time of computation.
    DurationPs,
    /// Source of the receive of a `sendrecv`.
    RecvPeer,
    /// Its tag.
    RecvTag,
    /// Size of the receive buffer.
    RecvBytes,
    /// The completed iteration.
    Iteration,
    /// Directory of a file.
    Directory,
}

impl Field {
    /// All fields, in order of their numbers.
    pub const ALL: [Field; 17] = [
        Field::Peer,
        Field::Tag,
        Field::Bytes,
        Field::Comm,
        Field::Request,
        Field::Count,
        Field::Root,
        Field::Counts,
        Field::NewComm,
        Field::File,
        Field::Offset,
        Field::DurationPs,
        Field::RecvPeer,
        Field::RecvTag,
        Field::RecvBytes,
        Field::Iteration,
        Field::Directory,
    ];

    /// Name of the column.
    pub const fn name(self) -> &'static str {
        match self {
            Field::Peer => "peer",
            Field::Tag => "tag",
            Field::Bytes => "bytes",
            Field::Comm => "comm",
            Field::Request => "request",
            Field::Count => "count",
            Field::Root => "root",
            Field::Counts => "counts",
            Field::NewComm => "new_comm",
            Field::File => "file",
            Field::Offset => "offset",
            Field::DurationPs => "duration_ps",
            Field::RecvPeer => "recv_peer",
            Field::RecvTag => "recv_tag",
            Field::RecvBytes => "recv_bytes",
            Field::Iteration => "iteration",
            Field::Directory => "directory",
        }
    }

    /// Its Parquet type: signed if -1 has a meaning.
    pub(crate) const fn parquet_type(self) -> &'static str {
        match self {
            Field::Peer | Field::Tag | Field::Request | Field::RecvPeer | Field::RecvTag => "int64",
            Field::Bytes | Field::Count | Field::File | Field::Offset | Field::DurationPs | Field::RecvBytes => {
                "uint64"
            }
            Field::Comm | Field::Root | Field::Counts | Field::NewComm | Field::Iteration | Field::Directory => {
                "uint32"
            }
        }
    }
}

/// The numbers of a row, by [`Field`]; `None` if a column does not apply.
pub type Numbers = [Option<i128>; Field::ALL.len()];

/// In `peer`: any source.
const ANY: i128 = -1;
/// In `peer`: no rank.
const NO_RANK: i128 = -2;
/// In `request`: a detached request, without a wait.
const DETACHED: i128 = -1;

/// The largest communicator number: repetition uses the upper bits.
pub const MOST_COMM: u32 = (1 << 23) - 1;
/// The largest number of a list of sizes.
pub const MOST_COUNTS: u32 = (1 << 24) - 1;

/// Names of collectives, by [`Kind`](odonata_workload::collective::Kind); blocking, then nonblocking.
const COLLECTIVES: [(&str, &str); 16] = [
    ("barrier", "ibarrier"),
    ("broadcast", "ibroadcast"),
    ("allreduce", "iallreduce"),
    ("reduce", "ireduce"),
    ("gather", "igather"),
    ("gatherv", "igatherv"),
    ("scatter", "iscatter"),
    ("scatterv", "iscatterv"),
    ("allgather", "iallgather"),
    ("allgatherv", "iallgatherv"),
    ("reduce_scatter", "ireduce_scatter"),
    ("reduce_scatter_block", "ireduce_scatter_block"),
    ("scan", "iscan"),
    ("exscan", "iexscan"),
    ("alltoall", "ialltoall"),
    ("alltoallv", "ialltoallv"),
];

/// Names of calls of one-sided communication, by [`OneSided::index`](odonata_workload::OneSided::index).
const ONE_SIDED: [&str; odonata_workload::OneSided::KINDS] = [
    "put",
    "get",
    "accumulate",
    "get_accumulate",
    "win_flush",
    "win_fence",
    "win_lock",
    "win_lock_shared",
    "win_unlock",
    "win_post",
    "win_start",
    "win_complete",
    "win_wait",
    "rput",
    "rget",
    "raccumulate",
    "rget_accumulate",
];

/// Names of the other kinds.
const OTHERS: [&str; 39] = [
    "compute",
    "send",
    "recv",
    "isend",
    "irecv",
    "ssend",
    "issend",
    "sendrecv",
    "probe",
    "iprobe",
    "send_init",
    "recv_init",
    "start",
    "start_all",
    "request_free",
    "wait",
    "wait_all",
    "wait_any",
    "wait_some",
    "test",
    "test_any",
    "test_all",
    "test_some",
    "comm_dup",
    "comm_split",
    "comm_create",
    "comm_free",
    "open",
    "close",
    "read",
    "write",
    "iread",
    "iwrite",
    "create",
    "stat",
    "unlink",
    "sync",
    "mkdir",
    "rmdir",
];

/// All names of kinds, in documentation order.
pub fn kind_names() -> impl Iterator<Item = &'static str> {
    let collectives = COLLECTIVES.iter().flat_map(|&(blocking, other)| [blocking, other]);
    OTHERS.into_iter().chain(ONE_SIDED).chain(collectives).chain(["mark"])
}

/// The static name equal to `name`, if there is such a kind.
pub fn known_kind(name: &str) -> Option<&'static str> {
    kind_names().find(|&known| known == name)
}

/// Whether the kind is a collective, blocking or not.
pub fn is_collective(name: &str) -> bool {
    COLLECTIVES
        .iter()
        .any(|&(blocking, other)| name == blocking || name == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers for an operation of `kind`: required columns get `value`, others none.
    fn numbers_for(kind: &str, value: i128) -> Numbers {
        let mut numbers: Numbers = [None; Field::ALL.len()];
        for _ in 0..2 * Field::ALL.len() {
            let Err(fault) = from_row(kind, &numbers) else {
                return numbers;
            };
            let field = Field::ALL.into_iter().find(|field| field.name() == fault.column);
            let number = &mut numbers[field.expect("a fault names a column") as usize];
            *number = if number.is_none() { Some(value) } else { None };
        }
        panic!("no operation of kind {kind:?}");
    }

    /// to_row(from_row(kind, numbers)) = (kind, numbers), for every documented kind.
    #[test]
    fn every_kind_is_a_row_and_back() {
        for kind in kind_names() {
            for value in [0, 1, 3] {
                let numbers = numbers_for(kind, value);
                let op = from_row(kind, &numbers).unwrap();
                let (name, row) = to_row(&op);
                assert_eq!(name, kind);
                assert_eq!(from_row(name, &row), Ok(op), "{kind}");
                for field in Field::ALL {
                    let (ours, theirs) = (numbers[field as usize], row[field as usize]);
                    assert!(
                        ours.is_none() || ours == theirs,
                        "{kind}, {}: {ours:?} {theirs:?}",
                        field.name()
                    );
                }
            }
        }
        assert_eq!(
            kind_names().count(),
            OTHERS.len() + ONE_SIDED.len() + 2 * COLLECTIVES.len() + 1
        );
        assert!(kind_names().all(|kind| known_kind(kind) == Some(kind)));
    }
}
