//! What each operation does when its call takes effect.

use super::Hosts;
use super::collective::Manner;
use super::event::Outside;
use super::matching::{Posted, Reader};
use super::metrics::IterationRecord;
use super::outcome::{Failure, Wrong};
use super::params::Progress;
use super::peers::context;
use super::progress::is_mpi_call;
use super::rank::{Activity, Phase};
use super::request::{Take, Transfer};
use odonata_engine::{NIL, Time};
use odonata_workload::{Collective, Comm, Op, OpKind, PROC_NULL, Request, Source, Tag};

/// How a transfer of point-to-point operation `kind` ends.
pub(crate) fn transfer(kind: &OpKind) -> Transfer {
    match *kind {
        OpKind::Send { to, .. }
        | OpKind::Ssend { to, .. }
        | OpKind::Isend { to, .. }
        | OpKind::Issend { to, .. }
        | OpKind::SendInit { to, .. }
            if to != PROC_NULL =>
        {
            Transfer::Send
        }
        OpKind::Recv { from, .. } | OpKind::Irecv { from, .. } | OpKind::RecvInit { from, .. }
            if from != Source::Rank(PROC_NULL) =>
        {
            Transfer::Receive
        }
        _ => Transfer::Nothing,
    }
}

impl Hosts {
    /// Carries out an operation.
    pub(crate) fn perform<X: Outside>(&mut self, x: &mut X, slot: u32) {
        let now = x.now();
        let activity = self.activities.edit::<X>(slot);
        activity.phase = Phase::Blocked;
        // One for us, so that a request that completes at once does not end the operation half-way.
        activity.pending = 1;
        activity.busy_until = now;
        let (op, rank) = (activity.op, activity.rank);
        if self.params.mpi.progress == Progress::InCalls && is_mpi_call(&op.kind) {
            self.catch_up(x, rank);
        }
        let busy = match self.call(x, slot, &op, rank) {
            Ok(busy) => busy,
            Err(why) => {
                self.fail(x, Failure::Invalid { rank, op, why });
                return;
            }
        };
        let activity = self.activities.edit::<X>(slot);
        activity.busy_until = now + busy;
        activity.pending -= 1;
        if activity.pending == 0 {
            self.settle(x, slot);
        }
    }

    /// Does what `op` asks for; returns how long that occupies the rank.
    #[inline]
    fn call<X: Outside>(&mut self, x: &mut X, slot: u32, op: &Op, rank: u32) -> Result<Time, Wrong> {
        let nothing = Ok(Time::ZERO);
        match op.kind {
            OpKind::Compute { duration } => {
                self.metrics.edit::<X>(rank).compute += duration;
                Ok(duration)
            }
            OpKind::Send { to, tag, bytes, comm } | OpKind::Ssend { to, tag, bytes, comm } => {
                let request = self.open_blocking::<X>(slot, transfer(&op.kind));
                let manner = match op.kind {
                    OpKind::Ssend { .. } => Manner::Synchronous,
                    _ => Manner::PLAIN,
                };
                self.send_to(x, rank, to, tag, bytes, comm, request, manner)
            }
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
            } => {
                let request = self.open_numbered::<X>(rank, op.id, request, transfer(&op.kind));
                let manner = match op.kind {
                    OpKind::Issend { .. } => Manner::Synchronous,
                    _ => Manner::PLAIN,
                };
                self.send_to(x, rank, to, tag, bytes, comm, request, manner)
            }
            OpKind::Recv { from, tag, bytes, comm } => {
                let request = self.open_blocking::<X>(slot, transfer(&op.kind));
                self.receive_from(x, rank, from, tag, bytes, comm, request)?;
                nothing
            }
            OpKind::Irecv {
                from,
                tag,
                bytes,
                comm,
                request,
            } => {
                let request = self.open_numbered::<X>(rank, op.id, request, transfer(&op.kind));
                self.receive_from(x, rank, from, tag, bytes, comm, request)?;
                nothing
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
                let null = from == Source::Rank(PROC_NULL);
                let received = if null { Transfer::Nothing } else { Transfer::Receive };
                let request = self.open_blocking::<X>(slot, received);
                self.receive_from(x, rank, from, recv_tag, recv_bytes, comm, request)?;
                let request = self.open_blocking::<X>(slot, Transfer::Send);
                self.send_to(x, rank, to, send_tag, send_bytes, comm, request, Manner::PLAIN)
            }
            OpKind::Probe { from, tag, comm } => {
                if from != Source::Rank(PROC_NULL) {
                    let source = self.source_of(rank, comm, from)?;
                    let request = self.open_blocking::<X>(slot, Transfer::Nothing);
                    let probe = Posted {
                        source,
                        tag,
                        context: context(comm, false),
                        bytes: 0,
                        request,
                        reader: Reader::Probe,
                        next: NIL,
                    };
                    self.post(x, rank, probe);
                }
                nothing
            }
            OpKind::Iprobe { from, comm, .. } => {
                if from != Source::Rank(PROC_NULL) {
                    self.source_of(rank, comm, from)?;
                }
                nothing
            }
            OpKind::SendInit { .. } | OpKind::RecvInit { .. } => {
                self.make_persistent::<X>(slot)?;
                nothing
            }
            OpKind::Start { request } => self.start_persistent(x, slot, request),
            OpKind::StartAll { first, count } => {
                let mut busy = Time::ZERO;
                for number in 0..count {
                    busy += self.start_persistent(x, slot, Request(first.0.saturating_add(number)))?;
                }
                Ok(busy)
            }
            OpKind::RequestFree { request } => {
                self.free_request::<X>(rank, request)?;
                nothing
            }
            OpKind::Wait { request } => {
                self.await_requests::<X>(slot, request, 1);
                nothing
            }
            OpKind::WaitAll { first, count } => {
                self.await_requests::<X>(slot, first, count);
                nothing
            }
            OpKind::WaitAny { first, count } => {
                self.await_one::<X>(slot, first, count, Take::One);
                nothing
            }
            OpKind::WaitSome { first, count } => {
                self.await_one::<X>(slot, first, count, Take::Some);
                nothing
            }
            OpKind::Test { request } => {
                self.take_complete::<X>(slot, request, 1, Take::One);
                nothing
            }
            OpKind::TestAny { first, count } => {
                self.take_complete::<X>(slot, first, count, Take::One);
                nothing
            }
            OpKind::TestAll { first, count } => {
                self.take_complete::<X>(slot, first, count, Take::All);
                nothing
            }
            OpKind::TestSome { first, count } => {
                self.take_complete::<X>(slot, first, count, Take::Some);
                nothing
            }
            OpKind::Collective(collective) => {
                self.start_collective::<X>(slot, &collective)?;
                nothing
            }
            OpKind::Icollective { collective, request } => self.start_background(x, *op, rank, &collective, request),
            OpKind::CommDup { .. } | OpKind::CommCreate { .. } | OpKind::CommSplit { .. } => {
                self.start_creation::<X>(slot)?;
                nothing
            }
            OpKind::CommFree { comm } => {
                self.free_communicator(rank, comm)?;
                nothing
            }
            OpKind::Open { .. } | OpKind::Close { .. } => nothing,
            OpKind::Read { file, offset, bytes } | OpKind::Write { file, offset, bytes } => {
                let request = self.open_blocking::<X>(slot, Transfer::Io);
                let write = matches!(op.kind, OpKind::Write { .. });
                self.start_io(x, slot, write, file, offset, bytes, request);
                nothing
            }
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
            } => {
                let request = self.open_numbered::<X>(rank, op.id, request, Transfer::Io);
                let write = matches!(op.kind, OpKind::Iwrite { .. });
                self.start_io(x, slot, write, file, offset, bytes, request);
                nothing
            }
            OpKind::Mark { iteration } => {
                let job = self.places[rank as usize].job;
                let rank = rank - self.jobs[usize::from(job)].first_rank;
                self.iteration_rows.push::<X>(IterationRecord {
                    job,
                    rank,
                    iteration,
                    time: x.now(),
                });
                nothing
            }
            OpKind::Report { report, index, value } => {
                self.keep_report::<X>(rank, report, index, value, x.now())?;
                nothing
            }
        }
    }

    /// Sends a message of the program to member `to` of `comm`; returns how long that occupies the rank.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn send_to<X: Outside>(
        &mut self,
        x: &mut X,
        rank: u32,
        to: u32,
        tag: u32,
        bytes: u64,
        comm: Comm,
        request: u32,
        manner: Manner,
    ) -> Result<Time, Wrong> {
        if to == PROC_NULL {
            self.complete(x, request);
            return Ok(Time::ZERO);
        }
        let to = self.rank_of(rank, comm, to)?;
        self.send(x, rank, to, tag, context(comm, false), bytes, request, manner);
        Ok(self.params.mpi.send_overhead)
    }

    /// Posts a receive of the program from `from` of `comm`.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn receive_from<X: Outside>(
        &mut self,
        x: &mut X,
        rank: u32,
        from: Source,
        tag: Tag,
        bytes: u64,
        comm: Comm,
        request: u32,
    ) -> Result<(), Wrong> {
        if from == Source::Rank(PROC_NULL) {
            self.complete(x, request);
            return Ok(());
        }
        let receive = Posted {
            source: self.source_of(rank, comm, from)?,
            tag,
            context: context(comm, false),
            bytes,
            request,
            reader: Reader::Receive,
            next: NIL,
        };
        self.post(x, rank, receive);
        Ok(())
    }

    /// Begins non-blocking collective `collective` of `rank`. Its first step is taken by the call, whose overhead
    /// occupies the rank; further ones are in the background.
    fn start_background<X: Outside>(
        &mut self,
        x: &mut X,
        op: Op,
        rank: u32,
        collective: &Collective,
        request: Request,
    ) -> Result<Time, Wrong> {
        let now = x.now();
        let request = self.open_numbered::<X>(rank, op.id, request, Transfer::Collective);
        let slot = self.activities.take::<X>(Activity {
            background: true,
            request,
            phase: Phase::Blocked,
            since: now,
            busy_until: now,
            ..Activity::new(rank, op)
        });
        self.start_collective::<X>(slot, collective)?;
        self.count_background::<X>(rank, collective.comm(), true)?;
        if !self.next_step(x, slot) {
            self.retire(x, slot);
            return Ok(Time::ZERO);
        }
        let busy = self.activities.get(slot).busy_until - now;
        self.settle(x, slot);
        Ok(busy)
    }
}
