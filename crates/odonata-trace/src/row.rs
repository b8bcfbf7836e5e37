//! One operation as a row: its kind as a word, its arguments as numbers in named columns.

use odonata_units::Time;
use odonata_workload::collective::Kind;
use odonata_workload::{Collective, Comm, Counts, OpKind, PROC_NULL, Request, Source, Tag};

use crate::error::Fault;

/// A column with numbers that belong to some kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Field {
    /// The other rank of a message.
    Peer,
    /// Tag of a message.
    Tag,
    /// Size in bytes.
    Bytes,
    /// Communicator.
    Comm,
    /// Request.
    Request,
    /// Number of requests, or of elements.
    Count,
    /// Root of a collective.
    Root,
    /// List of sizes.
    Counts,
    /// The communicator that is made.
    NewComm,
    /// File.
    File,
    /// Place in the file.
    Offset,
    /// Time of computation.
    DurationPs,
    /// Sender of what a `sendrecv` receives.
    RecvPeer,
    /// Its tag.
    RecvTag,
    /// Size of its buffer.
    RecvBytes,
    /// Iteration that has ended.
    Iteration,
}

impl Field {
    /// All of them, each at the place of its number.
    pub const ALL: [Field; 16] = [
        Field::Peer,
        Field::Tag,
        Field::Bytes,
        Field::Comm,
        Field::Request,
        Field::Count,
        Field::Root,
        Field::Counts,
        Field::NewComm,
        Field::File,
        Field::Offset,
        Field::DurationPs,
        Field::RecvPeer,
        Field::RecvTag,
        Field::RecvBytes,
        Field::Iteration,
    ];

    /// Name of the column.
    pub const fn name(self) -> &'static str {
        match self {
            Field::Peer => "peer",
            Field::Tag => "tag",
            Field::Bytes => "bytes",
            Field::Comm => "comm",
            Field::Request => "request",
            Field::Count => "count",
            Field::Root => "root",
            Field::Counts => "counts",
            Field::NewComm => "new_comm",
            Field::File => "file",
            Field::Offset => "offset",
            Field::DurationPs => "duration_ps",
            Field::RecvPeer => "recv_peer",
            Field::RecvTag => "recv_tag",
            Field::RecvBytes => "recv_bytes",
            Field::Iteration => "iteration",
        }
    }

    /// Its type as a column: those where -1 has a meaning are signed.
    pub(crate) const fn parquet_type(self) -> &'static str {
        match self {
            Field::Peer | Field::Tag | Field::Request | Field::RecvPeer | Field::RecvTag => "int64",
            Field::Bytes | Field::Count | Field::File | Field::Offset | Field::DurationPs | Field::RecvBytes => {
                "uint64"
            }
            Field::Comm | Field::Root | Field::Counts | Field::NewComm | Field::Iteration => "uint32",
        }
    }
}

/// The numbers of a row, each at the place of its [`Field`]; `None` where a column does not apply.
pub type Numbers = [Option<i128>; Field::ALL.len()];

/// In `peer`: any source.
const ANY: i128 = -1;
/// In `peer`: nobody.
const NOBODY: i128 = -2;
/// In `request`: nobody waits for it.
const DETACHED: i128 = -1;

/// The largest number of a communicator: so many bits are a program's own where it is repeated.
pub const MOST_COMM: u32 = (1 << 23) - 1;
/// The largest number of a list of sizes.
pub const MOST_COUNTS: u32 = (1 << 24) - 1;

/// Names of collectives, each at the place of its [`Kind`]; blocking, then with a request.
const COLLECTIVES: [(&str, &str); 16] = [
    ("barrier", "ibarrier"),
    ("broadcast", "ibroadcast"),
    ("allreduce", "iallreduce"),
    ("reduce", "ireduce"),
    ("gather", "igather"),
    ("gatherv", "igatherv"),
    ("scatter", "iscatter"),
    ("scatterv", "iscatterv"),
    ("allgather", "iallgather"),
    ("allgatherv", "iallgatherv"),
    ("reduce_scatter", "ireduce_scatter"),
    ("reduce_scatter_block", "ireduce_scatter_block"),
    ("scan", "iscan"),
    ("exscan", "iexscan"),
    ("alltoall", "ialltoall"),
    ("alltoallv", "ialltoallv"),
];

/// Names of the other kinds.
const OTHERS: [&str; 33] = [
    "compute",
    "send",
    "recv",
    "isend",
    "irecv",
    "ssend",
    "issend",
    "sendrecv",
    "probe",
    "iprobe",
    "send_init",
    "recv_init",
    "start",
    "start_all",
    "request_free",
    "wait",
    "wait_all",
    "wait_any",
    "wait_some",
    "test",
    "test_any",
    "test_all",
    "test_some",
    "comm_dup",
    "comm_split",
    "comm_create",
    "comm_free",
    "open",
    "close",
    "read",
    "write",
    "iread",
    "iwrite",
];

/// All names of kinds, in the order of the documentation.
pub fn kind_names() -> impl Iterator<Item = &'static str> {
    let collectives = COLLECTIVES.iter().flat_map(|&(blocking, other)| [blocking, other]);
    OTHERS.into_iter().chain(collectives).chain(["mark"])
}

/// The static name that is equal to `name`, if there is such a kind.
pub fn known_kind(name: &str) -> Option<&'static str> {
    kind_names().find(|&known| known == name)
}

/// Whether the kind is a collective, blocking or not.
pub fn is_collective(name: &str) -> bool {
    COLLECTIVES
        .iter()
        .any(|&(blocking, other)| name == blocking || name == other)
}

/// An operation's arguments on their way into a row.
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
        let peer = if peer == PROC_NULL { NOBODY } else { peer.into() };
        self.set(Field::Peer, peer)
            .set(Field::Tag, tag)
            .set(Field::Bytes, bytes);
        self.set(Field::Comm, comm.0)
    }

    fn from(&mut self, source: Source, tag: Tag, fields: [Field; 2]) -> &mut Filled {
        let peer = match source {
            Source::Any => ANY,
            Source::Rank(PROC_NULL) => NOBODY,
            Source::Rank(rank) => rank.into(),
        };
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

/// The row of an operation: name of its kind, and its numbers.
pub fn to_row(kind: &OpKind) -> (&'static str, Numbers) {
    const FROM: [Field; 2] = [Field::Peer, Field::Tag];
    let mut row = Filled([None; Field::ALL.len()]);
    let name = match *kind {
        OpKind::Compute { duration } => {
            row.set(Field::DurationPs, duration.0);
            "compute"
        }
        OpKind::Send { to, tag, bytes, comm } => {
            row.to(to, tag, bytes, comm);
            "send"
        }
        OpKind::Ssend { to, tag, bytes, comm } => {
            row.to(to, tag, bytes, comm);
            "ssend"
        }
        OpKind::Isend {
            to,
            tag,
            bytes,
            comm,
            request,
        } => {
            row.to(to, tag, bytes, comm).request(request);
            "isend"
        }
        OpKind::Issend {
            to,
            tag,
            bytes,
            comm,
            request,
        } => {
            row.to(to, tag, bytes, comm).request(request);
            "issend"
        }
        OpKind::SendInit {
            to,
            tag,
            bytes,
            comm,
            request,
        } => {
            row.to(to, tag, bytes, comm).request(request);
            "send_init"
        }
        OpKind::Recv { from, tag, bytes, comm } => {
            row.from(from, tag, FROM)
                .set(Field::Bytes, bytes)
                .set(Field::Comm, comm.0);
            "recv"
        }
        OpKind::Irecv {
            from,
            tag,
            bytes,
            comm,
            request,
        } => {
            row.from(from, tag, FROM)
                .set(Field::Bytes, bytes)
                .set(Field::Comm, comm.0)
                .request(request);
            "irecv"
        }
        OpKind::RecvInit {
            from,
            tag,
            bytes,
            comm,
            request,
        } => {
            row.from(from, tag, FROM)
                .set(Field::Bytes, bytes)
                .set(Field::Comm, comm.0)
                .request(request);
            "recv_init"
        }
        OpKind::Sendrecv {
            to,
            send_tag,
            send_bytes,
            from,
            recv_tag,
            recv_bytes,
            comm,
        } => {
            row.to(to, send_tag, send_bytes, comm);
            row.from(from, recv_tag, [Field::RecvPeer, Field::RecvTag])
                .set(Field::RecvBytes, recv_bytes);
            "sendrecv"
        }
        OpKind::Probe { from, tag, comm } => {
            row.from(from, tag, FROM).set(Field::Comm, comm.0);
            "probe"
        }
        OpKind::Iprobe { from, tag, comm } => {
            row.from(from, tag, FROM).set(Field::Comm, comm.0);
            "iprobe"
        }
        OpKind::Start { request } => {
            row.request(request);
            "start"
        }
        OpKind::RequestFree { request } => {
            row.request(request);
            "request_free"
        }
        OpKind::Wait { request } => {
            row.request(request);
            "wait"
        }
        OpKind::Test { request } => {
            row.request(request);
            "test"
        }
        OpKind::StartAll { first, count } => {
            row.request(first).set(Field::Count, count);
            "start_all"
        }
        OpKind::WaitAll { first, count } => {
            row.request(first).set(Field::Count, count);
            "wait_all"
        }
        OpKind::WaitAny { first, count } => {
            row.request(first).set(Field::Count, count);
            "wait_any"
        }
        OpKind::WaitSome { first, count } => {
            row.request(first).set(Field::Count, count);
            "wait_some"
        }
        OpKind::TestAny { first, count } => {
            row.request(first).set(Field::Count, count);
            "test_any"
        }
        OpKind::TestAll { first, count } => {
            row.request(first).set(Field::Count, count);
            "test_all"
        }
        OpKind::TestSome { first, count } => {
            row.request(first).set(Field::Count, count);
            "test_some"
        }
        OpKind::Collective(collective) => {
            row.collective(&collective);
            COLLECTIVES[collective.which() as usize].0
        }
        OpKind::Icollective { collective, request } => {
            row.collective(&collective).request(request);
            COLLECTIVES[collective.which() as usize].1
        }
        OpKind::CommDup { comm, new } => {
            row.set(Field::Comm, comm.0).set(Field::NewComm, new.0);
            "comm_dup"
        }
        OpKind::CommSplit { comm, new } => {
            row.set(Field::Comm, comm.0).set(Field::NewComm, new.0);
            "comm_split"
        }
        OpKind::CommCreate { comm, new } => {
            row.set(Field::Comm, comm.0).set(Field::NewComm, new.0);
            "comm_create"
        }
        OpKind::CommFree { comm } => {
            row.set(Field::Comm, comm.0);
            "comm_free"
        }
        OpKind::Open { file } => {
            row.set(Field::File, file);
            "open"
        }
        OpKind::Close { file } => {
            row.set(Field::File, file);
            "close"
        }
        OpKind::Read { file, offset, bytes } => {
            row.access(file, offset, bytes);
            "read"
        }
        OpKind::Write { file, offset, bytes } => {
            row.access(file, offset, bytes);
            "write"
        }
        OpKind::Iread {
            file,
            offset,
            bytes,
            request,
        } => {
            row.access(file, offset, bytes).request(request);
            "iread"
        }
        OpKind::Iwrite {
            file,
            offset,
            bytes,
            request,
        } => {
            row.access(file, offset, bytes).request(request);
            "iwrite"
        }
        OpKind::Mark { iteration } => {
            row.set(Field::Iteration, iteration);
            "mark"
        }
        // Writing leaves it out.
        OpKind::Report { .. } => "report",
    };
    (name, row.0)
}

/// The numbers of a row on their way into an operation: what is taken must be there, what is left must not.
struct Given<'a> {
    kind: &'a str,
    numbers: Numbers,
}

type Found<T> = Result<T, Fault>;

impl Given<'_> {
    fn wrong(&self, field: Field, value: i128, expected: impl Into<String>) -> Fault {
        Fault {
            column: field.name(),
            problem: format!("{value} in an operation {:?}", self.kind),
            expected: expected.into(),
        }
    }

    fn some(&mut self, field: Field) -> Found<i128> {
        self.numbers[field as usize].take().ok_or_else(|| Fault {
            column: field.name(),
            problem: format!("null in an operation {:?}", self.kind),
            expected: "a value".into(),
        })
    }

    fn within(&mut self, field: Field, least: i128, most: i128) -> Found<i128> {
        let value = self.some(field)?;
        if (least..=most).contains(&value) {
            Ok(value)
        } else {
            Err(self.wrong(field, value, format!("{least} to {most}")))
        }
    }

    fn u64(&mut self, field: Field) -> Found<u64> {
        Ok(self.within(field, 0, u64::MAX.into())? as u64)
    }

    fn u32(&mut self, field: Field, most: u32) -> Found<u32> {
        Ok(self.within(field, 0, most.into())? as u32)
    }

    /// As [`u32`](Self::u32); 0 where there is none.
    fn u32_or_0(&mut self, field: Field, most: u32) -> Found<u32> {
        match self.numbers[field as usize] {
            None => Ok(0),
            Some(_) => self.u32(field, most),
        }
    }

    fn comm(&mut self) -> Found<Comm> {
        self.u32_or_0(Field::Comm, MOST_COMM).map(Comm)
    }

    fn counts(&mut self) -> Found<Counts> {
        self.u32(Field::Counts, MOST_COUNTS).map(Counts)
    }

    fn bytes(&mut self) -> Found<u64> {
        self.u64(Field::Bytes)
    }

    fn file(&mut self) -> Found<u64> {
        self.u64(Field::File)
    }

    fn request(&mut self) -> Found<Request> {
        Ok(match self.within(Field::Request, DETACHED, i128::from(u32::MAX) - 1)? {
            DETACHED => Request::DETACHED,
            number => Request(number as u32),
        })
    }

    /// A request that somebody waits for.
    fn waited(&mut self) -> Found<Request> {
        Ok(Request(self.u32(Field::Request, u32::MAX - 1)?))
    }

    /// Requests with consecutive numbers.
    fn requests(&mut self) -> Found<(Request, u32)> {
        let first = self.waited()?;
        Ok((first, self.u32(Field::Count, u32::MAX - 1 - first.0)?))
    }

    fn to(&mut self) -> Found<u32> {
        Ok(match self.within(Field::Peer, NOBODY, i128::from(u32::MAX) - 1)? {
            NOBODY => PROC_NULL,
            ANY => return Err(self.wrong(Field::Peer, ANY, "a rank, or -2 for nobody")),
            rank => rank as u32,
        })
    }

    fn tag(&mut self) -> Found<u32> {
        self.u32_or_0(Field::Tag, u32::MAX)
    }

    fn source(&mut self, peer: Field, tag: Field) -> Found<(Source, Tag)> {
        let source = match self.within(peer, NOBODY, i128::from(u32::MAX) - 1)? {
            ANY => Source::Any,
            NOBODY => Source::Rank(PROC_NULL),
            rank => Source::Rank(rank as u32),
        };
        let tag = match self.numbers[tag as usize] {
            None => Tag::Is(0),
            Some(_) => match self.within(tag, ANY, u32::MAX.into())? {
                ANY => Tag::Any,
                tag => Tag::Is(tag as u32),
            },
        };
        Ok((source, tag))
    }

    fn root(&mut self) -> Found<u32> {
        self.u32(Field::Root, u32::MAX - 1)
    }

    fn collective(&mut self, kind: Kind) -> Found<Collective> {
        let comm = self.comm()?;
        Ok(match kind {
            Kind::Barrier => Collective::Barrier { comm },
            Kind::Broadcast => Collective::Broadcast {
                comm,
                root: self.root()?,
                bytes: self.bytes()?,
            },
            Kind::Gather => Collective::Gather {
                comm,
                root: self.root()?,
                bytes: self.bytes()?,
            },
            Kind::Scatter => Collective::Scatter {
                comm,
                root: self.root()?,
                bytes: self.bytes()?,
            },
            Kind::Reduce => Collective::Reduce {
                comm,
                root: self.root()?,
                bytes: self.bytes()?,
                count: self.u64(Field::Count)?,
            },
            Kind::Allreduce => Collective::Allreduce {
                comm,
                bytes: self.bytes()?,
                count: self.u64(Field::Count)?,
            },
            Kind::ReduceScatterBlock => Collective::ReduceScatterBlock {
                comm,
                bytes: self.bytes()?,
                count: self.u64(Field::Count)?,
            },
            Kind::Scan => Collective::Scan {
                comm,
                bytes: self.bytes()?,
                count: self.u64(Field::Count)?,
            },
            Kind::Exscan => Collective::Exscan {
                comm,
                bytes: self.bytes()?,
                count: self.u64(Field::Count)?,
            },
            Kind::Gatherv => Collective::Gatherv {
                comm,
                root: self.root()?,
                counts: self.counts()?,
            },
            Kind::Scatterv => Collective::Scatterv {
                comm,
                root: self.root()?,
                counts: self.counts()?,
            },
            Kind::Allgather => Collective::Allgather {
                comm,
                bytes: self.bytes()?,
            },
            Kind::Allgatherv => Collective::Allgatherv {
                comm,
                counts: self.counts()?,
            },
            Kind::ReduceScatter => Collective::ReduceScatter {
                comm,
                counts: self.counts()?,
            },
            Kind::Alltoall => Collective::Alltoall {
                comm,
                bytes: self.bytes()?,
            },
            Kind::Alltoallv => Collective::Alltoallv {
                comm,
                counts: self.counts()?,
            },
        })
    }
}

/// The operation of a row.
///
/// # Errors
/// There is no such kind; a number that it needs is missing or impossible; or one is there that does not apply.
pub fn from_row(kind: &str, numbers: &Numbers) -> Result<OpKind, Fault> {
    let mut row = Given {
        kind,
        numbers: *numbers,
    };
    let op = read(&mut row)?;
    let left = Field::ALL
        .into_iter()
        .find_map(|field| Some((field, row.numbers[field as usize]?)));
    match left {
        None => Ok(op),
        Some((field, value)) => Err(row.wrong(field, value, "null: the column does not apply")),
    }
}

fn read(row: &mut Given<'_>) -> Found<OpKind> {
    let source = |row: &mut Given<'_>| row.source(Field::Peer, Field::Tag);
    Ok(match row.kind {
        "compute" => OpKind::Compute {
            duration: Time(row.within(Field::DurationPs, 0, Time::LONGEST.0.into())? as u64),
        },
        "send" => OpKind::Send {
            to: row.to()?,
            tag: row.tag()?,
            bytes: row.bytes()?,
            comm: row.comm()?,
        },
        "ssend" => OpKind::Ssend {
            to: row.to()?,
            tag: row.tag()?,
            bytes: row.bytes()?,
            comm: row.comm()?,
        },
        "isend" => OpKind::Isend {
            to: row.to()?,
            tag: row.tag()?,
            bytes: row.bytes()?,
            comm: row.comm()?,
            request: row.request()?,
        },
        "issend" => OpKind::Issend {
            to: row.to()?,
            tag: row.tag()?,
            bytes: row.bytes()?,
            comm: row.comm()?,
            request: row.request()?,
        },
        "send_init" => OpKind::SendInit {
            to: row.to()?,
            tag: row.tag()?,
            bytes: row.bytes()?,
            comm: row.comm()?,
            request: row.waited()?,
        },
        "recv" => {
            let (from, tag) = source(row)?;
            OpKind::Recv {
                from,
                tag,
                bytes: row.bytes()?,
                comm: row.comm()?,
            }
        }
        "irecv" => {
            let (from, tag) = source(row)?;
            OpKind::Irecv {
                from,
                tag,
                bytes: row.bytes()?,
                comm: row.comm()?,
                request: row.request()?,
            }
        }
        "recv_init" => {
            let (from, tag) = source(row)?;
            OpKind::RecvInit {
                from,
                tag,
                bytes: row.bytes()?,
                comm: row.comm()?,
                request: row.waited()?,
            }
        }
        "sendrecv" => {
            let (from, recv_tag) = row.source(Field::RecvPeer, Field::RecvTag)?;
            OpKind::Sendrecv {
                to: row.to()?,
                send_tag: row.tag()?,
                send_bytes: row.bytes()?,
                from,
                recv_tag,
                recv_bytes: row.u64(Field::RecvBytes)?,
                comm: row.comm()?,
            }
        }
        "probe" => {
            let (from, tag) = source(row)?;
            OpKind::Probe {
                from,
                tag,
                comm: row.comm()?,
            }
        }
        "iprobe" => {
            let (from, tag) = source(row)?;
            OpKind::Iprobe {
                from,
                tag,
                comm: row.comm()?,
            }
        }
        "start" => OpKind::Start { request: row.waited()? },
        "request_free" => OpKind::RequestFree { request: row.waited()? },
        "wait" => OpKind::Wait { request: row.waited()? },
        "test" => OpKind::Test { request: row.waited()? },
        "start_all" => {
            let (first, count) = row.requests()?;
            OpKind::StartAll { first, count }
        }
        "wait_all" => {
            let (first, count) = row.requests()?;
            OpKind::WaitAll { first, count }
        }
        "wait_any" => {
            let (first, count) = row.requests()?;
            OpKind::WaitAny { first, count }
        }
        "wait_some" => {
            let (first, count) = row.requests()?;
            OpKind::WaitSome { first, count }
        }
        "test_any" => {
            let (first, count) = row.requests()?;
            OpKind::TestAny { first, count }
        }
        "test_all" => {
            let (first, count) = row.requests()?;
            OpKind::TestAll { first, count }
        }
        "test_some" => {
            let (first, count) = row.requests()?;
            OpKind::TestSome { first, count }
        }
        "comm_dup" => OpKind::CommDup {
            comm: row.comm()?,
            new: new_comm(row)?,
        },
        "comm_split" => OpKind::CommSplit {
            comm: row.comm()?,
            new: new_comm(row)?,
        },
        "comm_create" => OpKind::CommCreate {
            comm: row.comm()?,
            new: new_comm(row)?,
        },
        "comm_free" => OpKind::CommFree {
            comm: Comm(row.u32(Field::Comm, MOST_COMM)?),
        },
        "open" => OpKind::Open { file: row.file()? },
        "close" => OpKind::Close { file: row.file()? },
        "read" => OpKind::Read {
            file: row.file()?,
            offset: row.u64(Field::Offset)?,
            bytes: row.bytes()?,
        },
        "write" => OpKind::Write {
            file: row.file()?,
            offset: row.u64(Field::Offset)?,
            bytes: row.bytes()?,
        },
        "iread" => OpKind::Iread {
            file: row.file()?,
            offset: row.u64(Field::Offset)?,
            bytes: row.bytes()?,
            request: row.request()?,
        },
        "iwrite" => OpKind::Iwrite {
            file: row.file()?,
            offset: row.u64(Field::Offset)?,
            bytes: row.bytes()?,
            request: row.request()?,
        },
        "mark" => OpKind::Mark {
            iteration: row.u32(Field::Iteration, u32::MAX)?,
        },
        name => {
            let found = COLLECTIVES
                .iter()
                .position(|&(blocking, other)| blocking == name || other == name);
            let Some(at) = found else {
                return Err(Fault {
                    column: "kind",
                    problem: format!("{name:?}"),
                    expected: "a kind of operation, such as \"send\"".into(),
                });
            };
            let collective = row.collective(Kind::ALL[at])?;
            if name == COLLECTIVES[at].0 {
                OpKind::Collective(collective)
            } else {
                OpKind::Icollective {
                    collective,
                    request: row.request()?,
                }
            }
        }
    })
}

fn new_comm(row: &mut Given<'_>) -> Found<Comm> {
    row.u32(Field::NewComm, MOST_COMM).map(Comm)
}
