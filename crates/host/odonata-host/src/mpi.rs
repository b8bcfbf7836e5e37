//! The MPI library of the ranks: point-to-point messages and their protocols, matching, requests, collectives.
//!
//! [`Mpi`] is a state machine. Its inputs are a call of a rank, the arrival of a message, the completion of a request,
//! and the end of an occupied time. Each input comes with the time and the observers ([`Turn`](crate::turn::Turn)) and adds its
//! [effects](effect::MpiEffect) to a list, which the hosts carry out in order. `Mpi` knows neither fabric nor executor.
//!
//! | file | content |
//! |---|---|
//! | `call` | calls of ranks: their beginning, their costs |
//! | `message` | sends, receives, matching and rendezvous |
//! | `one_sided` | accesses to the memory of other ranks, locks, epochs |
//! | `completion` | completion of requests, end of calls, steps of collectives |

pub(crate) mod call;
pub(crate) mod collective;
pub(crate) mod communicator;
mod completion;
pub(crate) mod effect;
pub(crate) mod matching;
mod message;
mod one_sided;
pub(crate) mod persistent;
pub(crate) mod progress;
pub(crate) mod rendezvous;
pub(crate) mod request;
pub(crate) mod sequence;
pub(crate) mod stamp;

use crate::layout::{Layout, PartRanks, cells};
use crate::params::HostParams;
use crate::payload::Payload;
use crate::settings::{self, Progress, RendezvousForm};
use call::Calls;
use effect::{MessageRoute, OutgoingMessage};
use matching::{Matching, Queues};
use odonata_engine::{List, NIL, SparseStore};
use odonata_workload::Access;
use odonata_workload::collective::Rules;
pub(crate) use one_sided::ArrivedAccess;
use one_sided::Windows;
use progress::DeferredWork;
use rendezvous::Rendezvous;
use request::Requests;
use sequence::SequenceNumbers;

/// The MPI library of the ranks of a part.
#[derive(Debug)]
pub(crate) struct Mpi {
    pub(crate) settings: settings::Mpi,
    /// Algorithms of collectives.
    pub(crate) rules: Rules,
    pub(crate) layout: Layout,
    pub(crate) calls: Calls,
    pub(crate) matching: Matching,
    pub(crate) requests: Requests,
    pub(crate) sequences: SequenceNumbers,
    pub(crate) rendezvous: Rendezvous,
    pub(crate) deferred: DeferredWork,
    pub(crate) windows: Windows,
}
odonata_engine::journalled!(Mpi {
    calls,
    matching,
    requests,
    sequences,
    rendezvous,
    deferred,
    windows,
});

impl Mpi {
    /// The library of the ranks of a part, given as for [`cells`].
    pub(crate) fn new(params: &HostParams, layout: Layout, ranks: &PartRanks) -> Mpi {
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
            rules: params.rules,
            calls: Calls::new(),
            matching: Matching::new(cells(ranks, |_| Queues::default())),
            requests: Requests::new(cells(ranks, |_| List::EMPTY)),
            sequences: SequenceNumbers::new(first_chain, chains),
            rendezvous: Rendezvous::new(),
            deferred: DeferredWork::new(cells(ranks, |_| List::EMPTY), calls),
            windows: Windows::new(),
            layout,
        }
    }

    /// The way of a message that the library sends.
    #[inline]
    pub(crate) fn route(&self, message: &OutgoingMessage) -> MessageRoute {
        let (from, to, counted, request) = match message.payload {
            Payload::Eager { from, to, request, .. } => {
                let leaves = !self.is_acknowledged(from, to, message.bytes);
                (from, to, Some(message.bytes), if leaves { request } else { NIL })
            }
            Payload::Rts { from, to, bytes, .. } => (from, to, Some(bytes), NIL),
            Payload::RendezvousData { from, to, request, .. } => match self.settings.rendezvous {
                RendezvousForm::Put => (from, to, None, request),
                RendezvousForm::Get => (from, to, None, NIL),
            },
            Payload::Access {
                from,
                to,
                access: Access::Put | Access::Accumulate | Access::GetAccumulate,
                ..
            }
            | Payload::Fetched { from, to, .. } => (from, to, Some(message.bytes), NIL),
            Payload::Cts { from, to, .. }
            | Payload::Ack { from, to, .. }
            | Payload::Access { from, to, .. }
            | Payload::Lock { from, to, .. }
            | Payload::Unlock { from, to, .. }
            | Payload::Epoch { from, to, .. } => (from, to, None, NIL),
            _ => unreachable!("the library sends messages of MPI only"),
        };
        MessageRoute {
            from,
            to,
            counted,
            request,
        }
    }
}
