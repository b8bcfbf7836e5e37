//! Traces of MPI programs in the DUMPI format of the SST project.

mod communicators;
mod error;
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
mod traffic;
mod trailer;
mod translate;
mod types;

pub use error::TraceError;
pub use lint::{Finding, Severity, lint};
pub use rank_file::{Ending, RankFile, Records};
pub use record::{Arg, Record, Span, Status, call_name};
pub use repeat::repeat;
pub use set::TraceFiles;
pub use statistics::{
    CallCounts, CollectiveStatistics, FileStatistics, RankStatistics, ReceiveStatistics, SendStatistics,
    StartStatistics, Statistics,
};
pub use trace::Trace;
pub use traffic::{Flow, traffic_matrix};
pub use trailer::{Footer, Trailer, Version};
pub use translate::Oddity;
