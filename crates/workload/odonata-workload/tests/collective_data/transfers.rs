//! The moved data, and the loops of the collectives without reductions.

use odonata_workload::Collective;
use odonata_workload::collective::Algorithm;

use super::listed;
use super::machine::{Case, Contributions, Move, Take, only};

/// `count` items in `parts`, as evenly as possible, the larger ones first.
pub(crate) fn evenly(count: u64, parts: u32) -> Vec<u64> {
    let parts = u64::from(parts);
    (0..parts)
        .map(|i| count / parts + u64::from(i < count % parts))
        .collect()
}

/// `bytes` in whole elements, at most `segment` (0: all) bytes at a time.
fn segments(bytes: u64, element: u64, segment: u32) -> Vec<u64> {
    let most = match u64::from(segment) {
        0 => bytes,
        segment => segment.max(element) / element * element,
    };
    let mut sizes = Vec::new();
    let mut left = bytes;
    while left > most {
        sizes.push(most);
        left -= most;
    }
    sizes.push(left);
    sizes
}

/// The children of a number in a tree of Open MPI, from the functions that build them.
pub(crate) fn children(algorithm: Algorithm, number: u32, n: u32) -> Vec<u32> {
    let mut children = Vec::new();
    match algorithm {
        Algorithm::Chain { .. } => children.push(number + 1),
        Algorithm::SegmentedBinomial { .. } => {
            let mut mask = 1;
            while mask < n && number & mask == 0 {
                children.push(number + mask);
                mask <<= 1;
            }
        }
        // ompi_coll_base_topo_build_tree: delta is the number of nodes of the level.
        _ => {
            let (mut level_end, mut delta) = (1, 1);
            while number >= level_end {
                delta *= 2;
                level_end += delta;
            }
            children.extend([number + delta, number + 2 * delta]);
        }
    }
    children.retain(|&child| child < n);
    children
}

impl Case {
    pub(crate) fn power(&self) -> u32 {
        1 << self.ranks.ilog2()
    }

    /// Sizes of the items that move as a whole.
    pub(crate) fn items(&self) -> Vec<u64> {
        let n = self.ranks;
        let elements = |bytes: u64, count: u64, parts: u32| {
            let element = bytes.checked_div(count).unwrap_or(0);
            evenly(count, parts)
                .into_iter()
                .map(move |c| c * element)
                .collect::<Vec<_>>()
        };
        match (self.collective, self.algorithm) {
            (Collective::Barrier { .. }, _) => vec![0],
            (
                Collective::Broadcast { bytes, .. },
                Algorithm::Chain { segment } | Algorithm::Binary { segment } | Algorithm::SegmentedBinomial { segment },
            ) => segments(bytes, 1, segment),
            (Collective::Broadcast { bytes, .. } | Collective::Reduce { bytes, .. }, Algorithm::BineBandwidth) => {
                vec![bytes.div_ceil(n.into()); n as usize]
            }
            (Collective::Broadcast { bytes, .. }, Algorithm::SplitBinary { segment }) => {
                [segments(bytes - bytes / 2, 1, segment), segments(bytes / 2, 1, segment)].concat()
            }
            (Collective::Broadcast { bytes, .. }, Algorithm::ScatterRing | Algorithm::ScatterRecursiveDoubling) => {
                let each = bytes.div_ceil(u64::from(n));
                (0..u64::from(n))
                    .map(|b| bytes.saturating_sub(b * each).min(each))
                    .collect()
            }
            (Collective::Broadcast { bytes, .. }, _) => vec![bytes],
            (
                Collective::Reduce { bytes, count, .. },
                Algorithm::Chain { segment } | Algorithm::Binary { segment } | Algorithm::SegmentedBinomial { segment },
            ) => segments(bytes, bytes.checked_div(count).unwrap_or(1), segment),
            (
                Collective::Reduce { bytes, count, .. } | Collective::Allreduce { bytes, count, .. },
                Algorithm::ReduceScatterGather | Algorithm::ReduceScatterAllgather,
            ) => elements(bytes, count, self.power()),
            (Collective::Allreduce { bytes, count, .. }, Algorithm::Ring | Algorithm::BineBandwidth) => {
                elements(bytes, count, n)
            }
            (
                Collective::Allreduce { bytes, count, .. },
                Algorithm::SegmentedRing { .. } | Algorithm::BineSegmented { .. },
            ) => {
                let element = bytes.checked_div(count).unwrap_or(0);
                let parts = self.ring_parts();
                let blocks = evenly(count, n).into_iter();
                blocks
                    .flat_map(|block| elements(block * element, block, parts))
                    .collect()
            }
            (Collective::Reduce { bytes, .. } | Collective::Allreduce { bytes, .. }, _) => vec![bytes],
            (Collective::Gather { bytes, .. }, Algorithm::LinearSync { segment }) => {
                let first = bytes.min(u64::from(segment));
                (0..n).flat_map(|_| [first, bytes - first]).collect()
            }
            (
                Collective::Gather { bytes, .. }
                | Collective::Scatter { bytes, .. }
                | Collective::Allgather { bytes, .. }
                | Collective::ReduceScatterBlock { bytes, .. },
                _,
            ) => vec![bytes; n as usize],
            (Collective::Gatherv { root, counts, .. }, _) => (0..n).map(|r| listed(counts, r, root)).collect(),
            (Collective::Scatterv { root, counts, .. }, _) => (0..n).map(|r| listed(counts, root, r)).collect(),
            (Collective::Allgatherv { counts, .. } | Collective::ReduceScatter { counts, .. }, _) => {
                (0..n).map(|r| listed(counts, r, r)).collect()
            }
            (Collective::Scan { bytes, .. } | Collective::Exscan { bytes, .. }, _) => vec![bytes; 2],
            (Collective::Alltoall { bytes, .. }, _) => vec![bytes; (n * n) as usize],
            (Collective::Alltoallv { counts, .. }, _) => {
                (0..n * n).map(|pair| listed(counts, pair / n, pair % n)).collect()
            }
        }
    }

    /// Number of parts of a block in a segmented ring.
    pub(crate) fn ring_parts(&self) -> u32 {
        let (
            Collective::Allreduce { bytes, count, .. },
            Algorithm::SegmentedRing { segment } | Algorithm::BineSegmented { segment },
        ) = (self.collective, self.algorithm)
        else {
            return 1;
        };
        let element = bytes.checked_div(count).unwrap_or(1).max(1);
        segments(evenly(count, self.ranks)[0] * element, element, segment).len() as u32
    }

    /// The items of `rank`'s share.
    fn share(&self, rank: u32) -> Vec<usize> {
        match self.algorithm {
            Algorithm::LinearSync { .. } => vec![2 * rank as usize, 2 * rank as usize + 1],
            _ => vec![rank as usize],
        }
    }

    /// The data of `rank` before.
    pub(crate) fn at_start(&self, rank: u32, item: usize) -> Contributions {
        let of = |has: bool| if has { only(rank) } else { Contributions::default() };
        match self.collective {
            Collective::Broadcast { root, .. }
            | Collective::Scatter { root, .. }
            | Collective::Scatterv { root, .. } => of(root == rank),
            Collective::Gather { .. }
            | Collective::Gatherv { .. }
            | Collective::Allgather { .. }
            | Collective::Allgatherv { .. } => of(self.share(rank).contains(&item)),
            Collective::Alltoall { .. } | Collective::Alltoallv { .. } => of(item as u32 / self.ranks == rank),
            Collective::Exscan { .. } => of(item == 0),
            _ => only(rank),
        }
    }

    /// The required data of `rank` afterwards, if MPI specifies it.
    pub(crate) fn at_end(&self, rank: u32, item: usize) -> Option<Contributions> {
        let ranks =
            |all: std::ops::Range<u32>| all.fold(Contributions::default(), |set, rank| super::union(&set, &only(rank)));
        let owner = || {
            (0..self.ranks)
                .find(|&rank| self.share(rank).contains(&item))
                .expect("every item has one")
        };
        match self.collective {
            Collective::Barrier { .. } | Collective::Allreduce { .. } => Some(ranks(0..self.ranks)),
            Collective::Reduce { root, .. } => (rank == root).then(|| ranks(0..self.ranks)),
            Collective::Broadcast { root, .. } => Some(only(root)),
            Collective::Gather { root, .. } | Collective::Gatherv { root, .. } => (rank == root).then(|| only(owner())),
            Collective::Scatter { root, .. } | Collective::Scatterv { root, .. } => {
                (rank == owner()).then(|| only(root))
            }
            Collective::Allgather { .. } | Collective::Allgatherv { .. } => Some(only(owner())),
            Collective::ReduceScatter { .. } | Collective::ReduceScatterBlock { .. } => {
                (rank == owner()).then(|| ranks(0..self.ranks))
            }
            Collective::Scan { .. } => (item == 1).then(|| ranks(0..rank + 1)),
            Collective::Exscan { .. } => (item == 1).then(|| ranks(0..rank)),
            Collective::Alltoall { .. } | Collective::Alltoallv { .. } => {
                (item as u32 % self.ranks == rank).then(|| only(item as u32 / self.ranks))
            }
        }
    }

    /// The messages of `rank`.
    pub(crate) fn moves(&self, rank: u32) -> Vec<Move> {
        let n = self.ranks;
        match self.collective {
            Collective::Barrier { .. } => self.barrier(rank),
            Collective::Broadcast { root, .. } => self.broadcast((rank + n - root) % n, |v| (v + root) % n),
            Collective::Gather { root, .. } | Collective::Scatter { root, .. }
                if self.algorithm == Algorithm::BineLatency =>
            {
                self.bine_blocks((rank + n - root) % n, &|v| (v + root) % n)
            }
            Collective::Gather { root, .. } | Collective::Scatter { root, .. }
                if self.algorithm == Algorithm::Binomial =>
            {
                self.block_tree((rank + n - root) % n, |v| (v + root) % n)
            }
            Collective::Gather { root, .. } if matches!(self.algorithm, Algorithm::LinearSync { .. }) => {
                self.linear_sync(rank, root)
            }
            Collective::Gather { root, .. }
            | Collective::Gatherv { root, .. }
            | Collective::Scatter { root, .. }
            | Collective::Scatterv { root, .. } => self.linear(rank, root),
            Collective::Allgather { .. } | Collective::Allgatherv { .. } => self.allgather(rank, &|v| v),
            Collective::Alltoall { .. } | Collective::Alltoallv { .. } => self.alltoall(rank),
            _ => self.reduction(rank),
        }
    }

    fn broadcast(&self, v: u32, named: impl Fn(u32) -> u32) -> Vec<Move> {
        let n = self.ranks;
        let sizes = self.items();
        let all = 0..sizes.len();
        match self.algorithm {
            Algorithm::Linear if v == 0 => (1..n)
                .map(|to| Move::send(named(to), all.clone()).more(to + 1 < n))
                .collect(),
            Algorithm::Linear => vec![Move::recv(named(0), all, Take::Put)],
            Algorithm::Chain { .. } | Algorithm::Binary { .. } | Algorithm::SegmentedBinomial { .. } => {
                self.stream_down(v, all, &named)
            }
            Algorithm::BineLatency | Algorithm::BineBandwidth => self.bine_broadcast(v, &named),
            Algorithm::SplitBinary { .. } => self.split_binary(v, &named),
            Algorithm::Binomial => binomial_down(v, n, |_, _| all.clone(), &named),
            _ => {
                // MPIR_Scatter_for_bcast, then an all-gather.
                let scatter = binomial_down(v, n, |first, end| first as usize..end as usize, &named);
                let filled = |m: Move| Some(m.filled(&sizes)).filter(|m| m.send.is_some() || m.recv.is_some());
                let mut moves: Vec<Move> = scatter.into_iter().filter_map(filled).collect();
                moves.extend(self.allgather(v, &named));
                moves
            }
        }
    }

    /// `ompi_coll_base_bcast_intra_generic`.
    fn stream_down(&self, v: u32, segments: std::ops::Range<usize>, named: &dyn Fn(u32) -> u32) -> Vec<Move> {
        let children = children(self.algorithm, v, self.ranks);
        let parent = (0..v).find(|&p| super::transfers::children(self.algorithm, p, self.ranks).contains(&v));
        let take = |segment| Move::recv(named(parent.expect("not the root")), [segment], Take::Put);
        let mut moves = Vec::new();
        if children.is_empty() {
            return segments.map(take).collect();
        }
        if v != 0 {
            moves.push(take(segments.start));
        }
        for segment in segments.clone() {
            for (i, &child) in children.iter().enumerate() {
                let mut step = Move::send(named(child), [segment]);
                if i == 0 && v != 0 && segment + 1 < segments.end {
                    step = step.with(take(segment + 1));
                }
                moves.push(step.more(i + 1 < children.len()));
            }
        }
        moves
    }

    /// `ompi_coll_base_bcast_intra_split_bintree`.
    fn split_binary(&self, v: u32, named: &dyn Fn(u32) -> u32) -> Vec<Move> {
        let (Collective::Broadcast { bytes, .. }, Algorithm::SplitBinary { segment }) =
            (self.collective, self.algorithm)
        else {
            panic!("{self:?}")
        };
        let n = self.ranks;
        let left = segments(bytes - bytes / 2, 1, segment).len();
        let all = self.items().len();
        let halves = [0..left, left..all];
        if v == 0 {
            let mut moves = Vec::new();
            for segment in 0..left {
                moves.push(Move::send(named(1), [segment]));
                if n > 2 && left + segment < all {
                    moves.push(Move::send(named(2), [left + segment]));
                }
            }
            if n.is_multiple_of(2) {
                moves.push(Move::send(named(n - 1), halves[1].clone()));
            }
            return moves;
        }
        let [own, other] = if v % 2 == 1 { [0, 1] } else { [1, 0] }.map(|half| halves[half].clone());
        let mut moves = self.stream_down(v, own.clone(), named);
        if n.is_multiple_of(2) && v == n - 1 {
            moves.push(Move::recv(named(0), other, Take::Put));
        } else {
            let pair = named(if v % 2 == 1 { v + 1 } else { v - 1 });
            moves.push(Move::send(pair, own).with(Move::recv(pair, other, Take::Put)));
        }
        moves
    }

    /// MPIR_Gather_intra_binomial and MPIR_Scatter_intra_binomial: block `v` belongs to number `v`.
    fn block_tree(&self, v: u32, named: impl Fn(u32) -> u32) -> Vec<Move> {
        let n = self.ranks;
        // Blocks are numbered by rank.
        let blocks = |first: u32, end: u32| (first..end).map(|v| named(v) as usize).collect::<Vec<_>>();
        if matches!(self.collective, Collective::Scatter { .. }) {
            return binomial_down(v, n, blocks, &named);
        }
        let mut moves = Vec::new();
        let mut mask = 1;
        while mask < n {
            if v & mask != 0 {
                moves.push(Move::send(named(v - mask), blocks(v, n.min(v + mask))));
                break;
            }
            if v + mask < n {
                moves.push(Move::recv(
                    named(v + mask),
                    blocks(v + mask, n.min(v + 2 * mask)),
                    Take::Put,
                ));
            }
            mask <<= 1;
        }
        moves
    }

    fn linear(&self, rank: u32, root: u32) -> Vec<Move> {
        let sizes = self.items();
        let gather = matches!(self.collective, Collective::Gather { .. } | Collective::Gatherv { .. });
        let at_once = matches!(
            self.collective,
            Collective::Gatherv { .. } | Collective::Scatterv { .. }
        );
        let others: Vec<u32> = (0..self.ranks).filter(|&r| r != root).collect();
        if rank != root {
            let step = if gather {
                Move::send(root, [rank as usize])
            } else {
                Move::recv(root, [rank as usize], Take::Put)
            };
            let nothing = at_once && sizes[rank as usize] == 0;
            return if nothing { vec![] } else { vec![step] };
        }
        let steps = others.iter().map(|&r| {
            if gather {
                Move::recv(r, [r as usize], Take::Put)
            } else {
                Move::send(r, [r as usize])
            }
        });
        let last = *others.last().expect("two ranks at least");
        let steps = steps.zip(&others);
        steps
            .map(|(step, &r)| {
                if at_once {
                    step.filled(&sizes).more(r != last)
                } else {
                    step
                }
            })
            .collect()
    }

    /// `ompi_coll_base_gather_intra_linear_sync`.
    fn linear_sync(&self, rank: u32, root: u32) -> Vec<Move> {
        let sizes = self.items();
        let halves = |rank: u32| [2 * rank as usize, 2 * rank as usize + 1];
        let rest = sizes[1] > 0;
        let [first, second] = halves(rank);
        if rank != root {
            let mut moves = vec![Move::recv(root, [], Take::Put), Move::send(root, [first])];
            moves.extend(rest.then(|| Move::send(root, [second])));
            return moves;
        }
        let mut moves = Vec::new();
        let mut before = None;
        for other in (0..self.ranks).filter(|&r| r != root) {
            moves.extend(before.map(|m: Move| m.more(true)));
            let [first, second] = halves(other);
            moves.push(Move::send(other, []).with(Move::recv(other, [first], Take::Put)));
            before = rest.then(|| Move::recv(other, [second], Take::Put));
        }
        moves.extend(before);
        moves
    }

    fn allgather(&self, v: u32, named: &dyn Fn(u32) -> u32) -> Vec<Move> {
        let n = self.ranks;
        let around = |first: u32, length: u32| (first..first + length).map(move |b| (b % n) as usize);
        let swap = |to: u32, given: (u32, u32), from: u32, got: (u32, u32)| {
            Move::send(named(to), around(given.0, given.1)).with(Move::recv(
                named(from),
                around(got.0, got.1),
                Take::Put,
            ))
        };
        let mut moves = Vec::new();
        match self.algorithm {
            Algorithm::RecursiveDoubling | Algorithm::ScatterRecursiveDoubling => {
                let mut mask = 1;
                while mask < n {
                    let peer = v ^ mask;
                    moves.push(swap(peer, (v / mask * mask, mask), peer, (peer / mask * mask, mask)));
                    mask <<= 1;
                }
            }
            Algorithm::Bruck => {
                let mut have = 1;
                while have < n {
                    let length = have.min(n - have);
                    let (to, from) = ((v + n - have) % n, (v + have) % n);
                    moves.push(swap(to, (v, length), from, (from, length)));
                    have += length;
                }
            }
            Algorithm::Linear => {
                // As ompi_coll_basic: all at once, receives from the right, sends to the left.
                for i in 1..n {
                    let (left, right) = ((v + n - i) % n, (v + i) % n);
                    moves.push(swap(left, (v, 1), right, (right, 1)).more(i + 1 < n));
                }
            }
            Algorithm::Sparbit
            | Algorithm::BinePermute
            | Algorithm::BineSend
            | Algorithm::BineBlockByBlock
            | Algorithm::BineTwoBlocks => return self.bine_allgather(v),
            Algorithm::NeighborExchange => {
                // The variables of ompi_coll_base_allgather_intra_neighborexchange.
                let even = v.is_multiple_of(2);
                let (right, left) = ((v + 1) % n, (v + n - 1) % n);
                let neighbor = if even { [right, left] } else { [left, right] };
                let mut recv_data_from = [if even { v } else { left }; 2];
                let offset_at_step = if even { [2, n - 2] } else { [n - 2, 2] };
                moves.push(swap(neighbor[0], (v, 1), neighbor[0], (neighbor[0], 1)));
                let mut send_data_from = recv_data_from[0];
                for i in 1..n as usize / 2 {
                    let parity = i % 2;
                    recv_data_from[parity] = (recv_data_from[parity] + offset_at_step[parity]) % n;
                    let got = recv_data_from[parity];
                    moves.push(swap(neighbor[parity], (send_data_from, 2), neighbor[parity], (got, 2)));
                    send_data_from = got;
                }
            }
            _ => {
                let (mut own, mut next) = (v, (v + n - 1) % n);
                for _ in 1..n {
                    moves.push(swap((v + 1) % n, (own, 1), (v + n - 1) % n, (next, 1)));
                    own = next;
                    next = (next + n - 1) % n;
                }
            }
        }
        moves
    }

    fn alltoall(&self, rank: u32) -> Vec<Move> {
        let n = self.ranks;
        let sizes = self.items();
        let item = |from: u32, to: u32| (from * n + to) as usize;
        let swap =
            |to: u32, from: u32| Move::send(to, [item(rank, to)]).with(Move::recv(from, [item(from, rank)], Take::Put));
        let away = |i: u32| ((rank + i) % n, (rank + n - i) % n);
        match self.algorithm {
            Algorithm::Bruck => {
                let mut moves = Vec::new();
                let mut mask = 1;
                while mask < n {
                    // Before the round of `mask` a block from `s` with remaining distance `d` is at s + (d mod mask).
                    let at = |holder: u32| {
                        let moving = (1..n).filter(move |d| d & mask != 0);
                        moving.map(move |d| {
                            let s = (holder + n - d % mask) % n;
                            item(s, (s + d) % n)
                        })
                    };
                    let (to, from) = away(mask);
                    moves.push(Move::send(to, at(rank)).with(Move::recv(from, at(from), Take::Put)));
                    mask <<= 1;
                }
                moves
            }
            Algorithm::BinePermute => self.bine_alltoall(rank),
            Algorithm::Pairwise => (1..n).map(|i| swap(away(i).0, away(i).1)).collect(),
            Algorithm::PairwiseExchange => (1..n).map(|i| swap(rank ^ i, rank ^ i)).collect(),
            // MPIR_Alltoall_intra_scattered; Open MPI's linear algorithm has a window of all ranks.
            algorithm => {
                let window = match algorithm {
                    Algorithm::Scattered { window } => window as usize,
                    _ => n as usize,
                };
                let mut moves = Vec::new();
                for batch in (0..n).collect::<Vec<_>>().chunks(window) {
                    let last = batch.last();
                    let batch = batch.iter().filter(|&&i| i > 0);
                    moves.extend(batch.map(|i| {
                        let (right, left) = away(*i);
                        swap(left, right).filled(&sizes).more(Some(i) != last)
                    }));
                }
                moves
            }
        }
    }
}

/// The loop of a binomial tree of MPICH, from number 0 down.
pub(crate) fn binomial_down<I: IntoIterator<Item = usize>>(
    v: u32,
    n: u32,
    items: impl Fn(u32, u32) -> I,
    named: &dyn Fn(u32) -> u32,
) -> Vec<Move> {
    let mut moves = Vec::new();
    let mut mask = 1;
    while mask < n {
        if v & mask != 0 {
            moves.push(Move::recv(named(v - mask), items(v, n.min(v + mask)), Take::Put));
            break;
        }
        mask <<= 1;
    }
    mask >>= 1;
    while mask > 0 {
        if v + mask < n {
            moves.push(Move::send(named(v + mask), items(v + mask, n.min(v + 2 * mask))));
        }
        mask >>= 1;
    }
    moves
}
