//! Handlers compiled for some features give the same results as those compiled for all.

use crate::common::{INPUT_QUEUES, Play, SIZES, every_fabric, finish, play, random_messages};
use odonata_network::RouterModel;

#[test]
fn features_that_are_not_compiled_in_make_no_difference() {
    let mut specialized = 0;
    every_fabric(|net, _, context| {
        for (blame, lost) in [(false, false), (true, false), (true, true)] {
            let mut net = net.clone();
            (net.params.blame, net.params.lost_time) = (blame, lost);
            let script = random_messages(&net, 150, 300, &SIZES, 5);
            let mut all = Play::new(&net, script.clone());
            let fifo = (RouterModel::InputQueued, INPUT_QUEUES[1]);
            assert_eq!(
                all.fabric.uses_all_features(),
                (net.params.router, net.params.input_queues) == fifo,
                "{context}"
            );
            specialized += u32::from(!all.fabric.uses_all_features());
            all.fabric.use_all_features();
            let (some, all) = (play(&net, script), finish(all));
            assert_eq!(some.digest(), all.digest(), "{context}, blame {blame}");
            assert_eq!(some.fabric.blame(), all.fabric.blame(), "{context}, blame {blame}");
            assert_eq!(some.losses, all.losses, "{context}");
            assert_eq!(!some.losses.is_empty(), lost, "{context}");
        }
    });
    assert!(specialized > 0);
}
