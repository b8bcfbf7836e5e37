//! Translation of records to operations.
//!
//! The state of a rank follows from its own records: the meaning of handles. The first pass over a trace keeps copies
//! of the state, from which the translation can resume. With [`Knowledge`] the translation yields operations; without
//! it, it yields the news from which knowledge is made.

mod collectives;
mod files;
mod handles;
mod requests;
mod threads;
mod transfers;

pub(super) use collectives::makes;

use std::collections::HashMap;

use odonata_units::Time;
use odonata_workload::{Collective, Comm, OpKind};

use super::knowledge::{CommOf, Fate, Knowledge};
use super::label as l;
use super::record::{Arg, Record};
use super::types::{Sizes, Types};
use collectives::{blocks, call};
use files::FileState;
use handles::Handles;
use threads::{Passed, Threads};

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

/// The state of a rank at a position of its records.
#[derive(Clone, Debug)]
pub(super) struct RankState {
    threads: Threads,
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
            threads: Threads::default(),
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
    stated: &'a [i32],
    pub(super) knowledge: Option<&'a Knowledge>,
    pub(super) out: &'a mut Output,
    /// Index among the threads.
    thread: usize,
}

impl<'a> Translator<'a> {
    pub(super) fn new(
        state: &'a mut RankState,
        stated: &'a [i32],
        knowledge: Option<&'a Knowledge>,
        out: &'a mut Output,
    ) -> Self {
        Translator {
            state,
            stated,
            knowledge,
            out,
            thread: 0,
        }
    }

    /// Follows a record.
    pub(super) fn record(&mut self, record: &Record) {
        let Passed {
            thread,
            inside,
            is_failed_poll,
        } = self.state.threads.pass(record, self.counts_calls());
        self.thread = thread;
        if is_failed_poll {
            self.odd(Oddity::Polled);
        }
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
            _ => self.state.types.note(self.stated, record),
        }
        if self.counts_calls() {
            self.state.threads.owe(thread, inside);
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
        let sizes = self.sizes();
        let unknown = |arg: Arg| record.get(arg).is_some() && !sizes.knows(record.int(arg));
        moves && record.get(Arg::Count) != Some(0) && [Arg::Type, Arg::Rtype, Arg::Stype].into_iter().any(unknown)
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
        let duration = self.state.threads.settle(thread, knowledge.scale);
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
            self.state.threads.forgive(thread);
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

    fn sizes(&self) -> Sizes<'_> {
        self.state.types.sizes(self.stated)
    }

    fn bytes(&self, record: &Record, count: Arg, datatype: Arg) -> u64 {
        self.sizes().bytes(record, count, datatype)
    }

    fn collective(&mut self, record: &Record) {
        if matches!(record.label, l::OP_CREATE | l::OP_FREE) {
            return;
        }
        self.object(record.int(Arg::Comm));
        let listed = matches!(
            record.label,
            l::GATHERV | l::SCATTERV | l::ALLGATHERV | l::REDUCE_SCATTER | l::ALLTOALLV | l::ALLTOALLW
        );
        let number = self.state.lists;
        self.state.lists = number.saturating_add(u32::from(listed));
        let (Some(of), Some(knowledge)) = (self.known(record.int(Arg::Comm)), self.knowledge) else {
            if listed && self.knowledge.is_some() {
                self.out.lists.push(Blocks::Own(0));
            }
            return;
        };
        if listed {
            let group = knowledge.groups.get(of.number as usize);
            let me = group.and_then(|group| group.member(knowledge.rank)).unwrap_or(0);
            self.out
                .lists
                .push(blocks(self.sizes(), record, me).unwrap_or(Blocks::Own(0)));
        }
        let comm = Comm(of.number);
        let collective = match call(self.sizes(), record, of, number) {
            Some(collective) if !of.inter => collective,
            _ => Collective::Barrier { comm },
        };
        self.op(OpKind::Collective(collective));
    }

    fn window(&mut self, record: &Record) {
        let window = record.int(Arg::Win);
        if record.label == l::WIN_CREATE {
            let object = self.object(record.int(Arg::Comm));
            self.state.windows.insert(window, object);
        }
        let object = match record.label {
            l::WIN_FREE => self.state.windows.remove(&window),
            _ => self.state.windows.get(&window).copied(),
        };
        let Some(of) = object.and_then(|object| self.knowledge?.comm(object)) else {
            return;
        };
        let comm = Comm(of.number);
        self.op(OpKind::Collective(Collective::Barrier { comm }));
    }

    /// A call that creates or frees a communicator.
    fn communicator(&mut self, record: &Record) {
        let parent = match record.label {
            l::INTERCOMM_CREATE => Arg::Local,
            _ => Arg::Comm,
        };
        let new = match record.label {
            l::COMM_SPAWN | l::COMM_SPAWN_MULTIPLE => Arg::Newcomm,
            l::COMM_GET_PARENT | l::COMM_JOIN => Arg::Comm,
            _ => Arg::New,
        };
        match record.label {
            l::COMM_FREE | l::COMM_DISCONNECT => {
                let of = self.known(record.int(parent));
                // MPI_Comm_free of the world is an error that the traced library ignored.
                if let Some(of) = of.filter(|of| of.number != 0) {
                    let comm = Comm(of.number);
                    self.op(OpKind::CommFree { comm });
                }
                return;
            }
            l::COMM_DUP
            | l::COMM_CREATE
            | l::COMM_SPLIT
            | l::INTERCOMM_CREATE
            | l::INTERCOMM_MERGE
            | l::CART_CREATE
            | l::CART_SUB
            | l::GRAPH_CREATE
            | l::COMM_ACCEPT
            | l::COMM_CONNECT
            | l::COMM_GET_PARENT
            | l::COMM_JOIN
            | l::COMM_SPAWN
            | l::COMM_SPAWN_MULTIPLE => {}
            _ => return,
        }
        let before = self.known(record.int(parent));
        let handle = record.int(new);
        let made = makes(handle);
        if made {
            let object = self.state.made;
            self.state.made = object.saturating_add(1);
            self.state.comms.insert(handle, object);
        }
        let foreign = matches!(
            record.label,
            l::COMM_ACCEPT
                | l::COMM_CONNECT
                | l::COMM_GET_PARENT
                | l::COMM_JOIN
                | l::COMM_SPAWN
                | l::COMM_SPAWN_MULTIPLE
        );
        let Some(of) = before.filter(|_| !foreign) else { return };
        let comm = Comm(of.number);
        // A rank outside all new communicators has no number for one.
        let new = self.known(handle).filter(|_| made).map_or(comm, |of| Comm(of.number));
        self.op(match record.label {
            l::COMM_DUP | l::INTERCOMM_MERGE => OpKind::CommDup { comm, new },
            l::COMM_SPLIT | l::CART_SUB => OpKind::CommSplit { comm, new },
            _ => OpKind::CommCreate { comm, new },
        });
        if of.inter && record.label != l::INTERCOMM_MERGE {
            self.odd(Oddity::Intercommunicator);
        }
    }
}
