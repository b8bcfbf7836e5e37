//! The known formats, and detection of the format at a path.

use std::fs;
use std::path::Path;

use odonata_workload::open_regular;

use crate::unsupported;
use crate::{FormatError, TraceFormat};

/// Formats, in the order in which they are tried.
#[derive(Clone, Copy)]
pub struct Formats(pub &'static [&'static dyn TraceFormat]);

impl Formats {
    /// The format of the file or folder at `path`.
    ///
    /// # Errors
    /// There is nothing at `path`, or no known format: the text describes the contents.
    pub fn at(&self, path: &Path) -> Result<&'static dyn TraceFormat, FormatError> {
        let by = |is: fn(&dyn TraceFormat, &Path) -> bool| self.0.iter().find(|format| is(**format, path));
        by(|format, path| format.detect(path))
            .or_else(|| by(|format, path| path.is_dir() && format.is_among(path)))
            .copied()
            .ok_or_else(|| FormatError::about(path, content_of(path), self.files()))
    }

    /// The supported files and folders, in words.
    pub fn files(&self) -> String {
        let files: Vec<&str> = self.0.iter().map(|format| format.files()).collect();
        files.join(", or ")
    }
}

/// A description of the file or folder at `path`, whose format is unknown.
fn content_of(path: &Path) -> String {
    let described = || -> std::io::Result<String> {
        let metadata = fs::metadata(path)?;
        if !metadata.is_dir() {
            // Neither file nor folder: the error says so.
            open_regular(path)?;
            if let Some(name) = unsupported::named(path) {
                return Ok(name.into());
            }
            let ending = path.extension().map(|ending| ending.to_string_lossy());
            let ending = ending.map_or("without an ending".into(), |ending| format!("ending in .{ending}"));
            return Ok(format!("a file {ending} is not in a known format"));
        }
        let (mut files, mut first, mut format) = (0, None, None);
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            format = format.or_else(|| unsupported::named(&entry.path()));
            let name = entry.file_name().to_string_lossy().into_owned();
            files += 1;
            // The first by name: the order of directory entries is arbitrary.
            first = Some(first.map_or(name.clone(), |other: String| other.min(name)));
        }
        if let Some(name) = format {
            return Ok(format!("a folder with {name}"));
        }
        Ok(match (files, first) {
            (1, Some(name)) => format!("a folder with {name} alone is not in a known format"),
            (files, Some(name)) => {
                format!("a folder of {files} files, the first of them {name}, is not in a known format")
            }
            (_, None) => "the folder is empty".into(),
        })
    };
    described().unwrap_or_else(|cause| format!("cannot be read: {cause}"))
}
