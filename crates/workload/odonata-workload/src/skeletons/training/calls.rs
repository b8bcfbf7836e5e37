//! Collectives of a training by NCCL: a call is the operations of the skeleton [`Nccl`] among the members of a communicator.
//!
//! Channels are streams of the rank, and joins on stream 0 end the call. Reductions of gradients beside the last backward pass
//! have streams of their own, in which they follow each other; the model waits for the last one. A report before and one after each call state
//! its time, because waits of several streams overlap.

use odonata_units::{Bytes, Problem, Time};

use super::{Collective, Training};
use crate::skeletons::{Nccl, NcclAlgorithm, NcclCollective, NcclParams, Parameters};
use crate::{After, Comm, Op, OpId, OpKind, Parallelism};

/// Index of the report that begins a call, and of the one that ends it; its number is that of the parallelism.
pub const BEGIN: u32 = 0;
/// See [`BEGIN`].
pub const END: u32 = 1;

/// Number of the reports of rank 0 at the begin and the end of a restart.
pub const RESTART: u32 = 16;

/// The report at the begin or the end of a call for `parallelism`.
pub(super) fn report(parallelism: Parallelism, index: u32) -> OpKind {
    report_numbered(parallelism as u32, index)
}

/// The report at the begin or the end of what number `report` stands for.
pub(super) fn report_numbered(report: u32, index: u32) -> OpKind {
    OpKind::Report {
        report,
        index,
        value: 0.0,
    }
}

/// Operation `op` of a call beside the passes, which has the streams from `first` on. The first one comes after all operations
/// before it.
pub(super) fn beside(op: Op, first: u16, is_first: bool) -> Op {
    let after = match op.id.0.checked_sub(1) {
        Some(before) if is_first => After::ops(&[OpId(before)]),
        _ => op.after,
    };
    Op {
        stream: op.stream + first,
        after,
        ..op
    }
}

/// Operation number `op`, step `step` of the wait for all calls beside the passes, from 1: the last joins of these calls
/// precede it in stream `first`. `None` after the last step.
pub(super) fn join(op: u32, first: u16, step: u32) -> Option<Op> {
    let of = |stream: u16, after: After, kind: OpKind| Op {
        id: OpId(op),
        stream,
        after,
        kind,
    };
    let nothing = OpKind::Compute { duration: Time::ZERO };
    Some(match step {
        1 => of(0, After::NONE, report(Parallelism::Data, BEGIN)),
        2 => of(first, After::NONE, nothing),
        3 => of(0, After::ops(&[OpId(op - 1)]), nothing),
        4 => of(0, After::NONE, report(Parallelism::Data, END)),
        _ => return None,
    })
}

/// The collectives that NCCL performs, each with its program.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls(Vec<(Collective, Nccl)>);

impl Calls {
    /// The program of `collective`, if NCCL performs it.
    pub(super) fn of(&self, collective: &Collective) -> Option<&Nccl> {
        self.0
            .iter()
            .find(|(other, _)| other == collective)
            .map(|(_, nccl)| nccl)
    }

    /// Streams of a rank in a call, which begin with that of the model.
    pub(super) fn streams(&self) -> u16 {
        self.iter().map(Nccl::streams).max().unwrap_or(1)
    }

    /// The programs.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Nccl> {
        self.0.iter().map(|(_, nccl)| nccl)
    }

    /// The calls of `training` by the settings `nccl` of key `at`.
    pub(super) fn new(training: &Training, nccl: &NcclParams, at: &str) -> Result<Calls, Problem> {
        let mut calls = Calls::default();
        for collective in training.collectives() {
            if calls.of(&collective).is_some() {
                continue;
            }
            let comm = collective.comm();
            let members = training.layout.members(comm);
            let (kind, bytes) = match collective {
                Collective::Allreduce { bytes, .. } => (NcclCollective::AllReduce, bytes),
                Collective::ReduceScatterBlock { bytes, .. } => {
                    (NcclCollective::ReduceScatter, bytes.saturating_mul(members.into()))
                }
                Collective::Allgather { bytes, .. } => {
                    (NcclCollective::AllGather, bytes.saturating_mul(members.into()))
                }
                _ => continue,
            };
            let mut params = NcclParams {
                collective: kind,
                bytes: Bytes(bytes).into(),
                gpus_per_host: training.members_per_host(comm, nccl.gpus_per_host),
                ..nccl.clone()
            };
            // PAT is that of the others, the rest are those of all-reduces.
            let is_of_all_reduces = nccl.algorithm != NcclAlgorithm::Pat;
            if nccl.algorithm != NcclAlgorithm::Auto && is_of_all_reduces != (kind == NcclCollective::AllReduce) {
                params.algorithm = NcclAlgorithm::Ring;
            }
            params.resolve(at, members)?;
            let call = Nccl::new(members, &params)
                .ok()
                .filter(|call| call.positions() < u64::from(u32::MAX));
            let Some(call) = call else {
                let problem = format!("too many steps of {bytes} B on {members} ranks");
                return Err(Problem::new(format!("{at}.chunk"), problem, "larger chunks"));
            };
            calls.0.push((collective, call));
        }
        let streams = 2 * calls.streams();
        if training.params.overlap_gradients && streams > Op::PROCESSORS {
            let problem = format!("{streams} streams of a rank");
            let expected = format!("fewer channels, so that there are at most {}", Op::PROCESSORS);
            return Err(Problem::new(format!("{at}.channels"), problem, expected));
        }
        Ok(calls)
    }
}

impl Training {
    /// Members of `comm` on a host; one if hosts have unequal parts.
    fn members_per_host(&self, comm: Comm, gpus: u32) -> u32 {
        self.layout.members_per_host(comm, gpus).unwrap_or(1)
    }
}
