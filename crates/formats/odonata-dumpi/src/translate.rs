//! Translation of records to operations.
//!
//! The state of a rank follows from its own records: the meaning of handles. The first pass over a trace keeps copies
//! of the state, from which the translation can resume. With [`Knowledge`] the translation yields operations; without
//! it, it yields the news from which knowledge is made.

mod collectives;
mod files;
mod handles;
mod requests;
mod transfers;

pub(super) use collectives::makes;

use std::collections::HashMap;

use odonata_units::Time;

use odonata_workload::OpKind;

use super::knowledge::{CommOf, Fate, Knowledge};
use super::label as l;
use super::record::{Arg, Record};
use super::types::Types;
use files::FileState;
use handles::Handles;

/// Communicators by the rank's order of creation: the first two are predefined.
pub(super) const WORLD: u32 = 0;
/// See [`WORLD`].
pub(super) const SELF: u32 = 1;
/// The first communicator created by a call.
pub(super) const FIRST: u32 = 2;

/// An operation and its stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Planned {
    pub(super) stream: u16,
    pub(super) kind: OpKind,
}

/// Sizes that differ between ranks, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Blocks {
    /// Of each giver.
    ByGiver(Box<[u64]>),
    /// Of each taker.
    ByTaker(Box<[u64]>),
    /// The size of this rank.
    Own(u64),
    /// What this member gives to each member, and gets from each.
    Both { me: u32, give: Box<[u64]>, get: Box<[u64]> },
}

impl Blocks {
    /// Bytes that member `from` gives to member `to`.
    pub(super) fn bytes(&self, from: u32, to: u32) -> u64 {
        let at = |blocks: &[u64], member: u32| blocks.get(member as usize).copied().unwrap_or(0);
        match self {
            Blocks::ByGiver(blocks) => at(blocks, from),
            Blocks::ByTaker(blocks) => at(blocks, to),
            Blocks::Own(bytes) => *bytes,
            Blocks::Both { me, give, .. } if from == *me => at(give, to),
            Blocks::Both { get, .. } => at(get, from),
        }
    }
}

/// A shared-pointer access, or a seek of the shared pointer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SharedAccess {
    pub(super) file: u32,
    pub(super) start: i64,
    /// Distance, or target from the start of the view.
    pub(super) bytes: u64,
    pub(super) seek: bool,
    /// Whether all ranks of the file take part, in rank order.
    pub(super) ordered: bool,
    /// Start of the view.
    pub(super) displacement: u64,
}

/// The results of the first pass.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum News {
    /// Of a transfer.
    Fate(u32, Fate),
    /// A file was opened.
    Opened(String),
    /// See there.
    Shared(SharedAccess),
    /// A deviation of the replay.
    Odd(Oddity),
}

macro_rules! oddities {
    ($($name:ident $text:literal),* $(,)?) => {
        /// Parts of a trace that are not replayed as recorded.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Oddity { $(#[doc = $text] $name),* }

        impl Oddity {
            /// For people.
            pub const fn describe(self) -> &'static str {
                match self { $(Oddity::$name => $text),* }
            }
        }
    };
}

oddities! {
    UnknownRequest "waits for requests without a recorded call (MPI-3 and later calls are not recorded): taken as \
     complete",
    UnknownSource "wildcard receives without a recorded status: each takes the first message to arrive",
    UnknownCommunicator "calls on communicators that cannot be reconstructed: left out",
    UnknownPeer "messages to or from ranks that the communicator does not have: left out",
    UnknownSize "calls with datatypes of unknown size: taken as empty",
    UnknownFile "accesses to files whose opening was not recorded: left out",
    OneSided "one-sided transfers: left out (fences are barriers)",
    Cancelled "cancelled requests: left out",
    Intercommunicator "collectives on intercommunicators: replayed as barriers",
    View "file views that are not contiguous: taken as contiguous from their start on",
    SeekEnd "seeks from the end of a file: from the largest offset that the same rank wrote",
    Synchronous "persistent synchronous sends: replayed as standard sends",
    Polled "unsuccessful polls: left out, with the time between them",
}

/// A thread of a rank.
#[derive(Clone, Copy, Debug)]
struct Thread {
    number: u16,
    /// Return of its last call.
    stop: i64,
    /// Whether that call was an unsuccessful poll.
    polling: bool,
    /// Computation time not yet replayed, in ns; zero at the start of a chunk.
    debt: u64,
}

/// The state of a rank at a position of its records.
#[derive(Clone, Debug)]
pub(super) struct RankState {
    threads: Vec<Thread>,
    /// Start of the first call.
    begin: Option<i64>,
    comms: HashMap<i32, u32>,
    /// Communicators so far.
    pub(super) made: u32,
    types: Types,
    handles: Handles,
    /// Number of transfers so far.
    transfers: u32,
    lists: u32,
    windows: HashMap<i32, u32>,
    files: HashMap<i32, FileState>,
    opened: u32,
    shared: u32,
}

impl RankState {
    pub(super) fn new() -> Self {
        RankState {
            threads: Vec::new(),
            begin: None,
            comms: HashMap::from([(2, WORLD), (3, SELF)]),
            made: FIRST,
            types: Types::default(),
            handles: Handles::default(),
            transfers: 0,
            lists: 0,
            windows: HashMap::new(),
            files: HashMap::new(),
            opened: 0,
            shared: 0,
        }
    }

    /// The communicator that `handle` currently refers to.
    pub(super) fn comm(&self, handle: i32) -> Option<u32> {
        self.comms.get(&handle).copied()
    }

    /// Size of a copy: bound handles, and threads.
    pub(super) fn entries(&self) -> u64 {
        let bound = self.comms.len() + self.types.len() + self.handles.len() + self.windows.len() + self.files.len();
        (self.threads.len() + bound) as u64
    }

    /// The number of the next list of sizes.
    pub(super) fn lists(&self) -> u32 {
        self.lists
    }
}

/// What comes out.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) ops: Vec<Planned>,
    pub(super) lists: Vec<Blocks>,
    pub(super) news: Vec<News>,
}

/// The translation of one record.
pub(super) struct Translator<'a> {
    pub(super) state: &'a mut RankState,
    /// Datatype sizes stated in the file.
    pub(super) sizes: &'a [i32],
    pub(super) knowledge: Option<&'a Knowledge>,
    pub(super) out: &'a mut Output,
    /// Index among the threads.
    thread: usize,
    /// Time of the thread in the call, in ns.
    inside: u64,
}

/// The kind of a call for the accounting of time between calls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Local,
    FailedPoll,
    Poll,
    Other,
}

fn sort(record: &Record) -> Sort {
    let hit = match record.label {
        l::TEST | l::TESTALL | l::TESTANY | l::IPROBE | l::MPIO_TEST | l::MPIO_TESTALL | l::MPIO_TESTANY => {
            record.int(Arg::Flag) != 0
        }
        l::REQUEST_GET_STATUS => false,
        l::TESTSOME | l::MPIO_TESTSOME => record.int(Arg::Outcount) > 0,
        l::GET_COUNT | l::OP_CREATE | l::OP_FREE => return Sort::Local,
        l::SEND..=l::SENDRECV_REPLACE
        | l::BARRIER..=l::SCAN
        | l::COMM_DUP..=l::COMM_FREE
        | l::ALLTOALLW
        | l::EXSCAN
        | l::FILE_OPEN..=l::MPIO_TESTSOME => return Sort::Other,
        _ => return Sort::Local,
    };
    if hit { Sort::Poll } else { Sort::FailedPoll }
}

impl<'a> Translator<'a> {
    pub(super) fn new(
        state: &'a mut RankState,
        sizes: &'a [i32],
        knowledge: Option<&'a Knowledge>,
        out: &'a mut Output,
    ) -> Self {
        Translator {
            state,
            sizes,
            knowledge,
            out,
            thread: 0,
            inside: 0,
        }
    }

    /// Follows a record.
    pub(super) fn record(&mut self, record: &Record) {
        self.pass_time(record);
        if self.knowledge.is_none() && self.lacks_size(record) {
            self.odd(Oddity::UnknownSize);
        }
        match record.label {
            l::SEND..=l::IRECV | l::PROBE | l::SEND_INIT..=l::RECV_INIT | l::SENDRECV | l::SENDRECV_REPLACE => {
                self.transfer(record);
            }
            l::WAIT..=l::TESTSOME | l::CANCEL | l::START | l::STARTALL | l::MPIO_TEST..=l::MPIO_TESTSOME => {
                self.request(record);
            }
            l::IPROBE => self.transfer(record),
            l::BARRIER..=l::REDUCE | l::ALLREDUCE..=l::SCAN | l::ALLTOALLW | l::EXSCAN => self.collective(record),
            l::WIN_CREATE | l::WIN_FENCE | l::WIN_FREE => self.window(record),
            l::ACCUMULATE | l::GET | l::PUT => self.odd(Oddity::OneSided),
            l::FILE_OPEN..=l::FILE_WRITE_ORDERED_END => self.file(record),
            l::COMM_DUP..=l::COMM_SPAWN_MULTIPLE => self.communicator(record),
            _ => self.state.types.note(self.sizes, record),
        }
        if self.counts_calls() {
            let thread = &mut self.state.threads[self.thread];
            thread.debt = thread.debt.saturating_add(self.inside);
        }
    }

    /// Whether time in calls counts as computation, too.
    fn counts_calls(&self) -> bool {
        self.knowledge.is_some_and(|knowledge| knowledge.call_time)
    }

    /// Whether a call moves elements of unknown size.
    fn lacks_size(&self, record: &Record) -> bool {
        let moves = matches!(record.label, l::SEND..=l::IRECV | l::SEND_INIT..=l::RECV_INIT)
            || matches!(
                record.label,
                l::SENDRECV | l::SENDRECV_REPLACE | l::ALLTOALLW | l::EXSCAN
            )
            || matches!(record.label, l::BCAST..=l::REDUCE | l::ALLREDUCE..=l::SCAN)
            || matches!(record.label, l::FILE_READ_AT..=l::FILE_WRITE_ORDERED_END);
        let unknown = |arg: Arg| record.get(arg).is_some() && !self.state.types.knows(self.sizes, record.int(arg));
        moves && record.get(Arg::Count) != Some(0) && [Arg::Type, Arg::Rtype, Arg::Stype].into_iter().any(unknown)
    }

    /// Accounts for the time since the last call of the thread.
    fn pass_time(&mut self, record: &Record) {
        let known = self
            .state
            .threads
            .iter()
            .position(|thread| thread.number == record.thread);
        let begin = record
            .wall
            .map_or(0, |span| *self.state.begin.get_or_insert(span.start));
        self.thread = known.unwrap_or_else(|| {
            self.state.threads.push(Thread {
                number: record.thread,
                stop: begin,
                polling: false,
                debt: 0,
            });
            self.state.threads.len() - 1
        });
        let clock = self.counts_calls();
        let thread = &mut self.state.threads[self.thread];
        let sort = sort(record);
        if let Some(span) = record.wall {
            // Between two polls, the program waits.
            let waited = thread.polling && sort != Sort::Other && !clock;
            if !waited {
                let gap = span.start.saturating_sub(thread.stop).max(0);
                thread.debt = thread.debt.saturating_add(gap as u64);
            }
            self.inside = span.stop.saturating_sub(span.start.max(thread.stop)).max(0) as u64;
            thread.stop = thread.stop.max(span.stop);
        }
        match sort {
            Sort::Local => {}
            Sort::FailedPoll => {
                thread.polling = true;
                self.odd(Oddity::Polled);
            }
            Sort::Poll | Sort::Other => thread.polling = false,
        }
    }

    fn odd(&mut self, oddity: Oddity) {
        if self.knowledge.is_none() {
            self.out.news.push(News::Odd(oddity));
        }
    }

    /// Emits an operation, after the pending computation.
    fn op(&mut self, kind: OpKind) {
        self.pay(self.thread);
        let stream = self.thread.min(usize::from(u8::MAX)) as u16;
        self.out.ops.push(Planned { stream, kind });
    }

    /// Emits the pending computation of a thread.
    fn pay(&mut self, thread: usize) {
        let Some(knowledge) = self.knowledge else { return };
        let debt = std::mem::take(&mut self.state.threads[thread].debt);
        let duration = scaled(debt, knowledge.scale);
        if duration > Time::ZERO {
            let stream = thread.min(usize::from(u8::MAX)) as u16;
            self.out.ops.push(Planned {
                stream,
                kind: OpKind::Compute { duration },
            });
        }
    }

    /// At the end of a chunk: emits pending computation, so that the next chunk starts without any.
    pub(super) fn end_chunk(&mut self) {
        for thread in 0..self.state.threads.len() {
            self.pay(thread);
            self.state.threads[thread].debt = 0;
        }
    }

    /// The communicator of `handle`, if known.
    fn known(&self, handle: i32) -> Option<CommOf> {
        self.state.comm(handle).and_then(|object| self.knowledge?.comm(object))
    }

    /// The handle of `object`; an unknown one is counted.
    fn object(&mut self, handle: i32) -> u32 {
        match self.state.comm(handle) {
            Some(object) => object,
            None => {
                self.odd(Oddity::UnknownCommunicator);
                u32::MAX
            }
        }
    }

    fn bytes(&self, record: &Record, count: Arg, datatype: Arg) -> u64 {
        self.state
            .types
            .bytes(self.sizes, record.int(count), record.int(datatype))
    }
}

/// `ns` nanoseconds times `scale`; at most [`Time::BEYOND`].
fn scaled(ns: u64, scale: f64) -> Time {
    let ps = if scale == 1.0 {
        ns.saturating_mul(1_000)
    } else {
        (ns as f64 * 1_000.0 * scale).round() as u64
    };
    Time(ps).min(Time::BEYOND)
}
