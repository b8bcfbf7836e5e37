//! The programs of `programs/`: they compile, finish, and match their descriptions.
//!
//! A program with a corresponding skeleton gives the same operations to every rank: kind, peer, tag, bytes, request,
//! communicator, file and offset, duration, iteration. Only waits differ in form and are compared as sets: AWAITS
//! COMPLETION is one wait for all open requests, while a skeleton waits for sends and receives with two consecutive
//! operations, or for the only open request by name. In both, a rank continues when all have completed. The times are
//! equal to the picosecond if sends are awaited first (MILC). The stencil waits for its receives first and pays their
//! overhead while a rendezvous send may be in flight (tests of odonata-system).

use std::collections::BTreeSet;
use std::path::PathBuf;

use odonata_conceptual::{Conceptual, ConceptualProgram};
use odonata_units::{Bytes, Time};
use odonata_workload::skeletons::*;
use odonata_workload::{Collective, OpKind, Program, Source, Tag, operations};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../programs")
}

fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let programs = files.filter(|path| path.extension().is_some_and(|end| end == "ncptl"));
    let mut names: Vec<String> = programs
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

fn parse(name: &str) -> Conceptual {
    let file = format!("{name}.ncptl");
    let text = std::fs::read_to_string(folder().join(&file)).unwrap();
    Conceptual::parse(&file, &text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn args(args: &str) -> Vec<String> {
    args.split_whitespace().map(str::to_owned).collect()
}

fn program(name: &str, tasks: u32, options: &str) -> ConceptualProgram {
    let no_files = |_: &str| Err("a program of the library reads no file".to_owned());
    parse(name)
        .program(tasks, &args(options), 1, &no_files)
        .unwrap_or_else(|abort| panic!("{abort}"))
}

/// The record of the untimed execution.
fn record(name: &str, tasks: u32, options: &str) -> serde_json::Value {
    let no_files = |_: &str| Err("a program of the library reads no file".to_owned());
    parse(name).record(tasks, &args(options), 1, &no_files).json().clone()
}

/// Options that shorten a program without changing its pattern.
fn short(name: &str) -> &'static str {
    match name {
        "milc" | "jacobi3d" | "cosmoflow" => "--iterations 2",
        "nekbone" => "--iterations 2 --last 11",
        "latency" => "--reps 2 --maxbytes 4K",
        "lammps" => "--steps 2",
        _ => "",
    }
}

/// Number of tasks that a program refuses, with a part of the reason.
fn refused(name: &str, tasks: u32) -> Option<&'static str> {
    match name {
        "latency" if tasks < 2 => Some("a ping-pong needs two tasks"),
        "incast" | "spread" if tasks < 2 => Some("needs two tasks"),
        "many-to-many" if tasks % 2 == 1 => Some("an even number of tasks"),
        _ => None,
    }
}

#[test]
fn every_program_ends_on_any_number_of_tasks_or_reports_why_not() {
    let names = names();
    assert_eq!(names.len(), 13, "{names:?}");
    for name in &names {
        let parsed = parse(name);
        assert_eq!(parsed.rendered_warnings(), Vec::<String>::new());
        for tasks in [1, 2, 3, 7, 8, 30, 64, 100] {
            let no_files = |_: &str| Err("none".to_owned());
            let record = parsed.record(tasks, &args(short(name)), 1, &no_files);
            match refused(name, tasks) {
                None => {
                    let json = record.json();
                    assert_eq!(json["verdict"], "accept", "{name} {tasks}: {:?}", record.failure);
                    assert_eq!(json["completion"], serde_json::json!(["complete"]), "{name} {tasks}");
                }
                Some(reason) => {
                    let failure = record.failure.as_deref().unwrap_or("");
                    assert!(failure.contains(reason), "{name} {tasks}: {failure:?}");
                }
            }
        }
    }
}

#[test]
fn a_layout_that_does_not_fit_is_refused_with_its_reason() {
    for (name, options, reason) in [
        (
            "milc",
            "--nx 2 --ny 2 --nz 2 --nt 2",
            "nx ny nz nt multiply to the number of tasks",
        ),
        ("milc", "--nx 3", "all of nx, ny, nz and nt are given, or none"),
        ("nekbone", "--nx 2 --ny 2 --nz 2", "nx ny nz multiply"),
        ("nekbone", "--first 9 --last 8", "orders go up"),
        ("jacobi3d", "--nx 5 --ny 1 --nz 1", "nx ny nz multiply"),
        ("nearest-neighbor", "--nz 2", "or none"),
        ("halo2d", "--nx 5 --ny 3", "nx ny multiply"),
        ("lammps", "--ranks 5", "the ranks of a row divide"),
        ("checkpoint", "--iterations 0", "at least one checkpoint"),
        ("cosmoflow", "--iterations 0", "at least one step"),
    ] {
        let no_files = |_: &str| Err("none".to_owned());
        let failure = parse(name).record(12, &args(options), 1, &no_files).failure;
        assert!(failure.as_deref().unwrap_or("").contains(reason), "{name}: {failure:?}");
    }
}

/// An operation, or the set of awaited requests before it.
#[derive(Debug, PartialEq)]
enum Act {
    Does(OpKind),
    Awaits(BTreeSet<u32>),
}

fn acts(program: &dyn Program, rank: u32) -> Vec<Act> {
    let mut acts: Vec<Act> = Vec::new();
    for op in operations(program, rank) {
        assert_eq!((op.stream, op.after.is_none()), (0, true));
        let awaited: BTreeSet<u32> = match op.kind {
            OpKind::WaitAll { first, count } => (first.0..first.0 + count).collect(),
            OpKind::Wait { request } => [request.0].into(),
            kind => {
                acts.push(Act::Does(kind));
                continue;
            }
        };
        match acts.last_mut() {
            Some(Act::Awaits(earlier)) => earlier.extend(awaited),
            _ => acts.push(Act::Awaits(awaited)),
        }
    }
    acts
}

fn assert_same(native: &dyn Program, name: &str, options: &str) {
    let program = program(name, native.ranks(), options);
    assert_eq!(program.ranks(), native.ranks());
    for rank in 0..native.ranks() {
        let (found, expected) = (acts(&program, rank), acts(native, rank));
        assert!(!expected.is_empty());
        let differs = found
            .iter()
            .zip(&expected)
            .position(|(found, expected)| found != expected);
        if let Some(at) = differs {
            panic!(
                "{name} {options}, rank {rank}, act {at}: {:?}, but {} has {:?}",
                found[at],
                native.describe(),
                expected[at]
            );
        }
        assert_eq!(found.len(), expected.len(), "{name} {options}, rank {rank}");
    }
}

#[test]
fn milc_is_the_skeleton() {
    let params = |dims, iterations| MilcParams {
        dims,
        iterations,
        ..MilcParams::default()
    };
    for ranks in [1, 2, 5, 8, 16, 24, 300] {
        assert_same(&Milc::new(ranks, params(None, 2)).unwrap(), "milc", "--iterations 2");
    }
    let dims = Some([5, 1, 2, 3]);
    let options = "--nx 5 --ny 1 --nz 2 --nt 3 --iterations 3 --bytes 6144 --compute 77";
    let own = MilcParams {
        message: Bytes(6_144),
        compute: Time::from_ns(77),
        ..params(dims, 3)
    };
    assert_same(&Milc::new(30, own).unwrap(), "milc", options);
}

#[test]
fn nekbone_is_the_skeleton() {
    for ranks in [1, 2, 6, 27, 36] {
        let params = NekboneParams {
            cg_iterations: 3,
            ..NekboneParams::default()
        };
        assert_same(&Nekbone::new(ranks, params).unwrap(), "nekbone", "--iterations 3");
    }
    let params = NekboneParams {
        dims: Some([2, 5, 3]),
        orders: vec![4, 6],
        elements_per_edge: 2,
        cg_iterations: 0,
    };
    let options = "--nx 2 --ny 5 --nz 3 --first 4 --last 7 --step 2 --elements 2 --iterations 0";
    assert_same(&Nekbone::new(30, params).unwrap(), "nekbone", options);
    // The published size, with few iterations.
    let params = NekboneParams {
        cg_iterations: 2,
        ..NekboneParams::default()
    };
    assert_same(&Nekbone::new(300, params).unwrap(), "nekbone", "--iterations 2");
}

#[test]
fn checkpoint_is_the_skeleton() {
    for ranks in [1, 7, 300] {
        assert_same(
            &Checkpoint::new(ranks, CheckpointParams::default()).unwrap(),
            "checkpoint",
            "",
        );
    }
    let params = CheckpointParams {
        iterations: 3,
        total: Bytes(1_000),
        interval: Time::from_ns(5),
        offset: CheckpointOffset::Zero,
        coordinated: false,
        ..CheckpointParams::default()
    };
    let options = "--iterations 3 --total 1000 --interval 5 --zero 1 --coordinated 0";
    assert_same(&Checkpoint::new(9, params).unwrap(), "checkpoint", options);
}

#[test]
fn cosmoflow_is_the_skeleton() {
    for ranks in [1, 6, 300] {
        assert_same(
            &CosmoFlow::new(ranks, CosmoFlowParams::default()).unwrap(),
            "cosmoflow",
            "",
        );
    }
    for (io, pipelined, options) in [
        (CosmoFlowIo::Read, false, "--ahead 0"),
        (CosmoFlowIo::Write, false, "--ahead 0 --write 1"),
        (CosmoFlowIo::Write, true, "--write 1 --iterations 1"),
    ] {
        let params = CosmoFlowParams {
            iterations: if pipelined { 1 } else { 5 },
            io,
            pipelined,
            ..CosmoFlowParams::default()
        };
        assert_same(&CosmoFlow::new(5, params).unwrap(), "cosmoflow", options);
    }
    let params = CosmoFlowParams {
        iterations: 1_001,
        elements: 3,
        ..CosmoFlowParams::default()
    };
    assert_same(
        &CosmoFlow::new(2, params).unwrap(),
        "cosmoflow",
        "--iterations 1001 --elements 3",
    );
}

#[test]
fn jacobi_is_the_stencil() {
    for ranks in [1, 2, 8, 30, 64, 300] {
        let params = StencilParams {
            iterations: 3,
            ..StencilParams::default()
        };
        assert_same(&Stencil::new(ranks, params).unwrap(), "jacobi3d", "--iterations 3");
    }
    let params = StencilParams {
        dims: Some(vec![3, 1, 4]),
        message: Bytes(9),
        iterations: 2,
        compute: Time::from_ns(1),
        allreduce: Bytes(0),
        ..StencilParams::default()
    };
    let options = "--nx 3 --ny 1 --nz 4 --bytes 9 --iterations 2 --compute 1 --allreduce 0";
    assert_same(&Stencil::new(12, params).unwrap(), "jacobi3d", options);
}

#[test]
fn layouts_that_are_chosen_are_those_of_the_skeletons_on_any_number_of_tasks() {
    for ranks in (1..=150).chain([204, 260, 504, 1_001, 2_048]) {
        let milc = Milc::new(
            ranks,
            MilcParams {
                iterations: 1,
                ..MilcParams::default()
            },
        );
        let stencil = Stencil::new(
            ranks,
            StencilParams {
                iterations: 1,
                ..StencilParams::default()
            },
        );
        // The peers of rank 0 determine all extents.
        let rank_0 = |name: &str| acts(&program(name, ranks, "--iterations 1"), 0);
        assert_eq!(rank_0("milc"), acts(&milc.unwrap(), 0), "{ranks}");
        assert_eq!(rank_0("jacobi3d"), acts(&stencil.unwrap(), 0), "{ranks}");
    }
}

/// Number and bytes of all sent messages.
fn sent(name: &str, tasks: u32, options: &str) -> (u64, u64) {
    let summary = &record(name, tasks, options)["summary"];
    let number = |key: &str| summary[key].as_u64().unwrap();
    (number("p2p_messages"), number("p2p_bytes"))
}

#[test]
fn messages_and_bytes_follow_their_closed_forms() {
    // Reps round trips for 0, 1, 2, ..., 2^k bytes: 2 reps (k + 2) messages, 2 reps (2^(k+1) - 1) bytes.
    assert_eq!(
        sent("latency", 2, "--reps 3 --maxbytes 1K"),
        (2 * 3 * 12, 2 * 3 * 2_047)
    );
    // 26 neighbors on a torus with all extents above 1; 8 on 3 x 3 x 1.
    let torus = (4_096 * 26, 4_096 * 26 * 32_768);
    assert_eq!(sent("nearest-neighbor", 4_096, ""), torus);
    assert_eq!(sent("nearest-neighbor", 9, "--nx 3 --ny 3 --nz 1").0, 9 * 8);
    assert_eq!(sent("halo2d", 15, "--iterations 7"), (15 * 4 * 7, 15 * 4 * 7 * 8_192));
    assert_eq!(sent("many-to-many", 256, ""), (2 * 128, 2 * 128 * 4_194_304));
    assert_eq!(sent("incast", 100, ""), (99 * 10, 99 * 10 * 1_310_720));
    let blocking = "--blocking 1 --bytes 160 --iterations 500 --compute 80000";
    assert_eq!(sent("incast", 100, blocking), (99 * 500, 99 * 500 * 160));
    assert_eq!(sent("spread", 64, ""), (63 * 50, 63 * 50 * 8));
    let reductions = &record("allreduce", 32, "")["summary"]["reductions"];
    assert_eq!(reductions, 10);
    // Per iteration 2 x 8 neighbors; per rank and 100 iterations 1,600 messages, 796,262,400 B.
    assert_eq!(sent("milc", 300, "--iterations 1"), (300 * 16, 300 * 796_262_400 / 100));
    // 202 exchanges per order, of which 2 without a solve: here 2 + 2 x 1 of 5,524 messages for P = 8.
    let orders = "--last 8 --iterations 1";
    assert_eq!(sent("nekbone", 300, orders), (4 * 5_524, 4 * 136_229_280));
    for (order, bytes) in [(11, 255_115_008u64), (14, 410_991_456), (17, 603_858_624)] {
        let options = format!("--first {order} --last {order} --iterations 0");
        assert_eq!(sent("nekbone", 300, &options), (2 * 5_524, 2 * bytes));
    }
    assert_eq!(sent("jacobi3d", 64, "--iterations 2"), (64 * 12, 64 * 12 * 1_000_000));
    let written = |name: &str, options: &str| record(name, 300, options)["summary"]["io_write_bytes"].clone();
    assert_eq!(written("checkpoint", ""), 300 * 166_666_666u64);
    assert_eq!(written("cosmoflow", "--write 1"), 300 * 5 * 8_388_608u64);
}

#[test]
fn an_incast_goes_to_the_last_task_and_a_spread_comes_from_it() {
    let incast = program("incast", 5, "--iterations 1");
    let spread = program("spread", 5, "--iterations 1 --compute 0");
    let peers = |program: &dyn Program, rank| {
        let peers = operations(program, rank).filter_map(|op| match op.kind {
            OpKind::Isend { to, .. } => Some(to),
            OpKind::Irecv {
                from: Source::Rank(from),
                tag: Tag::Is(_),
                ..
            } => Some(from),
            _ => None,
        });
        peers.collect::<Vec<u32>>()
    };
    assert_eq!((peers(&incast, 4), peers(&incast, 2)), (vec![0, 1, 2, 3], vec![4]));
    assert_eq!((peers(&spread, 4), peers(&spread, 2)), (vec![0, 1, 2, 3], vec![4]));
}

#[test]
fn a_step_of_lammps_has_the_messages_of_the_table() {
    // 2,048 ranks: rows of 32, 64 of them.
    let program = program("lammps", 2_048, "");
    for rank in [0, 1_000] {
        let (mut blocking, mut bytes, mut others, mut other_bytes) = (0, 0, 0, 0);
        let mut reductions = Vec::new();
        for op in operations(&program, rank) {
            match op.kind {
                OpKind::Send { bytes: size, .. } => (blocking, bytes) = (blocking + 1, bytes + size),
                OpKind::Isend { bytes: size, .. } => (others, other_bytes) = (others + 1, other_bytes + size),
                OpKind::Collective(Collective::Allreduce { bytes, .. }) => reductions.push(bytes),
                _ => {}
            }
        }
        // As measured: 300 sends of 4,934,740 B and 55 all-reduces in 10 steps.
        assert_eq!((blocking, bytes), (300, 4_934_740));
        assert_eq!(reductions[..5], [48, 48, 48, 8, 48]);
        assert_eq!(reductions[45..], [48, 48, 48, 8, 48, 4, 48, 48, 48, 8, 48, 4][2..]);
        assert_eq!(reductions.len(), 55);
        // Shaped: 10 x 31 + 3 x 63 messages, within 2% of the 4,910 and 4,960 measured.
        assert_eq!((others, other_bytes), (10 * 499, 10 * (310 * 112 + 189 * 120)));
        assert!((38_552..=76_144).contains(&(other_bytes / 10)));
    }
}
