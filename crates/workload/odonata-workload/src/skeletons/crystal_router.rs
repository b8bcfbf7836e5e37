//! Crystal router: many-to-many messages in a logarithmic number of exchanges.
//!
//! The kernel "Crystal Router" of the DOE's Design Forward program is the communication of Nek5000. Every rank has data
//! for every rank, moved by recursive halving (Fox et al., "Solving Problems on Concurrent Processors", 1988, chapter
//! 22; `crystal.c` of the library gslib of Nek5000). A group of n ranks is split into a lower half of `ceil(n / 2)` and
//! an upper one; each rank sends its mirror in the group (rank `i` of the group: `n - 1 - i`) all its data for the
//! other half. If n is odd, the middle rank sends to the first rank of the upper half, which thus receives twice, and
//! receives nothing.
//!
//! Compared with the byte matrix of the kernel's trace on 1,000 ranks, all 9,976 pairs match. With equal data for all
//! other ranks, each exchange moves half of it, slightly more or less in odd groups; then 9,967 of the pairs are within
//! 1% of the matrix (standard deviation 0.11%; the others are near rank 999, at most 3.8% off). The matrix does not
//! show the number of rounds.

use odonata_units::{Bytes, Problem, Time, counted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::Parameters;
use crate::program::check_length;
use crate::{Comm, Cursor, Op, OpKind, Program, Request, Source, Tag};

/// Crystal router: each rank has equal data for all others, moved by recursive halving. The defaults are the trace of
/// Nek5000's kernel of the Design Forward program on 1,000 ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "CrystalRouter")]
pub struct CrystalRouterParams {
    /// Data of each rank for all others together, in all rounds. On n ranks it is sent about log2(n) / 2 times: 10,000
    /// ranks with "33 MB" send 2 TiB in total.
    #[default(Bytes(23_191_590))]
    pub payload: Bytes,
    /// Number of rounds. The trace's matrix does not show it.
    #[default = 60]
    pub rounds: u32,
    /// Size of the message before each data message, with the size of that one; "0 B": none.
    #[default(Bytes(4))]
    pub header: Bytes,
    /// Computation of each rank in all rounds together; an equal part precedes each exchange. Default: 11% of 1.37 s,
    /// as measured on 10,000 ranks.
    #[default(Time::from_ns(150_700_000))]
    pub compute: Time,
}

/// The most ranks.
const MOST_RANKS: u32 = 1 << 20;

impl Parameters for CrystalRouterParams {
    fn resolve(&mut self, at: &str, _: u32) -> Result<(), Problem> {
        odonata_units::within(format!("{at}.payload"), self.payload, Bytes::ZERO, Bytes(1 << 50))?;
        Ok(())
    }

    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(CrystalRouter::new(ranks, self.clone())?))
    }
}

/// Rounds of a crystal router.
///
/// A round: for each group of the rank, from all ranks down to itself: compute; the sizes (receive, send, without
/// blocking, wait for all); the data likewise; after the last group a mark.
#[derive(Clone, Debug)]
pub struct CrystalRouter {
    ranks: u32,
    params: CrystalRouterParams,
    /// Exchanges of the rank in the most groups.
    depth: u32,
    /// Bytes sent by each rank in each exchange of a round, by rank, then exchange.
    sent: Arc<[u64]>,
}

/// A group of ranks to be split.
#[derive(Clone, Copy, Debug)]
struct Group {
    first: u32,
    ranks: u32,
}

impl Group {
    /// Ranks of the lower half.
    fn lower(self) -> u32 {
        self.ranks.div_ceil(2)
    }

    /// First rank of the upper half.
    fn middle(self) -> u32 {
        self.first + self.lower()
    }

    /// The rank to which `rank` sends.
    fn target(self, rank: u32) -> u32 {
        // Sums of ranks of a job stay below 2^32.
        let mirror = 2 * self.first + (self.ranks - 1) - rank;
        if mirror == rank { self.middle() } else { mirror }
    }

    /// The ranks from which `rank` receives.
    fn sources(self, rank: u32) -> [Option<u32>; 2] {
        let odd = self.ranks % 2 == 1;
        let mirror = 2 * self.first + (self.ranks - 1) - rank;
        if mirror == rank {
            [None, None]
        } else {
            [Some(mirror), (odd && rank == self.middle()).then(|| rank - 1)]
        }
    }

    /// The half with `rank`.
    fn half(self, rank: u32) -> Group {
        if rank < self.middle() {
            Group {
                first: self.first,
                ranks: self.lower(),
            }
        } else {
            Group {
                first: self.middle(),
                ranks: self.ranks - self.lower(),
            }
        }
    }

    /// Number of ranks in the other half.
    fn others(self, rank: u32) -> u32 {
        if rank < self.middle() {
            self.ranks - self.lower()
        } else {
            self.lower()
        }
    }
}

impl CrystalRouter {
    /// The program on `ranks` ranks.
    ///
    /// # Errors
    /// There are no ranks or no rounds, or too many operations.
    pub fn new(ranks: u32, params: CrystalRouterParams) -> Result<Self, String> {
        if ranks == 0 {
            return Err("the job has no ranks".into());
        }
        // A table of the sent bytes takes 8 B per exchange of a rank.
        if ranks > MOST_RANKS {
            return Err(format!("{ranks} ranks: at most {MOST_RANKS}"));
        }
        let depth = ranks.next_power_of_two().ilog2();
        check_length(params.rounds, u64::from(depth) * 9 + 1)?;
        let each = params.payload.0 / u64::from(params.rounds);
        let sent = Self::sizes(ranks, depth, each);
        Ok(CrystalRouter {
            ranks,
            params,
            depth,
            sent,
        })
    }

    /// Bytes sent by each rank in each exchange, if each has `each` bytes for every rank initially.
    fn sizes(ranks: u32, depth: u32, each: u64) -> Arc<[u64]> {
        let mut sent = vec![0; ranks as usize * depth as usize];
        let mut held = vec![each; ranks as usize];
        let mut groups = vec![Group { first: 0, ranks }; ranks as usize];
        for exchange in 0..depth {
            let mut after = held.clone();
            for rank in 0..ranks {
                let group = groups[rank as usize];
                if group.ranks < 2 {
                    continue;
                }
                let share = u128::from(held[rank as usize]) * u128::from(group.others(rank));
                let given = (share / u128::from(group.ranks)) as u64;
                sent[(rank * depth + exchange) as usize] = given;
                after[rank as usize] -= given;
                after[group.target(rank) as usize] += given;
            }
            held = after;
            for rank in 0..ranks {
                let group = &mut groups[rank as usize];
                if group.ranks > 1 {
                    *group = group.half(rank);
                }
            }
        }
        sent.into()
    }

    /// Bytes that `rank` sends in exchange number `exchange` of a round.
    fn bytes(&self, rank: u32, exchange: u32) -> u64 {
        self.sent[rank as usize * self.depth as usize + exchange as usize]
    }

    /// The group of `rank` that is split in exchange number `exchange`; `None` if it is alone by then.
    fn group(&self, rank: u32, exchange: u32) -> Option<Group> {
        let whole = Group {
            first: 0,
            ranks: self.ranks,
        };
        let group = (0..exchange).fold(whole, |group, _| if group.ranks > 1 { group.half(rank) } else { group });
        (group.ranks > 1).then_some(group)
    }

    /// Operation `part` of the messages of an exchange: two receives, a send, a wait for all.
    fn message(&self, rank: u32, exchange: u32, group: Group, part: u32, header: bool) -> Option<OpKind> {
        let comm = Comm::WORLD;
        let tag = u32::from(header);
        let bytes = |from| {
            if header {
                self.params.header.0
            } else {
                self.bytes(from, exchange)
            }
        };
        let sources = group.sources(rank);
        let received = sources.iter().flatten().count() as u32;
        match part {
            0 | 1 => sources[part as usize].map(|from| OpKind::Irecv {
                from: Source::Rank(from),
                tag: Tag::Is(tag),
                bytes: bytes(from),
                comm,
                request: Request(part),
            }),
            2 => Some(OpKind::Isend {
                to: group.target(rank),
                tag,
                bytes: bytes(rank),
                comm,
                request: Request(received),
            }),
            _ => Some(OpKind::WaitAll {
                first: Request(0),
                count: received + 1,
            }),
        }
    }
}

impl Program for CrystalRouter {
    fn has_one_stream(&self) -> bool {
        true
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        if rank >= self.ranks {
            return None;
        }
        let exchanges = u64::from(self.depth.max(1)) * u64::from(self.params.rounds);
        let duration = Time(self.params.compute.0 / exchanges.max(1));
        cursor.advance(|[round, exchange, part, ..]| {
            loop {
                if *round >= self.params.rounds {
                    return None;
                }
                let Some(group) = self.group(rank, *exchange) else {
                    let mark = OpKind::Mark { iteration: *round };
                    (*round, *exchange, *part) = (*round + 1, 0, 0);
                    return Some(mark);
                };
                let kind = match *part {
                    0 => (duration > Time::ZERO).then_some(OpKind::Compute { duration }),
                    1..5 if self.params.header == Bytes::ZERO => None,
                    1..5 => self.message(rank, *exchange, group, *part - 1, true),
                    _ => self.message(rank, *exchange, group, *part - 5, false),
                };
                (*exchange, *part) = if *part == 8 {
                    (*exchange + 1, 0)
                } else {
                    (*exchange, *part + 1)
                };
                if kind.is_some() {
                    return kind;
                }
            }
        })
    }

    fn describe(&self) -> String {
        let CrystalRouterParams { payload, rounds, .. } = self.params;
        format!(
            "crystal router, {} ranks, {}, {payload} of each rank",
            self.ranks,
            counted(rounds, "round")
        )
    }
}
