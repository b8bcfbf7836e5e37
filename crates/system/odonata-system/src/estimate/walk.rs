//! Sums over the operations of a rank: messages, packets, bytes, and their time on an idle network. Long programs are walked
//! from their beginning and extrapolated, by their number of iterations or else by their number of operations.

use crate::scenario::resolved::{Job, Resolved};
use odonata_topology::Topology;
use odonata_workload::collective::{self, Rules};
use odonata_workload::{Collective, Comm, Cursor, OneSided, OpKind, Program, Seen};

/// Operations walked per rank, including steps of collectives.
const MOST_OPERATIONS: u32 = 20_000;

/// Operations counted to find the length of a program.
const MOST_COUNTED: u32 = 1 << 22;

/// Approximate size of requests and answers.
const CONTROL_BYTES: u64 = 64;

/// Routers on the path of a message whose receiver is unknown: one per class of links.
const ROUTERS: f64 = 3.0;

/// Distances of the nodes of a job from one of its ranks.
pub(super) struct Reach<'a> {
    pub(super) topology: &'a Topology,
    /// The node of each rank.
    pub(super) nodes: &'a [u32],
    /// Cables from the rank's router to each router.
    pub(super) distances: Vec<u32>,
}

impl Reach<'_> {
    /// Routers on a shortest path to rank `to`, if there is one.
    fn routers(&self, to: u32) -> Option<f64> {
        let node = *self.nodes.get(to as usize)?;
        let cables = *self.distances.get(self.topology.router_of_whole_node(node) as usize)?;
        (cables < u32::MAX).then(|| f64::from(cables) + 1.0)
    }
}

/// A set of ranks of a job, cleared without visiting them: members carry the number of the current round. Numbers that are
/// no rank, such as `PROC_NULL`, count as one member.
#[derive(Debug)]
struct RankSet {
    rounds: Vec<u32>,
    round: u32,
    len: u32,
}

impl RankSet {
    fn new(ranks: u32) -> RankSet {
        RankSet {
            rounds: vec![0; ranks as usize + 1],
            round: 1,
            len: 0,
        }
    }

    #[inline]
    fn insert(&mut self, rank: u32) {
        let place = (rank as usize).min(self.rounds.len() - 1);
        let known = &mut self.rounds[place];
        self.len += u32::from(*known != self.round);
        *known = self.round;
    }

    fn len(&self) -> f64 {
        f64::from(self.len)
    }

    fn clear(&mut self) {
        self.len = 0;
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.rounds.fill(0);
            self.round = 1;
        }
    }
}

/// Sums over operations.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    /// Packets of messages whose receiver's distance is known, and routers on their shortest paths.
    pub(super) reached: (f64, f64),
    /// Messages and receives examined for matching: for each message half of the others that are open at the same time.
    pub(super) searches: f64,
    /// Iterations and values recorded.
    pub(super) records: f64,
    /// Reads, writes, and calls of metadata servers.
    pub(super) accesses: f64,
    /// Messages, their requests and answers of a rendezvous, and messages of I/O.
    pub(super) messages: f64,
    pub(super) control: f64,
    pub(super) io_messages: f64,
    /// Flits of packets.
    pub(super) flits: f64,
    /// Payload of messages, bytes.
    pub(super) bytes: f64,
    /// Packets of messages.
    pub(super) packets: f64,
    /// Payload of I/O, bytes.
    pub(super) io_bytes: f64,
    /// Packets of I/O.
    pub(super) io_packets: f64,
    /// Computation, seconds.
    pub(super) computes_s: f64,
    /// Messages and the path of I/O to its server, one after the other, seconds.
    pub(super) sends_s: f64,
    /// Operations, and the walked ones; the others are assumed to be like these.
    pub(super) operations: f64,
    pub(super) walked: f64,
}

impl Sums {
    /// Adds `factor` times the sums of `other`.
    pub(super) fn add(&mut self, factor: f64, other: &Sums) {
        let Sums {
            reached,
            searches,
            records,
            accesses,
            messages,
            control,
            io_messages,
            flits,
            bytes,
            packets,
            io_bytes,
            io_packets,
            computes_s,
            sends_s,
            operations,
            walked,
        } = self;
        reached.0 += factor * other.reached.0;
        reached.1 += factor * other.reached.1;
        *searches += factor * other.searches;
        *records += factor * other.records;
        *accesses += factor * other.accesses;
        *messages += factor * other.messages;
        *control += factor * other.control;
        *io_messages += factor * other.io_messages;
        *flits += factor * other.flits;
        *bytes += factor * other.bytes;
        *packets += factor * other.packets;
        *io_bytes += factor * other.io_bytes;
        *io_packets += factor * other.io_packets;
        *computes_s += factor * other.computes_s;
        *sends_s += factor * other.sends_s;
        *operations += factor * other.operations;
        *walked += other.walked;
    }
}

/// The length of a program relative to its walked part.
#[derive(Clone, Copy, Debug)]
struct Length {
    times: f64,
    /// Whether the program is longer than counted.
    at_least: bool,
}

/// The operations of ranks, walked one rank after the other.
pub(super) struct Walk<'a> {
    /// Distances from the current rank, if measured.
    pub(super) reach: Option<Reach<'a>>,
    pub(super) sums: Sums,
    /// Ranks that were walked.
    pub(super) ranks: u32,
    /// Whether a program is longer than counted.
    pub(super) at_least: bool,
    /// Lengths of the phases that were not walked to their end, by place, from the first rank that had to count.
    lengths: Vec<Option<Length>>,
    /// Largest packet, bytes.
    packet: u64,
    /// Size of a piece of I/O, bytes.
    block: u64,
    /// Tiers of servers below the first: written data go on to them over the network.
    tiers_below: f64,
    /// Whether there are metadata servers for calls on files.
    metadata: bool,
    /// Largest message sent without a rendezvous.
    eager: u64,
    /// Time per byte of messages on a rank's share of its terminal link, seconds.
    per_byte_s: f64,
    /// From a call to the arrival of a message of no size, and over the completion of its receive, seconds.
    message_s: f64,
    /// Flits of a packet of full size, and bytes of one.
    flits_of_a_packet: f64,
    flit: u64,
    /// Receivers of the current rank, and the sum of their numbers over all ranks.
    targets: RankSet,
    pub(super) peers: f64,
    /// Messages since the last wait, and their receivers.
    batch: f64,
    batch_targets: RankSet,
}

impl<'a> Walk<'a> {
    pub(super) fn new(scenario: &Resolved, job: &Job) -> Walk<'a> {
        let (mpi, links) = (&scenario.mpi, &scenario.network.links);
        let software = mpi.send_overhead + mpi.send_delay + scenario.nic.message_delay + mpi.recv_overhead;
        let wires = *links.terminal.latency + *links.terminal.latency + *links.local.latency + *links.global.latency;
        let routers = ROUTERS * scenario.network.router_delay.seconds();
        Walk {
            reach: None,
            sums: Sums::default(),
            ranks: 0,
            at_least: false,
            lengths: Vec::new(),
            packet: scenario.network.packet.0,
            block: scenario
                .storage
                .as_ref()
                .map_or(1 << 20, |storage| storage.manager.block.0),
            tiers_below: scenario
                .storage
                .as_ref()
                .map_or(0.0, |storage| storage.tiers.len() as f64),
            metadata: (scenario.storage.as_ref()).is_some_and(|storage| storage.metadata.is_some()),
            eager: mpi.eager_threshold.map_or(u64::MAX, |bytes| bytes.0),
            per_byte_s: f64::from(job.ranks_per_node) / links.terminal.bandwidth.0,
            message_s: (software + wires).seconds() + routers,
            flits_of_a_packet: scenario.network.packet.0.div_ceil(scenario.network.flit.0) as f64,
            flit: scenario.network.flit.0,
            targets: RankSet::new(*job.ranks),
            peers: 0.0,
            batch: 0.0,
            batch_targets: RankSet::new(*job.ranks),
        }
    }

    /// Adds the operations of `rank`; `false` if its program fails.
    pub(super) fn rank(&mut self, program: &dyn Program, rank: u32, rules: &Rules) -> bool {
        self.targets.clear();
        let done = match program.phases() {
            Some((phases, repeat)) => {
                let budget = MOST_OPERATIONS / (phases.len() as u32).max(1);
                let mut phases = phases.iter().enumerate();
                phases.all(|(place, phase)| self.part(phase.as_ref(), rank, rules, place, budget, repeat))
            }
            None => self.part(program, rank, rules, 0, MOST_OPERATIONS, 1),
        };
        self.peers += self.targets.len();
        self.ranks += 1;
        done
    }

    /// Adds `repeat` times the operations of the phase at `place`, walking at most `budget` of them; `false` if it fails.
    fn part(
        &mut self,
        program: &dyn Program,
        rank: u32,
        rules: &Rules,
        place: usize,
        budget: u32,
        repeat: u32,
    ) -> bool {
        let before = std::mem::take(&mut self.sums);
        let (done, length) = self.walk(program, rank, rules, place, budget);
        self.at_least |= length.at_least;
        let part = std::mem::replace(&mut self.sums, before);
        self.sums.add(length.times * f64::from(repeat), &part);
        done
    }

    /// Adds at most `budget` operations of a program; returns whether it does not fail, and its length.
    fn walk(
        &mut self,
        program: &dyn Program,
        rank: u32,
        rules: &Rules,
        place: usize,
        mut budget: u32,
    ) -> (bool, Length) {
        let whole = Length {
            times: 1.0,
            at_least: false,
        };
        let mut persistent: Vec<(u32, u64)> = Vec::new();
        let mut cursor = Cursor::default();
        let mut memory = vec![0; program.memory()];
        // Iterations walked to their end, and the sums at that point.
        let (mut marks, mut at_mark) = (0, Sums::default());
        while budget > 0 {
            let mut seen = Seen {
                memory: &mut memory,
                now: None,
                answer: 0,
                lost: false,
                failure: None,
            };
            let Some(op) = program.next_with(rank, &mut cursor, &mut seen) else {
                let fails = seen.failure.is_some() || program.broken(rank, &cursor).is_some();
                self.match_batch();
                return (!fails, whole);
            };
            self.sums.operations += 1.0;
            self.sums.walked += 1.0;
            budget -= 1;
            match op.kind {
                OpKind::Compute { duration } => self.sums.computes_s += duration.seconds(),
                OpKind::Send { bytes, to, comm, .. } | OpKind::Isend { bytes, to, comm, .. } => {
                    self.targets.insert(to);
                    self.message(bytes, (comm == Comm::WORLD).then_some(to));
                }
                OpKind::Ssend { bytes, to, comm, .. } | OpKind::Issend { bytes, to, comm, .. } => {
                    self.targets.insert(to);
                    self.message(bytes, (comm == Comm::WORLD).then_some(to));
                    self.answer();
                }
                OpKind::Sendrecv {
                    send_bytes, to, comm, ..
                } => {
                    self.targets.insert(to);
                    self.message(send_bytes, (comm == Comm::WORLD).then_some(to));
                    self.answer();
                }
                // Sent when it is started.
                OpKind::SendInit { bytes, request, to, .. } => {
                    self.targets.insert(to);
                    persistent.retain(|&(other, _)| other != request.0);
                    persistent.push((request.0, bytes));
                }
                OpKind::Start { request } => self.started(&persistent, request.0, 1),
                OpKind::StartAll { first, count } => self.started(&persistent, first.0, count),
                OpKind::Recv { .. }
                | OpKind::Wait { .. }
                | OpKind::WaitAll { .. }
                | OpKind::WaitAny { .. }
                | OpKind::WaitSome { .. } => self.answer(),
                OpKind::Read { bytes, .. } | OpKind::Iread { bytes, .. } => self.access(bytes, 0.0),
                OpKind::Write { bytes, .. } | OpKind::Iwrite { bytes, .. } => self.access(bytes, self.tiers_below),
                OpKind::Open { .. } | OpKind::Close { .. } | OpKind::Metadata { .. } if self.metadata => {
                    self.sums.accesses += 1.0;
                    self.sums.io_messages += 2.0;
                    self.sums.io_packets += 2.0;
                    self.sums.flits += 2.0 * self.flits_of(CONTROL_BYTES);
                    self.sums.sends_s += 2.0 * self.message_s;
                }
                OpKind::OneSided(OneSided::Access {
                    target, bytes, comm, ..
                }) => {
                    self.targets.insert(target);
                    self.message(bytes, (comm == Comm::WORLD).then_some(target));
                    // The acknowledgment, or the request.
                    self.sums.control += 1.0;
                    self.sums.packets += 1.0;
                    self.sums.flits += self.flits_of(CONTROL_BYTES);
                }
                OpKind::OneSided(_) => self.answer(),
                OpKind::Collective(collective) | OpKind::Icollective { collective, .. } => {
                    self.collective(program, rank, &collective, rules, &mut budget);
                }
                OpKind::Mark { .. } => {
                    self.sums.records += 1.0;
                    (marks, at_mark) = (marks + 1, self.sums);
                }
                OpKind::Report { .. } => self.sums.records += 1.0,
                _ => {}
            }
        }
        self.match_batch();
        match program.iterations() {
            Some(iterations) if marks > 0 => {
                self.sums = at_mark;
                let times = f64::from(iterations.max(marks)) / f64::from(marks);
                (true, Length { times, at_least: false })
            }
            _ => (true, self.length(program, rank, place, cursor, &mut memory)),
        }
    }

    /// The length of the program walked up to `cursor`; counted for the first rank only.
    fn length(
        &mut self,
        program: &dyn Program,
        rank: u32,
        place: usize,
        mut cursor: Cursor,
        memory: &mut [u64],
    ) -> Length {
        if self.lengths.len() <= place {
            self.lengths.resize(place + 1, None);
        }
        let walked = self.sums.walked;
        *self.lengths[place].get_or_insert_with(|| {
            let most = if program.runs_user_code() { 0 } else { MOST_COUNTED };
            let mut counted = 0;
            while counted < most {
                let mut seen = Seen {
                    memory: &mut *memory,
                    now: None,
                    answer: 0,
                    lost: false,
                    failure: None,
                };
                if program.next_with(rank, &mut cursor, &mut seen).is_none() {
                    break;
                }
                counted += 1;
            }
            Length {
                times: (walked + f64::from(counted)) / walked.max(1.0),
                at_least: counted == most,
            }
        })
    }

    /// Adds a message, to a rank of the job if the rank is known.
    fn message(&mut self, bytes: u64, to: Option<u32>) {
        self.sums.messages += 1.0;
        self.batch += 1.0;
        if let Some(to) = to {
            self.batch_targets.insert(to);
        }
        let routers = to.zip(self.reach.as_ref()).and_then(|(to, reach)| reach.routers(to));
        if let Some(routers) = routers {
            let packets = bytes.div_ceil(self.packet).max(1) as f64;
            self.sums.reached = (self.sums.reached.0 + packets, self.sums.reached.1 + packets * routers);
        }
        self.sums.bytes += bytes as f64;
        self.sums.packets += bytes.div_ceil(self.packet).max(1) as f64;
        self.sums.flits += self.flits_of(bytes);
        // A request and an answer.
        let control = if bytes > self.eager { 2.0 } else { 0.0 };
        self.sums.control += control;
        self.sums.packets += control;
        self.sums.flits += control * self.flits_of(CONTROL_BYTES);
        self.sums.sends_s += bytes as f64 * self.per_byte_s;
    }

    /// Flits of the packets of `bytes`.
    fn flits_of(&self, bytes: u64) -> f64 {
        let rest = (bytes % self.packet).div_ceil(self.flit) as f64;
        ((bytes / self.packet) as f64 * self.flits_of_a_packet + rest).max(1.0)
    }

    /// Adds a wait for another rank.
    fn answer(&mut self) {
        self.sums.sends_s += self.message_s;
        self.match_batch();
    }

    /// Matches the messages since the last wait with those of other ranks that are open meanwhile.
    fn match_batch(&mut self) {
        let others = (self.batch_targets.len() - 1.0).max(0.0);
        self.sums.searches += self.batch * others / 2.0;
        self.batch = 0.0;
        self.batch_targets.clear();
    }

    /// Sends the `persistent` requests in `first .. first + count`.
    fn started(&mut self, persistent: &[(u32, u64)], first: u32, count: u32) {
        for &(request, bytes) in persistent {
            if request >= first && request - first < count {
                self.message(bytes, None);
            }
        }
    }

    /// Adds a read or a write whose data go on to `below` tiers.
    fn access(&mut self, bytes: u64, below: f64) {
        self.sums.accesses += 1.0;
        self.sums.io_bytes += bytes as f64;
        // A request, an answer, and a control message for every piece.
        let pieces = bytes.div_ceil(self.block) as f64;
        let control = 2.0 + pieces;
        self.sums.io_messages += (1.0 + below) * (control + pieces);
        self.sums.io_packets += (1.0 + below) * (control + bytes.div_ceil(self.packet) as f64);
        self.sums.flits += (1.0 + below) * (control * self.flits_of(CONTROL_BYTES) + self.flits_of(bytes));
        self.sums.sends_s += bytes as f64 * self.per_byte_s + 2.0 * self.message_s;
    }

    fn collective(
        &mut self,
        program: &dyn Program,
        rank: u32,
        collective: &Collective,
        rules: &Rules,
        budget: &mut u32,
    ) {
        let comm = collective.comm();
        let sizes = |counts, from, to| program.bytes(rank, counts, from, to);
        let group = match comm {
            Comm::WORLD => None,
            _ => program.group(rank, comm),
        };
        let (rank, ranks) = match &group {
            Some(group) => (group.member(rank).unwrap_or(0), group.len()),
            None => (rank, program.ranks()),
        };
        let algorithm = collective::choose_in(Some(program), collective, ranks, rules, &sizes);
        for index in 0..*budget {
            let Some(step) = collective::step(collective, algorithm, rank, ranks, index, &sizes) else {
                break;
            };
            *budget -= 1;
            if let Some(send) = step.send {
                self.targets.insert(send.peer);
                let to = group.as_ref().map_or(Some(send.peer), |group| group.rank(send.peer));
                self.message(send.bytes, to);
            }
            if !step.more {
                self.answer();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_workload::PROC_NULL;

    #[test]
    fn a_set_of_ranks_counts_each_once_and_forgets_them_when_cleared() {
        let mut ranks = RankSet::new(3);
        for rank in [0, 2, 0, PROC_NULL, 2, 3] {
            ranks.insert(rank);
        }
        assert_eq!(ranks.len(), 3.0);
        ranks.clear();
        assert_eq!(ranks.len(), 0.0);
        ranks.insert(2);
        assert_eq!(ranks.len(), 1.0);
    }

    #[test]
    fn a_set_of_ranks_survives_the_last_round() {
        let mut ranks = RankSet::new(2);
        ranks.insert(1);
        ranks.round = u32::MAX;
        ranks.clear();
        ranks.insert(1);
        assert_eq!(ranks.len(), 1.0);
    }
}
