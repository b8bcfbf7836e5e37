//! Extent locks on the servers' side: carries out what [`ExtentLocks`](odonata_storage::ExtentLocks) ask for.
//!
//! A request that has its lock goes to the storage manager with the number of its lock beside the client's name for it, so
//! that its end is known for what it is.

use crate::Hosts;
use crate::context::HostContext;
use crate::payload::{ClientId, Payload, Requester};
use odonata_storage::NewRequest;

/// The token of a request for the storage manager: the client's name, and above it the number of its lock.
fn token_of(holder: u32, operation: u64) -> u64 {
    (u64::from(holder) + 1) << 32 | operation
}

/// The number of the lock in a token, if there is one.
pub(crate) fn holder_of(token: u64) -> Option<u32> {
    ((token >> 32) as u32).checked_sub(1)
}

impl Hosts {
    /// Asks for the lock that `what` needs at `server`, and goes on with it or waits.
    pub(crate) fn lock_extent<C: HostContext>(&mut self, ctx: &mut C, server: u32, what: NewRequest) {
        let now = ctx.now();
        let node = self.layout.endpoint_of_client(ClientId(what.client)).node;
        let local = self.layout.server(server).local;
        let mut ask = Vec::new();
        let holder = (self.io.servers.locks).request::<C>(now, local, what, node, &mut ask);
        for client in ask.into_iter().map(ClientId) {
            let revoke = Payload::LockRevoke {
                server,
                client,
                owner: what.owner,
                holder,
            };
            let control = self.params.io_control_message.0;
            self.send_to_client(ctx, server, client, (what.owner, control), revoke);
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
            self.note_server_losses::<C>(ctx.now());
            self.lock_granted(ctx, holder);
        }
    }

    /// The request with lock `holder` has ended.
    pub(crate) fn lock_ended<C: HostContext>(&mut self, ctx: &mut C, holder: u32) {
        let mut next = Vec::new();
        self.io.servers.locks.finished::<C>(ctx.now(), holder, &mut next);
        self.note_server_losses::<C>(ctx.now());
        for holder in next {
            self.lock_granted(ctx, holder);
        }
    }

    fn lock_granted<C: HostContext>(&mut self, ctx: &mut C, holder: u32) {
        let (server, what) = self.io.servers.locks.holder(holder);
        if !self.server_hears::<C>(ctx.now(), server, what.owner) {
            // No device is left: whoever comes behind it shall find that out, too.
            self.lock_ended(ctx, holder);
            return;
        }
        let request = NewRequest {
            token: token_of(holder, what.token),
            ..what
        };
        let now = ctx.now();
        self.serve(ctx, |servers, actions| {
            servers.request::<C>(now, server, request, actions)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_the_clients_name_and_the_lock() {
        for holder in [0, 1, u32::MAX - 1] {
            let token = token_of(holder, u64::from(u32::MAX));
            assert_eq!((token as u32, holder_of(token)), (u32::MAX, Some(holder)));
        }
        assert_eq!(holder_of(u64::from(u32::MAX)), None);
    }
}
