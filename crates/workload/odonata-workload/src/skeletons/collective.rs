//! One collective repeated, as in benchmarks: the OSU micro-benchmarks, the Intel MPI benchmarks, a training loop.
//!
//! An iteration is: compute; the collective; mark. With `overlap` it is: begin the collective; compute; wait for it;
//! mark. Only the collective itself synchronizes the ranks.

use odonata_units::{Bytes, Filled, Problem, Time, counted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Parameters;
use crate::collective::Algorithm;
use crate::collective::choice::{self, AlgorithmSizes};
use crate::program::check_length;
use crate::{Collective, Comm, Cursor, Op, OpKind, Program, Request};

/// The parameters of the workloads with one collective. `$call` builds the call from the table `$this`.
macro_rules! collectives {
    ($($(#[$doc:meta])* $name:ident $schema:literal $algorithm:ty
        { $($(#[$key_doc:meta])* $key:ident: $type:ty,)* } $this:ident => $call:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        #[schemars(rename = $schema)]
        pub struct $name {
            $($(#[$key_doc])* pub $key: $type,)*
            /// Algorithm. "auto": the choice of `mpi.collectives`, whose segment and window apply to every algorithm.
            pub algorithm: $algorithm,
            /// How often.
            pub iterations: u32,
            /// Computation of each rank before each call, e.g. "50 ms".
            pub compute: Time,
            /// Whether the call is non-blocking and the ranks compute before they wait for it.
            pub overlap: bool,
        }

        impl Default for $name {
            fn default() -> Self {
                $name {
                    $($key: Default::default(),)*
                    algorithm: Default::default(),
                    iterations: 10,
                    compute: Time::ZERO,
                    overlap: false,
                }
            }
        }

        impl Parameters for $name {
            #[allow(unused_variables, reason = "a barrier has no keys of its own")]
            fn resolve(&mut self, at: &str, ranks: u32) -> Result<(), Problem> {
                $(Own::resolve(&mut self.$key, at, stringify!($key), ranks)?;)*
                collectives!(@element self at $($key)*);
                Ok(())
            }

            fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
                let $this = self;
                let none = AlgorithmSizes { segment: 0, window: 0, radix: 0 };
                let parts = CollectiveLoop {
                    ranks,
                    collective: $call,
                    algorithm: self.algorithm.algorithm(none),
                    iterations: self.iterations,
                    compute: self.compute,
                    overlap: self.overlap,
                };
                Ok(Box::new(parts.checked()?))
            }
        }
    )*};
    (@element $self:ident $at:ident bytes root element) => {
        $self.element.fill(element($at, $self.bytes.0, $self.element.given().copied())?);
    };
    (@element $self:ident $at:ident bytes element) => {
        $self.element.fill(element($at, $self.bytes.0, $self.element.given().copied())?);
    };
    (@element $self:ident $at:ident $($key:ident)*) => {};
}

/// A key of some collectives only.
trait Own {
    /// Checks the key `name` of the table at `at`.
    fn resolve(&mut self, at: &str, name: &str, ranks: u32) -> Result<(), Problem>;
}

/// A required size. The size of an element has a default, filled in later.
impl Own for Filled<Bytes> {
    fn resolve(&mut self, at: &str, name: &str, _: u32) -> Result<(), Problem> {
        if self.is_empty() && name == "bytes" {
            let problem = "the key \"bytes\" is missing";
            return Err(Problem::new(at, problem, "a size such as \"1 MB\""));
        }
        Ok(())
    }
}

/// A rank of the job.
impl Own for u32 {
    fn resolve(&mut self, at: &str, name: &str, ranks: u32) -> Result<(), Problem> {
        if *self >= ranks {
            let problem = format!("there is no rank {self}");
            let expected = format!("0 to {}", ranks.saturating_sub(1));
            return Err(Problem::new(format!("{at}.{name}"), problem, expected));
        }
        Ok(())
    }
}

/// The element size of a vector of `bytes`, which is cut only between elements. Default: 8 B (a double) if it divides
/// the vector, otherwise 1 B.
fn element(at: &str, bytes: u64, given: Option<Bytes>) -> Result<Bytes, Problem> {
    let Some(element) = given else {
        return Ok(Bytes(if bytes.is_multiple_of(8) { 8 } else { 1 }));
    };
    if element == Bytes::ZERO {
        return Err(Problem::new(format!("{at}.element"), "elements of 0 B", "1 B at least"));
    }
    if !bytes.is_multiple_of(element.0) {
        let problem = format!("{} do not divide into elements of {element}", Bytes(bytes));
        return Err(Problem::new(format!("{at}.element"), problem, "a divisor of bytes"));
    }
    Ok(element)
}

collectives! {
    /// Barriers: `iterations` times computation and a barrier.
    BarrierParams "BarrierWorkload" choice::Barrier {} _this => Collective::Barrier { comm: Comm::WORLD };

    /// Broadcasts: `iterations` times computation and a broadcast.
    BroadcastParams "BroadcastWorkload" choice::Broadcast {
        /// Size, e.g. "1 MB". Required.
        #[schemars(with = "Option<Bytes>")]
        bytes: Filled<Bytes>,
        /// The rank with the data.
        root: u32,
    } this => Collective::Broadcast { comm: Comm::WORLD, root: this.root, bytes: this.bytes.0 };

    /// Reductions: `iterations` times computation and a reduction to one rank.
    ReduceParams "ReduceWorkload" choice::Reduce {
        /// Size of the whole vector, e.g. "1 MB". Required.
        #[schemars(with = "Option<Bytes>")]
        bytes: Filled<Bytes>,
        /// The rank that gets the result.
        root: u32,
        /// Size of an element, which is never split, e.g. "4 B". Default: "8 B" if that divides the vector, else "1 B".
        #[schemars(with = "Option<Bytes>")]
        element: Filled<Bytes>,
    } this => Collective::Reduce {
        comm: Comm::WORLD, root: this.root, bytes: this.bytes.0, count: this.bytes.0 / this.element.0,
    };

    /// All-reduces: `iterations` times computation and an all-reduce, as in data-parallel training.
    AllreduceParams "AllreduceWorkload" choice::Allreduce {
        /// Size of the whole vector, e.g. "1 GB". Required.
        #[schemars(with = "Option<Bytes>")]
        bytes: Filled<Bytes>,
        /// Size of an element, which is never split, e.g. "4 B". Default: "8 B" if that divides the vector, else "1 B".
        #[schemars(with = "Option<Bytes>")]
        element: Filled<Bytes>,
    } this => Collective::Allreduce {
        comm: Comm::WORLD, bytes: this.bytes.0, count: this.bytes.0 / this.element.0,
    };

    /// Gathers: `iterations` times computation and a gather.
    GatherParams "GatherWorkload" choice::Gather {
        /// Size given by each rank, e.g. "64 KiB". Required.
        #[schemars(with = "Option<Bytes>")]
        bytes: Filled<Bytes>,
        /// The rank that gets the data.
        root: u32,
    } this => Collective::Gather { comm: Comm::WORLD, root: this.root, bytes: this.bytes.0 };

    /// Scatters: `iterations` times computation and a scatter.
    ScatterParams "ScatterWorkload" choice::Scatter {
        /// Size received by each rank, e.g. "64 KiB". Required.
        #[schemars(with = "Option<Bytes>")]
        bytes: Filled<Bytes>,
        /// The rank with the data.
        root: u32,
    } this => Collective::Scatter { comm: Comm::WORLD, root: this.root, bytes: this.bytes.0 };

    /// All-gathers: `iterations` times computation and an all-gather.
    AllgatherParams "AllgatherWorkload" choice::Allgather {
        /// Size given by each rank, e.g. "64 KiB"; the result has this size times the number of ranks. Required.
        #[schemars(with = "Option<Bytes>")]
        bytes: Filled<Bytes>,
    } this => Collective::Allgather { comm: Comm::WORLD, bytes: this.bytes.0 };

    /// Reduce-scatters: `iterations` times computation and a reduce-scatter of equal blocks.
    ReduceScatterParams "ReduceScatterWorkload" choice::ReduceScatter {
        /// Share of the result for each rank, e.g. "64 KiB"; the vector has this size times the number of ranks.
        /// Required.
        #[schemars(with = "Option<Bytes>")]
        bytes: Filled<Bytes>,
        /// Size of an element, which is never split, e.g. "4 B". Default: "8 B" if that divides a share, else "1 B".
        #[schemars(with = "Option<Bytes>")]
        element: Filled<Bytes>,
    } this => Collective::ReduceScatterBlock {
        comm: Comm::WORLD, bytes: this.bytes.0, count: this.bytes.0 / this.element.0,
    };

    /// Inclusive scans: `iterations` times computation and a scan.
    ScanParams "ScanWorkload" choice::Scan {
        /// Size of the whole vector, e.g. "1 KiB". Required.
        #[schemars(with = "Option<Bytes>")]
        bytes: Filled<Bytes>,
        /// Size of an element, which is never split, e.g. "4 B". Default: "8 B" if that divides the vector, else "1 B".
        #[schemars(with = "Option<Bytes>")]
        element: Filled<Bytes>,
    } this => Collective::Scan { comm: Comm::WORLD, bytes: this.bytes.0, count: this.bytes.0 / this.element.0 };

    /// Exclusive scans: `iterations` times computation and a scan.
    ExscanParams "ExscanWorkload" choice::Scan {
        /// Size of the whole vector, e.g. "1 KiB". Required.
        #[schemars(with = "Option<Bytes>")]
        bytes: Filled<Bytes>,
        /// Size of an element, which is never split, e.g. "4 B". Default: "8 B" if that divides the vector, else "1 B".
        #[schemars(with = "Option<Bytes>")]
        element: Filled<Bytes>,
    } this => Collective::Exscan { comm: Comm::WORLD, bytes: this.bytes.0, count: this.bytes.0 / this.element.0 };

    /// All-to-alls of equal blocks: `iterations` times computation and an all-to-all. Ranks wait for their messages,
    /// unlike the synthetic traffic `all-to-all`.
    AlltoallParams "AlltoallWorkload" choice::Alltoall {
        /// Size given by each rank to each rank, e.g. "4 KiB". Required.
        #[schemars(with = "Option<Bytes>")]
        bytes: Filled<Bytes>,
    } this => Collective::Alltoall { comm: Comm::WORLD, bytes: this.bytes.0 };
}

/// One collective of all ranks of the job, repeated.
#[derive(Clone, Debug)]
pub struct CollectiveLoop {
    ranks: u32,
    collective: Collective,
    /// The named algorithm, without sizes; `None` for the scenario's choice.
    algorithm: Option<Algorithm>,
    iterations: u32,
    compute: Time,
    overlap: bool,
}

/// The request of the collective in progress; one at a time.
const CALL: Request = Request(0);

impl CollectiveLoop {
    /// Checks the program.
    fn checked(self) -> Result<Self, String> {
        if self.ranks == 0 {
            return Err("the job has no ranks".into());
        }
        check_length(self.iterations, 4)?;
        self.collective.check(self.ranks)?;
        match self.algorithm {
            Some(algorithm) if self.ranks > 1 && !algorithm.supports(&self.collective, self.ranks) => {
                Err(unsupported(algorithm, &self.collective, self.ranks))
            }
            _ => Ok(self),
        }
    }
}

/// The reason why `algorithm`, which serves this kind of collective, does not support it on `ranks` ranks.
fn unsupported(algorithm: Algorithm, collective: &Collective, ranks: u32) -> String {
    let needs = match (algorithm, collective) {
        (Algorithm::Ring | Algorithm::SegmentedRing { .. }, Collective::Allreduce { count, .. }) => {
            format!("at least as many elements as ranks, not {count} on {ranks} ranks")
        }
        (Algorithm::NeighborExchange, _) => format!("an even number of ranks, not {ranks}"),
        _ => format!("a power of two of ranks, not {ranks}"),
    };
    format!("the algorithm \"{}\" needs {needs}", algorithm.name())
}

impl Program for CollectiveLoop {
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
        let CollectiveLoop {
            collective,
            compute: duration,
            overlap,
            ..
        } = *self;
        let computes = (duration > Time::ZERO).then_some(OpKind::Compute { duration });
        cursor.advance(|[iteration, step, ..]| {
            loop {
                if *iteration >= self.iterations {
                    return None;
                }
                let kind = match (*step, overlap) {
                    (0, false) | (1, true) => computes,
                    (1, false) => Some(OpKind::Collective(collective)),
                    (0, true) => Some(OpKind::Icollective {
                        collective,
                        request: CALL,
                    }),
                    (2, _) => overlap.then_some(OpKind::Wait { request: CALL }),
                    _ => Some(OpKind::Mark { iteration: *iteration }),
                };
                (*iteration, *step) = if *step == 3 {
                    (*iteration + 1, 0)
                } else {
                    (*iteration, *step + 1)
                };
                if kind.is_some() {
                    return kind;
                }
            }
        })
    }

    fn algorithm(&self, collective: &Collective) -> Option<Algorithm> {
        self.algorithm.filter(|_| *collective == self.collective)
    }

    fn names(&self, algorithm: Algorithm) -> bool {
        self.algorithm == Some(algorithm)
    }

    fn iterations(&self) -> Option<u32> {
        Some(self.iterations)
    }

    fn describe(&self) -> String {
        let how = self
            .algorithm
            .map_or(String::new(), |algorithm| format!(", {}", algorithm.name()));
        let computes = match (self.compute, self.overlap) {
            (Time::ZERO, _) => String::new(),
            (time, false) => format!(", after {time} of computation each"),
            (time, true) => format!(", beside {time} of computation each"),
        };
        format!(
            "{}{how}, {} ranks, {}{computes}",
            self.collective,
            self.ranks,
            counted(self.iterations, "iteration")
        )
    }
}
