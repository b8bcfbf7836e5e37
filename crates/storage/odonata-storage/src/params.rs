//! Parameters of a storage server, checked before anything runs.

use crate::settings::{Drain, Manager, Policy};
use odonata_device::{Choice, Device, DeviceModel};
use odonata_units::{Bandwidth, Bytes};
use std::fmt;

/// A device of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceParams {
    /// Its name.
    pub name: String,
    /// The model of its service times.
    pub model: DeviceModel,
    /// Its capacity.
    pub capacity: Bytes,
    /// Accesses handed to it at the same time; further ones wait in the server.
    pub queue_depth: u32,
}

/// Parameters of one storage server: the settings that all servers of a scenario share, or its own.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerParams {
    /// The devices behind the server, at least one.
    pub devices: Vec<DeviceParams>,
    /// The rules that choose a device for a request.
    pub rules: Choice,
    /// How it serves requests. Its memory is fixed at start-up: `memory / block` blocks. A piece shorter than a block takes a whole
    /// block.
    pub manager: Manager,
    /// The drain; `None`: written data stay. A server also drains below the threshold while a reservation waits for space.
    /// Otherwise a request larger than `capacity - threshold` could wait forever.
    pub drain: Option<Drain>,
    /// The policy towards the lower tier, to which the caller carries the requests of the server
    /// ([`Action::AskLowerTier`](crate::Action::AskLowerTier)); `None`: there is no lower tier. Needs an index, unless it is
    /// write-around.
    pub next: Option<Policy>,
    /// Its tier, counted from the tier that clients use.
    pub tier: u8,
    /// The seed of the run and the server's number on the machine, which name the random streams of its devices.
    pub random: (u64, u64),
}

impl ServerParams {
    /// Parameters with the default block and pipelining factor, one object per file, no drain, and one device that serves one
    /// access at a time. Capacity and memory are in bytes.
    pub fn new(model: DeviceModel, capacity: u64, memory: u64) -> Self {
        ServerParams {
            devices: vec![DeviceParams {
                name: model.kind().to_owned(),
                model,
                capacity: Bytes(capacity),
                queue_depth: 1,
            }],
            rules: Choice::default(),
            manager: Manager {
                memory: Bytes(memory),
                ..Manager::default()
            },
            drain: None,
            next: None,
            tier: 0,
            random: (0, 0),
        }
    }

    /// Blocks in the memory pool.
    pub(crate) fn blocks(&self) -> u64 {
        self.manager.memory.0 / self.manager.block.0
    }

    /// Space on all devices, in bytes.
    pub fn capacity(&self) -> u64 {
        self.devices.iter().map(|device| device.capacity.0).sum()
    }

    /// Size of a block in bytes: the unit of transfers and device accesses.
    pub(crate) fn block(&self) -> u64 {
        self.manager.block.0
    }

    /// Checks that a server can work with these parameters.
    ///
    /// # Errors
    /// The first parameter with which it cannot.
    pub fn check(&self) -> Result<(), ParamsError> {
        let usable = |rate: Bandwidth| rate.0.is_finite() && rate.0 > 0.0;
        let (memory, block) = (self.manager.memory.0, self.manager.block.0);
        if block == 0 {
            return Err(ParamsError::NoBlock);
        }
        if memory < block {
            return Err(ParamsError::MemoryBelowBlock { memory, block });
        }
        if self.manager.pieces_in_flight == 0 {
            return Err(ParamsError::NoPieceInFlight);
        }
        if self.devices.is_empty() {
            return Err(ParamsError::NoDevice);
        }
        for (device, params) in self.devices.iter().enumerate() {
            if let Err(problem) = params.model.check() {
                let problem = problem.to_string();
                return Err(ParamsError::Device { device, problem });
            }
            if params.queue_depth == 0 {
                return Err(ParamsError::NoAccess { device });
            }
        }
        if let Some(drain) = self.drain {
            if !usable(drain.bandwidth) {
                return Err(ParamsError::DrainBandwidth);
            }
            if drain.threshold.0 > self.capacity() {
                return Err(ParamsError::ThresholdAboveCapacity {
                    threshold: drain.threshold.0,
                    capacity: self.capacity(),
                });
            }
        }
        Ok(())
    }
}

/// The reason why a server cannot work with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamsError {
    /// The block has no bytes.
    NoBlock,
    /// The memory pool does not hold a single block; both in bytes.
    MemoryBelowBlock {
        /// Size of the pool.
        memory: u64,
        /// Size of a block.
        block: u64,
    },
    /// No piece may be in flight.
    NoPieceInFlight,
    /// It has no device.
    NoDevice,
    /// A parameter of a device is out of its range.
    Device {
        /// Which, counted from 0.
        device: usize,
        /// What is wrong.
        problem: String,
    },
    /// A device is handed no access at a time.
    NoAccess {
        /// Which, counted from 0.
        device: usize,
    },
    /// The bandwidth of the drain is not a positive, finite number.
    DrainBandwidth,
    /// The drain would never begin; both in bytes.
    ThresholdAboveCapacity {
        /// Where draining begins.
        threshold: u64,
        /// Space on the device.
        capacity: u64,
    },
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamsError::NoBlock => write!(f, "block must be at least 1 B"),
            ParamsError::MemoryBelowBlock { memory, block } => {
                write!(f, "memory of {memory} B does not hold one block of {block} B")
            }
            ParamsError::NoPieceInFlight => write!(f, "pieces_in_flight must be at least 1"),
            ParamsError::NoDevice => write!(f, "a server has at least one device"),
            ParamsError::Device { device, problem } => write!(f, "device {device}: {problem}"),
            ParamsError::NoAccess { device } => write!(f, "device {device}: queue_depth must be at least 1"),
            ParamsError::DrainBandwidth => write!(f, "drain bandwidth must be positive and finite"),
            ParamsError::ThresholdAboveCapacity { threshold, capacity } => {
                write!(
                    f,
                    "drain threshold of {threshold} B exceeds the capacity of {capacity} B"
                )
            }
        }
    }
}

impl std::error::Error for ParamsError {}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_device::Rate;
    use odonata_units::Time;

    fn params() -> ServerParams {
        let rate = Bandwidth(1e9);
        let device = Rate {
            read: rate,
            write: rate,
            overhead: Time::ZERO,
            seek: Time::ZERO,
            seek_window: Bytes::ZERO,
        };
        ServerParams::new(DeviceModel::Rate(device), 10_000_000, 4_000_000)
    }

    #[test]
    fn parameters_that_no_server_can_work_with_are_named() {
        assert_eq!(params().check(), Ok(()));
        let broken = |change: &dyn Fn(&mut ServerParams)| {
            let mut params = params();
            change(&mut params);
            params.check().unwrap_err()
        };
        assert_eq!(broken(&|p| p.manager.block = Bytes(0)), ParamsError::NoBlock);
        assert_eq!(
            broken(&|p| p.manager.memory = Bytes(999_999)),
            ParamsError::MemoryBelowBlock {
                memory: 999_999,
                block: 1_000_000
            }
        );
        assert_eq!(
            broken(&|p| p.manager.pieces_in_flight = 0),
            ParamsError::NoPieceInFlight
        );
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let wrong = broken(&|p| {
                p.devices[0].model = DeviceModel::Rate(Rate {
                    write: Bandwidth(rate),
                    ..Rate::default()
                });
            });
            assert!(wrong.to_string().starts_with("device 0: rate.write: "), "{wrong}");
        }
        assert_eq!(broken(&|p| p.devices.clear()), ParamsError::NoDevice);
        assert_eq!(
            broken(&|p| p.devices[0].queue_depth = 0),
            ParamsError::NoAccess { device: 0 }
        );
        let drain = |rate, threshold| Drain {
            bandwidth: Bandwidth(rate),
            latency: Time::ZERO,
            threshold: Bytes(threshold),
        };
        assert_eq!(broken(&|p| p.drain = Some(drain(0.0, 0))), ParamsError::DrainBandwidth);
        assert_eq!(
            broken(&|p| p.drain = Some(drain(1e9, 10_000_001))),
            ParamsError::ThresholdAboveCapacity {
                threshold: 10_000_001,
                capacity: 10_000_000
            }
        );
    }
}
