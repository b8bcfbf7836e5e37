//! The MPI layer: point-to-point messages and their protocols, matching, requests, collectives, communicators.
//!
//! Each component owns its state and changes it by its own methods. Actions that cross components are methods of
//! [`Hosts`](crate::Hosts): a match completes a request, which ends an operation.

pub(crate) mod collective;
pub(crate) mod communicator;
pub(crate) mod match_log;
pub(crate) mod matching;
pub(crate) mod persistent;
pub(crate) mod point_to_point;
pub(crate) mod progress;
pub(crate) mod rendezvous;
pub(crate) mod request;
pub(crate) mod sequence;

use match_log::MatchLog;
use matching::Matching;
use progress::DeferredWork;
use rendezvous::Rendezvous;
use request::Requests;
use sequence::SequenceNumbers;

/// The MPI library of the ranks of a part.
#[derive(Debug)]
pub(crate) struct Mpi {
    pub(crate) matching: Matching,
    pub(crate) requests: Requests,
    pub(crate) sequences: SequenceNumbers,
    pub(crate) rendezvous: Rendezvous,
    pub(crate) deferred: DeferredWork,
    pub(crate) log: MatchLog,
}
odonata_engine::journalled!(Mpi {
    matching,
    requests,
    sequences,
    rendezvous,
    deferred,
    log,
});
