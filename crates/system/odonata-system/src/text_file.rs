//! Text files that a scenario names.

use std::path::Path;

use odonata_workload::read_regular;

/// Reads a regular text file of at most `longest` bytes.
///
/// # Errors
/// The reason why it cannot be read.
pub fn read_text(path: &Path, longest: u64) -> Result<String, String> {
    let bytes = read_regular(path, longest).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::FileTooLarge => format!("the file has more than {longest} bytes"),
        _ => format!("the file cannot be read: {cause}"),
    })?;
    String::from_utf8(bytes)
        .map_err(|cause| format!("the file is not UTF-8 text (byte {})", cause.utf8_error().valid_up_to()))
}
