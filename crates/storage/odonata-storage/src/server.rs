//! The state of one server and of its devices. A change under speculation saves a whole cell, so that values that change at
//! different moments are in different cells.

use odonata_engine::{List, NIL};
use odonata_units::Time;

/// Space on a device.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Space {
    /// Bytes reserved and not drained.
    pub(crate) used: u64,
    /// Bytes of write requests that the device has written.
    pub(crate) written: u64,
    /// Bytes that are safe in the external file system, and whose space is free.
    pub(crate) drained: u64,
    /// Bytes in use that are on the device and not leaving.
    pub(crate) dirty: u64,
    /// Bytes in use that are leaving.
    pub(crate) leaving: u64,
    /// Bytes in use that the lower tier has as well, and that may be evicted.
    pub(crate) clean: u64,
    /// Clean ranges, oldest first.
    pub(crate) ranges: List,
    /// Where the drain continues in the index: object, and byte of it.
    pub(crate) object: u64,
    pub(crate) offset: u64,
    /// Bytes that the drain has fetched so far.
    pub(crate) fetched: u64,
    /// Requests that wait for space, first come first served.
    pub(crate) reservations: List,
}

/// The drain: a two-stage pipeline with one buffer per stage.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct DrainStage {
    /// The piece that the device reads or has read, or [`NIL`].
    pub(crate) fetching: u32,
    /// Whether that piece has been read and waits for the link.
    pub(crate) fetched: bool,
    /// The piece on the link to the external file system, or [`NIL`].
    pub(crate) sending: u32,
    /// The first device to try for the next block, counted within the server.
    pub(crate) turn: u32,
}

impl Default for DrainStage {
    fn default() -> Self {
        DrainStage {
            fetching: NIL,
            fetched: false,
            sending: NIL,
            turn: 0,
        }
    }
}

/// The metrics of one server. Device metrics are sums over its devices.
///
/// Sums of waits are `u128` picoseconds: thousands of concurrent waits exceed the 213 days of a 64-bit sum within hours of
/// simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Metrics {
    /// Requests answered.
    pub requests: u64,
    /// From arrival to response, summed over requests answered, in ps.
    pub request_time_ps: u128,
    /// Bytes that the device wrote for requests.
    pub bytes_written: u64,
    /// Bytes delivered to reading clients.
    pub bytes_read: u64,
    /// Bytes drained to the external file system.
    pub bytes_drained: u64,
    /// Device writes, for requests.
    pub device_writes: u64,
    /// Device reads, for requests.
    pub device_reads: u64,
    /// Device reads, for the drain.
    pub drain_reads: u64,
    /// Device accesses of any kind that paid for a seek.
    pub seeks: u64,
    /// Time in which the device was in service (accesses that have ended).
    pub device_busy: Time,
    /// From arrival to reservation, summed over write requests, in ps.
    pub space_wait_ps: u128,
    /// From wanting to getting a block of memory, summed over pieces, in ps.
    pub memory_wait_ps: u128,
    /// From joining the device's queue to being served, summed over pieces and drained blocks, in ps.
    pub device_wait_ps: u128,
    /// Most memory in use, in bytes (whole blocks).
    pub peak_memory: u64,
    /// Most space in use, in bytes.
    pub peak_used: u64,
}

/// The metrics of one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DeviceMetrics {
    /// Writes, for requests.
    pub writes: u64,
    /// Reads, for requests.
    pub reads: u64,
    /// Reads, for the drain.
    pub drain_reads: u64,
    /// Bytes written for requests.
    pub bytes_written: u64,
    /// Bytes read for requests.
    pub bytes_read: u64,
    /// Bytes read for the drain.
    pub bytes_drained: u64,
    /// Accesses of any kind that paid for a seek.
    pub seeks: u64,
    /// Time in which at least one access was in service.
    pub busy: Time,
    /// From an access's turn to its end, summed over accesses, in ps.
    pub service_ps: u128,
    /// From joining the queue to the access's turn, summed over accesses, in ps.
    pub wait_ps: u128,
    /// Write requests that are entirely on the device.
    pub commits: u64,
    /// From their arrival to their last byte on the device, summed, in ps.
    pub commit_ps: u128,
    /// Most accesses at once: in the server's queue and handed to the device.
    pub peak_accesses: u32,
    /// Most space in use, in bytes.
    pub peak_used: u64,
}
