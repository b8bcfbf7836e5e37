//! What the targets share that hand bytes to readers of files: where the files lie, and how the bytes become several.

use std::path::PathBuf;

/// Path of this process's folder for the files of `target`, in memory where the machine has such a place.
pub fn folder(target: &str) -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let base = if memory.is_dir() { memory } else { std::env::temp_dir() };
    base.join(format!("odonata-fuzz-{target}-{}", std::process::id()))
}

/// What stands between the `mark`s, one part more than there are marks.
pub fn parts<'a>(mut data: &'a [u8], mark: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    while let Some(at) = data.windows(mark.len()).position(|window| window == mark) {
        parts.push(&data[..at]);
        data = &data[at + mark.len()..];
    }
    parts.push(data);
    parts
}
