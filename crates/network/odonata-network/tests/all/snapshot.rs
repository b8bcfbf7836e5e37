//! The state of a fabric can be saved during a run, and a fresh fabric continues from it with the same results.

use crate::common::{CYCLE, Net, Play, SIZES, assert_restores, every_fabric, play, random_messages, shape};
use odonata_engine::random::Purpose;
use odonata_engine::{Stream, Time, run_with_restarts};

/// Every routing on all routers, with blame and time series, restored after 1 to 400 events: at full load, and while
/// the last packets arrive.
#[test]
fn every_fabric_restores_from_a_saved_state() {
    let mut random = Stream::new(1, 0, Purpose::Host);
    every_fabric(|net, _, context| {
        let mut net = net.clone();
        net.params.series = Some(Time(30 * CYCLE.0));
        let script = random_messages(&net, 120, 60, &SIZES, 6);
        let mut model = assert_restores(&net, &script, (&mut random, 400), context);
        model.assert_complete(context);
    });
}

#[test]
fn a_fabric_without_blame_continues_from_a_saved_state() {
    let mut net = Net::round(shape(5, 4, 2, 2));
    net.params.blame = false;
    let script = random_messages(&net, 200, 50, &SIZES, 9);
    let run = run_with_restarts(|| Play::new(&net, script.clone()), || 150).unwrap();
    assert_eq!(run.model().digest(), play(&net, script).digest());
}
