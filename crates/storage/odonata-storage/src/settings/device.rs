//! The devices of a server: models with their parameters, or presets of real devices.

use odonata_device::{Choice, Device as _, DeviceModel, Hdd, Nvme, Rate, Rule, Rules, Ssd, presets};
use odonata_units::{Bytes, Filled, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::DeviceParams;

/// Upper bound on devices of a server.
pub const MOST_DEVICES: usize = 64;

/// Default space on a device: a burst buffer of Cori.
const SPACE: Bytes = Bytes(6_400_000_000_000);

/// Outstanding commands at a disk with native command queueing of SATA.
const COMMANDS: u32 = 32;

/// A device of a server: one of `rate`, `ssd`, `nvme` and `hdd` with its parameters, or the `preset` of a real one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Device {
    /// Name in rules and tables. Required if a server has several devices.
    pub name: Option<String>,
    /// A device with fixed rates. It is the default.
    pub rate: Option<Rate>,
    /// Flash: pages over channels and ways.
    pub ssd: Option<Ssd>,
    /// Flash behind a fast link: latencies, lanes, rates.
    pub nvme: Option<Nvme>,
    /// A hard disk: zones, seeks, rotation, caches.
    pub hdd: Option<Hdd>,
    /// Name of a preset, e.g. "intel-d3-s4510"; `odonata device show` lists them.
    pub preset: Option<String>,
    /// Space on the device. Default: 6.4 TB; for a hard disk, its capacity.
    pub capacity: Filled<Bytes>,
    /// Accesses that the server hands to the device at once, 1 to 65,535; more wait in the server. Default: 1 for `rate`, the
    /// device's own `queue_depth` for `nvme`, 32 for `ssd` and `hdd`.
    #[schemars(range(min = 1, max = 65535))]
    pub queue_depth: Filled<u32>,
}

/// Resolved: the model with all its keys.
impl Serialize for Device {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Resolved<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            name: &'a Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            preset: &'a Option<String>,
            model: DeviceModel,
            capacity: Filled<Bytes>,
            queue_depth: Filled<u32>,
        }
        Resolved {
            name: &self.name,
            preset: &self.preset,
            model: self.model(),
            capacity: self.capacity,
            queue_depth: self.queue_depth,
        }
        .serialize(serializer)
    }
}

impl Device {
    /// The models that are given, in the order of the keys.
    fn models(&self) -> impl Iterator<Item = DeviceModel> + '_ {
        let preset = self.preset.as_deref().and_then(presets::device);
        let given = [
            self.rate.map(DeviceModel::Rate),
            self.ssd.map(DeviceModel::Ssd),
            self.nvme.map(DeviceModel::Nvme),
            self.hdd.map(DeviceModel::Hdd),
            preset,
        ];
        given.into_iter().flatten()
    }

    /// The model with all parameters.
    pub fn model(&self) -> DeviceModel {
        self.models().next().unwrap_or(DeviceModel::Rate(Rate::default()))
    }

    /// Checks the keys of the device at `key` and fills in defaults.
    fn resolve(&mut self, key: &str) -> Result<(), Problem> {
        let at = |name: &str| format!("{key}.{name}");
        if let Some(name) = &self.preset
            && presets::text(name).is_none()
        {
            let names: Vec<_> = presets::names().collect();
            let problem = format!("no device is called {name:?}");
            return Err(Problem::new(
                at("preset"),
                problem,
                format!("one of {}", names.join(", ")),
            ));
        }
        if self.models().count() > 1 {
            let expected = "one of rate, ssd, nvme, hdd and preset";
            return Err(Problem::new(key, "a device of several models", expected));
        }
        let model = self.model();
        model.check().map_err(|found| {
            // Presets are valid: the wrong key is one of the scenario.
            Problem::new(at(&found.key), found.message, found.expected)
        })?;
        let capacity = *self.capacity.fill(match model {
            DeviceModel::Hdd(disk) => disk.capacity,
            _ => SPACE,
        });
        if let DeviceModel::Hdd(disk) = model
            && capacity > disk.capacity
        {
            let problem = format!("{capacity} of a disk of {}", disk.capacity);
            return Err(Problem::new(
                at("capacity"),
                problem,
                format!("at most {}", disk.capacity),
            ));
        }
        let depth = *self.queue_depth.fill(match model {
            DeviceModel::Rate(_) => 1,
            DeviceModel::Nvme(device) => device.queue_depth,
            DeviceModel::Ssd(_) | DeviceModel::Hdd(_) => COMMANDS,
        });
        odonata_units::within(at("queue_depth"), depth, 1, 65_535)?;
        Ok(())
    }

    /// The parameters of the device, from resolved settings.
    pub(super) fn params(&self) -> DeviceParams {
        let model = self.model();
        DeviceParams {
            name: self.name.clone().unwrap_or_else(|| model.kind().to_owned()),
            model,
            capacity: *self.capacity,
            queue_depth: *self.queue_depth,
        }
    }
}

/// Checks the devices of a server in `table` and the rules that assign requests to them, and fills in defaults. A server has `one`
/// device, or `several` in its place, if there are any.
///
/// # Errors
/// A key is out of its range, or the rules and the devices do not match.
pub(super) fn resolve(table: &str, one: &mut Device, several: &mut [Device], rules: &[Rule]) -> Result<(), Problem> {
    let devices = format!("{table}.devices");
    if several.is_empty() {
        if !rules.is_empty() {
            let problem = "rules for a server of one device";
            let expected = format!("{devices}, each with a name");
            return Err(Problem::new(format!("{table}.rules"), problem, expected));
        }
        return one.resolve(&format!("{table}.device"));
    }
    if *one != Device::default() {
        let problem = "device beside devices";
        return Err(Problem::new(format!("{table}.device"), problem, "one or the other"));
    }
    if several.len() > MOST_DEVICES {
        let problem = format!("{} devices of a server", several.len());
        return Err(Problem::new(devices, problem, format!("at most {MOST_DEVICES}")));
    }
    for number in 0..several.len() {
        let key = format!("{devices}.{number}");
        let Some(name) = several[number].name.clone() else {
            let problem = "a device without a name";
            return Err(Problem::new(key, problem, "a name, by which storage.rules knows it"));
        };
        odonata_units::check_name(&format!("{key}.name"), &name)?;
        if several[..number].iter().any(|other| other.name.as_ref() == Some(&name)) {
            let problem = format!("another device is called {name:?} too");
            return Err(Problem::new(format!("{key}.name"), problem, "a name of its own"));
        }
        several[number].resolve(&key)?;
    }
    if let Some(number) = rules.iter().position(|rule| rule.files.is_some()) {
        let problem = "files of a kind, which jobs do not say";
        let key = format!("{table}.rules.{number}.files");
        return Err(Problem::new(key, problem, "rules by size: below"));
    }
    choice(table, several, rules).map(|_| ())
}

/// The rules for requests at `devices`.
pub(super) fn choice(table: &str, devices: &[Device], rules: &[Rule]) -> Result<Choice, Problem> {
    let names: Vec<&str> = devices.iter().filter_map(|device| device.name.as_deref()).collect();
    if rules.is_empty() && devices.len() <= 1 {
        return Ok(Choice::default());
    }
    Rules(rules.to_vec()).resolve(&names).map_err(|found| {
        let key = match found.key.as_str() {
            "" => format!("{table}.rules"),
            key => format!("{table}.rules.{key}"),
        };
        Problem::new(key, found.message, found.expected)
    })
}
