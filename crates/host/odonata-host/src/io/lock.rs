//! Extent locks on the servers' side: carries out what [`ExtentLocks`](odonata_storage::ExtentLocks) ask for.
//!
//! A request that has its lock goes to the storage manager with the number of the lock, which comes back at the end of the request.

use crate::Hosts;
use crate::context::HostContext;
use crate::payload::Payload;
use odonata_engine::Time;
use odonata_storage::{ClientId, RequestHeader, Requester, StorageRequest};

impl Hosts {
    /// Asks for the lock that `request` needs at `server`, and goes on with the request or waits.
    pub(crate) fn lock_extent<C: HostContext>(&mut self, ctx: &mut C, server: u32, request: StorageRequest) {
        let now = ctx.now();
        let RequestHeader { client, owner, .. } = request.header;
        let node = self.layout.endpoint_of_client(client).node;
        let local = self.layout.server(server).local;
        let mut ask = Vec::new();
        let holder = (self.io.servers.locks).request::<C>(now, local, request, node, &mut ask);
        for client in ask {
            let revoke = Payload::LockRevoke {
                server,
                client,
                owner,
                holder,
            };
            let control = self.params.io_control_message.0;
            self.send_to_client(ctx, server, client, (owner, control), revoke);
        }
        if !self.io.servers.locks.waits(holder) {
            self.lock_granted(ctx, holder);
        }
    }

    /// A lock has come back from `client` that request `holder`, of job `owner`, waits for.
    pub(crate) fn lock_returned<C: HostContext>(&mut self, ctx: &mut C, holder: u32, (client, owner): (ClientId, u16)) {
        let had_it = match client.requester() {
            Requester::Rank(rank) => self.layout.place(rank).job,
            Requester::Server(_) => owner,
        };
        if self.io.servers.locks.revoked::<C>(ctx.now(), holder, had_it) {
            self.servers_have_worked::<C>(ctx.now());
            self.lock_granted(ctx, holder);
        }
    }

    /// The request with lock `holder` has ended.
    pub(crate) fn lock_ended<C: HostContext>(&mut self, ctx: &mut C, holder: u32) {
        let mut next = Vec::new();
        self.io.servers.locks.finished::<C>(ctx.now(), holder, &mut next);
        self.servers_have_worked::<C>(ctx.now());
        for holder in next {
            self.lock_granted(ctx, holder);
        }
    }

    fn lock_granted<C: HostContext>(&mut self, ctx: &mut C, holder: u32) {
        let (server, request) = self.io.servers.locks.holder(holder);
        if !self.server_hears::<C>(ctx.now(), server, request.header.owner) {
            // No device is left, which the next request finds out in the same way.
            self.lock_ended(ctx, holder);
            return;
        }
        let now = ctx.now();
        self.serve(ctx, |servers, actions| {
            servers.request::<C>(now, server, (request, Some(holder)), actions);
        });
    }

    /// `server` wants the lock back that `client` has, for request `holder` of job `owner`.
    pub(crate) fn lock_revoke_arrived<C: HostContext>(
        &mut self,
        ctx: &mut C,
        (client, server): (ClientId, u32),
        (owner, holder): (u16, u32),
    ) {
        let payload = Payload::LockReturn {
            client,
            server,
            owner,
            holder,
        };
        let control = self.params.io_control_message.0;
        let software = self.params.locks.map_or(Time::ZERO, |locks| locks.revocation);
        self.send_to_server(ctx, (client, server), (owner, control), payload, software);
    }
}
