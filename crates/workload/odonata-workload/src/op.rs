//! Operations: the requests of a rank.
//!
//! The set is the part of MPI and of file access that affects traffic. Names follow the MPI standard (version 4.1:
//! chapter 3 for point-to-point, 6 for collectives); peers are ranks of the named communicator, never nodes. Sizes are
//! bytes of payload; headers belong to the fabric.

use odonata_units::Time;

use crate::{Collective, OneSided, RankTimes, named};

/// The number of an operation in its rank's program, from 0.
///
/// `u32::MAX` names no operation, so a rank can have 2^32 - 1 of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct OpId(pub u32);

/// Operations, at most four, of the same rank that must complete before this one may start.
///
/// This adds to the order within a stream. A graph with more predecessors (GOAL, Chakra) joins them through
/// [`OpKind::Compute`] operations of zero duration, four at a time. Predecessors must have smaller numbers, so cycles
/// are impossible.
#[derive(Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct After([u32; After::MOST]);

impl After {
    /// Maximum number of predecessors.
    pub const MOST: usize = 4;
    /// No predecessors besides the order of the stream.
    pub const NONE: After = After([u32::MAX; After::MOST]);

    /// Exactly these; more than [`After::MOST`] do not compile. For a list of variable length see
    /// [`After::from_slice`].
    pub const fn ops<const N: usize>(ops: &[OpId; N]) -> After {
        const { assert!(N <= After::MOST, "an operation waits for four others at most") }
        let mut after = After::NONE;
        let mut i = 0;
        while i < N {
            after.0[i] = ops[i].0;
            i += 1;
        }
        after
    }

    /// Exactly these, or `None` for more than [`After::MOST`].
    pub fn from_slice(ops: &[OpId]) -> Option<After> {
        let mut after = After::NONE;
        if ops.len() > After::MOST {
            return None;
        }
        for (slot, op) in after.0.iter_mut().zip(ops) {
            *slot = op.0;
        }
        Some(after)
    }

    /// Whether there are no predecessors besides the order of the stream.
    pub const fn is_none(&self) -> bool {
        self.0[0] == u32::MAX
    }

    /// The operations, in the given order.
    pub fn iter(&self) -> impl Iterator<Item = OpId> + use<> {
        self.0.into_iter().take_while(|&op| op != u32::MAX).map(OpId)
    }
}

impl std::fmt::Debug for After {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter().map(|op| op.0)).finish()
    }
}

/// One operation of one rank.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Op {
    /// Its number in the rank's program.
    pub id: OpId,
    /// Operations of one stream run one after the other, in program order; those of different streams overlap. A
    /// sequential program has only stream 0.
    ///
    /// From [`Op::PROCESSORS`] on, operations of one stream run one at a time, in any order; in [`Op::UNORDERED`] they
    /// run concurrently.
    pub stream: u16,
    /// Further predecessors.
    pub after: After,
    /// The requested operation.
    pub kind: OpKind,
}

impl Op {
    /// The first stream that runs its operations one at a time, in any order. A graph (GOAL) has one for each of up to
    /// 256 processors of a rank.
    pub const PROCESSORS: u16 = 256;
    /// The stream of operations that wait only for their [predecessors](Op::after).
    pub const UNORDERED: u16 = 512;
    /// Number of streams.
    pub const STREAMS: u16 = 513;
}

/// A communicator of the job; its ranks number from 0 without gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Comm(pub u32);

impl Comm {
    /// All ranks of the job, by their rank in the job.
    pub const WORLD: Comm = Comm(0);
}

/// A list of sizes that differ between ranks, for the v-variants of collectives.
///
/// It is only a name: the sizes are queried from the [program](crate::Program::bytes), one at a time, so an operation
/// stays small for any number of ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Counts(pub u32);

/// A handle of a non-blocking operation, chosen by the program and private to the rank.
///
/// A number may be reused after its wait, for a persistent request after it is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Request(pub u32);

impl Request {
    /// A detached operation without a wait (`MPI_Request_free`); any number of them may be in flight.
    pub const DETACHED: Request = Request(u32::MAX);
}

/// The parallelism of a training job that communication serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Parallelism {
    /// Sums of activations among the ranks that share a layer.
    Tensor,
    /// Activations between stages.
    Pipeline,
    /// Gradients and parameters among the ranks with the same layers.
    Data,
    /// Tokens to and from experts.
    Expert,
}

impl Parallelism {
    /// Number of kinds.
    pub const KINDS: usize = 4;
}

/// The null peer (`MPI_PROC_NULL`): a send to it, and a receive or probe from it, complete at once, without a message
/// or cost, on any communicator.
pub const PROC_NULL: u32 = u32::MAX;

/// The source of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Source {
    /// This rank.
    Rank(u32),
    /// Any rank (`MPI_ANY_SOURCE`).
    Any,
}

/// The tag of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Tag {
    /// A message with this tag.
    Is(u32),
    /// A message with any tag (`MPI_ANY_TAG`).
    Any,
}

named! {
    /// A call about the name and the attributes of a file, not its data.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
    pub enum FileCall {
        /// `open` of an existing file.
        Open = "open",
        /// `open` with `O_CREAT`: creates the file.
        Create = "create",
        /// `stat`: looks up its attributes.
        Stat = "stat",
        /// `close`; waits for unacknowledged writes of the rank.
        Close = "close",
        /// `unlink`: removes it.
        Unlink = "unlink",
        /// `fsync`, `MPI_File_sync`: waits for unacknowledged writes of the rank, then until the servers have committed
        /// all acknowledged data of the file.
        Sync = "sync",
        /// `mkdir`.
        Mkdir = "mkdir",
        /// `rmdir`.
        Rmdir = "rmdir",
    }
}

/// The kind of an operation. A blocking operation ends when MPI or the file system would return, a non-blocking one at
/// once.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum OpKind {
    /// Occupies the stream, without traffic.
    Compute {
        /// Duration; may be zero.
        duration: Time,
    },
    /// `MPI_Send`.
    Send {
        /// Destination, a rank of `comm`.
        to: u32,
        /// Tag of the message.
        tag: u32,
        /// Payload in bytes; may be zero.
        bytes: u64,
        /// The communicator.
        comm: Comm,
    },
    /// `MPI_Recv`.
    Recv {
        /// Whose message.
        from: Source,
        /// Which of them.
        tag: Tag,
        /// Size of the buffer in bytes: a longer message is an error of the program.
        bytes: u64,
        /// The communicator.
        comm: Comm,
    },
    /// `MPI_Isend`.
    Isend {
        /// Destination, a rank of `comm`.
        to: u32,
        /// Tag of the message.
        tag: u32,
        /// Payload in bytes; may be zero.
        bytes: u64,
        /// The communicator.
        comm: Comm,
        /// The request to wait for.
        request: Request,
    },
    /// `MPI_Irecv`.
    Irecv {
        /// Whose message.
        from: Source,
        /// Which of them.
        tag: Tag,
        /// Size of the buffer in bytes: a longer message is an error of the program.
        bytes: u64,
        /// The communicator.
        comm: Comm,
        /// The request to wait for.
        request: Request,
    },
    /// `MPI_Ssend`: always uses rendezvous, so it ends no earlier than the start of its receive.
    Ssend {
        /// Destination, a rank of `comm`.
        to: u32,
        /// Tag of the message.
        tag: u32,
        /// Payload in bytes; may be zero.
        bytes: u64,
        /// The communicator.
        comm: Comm,
    },
    /// `MPI_Issend`: like [`Ssend`](OpKind::Ssend), with a request.
    Issend {
        /// Destination, a rank of `comm`.
        to: u32,
        /// Tag of the message.
        tag: u32,
        /// Payload in bytes; may be zero.
        bytes: u64,
        /// The communicator.
        comm: Comm,
        /// The request to wait for.
        request: Request,
    },
    /// `MPI_Sendrecv`: a send and a receive at once.
    Sendrecv {
        /// Destination, a rank of `comm`.
        to: u32,
        /// Tag of the sent message.
        send_tag: u32,
        /// Its payload in bytes; may be zero.
        send_bytes: u64,
        /// Source of the receive.
        from: Source,
        /// Which of them.
        recv_tag: Tag,
        /// Size of the buffer in bytes.
        recv_bytes: u64,
        /// The communicator.
        comm: Comm,
    },
    /// `MPI_Probe`: waits for a message that a receive would match, and leaves it unreceived.
    Probe {
        /// Whose message.
        from: Source,
        /// Which of them.
        tag: Tag,
        /// The communicator.
        comm: Comm,
    },
    /// `MPI_Iprobe`. A program cannot branch on the answer, so it is only a call: it takes time, and lets the MPI
    /// library make progress.
    Iprobe {
        /// Whose message.
        from: Source,
        /// Which of them.
        tag: Tag,
        /// The communicator.
        comm: Comm,
    },
    /// `MPI_Send_init`: creates an inactive persistent request.
    SendInit {
        /// Destination, a rank of `comm`.
        to: u32,
        /// Tag of the messages.
        tag: u32,
        /// Their payload in bytes; may be zero.
        bytes: u64,
        /// The communicator.
        comm: Comm,
        /// The request to start, wait for and free.
        request: Request,
    },
    /// `MPI_Recv_init`: creates an inactive persistent request.
    RecvInit {
        /// Whose messages.
        from: Source,
        /// Which of them.
        tag: Tag,
        /// Size of the buffer in bytes.
        bytes: u64,
        /// The communicator.
        comm: Comm,
        /// The request to start, wait for and free.
        request: Request,
    },
    /// `MPI_Start`: begins the transfer of a persistent request. A wait deactivates it again.
    Start {
        /// The request.
        request: Request,
    },
    /// `MPI_Startall` on the requests `first .. first + count`, in the order of their numbers.
    StartAll {
        /// The lowest number.
        first: Request,
        /// How many.
        count: u32,
    },
    /// `MPI_Request_free`: the request is released; a transfer in flight continues. Not for collectives.
    RequestFree {
        /// The request.
        request: Request,
    },
    /// `MPI_Wait`, for messages, non-blocking collectives and file transfers.
    Wait {
        /// The request to wait for.
        request: Request,
    },
    /// `MPI_Waitall` on the requests `first .. first + count`.
    WaitAll {
        /// The lowest number.
        first: Request,
        /// Number of requests; zero is allowed and takes no time.
        count: u32,
    },
    /// `MPI_Waitany` on the requests `first .. first + count`: ends when one is complete, and takes the complete
    /// request with the lowest number. Ends at once if none is open.
    WaitAny {
        /// The lowest number.
        first: Request,
        /// How many.
        count: u32,
    },
    /// `MPI_Waitsome` on the requests `first .. first + count`: like `WaitAny`, but takes all complete requests.
    WaitSome {
        /// The lowest number.
        first: Request,
        /// How many.
        count: u32,
    },
    /// `MPI_Test`: takes the request if it is complete, without waiting. A program is a function of its cursor and
    /// cannot branch on the answer; this holds for all tests.
    Test {
        /// The request.
        request: Request,
    },
    /// `MPI_Testany` on the requests `first .. first + count`: takes the complete request with the lowest number.
    TestAny {
        /// The lowest number.
        first: Request,
        /// How many.
        count: u32,
    },
    /// `MPI_Testall` on the requests `first .. first + count`: takes all if all open ones are complete.
    TestAll {
        /// The lowest number.
        first: Request,
        /// How many.
        count: u32,
    },
    /// `MPI_Testsome` on the requests `first .. first + count`: takes the complete ones.
    TestSome {
        /// The lowest number.
        first: Request,
        /// How many.
        count: u32,
    },
    /// A blocking collective; all ranks of its communicator call the same collectives in the same order.
    Collective(Collective),
    /// A non-blocking collective (`MPI_Ibarrier`, `MPI_Iallreduce`, ...). Blocking and non-blocking calls of a
    /// communicator share one order; several can be in flight.
    Icollective {
        /// The call.
        collective: Collective,
        /// The request to wait for.
        request: Request,
    },
    /// `MPI_Comm_dup`. [`Program::group`](crate::Program::group) returns the members of the new communicator; the call
    /// costs its messages.
    CommDup {
        /// The communicator whose ranks all call.
        comm: Comm,
        /// The number of the new communicator.
        new: Comm,
    },
    /// `MPI_Comm_split`. A rank outside all new communicators calls it, too.
    CommSplit {
        /// The communicator whose ranks all call.
        comm: Comm,
        /// The number of the new communicator; disjoint ones may share it.
        new: Comm,
    },
    /// `MPI_Comm_create`.
    CommCreate {
        /// The communicator whose ranks all call.
        comm: Comm,
        /// The number of the new communicator.
        new: Comm,
    },
    /// `MPI_Comm_free`; sends no message.
    CommFree {
        /// The communicator; not the world.
        comm: Comm,
    },
    /// A call of one-sided communication.
    OneSided(OneSided),
    /// Opens a file.
    Open {
        /// The file, unique in the job.
        file: u64,
    },
    /// Closes a file.
    Close {
        /// The file.
        file: u64,
    },
    /// Any other call for a file or directory of the job's tree, served by metadata servers; also opening and closing a
    /// file outside the job's root directory.
    Metadata {
        /// What for.
        call: FileCall,
        /// The number of the directory; 0 is the job's root directory.
        directory: u32,
        /// The file in it, unique in the job; for a call on a directory, that directory.
        file: u64,
    },
    /// Reads and waits for the data.
    Read {
        /// The file.
        file: u64,
        /// Offset in bytes from its start.
        offset: u64,
        /// Size in bytes.
        bytes: u64,
    },
    /// Writes and waits for the acknowledgment of the storage.
    Write {
        /// The file.
        file: u64,
        /// Offset in bytes from its start.
        offset: u64,
        /// Size in bytes.
        bytes: u64,
    },
    /// Starts a read (`MPI_File_iread_at`).
    Iread {
        /// The file.
        file: u64,
        /// Offset in bytes from its start.
        offset: u64,
        /// Size in bytes.
        bytes: u64,
        /// The request to wait for.
        request: Request,
    },
    /// Starts a write (`MPI_File_iwrite_at`).
    Iwrite {
        /// The file.
        file: u64,
        /// Offset in bytes from its start.
        offset: u64,
        /// Size in bytes.
        bytes: u64,
        /// The request to wait for.
        request: Request,
    },
    /// The whole activity of a rank with known end: for a program under the [LogGOPS model](crate::LogGops). Sends no
    /// message.
    Elapsed(RankTimes),
    /// Records the time at which the rank reaches it; takes none.
    Mark {
        /// Number of the completed iteration, from 0.
        iteration: u32,
    },
    /// Records a value and the time at which the rank reaches it; takes none. A report with several values records them
    /// one after the other.
    Report {
        /// Number of the report in the program; `u32::MAX` completes the values logged so far.
        report: u32,
        /// Number of the value in the report.
        index: u32,
        /// The value.
        value: f64,
    },
}

impl OpKind {
    /// The communicator whose ranks it names, for renaming; those of one-sided calls are renamed with their windows.
    pub(crate) const fn comm_mut(&mut self) -> Option<&mut Comm> {
        match self {
            OpKind::Send { comm, .. }
            | OpKind::Ssend { comm, .. }
            | OpKind::Isend { comm, .. }
            | OpKind::Issend { comm, .. }
            | OpKind::Recv { comm, .. }
            | OpKind::Irecv { comm, .. }
            | OpKind::Sendrecv { comm, .. }
            | OpKind::Probe { comm, .. }
            | OpKind::Iprobe { comm, .. }
            | OpKind::SendInit { comm, .. }
            | OpKind::RecvInit { comm, .. }
            | OpKind::CommDup { comm, .. }
            | OpKind::CommSplit { comm, .. }
            | OpKind::CommCreate { comm, .. }
            | OpKind::CommFree { comm } => Some(comm),
            OpKind::Collective(collective) | OpKind::Icollective { collective, .. } => Some(collective.comm_mut()),
            OpKind::OneSided(_)
            | OpKind::Open { .. }
            | OpKind::Close { .. }
            | OpKind::Metadata { .. }
            | OpKind::Read { .. }
            | OpKind::Write { .. }
            | OpKind::Iread { .. }
            | OpKind::Iwrite { .. }
            | OpKind::Mark { .. }
            | OpKind::Report { .. }
            | OpKind::Compute { .. }
            | OpKind::Elapsed(_)
            | OpKind::Start { .. }
            | OpKind::StartAll { .. }
            | OpKind::RequestFree { .. }
            | OpKind::Wait { .. }
            | OpKind::WaitAll { .. }
            | OpKind::WaitAny { .. }
            | OpKind::WaitSome { .. }
            | OpKind::Test { .. }
            | OpKind::TestAny { .. }
            | OpKind::TestAll { .. }
            | OpKind::TestSome { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_small() {
        assert!(size_of::<Op>() <= 80, "{} bytes", size_of::<Op>());
    }

    #[test]
    fn dependencies_come_back_in_order_and_five_are_refused() {
        let ops = [OpId(7), OpId(3), OpId(5)];
        assert_eq!(After::ops(&ops).iter().collect::<Vec<_>>(), ops);
        assert_eq!(After::from_slice(&ops), Some(After::ops(&ops)));
        assert_eq!(After::NONE.iter().count(), 0);
        assert!(After::NONE.is_none() && !After::ops(&ops).is_none());
        assert_eq!(After::from_slice(&[OpId(0); After::MOST + 1]), None);
    }
}
