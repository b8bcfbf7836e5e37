//! Lowering of the syntax tree to instructions: names, scopes and all static checks.

mod expression;
mod flow;
mod message;
mod scopes;
mod statement;
mod tasks;
mod transfer;

pub(super) use statement::{MOST_STORES, STORED_WORDS};

use scopes::{Binding, Scopes};

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use super::Dialect;
use super::ast::{self, Header};
use super::diagnostic::{Diagnostic, Span};
use super::eval::Env;
use super::ir::{Code, Expr, Inst, InstKind, LOCALS, word};
use super::keyword::{PREDECLARED, nearest};
use super::machine::MOST_STEPS;
use super::options::Parameter;
use super::table::Table;

/// Maximum number of errors that are described.
const MOST_ERRORS: usize = 50;
/// Maximum number of memory words of a rank.
const MOST_WORDS: u32 = 1 << 16;

/// Returns the text of a file, or an error.
pub(super) type Read<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// The place of an expression, which decides what it may contain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Free,
    Binding,
    Set,
    If,
    Message,
    Default,
}

pub(super) struct Lower<'a> {
    tasks: i64,
    dialect: Dialect,
    /// Reads a file for FILE_DATA; `None` while a program is only checked.
    read: Option<Read<'a>>,
    scopes: Scopes<'a>,
    place: Place,
    floating: bool,
    /// Whether the current expression is only reported.
    reported: bool,
    /// Whether the current condition contains MY TASK.
    my_task: bool,
    /// Number of enclosing statements that only some tasks execute.
    split: u32,
    timed: u32,
    random_sites: u32,
    /// Numbers of tables, by file and separators.
    files: HashMap<(String, Vec<String>), u32>,
    /// Numbers of text tags.
    tag_numbers: HashMap<&'a str, u32>,
    loops: Vec<u32>,
    code: Code,
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    /// Warnings given so far.
    warned: HashSet<(Span, &'static str)>,
    effort: Cell<u64>,
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
        let mut lower = Lower::new(1, Dialect::default(), None);
        lower.place = Place::Default;
        let default = lower.expr(default);
        let faulty = !lower.errors.is_empty();
        errors.append(&mut lower.errors);
        let value = lower.constant(&default);
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
    let mut lower = Lower::new(tasks, dialect, read);
    let mut values = values.iter();
    for header in &program.headers {
        match header {
            Header::Param { name, .. } => {
                let value = values.next().copied().unwrap_or(0);
                lower.push_scope(&name.text, name.span, Binding::Constant(value));
            }
            Header::Version(version) if version.text != "1.5" => {
                let message = format!("language version {:?}: this is 1.5", version.text);
                lower.warn("other language version", message, version.span);
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
    lower.close(0);
    lower.finish()
}

impl<'a> Lower<'a> {
    fn new(tasks: u32, dialect: Dialect, read: Option<Read<'a>>) -> Self {
        Lower {
            tasks: i64::from(tasks),
            dialect,
            read,
            scopes: Scopes::default(),
            place: Place::Free,
            floating: false,
            reported: false,
            my_task: false,
            split: 0,
            timed: 0,
            random_sites: 0,
            files: HashMap::new(),
            tag_numbers: HashMap::new(),
            loops: Vec::new(),
            code: Code {
                words: word::OWN as u32,
                ..Code::default()
            },
            errors: Vec::new(),
            warnings: Vec::new(),
            warned: HashSet::new(),
            effort: Cell::new(MOST_STEPS),
        }
    }

    fn finish(mut self) -> Lowered {
        if self.code.words > MOST_WORDS {
            let message = format!(
                "variables and loops take {} words of memory per task: {MOST_WORDS} at most",
                self.code.words
            );
            self.error("program too large", message, Span::default());
        }
        if self.code.assigns {
            // The mapping of tasks to processors is a dependency of every set.
            for inst in &mut self.code.insts {
                if let Some(site) = site_of(&mut inst.kind) {
                    site.reads.push(word::MAPS as u32);
                }
            }
        }
        self.errors.sort_by_key(|error| error.span);
        self.warnings.sort_by_key(|warning| warning.span);
        Lowered {
            code: self.code,
            errors: self.errors,
            warnings: self.warnings,
        }
    }

    fn error(&mut self, reason: &'static str, message: String, span: Span) {
        self.error_with(reason, message, span, None);
    }

    fn error_with(&mut self, reason: &'static str, message: String, span: Span, hint: Option<String>) {
        // A set with several uses is checked at each.
        let known = self
            .errors
            .iter()
            .any(|error| error.span == span && error.reason == reason);
        if !known && self.errors.len() < MOST_ERRORS {
            self.errors.push(Diagnostic {
                reason,
                message,
                span,
                hint,
            });
        }
    }

    fn warn(&mut self, reason: &'static str, message: String, span: Span) {
        if self.warned.insert((span, reason)) {
            self.warnings.push(Diagnostic {
                reason,
                message,
                span,
                hint: None,
            });
        }
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

    fn push_scope(&mut self, name: &'a str, span: Span, binding: Binding<'a>) {
        if PREDECLARED.contains(&name) {
            self.error(
                "redefinition of a predeclared variable",
                format!("{name} is already defined"),
                span,
            );
        }
        self.scopes.push(name, span, binding);
    }

    /// Ends the scopes from `mark` on.
    fn close(&mut self, mark: usize) {
        while self.scopes.len() > mark {
            let Some(scope) = self.scopes.pop() else { return };
            if !scope.used {
                self.warn("unused variable", format!("unused variable {}", scope.name), scope.span);
            }
        }
    }

    /// A variable of a set of tasks or a comprehension.
    fn local(&mut self, name: &'a str, span: Span) -> u8 {
        let local = self.scopes.locals().min(LOCALS - 1) as u8;
        if self.scopes.locals() >= LOCALS {
            self.error(
                "nested too deeply",
                format!("more than {LOCALS} variables of task sets and lists at once"),
                span,
            );
        }
        self.push_scope(name, span, Binding::Local(local));
        local
    }

    /// The name in scope that `name` probably means.
    fn suggestion(&self, name: &str) -> Option<String> {
        if self.errors.len() >= MOST_ERRORS {
            return None;
        }
        nearest(name, self.scopes.names().chain(PREDECLARED)).map(|near| format!("did you mean {near:?}?"))
    }

    /// The value of an expression without variables.
    fn constant(&self, expr: &Expr) -> super::functions::Value<i64> {
        self.env().int(expr)
    }

    fn env(&self) -> Env<'_> {
        Env::constant(self.tasks, &self.effort)
    }

    /// The number of the table in `file`, which is read if the program is to run.
    fn table(&mut self, file: &ast::Word, separators: &[String]) -> u32 {
        let key = (file.text.clone(), separators.to_vec());
        if let Some(&known) = self.files.get(&key) {
            return known;
        }
        let number = self.code.tables.len() as u32;
        self.files.insert(key, number);
        let table = match self.read.map(|read| read(&file.text)) {
            None => Table::default(),
            Some(Ok(text)) => Table::new(&text, separators),
            Some(Err(message)) => {
                self.error("file that cannot be read", message, file.span);
                Table::default()
            }
        };
        self.code.tables.push(table);
        number
    }
}

/// The site of an instruction, if it has one.
pub(super) fn site_of(kind: &mut InstKind) -> Option<&mut super::ir::Site> {
    match kind {
        InstKind::EachStart { site, .. }
        | InstKind::EachHead { site, .. }
        | InstKind::Send { site, .. }
        | InstKind::Receive { site, .. }
        | InstKind::Multicast { site, .. }
        | InstKind::Reduce { site, .. }
        | InstKind::Barrier { site, .. }
        | InstKind::Touch { site, .. } => Some(site),
        _ => None,
    }
}
