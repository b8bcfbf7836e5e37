//! One operation as a row: its kind as a word, its arguments as numbers in named columns.

mod from_row;
mod operations;
mod to_row;

pub use from_row::from_row;
pub use to_row::to_row;

use odonata_workload::named;
use operations::{COLLECTIVES, NAMES};

named! {
    /// A numeric column that applies to some kinds of operations.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(usize)]
    pub enum Field {
        /// The other rank of a message.
        Peer = "peer",
        /// Tag of a message.
        Tag = "tag",
        /// Size in bytes.
        Bytes = "bytes",
        /// Communicator.
        Comm = "comm",
        /// Request.
        Request = "request",
        /// Number of requests, or of elements.
        Count = "count",
        /// Root of a collective.
        Root = "root",
        /// List of sizes.
        Counts = "counts",
        /// The new communicator, or the group of an epoch.
        NewComm = "new_comm",
        /// File.
        File = "file",
        /// Offset in the file.
        Offset = "offset",
        /// Time of computation.
        DurationPs = "duration_ps",
        /// Source of the receive of a `sendrecv`.
        RecvPeer = "recv_peer",
        /// Its tag.
        RecvTag = "recv_tag",
        /// Size of the receive buffer.
        RecvBytes = "recv_bytes",
        /// The completed iteration.
        Iteration = "iteration",
        /// Directory of a file.
        Directory = "directory",
    }
}

impl Field {
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

/// Names of calls about files that have no kind of their own.
const METADATA: [&str; 6] = ["create", "stat", "unlink", "sync", "mkdir", "rmdir"];

/// All names of kinds, in documentation order.
pub fn kind_names() -> impl Iterator<Item = &'static str> {
    let collectives = COLLECTIVES.iter().flat_map(|&(blocking, other)| [blocking, other]);
    let plain = NAMES.into_iter().chain(METADATA);
    plain.chain(ONE_SIDED).chain(collectives).chain(["mark"])
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
            NAMES.len() + METADATA.len() + ONE_SIDED.len() + 2 * COLLECTIVES.len() + 1
        );
        assert!(kind_names().all(|kind| known_kind(kind) == Some(kind)));
    }
}
