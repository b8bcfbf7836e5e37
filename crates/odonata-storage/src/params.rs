//! Parameters of a storage server, checked before anything runs.

use crate::DeviceModel;
use odonata_units::{Bandwidth, Time};
use std::fmt;

/// How a server empties itself into the external file system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrainParams {
    /// Rate towards the external file system.
    pub bandwidth: Bandwidth,
    /// From a block's last byte to its acknowledgement. The next block is sent after it.
    pub latency: Time,
    /// Space in use, in bytes, above which the server drains. (It drains below it as well while a
    /// reservation waits for space: otherwise a request larger than `capacity - threshold` could wait
    /// for ever.)
    pub threshold: u64,
}

/// Parameters of one storage server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerParams {
    /// The device behind the server.
    pub device: DeviceModel,
    /// Space on the device, in bytes.
    pub capacity: u64,
    /// Memory for blocks in transit, in bytes, fixed at start-up: `memory / block` blocks. A piece
    /// that is shorter than a block takes a whole one.
    pub memory: u64,
    /// Size of a block, in bytes: what is pulled, pushed, written and read at once.
    pub block: u64,
    /// Pieces of one request that may be in flight together (the pipelining factor).
    pub pieces_in_flight: u32,
    /// How the server drains; `None`: what is written stays.
    pub drain: Option<DrainParams>,
    /// `true`: every file is an object of its own on the device, with the offsets of the file.
    /// `false`: every request accesses object 0 from offset 0, as in MFNetSim's published runs, where pieces
    /// of different clients can therefore continue each other without a seek.
    pub object_per_file: bool,
}

impl ServerParams {
    /// The block of MFNetSim's storage manager, in bytes.
    pub const DEFAULT_BLOCK: u64 = 1_000_000;
    /// The pipelining factor of MFNetSim's storage manager, in pieces.
    pub const DEFAULT_PIECES_IN_FLIGHT: u32 = 4;

    /// Parameters with the default block and pipelining factor, one object per file, no drain.
    pub const fn new(device: DeviceModel, capacity: u64, memory: u64) -> Self {
        ServerParams {
            device,
            capacity,
            memory,
            block: Self::DEFAULT_BLOCK,
            pieces_in_flight: Self::DEFAULT_PIECES_IN_FLIGHT,
            drain: None,
            object_per_file: true,
        }
    }

    /// Blocks in the memory pool.
    pub(crate) fn blocks(&self) -> u64 {
        self.memory / self.block
    }

    /// Whether a server can work with these parameters.
    ///
    /// # Errors
    /// The first parameter that makes it impossible.
    pub fn check(&self) -> Result<(), ParamsError> {
        let usable = |rate: Bandwidth| rate.0.is_finite() && rate.0 > 0.0;
        if self.block == 0 {
            return Err(ParamsError::NoBlock);
        }
        if self.memory < self.block {
            return Err(ParamsError::MemoryBelowBlock {
                memory: self.memory,
                block: self.block,
            });
        }
        if self.pieces_in_flight == 0 {
            return Err(ParamsError::NoPieceInFlight);
        }
        if !self.device.rates().into_iter().all(usable) {
            return Err(ParamsError::DeviceBandwidth);
        }
        if let Some(drain) = self.drain {
            if !usable(drain.bandwidth) {
                return Err(ParamsError::DrainBandwidth);
            }
            if drain.threshold > self.capacity {
                return Err(ParamsError::ThresholdAboveCapacity {
                    threshold: drain.threshold,
                    capacity: self.capacity,
                });
            }
        }
        Ok(())
    }
}

/// Why a server cannot work with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// A bandwidth of the device is not a positive, finite number.
    DeviceBandwidth,
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
            ParamsError::DeviceBandwidth => write!(f, "device bandwidths must be positive and finite"),
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
    use crate::RateDevice;

    fn params() -> ServerParams {
        let rate = Bandwidth(1e9);
        let device = RateDevice {
            read: rate,
            write: rate,
            overhead: Time::ZERO,
            seek: Time::ZERO,
            seek_window: 0,
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
        assert_eq!(broken(&|p| p.block = 0), ParamsError::NoBlock);
        assert_eq!(
            broken(&|p| p.memory = 999_999),
            ParamsError::MemoryBelowBlock {
                memory: 999_999,
                block: 1_000_000
            }
        );
        assert_eq!(broken(&|p| p.pieces_in_flight = 0), ParamsError::NoPieceInFlight);
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let DeviceModel::Rate(device) = params().device;
            let device = DeviceModel::Rate(RateDevice {
                write: Bandwidth(rate),
                ..device
            });
            assert_eq!(broken(&|p| p.device = device), ParamsError::DeviceBandwidth, "{rate}");
        }
        let drain = |rate, threshold| DrainParams {
            bandwidth: Bandwidth(rate),
            latency: Time::ZERO,
            threshold,
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
