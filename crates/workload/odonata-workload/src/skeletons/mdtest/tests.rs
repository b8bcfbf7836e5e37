use super::*;
use crate::operations;
use std::collections::{BTreeMap, BTreeSet};

fn parse(line: &str) -> Result<MdtestParams, String> {
    flags::parse(line).map(|line| line.params)
}

fn program(ranks: u32, line: &str) -> MdtestProgram {
    let params = parse(line).unwrap_or_else(|text| panic!("{line}: {text}"));
    MdtestProgram::new(ranks, params).unwrap_or_else(|text| panic!("{line}: {text}"))
}

/// Number of calls of each kind by all ranks.
fn counts(program: &MdtestProgram) -> BTreeMap<FileCall, u64> {
    let mut counts = BTreeMap::new();
    for rank in 0..program.ranks() {
        for op in operations(program, rank) {
            if let OpKind::Metadata { call, .. } = op.kind {
                *counts.entry(call).or_default() += 1;
            }
        }
    }
    counts
}

fn error(line: &str) -> String {
    match parse(line) {
        Ok(params) => MdtestProgram::new(4, params)
            .err()
            .unwrap_or_else(|| panic!("{line} is right")),
        Err(text) => text,
    }
}

/// n items of each of r tasks, in a tree of d directories created by task 0: r n calls of each kind, and d directories.
#[test]
fn each_task_makes_looks_up_reads_and_removes_its_items() {
    let (ranks, items) = (3, 20);
    let both = program(ranks, "-n 20");
    let all = u64::from(ranks * items);
    let expected = [
        (FileCall::Open, all),
        (FileCall::Create, all),
        (FileCall::Stat, 2 * all),
        (FileCall::Close, 2 * all),
        (FileCall::Unlink, all),
        (FileCall::Mkdir, all + 1),
        (FileCall::Rmdir, all + 1),
    ];
    assert_eq!(counts(&both), BTreeMap::from(expected));
    // A separate tree each, of 1 + 2 + 4 directories; 20 items are 2 in each of 7.
    let files = program(ranks, "-n 20 -F -u -z 2 -b 2 -y -C -T -r");
    let (all, trees) = (u64::from(ranks) * 14, u64::from(ranks) * 7);
    let expected = [
        (FileCall::Create, all),
        (FileCall::Stat, all),
        (FileCall::Close, all),
        (FileCall::Unlink, all),
        (FileCall::Sync, all),
        (FileCall::Mkdir, trees),
        (FileCall::Rmdir, trees),
    ];
    assert_eq!(counts(&files), BTreeMap::from(expected));
    // On the leaves only: 5 in each of 4.
    assert_eq!(counts(&program(1, "-n 20 -F -z 2 -b 2 -L -C"))[&FileCall::Create], 20);
    assert_eq!(
        counts(&program(1, "-I 3 -F -z 2 -b 2 -C -i 2"))[&FileCall::Create],
        2 * 3 * 7
    );
}

/// Directories are created before their contents and removed after them; every removed name was created.
#[test]
fn the_tree_stands_while_something_is_in_it() {
    for line in [
        "-n 12 -z 2 -b 3 -L -u",
        "-n 40 -z 3 -b 2",
        "-n 6 -D -z 4",
        "-n 9 -F -N 1",
    ] {
        let program = program(4, line);
        let mut there: BTreeSet<(u32, u64)> = BTreeSet::new();
        let mut directories: BTreeSet<u32> = BTreeSet::from([0]);
        // All ranks, phase by phase: barriers separate them.
        let all: Vec<Vec<OpKind>> = (0..4)
            .map(|rank| operations(&program, rank).map(|op| op.kind).collect())
            .collect();
        let phases = |rank: usize| {
            all[rank]
                .split(|op| matches!(op, OpKind::Collective(_)))
                .collect::<Vec<_>>()
        };
        let of_ranks: Vec<_> = (0..4).map(phases).collect();
        for phase in 0..of_ranks[0].len() {
            for ops in of_ranks.iter().map(|ranks| ranks[phase]) {
                for op in ops {
                    let OpKind::Metadata { call, directory, file } = *op else {
                        continue;
                    };
                    assert!(directories.contains(&directory), "{line}: {op:?}");
                    let name = (directory, file);
                    match call {
                        FileCall::Create | FileCall::Mkdir => assert!(there.insert(name), "{line}: {op:?}"),
                        FileCall::Unlink | FileCall::Rmdir => assert!(there.remove(&name), "{line}: {op:?}"),
                        _ => assert!(there.contains(&name), "{line}: {op:?}"),
                    }
                    if file >> 48 == 1 {
                        let own = file as u32;
                        match call {
                            FileCall::Mkdir => assert!(directories.insert(own)),
                            _ => {
                                assert!(directories.remove(&own));
                                assert!(
                                    there.iter().all(|(parent, _)| *parent != own),
                                    "{line}: {own} is not empty"
                                );
                            }
                        }
                    }
                }
            }
        }
        assert!(there.is_empty(), "{line}");
    }
}

/// Task r looks up the items of task r + s.
#[test]
fn with_a_stride_tasks_look_up_files_of_others() {
    let program = program(4, "-n 5 -F -N 1");
    let of = |rank: u32, wanted: FileCall| -> Vec<u64> {
        let files = operations(&program, rank).filter_map(|op| match op.kind {
            OpKind::Metadata { call, file, .. } if call == wanted => Some(file),
            _ => None,
        });
        files.collect()
    };
    for rank in 0..4 {
        assert_eq!(of(rank, FileCall::Stat), of((rank + 1) % 4, FileCall::Create));
        assert_eq!(of(rank, FileCall::Open), of((rank + 2) % 4, FileCall::Create));
        assert_eq!(of(rank, FileCall::Unlink), of((rank + 3) % 4, FileCall::Create));
    }
}

#[test]
fn data_are_written_and_read_where_that_is_asked_for() {
    let program = program(1, "mdtest -n 2 -F -w 3901 -e 1k -B");
    let moved: Vec<(bool, u64)> = operations(&program, 0)
        .filter_map(|op| match op.kind {
            OpKind::Write { bytes, .. } => Some((true, bytes)),
            OpKind::Read { bytes, .. } => Some((false, bytes)),
            OpKind::Collective(_) => panic!("a barrier in spite of -B"),
            _ => None,
        })
        .collect();
    assert_eq!(moved, [(true, 3_901), (true, 3_901), (false, 1_024), (false, 1_024)]);
}

#[test]
fn a_command_line_is_read_as_mdtest_reads_it() {
    let expected = parse("-n 100 -F -u -z 2 -b 3 -C -T").unwrap();
    assert_eq!(
        expected,
        MdtestParams {
            items: Some(100),
            files_only: true,
            unique_directories: true,
            depth: 2,
            branch: 3,
            tests: vec![MdtestTest::Create, MdtestTest::Stat],
            ..MdtestParams::default()
        }
    );
    let quoted = flags::parse("-n 3 -d '/my dir' -v").unwrap();
    assert_eq!(
        quoted.without_effect,
        [
            "-d (directory: simulated files have numbers, not names)",
            "-v (verbosity: it concerns mdtest's output only)"
        ]
    );
    for same in [
        "-FuCTn100 -z=2 -b3",
        "/opt/mdtest -n 100 -Fu -CT -z2 -b 3 -d /lustre/x -v -V 3",
    ] {
        assert_eq!(parse(same).unwrap(), expected, "{same}");
    }
}

#[test]
fn errors_name_their_cause() {
    for (line, expected) in [
        ("-n 10 -q", "\"-q\" is not a flag of mdtest: expected one of -ab"),
        ("-n 10 -FQ", "\"-Q\" in \"-FQ\" is not a flag of mdtest"),
        ("-n 10 -A", "did you mean -a (API for I/O)?"),
        ("--files", "\"--files\" is not a flag of mdtest"),
        ("--files", "did you mean -F (files only)?"),
        ("-n 10 -d \"/my dir", "the quote \" is not closed"),
        ("-n", "-n has no argument: the command line ends"),
        ("-n many", "-n (items per task): \"many\" is not a number"),
        ("-n 10 -w 3q", "-w (bytes to write): \"3q\" is not a size"),
        (
            "-n 10 7",
            "\"7\" is not a flag, and the flag before it takes no argument",
        ),
        ("ior -n 10", "\"ior\" is not a flag"),
        (
            "-n 10 -c",
            "-c (collective creation) is not supported: task 0 creating everything is not modeled",
        ),
        ("-F", "a task has no items"),
        ("-n 10 -I 3", "both items (-n) and items_per_directory (-I)"),
        ("-n 10 -F -D", "neither files (-D) nor directories (-F)"),
        ("-n 10 -z 40 -b 2", "more than 2^31 directories"),
        ("-n 10 -z 4 -b 2", "10 items for 31 directories"),
        ("-n 10 -b 0", "0 is out of range"),
    ] {
        assert!(error(line).contains(expected), "{line}: {}", error(line));
    }
    assert!(error(&"-v ".repeat(40_000)).contains("longer"));
}
