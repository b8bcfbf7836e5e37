//! The state of one server: four cells, apart because they change at different moments and a change
//! under speculation saves the whole cell.

use crate::DeviceState;
use odonata_engine::{List, NIL};
use odonata_units::Time;

/// Space and memory.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Space {
    /// Bytes reserved and not drained.
    pub(crate) used: u64,
    /// Bytes of write requests that the device has written.
    pub(crate) written: u64,
    /// Bytes that are safe in the external file system, and their space free again.
    pub(crate) drained: u64,
    /// Requests that wait for space, first come first served.
    pub(crate) reservations: List,
    /// Blocks taken from the memory pool.
    pub(crate) blocks_taken: u64,
    /// Pieces that wait for a block of memory, first come first served.
    pub(crate) memory_queue: List,
}

/// The device and its queue.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct DeviceQueue {
    pub(crate) state: DeviceState,
    /// The piece in service, or [`NIL`].
    pub(crate) in_service: u32,
    pub(crate) started: Time,
    pub(crate) queue: List,
}

impl Default for DeviceQueue {
    fn default() -> Self {
        DeviceQueue {
            state: DeviceState::default(),
            in_service: NIL,
            started: Time::ZERO,
            queue: List::EMPTY,
        }
    }
}

/// The drain: a two-stage pipeline with one buffer per stage.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct DrainStage {
    /// The piece that the device reads (or has read), or [`NIL`].
    pub(crate) fetching: u32,
    /// Whether that piece has been read and waits for the link.
    pub(crate) fetched: bool,
    /// The piece on the link to the external file system, or [`NIL`].
    pub(crate) sending: u32,
    /// Bytes in both stages.
    pub(crate) in_transit: u64,
    /// Bytes fetched so far: the drain's position in the order of writing.
    pub(crate) cursor: u64,
}

impl Default for DrainStage {
    fn default() -> Self {
        DrainStage {
            fetching: NIL,
            fetched: false,
            sending: NIL,
            in_transit: 0,
            cursor: 0,
        }
    }
}

/// What was measured at one server.
///
/// Sums of waits are `u128` picoseconds: thousands of requests that wait together exceed the 213
/// days of a 64-bit sum within hours of simulated time.
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
