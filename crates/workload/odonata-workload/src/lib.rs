//! Workloads: the activities of the ranks of a parallel job.
//!
//! A job is either a [`Program`], whose ranks wait for their messages, collectives and files, or [`synthetic`]
//! open-loop traffic. This crate describes requests; time passes elsewhere: it knows no network, no storage and no
//! clock.
//!
//! ```text
//!  Program ── next(rank, cursor) ──> Op ──┬─ compute, mark ───────────> the rank's clock
//!  (skeletons)                            ├─ send, receive, wait ─────> MPI matching
//!                                         ├─ collective ── step(…) ───> MPI matching
//!                                         └─ open, read, write, … ────> files and servers
//!  Synthetic ── destination, gap ─────────────────────────────────────> messages
//! ```
//!
//! # A program is a function
//!
//! An engine *pulls* the operations of a rank one at a time. The only state of a rank is the [`Cursor`] that the engine
//! keeps for it, a few plain words. So nothing is expanded in advance, and restoring the cursor rolls back the rank.
//!
//! ```
//! use odonata_workload::skeletons::{Milc, MilcParams};
//! use odonata_workload::{Cursor, OpKind, Program, Source};
//!
//! let milc = Milc::new(300, MilcParams::default())?;
//! let mut cursor = Cursor::default();
//! let first = milc.next(0, &mut cursor).expect("a program has operations");
//! // Rank 0 first posts a receive from its neighbor at -1 in a dimension of 3 that wraps around.
//! assert!(matches!(first.kind, OpKind::Irecv { from: Source::Rank(2), bytes: 497_664, .. }));
//!
//! let before = cursor;
//! let second = milc.next(0, &mut cursor);
//! cursor = before; // rolled back
//! assert_eq!(milc.next(0, &mut cursor), second);
//! # Ok::<(), String>(())
//! ```
//!
//! # Order
//!
//! Operations of one stream run one after the other; an [`Op`] may also wait for others ([`After`]). The skeletons have
//! one stream and overlap operations with [requests](Request), as in MPI.
//!
//! Programs written in a language or read from files are separate crates: `odonata-conceptual`, `odonata-dumpi`,
//! `odonata-program-file`.
//!
//! [`Phases`] combines programs into one that runs them in sequence, repeatedly.
//!
//! # Collectives
//!
//! The MPI layer turns a [`Collective`] into messages: it [chooses](collective::choose) an algorithm once and then
//! requests one [step](collective::step) after the other. Algorithms and decision rules are those of MPICH or Open MPI
//! ([`Library`](collective::Library)).
//!
//! ```
//! use odonata_workload::collective::{Algorithm, Rules, choose, step};
//! use odonata_workload::{Collective, Comm, Counts};
//!
//! let sum = Collective::Allreduce { comm: Comm::WORLD, bytes: 8, count: 1 };
//! // Sizes that differ from rank to rank would come from Program::bytes; a sum has none.
//! let sizes = |_: Counts, _: u32, _: u32| 0;
//! let algorithm = choose(&sum, 4, &Rules::default(), &sizes);
//! assert_eq!(algorithm, Algorithm::RecursiveDoubling);
//! // Rank 1 exchanges with 0, then with 3.
//! let peers: Vec<u32> = (0..)
//!     .map_while(|index| step(&sum, algorithm, 1, 4, index, &sizes))
//!     .filter_map(|step| step.send)
//!     .map(|send| send.peer)
//!     .collect();
//! assert_eq!(peers, [0, 3]);
//! ```
//!
//! # Adding a program
//!
//! One file in `skeletons/`: a struct of parameters whose `Default` is a published run, a `new` that refuses invalid
//! parameters, and [`Program::next`] as a state machine over the words of the cursor ([`Cursor::advance`] does the
//! numbering). Its tests compare the totals with the publication.

pub mod aggregate;
pub mod collective;
mod grid;
mod group;
mod loggops;
mod named;
mod one_sided;
mod op;
mod permutation;
mod phases;
mod program;
mod recent;
mod regular_file;
pub mod skeletons;
pub mod synthetic;

pub use collective::{Algorithm, Collective};
pub use group::Group;
pub use loggops::{LogGops, RankTimes};
pub use one_sided::{Access, OneSided};
pub use op::{After, Comm, Counts, FileCall, Op, OpId, OpKind, PROC_NULL, Parallelism, Request, Source, Tag};
pub use phases::{FILE_BITS, PhaseCursor, Phases};
pub use program::{Cursor, Program, ReportColumn, ReportText, Seen, operations};
pub use recent::Recent;
pub use regular_file::{open_regular, read_regular};
pub use synthetic::{
    Arrival, Bursts, GridShift, Neighbors, OnOff, Pattern, Reach, Step, Synthetic, Tornado, Turn, WorstCase,
};
