//! Statements.

use super::super::ast::{self, CounterAction, Stmt, StmtKind, Stride};
use super::super::diagnostic::Span;
use super::super::ir::{Bytes, Expr, InstKind, Report, Tasks, Touch};
use super::super::machine::STACK_WORDS;
use super::Lower;
use super::tasks::Role;

impl<'a> Lower<'a> {
    /// A statement of `tasks` alone: `make` gets the set, with its variable in scope.
    fn local_statement(&mut self, tasks: &'a ast::Tasks, span: Span, make: impl FnOnce(&mut Self, Tasks) -> InstKind) {
        let mark = self.expressions.scopes.len();
        let tasks = self.expressions.set(tasks, Role::Source);
        let kind = make(self, tasks);
        self.expressions.close(mark);
        self.emit(span, kind);
    }

    fn report(&mut self, report: Report) -> u32 {
        self.code.reports.push(report);
        self.code.reports.len() as u32 - 1
    }

    pub(super) fn statement(&mut self, statement: &'a Stmt) {
        let span = statement.span;
        match &statement.kind {
            StmtKind::Block(list) => list.iter().for_each(|statement| self.statement(statement)),
            StmtKind::Repeat { count, warmup, body } => self.repeat(span, count, warmup.as_ref(), body),
            StmtKind::Timed {
                limit,
                unit,
                warmup,
                body,
            } => self.timed_loop(span, limit, *unit, warmup.as_ref(), body),
            StmtKind::Each { name, ranges, body } => self.for_each(span, name, ranges, body),
            StmtKind::Let { bindings, body } => self.bindings(span, bindings, body),
            StmtKind::If { cond, yes, no } => self.choice(span, cond, yes, no.as_deref()),
            StmtKind::Assert { about, cond } => {
                let cond = self.expressions.cond(cond);
                self.emit(span, InstKind::Assert(about.clone(), cond));
            }
            StmtKind::Synchronize { tasks } => {
                let mark = self.expressions.scopes.len();
                let tasks = self.expressions.set(tasks, Role::Source);
                self.expressions.close(mark);
                let site = self.site(&[&tasks], &[]);
                self.emit(span, InstKind::Barrier { site, tasks });
            }
            StmtKind::Await { tasks } => self.local_statement(tasks, span, |_, tasks| InstKind::Await(tasks)),
            StmtKind::Delay {
                tasks,
                sleep,
                time,
                unit,
            } => self.local_statement(tasks, span, |lower, tasks| InstKind::Delay {
                tasks,
                time: lower.expressions.expr(time),
                unit: *unit,
                sleep: *sleep,
            }),
            StmtKind::TouchBuffers { tasks, buffer } => {
                // Message buffers have no addresses, and touching them takes no time.
                let mark = self.expressions.scopes.len();
                self.expressions.set(tasks, Role::Source);
                self.expressions.checked(buffer.as_slice());
                self.expressions.close(mark);
            }
            StmtKind::Log { tasks, items } => self.local_statement(tasks, span, |lower, tasks| {
                let report = lower.expressions.reported(|inner| inner.log(items));
                InstKind::Report {
                    tasks,
                    site: lower.report(report),
                }
            }),
            StmtKind::Output { tasks, texts } => self.local_statement(tasks, span, |lower, tasks| {
                let report = lower.expressions.reported(|inner| inner.output(texts));
                InstKind::Report {
                    tasks,
                    site: lower.report(report),
                }
            }),
            StmtKind::Aggregates { tasks } => {
                self.local_statement(tasks, span, |_, tasks| InstKind::Aggregates { tasks });
            }
            StmtKind::Counters { tasks, action } => {
                if *action == CounterAction::Store && self.code.stores.is_none() {
                    self.code.stores = Some(self.words(STACK_WORDS));
                }
                self.local_statement(tasks, span, |_, tasks| InstKind::Counters { tasks, action: *action });
            }
            StmtKind::Assign { tasks, processor } => {
                if self.timed > 0 || self.split > 0 {
                    self.expressions.diagnostics.error(
                        "processors assigned where tasks may differ",
                        "an assignment of processors inside a timed loop or an IF on MY TASK does not reach all tasks"
                            .into(),
                        span,
                    );
                }
                self.code.assigns = true;
                let loops = self.loops.clone();
                self.expressions.random_sites += 1;
                let site = self.expressions.random_sites;
                self.local_statement(tasks, span, |lower, tasks| InstKind::Assign {
                    tasks,
                    processor: processor.as_ref().map(|processor| lower.expressions.expr(processor)),
                    site,
                    loops,
                });
            }
            StmtKind::Backend { tasks, texts } => self.local_statement(tasks, span, |lower, tasks| {
                let (report, calls) = lower.expressions.backend(texts, span, &mut lower.code.requests);
                InstKind::Backend {
                    tasks,
                    report: lower.report(report),
                    calls,
                }
            }),
            StmtKind::Io {
                tasks,
                verb,
                size,
                file,
                offset,
                asynchronous,
            } => self.local_statement(tasks, span, |lower, tasks| InstKind::Io {
                tasks,
                verb: *verb,
                bytes: size.as_ref().map(|(amount, unit)| Bytes {
                    amount: lower.expressions.expr(amount),
                    bits: match unit {
                        Some(ast::Multiplier::Bit) => 1,
                        Some(ast::Multiplier::Bytes(bytes)) => 8 * u64::from(*bytes),
                        None => 8,
                    },
                }),
                file: file.as_ref().map_or(Expr::Int(0), |file| lower.expressions.expr(file)),
                offset: offset
                    .as_ref()
                    .map_or(Expr::Int(0), |offset| lower.expressions.expr(offset)),
                asynchronous: *asynchronous,
            }),
            StmtKind::Touch(touch) => self.touch(span, touch),
            StmtKind::Send(send) => self.send(span, send),
            StmtKind::Receive(receive) => self.receive(span, receive),
            StmtKind::Multicast {
                sources,
                asynchronous,
                message,
                targets,
            } => {
                if *asynchronous {
                    self.expressions.diagnostics.warn(
                        "asynchronous multicast",
                        "an asynchronous multicast runs as a blocking one".into(),
                        span,
                    );
                }
                self.multicast(span, sources, message, targets);
            }
            StmtKind::Reduce { sources, what, to } => self.reduce(span, sources, what, to.as_ref()),
        }
    }

    fn touch(&mut self, span: Span, touch: &'a ast::Touch) {
        let ast::Touch {
            tasks,
            count,
            region,
            times,
            stride,
        } = touch;
        let state = self.words(1);
        let mark = self.expressions.scopes.len();
        let tasks = self.expressions.set(tasks, Role::Source);
        let word = count.as_ref().map_or(4, |&(_, word)| word);
        let touch = Touch {
            count: count.as_ref().map(|(count, _)| self.expressions.expr(count)),
            word,
            region: self.expressions.amount(Some(region)),
            times: times
                .as_ref()
                .map_or(Expr::Int(1), |times| self.expressions.expr(times)),
            stride: match stride {
                Stride::Default => Some((Expr::Int(1), word)),
                Stride::Bytes(length, unit) => Some((self.expressions.expr(length), *unit)),
                Stride::Random => None,
            },
        };
        self.expressions.close(mark);
        let site = self.site(&[&tasks], &[]);
        self.emit(
            span,
            InstKind::Touch {
                site,
                state,
                tasks,
                touch: Box::new(touch),
            },
        );
    }
}
