//! Snapshots of a run that several processes share: a file of each, and only all of them together.

use super::{LONG, Scratch, finish, load, load_whole};
use crate::crowd::{of_first, together};
use odonata_system::{InputError, Others, Simulation, Snapshot};
use std::path::PathBuf;
use std::time::Duration;

/// The settings of a run in `parts` under `scheduler`.
fn divided(scheduler: &str, parts: usize) -> [String; 2] {
    [format!("run.scheduler={scheduler}"), format!("run.parts={parts}")]
}

/// The run of a process, gone on from what it has at `path`.
fn resume(settings: &[&str], mut others: Others, path: PathBuf) -> Result<Simulation, InputError> {
    let scenario = load(LONG, settings);
    let snapshot = Snapshot::open(&path, &scenario, &others.group);
    // As everybody has to: where one cannot go on, the others must not wait for it.
    let all = others.group.all(snapshot.is_ok()).unwrap();
    let snapshot = snapshot?;
    assert!(all, "another process has no snapshot");
    Simulation::resume_shared(scenario, snapshot, others)
}

/// Saves a run after every slice of events, and goes on with it in new processes.
fn assert_equal_when_resumed(scheduler: &str, processes: usize, parts: usize) {
    let scratch = Scratch::new(&format!("shared-{scheduler}-{processes}"));
    let settings = divided(scheduler, parts);
    let settings = settings.each_ref().map(String::as_str);
    let file = |process: usize| scratch.0.join(format!("{process}.snapshot"));
    let advance = |simulation: &mut Simulation, process: usize| {
        let finished = simulation.advance(Duration::ZERO).finished;
        let bytes = simulation.save_to(&file(process)).unwrap();
        assert_eq!(bytes, file(process).metadata().unwrap().len());
        finished
    };
    let mut finished = together(processes, |process, others| {
        let mut simulation = Simulation::shared(load(LONG, &settings), others).unwrap();
        advance(&mut simulation, process)
    });
    let mut legs = 1;
    while !finished[0] {
        assert!(finished.iter().all(|&one| !one));
        // On another number of threads each time; of the division that is asked for now, nothing is taken.
        let threads = format!("run.threads={}", 1 + legs % 2);
        let settings = ["run.scheduler=auto", "run.parts=9", &threads];
        finished = together(processes, |process, others| {
            let mut simulation = resume(&settings, others, file(process)).unwrap();
            advance(&mut simulation, process)
        });
        legs += 1;
    }
    assert!(legs > 5, "{legs}");
    let results = of_first(together(processes, |process, others| {
        let mut simulation = resume(&settings, others, file(process)).unwrap();
        assert!(simulation.advance(Duration::ZERO).finished);
        simulation.finish_shared(false).unwrap()
    }));
    let whole = finish(load_whole());
    assert_eq!(results.digest(), whole.digest(), "{scheduler}, {processes} processes");
    assert_eq!(format!("{:?}", results.rows()), format!("{:?}", whole.rows()));
    let run = results.run_json();
    assert_eq!(
        (&run["scheduler"], &run["processes"]),
        (&scheduler.into(), &processes.into())
    );
    assert_eq!(run["schedule"]["parts"], parts);
}

#[test]
fn a_conservative_run_is_saved_and_resumed_by_all_its_processes() {
    assert_equal_when_resumed("conservative", 2, 5);
    assert_equal_when_resumed("conservative", 3, 20);
}

#[test]
fn an_optimistic_run_is_saved_and_resumed_by_all_its_processes() {
    assert_equal_when_resumed("optimistic", 2, 5);
    assert_equal_when_resumed("optimistic", 3, 20);
}

/// Saves a run of two processes twice, at two moments: to files whose names begin with `old` and with `new`.
fn saved_twice(scratch: &Scratch) -> impl Fn(&str, usize) -> PathBuf {
    let file = |folder: PathBuf| move |name: &str, process: usize| folder.join(format!("{name}.{process}"));
    let file = file(scratch.0.clone());
    together(2, |process, others| {
        let mut simulation = Simulation::shared(load(LONG, &[]), others).unwrap();
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
        let refused = together(2, |process, others| {
            resume(&[], others, file(names[process], process)).err().unwrap()
        });
        for (process, error) in refused.iter().enumerate() {
            assert_eq!(error.message, "the snapshots of the processes were not saved together");
            assert_eq!(error.file, file(names[process], process).display().to_string());
        }
    }
    for name in ["old", "new"] {
        together(2, |process, others| {
            resume(&[], others, file(name, process)).unwrap().progress()
        });
    }
}

#[test]
fn other_processes_than_those_that_saved_a_run_are_refused() {
    let scratch = Scratch::new("processes");
    let file = saved_twice(&scratch);
    let open = |processes: usize, path: PathBuf| {
        together(processes, |_, others| {
            let scenario = load(LONG, &[]);
            let snapshot = Snapshot::open(&path, &scenario, &others.group);
            snapshot.map(|_| ()).map_err(|error| (error.message, error.expected))
        })
    };
    let said = |processes: &str, expected: &str| Err((processes.to_owned(), expected.to_owned()));
    let two = "2 processes, as with mpirun -n 2";
    assert_eq!(
        open(1, file("new", 0)),
        [said("2 processes saved the run, and 1 would go on with it", two)]
    );
    let three = said("2 processes saved the run, and 3 would go on with it", two);
    assert_eq!(open(3, file("new", 0)), [three.clone(), three.clone(), three]);
    let swapped = said("the snapshot is that of process 0 of 2", "that of process 1");
    assert_eq!(open(2, file("new", 0)), [Ok(()), swapped]);
    let alone = scratch.0.join("alone");
    Simulation::new(load(LONG, &[])).unwrap().save_to(&alone).unwrap();
    let one = said("one process saved the run, and 2 would go on with it", "one process");
    assert_eq!(open(2, alone), [one.clone(), one]);
}
