//! Arguments of LOGS and OUTPUTS: texts, values, aggregates.

use odonata_workload::aggregate::Aggregate;

use super::super::ast::{Expr, LogItem, Text};
use super::super::lexer::Tok;
use super::{Parsed, Parser};

impl Parser {
    pub(super) fn texts(&mut self) -> Parsed<Vec<Text>> {
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

    pub(super) fn log_item(&mut self) -> Parsed<LogItem> {
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

    /// `expr`, `THE expr`, or functions and their argument.
    fn aggregated(&mut self, aggregates: &mut Vec<Aggregate>, percentiles: &mut Vec<Expr>) -> Parsed<Expr> {
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
}
