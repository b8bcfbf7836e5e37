//! The traffic matrix: the point-to-point messages of a program.

use std::collections::BTreeMap;

use odonata_workload::{Comm, OpKind, PROC_NULL, Program, Source, Tag, operations};

use crate::cancellation::Cancellation;

/// One end of a message, from the view of its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It sends.
    To {
        /// To this member of the communicator.
        peer: u32,
        /// With this tag.
        tag: u32,
        /// So much payload.
        bytes: u64,
    },
    /// It receives.
    From {
        /// From this member of the communicator, or any.
        peer: Source,
        /// What has this tag, or any.
        tag: Tag,
    },
}

/// Calls `visit` with every message end at `rank`, and with all other operations, in program order.
pub fn visit(
    program: &dyn Program,
    rank: u32,
    cancellation: &Cancellation,
    mut visit: impl FnMut(Result<(Comm, End), &OpKind>),
) {
    let mut persistent: BTreeMap<u32, (Comm, End)> = BTreeMap::new();
    for op in operations(program, rank) {
        if cancellation.is_requested() {
            return;
        }
        match op.kind {
            OpKind::Send { to, tag, bytes, comm }
            | OpKind::Ssend { to, tag, bytes, comm }
            | OpKind::Isend {
                to, tag, bytes, comm, ..
            }
            | OpKind::Issend {
                to, tag, bytes, comm, ..
            } => visit(Ok((comm, End::To { peer: to, tag, bytes }))),
            OpKind::Recv { from, tag, comm, .. } | OpKind::Irecv { from, tag, comm, .. } => {
                visit(Ok((comm, End::From { peer: from, tag })));
            }
            OpKind::Sendrecv {
                to,
                send_tag,
                send_bytes,
                from,
                recv_tag,
                comm,
                ..
            } => {
                let send = End::To {
                    peer: to,
                    tag: send_tag,
                    bytes: send_bytes,
                };
                visit(Ok((comm, send)));
                let receive = End::From {
                    peer: from,
                    tag: recv_tag,
                };
                visit(Ok((comm, receive)));
            }
            OpKind::SendInit {
                to,
                tag,
                bytes,
                comm,
                request,
            } => {
                persistent.insert(request.0, (comm, End::To { peer: to, tag, bytes }));
            }
            OpKind::RecvInit {
                from,
                tag,
                comm,
                request,
                ..
            } => {
                persistent.insert(request.0, (comm, End::From { peer: from, tag }));
            }
            OpKind::Start { request } => {
                if let Some(&end) = persistent.get(&request.0) {
                    visit(Ok(end));
                }
            }
            OpKind::StartAll { first, count } => {
                for (_, &end) in persistent.range(first.0..first.0.saturating_add(count)) {
                    visit(Ok(end));
                }
            }
            OpKind::RequestFree { request } => {
                persistent.remove(&request.0);
            }
            ref other => visit(Err(other)),
        }
    }
}

/// Messages from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Flow {
    /// Sender, a rank of the job.
    pub source: u32,
    /// Receiver.
    pub destination: u32,
    /// Messages.
    pub messages: u64,
    /// Payload in bytes.
    pub bytes: u64,
}

/// Messages and bytes per pair of ranks, by source and destination; without collectives. A cancelled call returns a
/// part.
pub fn traffic_matrix(program: &dyn Program, cancellation: &Cancellation) -> Vec<Flow> {
    let mut flows = Vec::new();
    for source in 0..program.ranks() {
        let mut row: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        visit(program, source, cancellation, |end| {
            let Ok((comm, End::To { peer, bytes, .. })) = end else {
                return;
            };
            if peer == PROC_NULL {
                return;
            }
            let destination = program.group(source, comm).and_then(|group| group.rank(peer));
            if let Some(destination) = destination {
                let (messages, sum) = row.entry(destination).or_default();
                (*messages, *sum) = (*messages + 1, sum.saturating_add(bytes));
            }
        });
        flows.extend(row.into_iter().map(|(destination, (messages, bytes))| Flow {
            source,
            destination,
            messages,
            bytes,
        }));
    }
    flows
}
