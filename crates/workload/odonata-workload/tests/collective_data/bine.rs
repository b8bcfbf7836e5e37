//! Bine algorithms and sparbit: what all ranks have is followed level by level.

use odonata_workload::Collective;
use odonata_workload::collective::Algorithm;

use super::machine::{Case, Move, Take};

/// The partner at a level: even ranks add 1 - 2 + 4 - 8 ..., odd ones subtract it.
fn peer(rank: u32, level: u32, n: u32) -> u32 {
    let sum: i64 = (0..=level).map(|power| (-2i64).pow(power)).sum();
    let sum = if rank.is_multiple_of(2) { sum } else { -sum };
    (i64::from(rank) + sum).rem_euclid(n.into()) as u32
}

/// The rank with the bits of `rank` reversed.
fn mirrored(rank: u32, n: u32) -> u32 {
    (0..n.ilog2()).fold(0, |sum, bit| sum << 1 | (rank >> bit & 1))
}

fn nothing() -> Move {
    Move {
        send: None,
        recv: None,
        more: false,
    }
}

fn swap(peer: u32, given: &[usize], got: &[usize], take: Take) -> Move {
    let (given, got) = (given.iter().copied(), got.iter().copied());
    Move::send(peer, given).with(Move::recv(peer, got, take))
}

/// What every rank has before each of the levels in `order`, starting from `own`, if pairs give each other all.
fn gathered(n: u32, order: &[u32], own: impl Fn(u32) -> usize) -> Vec<Vec<Vec<usize>>> {
    let mut has: Vec<Vec<usize>> = (0..n).map(|rank| vec![own(rank)]).collect();
    let mut history = Vec::new();
    for &level in order {
        history.push(has.clone());
        let both = |rank: u32| [&*has[rank as usize], &*has[peer(rank, level, n) as usize]].concat();
        has = (0..n).map(both).collect();
    }
    history
}

/// The level at which each number gets data from number 0, and from which number.
fn tree(n: u32) -> Vec<Option<(u32, u32)>> {
    let mut parents = vec![None; n as usize];
    for level in 0..n.ilog2() {
        let has: Vec<u32> = (0..n).filter(|&v| v == 0 || parents[v as usize].is_some()).collect();
        for parent in has {
            let child = peer(parent, level, n);
            assert!(child != 0 && parents[child as usize].is_none());
            parents[child as usize] = Some((level, parent));
        }
    }
    parents
}

impl Case {
    fn levels(&self) -> u32 {
        self.ranks.ilog2()
    }

    /// An all-gather of the items `own`, over falling levels.
    fn bine_gather(&self, v: u32, own: &dyn Fn(u32) -> usize, named: &dyn Fn(u32) -> u32) -> Vec<Move> {
        let n = self.ranks;
        let order: Vec<u32> = (0..self.levels()).rev().collect();
        let history = gathered(n, &order, own);
        let exchange = |(&level, has): (&u32, &Vec<Vec<usize>>)| {
            let other = peer(v, level, n);
            swap(named(other), &has[v as usize], &has[other as usize], Take::Put)
        };
        order.iter().zip(&history).map(exchange).collect()
    }

    /// A reduce-scatter of the items `own`, over rising levels: each takes what it would gather from the higher ones.
    fn bine_scatter(&self, v: u32, own: &dyn Fn(u32) -> usize, named: &dyn Fn(u32) -> u32) -> Vec<Move> {
        let mut moves = self.bine_gather(v, own, named);
        moves.reverse();
        for step in &mut moves {
            let (Some((_, sent)), Some((_, got, take))) = (&mut step.send, &mut step.recv) else {
                panic!("an exchange");
            };
            std::mem::swap(sent, got);
            *take = Take::Add;
        }
        moves
    }

    /// The items of number `v` and of the numbers below it in the tree.
    fn below(&self, v: u32, item: &dyn Fn(u32) -> usize) -> Vec<usize> {
        let parents = tree(self.ranks);
        let under = |mut number: u32| {
            loop {
                match (number == v, parents[number as usize]) {
                    (true, _) => return true,
                    (false, None) => return false,
                    (false, Some((_, parent))) => number = parent,
                }
            }
        };
        (0..self.ranks).filter(|&number| under(number)).map(item).collect()
    }

    /// The parent of `v` in the tree, and its children by rising level.
    fn relatives(&self, v: u32) -> (Option<u32>, Vec<u32>) {
        let parents = tree(self.ranks);
        let mut children: Vec<(u32, u32)> = (0..self.ranks)
            .filter_map(|child| {
                parents[child as usize]
                    .filter(|&(_, parent)| parent == v)
                    .map(|(level, _)| (level, child))
            })
            .collect();
        children.sort_unstable();
        (
            parents[v as usize].map(|(_, parent)| parent),
            children.into_iter().map(|(_, child)| child).collect(),
        )
    }

    /// Down the tree: the items for each child and those below it.
    fn bine_down(
        &self,
        v: u32,
        at_once: bool,
        items: &dyn Fn(u32) -> Vec<usize>,
        named: &dyn Fn(u32) -> u32,
    ) -> Vec<Move> {
        let (parent, children) = self.relatives(v);
        let mut moves: Vec<Move> = parent
            .into_iter()
            .map(|p| Move::recv(named(p), items(v), Take::Put))
            .collect();
        let last = children.last().copied();
        moves.extend(
            children
                .iter()
                .map(|&child| Move::send(named(child), items(child)).more(at_once && Some(child) != last)),
        );
        moves
    }

    fn bine_up(&self, v: u32, take: Take, items: &dyn Fn(u32) -> Vec<usize>, named: &dyn Fn(u32) -> u32) -> Vec<Move> {
        let (parent, children) = self.relatives(v);
        let from = |&child: &u32| Move::recv(named(child), items(child), take);
        let mut moves: Vec<Move> = children.iter().rev().map(from).collect();
        moves.extend(parent.map(|p| Move::send(named(p), items(v))));
        moves
    }

    pub(crate) fn bine_allgather(&self, v: u32) -> Vec<Move> {
        let n = self.ranks;
        let same = |rank: u32| rank;
        let mirror = mirrored(v, n);
        match self.algorithm {
            Algorithm::BinePermute => self.bine_gather(v, &|rank| rank as usize, &same),
            Algorithm::BineSend => {
                let first = match mirror == v {
                    true => nothing(),
                    false => swap(mirror, &[v as usize], &[mirror as usize], Take::Put),
                };
                let mut moves = vec![first];
                moves.extend(self.bine_gather(v, &|rank| mirrored(rank, n) as usize, &same));
                moves
            }
            Algorithm::BineBlockByBlock => {
                let exchanges = self.bine_gather(v, &|rank| rank as usize, &same);
                exchanges.into_iter().flat_map(one_by_one).collect()
            }
            Algorithm::BineTwoBlocks => {
                let order: Vec<u32> = (0..self.levels()).collect();
                let history = gathered(n, &order, |rank| rank as usize);
                let mut moves = Vec::new();
                for (&level, has) in order.iter().zip(&history) {
                    let other = peer(v, level, n);
                    let (given, got) = (runs(&has[v as usize], n), runs(&has[other as usize], n));
                    for part in 0..2 {
                        moves.push(Move {
                            send: given.get(part).map(|items| (other, items.clone())),
                            recv: got.get(part).map(|items| (other, items.clone(), Take::Put)),
                            more: part == 0,
                        });
                    }
                }
                moves
            }
            _ => {
                let mut moves = Vec::new();
                let mut distance = n / 2;
                while distance > 0 {
                    // Blocks at the multiples of twice the distance to the left, nearest first.
                    let held = |rank: u32| -> Vec<usize> {
                        let back = (0..n).step_by(2 * distance as usize);
                        back.map(|by| ((rank + n - by) % n) as usize).collect()
                    };
                    let (to, from) = ((v + distance) % n, (v + n - distance) % n);
                    moves.extend(one_by_one(Move::send(to, held(v)).with(Move::recv(
                        from,
                        held(from),
                        Take::Put,
                    ))));
                    distance /= 2;
                }
                moves
            }
        }
    }

    pub(crate) fn bine_reduce_scatter(&self, v: u32) -> Vec<Move> {
        let n = self.ranks;
        if self.algorithm == Algorithm::BinePermute {
            return self.bine_scatter(v, &|rank| rank as usize, &|rank| rank);
        }
        let mut moves = self.bine_scatter(v, &|rank| mirrored(rank, n) as usize, &|rank| rank);
        let mirror = mirrored(v, n);
        moves.push(match mirror == v {
            true => nothing(),
            false => swap(mirror, &[mirror as usize], &[v as usize], Take::Put),
        });
        moves
    }

    pub(crate) fn bine_allreduce(&self, v: u32) -> Vec<Move> {
        let n = self.ranks;
        if self.algorithm == Algorithm::BineLatency {
            let exchange = |level| swap(peer(v, level, n), &[0], &[0], Take::Add);
            return (0..self.levels()).map(exchange).collect();
        }
        let parts = self.ring_parts() as usize;
        let whole = |step: Move| Move {
            send: step.send.map(|(to, blocks)| (to, in_parts(&blocks, parts))),
            recv: step
                .recv
                .map(|(from, blocks, take)| (from, in_parts(&blocks, parts), take)),
            ..step
        };
        let (own, same) = (|rank: u32| rank as usize, |rank: u32| rank);
        let together = self.bine_group() as usize;
        let scatter = self.bine_scatter(v, &own, &same).into_iter().map(whole);
        let mut moves: Vec<Move> = scatter.flat_map(|step| in_groups(step, together)).collect();
        moves.extend(self.bine_gather(v, &own, &same).into_iter().map(whole));
        moves
    }

    /// How many parts of blocks fit into a segment of a reduce-scatter.
    pub(crate) fn bine_group(&self) -> u32 {
        let (Collective::Allreduce { bytes, count, .. }, Algorithm::BineSegmented { segment }) =
            (self.collective, self.algorithm)
        else {
            return u32::MAX;
        };
        let block = count.div_ceil(self.ranks.into()) * bytes.checked_div(count).unwrap_or(0);
        match (segment, self.ring_parts()) {
            (0, _) => u32::MAX,
            (_, 1) => (u64::from(segment) / block.max(1)).clamp(1, u32::MAX.into()) as u32,
            _ => 1,
        }
    }

    pub(crate) fn bine_broadcast(&self, v: u32, named: &dyn Fn(u32) -> u32) -> Vec<Move> {
        if self.algorithm == Algorithm::BineLatency {
            return self.bine_down(v, true, &|_| vec![0], named);
        }
        let item = |number: u32| number as usize;
        let mut moves = self.bine_down(v, false, &|child| self.below(child, &item), named);
        moves.extend(self.bine_gather(v, &item, named));
        moves
    }

    pub(crate) fn bine_reduce(&self, v: u32, named: &dyn Fn(u32) -> u32) -> Vec<Move> {
        if self.algorithm == Algorithm::BineLatency {
            return self.bine_up(v, Take::Add, &|_| vec![0], named);
        }
        let item = |number: u32| number as usize;
        let mut moves = self.bine_scatter(v, &item, named);
        moves.extend(self.bine_up(v, Take::Put, &|child| self.below(child, &item), named));
        moves
    }

    /// Gather or scatter.
    pub(crate) fn bine_blocks(&self, v: u32, named: &dyn Fn(u32) -> u32) -> Vec<Move> {
        let item = |number: u32| named(number) as usize;
        let items = |child: u32| self.below(child, &item);
        match self.collective {
            Collective::Gather { .. } => self.bine_up(v, Take::Put, &items, named),
            _ => self.bine_down(v, false, &items, named),
        }
    }

    pub(crate) fn bine_alltoall(&self, v: u32) -> Vec<Move> {
        let n = self.ranks;
        let order: Vec<u32> = (0..self.levels()).rev().collect();
        let mut behind = gathered(n, &order, |rank| rank as usize);
        behind.reverse();
        // From and to.
        let mut has: Vec<Vec<(u32, u32)>> = (0..n).map(|from| (0..n).map(|to| (from, to)).collect()).collect();
        let mut moves = Vec::new();
        for (level, behind) in (0..).zip(&behind) {
            let given = |rank: u32| -> Vec<(u32, u32)> {
                let other = &behind[peer(rank, level, n) as usize];
                let goes = |block: &&(u32, u32)| other.contains(&(block.1 as usize));
                has[rank as usize].iter().filter(goes).copied().collect()
            };
            let items = |rank| {
                given(rank)
                    .into_iter()
                    .map(|(from, to)| (from * n + to) as usize)
                    .collect::<Vec<_>>()
            };
            let other = peer(v, level, n);
            moves.push(swap(other, &items(v), &items(other), Take::Put));
            has = (0..n)
                .map(|rank| {
                    let gone = given(rank);
                    let kept = has[rank as usize].iter().filter(|block| !gone.contains(block)).copied();
                    kept.chain(given(peer(rank, level, n))).collect()
                })
                .collect();
        }
        moves
    }
}

/// The runs of consecutive items: the last one first, which starts the range around the ring.
fn runs(items: &[usize], n: u32) -> Vec<Vec<usize>> {
    let mut sorted = items.to_vec();
    sorted.sort_unstable();
    let gap = sorted.windows(2).position(|pair| pair[1] != pair[0] + 1);
    match gap {
        Some(at) => {
            assert!(sorted[0] == 0 && sorted.last() == Some(&(n as usize - 1)));
            vec![sorted[at + 1..].to_vec(), sorted[..=at].to_vec()]
        }
        None => vec![sorted],
    }
}

/// A message per item.
fn one_by_one(step: Move) -> Vec<Move> {
    in_groups(step, 1)
        .into_iter()
        .rev()
        .enumerate()
        .map(|(left, step)| step.more(left > 0))
        .rev()
        .collect()
}

/// A message per `size` items.
fn in_groups(step: Move, size: usize) -> Vec<Move> {
    let (Some((to, given)), Some((from, got, take))) = (step.send, step.recv) else {
        panic!("an exchange");
    };
    let pairs = given.chunks(size).zip(got.chunks(size));
    pairs
        .map(|(given, got)| Move::send(to, given.iter().copied()).with(Move::recv(from, got.iter().copied(), take)))
        .collect()
}

/// The items of blocks that have several parts each.
fn in_parts(blocks: &[usize], parts: usize) -> Vec<usize> {
    blocks
        .iter()
        .flat_map(|block| (0..parts).map(move |part| block * parts + part))
        .collect()
}
