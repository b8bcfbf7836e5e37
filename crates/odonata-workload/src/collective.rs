//! Collectives as point-to-point messages.
//!
//! A collective is a sequence of [`Step`]s per rank. A step is a send, a receive, or both at once;
//! the next step starts when both are complete, so the network decides how far ranks drift apart.
//! [`step`] computes any step on its own from (rank, index): nothing is stored per collective but
//! the index, which makes it as easy to roll back as a [`Cursor`](crate::Cursor).
//!
//! | algorithm | collective | messages on `n` ranks (`p` = largest power of two <= `n`, `r = n - p`) |
//! |---|---|---|
//! | dissemination | barrier | `n * ceil(log2 n)`, empty |
//! | recursive doubling | all-reduce | `2 r + p log2 p`, each of full size |
//! | reduce-scatter + all-gather | all-reduce | `2 r + 2 p log2 p`; `2 r + 2 (p - 1)` times the full size |
//! | binomial tree | broadcast | `n - 1`, each of full size |
//! | scatter + recursive doubling | broadcast, `n = p` | `n - 1 + p log2 p` |
//! | scatter + ring | broadcast | `n - 1 + n (n - 1)` |
//!
//! The algorithms and thresholds are those of MPICH, which CODES expands collectives by as well:
//! Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH",
//! Int. J. High Performance Computing Applications 19(1), 2005; dissemination barrier: Hensgen,
//! Finkel, Manber, Int. J. Parallel Programming 17(1), 1988.

mod allreduce;
mod broadcast;
mod call;

pub use call::Collective;

/// How a collective is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Barrier: in round `k` everybody signals rank + 2^k and hears from rank - 2^k.
    Dissemination,
    /// All-reduce: whole vectors are exchanged over distances 1, 2, 4, ...
    RecursiveDoubling,
    /// All-reduce (Rabenseifner): halves, quarters, ... are exchanged and reduced, then gathered back.
    ReduceScatterAllgather,
    /// Broadcast along a binomial tree.
    Binomial,
    /// Broadcast: binomial scatter, then all-gather by recursive doubling; powers of two only.
    ScatterRecursiveDoubling,
    /// Broadcast: binomial scatter, then all-gather around a ring.
    ScatterRing,
}

impl Algorithm {
    /// Whether it carries out `collective` on `ranks` ranks.
    pub fn supports(self, collective: &Collective, ranks: u32) -> bool {
        match (collective, self) {
            (Collective::Barrier { .. }, Algorithm::Dissemination) => true,
            (Collective::Allreduce { .. }, Algorithm::RecursiveDoubling | Algorithm::ReduceScatterAllgather) => true,
            (Collective::Broadcast { .. }, Algorithm::Binomial | Algorithm::ScatterRing) => true,
            (Collective::Broadcast { .. }, Algorithm::ScatterRecursiveDoubling) => ranks.is_power_of_two(),
            _ => false,
        }
    }
}

/// When which algorithm is taken. The default is MPICH's choice, which is that of CODES.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// All-reduces of at most so many bytes double recursively, longer ones reduce-scatter; so do
    /// those with fewer elements than the largest power of two of ranks, which could not be scattered.
    pub allreduce_recursive_doubling_up_to: u64,
    /// Broadcasts of fewer bytes take the binomial tree.
    pub broadcast_binomial_below: u64,
    /// On fewer ranks every broadcast takes the binomial tree.
    pub broadcast_min_ranks: u32,
    /// Longer broadcasts on a power of two of ranks gather by recursive doubling below so many
    /// bytes; all others gather around a ring.
    pub broadcast_recursive_doubling_below: u64,
    /// Always this one for all-reduces.
    pub allreduce: Option<Algorithm>,
    /// Always this one for broadcasts, wherever it supports the number of ranks.
    pub broadcast: Option<Algorithm>,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            allreduce_recursive_doubling_up_to: 81_920,
            broadcast_binomial_below: 12_288,
            broadcast_min_ranks: 8,
            broadcast_recursive_doubling_below: 524_288,
            allreduce: None,
            broadcast: None,
        }
    }
}

impl Rules {
    /// Checks that forced algorithms belong to the collective that they are forced upon.
    ///
    /// # Errors
    /// Names the algorithm that does not, and those that do.
    pub fn check(&self) -> Result<(), String> {
        match (self.allreduce, self.broadcast) {
            (Some(a), _) if !matches!(a, Algorithm::RecursiveDoubling | Algorithm::ReduceScatterAllgather) => Err(
                format!("{a:?} is no all-reduce: take RecursiveDoubling or ReduceScatterAllgather"),
            ),
            (_, Some(b))
                if !matches!(
                    b,
                    Algorithm::Binomial | Algorithm::ScatterRecursiveDoubling | Algorithm::ScatterRing
                ) =>
            {
                Err(format!(
                    "{b:?} is no broadcast: take Binomial, ScatterRecursiveDoubling or ScatterRing"
                ))
            }
            _ => Ok(()),
        }
    }
}

/// One way of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The other rank, numbered within the communicator.
    pub peer: u32,
    /// Payload in bytes; an empty message is a message.
    pub bytes: u64,
}

/// What a rank does at once; both ways start together and complete before the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it sends.
    pub send: Option<Transfer>,
    /// What it receives.
    pub recv: Option<Transfer>,
}

impl Step {
    const fn send(peer: u32, bytes: u64) -> Step {
        Step {
            send: Some(Transfer { peer, bytes }),
            recv: None,
        }
    }

    const fn recv(peer: u32, bytes: u64) -> Step {
        Step {
            send: None,
            recv: Some(Transfer { peer, bytes }),
        }
    }
}

/// The algorithm that `rules` name for `collective` on `ranks` ranks; it always
/// [supports](Algorithm::supports) the two, as a forced one that does not is passed over.
pub fn choose(collective: &Collective, ranks: u32, rules: &Rules) -> Algorithm {
    let forced = match collective {
        Collective::Barrier { .. } => None,
        Collective::Allreduce { .. } => rules.allreduce,
        Collective::Broadcast { .. } => rules.broadcast,
    };
    if let Some(algorithm) = forced.filter(|a| a.supports(collective, ranks)) {
        return algorithm;
    }
    match *collective {
        Collective::Barrier { .. } => Algorithm::Dissemination,
        Collective::Allreduce { bytes, count, .. } => {
            if bytes <= rules.allreduce_recursive_doubling_up_to || count < u64::from(power_of_two_within(ranks)) {
                Algorithm::RecursiveDoubling
            } else {
                Algorithm::ReduceScatterAllgather
            }
        }
        Collective::Broadcast { bytes, .. } => {
            if bytes < rules.broadcast_binomial_below || ranks < rules.broadcast_min_ranks {
                Algorithm::Binomial
            } else if bytes < rules.broadcast_recursive_doubling_below && ranks.is_power_of_two() {
                Algorithm::ScatterRecursiveDoubling
            } else {
                Algorithm::ScatterRing
            }
        }
    }
}

/// Step `index` (from 0) of `rank` among `ranks`, both numbered within the communicator, or `None`
/// where the rank has finished. Takes O(log ranks).
///
/// Also `None` for what cannot be carried out: an algorithm that does not
/// [support](Algorithm::supports) the collective, or a rank or root outside the communicator
/// ([`Collective::check`]).
pub fn step(collective: &Collective, algorithm: Algorithm, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    if rank >= ranks || ranks == 1 || !algorithm.supports(collective, ranks) {
        return None;
    }
    match *collective {
        Collective::Barrier { .. } => dissemination(rank, ranks, index),
        Collective::Allreduce { bytes, count, .. } => allreduce::step(algorithm, bytes, count, rank, ranks, index),
        Collective::Broadcast { root, bytes, .. } if root < ranks => {
            broadcast::step(algorithm, root, bytes, rank, ranks, index)
        }
        Collective::Broadcast { .. } => None,
    }
}

fn dissemination(rank: u32, ranks: u32, index: u32) -> Option<Step> {
    if index >= rounds(ranks) {
        return None;
    }
    let distance = 1 << index;
    let to = ((u64::from(rank) + u64::from(distance)) % u64::from(ranks)) as u32;
    let from = ((u64::from(rank) + u64::from(ranks - distance)) % u64::from(ranks)) as u32;
    Some(Step {
        send: Some(Transfer { peer: to, bytes: 0 }),
        recv: Some(Transfer { peer: from, bytes: 0 }),
    })
}

/// `ceil(log2 n)` for `n >= 1`.
fn rounds(n: u32) -> u32 {
    u32::BITS - (n - 1).leading_zeros()
}

/// The largest power of two that is at most `n`; 1 for 0.
fn power_of_two_within(n: u32) -> u32 {
    1 << n.max(1).ilog2()
}
