//! Programs in coNCePTuaL, the language for network benchmarks of Los Alamos National Laboratory.
//!
//! S. Pakin, "The design and implementation of a domain-specific language for network performance testing", IEEE TPDS
//! 18(10), 2007. The language is release 1.5.1b with the file access of MFNetSim's Union; docs/conceptual.md lists
//! additions and differences.
//!
//! ```text
//!  text ── lexer ──> tokens ── parser ──> tree ── lower ──> instructions ── machine ──> one operation of one rank
//!                                                  (names, checks)            (shared sets of partners)
//! ```
//!
//! A rank is a machine that executes the instructions with a few words of memory; nothing is expanded in advance.
//!
//! ```
//! use odonata_conceptual::Conceptual;
//! use odonata_workload::{Program, operations};
//!
//! let text = "Task 0 sends a 4K byte message to task 1 then task 1 sends a 1 byte message to task 0.";
//! let program = Conceptual::parse("ping.ncptl", text)?.program(2, &[], 1, &|_| Err("no files".into()))?;
//! assert_eq!(operations(&program, 0).count(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ast;
mod diagnostic;
mod eval;
mod format;
mod functions;
mod inject;
mod instance;
mod ir;
mod keyword;
mod lexer;
mod lower;
mod machine;
mod options;
mod parser;
mod program;
mod progression;
mod random;
mod record;
mod sets;
mod table;

use std::sync::Arc;

pub use diagnostic::{Diagnostic, Diagnostics, Span, line_and_column};
pub use format::format;
pub use functions::print;
pub use instance::Abort;
pub use options::Parameter;
pub use program::ConceptualProgram;
pub use record::{Record, reject};

use instance::Instance;

/// The largest program text, in bytes.
pub const MOST_TEXT: usize = 4 << 20;
/// Maximum number of warnings that are described.
const MOST_WARNINGS: usize = 50;
/// The most tasks of a program.
pub const MOST_TASKS: u32 = 1 << 24;

fn too_long(length: usize) -> Diagnostic {
    Diagnostic {
        reason: "program too long",
        message: format!("{length} bytes of text: {MOST_TEXT} at most"),
        span: Span::default(),
        hint: None,
    }
}

/// The accepted language: as documented, with these exceptions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// Accepts only programs that release 1.5.1b of the reference accepts: no variable of the source tasks in the
    /// description of a message, and no ALL TASKS as receivers.
    pub strict: bool,
    /// Ignores text for an unknown back end (BACKEND EXECUTES) with a warning, instead of refusing it: for programs
    /// written for another back end.
    pub ignore_unknown_backend: bool,
}

/// A program that has passed all checks without a run.
#[derive(Clone, Debug)]
pub struct Conceptual {
    file: String,
    source: Arc<str>,
    tree: Arc<ast::Program>,
    parameters: Vec<Parameter>,
    warnings: Vec<Diagnostic>,
    dialect: Dialect,
}

impl Conceptual {
    /// Parses and checks `source`, the text of `file`.
    ///
    /// # Errors
    /// All errors in the text.
    pub fn parse(file: &str, source: &str) -> Result<Conceptual, Diagnostics> {
        Conceptual::parse_as(file, source, Dialect::default())
    }

    /// Like [`Conceptual::parse`], in `dialect`.
    ///
    /// # Errors
    /// All errors in the text.
    pub fn parse_as(file: &str, source: &str, dialect: Dialect) -> Result<Conceptual, Diagnostics> {
        let failed = |mut errors: Vec<Diagnostic>| {
            errors.sort_by_key(|error| error.span);
            Diagnostics {
                file: file.into(),
                source: source.into(),
                errors,
            }
        };
        if source.len() > MOST_TEXT {
            return Err(failed(vec![too_long(source.len())]));
        }
        let lexed = lexer::lex(source);
        let mut errors = lexed.errors;
        let (tree, syntax) = parser::parse(lexed.tokens);
        errors.extend(syntax);
        let (parameters, wrong) = lower::parameters(&tree);
        errors.extend(wrong);
        let defaults: Vec<i64> = parameters.iter().map(|parameter| parameter.default).collect();
        let lowered = lower::lower(&tree, &defaults, 2, dialect, None);
        errors.extend(lowered.errors);
        if !errors.is_empty() {
            return Err(failed(errors));
        }
        let mut warnings = lexed.warnings;
        warnings.extend(lowered.warnings);
        if let Some(first) = warnings.get(MOST_WARNINGS) {
            let rest = Diagnostic {
                reason: "more warnings",
                message: format!("and {} more warnings", warnings.len() - MOST_WARNINGS),
                span: first.span,
                hint: None,
            };
            warnings.truncate(MOST_WARNINGS);
            warnings.push(rest);
        }
        Ok(Conceptual {
            file: file.into(),
            source: source.into(),
            tree: Arc::new(tree),
            parameters,
            warnings,
            dialect,
        })
    }

    /// The parameters that the program declares.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Warnings.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The warnings as text, with the source lines.
    pub fn rendered_warnings(&self) -> Vec<String> {
        let render = |warning: &Diagnostic| warning.render("warning", &self.file, &self.source);
        self.warnings.iter().map(render).collect()
    }

    fn instance(
        &self,
        tasks: u32,
        args: &[String],
        seed: u64,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Instance, Abort> {
        let refuse = |reason: &'static str, message: String| Abort {
            reason,
            message: format!("{}: error: {message}", self.file),
            early: true,
        };
        if tasks == 0 || tasks > MOST_TASKS {
            return Err(refuse(
                "number of tasks",
                format!("{tasks} tasks: expected 1 to {MOST_TASKS}"),
            ));
        }
        // Strict rules have been checked by `parse`.
        let dialect = Dialect {
            strict: false,
            ..self.dialect
        };
        let values = options::values(&self.parameters, args).map_err(|(reason, message)| refuse(reason, message))?;
        let lowered = lower::lower(&self.tree, &values, tasks, dialect, Some(read));
        if let Some(error) = lowered.errors.first() {
            return Err(Abort {
                reason: error.reason,
                message: error.render("error", &self.file, &self.source),
                early: true,
            });
        }
        Instance::new(self.file.clone(), self.source.clone(), tasks, seed, lowered.code)
    }

    /// The program for `tasks` tasks with the command-line arguments `args`. Random values depend on `seed`; `read`
    /// returns the text of a file for FILE_DATA, or an error.
    ///
    /// # Errors
    /// An unknown option, an unreadable file, or collectives that cannot be foreseen.
    pub fn program(
        &self,
        tasks: u32,
        args: &[String],
        seed: u64,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<ConceptualProgram, Abort> {
        self.instance(tasks, args, seed, read).map(ConceptualProgram::new)
    }

    /// Expands the program for `tasks` tasks, operation by operation, and executes it without a clock: timed loops have
    /// three passes. Meant for reading and comparing; at most 4,194,304 operations.
    pub fn record(
        &self,
        tasks: u32,
        args: &[String],
        seed: u64,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Record {
        let warnings: Vec<String> = self
            .warnings
            .iter()
            .map(|warning| {
                format!(
                    "line {}: {}",
                    line_and_column(&self.source, warning.span.start).0,
                    warning.message
                )
            })
            .collect();
        let instance = self.instance(tasks, args, seed, read);
        Record::new(&self.file, tasks, args, &warnings, instance)
    }
}

/// The value of a constant expression, in integer or floating context: for calculators and tests.
///
/// # Errors
/// It is not an expression, or has no value.
pub fn evaluate(expression: &str, floating: bool) -> Result<f64, String> {
    let quoted = format!("Task 0 outputs {expression}.");
    let program = Conceptual::parse("expression", &quoted).map_err(|errors| errors.to_string())?;
    let code = lower::lower(&program.tree, &[], 1, Dialect::default(), None).code;
    let report = code.reports.first().ok_or("no expression")?;
    let [value] = report.values() else {
        return Err("expected one expression".into());
    };
    let effort = std::cell::Cell::new(machine::MOST_STEPS);
    let env = eval::Env::constant(1, &effort);
    if floating {
        env.float(value).map_err(Into::into)
    } else {
        env.int(value).map(|value| value as f64).map_err(Into::into)
    }
}
