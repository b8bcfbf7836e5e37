//! The events of the hosts.

/// An event of the hosts, of at most 12 bytes. Slots are indices into pools of [`Hosts`](crate::Hosts).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum HostEvent {
    /// Rank `rank` starts.
    Start {
        /// Rank, numbered over all jobs.
        rank: u32,
    },
    /// The time during which operation `activity` occupied its stream has passed.
    Resume {
        /// Slot of the operation.
        activity: u32,
    },
    /// The step of a non-blocking collective ends.
    StepEnds {
        /// Slot of the call that runs the collective.
        call: u32,
    },
    /// The source on rank `rank` sends its next message.
    Generate {
        /// Rank, numbered over all jobs.
        rank: u32,
    },
    /// The sender of local message `message` may reuse its buffer.
    LocalSent {
        /// Slot of the message.
        message: u32,
    },
    /// Local message `message` has arrived.
    LocalArrived {
        /// Slot of the message.
        message: u32,
    },
    /// Service of a piece begins at its device.
    DeviceBegins {
        /// Slot of the piece.
        piece: u32,
    },
    /// Service of a piece at its device ends.
    DeviceDone {
        /// Slot of the piece.
        piece: u32,
    },
    /// The caches of the devices of a server have been flushed.
    CachesWritten {
        /// The synchronization that waits for the flush.
        sync: u32,
    },
    /// A block of `server` is stable in the external file system.
    DrainDone {
        /// Storage server.
        server: u32,
    },
    /// Data of a read have crossed the link from the external file system.
    FromFileSystem {
        /// Slot of the attempt that they belong to.
        attempt: u32,
    },
    /// The time for the answer to an attempt of a storage client is over.
    ClientTimeout {
        /// Slot of the attempt.
        attempt: u32,
    },
    /// A storage client sends a request again.
    ClientRetry {
        /// Slot of the watched part of the request.
        part: u32,
    },
    /// A device of `server` fails.
    DeviceFails {
        /// Storage server.
        server: u32,
    },
    /// A thread of a metadata server has finished a call.
    MetadataDone {
        /// Slot of the call.
        call: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_small() {
        assert!(size_of::<HostEvent>() <= 8, "{} bytes", size_of::<HostEvent>());
    }
}
