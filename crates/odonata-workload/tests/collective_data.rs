//! Collectives carried out on data: with sends that wait for their receives (the strictest a network
//! can be) nobody gets stuck, and everybody ends with everybody's contribution.
//!
//! The steps say how many bytes go where, not which. The ranks below keep their own account of that,
//! the way MPICH's loops do, and every size must agree with it.

use std::ops::Range;

use odonata_workload::collective::{Algorithm, Step, step};
use odonata_workload::{Collective, Comm};

/// Which ranks contributed: one bit each, for up to 320.
type Contributions = [u64; 5];

fn only(rank: u32) -> Contributions {
    let mut set = Contributions::default();
    set[rank as usize / 64] |= 1 << (rank % 64);
    set
}

fn union(a: &Contributions, b: &Contributions) -> Contributions {
    std::array::from_fn(|i| a[i] | b[i])
}

/// One rank at work.
struct Worker {
    rank: u32,
    /// What it knows of each block.
    blocks: Vec<Contributions>,
    /// The blocks that it is responsible for at the moment.
    range: Range<usize>,
    index: u32,
    /// How many steps that went both ways have been started.
    exchanges: u32,
    step: Option<Step>,
    message: Vec<(usize, Contributions)>,
    sent: bool,
    received: bool,
}

/// A collective under way.
struct Run {
    collective: Collective,
    algorithm: Algorithm,
    ranks: u32,
    /// Size of each block in bytes.
    sizes: Vec<u64>,
    workers: Vec<Worker>,
}

impl Run {
    fn new(collective: Collective, algorithm: Algorithm, ranks: u32) -> Run {
        let power = 1u64 << ranks.ilog2();
        let sizes: Vec<u64> = match collective {
            Collective::Barrier { .. } => vec![0],
            Collective::Allreduce { bytes, count, .. } => {
                let element = bytes.checked_div(count).unwrap_or(0);
                (0..power)
                    .map(|b| (count / power + u64::from(b < count % power)) * element)
                    .collect()
            }
            Collective::Broadcast { bytes, .. } => {
                let each = bytes.div_ceil(u64::from(ranks));
                (0..u64::from(ranks))
                    .map(|b| bytes.saturating_sub(b * each).min(each))
                    .collect()
            }
        };
        let mut run = Run {
            collective,
            algorithm,
            ranks,
            sizes,
            workers: Vec::new(),
        };
        run.workers = (0..ranks).map(|rank| run.worker(rank)).collect();
        (0..ranks).for_each(|rank| run.start(rank));
        run
    }

    fn worker(&self, rank: u32) -> Worker {
        let count = self.sizes.len();
        let (known, range) = match self.collective {
            Collective::Broadcast { root, .. } if root == rank => (only(root), 0..count),
            Collective::Broadcast { .. } => (Contributions::default(), self.number(rank)..self.number(rank) + 1),
            _ => (only(rank), 0..count),
        };
        Worker {
            rank,
            blocks: vec![known; count],
            range,
            index: 0,
            exchanges: 0,
            step: None,
            message: Vec::new(),
            sent: false,
            received: false,
        }
    }

    /// The number of a rank, counted from the root of a broadcast.
    fn number(&self, rank: u32) -> usize {
        let root = if let Collective::Broadcast { root, .. } = self.collective {
            root
        } else {
            0
        };
        ((rank + self.ranks - root) % self.ranks) as usize
    }

    /// Enters the next step of a rank and fills its message with what it knows now.
    fn start(&mut self, rank: u32) {
        let halvings = self.ranks.ilog2();
        let number = self.number(rank);
        let next = step(
            &self.collective,
            self.algorithm,
            rank,
            self.ranks,
            self.workers[rank as usize].index,
        );
        let to = next
            .and_then(|step| step.send)
            .map(|send| (send.peer, self.number(send.peer)));
        let worker = &mut self.workers[rank as usize];
        worker.step = next;
        let Some(step) = next else { return };
        (worker.sent, worker.received) = (step.send.is_none(), step.recv.is_none());
        let both_ways = step.send.is_some() && step.recv.is_some();
        let Some((peer, peer_number)) = to else { return };
        let all = 0..worker.blocks.len();
        let range = match (self.algorithm, both_ways) {
            (Algorithm::ReduceScatterAllgather, true) if worker.exchanges < halvings => {
                let middle = worker.range.start.midpoint(worker.range.end);
                let halves = (worker.range.start..middle, middle..worker.range.end);
                let (kept, given) = if rank < peer { halves } else { (halves.1, halves.0) };
                worker.range = kept;
                given
            }
            (Algorithm::ReduceScatterAllgather | Algorithm::ScatterRecursiveDoubling, true) => {
                if self.algorithm == Algorithm::ScatterRecursiveDoubling && worker.exchanges == 0 {
                    worker.range = number..number + 1;
                }
                worker.range.clone()
            }
            (Algorithm::ScatterRing, true) => {
                let block = (number + self.ranks as usize - worker.exchanges as usize) % self.ranks as usize;
                block..block + 1
            }
            (Algorithm::ScatterRing | Algorithm::ScatterRecursiveDoubling, false) => {
                let given = peer_number..worker.range.end;
                worker.range.end = peer_number;
                given
            }
            _ => all,
        };
        worker.message = range.map(|block| (block, worker.blocks[block])).collect();
        worker.exchanges += u32::from(both_ways);
    }

    /// Takes a message in.
    fn receive(&mut self, to: u32, message: &[(usize, Contributions)]) {
        let halvings = self.ranks.ilog2();
        let worker = &mut self.workers[to as usize];
        let both_ways = worker.step.is_some_and(|step| step.send.is_some());
        let reduces = match self.algorithm {
            Algorithm::Dissemination => true,
            Algorithm::RecursiveDoubling => both_ways || worker.index == 0,
            Algorithm::ReduceScatterAllgather if both_ways => worker.exchanges <= halvings,
            Algorithm::ReduceScatterAllgather => worker.index == 0,
            _ => false,
        };
        for &(block, contributions) in message {
            let known = &mut worker.blocks[block];
            *known = if reduces {
                union(known, &contributions)
            } else {
                contributions
            };
        }
        let (Some(first), Some(last)) = (message.first(), message.last()) else {
            return;
        };
        let got = first.0..last.0 + 1;
        match (self.algorithm, both_ways) {
            (Algorithm::ReduceScatterAllgather, true) if reduces => assert_eq!(got, worker.range),
            (Algorithm::ReduceScatterAllgather | Algorithm::ScatterRecursiveDoubling, true) => {
                assert!(
                    got.end == worker.range.start || got.start == worker.range.end,
                    "a gap: {got:?}"
                );
                worker.range = got.start.min(worker.range.start)..got.end.max(worker.range.end);
            }
            (Algorithm::ScatterRing | Algorithm::ScatterRecursiveDoubling, false) => worker.range = got,
            _ => {}
        }
    }

    /// Lets every message through whose two sides are ready, until all ranks have finished.
    fn finish(&mut self) {
        let mut progress = true;
        while progress {
            progress = false;
            for from in 0..self.ranks {
                let worker = &self.workers[from as usize];
                let Some(send) = worker.step.and_then(|step| step.send).filter(|_| !worker.sent) else {
                    continue;
                };
                let peer = &self.workers[send.peer as usize];
                let Some(recv) = peer.step.and_then(|step| step.recv).filter(|_| !peer.received) else {
                    continue;
                };
                if recv.peer != from {
                    continue;
                }
                let bytes: u64 = worker.message.iter().map(|(block, _)| self.sizes[*block]).sum();
                assert_eq!(
                    (send.bytes, recv.bytes),
                    (bytes, bytes),
                    "{from} to {}: {}",
                    send.peer,
                    self.name()
                );
                let message = worker.message.clone();
                self.receive(send.peer, &message);
                self.workers[from as usize].sent = true;
                self.workers[send.peer as usize].received = true;
                for rank in [from, send.peer] {
                    let worker = &mut self.workers[rank as usize];
                    if worker.sent && worker.received {
                        worker.index += 1;
                        self.start(rank);
                    }
                }
                progress = true;
            }
        }
        for worker in &self.workers {
            assert!(worker.step.is_none(), "rank {} is stuck: {}", worker.rank, self.name());
        }
    }

    fn name(&self) -> String {
        format!("{:?} by {:?} on {} ranks", self.collective, self.algorithm, self.ranks)
    }
}

fn carry_out(collective: Collective, algorithm: Algorithm, ranks: u32) {
    if !algorithm.supports(&collective, ranks) {
        return;
    }
    let mut run = Run::new(collective, algorithm, ranks);
    run.finish();
    let expected = match collective {
        Collective::Broadcast { root, .. } => only(root),
        _ => (0..ranks).fold(Contributions::default(), |set, rank| union(&set, &only(rank))),
    };
    let barrier = matches!(collective, Collective::Barrier { .. });
    for worker in &run.workers {
        for (block, contributions) in worker.blocks.iter().enumerate() {
            let there = *contributions == expected || (run.sizes[block] == 0 && !barrier);
            assert!(there, "rank {}, block {block}: {}", worker.rank, run.name());
        }
    }
}

#[test]
fn nobody_leaves_a_barrier_before_everybody_has_entered() {
    for ranks in (1..=33).chain([300]) {
        carry_out(
            Collective::Barrier { comm: Comm::WORLD },
            Algorithm::Dissemination,
            ranks,
        );
    }
}

#[test]
fn an_allreduce_brings_every_contribution_to_every_rank() {
    for ranks in (1..=33).chain([64, 300]) {
        for algorithm in [Algorithm::RecursiveDoubling, Algorithm::ReduceScatterAllgather] {
            for count in [1, 7, 32, 1_021] {
                carry_out(
                    Collective::Allreduce {
                        comm: Comm::WORLD,
                        bytes: 4 * count,
                        count,
                    },
                    algorithm,
                    ranks,
                );
            }
        }
    }
}

#[test]
fn a_broadcast_brings_the_whole_data_to_every_rank() {
    let algorithms = [
        Algorithm::Binomial,
        Algorithm::ScatterRecursiveDoubling,
        Algorithm::ScatterRing,
    ];
    for ranks in (1..=33).chain([64, 300]) {
        for algorithm in algorithms {
            for root in [0, ranks / 3, ranks - 1] {
                for bytes in [1, 10, 4_096, 9_973] {
                    carry_out(
                        Collective::Broadcast {
                            comm: Comm::WORLD,
                            root,
                            bytes,
                        },
                        algorithm,
                        ranks,
                    );
                }
            }
        }
    }
}
