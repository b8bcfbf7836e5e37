//! Messages of MPI, and collectives made of them.
//!
//! A collective runs the steps of [`odonata_workload::collective`]: a step receives and sends at once,
//! and the next begins when both are complete. Where steps begin together, the sends among them follow each other
//! at the time that a send call takes. Its messages have a context of their own and carry a
//! *stamp*: which collective, the how-manieth of this rank on the communicator, and a hash of root and
//! sizes. A rank that gets another stamp than its own knows that the ranks do not agree.

use super::Hosts;
use super::event::Outside;
use super::letter::{Kind, Letter};
use super::matching::{Posted, Waiting};
use super::outcome::Failure;
use super::params::JobProgram;
use super::peers::context;
use super::post::Shipment;
use super::rank::Activity;
use super::request::Transfer;
use odonata_engine::{Mode, NIL, Time};
use odonata_workload::collective::{Sizes, Step, choose, step};
use odonata_workload::{Collective, Counts, OpKind, Program, Source, Tag};

/// Bits of a stamp: kind, call number, hash.
const CALL_BITS: u32 = 8;
const HASH_BITS: u32 = 20;
const _: () = assert!(Collective::KINDS <= 1 << (32 - CALL_BITS - HASH_BITS));

/// What the messages of the `call`-th collective of a rank say.
pub(crate) fn stamp(collective: &Collective, call: u32) -> u32 {
    let mut digest = odonata_engine::Digest::new();
    collective.agreed().iter().for_each(|&word| digest.word(word));
    let hash = digest.value() as u32 & ((1 << HASH_BITS) - 1);
    collective.kind() << (CALL_BITS + HASH_BITS) | (call & ((1 << CALL_BITS) - 1)) << HASH_BITS | hash
}

/// The name of the collective of a stamp, and the last digits of its number among its rank's.
pub(crate) fn read_stamp(stamp: u32) -> (&'static str, u32) {
    let name = Collective::name_of(stamp >> (CALL_BITS + HASH_BITS));
    (name, stamp >> HASH_BITS & ((1 << CALL_BITS) - 1))
}

/// The lists of sizes of a program, as one of its ranks knows them.
struct Lists<'a> {
    program: Option<&'a dyn Program>,
    rank: u32,
}

impl Sizes for Lists<'_> {
    fn bytes(&self, counts: Counts, from: u32, to: u32) -> u64 {
        self.program
            .map_or(0, |program| program.bytes(self.rank, counts, from, to))
    }
}

impl Hosts {
    /// The sizes that `rank` of the machine, which is rank `local` of its job, knows.
    fn lists(&self, rank: u32, local: u32) -> Lists<'_> {
        let program = match &self.jobs[usize::from(self.places[rank as usize].job)].program {
            JobProgram::Program(program) => Some(&**program),
            JobProgram::Synthetic { .. } => None,
        };
        Lists { program, rank: local }
    }

    /// Begins collective operation `slot`; `false` if it is not possible.
    pub(crate) fn start_collective<M: Mode>(&mut self, slot: u32, collective: &Collective) -> bool {
        let rank = self.activities.get(slot).rank;
        let job = &self.jobs[usize::from(self.places[rank as usize].job)];
        let (ranks, local) = (job.ranks, rank - job.first_rank);
        if collective.check(ranks).is_err() {
            return false;
        }
        // The number of calls is kept where a rank would count messages to itself.
        let call = self.next_sequence::<M>(rank, local, context(collective.comm(), true));
        let algorithm = choose(collective, ranks, &self.params.mpi.rules, &self.lists(rank, local));
        let activity = self.activities.edit::<M>(slot);
        (activity.algorithm, activity.step, activity.stamp) = (algorithm, 0, stamp(collective, call));
        true
    }

    /// Step `index` of the collective of operation `slot`.
    fn step_of(&self, slot: u32, collective: &Collective, index: u32) -> Option<Step> {
        let Activity { rank, algorithm, .. } = *self.activities.get(slot);
        let job = &self.jobs[usize::from(self.places[rank as usize].job)];
        let local = rank - job.first_rank;
        step(collective, algorithm, local, job.ranks, index, &self.lists(rank, local))
    }

    /// Begins the next step of operation `slot`, and those that begin with it; `false` if there is none, or it is
    /// no collective.
    pub(crate) fn next_step<X: Outside>(&mut self, x: &mut X, slot: u32) -> bool {
        let Activity {
            op,
            rank,
            step: mut index,
            stamp,
            ..
        } = *self.activities.get(slot);
        let OpKind::Collective(collective) = op.kind else {
            return false;
        };
        let Some(mut step) = self.step_of(slot, &collective, index) else {
            return false;
        };
        let (context, now) = (context(collective.comm(), true), x.now());
        let mut busy = Time::ZERO;
        // One for us: a message that is there already must not end the step before it is sent.
        self.activities.edit::<X>(slot).pending = 1;
        loop {
            if let Some(transfer) = step.recv {
                let request = self.open_blocking::<X>(slot, Transfer::Receive);
                let receive = Posted {
                    source: Source::Rank(transfer.peer),
                    tag: Tag::Any,
                    context,
                    bytes: transfer.bytes,
                    request,
                    collective: Some((slot, stamp)),
                    next: NIL,
                };
                self.post(x, rank, receive);
            }
            if let Some(transfer) = step.send {
                let request = self.open_blocking::<X>(slot, Transfer::Send);
                self.send(x, slot, transfer.peer, stamp, context, transfer.bytes, request, busy);
                busy += self.params.mpi.send_overhead;
            }
            index += 1;
            if !step.more {
                break;
            }
            match self.step_of(slot, &collective, index) {
                Some(next) => step = next,
                None => break,
            }
        }
        let activity = self.activities.edit::<X>(slot);
        activity.step = index;
        activity.busy_until = now + busy;
        activity.pending -= 1;
        true
    }

    /// Sends a message of operation `slot` to rank `to` of its job, `after` so much time; `request` completes when
    /// it has left.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn send<X: Outside>(
        &mut self,
        x: &mut X,
        slot: u32,
        to: u32,
        tag: u32,
        context: u32,
        bytes: u64,
        request: u32,
        after: Time,
    ) {
        let Activity { op, rank, .. } = *self.activities.get(slot);
        let job_number = self.places[rank as usize].job;
        let job = &self.jobs[usize::from(job_number)];
        if to >= job.ranks {
            self.fail(x, Failure::Invalid { rank, op });
            return;
        }
        let target = job.first_rank + to;
        let sequence = self.next_sequence::<X>(rank, to, context);
        let metrics = self.metrics.edit::<X>(rank);
        metrics.sends += 1;
        metrics.bytes_sent += bytes;
        let shipment = Shipment {
            created: x.now() + after,
            source: self.end_of_rank(rank),
            target: self.end_of_rank(target),
            bytes,
            traffic: Self::traffic(job_number, false),
            letter: Letter {
                kind: Kind::Mpi,
                to: target,
                from: rank,
                words: [tag, context, sequence, request],
            },
            software: after + self.send_software(bytes),
            notify_sent: request != NIL,
            notify_arrived: true,
        };
        self.ship(x, shipment);
    }

    /// Time of the software for a message of `bytes` between ranks: call and copy.
    #[inline]
    pub(crate) fn send_software(&self, bytes: u64) -> Time {
        let mpi = &self.params.mpi;
        mpi.send_delay + Time((bytes as f64 * mpi.send_ps_per_byte + 0.5) as u64)
    }

    /// A message of MPI has arrived.
    pub(crate) fn message_arrived<X: Outside>(&mut self, x: &mut X, letter: Letter, bytes: u64) {
        let Letter {
            to,
            from,
            words: [tag, context, sequence, _],
            ..
        } = letter;
        let job = &self.jobs[usize::from(self.places[to as usize].job)];
        let source = from - job.first_rank;
        self.accept(
            x,
            to,
            Waiting {
                source,
                tag,
                context,
                sequence,
                bytes,
                next: NIL,
            },
        );
        self.advance(x, to);
    }
}
