//! A run can be saved between any two events, and resumes from the bytes in a fresh model with the same results.

mod toy;

use odonata_engine::random::Purpose;
use odonata_engine::saved::{from_bytes, to_bytes};
use odonata_engine::{Partition, Pause, Sequential, Stream, Time, run_with_restarts};
use toy::{Halt, Params, SMALLEST, Toy};

fn whole(params: &Params) -> Toy {
    toy::divide(params, &Partition::whole(params.lps)).remove(0)
}

fn summary(run: &Sequential<Toy>) -> (u128, u64, Time) {
    let results = toy::results(std::slice::from_ref(run.model()));
    (results, run.events(), run.now())
}

#[test]
fn handing_a_run_over_changes_nothing_even_at_its_end() {
    let mut halted = 0;
    for seed in 0..60 {
        let mut params = Params::random(seed);
        if seed % 3 == 0 {
            params
                .halts
                .extend([5, 4].map(|visits| Halt { lp: 1, visits, code: 8 }));
        }
        let mut plain = Sequential::new(whole(&params));
        let pause = plain.run(Time::NEVER, u64::MAX);
        let mut random = Stream::new(seed, 1, Purpose::Host);
        let most = [20, 300, 5_000][seed as usize % 3];
        let leg = || 1 + u64::from(random.below(most));
        let mut run = run_with_restarts(|| whole(&params), leg).unwrap_or_else(|error| panic!("{error}: {params:?}"));
        assert_eq!(summary(&run), summary(&plain), "{params:?}");
        // A loaded run that was halted keeps the reason.
        let mut last = Sequential::new(whole(&params));
        from_bytes(&mut last, &to_bytes(&run)).unwrap();
        assert_eq!(last.run(Time::NEVER, 10), pause, "{params:?}");
        assert_eq!(run.run(Time::NEVER, 10), pause, "{params:?}");
        halted += u32::from(matches!(pause, Pause::Halted(_)));
    }
    assert!(halted >= 20, "{halted}");
}

#[test]
fn a_run_of_another_model_is_refused() {
    let mut run = Sequential::new(whole(&SMALLEST));
    run.run(Time::NEVER, 50);
    let bytes = to_bytes(&run);
    let mut other = Sequential::new(whole(&Params { lps: 5, ..SMALLEST }));
    let error = from_bytes(&mut other, &bytes).unwrap_err();
    assert_eq!(error.to_string(), "it has 4 cells where there are 5");
}
