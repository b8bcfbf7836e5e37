//! DUMPI as a trace format.

use std::path::Path;
use std::sync::Arc;

use odonata_trace_format::{Finding, FormatError, Opened, ReadOptions, TraceFormat, truncation};

use super::error::TraceError;
use super::lint::lint;
use super::rank_file::{Incomplete, rank_of};
use super::repeat::repeat;
use super::set::TraceFiles;
use super::statistics::Statistics;
use super::trace::Trace;

/// The DUMPI format of the SST project.
#[derive(Clone, Copy, Debug)]
pub struct Dumpi;

/// The files of the trace at `path`, to be read with `options`.
fn files(path: &Path, options: &ReadOptions) -> Result<TraceFiles, TraceError> {
    let files = TraceFiles::find(path)?.with(match options.incomplete {
        true => Incomplete::Read,
        false => Incomplete::Refused,
    });
    Ok(TraceFiles {
        call_time: options.call_time,
        cancellation: options.cancellation.clone(),
        ..files
    })
}

impl TraceFormat for Dumpi {
    fn name(&self) -> &'static str {
        "DUMPI"
    }

    fn files(&self) -> &'static str {
        "the folder of a DUMPI trace, or its .meta file"
    }

    /// A folder with a `.meta` file or rank files; or a `.meta` file, even missing, beside rank files.
    fn detect(&self, path: &Path) -> bool {
        let is_meta = |path: &Path| path.extension().is_some_and(|end| end == "meta");
        if path.is_dir() {
            return any_file(path, |file| is_meta(file) || rank_of(file).is_some());
        }
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let of_stem = |file: &Path| rank_of(file).is_some_and(|(prefix, _)| Some(prefix.as_str()) == stem);
        let folder = path.parent().filter(|parent| *parent != Path::new(""));
        path.is_file() && (is_meta(path) || any_file(folder.unwrap_or(Path::new(".")), of_stem))
    }

    fn open(&self, path: &Path, options: &ReadOptions) -> Result<Opened, FormatError> {
        let trace = Trace::of(files(path, options)?, options.compute_scale)?;
        Ok(Opened {
            does_io: trace.does_io(),
            damage: truncation(trace.damages(), odonata_workload::Program::ranks(&trace) as usize),
            program: Arc::new(trace),
        })
    }

    fn inspect(&self, path: &Path, options: &ReadOptions) -> Result<String, FormatError> {
        let statistics = Statistics::of(&files(path, options)?)?;
        serde_json::to_string(&statistics)
            .map_err(|cause| FormatError::about(path, format!("cannot be shown: {cause}"), ""))
    }

    /// Includes problems of the files, which are read even if truncated.
    fn lint(&self, path: &Path, options: &ReadOptions) -> Result<Vec<Finding>, FormatError> {
        Ok(lint(&files(path, options)?)?)
    }

    fn repeat(&self, path: &Path, folder: &Path, times: u32, options: &ReadOptions) -> Result<(), FormatError> {
        let repeated = repeat(&files(path, options)?, folder, times);
        repeated.map_err(|error| FormatError {
            // A truncated trace cannot be repeated.
            incomplete: false,
            ..error.into()
        })
    }
}

/// Whether a file in `folder` satisfies `is_one`.
fn any_file(folder: &Path, is_one: impl Fn(&Path) -> bool) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|file| is_one(&file))
}
