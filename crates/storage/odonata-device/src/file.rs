//! A device as a TOML file with one table: its name is the model, its keys are the parameters.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::{Device, DeviceModel, Hdd, Nvme, Problem, Rate, Ssd};

/// The possible tables of a file, of which exactly one is given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rate: Option<Rate>,
    ssd: Option<Ssd>,
    nvme: Option<Nvme>,
    hdd: Option<Hdd>,
}

/// Reads a device and checks its parameters; missing keys have their defaults.
///
/// ```
/// use odonata_device::{DeviceModel, Ssd, read};
/// let device = read("[ssd]\nchannels = 4").unwrap();
/// assert_eq!(device, DeviceModel::Ssd(Ssd { channels: 4, ..Ssd::default() }));
/// let problem = read("[ssd]\nchannels = 65").unwrap_err();
/// assert_eq!(problem.to_string(), "ssd.channels: the value is out of range, found 65, expected 1 to 64");
/// ```
pub fn read(text: &str) -> Result<DeviceModel, Problem> {
    let line = |span: Option<std::ops::Range<usize>>| {
        let before = &text.as_bytes()[..span?.start.min(text.len())];
        u32::try_from(before.iter().filter(|byte| **byte == b'\n').count() + 1).ok()
    };
    let problem = |key: String, error: &toml::de::Error| Problem {
        line: line(error.span()),
        ..unreadable(key, error.message())
    };
    let document = toml::Deserializer::parse(text).map_err(|error| problem(String::new(), &error))?;
    let file: File =
        serde_path_to_error::deserialize(document).map_err(|error| problem(error.path().to_string(), error.inner()))?;
    let models = [
        file.rate.map(DeviceModel::Rate),
        file.ssd.map(DeviceModel::Ssd),
        file.nvme.map(DeviceModel::Nvme),
        file.hdd.map(DeviceModel::Hdd),
    ];
    let mut models = models.into_iter().flatten();
    match (models.next(), models.next()) {
        (Some(device), None) => device.check().map(|()| device),
        (found, _) => {
            let found = if found.is_some() { "several" } else { "none" };
            let problem = Problem::new("", found, "one table: rate, ssd, nvme or hdd");
            Err(problem.saying("a file is one device"))
        }
    }
}

/// Reads JSON; a problem names the key.
pub fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(text)).map_err(|error| {
        let message = error.inner().to_string();
        // A line number in generated JSON has no use.
        let message = message.split(" at line ").next().unwrap_or_default();
        unreadable(error.path().to_string(), message)
    })
}

/// The problem for a serde error at a key.
fn unreadable(key: String, message: &str) -> Problem {
    // The expectation of a quantity may end with a hint.
    let (message, hint) = match message.split_once("; ") {
        Some((message, hint)) => (message, Some(hint.to_owned())),
        None => (message, None),
    };
    let (message, expected) = message.split_once(", expected ").unwrap_or((message, ""));
    Problem {
        key: if key == "." { String::new() } else { key },
        message: message.into(),
        expected: expected.into(),
        hint,
        ..Problem::default()
    }
}
