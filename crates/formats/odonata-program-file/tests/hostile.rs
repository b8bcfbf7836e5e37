//! Damaged files cause errors that name the file, never a panic.

mod random_program;

use std::path::{Path, PathBuf};

use odonata_program_file::{COMMUNICATORS, COUNTS, DESCRIPTION, FileError, OPERATIONS, Options, ProgramFile, write};
use odonata_workload::{Collective, Cursor, OpKind, Program, operations};
use random_program::{Draws, Folder, RandomProgram};

fn save(folder: &Folder, program: &dyn Program) -> PathBuf {
    let target = folder.0.join("x.program");
    write(program, &target, &Options::default(), &mut |_, _| true).unwrap();
    target
}

/// Opens the program and reads everything in it; returns the number of operations.
fn use_it(path: &Path) -> Result<usize, FileError> {
    let program = ProgramFile::open(path, 1.0)?;
    Ok((0..program.ranks())
        .map(|rank| operations(&program, rank).count())
        .sum())
}

#[test]
fn a_file_cut_off_in_many_places_is_an_error() {
    cut_off(7);
}

#[test]
#[ignore = "takes long"]
fn a_file_cut_off_anywhere_is_an_error() {
    cut_off(1);
}

/// Truncation at every multiple of `step`.
fn cut_off(step: usize) {
    let folder = Folder::new("cut");
    let target = save(&folder, &RandomProgram::new(5, 4, 30));
    let count = use_it(&target).unwrap();
    for name in [OPERATIONS, COMMUNICATORS, COUNTS, DESCRIPTION] {
        let whole = std::fs::read(target.join(name)).unwrap();
        // The description may lack its final newline.
        for length in (0..whole.len() - 1).step_by(step) {
            std::fs::write(target.join(name), &whole[..length]).unwrap();
            let error = use_it(&target).unwrap_err();
            assert_eq!(error.file, target.join(name), "{length} bytes: {error}");
        }
        std::fs::write(target.join(name), &whole).unwrap();
    }
    assert_eq!(use_it(&target), Ok(count));
}

#[test]
fn a_file_with_something_behind_its_end_is_an_error() {
    let folder = Folder::new("appended");
    let target = save(&folder, &RandomProgram::new(5, 4, 30));
    for name in [OPERATIONS, COMMUNICATORS, COUNTS, DESCRIPTION] {
        let whole = std::fs::read(target.join(name)).unwrap();
        for count in 1..=80 {
            let tail = &whole[whole.len() - count..];
            for more in [&vec![0; count], &vec![0xff; count], &whole[..count], tail] {
                // A description is text: trailing blank lines are valid.
                if more.trim_ascii().is_empty() {
                    continue;
                }
                std::fs::write(target.join(name), [&whole, more].concat()).unwrap();
                let error = use_it(&target).unwrap_err();
                assert_eq!(
                    error.file,
                    target.join(name),
                    "{count} bytes of {:#04x}: {error}",
                    more[0]
                );
            }
        }
        std::fs::write(target.join(name), &whole).unwrap();
    }
}

#[test]
fn a_file_that_is_not_regular_is_an_error_without_waiting() {
    let folder = Folder::new("pipe");
    let target = save(&folder, &RandomProgram::new(5, 4, 30));
    for name in [OPERATIONS, COMMUNICATORS, COUNTS] {
        let path = target.join(name);
        std::fs::rename(&path, target.join("kept")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let error = use_it(&target).unwrap_err();
        assert_eq!(error.file, path);
        assert!(error.problem.contains("it is a named pipe"), "{error}");
        std::fs::remove_file(&path).unwrap();
        std::fs::rename(target.join("kept"), &path).unwrap();
    }
}

#[test]
fn a_bit_that_is_flipped_anywhere_does_not_panic() {
    let folder = Folder::new("flipped");
    let target = save(&folder, &RandomProgram::new(6, 3, 120));
    let mut draws = Draws(11);
    let mut errors = 0;
    for name in [OPERATIONS, COMMUNICATORS, COUNTS, DESCRIPTION] {
        let whole = std::fs::read(target.join(name)).unwrap();
        for _ in 0..400 {
            let mut bytes = whole.clone();
            let at = draws.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << draws.below(8);
            std::fs::write(target.join(name), &bytes).unwrap();
            // Damage that opening does not detect must be harmless later.
            if let Err(error) = use_it(&target) {
                assert!(error.file.starts_with(&target), "{error}");
                errors += 1;
            }
        }
        std::fs::write(target.join(name), &whole).unwrap();
    }
    assert!(errors > 100, "{errors} of 1600 were noticed");
}

#[test]
fn missing_folders_and_wrong_descriptions_are_named() {
    let folder = Folder::new("description");
    let missing = ProgramFile::open(&folder.0.join("nothing"), 1.0).unwrap_err();
    assert!(missing.file.ends_with("nothing/program.json") && missing.problem.contains("cannot be read"));
    let target = save(&folder, &RandomProgram::new(5, 4, 30));
    for (text, problem) in [
        ("{}", "missing field `format`"),
        (r#"{"format": "x", "version": 1, "ranks": 4}"#, "format is \"x\""),
        (
            r#"{"format": "odonata-program", "version": 2, "ranks": 4}"#,
            "version is 2",
        ),
        (
            r#"{"format": "odonata-program", "version": 1, "ranks": 0}"#,
            "ranks is 0",
        ),
        (
            r#"{"format": "odonata-program", "version": 1, "ranks": 4294967295}"#,
            "ranks is 4294967295",
        ),
    ] {
        std::fs::write(target.join(DESCRIPTION), text).unwrap();
        let error = use_it(&target).unwrap_err();
        assert!(error.problem.contains(problem), "{error}");
    }
    // One rank more than stated.
    std::fs::write(
        target.join(DESCRIPTION),
        r#"{"format": "odonata-program", "version": 1, "ranks": 3}"#,
    )
    .unwrap();
    let error = use_it(&target).unwrap_err();
    assert_eq!((error.file, error.row), (target.join(COMMUNICATORS), Some(0)));
}

/// The stated decompressed size of a page is reserved before decompression: a page of n bytes may state at most 22 n +
/// 64.
#[test]
fn a_page_with_a_huge_declared_size_is_refused_before_decompression() {
    let folder = Folder::new("bomb");
    let target = save(&folder, &RandomProgram::new(7, 40, 20));
    let path = target.join(OPERATIONS);
    let mut bytes = std::fs::read(&path).unwrap();
    // The first page follows the magic number: field 1, the type; field 2, a varint.
    assert_eq!((&bytes[..5], bytes[6]), (&b"PAR1\x15"[..], 0x15));
    let size = bytes[7..].iter().take_while(|&&byte| byte >= 0x80).count();
    assert!(size > 0, "two bytes at least, that another number fits");
    bytes[7..7 + size].fill(0xFE);
    bytes[7 + size] = 0x7F;
    std::fs::write(&path, bytes).unwrap();
    let error = use_it(&target).unwrap_err();
    assert_eq!(error.file, path);
    assert!(error.problem.contains("that claims"), "{error}");
}

#[test]
fn footers_that_are_too_long_or_have_too_many_columns_are_refused_before_they_are_read() {
    let folder = Folder::new("footer");
    let target = save(&folder, &RandomProgram::new(7, 3, 60));
    let path = target.join(COUNTS);
    let whole = std::fs::read(&path).unwrap();
    let tail = whole.len() - 8;
    let mut long = whole.clone();
    long[tail..tail + 4].copy_from_slice(&0x7FFF_FFFFu32.to_le_bytes());
    // Version 1, 100,000 nested groups.
    let mut deep = b"PAR1\x15\x02\x19\xFC\xA0\x8D\x06".to_vec();
    for _ in 0..100_000 {
        deep.extend(b"\x48\x01x\x15\x02\x00");
    }
    let length = deep.len() as u32 - 4;
    deep.extend(length.to_le_bytes());
    deep.extend(b"PAR1");
    for (bytes, problem) in [
        (&long, "a footer of 2147483647 bytes"),
        (&deep, "100000 columns"),
        (&b"PAR1".to_vec(), "damaged: it has no footer"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = use_it(&target).unwrap_err();
        assert_eq!((&error.file, error.problem.as_str()), (&path, problem));
    }
}

#[test]
fn a_file_that_changes_while_the_program_runs_ends_it_with_its_name() {
    for name in [OPERATIONS, COUNTS] {
        let folder = Folder::new("changed");
        let target = save(&folder, &RandomProgram::new(5, 3, 9_000));
        let program = ProgramFile::open(&target, 1.0).unwrap();
        let length = std::fs::metadata(target.join(name)).unwrap().len();
        std::fs::write(target.join(name), vec![0; length as usize]).unwrap();
        let mut cursor = Cursor::default();
        while let Some(op) = program.next(2, &mut cursor) {
            if let OpKind::Collective(Collective::Alltoallv { counts, .. } | Collective::Gatherv { counts, .. }) =
                op.kind
            {
                program.bytes(2, counts, 0, 1);
            }
        }
        assert!(cursor.op < 9_000, "{name}: {}", cursor.op);
        let why = program.broken(2, &cursor).unwrap();
        let file = target.join(name);
        assert!(
            why.starts_with("the file changed while the program ran") && why.contains(&*file.to_string_lossy()),
            "{why}"
        );
        // Other ranks stop, too; complete ranks stay complete.
        assert_eq!(program.next(0, &mut Cursor::default()), None);
        assert!(program.broken(0, &Cursor::default()).is_some());
        let end = Cursor {
            op: 9_000,
            ..Cursor::default()
        };
        assert_eq!(program.broken(2, &end), None);
    }
}

/// Memory in KiB.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// 16,777,216 ranks would take 1.5 GB if each had an entry in memory.
#[cfg(target_os = "linux")]
#[test]
fn ranks_that_are_only_stated_take_no_memory() {
    let folder = Folder::new("stated");
    let target = save(&folder, &RandomProgram::new(5, 3, 0));
    let text = r#"{"format": "odonata-program", "version": 1, "ranks": 16777216}"#;
    std::fs::write(target.join(DESCRIPTION), text).unwrap();
    let before = resident();
    let program = ProgramFile::open(&target, 1.0).unwrap();
    let more = resident().saturating_sub(before);
    assert!(more < 300 << 10, "{more} KiB");
    assert_eq!(program.ranks(), 1 << 24);
    assert_eq!(program.next(16_777_215, &mut Cursor::default()), None);
    assert_eq!(operations(&program, 2).count(), 0);
}
