//! A new format, as in the recipe of CONTRIBUTING.md: a single file with file accesses only.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use odonata_trace_format::{
    CANCELLED, Finding, FormatError, Formats, Opened, ReadOptions, TraceFormat, traffic_matrix,
};
use odonata_workload::{Cursor, Op, OpKind, Program};

/// Lines "rank bytes": the rank writes this many bytes to its own file.
struct Writes;

#[derive(Debug)]
struct Written(Vec<(u32, u64)>);

impl Program for Written {
    fn ranks(&self) -> u32 {
        self.0.iter().map(|&(rank, _)| rank + 1).max().unwrap_or(0)
    }
    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        let mut own = self.0.iter().filter(|&&(of, _)| of == rank);
        let write = own.nth(cursor.op as usize).map(|&(_, bytes)| OpKind::Write {
            file: rank.into(),
            offset: 0,
            bytes,
        });
        cursor.advance(|_| write)
    }
    fn describe(&self) -> String {
        "writes".into()
    }
}

impl TraceFormat for Writes {
    fn name(&self) -> &'static str {
        "writes"
    }
    fn files(&self) -> &'static str {
        "a .writes file"
    }
    fn detect(&self, path: &Path) -> bool {
        path.extension().is_some_and(|ending| ending == "writes") && path.is_file()
    }
    fn open(&self, path: &Path, options: &ReadOptions) -> Result<Opened, FormatError> {
        if options.cancellation.is_requested() {
            return Err(FormatError::cancelled(path));
        }
        let text = fs::read_to_string(path).map_err(|cause| FormatError::about(path, cause.to_string(), ""))?;
        let mut writes = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let pair = line
                .split_once(' ')
                .and_then(|(rank, bytes)| Some((rank.parse().ok()?, bytes.parse().ok()?)));
            writes.push(pair.ok_or_else(|| FormatError {
                place: format!("line {number}"),
                ..FormatError::about(path, format!("{line:?}"), "rank and bytes")
            })?);
        }
        Ok(Opened {
            does_io: !writes.is_empty(),
            damage: None,
            program: Arc::new(Written(writes)),
        })
    }
    fn inspect(&self, path: &Path, options: &ReadOptions) -> Result<String, FormatError> {
        let opened = self.open(path, options)?;
        Ok(format!(r#"{{"nranks": {}}}"#, opened.program.ranks()))
    }
}

/// Never there.
struct Nothing;

impl TraceFormat for Nothing {
    fn name(&self) -> &'static str {
        "nothing"
    }
    fn files(&self) -> &'static str {
        "nothing at all"
    }
    fn detect(&self, _: &Path) -> bool {
        false
    }
    fn open(&self, path: &Path, _: &ReadOptions) -> Result<Opened, FormatError> {
        Err(FormatError::about(path, "opened", "nothing"))
    }
    fn inspect(&self, path: &Path, _: &ReadOptions) -> Result<String, FormatError> {
        Err(FormatError::about(path, "inspected", "nothing"))
    }
}

static FORMATS: Formats = Formats(&[&Nothing, &Writes]);

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("odonata-format-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_known_format_opens_and_checks_its_traces() {
    let folder = Folder::new("known");
    let path = folder.file("io.writes", "0 100\n2 7\n0 1\n");
    let options = ReadOptions::default();
    let format = FORMATS.at(&path).map_err(|error| error.to_string()).unwrap();
    assert_eq!(format.name(), "writes");
    let opened = format.open(&path, &options).unwrap();
    assert!(opened.does_io && opened.damage.is_none());
    assert_eq!(opened.program.ranks(), 3);
    assert_eq!(traffic_matrix(&opened.program, &options.cancellation), []);
    // By default.
    assert_eq!(format.lint(&path, &options).unwrap(), Vec::<Finding>::new());
    let refused = format.repeat(&path, &folder.0.join("twice"), 2, &options).unwrap_err();
    assert_eq!(
        refused.problem,
        "it is a .writes file, which cannot be written again in its own format"
    );
    let bad = folder.file("bad.writes", "0 100\n0 many\n");
    let error = FORMATS.at(&bad).ok().unwrap().lint(&bad, &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}, line 2: \"0 many\"; expected rank and bytes", bad.display())
    );
}

#[test]
fn an_unknown_format_is_reported_with_the_content_and_the_known_formats() {
    let folder = Folder::new("unknown");
    let seen = |path: &Path| {
        let error = FORMATS.at(path).err().unwrap();
        assert_eq!(error.expected, "nothing at all, or a .writes file");
        assert_eq!(error.file, path);
        error.problem
    };
    assert_eq!(seen(&folder.0), "the folder is empty");
    let text = folder.file("text.dat", "");
    assert_eq!(seen(&text), "a file ending in .dat is not in a known format");
    assert_eq!(seen(&folder.0), "a folder with text.dat alone is not in a known format");
    let plain = folder.file("plain", "");
    assert_eq!(seen(&plain), "a file without an ending is not in a known format");
    assert_eq!(
        seen(&folder.0),
        "a folder of 2 files, the first of them plain, is not in a known format"
    );
    let trace = folder.file("ranks.PRV", "");
    let description = "a Paraver trace (Extrae), an unsupported format";
    assert_eq!(seen(&trace), description);
    assert_eq!(seen(&folder.0), format!("a folder with {description}"));
    assert!(seen(&folder.file("app.nsys-rep", "")).contains("Nsight"));
    let socket = folder.0.join("socket");
    let _kept = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert_eq!(seen(&socket), "cannot be read: it is a socket, not a regular file");
    assert!(seen(&folder.0.join("none")).starts_with("cannot be read: No such file"));
}

#[test]
fn work_that_is_cancelled_is_an_error() {
    let folder = Folder::new("cancelled");
    let path = folder.file("io.writes", "0 1\n");
    let options = ReadOptions::default();
    options.cancellation.request();
    let error = Writes.lint(&path, &options).unwrap_err();
    assert_eq!((error.problem.as_str(), error.file), (CANCELLED, path));
}
