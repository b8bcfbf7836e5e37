//! The client's side of the I/O layer: effects of the storage client, carried out, and messages that arrive at clients.

use super::client::{Client, Completed, Effect, Effects, Timer, Waiter};
use super::facts::IoObserver;
use super::lower_tier::{Outside, object_on};
use super::{Io, IoTurn};
use crate::context::HostContext;
use crate::event::HostEvent;
use crate::failure::Failure;
use crate::io::client::{NewRequest, RequestPart};
use crate::payload::Payload;
use crate::send::{SendRequest, traffic_of};
use odonata_engine::Time;
use odonata_storage::{ClientId, Origin, RequestHeader, Requester, StorageOperation};

impl Io {
    /// Gives an input to the storage client and carries out its effects, which may lead to further inputs.
    fn ask_client<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, input: impl FnOnce(&mut Client, &mut Effects)) {
        let mut effects = self.spare_effects.pop().unwrap_or_default();
        input(&mut self.client, &mut effects);
        self.carry_out_requests(turn, effects);
    }

    /// Carries out effects of the client, and keeps the memory of their list.
    pub(super) fn carry_out_requests<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, mut effects: Effects) {
        for effect in effects.drain(..) {
            self.carry_out_request(turn, effect);
        }
        self.spare_effects.push(effects);
    }

    fn carry_out_request<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, effect: Effect) {
        match effect {
            Effect::Send { server, request } => {
                let RequestHeader { client, owner, .. } = request.header;
                let payload = Payload::Request { server, request };
                self.send_to_server(
                    turn,
                    (client, server),
                    (owner, self.control_bytes()),
                    payload,
                    Time::ZERO,
                );
            }
            Effect::SendData {
                server,
                header,
                piece,
                bytes,
            } => self.send_write_data(turn, server, header, (piece, bytes)),
            Effect::Wake { client, at, timer } => {
                let event = match timer {
                    Timer::Timeout { attempt } => HostEvent::ClientTimeout { attempt },
                    Timer::Retry { part } => HostEvent::ClientRetry { part },
                };
                turn.ctx.schedule(self.layout.endpoint_of_client(client).lp, at, event);
            }
            Effect::TimedOut {
                server,
                owner,
                sent,
                next,
            } => {
                let times = (sent, turn.ctx.now(), next);
                turn.observers.attempt_times_out::<C>(server, owner, times);
            }
            Effect::PartEnded {
                client,
                request,
                attempt,
            } => {
                if let Requester::Server(_) = client.requester() {
                    turn.observers.attempt_ends::<C>(request, attempt);
                }
            }
            Effect::AnsweredLate { client, attempt } => {
                if let Requester::Server(_) = client.requester() {
                    turn.observers.attempt_is_late::<C>(attempt);
                }
            }
            Effect::Complete { completed, .. } => self.request_is_complete(turn, completed),
            Effect::Unanswered {
                client,
                server,
                operation,
                since,
            } => turn.effects.fails(Failure::NoAnswer {
                client,
                server,
                operation,
                since,
            }),
        }
    }

    fn request_is_complete<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, completed: Completed) {
        turn.observers.request_is_complete::<C>(completed.request);
        match completed.waiter {
            Waiter::Call(slot) => {
                let staged = self.ask_calls(turn, |calls, turn| calls.answered::<C>(turn, slot, completed));
                if let Some(rank) = staged {
                    self.file_is_staged(turn, rank);
                }
            }
            Waiter::Server(origin) => self.lower_tier_answered(turn, origin, completed.lost),
        }
    }

    /// A message of a server about request `header` has come to its client, which needs it. A rank needs the data of an attempt even
    /// where it gives the attempt up later; a server does not.
    fn note_arrival<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, header: RequestHeader) {
        let attempt = header.token;
        match header.client.requester() {
            Requester::Rank(_) => {
                let client = &self.client;
                turn.observers.rank_hears::<C>(|| client.request_of(attempt));
            }
            Requester::Server(_) => turn.observers.server_hears_from_below::<C>(attempt),
        }
    }

    /// `server` wants `bytes` bytes of what request `header` writes, as its piece `piece`.
    pub(super) fn pull_arrived<C: HostContext>(
        &mut self,
        turn: &mut IoTurn<'_, C>,
        server: u32,
        header: RequestHeader,
        piece: (u32, u64),
    ) {
        let now = turn.ctx.now();
        self.ask_client(turn, |client, effects| {
            client.pulled::<C>(now, (server, header), piece, effects);
        });
    }

    /// `bytes` bytes of what request `header` reads have arrived.
    fn data_arrived<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, header: RequestHeader, bytes: u64) {
        let now = turn.ctx.now();
        self.note_arrival(turn, header);
        self.ask_client(turn, |client, effects| {
            client.data_arrived::<C>(now, header.token, bytes, effects);
        });
    }

    /// A server has answered request `header`.
    pub(super) fn response_arrived<C: HostContext>(
        &mut self,
        turn: &mut IoTurn<'_, C>,
        header: RequestHeader,
        lost: bool,
    ) {
        self.note_arrival(turn, header);
        self.ask_client(turn, |client, effects| {
            client.answered::<C>(header.token, lost, effects);
        });
    }

    /// A timer of the storage client is due.
    pub(crate) fn client_timer<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, timer: Timer) {
        let now = turn.ctx.now();
        self.ask_client(turn, |client, effects| client.wake::<C>(now, timer, effects));
    }

    /// Asks the lower tier for what `origin` at `server` (its number in the part) waits for.
    pub(super) fn ask_lower_tier<C: HostContext>(
        &mut self,
        turn: &mut IoTurn<'_, C>,
        (server, origin): (u32, Origin),
        owner: u16,
        operation: StorageOperation,
        (object, offset, bytes): (u64, u64, u64),
    ) {
        let (now, server) = (turn.ctx.now(), self.servers.number(server));
        // For a drain, or data that are read ahead, there is no request.
        let request = self.servers.servers().measured().request_of(origin);
        let aside = turn.observers.server_asks_below::<C>(request, now);
        let upper = self.layout.tier_of(server);
        let (place, tier) = (server - self.params.tiers[upper].first, &self.params.tiers[upper + 1]);
        let (first, layout) = (tier.first, tier.layout);
        // The layout of object servers does not use it.
        let home = tier.homes.get(place as usize).copied().unwrap_or(0);
        let what = NewRequest {
            client: ClientId::from(Requester::Server(server)),
            owner,
            operation,
            waiter: Waiter::Server(origin),
            since: now,
        };
        match operation {
            StorageOperation::Sync { .. } | StorageOperation::Remove => {
                let parts = layout.servers_of(object, home);
                let parts = parts.map(|lower| RequestPart::whole(first + lower, object_on(&layout, object, lower)));
                self.ask_client(turn, |client, effects| {
                    client.begin::<C>(now, what, parts, effects);
                });
            }
            _ => {
                let parts = layout.parts(object, (offset, bytes), home);
                let parts = parts.map(|part| RequestPart {
                    server: first + part.server,
                    object: object_on(&layout, object, part.server),
                    offset: part.offset,
                    bytes: part.bytes,
                });
                self.ask_client(turn, |client, effects| {
                    client.begin::<C>(now, what, parts, effects);
                });
            }
        }
        turn.observers.resume(aside);
    }

    /// Sends a piece of a write, which `server` has asked for, from the client of `header`.
    fn send_write_data<C: HostContext>(
        &mut self,
        turn: &mut IoTurn<'_, C>,
        server: u32,
        header: RequestHeader,
        (piece, bytes): (u32, u64),
    ) {
        let RequestHeader { client, owner, .. } = header;
        let data = Payload::WriteData { server, header, piece };
        let Some((upper, Outside { link, latency })) = self.link_between(client, server) else {
            self.send_to_server(turn, (client, server), (owner, bytes), data, Time::ZERO);
            return;
        };
        let (now, local) = (turn.ctx.now(), self.layout.server(upper).local);
        let block = self
            .links
            .sends::<C>(local, owner, now, link.time_for(odonata_units::Bytes(bytes)));
        let aside = turn.observers.block_crosses::<C>(block, upper);
        let software = block.end - now + latency;
        self.send_to_server(turn, (client, server), (owner, self.control_bytes()), data, software);
        turn.observers.resume(aside);
    }

    /// `server` has sent a piece of a read of `bytes` bytes to the client of `header`.
    pub(super) fn read_data_arrived<C: HostContext>(
        &mut self,
        turn: &mut IoTurn<'_, C>,
        server: u32,
        header: RequestHeader,
        bytes: u64,
    ) {
        let RequestHeader { client, token, owner } = header;
        let Some((upper, Outside { link, latency })) = self.link_between(client, server) else {
            self.data_arrived(turn, header, bytes);
            return;
        };
        // The message announces the data, which take the link now. An object server sends a part at once.
        let place = self.layout.server(upper);
        let time = link.time_for(odonata_units::Bytes(self.client.missing(token)));
        let ready = turn.ctx.now() + latency;
        let block = self.links.receives::<C>(place.local, owner, ready, time);
        let aside = turn.observers.block_crosses::<C>(block, upper);
        self.note_arrival(turn, header);
        turn.observers.resume(aside);
        let event = HostEvent::FromFileSystem { attempt: token };
        let at = block.end.max(turn.ctx.now() + Time::from_ps(1));
        turn.ctx.schedule(place.lp, at, event);
    }

    /// The data of `attempt` have come over the link from the file system.
    pub(crate) fn file_system_data_arrived<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, attempt: u32) {
        let now = turn.ctx.now();
        turn.observers.data_have_crossed::<C>(attempt, now);
        let bytes = self.client.missing(attempt);
        self.ask_client(turn, |client, effects| {
            client.data_arrived::<C>(now, attempt, bytes, effects);
        });
    }

    /// The I/O node and the way, if `client` is an I/O node and `server` an object server of a file system outside.
    fn link_between(&self, client: ClientId, server: u32) -> Option<(u32, Outside)> {
        match client.requester() {
            Requester::Rank(_) => None,
            Requester::Server(upper) => self.way_outside(server).map(|way| (upper, way)),
        }
    }

    /// The way to `server`, if it is an object server of a file system.
    pub(super) fn way_outside(&self, server: u32) -> Option<Outside> {
        if server >= self.layout.first_metadata {
            return None;
        }
        let tier = self.params.tiers.get(self.layout.tier_of(server));
        tier.and_then(|tier| tier.outside)
    }

    /// `server` wants the lock back that `client` has, for request `holder` of job `owner`.
    pub(super) fn lock_revoke_arrived<C: HostContext>(
        &mut self,
        turn: &mut IoTurn<'_, C>,
        (client, server): (ClientId, u32),
        (owner, holder): (u16, u32),
    ) {
        let payload = Payload::LockReturn {
            client,
            server,
            owner,
            holder,
        };
        let software = self.params.locks.map_or(Time::ZERO, |locks| locks.revocation);
        self.send_to_server(turn, (client, server), (owner, self.control_bytes()), payload, software);
    }

    /// The job of `rank`, its rank 0, has ended: tells the servers that wait for it.
    pub(crate) fn tell_servers<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, rank: u32) {
        let owner = self.layout.place(rank).job;
        let stages_out = self.layout.job(owner).stage_out;
        let client = ClientId::from(Requester::Rank(rank));
        // Servers of the last tier have no lower tier to drain to.
        for tier in 0..self.params.tiers.len().saturating_sub(1) {
            let tier = &self.params.tiers[tier];
            let (servers, drains) = (tier.first..tier.first + tier.servers, tier.drains_at_job_end);
            for server in servers.filter(|_| drains || stages_out) {
                let payload = Payload::JobEnded {
                    from: rank,
                    server,
                    owner,
                };
                self.send_to_server(
                    turn,
                    (client, server),
                    (owner, self.control_bytes()),
                    payload,
                    Time::ZERO,
                );
            }
        }
    }

    /// Bytes of a control message.
    pub(super) fn control_bytes(&self) -> u64 {
        self.params.io_control_message.0
    }

    /// Sends a message of `bytes` bytes from `client` to `server`, for job `owner`, after `software`.
    fn send_to_server<C: HostContext>(
        &mut self,
        turn: &mut IoTurn<'_, C>,
        (client, server): (ClientId, u32),
        (owner, bytes): (u16, u64),
        payload: Payload,
        software: Time,
    ) {
        let request = SendRequest {
            created: turn.ctx.now(),
            source: self.layout.endpoint_of_client(client),
            target: self.layout.endpoint_of_server(server),
            bytes,
            traffic: traffic_of(owner, true),
            payload,
            software,
            notify_sent: false,
            notify_arrived: true,
        };
        turn.transport.send(turn.ctx, turn.observers, request);
    }
}
