//! The operations of a rank, added up: packets, and the time that they take on an idle network.

use crate::scenario::resolved::{Job, Resolved};
use odonata_workload::collective::{self, Rules};
use odonata_workload::{Collective, Comm, OpKind, Program};

/// Operations, steps of collectives among them, walked per rank.
const MOST_OPERATIONS: u32 = 200_000;

/// Routers on the way of a message.
const ROUTERS: f64 = 3.5;

/// Sums over the operations of ranks.
pub(super) struct Walk {
    /// Largest packet, bytes.
    packet: u64,
    /// Size of a piece of I/O, bytes.
    block: u64,
    /// Largest message that is sent without asking.
    eager: u64,
    /// Time per byte of messages on a rank's share of its terminal link, seconds.
    per_byte_s: f64,
    /// From a call to the arrival of a message of no size, and over the completion of its receive, seconds.
    message_s: f64,
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
    /// Messages and the way of I/O to its server, one after the other, seconds.
    pub(super) sends_s: f64,
}

impl Walk {
    pub(super) fn new(scenario: &Resolved, job: &Job) -> Walk {
        let (mpi, links) = (&scenario.mpi, &scenario.network.links);
        let software = mpi.send_overhead + mpi.send_delay + scenario.nic.message_delay + mpi.recv_overhead;
        let wires = links.terminal.latency + links.terminal.latency + links.local.latency + links.global.latency;
        let routers = ROUTERS * scenario.network.router_delay.seconds();
        Walk {
            packet: scenario.network.packet.0,
            block: scenario
                .storage
                .as_ref()
                .map_or(1 << 20, |storage| storage.manager.block.0),
            eager: mpi.eager_threshold.map_or(u64::MAX, |bytes| bytes.0),
            per_byte_s: f64::from(job.ranks_per_node) / links.terminal.bandwidth.0,
            message_s: (software + wires).seconds() + routers,
            bytes: 0.0,
            packets: 0.0,
            io_bytes: 0.0,
            io_packets: 0.0,
            computes_s: 0.0,
            sends_s: 0.0,
        }
    }

    /// Adds the operations of `rank`.
    pub(super) fn rank(&mut self, program: &dyn Program, rank: u32, rules: &Rules) {
        let mut budget = MOST_OPERATIONS;
        let mut persistent: Vec<(u32, u64)> = Vec::new();
        for op in odonata_workload::operations(program, rank) {
            if budget == 0 {
                break;
            }
            budget -= 1;
            match op.kind {
                OpKind::Compute { duration } => self.computes_s += duration.seconds(),
                OpKind::Send { bytes, .. } | OpKind::Isend { bytes, .. } => self.message(bytes),
                OpKind::Ssend { bytes, .. } | OpKind::Issend { bytes, .. } => {
                    self.message(bytes);
                    self.answer();
                }
                OpKind::Sendrecv { send_bytes, .. } => {
                    self.message(send_bytes);
                    self.answer();
                }
                // Sent when it is started.
                OpKind::SendInit { bytes, request, .. } => {
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
                OpKind::Read { bytes, .. }
                | OpKind::Write { bytes, .. }
                | OpKind::Iread { bytes, .. }
                | OpKind::Iwrite { bytes, .. } => self.access(bytes),
                OpKind::Collective(collective) | OpKind::Icollective { collective, .. } => {
                    self.collective(program, rank, &collective, rules, &mut budget);
                }
                _ => {}
            }
        }
    }

    fn message(&mut self, bytes: u64) {
        self.bytes += bytes as f64;
        self.packets += bytes.div_ceil(self.packet).max(1) as f64;
        // Two more ask and answer.
        self.packets += if bytes > self.eager { 2.0 } else { 0.0 };
        self.sends_s += bytes as f64 * self.per_byte_s;
    }

    /// Something that another rank does is waited for.
    fn answer(&mut self) {
        self.sends_s += self.message_s;
    }

    /// Sends those of the `persistent` requests that are in `first .. first + count`.
    fn started(&mut self, persistent: &[(u32, u64)], first: u32, count: u32) {
        for &(request, bytes) in persistent {
            if request >= first && request - first < count {
                self.message(bytes);
            }
        }
    }

    fn access(&mut self, bytes: u64) {
        self.io_bytes += bytes as f64;
        // A request, an answer, and a control message for every piece.
        self.io_packets += 2.0 + bytes.div_ceil(self.block) as f64 + bytes.div_ceil(self.packet) as f64;
        self.sends_s += bytes as f64 * self.per_byte_s + 2.0 * self.message_s;
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
        let algorithm = collective::choose(collective, ranks, rules, &sizes);
        for index in 0..*budget {
            let Some(step) = collective::step(collective, algorithm, rank, ranks, index, &sizes) else {
                break;
            };
            *budget -= 1;
            if let Some(send) = step.send {
                self.message(send.bytes);
            }
            if !step.more {
                self.answer();
            }
        }
    }
}
