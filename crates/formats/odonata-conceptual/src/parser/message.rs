//! Descriptions of messages, of reductions and of receive attributes.

use super::super::ast::{Expr, Message, Multiplier, ReceiveAs, Reduction, ResultAs, Tag};
use super::super::diagnostic::Span;
use super::super::lexer::Tok;
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

impl Parser {
    pub(super) fn word(&self) -> &'static str {
        match self.tok() {
            Tok::Word(word) => word,
            _ => "",
        }
    }

    /// `A` or an expression.
    fn count(&mut self) -> Parsed<Option<Expr>> {
        if self.eat("a") {
            Ok(None)
        } else {
            Ok(Some(self.expr()?))
        }
    }

    fn unique(&mut self) {
        if !self.eat("unique") {
            self.eat("nonunique");
        }
    }

    fn take_multiplier(&mut self) -> Parsed<Multiplier> {
        match multiplier(self.word()) {
            Some(found) => {
                self.advance();
                Ok(found)
            }
            None => self.unexpected("a unit (BYTES, WORDS, KILOBYTE, ...)"),
        }
    }

    pub(super) fn take_data_type(&mut self) -> Parsed<(&'static str, Span)> {
        let found = (self.word(), self.span());
        if data_type(found.0).is_none() {
            return self.unexpected("a data type (BYTES, INTEGERS, DOUBLEWORDS, ...)");
        }
        self.advance();
        Ok(found)
    }

    fn aligned_follows(&self, ahead: usize) -> bool {
        matches!(self.peek(ahead), Tok::Word("aligned" | "misaligned"))
    }

    /// The part between the count and the word MESSAGES; without sizes before a data type.
    fn shape(&mut self, sizes: bool) -> Parsed<Shape> {
        let mut shape = Shape::default();
        self.unique();
        loop {
            if self.eat("unaligned") {
                return Ok(shape);
            }
            let begin = self.at;
            // A function name before a parenthesis is a function, even if it is also a unit (BITS).
            let quantity = if self.at_expr() { Some(self.expr()?) } else { None };
            if multiplier(self.word()).is_some() && self.aligned_follows(1) {
                self.advance();
                self.advance();
                shape.aligned = true;
                shape.others.extend(quantity);
                return Ok(shape);
            }
            match quantity {
                Some(quantity) if sizes && shape.size.is_none() => {
                    shape.size = Some((Some(quantity), self.take_multiplier()?));
                }
                // No alignment either: the missing word is reported here.
                Some(_) => {
                    self.at = begin;
                    return Ok(shape);
                }
                None if sizes && shape.size.is_none() && matches!(self.peek(1), Tok::Word("sized")) => {
                    let (word, _) = self.take_data_type()?;
                    self.advance();
                    shape.size = Some((None, Multiplier::Bytes(data_type(word).unwrap_or(1))));
                }
                None => return Ok(shape),
            }
        }
    }

    /// WITH or WITHOUT DATA TOUCHING or VERIFICATION: whether verification is requested, if given.
    fn touch(&mut self) -> Parsed<Option<bool>> {
        if !matches!(self.tok(), Tok::Word("with" | "without"))
            || !matches!(self.peek(1), Tok::Word("data" | "verification"))
        {
            return Ok(None);
        }
        let with = self.is("with");
        self.advance();
        if self.eat("verification") {
            return Ok(Some(with));
        }
        self.expect("data")?;
        self.expect("touching")?;
        Ok(Some(false))
    }

    /// WITHOUT COMPLETION, an extension: the message is never awaited.
    fn without_completion(&mut self) -> Option<Span> {
        let span = self.span();
        let found = self.is("without") && matches!(self.peek(1), Tok::Word("completion"));
        if found {
            self.advance();
            self.advance();
        }
        found.then(|| span.to(self.previous()))
    }

    fn tag(&mut self) -> Parsed<Option<Tag>> {
        if !self.eat("using") {
            return Ok(None);
        }
        self.expect("tag")?;
        if let Tok::Text(text) = self.tok() {
            let text = text.clone();
            self.advance();
            return Ok(Some(Tag::Text(text)));
        }
        Ok(Some(Tag::Number(self.expr()?)))
    }

    /// A buffer after FROM or INTO: (its expressions, whether it has an offset). FROM also precedes the senders of a
    /// RECEIVES, which are tasks.
    fn buffer(&mut self, preposition: &str) -> Parsed<(Vec<Expr>, bool)> {
        let mut others = Vec::new();
        let mut offset = false;
        if !self.is(preposition) || matches!(self.peek(1), Tok::Word("task" | "all")) {
            return Ok((others, offset));
        }
        self.advance();
        if !matches!(self.tok(), Tok::Word("the" | "buffer")) {
            others.push(self.expr()?);
            self.take_multiplier()?;
            self.expect("into")?;
            offset = true;
        }
        if self.eat("the") {
            self.expect("default")?;
            self.expect("buffer")?;
        } else {
            self.expect("buffer")?;
            others.push(self.expr()?);
        }
        Ok((others, offset))
    }

    /// A description of messages, with its buffer after `preposition`.
    pub(super) fn message(&mut self, preposition: &str) -> Parsed<Message> {
        let start = self.span();
        let count = self.count()?;
        let shape = self.shape(true)?;
        if !self.eat("message") {
            let unit = multiplier(self.word()).is_some();
            self.unexpected::<()>("MESSAGE").ok();
            if let (true, Some(error)) = (unit, self.errors.last_mut()) {
                error.hint =
                    Some("a number before the unit is the size only after a count: write A 5 BYTE MESSAGE".into());
            }
            return Err(super::Stop);
        }
        let verification = self.touch()?.unwrap_or(false);
        let detached = self.without_completion();
        let tag = self.tag()?;
        let (buffers, offset) = self.buffer(preposition)?;
        let mut others = shape.others;
        others.extend(buffers);
        Ok(Message {
            span: start.to(self.previous()),
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

    pub(super) fn mode(&mut self) -> Option<bool> {
        if self.eat("asynchronously") {
            Some(true)
        } else if self.eat("synchronously") {
            Some(false)
        } else {
            None
        }
    }

    /// The attributes after `WHO RECEIVES IT`.
    pub(super) fn receive_as(&mut self) -> Parsed<ReceiveAs> {
        let start = self.span();
        let first = self.at;
        let asynchronous = self.mode();
        let mut others = Vec::new();
        if self.eat("as") {
            self.eat("a");
            let shape = self.shape(false)?;
            others.extend(shape.others);
            self.expect("message")?;
        }
        let verification = self.touch()?;
        let tag = self.tag()?;
        others.extend(self.buffer("into")?.0);
        if self.at == first {
            let span = self.previous();
            return Err(self.report(
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
            span: start.to(self.previous()),
            asynchronous,
            tag,
            verification,
            others,
        })
    }

    /// A count of items of a reducible type.
    pub(super) fn reduction(&mut self) -> Parsed<Reduction> {
        let start = self.span();
        let count = self.count()?;
        let shape = self.shape(false)?;
        let item = self.take_data_type()?;
        let mut others = shape.others;
        let verification = self.touch()?.unwrap_or(false);
        match self.tag()? {
            Some(Tag::Number(tag)) => others.push(tag),
            Some(Tag::Text(_)) | None => {}
        }
        others.extend(self.buffer("from")?.0);
        Ok(Reduction {
            span: start.to(self.previous()),
            count,
            item,
            verification,
            others,
        })
    }

    /// The attributes after `WHO RECEIVES THE RESULT`.
    pub(super) fn result_as(&mut self) -> Parsed<ResultAs> {
        let start = self.span();
        let first = self.at;
        let mut others = Vec::new();
        let what = if self.eat("as") {
            let count = self.count()?;
            others.extend(self.shape(false)?.others);
            Some((count, self.take_data_type()?))
        } else {
            None
        };
        let verification = self.touch()?;
        match self.tag()? {
            Some(Tag::Number(tag)) => others.push(tag),
            Some(Tag::Text(_)) | None => {}
        }
        others.extend(self.buffer("into")?.0);
        if self.at == first {
            let span = self.previous();
            return Err(self.report(
                "empty WHO RECEIVES",
                "WHO RECEIVES THE RESULT has no attributes".into(),
                span,
                None,
            ));
        }
        Ok(ResultAs {
            span: start.to(self.previous()),
            what,
            verification,
            others,
        })
    }
}
