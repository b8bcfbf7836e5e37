//! Statements without messages: touching memory, files.

use super::super::ast::{IoVerb, Multiplier, StmtKind, Stride, Tasks};
use super::super::lexer::Tok;
use super::message::{data_type, multiplier};
use super::{Parsed, Parser};

impl Parser {
    pub(super) fn touches(&mut self, tasks: Tasks) -> Parsed<StmtKind> {
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

    /// File access: `READ size [unit] [FROM FILE f] [AT OFFSET o]`, `OPEN [FILE] f`, ...
    pub(super) fn io(&mut self, tasks: Tasks, verb: IoVerb, asynchronous: bool) -> Parsed<StmtKind> {
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

    /// Whether the token `ahead` can begin an operand (and not continue an expression).
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
