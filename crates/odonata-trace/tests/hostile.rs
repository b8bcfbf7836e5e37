//! Files that are wrong are errors with names, never a panic.

mod random_program;

use std::path::{Path, PathBuf};

use odonata_trace::{COMMUNICATORS, COUNTS, DESCRIPTION, FileError, OPERATIONS, Options, ProgramFile, write};
use odonata_workload::{Program, operations};
use random_program::{Draws, Folder, RandomProgram};

fn save(folder: &Folder, program: &dyn Program) -> PathBuf {
    let target = folder.0.join("x.program");
    write(program, &target, &Options::default(), &mut |_, _| true).unwrap();
    target
}

/// Opens the program and asks for everything in it; number of operations.
fn use_it(path: &Path) -> Result<usize, FileError> {
    let program = ProgramFile::open(path, 1.0)?;
    Ok((0..program.ranks())
        .map(|rank| operations(&program, rank).count())
        .sum())
}

#[test]
fn a_file_cut_off_anywhere_is_an_error() {
    let folder = Folder::new("cut");
    let target = save(&folder, &RandomProgram::new(5, 4, 300));
    for name in [OPERATIONS, COMMUNICATORS, COUNTS, DESCRIPTION] {
        let whole = std::fs::read(target.join(name)).unwrap();
        let step = (whole.len() / 60).max(1);
        // The description may miss the line feed at its end.
        for length in (0..whole.len() - 1).step_by(step) {
            std::fs::write(target.join(name), &whole[..length]).unwrap();
            let error = use_it(&target).unwrap_err();
            assert_eq!(error.file, target.join(name), "{length} bytes: {error}");
        }
        std::fs::write(target.join(name), &whole).unwrap();
    }
    assert_eq!(use_it(&target), Ok(900));
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
            // What is not noticed when it is opened must not hurt afterwards.
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
fn a_folder_that_is_none_and_descriptions_that_are_wrong_are_named() {
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
    // A rank more than it says there are.
    std::fs::write(
        target.join(DESCRIPTION),
        r#"{"format": "odonata-program", "version": 1, "ranks": 3}"#,
    )
    .unwrap();
    let error = use_it(&target).unwrap_err();
    assert_eq!((error.file, error.row), (target.join(COMMUNICATORS), Some(0)));
}
