//! Statements.

use crate::aggregate::Aggregate;

use super::super::ast::{
    Bound, CounterAction, IoVerb, LogItem, Multiplier, RandomLimits, ReduceTo, Stmt, StmtKind, Stride, Tasks, Text,
    Warmup,
};
use super::super::keyword::nearest;
use super::super::lexer::Tok;
use super::message::{data_type, multiplier};
use super::{Parsed, Parser, Stop};

/// The keywords that can follow a set of tasks that acts.
pub(super) const VERBS: [&str; 20] = [
    "asynchronously",
    "synchronously",
    "send",
    "receive",
    "multicast",
    "reduce",
    "synchronize",
    "await",
    "compute",
    "sleep",
    "touch",
    "log",
    "output",
    "reset",
    "store",
    "restore",
    "is",
    "backend",
    "such",
    "who",
];

/// The verbs of file access, which are no keywords: programs may use the same names for variables.
pub(super) fn io_verb(name: &str) -> Option<IoVerb> {
    Some(match name {
        "read" | "reads" => IoVerb::Read,
        "write" | "writes" => IoVerb::Write,
        "open" | "opens" => IoVerb::Open,
        "close" | "closes" => IoVerb::Close,
        "sync" | "syncs" => IoVerb::Sync,
        _ => return None,
    })
}

/// Microseconds of a unit of time.
fn unit_of_time(word: &str) -> Option<i64> {
    Some(match word {
        "microsecond" => 1,
        "millisecond" => 1_000,
        "second" => 1_000_000,
        "minute" => 60_000_000,
        "hour" => 3_600_000_000,
        "day" => 86_400_000_000,
        _ => return None,
    })
}

impl Parser {
    pub(super) fn statement(&mut self) -> Parsed<Stmt> {
        let start = self.span();
        let kind = self.nested(Self::statement_kind)?;
        Ok(Stmt {
            kind,
            span: start.to(self.previous()),
        })
    }

    fn body(&mut self) -> Parsed<Box<Stmt>> {
        Ok(Box::new(self.statement()?))
    }

    fn statement_kind(&mut self) -> Parsed<StmtKind> {
        if self.eat_sign("{") {
            return self.block();
        }
        if self.eat("for") {
            return self.repetition();
        }
        if self.eat("let") {
            return self.bindings();
        }
        if self.eat("if") {
            let cond = self.cond()?;
            self.expect("then")?;
            let yes = self.body()?;
            let no = if self.eat("otherwise") {
                Some(self.body()?)
            } else {
                None
            };
            return Ok(StmtKind::If { cond, yes, no });
        }
        if self.eat("assert") {
            self.expect("that")?;
            let about = self.text()?.text;
            self.expect("with")?;
            return Ok(StmtKind::Assert {
                about,
                cond: self.cond()?,
            });
        }
        let tasks = self.tasks()?;
        self.action(tasks)
    }

    fn block(&mut self) -> Parsed<StmtKind> {
        if self.eat_sign("}") {
            return Ok(StmtKind::Block(Vec::new()));
        }
        let list = self.statements()?;
        if self.eat_sign("}") {
            return Ok(StmtKind::Block(list));
        }
        if matches!(
            self.tok(),
            Tok::Word("task" | "all" | "for" | "let" | "if" | "assert") | Tok::Sign("{" | ".")
        ) {
            let span = self.span();
            return Err(self.report(
                "statements not separated by THEN inside braces",
                "statements inside braces are separated by THEN".into(),
                span,
                Some("write THEN between them".into()),
            ));
        }
        self.unexpected("THEN or \"}\"")
    }

    fn repetition(&mut self) -> Parsed<StmtKind> {
        if self.eat("each") {
            let name = self.declared()?;
            self.expect("in")?;
            let ranges = self.ranges()?;
            return Ok(StmtKind::Each {
                name,
                ranges,
                body: self.body()?,
            });
        }
        let count = self.expr()?;
        if self.eat("repetition") {
            let warmup = self.warmup(false)?;
            return Ok(StmtKind::Repeat {
                count,
                warmup,
                body: self.body()?,
            });
        }
        let Some(unit) = unit_of_time(self.word()) else {
            return self.unexpected("REPETITIONS or a unit of time");
        };
        self.advance();
        let warmup = self.warmup(true)?;
        Ok(StmtKind::Timed {
            limit: count,
            unit,
            warmup,
            body: self.body()?,
        })
    }

    fn warmup(&mut self, timed: bool) -> Parsed<Option<Warmup>> {
        if !self.eat("plus") {
            return Ok(None);
        }
        let count = self.expr()?;
        self.expect("warmup")?;
        let mut unit = 1;
        if timed {
            unit = self.unit_of_time()?;
        } else {
            self.expect("repetition")?;
        }
        let synchronize = self.eat("and");
        if synchronize {
            self.expect("a")?;
            self.expect("synchronization")?;
        }
        Ok(Some(Warmup {
            count,
            unit,
            synchronize,
        }))
    }

    fn unit_of_time(&mut self) -> Parsed<i64> {
        match unit_of_time(self.word()) {
            Some(unit) => {
                self.advance();
                Ok(unit)
            }
            None => self.unexpected("a unit of time (MICROSECONDS to DAYS)"),
        }
    }

    fn bindings(&mut self) -> Parsed<StmtKind> {
        let mut bindings = Vec::new();
        loop {
            let name = self.declared()?;
            self.expect("be")?;
            let bound = if self.is("a") && matches!(self.peek(1), Tok::Word("random")) {
                self.advance();
                self.advance();
                self.expect("task")?;
                Bound::Random(self.limits()?)
            } else if matches!(self.tok(), Tok::Word("task" | "all")) {
                Bound::Tasks(self.tasks()?)
            } else {
                Bound::Value(self.expr()?)
            };
            bindings.push((name, bound));
            if !self.eat("and") {
                break;
            }
        }
        self.expect("while")?;
        Ok(StmtKind::Let {
            bindings,
            body: self.body()?,
        })
    }

    fn limits(&mut self) -> Parsed<RandomLimits> {
        if self.eat("other") {
            self.expect("than")?;
            return Ok(RandomLimits::Other(self.expr()?));
        }
        if self.eat("less") {
            self.expect("than")?;
            let limit = self.expr()?;
            return Ok(RandomLimits::Less(limit, self.but_not()?));
        }
        if self.eat("greater") {
            self.expect("than")?;
            let limit = self.expr()?;
            return Ok(RandomLimits::Greater(limit, self.but_not()?));
        }
        if self.eat("in") {
            self.expect_sign("[")?;
            let low = self.expr()?;
            self.expect_sign(",")?;
            let high = self.expr()?;
            self.expect_sign("]")?;
            return Ok(RandomLimits::In(low, high, self.but_not()?));
        }
        Ok(RandomLimits::None)
    }

    fn but_not(&mut self) -> Parsed<Option<super::super::ast::Expr>> {
        if !self.eat("but") {
            return Ok(None);
        }
        self.expect("not")?;
        Ok(Some(self.expr()?))
    }

    /// What `tasks` do.
    fn action(&mut self, tasks: Tasks) -> Parsed<StmtKind> {
        if let Tok::Name(name) = self.tok() {
            if let Some(verb) = io_verb(name) {
                self.advance();
                return self.io(tasks, verb, false);
            }
            let near = nearest(
                name,
                [
                    "sends",
                    "send",
                    "receives",
                    "receive",
                    "multicasts",
                    "reduces",
                    "reduce",
                    "synchronizes",
                    "synchronize",
                    "awaits",
                    "await",
                    "computes",
                    "compute",
                    "sleeps",
                    "touches",
                    "logs",
                    "outputs",
                    "resets",
                    "stores",
                    "restores",
                    "asynchronously",
                    "read",
                    "write",
                    "open",
                    "close",
                    "sync",
                ],
            )
            .map(|near| format!("did you mean {}?", near.to_uppercase()));
            self.unexpected::<()>("what the tasks do (SEND, RECEIVE, ...)").ok();
            if let (Some(near), Some(error)) = (near, self.errors.last_mut()) {
                error.hint = Some(near);
            }
            return Err(Stop);
        }
        let mode = self.mode();
        let asynchronous = mode.unwrap_or(false);
        if let (Some(_), Tok::Name(name)) = (mode, self.tok())
            && let Some(verb @ (IoVerb::Read | IoVerb::Write)) = io_verb(name)
        {
            self.advance();
            return self.io(tasks, verb, asynchronous);
        }
        let verb = self.word();
        if mode.is_some() && !matches!(verb, "send" | "receive" | "multicast") {
            return self.unexpected("SEND, RECEIVE, MULTICAST, READ or WRITE");
        }
        if !VERBS.contains(&verb) || matches!(verb, "such" | "who" | "asynchronously" | "synchronously") {
            return self.unexpected("what the tasks do (SEND, RECEIVE, ...)");
        }
        self.advance();
        match verb {
            "send" => self.send(tasks, asynchronous),
            "receive" => {
                let message = self.message("into")?;
                self.expect("from")?;
                Ok(StmtKind::Receive {
                    receivers: tasks,
                    asynchronous,
                    message,
                    senders: self.tasks()?,
                })
            }
            "multicast" => {
                let message = self.message("from")?;
                self.expect("to")?;
                Ok(StmtKind::Multicast {
                    sources: tasks,
                    asynchronous,
                    message,
                    targets: self.tasks()?,
                })
            }
            "reduce" => self.reduce(tasks),
            "synchronize" => Ok(StmtKind::Synchronize { tasks }),
            "await" => {
                self.expect("completion")?;
                Ok(StmtKind::Await { tasks })
            }
            "compute" if self.eat("aggregates") => Ok(StmtKind::Aggregates { tasks }),
            "compute" | "sleep" => {
                self.expect("for")?;
                let time = self.expr()?;
                let unit = self.unit_of_time()?;
                Ok(StmtKind::Delay {
                    tasks,
                    sleep: verb == "sleep",
                    time,
                    unit,
                })
            }
            "touch" => self.touches(tasks),
            "log" => {
                let mut items = vec![self.log_item()?];
                while self.eat("and") {
                    items.push(self.log_item()?);
                }
                Ok(StmtKind::Log { tasks, items })
            }
            "output" => {
                let texts = self.texts()?;
                Ok(StmtKind::Output { tasks, texts })
            }
            "reset" | "store" | "restore" => {
                self.expect("its")?;
                self.expect("counters")?;
                let action = match verb {
                    "reset" => CounterAction::Reset,
                    "store" => CounterAction::Store,
                    _ => CounterAction::Restore,
                };
                Ok(StmtKind::Counters { tasks, action })
            }
            "is" => {
                self.expect("assigned")?;
                self.expect("to")?;
                let processor = if self.eat("a") {
                    self.expect("random")?;
                    self.expect("processor")?;
                    None
                } else {
                    self.expect("processor")?;
                    Some(self.expr()?)
                };
                Ok(StmtKind::Assign { tasks, processor })
            }
            _ => {
                self.expect("execute")?;
                let texts = self.texts()?;
                Ok(StmtKind::Backend { tasks, texts })
            }
        }
    }

    fn send(&mut self, sources: Tasks, asynchronous: bool) -> Parsed<StmtKind> {
        let message = self.message("from")?;
        self.expect("to")?;
        let unsuspecting = self.eat("unsuspecting");
        let targets = self.tasks()?;
        let mut receive = None;
        if self.is("who") {
            let span = self.span();
            if unsuspecting {
                self.report(
                    "UNSUSPECTING with WHO RECEIVES",
                    "a task that is unsuspecting cannot be told how to receive".into(),
                    span,
                    None,
                );
            }
            self.advance();
            self.expect("receive")?;
            self.expect("it")?;
            receive = Some(self.receive_as()?);
        }
        Ok(StmtKind::Send {
            sources,
            asynchronous,
            message,
            unsuspecting,
            targets,
            receive,
        })
    }

    fn reduce(&mut self, sources: Tasks) -> Parsed<StmtKind> {
        let what = self.reduction()?;
        let mut to = None;
        if self.eat("to") {
            to = Some(if matches!(self.tok(), Tok::Word("task" | "all")) {
                let tasks = self.tasks()?;
                let mut result = None;
                if self.eat("who") {
                    self.expect("receive")?;
                    self.expect("the")?;
                    self.expect("result")?;
                    result = Some(self.result_as()?);
                }
                ReduceTo::Tasks { tasks, result }
            } else {
                ReduceTo::Same(self.reduction()?)
            });
        }
        Ok(StmtKind::Reduce { sources, what, to })
    }

    fn touches(&mut self, tasks: Tasks) -> Parsed<StmtKind> {
        if self.eat("all") {
            self.expect("message")?;
            self.expect("buffer")?;
            return Ok(StmtKind::TouchBuffers { tasks, buffer: None });
        }
        if self.eat("the") {
            for word in ["current", "message", "buffer"] {
                self.expect(word)?;
            }
            return Ok(StmtKind::TouchBuffers { tasks, buffer: None });
        }
        if self.eat("message") {
            self.expect("buffer")?;
            let buffer = Some(self.expr()?);
            return Ok(StmtKind::TouchBuffers { tasks, buffer });
        }
        let mut count = None;
        if !self.is("a") {
            let number = self.expr()?;
            let (word, _) = self.take_data_type()?;
            self.expect("of")?;
            count = Some((number, data_type(word).unwrap_or(1)));
        }
        self.expect("a")?;
        let region = if matches!(self.peek(1), Tok::Word("sized")) {
            let (word, _) = self.take_data_type()?;
            self.advance();
            (None, Multiplier::Bytes(data_type(word).unwrap_or(1)))
        } else {
            let size = self.expr()?;
            match multiplier(self.word()) {
                Some(unit) => {
                    self.advance();
                    (Some(size), unit)
                }
                None => return self.unexpected("a unit (BYTES, WORDS, KILOBYTE, ...)"),
            }
        };
        self.expect("memory")?;
        self.expect("region")?;
        let mut times = None;
        if self.at_expr() {
            times = Some(self.expr()?);
            self.expect("time")?;
        }
        let mut stride = Stride::Default;
        if self.eat("with") {
            if self.eat("random") {
                self.expect("stride")?;
                stride = Stride::Random;
            } else {
                self.expect("stride")?;
                let length = self.expr()?;
                let (word, _) = self.take_data_type()?;
                stride = Stride::Bytes(length, data_type(word).unwrap_or(1));
            }
        }
        Ok(StmtKind::Touch {
            tasks,
            count,
            region,
            times,
            stride,
        })
    }

    fn texts(&mut self) -> Parsed<Vec<Text>> {
        let mut list = vec![self.text_or_value()?];
        while self.eat("and") {
            list.push(self.text_or_value()?);
        }
        Ok(list)
    }

    fn text_or_value(&mut self) -> Parsed<Text> {
        if self.is("the") && matches!(self.peek(1), Tok::Word("value")) {
            self.advance();
            self.advance();
            self.expect("of")?;
        }
        if let Tok::Text(text) = self.tok() {
            let text = text.clone();
            self.advance();
            return Ok(Text::Literal(text));
        }
        Ok(Text::Value(self.expr()?))
    }

    fn log_item(&mut self) -> Parsed<LogItem> {
        let mut aggregates = Vec::new();
        let mut percentiles = Vec::new();
        let value = if self.eat("each") {
            aggregates.push(Aggregate::Each);
            self.expr()?
        } else if self.is("a") && matches!(self.peek(1), Tok::Word("histogram")) {
            self.advance();
            self.advance();
            self.expect("of")?;
            self.eat("the");
            aggregates.push(Aggregate::Histogram);
            self.expr()?
        } else {
            self.aggregated(&mut aggregates, &mut percentiles)?
        };
        self.expect("as")?;
        Ok(LogItem {
            aggregates,
            percentiles,
            value,
            label: self.text_or_value()?,
        })
    }

    /// `expr`, `THE expr`, or functions and what they are taken of.
    fn aggregated(
        &mut self,
        aggregates: &mut Vec<Aggregate>,
        percentiles: &mut Vec<super::super::ast::Expr>,
    ) -> Parsed<super::super::ast::Expr> {
        let mut the = self.eat("the");
        loop {
            if let Some(found) = self.aggregate_function()? {
                aggregates.push(found);
            } else {
                let value = self.expr()?;
                if !self.eat("percentile") {
                    if aggregates.is_empty() {
                        aggregates.push(if the { Aggregate::The } else { Aggregate::Each });
                        return Ok(value);
                    }
                    return self.unexpected("PERCENTILE");
                }
                aggregates.push(Aggregate::Percentile);
                percentiles.push(value);
            }
            if !self.eat("and") {
                break;
            }
            the = self.eat("the");
        }
        if self.eat("of") {
            self.eat("the");
        }
        self.expr()
    }

    fn aggregate_function(&mut self) -> Parsed<Option<Aggregate>> {
        let found = match self.word() {
            "arithmetic" | "harmonic" | "geometric" => {
                let kind = match self.word() {
                    "arithmetic" => Aggregate::Mean,
                    "harmonic" => Aggregate::HarmonicMean,
                    _ => Aggregate::GeometricMean,
                };
                self.advance();
                self.expect("mean")?;
                return Ok(Some(kind));
            }
            "median" => {
                self.advance();
                if self.eat("absolute") {
                    self.expect("deviation")?;
                    return Ok(Some(Aggregate::MedianAbsoluteDeviation));
                }
                return Ok(Some(Aggregate::Median));
            }
            "standard" => {
                self.advance();
                self.expect("deviation")?;
                return Ok(Some(Aggregate::StandardDeviation));
            }
            "mean" => Aggregate::Mean,
            "variance" => Aggregate::Variance,
            "sum" => Aggregate::Sum,
            "minimum" => Aggregate::Minimum,
            "maximum" => Aggregate::Maximum,
            "final" => Aggregate::Final,
            _ => return Ok(None),
        };
        self.advance();
        Ok(Some(found))
    }

    /// File access: `READ size [unit] [FROM FILE f] [AT OFFSET o]`, `OPEN [FILE] f`, ...
    fn io(&mut self, tasks: Tasks, verb: IoVerb, asynchronous: bool) -> Parsed<StmtKind> {
        let mut size = None;
        let mut file = None;
        let mut offset = None;
        if matches!(verb, IoVerb::Read | IoVerb::Write) {
            let amount = self.expr()?;
            let unit = multiplier(self.word());
            if unit.is_some() {
                self.advance();
            }
            size = Some((amount, unit));
            if matches!(self.tok(), Tok::Word("from" | "to")) {
                let expected = if verb == IoVerb::Read { "from" } else { "to" };
                self.expect(expected)?;
                if !self.is_name(&["file"]) {
                    return self.unexpected("FILE");
                }
                self.advance();
                file = Some(self.expr()?);
            }
            if self.is_name(&["at"]) {
                self.advance();
                if !self.is_name(&["offset"]) {
                    return self.unexpected("OFFSET");
                }
                self.advance();
                offset = Some(self.expr()?);
            }
        } else {
            if self.is_name(&["file"]) && self.expr_begins(1) {
                self.advance();
            }
            if self.at_expr() {
                file = Some(self.expr()?);
            }
        }
        Ok(StmtKind::Io {
            tasks,
            verb,
            size,
            file,
            offset,
            asynchronous,
        })
    }

    /// Whether what stands `ahead` can begin an operand (and not continue an expression).
    fn expr_begins(&self, ahead: usize) -> bool {
        match self.peek(ahead) {
            Tok::Int(_) | Tok::Name(_) | Tok::Sign("(") => true,
            Tok::Word(word) => matches!(
                *word,
                "my" | "real" | "abs" | "min" | "max" | "processor_of" | "task_of"
            ),
            _ => false,
        }
    }
}
