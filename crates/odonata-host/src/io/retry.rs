//! Retries: what a client does where a storage server does not answer in time (`storage.client`).
//!
//! ```text
//!   part of a call -> try 0 --timeout--> try 1 ------timeout--> try 2 -- ... --> all in vain: the run fails, or the next server
//!                            + backoff          + 2 backoff
//! ```
//!
//! Every try is a [`PartTransfer`](super::client) of its own, by whose number the server's messages name it, and has a timer. One that
//! was given up is nobody's: its pulls are answered, so that the server comes to its end with it, and what else it gets is ignored.
//! Its slot is free when its answer has come, or never if none comes.
//!
//! Who re-routes remembers per rank which servers have not answered: what one rank knows, another has to find out itself.

use odonata_engine::{Mode, NIL, Pool, Store, Time};
use odonata_storage::settings::{Client, OnFailure};
use odonata_units::mix64;

use crate::Hosts;
use crate::context::HostContext;
use crate::diagnosis::outcome::Failure;
use crate::event::HostEvent;
use crate::io::client::FileTransfer;
use crate::io::failed_servers::FailedServers;
use crate::io::fault_waits::FaultWaits;

/// The part of a call that one server has, by the layout.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Share {
    pub(crate) server: u32,
    pub(crate) object: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// A part of a call that is watched.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Watched {
    transfer: u32,
    share: Share,
    /// The server that is asked.
    server: u32,
    /// Tries that were in vain there.
    vain: u32,
    /// When the last try was sent.
    sent: Time,
    next: u32,
}

odonata_engine::slots!(Watched);

/// What clients had to do over again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RetryCounts {
    /// Tries without an answer in time.
    pub timeouts: u64,
    /// Requests that were sent again to the same server.
    pub retries: u64,
    /// Bytes of requests that went to another server.
    pub rerouted: u64,
}

impl RetryCounts {
    /// Adds what others did.
    pub fn absorb(&mut self, other: &RetryCounts) {
        self.timeouts += other.timeouts;
        self.retries += other.retries;
        self.rerouted += other.rerouted;
    }
}

/// What a client does after a try in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It asks the same server again, after so long.
    Again(Time),
    /// It takes the server for failed, and asks another one.
    Elsewhere,
    /// It gives up.
    Nowhere,
}

/// The retries of the clients of a part; empty where they wait for ever.
#[derive(Debug)]
pub(crate) struct Retries {
    watched: Pool<Watched>,
    /// What ranks know, where they re-route.
    failed: FailedServers,
    /// Per job, then per storage server.
    counts: Store<RetryCounts>,
    jobs: u32,
    pub(crate) fault_waits: FaultWaits,
}
odonata_engine::journalled!(Retries {
    watched,
    failed,
    counts,
    fault_waits
});

impl Retries {
    pub(crate) fn new(failed: FailedServers, jobs: usize, servers: u32, fault_waits: FaultWaits) -> Self {
        Retries {
            watched: Pool::new(),
            failed,
            counts: Store::filled(
                if servers > 0 { jobs + servers as usize } else { 0 },
                Default::default(),
            ),
            jobs: jobs as u32,
            fault_waits,
        }
    }

    /// Forgets part `slot`, which has ended.
    pub(crate) fn end<M: Mode>(&mut self, slot: u32) {
        if slot != NIL {
            self.watched.free::<M>(slot);
        }
    }

    /// What clients had to do over again, by job and by server.
    pub(crate) fn counts(&self) -> (Vec<RetryCounts>, Vec<RetryCounts>) {
        let all: Vec<RetryCounts> = self.counts.iter().copied().collect();
        let (jobs, servers) = all.split_at(all.len().min(self.jobs as usize));
        (jobs.to_vec(), servers.to_vec())
    }

    fn count<M: Mode>(&mut self, owner: u16, server: u32, counts: RetryCounts) {
        self.counts.edit::<M>(u32::from(owner)).absorb(&counts);
        self.counts.edit::<M>(self.jobs + server).absorb(&counts);
    }

    /// A try of `owner` at `server`, sent at `sent`, is given up at `now`, as number `vain` there, from 1: what comes next, which
    /// is counted and whose wait is charged.
    pub(crate) fn in_vain<M: Mode>(
        &mut self,
        client: &Client,
        (server, owner): (u32, u16),
        vain: u32,
        (sent, now): (Time, Time),
    ) -> Next {
        let again = vain <= client.retries;
        let counts = RetryCounts {
            timeouts: 1,
            retries: again.into(),
            rerouted: 0,
        };
        self.count::<M>(owner, server, counts);
        let next = match client.on_failure {
            _ if again => Next::Again(client.backoff_after(vain - 1)),
            OnFailure::ReRoute => Next::Elsewhere,
            OnFailure::Error => Next::Nowhere,
        };
        let until = match next {
            Next::Again(wait) => now + wait,
            Next::Elsewhere | Next::Nowhere => now,
        };
        self.fault_waits.in_vain::<M>(server, owner, (sent, now, until));
        next
    }

    /// A request of `owner` about so many bytes goes to another server than `home`.
    pub(crate) fn rerouted<M: Mode>(&mut self, owner: u16, home: u32, bytes: u64) {
        let counts = RetryCounts {
            rerouted: bytes,
            ..RetryCounts::default()
        };
        self.count::<M>(owner, home, counts);
    }

    /// Bytes of memory held.
    pub(crate) fn footprint(&self) -> usize {
        self.watched.memory() + self.failed.memory()
    }
}

/// The name that another server has for what is `object` on `home`, where that has none of its own: servers number the bytes of a
/// file each for itself.
pub(crate) fn object_of(object: u64, home: u32) -> u64 {
    mix64(object ^ mix64(!u64::from(home))).min(u64::MAX - 1)
}

impl Hosts {
    /// Asks the server of `share`, a part of `transfer`, for what the call is about.
    pub(crate) fn ask<C: HostContext>(&mut self, ctx: &mut C, transfer: u32, share: Share) {
        if self.params.client.is_none() {
            self.send_request(ctx, transfer, NIL, share, false);
            return;
        }
        let watched = self.io.clients.retries.watched.allocate::<C>(Watched {
            transfer,
            server: share.server,
            share,
            vain: 0,
            sent: ctx.now(),
            next: NIL,
        });
        self.try_part(ctx, watched);
    }

    /// Sends part `slot` to its server, or to another one if that is known to have failed.
    pub(crate) fn try_part<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        let Some(Client { timeout, .. }) = self.params.client else {
            return;
        };
        let Watched {
            transfer,
            mut share,
            server,
            ..
        } = *self.io.clients.retries.watched.get(slot);
        let rank = self.io.clients.transfers.get(transfer).rank;
        let (home, live) = (share.server, self.live_server(rank, share.server));
        let Some(live) = live else {
            self.no_answer(ctx, slot);
            return;
        };
        let now = ctx.now();
        let cell = self.io.clients.retries.watched.edit::<C>(slot);
        cell.sent = now;
        if live != server {
            (cell.server, cell.vain) = (live, 0);
            let job = self.layout.place(rank).job;
            self.io.clients.retries.rerouted::<C>(job, home, share.bytes);
        }
        if live != home && home < self.layout.first_metadata && self.params.tiers.is_empty() {
            share.object = object_of(share.object, home);
        }
        share.server = live;
        let operation = self.send_request(ctx, transfer, slot, share, live != home);
        let lp = self.layout.place(rank).lp;
        ctx.schedule(lp, ctx.now() + timeout, HostEvent::IoTimeout { operation });
    }

    /// The server that `rank` asks for what the layout has on `home`: the first that it does not take for failed.
    fn live_server(&self, rank: u32, home: u32) -> Option<u32> {
        let first_tier = self.layout.tiers.get(1).copied();
        let metadata = self.layout.first_metadata;
        let servers = match home < metadata {
            true => 0..first_tier.unwrap_or(metadata),
            false => metadata..metadata + self.layout.metadata_servers(),
        };
        self.io.clients.retries.failed.first_live(rank, home, servers)
    }

    /// The time of try `operation` is over.
    pub(crate) fn io_timeout<C: HostContext>(&mut self, ctx: &mut C, operation: u32) {
        let Some(slot) = self.io.clients.time_is_over::<C>(operation) else {
            return;
        };
        let Some(client) = self.params.client else { return };
        let cell = self.io.clients.retries.watched.edit::<C>(slot);
        cell.vain += 1;
        let Watched {
            transfer,
            server,
            vain,
            sent,
            ..
        } = *cell;
        let rank = self.io.clients.transfers.get(transfer).rank;
        let place = self.layout.place(rank);
        self.io.clients.transfers.edit::<C>(transfer).timeouts += 1;
        let (now, retries) = (ctx.now(), &mut self.io.clients.retries);
        match retries.in_vain::<C>(&client, (server, place.job), vain, (sent, now)) {
            Next::Again(Time::ZERO) => self.try_part(ctx, slot),
            Next::Again(wait) => ctx.schedule(place.lp, now + wait, HostEvent::IoRetry { part: slot }),
            Next::Elsewhere => {
                retries.failed.add::<C>(rank, server);
                self.try_part(ctx, slot);
            }
            Next::Nowhere => self.no_answer(ctx, slot),
        }
    }

    /// Nobody answers part `slot`.
    fn no_answer<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        let Watched { transfer, server, .. } = *self.io.clients.retries.watched.get(slot);
        let FileTransfer { call, rank, start, .. } = *self.io.clients.transfers.get(transfer);
        let failure = Failure::NoAnswer {
            rank,
            server,
            call,
            since: start,
        };
        self.fail(ctx, failure);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_two_servers_are_two_on_a_third() {
        let names: std::collections::BTreeSet<u64> = (0..10)
            .flat_map(|object| (0..4).map(move |home| object_of(object, home)))
            .collect();
        assert_eq!(names.len(), 40);
    }
}
