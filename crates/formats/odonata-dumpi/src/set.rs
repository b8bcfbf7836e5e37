//! A trace: a folder with one file per rank, and a `.meta` file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use odonata_trace_format::Cancellation;
use odonata_workload::read_regular;

use super::error::TraceError;
use super::rank_file::{Incomplete, Numbered, rank_of};

/// Longest `.meta` file, in bytes.
const LONGEST_META: u64 = 1 << 20;

/// The files of a trace.
#[derive(Clone, Debug, Default)]
pub struct TraceFiles {
    /// The file of each rank.
    pub ranks: Vec<PathBuf>,
    /// Lines `key=value` of the `.meta` file; empty without one.
    pub meta: BTreeMap<String, String>,
    /// Handling of damaged files.
    pub incomplete: Incomplete,
    /// Whether time in calls counts as computation, too.
    pub call_time: bool,
    /// Stops readers of the files.
    pub cancellation: Cancellation,
}

fn unreadable(path: &Path, cause: &std::io::Error) -> TraceError {
    TraceError::about(
        path,
        format!("cannot be read: {cause}"),
        "a folder with a DUMPI trace, or its .meta file",
    )
}

impl TraceFiles {
    /// The files of the trace at `path`: its folder, or its `.meta` file if a folder has several traces.
    ///
    /// The `.meta` file gives the `fileprefix` of the rank files; without such files, its own stem is the prefix.
    /// Without a `.meta` file, the rank files are all files `PREFIX-RANK.bin` of the folder.
    ///
    /// # Errors
    /// There is no trace, there are several, or a rank has no file.
    pub fn find(path: &Path) -> Result<TraceFiles, TraceError> {
        let is_folder = std::fs::metadata(path)
            .map_err(|cause| unreadable(path, &cause))?
            .is_dir();
        let folder = match path.parent() {
            _ if is_folder => path,
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let mut files: BTreeMap<String, Vec<Numbered>> = BTreeMap::new();
        let mut metas = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(|cause| unreadable(folder, &cause))? {
            let file = entry.map_err(|cause| unreadable(folder, &cause))?.path();
            if let Some((prefix, rank)) = rank_of(&file) {
                files.entry(prefix).or_default().push((rank, file));
            } else if file.extension().is_some_and(|end| end == "meta") && !hidden(&file) {
                metas.push(file);
            }
        }
        metas.sort();
        let meta_file = match (is_folder, metas.as_slice()) {
            (false, _) => Some(path),
            (true, []) => None,
            (true, [one]) => Some(one.as_path()),
            (true, several) => {
                let problem = format!("{} files end in .meta", several.len());
                return Err(TraceError::about(path, problem, "the path of one of them"));
            }
        };
        let meta = meta_file.map_or(Ok(BTreeMap::new()), read_meta)?;
        let prefix = match meta_file {
            Some(file) => {
                let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
                let named = meta.get("fileprefix").filter(|prefix| files.contains_key(*prefix));
                let prefix = named.map_or(stem, String::as_str).to_string();
                if !files.contains_key(&prefix) {
                    let problem = format!("there is no file {prefix}-RANK.bin beside it");
                    return Err(TraceError::about(
                        file,
                        problem,
                        "one file per rank, PREFIX-0000.bin and so on",
                    ));
                }
                prefix
            }
            None => match files.keys().collect::<Vec<_>>().as_slice() {
                [one] => (*one).clone(),
                several => {
                    let problem = format!("files of {} traces", several.len());
                    return Err(TraceError::about(path, problem, "files PREFIX-RANK.bin of one trace"));
                }
            },
        };
        let ranks = numbered(folder, files.remove(&prefix).unwrap_or_default())?;
        if let Some(count) = meta.get("numprocs").filter(|count| **count != ranks.len().to_string()) {
            let problem = format!("{} files {prefix}-RANK.bin", ranks.len());
            return Err(TraceError::about(
                folder,
                problem,
                format!("as many as numprocs of the .meta file says, {count:?}"),
            ));
        }
        Ok(TraceFiles {
            ranks,
            meta,
            ..TraceFiles::default()
        })
    }

    /// The same files, with this handling of damaged ones.
    pub fn with(self, incomplete: Incomplete) -> TraceFiles {
        TraceFiles { incomplete, ..self }
    }
}

fn hidden(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_none_or(|name| name.starts_with("._"))
}

/// The files in rank order, checked for completeness.
fn numbered(folder: &Path, mut files: Vec<Numbered>) -> Result<Vec<PathBuf>, TraceError> {
    files.sort();
    for (expected, (rank, file)) in (0..).zip(&files) {
        if *rank > expected {
            let problem = format!("rank {rank} has a file, but rank {expected} has none");
            return Err(TraceError::about(folder, problem, "a file for every rank from 0 on"));
        }
        if *rank < expected {
            return Err(TraceError::about(file, format!("a second file of rank {rank}"), "one"));
        }
    }
    Ok(files.into_iter().map(|(_, file)| file).collect())
}

fn read_meta(path: &Path) -> Result<BTreeMap<String, String>, TraceError> {
    let bytes = read_regular(path, LONGEST_META).map_err(|cause| {
        TraceError::about(
            path,
            format!("cannot be read: {cause}"),
            "a .meta file with lines key=value",
        )
    })?;
    let text = String::from_utf8_lossy(&bytes);
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    Ok(pairs
        .map(|(key, value)| (key.trim().into(), value.trim().into()))
        .collect())
}
