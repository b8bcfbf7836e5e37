//! One-sided communication (MPI 4.1, chapter 12), served by the interface of the target: remote direct memory access.
//!
//! | call | messages | the processor of the target |
//! |---|---|---|
//! | put | data; acknowledgment | does nothing |
//! | get | request; data | does nothing |
//! | accumulate | data; acknowledgment | combines more than [`ATOMIC`] bytes, when its library makes progress |
//! | lock, unlock | request; grant: release | does nothing |
//! | post, start, complete, wait | a notice to each member of the group | posts and waits |
//!
//! An access has a request in the list of its rank, which a flush, a fence, an unlock or a complete takes. With an idle
//! network, put and flush take o + L(s) + L(c), and get and flush o + L(c) + L(s): o is the overhead of a send, L(s) the time
//! from the call until s bytes are at the other node (LogGP), c the size of a control message. An answer of an
//! interface takes no software.

use super::Mpi;
use super::effect::{MpiEffect, OutgoingMessage};
use super::progress::ProtocolWork;
use super::request::kind::RequestKind;
use crate::context::Uses;
use crate::failure::InvalidOperation;
use crate::payload::Payload;
use crate::turn::Turn;
use odonata_engine::{List, NIL, Pool, Store, Time};
use odonata_workload::{Access, Comm, OneSided as Call, Op, PROC_NULL, Source};

/// Largest accumulate that an interface combines by itself, an atomic operation.
const ATOMIC: u64 = 8;

/// Lists of locks and notices, by rank.
const BUCKETS: u32 = 256;

/// The lock of a window at its rank, while a rank has it.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Lock {
    rank: u32,
    comm: u32,
    holders: u32,
    exclusive: bool,
    waiting: List,
    next: u32,
}

/// A rank that waits for a lock.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Waiting {
    from: u32,
    request: u32,
    exclusive: bool,
    next: u32,
}

/// A notice of an epoch that no call has taken, or the request of a call that waits for it.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Notice {
    rank: u32,
    from: u32,
    comm: u32,
    ends: bool,
    /// [`NIL`]: the notice has arrived.
    request: u32,
    next: u32,
}

/// An access that the library of its target must answer.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Answer {
    arrived: ArrivedAccess,
    next: u32,
}

odonata_engine::slots!(Lock Waiting Notice Answer);

/// An access at its target.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct ArrivedAccess {
    /// The origin.
    pub(crate) from: u32,
    /// The target.
    pub(crate) to: u32,
    pub(crate) access: Access,
    pub(crate) bytes: u64,
    /// The origin's request.
    pub(crate) request: u32,
    /// Time of the call.
    pub(crate) created: Time,
}

/// Locks, notices and unanswered accesses at the ranks of a part.
#[derive(Debug)]
pub(crate) struct Windows {
    locks: Pool<Lock>,
    waiting: Pool<Waiting>,
    notices: Pool<Notice>,
    answers: Pool<Answer>,
    lock_lists: Store<List>,
    notice_lists: Store<List>,
}
odonata_engine::journalled!(Windows {
    locks,
    waiting,
    notices,
    answers,
    lock_lists,
    notice_lists
});

impl Windows {
    pub(crate) fn new() -> Windows {
        Windows {
            locks: Pool::new(),
            waiting: Pool::new(),
            notices: Pool::new(),
            answers: Pool::new(),
            lock_lists: Store::filled(BUCKETS as usize, List::EMPTY),
            notice_lists: Store::filled(BUCKETS as usize, List::EMPTY),
        }
    }

    /// Locks that ranks have, and notices that no call has taken.
    pub(crate) fn live(&self) -> [u32; 2] {
        [self.locks.live(), self.notices.live()]
    }

    /// Gives the lock of `rank`'s window to `waiting`, or lets it wait. Returns whether it has the lock.
    fn lock<M: Uses>(&mut self, (rank, comm): (u32, u32), waiting: Waiting) -> bool {
        let bucket = rank % BUCKETS;
        let mut list = *self.lock_lists.get(bucket);
        let is_same = |lock: &Lock| lock.rank == rank && lock.comm == comm;
        let Some(slot) = list.iter(&self.locks).find(|&slot| is_same(self.locks.get(slot))) else {
            let slot = self.locks.allocate::<M>(Lock {
                rank,
                comm,
                holders: 1,
                exclusive: waiting.exclusive,
                waiting: List::EMPTY,
                next: NIL,
            });
            list.push::<M, _>(&mut self.locks, slot);
            *self.lock_lists.edit::<M>(bucket) = list;
            return true;
        };
        let lock = self.locks.edit::<M>(slot);
        if !lock.exclusive && !waiting.exclusive && lock.waiting.is_empty() {
            lock.holders += 1;
            return true;
        }
        let mut queue = lock.waiting;
        let place = self.waiting.allocate::<M>(waiting);
        queue.push::<M, _>(&mut self.waiting, place);
        self.locks.edit::<M>(slot).waiting = queue;
        false
    }

    /// A rank gives the lock of `rank`'s window back. Returns the origins and requests that have it now.
    fn unlock<M: Uses>(&mut self, rank: u32, comm: u32) -> Vec<(u32, u32)> {
        let bucket = rank % BUCKETS;
        let mut list = *self.lock_lists.get(bucket);
        let is_same = |lock: &Lock| lock.rank == rank && lock.comm == comm;
        let Some(slot) = list.iter(&self.locks).find(|&slot| is_same(self.locks.get(slot))) else {
            return Vec::new();
        };
        let mut lock = *self.locks.get(slot);
        lock.holders -= 1;
        let mut granted = Vec::new();
        while !lock.waiting.is_empty() {
            let first = *self.waiting.get(lock.waiting.head);
            if lock.holders > 0 && (lock.exclusive || first.exclusive) {
                break;
            }
            if let Some(place) = lock.waiting.pop(&self.waiting) {
                self.waiting.free::<M>(place);
            }
            lock.holders += 1;
            lock.exclusive = first.exclusive;
            granted.push((first.from, first.request));
        }
        *self.locks.edit::<M>(slot) = lock;
        if lock.holders == 0 {
            list.remove_first::<M, _>(&mut self.locks, is_same);
            *self.lock_lists.edit::<M>(bucket) = list;
            self.locks.free::<M>(slot);
        }
        granted
    }

    /// A notice meets the call that waits for it, or a call meets its notice; otherwise `one` waits. Returns the request of
    /// the one that it met.
    fn meet<M: Uses>(&mut self, one: Notice) -> Option<u32> {
        let bucket = one.rank % BUCKETS;
        let mut list = *self.notice_lists.get(bucket);
        let found = list.remove_first::<M, _>(&mut self.notices, |other: &Notice| {
            (other.rank, other.from, other.comm, other.ends) == (one.rank, one.from, one.comm, one.ends)
                && (other.request == NIL) != (one.request == NIL)
        });
        let met = match found {
            Some(slot) => {
                let request = self.notices.get(slot).request;
                self.notices.free::<M>(slot);
                Some(request)
            }
            None => {
                let slot = self.notices.allocate::<M>(one);
                list.push::<M, _>(&mut self.notices, slot);
                None
            }
        };
        *self.notice_lists.edit::<M>(bucket) = list;
        met
    }
}

impl Mpi {
    /// Performs `call`, operation `op` of `rank`, in call `slot`; returns the time that it occupies the rank.
    pub(super) fn one_sided<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        slot: u32,
        op: &Op,
        call: Call,
    ) -> Result<Time, InvalidOperation> {
        let rank = self.calls.get(slot).rank;
        let first = self.layout.job_of(rank).first_rank;
        if let Some(Source::Rank(target)) = call.target() {
            if target == PROC_NULL {
                return Ok(Time::ZERO);
            }
            self.layout.rank_of(rank, call.comm(), target)?;
        }
        self.layout.member_of(rank, call.comm())?;
        match call {
            Call::Access {
                access,
                target,
                bytes,
                comm,
            } => {
                let to = first + self.layout.rank_of(rank, comm, target)?;
                let request = self.requests.open_access::<M>(rank, op);
                let (size, fetch) = match access {
                    Access::Get => (self.settings.rendezvous_control.0, Time::ZERO),
                    _ => (bytes, self.fetch(rank, to, bytes)),
                };
                let payload = Payload::Access {
                    from: rank,
                    to,
                    access,
                    bytes,
                    request,
                };
                self.send_one_sided::<M>(turn, payload, size, turn.now, self.settings.send_delay + fetch);
                Ok(self.settings.send_overhead)
            }
            Call::Flush { target, comm } => {
                self.requests
                    .await_accesses::<M>(turn, &mut self.calls, slot, (target, comm));
                Ok(Time::ZERO)
            }
            Call::Fence { comm } => {
                self.calls.add_schedule::<M>(slot, op, NIL);
                self.start_collective::<M>(slot, &odonata_workload::Collective::Barrier { comm })?;
                self.requests
                    .await_accesses::<M>(turn, &mut self.calls, slot, (Source::Any, comm));
                Ok(Time::ZERO)
            }
            Call::Lock {
                target,
                exclusive,
                comm,
            } => {
                let payload = Payload::Lock {
                    from: rank,
                    to: first + self.layout.rank_of(rank, comm, target)?,
                    comm: comm.0,
                    exclusive,
                    request: self.open_request::<M>(slot, RequestKind::Nothing),
                };
                self.send_notice::<M>(turn, payload, self.settings.send_delay);
                Ok(self.settings.send_overhead)
            }
            Call::Unlock { target, comm } => {
                self.calls.add_schedule::<M>(slot, op, NIL);
                let of = (Source::Rank(target), comm);
                self.requests.await_accesses::<M>(turn, &mut self.calls, slot, of);
                Ok(Time::ZERO)
            }
            Call::Post { group, comm } => self.notify_group::<M>(turn, rank, (group, comm), false),
            Call::Complete { group, comm } => {
                self.layout.member_of(rank, group)?;
                self.calls.add_schedule::<M>(slot, op, NIL);
                self.requests
                    .await_accesses::<M>(turn, &mut self.calls, slot, (Source::Any, comm));
                Ok(Time::ZERO)
            }
            Call::Start { group, comm } => self.await_group::<M>(slot, (group, comm), false),
            Call::Wait { group, comm } => self.await_group::<M>(slot, (group, comm), true),
        }
    }

    /// The accesses of call `op` of `rank` are complete: it gives its lock back, or tells its group.
    pub(super) fn end_epoch<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, rank: u32, call: Call) {
        match call {
            Call::Unlock { target, comm } => {
                if let Ok(to) = self.layout.rank_of(rank, comm, target) {
                    let payload = Payload::Unlock {
                        from: rank,
                        to: self.layout.job_of(rank).first_rank + to,
                        comm: comm.0,
                    };
                    self.send_notice::<M>(turn, payload, self.settings.send_delay);
                }
            }
            Call::Complete { group, comm } => {
                // The group was checked when the call began.
                let _ = self.notify_group::<M>(turn, rank, (group, comm), true);
            }
            _ => {}
        }
    }

    /// Sends a notice of an epoch to the other members of `group`; returns the time that it occupies the rank.
    fn notify_group<M: Uses>(
        &self,
        turn: &mut Turn<'_, MpiEffect>,
        rank: u32,
        (group, comm): (Comm, Comm),
        ends: bool,
    ) -> Result<Time, InvalidOperation> {
        let mut busy = Time::ZERO;
        for to in self.others_of_group(rank, group)? {
            let payload = Payload::Epoch {
                from: rank,
                to,
                comm: comm.0,
                ends,
            };
            self.send_notice::<M>(turn, payload, busy + self.settings.send_delay);
            busy += self.settings.send_overhead;
        }
        Ok(busy)
    }

    /// Makes call `slot` wait for a notice from each other member of `group`.
    fn await_group<M: Uses>(
        &mut self,
        slot: u32,
        (group, comm): (Comm, Comm),
        ends: bool,
    ) -> Result<Time, InvalidOperation> {
        let rank = self.calls.get(slot).rank;
        for from in self.others_of_group(rank, group)? {
            let request = self.open_request::<M>(slot, RequestKind::Nothing);
            let expected = Notice {
                rank,
                from,
                comm: comm.0,
                ends,
                request,
                next: NIL,
            };
            if self.windows.meet::<M>(expected).is_some() {
                self.withdraw_request::<M>(slot, request);
            }
        }
        Ok(Time::ZERO)
    }

    /// The other members of `group`, numbered over all jobs.
    fn others_of_group(&self, rank: u32, group: Comm) -> Result<Vec<u32>, InvalidOperation> {
        self.layout.member_of(rank, group)?;
        let first = self.layout.job_of(rank).first_rank;
        let members = self.layout.members(rank, group).map(|member| first + member);
        Ok(members.filter(|&member| member != rank).collect())
    }

    /// Handles the arrival of an access at its target.
    pub(crate) fn access_arrives<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, arrived: ArrivedAccess) {
        let by_interface = match arrived.access {
            Access::Put | Access::Get => true,
            Access::Accumulate | Access::GetAccumulate => arrived.bytes <= ATOMIC,
        };
        if by_interface {
            self.answer::<M>(turn, arrived, Time::ZERO);
            return;
        }
        let answer = self.windows.answers.allocate::<M>(Answer { arrived, next: NIL });
        self.progress::<M>(turn, arrived.to, ProtocolWork::Combine { answer });
    }

    /// The library of the target of access `answer` combines its data with the memory, and answers.
    pub(super) fn combine<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, answer: u32) {
        let arrived = self.windows.answers.get(answer).arrived;
        self.windows.answers.free::<M>(answer);
        let software = self.settings.reduction(arrived.bytes) + self.settings.answer_delay();
        self.answer::<M>(turn, arrived, software);
    }

    fn answer<M: Uses>(&self, turn: &mut Turn<'_, MpiEffect>, arrived: ArrivedAccess, software: Time) {
        let ArrivedAccess {
            from,
            to,
            access,
            bytes,
            request,
            created,
        } = arrived;
        match access {
            Access::Put | Access::Accumulate => self.send_notice::<M>(turn, grant(to, from, request), software),
            Access::Get | Access::GetAccumulate => {
                let fetched = Payload::Fetched {
                    from: to,
                    to: from,
                    request,
                };
                self.send_one_sided::<M>(turn, fetched, bytes, created, software);
            }
        }
    }

    /// Handles the arrival at `rank` of a request for the lock of its window on `comm`.
    pub(crate) fn lock_arrives<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        (rank, comm): (u32, u32),
        (from, request): (u32, u32),
        exclusive: bool,
    ) {
        let waiting = Waiting {
            from,
            request,
            exclusive,
            next: NIL,
        };
        if self.windows.lock::<M>((rank, comm), waiting) {
            self.send_notice::<M>(turn, grant(rank, from, request), Time::ZERO);
        }
    }

    /// Handles the arrival at `rank` of the lock of its window on `comm`.
    pub(crate) fn unlock_arrives<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, rank: u32, comm: u32) {
        for (from, request) in self.windows.unlock::<M>(rank, comm) {
            self.send_notice::<M>(turn, grant(rank, from, request), Time::ZERO);
        }
    }

    /// Handles the arrival at `rank` of a notice of an epoch from rank `from`.
    pub(crate) fn epoch_arrives<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        (rank, from): (u32, u32),
        comm: u32,
        ends: bool,
    ) {
        let notice = Notice {
            rank,
            from,
            comm,
            ends,
            request: NIL,
            next: NIL,
        };
        if let Some(request) = self.windows.meet::<M>(notice) {
            self.complete::<M>(turn, request);
        }
    }

    fn send_notice<M: Uses>(&self, turn: &mut Turn<'_, MpiEffect>, payload: Payload, software: Time) {
        self.send_one_sided::<M>(turn, payload, self.settings.rendezvous_control.0, turn.now, software);
    }

    fn send_one_sided<M: Uses>(
        &self,
        turn: &mut Turn<'_, MpiEffect>,
        payload: Payload,
        bytes: u64,
        created: Time,
        software: Time,
    ) {
        turn.sends::<M>(OutgoingMessage {
            payload,
            bytes,
            created,
            software,
            cause: NIL,
        });
    }
}

/// The answer that completes `request` of rank `to`.
fn grant(from: u32, to: u32, request: u32) -> Payload {
    Payload::Ack { from, to, request }
}
