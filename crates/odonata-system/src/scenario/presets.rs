//! The presets that come with the program.

const PRESETS: [(&str, &str); 2] = [
    ("codes-compatible", include_str!("../../presets/codes-compatible.toml")),
    ("mfnetsim", include_str!("../../presets/mfnetsim.toml")),
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
