//! Conversion of untrusted rows to operations.

use odonata_units::Time;
use odonata_workload::{Access, Comm, Counts, FileCall, OneSided, OpKind, PROC_NULL, Request, Source, Tag};

use super::operations::{self, COLLECTIVES};
use super::{ANY, DETACHED, Field, MOST_COMM, MOST_COUNTS, NO_RANK, Numbers, ONE_SIDED};
use crate::error::Fault;

/// The numbers of a row during conversion: a number that is taken must be present, and none may be left over.
pub(super) struct Given<'a> {
    pub(super) kind: &'a str,
    numbers: Numbers,
}

pub(super) type Found<T> = Result<T, Fault>;

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
                let group = self.new_comm()?;
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

    /// A tag, or any tag.
    fn tag_of(&mut self, field: Field) -> Found<Tag> {
        Ok(match self.numbers[field as usize] {
            None => Tag::Is(0),
            Some(_) => match self.within(field, ANY, u32::MAX.into())? {
                ANY => Tag::Any,
                tag => Tag::Is(tag as u32),
            },
        })
    }
}

/// Arguments of operations, as [`operations`](super::operations) names them.
impl Given<'_> {
    pub(super) fn duration(&mut self) -> Found<Time> {
        Ok(Time(self.within(Field::DurationPs, 0, Time::BEYOND.0.into())? as u64))
    }

    pub(super) fn to(&mut self) -> Found<u32> {
        Ok(match self.within(Field::Peer, NO_RANK, i128::from(u32::MAX) - 1)? {
            NO_RANK => PROC_NULL,
            ANY => return Err(self.wrong(Field::Peer, ANY, "a rank, or -2 for no rank")),
            rank => rank as u32,
        })
    }

    pub(super) fn tag(&mut self) -> Found<u32> {
        self.u32_or_0(Field::Tag, u32::MAX)
    }

    pub(super) fn from(&mut self) -> Found<Source> {
        self.peer(Field::Peer)
    }

    pub(super) fn any_tag(&mut self) -> Found<Tag> {
        self.tag_of(Field::Tag)
    }

    pub(super) fn bytes(&mut self) -> Found<u64> {
        self.u64(Field::Bytes)
    }

    pub(super) fn comm(&mut self) -> Found<Comm> {
        self.u32_or_0(Field::Comm, MOST_COMM).map(Comm)
    }

    pub(super) fn freed_comm(&mut self) -> Found<Comm> {
        self.u32(Field::Comm, MOST_COMM).map(Comm)
    }

    pub(super) fn new_comm(&mut self) -> Found<Comm> {
        self.u32(Field::NewComm, MOST_COMM).map(Comm)
    }

    pub(super) fn request(&mut self) -> Found<Request> {
        Ok(match self.within(Field::Request, DETACHED, i128::from(u32::MAX) - 1)? {
            DETACHED => Request::DETACHED,
            number => Request(number as u32),
        })
    }

    /// A request with a wait.
    pub(super) fn waited(&mut self) -> Found<Request> {
        Ok(Request(self.u32(Field::Request, u32::MAX - 1)?))
    }

    /// Number of requests with consecutive numbers from `first` on.
    pub(super) fn requests(&mut self, first: Request) -> Found<u32> {
        self.u32(Field::Count, u32::MAX - 1 - first.0)
    }

    pub(super) fn recv_peer(&mut self) -> Found<Source> {
        self.peer(Field::RecvPeer)
    }

    pub(super) fn recv_tag(&mut self) -> Found<Tag> {
        self.tag_of(Field::RecvTag)
    }

    pub(super) fn recv_bytes(&mut self) -> Found<u64> {
        self.u64(Field::RecvBytes)
    }

    pub(super) fn file(&mut self) -> Found<u64> {
        self.u64(Field::File)
    }

    pub(super) fn offset(&mut self) -> Found<u64> {
        self.u64(Field::Offset)
    }

    pub(super) fn root(&mut self) -> Found<u32> {
        self.u32(Field::Root, u32::MAX - 1)
    }

    pub(super) fn elements(&mut self) -> Found<u64> {
        self.u64(Field::Count)
    }

    pub(super) fn counts(&mut self) -> Found<Counts> {
        self.u32(Field::Counts, MOST_COUNTS).map(Counts)
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
    // Files in the job's own directory have no number here.
    let has_directory = row.numbers[Field::Directory as usize].is_some();
    let is_plain = !(has_directory && matches!(row.kind, "open" | "close"));
    if is_plain && let Some(op) = operations::take(row)? {
        return Ok(op);
    }
    Ok(match row.kind {
        "mark" => OpKind::Mark {
            iteration: row.u32(Field::Iteration, u32::MAX)?,
        },
        name if ONE_SIDED.contains(&name) => OpKind::OneSided(row.one_sided()?),
        name => {
            if let Some(call) = FileCall::ALL.into_iter().find(|call| call.name() == name) {
                return Ok(OpKind::Metadata {
                    call,
                    directory: row.u32_or_0(Field::Directory, u32::MAX)?,
                    file: row.file()?,
                });
            }
            let Some(collective) = operations::take_collective(row)? else {
                return Err(Fault {
                    column: "kind",
                    problem: format!("{name:?}"),
                    expected: "a kind of operation, such as \"send\"".into(),
                });
            };
            if COLLECTIVES[collective.which() as usize].0 == name {
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
