//! A job whose ranks are Python generators.

use std::fmt;
use std::sync::{Arc, OnceLock};

use odonata_workload::Program;
use serde::Serialize;
use serde_json::{Map, Value};

/// What a Python program is made from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PythonSource {
    /// Path of the file, resolved from the scenario's folder; or, in angle brackets, the name of a function without a
    /// file.
    pub path: String,
    /// Name of the function in the file.
    pub function: String,
    /// Its arguments in addition to rank and number of ranks.
    pub args: Map<String, Value>,
    /// The text of the file; empty if there is none.
    pub source: String,
}

/// A program whose operations come from Python. Equal sources are equal.
#[derive(Clone, Serialize)]
pub struct Python {
    /// What it is made from.
    #[serde(flatten)]
    pub source: PythonSource,
    #[serde(skip)]
    program: Arc<dyn Program>,
}

/// Makes the program of a source for a number of ranks; the error is a message for users.
pub type PythonMaker = fn(&PythonSource, u32) -> Result<Arc<dyn Program>, String>;

// The core has no interpreter: the Python bridge, which has one, registers itself when it is loaded.
static MAKER: OnceLock<PythonMaker> = OnceLock::new();

/// Registers the function that makes Python programs, once per process.
pub fn provide_python(maker: PythonMaker) {
    MAKER.get_or_init(|| maker);
}

impl Python {
    /// The program of `source` for `ranks` ranks.
    ///
    /// # Errors
    /// There is no interpreter in this process or no such function, or it does not take these arguments.
    pub fn new(source: PythonSource, ranks: u32) -> Result<Python, String> {
        let maker = MAKER.get().ok_or("this process has no Python interpreter")?;
        let program = maker(&source, ranks)?;
        Ok(Python { source, program })
    }

    /// The program; all clones share it.
    pub fn program(&self) -> &Arc<dyn Program> {
        &self.program
    }
}

impl PartialEq for Python {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl fmt::Debug for Python {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Python")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}
