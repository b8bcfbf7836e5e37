//! The state of a fabric can be saved in the middle of a run, and a fresh fabric goes on from it to the same results.

use crate::common::{
    CYCLE, Net, Play, SIZES, assert_goes_on_from_what_was_saved, every_fabric, play, random_messages, shape,
};
use odonata_engine::random::Purpose;
use odonata_engine::{Stream, Time, run_with_restarts};

/// Every routing on all routers, with the books of blame and time series, handed over after 1 to 400 events: in the
/// thick of it, and while the last packets come in.
#[test]
fn every_fabric_goes_on_from_what_was_saved() {
    let mut random = Stream::new(1, 0, Purpose::Host);
    every_fabric(|net, _, context| {
        let mut net = net.clone();
        net.params.series = Some(Time(30 * CYCLE.0));
        let script = random_messages(&net, 120, 60, &SIZES, 6);
        let mut model = assert_goes_on_from_what_was_saved(&net, &script, (&mut random, 400), context);
        model.assert_complete(context);
    });
}

#[test]
fn a_fabric_without_books_goes_on_too() {
    let mut net = Net::round(shape(5, 4, 2, 2));
    net.params.blame = false;
    let script = random_messages(&net, 200, 50, &SIZES, 9);
    let run = run_with_restarts(|| Play::new(&net, script.clone()), || 150).unwrap();
    assert_eq!(run.model().digest(), play(&net, script).digest());
}
