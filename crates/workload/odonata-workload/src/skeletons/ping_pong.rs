//! Ping-pong: two ranks alternately send each other a message, as in mpptest, NetPIPE and `osu_latency`.

use odonata_units::{Bytes, OneOrMany, Problem, Time, counted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Parameters;
use crate::program::check_length;
use crate::{Comm, Cursor, Op, OpKind, Program, Source, Tag};

/// The pairs of ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Pairs {
    /// Rank 0 with rank 1; the other ranks are idle.
    #[default]
    #[serde(rename = "0-1")]
    First,
    /// Rank 0 with 1, 2 with 3, 4 with 5, ...
    #[serde(rename = "neighbors")]
    Neighbors,
    /// Rank r with r + ranks/2, across the middle of the job: with a contiguous placement every pair crosses the
    /// bisection.
    #[serde(rename = "halves")]
    Halves,
}

/// Maximum number of sizes in a list.
const MOST_SIZES: usize = 1_000;

/// Ping-pong of pairs of ranks: `iterations` round trips for each size. The time of an iteration is that of a round
/// trip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "PingPong")]
pub struct PingPongParams {
    /// Size of the messages, or a list of sizes used in turn, e.g. ["0 B", "1 KiB", "64 KiB"].
    #[default(OneOrMany::One(Bytes(8)))]
    pub bytes: OneOrMany<Bytes>,
    /// Round trips of each size.
    #[default = 100]
    pub iterations: u32,
    /// The pairs of ranks; a rank without a partner is idle.
    #[default(Pairs::First)]
    pub pairs: Pairs,
    /// Computation of both ranks before each round trip, e.g. "1 ms".
    pub compute: Time,
}

impl Parameters for PingPongParams {
    fn resolve(&mut self, at: &str, ranks: u32) -> Result<(), Problem> {
        let sizes = self.bytes.list().len();
        if sizes == 0 || sizes > MOST_SIZES {
            let problem = format!("{sizes} sizes");
            let expected = format!("1 to {MOST_SIZES}");
            return Err(Problem::new(format!("{at}.bytes"), problem, expected));
        }
        if ranks < 2 {
            return Err(Problem::new(
                at,
                format!("{ranks} rank has no partner"),
                "at least 2 ranks",
            ));
        }
        Ok(())
    }

    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(PingPong::new(ranks, self.clone())?))
    }
}

/// Ping-pong between pairs of ranks. A round trip: compute; the lower rank sends and receives, the upper one receives
/// and sends; mark.
#[derive(Clone, Debug)]
pub struct PingPong {
    ranks: u32,
    params: PingPongParams,
    /// Round trips of all sizes.
    trips: u32,
}

impl PingPong {
    /// The program on `ranks` ranks.
    ///
    /// # Errors
    /// There are no pairs, no sizes or no iterations, or too many operations.
    pub fn new(ranks: u32, params: PingPongParams) -> Result<Self, String> {
        if ranks < 2 {
            return Err(format!("{ranks} ranks form no pair"));
        }
        check_length(params.iterations, 4 * params.bytes.list().len() as u64)?;
        let trips = params.iterations * params.bytes.list().len() as u32;
        if trips == 0 {
            return Err("there is no size".into());
        }
        Ok(PingPong { ranks, params, trips })
    }

    /// The partner of `rank`, and whether the partner is the upper rank.
    fn partner(&self, rank: u32) -> Option<(u32, bool)> {
        let half = self.ranks / 2;
        match self.params.pairs {
            Pairs::First => (rank < 2).then_some((rank ^ 1, rank == 0)),
            Pairs::Neighbors => (rank | 1 < self.ranks).then_some((rank ^ 1, rank.is_multiple_of(2))),
            Pairs::Halves if rank < half => Some((rank + half, true)),
            Pairs::Halves => (rank < 2 * half).then(|| (rank - half, false)),
        }
    }
}

impl Program for PingPong {
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
        let (peer, first) = self.partner(rank)?;
        let PingPongParams {
            compute: duration,
            iterations,
            ..
        } = self.params;
        cursor.advance(|[trip, step, ..]| {
            if *trip >= self.trips {
                return None;
            }
            if *step == 0 && duration == Time::ZERO {
                *step = 1;
            }
            let bytes = self.params.bytes.list()[(*trip / iterations) as usize].0;
            let comm = Comm::WORLD;
            let kind = match *step {
                0 => OpKind::Compute { duration },
                3 => OpKind::Mark { iteration: *trip },
                step if (step == 1) == first => OpKind::Send {
                    to: peer,
                    tag: 0,
                    bytes,
                    comm,
                },
                _ => OpKind::Recv {
                    from: Source::Rank(peer),
                    tag: Tag::Is(0),
                    bytes,
                    comm,
                },
            };
            (*trip, *step) = if *step == 3 { (*trip + 1, 0) } else { (*trip, *step + 1) };
            Some(kind)
        })
    }

    fn describe(&self) -> String {
        let sizes: Vec<String> = self.params.bytes.list().iter().take(4).map(Bytes::to_string).collect();
        let more = if self.params.bytes.list().len() > 4 {
            ", ..."
        } else {
            ""
        };
        let pairs = match self.params.pairs {
            Pairs::First => "ranks 0 and 1",
            Pairs::Neighbors => "neighboring ranks",
            Pairs::Halves => "ranks of the two halves",
        };
        format!(
            "ping-pong of {pairs}, {} ranks, {} of {}{more}",
            self.ranks,
            counted(self.params.iterations, "round trip"),
            sizes.join(", ")
        )
    }
}
