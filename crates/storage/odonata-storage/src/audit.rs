//! Results of the servers: metrics, blocked writes, and the audit at the end of a run.

use crate::server::{DrainStage, Space};
use crate::{DeviceMetrics, DeviceParams, FaultMetrics, Metrics, RequestHeader, ServerParams, Servers};
use odonata_engine::{Digest, NIL};
use odonata_units::Time;
use std::fmt;

/// A write request that waits for space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockedWrite {
    /// The server that is full.
    pub server: u32,
    /// The request.
    pub header: RequestHeader,
    /// When the request arrived.
    pub since: Time,
    /// Bytes that it needs.
    pub needed: u64,
    /// Free bytes. They may suffice while an earlier request that needs more is in front.
    pub free: u64,
}

impl fmt::Display for BlockedWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BlockedWrite {
            server,
            header: RequestHeader { client, token, owner },
            since,
            needed,
            free,
        } = *self;
        let client = client.number();
        write!(
            f,
            "storage server {server}: request {token} of client {client} (job {owner}) needs {needed} B, \
             {free} B are free; waiting since {} s",
            since.seconds()
        )
    }
}

impl Servers {
    /// Number of servers.
    pub fn len(&self) -> u32 {
        self.params.len() as u32
    }

    /// Whether there is no server.
    pub fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    /// The parameters of `server`.
    pub fn params(&self, server: u32) -> &ServerParams {
        &self.params[server as usize]
    }

    /// The metrics of `server` so far.
    pub fn metrics(&self, server: u32) -> Metrics {
        let mut sum = *self.metrics.get(server);
        for (_, device) in self.device_metrics(server) {
            sum.bytes_written += device.bytes_written;
            sum.device_writes += device.writes;
            sum.device_reads += device.reads;
            sum.drain_reads += device.drain_reads;
            sum.seeks += device.seeks;
            sum.device_busy += device.busy;
            sum.device_wait_ps += device.wait_ps;
        }
        sum
    }

    /// The devices of `server` in their order, with their metrics so far.
    pub fn device_metrics(&self, server: u32) -> impl Iterator<Item = (&DeviceParams, DeviceMetrics)> + '_ {
        self.devices.of(server).map(|device| {
            let metrics = DeviceMetrics {
                // Devices count their own seeks: the model defines a seek.
                seeks: self.devices.seeks(device),
                ..*self.device_metrics.get(device)
            };
            (self.devices.params(device), metrics)
        })
    }

    /// The cost of faults at the devices of `server`, in their order.
    pub fn fault_metrics(&self, server: u32) -> impl Iterator<Item = FaultMetrics> + '_ {
        self.devices.of(server).map(|device| self.devices.fault_metrics(device))
    }

    /// When the last byte of a write of `job` came to a device, if any did.
    pub fn last_commit(&self, job: u16) -> Option<Time> {
        let time = (usize::from(job) < self.committed.len()).then(|| *self.committed.get(u32::from(job)));
        time.filter(|&time| time > Time::ZERO)
    }

    /// Space in use at `server`, in bytes: reserved and not drained.
    pub fn used(&self, server: u32) -> u64 {
        self.devices.of(server).map(|device| self.spaces.get(device).used).sum()
    }

    /// Memory of `server` in use, in bytes (whole blocks).
    pub fn memory_in_use(&self, server: u32) -> u64 {
        self.memories.bytes_in_use(server)
    }

    /// Length of the piece in `slot`, in bytes.
    pub fn piece_bytes(&self, slot: u32) -> u64 {
        self.pieces.get(slot).bytes
    }

    /// The request of piece `slot`; `None` after the answer, since the client may reuse its token.
    pub fn request_of_piece(&self, slot: u32) -> Option<RequestHeader> {
        let request = self.pieces.get(slot).request;
        if request == NIL {
            return None;
        }
        let request = self.requests.get(request);
        (!request.answered).then_some(request.what.header)
    }

    /// Requests open at all servers.
    pub fn open_requests(&self) -> u32 {
        self.requests.live()
    }

    /// Whether a block of `server` is on its way to the external file system.
    pub fn is_draining(&self, server: u32) -> bool {
        let stage = self.drains.get(server);
        stage.fetching != NIL || stage.sending != NIL || self.blocks_leaving(server) > 0
    }

    /// Blocks of `server` that leave for the lower tier.
    fn blocks_leaving(&self, server: u32) -> u32 {
        match self.params[server as usize].next {
            Some(_) if self.lower_tiers.reserves.len() > server as usize => {
                let reserve = self.lower_tiers.reserves.get(server);
                reserve.fetching + reserve.sending
            }
            _ => 0,
        }
    }

    /// Accesses that the devices of `server` have in service.
    pub fn accesses_in_service(&self, server: u32) -> u32 {
        self.devices
            .of(server)
            .map(|device| self.queues.in_service(device))
            .sum()
    }

    /// The write requests that wait for space, by server and in their order. During a run they are back-pressure. When no event is
    /// left, the outcome is *storage full* and they are its victims.
    pub fn blocked_writes(&self) -> impl Iterator<Item = BlockedWrite> + '_ {
        (0..self.devices.len()).flat_map(move |device| {
            let server = self.devices.server_of(device);
            let space = self.spaces.get(device);
            let free = self.devices.capacity(device) - space.used;
            space.reservations.iter(&self.requests).map(move |slot| {
                let request = self.requests.get(slot);
                let what = request.what;
                BlockedWrite {
                    server,
                    header: what.header,
                    since: request.arrived,
                    needed: what.bytes,
                    free,
                }
            })
        })
    }

    /// Servers that move a block to the external file system.
    pub fn draining(&self) -> u64 {
        (0..self.len()).filter(|&server| self.is_draining(server)).count() as u64
    }

    /// Checks the end of a run: no request is open, all memory is back in its pool, and no device works for a request. The space in
    /// use is what was written less what was drained. A drain may be in progress: jobs end before their data have left the buffers.
    ///
    /// # Errors
    /// The first violation, with server and numbers.
    pub fn audit(&self) -> Result<(), String> {
        if let Some(blocked) = self.blocked_writes().next() {
            return Err(blocked.to_string());
        }
        let mut draining = 0;
        for server in 0..self.len() {
            let DrainStage {
                fetching,
                fetched,
                sending,
                ..
            } = *self.drains.get(server);
            let mut reading = u32::from(fetching != NIL && !fetched);
            draining += u32::from(fetching != NIL) + u32::from(sending != NIL);
            if self.lower_tiers.reserves.len() > server as usize {
                let reserve = self.lower_tiers.reserves.get(server);
                reading += reserve.fetching + reserve.filling;
                draining += reserve.fetching + reserve.sending + reserve.filling;
            }
            self.memories.audit(server)?;
            let mut accesses = 0;
            for device in self.devices.of(server) {
                let Space {
                    used, written, drained, ..
                } = *self.spaces.get(device);
                // With an index, its own audit is stricter.
                if !self.is_indexed(server) && (written < drained || used != written - drained) {
                    return Err(format!(
                        "storage server {server}: {used} B are in use, {written} B were written, {drained} B drained"
                    ));
                }
                accesses += self.queues.accesses(device);
            }
            if accesses != reading {
                return Err(format!("storage server {server}: the device still works for a request"));
            }
        }
        if self.requests.live() != 0 || self.pieces.live() != draining {
            let (requests, pieces) = (self.requests.live(), self.pieces.live() - draining);
            return Err(format!(
                "storage: {requests} requests and {pieces} pieces are still open"
            ));
        }
        if self.syncs.live() != 0 {
            return Err(format!(
                "storage: {} synchronizations are not answered",
                self.syncs.live()
            ));
        }
        if self.removals.live() != 0 {
            return Err(format!("storage: {} removals are not answered", self.removals.live()));
        }
        self.audit_contents()?;
        self.books.ledger().audit()
    }

    /// Adds all metrics to a digest of results, by server.
    pub fn results(&self, digest: &mut Digest) {
        for server in 0..self.len() {
            digest.text(&format!("{:?}", self.metrics(server)));
            for (_, metrics) in self.device_metrics(server) {
                digest.text(&format!("{metrics:?}"));
            }
        }
        self.books.ledger().results(digest);
    }
}
