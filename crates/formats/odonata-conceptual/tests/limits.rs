//! Limits of the coNCePTuaL front end: refusals in bounded time, with the reason.

use cpu_time::ThreadTime;
use odonata_conceptual::{Conceptual, ConceptualProgram, evaluate};
use odonata_workload::{Cursor, Program, Seen};
use std::time::Duration;

fn no_files(_: &str) -> Result<String, String> {
    Err("no files".into())
}

fn parsed(text: &str) -> Conceptual {
    Conceptual::parse("job", text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn program(text: &str, tasks: u32) -> ConceptualProgram {
    parsed(text).program(tasks, &[], 1, &no_files).unwrap()
}

/// Number of operations of `rank`, the reason why it stops, and the later result of [`Program::failure`].
fn end(program: &ConceptualProgram, rank: u32) -> (usize, Option<String>, Option<String>) {
    let mut cursor = Cursor::default();
    let mut memory = vec![0; program.memory()];
    let mut operations = 0;
    loop {
        let mut seen = Seen {
            memory: &mut memory,
            now: None,
            answer: 0,
            lost: false,
            failure: None,
        };
        match program.next_with(rank, &mut cursor, &mut seen) {
            Some(_) => operations += 1,
            None => {
                let failure = seen.failure;
                return (
                    operations,
                    failure,
                    program.failure(rank, &memory, odonata_units::Time::ZERO),
                );
            }
        }
    }
}

#[test]
fn a_collective_that_was_not_foreseen_is_an_error_where_it_is_reached() {
    let before = "All tasks t asynchronously send an 8 byte message to task (t+1) mod num_tasks then \
                  all tasks await completion then ";
    for collective in [
        "tasks t such that t <= msgs_sent synchronize",
        "tasks t such that t <= msgs_sent multicast an 8 byte message to tasks u such that u <= msgs_sent",
        "tasks t such that t <= msgs_sent reduce an integer",
        "tasks t such that t <= msgs_sent reduce an integer to tasks u such that u <= 2*msgs_sent",
    ] {
        let program = program(&format!("{before}{collective} then all tasks synchronize."), 4);
        let (operations, failure, _) = end(&program, 0);
        assert_eq!(operations, 3, "{collective}: {failure:?}");
        let failure = failure.unwrap_or_default();
        assert!(failure.starts_with("job:1:"), "{failure}");
        assert!(failure.contains("unknown before the run"), "{failure}");
    }
    // A single member needs no communicator.
    let alone = program(&format!("{before}tasks t such that t < msgs_sent synchronize."), 4);
    assert_eq!(end(&alone, 0).1, None);
}

#[test]
fn a_loop_of_multicasts_of_nothing_is_stopped() {
    let text = "For 1E18 repetitions { all tasks t multicast 0 8 byte messages to all other tasks }";
    let failure = end(&program(text, 60), 0).1.unwrap_or_default();
    assert!(failure.contains("100,000,000 steps without an operation"), "{failure}");
}

#[test]
fn a_file_number_is_neither_negative_nor_one_that_phases_have_no_room_for() {
    for (text, why) in [
        ("All tasks open file 0-5.", "negative file number"),
        ("All tasks write 8 bytes to file 0-5.", "negative file number"),
        ("All tasks close file 1 << 56.", "a file number of 2^56 or more"),
        (
            "All tasks backend execute \"UNION_IO_OPEN_FILE(72057594037927936);\".",
            "a file number of 2^56 or more",
        ),
    ] {
        let failure = end(&program(text, 2), 0).1.unwrap_or_default();
        assert!(failure.contains(why), "{text}: {failure}");
    }
    assert_eq!(
        end(&program("All tasks open file (1 << 56) - 1.", 2), 0),
        (1, None, None)
    );
}

/// Executed again, neither of these would fail.
#[test]
fn why_a_program_has_failed_is_known_afterwards() {
    let luck = "For 500 repetitions { all tasks compute for 1 microsecond then \
                assert that \"luck\" with random_uniform(0, 10) < 8 }";
    let (operations, first, afterwards) = end(&program(luck, 1), 0);
    assert!(operations > 0 && first.is_some());
    assert_eq!(first, afterwards);
    let spent = program(
        "All tasks synchronize then for 1E18 repetitions { if 0 = 1 then task 0 synchronizes }.",
        2,
    );
    let (_, first, afterwards) = end(&spent, 0);
    assert!(
        first
            .as_deref()
            .unwrap_or_default()
            .contains("steps without an operation"),
        "{first:?}"
    );
    assert_eq!(first, afterwards);
}

/// Linear in the text: comparing all pairs of names would take 10^10 steps.
#[test]
fn many_names_and_warnings_are_read_in_time_and_the_first_warnings_are_shown() {
    let many = 60_000;
    let start = ThreadTime::now();
    let unused: String = (0..many)
        .map(|v| format!("Let v{v} be 1 while task 0 outputs 1.\n"))
        .collect();
    let warnings = parsed(&unused).rendered_warnings();
    assert_eq!(warnings.len(), 51);
    assert!(warnings[0].contains("unused variable v0"), "{}", warnings[0]);
    assert!(warnings[49].starts_with("job:50:5: warning"), "{}", warnings[49]);
    let rest = format!("job:51:5: warning: and {} more warnings", many - 50);
    assert!(warnings[50].starts_with(&rest), "{}", warnings[50]);
    let escapes = format!("Task 0 outputs \"{}\".", "\\q".repeat(many));
    assert_eq!(parsed(&escapes).warnings().len(), 51);
    let bound: Vec<String> = (0..many).map(|v| format!("w{v} be {v}")).collect();
    let sum: String = (0..many / 100)
        .map(|v| format!("Task 0 outputs w{} then ", 100 * v))
        .collect();
    // Names of one LET are words of memory.
    let errors = Conceptual::parse(
        "job",
        &format!("Let {} while {{ {sum} task 0 outputs 1 }}", bound.join(" and ")),
    );
    assert!(errors.is_ok(), "{}", errors.unwrap_err());
    let tags: String = (0..many)
        .map(|tag| format!("Task 0 sends a 1 byte message using tag \"t{tag}\" to task 1 then\n"))
        .collect();
    parsed(&format!("{tags} task 0 outputs 1."));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn a_program_with_more_words_than_a_rank_has_is_refused() {
    let bound: Vec<String> = (0..70_000).map(|v| format!("w{v} be {v}")).collect();
    let text = format!("Let {} while task 0 outputs w1.", bound.join(" and "));
    let error = Conceptual::parse("job", &text).unwrap_err().to_string();
    assert!(error.contains("words of memory per task: 65536 at most"), "{error}");
}

/// tasks^2 members: 16,000,000 here.
#[test]
fn a_listing_of_too_many_members_of_collectives_is_refused() {
    let record = |tasks| parsed("All tasks synchronize.").record(tasks, &[], 1, &no_files);
    assert_eq!(record(500).json()["verdict"], "accept");
    let refused = record(4_000);
    assert_eq!(refused.json()["verdict"], "abort");
    let failure = refused.failure.unwrap();
    assert!(
        failure.contains("too many members of collectives to list: 8388608 at most, at 4000 tasks"),
        "{failure}"
    );
}

#[test]
fn functions_on_trees_take_no_time_in_their_arguments() {
    let largest = i64::MAX;
    assert_eq!(
        evaluate(&format!("knomial_children(0, {largest}, {largest})"), false),
        Ok((largest - 1) as f64)
    );
}
