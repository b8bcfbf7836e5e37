//! mdtest's command line: its flags, with their names in mdtest's help.
//!
//! Flags and meanings are those of mdtest 3 and 4 (github.com/hpc/ior, `src/mdtest.c`).

use super::super::command_line::{CommandLine, Flag, Grammar, count, nothing, refused, size, switch, value};
use super::{MdtestParams, MdtestTest};

const NO_CONTENT: &str = "simulated data has no content";
const NO_INTERFACE: &str = "only POSIX calls are modeled";
const MKNOD: &str = "file creation takes the same time";
const OUTPUT: &str = "it concerns mdtest's output only";
const PATHS: &str = "simulated files have numbers, not names";

/// All flags, with their names in mdtest's help.
const FLAGS: &[Flag<MdtestParams>] = &[
    nothing('a', "API for I/O", true, NO_INTERFACE),
    value('b', "branching factor", |p, text| {
        count(text).map(|value| p.branch = value)
    }),
    switch('B', "no barriers between phases", |p, _| {
        p.no_barriers = true;
        Ok(())
    }),
    refused(
        'c',
        "collective creation",
        false,
        "task 0 creating everything is not modeled: expected it without -c",
    ),
    switch('C', "only create", |p, _| {
        p.tests.push(MdtestTest::Create);
        Ok(())
    }),
    nothing('d', "directory", true, PATHS),
    switch('D', "directories only", |p, _| {
        p.directories_only = true;
        Ok(())
    }),
    value('e', "bytes to read", |p, text| {
        size(text).map(|value| p.read_bytes = value)
    }),
    switch('E', "only read", |p, _| {
        p.tests.push(MdtestTest::Read);
        Ok(())
    }),
    refused('f', "first number of tasks", true, "the tasks are the ranks of the job"),
    switch('F', "files only", |p, _| {
        p.files_only = true;
        Ok(())
    }),
    nothing('G', "seed of the data", true, NO_CONTENT),
    value('i', "iterations", |p, text| {
        count(text).map(|value| p.iterations = value)
    }),
    value('I', "items per directory", |p, text| {
        count(text).map(|value| p.items_per_directory = Some(value))
    }),
    nothing('k', "mknod", false, MKNOD),
    refused('l', "last number of tasks", true, "the tasks are the ranks of the job"),
    switch('L', "files at the leaves only", |p, _| {
        p.leaf_only = true;
        Ok(())
    }),
    value('n', "items per task", |p, text| {
        count(text).map(|value| p.items = Some(value))
    }),
    value('N', "stride", |p, text| count(text).map(|value| p.stride = value)),
    refused(
        'p',
        "delay before an iteration",
        true,
        "a pause is a phase: workload = [{ compute = ... }, { mdtest = ... }]",
    ),
    nothing('P', "print rates and times", false, OUTPUT),
    switch('r', "only remove", |p, _| {
        p.tests.push(MdtestTest::Remove);
        Ok(())
    }),
    refused('R', "random order of stat", false, "items are looked up in order"),
    refused(
        's',
        "stride of the number of tasks",
        true,
        "the tasks are the ranks of the job",
    ),
    refused('S', "shared file", false, "each item is a file of its own"),
    nothing('t', "time of unique directories", false, OUTPUT),
    switch('T', "only stat", |p, _| {
        p.tests.push(MdtestTest::Stat);
        Ok(())
    }),
    switch('u', "unique directory per task", |p, _| {
        p.unique_directories = true;
        Ok(())
    }),
    nothing('v', "verbosity", false, OUTPUT),
    nothing('V', "verbosity", true, OUTPUT),
    value('w', "bytes to write", |p, text| {
        size(text).map(|value| p.write_bytes = value)
    }),
    refused('W', "stonewall timer", true, "all items are processed"),
    nothing('x', "stonewall file", true, OUTPUT),
    nothing('X', "verify data", false, NO_CONTENT),
    switch('y', "sync after writing", |p, _| {
        p.sync = true;
        Ok(())
    }),
    refused(
        'Y',
        "sync after each phase",
        false,
        "a sync of the whole file system is not modeled: expected -y",
    ),
    value('z', "depth", |p, text| count(text).map(|value| p.depth = value)),
    nothing('Z', "print times", false, OUTPUT),
];

const GRAMMAR: Grammar<MdtestParams> = Grammar {
    command: "mdtest",
    example: "-n 100 -F -u",
    flags: FLAGS,
    long: &[],
    unsupported: &[],
    directives: None,
};

/// Parses the arguments of `mdtest`, with or without the command before them.
///
/// # Errors
/// Those of [`Grammar::parse`].
pub(super) fn parse(text: &str) -> Result<CommandLine<MdtestParams>, String> {
    GRAMMAR.parse(text)
}
