//! Named devices. Each number has its source in the file, or a note that none is known.

use crate::{DeviceModel, read};

/// Names and files, in alphabetical order.
const PRESETS: [(&str, &str); 4] = [
    ("cori-bb", include_str!("../presets/cori-bb.toml")),
    ("datawarp-p3608", include_str!("../presets/datawarp-p3608.toml")),
    ("intel-d3-s4510", include_str!("../presets/intel-d3-s4510.toml")),
    (
        "seagate-st2000nx0253",
        include_str!("../presets/seagate-st2000nx0253.toml"),
    ),
];

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// The file of a preset, with its comments.
pub fn text(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// A preset.
///
/// # Panics
/// Never: tests read all of them.
pub fn device(name: &str) -> Option<DeviceModel> {
    text(name).map(|text| read(text).expect("presets can be read"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hdd, Nvme, Ssd};

    #[test]
    fn every_preset_is_a_device_with_a_source_for_each_key() {
        for name in names() {
            assert!(device(name).is_some(), "{name}");
            let mut sources = false;
            for line in text(name).unwrap().lines() {
                if line.contains(" = ") && !line.starts_with('#') {
                    assert!(sources, "{name}: no comment above {line}");
                }
                sources = line.starts_with('#') || (sources && !line.is_empty() && !line.starts_with('['));
            }
        }
        assert_eq!(device("floppy"), None);
    }

    #[test]
    fn the_defaults_of_the_models_are_the_presets_that_they_name() {
        assert_eq!(device("intel-d3-s4510"), Some(DeviceModel::Ssd(Ssd::default())));
        assert_eq!(device("seagate-st2000nx0253"), Some(DeviceModel::Hdd(Hdd::default())));
        assert_eq!(device("datawarp-p3608"), Some(DeviceModel::Nvme(Nvme::default())));
    }
}
