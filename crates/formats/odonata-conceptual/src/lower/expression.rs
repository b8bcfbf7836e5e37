//! Names, expressions, conditions and ranges.

use super::super::ast::{self, ExprKind};
use super::super::diagnostic::Span;
use super::super::eval::{walk, walk_cond, walk_ranges};
use super::super::ir::{Cond, Counter, Dims, Expr, Range, Ranges, Set, Site, Tasks};
use super::super::keyword::PREDECLARED;
use super::scopes::Binding;
use super::{Lower, Place};

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

impl<'a> Lower<'a> {
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
            self.error(reason, format!("{name}: a default is a constant"), span);
            return Expr::Int(0);
        }
        if name == "num_tasks" {
            return Expr::Int(self.tasks);
        }
        if let Some(counter) = counter(name) {
            if self.place == Place::Binding {
                let message = format!("{name} differs between tasks: a variable has one value for all tasks");
                self.error("counter variable in a binding", message, span);
            }
            if counter == Counter::Elapsed && !self.reported {
                self.code
                    .clock
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
                            self.error(
                                "source-task variable or ALL TASKS used where release 1.5.1b forbids it",
                                format!("{name}: release 1.5.1b has no source variable in a message"),
                                span,
                            );
                        }
                        Expr::Local(local)
                    }
                    Binding::Group(..) => {
                        self.error(
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
                self.error_with(
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
        self.error_with(reason, message, span, hint);
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
                    self.warn("MY TASK", "MY TASK differs between tasks".into(), expr.span);
                } else {
                    self.error(
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
                if matches!(function, ast::Func::ProcessorOf | ast::Func::TaskOf) {
                    return Expr::Call(*function, args);
                }
                Expr::Call(*function, args)
            }
            ExprKind::MeshNeighbor { dims, task, offsets } => {
                if offsets.len() > dims.len() {
                    self.error(
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
                let table = self.table(file, separators);
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

    /// A new site for the dependencies of `tasks` and `ranges`.
    pub(super) fn site(&mut self, sets: &[&Tasks], ranges: &[Range]) -> Site {
        let mut site = Site {
            number: self.code.sites,
            ..Site::default()
        };
        self.code.sites += 1;
        let first: &[u8] = sets.first().map_or(&[], |set| &set.locals);
        let mut linked = false;
        let mut visit = |expr: &Expr, second: bool| match expr {
            Expr::Slot(slot) if !site.reads.contains(slot) => site.reads.push(*slot),
            Expr::Counter(_) | Expr::MyTask | Expr::Random(..) => site.private = true,
            Expr::Local(local) if second => linked |= first.contains(local),
            _ => {}
        };
        for (index, tasks) in sets.iter().enumerate() {
            let mut visit = |expr: &Expr| visit(expr, index > 0);
            match &tasks.set {
                Set::One(expr) => walk(expr, &mut visit),
                Set::Such(cond) => walk_cond(cond, &mut visit),
                Set::Ranges(ranges) => walk_ranges(ranges, &mut visit),
                Set::All | Set::Others => {}
            }
        }
        walk_ranges(ranges, &mut |expr| visit(expr, false));
        site.linked = linked;
        site
    }
}
