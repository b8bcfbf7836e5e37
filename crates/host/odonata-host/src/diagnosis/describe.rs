//! Descriptions of operations and failures, with all names and numbers.

use crate::diagnosis::PartState;
use crate::diagnosis::outcome::FailureKind;
use crate::failure::{Failure, InvalidOperation};
use crate::io::calls::Call;
use crate::mpi::communicator::collective_of;
use crate::mpi::stamp::{read_stamp, stamp};
use crate::rank::zero_time_guard;
use crate::timeline::CallKind;
use odonata_storage::{ClientId, Requester};
use odonata_workload::{Comm, OpKind, PROC_NULL, Request, Source, Tag};

impl PartState<'_> {
    /// Describes a failure, with all names and numbers.
    pub(crate) fn describe_failure(self, failure: &Failure) -> (FailureKind, String) {
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
                    // Any of its collectives will do: all have the kind of the first.
                    kind => collective_of(&kind, 0).map_or(theirs, |collective| stamp(&collective, 0)),
                };
                let detail = if read_stamp(ours).0 == name {
                    " with different arguments or from a different call"
                } else {
                    ""
                };
                let text = format!(
                    "{} is in {} (operation {}), but rank {source} is in {name} number {call}{detail}",
                    self.0.layout.name(rank),
                    describe_operation(&op.kind),
                    op.id.0
                );
                (FailureKind::CollectiveMismatch, text)
            }
            Failure::CollectiveLeftover { rank, source, stamp } => {
                let (name, call) = read_stamp(stamp);
                let text = format!(
                    "{} has ended, but rank {source} sent it a message in {name} number {call}: \
                     the ranks call different collectives",
                    self.0.layout.name(rank)
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
                    "{}: a message of {bytes} B from rank {source} with tag {tag} matched a receive with a buffer of {buffer} B",
                    self.0.layout.name(rank)
                );
                (FailureKind::Truncation, text)
            }
            Failure::Invalid { rank, op, why } => {
                let why = match why {
                    InvalidOperation::Communicator(comm) => format!("the rank is not in communicator {}", comm.0),
                    InvalidOperation::Peer {
                        comm: Comm::WORLD,
                        ranks,
                    } => format!("the job has ranks 0 to {}", ranks - 1),
                    InvalidOperation::Peer { comm, ranks: 0 } => format!("communicator {} has no ranks", comm.0),
                    InvalidOperation::Peer { comm, ranks } => {
                        format!("communicator {} has ranks 0 to {} of this job", comm.0, ranks - 1)
                    }
                    InvalidOperation::Collective { members } => {
                        let checked = collective_of(&op.kind, 0).map(|collective| collective.check(members));
                        checked.and_then(Result::err).unwrap_or_default()
                    }
                    InvalidOperation::TooManyCollectives => format!(
                        "at most {} non-blocking collectives can be active on a communicator",
                        crate::mpi::stamp::MOST_BACKGROUND
                    ),
                    InvalidOperation::Active(u32::MAX) => "a persistent request needs a number".to_owned(),
                    InvalidOperation::Active(request) => format!("request {request} is in use"),
                    InvalidOperation::NotPersistent(request) => format!("there is no persistent request {request}"),
                    InvalidOperation::FreedCollective => {
                        "a non-blocking collective cannot be freed; wait for it".to_owned()
                    }
                    InvalidOperation::FreedWorld => "the world communicator cannot be freed".to_owned(),
                    InvalidOperation::TooManyReports => {
                        format!(
                            "a rank can log and output at most {} values",
                            crate::rank::memory::MOST_REPORTS
                        )
                    }
                };
                let text = format!(
                    "{}: {} (operation {}): {why}",
                    self.0.layout.name(rank),
                    describe_operation(&op.kind),
                    op.id.0
                );
                (FailureKind::InvalidOperation, text)
            }
            Failure::Program { rank, at } => {
                let why = self
                    .0
                    .ranks
                    .program_failure(rank, at)
                    .unwrap_or_else(|| "the program cannot continue".to_owned());
                (FailureKind::Program, format!("{}: {why}", self.0.layout.name(rank)))
            }
            Failure::Endless { rank, op } => {
                let program = self
                    .0
                    .layout
                    .program(rank)
                    .map_or(String::new(), |program| program.describe());
                let text = format!(
                    "{}: {} (operation {}), after {} at one instant: the program runs forever without a \
                     computation or a wait that takes time; its program: {program}",
                    self.0.layout.name(rank),
                    describe_operation(&op.kind),
                    op.id.0,
                    zero_time_guard::bound(&op.kind),
                );
                (FailureKind::Program, text)
            }
            Failure::NoServer { rank, op } => {
                let text = format!(
                    "{}: {} (operation {}), but the rank has no storage server",
                    self.0.layout.name(rank),
                    describe_operation(&op.kind),
                    op.id.0
                );
                (FailureKind::NoServer, text)
            }
            Failure::Impossible {
                client,
                server,
                bytes,
                capacity,
            } => {
                let text = format!(
                    "{}: a write of {bytes} B can never fit on storage server {server}, whose device has {capacity} B",
                    self.client_name(client)
                );
                (FailureKind::WriteExceedsDevice, text)
            }
            Failure::Unwritten {
                client,
                server,
                offset,
                bytes,
            } => {
                let text = format!(
                    "{}: a read of {bytes} B at byte {offset} of data that were never written to storage server {server} \
                     (storage.manager.unwritten = \"error\")",
                    self.client_name(client)
                );
                (FailureKind::UnwrittenRead, text)
            }
            Failure::NoAnswer {
                client,
                server,
                operation,
                since,
            } => {
                let text = format!(
                    "{}: {} server {server} has not answered any attempt at the {} called at {:.9} s (storage.client)",
                    self.client_name(client),
                    if server < self.0.layout.first_metadata {
                        "storage"
                    } else {
                        "metadata"
                    },
                    Call::from(operation).name(),
                    since.seconds()
                );
                (FailureKind::ServerFailed, text)
            }
            Failure::Lost {
                client,
                server,
                offset,
                bytes,
            } => {
                let text = format!(
                    "{}: a read of {bytes} B at byte {offset} from storage server {server}: some of the data were lost with a \
                     failed server (storage.client.lost_reads = \"error\")",
                    self.client_name(client)
                );
                (FailureKind::ServerFailed, text)
            }
        }
    }
}

impl PartState<'_> {
    /// The name of a client of a storage server: a rank, or a server of the upper tier.
    fn client_name(self, client: ClientId) -> String {
        match client.requester() {
            Requester::Rank(rank) => self.0.layout.name(rank),
            Requester::Server(server) => format!("storage server {server}"),
        }
    }
}

pub(crate) fn describe_communicator(comm: Comm) -> String {
    match comm {
        Comm::WORLD => "(world)".to_owned(),
        Comm(number) => format!("(communicator {number})"),
    }
}

pub(crate) fn describe_operation(kind: &OpKind) -> String {
    let target = |to: u32| match to {
        PROC_NULL => "no rank".to_owned(),
        to => to.to_string(),
    };
    let many = |name: &str, first: Request, count: u32| format!("{name} for {count} requests from {}", first.0);
    let source = |source: Source| match source {
        Source::Rank(PROC_NULL) => "no rank".to_owned(),
        Source::Rank(rank) => rank.to_string(),
        Source::Any => "any".to_owned(),
    };
    let of_tag = |tag: Tag| match tag {
        Tag::Is(tag) => tag.to_string(),
        Tag::Any => "any".to_owned(),
    };
    match *kind {
        OpKind::Compute { duration } => format!("Compute {} s", duration.seconds()),
        OpKind::Send { to, tag, comm, .. } => {
            format!("Send to {} tag {tag} {}", target(to), describe_communicator(comm))
        }
        OpKind::Ssend { to, tag, comm, .. } => {
            format!("Ssend to {} tag {tag} {}", target(to), describe_communicator(comm))
        }
        OpKind::Isend { to, tag, comm, .. } => {
            format!("Isend to {} tag {tag} {}", target(to), describe_communicator(comm))
        }
        OpKind::Issend { to, tag, comm, .. } => {
            format!("Issend to {} tag {tag} {}", target(to), describe_communicator(comm))
        }
        OpKind::SendInit { to, tag, comm, .. } => {
            format!("SendInit to {} tag {tag} {}", target(to), describe_communicator(comm))
        }
        OpKind::Sendrecv {
            to,
            send_tag,
            from,
            recv_tag,
            comm,
            ..
        } => format!(
            "Sendrecv to {} tag {send_tag}, from {} tag {} {}",
            target(to),
            source(from),
            of_tag(recv_tag),
            describe_communicator(comm)
        ),
        OpKind::Probe { from, tag, comm } => format!(
            "Probe from {} tag {} {}",
            source(from),
            of_tag(tag),
            describe_communicator(comm)
        ),
        OpKind::Iprobe { from, tag, comm } => format!(
            "Iprobe from {} tag {} {}",
            source(from),
            of_tag(tag),
            describe_communicator(comm)
        ),
        OpKind::RecvInit { from, tag, comm, .. } => {
            format!(
                "RecvInit from {} tag {} {}",
                source(from),
                of_tag(tag),
                describe_communicator(comm)
            )
        }
        OpKind::Recv { from, tag, comm, .. } => format!(
            "Recv from {} tag {} {}",
            source(from),
            of_tag(tag),
            describe_communicator(comm)
        ),
        OpKind::Irecv { from, tag, comm, .. } => {
            format!(
                "Irecv from {} tag {} {}",
                source(from),
                of_tag(tag),
                describe_communicator(comm)
            )
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
        OpKind::Collective(collective) => format!("{collective} {}", describe_communicator(collective.comm())),
        OpKind::Icollective { collective, .. } => {
            format!("non-blocking {collective} {}", describe_communicator(collective.comm()))
        }
        OpKind::CommDup { comm, new } => format!("CommDup to communicator {} {}", new.0, describe_communicator(comm)),
        OpKind::CommSplit { comm, new } => {
            format!("CommSplit to communicator {} {}", new.0, describe_communicator(comm))
        }
        OpKind::CommCreate { comm, new } => {
            format!("CommCreate of communicator {} {}", new.0, describe_communicator(comm))
        }
        OpKind::CommFree { comm } => format!("CommFree {}", describe_communicator(comm)),
        OpKind::OneSided(call) => format!(
            "{}{} {}",
            CallKind::of(kind).name(),
            call.target()
                .map_or(String::new(), |target| format!(" to {}", source(target))),
            describe_communicator(call.comm())
        ),
        OpKind::Open { file } => format!("Open file {file}"),
        OpKind::Close { file } => format!("Close file {file}"),
        OpKind::Metadata { call, directory, file } => format!("{call:?} file {file} of directory {directory}"),
        OpKind::Read { file, offset, bytes } => format!("Read {bytes} B at {offset} of file {file}"),
        OpKind::Write { file, offset, bytes } => format!("Write {bytes} B at {offset} of file {file}"),
        OpKind::Iread {
            file, offset, bytes, ..
        } => format!("Iread {bytes} B at {offset} of file {file}"),
        OpKind::Iwrite {
            file, offset, bytes, ..
        } => format!("Iwrite {bytes} B at {offset} of file {file}"),
        OpKind::Mark { iteration } => format!("Mark of iteration {iteration}"),
        OpKind::Elapsed(times) => format!("its whole schedule of {}", times.end),
        OpKind::Report { report, index, .. } => format!("Report {report}, value {index}"),
    }
}
