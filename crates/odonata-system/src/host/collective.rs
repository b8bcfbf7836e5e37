//! Messages of MPI, and collectives made of them.
//!
//! A collective runs the steps of [`odonata_workload::collective`]: a step receives and sends at once,
//! and the next begins when both are complete. Where steps begin together, the sends among them follow each other
//! at the time that a send call takes. Its messages have a context of their own and carry a
//! *stamp*: which collective, the how-manieth of this rank on the communicator, and a hash of root and
//! sizes. A rank that gets another stamp than its own knows that the ranks do not agree.

use super::Hosts;
use super::communicator::collective_of;
use super::event::Outside;
use super::letter::{Kind, Letter, words};
use super::matching::{Posted, Reader, Waiting};
use super::outcome::{Failure, Wrong};
use super::params::JobProgram;
use super::peers::context;
use super::post::Shipment;
use super::rank::Activity;
use super::rendezvous::Outbound;
use super::request::Transfer;
use odonata_engine::{Mode, NIL, Time};
use odonata_workload::collective::{Sizes, Step, Transfer as Part, choose, step};
use odonata_workload::{Collective, Comm, Counts, Program, Source, Tag};

/// Bits of a stamp: kind, call number, hash.
const CALL_BITS: u32 = 12;
const HASH_BITS: u32 = 15;
/// Non-blocking collectives that a rank may have under way on a communicator: call numbers tell them apart.
pub(crate) const MOST_BACKGROUND: u32 = (1 << CALL_BITS) - 1;
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

/// Whether two stamps belong to the same call of their ranks.
#[inline]
pub(crate) fn same_call(a: u32, b: u32) -> bool {
    (a ^ b) >> HASH_BITS & ((1 << CALL_BITS) - 1) == 0
}

/// How a message is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Manner {
    /// As its length asks for, after the sends of a step that come before it.
    Ordinary {
        /// Their overhead.
        after: Time,
    },
    /// By rendezvous, however short it is.
    Synchronous,
}

impl Manner {
    /// Now, as its length asks for.
    pub(crate) const PLAIN: Manner = Manner::Ordinary { after: Time::ZERO };
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
    /// The sizes that `rank` knows.
    fn lists(&self, rank: u32) -> Lists<'_> {
        let job = &self.jobs[usize::from(self.places[rank as usize].job)];
        let program = match &job.program {
            JobProgram::Program(program) => Some(&**program),
            JobProgram::Synthetic { .. } => None,
        };
        Lists {
            program,
            rank: rank - job.first_rank,
        }
    }

    /// Prepares operation `slot` for `collective`.
    ///
    /// # Errors
    /// The rank is not in its communicator, or it cannot run there.
    pub(crate) fn start_collective<M: Mode>(&mut self, slot: u32, collective: &Collective) -> Result<(), Wrong> {
        let rank = self.activities.get(slot).rank;
        let comm = collective.comm();
        let (member, members) = self.member_of(rank, comm)?;
        if collective.check(members).is_err() {
            return Err(Wrong::Collective { members });
        }
        let local = rank - self.jobs[usize::from(self.places[rank as usize].job)].first_rank;
        // The number of calls is kept where a rank would count messages to itself.
        let call = self.next_sequence::<M>(rank, local, context(comm, true));
        let algorithm = choose(collective, members, &self.params.mpi.rules, &self.lists(rank));
        let activity = self.activities.edit::<M>(slot);
        (activity.member, activity.members) = (member, members);
        (activity.algorithm, activity.step, activity.stamp) = (algorithm, 0, stamp(collective, call));
        Ok(())
    }

    /// Prepares operation `slot`, which makes a communicator, for the first of its collectives.
    ///
    /// # Errors
    /// As for [`start_collective`](Self::start_collective).
    pub(crate) fn start_creation<M: Mode>(&mut self, slot: u32) -> Result<(), Wrong> {
        let Activity { op, rank, part, .. } = *self.activities.get(slot);
        let comm = collective_of(&op.kind, part).map_or(Comm::WORLD, |collective| collective.comm());
        self.member_of(rank, comm)?;
        match collective_of(&op.kind, part) {
            Some(collective) => self.start_collective::<M>(slot, &collective),
            None => Ok(()),
        }
    }

    /// One non-blocking collective of `rank` on `comm` more, or less.
    ///
    /// # Errors
    /// There would be too many.
    pub(crate) fn count_background<M: Mode>(&mut self, rank: u32, comm: Comm, more: bool) -> Result<(), Wrong> {
        let local = rank - self.jobs[usize::from(self.places[rank as usize].job)].first_rank;
        let slot = self.peer::<M>(rank, local, context(comm, true));
        let open = &mut self.peers.edit::<M>(slot).received;
        *open = if more { *open + 1 } else { *open - 1 };
        if *open > MOST_BACKGROUND {
            return Err(Wrong::TooManyCollectives);
        }
        Ok(())
    }

    /// The non-blocking collective of operation `activity` is complete.
    pub(crate) fn end_background<X: Outside>(&mut self, x: &mut X, activity: &Activity) {
        if let Some(collective) = collective_of(&activity.op.kind, 0) {
            let counted = self.count_background::<X>(activity.rank, collective.comm(), false);
            debug_assert!(counted.is_ok(), "there are fewer now");
        }
        self.complete(x, activity.request);
    }

    /// Begins the next step of operation `slot`, and those that begin with it; `false` if there is none, or it is
    /// no collective.
    pub(crate) fn next_step<X: Outside>(&mut self, x: &mut X, slot: u32) -> bool {
        let (collective, mut step) = loop {
            let Activity { op, part, .. } = *self.activities.get(slot);
            let Some(collective) = collective_of(&op.kind, part) else {
                return false;
            };
            if let Some(step) = self.step_of(slot, &collective) {
                break (collective, step);
            }
            let Some(next) = collective_of(&op.kind, part + 1) else {
                return false;
            };
            self.activities.edit::<X>(slot).part += 1;
            if self.start_collective::<X>(slot, &next).is_err() {
                return false;
            }
        };
        let now = x.now();
        let mut busy = Time::ZERO;
        // One for us: a message that is there already must not end the step before it is sent.
        self.activities.edit::<X>(slot).pending = 1;
        loop {
            self.activities.edit::<X>(slot).step += 1;
            match self.begin_step(x, slot, &collective, step, busy) {
                Ok(sent) if sent => busy += self.params.mpi.send_overhead,
                Ok(_) => {}
                Err(why) => {
                    let Activity { op, rank, .. } = *self.activities.get(slot);
                    self.fail(x, Failure::Invalid { rank, op, why });
                    return false;
                }
            }
            if !step.more {
                break;
            }
            match self.step_of(slot, &collective) {
                Some(next) => step = next,
                None => break,
            }
        }
        let activity = self.activities.edit::<X>(slot);
        activity.busy_until = now + busy;
        activity.pending -= 1;
        true
    }

    /// The step at which operation `slot` is in its collective.
    #[inline]
    fn step_of(&self, slot: u32, collective: &Collective) -> Option<Step> {
        let Activity {
            rank,
            algorithm,
            step: index,
            member,
            members,
            ..
        } = *self.activities.get(slot);
        step(collective, algorithm, member, members, index, &self.lists(rank))
    }

    /// Posts the receive of a step, and sends its message `after` so much time; whether there is one.
    ///
    /// # Errors
    /// The communicator has no such member.
    fn begin_step<X: Outside>(
        &mut self,
        x: &mut X,
        slot: u32,
        collective: &Collective,
        step: Step,
        after: Time,
    ) -> Result<bool, Wrong> {
        let Activity { rank, stamp, .. } = *self.activities.get(slot);
        let comm = collective.comm();
        let context = context(comm, true);
        if let Some(Part { peer, bytes }) = step.recv {
            let source = Source::Rank(self.rank_of(rank, comm, peer)?);
            let request = self.open_blocking::<X>(slot, Transfer::Receive);
            let receive = Posted {
                source,
                tag: Tag::Any,
                context,
                bytes,
                request,
                reader: Reader::Collective { activity: slot, stamp },
                next: NIL,
            };
            self.post(x, rank, receive);
        }
        let Some(Part { peer, bytes }) = step.send else {
            return Ok(false);
        };
        let to = self.rank_of(rank, comm, peer)?;
        let request = self.open_blocking::<X>(slot, Transfer::Send);
        self.send(x, rank, to, stamp, context, bytes, request, Manner::Ordinary { after });
        Ok(true)
    }

    /// Sends a message of `rank` to rank `to` of its job; `request` completes when it has left.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn send<X: Outside>(
        &mut self,
        x: &mut X,
        rank: u32,
        to: u32,
        tag: u32,
        context: u32,
        bytes: u64,
        request: u32,
        manner: Manner,
    ) {
        let job_number = self.places[rank as usize].job;
        let target = self.jobs[usize::from(job_number)].first_rank + to;
        let sequence = self.next_sequence::<X>(rank, to, context);
        let metrics = self.metrics.edit::<X>(rank);
        metrics.sends += 1;
        metrics.bytes_sent += bytes;
        let (synchronous, after) = match manner {
            Manner::Synchronous => (true, Time::ZERO),
            Manner::Ordinary { after } => (false, after),
        };
        if synchronous || bytes > self.params.mpi.eager_threshold {
            let message = Outbound {
                rank,
                target,
                tag,
                context,
                sequence,
                bytes,
                request,
            };
            self.request_to_send(x, message, after);
            return;
        }
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
                words: words(&[tag, context, sequence, request]),
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
            words: [tag, context, sequence, ..],
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
                rendezvous: NIL,
                next: NIL,
            },
        );
        self.advance(x, to);
    }
}
