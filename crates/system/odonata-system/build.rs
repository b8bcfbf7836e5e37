//! Identifies the sources of the simulator by a hash, stored in every snapshot: only the program that saved a run can
//! resume it, and the version does not distinguish builds of a working copy.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The crates that hold state or change it: this one and those below it.
const CRATES: [&str; 16] = [
    "engine/odonata-units",
    "engine/odonata-engine",
    "network/odonata-topology",
    "network/odonata-network",
    "observe/odonata-blame",
    "storage/odonata-device",
    "storage/odonata-storage",
    "workload/odonata-workload",
    "formats/odonata-trace-format",
    "formats/odonata-conceptual",
    "formats/odonata-dumpi",
    "formats/odonata-goal",
    "formats/odonata-program-file",
    "host/odonata-host",
    "host/odonata-machine",
    "system/odonata-system",
];

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo says where the crate is"));
    let crates = here.ancestors().nth(2).expect("a crate lies in a folder by role");
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for name in CRATES {
        let sources = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", sources.display());
        let mut files = Vec::new();
        collect(&sources, &mut files)?;
        files.sort_unstable();
        for file in files {
            let path = file.strip_prefix(crates).expect("it lies below").to_string_lossy();
            // FNV-1a; independent of the order of directories and of line ends.
            for byte in path.bytes().map(|byte| if byte == b'\\' { b'/' } else { byte }) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
            for byte in fs::read(&file)?.into_iter().filter(|&byte| byte != b'\r') {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
    }
    println!("cargo::rustc-env=ODONATA_SOURCES={hash:016x}");
    Ok(())
}
