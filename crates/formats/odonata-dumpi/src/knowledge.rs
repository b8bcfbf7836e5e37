//! Facts from the whole trace that the translation of a rank's records needs.

use std::collections::BTreeSet;
use std::sync::Arc;

use odonata_workload::Group;

/// A communicator from the view of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CommOf {
    /// Its number in the program.
    pub(super) number: u32,
    /// For an intercommunicator, the first member of the remote group.
    pub(super) shift: u32,
    /// Number of members that a send or receive can name.
    pub(super) peers: u32,
    /// Whether it is an intercommunicator.
    pub(super) inter: bool,
}

/// The outcome of a request, known only from a later call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The receive took this message.
    From {
        /// Sender, a rank of the communicator.
        source: i32,
        /// Its tag; -1: not known.
        tag: i32,
    },
    /// The peer was `MPI_PROC_NULL`.
    Null,
    /// It was cancelled.
    Cancelled,
}

/// Facts about a rank for the translation of its records.
#[derive(Clone, Debug, Default)]
pub(super) struct Knowledge {
    pub(super) rank: u32,
    /// In the rank's order of creation.
    pub(super) comms: Vec<Option<CommOf>>,
    /// Outcomes of requests, by transfer number, ascending.
    pub(super) fates: Vec<(u32, Fate)>,
    /// The file of each opening.
    pub(super) files: Vec<u64>,
    /// Offsets of shared-pointer accesses, in bytes from the start of the file.
    pub(super) shared: Vec<u64>,
    /// Receives without a status whose source is ambiguous between MPI_ANY_SOURCE and MPI_PROC_NULL, resolved as
    /// MPI_PROC_NULL: communicator and tag.
    pub(super) null_sources: BTreeSet<(u32, u32)>,
    /// Communicators with receives of unknown source. On these, receives with a recorded source are wildcards, too:
    /// otherwise an unknown one could take their message.
    pub(super) loose: BTreeSet<u32>,
    /// Members by communicator number; shared by all ranks.
    pub(super) groups: Arc<[Group]>,
    /// Factor for computation times.
    pub(super) scale: f64,
    /// Whether time in calls counts as computation, too.
    pub(super) call_time: bool,
}

impl Knowledge {
    pub(super) fn comm(&self, object: u32) -> Option<CommOf> {
        self.comms.get(object as usize).copied().flatten()
    }

    pub(super) fn fate(&self, transfer: u32) -> Option<Fate> {
        let found = self.fates.binary_search_by_key(&transfer, |&(number, _)| number);
        found.ok().map(|at| self.fates[at].1)
    }
}
