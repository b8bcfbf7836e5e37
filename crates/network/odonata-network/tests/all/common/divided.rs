//! Networks divided into parts, run by the parallel schedulers.

use super::{Net, Play, Scripted, play};
use odonata_blame::lost::Carried;
use odonata_engine::transport::SingleProcess;
use odonata_engine::{Awake, Digest, Optimism, Options, Parallel, Pause, Scheduler, Time};
use odonata_network::Measured;
use odonata_network::lookahead::{LinkDelays, partition};
use std::sync::Arc;

/// The losses of messages, by name.
fn sorted(mut losses: Vec<(u32, Carried)>) -> Vec<(u32, Carried)> {
    losses.sort_unstable_by_key(|lost| lost.0);
    losses
}

/// Runs `script` on `net` in parts, conservatively and optimistically, and compares the results with the sequential
/// run.
pub(crate) fn assert_equal_divided(net: &Net, script: &[Scripted], context: &str) {
    let mut whole = play(net, script.to_vec());
    let losses = sorted(std::mem::take(&mut whole.losses));
    let whole = whole.digest();
    let blueprint = net.blueprint();
    let topology = blueprint.routing().topology();
    let routers = topology.routers();
    for parts in [2, 3, routers] {
        let bounds: Vec<u32> = (0..=parts).map(|part| part * routers / parts).collect();
        let division = Arc::new(partition(topology, &LinkDelays::from(&net.params), &bounds).unwrap());
        let optimism = Optimism {
            events_per_round: 300,
            journal: 1 << 24,
        };
        for optimism in [None, Some(optimism)] {
            let models = bounds
                .windows(2)
                .map(|range| Play::on(blueprint.part(range[0]..range[1]), script.to_vec()));
            let options = Options {
                optimism,
                // One thread or two, changing from round to round.
                awake: Awake::Planted(0x1011_0100_1101_0010),
                ..Options::conservative(2)
            };
            let mut run =
                Parallel::new(models.collect(), division.clone(), 0, options, Box::new(SingleProcess)).unwrap();
            assert_eq!(
                Scheduler::run(&mut run, Time::NEVER, u64::MAX),
                Pause::Idle,
                "{context}"
            );
            let mut models = Box::new(run).into_parts();
            if optimism.is_none() {
                let all = models.iter_mut().flat_map(|model| std::mem::take(&mut model.losses));
                assert_eq!(sorted(all.collect()), losses, "{context}: {parts} parts");
            }
            let mut digest = Digest::new();
            Measured::join(models.iter().map(|model| model.fabric.measured()))
                .unwrap()
                .results(&mut digest);
            for name in 0..script.len() {
                // A message arrives in one part.
                digest.word(models.iter().map(|model| model.fates()[name].at.0).max().unwrap());
            }
            assert_eq!(digest.value(), whole, "{context}: {parts} parts, {optimism:?}");
        }
    }
}
