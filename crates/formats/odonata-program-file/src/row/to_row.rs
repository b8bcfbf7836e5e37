//! Conversion of operations to rows.

use odonata_workload::{Collective, Comm, OneSided, OpKind, PROC_NULL, Request, Source, Tag};

use super::{ANY, COLLECTIVES, DETACHED, Field, NO_RANK, Numbers, ONE_SIDED};

/// The arguments of an operation during conversion.
struct Filled(Numbers);

impl Filled {
    fn set(&mut self, field: Field, value: impl Into<i128>) -> &mut Filled {
        self.0[field as usize] = Some(value.into());
        self
    }

    fn request(&mut self, request: Request) -> &mut Filled {
        let number = match request {
            Request::DETACHED => DETACHED,
            Request(number) => number.into(),
        };
        self.set(Field::Request, number)
    }

    fn to(&mut self, peer: u32, tag: u32, bytes: u64, comm: Comm) -> &mut Filled {
        let peer = if peer == PROC_NULL { NO_RANK } else { peer.into() };
        self.set(Field::Peer, peer)
            .set(Field::Tag, tag)
            .set(Field::Bytes, bytes);
        self.set(Field::Comm, comm.0)
    }

    fn one_sided(&mut self, call: &OneSided) -> &mut Filled {
        if let OneSided::Access { bytes, request, .. } = *call {
            self.set(Field::Bytes, bytes);
            if request != Request::DETACHED {
                self.request(request);
            }
        }
        if let Some(target) = call.target() {
            self.set(Field::Peer, peer_of(target));
        }
        if let Some(group) = call.group() {
            self.set(Field::NewComm, group.0);
        }
        self.set(Field::Comm, call.comm().0)
    }

    fn from(&mut self, source: Source, tag: Tag, fields: [Field; 2]) -> &mut Filled {
        let peer = peer_of(source);
        let tag = match tag {
            Tag::Any => ANY,
            Tag::Is(tag) => tag.into(),
        };
        self.set(fields[0], peer).set(fields[1], tag)
    }

    fn access(&mut self, file: u64, offset: u64, bytes: u64) -> &mut Filled {
        self.set(Field::File, file)
            .set(Field::Offset, offset)
            .set(Field::Bytes, bytes)
    }

    fn collective(&mut self, collective: &Collective) -> &mut Filled {
        self.set(Field::Comm, collective.comm().0);
        match *collective {
            Collective::Barrier { .. } => self,
            Collective::Broadcast { root, bytes, .. }
            | Collective::Gather { root, bytes, .. }
            | Collective::Scatter { root, bytes, .. } => self.set(Field::Root, root).set(Field::Bytes, bytes),
            Collective::Reduce { root, bytes, count, .. } => self
                .set(Field::Root, root)
                .set(Field::Bytes, bytes)
                .set(Field::Count, count),
            Collective::Allreduce { bytes, count, .. }
            | Collective::ReduceScatterBlock { bytes, count, .. }
            | Collective::Scan { bytes, count, .. }
            | Collective::Exscan { bytes, count, .. } => self.set(Field::Bytes, bytes).set(Field::Count, count),
            Collective::Gatherv { root, counts, .. } | Collective::Scatterv { root, counts, .. } => {
                self.set(Field::Root, root).set(Field::Counts, counts.0)
            }
            Collective::Allgatherv { counts, .. }
            | Collective::ReduceScatter { counts, .. }
            | Collective::Alltoallv { counts, .. } => self.set(Field::Counts, counts.0),
            Collective::Allgather { bytes, .. } | Collective::Alltoall { bytes, .. } => self.set(Field::Bytes, bytes),
        }
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

/// The row of an operation: name of its kind, and its numbers.
pub fn to_row(kind: &OpKind) -> (&'static str, Numbers) {
    (name(kind), numbers(kind))
}

/// The name of a kind of operation.
const fn name(kind: &OpKind) -> &'static str {
    match kind {
        OpKind::Compute { .. } => "compute",
        OpKind::Send { .. } => "send",
        OpKind::Ssend { .. } => "ssend",
        OpKind::Isend { .. } => "isend",
        OpKind::Issend { .. } => "issend",
        OpKind::SendInit { .. } => "send_init",
        OpKind::Recv { .. } => "recv",
        OpKind::Irecv { .. } => "irecv",
        OpKind::RecvInit { .. } => "recv_init",
        OpKind::Sendrecv { .. } => "sendrecv",
        OpKind::Probe { .. } => "probe",
        OpKind::Iprobe { .. } => "iprobe",
        OpKind::Start { .. } => "start",
        OpKind::StartAll { .. } => "start_all",
        OpKind::RequestFree { .. } => "request_free",
        OpKind::Wait { .. } => "wait",
        OpKind::WaitAll { .. } => "wait_all",
        OpKind::WaitAny { .. } => "wait_any",
        OpKind::WaitSome { .. } => "wait_some",
        OpKind::Test { .. } => "test",
        OpKind::TestAny { .. } => "test_any",
        OpKind::TestAll { .. } => "test_all",
        OpKind::TestSome { .. } => "test_some",
        OpKind::Collective(collective) => COLLECTIVES[collective.which() as usize].0,
        OpKind::Icollective { collective, .. } => COLLECTIVES[collective.which() as usize].1,
        OpKind::CommDup { .. } => "comm_dup",
        OpKind::CommSplit { .. } => "comm_split",
        OpKind::CommCreate { .. } => "comm_create",
        OpKind::CommFree { .. } => "comm_free",
        OpKind::OneSided(call) => ONE_SIDED[call.index()],
        OpKind::Open { .. } => "open",
        OpKind::Close { .. } => "close",
        OpKind::Metadata { call, .. } => call.name(),
        OpKind::Read { .. } => "read",
        OpKind::Write { .. } => "write",
        OpKind::Iread { .. } => "iread",
        OpKind::Iwrite { .. } => "iwrite",
        OpKind::Mark { .. } => "mark",
        // Internal to runs: no program yields it.
        OpKind::Elapsed(_) => "elapsed",
        // Left out when writing.
        OpKind::Report { .. } => "report",
    }
}

fn numbers(kind: &OpKind) -> Numbers {
    const FROM: [Field; 2] = [Field::Peer, Field::Tag];
    let mut row = Filled([None; Field::ALL.len()]);
    match *kind {
        OpKind::Compute { duration } => row.set(Field::DurationPs, duration.0),
        OpKind::Send { to, tag, bytes, comm } | OpKind::Ssend { to, tag, bytes, comm } => row.to(to, tag, bytes, comm),
        OpKind::Isend {
            to,
            tag,
            bytes,
            comm,
            request,
        }
        | OpKind::Issend {
            to,
            tag,
            bytes,
            comm,
            request,
        }
        | OpKind::SendInit {
            to,
            tag,
            bytes,
            comm,
            request,
        } => row.to(to, tag, bytes, comm).request(request),
        OpKind::Recv { from, tag, bytes, comm } => row
            .from(from, tag, FROM)
            .set(Field::Bytes, bytes)
            .set(Field::Comm, comm.0),
        OpKind::Irecv {
            from,
            tag,
            bytes,
            comm,
            request,
        }
        | OpKind::RecvInit {
            from,
            tag,
            bytes,
            comm,
            request,
        } => row
            .from(from, tag, FROM)
            .set(Field::Bytes, bytes)
            .set(Field::Comm, comm.0)
            .request(request),
        OpKind::Sendrecv {
            to,
            send_tag,
            send_bytes,
            from,
            recv_tag,
            recv_bytes,
            comm,
        } => row
            .to(to, send_tag, send_bytes, comm)
            .from(from, recv_tag, [Field::RecvPeer, Field::RecvTag])
            .set(Field::RecvBytes, recv_bytes),
        OpKind::Probe { from, tag, comm } | OpKind::Iprobe { from, tag, comm } => {
            row.from(from, tag, FROM).set(Field::Comm, comm.0)
        }
        OpKind::Start { request }
        | OpKind::RequestFree { request }
        | OpKind::Wait { request }
        | OpKind::Test { request } => row.request(request),
        OpKind::StartAll { first, count }
        | OpKind::WaitAll { first, count }
        | OpKind::WaitAny { first, count }
        | OpKind::WaitSome { first, count }
        | OpKind::TestAny { first, count }
        | OpKind::TestAll { first, count }
        | OpKind::TestSome { first, count } => row.request(first).set(Field::Count, count),
        OpKind::Collective(collective) => row.collective(&collective),
        OpKind::Icollective { collective, request } => row.collective(&collective).request(request),
        OpKind::CommDup { comm, new } | OpKind::CommSplit { comm, new } | OpKind::CommCreate { comm, new } => {
            row.set(Field::Comm, comm.0).set(Field::NewComm, new.0)
        }
        OpKind::CommFree { comm } => row.set(Field::Comm, comm.0),
        OpKind::OneSided(call) => row.one_sided(&call),
        OpKind::Open { file } | OpKind::Close { file } => row.set(Field::File, file),
        OpKind::Metadata { directory, file, .. } => row.set(Field::File, file).set(Field::Directory, directory),
        OpKind::Read { file, offset, bytes } | OpKind::Write { file, offset, bytes } => row.access(file, offset, bytes),
        OpKind::Iread {
            file,
            offset,
            bytes,
            request,
        }
        | OpKind::Iwrite {
            file,
            offset,
            bytes,
            request,
        } => row.access(file, offset, bytes).request(request),
        OpKind::Mark { iteration } => row.set(Field::Iteration, iteration),
        OpKind::Report { .. } | OpKind::Elapsed(_) => &mut row,
    };
    row.0
}
