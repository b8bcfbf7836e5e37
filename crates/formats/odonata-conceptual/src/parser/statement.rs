//! Statements.

use super::super::ast::{CounterAction, IoVerb, ReduceTo, Stmt, StmtKind, Tasks};
use super::super::keyword::nearest;
use super::super::lexer::Tok;
use super::{Parsed, Parser, Stop};

/// The keywords that can follow the acting tasks.
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

/// The verbs of file access, which are not keywords: programs may use them as variables.
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
pub(super) fn unit_of_time(word: &str) -> Option<i64> {
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

    pub(super) fn body(&mut self) -> Parsed<Box<Stmt>> {
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

    pub(super) fn unit_of_time(&mut self) -> Parsed<i64> {
        match unit_of_time(self.word()) {
            Some(unit) => {
                self.advance();
                Ok(unit)
            }
            None => self.unexpected("a unit of time (MICROSECONDS to DAYS)"),
        }
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
                    "an unsuspecting task takes no receive attributes".into(),
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
}
