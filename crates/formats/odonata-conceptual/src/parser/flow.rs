//! Loops and bindings.

use super::super::ast::{Bound, Expr, RandomLimits, StmtKind, Warmup};
use super::super::lexer::Tok;
use super::statement::unit_of_time;
use super::{Parsed, Parser};

impl Parser {
    pub(super) fn repetition(&mut self) -> Parsed<StmtKind> {
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

    pub(super) fn bindings(&mut self) -> Parsed<StmtKind> {
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

    fn but_not(&mut self) -> Parsed<Option<Expr>> {
        if !self.eat("but") {
            return Ok(None);
        }
        self.expect("not")?;
        Ok(Some(self.expr()?))
    }
}
