//! Invariants of the coNCePTuaL front end for every program, checked on random ones.

use std::collections::BTreeMap;

use odonata_conceptual::{Conceptual, Dialect, evaluate};
use odonata_workload::{Collective, Comm, Cursor, OpKind, Program, Request, Seen, Source, Tag, operations};

/// A small generator (xorshift64*), so failures are reproducible.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 33) % n
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}

/// Text, level (0 sum, 1 product, 2 unary, 3 power, 4 atom) and value of a random expression.
fn expression(random: &mut Random, depth: u32) -> (String, u8, Option<i64>) {
    if depth == 0 || random.below(5) == 0 {
        let value = random.below(12) as i64;
        return (value.to_string(), 4, Some(value));
    }
    let (left, left_level, a) = expression(random, depth - 1);
    let (right, right_level, b) = expression(random, depth - 1);
    let wrap = |text: String, level: u8, least: u8| if level < least { format!("({text})") } else { text };
    let both = a.zip(b);
    match random.below(4) {
        0 => {
            let operator = random.of(&["+", "-", "|", "xor"]);
            let value = both.and_then(|(a, b)| match operator {
                "+" => a.checked_add(b),
                "-" => a.checked_sub(b),
                "|" => Some(a | b),
                _ => Some(a ^ b),
            });
            // Left-associative: the right side must bind tighter.
            (
                format!(
                    "{} {operator} {}",
                    wrap(left, left_level, 0),
                    wrap(right, right_level, 1)
                ),
                0,
                value,
            )
        }
        1 => {
            let operator = random.of(&["*", "/", "mod", "<<", ">>", "&"]);
            let value = both.and_then(|(a, b)| match operator {
                "*" => a.checked_mul(b),
                "/" => a.checked_div(b),
                "mod" => (b != 0).then(|| ((a as i128).rem_euclid((b as i128).abs())) as i64),
                "<<" | ">>" => {
                    let by = if operator == "<<" { b as i128 } else { -(b as i128) };
                    Some(match by {
                        64.. => 0,
                        0..=63 => a.wrapping_shl(by as u32),
                        -63..=-1 => a >> -by,
                        _ => {
                            if a < 0 {
                                -1
                            } else {
                                0
                            }
                        }
                    })
                }
                _ => Some(a & b),
            });
            (
                format!(
                    "{} {operator} {}",
                    wrap(left, left_level, 1),
                    wrap(right, right_level, 2)
                ),
                1,
                value,
            )
        }
        2 => {
            // A sign binds looser than a power to its right.
            let value = a.and_then(i64::checked_neg);
            (format!("-{}", wrap(left, left_level, 2).replace("--", "- -")), 2, value)
        }
        _ => {
            let value = both.and_then(|(a, b)| match (a, b) {
                (0, ..=0) => None,
                (0, _) => Some(0),
                (1, _) => Some(1),
                (-1, _) => Some(if b % 2 == 0 { 1 } else { -1 }),
                (_, ..0) => Some(0),
                _ => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
            });
            (
                format!("{}**{}", wrap(left, left_level, 4), wrap(right, right_level, 2)),
                3,
                value,
            )
        }
    }
}

#[test]
fn expressions_have_the_value_of_their_tree() {
    let mut random = Random(7);
    let mut with_value = 0;
    for _ in 0..4000 {
        let (text, _, expected) = expression(&mut random, 4);
        let found = evaluate(&text, false).ok();
        assert_eq!(found, expected.map(|value| value as f64), "{text}");
        with_value += u32::from(expected.is_some());
    }
    assert!(with_value > 2000, "{with_value} of 4000 have a value");
}

#[test]
fn no_text_makes_the_front_end_panic() {
    let mut random = Random(11);
    let words = [
        "task",
        "tasks",
        "all",
        "other",
        "0",
        "1",
        "t",
        "such",
        "that",
        "is",
        "even",
        "{",
        "}",
        "(",
        ")",
        ",",
        "...",
        "for",
        "each",
        "in",
        "repetitions",
        "sends",
        "a",
        "4K",
        "byte",
        "message",
        "to",
        "then",
        ".",
        "let",
        "be",
        "while",
        "if",
        "otherwise",
        "receives",
        "from",
        "multicasts",
        "reduces",
        "integers",
        "logs",
        "as",
        "\"x\"",
        "the",
        "median",
        "of",
        "outputs",
        "and",
        "-",
        "+",
        "**",
        "mod",
        "=",
        "<",
        "/\\",
        "\\/",
        "[",
        "]",
        "read",
        "file",
        "num_tasks",
        "plus",
        "warmup",
        "seconds",
        "random",
        "group",
        "g",
        "who",
        "it",
        "using",
        "tag",
        "mesh_neighbor",
        "*",
        "my",
        "\u{e9}",
        "#",
    ];
    let mut valid = 0;
    for _ in 0..3000 {
        let text: Vec<&str> = (0..random.below(30)).map(|_| random.of(&words)).collect();
        let text = text.join(" ");
        match Conceptual::parse("soup", &text) {
            Ok(program) => {
                valid += 1;
                program.record(3, &[], 1, &|_| Err("no files".into()));
            }
            Err(errors) => assert!(!errors.to_string().is_empty()),
        }
    }
    assert!(valid > 10);
    for _ in 0..2000 {
        let bytes: Vec<u8> = (0..random.below(80)).map(|_| random.next() as u8).collect();
        let _ = Conceptual::parse("bytes", &String::from_utf8_lossy(&bytes)).map_err(|errors| errors.to_string());
    }
}

#[test]
fn deep_nesting_is_an_error_and_long_chains_are_too() {
    let reason = |text: String| Conceptual::parse("deep", &text).unwrap_err().reason();
    let n = 100_000;
    assert_eq!(
        reason(format!("Task {}1{} synchronizes", "(".repeat(n), ")".repeat(n))),
        "nested too deeply"
    );
    assert_eq!(
        reason(format!("Task {}1 synchronizes", "- ".repeat(n))),
        "nested too deeply"
    );
    assert_eq!(
        reason(format!("Task 1{} synchronizes", "+1".repeat(n))),
        "nested too deeply"
    );
    assert_eq!(
        reason(format!("Task 2{} synchronizes", "**2".repeat(n))),
        "nested too deeply"
    );
    assert_eq!(reason("{".repeat(n)), "nested too deeply");
    assert_eq!(
        reason(format!("{}task 0 synchronizes", "for 1 repetitions ".repeat(n))),
        "nested too deeply"
    );
    assert_eq!(
        reason(format!(
            "If {}1 = 1{} then task 0 synchronizes",
            "(".repeat(n),
            ")".repeat(n)
        )),
        "nested too deeply"
    );
}

#[test]
fn every_send_has_its_receive_whatever_the_sets_are() {
    let mut random = Random(13);
    let sources = [
        "all tasks t",
        "tasks t such that t > 2",
        "tasks t such that t is odd",
        "task 3",
        "all tasks",
        "tasks t such that t is in {0, 3, ..., 40}",
    ];
    let with_t = [
        "task t+1",
        "task (t+3) mod num_tasks",
        "task num_tasks-1-t",
        "task (5-t) mod num_tasks",
        "task t xor 5",
        "task mesh_neighbor((3*, 2, 2*), t, (1, -1, 1))",
        "task mesh_neighbor((num_tasks*), t, (-2))",
        "task t*2 mod 7",
        "task t/2",
        "tasks u such that u > t",
        "tasks u such that (u+t) mod 3 = 0",
        "tasks {t, t+2, ..., 9}",
        "all other tasks",
        "task tree_parent(t)",
        "task knomial_child(t, 1)",
        "task (t+k) mod num_tasks",
        "tasks u such that u <> t /\\ k divides u+t",
    ];
    let without = [
        "all other tasks",
        "task 2",
        "tasks u such that u is even",
        "tasks {1, 4}, {9}",
    ];
    for round in 0..400 {
        let tasks = 1 + random.below(14) as u32;
        let source = random.of(&sources);
        let target = if source.ends_with('t') {
            random.of(&with_t)
        } else {
            random.of(&without)
        };
        let bytes = if source.ends_with('t') { "100*t+k" } else { "7*k" };
        let count = random.of(&["a", "2", "k"]);
        let text = format!(
            "For each k in {{1, ..., 3}} {{ {source} asynchronously send {count} {bytes} byte messages to {target} then \
             all tasks await completion }}"
        );
        let program = Conceptual::parse("pairs", &text).unwrap_or_else(|errors| panic!("{errors}"));
        let program = program.program(tasks, &[], round, &|_| Err("no files".into())).unwrap();
        let mut sent: BTreeMap<(u32, u32, u64), i64> = BTreeMap::new();
        let mut last = BTreeMap::new();
        for rank in 0..tasks {
            for op in operations(&program, rank) {
                match op.kind {
                    OpKind::Isend { to, bytes, .. } => *sent.entry((rank, to, bytes)).or_default() += 1,
                    OpKind::Irecv {
                        from: Source::Rank(from),
                        bytes,
                        ..
                    } => {
                        *sent.entry((from, rank, bytes)).or_default() -= 1;
                        // Receives of one statement come in the order of their senders.
                        let before = last.insert(rank, from);
                        assert!(before.is_none_or(|before| before <= from), "{text} {tasks}");
                    }
                    OpKind::WaitAll { .. } => {
                        last.remove(&rank);
                    }
                    _ => {}
                }
            }
        }
        assert!(
            sent.values().all(|&open| open == 0),
            "{text} on {tasks} tasks: {sent:?}"
        );
    }
}

#[test]
fn the_same_memory_gives_the_same_operation_and_memory() {
    let text = "For 3 repetitions plus 1 warmup repetition { let r be a random task while task r sends a 5 byte message to \
                all other tasks then all tasks t compute for 1+random_uniform(0, 100) microseconds then \
                task 0 outputs elapsed_usecs and \" \" and msgs_sent }";
    let program = Conceptual::parse("pure", text).unwrap();
    let program = program.program(5, &[], 3, &|_| Err("no files".into())).unwrap();
    for rank in 0..5 {
        let mut cursor = Cursor::default();
        let mut memory = vec![0; program.memory()];
        for step in 0..100u64 {
            let run = |mut cursor: Cursor, mut memory: Vec<u64>| {
                let mut seen = Seen {
                    memory: &mut memory,
                    now: Some(odonata_units::Time::from_ns(1000 * step)),
                    answer: 0,
                    lost: false,
                    failure: None,
                };
                let op = program.next_with(rank, &mut cursor, &mut seen);
                (op, cursor, memory)
            };
            let (first, again) = (run(cursor, memory.clone()), run(cursor, memory.clone()));
            assert_eq!(first, again);
            (cursor, memory) = (first.1, first.2);
        }
    }
}

#[test]
fn blocking_rings_deadlock_and_unmatched_operations_are_named() {
    let completion = |text: &str, tasks: u32| {
        let record = Conceptual::parse("end", text)
            .unwrap()
            .record(tasks, &[], 1, &|_| Err(String::new()));
        record.json()["completion"].to_string()
    };
    let ring = "All tasks t send a 1 byte message to task (t+1) mod num_tasks.";
    assert_eq!(completion(ring, 3), "[[\"deadlock\",[0,2,1]]]");
    assert_eq!(
        completion("All tasks t send a 1 byte message to task t+1.", 3),
        "[\"complete\"]"
    );
    let unsent = "Task 1 receives a 4 byte message from task 0.";
    assert_eq!(completion(unsent, 2), "[[\"never-satisfied\",1,0,\"recv\"]]");
    assert_eq!(
        completion("Task 1 asynchronously receives a 4 byte message from task 0.", 2),
        "[[\"never-awaited\",1,1,\"recv\"]]"
    );
}

#[test]
fn several_mistakes_are_found_at_once_with_hints() {
    let text = "Task 0 sends a szie byte message to task 1.\nLet size be 4 while task 0 sends a szie byte mesage to task 1.\n\
                Tasks q such that q > 0 synchronise.\n";
    let errors = Conceptual::parse("typos", text).unwrap_err();
    let shown = errors.to_string();
    assert_eq!(errors.errors.len(), 3, "{shown}");
    assert!(
        shown.contains("typos:2:46: error") && shown.contains("keyword MESSAGE?"),
        "{shown}"
    );
    assert!(shown.contains("SYNCHRONIZE"), "{shown}");
    assert!(shown.contains("  |                ^^^^"), "{shown}");
}

#[test]
fn the_keyword_that_fits_is_meant_before_others_that_are_as_near() {
    let errors = Conceptual::parse("typo", "If 1 > 0 thn task 0 synchronizes.\n").unwrap_err();
    let shown = errors.to_string();
    assert!(shown.contains("\"thn\" where THEN is expected"), "{shown}");
    assert!(shown.contains("keyword THEN?"), "{shown}");
}

#[test]
fn a_large_program_starts_small() {
    // 100,000 tasks on a torus: no table of pairs, a few words per task.
    let text = "All tasks t asynchronously send an 8K byte message to task mesh_neighbor((50*, 50*, 40*), t, (1, 0, 0)) then \
                all tasks t asynchronously send an 8K byte message to task mesh_neighbor((50*, 50*, 40*), t, (0, 0, -1)) then \
                all tasks await completion then all tasks reduce a doubleword.";
    let program = Conceptual::parse("halo", text).unwrap();
    let program = program.program(100_000, &[], 1, &|_| Err(String::new())).unwrap();
    assert!(program.memory() < 32, "{} words", program.memory());
    let mut total = 0;
    for rank in (0..100_000).step_by(10) {
        total += operations(&program, rank).count();
    }
    assert_eq!(total, 10_000 * 6);
}

#[test]
fn nested_lists_end_when_their_steps_are_spent() {
    // 1000^4 values, far beyond the step limit.
    let lists = (0..4).fold("1 = 1".to_owned(), |inner, _| {
        format!("1 is not in {{1 for each x in {{1, ..., 1000}} where {inner} /\\ x < 0}}")
    });
    let text = format!("If {lists} then task 0 outputs 1.");
    let program = Conceptual::parse("nested.ncptl", &text)
        .unwrap_or_else(|errors| panic!("{errors}"))
        .program(1, &[], 1, &|_| Err("no files".into()))
        .unwrap();
    let mut memory = vec![0; program.memory()];
    let mut seen = Seen {
        memory: &mut memory,
        now: None,
        answer: 0,
        lost: false,
        failure: None,
    };
    assert_eq!(program.next_with(0, &mut Cursor::default(), &mut seen), None);
    let failure = seen.failure.unwrap_or_default();
    assert!(failure.contains("100,000,000 steps without an operation"), "{failure}");
}

#[test]
fn messages_without_completion_are_not_awaited() {
    let text = "Task 0 asynchronously sends 2 5 byte messages without completion using tag 7 to task 1 who receives it \
                asynchronously using tag 7 then task 0 asynchronously sends a 6 byte message to unsuspecting task 1 \
                then task 1 receives a 6 byte message from task 0 then all tasks await completion.";
    let parsed = Conceptual::parse("detached.ncptl", text).unwrap_or_else(|errors| panic!("{errors}"));
    let no_files = |_: &str| Err("none".to_owned());
    let program = parsed.program(2, &[], 1, &no_files).unwrap();
    let kinds = |rank| operations(&program, rank).map(|op| op.kind).collect::<Vec<_>>();
    let detached = OpKind::Isend {
        to: 1,
        tag: 7,
        bytes: 5,
        comm: Comm::WORLD,
        request: Request::DETACHED,
    };
    assert_eq!(kinds(0)[..2], [detached, detached]);
    // Only the third send is awaited; its request is the first.
    assert!(matches!(
        kinds(0)[2],
        OpKind::Isend {
            request: Request(0),
            bytes: 6,
            ..
        }
    ));
    assert_eq!(
        kinds(0)[3..],
        [OpKind::WaitAll {
            first: Request(0),
            count: 1
        }]
    );
    assert_eq!(
        kinds(1)[3],
        OpKind::WaitAll {
            first: Request(0),
            count: 2
        }
    );
    let record = parsed.record(2, &[], 1, &no_files);
    assert_eq!(record.json()["completion"], serde_json::json!(["complete"]));
    assert_eq!(
        record.json()["ranks"][0][0],
        serde_json::json!([2, ["send", 1, 5, "detached", 7]])
    );

    let refused = |text: &str| {
        let errors = Conceptual::parse("refused.ncptl", text).unwrap_err();
        assert!(
            errors.to_string().contains("only messages sent ASYNCHRONOUSLY"),
            "{errors}"
        );
    };
    refused("Task 0 sends a 5 byte message without completion to task 1.");
    refused("Task 0 asynchronously receives a 5 byte message without completion from task 1.");
    refused("Task 0 multicasts a 5 byte message without completion to task 1.");
    let strict = Dialect {
        strict: true,
        ..Dialect::default()
    };
    assert!(Conceptual::parse_as("strict.ncptl", text, strict).is_err());
}

#[test]
fn every_function_can_give_the_size_of_a_message() {
    // For 5000: BITS is 13, its number of bits; for the mesh functions, the neighbor of task 0 in a mesh of 4.
    for (call, bytes) in [
        ("abs(-7)", 7),
        ("min(9, 4)", 4),
        ("max(9, 4)", 9),
        ("bits(5000)", 13),
        ("BITS (5000)", 13),
        ("bit(5000)", 13),
        ("sqrt(81)", 9),
        ("cbrt(27)", 3),
        ("root(3, 64)", 4),
        ("log10(1000)", 3),
        ("factor10(4567)", 4000),
        ("floor(5)", 5),
        ("ceiling(5)", 5),
        ("round(5)", 5),
        ("real(5)", 5),
        ("tree_parent(5)", 2),
        ("tree_child(1, 0)", 3),
        ("knomial_parent(3)", 1),
        ("knomial_child(0, 0)", 1),
        ("knomial_children(0)", 3),
        ("processor_of(1)", 1),
        ("task_of(1)", 1),
        ("mesh_neighbor((4), 0, (1))", 1),
        ("mesh_coordinate((4), 3, 0)", 3),
        ("mesh_distance((4), 0, 3)", 3),
    ] {
        for text in [
            format!("Task 0 sends a {call} byte message to task 1."),
            format!("Task 0 sends 1 {call} byte message to task 1."),
            format!("Task 0 sends {call} - {call} + 1 {call} byte messages to task 1."),
        ] {
            let program = Conceptual::parse("size.ncptl", &text).unwrap_or_else(|errors| panic!("{errors}"));
            let record = program.record(8, &[], 1, &|_| Err("none".into()));
            assert_eq!(record.failure, None, "{text}");
            assert_eq!(
                record.json()["ranks"][0][0],
                serde_json::json!([1, ["send", 1, bytes, "block"]]),
                "{text}"
            );
        }
    }
}

#[test]
fn text_for_another_back_end_is_refused_or_passed_over_with_its_line() {
    let text = "Task 0 sends a 5 byte message to task 1 then\n\
                all tasks backend execute \"MPI_Win_fence(0, win);\" then\n\
                all tasks synchronize.";
    let refused = Conceptual::parse("other.ncptl", text).unwrap_err().to_string();
    assert!(refused.contains("other.ncptl:2:"), "{refused}");
    assert!(refused.contains("--ignore-unknown-backend"), "{refused}");
    let ignoring = Dialect {
        ignore_unknown_backend: true,
        ..Dialect::default()
    };
    let program = Conceptual::parse_as("other.ncptl", text, ignoring).unwrap_or_else(|errors| panic!("{errors}"));
    let warnings = program.rendered_warnings();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("other.ncptl:2:"), "{warnings:?}");
    assert!(warnings[0].to_lowercase().contains("mpi_win_fence"), "{warnings:?}");
    // The executed program has the other statements, and nothing in place of the text.
    let program = program.program(2, &[], 1, &|_| Err("none".into())).unwrap();
    assert_eq!([0, 1].map(|rank| operations(&program, rank).count()), [2, 2]);
}

#[test]
fn a_read_that_is_begun_asynchronously_is_awaited_with_the_messages() {
    let text = "All tasks t asynchronously READ 3K from file t at offset 9 then \
                all tasks t asynchronously send a 1 byte message to task t then \
                all tasks asynchronously WRITE 4 to file 2 then all tasks await completion.";
    let program = Conceptual::parse("io.ncptl", text)
        .unwrap_or_else(|errors| panic!("{errors}"))
        .program(2, &[], 1, &|_| Err("none".into()))
        .unwrap();
    let kinds: Vec<OpKind> = operations(&program, 1).map(|op| op.kind).collect();
    let read = OpKind::Iread {
        file: 1,
        offset: 9,
        bytes: 3 << 10,
        request: Request(0),
    };
    let write = OpKind::Iwrite {
        file: 2,
        offset: 0,
        bytes: 4,
        request: Request(3),
    };
    assert_eq!((kinds[0], kinds[3]), (read, write));
    assert_eq!(
        kinds[4..],
        [OpKind::WaitAll {
            first: Request(0),
            count: 4
        }]
    );
    let errors = Conceptual::parse("open.ncptl", "Task 0 asynchronously OPEN file 1.").unwrap_err();
    assert!(errors.to_string().contains("READ or WRITE"), "{errors}");
}

/// Reported values change nothing; all other uses of time do.
#[test]
fn a_program_reports_operations_that_depend_on_the_time() {
    let clock = |text: &str| {
        let program = Conceptual::parse("job", text).unwrap();
        program.program(4, &[], 1, &|_| Err("no files".into())).unwrap().clock()
    };
    for same in [
        "All tasks log elapsed_usecs as \"t\" then task 0 outputs real(elapsed_usecs).",
        "For 3 repetitions { all tasks t send a 5 byte message to task 0 then all tasks compute for 3 seconds }.",
        "If msgs_sent = 0 then all tasks synchronize.",
    ] {
        assert_eq!(clock(same), None, "{same}");
    }
    for (other, what) in [
        (
            "All tasks synchronize.\n For 3 seconds { all tasks synchronize }.",
            "job:2:2: a timed loop",
        ),
        (
            "If elapsed_usecs > 1 then all tasks synchronize.",
            "job:1:4: elapsed_usecs outside LOGS and OUTPUTS",
        ),
        (
            "Tasks t such that elapsed_usecs > t log 3 as \"x\".",
            "job:1:19: elapsed_usecs outside LOGS and OUTPUTS",
        ),
    ] {
        assert_eq!(clock(other).as_deref(), Some(what), "{other}");
    }
}

/// The operations of every task of a program.
fn kinds(text: &str, tasks: u32) -> Vec<Vec<OpKind>> {
    let program = Conceptual::parse("sets.ncptl", text)
        .unwrap_or_else(|errors| panic!("{errors}"))
        .program(tasks, &[], 1, &|_| Err("no files".into()))
        .unwrap();
    let of = |rank| operations(&program, rank).map(|op| op.kind).collect();
    (0..tasks).map(of).collect()
}

#[test]
fn the_receivers_of_a_reduction_are_source_tasks() {
    // In the grammar of the manual they are source_task, which includes ALL TASKS with or without a variable.
    let all = Collective::Allreduce {
        comm: Comm::WORLD,
        bytes: 8,
        count: 1,
    };
    for to in [
        "",
        " to all tasks",
        " to all tasks t",
        " to tasks {0, ..., 3}",
        " to tasks t such that t >= 0",
    ] {
        let found = kinds(&format!("All tasks reduce a doubleword{to}."), 4);
        assert_eq!(found, vec![vec![OpKind::Collective(all)]; 4], "{to}");
    }
    // All four tasks get the three integers of task 2: a reduction to task 0 and a broadcast from there.
    let result = "Task 2 reduces 3 integers to all tasks who receive the result as 3 page aligned integers.";
    for kinds in kinds(result, 4) {
        let last = kinds.last();
        assert!(
            matches!(
                last,
                Some(OpKind::Collective(Collective::Broadcast { root: 0, bytes: 12, .. }))
            ),
            "{kinds:?}"
        );
    }
}

#[test]
fn all_other_tasks_receive_from_those_that_send() {
    let receive = |to| OpKind::Recv {
        from: Source::Rank(to),
        tag: Tag::Is(0),
        bytes: 4,
        comm: Comm::WORLD,
    };
    for sender in ["task 1", "tasks s such that s = 1", "tasks {1}"] {
        let text = format!(
            "Task 1 sends a 4 byte message to unsuspecting all other tasks then \
             all other tasks receive a 4 byte message from {sender}."
        );
        let found = kinds(&text, 4);
        for (task, kinds) in found.iter().enumerate() {
            let received: Vec<_> = kinds
                .iter()
                .filter(|kind| matches!(kind, OpKind::Recv { .. }))
                .collect();
            let expected = if task == 1 { vec![] } else { vec![receive(1)] };
            assert_eq!(received, expected.iter().collect::<Vec<_>>(), "{sender}, task {task}");
        }
    }
}

#[test]
fn sets_of_tasks_stand_where_the_grammar_has_them() {
    let strict = Dialect {
        strict: true,
        ..Dialect::default()
    };
    // Whether release 1.5.1b accepts a statement, and whether this front end does.
    for (text, by_release, here) in [
        ("All tasks reduce a doubleword to all tasks.", true, true),
        ("All tasks reduce a doubleword to task 0.", true, true),
        ("Task 0 reduces a doubleword to all other tasks.", false, true),
        ("Task 0 multicasts a 4 byte message to all other tasks.", true, true),
        ("Task 0 multicasts a 4 byte message to all tasks.", false, false),
        ("Task 0 sends a 4 byte message to all tasks.", false, false),
        ("All other tasks send a 4 byte message to task 0.", false, false),
        ("All other tasks receive a 4 byte message from task 0.", true, true),
        ("All tasks receive a 4 byte message from task 0.", false, true),
        ("Task 0 receives a 4 byte message from all tasks.", true, true),
        ("Task 0 receives a 4 byte message from all other tasks.", false, true),
        (
            "All other tasks receive a 4 byte message from all other tasks.",
            false,
            false,
        ),
        ("All other tasks synchronize.", false, false),
        ("Let g be all tasks while task group g synchronizes.", true, true),
        (
            "Let g be all other tasks while task group g synchronizes.",
            false,
            false,
        ),
    ] {
        assert_eq!(Conceptual::parse("sets.ncptl", text).is_ok(), here, "{text}");
        assert_eq!(
            Conceptual::parse_as("sets.ncptl", text, strict).is_ok(),
            by_release,
            "{text}"
        );
    }
}

#[test]
fn the_calls_that_the_manual_gives_to_a_back_end_are_known() {
    // The example of the manual, and the empty text of the release's own test.
    let text = "numwords is \"words\" and comes from \"--words\" or \"-w\" with default 3.\n\
                The backend declares \"int tally = 0;\".\n\
                Task 0 backend executes \"\" then all tasks backend execute \"\n  \
                MPI_Allgather([MESSAGE BUFFER 0], (int)\" and numwords and \", MPI_INT,\n \
                [MESSAGE BUFFER 1], (int)\" and numwords and \", MPI_INT, MPI_COMM_WORLD);\n\" then \
                all tasks backend execute \"MPI_Gather(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, 1, MPI_COMM_WORLD); \
                MPI_Scatter(a, 5, MPI_BYTE, b, 5, MPI_BYTE, 0, MPI_COMM_WORLD)\".";
    let comm = Comm::WORLD;
    let expected = [
        Collective::Allgather { comm, bytes: 12 },
        Collective::Gather {
            comm,
            root: 1,
            bytes: 16,
        },
        Collective::Scatter {
            comm,
            root: 0,
            bytes: 5,
        },
    ];
    assert_eq!(kinds(text, 2), vec![expected.map(OpKind::Collective).to_vec(); 2]);
}
