//! Loops and bindings.

use super::super::ast::{Bound, Expr, RandomLimits, StmtKind, Warmup};
use super::super::lexer::Tok;
use super::expression::{expr, ranges};
use super::statement::{body, take_unit_of_time, unit_of_time};
use super::{Parsed, Parser};

pub(super) fn repetition(parser: &mut Parser) -> Parsed<StmtKind> {
    if parser.eat("each") {
        let name = parser.declared()?;
        parser.expect("in")?;
        let ranges = ranges(parser)?;
        return Ok(StmtKind::Each {
            name,
            ranges,
            body: body(parser)?,
        });
    }
    let count = expr(parser)?;
    if parser.eat("repetition") {
        let warmup = warmup(parser, false)?;
        return Ok(StmtKind::Repeat {
            count,
            warmup,
            body: body(parser)?,
        });
    }
    let Some(unit) = unit_of_time(parser.word()) else {
        return parser.unexpected("REPETITIONS or a unit of time");
    };
    parser.advance();
    let warmup = warmup(parser, true)?;
    Ok(StmtKind::Timed {
        limit: count,
        unit,
        warmup,
        body: body(parser)?,
    })
}

fn warmup(parser: &mut Parser, timed: bool) -> Parsed<Option<Warmup>> {
    if !parser.eat("plus") {
        return Ok(None);
    }
    let count = expr(parser)?;
    parser.expect("warmup")?;
    let mut unit = 1;
    if timed {
        unit = take_unit_of_time(parser)?;
    } else {
        parser.expect("repetition")?;
    }
    let synchronize = parser.eat("and");
    if synchronize {
        parser.expect("a")?;
        parser.expect("synchronization")?;
    }
    Ok(Some(Warmup {
        count,
        unit,
        synchronize,
    }))
}

pub(super) fn bindings(parser: &mut Parser) -> Parsed<StmtKind> {
    let mut bindings = Vec::new();
    loop {
        let name = parser.declared()?;
        parser.expect("be")?;
        let bound = if parser.is("a") && matches!(parser.peek(1), Tok::Word("random")) {
            parser.advance();
            parser.advance();
            parser.expect("task")?;
            Bound::Random(limits(parser)?)
        } else if matches!(parser.tok(), Tok::Word("task" | "all")) {
            Bound::Tasks(super::tasks(parser)?)
        } else {
            Bound::Value(expr(parser)?)
        };
        bindings.push((name, bound));
        if !parser.eat("and") {
            break;
        }
    }
    parser.expect("while")?;
    Ok(StmtKind::Let {
        bindings,
        body: body(parser)?,
    })
}

fn limits(parser: &mut Parser) -> Parsed<RandomLimits> {
    if parser.eat("other") {
        parser.expect("than")?;
        return Ok(RandomLimits::Other(expr(parser)?));
    }
    if parser.eat("less") {
        parser.expect("than")?;
        let limit = expr(parser)?;
        return Ok(RandomLimits::Less(limit, but_not(parser)?));
    }
    if parser.eat("greater") {
        parser.expect("than")?;
        let limit = expr(parser)?;
        return Ok(RandomLimits::Greater(limit, but_not(parser)?));
    }
    if parser.eat("in") {
        parser.expect_sign("[")?;
        let low = expr(parser)?;
        parser.expect_sign(",")?;
        let high = expr(parser)?;
        parser.expect_sign("]")?;
        return Ok(RandomLimits::In(low, high, but_not(parser)?));
    }
    Ok(RandomLimits::None)
}

fn but_not(parser: &mut Parser) -> Parsed<Option<Expr>> {
    if !parser.eat("but") {
        return Ok(None);
    }
    parser.expect("not")?;
    Ok(Some(expr(parser)?))
}
