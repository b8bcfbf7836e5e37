//! Storage nodes of rail-optimized clusters.

use crate::common::{completed as run, load};
use crate::everywhere::assert_one_digest;

/// Two hosts of two GPUs in each of `pods` pods. NICs and storage ports carry 10 GB/s, everything else 100 times as much.
fn text(pods: u32, storage: &str, job: &str) -> String {
    format!(
        "[machine.rail-optimized]\npods = {pods}\nhosts_per_pod = 2\ngpus_per_host = 2\nstorage = {storage}\n\
         [network.links]\nlocal.bandwidth = \"1 TB/s\"\nterminal.bandwidth = \"1 TB/s\"\nglobal.bandwidth = \"1 TB/s\"\n\
         column.bandwidth = \"10 GB/s\"\n[storage]\ndevice.rate = {{ write = \"1 TB/s\", read = \"1 TB/s\", overhead = \"0 s\" }}\n\
         [[jobs]]\nname = \"save\"\n{job}\n"
    )
}

const SAVE: &str = "ranks = 2\nworkload.checkpoint = { iterations = 1, total = \"64 MB\", interval = \"1 us\" }";

fn elapsed_s(text: &str) -> f64 {
    run(text, &[]).rows().jobs[0].elapsed_s
}

/// The GPUs of a host share its storage ports: n bytes take n / (ports x rate). Converged, each has its own NIC.
#[test]
fn a_host_writes_at_the_rate_of_its_storage_ports() {
    let alone = 64e6 / 10e9;
    for (storage, ports) in [
        ("{ nodes = 2, ports = 1 }", 1.0),
        ("{ nodes = 2, ports = 2 }", 2.0),
        ("{ nodes = 2, fabric = \"converged\" }", 2.0),
    ] {
        let found = elapsed_s(&text(1, storage, SAVE));
        let expected = alone / ports;
        assert!(
            (found / expected - 1.0).abs() < 0.05,
            "{storage}: {found} s; expected {expected} s"
        );
    }
}

/// Servers are on the storage nodes, after the GPUs, where no job runs, wherever jobs are placed.
#[test]
fn storage_nodes_serve_and_run_no_jobs() {
    let job = "ranks = 8\nplacement = \"random\"\nworkload.checkpoint = { iterations = 1, total = \"8 MB\" }";
    let scenario = load(&text(2, "{ nodes = 3 }", job), &[]).unwrap();
    assert_eq!(scenario.placement.servers, [8, 9, 10]);
    let mut nodes = scenario.placement.jobs[0].nodes.clone();
    nodes.sort_unstable();
    assert_eq!(nodes, [0, 1, 2, 3, 4, 5, 6, 7]);
    let error = load(&text(2, "{ nodes = 3 }", &job.replace("= 8\n", "= 9\n")), &[])
        .unwrap_err()
        .to_string();
    assert!(error.contains("at most 8"), "{error}");
    let named = format!(
        "{}storage.nodes.list = [0]\n",
        text(2, "{ nodes = 3 }", &job.replace("= 8\n", "= 7\n"))
    );
    let named = named
        .replace("storage.nodes.list = [0]\n", "")
        .replace("[storage]\n", "[storage]\nnodes.list = [0]\n");
    assert_eq!(load(&named, &[]).unwrap().placement.servers, [0]);
}

/// A network of its own leaves the leaves and spines of the GPUs without I/O; converged, every byte passes them. Each
/// byte of a write passes the NIC of its server.
#[test]
fn the_fabric_of_gpus_carries_io_only_if_it_is_converged() {
    let job = "ranks = 8\nworkload.checkpoint = { iterations = 1, total = \"8 MB\" }";
    let bytes = |storage: &str| {
        let results = run(&text(2, storage, job), &[]);
        let rows = results.rows();
        // Two pods of 2 x 3 routers in hosts and 2 leaves, then two spines, then the network of the storage nodes.
        let of = |first: u64, last: u64| {
            let into = rows.links.iter().filter(|link| link.target_kind == "router");
            into.filter(|link| (first..last).contains(&link.target))
                .map(|link| link.bytes)
                .sum::<u64>()
        };
        (of(16, 18), of(18, 1000))
    };
    let (spines, storage) = bytes("{ nodes = 3 }");
    assert_eq!(spines, 0);
    assert!(storage > 4 * 8_000_000, "{storage}");
    let (spines, _) = bytes("{ nodes = 3, fabric = \"converged\" }");
    assert!(spines >= 8_000_000, "{spines}");
}

#[test]
fn storage_nodes_have_one_digest_on_every_scheduler() {
    for storage in ["{ nodes = 3 }", "{ nodes = 3, fabric = \"converged\" }"] {
        let job = "ranks = 8\nplacement = \"random\"\nworkload.checkpoint = { iterations = 2, total = \"4 MB\", interval = \"20 us\" }";
        let text = text(2, storage, job);
        assert_one_digest(storage, |overrides| run(&text, overrides).digest().to_owned());
    }
}
