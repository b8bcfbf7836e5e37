//! Words for operations and failures.

use super::Hosts;
use super::collective::{read_stamp, stamp};
use super::communicator::collective_of;
use super::outcome::{Failure, FailureKind, Wrong};
use odonata_workload::{Comm, OpKind, PROC_NULL, Request, Source, Tag};

impl Hosts {
    /// `job "name" rank 3`.
    pub(crate) fn name(&self, rank: u32) -> String {
        let (job, local) = self.job_of(rank);
        format!("job \"{}\" rank {local}", self.jobs[usize::from(job)].name)
    }

    /// What a failure is, with all names and numbers.
    pub(crate) fn explain(&self, failure: &Failure) -> (FailureKind, String) {
        match *failure {
            Failure::Mismatch {
                rank,
                op,
                source,
                stamp: theirs,
            } => {
                let (name, call) = read_stamp(theirs);
                let ours = match op.kind {
                    OpKind::Collective(collective) | OpKind::Icollective { collective, .. } => stamp(&collective, 0),
                    // Which of its collectives does not matter: all are of the same kind as the first.
                    kind => collective_of(&kind, 0).map_or(theirs, |collective| stamp(&collective, 0)),
                };
                let detail = if read_stamp(ours).0 == name {
                    " with other arguments or of another call"
                } else {
                    ""
                };
                let text = format!(
                    "{} is in {} (operation {}), but rank {source} is in {name} number {call}{detail}",
                    self.name(rank),
                    describe(&op.kind),
                    op.id.0
                );
                (FailureKind::CollectiveMismatch, text)
            }
            Failure::Leftover { rank, source, stamp } => {
                let (name, call) = read_stamp(stamp);
                let text = format!(
                    "{} has come to its end, but rank {source} sent it a message in {name} number {call}: \
                     the ranks do not call the same collectives",
                    self.name(rank)
                );
                (FailureKind::CollectiveMismatch, text)
            }
            Failure::Truncation {
                rank,
                source,
                tag,
                bytes,
                buffer,
            } => {
                let text = format!(
                    "{}: a message of {bytes} B from rank {source} with tag {tag} met a receive with a buffer of {buffer} B",
                    self.name(rank)
                );
                (FailureKind::Truncation, text)
            }
            Failure::Invalid { rank, op, why } => {
                let why = match why {
                    Wrong::Communicator(comm) => format!("the rank is in no communicator {}", comm.0),
                    Wrong::Peer {
                        comm: Comm::WORLD,
                        ranks,
                    } => format!("the job has ranks 0 to {}", ranks - 1),
                    Wrong::Peer { comm, ranks: 0 } => format!("communicator {} has no ranks", comm.0),
                    Wrong::Peer { comm, ranks } => {
                        format!("communicator {} has ranks 0 to {} of this job", comm.0, ranks - 1)
                    }
                    Wrong::Collective { members } => {
                        let checked = collective_of(&op.kind, 0).map(|collective| collective.check(members));
                        checked.and_then(Result::err).unwrap_or_default()
                    }
                    Wrong::TooManyCollectives => format!(
                        "at most {} non-blocking collectives can be under way on a communicator",
                        super::collective::MOST_BACKGROUND
                    ),
                    Wrong::Active(u32::MAX) => "a persistent request needs a number".to_owned(),
                    Wrong::Active(request) => format!("request {request} is in use"),
                    Wrong::NotPersistent(request) => format!("there is no persistent request {request}"),
                    Wrong::FreedCollective => "a non-blocking collective has to be waited for".to_owned(),
                    Wrong::FreedWorld => "the world cannot be freed".to_owned(),
                    Wrong::TooManyReports => {
                        format!("a rank can log and put out {} values", super::memory::MOST_REPORTS)
                    }
                };
                let text = format!(
                    "{}: {} (operation {}): {why}",
                    self.name(rank),
                    describe(&op.kind),
                    op.id.0
                );
                (FailureKind::InvalidOperation, text)
            }
            Failure::Program { rank, at } => {
                let why = self
                    .program_failure(rank, at)
                    .unwrap_or_else(|| "the program cannot go on".to_owned());
                (FailureKind::Program, format!("{}: {why}", self.name(rank)))
            }
            Failure::NoServer { rank, op } => {
                let text = format!(
                    "{}: {} (operation {}), but the rank has no storage server",
                    self.name(rank),
                    describe(&op.kind),
                    op.id.0
                );
                (FailureKind::NoServer, text)
            }
            Failure::Impossible {
                rank,
                server,
                bytes,
                capacity,
            } => {
                let text = format!(
                    "{}: a write of {bytes} B can never fit on storage server {server}, whose device has {capacity} B",
                    self.name(rank)
                );
                (FailureKind::WriteExceedsDevice, text)
            }
        }
    }
}

/// An operation in words.
pub(crate) fn describe(kind: &OpKind) -> String {
    let on = |comm: Comm| {
        if comm == Comm::WORLD {
            "(world)".to_owned()
        } else {
            format!("(communicator {})", comm.0)
        }
    };
    let to_whom = |to: u32| match to {
        PROC_NULL => "nobody".to_owned(),
        to => to.to_string(),
    };
    let many = |name: &str, first: Request, count: u32| format!("{name} for {count} requests from {}", first.0);
    let source = |source: Source| match source {
        Source::Rank(PROC_NULL) => "nobody".to_owned(),
        Source::Rank(rank) => rank.to_string(),
        Source::Any => "any".to_owned(),
    };
    let of_tag = |tag: Tag| match tag {
        Tag::Is(tag) => tag.to_string(),
        Tag::Any => "any".to_owned(),
    };
    match *kind {
        OpKind::Compute { duration } => format!("Compute {} s", duration.seconds()),
        OpKind::Send { to, tag, comm, .. } => format!("Send to {} tag {tag} {}", to_whom(to), on(comm)),
        OpKind::Ssend { to, tag, comm, .. } => format!("Ssend to {} tag {tag} {}", to_whom(to), on(comm)),
        OpKind::Isend { to, tag, comm, .. } => format!("Isend to {} tag {tag} {}", to_whom(to), on(comm)),
        OpKind::Issend { to, tag, comm, .. } => format!("Issend to {} tag {tag} {}", to_whom(to), on(comm)),
        OpKind::SendInit { to, tag, comm, .. } => format!("SendInit to {} tag {tag} {}", to_whom(to), on(comm)),
        OpKind::Sendrecv {
            to,
            send_tag,
            from,
            recv_tag,
            comm,
            ..
        } => format!(
            "Sendrecv to {} tag {send_tag}, from {} tag {} {}",
            to_whom(to),
            source(from),
            of_tag(recv_tag),
            on(comm)
        ),
        OpKind::Probe { from, tag, comm } => format!("Probe from {} tag {} {}", source(from), of_tag(tag), on(comm)),
        OpKind::Iprobe { from, tag, comm } => format!("Iprobe from {} tag {} {}", source(from), of_tag(tag), on(comm)),
        OpKind::RecvInit { from, tag, comm, .. } => {
            format!("RecvInit from {} tag {} {}", source(from), of_tag(tag), on(comm))
        }
        OpKind::Recv { from, tag, comm, .. } => format!("Recv from {} tag {} {}", source(from), of_tag(tag), on(comm)),
        OpKind::Irecv { from, tag, comm, .. } => {
            format!("Irecv from {} tag {} {}", source(from), of_tag(tag), on(comm))
        }
        OpKind::Wait { request } => format!("Wait for request {}", request.0),
        OpKind::WaitAll { first, count } => many("WaitAll", first, count),
        OpKind::WaitAny { first, count } => many("WaitAny", first, count),
        OpKind::WaitSome { first, count } => many("WaitSome", first, count),
        OpKind::Test { request } => format!("Test of request {}", request.0),
        OpKind::TestAny { first, count } => many("TestAny", first, count),
        OpKind::TestAll { first, count } => many("TestAll", first, count),
        OpKind::TestSome { first, count } => many("TestSome", first, count),
        OpKind::Start { request } => format!("Start of request {}", request.0),
        OpKind::StartAll { first, count } => many("StartAll", first, count),
        OpKind::RequestFree { request } => format!("RequestFree of request {}", request.0),
        OpKind::Collective(collective) => format!("{collective} {}", on(collective.comm())),
        OpKind::Icollective { collective, .. } => format!("non-blocking {collective} {}", on(collective.comm())),
        OpKind::CommDup { comm, new } => format!("CommDup to communicator {} {}", new.0, on(comm)),
        OpKind::CommSplit { comm, new } => format!("CommSplit to communicator {} {}", new.0, on(comm)),
        OpKind::CommCreate { comm, new } => format!("CommCreate of communicator {} {}", new.0, on(comm)),
        OpKind::CommFree { comm } => format!("CommFree {}", on(comm)),
        OpKind::Open { file } => format!("Open file {file}"),
        OpKind::Close { file } => format!("Close file {file}"),
        OpKind::Read { file, offset, bytes } => format!("Read {bytes} B at {offset} of file {file}"),
        OpKind::Write { file, offset, bytes } => format!("Write {bytes} B at {offset} of file {file}"),
        OpKind::Iread {
            file, offset, bytes, ..
        } => format!("Iread {bytes} B at {offset} of file {file}"),
        OpKind::Iwrite {
            file, offset, bytes, ..
        } => format!("Iwrite {bytes} B at {offset} of file {file}"),
        OpKind::Mark { iteration } => format!("Mark of iteration {iteration}"),
        OpKind::Report { report, index, .. } => format!("Report {report}, value {index}"),
    }
}
