//! Descriptions of messages, of reductions and of receive attributes.

use super::super::ast::{Expr, Message, Multiplier, ReceiveAs, Reduction, ResultAs, Tag};
use super::super::diagnostic::Span;
use super::super::lexer::Tok;
use super::expression::{at_expr, expr};
use super::{Parsed, Parser};

/// Bytes of the data types. INTEGER is C's int; PAGE is 4096 bytes.
pub(super) fn data_type(word: &str) -> Option<u32> {
    Some(match word {
        "byte" => 1,
        "halfword" => 2,
        "word" | "integer" => 4,
        "doubleword" => 8,
        "quadword" => 16,
        "page" => 4096,
        _ => return None,
    })
}

/// The words that can follow a number of units.
pub(super) fn multiplier(word: &str) -> Option<Multiplier> {
    Some(match word {
        "bit" => Multiplier::Bit,
        "kilobyte" => Multiplier::Bytes(1 << 10),
        "megabyte" => Multiplier::Bytes(1 << 20),
        "gigabyte" => Multiplier::Bytes(1 << 30),
        _ => Multiplier::Bytes(data_type(word)?),
    })
}

/// UNIQUE, item size and alignment.
#[derive(Default)]
struct Shape {
    size: Option<(Option<Expr>, Multiplier)>,
    aligned: bool,
    others: Vec<Expr>,
}

/// `A` or an expression.
fn count(parser: &mut Parser) -> Parsed<Option<Expr>> {
    if parser.eat("a") {
        Ok(None)
    } else {
        Ok(Some(expr(parser)?))
    }
}

fn unique(parser: &mut Parser) {
    if !parser.eat("unique") {
        parser.eat("nonunique");
    }
}

fn take_multiplier(parser: &mut Parser) -> Parsed<Multiplier> {
    match multiplier(parser.word()) {
        Some(found) => {
            parser.advance();
            Ok(found)
        }
        None => parser.unexpected("a unit (BYTES, WORDS, KILOBYTE, ...)"),
    }
}

pub(super) fn take_data_type(parser: &mut Parser) -> Parsed<(&'static str, Span)> {
    let found = (parser.word(), parser.span());
    if data_type(found.0).is_none() {
        return parser.unexpected("a data type (BYTES, INTEGERS, DOUBLEWORDS, ...)");
    }
    parser.advance();
    Ok(found)
}

fn aligned_follows(parser: &Parser, ahead: usize) -> bool {
    matches!(parser.peek(ahead), Tok::Word("aligned" | "misaligned"))
}

/// The part between the count and the word MESSAGES; without sizes before a data type.
fn shape(parser: &mut Parser, sizes: bool) -> Parsed<Shape> {
    let mut shape = Shape::default();
    unique(parser);
    loop {
        if parser.eat("unaligned") {
            return Ok(shape);
        }
        let begin = parser.at;
        // A function name before a parenthesis is a function, even if it is also a unit (BITS).
        let quantity = if at_expr(parser) { Some(expr(parser)?) } else { None };
        if multiplier(parser.word()).is_some() && aligned_follows(parser, 1) {
            parser.advance();
            parser.advance();
            shape.aligned = true;
            shape.others.extend(quantity);
            return Ok(shape);
        }
        match quantity {
            Some(quantity) if sizes && shape.size.is_none() => {
                shape.size = Some((Some(quantity), take_multiplier(parser)?));
            }
            // No alignment either: the missing word is reported here.
            Some(_) => {
                parser.at = begin;
                return Ok(shape);
            }
            None if sizes && shape.size.is_none() && matches!(parser.peek(1), Tok::Word("sized")) => {
                let (word, _) = take_data_type(parser)?;
                parser.advance();
                shape.size = Some((None, Multiplier::Bytes(data_type(word).unwrap_or(1))));
            }
            None => return Ok(shape),
        }
    }
}

/// WITH or WITHOUT DATA TOUCHING or VERIFICATION: whether verification is requested, if given.
fn touch(parser: &mut Parser) -> Parsed<Option<bool>> {
    if !matches!(parser.tok(), Tok::Word("with" | "without"))
        || !matches!(parser.peek(1), Tok::Word("data" | "verification"))
    {
        return Ok(None);
    }
    let with = parser.is("with");
    parser.advance();
    if parser.eat("verification") {
        return Ok(Some(with));
    }
    parser.expect("data")?;
    parser.expect("touching")?;
    Ok(Some(false))
}

/// WITHOUT COMPLETION, an extension: the message is never awaited.
fn without_completion(parser: &mut Parser) -> Option<Span> {
    let span = parser.span();
    let found = parser.is("without") && matches!(parser.peek(1), Tok::Word("completion"));
    if found {
        parser.advance();
        parser.advance();
    }
    found.then(|| span.to(parser.previous()))
}

fn tag(parser: &mut Parser) -> Parsed<Option<Tag>> {
    if !parser.eat("using") {
        return Ok(None);
    }
    parser.expect("tag")?;
    if let Tok::Text(text) = parser.tok() {
        let text = text.clone();
        parser.advance();
        return Ok(Some(Tag::Text(text)));
    }
    Ok(Some(Tag::Number(expr(parser)?)))
}

/// A buffer after FROM or INTO: (its expressions, whether it has an offset). FROM also precedes the senders of a
/// RECEIVES, which are tasks.
fn buffer(parser: &mut Parser, preposition: &str) -> Parsed<(Vec<Expr>, bool)> {
    let mut others = Vec::new();
    let mut offset = false;
    if !parser.is(preposition) || matches!(parser.peek(1), Tok::Word("task" | "all")) {
        return Ok((others, offset));
    }
    parser.advance();
    if !matches!(parser.tok(), Tok::Word("the" | "buffer")) {
        others.push(expr(parser)?);
        take_multiplier(parser)?;
        parser.expect("into")?;
        offset = true;
    }
    if parser.eat("the") {
        parser.expect("default")?;
        parser.expect("buffer")?;
    } else {
        parser.expect("buffer")?;
        others.push(expr(parser)?);
    }
    Ok((others, offset))
}

/// A description of messages, with its buffer after `preposition`.
pub(super) fn message(parser: &mut Parser, preposition: &str) -> Parsed<Message> {
    let start = parser.span();
    let count = count(parser)?;
    let shape = shape(parser, true)?;
    if !parser.eat("message") {
        let unit = multiplier(parser.word()).is_some();
        parser.unexpected::<()>("MESSAGE").ok();
        if let (true, Some(error)) = (unit, parser.errors.last_mut()) {
            error.hint = Some("a number before the unit is the size only after a count: write A 5 BYTE MESSAGE".into());
        }
        return Err(super::Stop);
    }
    let verification = touch(parser)?.unwrap_or(false);
    let detached = without_completion(parser);
    let tag = tag(parser)?;
    let (buffers, offset) = buffer(parser, preposition)?;
    let mut others = shape.others;
    others.extend(buffers);
    Ok(Message {
        span: start.to(parser.previous()),
        count,
        size: shape.size,
        tag,
        verification,
        detached,
        others,
        aligned: shape.aligned,
        offset,
    })
}

pub(super) fn mode(parser: &mut Parser) -> Option<bool> {
    if parser.eat("asynchronously") {
        Some(true)
    } else if parser.eat("synchronously") {
        Some(false)
    } else {
        None
    }
}

/// The attributes after `WHO RECEIVES IT`.
pub(super) fn receive_as(parser: &mut Parser) -> Parsed<ReceiveAs> {
    let start = parser.span();
    let first = parser.at;
    let asynchronous = mode(parser);
    let mut others = Vec::new();
    if parser.eat("as") {
        parser.eat("a");
        let shape = shape(parser, false)?;
        others.extend(shape.others);
        parser.expect("message")?;
    }
    let verification = touch(parser)?;
    let tag = tag(parser)?;
    others.extend(buffer(parser, "into")?.0);
    if parser.at == first {
        let span = parser.previous();
        return Err(parser.report(
            "empty WHO RECEIVES",
            "WHO RECEIVES IT has no attributes".into(),
            span,
            Some(
                "add an attribute: SYNCHRONOUSLY, AS AN UNALIGNED MESSAGE, USING TAG 1, INTO BUFFER 2, \
             ..."
                .into(),
            ),
        ));
    }
    Ok(ReceiveAs {
        span: start.to(parser.previous()),
        asynchronous,
        tag,
        verification,
        others,
    })
}

/// A count of items of a reducible type.
pub(super) fn reduction(parser: &mut Parser) -> Parsed<Reduction> {
    let start = parser.span();
    let count = count(parser)?;
    let shape = shape(parser, false)?;
    let item = take_data_type(parser)?;
    let mut others = shape.others;
    let verification = touch(parser)?.unwrap_or(false);
    match tag(parser)? {
        Some(Tag::Number(tag)) => others.push(tag),
        Some(Tag::Text(_)) | None => {}
    }
    others.extend(buffer(parser, "from")?.0);
    Ok(Reduction {
        span: start.to(parser.previous()),
        count,
        item,
        verification,
        others,
    })
}

/// The attributes after `WHO RECEIVES THE RESULT`.
pub(super) fn result_as(parser: &mut Parser) -> Parsed<ResultAs> {
    let start = parser.span();
    let first = parser.at;
    let mut others = Vec::new();
    let what = if parser.eat("as") {
        let count = count(parser)?;
        others.extend(shape(parser, false)?.others);
        Some((count, take_data_type(parser)?))
    } else {
        None
    };
    let verification = touch(parser)?;
    match tag(parser)? {
        Some(Tag::Number(tag)) => others.push(tag),
        Some(Tag::Text(_)) | None => {}
    }
    others.extend(buffer(parser, "into")?.0);
    if parser.at == first {
        let span = parser.previous();
        return Err(parser.report(
            "empty WHO RECEIVES",
            "WHO RECEIVES THE RESULT has no attributes".into(),
            span,
            None,
        ));
    }
    Ok(ResultAs {
        span: start.to(parser.previous()),
        what,
        verification,
        others,
    })
}
