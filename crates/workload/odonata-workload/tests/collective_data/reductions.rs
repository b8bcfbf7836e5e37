//! The loops of barriers and of reductions.

use odonata_workload::Collective;
use odonata_workload::collective::Algorithm;

use super::machine::{Case, Move, Take};
use super::transfers::{binomial_down, children};

impl Case {
    pub(crate) fn barrier(&self, rank: u32) -> Vec<Move> {
        let n = self.ranks;
        let hear = |from| Move::recv(from, [0], Take::Hear);
        let signal = |to| Move::send(to, [0]);
        let mut moves = Vec::new();
        match self.algorithm {
            Algorithm::Dissemination => {
                let mut mask = 1;
                while mask < n {
                    moves.push(signal((rank + mask) % n).with(hear((rank + n - mask) % n)));
                    mask <<= 1;
                }
            }
            Algorithm::RecursiveDoubling => {
                let p = self.power();
                if rank >= p {
                    return vec![signal(rank - p).with(hear(rank - p))];
                }
                if rank + p < n {
                    moves.push(hear(rank + p));
                }
                let mut mask = 1;
                while mask < p {
                    moves.push(signal(rank ^ mask).with(hear(rank ^ mask)));
                    mask <<= 1;
                }
                if rank + p < n {
                    moves.push(signal(rank + p));
                }
            }
            Algorithm::DoubleRing => {
                let (left, right) = ((rank + n - 1) % n, (rank + 1) % n);
                for _ in 0..2 {
                    moves.extend([hear(left), signal(right)]);
                }
                if rank == 0 {
                    moves.rotate_left(1);
                }
            }
            Algorithm::Offload { radix } => moves = tree_moves(rank, n, radix, &[0], Take::Hear),
            // ompi_coll_base_barrier_intra_tree.
            _ => {
                let depth = n.next_power_of_two();
                let partner = |jump: u32| {
                    let partner = rank ^ jump;
                    (partner & (jump - 1) == 0 && partner < n).then_some(partner)
                };
                let jumps: Vec<u32> = (0..depth.ilog2()).map(|k| 1 << k).collect();
                for peer in jumps.iter().filter_map(|&jump| partner(jump)) {
                    moves.push(if peer > rank { hear(peer) } else { signal(peer) });
                }
                for peer in jumps.iter().rev().filter_map(|&jump| partner(jump)) {
                    moves.push(if peer > rank { signal(peer) } else { hear(peer) });
                }
            }
        }
        moves
    }

    pub(crate) fn reduction(&self, rank: u32) -> Vec<Move> {
        let n = self.ranks;
        match self.collective {
            Collective::Allreduce { .. } => self.allreduce(rank),
            Collective::Reduce { root, .. } => match self.algorithm {
                Algorithm::Binomial => self.binomial_up((rank + n - root) % n, &|v| (v + root) % n),
                Algorithm::ReduceScatterGather => self.reduce_scatter_gather(rank, root),
                Algorithm::BineLatency | Algorithm::BineBandwidth => {
                    self.bine_reduce((rank + n - root) % n, &|v| (v + root) % n)
                }
                Algorithm::Linear if rank == root => {
                    let others = (0..n).rev().filter(|&r| r != root);
                    others.map(|r| Move::recv(r, [0], Take::Add)).collect()
                }
                Algorithm::Linear => vec![Move::send(root, [0])],
                _ => self.stream_up((rank + n - root) % n, &|v| (v + root) % n),
            },
            Collective::Scan { .. } | Collective::Exscan { .. } => self.scan(rank),
            _ => self.reduce_scatter(rank),
        }
    }

    /// MPIR_Reduce_intra_binomial, of all items.
    fn binomial_up(&self, v: u32, named: &dyn Fn(u32) -> u32) -> Vec<Move> {
        let all = 0..self.items().len();
        let mut moves = Vec::new();
        let mut mask = 1;
        while mask < self.ranks {
            if v & mask != 0 {
                moves.push(Move::send(named(v & !mask), all.clone()));
                break;
            }
            if v | mask < self.ranks {
                moves.push(Move::recv(named(v | mask), all.clone(), Take::Add));
            }
            mask <<= 1;
        }
        moves
    }

    /// `ompi_coll_base_reduce_generic`: the sum of a segment goes up with the first receive of the next.
    fn stream_up(&self, v: u32, named: &dyn Fn(u32) -> u32) -> Vec<Move> {
        let count = self.items().len();
        let own = children(self.algorithm, v, self.ranks);
        let parent = (0..v).find(|&p| children(self.algorithm, p, self.ranks).contains(&v));
        let up = |segment: usize| Move::send(named(parent.expect("not the root")), [segment]);
        if own.is_empty() {
            return (0..count).map(up).collect();
        }
        let mut moves = Vec::new();
        for segment in 0..count {
            for (i, &child) in own.iter().enumerate() {
                let step = Move::recv(named(child), [segment], Take::Add);
                let carries = i == 0 && segment > 0 && v != 0;
                moves.push(if carries { step.with(up(segment - 1)) } else { step });
            }
        }
        moves.extend((v != 0).then(|| up(count - 1)));
        moves
    }

    /// MPIR_Reduce_intra_reduce_scatter_gather.
    fn reduce_scatter_gather(&self, rank: u32, root: u32) -> Vec<Move> {
        let p = self.power() as usize;
        let rest = self.ranks - self.power();
        let mut moves = Vec::new();
        let mut number = None;
        if rank < 2 * rest {
            if !rank.is_multiple_of(2) {
                moves.push(Move::send(rank - 1, 0..p));
            } else {
                moves.push(Move::recv(rank + 1, 0..p, Take::Add));
                number = Some(rank as usize / 2);
            }
        } else {
            number = Some((rank - rest) as usize);
        }
        let rank_of = |number: usize| {
            let number = number as u32;
            if number < rest { number * 2 } else { number + rest }
        };
        let mut range = 0..p;
        if let Some(own) = number {
            let mut mask = 1;
            while mask < p {
                let peer = own ^ mask;
                let middle = range.start.midpoint(range.end);
                let (low, high) = (range.start..middle, middle..range.end);
                let (kept, given) = if own < peer { (low, high) } else { (high, low) };
                let peer = rank_of(peer);
                moves.push(Move::send(peer, given).with(Move::recv(peer, kept.clone(), Take::Add)));
                range = kept;
                mask <<= 1;
            }
        }
        let mut target = if root < 2 * rest {
            root as usize / 2
        } else {
            (root - rest) as usize
        };
        let replaced = root < 2 * rest && !root.is_multiple_of(2);
        if replaced {
            target = 0;
            if rank == root {
                moves.push(Move::recv(0, [0], Take::Put));
                number = Some(0);
                range = 0..1;
            } else if number == Some(0) {
                moves.push(Move::send(root, [0]));
                number = None;
            }
        }
        let Some(own) = number else { return moves };
        let (mut mask, mut bit) = (p / 2, p.ilog2());
        while mask > 0 {
            bit -= 1;
            let peer_number = own ^ mask;
            let peer = if replaced && peer_number == 0 {
                root
            } else {
                rank_of(peer_number)
            };
            if peer_number >> bit == target >> bit {
                moves.push(Move::send(peer, range));
                break;
            }
            // The partner has the adjacent run of equal length.
            let length = range.len();
            let got = if own < peer_number {
                range.end..range.end + length
            } else {
                range.start - length..range.start
            };
            range = range.start.min(got.start)..range.end.max(got.end);
            moves.push(Move::recv(peer, got, Take::Put));
            mask /= 2;
        }
        moves
    }

    fn allreduce(&self, rank: u32) -> Vec<Move> {
        let n = self.ranks;
        match self.algorithm {
            Algorithm::ReduceBroadcast => {
                let mut moves = self.binomial_up(rank, &|v| v);
                moves.extend(binomial_down(rank, n, |_, _| [0], &|v| v));
                return moves;
            }
            Algorithm::Offload { radix } => return tree_moves(rank, n, radix, &[0], Take::Add),
            Algorithm::Ring | Algorithm::SegmentedRing { .. } => return self.allreduce_ring(rank),
            Algorithm::BineLatency | Algorithm::BineBandwidth | Algorithm::BineSegmented { .. } => {
                return self.bine_allreduce(rank);
            }
            _ => {}
        }
        // MPIR_Allreduce_intra_recursive_doubling and _reduce_scatter_allgather.
        let (p, rest) = (self.power(), n - self.power());
        let all = 0..self.items().len();
        let mut moves = Vec::new();
        let number = if rank < 2 * rest {
            if rank.is_multiple_of(2) {
                return vec![Move::send(rank + 1, all.clone()), Move::recv(rank + 1, all, Take::Put)];
            }
            moves.push(Move::recv(rank - 1, all.clone(), Take::Add));
            rank / 2
        } else {
            rank - rest
        };
        let rank_of = |number: u32| if number < rest { number * 2 + 1 } else { number + rest };
        let mut ranges = Vec::new();
        let mut range = all.clone();
        let mut mask = 1;
        while mask < p {
            let peer = number ^ mask;
            if self.algorithm == Algorithm::RecursiveDoubling {
                let step = Move::recv(rank_of(peer), all.clone(), Take::Add);
                moves.push(Move::send(rank_of(peer), all.clone()).with(step));
            } else {
                let middle = range.start.midpoint(range.end);
                let (low, high) = (range.start..middle, middle..range.end);
                let (kept, given) = if number < peer { (low, high) } else { (high, low) };
                let step = Move::recv(rank_of(peer), kept.clone(), Take::Add);
                moves.push(Move::send(rank_of(peer), given.clone()).with(step));
                ranges.push((peer, kept.clone(), given));
                range = kept;
            }
            mask <<= 1;
        }
        for (peer, own, other) in ranges.into_iter().rev() {
            moves.push(Move::send(rank_of(peer), own).with(Move::recv(rank_of(peer), other, Take::Put)));
        }
        if rank < 2 * rest {
            moves.push(Move::send(rank - 1, all));
        }
        moves
    }

    /// `ompi_coll_base_allreduce_intra_ring` and `_ring_segmented`.
    fn allreduce_ring(&self, rank: u32) -> Vec<Move> {
        let n = self.ranks;
        let parts = self.ring_parts() as usize;
        let (left, right) = ((rank + n - 1) % n, (rank + 1) % n);
        let mut moves = Vec::new();
        for part in 0..parts {
            let (mut given, mut got) = (rank, left);
            for _ in 1..n {
                let item = |block: u32| [block as usize * parts + part];
                moves.push(Move::send(right, item(given)).with(Move::recv(left, item(got), Take::Add)));
                given = got;
                got = (got + n - 1) % n;
            }
        }
        let (mut given, mut got) = (right, rank);
        for _ in 1..n {
            let items = |block: u32| (0..parts).map(move |part| block as usize * parts + part);
            moves.push(Move::send(right, items(given)).with(Move::recv(left, items(got), Take::Put)));
            given = got;
            got = (got + n - 1) % n;
        }
        moves
    }

    fn reduce_scatter(&self, rank: u32) -> Vec<Move> {
        let n = self.ranks;
        let sizes = self.items();
        let swap = |to: u32, given: Vec<usize>, from: u32, got: Vec<usize>| {
            Move::send(to, given).with(Move::recv(from, got, Take::Add))
        };
        let one = |block: u32| vec![block as usize];
        match self.algorithm {
            Algorithm::BinePermute | Algorithm::BineSend => self.bine_reduce_scatter(rank),
            Algorithm::RecursiveHalving => self.recursive_halving(rank),
            Algorithm::Pairwise => (1..n)
                .map(|i| swap((rank + i) % n, one((rank + i) % n), (rank + n - i) % n, one(rank)))
                .collect(),
            Algorithm::Ring => {
                let (left, right) = ((rank + n - 1) % n, (rank + 1) % n);
                let blocks = (2..=n).map(|back| ((rank + n + 1 - back) % n, (rank + n - back) % n));
                blocks
                    .map(|(given, got)| swap(right, one(given), left, one(got)))
                    .collect()
            }
            Algorithm::RecursiveDoubling => {
                let mut moves = Vec::new();
                let mut mask = 1;
                while mask < n {
                    let peer = rank ^ mask;
                    let beside = |rank: u32| (0..n).filter(|b| b / mask != rank / mask).map(|b| b as usize).collect();
                    moves.push(swap(peer, beside(rank), peer, beside(peer)));
                    mask <<= 1;
                }
                moves
            }
            _ => {
                let mut moves = self.binomial_up(rank, &|v| v);
                if let Collective::ReduceScatterBlock { .. } = self.collective {
                    moves.extend(binomial_down(
                        rank,
                        n,
                        |first, end| first as usize..end as usize,
                        &|v| v,
                    ));
                } else if rank == 0 {
                    moves.extend((1..n).map(|r| Move::send(r, one(r)).filled(&sizes).more(r + 1 < n)));
                } else if sizes[rank as usize] > 0 {
                    moves.push(Move::recv(0, one(rank), Take::Put));
                }
                moves
            }
        }
    }

    /// MPIR_Reduce_scatter_intra_recursive_halving.
    fn recursive_halving(&self, rank: u32) -> Vec<Move> {
        let n = self.ranks;
        let sizes = self.items();
        let (p, rest) = (self.power(), n - self.power());
        let all = 0..n as usize;
        let mut moves = Vec::new();
        let number = if rank < 2 * rest {
            if rank.is_multiple_of(2) {
                let back = Move::recv(rank + 1, [rank as usize], Take::Put);
                return vec![Move::send(rank + 1, all), back.filled(&sizes)];
            }
            moves.push(Move::recv(rank - 1, all, Take::Add));
            rank / 2
        } else {
            rank - rest
        };
        let rank_of = |number: u32| if number < rest { number * 2 + 1 } else { number + rest };
        // Numbers below `rest` work on two blocks.
        let blocks = |numbers: std::ops::Range<u32>| {
            numbers
                .flat_map(|number| {
                    if number < rest {
                        2 * number as usize..2 * number as usize + 2
                    } else {
                        (number + rest) as usize..(number + rest) as usize + 1
                    }
                })
                .collect::<Vec<_>>()
        };
        let mut range = 0..p;
        let mut mask = p / 2;
        while mask > 0 {
            let peer = number ^ mask;
            let middle = range.start + mask;
            let (low, high) = (range.start..middle, middle..range.end);
            let (kept, given) = if number < peer { (low, high) } else { (high, low) };
            let step = Move::recv(rank_of(peer), blocks(kept.clone()), Take::Add);
            moves.push(Move::send(rank_of(peer), blocks(given)).with(step).filled(&sizes));
            range = kept;
            mask /= 2;
        }
        if rank < 2 * rest {
            moves.push(Move::send(rank - 1, [rank as usize - 1]).filled(&sizes));
        }
        moves
    }

    fn scan(&self, rank: u32) -> Vec<Move> {
        let n = self.ranks;
        let mut moves = Vec::new();
        if self.algorithm == Algorithm::Linear {
            moves.extend((rank > 0).then(|| Move::recv(rank - 1, [0], Take::AddTwice)));
            moves.extend((rank + 1 < n).then(|| Move::send(rank + 1, [0])));
            return moves;
        }
        let mut mask = 1;
        while mask < n {
            let peer = rank ^ mask;
            if peer < n {
                let take = if peer < rank { Take::AddTwice } else { Take::Add };
                moves.push(Move::send(peer, [0]).with(Move::recv(peer, [0], take)));
            }
            mask <<= 1;
        }
        moves
    }
}

/// Up a tree in which rank r has the children r radix + 1 to r radix + radix, and down again.
fn tree_moves(rank: u32, ranks: u32, radix: u32, items: &[usize], take: Take) -> Vec<Move> {
    let children: Vec<u32> = (1..ranks).filter(|child| (child - 1) / radix == rank).collect();
    let items = || items.iter().copied();
    let more = |at: usize| at + 1 < children.len();
    let mut moves = Vec::new();
    for (at, &child) in children.iter().enumerate() {
        moves.push(Move::recv(child, items(), take).more(more(at)));
    }
    if rank > 0 {
        let parent = (rank - 1) / radix;
        let down = if take == Take::Add { Take::Put } else { take };
        moves.push(Move::send(parent, items()).with(Move::recv(parent, items(), down)));
    }
    for (at, &child) in children.iter().enumerate() {
        moves.push(Move::send(child, items()).more(more(at)));
    }
    moves
}
