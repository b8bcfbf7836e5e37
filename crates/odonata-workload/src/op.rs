//! Operations: what a rank can ask for.
//!
//! The set is the part of MPI and of file access that shapes traffic. Names follow the MPI standard
//! (version 4.1: chapter 3 for point-to-point, 6 for collectives); peers are ranks of the named
//! communicator, never nodes. Sizes are bytes of payload; headers belong to the fabric.

use odonata_units::Time;

use crate::{Collective, RankTimes};

/// The identity of an operation: it is the n-th that its rank's program handed out, from 0.
///
/// `u32::MAX` names no operation, so a rank can have 2^32 - 1 of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct OpId(pub u32);

/// Operations, at most four, of the same rank that must have completed before one may start.
///
/// This comes on top of the order within a stream. A graph with more predecessors (GOAL, Chakra)
/// joins them through [`OpKind::Compute`] operations of no duration, four at a time. All of them
/// must have smaller numbers than the operation that waits, so that no cycle can be written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct After([u32; After::MOST]);

impl After {
    /// The most operations that one can wait for.
    pub const MOST: usize = 4;
    /// Nothing but the order of the stream.
    pub const NONE: After = After([u32::MAX; After::MOST]);

    /// Exactly these; more than [`After::MOST`] do not compile. For a list whose length is known
    /// only at run time see [`After::from_slice`].
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

    /// Exactly these, or `None` where there are more than [`After::MOST`].
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

    /// Whether only the order of the stream counts.
    pub const fn is_none(&self) -> bool {
        self.0[0] == u32::MAX
    }

    /// The operations, in the order they were given.
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
    /// Operations of one stream run one after the other, in program order; those of different
    /// streams overlap. A sequential program has stream 0 only.
    ///
    /// From [`Op::PROCESSORS`] on, operations of one stream run one at a time, in whatever order they may begin; in
    /// [`Op::UNORDERED`] they run beside each other.
    pub stream: u16,
    /// What else must have completed first.
    pub after: After,
    /// What is asked for.
    pub kind: OpKind,
}

impl Op {
    /// The first stream in which operations have no order: one of them at a time. A graph (GOAL) has one for each processor
    /// of a rank, of which there are 256 at most.
    pub const PROCESSORS: u16 = 256;
    /// The stream of operations that wait for those which they come [after](Op::after) and for nothing else.
    pub const UNORDERED: u16 = 512;
    /// How many streams there are.
    pub const STREAMS: u16 = 513;
}

/// A communicator of the job; its ranks number from 0 without gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Comm(pub u32);

impl Comm {
    /// All ranks of the job, by their rank in the job.
    pub const WORLD: Comm = Comm(0);
}

/// A list of sizes that differ from rank to rank, as the v-variants of collectives take them.
///
/// It is a name only: the sizes are asked of the [program](crate::Program::bytes), one at a time, so that an
/// operation stays small however many ranks there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Counts(pub u32);

/// A handle of a non-blocking operation, chosen by the program and private to the rank.
///
/// A number may be used again once it has been waited for, that of a persistent request once it is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Request(pub u32);

impl Request {
    /// Nobody will wait for the operation (`MPI_Request_free`); any number of them may be under way.
    pub const DETACHED: Request = Request(u32::MAX);
}

/// The peer of nobody (`MPI_PROC_NULL`): a send to it and a receive or probe from it are complete at once,
/// without a message and at no cost, on any communicator.
pub const PROC_NULL: u32 = u32::MAX;

/// Whose message a receive takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Source {
    /// That of this rank.
    Rank(u32),
    /// Anybody's (`MPI_ANY_SOURCE`).
    Any,
}

/// Which message of that source a receive takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Tag {
    /// One with this tag.
    Is(u32),
    /// One with any tag (`MPI_ANY_TAG`).
    Any,
}

/// A call that concerns the name and the attributes of a file, not its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum FileCall {
    /// `open` of a file that is there.
    Open,
    /// `open` with `O_CREAT`: creates the file.
    Create,
    /// `stat`: looks up its attributes.
    Stat,
    /// `close`; waits for what the rank has written and is not acknowledged.
    Close,
    /// `unlink`: removes it.
    Unlink,
    /// `fsync`, `MPI_File_sync`: waits for what the rank has written and is not acknowledged, then until the servers have committed
    /// all that they have acknowledged of the file.
    Sync,
    /// `mkdir`.
    Mkdir,
    /// `rmdir`.
    Rmdir,
}

impl FileCall {
    /// All of them, each at the place of its number.
    pub const ALL: [FileCall; 8] = [
        FileCall::Open,
        FileCall::Create,
        FileCall::Stat,
        FileCall::Close,
        FileCall::Unlink,
        FileCall::Sync,
        FileCall::Mkdir,
        FileCall::Rmdir,
    ];

    /// Its name, in programs and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            FileCall::Open => "open",
            FileCall::Create => "create",
            FileCall::Stat => "stat",
            FileCall::Close => "close",
            FileCall::Unlink => "unlink",
            FileCall::Sync => "sync",
            FileCall::Mkdir => "mkdir",
            FileCall::Rmdir => "rmdir",
        }
    }
}

/// What an operation does. Ends when: a blocking one when MPI or the file system would return, a
/// non-blocking one at once.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum OpKind {
    /// Occupies the stream, without traffic.
    Compute {
        /// For how long; may be zero.
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
        /// What to wait for.
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
        /// What to wait for.
        request: Request,
    },
    /// `MPI_Ssend`: always by rendezvous, so that it ends no sooner than its receive has begun.
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
    /// `MPI_Issend`: as [`Ssend`](OpKind::Ssend), to be waited for.
    Issend {
        /// Destination, a rank of `comm`.
        to: u32,
        /// Tag of the message.
        tag: u32,
        /// Payload in bytes; may be zero.
        bytes: u64,
        /// The communicator.
        comm: Comm,
        /// What to wait for.
        request: Request,
    },
    /// `MPI_Sendrecv`: a send and a receive at once.
    Sendrecv {
        /// Destination, a rank of `comm`.
        to: u32,
        /// Tag of the message that is sent.
        send_tag: u32,
        /// Its payload in bytes; may be zero.
        send_bytes: u64,
        /// Whose message is received.
        from: Source,
        /// Which of them.
        recv_tag: Tag,
        /// Size of the buffer in bytes.
        recv_bytes: u64,
        /// The communicator.
        comm: Comm,
    },
    /// `MPI_Probe`: waits until there is a message that a receive would take, and leaves it there.
    Probe {
        /// Whose message.
        from: Source,
        /// Which of them.
        tag: Tag,
        /// The communicator.
        comm: Comm,
    },
    /// `MPI_Iprobe`. A program cannot branch on the answer, so all that it does is to be a call: it takes
    /// the time of one, and lets the MPI library make progress.
    Iprobe {
        /// Whose message.
        from: Source,
        /// Which of them.
        tag: Tag,
        /// The communicator.
        comm: Comm,
    },
    /// `MPI_Send_init`: makes a persistent request, which is inactive.
    SendInit {
        /// Destination, a rank of `comm`.
        to: u32,
        /// Tag of the messages.
        tag: u32,
        /// Their payload in bytes; may be zero.
        bytes: u64,
        /// The communicator.
        comm: Comm,
        /// What to start, wait for and free.
        request: Request,
    },
    /// `MPI_Recv_init`: makes a persistent request, which is inactive.
    RecvInit {
        /// Whose messages.
        from: Source,
        /// Which of them.
        tag: Tag,
        /// Size of the buffer in bytes.
        bytes: u64,
        /// The communicator.
        comm: Comm,
        /// What to start, wait for and free.
        request: Request,
    },
    /// `MPI_Start`: begins the transfer of a persistent request. A wait makes it inactive again.
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
    /// `MPI_Request_free`: the request is forgotten; a transfer under way goes on. Not for collectives.
    RequestFree {
        /// The request.
        request: Request,
    },
    /// `MPI_Wait`, for messages, non-blocking collectives and file transfers alike.
    Wait {
        /// What to wait for.
        request: Request,
    },
    /// `MPI_Waitall` on the requests `first .. first + count`.
    WaitAll {
        /// The lowest number.
        first: Request,
        /// How many; none is allowed and takes no time.
        count: u32,
    },
    /// `MPI_Waitany` on the requests `first .. first + count`: ends when one of them is complete, and takes
    /// the complete one with the lowest number. Ends at once if none of them is open.
    WaitAny {
        /// The lowest number.
        first: Request,
        /// How many.
        count: u32,
    },
    /// `MPI_Waitsome` on the requests `first .. first + count`: as `WaitAny`, but takes all that are
    /// complete then.
    WaitSome {
        /// The lowest number.
        first: Request,
        /// How many.
        count: u32,
    },
    /// `MPI_Test`: takes the request if it is complete, without waiting. A program is a function of its
    /// cursor and cannot branch on the answer, here and in the other tests.
    Test {
        /// The request.
        request: Request,
    },
    /// `MPI_Testany` on the requests `first .. first + count`: takes the complete one with the lowest number.
    TestAny {
        /// The lowest number.
        first: Request,
        /// How many.
        count: u32,
    },
    /// `MPI_Testall` on the requests `first .. first + count`: takes all if all that are open are complete.
    TestAll {
        /// The lowest number.
        first: Request,
        /// How many.
        count: u32,
    },
    /// `MPI_Testsome` on the requests `first .. first + count`: takes those that are complete.
    TestSome {
        /// The lowest number.
        first: Request,
        /// How many.
        count: u32,
    },
    /// A blocking collective; every rank of its communicator calls the same ones in the same order.
    Collective(Collective),
    /// A non-blocking collective (`MPI_Ibarrier`, `MPI_Iallreduce`, ...). Blocking and non-blocking calls
    /// of a communicator count as one order; several can be under way at once.
    Icollective {
        /// The call.
        collective: Collective,
        /// What to wait for.
        request: Request,
    },
    /// `MPI_Comm_dup`. Who is in the new communicator is answered by
    /// [`Program::group`](crate::Program::group); the call costs its messages.
    CommDup {
        /// All its ranks call.
        comm: Comm,
        /// The number of the new one.
        new: Comm,
    },
    /// `MPI_Comm_split`. A rank that is in none of the new ones calls it all the same.
    CommSplit {
        /// All its ranks call.
        comm: Comm,
        /// The number of the new one, which disjoint ones may share.
        new: Comm,
    },
    /// `MPI_Comm_create`.
    CommCreate {
        /// All its ranks call.
        comm: Comm,
        /// The number of the new one.
        new: Comm,
    },
    /// `MPI_Comm_free`; sends no message.
    CommFree {
        /// The communicator; not the world.
        comm: Comm,
    },
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
    /// Any other call for a file or directory of the job's tree, which metadata servers answer; also opening and closing a
    /// file that is not in the job's directory itself.
    Metadata {
        /// What for.
        call: FileCall,
        /// The directory, by its number; 0 is that of the job.
        directory: u32,
        /// The file in it, unique in the job; of a call for a directory, that directory.
        file: u64,
    },
    /// Reads and waits for the data.
    Read {
        /// The file.
        file: u64,
        /// Where, in bytes from its start.
        offset: u64,
        /// How much, in bytes.
        bytes: u64,
    },
    /// Writes and waits until the storage has acknowledged.
    Write {
        /// The file.
        file: u64,
        /// Where, in bytes from its start.
        offset: u64,
        /// How much, in bytes.
        bytes: u64,
    },
    /// Starts a read (`MPI_File_iread_at`).
    Iread {
        /// The file.
        file: u64,
        /// Where, in bytes from its start.
        offset: u64,
        /// How much, in bytes.
        bytes: u64,
        /// What to wait for.
        request: Request,
    },
    /// Starts a write (`MPI_File_iwrite_at`).
    Iwrite {
        /// The file.
        file: u64,
        /// Where, in bytes from its start.
        offset: u64,
        /// How much, in bytes.
        bytes: u64,
        /// What to wait for.
        request: Request,
    },
    /// All that a rank does, where it has been found out what that is and until when: of a program under the
    /// [LogGOPS model](crate::LogGops). Sends no message.
    Elapsed(RankTimes),
    /// Records the time at which the rank came here; takes none.
    Mark {
        /// Number of the iteration that has just ended, from 0.
        iteration: u32,
    },
    /// Records a value and the time at which the rank came here; takes none. A report with several values brings
    /// them one after the other.
    Report {
        /// Number of the report in the program; `u32::MAX` says that what has been logged so far is complete.
        report: u32,
        /// Number of the value in the report.
        index: u32,
        /// The value.
        value: f64,
    },
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
