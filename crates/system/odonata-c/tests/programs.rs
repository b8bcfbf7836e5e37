//! Programs in C are compiled against the header, linked with the library and run.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles `source`, a path in the repository; returns the program.
fn compile(source: &str) -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tests = env::current_exe().expect("the test has a path");
    let library = tests.with_file_name("libodonata.a");
    let source = crate_folder.join("../../..").join(source);
    let name = source.file_stem().expect("a source has a name");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // Rust links with the same compiler.
    let compiler = env::var("CC").unwrap_or("cc".into());
    let status = Command::new(compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-I"])
        .arg(crate_folder.join("include"))
        .args([&source, &library])
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .status()
        .expect("the C compiler runs");
    assert!(status.success(), "{} does not compile", source.display());
    program
}

fn printed(program: &Path) -> String {
    let done = Command::new(program).output().expect("the program runs");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
    text
}

#[test]
fn refused_calls_give_a_status_and_a_text() {
    let program = compile("crates/system/odonata-c/tests/c/misuse.c");
    assert_eq!(printed(&program), "as documented\n");
}

#[test]
fn the_example_takes_as_long_for_every_exchange() {
    let text = printed(&compile("examples/backend/ping_pong.c"));
    let lines: Vec<&str> = text.lines().collect();
    let (last, exchanges) = lines.split_last().expect("the example prints");
    let times: Vec<f64> = exchanges
        .iter()
        .filter_map(|line| line.split(' ').nth(1)?.parse().ok())
        .collect();
    assert_eq!(times.len(), 10);
    for (number, time) in (1..).zip(&times) {
        // Times have three digits, and an exchange has two sends, each a picosecond later than the call.
        assert!((time - times[0] * f64::from(number)).abs() < 0.006, "{text}");
    }
    assert!(last.starts_with("20 messages, "), "{last}");
}
