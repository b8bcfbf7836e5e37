//! The parallel schedulers give the results of the sequential one, for all parts, threads and processes, and all
//! speculation distances.

mod toy;

use odonata_engine::random::Purpose;
use odonata_engine::saved::{Loader, Saver};
use odonata_engine::{
    Awake, Figures, Optimism, Options, Parallel, Partition, Pause, Scheduler, Sequential, SingleProcess, Stream,
    ThreadTransport, Time, Transport,
};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use toy::{Params, SMALLEST, Toy};

/// The schedule of a run: stop times, and slices of a number of events.
#[derive(Clone, Debug)]
struct Schedule {
    stops: Vec<Time>,
    budget: u64,
}

const TO_THE_END: Schedule = Schedule {
    stops: Vec::new(),
    budget: u64::MAX,
};

/// A stop of a run: its reason, the arrival time of the last job, and the jobs in flight.
#[derive(Clone, Debug, PartialEq)]
struct Stop {
    pause: Pause,
    last: Time,
    pending: Vec<toy::RemoteJob>,
}

/// The observations of a run, and its results.
#[derive(Debug, PartialEq)]
struct Story {
    stops: Vec<Stop>,
    results: u128,
}

/// Idle wake-ups are left out: their number depends on the scheduler.
fn act(mut run: Box<dyn Scheduler<Toy>>, schedule: &Schedule) -> (Vec<Stop>, Vec<Toy>) {
    let mut stops = Vec::new();
    for &until in schedule.stops.iter().chain(&[Time::NEVER]) {
        let pause = loop {
            match run.run(until, schedule.budget) {
                Pause::Budget => {}
                pause => break pause,
            }
        };
        let (mut pending, mut last) = (Vec::new(), Time::ZERO);
        run.view(&mut |part| {
            pending.extend(part.events.filter_map(|event| part.model.job(event)));
            pending.extend(part.remote_events);
            last = last.max(part.model.last());
        });
        assert!(
            last <= run.now() && run.now() <= until,
            "{last:?} {:?} {until:?} {:?}",
            run.now(),
            run.figures()
        );
        stops.push(Stop { pause, last, pending });
    }
    (stops, run.into_parts())
}

/// The combined story of all processes.
fn story(processes: Vec<(Vec<Stop>, Vec<Toy>)>) -> Story {
    let (mut all, mut stops): (Vec<Toy>, Vec<Stop>) = (Vec::new(), Vec::new());
    for (own, parts) in processes {
        all.extend(parts);
        if stops.is_empty() {
            stops = own;
            continue;
        }
        for (stop, own) in stops.iter_mut().zip(own) {
            assert_eq!(stop.pause, own.pause, "processes differ");
            stop.last = stop.last.max(own.last);
            stop.pending.extend(own.pending);
        }
    }
    stops.iter_mut().for_each(|stop| stop.pending.sort_unstable());
    Story {
        stops,
        results: toy::results(&all),
    }
}

fn sequential(params: &Params, schedule: &Schedule) -> Story {
    let whole = toy::divide(params, &Partition::whole(params.lps)).remove(0);
    story(vec![act(Box::new(Sequential::new(whole)), schedule)])
}

/// The parts of `partition` in turn, over one state.
fn in_clusters(params: &Params, partition: &Partition, schedule: &Schedule) -> Story {
    let whole = toy::divide(params, &Partition::whole(params.lps)).remove(0);
    let run = Sequential::in_clusters(whole, partition).unwrap();
    story(vec![act(Box::new(run), schedule)])
}

/// Bounds so large that only rollbacks limit speculation.
const UNBOUNDED: Optimism = Optimism {
    events_per_round: 4_096,
    journal: 1 << 30,
};

/// The state of each part.
fn states(run: &Parallel<Toy>) -> Vec<Vec<u8>> {
    let state = |part| {
        let mut bytes = Vec::new();
        let mut saver = Saver::new(&mut bytes);
        run.save_state(part, &mut saver);
        saver.finish().unwrap();
        bytes
    };
    (0..run.figures().parts).map(state).collect()
}

/// Replaces them.
fn load(run: &mut Parallel<Toy>, states: &[Vec<u8>], now: Time) {
    for (part, mut bytes) in states.iter().map(Vec::as_slice).enumerate() {
        let mut loader = Loader::new(&mut bytes);
        run.load_state(part, &mut loader).unwrap();
        loader.finish().unwrap();
    }
    run.go_on_from(now);
}

/// Runs the parts on this number of processes.
fn parallel(
    params: &Params,
    partition: &Partition,
    processes: usize,
    options: Options,
    asynchronous: bool,
    schedule: &Schedule,
) -> Story {
    let recorded = in_processes(params, partition, processes, |own, first, transport| {
        let partition = Arc::new(partition.clone());
        let mut run = Parallel::new(own, partition, first, options, Box::new(transport)).unwrap();
        run.oversubscribe(asynchronous);
        act(Box::new(run), schedule)
    });
    story(recorded)
}

/// Distributes the parts over this number of processes, at most one per part, and runs a function in each.
fn in_processes<R: Send>(
    params: &Params,
    partition: &Partition,
    processes: usize,
    act: impl Fn(Vec<Toy>, usize, ThreadTransport) -> R + Sync,
) -> Vec<R> {
    let mut parts = toy::divide(params, partition);
    let count = parts.len();
    let processes = processes.min(count);
    let act = &act;
    thread::scope(|scope| {
        let start = |transport: ThreadTransport| {
            let rank = transport.rank();
            let [first, end] = [rank, rank + 1].map(|rank| count * rank / processes);
            let own = parts.drain(..end - first).collect();
            scope.spawn(move || act(own, first, transport))
        };
        let threads: Vec<_> = ThreadTransport::new(processes).into_iter().map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Random times, some of them exactly event times.
fn random_stops(params: &Params, random: &mut Stream) -> Vec<Time> {
    let end = sequential(params, &TO_THE_END).stops[0].last;
    let mut stops: Vec<Time> = (0..random.below(4))
        .map(|_| params.round(Time((random.unit() * 1.2 * end.0 as f64) as u64)))
        .collect();
    stops.sort_unstable();
    stops
}

/// Seeds of random toys; a few under slow tools.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let slow = cfg!(miri) || std::env::var_os("ODONATA_SLOW_TOOL").is_some();
    0..if slow { (count / 16).max(1) } else { count }
}

fn random_options(random: &mut Stream) -> Options {
    let mut one_of = |choices: &[u64]| choices[random.below(choices.len() as u32) as usize];
    let threads = one_of(&[1, 2, 3, 4, 8]) as usize;
    let awake = match one_of(&[0, 1, 2, 2]) {
        0 => Awake::All,
        1 => Awake::Measured,
        _ => Awake::Planted(u64::from(random.below(u32::MAX)) * 0x1_0000_0001),
    };
    let mut one_of = |choices: &[u64]| choices[random.below(choices.len() as u32) as usize];
    let optimism = (one_of(&[0, 1, 1]) == 1).then(|| Optimism {
        events_per_round: one_of(&[1, 5, 100, 4_096]) as u32,
        journal: one_of(&[1, 20_000, 1 << 30]),
    });
    Options {
        optimism,
        awake,
        ..Options::conservative(threads)
    }
}

fn compare(seed: u64, parts: &[usize], runs: usize) {
    let params = Params::random(seed);
    let mut random = Stream::new(seed, 1, Purpose::Host);
    let schedule = Schedule {
        stops: random_stops(&params, &mut random),
        budget: [1, 30, 1_000, u64::MAX][random.below(4) as usize],
    };
    let expected = sequential(&params, &schedule);
    for &parts in parts {
        let partition = params.random_partition(parts, seed);
        let got = in_clusters(&params, &partition, &schedule);
        assert!(
            got == expected,
            "toy {seed}, {parts} clusters, {schedule:?}: {:?} instead of {:?}",
            got.stops,
            expected.stops
        );
        for _ in 0..runs {
            // Up to four processes exchange messages in every round.
            let processes = [1, 2, 3, 6][random.below(4) as usize];
            let options = random_options(&mut random);
            let asynchronous = random.below(2) == 0;
            let got = parallel(&params, &partition, processes, options, asynchronous, &schedule);
            assert!(
                got == expected,
                "toy {seed}, {parts} parts, {processes} processes, {options:?}, asynchronous {asynchronous}, {schedule:?}: {:?} instead of {:?}",
                got.stops,
                expected.stops
            );
        }
    }
}

#[test]
fn results_equal_those_of_the_sequential_scheduler() {
    // Toy 356 ends with a remote update, which causes no event.
    for seed in seeds(16).chain([356]) {
        compare_all_parts(seed);
    }
}

#[test]
#[ignore = "takes long"]
fn results_of_more_toys_equal_those_of_the_sequential_scheduler() {
    (16..56).for_each(compare_all_parts);
}

fn compare_all_parts(seed: u64) {
    compare(seed, &[1, 2, 3, 5, 12, Params::random(seed).lps as usize], 4);
}

/// The number of threads may change in every round. Parts, events and messages do not.
#[test]
fn results_do_not_depend_on_how_many_threads_work_in_which_round() {
    for seed in seeds(8) {
        let params = Params::random(seed);
        let expected = sequential(&params, &TO_THE_END);
        let partition = params.random_partition(6, seed);
        for optimism in [None, Some(UNBOUNDED)] {
            // All and one by turns; one, two, three, four; long phases of three and one; digits of a hash.
            for digits in [
                0x3030_3030_3030_3030,
                0x3210_3210_3210_3210,
                0x2222_2222,
                0x9e37_79b9_7f4a_7c15,
            ] {
                for asynchronous in [false, true] {
                    let options = Options {
                        optimism,
                        awake: Awake::Planted(digits),
                        ..Options::conservative(4)
                    };
                    let got = parallel(&params, &partition, 1, options, asynchronous, &TO_THE_END);
                    assert!(
                        got == expected,
                        "toy {seed}, {digits:x}, asynchronous {asynchronous}: {:?}",
                        got.stops
                    );
                }
            }
        }
    }
}

/// Short enough for an interpreter (`make check-concurrency`).
#[test]
fn a_few_rounds_give_the_results_of_the_sequential_scheduler() {
    let params = Params { visits: 4, ..SMALLEST };
    let expected = sequential(&params, &TO_THE_END);
    let partition = params.partition(vec![0, 1, 2, 4]);
    for (processes, threads) in [(1, 1), (1, 3), (2, 2)] {
        for optimism in [None, Some(UNBOUNDED)] {
            let options = Options {
                optimism,
                ..Options::conservative(threads)
            };
            // Threads that wait for clocks take minutes in an interpreter; loom and the race detector test them.
            let threaded = threads > 1 && !cfg!(miri);
            for asynchronous in [false, true]
                .into_iter()
                .filter(|&asynchronous| threaded || !asynchronous)
            {
                let got = parallel(&params, &partition, processes, options, asynchronous, &TO_THE_END);
                assert_eq!(got, expected);
            }
        }
    }
}

/// Too many parts to keep the paths between all of them.
#[test]
fn results_equal_those_of_the_sequential_scheduler_with_a_hundred_parts() {
    compare_a_hundred_parts(seeds(8));
}

#[test]
#[ignore = "takes long"]
fn results_of_more_toys_equal_those_of_the_sequential_scheduler_with_a_hundred_parts() {
    compare_a_hundred_parts(8..32);
}

fn compare_a_hundred_parts(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let params = Params {
            lps: 130,
            ..Params::random(seed)
        };
        let expected = sequential(&params, &TO_THE_END);
        for (parts, processes, threads) in [(100, 1, 1), (130, 1, 3), (90, 3, 2)] {
            let partition = params.random_partition(parts, seed);
            for optimism in [None, Some(UNBOUNDED)] {
                let options = Options {
                    optimism,
                    ..Options::conservative(threads)
                };
                let got = parallel(&params, &partition, processes, options, true, &TO_THE_END);
                assert_eq!(got, expected, "{params:?}");
            }
        }
    }
}

fn halves(params: &Params) -> Partition {
    params.partition(vec![0, params.lps / 2, params.lps])
}

fn start(params: &Params, partition: Partition, options: Options) -> Parallel<Toy> {
    let parts = toy::divide(params, &partition);
    Parallel::new(parts, Arc::new(partition), 0, options, Box::new(SingleProcess)).unwrap()
}

#[test]
fn times_at_which_nothing_happens_cost_no_rounds() {
    let params = Params {
        mean: Time::from_ns(1_000_000),
        ..SMALLEST
    };
    let mut run = start(&params, halves(&params), Options::conservative(1));
    assert_eq!(run.run(Time::NEVER, u64::MAX), Pause::Idle);
    let figures = run.figures();
    assert!(run.now() > Time::from_ns(5_000_000), "{:?}", run.now());
    assert!(figures.rounds <= figures.events + figures.sent, "{figures:?}");
}

#[test]
fn figures_add_up() {
    for threads in [1, 2, 7] {
        let options = Options::conservative(threads);
        let mut run = start(&SMALLEST, SMALLEST.partition(vec![0, 1, 2, 3, 4]), options);
        assert_eq!(run.run(Time(30_000), u64::MAX), Pause::TimeLimit);
        let halfway = run.figures();
        assert_eq!(run.run(Time::NEVER, u64::MAX), Pause::Idle);
        let end = run.figures();
        assert_eq!((end.threads, end.parts, end.processes), (threads.min(4), 4, 1));
        assert_eq!(end.events, run.events());
        assert!(end.rounds <= end.windows && end.windows <= end.events, "{end:?}");
        assert!(end.stolen <= end.windows && (threads > 1 || end.stolen == 0), "{end:?}");
        assert!(halfway.events < end.events && halfway.rounds < end.rounds && halfway.sent < end.sent);
        assert!((0.0..=1.0).contains(&end.waiting) && end.efficiency() == 1.0);
    }
}

/// A partition that claims more lookahead than the model keeps.
fn exaggerated(options: Options) {
    let far = Time(SMALLEST.near.0 * 100);
    let partition = Partition::new(vec![0, 2, 4], vec![vec![(1, far)], vec![(0, far)]]).unwrap();
    start(&SMALLEST, partition, options).run(Time::NEVER, u64::MAX);
}

#[test]
#[should_panic(expected = "lookahead")]
fn a_cluster_that_sends_sooner_than_the_lookahead_is_caught() {
    let far = Time(SMALLEST.near.0 * 100);
    let partition = Partition::new(vec![0, 2, 4], vec![vec![(1, far)], vec![(0, far)]]).unwrap();
    in_clusters(&SMALLEST, &partition, &TO_THE_END);
}

#[test]
#[should_panic(expected = "lookahead")]
fn messages_within_the_lookahead_are_detected() {
    exaggerated(Options::conservative(1));
}

#[test]
#[should_panic(expected = "lookahead")]
fn messages_within_the_lookahead_are_detected_on_any_thread() {
    exaggerated(Options::conservative(2));
}

#[test]
#[should_panic(expected = "lookahead")]
fn messages_within_the_lookahead_are_detected_by_the_optimistic_scheduler() {
    exaggerated(Options {
        optimism: Some(UNBOUNDED),
        ..Options::conservative(1)
    });
}

/// LPs a picosecond apart, each a part: nearly everything beyond a window is too early.
#[test]
fn thousands_of_rollbacks_make_no_difference() {
    for (threads, asynchronous) in [(1, false), (3, false), (3, true)] {
        let params = Params {
            lps: 16,
            district: 1,
            near: Time(1),
            far: Time::ZERO,
            reach: 16,
            jobs: 6,
            visits: 100,
            remote: 0.9,
            ..SMALLEST
        };
        let options = Options {
            optimism: Some(UNBOUNDED),
            ..Options::conservative(threads)
        };
        let mut run = start(&params, params.partition((0..=16).collect()), options);
        run.oversubscribe(asynchronous);
        assert_eq!(run.run(Time::NEVER, u64::MAX), Pause::Idle);
        let (events, figures) = (run.events(), run.figures());
        let results = toy::results(&Box::new(run).into_parts());
        assert_eq!(results, sequential(&params, &TO_THE_END).results);
        assert!(figures.speculated <= events + figures.rolled_back, "{figures:?}");
        // In asynchronous rounds, the amount of speculation depends on the scheduling of threads.
        if !asynchronous {
            assert!(
                figures.rollbacks > 2_000 && figures.anti_messages > 1_000,
                "{figures:?}"
            );
            assert!(figures.rolled_back > 2_000 && figures.efficiency() < 1.0, "{figures:?}");
        }
    }
}

/// A picosecond of lookahead, and jobs that rarely leave their LP.
fn short_windows() -> Params {
    Params {
        lps: 64,
        district: 1,
        near: Time(1),
        far: Time::ZERO,
        reach: 64,
        jobs: 4,
        remote: 0.002,
        ..SMALLEST
    }
}

/// Far fewer rounds than windows, the purpose of optimism.
#[test]
fn optimists_need_fewer_rounds_where_windows_are_short_and_little_is_remote() {
    let params = short_windows();
    let [conservative, optimistic] = [None, Some(UNBOUNDED)].map(|optimism| {
        let options = Options {
            optimism,
            ..Options::conservative(1)
        };
        let mut run = start(&params, params.partition(vec![0, 32, 64]), options);
        assert_eq!(run.run(Time::NEVER, u64::MAX), Pause::Idle);
        run.figures()
    });
    assert!(
        optimistic.rounds * 10 < conservative.rounds,
        "{optimistic:?}, {conservative:?}"
    );
    assert!(optimistic.efficiency() > 0.9, "{optimistic:?}");
}

/// Speculative work counts when a run pauses. Jobs that need no credits cause no wake-ups, so every scheduler has the
/// same events.
#[test]
fn every_event_counts_once() {
    let params = Params {
        paying: 0.0,
        service: Time::ZERO,
        near: Time(3_000),
        ..SMALLEST
    };
    let whole = || toy::divide(&params, &Partition::whole(params.lps)).remove(0);
    for threads in [1, 2] {
        let options = Options {
            optimism: Some(UNBOUNDED),
            ..Options::conservative(threads)
        };
        let (mut run, mut expected) = (start(&params, halves(&params), options), Sequential::new(whole()));
        for until in [10_000, 20_000, 30_000, u64::MAX].map(Time) {
            assert_eq!(run.run(until, u64::MAX), expected.run(until, u64::MAX));
            assert_eq!(
                (run.events(), run.figures().events),
                (expected.events(), expected.events())
            );
        }
        assert!(run.figures().speculated > 0);
    }
}

/// Speculation waits if memory is short, and the run completes.
#[test]
fn memory_for_rollback_is_bounded() {
    let params = short_windows();
    let peak = |journal: u64| -> Figures {
        let optimism = Optimism { journal, ..UNBOUNDED };
        let options = Options {
            optimism: Some(optimism),
            ..Options::conservative(1)
        };
        let mut run = start(&params, params.partition(vec![0, 32, 64]), options);
        assert_eq!(run.run(Time::NEVER, u64::MAX), Pause::Idle);
        run.figures()
    };
    let (plenty, little) = (peak(1 << 30), peak(100_000));
    assert!(plenty.peak_journal_bytes > 300_000, "{plenty:?}");
    // Each of the two parts checks its memory every 64 events of less than 1 kB.
    assert!(little.peak_journal_bytes < 100_000 + 2 * 64 * 1_000, "{little:?}");
    assert!(little.rounds > plenty.rounds);
}

#[test]
fn a_saved_run_resumes_in_a_fresh_scheduler() {
    let mut halted = 0;
    for seed in seeds(48) {
        let params = Params::random(seed);
        let expected = sequential(&params, &TO_THE_END);
        for (parts, threads, optimism) in [
            (1, 1, None),
            (4, 1, Some(UNBOUNDED)),
            (4, 2, None),
            (4, 2, Some(UNBOUNDED)),
        ] {
            let options = Options {
                optimism,
                ..Options::conservative(threads)
            };
            let build = || start(&params, params.random_partition(parts, seed), options);
            let (mut run, mut legs) = (build(), 0);
            let pause = loop {
                match run.run(Time::NEVER, 300) {
                    Pause::Budget => {}
                    pause => break pause,
                }
                let bytes = states(&run);
                let mut next = build();
                load(&mut next, &bytes, run.now());
                assert!(states(&next) == bytes && next.now() == run.now() && next.events() == run.events());
                (run, legs) = (next, legs + 1);
            };
            // A loaded run that was halted keeps the reason.
            let mut last = build();
            load(&mut last, &states(&run), run.now());
            assert_eq!(
                (&last.run(Time::NEVER, 1_000), &pause),
                (&pause, &expected.stops[0].pause)
            );
            assert_eq!(
                toy::results(&Box::new(run).into_parts()),
                expected.results,
                "{params:?}"
            );
            halted += u32::from(matches!(pause, Pause::Halted(_)) && legs > 0);
        }
    }
    assert!(halted > 0);
}

fn text(panic: Box<dyn Any + Send>) -> String {
    let literal = panic.downcast_ref::<&str>().map(|&text| text.into());
    literal.unwrap_or_else(|| *panic.downcast::<String>().expect("a panic with a text"))
}

#[test]
fn a_panic_of_a_handler_reaches_the_caller_of_run_and_ends_all_processes() {
    for (processes, threads, optimism) in [
        (1, 1, None),
        (1, 2, Some(UNBOUNDED)),
        (1, 4, None),
        (2, 1, Some(UNBOUNDED)),
        (2, 2, None),
        (2, 2, Some(UNBOUNDED)),
    ] {
        for lp in 0..4 {
            let params = Params {
                breaks: Some((lp, 15)),
                ..SMALLEST
            };
            let partition = params.partition(vec![0, 1, 2, 3, 4]);
            let ends = in_processes(&params, &partition, processes, |own, first, transport| {
                let partition = Arc::new(partition.clone());
                let options = Options {
                    optimism,
                    ..Options::conservative(threads)
                };
                let mut run = Parallel::new(own, partition, first, options, Box::new(transport)).unwrap();
                let first = catch_unwind(AssertUnwindSafe(|| run.run(Time::NEVER, u64::MAX)));
                let second = catch_unwind(AssertUnwindSafe(|| run.run(Time::NEVER, u64::MAX)));
                [first, second].map(|end| end.map_err(text))
            });
            let panics = |text: &str| {
                let ends = ends.iter().flatten().filter_map(|end| end.as_ref().err());
                ends.filter(|panic| panic.contains(text)).count()
            };
            assert_eq!(panics("the toy breaks"), 1, "{ends:?}");
            let lost = ends
                .iter()
                .flatten()
                .filter(|end| matches!(end, Ok(Pause::Lost(_))))
                .count();
            assert_eq!(lost, 2 * (processes - 1), "{ends:?}");
        }
    }
}

/// Bytes of the reduction's values after the messages of a process, in a run of two parts.
const VALUES: usize = 6 * 8;

/// A transport that corrupts the first messages it receives.
struct Spoiled {
    crowd: ThreadTransport,
    spoil: fn(&mut Vec<u8>),
    /// Number of bytes at the end that stay intact.
    kept: usize,
    done: bool,
}

impl Transport for Spoiled {
    fn rank(&self) -> usize {
        self.crowd.rank()
    }

    fn size(&self) -> usize {
        self.crowd.size()
    }

    fn exchange(&mut self, outgoing: &mut [Vec<u8>], incoming: &mut [Vec<u8>]) -> Result<(), String> {
        self.crowd.exchange(outgoing, incoming)?;
        let first = incoming.iter_mut().find(|bytes| bytes.len() > self.kept);
        if let Some(bytes) = first.filter(|_| !self.done) {
            let kept = bytes.split_off(bytes.len() - self.kept);
            (self.spoil)(bytes);
            bytes.extend(kept);
            self.done = true;
        }
        Ok(())
    }

    fn all_min(&mut self, values: &mut [u64]) -> Result<(), String> {
        self.crowd.all_min(values)
    }
}

#[test]
fn messages_that_make_no_sense_are_an_error() {
    // 1 byte for the kind, 4 for the receiver, 8 for the time, 8 for the key.
    let spoils: [fn(&mut Vec<u8>); 9] = [
        |bytes| bytes.truncate(1),
        |bytes| bytes.truncate(bytes.len() - 1),
        |bytes| bytes.push(0),
        |bytes| bytes[0] = 2,
        |bytes| bytes[0] = 4,
        |bytes| bytes[1..5].fill(0xff),
        // An LP of the sender.
        |bytes| bytes[1..5].fill(0),
        |bytes| bytes[5..13].fill(0),
        |bytes| bytes[13..17].fill(0xff),
    ];
    for (i, spoil) in spoils.into_iter().enumerate() {
        spoiled_is_lost(spoil, VALUES, "byte ").unwrap_or_else(|ends| panic!("{i}: {ends:?}"));
    }
    let cut: fn(&mut Vec<u8>) = |bytes| bytes.truncate(VALUES - 1);
    spoiled_is_lost(cut, 0, "it holds too few values").unwrap_or_else(|ends| panic!("{ends:?}"));
}

/// Whether process 1 of two cannot read the corrupted data of process 0, for that reason, and both end with it.
fn spoiled_is_lost(spoil: fn(&mut Vec<u8>), kept: usize, reason: &str) -> Result<(), Vec<Pause>> {
    let params = Params {
        // Makes the first message a remote event.
        paying: 0.0,
        ..SMALLEST
    };
    let partition = halves(&params);
    let ends = in_processes(&params, &partition, 2, |own, first, crowd| {
        let done = crowd.rank() == 0;
        let transport = Spoiled {
            crowd,
            spoil,
            kept,
            done,
        };
        let (partition, options) = (Arc::new(partition.clone()), Options::conservative(1));
        let mut run = Parallel::new(own, partition, first, options, Box::new(transport)).unwrap();
        run.run(Time::NEVER, u64::MAX)
    });
    let expected = format!("what process 0 sent cannot be read: {reason}");
    let is_lost = |end: &Pause, begin: &str| matches!(end, Pause::Lost(text) if text.starts_with(begin));
    match is_lost(&ends[1], &expected) && is_lost(&ends[0], "process 1 has left") {
        true => Ok(()),
        false => Err(ends),
    }
}

#[test]
fn parts_that_are_not_those_of_the_partition_are_refused() {
    let partition = Arc::new(halves(&SMALLEST));
    let build = |parts: Vec<Toy>, first, transport: Box<dyn Transport>| {
        Parallel::new(parts, partition.clone(), first, Options::conservative(1), transport).err()
    };
    let parts = || toy::divide(&SMALLEST, &partition);
    let refused = |parts, first| build(parts, first, Box::new(SingleProcess)).unwrap();
    assert_eq!(refused(parts(), 1), "a process has the parts 1..3 of 2");
    assert_eq!(refused(Vec::new(), 0), "a process has the parts 0..0 of 2");
    assert_eq!(refused(parts().split_off(1), 0), "part 0 has LPs 0..2, its model 2..4");
    assert_eq!(refused(parts().split_off(1), 1), "no process has part 0 of 2");
    let twice: Vec<_> = thread::scope(|scope| {
        let build = &build;
        let both = ThreadTransport::new(2)
            .into_iter()
            .map(|crowd| scope.spawn(move || build(parts(), 0, Box::new(crowd))));
        both.collect::<Vec<_>>()
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(
        twice,
        [(); 2].map(|()| Some("part 0 is in process 0 and in 1".to_string()))
    );
}
