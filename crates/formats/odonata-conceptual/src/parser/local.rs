//! Statements without messages: touching memory, files.

use super::super::ast::{IoVerb, Multiplier, StmtKind, Stride, Tasks, Touch};
use super::super::lexer::Tok;
use super::expression::{at_expr, expr};
use super::message::{data_type, multiplier, take_data_type};
use super::{Parsed, Parser};

pub(super) fn touches(parser: &mut Parser, tasks: Tasks) -> Parsed<StmtKind> {
    if parser.eat("all") {
        parser.expect("message")?;
        parser.expect("buffer")?;
        return Ok(StmtKind::TouchBuffers { tasks, buffer: None });
    }
    if parser.eat("the") {
        for word in ["current", "message", "buffer"] {
            parser.expect(word)?;
        }
        return Ok(StmtKind::TouchBuffers { tasks, buffer: None });
    }
    if parser.eat("message") {
        parser.expect("buffer")?;
        let buffer = Some(expr(parser)?);
        return Ok(StmtKind::TouchBuffers { tasks, buffer });
    }
    let mut count = None;
    if !parser.is("a") {
        let number = expr(parser)?;
        let (word, _) = take_data_type(parser)?;
        parser.expect("of")?;
        count = Some((number, data_type(word).unwrap_or(1)));
    }
    parser.expect("a")?;
    let region = if matches!(parser.peek(1), Tok::Word("sized")) {
        let (word, _) = take_data_type(parser)?;
        parser.advance();
        (None, Multiplier::Bytes(data_type(word).unwrap_or(1)))
    } else {
        let size = expr(parser)?;
        match multiplier(parser.word()) {
            Some(unit) => {
                parser.advance();
                (Some(size), unit)
            }
            None => return parser.unexpected("a unit (BYTES, WORDS, KILOBYTE, ...)"),
        }
    };
    parser.expect("memory")?;
    parser.expect("region")?;
    let mut times = None;
    if at_expr(parser) {
        times = Some(expr(parser)?);
        parser.expect("time")?;
    }
    let mut stride = Stride::Default;
    if parser.eat("with") {
        if parser.eat("random") {
            parser.expect("stride")?;
            stride = Stride::Random;
        } else {
            parser.expect("stride")?;
            let length = expr(parser)?;
            let (word, _) = take_data_type(parser)?;
            stride = Stride::Bytes(length, data_type(word).unwrap_or(1));
        }
    }
    Ok(StmtKind::Touch(Touch {
        tasks,
        count,
        region,
        times,
        stride,
    }))
}

/// File access: `READ size [unit] [FROM FILE f] [AT OFFSET o]`, `OPEN [FILE] f`, ...
pub(super) fn io(parser: &mut Parser, tasks: Tasks, verb: IoVerb, asynchronous: bool) -> Parsed<StmtKind> {
    let mut size = None;
    let mut file = None;
    let mut offset = None;
    if matches!(verb, IoVerb::Read | IoVerb::Write) {
        let amount = expr(parser)?;
        let unit = multiplier(parser.word());
        if unit.is_some() {
            parser.advance();
        }
        size = Some((amount, unit));
        if matches!(parser.tok(), Tok::Word("from" | "to")) {
            let expected = if verb == IoVerb::Read { "from" } else { "to" };
            parser.expect(expected)?;
            if !parser.is_name(&["file"]) {
                return parser.unexpected("FILE");
            }
            parser.advance();
            file = Some(expr(parser)?);
        }
        if parser.is_name(&["at"]) {
            parser.advance();
            if !parser.is_name(&["offset"]) {
                return parser.unexpected("OFFSET");
            }
            parser.advance();
            offset = Some(expr(parser)?);
        }
    } else {
        if parser.is_name(&["file"]) && expr_begins(parser, 1) {
            parser.advance();
        }
        if at_expr(parser) {
            file = Some(expr(parser)?);
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

/// Whether the token `ahead` can begin an operand (and not continue an expression).
fn expr_begins(parser: &Parser, ahead: usize) -> bool {
    match parser.peek(ahead) {
        Tok::Int(_) | Tok::Name(_) | Tok::Sign("(") => true,
        Tok::Word(word) => matches!(
            *word,
            "my" | "real" | "abs" | "min" | "max" | "processor_of" | "task_of"
        ),
        _ => false,
    }
}
