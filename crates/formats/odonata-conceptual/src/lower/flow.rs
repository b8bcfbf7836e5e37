//! Loops, bindings and conditions.

use super::super::ast::{self, Bound, Stmt};
use super::super::diagnostic::Span;
use super::super::ir::{Each, Expr, InstKind, Loop, Timed, count, each, timed};
use super::Lower;
use super::expression::Place;
use super::scopes::Binding;
use super::tasks::Role;

impl<'a> Lower<'a> {
    fn target(&mut self, at: usize, target: u32) {
        match &mut self.code.insts[at].kind {
            InstKind::Jump { to, .. } | InstKind::Unless { to, .. } => *to = target,
            InstKind::CountStart(state) | InstKind::CountHead(state) => state.end = target,
            InstKind::EachHead(each) => each.end = target,
            InstKind::TimedHead(timed) => timed.end = target,
            _ => {}
        }
    }

    pub(super) fn repeat(&mut self, span: Span, count: &'a ast::Expr, warmup: Option<&'a ast::Warmup>, body: &'a Stmt) {
        let state = self.words(count::WORDS);
        let shape = Loop {
            state,
            end: 0,
            count: self.expressions.expr(count),
            warm: warmup.map(|warmup| self.expressions.expr(&warmup.count)),
            synchronize: warmup.is_some_and(|warmup| warmup.synchronize),
        };
        let mut head_shape = shape.clone();
        self.emit(span, InstKind::CountStart(shape));
        let ordinal = state + count::ORDINAL as u32;
        head_shape.count = Expr::Int(0);
        head_shape.warm = None;
        let head = self.emit(span, InstKind::CountHead(head_shape));
        self.in_loop(ordinal, body);
        self.emit(span, InstKind::Next(ordinal, head as u32));
        let end = self.here();
        self.target(head, end);
    }

    fn in_loop(&mut self, ordinal: u32, body: &'a Stmt) {
        self.loops.push(ordinal);
        self.code.ordinals.push(ordinal);
        self.statement(body);
        self.loops.pop();
    }

    pub(super) fn timed_loop(
        &mut self,
        span: Span,
        limit: &'a ast::Expr,
        unit: i64,
        warmup: Option<&'a ast::Warmup>,
        body: &'a Stmt,
    ) {
        if self.split > 0 {
            self.expressions.diagnostics.error(
                "timed loop that only some tasks enter",
                "all tasks run a timed loop: it is not allowed inside an IF on MY TASK".into(),
                span,
            );
        }
        let state = self.words(timed::WORDS);
        let shape = Timed {
            state,
            end: 0,
            limit: self.expressions.expr(limit),
            unit,
            warm: warmup.map(|warmup| (self.expressions.expr(&warmup.count), warmup.unit)),
            synchronize: warmup.is_some_and(|warmup| warmup.synchronize),
        };
        self.code.timed = true;
        self.expressions.clock.get_or_insert((span, "a timed loop"));
        self.emit(span, InstKind::TimedStart(shape.clone()));
        let head = self.emit(span, InstKind::TimedHead(shape));
        self.timed += 1;
        self.in_loop(state + timed::ORDINAL as u32, body);
        self.timed -= 1;
        self.emit(span, InstKind::Next(state + timed::ORDINAL as u32, head as u32));
        let end = self.here();
        self.target(head, end);
    }

    pub(super) fn for_each(&mut self, span: Span, name: &'a ast::Word, ranges: &'a [ast::Range], body: &'a Stmt) {
        let state = self.words(each::WORDS);
        let slot = self.words(1);
        let ranges = self.expressions.ranges(ranges);
        let site = self.site(&[], &ranges);
        let shape = Each {
            state,
            slot,
            end: 0,
            ranges,
            site,
        };
        self.emit(span, InstKind::EachStart(shape.clone()));
        let head = self.emit(span, InstKind::EachHead(shape));
        let mark = self.expressions.scopes.len();
        self.expressions.push_scope(&name.text, name.span, Binding::Slot(slot));
        self.in_loop(state + each::ORDINAL as u32, body);
        self.expressions.close(mark);
        self.emit(span, InstKind::Next(state + each::ORDINAL as u32, head as u32));
        let end = self.here();
        self.target(head, end);
    }

    pub(super) fn bindings(&mut self, span: Span, bindings: &'a [(ast::Word, Bound)], body: &'a Stmt) {
        let mark = self.expressions.scopes.len();
        for (name, bound) in bindings {
            let binding = match bound {
                Bound::Value(value) => {
                    let value = self.expressions.at(Place::Binding, |inner| inner.expr(value));
                    let slot = self.words(1);
                    self.emit(span, InstKind::Let(slot, value));
                    Binding::Slot(slot)
                }
                Bound::Random(limits) => {
                    let limits = self.expressions.at(Place::Binding, |lower| lower.limits(limits));
                    let slot = self.words(1);
                    self.expressions.random_sites += 1;
                    let kind = InstKind::LetRandom {
                        slot,
                        site: self.expressions.random_sites,
                        limits,
                        loops: self.loops.clone(),
                    };
                    self.emit(span, kind);
                    Binding::Slot(slot)
                }
                Bound::Tasks(tasks) => {
                    // Checked where it is defined; its meaning depends on its use.
                    let inner = self.expressions.scopes.len();
                    self.expressions.set(tasks, Role::Group);
                    self.expressions.scopes.mark_used(inner);
                    self.expressions.close(inner);
                    Binding::Group(tasks, inner)
                }
            };
            self.expressions.push_scope(&name.text, name.span, binding);
        }
        self.statement(body);
        self.expressions.close(mark);
    }

    pub(super) fn choice(&mut self, span: Span, cond: &'a ast::Cond, yes: &'a Stmt, no: Option<&'a Stmt>) {
        self.expressions.my_task = false;
        let cond = self.expressions.at(Place::If, |inner| inner.cond(cond));
        let split = std::mem::take(&mut self.expressions.my_task);
        let mut private = split;
        super::super::eval::walk_cond(&cond, &mut |expr| private |= matches!(expr, Expr::Counter(_)));
        self.split += u32::from(split);
        let unless = self.emit(span, InstKind::Unless { cond, to: 0, private });
        self.statement(yes);
        if let Some(no) = no {
            let jump = self.emit(span, InstKind::Jump { to: 0, private });
            let here = self.here();
            self.target(unless, here);
            self.statement(no);
            let end = self.here();
            self.target(jump, end);
        } else {
            let end = self.here();
            self.target(unless, end);
        }
        self.split -= u32::from(split);
    }
}
