//! Names, expressions, conditions and ranges.

use std::cell::Cell;
use std::collections::HashMap;

use super::super::Dialect;
use super::super::ast::{self, ExprKind, RandomLimits};
use super::super::diagnostic::Span;
use super::super::eval::{Env, walk};
use super::super::functions::Value;
use super::super::ir::{Cond, Counter, Dims, Expr, LOCALS, Limits, Range, Ranges};
use super::super::keyword::{PREDECLARED, nearest};
use super::super::machine::MOST_STEPS;
use super::Read;
use super::diagnostics::Diagnostics;
use super::scopes::{Binding, Scopes};
use super::tables::Tables;

fn counter(name: &str) -> Option<Counter> {
    Some(match name {
        "elapsed_usecs" => Counter::Elapsed,
        "bytes_sent" => Counter::BytesSent,
        "bytes_received" => Counter::BytesReceived,
        "total_bytes" => Counter::TotalBytes,
        "msgs_sent" => Counter::MsgsSent,
        "msgs_received" => Counter::MsgsReceived,
        "total_msgs" => Counter::TotalMsgs,
        "bit_errors" => Counter::BitErrors,
        _ => return None,
    })
}

/// The place of an expression, which decides what it may contain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Free,
    Binding,
    Set,
    If,
    Message,
    Default,
}

/// Lowers expressions, sets of tasks and descriptions of messages.
pub(super) struct Expressions<'a> {
    pub(super) tasks: i64,
    pub(super) dialect: Dialect,
    pub(super) scopes: Scopes<'a>,
    pub(super) tables: Tables<'a>,
    pub(super) diagnostics: Diagnostics,
    place: Place,
    floating: bool,
    /// Whether the current expression is only reported.
    reported: bool,
    /// Whether the current condition contains MY TASK.
    pub(super) my_task: bool,
    /// Number of random functions and random tasks so far.
    pub(super) random_sites: u32,
    /// The first place that needs a clock, and its name.
    pub(super) clock: Option<(Span, &'static str)>,
    /// Texts of tags, and their numbers.
    pub(super) tag_texts: Vec<String>,
    pub(super) tag_numbers: HashMap<&'a str, u32>,
    effort: Cell<u64>,
}

impl<'a> Expressions<'a> {
    pub(super) fn new(tasks: u32, dialect: Dialect, read: Option<Read<'a>>) -> Self {
        Expressions {
            tasks: i64::from(tasks),
            dialect,
            scopes: Scopes::default(),
            tables: Tables::new(read),
            diagnostics: Diagnostics::default(),
            place: Place::Free,
            floating: false,
            reported: false,
            my_task: false,
            random_sites: 0,
            clock: None,
            tag_texts: Vec::new(),
            tag_numbers: HashMap::new(),
            effort: Cell::new(MOST_STEPS),
        }
    }

    /// Runs `lower` for expressions at `place`.
    pub(super) fn at<T>(&mut self, place: Place, lower: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.place, place);
        let result = lower(self);
        self.place = before;
        result
    }

    /// Runs `lower` for expressions that are only reported.
    pub(super) fn reported<T>(&mut self, lower: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.reported, true);
        let result = lower(self);
        self.reported = before;
        result
    }

    /// An expression in floating context.
    pub(super) fn float_expr(&mut self, expr: &'a ast::Expr) -> Expr {
        let before = std::mem::replace(&mut self.floating, true);
        let lowered = self.expr(expr);
        self.floating = before;
        lowered
    }

    fn name(&mut self, name: &str, span: Span) -> Expr {
        if self.place == Place::Default {
            let reason = if PREDECLARED.contains(&name) {
                "predeclared variable in a default"
            } else {
                "variable in a default"
            };
            self.diagnostics
                .error(reason, format!("{name}: a default is a constant"), span);
            return Expr::Int(0);
        }
        if name == "num_tasks" {
            return Expr::Int(self.tasks);
        }
        if let Some(counter) = counter(name) {
            if self.place == Place::Binding {
                let message = format!("{name} differs between tasks: a variable has one value for all tasks");
                self.diagnostics.error("counter variable in a binding", message, span);
            }
            if counter == Counter::Elapsed && !self.reported {
                self.clock
                    .get_or_insert((span, "elapsed_usecs outside LOGS and OUTPUTS"));
            }
            return Expr::Counter(counter);
        }
        let strict = self.dialect.strict && self.place == Place::Message;
        match self.scopes.find(name) {
            Some(scope) => {
                scope.used = true;
                let source = scope.source;
                match scope.binding {
                    Binding::Constant(value) => Expr::Int(value),
                    Binding::Slot(slot) => Expr::Slot(slot),
                    Binding::Local(local) => {
                        if source && strict {
                            self.diagnostics.error(
                                "source-task variable or ALL TASKS used where release 1.5.1b forbids it",
                                format!("{name}: release 1.5.1b has no source variable in a message"),
                                span,
                            );
                        }
                        Expr::Local(local)
                    }
                    Binding::Group(..) => {
                        self.diagnostics.error(
                            "task group used as a variable",
                            format!("{name:?} is a group of tasks, not a number"),
                            span,
                        );
                        Expr::Int(0)
                    }
                }
            }
            None => {
                let hint = self.suggestion(name);
                self.diagnostics.error_with(
                    "variable used without declaration",
                    format!("{name:?} is not declared"),
                    span,
                    hint,
                );
                Expr::Int(0)
            }
        }
    }

    /// Reports a function whose value differs between tasks.
    fn unsynchronised(&mut self, what: &str, span: Span) {
        let (reason, place) = match self.place {
            Place::Free => return,
            Place::Binding => ("unsynchronised random function in a binding", "a binding"),
            Place::Set => ("unsynchronised random function in a task set", "a set of tasks"),
            Place::If => ("unsynchronised random function in a condition", "a condition"),
            Place::Message => ("unsynchronised random function in a message description", "a message"),
            Place::Default => ("unsynchronised random function in a default", "a default"),
        };
        let message = format!("{what} differs between tasks and is not allowed in {place}");
        let hint = (self.place == Place::Binding).then(|| "A RANDOM TASK is the same for all tasks".to_owned());
        self.diagnostics.error_with(reason, message, span, hint);
    }

    pub(super) fn boxed(&mut self, expr: &'a ast::Expr) -> Box<Expr> {
        Box::new(self.expr(expr))
    }

    fn exprs(&mut self, exprs: &'a [ast::Expr]) -> Box<[Expr]> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    pub(super) fn expr(&mut self, expr: &'a ast::Expr) -> Expr {
        let lowered = match &expr.kind {
            ExprKind::Int(value) => return Expr::Int(*value),
            ExprKind::Name(name) => return self.name(name, expr.span),
            ExprKind::MyTask => {
                if self.place == Place::If {
                    self.my_task = true;
                    self.diagnostics
                        .warn("MY TASK", "MY TASK differs between tasks".into(), expr.span);
                } else {
                    self.diagnostics.error(
                        "MY TASK outside an IF condition",
                        "MY TASK is known only in the condition of an IF".into(),
                        expr.span,
                    );
                }
                return Expr::MyTask;
            }
            ExprKind::Real(inner) => return Expr::Real(Box::new(self.float_expr(inner))),
            ExprKind::Unary(operator, inner) => Expr::Unary(*operator, self.boxed(inner)),
            ExprKind::Binary(operator, a, b) => Expr::Binary(*operator, Box::new([self.expr(a), self.expr(b)])),
            ExprKind::If { cond, yes, no } => Expr::If(Box::new((self.cond(cond), self.expr(yes), self.expr(no)))),
            ExprKind::Call(function, args) => {
                let args = self.exprs(args);
                if function.is_random() {
                    self.unsynchronised(&function.signature().0.to_uppercase(), expr.span);
                    self.random_sites += 1;
                    return Expr::Random(*function, args, self.random_sites);
                }
                Expr::Call(*function, args)
            }
            ExprKind::MeshNeighbor { dims, task, offsets } => {
                if offsets.len() > dims.len() {
                    self.diagnostics.error(
                        "wrong number of arguments",
                        format!("{} offsets on a mesh of {} dimensions", offsets.len(), dims.len()),
                        expr.span,
                    );
                }
                let dims = self.dims(dims);
                let task = self.boxed(task);
                let mut by = [Expr::Int(0), Expr::Int(0), Expr::Int(0)];
                for (slot, offset) in by.iter_mut().zip(offsets) {
                    *slot = self.expr(offset);
                }
                Expr::Neighbor(dims, task, Box::new(by))
            }
            ExprKind::MeshCoordinate { dims, task, axis } => {
                Expr::Coordinate(self.dims(dims), Box::new([self.expr(task), self.expr(axis)]))
            }
            ExprKind::MeshDistance { dims, from, to } => {
                Expr::Distance(self.dims(dims), Box::new([self.expr(from), self.expr(to)]))
            }
            ExprKind::FileData {
                file,
                column,
                row,
                separators,
            } => {
                let column = column.as_deref().map_or(Expr::Int(1), |column| self.expr(column));
                let row = row.as_deref().map_or(Expr::Int(1), |row| self.expr(row));
                let table = self.tables.number(file, separators, &mut self.diagnostics);
                return Expr::Cell(table, Box::new([column, row]));
            }
        };
        self.folded(lowered)
    }

    /// The constant value of `expr` in integer context, if it has one; a fault is kept until it is reached.
    fn folded(&self, expr: Expr) -> Expr {
        let mut constant = !self.floating;
        walk(&expr, &mut |part| {
            constant &= !matches!(
                part,
                Expr::Slot(_) | Expr::Local(_) | Expr::Counter(_) | Expr::MyTask | Expr::Random(..) | Expr::Cell(..)
            ) && !matches!(part, Expr::Call(ast::Func::ProcessorOf | ast::Func::TaskOf, _));
        });
        match constant.then(|| self.env().int(&expr)) {
            Some(Ok(value)) => Expr::Int(value),
            _ => expr,
        }
    }

    fn dims(&mut self, dims: &'a ast::Dims) -> Box<Dims> {
        let mut lowered = Dims {
            extents: [Expr::Int(1), Expr::Int(1), Expr::Int(1)],
            wraps: [false; 3],
        };
        for (axis, (extent, wraps)) in dims.iter().enumerate().take(3) {
            lowered.extents[axis] = self.expr(extent);
            lowered.wraps[axis] = *wraps;
        }
        Box::new(lowered)
    }

    pub(super) fn cond(&mut self, cond: &'a ast::Cond) -> Cond {
        match cond {
            ast::Cond::Or(a, b) => Cond::Or(Box::new([self.cond(a), self.cond(b)])),
            ast::Cond::And(a, b) => Cond::And(Box::new([self.cond(a), self.cond(b)])),
            ast::Cond::Relation(relation, a, b) => Cond::Relation(*relation, self.expr(a), self.expr(b)),
            ast::Cond::Parity { value, odd } => Cond::Parity(self.expr(value), *odd),
            ast::Cond::InRanges { value, ranges, not } => Cond::InRanges(self.expr(value), self.ranges(ranges), *not),
            ast::Cond::Between { value, low, high, not } => {
                Cond::Between(self.expr(value), self.expr(low), self.expr(high), *not)
            }
        }
    }

    pub(super) fn ranges(&mut self, ranges: &'a [ast::Range]) -> Ranges {
        let before = std::mem::replace(&mut self.floating, false);
        let lowered = ranges.iter().map(|range| self.range(range)).collect();
        self.floating = before;
        lowered
    }

    fn range(&mut self, range: &'a ast::Range) -> Range {
        match range {
            ast::Range::List { items, end } => Range::List {
                items: items.iter().map(|item| self.expr(item)).collect(),
                end: end.as_ref().map(|end| self.expr(end)),
            },
            ast::Range::Each {
                value,
                generators,
                cond,
            } => {
                let mark = self.scopes.len();
                let mut lowered = Vec::new();
                for (name, ranges) in generators {
                    let ranges = self.ranges(ranges);
                    lowered.push((self.local(&name.text, name.span), ranges));
                }
                let cond = cond.as_ref().map(|cond| self.cond(cond));
                let value = self.expr(value);
                self.close(mark);
                Range::Each {
                    value,
                    generators: lowered,
                    cond,
                }
            }
        }
    }

    pub(super) fn limits(&mut self, limits: &'a RandomLimits) -> Limits {
        let but = |lower: &mut Self, but: &'a Option<ast::Expr>| but.as_ref().map(|but| lower.expr(but));
        match limits {
            RandomLimits::None => Limits::All,
            RandomLimits::Other(than) => Limits::Other(self.expr(than)),
            RandomLimits::Less(than, not) => Limits::Less(self.expr(than), but(self, not)),
            RandomLimits::Greater(than, not) => Limits::Greater(self.expr(than), but(self, not)),
            RandomLimits::In(low, high, not) => Limits::In(self.expr(low), self.expr(high), but(self, not)),
        }
    }

    pub(super) fn push_scope(&mut self, name: &'a str, span: Span, binding: Binding<'a>) {
        if PREDECLARED.contains(&name) {
            self.diagnostics.error(
                "redefinition of a predeclared variable",
                format!("{name} is already defined"),
                span,
            );
        }
        self.scopes.push(name, span, binding);
    }

    /// Ends the scopes from `mark` on.
    pub(super) fn close(&mut self, mark: usize) {
        while self.scopes.len() > mark {
            let Some(scope) = self.scopes.pop() else { return };
            if !scope.used {
                self.diagnostics
                    .warn("unused variable", format!("unused variable {}", scope.name), scope.span);
            }
        }
    }

    /// A variable of a set of tasks or a comprehension.
    pub(super) fn local(&mut self, name: &'a str, span: Span) -> u8 {
        let local = self.scopes.locals().min(LOCALS - 1) as u8;
        if self.scopes.locals() >= LOCALS {
            self.diagnostics.error(
                "nested too deeply",
                format!("more than {LOCALS} variables of task sets and lists at once"),
                span,
            );
        }
        self.push_scope(name, span, Binding::Local(local));
        local
    }

    /// The name in scope that `name` probably means.
    pub(super) fn suggestion(&self, name: &str) -> Option<String> {
        if self.diagnostics.is_full() {
            return None;
        }
        nearest(name, self.scopes.names().chain(PREDECLARED)).map(|near| format!("did you mean {near:?}?"))
    }

    /// The value of an expression without variables.
    pub(super) fn constant(&self, expr: &Expr) -> Value<i64> {
        self.env().int(expr)
    }

    fn env(&self) -> Env<'_> {
        Env::constant(self.tasks, &self.effort)
    }
}
