//! Snapshots of a run that several processes share: one file per process, valid only together. Any number of processes
//! up to the number of parts can resume it.

use super::{LONG, Scratch, finish, load, load_whole};
use crate::crowd::{of_first, together};
use cpu_time::ThreadTime;
use odonata_system::{InputError, Others, Simulation, Snapshot};
use std::path::PathBuf;
use std::time::Duration;

/// The settings of a run in `parts` under `scheduler`.
fn divided(scheduler: &str, parts: usize) -> [String; 2] {
    [format!("run.scheduler={scheduler}"), format!("run.parts={parts}")]
}

/// The run of a process, resumed from the file that each saving process has at `file`.
fn resume(settings: &[&str], mut others: Others, file: impl Fn(usize) -> PathBuf) -> Result<Simulation, InputError> {
    let scenario = load(LONG, settings);
    let snapshot = Snapshot::open(file, &scenario, &others.group);
    // All processes have to agree: if one cannot resume, the others must not wait for it.
    let all = others.group.all(snapshot.is_ok()).unwrap();
    let snapshot = snapshot?;
    assert!(all, "another process has no snapshot");
    Simulation::resume_shared(scenario, snapshot, others)
}

/// Saves a run after every slice of events, and resumes it in new processes, whose number cycles through `numbers`.
fn assert_equal_when_resumed(scheduler: &str, numbers: &[usize], parts: usize) {
    let scratch = Scratch::new(&format!("shared-{scheduler}-{parts}-{}", numbers.len()));
    let settings = divided(scheduler, parts);
    let settings = settings.each_ref().map(String::as_str);
    let file = |leg: usize| {
        let folder = scratch.0.join(leg.to_string());
        move |process| Snapshot::file_in(&folder, process)
    };
    let advance = |simulation: &mut Simulation, leg: usize, process: usize| {
        let finished = simulation.advance(Duration::ZERO).finished;
        let place = file(leg)(process);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        let bytes = simulation.save_to(&place).unwrap();
        assert_eq!(bytes, place.metadata().unwrap().len());
        finished
    };
    let processes = |leg: usize| numbers[leg % numbers.len()];
    let mut finished = together(processes(0), |process, others| {
        let mut simulation = Simulation::shared(load(LONG, &settings), others).unwrap();
        advance(&mut simulation, 0, process)
    });
    let mut legs = 1;
    while !finished[0] {
        assert!(finished.iter().all(|&one| !one));
        // On another number of threads each time; the currently requested division is ignored.
        let threads = format!("run.threads={}", 1 + legs % 2);
        let settings = ["run.scheduler=auto", "run.parts=9", &threads];
        finished = together(processes(legs), |process, others| {
            let mut simulation = resume(&settings, others, file(legs - 1)).unwrap();
            advance(&mut simulation, legs, process)
        });
        legs += 1;
    }
    assert!(legs > 5 && legs > numbers.len(), "{legs}");
    let last = processes(legs);
    let results = of_first(together(last, |_, others| {
        let mut simulation = resume(&settings, others, file(legs - 1)).unwrap();
        assert!(simulation.advance(Duration::ZERO).finished);
        simulation.finish_shared(false).unwrap()
    }));
    let whole = finish(load_whole());
    assert_eq!(results.digest(), whole.digest(), "{scheduler}, {numbers:?} processes");
    assert_eq!(format!("{:?}", results.rows()), format!("{:?}", whole.rows()));
    let run = results.run_json();
    assert_eq!(
        (&run["scheduler"], &run["processes"]),
        (&scheduler.into(), &last.into())
    );
    assert_eq!(run["schedule"]["parts"], parts);
}

#[test]
fn a_conservative_run_is_saved_and_resumed_by_all_its_processes() {
    assert_equal_when_resumed("conservative", &[2], 5);
}

#[test]
fn an_optimistic_run_is_saved_and_resumed_by_all_its_processes() {
    assert_equal_when_resumed("optimistic", &[3], 20);
}

/// Parts move between the processes, one of which may have them all, or each one.
#[test]
fn a_run_resumed_in_another_number_of_processes_has_the_same_results() {
    assert_equal_when_resumed("conservative", &[2, 3, 1, 5, 4], 5);
}

#[test]
#[ignore = "takes long"]
fn runs_of_either_scheduler_go_on_in_few_and_many_parts() {
    assert_equal_when_resumed("conservative", &[3], 20);
    assert_equal_when_resumed("optimistic", &[2], 5);
    assert_equal_when_resumed("optimistic", &[1, 4, 2, 3], 20);
}

/// The cost of each process is neither lost nor counted twice, whichever process has its parts now.
#[test]
fn the_cost_of_all_processes_is_carried_on_by_any_number_of_them() {
    let scratch = Scratch::new("costs");
    let settings = divided("conservative", 5);
    let settings = settings.each_ref().map(String::as_str);
    let file = |process: usize| Snapshot::file_in(&scratch.0, process);
    let save = |simulation: &mut Simulation, process: usize| {
        // Processes of this test are threads, and the CPU time of a simulation is that of all of them.
        let begin = ThreadTime::now();
        while begin.elapsed() < Duration::from_millis(100) {}
        simulation.save_to(&file(process)).unwrap();
    };
    together(3, |process, others| {
        save(&mut Simulation::shared(load(LONG, &settings), others).unwrap(), process);
    });
    let cpu_s = |processes: usize| {
        let resumed = together(processes, |_, others| {
            resume(&[], others, file).unwrap().finish_shared(true).unwrap()
        });
        of_first(resumed).cpu_s()
    };
    // At least the 100 ms of each of the three, as the CPU time of all runs at least as fast as that of one thread.
    for processes in [1, 2, 5] {
        let found = cpu_s(processes);
        assert!(found >= 0.1, "{processes}: {found}");
    }
}

/// Saves a run of two processes twice, at two moments: to files in the folders `old` and `new`.
fn saved_twice(scratch: &Scratch) -> impl Fn(&str, usize) -> PathBuf {
    let folder = scratch.0.clone();
    let file = move |name: &str, process: usize| Snapshot::file_in(&folder.join(name), process);
    let settings = divided("conservative", 4);
    let settings = settings.each_ref().map(String::as_str);
    for name in ["old", "new"] {
        std::fs::create_dir(scratch.0.join(name)).unwrap();
    }
    together(2, |process, others| {
        let mut simulation = Simulation::shared(load(LONG, &settings), others).unwrap();
        for name in ["old", "new"] {
            simulation.advance(Duration::ZERO);
            simulation.save_to(&file(name, process)).unwrap();
        }
    });
    file
}

#[test]
fn snapshots_of_two_moments_make_no_run() {
    let scratch = Scratch::new("moments");
    let file = saved_twice(&scratch);
    for names in [["old", "new"], ["new", "old"]] {
        let mixed = |process: usize| file(names[process], process);
        let refused = together(2, |_, others| resume(&[], others, mixed).err().unwrap());
        for (process, error) in refused.iter().enumerate() {
            assert_eq!(error.message, "the snapshots of the processes are from different saves");
            assert_eq!(error.file, mixed(process).display().to_string());
        }
        // One process reads both files.
        let refused = together(1, |_, others| resume(&[], others, mixed).err().unwrap());
        assert_eq!(
            refused[0].message,
            "the snapshots of the processes are from different saves"
        );
        assert_eq!(refused[0].file, mixed(1).display().to_string());
    }
    for name in ["old", "new"] {
        together(2, |_, others| {
            resume(&[], others, |process| file(name, process)).unwrap().progress()
        });
    }
}

#[test]
fn files_that_are_not_those_of_the_processes_that_saved_a_run_are_refused() {
    let scratch = Scratch::new("processes");
    let file = saved_twice(&scratch);
    let open = |processes: usize, file: &(dyn Fn(usize) -> PathBuf + Sync)| {
        together(processes, |_, others| {
            let scenario = load(LONG, &[]);
            let snapshot = Snapshot::open(file, &scenario, &others.group);
            snapshot.map(|_| ()).map_err(|error| (error.message, error.expected))
        })
    };
    let refusal = |message: &str, expected: &str| Err((message.to_owned(), expected.to_owned()));
    for processes in 1..=4 {
        assert_eq!(
            open(processes, &|process| file("new", process)),
            vec![Ok(()); processes]
        );
    }
    let many = refusal(
        "the run was saved in 4 parts, and 5 processes would resume it",
        "4 processes at most",
    );
    assert_eq!(open(5, &|process| file("new", process)), vec![many; 5]);
    let swapped = refusal(
        "the snapshot belongs to process 0 of 2",
        "the snapshot of process 1 of 2",
    );
    assert_eq!(open(2, &|_| file("new", 0)), [Ok(()), swapped.clone()]);
    // One process has all parts, half of which are in the other file.
    assert_eq!(open(1, &|_| file("new", 0)), [swapped]);
    let lacking = |process: usize| file(["new", "nowhere"][process.min(1)], process);
    for processes in [1, 2] {
        let found = open(processes, &lacking);
        let (message, _) = found.last().unwrap().as_ref().unwrap_err();
        assert!(
            message.starts_with("the snapshot cannot be read: No such file"),
            "{message}"
        );
    }
    let alone = |process| Snapshot::file_in(&scratch.0, process);
    let sequential = load(LONG, &["run.scheduler=sequential"]);
    Simulation::new(sequential).unwrap().save_to(&alone(0)).unwrap();
    let one = refusal(
        "the run was saved in one piece, and 2 processes would resume it",
        "one process; only runs of a parallel scheduler can be shared by processes",
    );
    assert_eq!(open(2, &alone), [one.clone(), one]);
}
