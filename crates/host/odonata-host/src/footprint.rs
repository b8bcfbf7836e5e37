//! Memory estimates for the hosts: the state before the first event, and the state that grows during the run.

use crate::RankMetrics;
use crate::layout::RankPlace;
use crate::metrics::{IoRecord, IterationRecord, MessageRecord, ReportRecord};
use crate::mpi::calls::Call;
use crate::mpi::matching::Queues;
use crate::mpi::request::RequestCell;
use crate::mpi::sequence;
use crate::observe::exposed::ExposedTime;
use crate::rank::Rank;
use crate::rank::activity::Activity;
use crate::source::Source;
use crate::timeline::{AccessRecord, CallRecord, StepRecord};
use odonata_engine::{List, Lp, Stream};

pub use crate::rank::memory::words;

/// Bytes of state per rank in a job of `ranks` ranks, for a synthetic source or a program with `words` of memory.
pub fn of_a_rank(ranks: u32, source: bool, words: u32) -> u64 {
    let state = size_of::<Rank>() + size_of::<Queues>() + 2 * size_of::<List>() + size_of::<Stream>();
    // The entries of the rank in the placement, in the plan, and among the ranks that start together.
    let place = 2 * size_of::<u32>() + size_of::<RankPlace>() + size_of::<(Lp, u32)>() + size_of::<u64>();
    let indices = 2 * size_of::<u32>();
    let own = match source {
        true => size_of::<Source>(),
        false => sequence::chains(ranks) as usize * size_of::<u32>() + words as usize * size_of::<u64>(),
    };
    (state + place + indices + own + size_of::<RankMetrics>()) as u64
}

/// Bytes per rank that is in a call.
pub const CALL: u64 = (size_of::<Activity>() + size_of::<Call>()) as u64;
/// Bytes for one message to a rank and one from it in flight, whose calls complete one after the other: a request and
/// an event.
pub const EXCHANGE: u64 = (size_of::<RequestCell>() + EVENT) as u64;
/// Bytes per pending event.
const EVENT: usize = 32;
/// Bytes per peer with which a rank exchanges messages.
pub const PEER: u64 = size_of::<sequence::PairCounters>() as u64;
/// Bytes per recorded message.
pub const MESSAGE_RECORD: u64 = size_of::<MessageRecord>() as u64;
/// Bytes per recorded read or write.
pub const IO_RECORD: u64 = size_of::<IoRecord>() as u64;
/// Bytes per call, message step and file access recorded for a timeline.
pub const TIMELINE_RECORDS: [u64; 3] = [
    size_of::<CallRecord>() as u64,
    size_of::<StepRecord>() as u64,
    size_of::<AccessRecord>() as u64,
];
/// Bytes per recorded iteration or reported value.
pub const RECORD: u64 = {
    let (iteration, report) = (size_of::<IterationRecord>(), size_of::<ReportRecord>());
    (if iteration > report { iteration } else { report }) as u64
};
/// Bytes of metrics per rank.
pub const METRICS: u64 = size_of::<(u32, RankMetrics)>() as u64;
/// Bytes of exposed time per rank: all ranks record it if any program states its parallelism.
pub const EXPOSED: u64 = size_of::<(u32, ExposedTime)>() as u64;
