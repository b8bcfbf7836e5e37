//! Traces of MPI programs in the DUMPI format of the SST project.
//!
//! ```text
//!  TraceFiles ── files of the ranks
//!      │
//!      ├─> RankFile ── Record, Record, ... ──> Statistics     what is in it
//!      │
//!      ├─> survey (first pass) ──> communicators, sources of receives, files ──> knowledge
//!      │                      └──> places to start from
//!      ├─> Trace ── next(rank, cursor) ──> translate some records ──> Op
//!      └─> lint, repeat
//! ```
//!
//! # Reading
//! `table` says what is stored of each call, `record` reads one by it, through a buffer of fixed size (`input`). The
//! input is hostile: no length is believed before so many bytes are known to be left, nothing recurses on
//! what was read, and every error names file and byte.
//!
//! # Understanding
//! A rank's handles are numbers of its own, which come back: `translate` follows what they stand for from record to
//! record. What only other ranks, or later records, know is learned when a trace is opened: who is in a
//! communicator (`communicators`), which message a receive took and what was cancelled (fates), where a shared file
//! pointer was (`shared_pointer`). Both passes run the same code, the first without knowledge and without operations.
//!
//! # Replaying
//! [`Trace`] is a [`Program`](odonata_workload::Program): a cursor is the number of a part of a file and of an operation in it.
//! Parts are translated again whenever they are needed, from the state of the rank at their start.

mod communicators;
mod error;
mod format;
mod groups;
mod input;
mod knowledge;
mod label;
mod lint;
mod rank_file;
mod record;
mod repeat;
mod set;
mod shared_pointer;
mod statistics;
mod survey;
mod table;
#[cfg(test)]
mod tests;
mod trace;
mod trailer;
mod translate;
mod types;

pub use error::TraceError;
pub use format::Dumpi;
pub use lint::lint;
pub use rank_file::{Ending, Incomplete, RankFile, Records};
pub use record::{Arg, Record, Span, Status, call_name};
pub use repeat::repeat;
pub use set::TraceFiles;
pub use statistics::{
    CallCounts, CollectiveStatistics, FileStatistics, RankStatistics, ReceiveStatistics, SendStatistics,
    StartStatistics, Statistics,
};
pub use trace::Trace;
pub use trailer::{Footer, Trailer, Version};
pub use translate::Oddity;
