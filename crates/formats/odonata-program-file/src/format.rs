//! Program folders as a trace format.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use odonata_trace_format::{FormatError, Opened, ReadOptions, TraceFormat};
use serde::Serialize;

use crate::communicators::Communicators;
use crate::lists::CountLists;
use crate::{COMMUNICATORS, COUNTS, Contents, ProgramFile, is_collective};

/// The format of programs as folders with Parquet tables. Truncated files are always refused.
#[derive(Clone, Copy, Debug)]
pub struct ProgramFolder;

/// The contents of a program folder: the keys of every trace, and `contents`.
#[derive(Serialize)]
struct Inspection<'a> {
    contents: &'a Contents,
    description: &'a str,
    format: &'a str,
    made_by: &'a str,
    name: Option<String>,
    nranks: u32,
    total_collective_calls: BTreeMap<&'static str, u64>,
    total_op_counts: &'a BTreeMap<&'static str, u64>,
    total_persistent_starts: u64,
    total_records: u64,
    total_recvs_posted: u64,
    total_send_bytes: u64,
    total_sends: u64,
    version: u32,
}

impl<'a> Inspection<'a> {
    fn of(file: &'a ProgramFile) -> Inspection<'a> {
        let (description, contents) = (file.description(), file.contents());
        let name = file.folder().file_name();
        let collectives = contents.kinds.iter().filter(|(kind, _)| is_collective(kind));
        Inspection {
            contents,
            description: &description.description,
            format: &description.format,
            made_by: &description.made_by,
            name: name.map(|name| name.to_string_lossy().into_owned()),
            nranks: description.ranks,
            total_collective_calls: collectives.map(|(&kind, &count)| (kind, count)).collect(),
            total_op_counts: &contents.kinds,
            total_persistent_starts: contents.starts,
            total_records: contents.operations,
            total_recvs_posted: contents.receives,
            total_send_bytes: contents.message_bytes,
            total_sends: contents.messages,
            version: description.version,
        }
    }
}

fn open(path: &Path, options: &ReadOptions) -> Result<ProgramFile, FormatError> {
    Ok(ProgramFile::open_with(
        path,
        options.compute_scale,
        &options.cancellation,
    )?)
}

impl TraceFormat for ProgramFolder {
    fn name(&self) -> &'static str {
        "program folder"
    }

    fn files(&self) -> &'static str {
        "a program folder"
    }

    fn detect(&self, path: &Path) -> bool {
        ProgramFile::is_at(path)
    }

    /// Lists of sizes and members of communicators stay in memory.
    fn least_memory(&self, path: &Path) -> u64 {
        let sizes = CountLists::least_memory(&path.join(COUNTS));
        sizes.saturating_add(Communicators::least_memory(&path.join(COMMUNICATORS)))
    }

    fn open(&self, path: &Path, options: &ReadOptions) -> Result<Opened, FormatError> {
        let file = open(path, options)?;
        Ok(Opened {
            does_io: file.does_io(),
            damage: None,
            program: Arc::new(file),
        })
    }

    fn inspect(&self, path: &Path, options: &ReadOptions) -> Result<String, FormatError> {
        let file = open(path, options)?;
        // Through a value, which sorts the keys.
        serde_json::to_value(Inspection::of(&file))
            .map(|value| value.to_string())
            .map_err(|cause| FormatError::about(path, format!("cannot be shown: {cause}"), ""))
    }
}
