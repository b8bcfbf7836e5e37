//! Effects of the storage client, carried out: messages, timers, and what waits for a request.

use odonata_engine::Time;
use odonata_storage::{ClientId, RequestHeader, Requester};

use crate::Hosts;
use crate::context::HostContext;
use crate::diagnosis::outcome::Failure;
use crate::event::HostEvent;
use crate::io::client::{Client, Completed, Effect, Effects, Timer, Waiter};
use crate::io::facts::IoObserver;
use crate::payload::Payload;
use crate::send::{SendRequest, traffic_of};

impl Hosts {
    /// Gives an input to the storage client and carries out its effects, which may lead to further inputs.
    pub(crate) fn ask_client<C: HostContext>(&mut self, ctx: &mut C, input: impl FnOnce(&mut Client, &mut Effects)) {
        let mut effects = self.io.spare_effects.pop().unwrap_or_default();
        input(&mut self.io.client, &mut effects);
        for effect in effects.drain(..) {
            self.carry_out_effect(ctx, effect);
        }
        self.io.spare_effects.push(effects);
    }

    fn carry_out_effect<C: HostContext>(&mut self, ctx: &mut C, effect: Effect) {
        match effect {
            Effect::Send { server, request } => {
                let RequestHeader { client, owner, .. } = request.header;
                let control = self.params.io_control_message.0;
                let payload = Payload::Request { server, request };
                self.send_to_server(ctx, (client, server), (owner, control), payload, Time::ZERO);
            }
            Effect::SendData {
                server,
                header,
                piece,
                bytes,
            } => self.send_write_data(ctx, server, header, (piece, bytes)),
            Effect::Wake { client, at, timer } => {
                let event = match timer {
                    Timer::Timeout { attempt } => HostEvent::ClientTimeout { attempt },
                    Timer::Retry { part } => HostEvent::ClientRetry { part },
                };
                ctx.schedule(self.layout.endpoint_of_client(client).lp, at, event);
            }
            Effect::TimedOut {
                server,
                owner,
                sent,
                next,
            } => self
                .io
                .fault_waits
                .attempt_times_out::<C>(server, owner, (sent, ctx.now(), next)),
            Effect::PartEnded {
                client,
                request,
                attempt,
            } => {
                if let Requester::Server(_) = client.requester() {
                    self.io_observer().attempt_ends::<C>(request, attempt);
                }
            }
            Effect::AnsweredLate { client, attempt } => {
                if let Requester::Server(_) = client.requester() {
                    self.io_observer().attempt_is_late::<C>(attempt);
                }
            }
            Effect::Complete { completed, .. } => self.request_complete(ctx, completed),
            Effect::Unanswered {
                client,
                server,
                operation,
                since,
            } => {
                let call = operation.into();
                let failure = Failure::NoAnswer {
                    client,
                    server,
                    call,
                    since,
                };
                self.fail(ctx, failure);
            }
        }
    }

    fn request_complete<C: HostContext>(&mut self, ctx: &mut C, completed: Completed) {
        self.io_observer().request_is_complete::<C>(completed.request);
        match completed.waiter {
            Waiter::Call(call) => self.call_answered(ctx, call, completed),
            Waiter::Server(origin) => self.lower_tier_answered(ctx, origin, completed.lost),
        }
    }

    /// A message of a server about request `header` has come to its client, which needs it. A rank needs the data of an attempt even
    /// where it gives the attempt up later; a server does not.
    pub(crate) fn note_arrival<C: HostContext>(&mut self, header: RequestHeader) {
        let attempt = header.token;
        match header.client.requester() {
            Requester::Rank(_) => {
                let client = &self.io.client;
                self.observers.lost.rank_hears::<C>(|| client.request_of(attempt));
            }
            Requester::Server(_) => self.io_observer().server_hears_from_below::<C>(attempt),
        }
    }

    /// `server` wants `bytes` bytes of what request `header` writes, as its piece `piece`.
    pub(crate) fn pull_arrived<C: HostContext>(
        &mut self,
        ctx: &mut C,
        server: u32,
        header: RequestHeader,
        piece: (u32, u64),
    ) {
        let now = ctx.now();
        self.ask_client(ctx, |client, effects| {
            client.pulled::<C>(now, (server, header), piece, effects);
        });
    }

    /// `bytes` bytes of what request `header` reads have arrived.
    pub(crate) fn data_arrived<C: HostContext>(&mut self, ctx: &mut C, header: RequestHeader, bytes: u64) {
        let now = ctx.now();
        self.note_arrival::<C>(header);
        self.ask_client(ctx, |client, effects| {
            client.data_arrived::<C>(now, header.token, bytes, effects);
        });
    }

    /// A server has answered request `header`.
    pub(crate) fn response_arrived<C: HostContext>(&mut self, ctx: &mut C, header: RequestHeader, lost: bool) {
        self.note_arrival::<C>(header);
        self.ask_client(ctx, |client, effects| {
            client.answered::<C>(header.token, lost, effects);
        });
    }

    /// A timer of the storage client is due.
    pub(crate) fn client_timer<C: HostContext>(&mut self, ctx: &mut C, timer: Timer) {
        let now = ctx.now();
        self.ask_client(ctx, |client, effects| client.wake::<C>(now, timer, effects));
    }

    /// Sends a message of `bytes` bytes from `client` to `server`, for job `owner`, after `software`.
    pub(crate) fn send_to_server<C: HostContext>(
        &mut self,
        ctx: &mut C,
        (client, server): (ClientId, u32),
        (owner, bytes): (u16, u64),
        payload: Payload,
        software: Time,
    ) {
        let request = SendRequest {
            created: ctx.now(),
            source: self.layout.endpoint_of_client(client),
            target: self.layout.endpoint_of_server(server),
            bytes,
            traffic: traffic_of(owner, true),
            payload,
            software,
            notify_sent: false,
            notify_arrived: true,
        };
        self.send(ctx, request);
    }
}
