//! What only the whole trace says, and a rank's records are translated with.

use std::collections::BTreeSet;
use std::sync::Arc;

use odonata_workload::Group;

/// A communicator, as a rank knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CommOf {
    /// Its number in the program.
    pub(super) number: u32,
    /// Of an intercommunicator: where the remote group starts among the members.
    pub(super) shift: u32,
    /// Number of members that can be named in a send or receive.
    pub(super) peers: u32,
    /// Whether it joins two groups.
    pub(super) inter: bool,
}

/// What becomes of a request that the call that makes it does not tell.
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

/// What is known of a rank when its records are translated.
#[derive(Clone, Debug, Default)]
pub(super) struct Knowledge {
    pub(super) rank: u32,
    /// By the order in which the rank made them.
    pub(super) comms: Vec<Option<CommOf>>,
    /// Of requests, by the number of the transfer, ascending.
    pub(super) fates: Vec<(u32, Fate)>,
    /// The file of each opening.
    pub(super) files: Vec<u64>,
    /// Offsets of accesses with the shared pointer, in bytes from the start of the file.
    pub(super) shared: Vec<u64>,
    /// Receives without a status whose source may be nobody as well as anybody, and is nobody: communicator and tag.
    pub(super) nobody: BTreeSet<(u32, u32)>,
    /// Communicators with receives of which nothing says what they took. Those that are known to have taken
    /// something are from anybody too, as they would miss what an unknown one takes instead.
    pub(super) loose: BTreeSet<u32>,
    /// Members by the number of the communicator; the same for all ranks.
    pub(super) groups: Arc<[Group]>,
    /// Compute time is multiplied by this.
    pub(super) scale: f64,
    /// Whether time in calls counts as computation too.
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
