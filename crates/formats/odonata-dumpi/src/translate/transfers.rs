//! Messages between two ranks.

use odonata_workload::{Comm, OpKind, PROC_NULL, Request, Source, Tag};

use super::handles::{Description, For, Handle};
use super::requests::fate_of;
use super::{Oddity, Translator};
use crate::knowledge::{CommOf, Fate};
use crate::label as l;
use crate::record::{Arg, Record};

/// Stored value of MPI_ANY_SOURCE and MPI_ANY_TAG.
const ANY: i32 = -1;

/// Buffer size for a message of a datatype of unknown size.
const UNKNOWN_ROOM: u64 = 1 << 40;

impl Translator<'_> {
    pub(super) fn transfer(&mut self, record: &Record) {
        match record.label {
            l::SEND | l::RSEND | l::SSEND | l::BSEND => self.send(record),
            l::RECV => self.receive(record),
            l::ISEND | l::IRSEND | l::ISSEND | l::IBSEND => self.isend(record),
            l::IRECV => self.irecv(record),
            l::SEND_INIT | l::RSEND_INIT | l::SSEND_INIT | l::BSEND_INIT | l::RECV_INIT => self.init(record),
            l::SENDRECV | l::SENDRECV_REPLACE => self.sendrecv(record),
            l::PROBE => self.probe(record),
            l::IPROBE if record.int(Arg::Flag) != 0 => self.probe(record),
            _ => {}
        }
    }

    /// Destination `dest` as numbered by the program.
    fn to(&mut self, comm: CommOf, dest: i32) -> u32 {
        match u32::try_from(dest) {
            Ok(dest) if dest < comm.peers => dest + comm.shift,
            _ => PROC_NULL,
        }
    }

    /// Source and tag of a receive as numbered by the program, given the outcome of the message.
    fn from(&mut self, of: CommOf, source: i32, tag: i32, fate: Option<Fate>) -> (Source, Tag) {
        let fate = match (self.knowledge, fate) {
            (Some(knowledge), None) if source == ANY => {
                let key = u32::try_from(tag).map(|tag| (of.number, tag));
                key.ok()
                    .filter(|key| knowledge.null_sources.contains(key))
                    .map(|_| Fate::Null)
            }
            (Some(knowledge), Some(Fate::From { .. })) if source == ANY && knowledge.loose.contains(&of.number) => None,
            (_, fate) => fate,
        };
        let (source, tag) = match fate {
            Some(Fate::From {
                source: known,
                tag: seen,
            }) => (
                if source == ANY { known } else { source },
                if tag == ANY { seen } else { tag },
            ),
            Some(Fate::Null) => return (Source::Rank(PROC_NULL), Tag::Any),
            _ => (source, tag),
        };
        let tag = u32::try_from(tag).map_or(Tag::Any, Tag::Is);
        let source = match source {
            ANY => Source::Any,
            source => Source::Rank(self.to(of, source)),
        };
        (source, tag)
    }

    /// Buffer size of a receive.
    fn room(&self, record: &Record, count: Arg, datatype: Arg) -> u64 {
        match self.bytes(record, count, datatype) {
            0 if record.int(count) > 0 => UNKNOWN_ROOM,
            bytes => bytes,
        }
    }

    fn send(&mut self, record: &Record) {
        self.object(record.int(Arg::Comm));
        let Some(of) = self.known(record.int(Arg::Comm)) else {
            return;
        };
        let bytes = self.bytes(record, Arg::Count, Arg::Type);
        let (to, tag, comm) = (
            self.to(of, record.int(Arg::Dest)),
            record.int(Arg::Tag) as u32,
            Comm(of.number),
        );
        self.op(match record.label {
            l::SSEND => OpKind::Ssend { to, tag, bytes, comm },
            // Complete when the data is copied.
            l::BSEND => OpKind::Isend {
                to,
                tag,
                bytes,
                comm,
                request: Request::DETACHED,
            },
            _ => OpKind::Send { to, tag, bytes, comm },
        });
    }

    /// The outcome of a blocking call, by its status.
    fn own_fate(&mut self, record: &Record, source: i32, tag: i32) -> Option<Fate> {
        if source != ANY && tag != ANY {
            return None;
        }
        let fate = record.statuses().first().map(fate_of);
        if fate.is_none() && source == ANY {
            self.odd(Oddity::UnknownSource);
        }
        fate
    }

    /// Communicator, source and tag of a call that waited for a message; `None` if the communicator is unknown.
    fn awaited(&mut self, record: &Record, tag: Arg) -> Option<(CommOf, Source, Tag)> {
        self.object(record.int(Arg::Comm));
        let (source, tag) = (record.int(Arg::Source), record.int(tag));
        let fate = self.own_fate(record, source, tag);
        let of = self.known(record.int(Arg::Comm))?;
        let (from, tag) = self.from(of, source, tag, fate);
        Some((of, from, tag))
    }

    fn receive(&mut self, record: &Record) {
        let Some((of, from, tag)) = self.awaited(record, Arg::Tag) else {
            return;
        };
        let bytes = self.room(record, Arg::Count, Arg::Type);
        self.op(OpKind::Recv {
            from,
            tag,
            bytes,
            comm: Comm(of.number),
        });
    }

    fn probe(&mut self, record: &Record) {
        let Some((of, from, tag)) = self.awaited(record, Arg::Tag) else {
            return;
        };
        self.op(OpKind::Probe {
            from,
            tag,
            comm: Comm(of.number),
        });
    }

    fn sendrecv(&mut self, record: &Record) {
        let Some((of, from, recv_tag)) = self.awaited(record, Arg::Rtag) else {
            return;
        };
        let to = self.to(of, record.int(Arg::Dest));
        let recv_bytes = match record.label {
            l::SENDRECV => self.room(record, Arg::Rcount, Arg::Rtype),
            _ => self.room(record, Arg::Count, Arg::Type),
        };
        let send_bytes = self.bytes(record, Arg::Count, Arg::Type);
        self.op(OpKind::Sendrecv {
            to,
            send_tag: record.int(Arg::Tag) as u32,
            send_bytes,
            from,
            recv_tag,
            recv_bytes,
            comm: Comm(of.number),
        });
    }

    fn isend(&mut self, record: &Record) {
        let number = self.number();
        let what = match record.label {
            l::IBSEND => For::Buffered,
            _ => For::Send,
        };
        let handle = Handle::begun(what, number, self.object(record.int(Arg::Comm)));
        self.bind(record.int(Arg::Req), handle);
        let description = Description {
            peer: record.int(Arg::Dest),
            tag: record.int(Arg::Tag),
            bytes: self.bytes(record, Arg::Count, Arg::Type),
        };
        self.begin(&handle, number, description, record.label == l::ISSEND);
    }

    fn irecv(&mut self, record: &Record) {
        let number = self.number();
        let (peer, tag) = (record.int(Arg::Source), record.int(Arg::Tag));
        let handle = Handle {
            wild: peer == ANY || tag == ANY,
            ..Handle::begun(For::Receive, number, self.object(record.int(Arg::Comm)))
        };
        self.bind(record.int(Arg::Req), handle);
        let bytes = self.room(record, Arg::Count, Arg::Type);
        self.begin(&handle, number, Description { peer, tag, bytes }, false);
    }

    /// Begins a transfer with its own request.
    fn begin(&mut self, handle: &Handle, transfer: u32, what: Description, synchronous: bool) {
        let Some(knowledge) = self.knowledge else { return };
        let fate = knowledge.fate(transfer);
        let Some(of) = knowledge.comm(handle.object) else {
            return;
        };
        if fate == Some(Fate::Cancelled) {
            return;
        }
        let (comm, request) = (Comm(of.number), Request(transfer));
        let Description { peer, tag, bytes } = what;
        let kind = match handle.what {
            For::Receive => {
                let (from, tag) = self.from(of, peer, tag, fate);
                OpKind::Irecv {
                    from,
                    tag,
                    bytes,
                    comm,
                    request,
                }
            }
            _ if synchronous => OpKind::Issend {
                to: self.to(of, peer),
                tag: tag as u32,
                bytes,
                comm,
                request,
            },
            _ => OpKind::Isend {
                to: self.to(of, peer),
                tag: tag as u32,
                bytes,
                comm,
                request: if handle.what == For::Buffered {
                    Request::DETACHED
                } else {
                    request
                },
            },
        };
        self.op(kind);
    }

    /// Starts a persistent request that the program does not have as one.
    pub(super) fn start_again(&mut self, handle: &Handle, transfer: u32, what: Description) {
        self.begin(handle, transfer, what, false);
    }

    fn init(&mut self, record: &Record) {
        let number = self.number();
        let receives = record.label == l::RECV_INIT;
        let peer = record.int(if receives { Arg::Source } else { Arg::Dest });
        let tag = record.int(Arg::Tag);
        let wild = receives && (peer == ANY || tag == ANY);
        let bytes = if receives {
            self.room(record, Arg::Count, Arg::Type)
        } else {
            self.bytes(record, Arg::Count, Arg::Type)
        };
        let buffered = record.label == l::BSEND_INIT;
        if record.label == l::SSEND_INIT {
            self.odd(Oddity::Synchronous);
        }
        let what = match record.label {
            l::RECV_INIT => For::Receive,
            l::BSEND_INIT => For::Buffered,
            _ => For::Send,
        };
        let handle = Handle {
            transfer: None,
            wild,
            persistent: Some(Description { peer, tag, bytes }),
            // Each start may match a different message.
            inside: !wild && !buffered,
            ..Handle::begun(what, number, self.object(record.int(Arg::Comm)))
        };
        self.bind(record.int(Arg::Req), handle);
        let Some(of) = self.known(record.int(Arg::Comm)) else {
            return;
        };
        if !handle.inside {
            return;
        }
        let (comm, request) = (Comm(of.number), Request(number));
        let kind = if receives {
            let (from, tag) = self.from(of, peer, tag, None);
            OpKind::RecvInit {
                from,
                tag,
                bytes,
                comm,
                request,
            }
        } else {
            OpKind::SendInit {
                to: self.to(of, peer),
                tag: tag as u32,
                bytes,
                comm,
                request,
            }
        };
        self.op(kind);
    }
}
