//! Both forms of GOAL: written schedules are read back, and damaged files are refused with the place.

use odonata_goal::schedule::{ANY, RankSchedule, Schedule, Task, TaskKind};
use odonata_goal::{GoalError, GoalProgram, binary, text};
use odonata_units::SplitMix64;
use std::fmt::Write;

fn never() -> bool {
    false
}

fn read(schedule: &str) -> Result<Schedule, GoalError> {
    text::read(schedule.as_bytes(), &never)
}

/// A small schedule; edges lead from earlier tasks to later ones.
fn random(random: &mut SplitMix64) -> Schedule {
    let mut below = |n: u64| random.next_u64() % n;
    let ranks = 1 + below(5);
    let rank = |below: &mut dyn FnMut(u64) -> u64| {
        let tasks: Vec<Task> = (0..below(12))
            .map(|_| {
                let kind = [TaskKind::Send, TaskKind::Recv, TaskKind::Calc][below(3) as usize];
                let message = kind != TaskKind::Calc;
                let wild = kind == TaskKind::Recv && below(4) == 0;
                Task {
                    kind,
                    peer: if wild {
                        ANY
                    } else {
                        u64::from(message) as u32 * below(ranks) as u32
                    },
                    tag: if wild {
                        ANY
                    } else {
                        u64::from(message) as u32 * below(9) as u32
                    },
                    size: below(1 << 40),
                    cpu: below(3) as u8,
                    nic: below(2) as u8,
                }
            })
            .collect();
        let mut edges = [Vec::new(), Vec::new()];
        for to in 1..tasks.len() as u64 {
            for _ in 0..below(7) {
                edges[below(2) as usize].push((below(to) as u32, to as u32));
            }
        }
        // In file order: by predecessor.
        edges.iter_mut().for_each(|edges| edges.sort_unstable());
        RankSchedule::new(tasks, &edges[0], &edges[1]).unwrap()
    };
    Schedule::new((0..ranks).map(|_| rank(&mut below)).collect())
}

fn written(schedule: &Schedule) -> String {
    let any = |number: u32| {
        if number == ANY {
            "-1".to_owned()
        } else {
            number.to_string()
        }
    };
    let mut text = format!("num_ranks {}\n", schedule.ranks().len());
    for (number, rank) in schedule.ranks().iter().enumerate() {
        writeln!(text, "rank {number} {{").unwrap();
        for (at, task) in rank.tasks().iter().enumerate() {
            let Task { size, cpu, nic, .. } = *task;
            let (peer, tag) = (any(task.peer), any(task.tag));
            let what = match task.kind {
                TaskKind::Send => format!("send {size}b to {peer} tag {tag}"),
                TaskKind::Recv => format!("recv {size}b from {peer} tag {tag}"),
                TaskKind::Calc => format!("calc {size}"),
            };
            writeln!(text, "  l{at}: {what} cpu {cpu} nic {nic} // a task").unwrap();
        }
        for (relation, edges) in [("requires", rank.ends()), ("irequires", rank.begins())] {
            for from in 0..rank.tasks().len() as u32 {
                for to in edges.after(from) {
                    writeln!(text, "l{to} {relation} l{from}").unwrap();
                }
            }
        }
        text += "}\n";
    }
    text
}

#[test]
fn written_files_are_read_again() {
    let mut numbers = SplitMix64(5);
    for _ in 0..200 {
        let schedule = random(&mut numbers);
        assert_eq!(read(&written(&schedule)), Ok(schedule.clone()));
        assert_eq!(binary::read(&binary::write(&schedule), &never), Ok(schedule));
    }
}

#[test]
fn a_damaged_file_is_refused_with_a_place_in_it_or_is_another_schedule() {
    let mut numbers = SplitMix64(6);
    let mut refused = 0;
    for _ in 0..40 {
        let schedule = random(&mut numbers);
        for (file, is_binary) in [
            (binary::write(&schedule), true),
            (written(&schedule).into_bytes(), false),
        ] {
            for _ in 0..200 {
                let mut file = file.clone();
                let at = (numbers.next_u64() % file.len() as u64) as usize;
                match numbers.next_u64() % 3 {
                    0 => file.truncate(at),
                    1 => file[at] = numbers.next_u64() as u8,
                    _ => file[at] ^= 1 << (numbers.next_u64() % 8),
                }
                let result = if is_binary {
                    binary::read(&file, &never)
                } else {
                    text::read(&file, &never)
                };
                match result {
                    Ok(schedule) => drop(GoalProgram::new(schedule, 1.0, &never)),
                    Err(error) => {
                        assert!(!error.problem.is_empty(), "{error:?}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(refused > 4_000, "{refused}");
}

#[test]
fn errors_of_texts_name_line_and_expectation() {
    for (text, start) in [
        ("", "line 1: the file ends here; expected num_ranks"),
        (
            "num_ranks 0",
            "line 1: found \"0\"; expected the number of ranks, 1 to 16777216",
        ),
        (
            "num_ranks 2\nrank 2 { }",
            "line 2: found \"2\"; expected a rank, 0 to 1",
        ),
        (
            "num_ranks 2\nrank 0 { } rank 0 { }",
            "line 2: rank 0 occurs twice; expected each rank once",
        ),
        (
            "num_ranks 2\nrank 0 {\n send 8 to 1 }",
            "line 3: found \"8\"; expected a size such as \"64b\"",
        ),
        (
            "num_ranks 2\nrank 0 {\n send 8b to 2 }",
            "line 3: found \"2\"; expected a rank, 0 to 1",
        ),
        (
            "num_ranks 2\nrank 0 {\n send 8b to -1 }",
            "line 3: found \"-1\"; expected a rank, 0 to 1",
        ),
        (
            "num_ranks 2\nrank 0 { l1: calc 3 l2: calc 4\n l2 requires l3 }",
            "line 3: label \"l3\" is not defined before in the rank; expected a label, as ",
        ),
        (
            "num_ranks 1\nrank 0 { a: calc 1\n b: calc 2 a requires b b irequires a }",
            "line 2: this task waits for itself through its requirements; expected acyclic dependencies",
        ),
        (
            "num_ranks 1 /* without\nend",
            "line 1: a comment that begins here never ends; expected */",
        ),
        (
            "num_ranks 1\nrank 0 {\nsend",
            "line 3: the file ends here; expected a size such as \"64b\"",
        ),
        (
            "num_ranks 1\nrank 0 { a: calc 5 cpu 256 }",
            "line 2: found \"256\"; expected a number of a CPU, 0 to 255",
        ),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.starts_with(start), "{text:?}\n{error}");
    }
}

#[test]
fn counts_that_a_binary_file_has_no_room_for_are_refused_before_anything_is_reserved() {
    let schedule = read("num_ranks 1 rank 0 { a: calc 5 b: calc 6 b requires a }").unwrap();
    let good = binary::write(&schedule);
    // Bytes of the ranks, the nodes, the roots, and the number of dependents of the first node.
    let nodes = 8 + 6 + 16;
    for (at, named) in [
        (8, 8),
        (nodes, nodes),
        (nodes + 4, nodes),
        (nodes + 8 + 4 + 23, nodes + 8 + 4 + 23),
    ] {
        let mut file = good.clone();
        file[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        let error = binary::read(&file, &never).unwrap_err().to_string();
        assert!(error.starts_with(&format!("byte {named}: ")), "{error}");
    }
}
