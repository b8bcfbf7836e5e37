//! Bytes as a GOAL schedule, in the form that the first byte says: reading, operations, findings, the LogGOPS model.

#![no_main]

use libfuzzer_sys::fuzz_target;
use odonata_goal::loggops::simulate;
use odonata_goal::{GoalProgram, binary, text};
use odonata_trace_format::{Cancellation, lint_program, traffic_matrix};
use odonata_units::{PerByte, Time};
use odonata_workload::{LogGops, Program, operations};

/// Tasks of schedules that are gone through.
const MOST: usize = 5_000;
/// Ranks of schedules that are looked at.
const MOST_RANKS: usize = 1_000;

fuzz_target!(|data: &[u8]| {
    let Some((&form, data)) = data.split_first() else {
        return;
    };
    let never = || false;
    let read = match form % 2 {
        0 => text::read(data, &never),
        _ => binary::read(data, &never),
    };
    let Ok(schedule) = read else { return };
    let tasks: usize = schedule.ranks().iter().map(|rank| rank.tasks().len()).sum();
    if tasks > MOST || schedule.ranks().len() > MOST_RANKS {
        return;
    }
    assert_eq!(binary::read(&binary::write(&schedule), &never).as_ref(), Ok(&schedule));
    let params = LogGops {
        latency: Time::from_ns(1000),
        send_overhead: Time::from_ns(100),
        recv_overhead: Time::from_ns(100),
        gap: Time::from_ns(50),
        gap_per_byte: PerByte(6000.0),
        overhead_per_byte: PerByte(1000.0),
        eager_threshold: 1000,
    };
    let outcome = simulate(&schedule, &params, 1.0, &never).expect("nobody stops it");
    assert_eq!(outcome.ranks.len(), schedule.ranks().len());
    if let Some(Ok(program)) = GoalProgram::new(schedule, 1.0, &never) {
        for rank in 0..program.ranks() {
            for op in operations(&program, rank) {
                assert!(op.after.iter().all(|other| other.0 < op.id.0));
            }
        }
        lint_program(&program, &Cancellation::default());
        traffic_matrix(&program, &Cancellation::default());
    }
});
