//! The MPI library of the ranks: point-to-point messages and their protocols, matching, requests, collectives.
//!
//! [`Mpi`] is a state machine. Its inputs are a call of a rank, the arrival of a message, the completion of a request,
//! and the end of an occupied time. Each input comes with the time and the observers ([`Turn`](crate::turn::Turn)) and adds its
//! [effects](effect::MpiEffect) to a list, which the hosts carry out in order. `Mpi` knows neither fabric nor executor.
//!
//! | file | content |
//! |---|---|
//! | `call` | calls of ranks: their beginning, their costs |
//! | `message` | sends, receives and matching |
//! | `completion` | completion of requests, end of calls, steps of collectives |
//!
//! Its parts own their state and do not know each other: calls in progress (`calls`) with the schedules of collectives
//! (`collective`), queues (`matching`), `request`, `sequence`, `rendezvous`, deferred work (`progress`), and the locks and
//! notices of one-sided communication (`one_sided`).

mod call;
pub(crate) mod calls;
pub(crate) mod collective;
pub(crate) mod communicator;
mod completion;
pub(crate) mod contribution;
mod costs;
pub(crate) mod effect;
pub(crate) mod matching;
mod message;
mod one_sided;
pub(crate) mod persistent;
pub(crate) mod progress;
pub(crate) mod reduction;
pub(crate) mod rendezvous;
pub(crate) mod request;
pub(crate) mod sequence;
pub(crate) mod stamp;

use crate::layout::{Layout, PartRanks, cells};
use crate::noise::OsNoise;
use crate::params::HostParams;
use crate::settings::{self, Progress};
use calls::Calls;
use matching::{Matching, Queues};
use odonata_engine::{List, SparseStore};
pub(crate) use one_sided::ArrivedAccess;
use one_sided::Windows;
use progress::DeferredWork;
use reduction::Reductions;
use rendezvous::Rendezvous;
use request::Requests;
use sequence::SequenceNumbers;

/// The MPI library of the ranks of a part.
#[derive(Debug)]
pub(crate) struct Mpi {
    pub(crate) settings: settings::Mpi,
    pub(crate) layout: Layout,
    pub(crate) calls: Calls,
    pub(crate) matching: Matching,
    pub(crate) requests: Requests,
    pub(crate) sequences: SequenceNumbers,
    pub(crate) rendezvous: Rendezvous,
    pub(crate) deferred: DeferredWork,
    pub(crate) windows: Windows,
    pub(crate) reductions: Reductions,
    pub(crate) noise: OsNoise,
}
odonata_engine::journalled!(Mpi {
    calls,
    matching,
    requests,
    sequences,
    rendezvous,
    deferred,
    windows,
    reductions,
});

impl Mpi {
    /// The library of the ranks of a part, given as for [`cells`]; `owners` name the random streams of all ranks.
    pub(crate) fn new(params: &HostParams, layout: Layout, ranks: &PartRanks, owners: &[u64]) -> Mpi {
        let mut chains = 0;
        let first_chain = cells(ranks, |rank| {
            let first = chains;
            chains += layout.job_of(rank).chains;
            first
        });
        let calls = match params.mpi.progress {
            Progress::Asynchronous => SparseStore::default(),
            Progress::InCalls => cells(ranks, |_| 0),
        };
        Mpi {
            settings: params.mpi.clone(),
            calls: Calls::new(params.rules),
            matching: Matching::new(cells(ranks, |_| Queues::default())),
            requests: Requests::new(cells(ranks, |_| List::EMPTY)),
            sequences: SequenceNumbers::new(first_chain, chains),
            rendezvous: Rendezvous::new(),
            deferred: DeferredWork::new(cells(ranks, |_| List::EMPTY), calls),
            windows: Windows::new(),
            reductions: Reductions::new(&layout, ranks),
            noise: OsNoise::new(&params.mpi.noise, ranks, params.seed, owners),
            layout,
        }
    }
}
