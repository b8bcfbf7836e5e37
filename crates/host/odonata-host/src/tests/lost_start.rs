//! Delays of job starts behind delayed jobs.

use super::lost_time::{end, lost, pair, setup, with_noise};
use super::*;
use odonata_blame::lost::{Kind, Stamp};
use odonata_engine::RollbackCheck;
use odonata_workload::{Arrival, Pattern, Synthetic};

/// A message that meets the message of [`pair`] at its last link.
const NOISE: [(u64, u32, u32); 1] = [(0, 0, 8)];

/// The lost time of rank 0 of `job` before its start.
fn before(machine: &TestMachine, job: u16) -> Stamp {
    let first = machine.hosts.job(job).first_rank;
    let measured = HostMeasured::join([machine.hosts.measured(Time::ZERO)]).unwrap();
    let found = measured.lost_before.into_iter().find(|&(rank, _)| rank == first);
    let stamp = found.map_or(Stamp::start(start(machine, job)), |(_, stamp)| stamp);
    stamp.audit().unwrap();
    assert!(stamp.losses.iter().all(|loss| loss.kind == Kind::Start), "{stamp:?}");
    stamp
}

fn start(machine: &TestMachine, job: u16) -> Time {
    machine.started(job).unwrap()
}

fn by(stamp: &Stamp, culprit: u16) -> Time {
    let found = stamp.losses.iter().find(|loss| loss.culprit == culprit);
    found.map_or(Time::ZERO, |loss| loss.time)
}

fn work(ns: u64) -> Vec<Vec<Op>> {
    vec![sequence([compute(ns)]), sequence([compute(ns)])]
}

/// Job 0 sends; job 1 starts after it, and job 2 after job 1 with a delay. The last job delays job 0 if `disturbed`.
fn chain(disturbed: bool) -> TestMachine {
    let chain = setup()
        .script(pair(), &[1, 8])
        .script(work(500), &[20, 30])
        .script(work(100), &[40, 50]);
    let mut setup = with_noise(chain, if disturbed { &NOISE } else { &[] });
    setup.jobs[1].start_after = vec![0];
    setup.jobs[2].start_after = vec![1];
    setup.jobs[2].start = Time::from_ns(300);
    setup.complete()
}

#[test]
fn a_job_inherits_loss_and_culprit_of_its_predecessor_at_its_start() {
    let (alone, both) = (chain(false), chain(true));
    let delay = end(&both, 1) - end(&alone, 1);
    assert!(delay > Time::ZERO, "the messages meet");
    for job in [1, 2] {
        assert_eq!(start(&both, job) - start(&alone, job), delay);
        let stamp = before(&both, job);
        // The reports of the two ranks wait for no other traffic, so the loss to the other job is the total.
        assert_eq!(
            (by(&stamp, 6), stamp.undisturbed),
            (delay, start(&alone, job)),
            "{stamp:?}"
        );
        // The duration of the job does not change: it loses nothing after its start.
        assert_eq!(lost(&both, job, 0).losses, []);
        assert_eq!(before(&alone, job).losses, []);
    }
    assert_eq!(before(&both, 0).losses, []);
}

#[test]
fn a_job_that_starts_after_two_jobs_inherits_the_loss_of_the_last_minus_slack() {
    let run = |disturbed: bool, other_ns: u64| {
        let jobs = setup()
            .script(pair(), &[1, 8])
            .script(work(other_ns), &[20, 28])
            .script(work(100), &[40, 50]);
        let mut setup = with_noise(jobs, if disturbed { &NOISE } else { &[] });
        setup.jobs[2].start_after = vec![0, 1];
        setup.complete()
    };
    let quick = (run(false, 1), run(true, 1));
    let delay = end(&quick.1, 1) - end(&quick.0, 1);
    let middle = (end(&quick.0, 1).0 + delay.0 / 2) / 1_000;
    for other_ns in [1, middle, 2 * middle] {
        let (alone, both) = (run(false, other_ns), run(true, other_ns));
        let late = start(&both, 2) - start(&alone, 2);
        let stamp = before(&both, 2);
        assert_eq!((stamp.lost(), by(&stamp, 6)), (late, late), "{other_ns} ns: {stamp:?}");
        assert_eq!(late == Time::ZERO, other_ns == 2 * middle);
    }
}

/// A stopped source ends when the job that it waits for does.
#[test]
fn a_job_that_starts_after_a_stopped_source_inherits_the_loss_of_the_stopping_job() {
    let run = |disturbed: bool| {
        let source = Synthetic {
            pattern: Pattern::Uniform,
            bytes: 100,
            arrival: Arrival::Fixed,
            bursts: None,
            messages: None,
            stop: None,
            stopped_by_job: true,
            itself: false,
        };
        let program = JobProgram::Synthetic {
            source,
            mean_gap: Time::from_ns(1_000_000),
        };
        let jobs = setup()
            .script(pair(), &[1, 8])
            .job(program, &[24, 32])
            .script(work(100), &[40, 50]);
        let mut setup = with_noise(jobs, if disturbed { &NOISE } else { &[] });
        setup.jobs[1].until = vec![0];
        setup.jobs[2].start_after = vec![1];
        setup.complete()
    };
    let (alone, both) = (run(false), run(true));
    let late = start(&both, 2) - start(&alone, 2);
    let stamp = before(&both, 2);
    assert!(late > Time::ZERO);
    assert_eq!((stamp.lost(), by(&stamp, 6)), (late, late), "{stamp:?}");
}

#[test]
fn losses_before_a_start_are_journalled() {
    let build = || {
        let jobs = setup().script(pair(), &[1, 8]).script(work(500), &[20, 30]);
        let mut setup = with_noise(jobs, &NOISE);
        setup.jobs[1].start_after = vec![0];
        setup
    };
    let plain = build().complete();
    let mut check = RollbackCheck::new(build().build());
    check.run(u64::MAX).unwrap();
    assert_eq!(before(check.model(), 1), before(&plain, 1));
    assert!(before(&plain, 1).lost() > Time::ZERO);
}
