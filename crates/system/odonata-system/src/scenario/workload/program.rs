//! A job whose ranks run a coNCePTuaL program.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use odonata_conceptual::{Conceptual, ConceptualProgram, Dialect, MOST_TEXT};
use odonata_units::Problem;
use serde::Serialize;

use crate::text_file::read_text;

/// Maximum size of a file that a program reads, in bytes.
const LONGEST_DATA: u64 = 16 << 20;

/// A coNCePTuaL program, with everything that it was read from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramFile {
    /// Path of the file, resolved from the scenario's folder.
    pub path: String,
    /// Its command-line arguments.
    pub args: Vec<String>,
    /// Whether text for an unknown back end is skipped.
    pub ignore_unknown_backend: bool,
    /// Seed of its random choices: the scenario's seed.
    pub seed: u64,
    /// Its text.
    pub source: String,
    /// The texts of the files that it reads, by their names in the program.
    pub files: BTreeMap<String, String>,
}

impl ProgramFile {
    /// Reads the program at `path`, named at key `at`, with all files that it reads as `ranks` tasks; everything else
    /// is taken from `settings`.
    ///
    /// # Errors
    /// The program cannot be read or is invalid.
    pub(crate) fn read(at: &str, path: &Path, ranks: u32, settings: ProgramFile) -> Result<ProgramFile, Problem> {
        let shown = path.display().to_string();
        let expected = "a program in coNCePTuaL, at most 4 MiB";
        let source = read_text(path, MOST_TEXT as u64)
            .map_err(|problem| Problem::new(at, problem, expected).within(&shown, None))?;
        let mut program = ProgramFile {
            path: shown,
            source,
            ..settings
        };
        let files = RefCell::new(BTreeMap::new());
        let beside = |name: &str| {
            let text = read_text(&path.with_file_name(name), LONGEST_DATA)?;
            files.borrow_mut().insert(name.to_owned(), text.clone());
            Ok(text)
        };
        let result = program.program_with(ranks, &beside).map(|_| ());
        program.files = files.into_inner();
        result.map_err(|problem| Problem::new(at, problem, ""))?;
        Ok(program)
    }

    /// The program for `ranks` tasks.
    ///
    /// # Errors
    /// What is wrong with it, with file, line and column.
    pub(super) fn program(&self, ranks: u32) -> Result<ConceptualProgram, String> {
        let read = |name: &str| {
            self.files
                .get(name)
                .cloned()
                .ok_or_else(|| format!("file {name:?} was not read"))
        };
        self.program_with(ranks, &read)
    }

    /// The program, for any number of tasks.
    ///
    /// # Errors
    /// What is wrong with it, with file, line and column.
    pub fn parsed(&self) -> Result<Conceptual, String> {
        let dialect = Dialect {
            ignore_unknown_backend: self.ignore_unknown_backend,
            ..Dialect::default()
        };
        Conceptual::parse_as(&self.path, &self.source, dialect).map_err(|errors| errors.to_string())
    }

    /// As [`ProgramFile::program`], with files supplied by `read`.
    fn program_with(
        &self,
        ranks: u32,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<ConceptualProgram, String> {
        self.parsed()?
            .program(ranks, &self.args, self.seed, read)
            .map_err(|abort| abort.message)
    }
}
