//! Tests of the toy model: its events can be undone, it works as intended, and its digest depends on order.

mod toy;

use odonata_engine::{Partition, Pause, RollbackCheck, Sequential, Time};
use toy::{Halt, Params, SMALLEST, Toy};

fn whole(params: &Params) -> Toy {
    toy::divide(params, &Partition::whole(params.lps)).remove(0)
}

fn run(params: &Params) -> (Pause, Sequential<Toy>) {
    let mut run = Sequential::new(whole(params));
    (run.run(Time::NEVER, u64::MAX), run)
}

#[test]
fn every_event_can_be_undone() {
    for seed in 0..40 {
        let params = Params {
            halts: Vec::new(),
            ..Params::random(seed)
        };
        let events = RollbackCheck::new(whole(&params)).run(120).unwrap();
        assert!(events > 10, "{params:?}");
    }
}

#[test]
fn all_jobs_come_to_their_end_and_all_credits_home() {
    for seed in 0..100 {
        let mut params = Params::random(seed);
        params.halts.clear();
        let (pause, run) = run(&params);
        assert_eq!(pause, Pause::Idle, "{params:?}");
        let visits = u64::from(params.lps * params.jobs * (params.visits + 1));
        assert!(run.events() >= visits, "{params:?}");
        assert!(
            run.model().credits().all(|credits| credits == params.purse),
            "{params:?}"
        );
    }
}

#[test]
fn a_toy_halts_with_the_smallest_code_of_the_instant() {
    let halts = [(3, 60, 9), (1, 10, 7), (1, 10, 4), (2, 70, 1)];
    let halts = halts.map(|(lp, visits, code)| Halt { lp, visits, code });
    let params = Params {
        halts: halts.to_vec(),
        ..SMALLEST
    };
    assert_eq!(run(&params).0, Pause::Halted(4));
}

#[test]
fn results_tell_one_seed_from_another() {
    let result = |seed| toy::results(&[run(&Params { seed, ..SMALLEST }).1.into_model()]);
    assert_eq!(result(1), result(1));
    assert_ne!(result(1), result(2));
}
