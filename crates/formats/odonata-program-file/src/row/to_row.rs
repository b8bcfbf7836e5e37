//! Conversion of operations to rows.

use odonata_units::Time;
use odonata_workload::{Comm, Counts, OneSided, OpKind, PROC_NULL, Request, Source, Tag};

use super::operations::{self, COLLECTIVES};
use super::{ANY, DETACHED, Field, NO_RANK, Numbers, ONE_SIDED};

/// The arguments of an operation during conversion.
pub(super) struct Filled(Numbers);

impl Filled {
    fn set(&mut self, field: Field, value: impl Into<i128>) {
        self.0[field as usize] = Some(value.into());
    }

    fn one_sided(&mut self, call: &OneSided) {
        if let OneSided::Access { bytes, request, .. } = *call {
            self.bytes(bytes);
            if request != Request::DETACHED {
                self.request(request);
            }
        }
        if let Some(target) = call.target() {
            self.set(Field::Peer, peer_of(target));
        }
        if let Some(group) = call.group() {
            self.new_comm(group);
        }
        self.comm(call.comm());
    }
}

/// Arguments of operations, as [`operations`](super::operations) names them.
impl Filled {
    pub(super) fn duration(&mut self, duration: Time) {
        self.set(Field::DurationPs, duration.0);
    }

    pub(super) fn to(&mut self, to: u32) {
        self.set(Field::Peer, peer_of(Source::Rank(to)));
    }

    pub(super) fn tag(&mut self, tag: u32) {
        self.set(Field::Tag, tag);
    }

    pub(super) fn from(&mut self, from: Source) {
        self.set(Field::Peer, peer_of(from));
    }

    pub(super) fn any_tag(&mut self, any_tag: Tag) {
        self.set(Field::Tag, tag_of(any_tag));
    }

    pub(super) fn bytes(&mut self, bytes: u64) {
        self.set(Field::Bytes, bytes);
    }

    pub(super) fn comm(&mut self, comm: Comm) {
        self.set(Field::Comm, comm.0);
    }

    pub(super) fn freed_comm(&mut self, freed_comm: Comm) {
        self.set(Field::Comm, freed_comm.0);
    }

    pub(super) fn new_comm(&mut self, new_comm: Comm) {
        self.set(Field::NewComm, new_comm.0);
    }

    pub(super) fn request(&mut self, request: Request) {
        let number = match request {
            Request::DETACHED => DETACHED,
            Request(number) => number.into(),
        };
        self.set(Field::Request, number);
    }

    pub(super) fn waited(&mut self, waited: Request) {
        self.request(waited);
    }

    pub(super) fn requests(&mut self, requests: u32) {
        self.set(Field::Count, requests);
    }

    pub(super) fn recv_peer(&mut self, recv_peer: Source) {
        self.set(Field::RecvPeer, peer_of(recv_peer));
    }

    pub(super) fn recv_tag(&mut self, recv_tag: Tag) {
        self.set(Field::RecvTag, tag_of(recv_tag));
    }

    pub(super) fn recv_bytes(&mut self, recv_bytes: u64) {
        self.set(Field::RecvBytes, recv_bytes);
    }

    pub(super) fn file(&mut self, file: u64) {
        self.set(Field::File, file);
    }

    pub(super) fn offset(&mut self, offset: u64) {
        self.set(Field::Offset, offset);
    }

    pub(super) fn root(&mut self, root: u32) {
        self.set(Field::Root, root);
    }

    pub(super) fn elements(&mut self, elements: u64) {
        self.set(Field::Count, elements);
    }

    pub(super) fn counts(&mut self, counts: Counts) {
        self.set(Field::Counts, counts.0);
    }
}

/// A rank, any rank or no rank as a number.
fn peer_of(source: Source) -> i128 {
    match source {
        Source::Any => ANY,
        Source::Rank(PROC_NULL) => NO_RANK,
        Source::Rank(rank) => rank.into(),
    }
}

/// A tag, or any tag, as a number.
fn tag_of(tag: Tag) -> i128 {
    match tag {
        Tag::Any => ANY,
        Tag::Is(tag) => tag.into(),
    }
}

/// The row of an operation: name of its kind, and its numbers.
pub fn to_row(kind: &OpKind) -> (&'static str, Numbers) {
    let mut row = Filled([None; Field::ALL.len()]);
    let name = match *kind {
        OpKind::Collective(collective) => {
            operations::put_collective(&collective, &mut row);
            COLLECTIVES[collective.which() as usize].0
        }
        OpKind::Icollective { collective, request } => {
            operations::put_collective(&collective, &mut row);
            row.request(request);
            COLLECTIVES[collective.which() as usize].1
        }
        OpKind::OneSided(call) => {
            row.one_sided(&call);
            ONE_SIDED[call.index()]
        }
        OpKind::Metadata { call, directory, file } => {
            row.file(file);
            row.set(Field::Directory, directory);
            call.name()
        }
        OpKind::Mark { iteration } => {
            row.set(Field::Iteration, iteration);
            "mark"
        }
        // Internal to runs: no program yields it.
        OpKind::Elapsed(_) => "elapsed",
        // Left out when writing.
        OpKind::Report { .. } => "report",
        ref other => operations::put(other, &mut row).unwrap_or_default(),
    };
    (name, row.0)
}
