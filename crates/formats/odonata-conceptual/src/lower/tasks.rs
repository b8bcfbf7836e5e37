//! Sets of tasks: their forms, their variables and the scopes of these.

use super::super::ast::{self, TasksKind};
use super::super::ir::{Set, Tasks};
use super::expression::{Expressions, Place};
use super::scopes::Binding;

/// The use of a set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Source,
    Target,
    /// The senders of a RECEIVES and the receivers of a REDUCES: source tasks by the grammar. ALL OTHER TASKS is
    /// accepted here, but not by release 1.5.1b.
    Partner,
    Group,
}

impl<'a> Expressions<'a> {
    /// The set `tasks`; its variable stays in scope until the caller closes it.
    pub(super) fn set(&mut self, tasks: &'a ast::Tasks, role: Role) -> Tasks {
        self.at(Place::Set, |lower| lower.set_here(tasks, role))
    }

    fn set_here(&mut self, tasks: &'a ast::Tasks, role: Role) -> Tasks {
        let plain = |set: Set| Tasks {
            set,
            locals: Vec::new(),
        };
        match &tasks.kind {
            TasksKind::One(expr) => plain(Set::One(self.expr(expr))),
            TasksKind::Ranges(ranges) => plain(Set::Ranges(self.ranges(ranges))),
            TasksKind::Such { name, cond } => {
                let local = self.local(&name.text, name.span);
                let cond = self.cond(cond);
                Tasks {
                    set: Set::Such(cond),
                    locals: vec![local],
                }
            }
            TasksKind::All(variable) => {
                if role == Role::Target {
                    self.diagnostics.error_with(
                        "ALL TASKS is not a target",
                        "ALL TASKS cannot be a target".into(),
                        tasks.span,
                        Some("write ALL OTHER TASKS, or TASKS t SUCH THAT t >= 0 with the source itself".into()),
                    );
                }
                let locals = variable.iter().map(|name| self.local(&name.text, name.span)).collect();
                Tasks { set: Set::All, locals }
            }
            TasksKind::AllOther => {
                match role {
                    Role::Source => self.diagnostics.error(
                        "ALL OTHER TASKS is not a source",
                        "ALL OTHER TASKS excludes the source and cannot be the source".into(),
                        tasks.span,
                    ),
                    Role::Group => self.diagnostics.error(
                        "ALL OTHER TASKS cannot form a group",
                        "ALL OTHER TASKS depends on a source and cannot form a group".into(),
                        tasks.span,
                    ),
                    Role::Partner if self.dialect.strict => self.diagnostics.error(
                        "ALL OTHER TASKS where release 1.5.1b forbids it",
                        "release 1.5.1b has no ALL OTHER TASKS as sources of receives or targets of reductions".into(),
                        tasks.span,
                    ),
                    Role::Target | Role::Partner => {}
                }
                plain(Set::Others)
            }
            TasksKind::Group(name) => {
                let found = self.scopes.find(&name.text).map(|scope| {
                    scope.used = true;
                    scope.binding
                });
                match found {
                    Some(Binding::Group(definition, reach)) => self.group(definition, reach, name),
                    Some(_) => {
                        self.diagnostics.error(
                            "variable used as a task group",
                            format!("{:?} is not a group of tasks", name.text),
                            name.span,
                        );
                        plain(Set::All)
                    }
                    None => {
                        let hint = self.suggestion(&name.text);
                        let message = format!("task group {:?} is not declared", name.text);
                        self.diagnostics
                            .error_with("task group never declared", message, name.span, hint);
                        plain(Set::All)
                    }
                }
            }
        }
    }

    /// A group: its definition, evaluated with the names in scope there, and its own name for each member.
    fn group(&mut self, definition: &'a ast::Tasks, reach: usize, name: &'a ast::Word) -> Tasks {
        let hidden = self.scopes.hide(reach);
        let mark = self.scopes.len();
        let set = self.set_here(definition, Role::Group);
        // Variables of the definition count as used.
        self.scopes.mark_used(mark);
        self.close(mark);
        self.scopes.show(hidden);
        let local = self.local(&name.text, name.span);
        if let Some(scope) = self.scopes.find(&name.text) {
            scope.used = true;
        }
        let mut locals = set.locals;
        if !locals.contains(&local) {
            locals.push(local);
        }
        Tasks { set: set.set, locals }
    }
}

/// Whether `tasks` reads `name` from an outer scope.
pub(super) fn mentions(tasks: &ast::Tasks, name: &str) -> bool {
    match &tasks.kind {
        TasksKind::One(expr) => mentions_expr(expr, name),
        TasksKind::Such { name: own, cond } => own.text != name && mentions_cond(cond, name),
        TasksKind::Ranges(ranges) => ranges.iter().any(|range| mentions_range(range, name)),
        TasksKind::Group(_) | TasksKind::All(_) | TasksKind::AllOther => false,
    }
}

/// The variable that `tasks` declares.
pub(super) fn declares(tasks: &ast::Tasks) -> Option<&str> {
    match &tasks.kind {
        TasksKind::Such { name, .. } | TasksKind::Group(name) => Some(&name.text),
        TasksKind::All(name) => name.as_ref().map(|name| name.text.as_str()),
        _ => None,
    }
}

fn mentions_expr(expr: &ast::Expr, name: &str) -> bool {
    use ast::ExprKind as K;
    let any = |exprs: &[ast::Expr]| exprs.iter().any(|expr| mentions_expr(expr, name));
    let dims_any = |dims: &ast::Dims| dims.iter().any(|(extent, _)| mentions_expr(extent, name));
    match &expr.kind {
        K::Int(_) | K::MyTask => false,
        K::Name(other) => other == name,
        K::Real(inner) | K::Unary(_, inner) => mentions_expr(inner, name),
        K::Binary(_, a, b) => mentions_expr(a, name) || mentions_expr(b, name),
        K::If { cond, yes, no } => mentions_cond(cond, name) || mentions_expr(yes, name) || mentions_expr(no, name),
        K::Call(_, args) => any(args),
        K::MeshNeighbor { dims, task, offsets } => dims_any(dims) || mentions_expr(task, name) || any(offsets),
        K::MeshCoordinate { dims, task, axis } => {
            dims_any(dims) || mentions_expr(task, name) || mentions_expr(axis, name)
        }
        K::MeshDistance { dims, from, to } => dims_any(dims) || mentions_expr(from, name) || mentions_expr(to, name),
        K::FileData { column, row, .. } => column.iter().chain(row).any(|expr| mentions_expr(expr, name)),
    }
}

fn mentions_cond(cond: &ast::Cond, name: &str) -> bool {
    use ast::Cond as C;
    match cond {
        C::Or(a, b) | C::And(a, b) => mentions_cond(a, name) || mentions_cond(b, name),
        C::Relation(_, a, b) => mentions_expr(a, name) || mentions_expr(b, name),
        C::Parity { value, .. } => mentions_expr(value, name),
        C::InRanges { value, ranges, .. } => {
            mentions_expr(value, name) || ranges.iter().any(|range| mentions_range(range, name))
        }
        C::Between { value, low, high, .. } => [value, low, high].into_iter().any(|expr| mentions_expr(expr, name)),
    }
}

fn mentions_range(range: &ast::Range, name: &str) -> bool {
    match range {
        ast::Range::List { items, end } => items.iter().chain(end).any(|expr| mentions_expr(expr, name)),
        ast::Range::Each {
            value,
            generators,
            cond,
        } => {
            let bound = generators.iter().any(|(own, _)| own.text == name);
            generators
                .iter()
                .any(|(_, ranges)| ranges.iter().any(|range| mentions_range(range, name)))
                || (!bound
                    && (mentions_expr(value, name) || cond.as_ref().is_some_and(|cond| mentions_cond(cond, name))))
        }
    }
}
