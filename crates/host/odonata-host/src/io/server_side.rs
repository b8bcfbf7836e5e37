//! The servers' side of the I/O layer: inputs of storage servers, locks and metadata servers, and their actions, carried
//! out.
//!
//! A pushed piece counts as delivered when its last packet starts on the server's terminal link: the
//! server's memory is free then, and no state of the server changes at the client's. A request that has its lock goes to
//! the storage manager with the number of the lock, which comes back at the end of the request.

use super::facts::{IoObserver, ServerWaits};
use super::lower_tier::Outside;
use super::{Io, IoTurn};
use crate::context::HostContext;
use crate::context::Uses;
use crate::event::HostEvent;
use crate::failure::Failure;
use crate::observe::Observers;
use crate::payload::Payload;
use crate::send::{SendRequest, traffic_of};
use odonata_engine::Time;
use odonata_storage::{
    Action, Actions, Begun, ClientId, MetadataCall, Origin, RequestHeader, Requester, Servers, StorageOperation,
    StorageRequest,
};

impl Io {
    /// Gives an input to the servers and carries out their actions. None of these is an input itself,
    /// so that one list of actions, used again and again, is enough.
    fn serve<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, input: impl FnOnce(&mut Servers, &mut Actions)) {
        let mut actions = std::mem::take(&mut self.servers.actions);
        input(&mut self.servers.servers, &mut actions);
        self.have_worked::<C>(turn.observers, turn.ctx.now());
        let mut ended = Vec::new();
        for action in actions.drain(..) {
            if let Action::Respond { lock, .. } | Action::GivenUp { lock, .. } = action {
                ended.extend(lock);
            }
            self.carry_out(turn, action);
        }
        self.servers.actions = actions;
        // What has ended lets others begin, which cannot end at the same instant.
        for holder in ended {
            self.lock_ended(turn, holder);
        }
    }

    fn carry_out<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, action: Action) {
        let control = self.control_bytes();
        if let Some(request) = action.request() {
            turn.observers.server_acts::<C>(request, turn.ctx.now());
        }
        let number = |local: u32| self.servers.number(local);
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
                self.send_to_client(turn, server, client, (owner, control), pull);
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
                self.send_to_client(turn, server, client, (owner, bytes), data);
            }
            Action::Respond {
                server, header, lost, ..
            } => {
                let server = number(server);
                let RequestHeader { client, owner, .. } = header;
                let response = Payload::Response { server, header, lost };
                self.send_to_client(turn, server, client, (owner, control), response);
            }
            Action::DeviceBegins { server, slot, at } => {
                let (server, piece) = (number(server), slot);
                turn.ctx
                    .schedule(self.layout.server(server).lp, at, HostEvent::DeviceBegins { piece });
            }
            Action::DeviceDone { server, slot, at } => {
                let (server, piece) = (number(server), slot);
                turn.ctx
                    .schedule(self.layout.server(server).lp, at, HostEvent::DeviceDone { piece });
            }
            Action::DrainUntil { server, at } => {
                let server = number(server);
                turn.ctx
                    .schedule(self.layout.server(server).lp, at, HostEvent::DrainDone { server });
            }
            Action::CachesWritten { server, slot, at } => {
                let (server, sync) = (number(server), slot);
                turn.ctx
                    .schedule(self.layout.server(server).lp, at, HostEvent::CachesWritten { sync });
            }
            Action::AskLowerTier {
                server,
                origin,
                owner,
                operation,
                object,
                offset,
                bytes,
            } => self.ask_lower_tier(turn, (server, origin), owner, operation, (object, offset, bytes)),
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
                turn.effects.fails(failure);
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
                turn.effects.fails(failure);
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
                turn.effects.fails(failure);
            }
        }
    }

    /// Sends a message of so many bytes from `server` to `client`, for job `owner`.
    fn send_to_client<C: HostContext>(
        &mut self,
        turn: &mut IoTurn<'_, C>,
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
                let control = self.control_bytes();
                (bytes.min(control), if answers { latency } else { Time::ZERO })
            }
        };
        let request = SendRequest {
            created: turn.ctx.now(),
            source: self.layout.endpoint_of_server(server),
            target: self.layout.endpoint_of_client(client),
            bytes,
            traffic: traffic_of(owner, true),
            payload,
            software,
            notify_sent: matches!(payload, Payload::ReadData { .. }),
            notify_arrived: true,
        };
        turn.transport.send(turn.ctx, turn.observers, request);
    }

    /// A request has arrived at `server`.
    pub(super) fn request_arrived<C: HostContext>(
        &mut self,
        turn: &mut IoTurn<'_, C>,
        server: u32,
        request: StorageRequest,
    ) {
        let header = request.header;
        if let StorageOperation::Metadata(call) = request.operation {
            self.metadata_call_arrived(turn, server, header, (call, request.object));
            return;
        }
        turn.observers.request_arrives::<C>(header);
        let (now, local) = (turn.ctx.now(), self.layout.server(server).local);
        let accesses = matches!(
            request.operation,
            StorageOperation::Read { .. } | StorageOperation::Write
        );
        // Servers of the upper tier share no range.
        let of_a_rank = matches!(header.client.requester(), Requester::Rank(_));
        if accesses && of_a_rank && request.bytes > 0 && self.servers.locks.settings().is_some() {
            if self.server_hears::<C>(now, local, header.owner) {
                self.lock_extent(turn, server, request);
            }
            return;
        }
        self.serve(turn, |servers, actions| {
            servers.request::<C>(now, local, (request, None), actions);
        });
    }

    /// Whether `server` hears, at its number in the part, what comes for job `owner`.
    fn server_hears<C: HostContext>(&mut self, now: Time, local: u32, owner: u16) -> bool {
        self.servers.servers.hears::<C>(now, local, owner)
    }

    /// Whether something is under way at `server`.
    pub(crate) fn is_server_busy(&self, server: u32) -> bool {
        let local = self.layout.server(server).local;
        self.servers.servers.measured().is_busy(local)
    }

    /// A device of `server` fails.
    pub(crate) fn device_fails<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, server: u32) {
        let (now, local) = (turn.ctx.now(), self.layout.server(server).local);
        self.serve(turn, |servers, actions| servers.device_fails::<C>(now, local, actions));
    }

    /// The piece that `origin` waits for has arrived.
    fn state_piece_arrival<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, origin: Origin) {
        let servers = self.servers.servers.measured();
        turn.observers.piece_arrives::<C>(|| servers.request_of(origin));
    }

    /// Job `owner` has ended, as `server` hears now.
    pub(super) fn job_end_arrived<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, server: u32, owner: u16) {
        let (now, local) = (turn.ctx.now(), self.layout.server(server).local);
        self.serve(turn, |servers, actions| {
            servers.job_ended::<C>(now, local, owner, actions)
        });
    }

    /// The caches that synchronization `slot` waits for are written out.
    pub(crate) fn caches_written<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, slot: u32) {
        let now = turn.ctx.now();
        self.serve(turn, |servers, actions| servers.caches_written::<C>(now, slot, actions));
    }

    /// A piece of a write has arrived.
    pub(super) fn write_data_arrived<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, piece: u32) {
        let now = turn.ctx.now();
        // Of what goes to a file system outside, the message has other bytes than the piece.
        let bytes = self.servers.servers.measured().piece_bytes(piece);
        self.state_piece_arrival(turn, Origin::Piece(piece));
        self.serve(turn, |servers, actions| {
            servers.piece_arrived::<C>(now, piece, bytes, actions)
        });
    }

    /// A piece of a read has left.
    pub(crate) fn read_data_sent<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, piece: u32) {
        let now = turn.ctx.now();
        self.serve(turn, |servers, actions| servers.piece_sent::<C>(now, piece, actions));
    }

    /// The turn of a piece has come at its device.
    pub(crate) fn device_begins<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, piece: u32) {
        let now = turn.ctx.now();
        self.servers.servers.device_begins::<C>(now, piece);
    }

    /// The access of a piece has ended.
    pub(crate) fn device_done<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, piece: u32) {
        let now = turn.ctx.now();
        if turn.observers.follow_accesses::<C>() {
            let (server, access) = self.servers.servers.measured().in_service(piece);
            let server = self.servers.number(server);
            turn.observers.access_ends::<C>(server, &access, now);
        }
        self.serve(turn, |servers, actions| servers.device_done::<C>(now, piece, actions));
    }

    /// A block of `server` is safe in the external file system.
    pub(crate) fn drain_done<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, server: u32) {
        let (now, number) = (turn.ctx.now(), server);
        let server = self.layout.server(server).local;
        if turn.observers.follow_accesses::<C>()
            && let Some(transfer) = self.servers.servers.measured().in_transfer(server, now)
        {
            turn.observers.access_ends::<C>(number, &transfer, now);
        }
        self.serve(turn, |servers, actions| servers.drain_done::<C>(now, server, actions));
    }

    /// The lower tier has answered what `origin` asked for.
    pub(super) fn lower_tier_answered<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, origin: Origin, lost: bool) {
        self.state_piece_arrival(turn, origin);
        let now = turn.ctx.now();
        self.serve(turn, |servers, actions| {
            servers.lower_tier_answered::<C>(now, origin, lost, actions);
        });
    }

    /// Asks for the lock that `request` needs at `server`, and goes on with the request or waits.
    fn lock_extent<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, server: u32, request: StorageRequest) {
        let now = turn.ctx.now();
        let RequestHeader { client, owner, .. } = request.header;
        let node = self.layout.endpoint_of_client(client).node;
        let local = self.layout.server(server).local;
        let mut ask = Vec::new();
        let holder = (self.servers.locks).request::<C>(now, local, request, node, &mut ask);
        for client in ask {
            let revoke = Payload::LockRevoke {
                server,
                client,
                owner,
                holder,
            };
            let control = self.control_bytes();
            self.send_to_client(turn, server, client, (owner, control), revoke);
        }
        if !self.servers.locks.waits(holder) {
            self.lock_granted(turn, holder);
        }
    }

    /// A lock has come back from `client` that request `holder`, of job `owner`, waits for.
    pub(super) fn lock_returned<C: HostContext>(
        &mut self,
        turn: &mut IoTurn<'_, C>,
        holder: u32,
        (client, owner): (ClientId, u16),
    ) {
        let had_it = match client.requester() {
            Requester::Rank(rank) => self.layout.place(rank).job,
            Requester::Server(_) => owner,
        };
        if self.servers.locks.revoked::<C>(turn.ctx.now(), holder, had_it) {
            self.have_worked::<C>(turn.observers, turn.ctx.now());
            self.lock_granted(turn, holder);
        }
    }

    /// The request with lock `holder` has ended.
    fn lock_ended<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, holder: u32) {
        let mut next = Vec::new();
        self.servers.locks.finished::<C>(turn.ctx.now(), holder, &mut next);
        self.have_worked::<C>(turn.observers, turn.ctx.now());
        for holder in next {
            self.lock_granted(turn, holder);
        }
    }

    fn lock_granted<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, holder: u32) {
        let (server, request) = self.servers.locks.holder(holder);
        if !self.server_hears::<C>(turn.ctx.now(), server, request.header.owner) {
            // No device is left, which the next request finds out in the same way.
            self.lock_ended(turn, holder);
            return;
        }
        let now = turn.ctx.now();
        self.serve(turn, |servers, actions| {
            servers.request::<C>(now, server, (request, Some(holder)), actions);
        });
    }

    /// A call has arrived at `server`.
    fn metadata_call_arrived<C: HostContext>(
        &mut self,
        turn: &mut IoTurn<'_, C>,
        server: u32,
        header: RequestHeader,
        call: (MetadataCall, u64),
    ) {
        let local = self.layout.server(server).local;
        turn.observers.metadata_call_arrives::<C>(header);
        let begun = self.metadata.servers.request::<C>(turn.ctx.now(), local, header, call);
        self.metadata_begun(turn, begun);
    }

    fn metadata_begun<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, begun: Option<Begun>) {
        if let Some(Begun { server, slot, at }) = begun {
            let server = self.metadata.number(server);
            let done = HostEvent::MetadataDone { call: slot };
            turn.ctx.schedule(self.layout.server(server).lp, at, done);
        }
    }

    /// A thread has done call `slot`: answers it.
    pub(crate) fn metadata_done<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, slot: u32) {
        let Some((server, header, begun)) = self.metadata.servers.done::<C>(turn.ctx.now(), slot) else {
            return;
        };
        let server = self.metadata.number(server);
        self.metadata_begun(turn, begun);
        turn.observers.metadata_call_ends::<C>(header, turn.ctx.now());
        let answer = Payload::Response {
            server,
            header,
            lost: false,
        };
        let control = self.control_bytes();
        self.send_to_client(turn, server, header.client, (header.owner, control), answer);
    }

    /// The servers have handled an input: passes on what they have recorded of single requests.
    #[inline(always)]
    pub(crate) fn have_worked<M: Uses>(&mut self, observers: &mut Observers, now: Time) {
        if observers.ask_for_tags::<M>() {
            self.pass_on_waits::<M>(observers, now);
        }
    }

    #[inline(never)]
    fn pass_on_waits<M: Uses>(&mut self, observers: &mut Observers, now: Time) {
        let (storage, locks) = self.servers.take_waits();
        let waits = ServerWaits {
            storage,
            locks,
            metadata: self.metadata.take_losses(),
        };
        let (servers, metadata) = (&self.servers, &self.metadata);
        observers.servers_have_worked::<M>(
            now,
            &waits,
            [&|local| servers.number(local), &|local| metadata.number(local)],
        );
    }
}
