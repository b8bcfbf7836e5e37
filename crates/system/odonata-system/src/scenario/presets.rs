//! The presets that come with Odonata.

const PRESETS: [(&str, &str); 24] = [
    ("codes-compatible", include_str!("../../presets/codes-compatible.toml")),
    ("mfnetsim", include_str!("../../presets/mfnetsim.toml")),
    ("theta", include_str!("../../presets/theta.toml")),
    ("edison", include_str!("../../presets/edison.toml")),
    ("cori-like", include_str!("../../presets/cori-like.toml")),
    (
        "cori-like-authors",
        include_str!("../../presets/cori-like-authors.toml"),
    ),
    ("trinity", include_str!("../../presets/trinity.toml")),
    ("bluegene-p", include_str!("../../presets/bluegene-p.toml")),
    ("bluegene-q", include_str!("../../presets/bluegene-q.toml")),
    ("booksim", include_str!("../../presets/booksim.toml")),
    ("frontier", include_str!("../../presets/frontier.toml")),
    ("frontier-like", include_str!("../../presets/frontier-like.toml")),
    (
        "dgx-h100-superpod-like",
        include_str!("../../presets/dgx-h100-superpod-like.toml"),
    ),
    (
        "dgx-h100-superpod",
        include_str!("../../presets/dgx-h100-superpod.toml"),
    ),
    ("dgx-gb200", include_str!("../../presets/dgx-gb200.toml")),
    ("lumi", include_str!("../../presets/lumi.toml")),
    ("leonardo", include_str!("../../presets/leonardo.toml")),
    ("marenostrum5", include_str!("../../presets/marenostrum5.toml")),
    ("fugaku", include_str!("../../presets/fugaku.toml")),
    ("perlmutter", include_str!("../../presets/perlmutter.toml")),
    ("aurora", include_str!("../../presets/aurora.toml")),
    ("alps", include_str!("../../presets/alps.toml")),
    ("cori", include_str!("../../presets/cori.toml")),
    ("theta-full", include_str!("../../presets/theta-full.toml")),
];

/// The sets of keys that `mpi.library` names.
const MPI_LIBRARIES: [(&str, &str); 4] = [
    ("openmpi-ucx", include_str!("../../presets/mpi/openmpi-ucx.toml")),
    ("cray-mpich-ofi", include_str!("../../presets/mpi/cray-mpich-ofi.toml")),
    ("mpich", include_str!("../../presets/mpi/mpich.toml")),
    ("fujitsu", include_str!("../../presets/mpi/fujitsu.toml")),
];

/// The names of all presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// The TOML text of a preset; of the set of keys of an MPI library, if `name` is `mpi-` and its name.
pub fn text(name: &str) -> Option<&'static str> {
    match name.strip_prefix("mpi-") {
        Some(library) => mpi_library(library),
        None => find(&PRESETS, name),
    }
}

/// The keys of the MPI library `name`, as TOML.
pub(super) fn mpi_library(name: &str) -> Option<&'static str> {
    find(&MPI_LIBRARIES, name)
}

fn find(texts: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    texts.iter().find(|(other, _)| *other == name).map(|(_, text)| *text)
}
