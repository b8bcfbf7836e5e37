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
//! An access has a request in the list of its rank, which a flush, a fence, an unlock, a complete or a wait for its number
//! takes; a put is complete when its acknowledgment arrives. With an idle
//! network, put and flush take o + L(s) + L(c), and get and flush o + L(c) + L(s): o is the overhead of a send, L(s) the time
//! from the call until s bytes are at the other node (LogGP), c the size of a control message. An answer of an
//! interface takes no software.

use super::effect::{MpiEffect, OutgoingMessage};
use crate::context::Uses;
use crate::failure::InvalidOperation;
use crate::layout::Layout;
use crate::payload::Payload;
use crate::settings::Mpi as Settings;
use crate::turn::Turn;
use odonata_engine::{List, NIL, Pool, Store, Time};
use odonata_workload::{Access, Comm, OneSided as Call};

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
    /// Rank `rank` waits for a notice of an epoch from rank `from`, which completes `request`. Returns whether it has arrived.
    pub(super) fn await_notice<M: Uses>(
        &mut self,
        (rank, from): (u32, u32),
        comm: u32,
        ends: bool,
        request: u32,
    ) -> bool {
        let expected = Notice {
            rank,
            from,
            comm,
            ends,
            request,
            next: NIL,
        };
        self.meet::<M>(expected).is_some()
    }

    /// A notice of an epoch from rank `from` arrives at `rank`. Returns the request that it completes.
    pub(super) fn notice_arrives<M: Uses>(&mut self, (rank, from): (u32, u32), comm: u32, ends: bool) -> Option<u32> {
        self.meet::<M>(Notice {
            rank,
            from,
            comm,
            ends,
            request: NIL,
            next: NIL,
        })
    }

    /// An access arrives at its target, whose interface answers it. Otherwise, returns the number of the answer that the
    /// library owes.
    pub(super) fn access_arrives<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        settings: &Settings,
        arrived: ArrivedAccess,
    ) -> Option<u32> {
        let by_interface = match arrived.access {
            Access::Put | Access::Get => true,
            Access::Accumulate | Access::GetAccumulate => arrived.bytes <= ATOMIC,
        };
        if by_interface {
            answer::<M>(turn, settings, arrived, Time::ZERO);
            return None;
        }
        Some(self.answers.allocate::<M>(Answer { arrived, next: NIL }))
    }

    /// The library of the target of access `answer` combines its data with the memory, and answers.
    pub(super) fn combine<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, settings: &Settings, number: u32) {
        let arrived = self.answers.get(number).arrived;
        self.answers.free::<M>(number);
        let software = settings.reduction(arrived.bytes) + settings.answer_delay();
        answer::<M>(turn, settings, arrived, software);
    }

    /// Handles the arrival at `rank` of a request for the lock of its window on `comm`.
    pub(crate) fn lock_arrives<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        settings: &Settings,
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
        if self.lock::<M>((rank, comm), waiting) {
            turn.sends_control::<M>(settings, grant(rank, from, request), Time::ZERO);
        }
    }

    /// Handles the arrival at `rank` of the lock of its window on `comm`.
    pub(crate) fn unlock_arrives<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        settings: &Settings,
        rank: u32,
        comm: u32,
    ) {
        for (from, request) in self.unlock::<M>(rank, comm) {
            turn.sends_control::<M>(settings, grant(rank, from, request), Time::ZERO);
        }
    }
}

fn answer<M: Uses>(turn: &mut Turn<'_, MpiEffect>, settings: &Settings, arrived: ArrivedAccess, software: Time) {
    let ArrivedAccess {
        from,
        to,
        access,
        bytes,
        request,
        created,
    } = arrived;
    match access {
        Access::Put | Access::Accumulate => {
            turn.sends_control::<M>(settings, grant(to, from, request), software);
        }
        Access::Get | Access::GetAccumulate => turn.sends::<M>(OutgoingMessage {
            payload: Payload::Fetched {
                from: to,
                to: from,
                request,
            },
            bytes,
            created,
            software,
            cause: NIL,
        }),
    }
}

/// The accesses of `call` of `rank` are complete: it gives its lock back, or notifies its group.
pub(super) fn end_epoch<M: Uses>(
    turn: &mut Turn<'_, MpiEffect>,
    (settings, layout): (&Settings, &Layout),
    rank: u32,
    call: Call,
) {
    match call {
        Call::Unlock { target, comm } => {
            if let Ok(to) = layout.rank_of(rank, comm, target) {
                let payload = Payload::Unlock {
                    from: rank,
                    to: layout.job_of(rank).first_rank + to,
                    comm: comm.0,
                };
                turn.sends_control::<M>(settings, payload, settings.send_delay);
            }
        }
        Call::Complete { group, comm } => {
            // The group was checked when the call began.
            let _ = notify_group::<M>(turn, (settings, layout), rank, (group, comm), true);
        }
        _ => {}
    }
}

/// Sends a notice of an epoch to the other members of `group`; returns the time that it occupies the rank.
pub(super) fn notify_group<M: Uses>(
    turn: &mut Turn<'_, MpiEffect>,
    (settings, layout): (&Settings, &Layout),
    rank: u32,
    (group, comm): (Comm, Comm),
    ends: bool,
) -> Result<Time, InvalidOperation> {
    let mut busy = Time::ZERO;
    for to in layout.others(rank, group)? {
        let payload = Payload::Epoch {
            from: rank,
            to,
            comm: comm.0,
            ends,
        };
        turn.sends_control::<M>(settings, payload, busy + settings.send_delay);
        busy += settings.send_overhead;
    }
    Ok(busy)
}

/// The answer that completes `request` of rank `to`.
fn grant(from: u32, to: u32, request: u32) -> Payload {
    Payload::Ack { from, to, request }
}
