//! Synthetic traces: record types and versions that real traces lack, and hostile files.

mod communicators;
mod hostile;
mod layouts;
mod meaning;
mod writer;

use odonata_workload::{OpKind, operations};

use super::trace::Trace;
use super::trailer::Version;
use writer::{Folder, V, Writer};

const NEW: Version = Version(13, 0, 0);
const INT: V = V::H(9);

fn ranks(count: usize) -> Vec<Writer> {
    vec![Writer::new(NEW); count]
}

fn open(ranks: &[Writer]) -> (Folder, Trace) {
    let folder = Folder::trace(ranks);
    let trace = Trace::open(&folder.0, 1.0).unwrap_or_else(|error| panic!("{error}"));
    (folder, trace)
}

/// Operations of a rank except computations.
fn ops(trace: &Trace, rank: u32) -> Vec<OpKind> {
    let all = operations(trace, rank).map(|op| op.kind);
    all.filter(|kind| !matches!(kind, OpKind::Compute { .. })).collect()
}
