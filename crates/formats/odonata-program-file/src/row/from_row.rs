//! Conversion of untrusted rows to operations.

use odonata_units::Time;
use odonata_workload::collective::Kind;
use odonata_workload::{Access, Collective, Comm, Counts, FileCall, OneSided, OpKind, PROC_NULL, Request, Source, Tag};

use super::{ANY, COLLECTIVES, DETACHED, Field, MOST_COMM, MOST_COUNTS, NO_RANK, Numbers, ONE_SIDED};
use crate::error::Fault;

/// The numbers of a row during conversion: a number that is taken must be present, and none may be left over.
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

    /// Like [`u32`](Self::u32); 0 if absent.
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

    /// A request with a wait.
    fn waited(&mut self) -> Found<Request> {
        Ok(Request(self.u32(Field::Request, u32::MAX - 1)?))
    }

    /// Requests with consecutive numbers.
    fn requests(&mut self) -> Found<(Request, u32)> {
        let first = self.waited()?;
        Ok((first, self.u32(Field::Count, u32::MAX - 1 - first.0)?))
    }

    fn to(&mut self) -> Found<u32> {
        Ok(match self.within(Field::Peer, NO_RANK, i128::from(u32::MAX) - 1)? {
            NO_RANK => PROC_NULL,
            ANY => return Err(self.wrong(Field::Peer, ANY, "a rank, or -2 for no rank")),
            rank => rank as u32,
        })
    }

    fn tag(&mut self) -> Found<u32> {
        self.u32_or_0(Field::Tag, u32::MAX)
    }

    /// A rank, any rank or no rank.
    fn peer(&mut self, field: Field) -> Found<Source> {
        Ok(match self.within(field, NO_RANK, i128::from(u32::MAX) - 1)? {
            ANY => Source::Any,
            NO_RANK => Source::Rank(PROC_NULL),
            rank => Source::Rank(rank as u32),
        })
    }

    fn one_sided(&mut self) -> Found<OneSided> {
        let comm = self.comm()?;
        let access = match self.kind {
            "put" | "rput" => Access::Put,
            "get" | "rget" => Access::Get,
            "accumulate" | "raccumulate" => Access::Accumulate,
            "get_accumulate" | "rget_accumulate" => Access::GetAccumulate,
            "win_flush" => {
                let target = self.peer(Field::Peer)?;
                return Ok(OneSided::Flush { target, comm });
            }
            "win_fence" => return Ok(OneSided::Fence { comm }),
            "win_lock" | "win_lock_shared" => {
                return Ok(OneSided::Lock {
                    target: self.to()?,
                    exclusive: self.kind == "win_lock",
                    comm,
                });
            }
            "win_unlock" => {
                let target = self.to()?;
                return Ok(OneSided::Unlock { target, comm });
            }
            kind => {
                let group = new_comm(self)?;
                return Ok(match kind {
                    "win_post" => OneSided::Post { group, comm },
                    "win_start" => OneSided::Start { group, comm },
                    "win_complete" => OneSided::Complete { group, comm },
                    _ => OneSided::Wait { group, comm },
                });
            }
        };
        Ok(OneSided::Access {
            access,
            target: self.to()?,
            bytes: self.bytes()?,
            comm,
            request: match self.kind.starts_with('r') {
                true => self.waited()?,
                false => Request::DETACHED,
            },
        })
    }

    fn source(&mut self, peer: Field, tag: Field) -> Found<(Source, Tag)> {
        let source = self.peer(peer)?;
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
/// The kind is unknown; a required number is missing or impossible; or a number does not apply.
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
            duration: Time(row.within(Field::DurationPs, 0, Time::BEYOND.0.into())? as u64),
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
        "start_all" => row.requests().map(|(first, count)| OpKind::StartAll { first, count })?,
        "wait_all" => row.requests().map(|(first, count)| OpKind::WaitAll { first, count })?,
        "wait_any" => row.requests().map(|(first, count)| OpKind::WaitAny { first, count })?,
        "wait_some" => row.requests().map(|(first, count)| OpKind::WaitSome { first, count })?,
        "test_any" => row.requests().map(|(first, count)| OpKind::TestAny { first, count })?,
        "test_all" => row.requests().map(|(first, count)| OpKind::TestAll { first, count })?,
        "test_some" => row.requests().map(|(first, count)| OpKind::TestSome { first, count })?,
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
        name if ONE_SIDED.contains(&name) => OpKind::OneSided(row.one_sided()?),
        // Files in the job's own directory have no number here.
        "open" if row.numbers[Field::Directory as usize].is_none() => OpKind::Open { file: row.file()? },
        "close" if row.numbers[Field::Directory as usize].is_none() => OpKind::Close { file: row.file()? },
        "open" | "close" | "create" | "stat" | "unlink" | "sync" | "mkdir" | "rmdir" => {
            let call = FileCall::ALL.into_iter().find(|call| call.name() == row.kind);
            OpKind::Metadata {
                call: call.expect("these are the names of calls"),
                directory: row.u32_or_0(Field::Directory, u32::MAX)?,
                file: row.file()?,
            }
        }
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
