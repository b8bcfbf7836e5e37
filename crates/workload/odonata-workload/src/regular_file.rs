//! Opening files from untrusted paths.
//!
//! Only regular files are read, because they end. A named pipe without a writer, or a terminal, would block before
//! signals are handled, and a device such as `/dev/zero` never ends.

use std::fs::{File, FileType, Metadata};
use std::io;
use std::path::Path;

/// Opens the regular file at `path` for reading; symbolic links are followed.
///
/// # Errors
/// It does not exist, cannot be read, or is not a regular file: the text names its kind.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Checked before opening, which would wait for the writer of a pipe.
    regular(&std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    regular(&file.metadata()?)?;
    Ok(file)
}

/// The contents of the regular file at `path`.
///
/// # Errors
/// Those of [`open_regular`]; or it is longer than `longest` bytes.
pub fn read_regular(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte beyond the limit detects longer files without trusting the stated length.
    io::Read::read_to_end(&mut io::Read::take(open_regular(path)?, longest + 1), &mut bytes)?;
    if bytes.len() as u64 > longest {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is longer than {longest} bytes"),
        ));
    }
    Ok(bytes)
}

fn regular(found: &Metadata) -> io::Result<()> {
    match found.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("it is {}, not a regular file", name(found.file_type())),
        )),
    }
}

/// The kind of an irregular file, as text.
fn name(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a named pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    if kind.is_dir() { "a folder" } else { "something else" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_not_regular_are_refused_with_their_type() {
        let folder = std::env::temp_dir().join(format!("odonata-regular-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let socket = folder.join("socket");
        let _kept = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let pipe = folder.join("pipe");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let link = folder.join("link");
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        for (path, what) in [
            (folder.as_path(), "a folder"),
            (&socket, "a socket"),
            (&pipe, "a named pipe"),
            (&link, "a named pipe"),
            (Path::new("/dev/null"), "a device"),
        ] {
            let text = open_regular(path).unwrap_err().to_string();
            assert_eq!(text, format!("it is {what}, not a regular file"), "{}", path.display());
        }
        let file = folder.join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(read_regular(&file, 5).unwrap(), b"12345");
        let text = read_regular(&file, 4).unwrap_err().to_string();
        assert_eq!(text, "it is longer than 4 bytes");
        assert_eq!(
            open_regular(&folder.join("none")).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
