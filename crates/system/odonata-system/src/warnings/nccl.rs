//! Collectives of NCCL whose hosts are not those of the machine.

use odonata_workload::skeletons::Skeleton;

use super::Warning;
use crate::scenario::resolved::{Job, Kind, Resolved, Workload};

/// Warnings about the GPUs of a host that the collectives of a job assume: their rings and trees then leave hosts
/// elsewhere, and NCCL would choose otherwise.
pub(super) fn warnings(resolved: &Resolved) -> Vec<Warning> {
    let Kind::RailOptimized(cluster) = &resolved.machine.kind else {
        return Vec::new();
    };
    let of_machine = *cluster.gpus_per_host;
    let warning = |job: &Job| {
        let (table, assumed) = match &*job.workload {
            Workload::Skeleton(Skeleton::Nccl(nccl)) => ("nccl", nccl.gpus_per_host),
            Workload::Skeleton(Skeleton::Training(training)) => {
                ("training.nccl", training.nccl.as_ref()?.gpus_per_host)
            }
            _ => return None,
        };
        let on_a_host = |gpus: u32| gpus.min(*job.ranks);
        (job.ranks_per_node == 1 && on_a_host(assumed) != on_a_host(of_machine)).then(|| Warning {
            key: format!("jobs.{}.workload.{table}.gpus_per_host", job.entry),
            message: format!(
                "job {}: collectives for hosts of {assumed} GPUs, and hosts of the machine have {of_machine}",
                job.name
            ),
            expected: format!("gpus_per_host = {of_machine}"),
        })
    };
    resolved.jobs.iter().filter_map(warning).collect()
}
