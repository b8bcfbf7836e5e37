//! Names in scope, and their meaning.

use std::collections::HashMap;

use super::super::ast;
use super::super::diagnostic::Span;

/// The meaning of a name.
#[derive(Clone, Copy)]
pub(super) enum Binding<'a> {
    Constant(i64),
    Slot(u32),
    Local(u8),
    /// A set of tasks, with the scopes visible in its definition.
    Group(&'a ast::Tasks, usize),
}

/// A name in scope.
pub(super) struct Scope<'a> {
    pub(super) name: &'a str,
    pub(super) span: Span,
    pub(super) binding: Binding<'a>,
    pub(super) used: bool,
    /// Whether it is the variable of a statement's source tasks.
    pub(super) source: bool,
}

/// The names in scope, the innermost last.
#[derive(Default)]
pub(super) struct Scopes<'a> {
    scopes: Vec<Scope<'a>>,
    /// Indices of each name in `scopes`, the innermost last.
    places: HashMap<&'a str, Vec<usize>>,
    /// Locals in use.
    locals: usize,
}

impl<'a> Scopes<'a> {
    /// Number of names in scope, a mark of those that follow.
    pub(super) fn len(&self) -> usize {
        self.scopes.len()
    }

    /// Locals in use.
    pub(super) fn locals(&self) -> usize {
        self.locals
    }

    /// The names in scope.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.scopes.iter().map(|scope| scope.name)
    }

    pub(super) fn push(&mut self, name: &'a str, span: Span, binding: Binding<'a>) {
        self.locals += usize::from(matches!(binding, Binding::Local(_)));
        self.restore(Scope {
            name,
            span,
            binding,
            used: false,
            source: false,
        });
    }

    fn restore(&mut self, scope: Scope<'a>) {
        self.places.entry(scope.name).or_default().push(self.scopes.len());
        self.scopes.push(scope);
    }

    /// Ends the innermost scope.
    pub(super) fn pop(&mut self) -> Option<Scope<'a>> {
        let scope = self.scopes.pop()?;
        self.forget(scope.name);
        self.locals -= usize::from(matches!(scope.binding, Binding::Local(_)));
        Some(scope)
    }

    /// Hides the scopes from `reach` on, until [`show`](Self::show) restores them.
    pub(super) fn hide(&mut self, reach: usize) -> Vec<Scope<'a>> {
        let hidden = self.scopes.split_off(reach);
        for scope in &hidden {
            self.forget(scope.name);
        }
        hidden
    }

    pub(super) fn show(&mut self, hidden: Vec<Scope<'a>>) {
        for scope in hidden {
            self.restore(scope);
        }
    }

    /// Removes the innermost place of this name.
    fn forget(&mut self, name: &str) {
        if let Some(places) = self.places.get_mut(name) {
            places.pop();
        }
    }

    /// The innermost scope of this name.
    pub(super) fn find(&mut self, name: &str) -> Option<&mut Scope<'a>> {
        let place = *self.places.get(name)?.last()?;
        self.scopes.get_mut(place)
    }

    /// The names from `mark` on count as used.
    pub(super) fn mark_used(&mut self, mark: usize) {
        self.scopes[mark..].iter_mut().for_each(|scope| scope.used = true);
    }

    /// The names from `mark` on are variables of a statement's source tasks.
    pub(super) fn mark_source(&mut self, mark: usize) {
        self.scopes[mark..].iter_mut().for_each(|scope| scope.source = true);
    }
}
