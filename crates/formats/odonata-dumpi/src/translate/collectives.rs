//! Collectives, and calls that create and free communicators.

use odonata_workload::{Collective, Comm, Counts, OpKind};

use super::{Blocks, Oddity, Translator};
use crate::knowledge::CommOf;
use crate::label as l;
use crate::record::{Arg, Record};

impl Translator<'_> {
    /// Sizes of `counts` elements of one datatype each.
    fn sizes_of(&self, counts: &[i32], datatype: i32) -> Box<[u64]> {
        let size = self.state.types.size(self.sizes, datatype);
        let bytes = |&count: &i32| u64::from(count.max(0) as u32).saturating_mul(size);
        counts.iter().map(bytes).collect()
    }

    fn sizes_of_each(&self, counts: &[i32], datatypes: &[i32]) -> Box<[u64]> {
        let pairs = counts.iter().zip(datatypes);
        pairs
            .map(|(&count, &datatype)| self.state.types.bytes(self.sizes, count, datatype))
            .collect()
    }

    /// The size lists of a v-variant; `None` for other calls. Only arguments significant at this rank are used, because
    /// the others may be arbitrary (`MPI_IN_PLACE`).
    fn blocks(&self, record: &Record, me: u32) -> Option<Blocks> {
        let root = record.int(Arg::Rank) == record.int(Arg::Root);
        Some(match record.label {
            l::GATHERV if root => Blocks::ByGiver(self.sizes_of(record.list(Arg::Rcounts), record.int(Arg::Rtype))),
            l::GATHERV => Blocks::Own(self.bytes(record, Arg::Scount, Arg::Stype)),
            l::SCATTERV if root => Blocks::ByTaker(self.sizes_of(record.list(Arg::Scounts), record.int(Arg::Stype))),
            l::SCATTERV => Blocks::Own(self.bytes(record, Arg::Rcount, Arg::Rtype)),
            l::ALLGATHERV => Blocks::ByGiver(self.sizes_of(record.list(Arg::Rcounts), record.int(Arg::Rtype))),
            l::REDUCE_SCATTER => Blocks::ByTaker(self.sizes_of(record.list(Arg::Rcounts), record.int(Arg::Type))),
            l::ALLTOALLV => Blocks::Both {
                me,
                give: self.sizes_of(record.list(Arg::Counts), record.int(Arg::Type)),
                get: self.sizes_of(record.list(Arg::Rcounts), record.int(Arg::Rtype)),
            },
            l::ALLTOALLW => Blocks::Both {
                me,
                give: self.sizes_of_each(record.list(Arg::Counts), record.list(Arg::Types)),
                get: self.sizes_of_each(record.list(Arg::Rcounts), record.list(Arg::Rtypes)),
            },
            _ => return None,
        })
    }

    pub(super) fn collective(&mut self, record: &Record) {
        if matches!(record.label, l::OP_CREATE | l::OP_FREE) {
            return;
        }
        self.object(record.int(Arg::Comm));
        let listed = matches!(
            record.label,
            l::GATHERV | l::SCATTERV | l::ALLGATHERV | l::REDUCE_SCATTER | l::ALLTOALLV | l::ALLTOALLW
        );
        let number = self.state.lists;
        self.state.lists = number.saturating_add(u32::from(listed));
        let (Some(of), Some(knowledge)) = (self.known(record.int(Arg::Comm)), self.knowledge) else {
            if listed && self.knowledge.is_some() {
                self.out.lists.push(Blocks::Own(0));
            }
            return;
        };
        if listed {
            let group = knowledge.groups.get(of.number as usize);
            let me = group.and_then(|group| group.member(knowledge.rank)).unwrap_or(0);
            self.out.lists.push(self.blocks(record, me).unwrap_or(Blocks::Own(0)));
        }
        let comm = Comm(of.number);
        let collective = match self.call(record, of, number) {
            Some(collective) if !of.inter => collective,
            _ => Collective::Barrier { comm },
        };
        self.op(OpKind::Collective(collective));
    }

    /// The call of `record`; `None` if its root is not in the communicator.
    fn call(&self, record: &Record, of: CommOf, list: u32) -> Option<Collective> {
        let (comm, counts) = (Comm(of.number), Counts(list));
        let count = u64::from(record.int(Arg::Count).max(0) as u32);
        let bytes = self.bytes(record, Arg::Count, Arg::Type);
        let root = || {
            u32::try_from(record.int(Arg::Root))
                .ok()
                .filter(|&root| root < of.peers)
        };
        let at_root = record.int(Arg::Rank) == record.int(Arg::Root);
        let sent = || self.bytes(record, Arg::Scount, Arg::Stype);
        let received = || self.bytes(record, Arg::Rcount, Arg::Rtype);
        Some(match record.label {
            l::BARRIER => Collective::Barrier { comm },
            l::BCAST => Collective::Broadcast {
                comm,
                root: root()?,
                bytes,
            },
            l::REDUCE => Collective::Reduce {
                comm,
                root: root()?,
                bytes,
                count,
            },
            l::ALLREDUCE => Collective::Allreduce { comm, bytes, count },
            l::SCAN => Collective::Scan { comm, bytes, count },
            l::EXSCAN => Collective::Exscan { comm, bytes, count },
            l::GATHER => Collective::Gather {
                comm,
                root: root()?,
                bytes: if at_root { received() } else { sent() },
            },
            l::SCATTER => Collective::Scatter {
                comm,
                root: root()?,
                bytes: if at_root { sent() } else { received() },
            },
            l::ALLGATHER => Collective::Allgather {
                comm,
                bytes: received(),
            },
            l::ALLTOALL => Collective::Alltoall {
                comm,
                bytes: received(),
            },
            l::GATHERV => Collective::Gatherv {
                comm,
                root: root()?,
                counts,
            },
            l::SCATTERV => Collective::Scatterv {
                comm,
                root: root()?,
                counts,
            },
            l::ALLGATHERV => Collective::Allgatherv { comm, counts },
            l::REDUCE_SCATTER => Collective::ReduceScatter { comm, counts },
            l::ALLTOALLV | l::ALLTOALLW => Collective::Alltoallv { comm, counts },
            _ => return None,
        })
    }

    pub(super) fn window(&mut self, record: &Record) {
        let window = record.int(Arg::Win);
        if record.label == l::WIN_CREATE {
            let object = self.object(record.int(Arg::Comm));
            self.state.windows.insert(window, object);
        }
        let object = match record.label {
            l::WIN_FREE => self.state.windows.remove(&window),
            _ => self.state.windows.get(&window).copied(),
        };
        let Some(of) = object.and_then(|object| self.knowledge?.comm(object)) else {
            return;
        };
        let comm = Comm(of.number);
        self.op(OpKind::Collective(Collective::Barrier { comm }));
    }

    /// A call that creates or frees a communicator.
    pub(super) fn communicator(&mut self, record: &Record) {
        let parent = match record.label {
            l::INTERCOMM_CREATE => Arg::Local,
            _ => Arg::Comm,
        };
        let new = match record.label {
            l::COMM_SPAWN | l::COMM_SPAWN_MULTIPLE => Arg::Newcomm,
            l::COMM_GET_PARENT | l::COMM_JOIN => Arg::Comm,
            _ => Arg::New,
        };
        match record.label {
            l::COMM_FREE | l::COMM_DISCONNECT => {
                let of = self.known(record.int(parent));
                // MPI_Comm_free of the world is an error that the traced library ignored.
                if let Some(of) = of.filter(|of| of.number != 0) {
                    let comm = Comm(of.number);
                    self.op(OpKind::CommFree { comm });
                }
                return;
            }
            l::COMM_DUP
            | l::COMM_CREATE
            | l::COMM_SPLIT
            | l::INTERCOMM_CREATE
            | l::INTERCOMM_MERGE
            | l::CART_CREATE
            | l::CART_SUB
            | l::GRAPH_CREATE
            | l::COMM_ACCEPT
            | l::COMM_CONNECT
            | l::COMM_GET_PARENT
            | l::COMM_JOIN
            | l::COMM_SPAWN
            | l::COMM_SPAWN_MULTIPLE => {}
            _ => return,
        }
        let before = self.known(record.int(parent));
        let handle = record.int(new);
        let made = makes(handle);
        if made {
            let object = self.state.made;
            self.state.made = object.saturating_add(1);
            self.state.comms.insert(handle, object);
        }
        let foreign = matches!(
            record.label,
            l::COMM_ACCEPT
                | l::COMM_CONNECT
                | l::COMM_GET_PARENT
                | l::COMM_JOIN
                | l::COMM_SPAWN
                | l::COMM_SPAWN_MULTIPLE
        );
        let Some(of) = before.filter(|_| !foreign) else { return };
        let comm = Comm(of.number);
        // A rank outside all new communicators has no number for one.
        let new = self.known(handle).filter(|_| made).map_or(comm, |of| Comm(of.number));
        self.op(match record.label {
            l::COMM_DUP | l::INTERCOMM_MERGE => OpKind::CommDup { comm, new },
            l::COMM_SPLIT | l::CART_SUB => OpKind::CommSplit { comm, new },
            _ => OpKind::CommCreate { comm, new },
        });
        if of.inter && record.label != l::INTERCOMM_MERGE {
            self.odd(Oddity::Intercommunicator);
        }
    }
}

/// Whether a creating call returned a communicator in `handle`: neither error nor null.
pub(crate) fn makes(handle: i32) -> bool {
    !(0..=3).contains(&handle)
}
