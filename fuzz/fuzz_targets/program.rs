//! Bytes as the files of a program: description, tables of operations, communicators and sizes. Under `cfg(fuzzing)` the
//! library's limits on ranks and on rows of a group are small.
//!
//! The bytes are cut at the mark `|FILE|` into the four files, in that order. One that is missing or empty is that of a
//! valid program of four ranks.

#![no_main]

mod files;

use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use odonata_program_file::{COMMUNICATORS, COUNTS, DESCRIPTION, OPERATIONS, Options, ProgramFile, write};
use odonata_workload::skeletons::{Stencil, StencilParams};
use odonata_workload::{Collective, Comm, OpKind, Program, operations};

const MARK: &[u8] = b"|FILE|";
const FILES: [&str; 4] = [DESCRIPTION, OPERATIONS, COMMUNICATORS, COUNTS];
/// Operations of a rank that are looked at.
const MOST: usize = 5_000;

/// The folder that is read, in memory where the machine has such a place; and files that are valid.
static BASE: LazyLock<(PathBuf, [Vec<u8>; 4])> = LazyLock::new(|| {
    let folder = files::folder("program");
    let params = StencilParams {
        iterations: 2,
        ..StencilParams::default()
    };
    let stencil = Stencil::new(4, params).expect("a program of 4 ranks");
    // A process before this one may have had its number.
    let _ = std::fs::remove_dir_all(&folder);
    write(&stencil, &folder, &Options::default(), &mut |_, _| true).expect("a folder for the files");
    let files = FILES.map(|name| std::fs::read(folder.join(name)).expect("it was written"));
    (folder, files)
});

fuzz_target!(|data: &[u8]| {
    let (folder, valid) = &*BASE;
    let parts = files::parts(data, MARK);
    for (at, (name, valid)) in FILES.iter().zip(valid).enumerate() {
        let part = parts.get(at).copied().filter(|part| !part.is_empty());
        std::fs::write(folder.join(name), part.unwrap_or(valid)).expect("a file is written");
    }
    let program = match ProgramFile::open(folder, 1.5) {
        Ok(program) => program,
        Err(error) => {
            assert!(error.file.starts_with(folder) && !error.problem.is_empty(), "{error}");
            return;
        }
    };
    let mut found = 0;
    for rank in 0..program.ranks() {
        for op in operations(&program, rank).take(MOST) {
            found += 1;
            if let OpKind::Collective(Collective::Alltoallv { counts, .. } | Collective::Gatherv { counts, .. }) =
                op.kind
            {
                program.bytes(rank, counts, 0, rank);
                program.bytes(rank, counts, rank, 0);
            }
        }
        program.group(rank, Comm(1));
    }
    let all = program.contents().operations;
    assert!(
        found == all || program.contents().most_operations > MOST as u64,
        "{found} of {all} operations"
    );
});
