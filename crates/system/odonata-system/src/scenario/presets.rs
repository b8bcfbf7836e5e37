//! The presets that come with Odonata.

const PRESETS: [(&str, &str); 12] = [
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
    ("frontier-like", include_str!("../../presets/frontier-like.toml")),
    (
        "dgx-h100-superpod-like",
        include_str!("../../presets/dgx-h100-superpod-like.toml"),
    ),
];

/// The names of all presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// The TOML text of a preset.
pub fn text(name: &str) -> Option<&'static str> {
    PRESETS
        .iter()
        .find(|(preset, _)| *preset == name)
        .map(|(_, text)| *text)
}
