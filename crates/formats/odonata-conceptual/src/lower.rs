//! Lowering of the syntax tree to instructions: names, scopes and all static checks.

mod diagnostics;
mod expression;
mod flow;
mod message;
mod scopes;
mod statement;
mod tables;
mod tasks;
mod transfer;

use diagnostics::MOST_ERRORS;
use expression::{Expressions, Place};
use scopes::Binding;

use std::collections::HashSet;

use super::Dialect;
use super::ast::{self, Header};
use super::diagnostic::{Diagnostic, Span};
use super::eval::{walk, walk_cond, walk_ranges};
use super::ir::{Code, Each, Expr, Inst, InstKind, Range, Receive, Send, Set, Site, Tasks, word};
use super::keyword::PREDECLARED;
use super::options::Parameter;

/// Maximum number of memory words of a rank.
const MOST_WORDS: u32 = 1 << 16;

/// Returns the text of a file, or an error.
pub(super) type Read<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Lowers statements.
pub(super) struct Lower<'a> {
    expressions: Expressions<'a>,
    /// Number of enclosing statements that only some tasks execute.
    split: u32,
    timed: u32,
    loops: Vec<u32>,
    code: Code,
}

/// What lowering gives.
pub(super) struct Lowered {
    pub code: Code,
    pub errors: Vec<Diagnostic>,
    pub warnings: Vec<Diagnostic>,
}

/// The parameters that `program` declares, and their errors.
pub(super) fn parameters(program: &ast::Program) -> (Vec<Parameter>, Vec<Diagnostic>) {
    let mut found: Vec<Parameter> = Vec::new();
    let (mut names, mut longs, mut shorts) = (HashSet::new(), HashSet::new(), HashSet::new());
    let mut errors = Vec::new();
    for header in &program.headers {
        let Header::Param {
            name,
            about,
            long,
            short,
            default,
        } = header
        else {
            continue;
        };
        let mut error = |reason: &'static str, message: String, span: Span| {
            errors.push(Diagnostic {
                reason,
                message,
                span,
                hint: None,
            });
        };
        if PREDECLARED.contains(&name.text.as_str()) {
            error(
                "redefinition of a predeclared variable",
                format!("{} is already defined", name.text),
                name.span,
            );
        }
        if !names.insert(&name.text) {
            error(
                "duplicate variable",
                format!("{:?} is declared twice", name.text),
                name.span,
            );
        }
        let long_is_valid = long.text.strip_prefix("--").is_some_and(|rest| {
            !rest.is_empty()
                && rest
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        });
        if !long_is_valid {
            let message = format!(
                "long option {:?}: expected \"--\" and letters, digits, - or _",
                long.text
            );
            error("long option must be two hyphens and a name", message, long.span);
        }
        let short_is_valid = matches!(short.text.as_bytes(), [b'-', b'a'..=b'z' | b'0'..=b'9']);
        if !short_is_valid {
            let message = format!(
                "short option {:?}: expected \"-\" and a lower-case letter or a digit",
                short.text
            );
            error("short option must be a lowercase letter or digit", message, short.span);
        }
        if !longs.insert(&long.text) {
            error(
                "duplicate long option",
                format!("option {:?} is declared twice", long.text),
                long.span,
            );
        }
        if !shorts.insert(&short.text) {
            error(
                "duplicate short option",
                format!("option {:?} is declared twice", short.text),
                short.span,
            );
        }
        let mut expressions = Expressions::new(1, Dialect::default(), None);
        let default = expressions.at(Place::Default, |expressions| expressions.expr(default));
        let value = expressions.constant(&default);
        let faults = expressions.diagnostics.errors;
        let faulty = !faults.is_empty();
        errors.extend(faults);
        if let (Err(fault), false) = (&value, faulty) {
            errors.push(Diagnostic {
                reason: fault,
                message: format!("the default of {:?}: {fault}", name.text),
                span: name.span,
                hint: None,
            });
        }
        found.push(Parameter {
            name: name.text.clone(),
            about: about.clone(),
            long: long.text.clone(),
            short: short.text.clone(),
            default: value.unwrap_or(0),
        });
    }
    errors.truncate(MOST_ERRORS);
    (found, errors)
}

/// Lowers `program` to instructions for `tasks` tasks, with the values of its parameters.
pub(super) fn lower<'a>(
    program: &'a ast::Program,
    values: &[i64],
    tasks: u32,
    dialect: Dialect,
    read: Option<Read<'a>>,
) -> Lowered {
    let mut lower = Lower {
        expressions: Expressions::new(tasks, dialect, read),
        split: 0,
        timed: 0,
        loops: Vec::new(),
        code: Code {
            words: word::OWN as u32,
            ..Code::default()
        },
    };
    let mut values = values.iter();
    for header in &program.headers {
        match header {
            Header::Param { name, .. } => {
                let value = values.next().copied().unwrap_or(0);
                lower
                    .expressions
                    .push_scope(&name.text, name.span, Binding::Constant(value));
            }
            Header::Version(version) if version.text != "1.5" => {
                let message = format!("language version {:?}: this is 1.5", version.text);
                lower
                    .expressions
                    .diagnostics
                    .warn("other language version", message, version.span);
            }
            Header::Version(_) | Header::Declares => {}
        }
    }
    for statements in &program.statements {
        for statement in statements {
            lower.statement(statement);
        }
        if let Some(last) = statements.last() {
            lower.emit(last.span, InstKind::TopEnd);
        }
    }
    lower.expressions.close(0);
    lower.finish()
}

impl<'a> Lower<'a> {
    fn finish(mut self) -> Lowered {
        if self.code.words > MOST_WORDS {
            let message = format!(
                "variables and loops take {} words of memory per task: {MOST_WORDS} at most",
                self.code.words
            );
            self.expressions
                .diagnostics
                .error("program too large", message, Span::default());
        }
        if self.code.assigns {
            // The mapping of tasks to processors is a dependency of every set.
            for inst in &mut self.code.insts {
                if let Some(site) = site_of(&mut inst.kind) {
                    site.reads.push(word::MAPS as u32);
                }
            }
        }
        let (errors, warnings) = self.expressions.diagnostics.sorted();
        Lowered {
            code: Code {
                clock: self.expressions.clock,
                tables: self.expressions.tables.tables,
                tag_texts: self.expressions.tag_texts,
                ..self.code
            },
            errors,
            warnings,
        }
    }

    /// A new site for the dependencies of `tasks` and `ranges`.
    fn site(&mut self, sets: &[&Tasks], ranges: &[Range]) -> Site {
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

    fn emit(&mut self, span: Span, kind: InstKind) -> usize {
        self.code.insts.push(Inst { span, kind });
        self.code.insts.len() - 1
    }

    fn here(&self) -> u32 {
        self.code.insts.len() as u32
    }

    /// `count` new words of memory.
    fn words(&mut self, count: u32) -> u32 {
        let first = self.code.words;
        self.code.words = self.code.words.saturating_add(count);
        first
    }
}

/// The site of an instruction, if it has one.
pub(super) fn site_of(kind: &mut InstKind) -> Option<&mut Site> {
    match kind {
        InstKind::EachStart(Each { site, .. })
        | InstKind::EachHead(Each { site, .. })
        | InstKind::Send(Send { site, .. })
        | InstKind::Receive(Receive { site, .. })
        | InstKind::Multicast { site, .. }
        | InstKind::Reduce { site, .. }
        | InstKind::Barrier { site, .. }
        | InstKind::Touch { site, .. } => Some(site),
        _ => None,
    }
}
