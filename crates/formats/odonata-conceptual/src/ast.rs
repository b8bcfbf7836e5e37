//! The syntax tree of the text: names are unresolved, and only the grammar is checked.

use odonata_workload::aggregate::Aggregate;

use super::diagnostic::Span;

#[derive(Clone, Debug)]
pub(super) struct Program {
    pub headers: Vec<Header>,
    /// Top-level statements; a THEN between two statements joins them into one.
    pub statements: Vec<Vec<Stmt>>,
}

#[derive(Clone, Debug)]
pub(super) struct Word {
    pub text: String,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum Header {
    Param {
        name: Word,
        about: String,
        long: Word,
        short: Word,
        default: Expr,
    },
    Version(Word),
    Declares,
}

#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub kind: ExprKind,
    pub span: Span,
    /// Depth of operands below; bounded by the parser, so recursive walks never overflow the stack.
    pub depth: u16,
}

#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Int(i64),
    Name(String),
    MyTask,
    Real(Box<Expr>),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    If {
        cond: Box<Cond>,
        yes: Box<Expr>,
        no: Box<Expr>,
    },
    Call(Func, Vec<Expr>),
    MeshNeighbor {
        dims: Dims,
        task: Box<Expr>,
        offsets: Vec<Expr>,
    },
    MeshCoordinate {
        dims: Dims,
        task: Box<Expr>,
        axis: Box<Expr>,
    },
    MeshDistance {
        dims: Dims,
        from: Box<Expr>,
        to: Box<Expr>,
    },
    FileData {
        file: Word,
        column: Option<Box<Expr>>,
        row: Option<Box<Expr>>,
        separators: Vec<String>,
    },
}

/// Extents, and whether the dimension wraps around.
pub(super) type Dims = Vec<(Expr, bool)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Minus,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Power,
    Left,
    Right,
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Func {
    Abs,
    Min,
    Max,
    Bits,
    Sqrt,
    Cbrt,
    Root,
    Log10,
    Factor10,
    Floor,
    Ceiling,
    Round,
    TreeParent,
    TreeChild,
    KnomialParent,
    KnomialChild,
    KnomialChildren,
    ProcessorOf,
    TaskOf,
    RandomUniform,
    RandomGaussian,
    RandomPoisson,
    RandomPareto,
}

impl Func {
    /// Its name, minimum and maximum number of arguments.
    pub(super) fn signature(self) -> (&'static str, usize, usize) {
        match self {
            Func::Abs => ("abs", 1, 1),
            Func::Min => ("min", 1, usize::MAX),
            Func::Max => ("max", 1, usize::MAX),
            Func::Bits => ("bits", 1, 1),
            Func::Sqrt => ("sqrt", 1, 1),
            Func::Cbrt => ("cbrt", 1, 1),
            Func::Root => ("root", 2, 2),
            Func::Log10 => ("log10", 1, 1),
            Func::Factor10 => ("factor10", 1, 1),
            Func::Floor => ("floor", 1, 1),
            Func::Ceiling => ("ceiling", 1, 1),
            Func::Round => ("round", 1, 1),
            Func::TreeParent => ("tree_parent", 1, 2),
            Func::TreeChild => ("tree_child", 2, 3),
            Func::KnomialParent => ("knomial_parent", 1, 3),
            Func::KnomialChild => ("knomial_child", 2, 4),
            Func::KnomialChildren => ("knomial_children", 1, 3),
            Func::ProcessorOf => ("processor_of", 1, 1),
            Func::TaskOf => ("task_of", 1, 1),
            Func::RandomUniform => ("random_uniform", 2, 2),
            Func::RandomGaussian => ("random_gaussian", 2, 2),
            Func::RandomPoisson => ("random_poisson", 1, 1),
            Func::RandomPareto => ("random_pareto", 2, 3),
        }
    }

    /// Whether tasks draw different values.
    pub(super) fn is_random(self) -> bool {
        matches!(
            self,
            Func::RandomUniform | Func::RandomGaussian | Func::RandomPoisson | Func::RandomPareto
        )
    }
}

#[derive(Clone, Debug)]
pub(super) enum Cond {
    Or(Box<Cond>, Box<Cond>),
    And(Box<Cond>, Box<Cond>),
    Relation(Relation, Expr, Expr),
    Parity {
        value: Expr,
        odd: bool,
    },
    InRanges {
        value: Expr,
        ranges: Vec<Range>,
        not: bool,
    },
    Between {
        value: Expr,
        low: Expr,
        high: Expr,
        not: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    Less,
    Greater,
    LessEqual,
    GreaterEqual,
    NotEqual,
    Divides,
}

#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a tree is small, and lives while a program is compiled"
)]
pub(super) enum Range {
    List {
        items: Vec<Expr>,
        end: Option<Expr>,
    },
    Each {
        value: Expr,
        generators: Vec<(Word, Vec<Range>)>,
        cond: Option<Cond>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Tasks {
    pub kind: TasksKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a tree is small, and lives while a program is compiled"
)]
pub(super) enum TasksKind {
    One(Expr),
    Such { name: Word, cond: Cond },
    Ranges(Vec<Range>),
    Group(Word),
    All(Option<Word>),
    AllOther,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Multiplier {
    Bit,
    Bytes(u32),
}

#[derive(Clone, Debug)]
pub(super) enum Tag {
    Number(Expr),
    Text(String),
}

/// The description of messages; parts without effect on traffic (alignment, buffers, touching) are checked and dropped.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub span: Span,
    pub count: Option<Expr>,
    pub size: Option<(Option<Expr>, Multiplier)>,
    pub tag: Option<Tag>,
    pub verification: bool,
    /// The place of WITHOUT COMPLETION.
    pub detached: Option<Span>,
    /// Expressions without effect that must be valid: buffers, offsets, alignments.
    pub others: Vec<Expr>,
    /// Whether it has an alignment other than UNALIGNED, and an offset into a buffer.
    pub aligned: bool,
    pub offset: bool,
}

#[derive(Clone, Debug)]
pub(super) struct ReceiveAs {
    pub span: Span,
    pub asynchronous: Option<bool>,
    pub tag: Option<Tag>,
    pub verification: Option<bool>,
    pub others: Vec<Expr>,
}

#[derive(Clone, Debug)]
pub(super) struct Reduction {
    pub span: Span,
    pub count: Option<Expr>,
    /// Bytes of an item; `None` for a type that cannot be reduced.
    pub item: (&'static str, Span),
    pub verification: bool,
    pub others: Vec<Expr>,
}

#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a tree is small, and lives while a program is compiled"
)]
pub(super) enum ReduceTo {
    Same(Reduction),
    Tasks { tasks: Tasks, result: Option<ResultAs> },
}

#[derive(Clone, Debug)]
pub(super) struct ResultAs {
    pub span: Span,
    /// Count and type, if given.
    pub what: Option<(Option<Expr>, (&'static str, Span))>,
    pub verification: Option<bool>,
    pub others: Vec<Expr>,
}

#[derive(Clone, Debug)]
pub(super) enum Text {
    Value(Expr),
    Literal(String),
}

#[derive(Clone, Debug)]
pub(super) struct LogItem {
    pub aggregates: Vec<Aggregate>,
    /// The percentiles among the aggregates, in order.
    pub percentiles: Vec<Expr>,
    pub value: Expr,
    pub label: Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CounterAction {
    Reset,
    Store,
    Restore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IoVerb {
    Read,
    Write,
    Open,
    Close,
    Sync,
}

#[derive(Clone, Debug)]
pub(super) enum RandomLimits {
    None,
    Other(Expr),
    Less(Expr, Option<Expr>),
    Greater(Expr, Option<Expr>),
    In(Expr, Expr, Option<Expr>),
}

#[derive(Clone, Debug)]
pub(super) enum Bound {
    Value(Expr),
    Tasks(Tasks),
    Random(RandomLimits),
}

#[derive(Clone, Debug)]
pub(super) struct Warmup {
    pub count: Expr,
    /// Microseconds per unit; for timed loops.
    pub unit: i64,
    pub synchronize: bool,
}

/// A SENDS, with the attributes of its receives.
#[derive(Clone, Debug)]
pub(super) struct Send {
    pub sources: Tasks,
    pub asynchronous: bool,
    pub message: Message,
    pub unsuspecting: bool,
    pub targets: Tasks,
    pub receive: Option<ReceiveAs>,
}

/// RECEIVES.
#[derive(Clone, Debug)]
pub(super) struct Receive {
    pub receivers: Tasks,
    pub asynchronous: bool,
    pub message: Message,
    pub senders: Tasks,
}

/// TOUCHES a memory region.
#[derive(Clone, Debug)]
pub(super) struct Touch {
    pub tasks: Tasks,
    pub count: Option<(Expr, u32)>,
    pub region: (Option<Expr>, Multiplier),
    pub times: Option<Expr>,
    pub stride: Stride,
}

#[derive(Clone, Debug)]
pub(super) struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum StmtKind {
    Block(Vec<Stmt>),
    Repeat {
        count: Expr,
        warmup: Option<Warmup>,
        body: Box<Stmt>,
    },
    Timed {
        limit: Expr,
        unit: i64,
        warmup: Option<Warmup>,
        body: Box<Stmt>,
    },
    Each {
        name: Word,
        ranges: Vec<Range>,
        body: Box<Stmt>,
    },
    Let {
        bindings: Vec<(Word, Bound)>,
        body: Box<Stmt>,
    },
    If {
        cond: Cond,
        yes: Box<Stmt>,
        no: Option<Box<Stmt>>,
    },
    Send(Send),
    Receive(Receive),
    Multicast {
        sources: Tasks,
        asynchronous: bool,
        message: Message,
        targets: Tasks,
    },
    Reduce {
        sources: Tasks,
        what: Reduction,
        to: Option<ReduceTo>,
    },
    Synchronize {
        tasks: Tasks,
    },
    Await {
        tasks: Tasks,
    },
    Delay {
        tasks: Tasks,
        sleep: bool,
        time: Expr,
        unit: i64,
    },
    Touch(Touch),
    TouchBuffers {
        tasks: Tasks,
        buffer: Option<Expr>,
    },
    Log {
        tasks: Tasks,
        items: Vec<LogItem>,
    },
    Aggregates {
        tasks: Tasks,
    },
    Output {
        tasks: Tasks,
        texts: Vec<Text>,
    },
    Counters {
        tasks: Tasks,
        action: CounterAction,
    },
    Assign {
        tasks: Tasks,
        processor: Option<Expr>,
    },
    Backend {
        tasks: Tasks,
        texts: Vec<Text>,
    },
    Assert {
        about: String,
        cond: Cond,
    },
    Io {
        tasks: Tasks,
        verb: IoVerb,
        size: Option<(Expr, Option<Multiplier>)>,
        file: Option<Expr>,
        offset: Option<Expr>,
        /// Whether completion is deferred to AWAITS COMPLETION.
        asynchronous: bool,
    },
}

#[derive(Clone, Debug)]
pub(super) enum Stride {
    Default,
    Bytes(Expr, u32),
    Random,
}
