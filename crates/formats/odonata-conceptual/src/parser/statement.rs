//! Statements.

use super::super::ast::{CounterAction, IoVerb, Receive, ReduceTo, Send, Stmt, StmtKind, Tasks};
use super::super::keyword::nearest;
use super::super::lexer::Tok;
use super::expression::{cond, expr};
use super::flow::{bindings, repetition};
use super::local::{io, touches};
use super::message::{message, mode, receive_as, reduction, result_as};
use super::report::{log_item, texts};
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

pub(super) fn statement(parser: &mut Parser) -> Parsed<Stmt> {
    let start = parser.span();
    let kind = parser.nested(statement_kind)?;
    Ok(Stmt {
        kind,
        span: start.to(parser.previous()),
    })
}

pub(super) fn body(parser: &mut Parser) -> Parsed<Box<Stmt>> {
    Ok(Box::new(statement(parser)?))
}

fn statement_kind(parser: &mut Parser) -> Parsed<StmtKind> {
    if parser.eat_sign("{") {
        return block(parser);
    }
    if parser.eat("for") {
        return repetition(parser);
    }
    if parser.eat("let") {
        return bindings(parser);
    }
    if parser.eat("if") {
        let cond = cond(parser)?;
        parser.expect("then")?;
        let yes = body(parser)?;
        let no = if parser.eat("otherwise") {
            Some(body(parser)?)
        } else {
            None
        };
        return Ok(StmtKind::If { cond, yes, no });
    }
    if parser.eat("assert") {
        parser.expect("that")?;
        let about = parser.text()?.text;
        parser.expect("with")?;
        return Ok(StmtKind::Assert {
            about,
            cond: cond(parser)?,
        });
    }
    let tasks = super::tasks(parser)?;
    action(parser, tasks)
}

fn block(parser: &mut Parser) -> Parsed<StmtKind> {
    if parser.eat_sign("}") {
        return Ok(StmtKind::Block(Vec::new()));
    }
    let list = super::statements(parser)?;
    if parser.eat_sign("}") {
        return Ok(StmtKind::Block(list));
    }
    if matches!(
        parser.tok(),
        Tok::Word("task" | "all" | "for" | "let" | "if" | "assert") | Tok::Sign("{" | ".")
    ) {
        let span = parser.span();
        return Err(parser.report(
            "statements not separated by THEN inside braces",
            "statements inside braces are separated by THEN".into(),
            span,
            Some("write THEN between them".into()),
        ));
    }
    parser.unexpected("THEN or \"}\"")
}

pub(super) fn take_unit_of_time(parser: &mut Parser) -> Parsed<i64> {
    match unit_of_time(parser.word()) {
        Some(unit) => {
            parser.advance();
            Ok(unit)
        }
        None => parser.unexpected("a unit of time (MICROSECONDS to DAYS)"),
    }
}

/// What `tasks` do.
fn action(parser: &mut Parser, tasks: Tasks) -> Parsed<StmtKind> {
    if let Tok::Name(name) = parser.tok() {
        if let Some(verb) = io_verb(name) {
            parser.advance();
            return io(parser, tasks, verb, false);
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
        parser.unexpected::<()>("what the tasks do (SEND, RECEIVE, ...)").ok();
        if let (Some(near), Some(error)) = (near, parser.errors.last_mut()) {
            error.hint = Some(near);
        }
        return Err(Stop);
    }
    let mode = mode(parser);
    let asynchronous = mode.unwrap_or(false);
    if let (Some(_), Tok::Name(name)) = (mode, parser.tok())
        && let Some(verb @ (IoVerb::Read | IoVerb::Write)) = io_verb(name)
    {
        parser.advance();
        return io(parser, tasks, verb, asynchronous);
    }
    let verb = parser.word();
    if mode.is_some() && !matches!(verb, "send" | "receive" | "multicast") {
        return parser.unexpected("SEND, RECEIVE, MULTICAST, READ or WRITE");
    }
    if !VERBS.contains(&verb) || matches!(verb, "such" | "who" | "asynchronously" | "synchronously") {
        return parser.unexpected("what the tasks do (SEND, RECEIVE, ...)");
    }
    parser.advance();
    match verb {
        "send" => send(parser, tasks, asynchronous),
        "receive" => {
            let message = message(parser, "into")?;
            parser.expect("from")?;
            Ok(StmtKind::Receive(Receive {
                receivers: tasks,
                asynchronous,
                message,
                senders: super::tasks(parser)?,
            }))
        }
        "multicast" => {
            let message = message(parser, "from")?;
            parser.expect("to")?;
            Ok(StmtKind::Multicast {
                sources: tasks,
                asynchronous,
                message,
                targets: super::tasks(parser)?,
            })
        }
        "reduce" => reduce(parser, tasks),
        "synchronize" => Ok(StmtKind::Synchronize { tasks }),
        "await" => {
            parser.expect("completion")?;
            Ok(StmtKind::Await { tasks })
        }
        "compute" if parser.eat("aggregates") => Ok(StmtKind::Aggregates { tasks }),
        "compute" | "sleep" => {
            parser.expect("for")?;
            let time = expr(parser)?;
            let unit = take_unit_of_time(parser)?;
            Ok(StmtKind::Delay {
                tasks,
                sleep: verb == "sleep",
                time,
                unit,
            })
        }
        "touch" => touches(parser, tasks),
        "log" => {
            let mut items = vec![log_item(parser)?];
            while parser.eat("and") {
                items.push(log_item(parser)?);
            }
            Ok(StmtKind::Log { tasks, items })
        }
        "output" => {
            let texts = texts(parser)?;
            Ok(StmtKind::Output { tasks, texts })
        }
        "reset" | "store" | "restore" => {
            parser.expect("its")?;
            parser.expect("counters")?;
            let action = match verb {
                "reset" => CounterAction::Reset,
                "store" => CounterAction::Store,
                _ => CounterAction::Restore,
            };
            Ok(StmtKind::Counters { tasks, action })
        }
        "is" => {
            parser.expect("assigned")?;
            parser.expect("to")?;
            let processor = if parser.eat("a") {
                parser.expect("random")?;
                parser.expect("processor")?;
                None
            } else {
                parser.expect("processor")?;
                Some(expr(parser)?)
            };
            Ok(StmtKind::Assign { tasks, processor })
        }
        _ => {
            parser.expect("execute")?;
            let texts = texts(parser)?;
            Ok(StmtKind::Backend { tasks, texts })
        }
    }
}

fn send(parser: &mut Parser, sources: Tasks, asynchronous: bool) -> Parsed<StmtKind> {
    let message = message(parser, "from")?;
    parser.expect("to")?;
    let unsuspecting = parser.eat("unsuspecting");
    let targets = super::tasks(parser)?;
    let mut receive = None;
    if parser.is("who") {
        let span = parser.span();
        if unsuspecting {
            parser.report(
                "UNSUSPECTING with WHO RECEIVES",
                "an unsuspecting task takes no receive attributes".into(),
                span,
                None,
            );
        }
        parser.advance();
        parser.expect("receive")?;
        parser.expect("it")?;
        receive = Some(receive_as(parser)?);
    }
    Ok(StmtKind::Send(Send {
        sources,
        asynchronous,
        message,
        unsuspecting,
        targets,
        receive,
    }))
}

fn reduce(parser: &mut Parser, sources: Tasks) -> Parsed<StmtKind> {
    let what = reduction(parser)?;
    let mut to = None;
    if parser.eat("to") {
        to = Some(if matches!(parser.tok(), Tok::Word("task" | "all")) {
            let tasks = super::tasks(parser)?;
            let mut result = None;
            if parser.eat("who") {
                parser.expect("receive")?;
                parser.expect("the")?;
                parser.expect("result")?;
                result = Some(result_as(parser)?);
            }
            ReduceTo::Tasks { tasks, result }
        } else {
            ReduceTo::Same(reduction(parser)?)
        });
    }
    Ok(StmtKind::Reduce { sources, what, to })
}
