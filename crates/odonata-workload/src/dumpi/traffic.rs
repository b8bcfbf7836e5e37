//! Who sends to whom: the point-to-point messages of a trace, or of any program.

use std::collections::{BTreeMap, HashMap};

use crate::{Comm, OpKind, PROC_NULL, Program, Source, Tag, operations};

/// One end of a message, as its rank sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It sends to this member of the communicator.
    To { peer: u32, tag: u32, bytes: u64 },
    /// It receives.
    From { peer: Source, tag: Tag },
}

/// Calls `visit` with every end of a message at `rank`, in the order of the program, and then with the other operations.
pub(super) fn visit(program: &dyn Program, rank: u32, mut visit: impl FnMut(Result<(Comm, End), &OpKind>)) {
    let mut persistent: HashMap<u32, (Comm, End)> = HashMap::new();
    for op in operations(program, rank) {
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
                for number in first.0..first.0.saturating_add(count) {
                    if let Some(&end) = persistent.get(&number) {
                        visit(Ok(end));
                    }
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
    /// Their payload in bytes.
    pub bytes: u64,
}

/// Who sends how much to whom, in the order of sources and destinations; without the messages of collectives.
pub fn traffic_matrix(program: &dyn Program) -> Vec<Flow> {
    let mut flows = Vec::new();
    for source in 0..program.ranks() {
        let mut row: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        visit(program, source, |end| {
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
