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
//! `table` lists the stored arguments of each call, `record` reads one record through a buffer of fixed size (`input`).
//! The input is hostile: lengths are checked against the remaining bytes, nothing recurses on input data, and every
//! error names file and byte.
//!
//! # Understanding
//! A rank's handles are local numbers that are reused: `translate` tracks their meaning from record to record. Facts
//! that depend on other ranks or later records are learned when a trace is opened: communicator members
//! (`communicators`), the message of each receive and cancelled requests (fates), positions of shared file pointers
//! (`shared_pointer`). Both passes run the same code; the first has no knowledge and yields no operations.
//!
//! # Replaying
//! [`Trace`] is a [`Program`](odonata_workload::Program): a cursor is the number of a file part and of an operation in
//! it. Parts are translated again when needed, from the rank's state at their start.

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
