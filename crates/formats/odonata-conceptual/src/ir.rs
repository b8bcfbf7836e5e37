//! The executable form of a program: resolved expressions, and a flat list of instructions.
//!
//! A rank's state is its memory words: variables bound by LET and FOR EACH, loop states, and the words of [`word`].
//! Variables of task sets, which live only during the evaluation of a statement, are *locals*.

use std::collections::HashMap;

use odonata_workload::aggregate::Aggregate;

use super::ast::{Binary, CounterAction, Func, IoVerb, Relation, Unary};
use super::diagnostic::Span;
use super::inject::Call;

/// Maximum number of simultaneously bound variables of task sets and comprehensions.
pub(super) const LOCALS: usize = 24;

/// Memory words of every program.
pub(super) mod word {
    /// The instruction.
    pub(in super::super) const AT: usize = 0;
    /// Progress within the instruction.
    pub(in super::super) const STAGE: usize = 1;
    /// Index of the statement's next message.
    pub(in super::super) const INDEX: usize = 2;
    /// Repetitions of the current message so far.
    pub(in super::super) const REPEAT: usize = 3;
    /// Number of loops in warm-up.
    pub(in super::super) const WARM: usize = 4;
    /// Number of open requests.
    pub(in super::super) const REQUESTS: usize = 5;
    /// Number of executed assignments of processors.
    pub(in super::super) const MAPS: usize = 6;
    /// The fault that stopped the rank, plus one; 0 while it runs.
    pub(in super::super) const FAULT: usize = 7;
    /// Time of the last timer reset, in picoseconds.
    pub(in super::super) const ORIGIN: usize = 8;
    /// Counters: messages and bytes sent, messages and bytes received.
    pub(in super::super) const SENT: usize = 9;
    pub(in super::super) const SENT_BYTES: usize = 10;
    pub(in super::super) const RECEIVED: usize = 11;
    pub(in super::super) const RECEIVED_BYTES: usize = 12;
    /// Asynchronous receives that count once they are awaited.
    pub(in super::super) const COMING: usize = 13;
    pub(in super::super) const COMING_BYTES: usize = 14;
    /// Whether the counters have been reset.
    pub(in super::super) const WAS_RESET: usize = 15;
    /// Whether values have been logged since the last aggregation.
    pub(in super::super) const LOGGED: usize = 16;
    /// The first word of the program itself.
    pub(in super::super) const OWN: usize = 17;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counter {
    Elapsed,
    BytesSent,
    BytesReceived,
    TotalBytes,
    MsgsSent,
    MsgsReceived,
    TotalMsgs,
    BitErrors,
}

#[derive(Clone, Debug)]
pub(super) enum Expr {
    Int(i64),
    /// A word of the memory.
    Slot(u32),
    /// A variable of a task set.
    Local(u8),
    Counter(Counter),
    MyTask,
    Real(Box<Expr>),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<[Expr; 2]>),
    If(Box<(Cond, Expr, Expr)>),
    Call(Func, Box<[Expr]>),
    /// A random function, and the number of its place.
    Random(Func, Box<[Expr]>, u32),
    Neighbor(Box<Dims>, Box<Expr>, Box<[Expr; 3]>),
    Coordinate(Box<Dims>, Box<[Expr; 2]>),
    Distance(Box<Dims>, Box<[Expr; 2]>),
    /// A cell of table `.0`: column and row.
    Cell(u32, Box<[Expr; 2]>),
}

#[derive(Clone, Debug)]
pub(super) struct Dims {
    pub extents: [Expr; 3],
    pub wraps: [bool; 3],
}

#[derive(Clone, Debug)]
pub(super) enum Cond {
    Or(Box<[Cond; 2]>),
    And(Box<[Cond; 2]>),
    Relation(Relation, Expr, Expr),
    Parity(Expr, bool),
    InRanges(Expr, Ranges, bool),
    Between(Expr, Expr, Expr, bool),
}

pub(super) type Ranges = Vec<Range>;

#[derive(Clone, Debug)]
pub(super) enum Range {
    List {
        items: Vec<Expr>,
        end: Option<Expr>,
    },
    Each {
        value: Expr,
        generators: Vec<(u8, Ranges)>,
        cond: Option<Cond>,
    },
}

/// A set of tasks, with the local bound to each member.
#[derive(Clone, Debug)]
pub(super) enum Set {
    One(Expr),
    Such(Cond),
    Ranges(Ranges),
    All,
    /// All tasks except the source.
    Others,
}

#[derive(Clone, Debug)]
pub(super) struct Tasks {
    pub set: Set,
    /// Locals bound to each member.
    pub locals: Vec<u8>,
}

/// The dependencies of a set or a pair of sets, and the number of its cache.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    pub number: u32,
    /// Memory words that its sets read.
    pub reads: Vec<u32>,
    /// Whether they read counters, which other tasks do not know.
    pub private: bool,
    /// Whether the second set depends on the members of the first.
    pub linked: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Messages {
    pub count: Expr,
    pub bytes: Bytes,
    pub tag: Option<Tag>,
    /// Detached sends, which are never awaited.
    pub detached: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Tag {
    Number(Expr),
    Text(u32),
}

#[derive(Clone, Debug)]
pub(super) struct Bytes {
    pub amount: Expr,
    /// Bits of a unit.
    pub bits: u64,
}

#[derive(Clone, Debug)]
pub(super) enum Piece {
    Text(String),
    /// One of the report's values.
    Value(u32),
}

#[derive(Clone, Debug)]
pub(super) struct Column {
    pub label: Vec<Piece>,
    pub aggregate: Aggregate,
    /// The value of a percentile.
    pub percent: Option<u32>,
    /// Which of the values.
    pub value: u32,
}

/// The words of a loop start at `state`.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub state: u32,
    pub end: u32,
    pub count: Expr,
    pub warm: Option<Expr>,
    pub synchronize: bool,
}

/// A loop over the values of `ranges`, each in word `slot`.
#[derive(Clone, Debug)]
pub(super) struct Each {
    pub state: u32,
    pub slot: u32,
    pub end: u32,
    pub ranges: Ranges,
    pub site: Site,
}

/// A loop for `limit` units of microseconds, after a warm-up of such a time and unit.
#[derive(Clone, Debug)]
pub(super) struct Timed {
    pub state: u32,
    pub end: u32,
    pub limit: Expr,
    pub unit: i64,
    pub warm: Option<(Expr, i64)>,
    pub synchronize: bool,
}

/// Words of a counting loop.
pub(super) mod count {
    pub(in super::super) const ORDINAL: usize = 0;
    pub(in super::super) const WARM: usize = 1;
    pub(in super::super) const TOTAL: usize = 2;
    pub(in super::super) const WORDS: u32 = 3;
}

/// Words of a FOR EACH.
pub(super) mod each {
    pub(in super::super) const ORDINAL: usize = 0;
    pub(in super::super) const TOTAL: usize = 1;
    pub(in super::super) const FIRST: usize = 2;
    pub(in super::super) const STEP: usize = 3;
    pub(in super::super) const WORDS: u32 = 4;
}

/// Words of a timed loop.
pub(super) mod timed {
    pub(in super::super) const ORDINAL: usize = 0;
    /// When the passes end, in picoseconds.
    pub(in super::super) const DEADLINE: usize = 1;
    /// 0 during warm-up, 1 after it.
    pub(in super::super) const PART: usize = 2;
    /// The decision of rank 0: 1 to continue.
    pub(in super::super) const DECISION: usize = 3;
    pub(in super::super) const WORDS: u32 = 4;
}

#[derive(Clone, Debug)]
pub(super) struct Inst {
    pub span: Span,
    pub kind: InstKind,
}

/// Messages from a set of tasks to another; `receive`: mode and tag of the receives, unless they are other statements.
#[derive(Clone, Debug)]
pub(super) struct Send {
    pub site: Site,
    pub sources: Tasks,
    pub targets: Tasks,
    pub messages: Messages,
    pub asynchronous: bool,
    pub receive: Option<(bool, Option<Tag>)>,
}

/// Receives of messages between two sets; `reversed` if the senders are the first.
#[derive(Clone, Debug)]
pub(super) struct Receive {
    pub site: Site,
    pub first: Tasks,
    pub second: Tasks,
    pub messages: Messages,
    pub asynchronous: bool,
    pub reversed: bool,
}

#[derive(Clone, Debug)]
pub(super) enum InstKind {
    /// `private` if only some tasks execute it.
    Jump {
        to: u32,
        private: bool,
    },
    /// Jumps to `to` unless the condition holds; `private` if it differs between tasks.
    Unless {
        cond: Cond,
        to: u32,
        private: bool,
    },
    Assert(String, Cond),
    Let(u32, Expr),
    LetRandom {
        slot: u32,
        site: u32,
        limits: Limits,
        loops: Vec<u32>,
    },
    CountStart(Loop),
    CountHead(Loop),
    /// Increments word `.0`, and jumps to `.1`.
    Next(u32, u32),
    EachStart(Each),
    EachHead(Each),
    TimedStart(Timed),
    TimedHead(Timed),
    Send(Send),
    Receive(Receive),
    Multicast {
        site: Site,
        sources: Tasks,
        targets: Tasks,
        messages: Messages,
    },
    Reduce {
        site: Site,
        sources: Tasks,
        targets: Option<Tasks>,
        items: Expr,
        item: u64,
    },
    Barrier {
        site: Site,
        tasks: Tasks,
    },
    Await(Tasks),
    Delay {
        tasks: Tasks,
        time: Expr,
        unit: i64,
        sleep: bool,
    },
    Touch {
        site: Site,
        state: u32,
        tasks: Tasks,
        touch: Box<Touch>,
    },
    /// LOGS or OUTPUTS, number `site` of the reports.
    Report {
        tasks: Tasks,
        site: u32,
    },
    Aggregates {
        tasks: Tasks,
    },
    /// The end of a top-level statement, which ends the current columns.
    TopEnd,
    Counters {
        tasks: Tasks,
        action: CounterAction,
    },
    Assign {
        tasks: Tasks,
        processor: Option<Expr>,
        site: u32,
        loops: Vec<u32>,
    },
    Backend {
        tasks: Tasks,
        report: u32,
        calls: Vec<Call>,
    },
    Io {
        tasks: Tasks,
        verb: IoVerb,
        bytes: Option<Bytes>,
        file: Expr,
        offset: Expr,
        asynchronous: bool,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Touch {
    /// Number of accesses; by default the size of the region.
    pub count: Option<Expr>,
    pub word: u32,
    pub region: Bytes,
    pub times: Expr,
    /// `None` for a random stride.
    pub stride: Option<(Expr, u32)>,
}

#[derive(Clone, Debug)]
pub(super) enum Limits {
    All,
    Other(Expr),
    Less(Expr, Option<Expr>),
    Greater(Expr, Option<Expr>),
    In(Expr, Expr, Option<Expr>),
}

/// The columns of a LOGS or the pieces of an OUTPUTS, and their values, in floating context.
#[derive(Clone, Debug)]
pub(super) enum Report {
    Log { columns: Vec<Column>, values: Vec<Expr> },
    Output { pieces: Vec<Piece>, values: Vec<Expr> },
}

impl Report {
    pub(super) fn values(&self) -> &[Expr] {
        match self {
            Report::Log { values, .. } | Report::Output { values, .. } => values,
        }
    }
}

/// A program with its parameters.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub insts: Vec<Inst>,
    /// Memory words per rank.
    pub words: u32,
    /// Number of [`Site`]s.
    pub sites: u32,
    pub reports: Vec<Report>,
    pub tag_texts: Vec<String>,
    pub tables: Vec<super::table::Table>,
    /// Numbers of requests in injected calls, by name.
    pub requests: HashMap<String, u32>,
    /// The word with the number of stored counter sets, if there are STORES.
    pub stores: Option<u32>,
    pub assigns: bool,
    pub timed: bool,
    /// The first statement whose operations depend on time, and the reason.
    pub clock: Option<(Span, &'static str)>,
    /// Words that count loop passes; they distinguish executions of a statement.
    pub ordinals: Vec<u32>,
}
