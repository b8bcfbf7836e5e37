use super::*;

/// Events per call.
const EVENTS_PER_REPORT: u64 = 1 << 12;

/// Wall-clock nanoseconds per event, by the number of threads; CPU time is that times the threads.
type Costs<'a> = &'a dyn Fn(usize, u64) -> u64;

/// Runs this number of events; returns the events run by one thread, and all.
fn run(choice: &mut ThreadChoice, events: u64, costs: Costs<'_>) -> (u64, u64) {
    let mut alone = 0;
    for step in 0..events / EVENTS_PER_REPORT {
        let threads = choice.awake(0);
        if threads == 1 {
            alone += EVENTS_PER_REPORT;
        }
        let clock = Duration::from_nanos(EVENTS_PER_REPORT * costs(threads, step));
        choice.passed(EVENTS_PER_REPORT, clock, clock * threads as u32);
    }
    (alone, events)
}

fn stretches(fewer: [u64; PAIRS], more: [u64; PAIRS]) -> Vec<Stretch> {
    let cost = |place: usize| {
        let pair = place / 2;
        if has_more(place) { more[pair] } else { fewer[pair] }
    };
    (0..2 * PAIRS)
        .map(|place| Stretch {
            events: STRETCH,
            clock: Duration::from_nanos(STRETCH * cost(place)),
            cpu: Duration::from_nanos(STRETCH * cost(place) * (1 + u64::from(has_more(place)))),
        })
        .collect()
}

#[test]
fn a_quarter_of_the_time_on_the_clock_is_what_more_threads_have_to_gain() {
    // 74 / 100 is a little more than a quarter less; twice 74 is nearly 1.5 times the CPU time.
    let found = judge(1, 2, &stretches([100; PAIRS], [74; PAIRS]));
    assert_eq!((found.fewer, found.more), (1, 2));
    assert!(
        (found.clock - 0.74).abs() < 1e-9 && (found.cpu - 1.48).abs() < 1e-9,
        "{found:?}"
    );
    assert!(found.pays());
    assert!(!judge(1, 2, &stretches([100; PAIRS], [76; PAIRS])).pays());
    // Drifting stretches: the order fewer, more, more, fewer cancels the drift.
    let drifting = judge(1, 2, &stretches([100, 200, 300, 400, 500], [70, 140, 210, 280, 350]));
    assert!((drifting.clock - 0.7).abs() < 1e-9, "{drifting:?}");
}

#[test]
fn in_doubt_fewer_threads_are_taken() {
    // One stretch of one thread was interrupted: the ratio of sums is 500 / 1,800, the median 1.
    let interrupted = judge(1, 2, &stretches([100, 100, 1_400, 100, 100], [100; PAIRS]));
    assert!(
        (interrupted.clock - 1.0).abs() < 1e-9 && !interrupted.pays(),
        "{interrupted:?}"
    );
    // Two threads stall now and then at a real cost: the median is 0.6, the ratio of sums 740 / 500.
    let stalled = judge(1, 2, &stretches([100; PAIRS], [60, 60, 500, 60, 60]));
    assert!((stalled.clock - 1.48).abs() < 1e-9 && !stalled.pays(), "{stalled:?}");
    // A clock that shows nothing is no reason for a second thread.
    assert!(!judge(1, 2, &stretches([0; PAIRS], [0; PAIRS])).pays());
    assert!(!judge(1, 2, &[]).pays());
}

#[test]
fn one_thread_runs_all_but_the_trials_where_a_second_gains_too_little() {
    let mut choice = ThreadChoice::new(2, Awake::Measured);
    let (alone, all) = run(&mut choice, 1 << 25, &|threads, _| if threads == 2 { 90 } else { 100 });
    // Trials after 2^17 events, then 2^21, 2^22, 2^23 later, and a fifth after 2^24: half of 10 x 2^15 events each.
    assert_eq!(all - alone, 5 * (STRETCH * PAIRS as u64));
    let figures = choice.figures().expect("it measures");
    assert_eq!((figures.threads, figures.trials), (1, 5));
    let trial = figures.trial.expect("there were trials");
    assert!(
        (trial.clock - 0.9).abs() < 1e-9 && (trial.cpu - 1.8).abs() < 1e-9,
        "{trial:?}"
    );
}

#[test]
fn two_threads_work_where_they_gain_and_as_long_as_they_do() {
    let mut choice = ThreadChoice::new(2, Awake::Measured);
    let (alone, all) = run(&mut choice, 1 << 25, &|threads, _| if threads == 2 { 60 } else { 100 });
    assert!(alone * 20 < all, "{alone} of {all}");
    assert_eq!(choice.figures().map(|figures| figures.threads), Some(2));
    // Another program takes the second core.
    let (alone, all) = run(&mut choice, 1 << 27, &|threads, _| if threads == 2 { 300 } else { 100 });
    assert!(alone * 10 > all * 7, "{alone} of {all}");
    assert_eq!(choice.awake(0), 1);
    // The other program has ended.
    run(&mut choice, 1 << 26, &|threads, _| if threads == 2 { 60 } else { 100 });
    assert_eq!(choice.awake(0), 2);
}

#[test]
fn each_doubling_of_the_threads_has_to_gain_a_quarter() {
    // 100, 60, 36, 33, 32: the step from 4 threads to 8 gains 8%.
    let costs: Costs<'_> = &|threads, _| match threads {
        1 => 100,
        2 => 60,
        4 => 36,
        8 => 33,
        _ => 32,
    };
    let mut choice = ThreadChoice::new(12, Awake::Measured);
    assert_eq!(choice.levels, [1, 2, 4, 8, 12]);
    run(&mut choice, 1 << 25, costs);
    let figures = choice.figures().expect("it measures");
    let trial = figures.trial.expect("there were trials");
    assert_eq!((figures.threads, trial.fewer, trial.more), (4, 4, 8));
    assert!(!trial.pays());
}

#[test]
fn stated_threads_all_work_and_nothing_is_measured() {
    let mut choice = ThreadChoice::new(4, Awake::All);
    run(&mut choice, 1 << 24, &|threads, _| if threads == 4 { 1_000 } else { 1 });
    assert_eq!((choice.awake(7), choice.figures()), (4, None));
    assert!((choice.mean_awake() - 4.0).abs() < 1e-9);
}

#[test]
fn planted_numbers_of_threads_go_round_by_round() {
    let choice = ThreadChoice::new(3, Awake::Planted(0x5210));
    assert_eq!([0, 1, 2, 3, 4, 16].map(|round| choice.awake(round)), [1, 2, 3, 3, 1, 1]);
}
