//! Retries between tiers: what a server does where one of the tier below does not answer in time, if any of those may fail.
//!
//! Tries at a tier have a timeout from the first one on in which a server may fail: those above know that it takes longer, and wait.
//!
//! It is a client as a rank is ([`retry`](super::retry)): tries, timeouts and waits are those of `storage.client`, with
//! `on_failure = "re-route"` it goes to the server of the tier with the next number, and remembers; with `"error"` the run ends. So what
//! is drained waits in its tier until it is safe somewhere, and many retries wait until a server is back.

use odonata_engine::{List, Mode, NIL, Pool, SparseStore, Time, journalled};
use odonata_storage::MetadataCall;
use odonata_storage::settings::Client;

use crate::Hosts;
use crate::context::HostContext;
use crate::diagnosis::outcome::Failure;
use crate::event::HostEvent;
use crate::io::client::Call;
use crate::io::failed_servers::FailedServers;
use crate::io::retry::{Next, object_of};
use crate::payload::{ClientId, IoAccess, Payload, Requester, SplitU64};

/// What a server asks one of the tier below for.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Ask {
    /// The server that asks, and the one that the layout names, counted over the machine.
    pub(crate) from: u32,
    pub(crate) home: u32,
    pub(crate) owner: u16,
    pub(crate) what: What,
    pub(crate) object: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum What {
    Write,
    /// Whether it is told of what is lost, and whether a server should have it that its client takes for failed.
    Read {
        told: bool,
        elsewhere: bool,
    },
    /// Whether down to the last tier.
    Sync {
        below: bool,
    },
    Remove,
}

/// Something asked for that is watched.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct WatchedErrand {
    /// The errand that it is part of.
    errand: u32,
    ask: Ask,
    /// The server that is asked, and tries that were in vain there.
    server: u32,
    vain: u32,
    /// When the first try was sent, and the last.
    since: Time,
    sent: Time,
    next: u32,
}
odonata_engine::slots!(WatchedErrand);

/// The retries of the servers of a part; empty where no server of a lower tier fails.
#[derive(Debug)]
pub(crate) struct ErrandRetries {
    watched: Pool<WatchedErrand>,
    /// What the servers of the part know.
    failed: FailedServers,
    /// The first server, counted over the machine, whose answers have a timeout.
    first: u32,
}
journalled!(ErrandRetries { watched, failed });

impl ErrandRetries {
    /// Of so many servers of the part; answers of servers from `first` on have a timeout, if there is one.
    pub(crate) fn new(servers: usize, first: Option<u32>) -> Self {
        let servers = if first.is_some() { servers } else { 0 };
        ErrandRetries {
            watched: Pool::new(),
            failed: FailedServers::new(SparseStore::all(vec![List::EMPTY; servers])),
            first: first.unwrap_or(NIL),
        }
    }

    /// Whether a server of a lower tier fails.
    pub(crate) fn is_on(&self) -> bool {
        self.first != NIL
    }

    /// Forgets part `slot`, which has ended.
    pub(crate) fn end<M: Mode>(&mut self, slot: u32) {
        if slot != NIL {
            self.watched.free::<M>(slot);
        }
    }

    /// Bytes of memory held.
    pub(crate) fn footprint(&self) -> usize {
        self.watched.memory() + self.failed.memory()
    }
}

impl Hosts {
    /// Asks for `ask`, a part of `errand`.
    pub(crate) fn ask_for_errand<C: HostContext>(&mut self, ctx: &mut C, errand: u32, ask: Ask) {
        if ask.home < self.io.below.retries.first {
            self.send_errand(ctx, errand, NIL, ask, ask.home);
            return;
        }
        let slot = self.io.below.retries.watched.allocate::<C>(WatchedErrand {
            errand,
            ask,
            server: ask.home,
            vain: 0,
            since: ctx.now(),
            sent: ctx.now(),
            next: NIL,
        });
        self.try_errand(ctx, slot);
    }

    /// Sends `ask` to `server`; what it is called between the two.
    fn send_errand<C: HostContext>(&mut self, ctx: &mut C, errand: u32, watched: u32, ask: Ask, server: u32) -> u32 {
        let (missing, told, lacks) = match ask.what {
            What::Read { told, elsewhere } => (ask.bytes, told, elsewhere),
            _ => (0, false, false),
        };
        let operation = self.begin_errand_part::<C>(errand, missing, watched);
        let (client, owner) = (Requester::Server(ask.from).into(), ask.owner);
        let elsewhere = server != ask.home;
        let object = match elsewhere {
            true => object_of(ask.object, ask.home),
            false => ask.object,
        };
        let access = match ask.what {
            What::Write => IoAccess::Write,
            _ => IoAccess::read(elsewhere || lacks, told),
        };
        let [object, offset, bytes] = [object, ask.offset, ask.bytes].map(SplitU64::from);
        let request = match ask.what {
            What::Sync { below } => Payload::IoSync {
                client,
                server,
                owner,
                operation,
                object,
                below,
            },
            What::Remove => Payload::IoRemove {
                client,
                server,
                owner,
                operation,
                object,
            },
            What::Write | What::Read { .. } => Payload::IoRequest {
                client,
                server,
                access,
                owner,
                operation,
                object,
                offset,
                bytes,
            },
        };
        self.ask_server_below(ctx, (ask.from, server), owner, request);
        operation
    }

    /// Sends watched part `slot` to its server, or to another one if that is known to have failed.
    pub(crate) fn try_errand<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        let Some(Client { timeout, .. }) = self.params.client else {
            return;
        };
        let WatchedErrand {
            errand, ask, server, ..
        } = *self.io.below.retries.watched.get(slot);
        let Some(live) = self.live_below(ask.from, ask.home) else {
            self.errand_unanswered(ctx, slot);
            return;
        };
        let now = ctx.now();
        let cell = self.io.below.retries.watched.edit::<C>(slot);
        cell.sent = now;
        if live != server {
            (cell.server, cell.vain) = (live, 0);
            self.io.clients.retries.rerouted::<C>(ask.owner, ask.home, ask.bytes);
        }
        let operation = self.send_errand(ctx, errand, slot, ask, live);
        let lp = self.layout.server(ask.from).lp;
        ctx.schedule(lp, now + timeout, HostEvent::ErrandTimeout { operation });
    }

    /// The server of its tier that `from` asks for what the layout has on `home`.
    fn live_below(&self, from: u32, home: u32) -> Option<u32> {
        let local = self.layout.server(from).local;
        let tier = &self.params.tiers[self.layout.tier_of(home)];
        let servers = tier.first..tier.first + tier.servers;
        self.io.below.retries.failed.first_live(local, home, servers)
    }

    /// The time of try `operation` is over.
    pub(crate) fn errand_timeout<C: HostContext>(&mut self, ctx: &mut C, operation: u32) {
        let Some(slot) = self.io.below.time_is_over::<C>(operation) else {
            return;
        };
        let Some(client) = self.params.client else { return };
        let cell = self.io.below.retries.watched.edit::<C>(slot);
        cell.vain += 1;
        let WatchedErrand {
            ask,
            server,
            vain,
            sent,
            ..
        } = *cell;
        let (now, place) = (ctx.now(), self.layout.server(ask.from));
        let retries = &mut self.io.clients.retries;
        match retries.in_vain::<C>(&client, (server, ask.owner), vain, (sent, now)) {
            Next::Again(Time::ZERO) => self.try_errand(ctx, slot),
            Next::Again(wait) => ctx.schedule(place.lp, now + wait, HostEvent::ErrandRetry { part: slot }),
            Next::Elsewhere => {
                self.io.below.retries.failed.add::<C>(place.local, server);
                self.try_errand(ctx, slot);
            }
            Next::Nowhere => self.errand_unanswered(ctx, slot),
        }
    }

    /// Nobody answers watched part `slot`.
    fn errand_unanswered<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        let WatchedErrand { ask, server, since, .. } = *self.io.below.retries.watched.get(slot);
        let failure = Failure::NoAnswer {
            rank: ClientId::from(Requester::Server(ask.from)).0,
            server,
            call: match ask.what {
                What::Write => Call::Write,
                What::Read { .. } => Call::Read,
                What::Sync { .. } => Call::Metadata(MetadataCall::Sync),
                What::Remove => Call::Metadata(MetadataCall::Unlink),
            },
            since,
        };
        self.fail(ctx, failure);
    }
}
