//! Traces of MPI programs in the DUMPI format of the SST project.

mod error;
mod translate;
mod trace;
mod survey;
mod shared_pointer;
mod knowledge;
mod groups;
mod communicators;
mod input;
mod label;
mod rank_file;
mod record;
mod set;
mod statistics;
mod table;
mod trailer;
mod types;

pub use error::TraceError;
pub use rank_file::{Ending, RankFile, Records};
pub use record::{Arg, Record, Span, Status, call_name};
pub use set::TraceFiles;
pub use statistics::{
    CallCounts, CollectiveStatistics, FileStatistics, RankStatistics, ReceiveStatistics, SendStatistics, StartStatistics, Statistics,
};
pub use trace::Trace;
pub use translate::Oddity;
pub use trailer::{Footer, Trailer, Version};
