//! The trace formats of jobs and trace commands.
//!
//! Formats with a reader of their own are in [`FORMATS`]. All others have a [`Converter`], which makes a program folder
//! of the trace. So every trace of a job is one of `FORMATS`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use odonata_dumpi::Dumpi;
use odonata_goal::Goal;
use odonata_program_file::ProgramFolder;
use odonata_trace_format::{FormatError, Formats, Opened, ReadOptions, TraceFormat};

/// All formats that are read here, in the order of detection.
pub static FORMATS: Formats = Formats(&[&ProgramFolder, &Goal, &Dumpi]);

/// A program folder made from a trace.
#[derive(Debug)]
pub struct Converted {
    /// The folder.
    pub program: PathBuf,
    /// The unknown and omitted parts of the trace, in sentences.
    pub notes: Vec<String>,
}

/// Formats that are converted.
#[derive(Clone, Copy, Debug)]
pub struct Converter {
    /// Converts the trace at a path, or finds the folder of an earlier conversion; `None` for other formats. If the last
    /// argument is true, the earlier folder is damaged: it is replaced.
    pub convert: fn(&Path, &ReadOptions, bool) -> Result<Option<Converted>, FormatError>,
    /// The supported files and folders, in words.
    pub files: fn() -> String,
}

// Other formats have readers in Python: the Python bridge registers them when it is loaded.
static CONVERTER: OnceLock<Converter> = OnceLock::new();

/// Registers the formats that are converted, once per process.
pub fn provide_converter(converter: Converter) {
    CONVERTER.get_or_init(|| converter);
}

/// The supported files and folders of all formats, in words.
pub(crate) fn files() -> String {
    let converted = CONVERTER.get().map(|converter| (converter.files)());
    [Some(FORMATS.files()), converted]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", or ")
}

/// Opens the trace at `path`, and returns the notes of its conversion. `before` sees the format, and the path that it
/// opens.
///
/// # Errors
/// It cannot be read, or `before` refuses it.
pub(crate) fn open<E>(
    path: &Path,
    options: &ReadOptions,
    before: impl Fn(&dyn TraceFormat, &Path) -> Result<(), E>,
    wrong: impl Fn(FormatError) -> E,
) -> Result<(Opened, Vec<String>), E> {
    let unknown = match FORMATS.at(path) {
        Ok(format) => {
            before(format, path)?;
            return Ok((format.open(path, options).map_err(wrong)?, Vec::new()));
        }
        Err(unknown) => unknown,
    };
    let convert = |renew| match CONVERTER.get() {
        Some(converter) => (converter.convert)(path, options, renew).map_err(&wrong),
        None => Ok(None),
    };
    let Some(found) = convert(false)? else {
        return Err(wrong(unknown));
    };
    before(&ProgramFolder, &found.program)?;
    if let Ok(opened) = ProgramFolder.open(&found.program, options) {
        return Ok((opened, found.notes));
    }
    let found = convert(true)?.ok_or_else(|| wrong(unknown))?;
    let opened = ProgramFolder.open(&found.program, options).map_err(wrong)?;
    Ok((opened, found.notes))
}
