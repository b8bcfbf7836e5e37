//! One digest on every scheduler, for tests of networks without packets: a run of storage beside messages.

/// A job that writes and one whose ranks send, beside each other, on at least 24 nodes.
pub(crate) const JOBS: &str = "[storage]\nnodes = { per_group = 2 }\n[[jobs]]\nname = \"io\"\nranks = 12\nplacement = \"random\"\n\
    workload.checkpoint = { iterations = 2, total = \"36 MiB\", interval = \"20 us\" }\n\
    [[jobs]]\nname = \"halo\"\nranks = 12\nplacement = \"random\"\n\
    workload.stencil = { dims = [4, 3], message = \"20 KiB\", iterations = 5, compute = \"1 us\" }\n";

/// Asserts that `digest` is the same for runs undivided, in parts, and on threads, as given by these overrides.
pub(crate) fn assert_one_digest(context: &str, digest: impl Fn(&[&str]) -> String) {
    let digests = [
        &["run.scheduler=\"sequential\"", "run.parts=1"][..],
        &["run.scheduler=\"sequential\"", "run.parts=4"][..],
        &["run.scheduler=\"conservative\"", "run.threads=2", "run.parts=4"][..],
        &["run.scheduler=\"optimistic\"", "run.threads=2", "run.parts=3"][..],
    ]
    .map(digest);
    assert!(
        digests.iter().all(|digest| *digest == digests[0]),
        "{context}: {digests:?}"
    );
}

/// 32 nodes; links of terminals carry 10 bytes per ns, so that they are the slowest.
pub(crate) fn slow_terminals(network: &str, jobs: &str) -> String {
    format!(
        "[machine.dragonfly]\ngroups = 4\nrouters_per_group = 4\nnodes_per_router = 2\nglobal_ports_per_router = 1\n\
         [network]\npacket = \"4 KiB\"\nflit = \"64 B\"\nrouter_delay = \"90 ns\"\n\
         routing = {{ algorithm = \"minimal\" }}\n\
         links.terminal = {{ bandwidth = \"10 GB/s\", latency = \"20 ns\" }}\n\
         links.local = {{ bandwidth = \"20 GB/s\", latency = \"30 ns\" }}\n\
         links.global = {{ bandwidth = \"20 GB/s\", latency = \"300 ns\" }}\n{network}\n\
         [nic]\nmessage_delay = \"0 ns\"\n\
         [mpi]\neager_threshold = \"none\"\n{jobs}"
    )
}
