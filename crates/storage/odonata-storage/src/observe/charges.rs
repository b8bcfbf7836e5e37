//! What instruments tell about waits: charges between jobs, their time series, and the waits of single requests.

use odonata_engine::Time;

use crate::RequestHeader;

/// Names of the resources of a storage manager, by number.
pub const RESOURCES: [&str; 3] = ["space", "memory", "device"];

/// A lock on a range of a file ([`ExtentLocks`](crate::ExtentLocks)).
pub const LOCK: u8 = 3;
/// A thread of a metadata server ([`MetadataServers`](crate::MetadataServers)).
pub const THREAD: u8 = 4;
/// A directory of a metadata server that another call changes.
pub const DIRECTORY: u8 = 5;
/// A storage server or its device that is away, stalled or slow; no job holds it.
pub const FAULT: u8 = 6;

/// The same of a metadata server.
pub const METADATA_FAULT: u8 = 7;

/// A block of the reserve for data that a server writes to the lower tier.
pub const RESERVED: u8 = 8;

/// Names of the resources of all kinds of servers, by number; the first are those of a storage manager.
pub const SERVER_RESOURCES: [&str; 9] = [
    "space",
    "memory",
    "device",
    "lock",
    "thread",
    "directory",
    "fault",
    "fault",
    "reserve",
];

/// The time that requests of one job waited for another job at one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ServerCharge {
    /// The server.
    pub server: u32,
    /// The resource: an index into [`SERVER_RESOURCES`].
    pub resource: u8,
    /// The job whose requests waited.
    pub victim: u16,
    /// The job that held the resource; `None` if the run ended before that was known, and for a fault.
    pub culprit: Option<u16>,
    /// The waiting time, summed over requests.
    pub time: Time,
}

/// The same per interval of time, for all servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerWaitSeries {
    /// Start of the interval.
    pub start: Time,
    /// The tier of the servers; 0 of metadata servers.
    pub tier: u8,
    /// The resource: an index into [`SERVER_RESOURCES`].
    pub resource: u8,
    /// The job whose requests waited.
    pub victim: u16,
    /// The job that held the resource; 0 for a fault.
    pub culprit: u16,
    /// The waiting time, summed over requests.
    pub time: Time,
}

/// A wait of one request for another job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLoss {
    /// The request.
    pub header: RequestHeader,
    /// The server.
    pub server: u32,
    /// The job that held the resource.
    pub culprit: u16,
    /// The resource: an index into [`SERVER_RESOURCES`].
    pub resource: u8,
    /// The device, if the resource is one.
    pub device: Option<u32>,
    /// Start of the wait.
    pub from: Time,
    /// End of the wait.
    pub until: Time,
}

/// The start or the end of an access for a request whose client waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceAccess {
    /// The request.
    pub header: RequestHeader,
    /// The piece, by its slot.
    pub piece: u32,
    /// The server.
    pub server: u32,
    /// The device.
    pub device: u32,
    /// The job.
    pub owner: u16,
    /// At the end: the job that made the access seek, if it would not seek alone, and the duration of the seek.
    pub seek: Option<(u16, Time)>,
}

/// The waits and accesses of single requests that an input began or ended.
#[derive(Clone, Debug, Default)]
pub struct RequestWaits {
    /// Waits that have ended.
    pub losses: Vec<RequestLoss>,
    /// Device accesses that have begun.
    pub begun: Vec<DeviceAccess>,
    /// Device accesses that have ended.
    pub ended: Vec<DeviceAccess>,
}
