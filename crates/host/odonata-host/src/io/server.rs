//! Storage servers: gives them their inputs and carries out their actions.
//!
//! A pushed piece counts as delivered when its last packet starts on the server's terminal link: the
//! server's memory is free then, and no state of the server changes at the client's.

use crate::Hosts;
use crate::context::HostContext;
use crate::diagnosis::outcome::Failure;
use crate::event::HostEvent;
use crate::io::facts::IoObserver;
use crate::io::lower_tier::Outside;
use crate::params::{HostParams, LedgerParams};
use crate::payload::Payload;
use crate::send::{SendRequest, traffic_of};
use odonata_engine::Time;
use odonata_storage::{
    Action, Actions, BlockedWrite, ClientId, DeviceMetrics, ExtentLocks, FaultMetrics, LOCK, LockMetrics, Losses,
    Metrics, Occupancy, Origin, RequestHeader, RequestLoss, RequestWaits, Requester, ServerCharge, ServerWaitSeries,
    Servers, StorageOperation, StorageRequest, TierContents, TierMetrics,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The storage servers on the nodes of a part, which have numbers of their own there.
#[derive(Debug)]
pub(crate) struct StorageServers {
    servers: Servers,
    /// The numbers of the part's servers on the machine.
    numbers: Arc<[u32]>,
    /// Locks on ranges of objects, by node.
    pub(crate) locks: ExtentLocks,
    /// Empty between events; kept for its memory.
    actions: Actions,
}
odonata_engine::journalled!(StorageServers { servers, locks });

impl StorageServers {
    /// `servers` with these numbers.
    pub(crate) fn new(servers: Servers, numbers: Arc<[u32]>, params: &HostParams) -> Self {
        let outages = |server: u32| params.outages_of(numbers[server as usize]);
        let locks = ExtentLocks::new(servers.measured().len(), params.locks).with_failures(outages);
        StorageServers {
            locks: match params.ledger {
                Some(LedgerParams { jobs, interval }) if params.lost_time => {
                    locks.with_blame(jobs, interval).with_losses()
                }
                Some(LedgerParams { jobs, interval }) => locks.with_blame(jobs, interval),
                None => locks,
            },
            servers,
            numbers,
            actions: Actions::new(),
        }
    }

    /// The number on the machine of a server of the part.
    pub(crate) fn number(&self, local: u32) -> u32 {
        self.numbers[local as usize]
    }

    /// The waits and accesses of requests that the last input began or ended, at the devices and for locks.
    pub(crate) fn take_waits(&mut self) -> (RequestWaits, Vec<RequestLoss>) {
        (self.servers.take_waits(), self.locks.take_losses())
    }

    /// The servers, by the numbers of the part.
    pub(crate) fn servers(&self) -> &Servers {
        &self.servers
    }

    /// What was measured at each server.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = (u32, Metrics)> {
        let servers = (0..).zip(self.numbers.iter());
        servers.map(|(local, &server)| (server, self.servers.measured().metrics(local)))
    }

    /// What failures have cost: server, job.
    pub(crate) fn losses(&self) -> impl Iterator<Item = (u32, u16, Losses)> {
        let losses = self.servers.measured().losses();
        losses.map(|(local, job, losses)| (self.numbers[local as usize], job, losses))
    }

    /// Bytes of files that were removed: server, job.
    pub(crate) fn removed(&self) -> impl Iterator<Item = (u32, u16, u64)> {
        let removed = self.servers.measured().removed();
        removed.map(|(local, job, bytes)| (self.numbers[local as usize], job, bytes))
    }

    /// When devices fail: server, time.
    pub(crate) fn device_failures(&self) -> Vec<(u32, Time)> {
        let times = self.servers.measured().device_failure_times();
        times.map(|(local, _, at)| (self.numbers[local as usize], at)).collect()
    }

    /// Lets those fail that have by `now`, the end of the run.
    pub(crate) fn fail_until(&mut self, now: Time) {
        self.servers.fail_until(now);
        self.locks.fail_until(now);
    }

    /// What was measured of the locks of each server; nothing where there are none.
    pub(crate) fn lock_metrics(&self) -> impl Iterator<Item = (u32, LockMetrics)> {
        self.numbers.iter().copied().zip(self.locks.metrics())
    }

    /// What was measured at each device: server, number of the device there.
    pub(crate) fn devices(&self) -> impl Iterator<Item = (u32, u32, DeviceMetrics)> {
        let servers = (0..).zip(self.numbers.iter());
        servers.flat_map(|(local, &server)| {
            let devices = (0..).zip(self.servers.measured().device_metrics(local));
            devices.map(move |(device, (_, metrics))| (server, device, metrics))
        })
    }

    /// What each tier did here for each job, and where its bytes are.
    pub(crate) fn tiers(&self) -> BTreeMap<(u8, u16), (TierMetrics, TierContents)> {
        let mut all: BTreeMap<_, (TierMetrics, TierContents)> = BTreeMap::new();
        for (tier, job, metrics) in self.servers.measured().tier_metrics() {
            all.entry((tier, job)).or_default().0 = metrics;
        }
        for (name, contents) in self.servers.measured().tier_contents() {
            all.entry(name).or_default().1 = contents;
        }
        all
    }

    /// What faults have cost: server, number of the device there; of those with faults.
    pub(crate) fn faults(&self) -> impl Iterator<Item = (u32, u32, FaultMetrics)> {
        let servers = (0..).zip(self.numbers.iter());
        let all = servers.flat_map(|(local, &server)| {
            let devices = (0..).zip(self.servers.measured().fault_metrics(local));
            devices.map(move |(device, metrics)| (server, device, metrics))
        });
        all.filter(|(_, _, metrics)| metrics.accesses > 0)
    }

    /// Waits at each server, by victim and culprit.
    pub(crate) fn blame(&self) -> impl Iterator<Item = ServerCharge> {
        let locks = self.locks.blame().map(|charge| ServerCharge {
            server: charge.server,
            resource: LOCK,
            victim: charge.victim,
            culprit: charge.culprit,
            time: charge.time,
        });
        self.servers.measured().blame().chain(locks).map(|charge| ServerCharge {
            server: self.numbers[charge.server as usize],
            ..charge
        })
    }

    /// The same over time.
    pub(crate) fn blame_series(&self) -> impl Iterator<Item = ServerWaitSeries> {
        let locks = self.locks.blame_series();
        let locks = locks.map(|(start, victim, culprit, time)| ServerWaitSeries {
            start,
            tier: 0,
            resource: LOCK,
            victim,
            culprit,
            time,
        });
        self.servers.measured().blame_series().chain(locks)
    }

    /// What was in use until `now`, by interval and server.
    pub(crate) fn occupancy(&self, now: Time) -> impl Iterator<Item = (u64, u32, Occupancy)> {
        let sums = self.servers.measured().occupancy(now).into_iter();
        sums.map(|((bin, server), sum)| (bin, self.numbers[server as usize], sum))
    }

    /// Time in which devices served requests of `job`, in ps.
    pub(crate) fn device_time_ps(&self, job: u16) -> u128 {
        self.servers.measured().device_time_ps(job)
    }

    /// When the last byte of a write of `job` came to a device here.
    pub(crate) fn last_commit(&self, job: u16) -> Option<Time> {
        self.servers.measured().last_commit(job)
    }

    /// The writes that wait for space, with the numbers of their servers.
    pub(crate) fn blocked_writes(&self) -> impl Iterator<Item = (u32, BlockedWrite)> {
        let writes = self.servers.measured().blocked_writes();
        writes.map(|write| (self.numbers[write.server as usize], write))
    }

    /// Charges the open waits at `now`, the end of the run.
    pub(crate) fn charge_open_waits(&mut self, now: Time) {
        self.servers.charge_open_waits(now);
        self.locks.charge_open_waits(now);
    }

    /// Checks that nothing is under way.
    ///
    /// # Errors
    /// Says what is.
    pub(crate) fn audit(&self) -> Result<(), String> {
        self.locks.audit()?;
        self.servers.measured().audit()
    }
}

impl Hosts {
    /// Gives an input to the servers and carries out their actions. None of these is an input itself,
    /// so that one list of actions, used again and again, is enough.
    pub(crate) fn serve<C: HostContext>(&mut self, ctx: &mut C, input: impl FnOnce(&mut Servers, &mut Actions)) {
        let mut actions = std::mem::take(&mut self.io.servers.actions);
        input(&mut self.io.servers.servers, &mut actions);
        self.servers_have_worked::<C>(ctx.now());
        let mut ended = Vec::new();
        for action in actions.drain(..) {
            if let Action::Respond { lock, .. } | Action::GivenUp { lock, .. } = action {
                ended.extend(lock);
            }
            self.carry_out(ctx, action);
        }
        self.io.servers.actions = actions;
        // What has ended lets others begin, which cannot end at the same instant.
        for holder in ended {
            self.lock_ended(ctx, holder);
        }
    }

    fn carry_out<C: HostContext>(&mut self, ctx: &mut C, action: Action) {
        let control = self.params.io_control_message.0;
        if let Some(request) = action.request() {
            self.io_observer().server_acts(request, ctx.now());
        }
        let number = |local: u32| self.io.servers.numbers[local as usize];
        match action {
            Action::Pull {
                server,
                slot,
                header,
                bytes,
            } => {
                let server = number(server);
                let RequestHeader { client, owner, .. } = header;
                let pull = Payload::Pull {
                    server,
                    header,
                    piece: slot,
                    bytes,
                };
                self.send_to_client(ctx, server, client, (owner, control), pull);
            }
            Action::Push {
                server,
                slot,
                header,
                bytes,
            } => {
                let server = number(server);
                let RequestHeader { client, owner, .. } = header;
                let data = Payload::ReadData {
                    server,
                    header,
                    piece: slot,
                };
                self.send_to_client(ctx, server, client, (owner, bytes), data);
            }
            Action::Respond {
                server, header, lost, ..
            } => {
                let server = number(server);
                let RequestHeader { client, owner, .. } = header;
                let response = Payload::Response { server, header, lost };
                self.send_to_client(ctx, server, client, (owner, control), response);
            }
            Action::DeviceBegins { server, slot, at } => {
                let (server, piece) = (number(server), slot);
                ctx.schedule(self.layout.server(server).lp, at, HostEvent::DeviceBegins { piece });
            }
            Action::DeviceDone { server, slot, at } => {
                let (server, piece) = (number(server), slot);
                ctx.schedule(self.layout.server(server).lp, at, HostEvent::DeviceDone { piece });
            }
            Action::DrainUntil { server, at } => {
                let server = number(server);
                ctx.schedule(self.layout.server(server).lp, at, HostEvent::DrainDone { server });
            }
            Action::CachesWritten { server, slot, at } => {
                let (server, sync) = (number(server), slot);
                ctx.schedule(self.layout.server(server).lp, at, HostEvent::CachesWritten { sync });
            }
            Action::AskLowerTier {
                server,
                origin,
                owner,
                operation,
                object,
                offset,
                bytes,
            } => self.ask_lower_tier(ctx, (server, origin), owner, operation, (object, offset, bytes)),
            Action::Impossible {
                server,
                header,
                bytes,
                capacity,
            } => {
                let failure = Failure::Impossible {
                    client: header.client,
                    server: number(server),
                    bytes,
                    capacity,
                };
                self.fail(ctx, failure);
            }
            // Its lock is given back by the caller; the client finds out itself.
            Action::GivenUp { .. } => {}
            Action::Lost {
                server,
                header,
                offset,
                bytes,
            } => {
                let failure = Failure::Lost {
                    client: header.client,
                    server: number(server),
                    offset,
                    bytes,
                };
                self.fail(ctx, failure);
            }
            Action::Unwritten {
                server,
                header,
                offset,
                bytes,
            } => {
                let failure = Failure::Unwritten {
                    client: header.client,
                    server: number(server),
                    offset,
                    bytes,
                };
                self.fail(ctx, failure);
            }
        }
    }

    /// Sends a message of so many bytes from `server` to `client`, for job `owner`.
    pub(crate) fn send_to_client<C: HostContext>(
        &mut self,
        ctx: &mut C,
        server: u32,
        client: ClientId,
        (owner, bytes): (u16, u64),
        payload: Payload,
    ) {
        // Data of an object server outside, and their latency, are a matter of the client's link.
        let (bytes, software) = match self.way_outside(server) {
            None => (bytes, Time::ZERO),
            Some(Outside { latency, .. }) => {
                let answers = matches!(payload, Payload::Response { .. });
                let control = self.params.io_control_message.0;
                (bytes.min(control), if answers { latency } else { Time::ZERO })
            }
        };
        let request = SendRequest {
            created: ctx.now(),
            source: self.layout.endpoint_of_server(server),
            target: self.layout.endpoint_of_client(client),
            bytes,
            traffic: traffic_of(owner, true),
            payload,
            software,
            notify_sent: matches!(payload, Payload::ReadData { .. }),
            notify_arrived: true,
        };
        self.send(ctx, request);
    }

    /// A request has arrived at `server`.
    pub(crate) fn request_arrived<C: HostContext>(&mut self, ctx: &mut C, server: u32, request: StorageRequest) {
        let header = request.header;
        if let StorageOperation::Metadata(call) = request.operation {
            self.metadata_call_arrived(ctx, server, header, (call, request.object));
            return;
        }
        self.io_observer().request_arrives::<C>(header);
        let (now, local) = (ctx.now(), self.layout.server(server).local);
        let accesses = matches!(
            request.operation,
            StorageOperation::Read { .. } | StorageOperation::Write
        );
        // Servers of the upper tier share no range.
        let of_a_rank = matches!(header.client.requester(), Requester::Rank(_));
        if accesses && of_a_rank && request.bytes > 0 && self.io.servers.locks.settings().is_some() {
            if self.server_hears::<C>(now, local, header.owner) {
                self.lock_extent(ctx, server, request);
            }
            return;
        }
        self.serve(ctx, |servers, actions| {
            servers.request::<C>(now, local, (request, None), actions);
        });
    }

    /// Whether `server` hears, at its number in the part, what comes for job `owner`.
    pub(crate) fn server_hears<C: HostContext>(&mut self, now: Time, local: u32, owner: u16) -> bool {
        self.io.servers.servers.hears::<C>(now, local, owner)
    }

    /// Whether something is under way at `server`.
    pub(crate) fn is_server_busy(&self, server: u32) -> bool {
        self.io
            .servers
            .servers
            .measured()
            .is_busy(self.layout.server(server).local)
    }

    /// A device of `server` fails.
    pub(crate) fn device_fails<C: HostContext>(&mut self, ctx: &mut C, server: u32) {
        let (now, local) = (ctx.now(), self.layout.server(server).local);
        self.serve(ctx, |servers, actions| servers.device_fails::<C>(now, local, actions));
    }

    /// The piece that `origin` waits for has arrived.
    pub(crate) fn state_piece_arrival<C: HostContext>(&mut self, origin: Origin) {
        let servers = self.io.servers.servers.measured();
        self.observers.lost.piece_arrives::<C>(|| servers.request_of(origin));
    }

    /// Job `owner` has ended, as `server` hears now.
    pub(crate) fn job_end_arrived<C: HostContext>(&mut self, ctx: &mut C, server: u32, owner: u16) {
        let (now, local) = (ctx.now(), self.layout.server(server).local);
        self.serve(ctx, |servers, actions| {
            servers.job_ended::<C>(now, local, owner, actions)
        });
    }

    /// The caches that synchronization `slot` waits for are written out.
    pub(crate) fn caches_written<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        let now = ctx.now();
        self.serve(ctx, |servers, actions| servers.caches_written::<C>(now, slot, actions));
    }

    /// A piece of a write has arrived.
    pub(crate) fn write_data_arrived<C: HostContext>(&mut self, ctx: &mut C, piece: u32) {
        let now = ctx.now();
        // Of what goes to a file system outside, the message has other bytes than the piece.
        let bytes = self.io.servers.servers.measured().piece_bytes(piece);
        self.state_piece_arrival::<C>(Origin::Piece(piece));
        self.serve(ctx, |servers, actions| {
            servers.piece_arrived::<C>(now, piece, bytes, actions)
        });
    }

    /// A piece of a read has left.
    pub(crate) fn read_data_sent<C: HostContext>(&mut self, ctx: &mut C, piece: u32) {
        let now = ctx.now();
        self.serve(ctx, |servers, actions| servers.piece_sent::<C>(now, piece, actions));
    }

    /// The turn of a piece has come at its device.
    pub(crate) fn device_begins<C: HostContext>(&mut self, ctx: &mut C, piece: u32) {
        let now = ctx.now();
        self.io.servers.servers.device_begins::<C>(now, piece);
    }

    /// The access of a piece has ended.
    pub(crate) fn device_done<C: HostContext>(&mut self, ctx: &mut C, piece: u32) {
        let now = ctx.now();
        if self.records.timeline.is_on() {
            let (server, access) = self.io.servers.servers.measured().in_service(piece);
            let server = self.io.servers.numbers[server as usize];
            self.records.timeline.add_access::<C>(server, &access, now);
        }
        self.serve(ctx, |servers, actions| servers.device_done::<C>(now, piece, actions));
    }

    /// A block of `server` is safe in the external file system.
    pub(crate) fn drain_done<C: HostContext>(&mut self, ctx: &mut C, server: u32) {
        let (now, number) = (ctx.now(), server);
        let server = self.layout.server(server).local;
        if self.records.timeline.is_on()
            && let Some(transfer) = self.io.servers.servers.measured().in_transfer(server, now)
        {
            self.records.timeline.add_access::<C>(number, &transfer, now);
        }
        self.serve(ctx, |servers, actions| servers.drain_done::<C>(now, server, actions));
    }
}
