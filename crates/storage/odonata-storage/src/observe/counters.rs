//! Counters: what servers, devices, tiers and stages have done.
//!
//! Units: bytes, and picoseconds as [`Time`] or `u128`. Sums of waits are `u128`: thousands of concurrent waits exceed the 213 days of
//! a 64-bit sum within hours of simulated time.

use odonata_engine::{Mode, NIL, Store, Time, journalled};

use super::facts::{Observer, Staged};
use crate::open_request::{OpenRequest, Piece, PieceKind};
use crate::servers::ServerParts;

/// The metrics of one server. Device metrics are sums over its devices.
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

/// What the servers of a tier did for a job, with the times of the first block that left and of the last block that became safe in
/// the lower tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TierMetrics {
    /// Bytes written to the tier: to its devices, or through it.
    pub received: u64,
    /// Bytes that the lower tier has acknowledged.
    pub sent: u64,
    /// Bytes of inputs, which the run never wrote, that were kept.
    pub inputs: u64,
    /// Bytes read from the lower tier.
    pub fetched: u64,
    /// Bytes of reads served from the tier.
    pub hits: u64,
    /// Fetched bytes that were kept as clean copies.
    pub filled: u64,
    /// Bytes of clean copies that were evicted.
    pub evicted: u64,
    /// When the first block began to leave.
    pub first_left: Option<Time>,
    /// When the last block became safe in the lower tier.
    pub last_safe: Option<Time>,
}

impl TierMetrics {
    /// Adds the metrics of another part of the tier.
    pub fn absorb(&mut self, other: &TierMetrics) {
        self.received += other.received;
        self.sent += other.sent;
        self.inputs += other.inputs;
        self.fetched += other.fetched;
        self.hits += other.hits;
        self.filled += other.filled;
        self.evicted += other.evicted;
        let firsts = self.first_left.into_iter().chain(other.first_left);
        self.first_left = firsts.min();
        self.last_safe = self.last_safe.max(other.last_safe);
    }
}

/// What stage-in, read-ahead and stage-out moved for a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StageMetrics {
    /// Bytes that a stage-in brought to devices.
    pub brought: u64,
    /// Bytes of stage-ins that were on devices already.
    pub found: u64,
    /// Bytes of stage-ins that did not fit.
    pub left: u64,
    /// Bytes that were read ahead.
    pub read_ahead: u64,
    /// Bytes that the first tier wrote to the lower tier after the end of a job with stage-out.
    pub taken_out: u64,
    /// When the last of them became safe in the last tier.
    pub out_until: Option<Time>,
}

impl StageMetrics {
    /// Adds the metrics of other servers.
    pub fn absorb(&mut self, other: &StageMetrics) {
        self.brought += other.brought;
        self.found += other.found;
        self.left += other.left;
        self.read_ahead += other.read_ahead;
        self.taken_out += other.taken_out;
        self.out_until = self.out_until.max(other.out_until);
    }
}

/// The counters of a set of servers.
#[derive(Debug)]
pub(crate) struct Counters {
    servers: Store<Metrics>,
    devices: Store<DeviceMetrics>,
    /// When the last byte of a write of each job came to a device.
    committed: Store<Time>,
    /// Number of jobs. `tiers` has an element per tier and job, `stages` one per job; both are empty without a lower tier.
    jobs: usize,
    tiers: Store<TierMetrics>,
    stages: Store<StageMetrics>,
}
journalled!(Counters {
    servers,
    devices,
    committed,
    tiers,
    stages
});

impl Counters {
    /// Of so many servers and devices; jobs and tiers are not counted.
    pub(crate) fn new(servers: usize, devices: usize) -> Self {
        Counters {
            servers: Store::filled(servers, Metrics::default()),
            devices: Store::filled(devices, DeviceMetrics::default()),
            committed: Store::new(),
            jobs: 0,
            tiers: Store::new(),
            stages: Store::new(),
        }
    }

    /// Records when writes of `jobs` jobs were committed.
    pub(crate) fn count_jobs(&mut self, jobs: usize) {
        self.committed = Store::filled(jobs, Time::ZERO);
    }

    /// Counts what each of `tiers` tiers does for each of `jobs` jobs.
    pub(crate) fn count_tiers(&mut self, tiers: usize, jobs: usize) {
        self.jobs = jobs;
        self.tiers = Store::filled(tiers * jobs, TierMetrics::default());
        self.stages = Store::filled(jobs, StageMetrics::default());
    }

    /// What `server` has done, without its devices.
    pub(crate) fn server(&self, server: u32) -> &Metrics {
        self.servers.get(server)
    }

    /// What `device` has done.
    pub(crate) fn device(&self, device: u32) -> &DeviceMetrics {
        self.devices.get(device)
    }

    /// When the last byte of a write of `job` came to a device, if any did.
    pub(crate) fn last_commit(&self, job: u16) -> Option<Time> {
        let time = (usize::from(job) < self.committed.len()).then(|| *self.committed.get(u32::from(job)));
        time.filter(|&time| time > Time::ZERO)
    }

    /// The metrics of each tier and job: tier, job, metrics; empty with one tier.
    pub(crate) fn tiers(&self) -> impl Iterator<Item = (u8, u16, TierMetrics)> + use<'_> {
        let jobs = self.jobs.max(1);
        let cells = self.tiers.iter().enumerate();
        cells.map(move |(cell, &metrics)| ((cell / jobs) as u8, (cell % jobs) as u16, metrics))
    }

    /// The stage metrics of each job; empty without a lower tier.
    pub(crate) fn stages(&self) -> impl Iterator<Item = (u16, StageMetrics)> + use<'_> {
        (0..).zip(self.stages.iter().copied())
    }

    /// The metrics of the tier of `server` for `owner`.
    fn tier<M: Mode>(&mut self, parts: &ServerParts, server: u32, owner: u16) -> Option<&mut TierMetrics> {
        let cell = usize::from(parts.params[server as usize].tier) * self.jobs + usize::from(owner);
        let known = usize::from(owner) < self.jobs && cell < self.tiers.len();
        known.then(|| self.tiers.edit::<M>(cell as u32))
    }

    fn stage<M: Mode>(&mut self, owner: u16) -> Option<&mut StageMetrics> {
        let known = usize::from(owner) < self.stages.len();
        known.then(|| self.stages.edit::<M>(u32::from(owner)))
    }
}

impl Observer for Counters {
    #[inline]
    fn empty_request_is_answered<M: Mode>(&mut self, _: &ServerParts, server: u32) {
        self.servers.edit::<M>(server).requests += 1;
    }

    #[inline]
    fn request_has_space<M: Mode>(&mut self, parts: &ServerParts, now: Time, request: u32) {
        let OpenRequest {
            server,
            device,
            arrived,
            ..
        } = *parts.requests.get(request);
        let used = parts.space.used(device);
        if self.devices.get(device).peak_used < used {
            self.devices.edit::<M>(device).peak_used = used;
        }
        let used = parts.used(server);
        let metrics = self.servers.edit::<M>(server);
        metrics.space_wait_ps += u128::from((now - arrived).0);
        metrics.peak_used = metrics.peak_used.max(used);
    }

    #[inline]
    fn request_is_answered<M: Mode>(&mut self, parts: &ServerParts, now: Time, request: u32) {
        let OpenRequest { server, arrived, .. } = *parts.requests.get(request);
        let metrics = self.servers.edit::<M>(server);
        metrics.requests += 1;
        metrics.request_time_ps += u128::from((now - arrived).0);
    }

    #[inline]
    fn write_is_committed<M: Mode>(&mut self, parts: &ServerParts, now: Time, request: u32) {
        let OpenRequest {
            what,
            server,
            device,
            arrived,
            ..
        } = *parts.requests.get(request);
        let metrics = self.devices.edit::<M>(device);
        metrics.commits += 1;
        metrics.commit_ps += u128::from((now - arrived).0);
        // Only writes of clients count, not copies in lower tiers.
        let is_first_tier = parts.params[server as usize].tier == 0;
        if is_first_tier && usize::from(what.header.owner) < self.committed.len() {
            // Servers of one part of the machine may differ in time.
            let last = self.committed.edit::<M>(u32::from(what.header.owner));
            *last = now.max(*last);
        }
    }

    #[inline]
    fn memory_is_granted<M: Mode>(&mut self, parts: &ServerParts, now: Time, piece: u32) {
        let Piece { server, since, .. } = *parts.pieces.get(piece);
        let in_use = parts.memories.bytes_in_use(server);
        let metrics = self.servers.edit::<M>(server);
        metrics.memory_wait_ps += u128::from((now - since).0);
        metrics.peak_memory = metrics.peak_memory.max(in_use);
    }

    #[inline]
    fn access_is_queued<M: Mode>(&mut self, _: &ServerParts, device: u32, accesses: u32) {
        if self.devices.get(device).peak_accesses < accesses {
            self.devices.edit::<M>(device).peak_accesses = accesses;
        }
    }

    #[inline]
    fn access_begins<M: Mode>(&mut self, parts: &ServerParts, now: Time, piece: u32) {
        let Piece { device, since, .. } = *parts.pieces.get(piece);
        self.devices.edit::<M>(device).wait_ps += u128::from((now - since).0);
    }

    #[inline]
    fn access_ends<M: Mode>(&mut self, parts: &ServerParts, now: Time, piece: u32) {
        let Piece {
            request,
            device,
            bytes,
            since,
            kind,
            dead,
            ..
        } = *parts.pieces.get(piece);
        let metrics = self.devices.edit::<M>(device);
        if let Some(since) = parts.queues.busy_since_if_last(device) {
            metrics.busy += now - since;
        }
        metrics.service_ps += u128::from((now - since).0);
        if dead || kind == PieceKind::Fill {
            return;
        }
        if request == NIL {
            metrics.drain_reads += 1;
            metrics.bytes_drained += bytes;
        } else if parts.requests.get(request).what.operation.is_write() {
            metrics.writes += 1;
            metrics.bytes_written += bytes;
        } else {
            metrics.reads += 1;
            metrics.bytes_read += bytes;
        }
    }

    #[inline]
    fn piece_is_delivered<M: Mode>(&mut self, _: &ServerParts, piece: &Piece) {
        self.servers.edit::<M>(piece.server).bytes_read += piece.bytes;
    }

    #[inline]
    fn data_are_received<M: Mode>(&mut self, parts: &ServerParts, piece: &Piece) {
        if let Some(metrics) = self.tier::<M>(parts, piece.server, piece.owner) {
            metrics.received += piece.bytes;
        }
    }

    #[inline]
    fn data_are_found<M: Mode>(&mut self, parts: &ServerParts, piece: &Piece) {
        if parts.params[piece.server as usize].next.is_some()
            && let Some(metrics) = self.tier::<M>(parts, piece.server, piece.owner)
        {
            metrics.hits += piece.bytes;
        }
    }

    fn data_leave<M: Mode>(&mut self, parts: &ServerParts, now: Time, piece: &Piece) {
        if let Some(metrics) = self.tier::<M>(parts, piece.server, piece.owner) {
            // Servers of one part of the machine may differ in time.
            metrics.first_left = Some(metrics.first_left.map_or(now, |first| first.min(now)));
        }
    }

    fn data_are_below<M: Mode>(&mut self, parts: &ServerParts, now: Time, piece: &Piece) {
        let Piece {
            server, owner, bytes, ..
        } = *piece;
        self.servers.edit::<M>(server).bytes_drained += bytes;
        if let Some(metrics) = self.tier::<M>(parts, server, owner) {
            metrics.sent += bytes;
            metrics.last_safe = metrics.last_safe.max(Some(now));
        }
        if parts.stages.stages_out(owner)
            && parts.reserves.has_ended(server, owner)
            && let Some(stage) = self.stage::<M>(owner)
        {
            let is_first_tier = parts.params[server as usize].tier == 0;
            stage.taken_out += if is_first_tier { bytes } else { 0 };
            stage.out_until = stage.out_until.max(Some(now));
        }
    }

    fn data_are_fetched<M: Mode>(&mut self, parts: &ServerParts, piece: &Piece) {
        if let Some(metrics) = self.tier::<M>(parts, piece.server, piece.owner) {
            metrics.fetched += piece.bytes;
        }
    }

    fn data_are_drained<M: Mode>(&mut self, _: &ServerParts, piece: &Piece) {
        self.servers.edit::<M>(piece.server).bytes_drained += piece.bytes;
    }

    fn copy_is_made<M: Mode>(&mut self, parts: &ServerParts, piece: &Piece, bytes: u64, inputs: u64) {
        if let Some(metrics) = self.tier::<M>(parts, piece.server, piece.owner) {
            metrics.filled += bytes;
            metrics.inputs += inputs;
        }
    }

    fn copy_is_evicted<M: Mode>(&mut self, parts: &ServerParts, device: u32, owner: u16, bytes: u64) {
        let server = parts.devices.server_of(device);
        if let Some(metrics) = self.tier::<M>(parts, server, owner) {
            metrics.evicted += bytes;
        }
    }

    fn stage_moves<M: Mode>(&mut self, _: &ServerParts, owner: u16, what: Staged, bytes: u64) {
        if let Some(metrics) = self.stage::<M>(owner) {
            match what {
                Staged::Found => metrics.found += bytes,
                Staged::Left => metrics.left += bytes,
                Staged::Brought => metrics.brought += bytes,
                Staged::ReadAhead => metrics.read_ahead += bytes,
            }
        }
    }
}
