//! The interface of devices, and the models by name.

use odonata_engine::Stream;
use odonata_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Access, Hdd, HddState, Nvme, NvmeState, Problem, Rate, RateState, Ssd, SsdState};

/// The service interval of an access, without the wait for earlier accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Start of service: its end minus the time of the access on an idle device, but not before the access was started.
    pub begin: Time,
    /// When it ends.
    pub finish: Time,
}

impl Service {
    /// The service of an access started at `now` that takes `alone` on an idle device and ends at `finish`.
    pub(crate) fn ending(now: Time, alone: Time, finish: Time) -> Service {
        Service {
            begin: finish.saturating_sub(alone).max(now).min(finish),
            finish,
        }
    }
}

/// A storage device with an internal queue.
///
/// Accesses are started in order of time. The answer is final: later accesses do not change it.
///
/// ```
/// use odonata_device::{Access, Device, Ssd, SsdState};
/// use odonata_engine::{Stream, random::Purpose};
/// use odonata_units::{Bytes, Time};
/// let ssd = Ssd::default();
/// let mut state = SsdState::default();
/// let mut random = Stream::new(1, 0, Purpose::Device);
/// let finish = ssd.start(&mut state, Time::ZERO, Access::read(0, 4_096), &mut random);
/// assert_eq!(finish, ssd.page_read);
/// ```
pub trait Device {
    /// The state between accesses: a journaled cell, saved whole on change. The default is a fresh device.
    type State: Copy + Default + Serialize + DeserializeOwned;

    /// Starts `access` at `now` and returns its service, which ends later than `now`. A write ends when the device
    /// acknowledges it: with a volatile cache, the data may not be on the medium yet. `random` is the device's own
    /// stream.
    fn serve(&self, state: &mut Self::State, now: Time, access: Access, random: &mut Stream) -> Service;

    /// Starts `access` at `now` and returns its end.
    fn start(&self, state: &mut Self::State, now: Time, access: Access, random: &mut Stream) -> Time {
        self.serve(state, now, access, random).finish
    }

    /// Writes out a volatile cache and returns when all written data is on the medium, `now` at the earliest.
    fn flush(&self, state: &mut Self::State, now: Time, random: &mut Stream) -> Time;

    /// Checks the parameters; the error names the invalid key.
    fn check(&self) -> Result<(), Problem>;
}

/// A device: one of the models, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceModel {
    /// Rates, overhead and seek.
    Rate(Rate),
    /// Flash: pages over channels and ways.
    Ssd(Ssd),
    /// Flash behind a fast link: latencies, lanes, rates.
    Nvme(Nvme),
    /// A hard disk: zones, seeks, rotation, caches.
    Hdd(Hdd),
}

impl DeviceModel {
    /// Its name in files.
    pub fn kind(&self) -> &'static str {
        match self {
            DeviceModel::Rate(_) => "rate",
            DeviceModel::Ssd(_) => "ssd",
            DeviceModel::Nvme(_) => "nvme",
            DeviceModel::Hdd(_) => "hdd",
        }
    }

    /// Estimate of the time per access in a sequence of accesses of `bytes`.
    pub fn about(&self, write: bool, bytes: u64) -> Time {
        match self {
            DeviceModel::Rate(device) => device.overhead + device.rate(write).time_for(Bytes(bytes)),
            DeviceModel::Ssd(device) => device.about(write, bytes),
            DeviceModel::Nvme(device) => device.about(write, bytes),
            DeviceModel::Hdd(device) => device.outer_rate.time_for(Bytes(bytes)),
        }
    }
}

/// The state of a device of any model.
///
/// It has the size of the largest model's state. Callers that know the model store its own state type instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeviceState {
    /// A fresh device.
    #[default]
    Untouched,
    /// Of [`Rate`].
    Rate(RateState),
    /// Of [`Ssd`].
    Ssd(SsdState),
    /// Of [`Nvme`].
    Nvme(NvmeState),
    /// Of [`Hdd`].
    Hdd(HddState),
}

/// Calls a method of the model with its state, created on first use.
macro_rules! of_the_model {
    ($self:ident, $state:ident, |$device:ident, $own:ident| $call:expr) => {
        of_the_model!(@ $self, $state, $device, $own, $call, Rate Ssd Nvme Hdd)
    };
    (@ $self:ident, $state:ident, $device:ident, $own:ident, $call:expr, $($model:ident)+) => {
        match $self {
            $(DeviceModel::$model($device) => {
                if !matches!($state, DeviceState::$model(_)) {
                    *$state = DeviceState::$model(Default::default());
                }
                match $state {
                    DeviceState::$model($own) => $call,
                    _ => unreachable!("it has just been made"),
                }
            })+
        }
    };
}

impl Device for DeviceModel {
    type State = DeviceState;

    fn serve(&self, state: &mut DeviceState, now: Time, access: Access, random: &mut Stream) -> Service {
        of_the_model!(self, state, |device, own| device.serve(own, now, access, random))
    }

    fn flush(&self, state: &mut DeviceState, now: Time, random: &mut Stream) -> Time {
        of_the_model!(self, state, |device, own| device.flush(own, now, random))
    }

    fn check(&self) -> Result<(), Problem> {
        let checked = match self {
            DeviceModel::Rate(device) => device.check(),
            DeviceModel::Ssd(device) => device.check(),
            DeviceModel::Nvme(device) => device.check(),
            DeviceModel::Hdd(device) => device.check(),
        };
        checked.map_err(|problem| problem.within(self.kind()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A speculative scheduler saves the whole cell at every access.
    #[test]
    fn states_are_small() {
        let sizes = [
            size_of::<RateState>(),
            size_of::<NvmeState>(),
            size_of::<SsdState>(),
            size_of::<HddState>(),
        ];
        assert_eq!(sizes, [32, 528, 536, 376]);
    }
}
