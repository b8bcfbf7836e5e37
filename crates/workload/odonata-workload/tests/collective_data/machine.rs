//! Ranks with data, and a network on which a send ends when it has met its receive.

use std::collections::VecDeque;

use odonata_workload::Collective;
use odonata_workload::collective::{Algorithm, Step, Transfer};

/// Contributing ranks: one bit each, for up to 320.
pub(crate) type Contributions = [u64; 5];

pub(crate) fn only(rank: u32) -> Contributions {
    let mut set = Contributions::default();
    set[rank as usize / 64] |= 1 << (rank % 64);
    set
}

pub(crate) fn union(a: &Contributions, b: &Contributions) -> Contributions {
    std::array::from_fn(|i| a[i] | b[i])
}

/// A collective under test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) collective: Collective,
    pub(crate) algorithm: Algorithm,
    pub(crate) ranks: u32,
}

/// The effect of received data on a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Take {
    /// Records the senders.
    Hear,
    /// Sums: no contribution may come twice.
    Add,
    /// Stores.
    Put,
    /// Sums into the item and the one after it (scans keep two sums).
    AddTwice,
}

/// A step, with its items.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) send: Option<(u32, Vec<usize>)>,
    pub(crate) recv: Option<(u32, Vec<usize>, Take)>,
    pub(crate) more: bool,
}

impl Move {
    pub(crate) fn send(peer: u32, items: impl IntoIterator<Item = usize>) -> Move {
        Move {
            send: Some((peer, items.into_iter().collect())),
            recv: None,
            more: false,
        }
    }

    pub(crate) fn recv(peer: u32, items: impl IntoIterator<Item = usize>, take: Take) -> Move {
        Move {
            send: None,
            recv: Some((peer, items.into_iter().collect(), take)),
            more: false,
        }
    }

    /// Both at once.
    pub(crate) fn with(self, other: Move) -> Move {
        Move {
            send: self.send.or(other.send),
            recv: self.recv.or(other.recv),
            more: false,
        }
    }

    pub(crate) fn more(self, more: bool) -> Move {
        Move { more, ..self }
    }

    /// Without empty sides.
    pub(crate) fn filled(self, sizes: &[u64]) -> Move {
        let filled = |items: &[usize]| items.iter().any(|&item| sizes[item] > 0);
        Move {
            send: self.send.filter(|(_, items)| filled(items)),
            recv: self.recv.filter(|(_, items, _)| filled(items)),
            ..self
        }
    }

    /// The expected step.
    pub(crate) fn shape(&self, sizes: &[u64]) -> Step {
        let bytes = |items: &[usize]| items.iter().map(|&item| sizes[item]).sum();
        Step {
            send: self.send.as_ref().map(|(peer, items)| Transfer {
                peer: *peer,
                bytes: bytes(items),
            }),
            recv: self.recv.as_ref().map(|(peer, items, _)| Transfer {
                peer: *peer,
                bytes: bytes(items),
            }),
            more: self.more,
        }
    }
}

/// Posted sends and receives between two ranks, in order.
#[derive(Clone, Default)]
struct Channel {
    sends: VecDeque<(Vec<usize>, Vec<Contributions>)>,
    receives: VecDeque<(Vec<usize>, Take)>,
}

/// Completes every message with both sides posted, until all ranks have finished; returns their final data.
pub(crate) fn run(
    case: &Case,
    programs: Vec<Vec<Move>>,
    mut items: Vec<Vec<Contributions>>,
) -> Vec<Vec<Contributions>> {
    let n = programs.len();
    let mut channels = vec![Channel::default(); n * n];
    let mut programs: Vec<_> = programs.into_iter().map(Vec::into_iter).collect();
    let mut open = vec![0; n];
    let mut finished = vec![false; n];
    let mut ready: Vec<usize> = (0..n).collect();
    while let Some(rank) = ready.pop() {
        // All moves up to one without `more` are posted before any wait. Nothing is posted twice: a rank is ready only
        // after its last post was met.
        let mut touched = Vec::new();
        let mut last = true;
        for step in programs[rank].by_ref() {
            last = false;
            if let Some((to, what)) = step.send {
                let data = what.iter().map(|&item| items[rank][item]).collect();
                channels[rank * n + to as usize].sends.push_back((what, data));
                touched.push((rank, to as usize));
                open[rank] += 1;
            }
            if let Some((from, what, take)) = step.recv {
                channels[from as usize * n + rank].receives.push_back((what, take));
                touched.push((from as usize, rank));
                open[rank] += 1;
            }
            if !step.more {
                break;
            }
        }
        finished[rank] = last;
        if last {
            continue;
        }
        if open[rank] == 0 {
            ready.push(rank);
        }
        for (from, to) in touched {
            let channel = &mut channels[from * n + to];
            if channel.sends.is_empty() || channel.receives.is_empty() {
                continue;
            }
            let (sent, data) = channel.sends.pop_front().expect("just seen");
            let (wanted, how) = channel.receives.pop_front().expect("just seen");
            assert_eq!(sent, wanted, "{from} to {to}: {case:?}");
            for (item, data) in sent.into_iter().zip(data) {
                take(&mut items[to], item, &data, how, case);
            }
            for side in [from, to] {
                open[side] -= 1;
                if open[side] == 0 {
                    ready.push(side);
                }
            }
        }
    }
    assert!(finished.iter().all(|&rank| rank), "stuck: {case:?}");
    items
}

fn take(items: &mut [Contributions], item: usize, data: &Contributions, how: Take, case: &Case) {
    let add = |sum: &mut Contributions| {
        assert!(
            sum.iter().zip(data).all(|(a, b)| a & b == 0),
            "a contribution comes twice: {case:?}"
        );
        *sum = union(sum, data);
    };
    match how {
        Take::Hear => items[item] = union(&items[item], data),
        Take::Put => items[item] = *data,
        Take::Add => add(&mut items[item]),
        Take::AddTwice => {
            add(&mut items[item]);
            add(&mut items[item + 1]);
        }
    }
}
