//! The storage manager: space, memory and pipelining, after the burst-buffer server of the MFNetSim study. `service.rs` has the
//! device queues, `drain.rs` the drain.

use crate::blame::{Books, LINES, MEMORY, SPACE, line};
use crate::contents::Contents;
use crate::device_failure::DeviceFailures;
use crate::device_queues::DeviceQueues;
use crate::devices::Devices;
use crate::failure::{Asked, Failures};
use crate::lower_tier::LowerTiers;
use crate::memory::MemoryPools;
use crate::occupancy::OccupancySeries;
use crate::open_request::{OpenRequest, Piece, Wait};
use crate::remove::Removals;
use crate::server::{DrainStage, Space};
use crate::settings::Acknowledge;
use crate::sharing::Turns;
use crate::stage::Stages;
use crate::sync::Syncs;
use crate::{
    Action, Actions, DeviceMetrics, FaultPeriod, Metrics, ParamsError, ServerParams, StorageOperation, StorageRequest,
};
use odonata_engine::{Mode, Pool, Store, journalled};
use odonata_units::Time;

/// A set of storage servers, numbered from 0.
///
/// All mutable state is journalled. Every input is generic over the [`Mode`], so that an input made under
/// [`Speculative`](odonata_engine::Speculative) can be undone.
#[derive(Debug)]
pub struct Servers {
    pub(crate) params: Vec<ServerParams>,
    /// Number of tiers of servers on the whole machine.
    pub(crate) tiers: u8,
    pub(crate) requests: Pool<OpenRequest>,
    pub(crate) pieces: Pool<Piece>,
    /// Per device, as are `queues` and `device_metrics`.
    pub(crate) spaces: Store<Space>,
    pub(crate) queues: DeviceQueues,
    pub(crate) devices: Devices,
    pub(crate) device_metrics: Store<DeviceMetrics>,
    pub(crate) memories: MemoryPools,
    pub(crate) drains: Store<DrainStage>,
    pub(crate) metrics: Store<Metrics>,
    /// When the last byte of a write of each job came to a device.
    pub(crate) committed: Store<Time>,
    pub(crate) turns: Turns,
    pub(crate) contents: Contents,
    pub(crate) lower_tiers: LowerTiers,
    pub(crate) syncs: Syncs,
    pub(crate) removals: Removals,
    pub(crate) stages: Stages,
    pub(crate) occupancy: OccupancySeries,
    pub(crate) books: Books,
    pub(crate) failures: Failures,
    pub(crate) device_failures: DeviceFailures,
    /// Whether the delays due to device faults are charged to the faults.
    pub(crate) charges_faults: bool,
}
journalled!(Servers {
    requests,
    pieces,
    spaces,
    queues,
    devices,
    device_metrics,
    memories,
    drains,
    metrics,
    committed,
    turns,
    contents,
    lower_tiers,
    syncs,
    removals,
    stages,
    occupancy,
    books,
    failures,
    device_failures
});

impl Servers {
    /// One server per element of `params`, all empty and idle.
    ///
    /// # Errors
    /// The first server whose parameters [cannot work](ServerParams::check), and the reason.
    pub fn new(params: Vec<ServerParams>) -> Result<Self, (u32, ParamsError)> {
        for (server, params) in (0..).zip(&params) {
            params.check().map_err(|why| (server, why))?;
        }
        let n = params.len();
        let (devices, lower_tiers) = (Devices::new(&params), LowerTiers::new(&params));
        let memories = MemoryPools::new(&params);
        let all = devices.len() as usize;
        Ok(Servers {
            params,
            tiers: 1,
            requests: Pool::new(),
            pieces: Pool::new(),
            spaces: Store::filled(all, Space::default()),
            queues: DeviceQueues::new(all),
            devices,
            device_metrics: Store::filled(all, DeviceMetrics::default()),
            memories,
            drains: Store::filled(n, DrainStage::default()),
            metrics: Store::filled(n, Metrics::default()),
            committed: Store::new(),
            turns: Turns::off(),
            contents: Contents::new(n, 0),
            lower_tiers,
            syncs: Syncs::new(n),
            removals: Removals::new(),
            stages: Stages::off(),
            occupancy: OccupancySeries::off(),
            books: Books::off(),
            failures: Failures::none(),
            device_failures: DeviceFailures::none(),
            charges_faults: false,
        })
    }

    /// Adds faults: `of` returns those of a device of a server, both counted from 0.
    pub fn with_faults(mut self, of: impl Fn(u32, u32) -> Vec<FaultPeriod>) -> Self {
        self.devices.set_faults(of);
        self
    }

    /// Lets jobs with these weights share the servers as [`Sharing`](crate::settings::Sharing) says. Otherwise, service is first
    /// come, first served, and commit times of jobs are not recorded.
    pub fn shared_by(mut self, weights: &[f64]) -> Self {
        self.committed = Store::filled(weights.len(), Time::ZERO);
        self.contents = Contents::new(self.params.len(), weights.len());
        let fair = |params: &ServerParams| params.manager.sharing != Default::default();
        if self.params.iter().any(fair) {
            self.turns = Turns::new(self.devices.len() as usize * LINES as usize, weights);
        }
        self
    }

    /// A request arrives at `server`, with the number of its lock if it has one. A server that is away ignores it.
    ///
    /// # Panics
    /// The request is a metadata call, which only [`MetadataServers`](crate::MetadataServers) answer.
    pub fn request<M: Mode>(
        &mut self,
        now: Time,
        server: u32,
        (request, lock): (StorageRequest, Option<u32>),
        actions: &mut Actions,
    ) {
        if !self.hears::<M>(now, server, request.header.owner) {
            return;
        }
        match request.operation {
            StorageOperation::Read { .. } | StorageOperation::Write => {
                self.admit::<M>(now, server, (request, lock), actions);
            }
            StorageOperation::Stage => self.stage_in::<M>(now, server, request, actions),
            StorageOperation::Sync { .. } => self.sync::<M>(now, server, request, actions),
            StorageOperation::Remove => self.remove::<M>(now, server, request, actions),
            StorageOperation::Metadata(call) => unreachable!("{call:?} at a storage server"),
        }
    }

    /// A read or write arrives at `server`.
    ///
    /// A write first reserves all its space. It waits behind every earlier write to the same device, whatever its size. A read
    /// starts at once. An empty request is answered at once.
    fn admit<M: Mode>(
        &mut self,
        now: Time,
        server: u32,
        (what, lock): (StorageRequest, Option<u32>),
        actions: &mut Actions,
    ) {
        let StorageRequest {
            header, offset, bytes, ..
        } = what;
        let write = what.operation.is_write();
        if bytes == 0 {
            self.metrics.edit::<M>(server).requests += 1;
            actions.push(Action::answer(server, header));
            return;
        }
        let device = self.device_for(now, server, bytes);
        let capacity = self.devices.capacity(device);
        let passes_by = write && self.passes_by(server);
        if write && !passes_by && bytes > capacity {
            actions.push(Action::Impossible {
                server,
                header,
                bytes,
                capacity,
            });
            return;
        }
        let asked = self.asks_for_lost::<M>(server, &what);
        if asked == Asked::Refused {
            actions.push(Action::Lost {
                server,
                header,
                offset,
                bytes,
            });
            return;
        }
        let device = if write {
            device
        } else if let Some(device) = self.device_of_read(server, &what, device) {
            device
        } else {
            actions.push(Action::Unwritten {
                server,
                header,
                offset,
                bytes,
            });
            return;
        };
        let write_back = write && self.params[server as usize].manager.acknowledge == Acknowledge::Memory;
        let mut request = OpenRequest::new(now, (server, device), what);
        (request.lock, request.write_back, request.lost) = (lock, write_back, asked == Asked::Told);
        let request = self.requests.allocate::<M>(request);
        if write && !passes_by {
            let space = self.spaces.edit::<M>(device);
            space.reservations.push::<M, _>(&mut self.requests, request);
            self.set_wait::<M>(now, request, Wait::Space);
            self.reserve::<M>(now, device, actions);
            self.feed_drain::<M>(now, server, actions);
        } else {
            self.issue::<M>(now, request, actions);
            if !write {
                self.read_ahead::<M>(now, server, &what, actions);
            }
        }
        self.note_occupancy::<M>(now, server);
    }

    /// The piece in `slot`, requested with [`Action::Pull`], has arrived from its client with `bytes` bytes, which must equal the
    /// requested length.
    pub fn piece_arrived<M: Mode>(&mut self, now: Time, slot: u32, bytes: u64, actions: &mut Actions) {
        if self.is_dead::<M>(now, slot) {
            self.bury::<M>(now, slot, actions);
            return;
        }
        let request = self.pieces.get(slot).request;
        debug_assert_eq!(
            self.pieces.get(slot).bytes,
            bytes,
            "a piece arrives as it was asked for"
        );
        debug_assert!(self.requests.get(request).what.operation.is_write(), "only writes pull");
        let server = self.pieces.get(slot).server;
        if !self.passes_by(server) {
            self.store_in_memory::<M>(slot);
        }
        if self.requests.get(request).write_back {
            let cell = self.requests.edit::<M>(request);
            cell.in_flight -= 1;
            cell.received += bytes;
            if cell.received == cell.what.bytes {
                self.answer::<M>(now, request, actions);
                self.acknowledged_early::<M>(request);
            }
            self.go_on::<M>(now, slot, actions);
            self.issue::<M>(now, request, actions);
        } else {
            self.go_on::<M>(now, slot, actions);
        }
        self.note_occupancy::<M>(now, server);
    }

    /// The piece in `slot`, sent with [`Action::Push`], has been delivered to its client.
    pub fn piece_sent<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        if self.is_dead::<M>(now, slot) {
            self.bury::<M>(now, slot, actions);
            return;
        }
        let piece = *self.pieces.get(slot);
        debug_assert!(
            !self.requests.get(piece.request).what.operation.is_write(),
            "only reads push"
        );
        self.metrics.edit::<M>(piece.server).bytes_read += piece.bytes;
        self.finish_piece::<M>(now, slot, actions);
        self.keep_copy::<M>(now, &piece, actions);
        self.note_occupancy::<M>(now, piece.server);
    }

    /// The request that gets space on `device` next, if any waits.
    pub(crate) fn first_reservation(&self, device: u32) -> Option<u32> {
        let sharing = self.params[self.devices.server_of(device) as usize].manager.sharing;
        let waiting = &self.spaces.get(device).reservations;
        self.turns.first(sharing, line(device, SPACE), waiting, &self.requests)
    }

    /// Gives space to the waiting requests in their turn, until one does not fit.
    pub(crate) fn reserve<M: Mode>(&mut self, now: Time, device: u32, actions: &mut Actions) {
        let capacity = self.devices.capacity(device);
        while let Some(request) = self.first_reservation(device) {
            let OpenRequest {
                what, arrived, server, ..
            } = *self.requests.get(request);
            // `used` never exceeds the capacity, so that the difference cannot wrap; a sum could.
            let free = capacity - self.spaces.get(device).used;
            let needs = self.needs(device, &what);
            if needs > free {
                // Eviction may take ranges for which the request itself needs no space.
                if self.evict::<M>(device, needs - free) == 0 {
                    break;
                }
                continue;
            }
            let sharing = self.params[server as usize].manager.sharing;
            let mut waiting = self.spaces.get(device).reservations;
            let line = line(device, SPACE);
            self.turns.pop::<M, _>(sharing, line, &mut waiting, &mut self.requests);
            self.spaces.edit::<M>(device).reservations = waiting;
            self.claim::<M>(device, &what);
            let used = self.spaces.get(device).used;
            if self.device_metrics.get(device).peak_used < used {
                self.device_metrics.edit::<M>(device).peak_used = used;
            }
            let used = self.used(server);
            let metrics = self.metrics.edit::<M>(server);
            metrics.space_wait_ps += u128::from((now - arrived).0);
            metrics.peak_used = metrics.peak_used.max(used);
            self.set_wait::<M>(now, request, Wait::Nothing);
            self.issue::<M>(now, request, actions);
            // The replaced range may have freed space on another device.
            if self.is_indexed(server) {
                for other in self.devices.of(server).filter(|&other| other != device) {
                    if self.first_reservation(other).is_some() {
                        self.settle_space::<M>(now, other, what.header.owner);
                        self.reserve::<M>(now, other, actions);
                    }
                }
            }
        }
    }

    /// Makes pieces of `request` up to the pipelining factor or its end. Each piece requests memory.
    pub(crate) fn issue<M: Mode>(&mut self, now: Time, request: u32, actions: &mut Actions) {
        loop {
            let OpenRequest {
                what,
                server,
                device,
                in_flight,
                issued,
                stages,
                removed,
                ..
            } = *self.requests.get(request);
            let params = &self.params[server as usize];
            if in_flight == params.manager.pieces_in_flight || issued == what.bytes {
                self.reconsider::<M>(now, request);
                return;
            }
            let mut bytes = params.block().min(what.bytes - issued);
            if params.next.is_some() && !what.operation.is_write() && params.manager.extents {
                let start = what.offset.saturating_add(issued);
                let (run, here) = self.run_of(server, what.object, start..start.saturating_add(bytes));
                if here && stages {
                    self.found_here::<M>(request, run);
                    continue;
                }
                bytes = run;
                if !here
                    && !stages
                    && let Some(end) = self.comes_until(server, what.object, start)
                {
                    bytes = bytes.min(end - start);
                }
            }
            let params = &self.params[server as usize];
            let (object, offset) = if params.manager.object_per_file {
                (what.object, what.offset + issued)
            } else {
                (0, issued)
            };
            let cell = self.requests.edit::<M>(request);
            cell.in_flight += 1;
            cell.issued += bytes;
            let place = (server, device);
            let mut piece = Piece::new(now, place, (request, what.header.owner), object, offset, bytes);
            piece.removed = removed;
            let piece = self.pieces.allocate::<M>(piece);
            self.want_memory::<M>(now, server, piece, actions);
        }
    }

    fn want_memory<M: Mode>(&mut self, now: Time, server: u32, piece: u32, actions: &mut Actions) {
        // A returned block goes to the next piece in line at once: no piece waits while a block is free.
        if self.memories.has_free_block(server) {
            let Piece { owner, bytes, .. } = *self.pieces.get(piece);
            let sharing = self.params[server as usize].manager.sharing;
            let line = line(self.devices.of(server).start, MEMORY);
            self.turns.charge::<M>(sharing, line, owner, bytes);
            self.grant_memory::<M>(now, server, piece, actions);
        } else {
            self.memories.wait::<M>(server, piece, &mut self.pieces);
            let request = self.pieces.get(piece).request;
            self.requests.edit::<M>(request).at_memory += 1;
        }
    }

    fn grant_memory<M: Mode>(&mut self, now: Time, server: u32, slot: u32, actions: &mut Actions) {
        let Piece {
            request, bytes, since, ..
        } = *self.pieces.get(slot);
        let in_use = self.memories.take::<M>(server);
        let metrics = self.metrics.edit::<M>(server);
        metrics.memory_wait_ps += u128::from((now - since).0);
        metrics.peak_memory = metrics.peak_memory.max(in_use);
        let OpenRequest { what, stages, .. } = *self.requests.get(request);
        if what.operation.is_write() {
            actions.push(Action::Pull {
                server,
                slot,
                header: what.header,
                bytes,
            });
        } else if stages {
            self.fetch_stage::<M>(now, slot, actions);
        } else if self.is_in_lower_tier(slot) {
            if !self.waits_for_stage::<M>(slot) {
                self.ask_lower_tier::<M>(now, slot, false, actions);
            }
        } else {
            self.count_hit::<M>(slot);
            if self.is_in_memory(slot) {
                self.push_piece(slot, actions);
            } else {
                self.touch::<M>(slot);
                self.join_device::<M>(now, slot, actions);
            }
        }
    }

    /// Sends a piece of a read, which is in memory, to its client.
    pub(crate) fn push_piece(&self, slot: u32, actions: &mut Actions) {
        let Piece {
            server, request, bytes, ..
        } = *self.pieces.get(slot);
        actions.push(Action::Push {
            server,
            slot,
            header: self.requests.get(request).what.header,
            bytes,
        });
    }

    /// A piece is written or delivered: its memory goes to the next piece in line, and its request continues.
    pub(crate) fn finish_piece<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let Piece {
            server,
            request,
            bytes,
            owner,
            ..
        } = *self.pieces.get(slot);
        self.pieces.free::<M>(slot);

        // Waiting pieces come before the next piece of this request, which has had its turn.
        self.release_memory::<M>(now, server, owner, actions);

        let cell = self.requests.edit::<M>(request);
        cell.in_flight -= u32::from(!cell.write_back);
        cell.done += bytes;
        let OpenRequest {
            what,
            device,
            done,
            arrived,
            answered,
            stages,
            ..
        } = *cell;
        if done < what.bytes {
            self.issue::<M>(now, request, actions);
            if stages {
                self.end_stage_without_pieces::<M>(now, request, actions);
            }
            return;
        }
        if what.operation.is_write() {
            let metrics = self.device_metrics.edit::<M>(device);
            metrics.commits += 1;
            metrics.commit_ps += u128::from((now - arrived).0);
            // Only writes of clients count, not copies in lower tiers.
            let first_tier = self.params[server as usize].tier == 0;
            if first_tier && usize::from(what.header.owner) < self.committed.len() {
                // Servers of one part of the machine may differ in time.
                let last = self.committed.edit::<M>(u32::from(what.header.owner));
                *last = now.max(*last);
            }
        }
        if stages && answered {
            // A read-ahead has no client to answer.
        } else if answered {
            self.committed_at_last::<M>(now, request, actions);
        } else {
            self.answer::<M>(now, request, actions);
        }
        self.requests.free::<M>(request);
    }

    /// A block of memory of `owner` goes to the next piece in line.
    pub(crate) fn release_memory<M: Mode>(&mut self, now: Time, server: u32, owner: u16, actions: &mut Actions) {
        self.settle_memory::<M>(now, server, owner);
        let sharing = self.params[server as usize].manager.sharing;
        let line = line(self.devices.of(server).start, MEMORY);
        let mut waiting = self.memories.waiting(server);
        let next = self.turns.pop::<M, _>(sharing, line, &mut waiting, &mut self.pieces);
        self.memories.give_back::<M>(server, waiting);
        if let Some(piece) = next {
            let waiter = self.pieces.get(piece).request;
            self.requests.edit::<M>(waiter).at_memory -= 1;
            self.reconsider::<M>(now, waiter);
            self.grant_memory::<M>(now, server, piece, actions);
        }
    }

    /// Answers the client: its request is complete.
    pub(crate) fn answer<M: Mode>(&mut self, now: Time, request: u32, actions: &mut Actions) {
        let cell = self.requests.edit::<M>(request);
        cell.answered = true;
        let OpenRequest {
            what,
            lock,
            server,
            arrived,
            lost,
            ..
        } = *cell;
        self.reconsider::<M>(now, request);
        let metrics = self.metrics.edit::<M>(server);
        metrics.requests += 1;
        metrics.request_time_ps += u128::from((now - arrived).0);
        actions.push(Action::Respond {
            server,
            header: what.header,
            lock,
            bytes: what.bytes,
            lost,
        });
    }
}
