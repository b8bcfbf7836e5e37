//! One digest on every scheduler: what tests of a network without packets hold a run of storage beside messages to.

/// A job that writes and one whose ranks send, beside each other, on 24 nodes at least.
pub(crate) const JOBS: &str = "[storage]\nnodes = { per_group = 2 }\n[[jobs]]\nname = \"io\"\nranks = 12\nplacement = \"random\"\n\
    workload.checkpoint = { iterations = 2, total = \"36 MiB\", interval = \"20 us\" }\n\
    [[jobs]]\nname = \"halo\"\nranks = 12\nplacement = \"random\"\n\
    workload.stencil = { dims = [4, 3], message = \"20 KiB\", iterations = 5, compute = \"1 us\" }\n";

/// Holds the digests that `digest` says of a run with these overrides against each other: undivided, in parts, and on threads.
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
