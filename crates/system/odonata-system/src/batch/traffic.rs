//! The traffic patterns of jobs: which nodes of a job exchange data.

use odonata_units::SplitMix64;

/// Offsets of an all-to-all on many nodes: a sample of the others.
const OFFSETS: u32 = 32;
/// Nodes of a block of a training job whose nodes exchange with each other.
const BLOCK: u32 = 8;

/// A pattern of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Neighbors in three dimensions of a torus, by strides 1, a and a^2 with a the cube root of the nodes.
    Halo,
    /// A ring over all nodes.
    AllReduce,
    /// All other nodes; of more than 33 nodes a sample of 32 offsets.
    AllToAll,
    /// Half of the bytes along a ring over all nodes, half to the other nodes of a block of 8.
    Training,
    /// Reads from storage servers.
    Read,
    /// Writes to storage servers.
    Write,
}

impl Pattern {
    /// The pattern with this number.
    pub fn of(number: u8) -> Option<Pattern> {
        use Pattern::{AllReduce, AllToAll, Halo, Read, Training, Write};
        [Halo, AllReduce, AllToAll, Training, Read, Write]
            .get(usize::from(number))
            .copied()
    }
}

/// Traffic between two nodes of a job, counted within it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// The sender.
    pub source: u32,
    /// The receiver.
    pub target: u32,
    /// The fraction of the sender's bytes.
    pub part: f64,
}

/// The flows of a pattern between `nodes` nodes; none for one node, and for storage.
pub fn flows(pattern: Pattern, nodes: u32, seed: u64) -> Vec<Flow> {
    let ring = || (1 % nodes != 0).then_some(1).into_iter().collect::<Vec<u32>>();
    match pattern {
        Pattern::Read | Pattern::Write => Vec::new(),
        Pattern::Halo => {
            let side = (1..=nodes)
                .find(|&side| u64::from(side + 1).pow(3) > u64::from(nodes))
                .unwrap_or(1);
            let mut offsets: Vec<u32> = [1, side, side * side]
                .into_iter()
                .flat_map(|stride| [stride % nodes, (nodes - stride % nodes) % nodes])
                .filter(|&offset| offset != 0)
                .collect();
            offsets.sort_unstable();
            offsets.dedup();
            shifted(nodes, &offsets, 1.0)
        }
        Pattern::AllReduce => shifted(nodes, &ring(), 1.0),
        Pattern::AllToAll => {
            let mut offsets: Vec<u32> = (1..nodes).collect();
            if nodes > OFFSETS + 1 {
                let mut lot = SplitMix64::named(seed, [u64::from(nodes)]);
                for at in 0..OFFSETS as usize {
                    let other = at + lot.below(offsets.len() as u32 - at as u32) as usize;
                    offsets.swap(at, other);
                }
                offsets.truncate(OFFSETS as usize);
                offsets.sort_unstable();
            }
            shifted(nodes, &offsets, 1.0)
        }
        Pattern::Training => {
            let mut found = shifted(nodes, &ring(), 0.5);
            for source in 0..nodes {
                let block = source / BLOCK * BLOCK..nodes.min(source / BLOCK * BLOCK + BLOCK);
                let part = 0.5 / f64::from(block.len() as u32 - 1).max(1.0);
                found.extend(
                    block
                        .filter(|&target| target != source)
                        .map(|target| Flow { source, target, part }),
                );
            }
            found
        }
    }
}

/// Flows from every node to those at the offsets, with equal parts of `whole`.
fn shifted(nodes: u32, offsets: &[u32], whole: f64) -> Vec<Flow> {
    let part = whole / offsets.len().max(1) as f64;
    let mut found = Vec::with_capacity(nodes as usize * offsets.len());
    for source in 0..nodes {
        found.extend(offsets.iter().map(|&offset| {
            let target = ((u64::from(source) + u64::from(offset)) % u64::from(nodes)) as u32;
            Flow { source, target, part }
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every node sends and receives all of its bytes, to others only.
    #[test]
    fn every_node_sends_and_receives_its_bytes() {
        for pattern in [Pattern::Halo, Pattern::AllReduce, Pattern::AllToAll, Pattern::Training] {
            for nodes in [2, 3, 7, 8, 16, 64, 100] {
                let (mut sent, mut received) = (vec![0.0; nodes as usize], vec![0.0; nodes as usize]);
                for flow in flows(pattern, nodes, 1) {
                    assert_ne!(flow.source, flow.target);
                    sent[flow.source as usize] += flow.part;
                    received[flow.target as usize] += flow.part;
                }
                for (sent, received) in sent.iter().zip(&received) {
                    // The last block of a training job may have one node only.
                    let least = if pattern == Pattern::Training && nodes % BLOCK == 1 {
                        0.5
                    } else {
                        1.0
                    };
                    assert!(
                        *sent >= least - 1e-9 && *sent <= 1.0 + 1e-9,
                        "{pattern:?} {nodes}: {sent}"
                    );
                    assert!((sent - received).abs() < 1e-9, "{pattern:?} {nodes}");
                }
            }
            assert!(flows(pattern, 1, 1).is_empty(), "{pattern:?}");
        }
    }

    /// A job of 64 nodes is a 4 x 4 x 4 torus: strides 1, 4, 16.
    #[test]
    fn halo_strides_are_powers_of_the_side() {
        let mut targets: Vec<u32> = flows(Pattern::Halo, 64, 1)
            .iter()
            .take(6)
            .map(|flow| flow.target)
            .collect();
        targets.sort_unstable();
        assert_eq!(targets, [1, 4, 16, 48, 60, 63]);
    }
}
