//! Messages, texts and reports.

use std::collections::HashMap;

use odonata_workload::aggregate::Aggregate;

use super::super::ast::{self, Multiplier, Text};
use super::super::diagnostic::Span;
use super::super::inject::{calls, template};
use super::super::ir::{Bytes, Column, Expr, Messages, Piece, Report, Tag};
use super::expression::{Expressions, Place};

impl<'a> Expressions<'a> {
    pub(super) fn amount(&mut self, size: Option<&'a (Option<ast::Expr>, Multiplier)>) -> Bytes {
        match size {
            None => Bytes {
                amount: Expr::Int(0),
                bits: 8,
            },
            Some((amount, unit)) => Bytes {
                amount: amount.as_ref().map_or(Expr::Int(1), |amount| self.expr(amount)),
                bits: match unit {
                    Multiplier::Bit => 1,
                    Multiplier::Bytes(bytes) => 8 * u64::from(*bytes),
                },
            },
        }
    }

    pub(super) fn tag(&mut self, tag: &'a ast::Tag) -> Tag {
        match tag {
            ast::Tag::Number(expr) => Tag::Number(self.expr(expr)),
            ast::Tag::Text(text) => {
                let next = self.tag_texts.len() as u32;
                let number = *self.tag_numbers.entry(text).or_insert(next);
                if number == next {
                    self.tag_texts.push(text.clone());
                }
                Tag::Text(number)
            }
        }
    }

    /// Checks expressions without effect.
    pub(super) fn checked(&mut self, exprs: &'a [ast::Expr]) {
        for expr in exprs {
            self.at(Place::Message, |lower| lower.expr(expr));
        }
    }

    pub(super) fn message(&mut self, message: &'a ast::Message) -> Messages {
        if message.aligned && message.offset {
            self.diagnostics.error(
                "alignment with an offset into a buffer",
                "an alignment and an offset into a buffer contradict each other".into(),
                message.span,
            );
        }
        self.checked(&message.others);
        self.at(Place::Message, |lower| Messages {
            count: message.count.as_ref().map_or(Expr::Int(1), |count| lower.expr(count)),
            bytes: lower.amount(message.size.as_ref()),
            tag: message.tag.as_ref().map(|tag| lower.tag(tag)),
            detached: message.detached.is_some(),
        })
    }

    /// Refuses WITHOUT COMPLETION if the statement is not an asynchronous send, or the dialect lacks it.
    pub(super) fn detaches(&mut self, message: &ast::Message, asynchronous_send: bool) {
        let Some(span) = message.detached else { return };
        if self.dialect.strict {
            self.diagnostics.error(
                "WITHOUT COMPLETION",
                "release 1.5.1b has no messages WITHOUT COMPLETION".into(),
                span,
            );
        } else if !asynchronous_send {
            self.diagnostics.error(
                "WITHOUT COMPLETION",
                "only messages sent ASYNCHRONOUSLY can be WITHOUT COMPLETION".into(),
                span,
            );
        }
    }

    /// Texts and their values, which are appended to `values`.
    fn pieces(&mut self, texts: &'a [Text], values: &mut Vec<Expr>) -> Vec<Piece> {
        let mut value = |lower: &mut Self, expr: &'a ast::Expr| {
            let expr = lower.float_expr(expr);
            values.push(expr);
            Piece::Value(values.len() as u32 - 1)
        };
        texts
            .iter()
            .map(|text| match text {
                Text::Literal(text) => Piece::Text(text.clone()),
                Text::Value(expr) => value(self, expr),
            })
            .collect()
    }

    pub(super) fn output(&mut self, texts: &'a [Text]) -> Report {
        let mut values = Vec::new();
        let pieces = self.pieces(texts, &mut values);
        Report::Output { pieces, values }
    }

    pub(super) fn log(&mut self, items: &'a [ast::LogItem]) -> Report {
        let mut values = Vec::new();
        let mut columns = Vec::new();
        for item in items {
            let label = self.pieces(std::slice::from_ref(&item.label), &mut values);
            let mut percents = std::collections::VecDeque::new();
            for percentile in &item.percentiles {
                let percent = self.float_expr(percentile);
                values.push(percent);
                percents.push_back(values.len() as u32 - 1);
            }
            let value = self.float_expr(&item.value);
            values.push(value);
            for aggregate in &item.aggregates {
                columns.push(Column {
                    label: label.clone(),
                    aggregate: *aggregate,
                    percent: match aggregate {
                        Aggregate::Percentile => percents.pop_front(),
                        _ => None,
                    },
                    value: values.len() as u32 - 1,
                });
            }
        }
        Report::Log { columns, values }
    }

    /// Text for the back end: its pieces, and the calls in it.
    pub(super) fn backend(
        &mut self,
        texts: &'a [Text],
        span: Span,
        requests: &mut HashMap<String, u32>,
    ) -> (Report, Vec<super::super::inject::Call>) {
        let report = self.output(texts);
        let Report::Output { pieces, .. } = &report else {
            return (report, Vec::new());
        };
        let text = template(pieces.iter().map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Value(_) => None,
        }));
        let found = calls(&text, requests);
        let found = found.unwrap_or_else(|message| {
            let reason = "text for an unknown back end";
            if self.dialect.ignore_unknown_backend {
                self.diagnostics
                    .warn(reason, format!("ignored text for another back end: {message}"), span);
            } else {
                let hint = "--ignore-unknown-backend ignores it; in a scenario, ignore_unknown_backend = true";
                self.diagnostics.error_with(reason, message, span, Some(hint.into()));
            }
            Vec::new()
        });
        (report, found)
    }
}
