//! Storage devices: how long one access takes.
//!
//! A device is a pure function of its parameters, its small [`DeviceState`] and the [`Access`]; queueing
//! belongs to the server in front of it. A further model is one file with a type that implements
//! [`Device`] and one variant of [`DeviceModel`]: an enum rather than a trait object, because the
//! parameters are then plain `Copy` data and the call is inlined.

use odonata_units::{Bandwidth, Bytes, Time};

/// One read or write of contiguous bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whether data goes to the device.
    pub write: bool,
    /// What is accessed: a file, as far as the device can tell files apart.
    pub object: u64,
    /// First byte within the object, in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

/// What a device remembers between accesses. Part of a journalled cell, therefore small and `Copy`;
/// a model that has to remember more adds its fields here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DeviceState {
    /// The object accessed last; initially 0.
    pub object: u64,
    /// The byte behind the last one accessed; initially 0.
    pub position: u64,
    /// Accesses so far that paid for a seek.
    pub seeks: u64,
}

/// A model of a storage device.
pub trait Device {
    /// How long `access` keeps the device busy, beginning in `state`; moves `state` on to the end of
    /// the access.
    fn service_time(&self, state: &mut DeviceState, access: Access) -> Time;
}

/// A device with a rate, a cost per access and a cost for leaving the sequential stream:
///
/// `t = overhead + bytes / bandwidth + (0 if sequential, else seek)`
///
/// An access is *sequential* when its object is the one accessed last and its offset lies in
/// `[position, position + seek_window]`. This is the device of MFNetSim's burst-buffer study (there:
/// 5,700 MiB/s, 20 us, 2.5 ms, 512 B).
///
/// ```
/// use odonata_storage::{Access, Device, DeviceState, RateDevice};
/// use odonata_units::{Bandwidth, Time};
/// let rate = Bandwidth(1e9); // 1 ns per byte
/// let device = RateDevice {
///     read: rate,
///     write: rate,
///     overhead: Time::from_ns(20_000),
///     seek: Time::from_ns(2_500_000),
///     seek_window: 512,
/// };
/// let mut state = DeviceState::default();
/// let access = Access { write: true, object: 0, offset: 0, bytes: 1_000 };
/// assert_eq!(device.service_time(&mut state, access), Time::from_ns(20_000 + 1_000));
/// // The same bytes again: the device has moved on and has to go back.
/// assert_eq!(device.service_time(&mut state, access), Time::from_ns(20_000 + 1_000 + 2_500_000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateDevice {
    /// Sequential read rate.
    pub read: Bandwidth,
    /// Sequential write rate.
    pub write: Bandwidth,
    /// Cost of every access.
    pub overhead: Time,
    /// Additional cost of an access that is not sequential.
    pub seek: Time,
    /// How far ahead of the position an access may begin and still be sequential, in bytes.
    pub seek_window: u64,
}

impl Device for RateDevice {
    fn service_time(&self, state: &mut DeviceState, access: Access) -> Time {
        let rate = if access.write { self.write } else { self.read };
        let ahead = access.offset.checked_sub(state.position);
        let sequential = access.object == state.object && ahead.is_some_and(|bytes| bytes <= self.seek_window);
        let mut time = self.overhead + rate.time_for(Bytes(access.bytes));
        if !sequential {
            time += self.seek;
            state.seeks += 1;
        }
        state.object = access.object;
        state.position = access.offset.saturating_add(access.bytes);
        time
    }
}

/// Which device a server has, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DeviceModel {
    /// Rate, overhead and seek.
    Rate(RateDevice),
}

impl DeviceModel {
    /// Every rate among its parameters, to reject those that no simulation can run with.
    pub(crate) fn rates(&self) -> [Bandwidth; 2] {
        match self {
            DeviceModel::Rate(device) => [device.read, device.write],
        }
    }
}

impl Device for DeviceModel {
    #[inline]
    fn service_time(&self, state: &mut DeviceState, access: Access) -> Time {
        match self {
            DeviceModel::Rate(device) => device.service_time(state, access),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> RateDevice {
        RateDevice {
            read: Bandwidth(5_700.0 * 1_048_576.0),
            write: Bandwidth(2_850.0 * 1_048_576.0),
            overhead: Time::from_ns(20_000),
            seek: Time::from_ns(2_500_000),
            seek_window: 512,
        }
    }

    fn access(write: bool, object: u64, offset: u64) -> Access {
        Access {
            write,
            object,
            offset,
            bytes: 1_000_000,
        }
    }

    #[test]
    fn time_is_overhead_plus_bytes_over_the_direction_s_rate() {
        let mut state = DeviceState::default();
        // 20 us + 10^6 B / (5,700 * 2^20 B/s) = 187.311 us; writing takes twice the transfer.
        let read = device().service_time(&mut state, access(false, 0, 0));
        let write = device().service_time(&mut state, access(true, 0, 1_000_000));
        assert_eq!(read.0, 20_000_000 + (1e18_f64 / (5_700.0 * 1_048_576.0)).round() as u64);
        assert_eq!(
            write.0,
            20_000_000 + (2e18_f64 / (5_700.0 * 1_048_576.0)).round() as u64
        );
        assert_eq!((state.position, state.seeks), (2_000_000, 0));
    }

    #[test]
    fn an_access_seeks_unless_it_begins_within_the_window_of_the_same_object() {
        let seeks = |object, offset| {
            let mut state = DeviceState {
                object: 7,
                position: 1_000,
                seeks: 0,
            };
            device().service_time(&mut state, access(true, object, offset));
            state.seeks
        };
        // Sequential: object 7 and offset in [1,000, 1,000 + 512].
        assert_eq!(
            [seeks(7, 999), seeks(7, 1_000), seeks(7, 1_512), seeks(7, 1_513)],
            [1, 0, 0, 1]
        );
        assert_eq!(seeks(8, 1_000), 1);
    }

    #[test]
    fn a_seek_adds_exactly_its_time() {
        let (mut near, mut far) = (DeviceState::default(), DeviceState::default());
        let sequential = device().service_time(&mut near, access(false, 0, 0));
        let random = device().service_time(&mut far, access(false, 0, 4_096));
        assert_eq!(random, sequential + Time::from_ns(2_500_000));
    }
}
