//! The settings of synthetic traffic: the keys of a pattern's table, its own and those shared by all patterns.
//!
//! Each key is declared once, below. Serde reads a table into one structure, so a macro makes one structure per pattern
//! with both kinds of keys; the result is always [`SyntheticParams`].

use odonata_units::{Bandwidth, Bytes, Filled, Number, Problem, Time, positive};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Arrival, ArrivalKind, Bursts, OnOff, Pattern, Reach, Step, Synthetic, Turn};

/// The table of one pattern, and its traffic.
macro_rules! table {
    (
        { $($(#[$shared_doc:meta])* $shared:ident: $shared_type:ty,)* }
        $(#[$doc:meta])* $name:ident { $($(#[$own_doc:meta])* $own:ident: $own_type:ty,)* }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Default, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$own_doc])* $own: $own_type,)*
            $($(#[$shared_doc])* $shared: $shared_type,)*
        }

        impl From<$name> for SyntheticParams {
            fn from(table: $name) -> Self {
                let $name { $($own,)* $($shared,)* } = table;
                let pattern = PatternParams::$name { $($own,)* };
                SyntheticParams { pattern, worst_case: false, $($shared,)* }
            }
        }
    };
}

macro_rules! synthetic {
    (
        shared $shared_keys:tt
        $($(#[$doc:meta])* $kind:literal $name:ident $({ $($(#[$own_doc:meta])* $own:ident: $own_type:ty,)* })?;)*
    ) => {
        synthetic!(@traffic $shared_keys);

        /// The pattern of synthetic traffic, with its own keys.
        #[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
        pub enum PatternParams {
            $($(#[$doc])* #[serde(rename = $kind)] $name $({ $($(#[$own_doc])* $own: $own_type,)* })?,)*
        }

        impl PatternParams {
            /// Its name among the workloads of a scenario.
            pub fn name(&self) -> &'static str {
                match self {
                    $(PatternParams::$name { .. } => $kind,)*
                }
            }
        }

        /// The tables of the patterns, as read.
        pub mod table {
            use super::*;

            $(table! { $shared_keys $(#[$doc])* $name { $($($(#[$own_doc])* $own: $own_type,)*)? } })*
        }
    };
    (@traffic { $($(#[$doc:meta])* $key:ident: $type:ty,)* }) => {
        /// Open-loop synthetic traffic: every rank sends whether or not the network keeps up.
        #[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
        pub struct SyntheticParams {
            /// Where messages go.
            pub pattern: PatternParams,
            /// Whether the pattern was requested as the worst case of the machine.
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            pub worst_case: bool,
            $($(#[$doc])* pub $key: $type,)*
        }
    };
}

synthetic! {
    shared {
        /// Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With one rank
        /// per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or `mean_interval` is
        /// required.
        #[schemars(range(min = 0, max = 1))]
        load: Option<f64>,
        /// Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`.
        mean_interval: Filled<Time>,
        /// Size of a message. Default: one packet.
        bytes: Filled<Bytes>,
        /// Distribution of the times between the messages of a rank.
        arrival: ArrivalKind,
        /// Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required.
        #[schemars(range(min = 1))]
        messages: Option<u64>,
        /// Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
        /// `time_limit`; none with `messages` or `until`.
        stop: Option<Time>,
        /// Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once; rates
        /// are those within a burst. Default: no bursts.
        on: Option<Time>,
        /// Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts.
        off: Option<Time>,
        /// Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`.
        period: Option<Time>,
        /// With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at most 1.
        /// Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is
        /// r1 alpha / (alpha + beta) messages per cycle.
        #[schemars(range(min = 0, max = 1))]
        alpha: Option<f64>,
        /// With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1. Required if
        /// one of the other two is missing.
        #[schemars(range(min = 0, max = 1))]
        beta: Option<f64>,
        /// With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1. Required if
        /// one of the other two is missing.
        #[schemars(range(min = 0, max = 1))]
        r1: Option<f64>,
        /// Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other, through
        /// their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
        #[serde(rename = "self")]
        itself: Filled<bool>,
    }

    /// Synthetic uniform random traffic to all other ranks; open-loop.
    "uniform" Uniform;

    /// Synthetic traffic to all ranks of the next group of ranks; the last group sends to the first. Open-loop.
    "next-group" NextGroup {
        /// Consecutive ranks of a group. Default: the number that fits a group of the machine (with the job's
        /// ranks_per_node, without storage servers).
        ranks_per_group: Filled<u32>,
    };

    /// Synthetic traffic of each rank to one other, all different; open-loop.
    "permutation" Permutation {
        /// The target of each rank. Default: drawn from the seed, uniformly from the cyclic permutations, or from all
        /// permutations if ranks may send to themselves.
        targets: Filled<Vec<u32>>,
        /// The seed of the targets, 0 to 2^63 - 1. Default: that of the scenario, different for every job.
        seed: Option<u64>,
    };

    /// Synthetic traffic to the neighbors on a grid of ranks; open-loop.
    "neighbors" Neighbors {
        /// Ranks along each dimension (1 to 4 of them), the first fastest; their product is `ranks`. Default: a balanced
        /// grid of `dimensions` dimensions.
        dims: Option<Vec<u32>>,
        /// Dimensions of the balanced grid, 1 to 4; ignored if `dims` is given. Default: 3.
        dimensions: Filled<u32>,
        /// Whether the grid is a torus; otherwise ranks at its border have fewer neighbors. Default: true.
        wrap: Filled<bool>,
        /// The neighbors of a rank.
        reach: Reach,
        /// The order of neighbors.
        turn: Turn,
    };

    /// Synthetic traffic with hot spots: a share of it goes uniformly to the targets, the rest uniformly to all other
    /// ranks. Open-loop.
    "hot-spot" HotSpot {
        /// The hot ranks. Default: [0].
        targets: Filled<Vec<u32>>,
        /// The probability that a message goes to one of them: above 0, at most 1. Required.
        #[schemars(range(min = 0, max = 1))]
        share: Filled<f64>,
    };

    /// Synthetic traffic of all other ranks to the targets, which send nothing; open-loop.
    "incast" Incast {
        /// The targets. Default: [0].
        targets: Filled<Vec<u32>>,
    };

    /// Synthetic traffic of each rank to all others in turn, starting with the next one; open-loop.
    "all-to-all" AllToAll;

    /// Synthetic traffic from coordinate c to c + ceil(k / 2) - 1 modulo k in every dimension, of extent k, of a grid.
    /// Open-loop.
    "tornado" Tornado {
        /// Ranks along each dimension (1 to 4 of them), the first fastest; their product is `ranks`. Default: a ring.
        dims: Option<Vec<u32>>,
    };

    /// Synthetic traffic from row i, column j of a square of ranks to row j, column i; the diagonal sends nothing.
    /// Needs a square number of ranks. Open-loop.
    "transpose" Transpose;

    /// Synthetic traffic to the rank with all bits inverted. Needs a power of two of ranks. Open-loop.
    "bit-complement" BitComplement;

    /// Synthetic traffic to the rank with the bits in reverse order; palindromic ranks send nothing. Needs a power of
    /// two of ranks. Open-loop.
    "bit-reverse" BitReverse;

    /// Synthetic traffic to the rank with the bits rotated left by one; the first and the last rank send nothing. Needs
    /// a power of two of ranks. Open-loop.
    "shuffle" Shuffle;

    /// Synthetic traffic to the rank with the bits rotated right by one; the first and the last rank send nothing.
    /// Needs a power of two of ranks. Open-loop.
    "bit-rotation" BitRotation;

    /// Synthetic traffic from rank s of n to rank s mod n/2 and to that plus n/2, with equal probability; only to the
    /// one that is not the rank itself unless `self` is set. Needs an even number of ranks. Open-loop.
    "asymmetric" Asymmetric;

    /// Synthetic traffic from rank s to rank s + by, modulo the ranks; open-loop.
    "shift" Shift {
        /// The distance in ranks; not a multiple of the ranks. Required.
        by: Filled<u32>,
    };

    /// Synthetic traffic of each rank to the rank of the same position at another router of a grid; open-loop.
    "grid" Grid {
        /// Where to. Required.
        step: Filled<Step>,
        /// Routers along each dimension (1 to 4 of them), the first fastest; with `ranks_per_router`, their product is
        /// `ranks`. Default: a square.
        dims: Option<Vec<u32>>,
        /// Consecutive ranks of a router. Default: 1.
        ranks_per_router: Filled<u32>,
    };

    /// Synthetic traffic from row i of a square of ranks uniformly to all ranks of column i, as BookSim's
    /// `badperm_yarc`: bad for minimal routing on a flattened butterfly. Needs a square number of ranks. Open-loop.
    "badperm-yarc" BadpermYarc;

    /// Synthetic traffic by a matrix of weights; open-loop. Every rank with a weight sends at the same rate; its
    /// weights give the destinations.
    "matrix" Matrix {
        /// A CSV file with a header and the columns source, target (ranks) and weight (at least 0); relative to the scenario's
        /// folder. Required.
        file: Filled<String>,
    };

    /// Worst-case synthetic traffic for minimal routing on this machine, for a job that fills it in order (`placement`
    /// is "contiguous"); for other jobs `odonata check` warns. On a dragonfly: to the next group. Open-loop.
    "worst-case" WorstCase;
}

/// Defaults for the traffic of a job.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// Ranks of the job.
    pub ranks: u32,
    /// Whether another job will stop its ranks.
    pub stopped_by_job: bool,
    /// Largest packet of the network.
    pub packet: Bytes,
    /// Bandwidth of the link between a node and its router.
    pub terminal: Bandwidth,
    /// Length of a network cycle in picoseconds, if defined.
    pub cycle_ps: Option<f64>,
    /// The end of the run in any case.
    pub time_limit: Option<Time>,
}

impl SyntheticParams {
    /// Fills in and checks the shared keys of the traffic at key `at`, and their consistency. The pattern is already
    /// resolved: worst case, groups and drawn targets are filled in.
    ///
    /// # Errors
    /// A key is out of its range or without effect, or the traffic does not fit the ranks or never ends.
    pub fn resolve(&mut self, at: &str, around: &Surroundings) -> Result<(), Problem> {
        self.rate(at, around)?;
        if self.messages == Some(0) {
            return Err(Problem::new(format!("{at}.messages"), "no messages", "at least 1"));
        }
        self.cycle(at, around.cycle_ps)?;
        self.chain(at)?;
        self.check_bursts(at)?;
        // The run's limit stops traffic without another end. Traffic stopped by another job sends until then, and a
        // requested number of messages is not cut short.
        if !around.stopped_by_job && self.messages.is_none() {
            self.stop = self.stop.or(around.time_limit);
        }
        let Err(problem) = self.traffic(around.ranks, around.stopped_by_job) else {
            return Ok(());
        };
        let mut other = self.clone();
        if other.pattern.without_dims() && other.traffic(around.ranks, around.stopped_by_job).is_ok() {
            return Err(wrong_dims(at, problem, around.ranks));
        }
        let error = Problem::new(at, problem, "");
        let endless = self.messages.is_none() && self.stop.is_none() && !around.stopped_by_job;
        Err(if endless {
            error.hint("run.time_limit and the job's until also end it; odonata load-sweep needs no end")
        } else {
            error
        })
    }

    /// Size of a message, and mean time between the messages of a rank.
    fn rate(&mut self, at: &str, around: &Surroundings) -> Result<(), Problem> {
        let bytes = *self.bytes.fill(around.packet);
        self.itself.fill(false);
        match (self.load, self.mean_interval.given()) {
            (None, Some(&interval)) => positive(format!("{at}.mean_interval"), interval).map(|_| ()),
            (Some(load), None) => {
                let key = format!("{at}.load");
                if !(load > 0.0 && load <= 1.0) {
                    let problem = format!("the load is {}", Number(load));
                    return Err(Problem::new(key, problem, "above 0, at most 1"));
                }
                let problem = format!("messages of {bytes} at a load of {}", Number(load));
                let interval = interval(load, bytes, around.terminal)
                    .ok_or_else(|| Problem::new(key, problem, "mean_interval instead"))?;
                self.mean_interval.fill(interval);
                Ok(())
            }
            _ => {
                let problem = Problem::new(at, "the rate is not defined", "exactly one of load and mean_interval");
                Err(problem.hint("load = 0.5 is half the terminal link's bandwidth per rank"))
            }
        }
    }

    /// The length of a cycle, for arrivals that need one.
    fn cycle(&mut self, at: &str, clock_ps: Option<f64>) -> Result<(), Problem> {
        let in_cycles = matches!(self.arrival, ArrivalKind::Bernoulli | ArrivalKind::OnOff);
        match (in_cycles, self.period) {
            (true, None) => match clock_ps {
                Some(ps) if ps == ps.round() && ps >= 1.0 => {
                    self.period = Some(Time(ps as u64));
                    Ok(())
                }
                _ => Err(Problem::new(
                    at,
                    "arrivals in cycles of undefined length",
                    "the key \"period\", such as \"1 ns\", or network.clock",
                )),
            },
            (true, Some(period)) => positive(format!("{at}.period"), period).map(|_| ()),
            (false, None) => Ok(()),
            (false, Some(_)) => Err(Problem::new(
                format!("{at}.period"),
                "a period without cycles",
                "arrival = \"bernoulli\" or \"on-off\"",
            )),
        }
    }

    /// The keys of a Markov chain need on-off arrivals.
    fn chain(&self, at: &str) -> Result<(), Problem> {
        let keys = [("alpha", self.alpha), ("beta", self.beta), ("r1", self.r1)];
        match keys.iter().find(|(_, value)| value.is_some()) {
            Some((key, _)) if self.arrival != ArrivalKind::OnOff => Err(Problem::new(
                format!("{at}.{key}"),
                "on-off parameters without on-off arrivals",
                "arrival = \"on-off\"",
            )),
            _ => Ok(()),
        }
    }

    fn check_bursts(&self, at: &str) -> Result<(), Problem> {
        let alone = |key: &str, problem: &str| Problem::new(format!("{at}.{key}"), problem, "on and off, or neither");
        match (self.on, self.off) {
            (None, None) => Ok(()),
            (Some(on), Some(off)) => {
                positive(format!("{at}.on"), on)?;
                positive(format!("{at}.off"), off).map(|_| ())
            }
            (Some(_), None) => Err(alone("on", "bursts without silence")),
            (None, Some(_)) => Err(alone("off", "silence without bursts")),
        }
    }

    /// Bursts of traffic, from the start of the job on; `None` without bursts.
    pub fn bursts(&self) -> Option<Bursts> {
        let (on, off) = self.on.zip(self.off)?;
        Some(Bursts { on, off })
    }

    /// The traffic of every rank of a job of `ranks` ranks; `stopped_by_job`: another job will stop it.
    ///
    /// # Errors
    /// The pattern does not fit the number of ranks, or the traffic never ends.
    pub fn traffic(&self, ranks: u32, stopped_by_job: bool) -> Result<Synthetic, String> {
        let traffic = Synthetic {
            pattern: self.pattern.pattern(ranks)?,
            bytes: self.bytes.0,
            arrival: self.arrivals()?,
            bursts: self.bursts(),
            messages: self.messages,
            stop: self.stop,
            stopped_by_job,
            itself: *self.itself,
        };
        traffic.check(ranks)?;
        Ok(traffic)
    }

    /// The arrival process.
    ///
    /// # Errors
    /// A cycle is missing or has more than one message, or the Markov chain is impossible.
    fn arrivals(&self) -> Result<Arrival, String> {
        let period = || self.period.ok_or("arrivals in cycles: expected a period".to_string());
        let rate = |period: Time| match period.0 as f64 / self.mean_interval.0.max(1) as f64 {
            rate if rate > 1.0 => Err(format!(
                "{rate:.6} messages per cycle of {period}: expected at most 1 (a shorter period, or longer messages)"
            )),
            rate => Ok(rate),
        };
        Ok(match self.arrival {
            ArrivalKind::Fixed => Arrival::Fixed,
            ArrivalKind::Exponential => Arrival::Exponential,
            ArrivalKind::Bernoulli => {
                let period = period()?;
                rate(period)?;
                Arrival::Bernoulli { period }
            }
            ArrivalKind::OnOff => {
                let period = period()?;
                let process = OnOff::with_rate(period, rate(period)?, self.alpha, self.beta, self.r1)?;
                Arrival::OnOff(process)
            }
        })
    }

    /// The same traffic at another load, as a fraction of `bandwidth`, that of the terminal link; `None` if no message
    /// interval gives it.
    pub fn with_load(&self, load: f64, bandwidth: Bandwidth) -> Option<SyntheticParams> {
        Some(SyntheticParams {
            load: Some(load),
            mean_interval: interval(load, *self.bytes, bandwidth)?.into(),
            ..self.clone()
        })
    }
}

/// Mean time between messages of `bytes` that offer `load` of `bandwidth`; `None` if impossible: a load counts payload,
/// so a message without payload has none.
fn interval(load: f64, bytes: Bytes, bandwidth: Bandwidth) -> Option<Time> {
    let time = bytes.0 as f64 * bandwidth.ps_per_byte() / load;
    let possible = bytes > Bytes::ZERO && time > 0.0 && time <= Time::LONGEST.0 as f64;
    possible.then(|| Time((time.round() as u64).max(1)))
}

/// The problem that the extents of the workload at key `at` do not fit `ranks` ranks.
pub fn wrong_dims(at: &str, problem: String, ranks: u32) -> Problem {
    let error = Problem::new(
        format!("{at}.dims"),
        problem,
        format!("extents that make {ranks} ranks"),
    );
    error.hint("leave dims out for a balanced grid")
}

impl PatternParams {
    /// Fills in and checks the pattern's own keys, for `ranks` ranks, at key `at`. Values that depend on the machine or
    /// are drawn stay empty.
    ///
    /// # Errors
    /// A key is missing or out of its range.
    pub fn resolve(&mut self, at: &str, ranks: u32) -> Result<(), Problem> {
        let missing = |key: &str, expected: &str| {
            let problem = format!("the key \"{key}\" is missing");
            Err(Problem::new(at, problem, expected))
        };
        match self {
            PatternParams::Permutation { targets, .. } => match targets.given() {
                Some(targets) => distinct(&format!("{at}.targets"), targets, u32::MAX),
                None => Ok(()),
            },
            PatternParams::Neighbors { dimensions, wrap, .. } => {
                dimensions.fill(3);
                wrap.fill(true);
                Ok(())
            }
            PatternParams::HotSpot { targets, share } => {
                let Some(&share) = share.given() else {
                    return missing("share", "a probability above 0, at most 1");
                };
                if !(share > 0.0 && share <= 1.0) {
                    let problem = format!("a share of {}", Number(share));
                    return Err(Problem::new(format!("{at}.share"), problem, "above 0, at most 1"));
                }
                // Any rank would do as the default.
                distinct(&format!("{at}.targets"), targets.fill(vec![0]), ranks)
            }
            PatternParams::Incast { targets } => distinct(&format!("{at}.targets"), targets.fill(vec![0]), ranks),
            PatternParams::Matrix { file } if file.is_empty() => {
                missing("file", "a CSV file with source, target and weight")
            }
            PatternParams::Shift { by } if by.is_empty() => missing("by", "the distance in ranks"),
            PatternParams::Grid { step, .. } if step.is_empty() => missing(
                "step",
                "one of neighbor, diagonal, tornado, next, transpose, complement-reverse",
            ),
            PatternParams::Grid { ranks_per_router, .. } => {
                ranks_per_router.fill(1);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Removes the extents of its grid; returns whether there were any.
    fn without_dims(&mut self) -> bool {
        match self {
            PatternParams::Neighbors { dims, .. }
            | PatternParams::Tornado { dims }
            | PatternParams::Grid { dims, .. } => dims.take().is_some(),
            _ => false,
        }
    }

    /// The pattern for `ranks` ranks.
    ///
    /// # Errors
    /// The extents of its grid do not fit.
    fn pattern(&self, ranks: u32) -> Result<Pattern, String> {
        Ok(match self {
            PatternParams::Uniform => Pattern::Uniform,
            PatternParams::NextGroup { ranks_per_group } => Pattern::NextGroup {
                ranks_per_group: **ranks_per_group,
            },
            PatternParams::Permutation { targets, .. } => Pattern::Permutation {
                targets: targets.as_slice().into(),
            },
            PatternParams::Neighbors {
                dims,
                dimensions,
                wrap,
                reach,
                turn,
            } => {
                let neighbors = super::Neighbors::new(ranks, dims.as_deref(), **dimensions, **wrap, *reach, *turn)?;
                Pattern::Neighbors(neighbors)
            }
            PatternParams::HotSpot { targets, share } => Pattern::HotSpot {
                targets: targets.as_slice().into(),
                share: **share,
            },
            PatternParams::Incast { targets } => Pattern::Incast {
                targets: targets.as_slice().into(),
            },
            PatternParams::AllToAll => Pattern::AllToAll,
            PatternParams::Tornado { dims } => Pattern::Tornado(super::Tornado::new(ranks, dims.as_deref())?),
            PatternParams::Transpose => Pattern::Transpose,
            PatternParams::BitComplement => Pattern::BitComplement,
            PatternParams::BitReverse => Pattern::BitReverse,
            PatternParams::Shuffle => Pattern::Shuffle,
            PatternParams::BitRotation => Pattern::BitRotation,
            PatternParams::Asymmetric => Pattern::Asymmetric,
            PatternParams::Shift { by } => Pattern::Shift { by: **by },
            PatternParams::Grid {
                step,
                dims,
                ranks_per_router,
            } => {
                let shift = super::GridShift::new(ranks, dims.as_deref(), **ranks_per_router, **step)?;
                Pattern::GridShift(shift)
            }
            PatternParams::BadpermYarc => Pattern::BadpermYarc,
            PatternParams::Matrix { file } => {
                Pattern::Matrix(super::TrafficMatrix::read(std::path::Path::new(file.as_str()), ranks)?)
            }
            PatternParams::WorstCase => return Err("a worst case without a machine".into()),
        })
    }
}

/// Checks that the entries of a list are distinct ranks below `ranks`.
fn distinct(key: &str, list: &[u32], ranks: u32) -> Result<(), Problem> {
    let mut first = std::collections::BTreeMap::new();
    for (at, &value) in list.iter().enumerate() {
        let key = || format!("{key}.{at}");
        if value >= ranks {
            let problem = format!("there is no rank {value}");
            return Err(Problem::new(
                key(),
                problem,
                format!("0 to {}", ranks.saturating_sub(1)),
            ));
        }
        if let Some(before) = first.insert(value, at) {
            let problem = format!("{value} is listed twice, at positions {before} and {at}");
            return Err(Problem::new(key(), problem, "every rank once"));
        }
    }
    Ok(())
}
