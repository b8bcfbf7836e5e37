//! Words for operations and failures.

use super::Hosts;
use super::collective::{read_stamp, stamp};
use super::outcome::{Failure, FailureKind};
use odonata_workload::{Comm, OpKind, Source, Tag};

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
                    OpKind::Collective(collective) => stamp(&collective, 0),
                    _ => theirs,
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
            Failure::Invalid { rank, op } => {
                let ranks = self.jobs[usize::from(self.places[rank as usize].job)].ranks;
                let why = match op.kind {
                    OpKind::Collective(collective) => collective.check(ranks).err().unwrap_or_default(),
                    _ => format!("the job has ranks 0 to {}", ranks - 1),
                };
                let text = format!(
                    "{}: {} (operation {}): {why}",
                    self.name(rank),
                    describe(&op.kind),
                    op.id.0
                );
                (FailureKind::InvalidOperation, text)
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
    let source = |source: Source| match source {
        Source::Rank(rank) => rank.to_string(),
        Source::Any => "any".to_owned(),
    };
    let of_tag = |tag: Tag| match tag {
        Tag::Is(tag) => tag.to_string(),
        Tag::Any => "any".to_owned(),
    };
    match *kind {
        OpKind::Compute { duration } => format!("Compute {} s", duration.seconds()),
        OpKind::Send { to, tag, comm, .. } => format!("Send to {to} tag {tag} {}", on(comm)),
        OpKind::Isend { to, tag, comm, .. } => format!("Isend to {to} tag {tag} {}", on(comm)),
        OpKind::Recv { from, tag, comm, .. } => format!("Recv from {} tag {} {}", source(from), of_tag(tag), on(comm)),
        OpKind::Irecv { from, tag, comm, .. } => {
            format!("Irecv from {} tag {} {}", source(from), of_tag(tag), on(comm))
        }
        OpKind::Wait { request } => format!("Wait for request {}", request.0),
        OpKind::WaitAll { first, count } => format!("WaitAll for {count} requests from {}", first.0),
        OpKind::Collective(collective) => format!("{collective} {}", on(collective.comm())),
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
    }
}
