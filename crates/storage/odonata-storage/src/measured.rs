//! What servers have and have measured: metrics, contents, blocked writes, and the audit at the end of a run.

use std::collections::BTreeMap;
use std::fmt;

use odonata_engine::Digest;
use odonata_units::Time;

use crate::observe::Observers;
use crate::servers::ServerParts;
use crate::{
    DeviceMetrics, DeviceParams, Extent, FaultMetrics, Losses, Metrics, Occupancy, Origin, Place, RequestHeader,
    ServerCharge, ServerParams, ServerWaitSeries, StageMetrics, TierMetrics,
};

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

/// The bytes that a tier has received for a job, by place; each byte is in one place. Overwritten bytes count nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TierContents {
    /// Not on a device yet.
    pub arriving: u64,
    /// On a device of the tier, not in the lower tier.
    pub alone: u64,
    /// On a device of the tier, and on their way to the lower tier.
    pub leaving: u64,
    /// On a device of the tier, and in the lower tier.
    pub clean: u64,
    /// In the lower tier alone.
    pub below: u64,
}

impl TierContents {
    /// Adds the contents of another part of the tier.
    pub fn absorb(&mut self, other: &TierContents) {
        self.arriving += other.arriving;
        self.alone += other.alone;
        self.leaving += other.leaving;
        self.clean += other.clean;
        self.below += other.below;
    }

    /// The sum of all places.
    pub fn bytes(&self) -> u64 {
        self.arriving + self.alone + self.leaving + self.clean + self.below
    }
}

/// A view of a set of servers, of their instruments and of their parts.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredServers<'a> {
    pub(crate) parts: &'a ServerParts,
    observers: &'a Observers,
}

impl<'a> MeasuredServers<'a> {
    pub(crate) fn new(parts: &'a ServerParts, observers: &'a Observers) -> Self {
        MeasuredServers { parts, observers }
    }

    /// Number of servers.
    pub fn len(self) -> u32 {
        self.parts.len()
    }

    /// Whether there is no server.
    pub fn is_empty(self) -> bool {
        self.parts.len() == 0
    }

    /// The parameters of `server`.
    pub fn params(self, server: u32) -> &'a ServerParams {
        &self.parts.params[server as usize]
    }

    fn servers(self) -> std::ops::Range<u32> {
        0..self.len()
    }

    /// The request whose client waits for `origin`, if there is one.
    pub fn request_of(self, origin: Origin) -> Option<RequestHeader> {
        self.parts.request_of(origin)
    }

    /// Length of the piece in `slot`, in bytes.
    pub fn piece_bytes(self, slot: u32) -> u64 {
        self.parts.pieces.get(slot).bytes
    }

    /// Whether work is under way at `server`, so that the failure of a device there is an event.
    pub fn is_busy(self, server: u32) -> bool {
        self.parts.is_busy(server)
    }

    /// The metrics of `server` so far.
    pub fn metrics(self, server: u32) -> Metrics {
        let mut sum = *self.observers.counters().server(server);
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
    pub fn device_metrics(self, server: u32) -> impl Iterator<Item = (&'a DeviceParams, DeviceMetrics)> {
        self.parts.devices.of(server).map(move |device| {
            let metrics = DeviceMetrics {
                // Devices count their own seeks: the model defines a seek.
                seeks: self.parts.devices.seeks(device),
                ..*self.observers.counters().device(device)
            };
            (self.parts.devices.params(device), metrics)
        })
    }

    /// The cost of faults at the devices of `server`, in their order.
    pub fn fault_metrics(self, server: u32) -> impl Iterator<Item = FaultMetrics> + use<'a> {
        let devices = self.parts.devices.of(server);
        devices.map(move |device| self.parts.devices.fault_metrics(device))
    }

    /// The cost of failures: server, job, losses, where there are some.
    pub fn losses(self) -> impl Iterator<Item = (u32, u16, Losses)> + use<'a> {
        self.parts.failures.losses()
    }

    /// The times when devices fail: server, number of the device there, time.
    pub fn device_failure_times(self) -> impl Iterator<Item = (u32, u32, Time)> + use<'a> {
        self.parts.failures.device_times().map(move |(device, at)| {
            let server = self.parts.devices.server_of(device);
            (server, device - self.parts.devices.of(server).start, at)
        })
    }

    /// When the last byte of a write of `job` came to a device, if any did.
    pub fn last_commit(self, job: u16) -> Option<Time> {
        self.observers.counters().last_commit(job)
    }

    /// The metrics of each tier and job: tier, job, metrics; empty with one tier.
    pub fn tier_metrics(self) -> impl Iterator<Item = (u8, u16, TierMetrics)> + use<'a> {
        self.observers.counters().tiers()
    }

    /// The stage metrics of each job; empty without a lower tier.
    pub fn stage_metrics(self) -> impl Iterator<Item = (u16, StageMetrics)> + use<'a> {
        self.observers.counters().stages()
    }

    /// The places of the bytes of each tier and job, at servers with an index; empty with one tier.
    pub fn tier_contents(self) -> BTreeMap<(u8, u16), TierContents> {
        let mut all = BTreeMap::new();
        if self.parts.tiers == 1 {
            return all;
        }
        for server in self.servers() {
            let tier = self.parts.params[server as usize].tier;
            for (_, extent) in self.contents(server) {
                let of: &mut TierContents = all.entry((tier, extent.owner)).or_default();
                let sum = match extent.place {
                    Place::Reserved(_) | Place::Memory(_) => &mut of.arriving,
                    Place::Device(_) => &mut of.alone,
                    Place::Leaving(_) => &mut of.leaving,
                    Place::Clean(_) | Place::Used(_) | Place::Filling(_) => &mut of.clean,
                    Place::LowerTier => &mut of.below,
                    Place::Lost => continue,
                };
                *sum += extent.bytes();
            }
        }
        all
    }

    /// The index of `server`: object, extent; empty without an index.
    pub fn contents(self, server: u32) -> impl Iterator<Item = (u64, Extent)> + use<'a> {
        self.parts.index.of(server)
    }

    /// Bytes removed, by server and job, where there are some.
    pub fn removed(self) -> impl Iterator<Item = (u32, u16, u64)> + use<'a> {
        self.parts.index.removed()
    }

    /// Space in use at `server`, in bytes: reserved and not drained.
    pub fn used(self, server: u32) -> u64 {
        self.parts.used(server)
    }

    /// Memory of `server` in use, in bytes (whole blocks).
    pub fn memory_in_use(self, server: u32) -> u64 {
        self.parts.memories.bytes_in_use(server)
    }

    /// Resources in use, integrated until `now`, by interval (counted from 0) and server. Empty without a series; missing elements are
    /// zero.
    pub fn occupancy(self, now: Time) -> BTreeMap<(u64, u32), Occupancy> {
        self.observers.occupancy().until(now)
    }

    /// The waiting times between jobs by server, resource, victim and culprit, in this order, summed over the devices of a server;
    /// empty without a ledger.
    pub fn blame(self) -> impl Iterator<Item = ServerCharge> + use<'a> {
        self.observers.contention().charges(self.parts).into_iter()
    }

    /// The same as a time series, if one is kept.
    pub fn blame_series(self) -> impl Iterator<Item = ServerWaitSeries> + use<'a> {
        self.observers.contention().series()
    }

    /// The end of the time series, if there are any.
    pub fn series_end(self) -> Option<Time> {
        let ends = [
            self.observers.contention().ledger().series_end(),
            self.observers.occupancy().end(),
        ];
        ends.into_iter().flatten().min()
    }

    /// Time in which devices served requests of `job`, summed, in ps; zero without a ledger.
    pub fn device_time_ps(self, job: u16) -> u128 {
        self.observers.contention().device_time_ps(job)
    }

    /// Requests open at all servers.
    pub fn open_requests(self) -> u32 {
        self.parts.requests.live()
    }

    /// Whether a block of `server` is on its way to the lower tier or to an external file system.
    pub fn is_draining(self, server: u32) -> bool {
        let leaving = self.parts.reserves.blocks(server).2;
        self.parts.pipelines.blocks(server).0 + leaving > 0
    }

    /// Servers that move a block to the lower tier or to an external file system.
    pub fn draining(self) -> u64 {
        self.servers().filter(|&server| self.is_draining(server)).count() as u64
    }

    /// Accesses that the devices of `server` have in service.
    pub fn accesses_in_service(self, server: u32) -> u32 {
        let devices = self.parts.devices.of(server);
        devices.map(|device| self.parts.queues.in_service(device)).sum()
    }

    /// The write requests that wait for space, by server and in their order. During a run they are back-pressure. When no event is
    /// left, the outcome is *storage full* and they are its victims.
    pub fn blocked_writes(self) -> impl Iterator<Item = BlockedWrite> + use<'a> {
        (0..self.parts.devices.len()).flat_map(move |device| {
            let server = self.parts.devices.server_of(device);
            let free = self.parts.space.free(device);
            let waiting = self.parts.space.in_line(device, &self.parts.requests);
            waiting.map(move |request| BlockedWrite {
                server,
                header: request.what.header,
                since: request.arrived,
                needed: request.what.bytes,
                free,
            })
        })
    }

    /// Checks the end of a run: no request is open, all memory is back in its pool, and no device works for a request. The space in
    /// use is what was written less what was drained. A drain may be in progress: jobs end before their data have left the buffers.
    ///
    /// # Errors
    /// The first violation, with server and numbers.
    pub fn audit(self) -> Result<(), String> {
        if let Some(blocked) = self.blocked_writes().next() {
            return Err(blocked.to_string());
        }
        let parts = self.parts;
        let mut draining = 0;
        for server in self.servers() {
            let (of_pipeline, read) = parts.pipelines.blocks(server);
            let (of_reserve, at_devices, _) = parts.reserves.blocks(server);
            draining += of_pipeline + of_reserve;
            parts.memories.audit(server)?;
            let mut accesses = 0;
            for device in parts.devices.of(server) {
                let audited = parts.space.audit(device, parts.index.is_kept(server));
                audited.map_err(|text| format!("storage server {server}: {text}"))?;
                accesses += parts.queues.accesses(device);
            }
            if accesses != read + at_devices {
                return Err(format!("storage server {server}: the device still works for a request"));
            }
        }
        if parts.requests.live() != 0 || parts.pieces.live() != draining {
            let (requests, pieces) = (parts.requests.live(), parts.pieces.live() - draining);
            return Err(format!(
                "storage: {requests} requests and {pieces} pieces are still open"
            ));
        }
        let (syncs, removals) = (parts.syncs.live(), parts.removals.live());
        if syncs != 0 {
            return Err(format!("storage: {syncs} synchronizations are not answered"));
        }
        if removals != 0 {
            return Err(format!("storage: {removals} removals are not answered"));
        }
        let mut gone = Vec::new();
        for (_, job, losses) in self.losses() {
            gone.resize(gone.len().max(usize::from(job) + 1), 0);
            gone[usize::from(job)] += losses.lost() + losses.dropped;
        }
        parts.index.audit(|device| parts.space.used(device), &gone)?;
        self.observers.contention().ledger().audit()
    }

    /// Adds all metrics to a digest of results, by server.
    pub fn results(self, digest: &mut Digest) {
        for server in self.servers() {
            digest.text(&format!("{:?}", self.metrics(server)));
            for (_, metrics) in self.device_metrics(server) {
                digest.text(&format!("{metrics:?}"));
            }
        }
        self.observers.contention().ledger().results(digest);
    }
}
