//! Arguments of LOGS and OUTPUTS: texts, values, aggregates.

use odonata_workload::aggregate::Aggregate;

use super::super::ast::{Expr, LogItem, Text};
use super::super::lexer::Tok;
use super::expression::expr;
use super::{Parsed, Parser};

pub(super) fn texts(parser: &mut Parser) -> Parsed<Vec<Text>> {
    let mut list = vec![text_or_value(parser)?];
    while parser.eat("and") {
        list.push(text_or_value(parser)?);
    }
    Ok(list)
}

fn text_or_value(parser: &mut Parser) -> Parsed<Text> {
    if parser.is("the") && matches!(parser.peek(1), Tok::Word("value")) {
        parser.advance();
        parser.advance();
        parser.expect("of")?;
    }
    if let Tok::Text(text) = parser.tok() {
        let text = text.clone();
        parser.advance();
        return Ok(Text::Literal(text));
    }
    Ok(Text::Value(expr(parser)?))
}

pub(super) fn log_item(parser: &mut Parser) -> Parsed<LogItem> {
    let mut aggregates = Vec::new();
    let mut percentiles = Vec::new();
    let value = if parser.eat("each") {
        aggregates.push(Aggregate::Each);
        expr(parser)?
    } else if parser.is("a") && matches!(parser.peek(1), Tok::Word("histogram")) {
        parser.advance();
        parser.advance();
        parser.expect("of")?;
        parser.eat("the");
        aggregates.push(Aggregate::Histogram);
        expr(parser)?
    } else {
        aggregated(parser, &mut aggregates, &mut percentiles)?
    };
    parser.expect("as")?;
    Ok(LogItem {
        aggregates,
        percentiles,
        value,
        label: text_or_value(parser)?,
    })
}

/// `expr`, `THE expr`, or functions and their argument.
fn aggregated(parser: &mut Parser, aggregates: &mut Vec<Aggregate>, percentiles: &mut Vec<Expr>) -> Parsed<Expr> {
    let mut the = parser.eat("the");
    loop {
        if let Some(found) = aggregate_function(parser)? {
            aggregates.push(found);
        } else {
            let value = expr(parser)?;
            if !parser.eat("percentile") {
                if aggregates.is_empty() {
                    aggregates.push(if the { Aggregate::The } else { Aggregate::Each });
                    return Ok(value);
                }
                return parser.unexpected("PERCENTILE");
            }
            aggregates.push(Aggregate::Percentile);
            percentiles.push(value);
        }
        if !parser.eat("and") {
            break;
        }
        the = parser.eat("the");
    }
    if parser.eat("of") {
        parser.eat("the");
    }
    expr(parser)
}

fn aggregate_function(parser: &mut Parser) -> Parsed<Option<Aggregate>> {
    let found = match parser.word() {
        "arithmetic" | "harmonic" | "geometric" => {
            let kind = match parser.word() {
                "arithmetic" => Aggregate::Mean,
                "harmonic" => Aggregate::HarmonicMean,
                _ => Aggregate::GeometricMean,
            };
            parser.advance();
            parser.expect("mean")?;
            return Ok(Some(kind));
        }
        "median" => {
            parser.advance();
            if parser.eat("absolute") {
                parser.expect("deviation")?;
                return Ok(Some(Aggregate::MedianAbsoluteDeviation));
            }
            return Ok(Some(Aggregate::Median));
        }
        "standard" => {
            parser.advance();
            parser.expect("deviation")?;
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
    parser.advance();
    Ok(Some(found))
}
