//! Suggestions for unknown names: names used by other simulators, and similar names.

use odonata_workload::Algorithm;

use super::error::nearest;

/// The suggestion for `name` among `candidates`, as text.
pub(super) fn alternative(name: &str, candidates: &[&str]) -> Option<String> {
    let found = moved(name, candidates);
    found
        .or_else(|| is_workload(candidates).then(|| workload(name, candidates)).flatten())
        .or_else(|| nearest(name, candidates.iter().copied()))
        .or_else(|| is_workload(candidates).then(|| ANYTHING.into()))
        .or_else(|| is_job(candidates).then(|| BELOW_WORKLOAD.into()))
}

/// The suggestion for an unknown workload.
const ANYTHING: &str =
    "any other behavior is a program of your own, such as python = \"FILE.py:FUNCTION\" in place of workload";

/// The suggestion for an unknown key of a job, which may be a workload.
const BELOW_WORKLOAD: &str = "a workload is a table below the key workload, such as [jobs.workload.stencil]";

/// Whether these are the keys of a job.
fn is_job(candidates: &[&str]) -> bool {
    candidates.contains(&"workload") && candidates.contains(&"ranks")
}

/// Whether these are the names of workloads.
fn is_workload(candidates: &[&str]) -> bool {
    candidates.contains(&"milc") && candidates.contains(&"uniform")
}

/// Keys and values with another place or name here: foreign names, an existing name that identifies the context, and
/// the suggestion.
const ALTERNATIVES: [(&[&str], &str, &str); 11] = [
    (
        &["arbitration"],
        "vc_allocation",
        "use network.arbitration, which all router models support",
    ),
    (
        &["failed_links", "failed_cables", "broken_links"],
        "router_delay",
        "list failed cables in machine.failed_links",
    ),
    (
        &["dor", "xy", "dim_order", "dimension_order"],
        "dimension-order",
        "it is called \"dimension-order\"",
    ),
    (
        &["servers", "server", "count"],
        "assignment",
        "storage servers are nodes, for example nodes = { per_group = 1 }",
    ),
    (
        &["size", "message", "message_size", "count"],
        "bytes",
        "did you mean \"bytes\"?",
    ),
    (
        &["command", "command_line", "args", "arguments"],
        "transferSize",
        "a command line stands in place of the table: ior = \"-w -t 1m -b 4m\"",
    ),
    (
        &["duration", "end", "length", "run_time", "time"],
        "arrival",
        "a source ends by stop (a time), by messages (a number), or by jobs.until",
    ),
    (
        &["conceptual", "ncptl", "union"],
        "ignore_unknown_backend",
        "a coNCePTuaL program is a file: program = \"FILE.ncptl\"",
    ),
    (
        &["np", "nprocs", "ntasks", "processes", "procs", "size", "tasks"],
        "ranks_per_node",
        "did you mean \"ranks\"?",
    ),
    (
        &["hosts", "node_list", "nodelist", "nodes"],
        "ranks_per_node",
        "ranks is the number of ranks; placement = { nodes = [0, 1, 2] } lists the nodes",
    ),
    (
        &["capacity", "gbps", "rate", "speed"],
        "credit_delay",
        "did you mean \"bandwidth\"?",
    ),
];

/// The suggestion for a name with another place or name here.
fn moved(name: &str, candidates: &[&str]) -> Option<String> {
    let found = ALTERNATIVES
        .iter()
        .find(|(names, beside, _)| names.contains(&name) && candidates.contains(beside));
    found.map(|(_, _, words)| (*words).into())
}

/// Workload names of others, and the suggestion.
const OTHER_NAMES: [(&[&str], &str); 16] = [
    (
        &["all-to-all-collective", "closed-all-to-all", "a2a"],
        "the collective is \"alltoall\"; \"all-to-all\" is open-loop traffic",
    ),
    (&["bcast"], "it is called \"broadcast\""),
    (&["reduce-scatter-block"], "blocks are equal in \"reduce-scatter\""),
    (
        &["alltoallv", "alltoallw", "allgatherv", "gatherv", "scatterv"],
        "sizes that differ by rank need a program: python = \"FILE.py:FUNCTION\"",
    ),
    (
        &["sleep", "delay", "idle", "wait", "pause"],
        "computation alone is \"compute\"",
    ),
    (
        &[
            "latency",
            "osu-latency",
            "netpipe",
            "mpptest",
            "p2p",
            "point-to-point",
            "sendrecv",
        ],
        "messages there and back between two ranks are \"ping-pong\"",
    ),
    (
        &["bisection", "pairs", "halves"],
        "\"ping-pong\" with pairs = \"halves\" crosses the middle of the job",
    ),
    (
        &[
            "halo",
            "halo-exchange",
            "halo3d",
            "halo-3d",
            "jacobi",
            "jacobi3d",
            "nearest-neighbour",
            "nearest-neighbor",
        ],
        "a halo exchange is \"stencil\"; open-loop traffic to neighbors is \"neighbors\"",
    ),
    (
        &["random", "uniform-random", "ur", "background"],
        "uniform random traffic is \"uniform\"",
    ),
    (
        &["io", "write", "read"],
        "writes of all ranks are \"checkpoint\"; writes and reads are \"ior\"",
    ),
    (
        &["dnn", "ml", "llm", "transformer", "gpt"],
        "training of a transformer is \"training\", its collectives alone \"nccl\", its input \"data-loader\" or \
         \"cosmoflow\"",
    ),
    (
        &["dataloader", "training-loader", "dlio", "loader"],
        "training that reads samples ahead is \"data-loader\"",
    ),
    (
        &["daly", "restart", "failures", "resilience", "checkpoint-interval"],
        "checkpoints of a job that fails and restarts are \"checkpoint-restart\"",
    ),
    (&["mg", "boxlib"], "did you mean \"multigrid\"?"),
    (
        &["cr", "nek5000"],
        "the communication of Nek5000 is \"crystal-router\"; \"nekbone\" is its solver",
    ),
    (&["fb"], "did you mean \"fill-boundary\"?"),
];

/// The suggestion for the workload `name` among `candidates`.
fn workload(name: &str, candidates: &[&str]) -> Option<String> {
    if name.len() > 64 {
        return None;
    }
    let folded = name.to_lowercase().replace(['_', ' '], "-");
    let folded = folded.strip_prefix("mpi-").unwrap_or(&folded);
    if folded == "all-to-all" {
        let closed = "the collective, whose ranks wait for their messages, is \"alltoall\"";
        return Some(format!("\"all-to-all\" is open-loop traffic; {closed}"));
    }
    let other = OTHER_NAMES.iter().find(|(names, _)| names.contains(&folded));
    if let Some((_, words)) = other {
        return Some((*words).into());
    }
    // "allreduce-ring", "ring-allreduce".
    let plain = |text: &str| text.replace('-', "");
    for algorithm in Algorithm::ALL.map(Algorithm::name) {
        let collective = folded
            .strip_suffix(algorithm)
            .and_then(|rest| rest.strip_suffix('-'))
            .or_else(|| folded.strip_prefix(algorithm).and_then(|rest| rest.strip_prefix('-')));
        let Some(collective) = collective else { continue };
        let wanted = if plain(collective) == "bcast" {
            "broadcast".into()
        } else {
            plain(collective)
        };
        // Names with a hyphen belong to traffic, except reduce-scatter.
        let found = candidates
            .iter()
            .find(|candidate| plain(candidate) == wanted && **candidate != "all-to-all");
        if let Some(found) = found {
            return Some(format!("it is \"{found}\" with algorithm = \"{algorithm}\""));
        }
    }
    // "MPI_Allreduce", "Reduce_scatter".
    let found = candidates
        .iter()
        .find(|candidate| plain(candidate) == plain(folded) && **candidate != "all-to-all");
    found.map(|found| format!("did you mean \"{found}\"?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANDIDATES: [&str; 8] = [
        "milc",
        "uniform",
        "all-to-all",
        "alltoall",
        "allreduce",
        "reduce-scatter",
        "broadcast",
        "ping-pong",
    ];

    #[test]
    fn names_that_others_use_lead_to_ours() {
        let of = |name| alternative(name, &CANDIDATES).unwrap();
        assert!(of("all_to_all").contains("the collective, whose ranks wait for their messages, is \"alltoall\""));
        assert_eq!(of("allreduce_ring"), "it is \"allreduce\" with algorithm = \"ring\"");
        assert_eq!(
            of("segmented-ring-allreduce"),
            "it is \"allreduce\" with algorithm = \"segmented-ring\""
        );
        assert_eq!(
            of("bcast_binomial"),
            "it is \"broadcast\" with algorithm = \"binomial\""
        );
        assert_eq!(
            of("alltoall_pairwise"),
            "it is \"alltoall\" with algorithm = \"pairwise\""
        );
        assert_eq!(of("MPI_Allreduce"), "did you mean \"allreduce\"?");
        assert_eq!(of("MPI_Reduce_scatter"), "did you mean \"reduce-scatter\"?");
        assert_eq!(of("pingpong"), "did you mean \"ping-pong\"?");
        assert_eq!(of("allredcue"), "did you mean \"allreduce\"?");
        assert!(of("alltoallv").contains("python ="));
        assert!(of("lammps").contains("python ="));
    }

    #[test]
    fn keys_and_values_that_others_use_lead_to_ours() {
        let of = |name, candidates: &[&str]| alternative(name, candidates).unwrap();
        assert!(of("duration", &["load", "arrival", "stop"]).contains("ends by stop"));
        let job = [
            "ranks",
            "ranks_per_node",
            "workload",
            "program",
            "ignore_unknown_backend",
        ];
        assert!(of("conceptual", &job).contains("program = \"FILE.ncptl\""));
        assert_eq!(of("ntasks", &job), "did you mean \"ranks\"?");
        assert!(of("nodes", &job).contains("placement = { nodes = [0, 1, 2] }"));
        let link = ["bandwidth", "latency", "buffer", "credit_delay"];
        assert_eq!(of("speed", &link), "did you mean \"bandwidth\"?");
        assert_eq!(
            of("xy", &["minimal", "dimension-order"]),
            "it is called \"dimension-order\""
        );
        assert_eq!(of("size", &["algorithm", "bytes"]), "did you mean \"bytes\"?");
        assert!(of("failed_links", &["packet", "router_delay"]).contains("machine.failed_links"));
        assert!(of("command", &["api", "transferSize"]).contains("ior = \"-w"));
        assert_eq!(of("rank", &["ranks", "workload"]), "did you mean \"ranks\"?");
        assert!(of("all_to_all", &["ranks", "workload"]).contains("[jobs.workload.stencil]"));
        // None of the suggestions applies.
        assert_eq!(alternative("xy", &["minimal", "valiant"]), None);
    }

    #[test]
    fn other_keys_are_not_taken_for_workloads() {
        assert_eq!(alternative("latency", &["bandwidth", "radix"]), None);
        assert_eq!(
            alternative("radiks", &["bandwidth", "radix"]),
            Some("did you mean \"radix\"?".into())
        );
        assert_eq!(alternative(&"x".repeat(1_000_000), &CANDIDATES), Some(ANYTHING.into()));
    }
}
