//! Retries between tiers: what a server does where one of the tier below does not answer in time, if any of those may fail.
//!
//! It is a client as a rank is ([`retry`](super::retry)): tries, timeouts and waits are those of `storage.client`, with
//! `on_failure = "re-route"` it goes to the server of the tier with the next number, and remembers; with `"error"` the run ends. So what
//! is drained waits in its tier until it is safe somewhere, and many retries wait until a server is back.

use odonata_engine::{List, Mode, NIL, Pool, Store, Time, journalled};
use odonata_storage::MetadataCall;
use odonata_storage::settings::{Client, OnFailure};

use crate::Hosts;
use crate::context::HostContext;
use crate::diagnosis::outcome::Failure;
use crate::event::HostEvent;
use crate::io::client::Call;
use crate::io::retry::{FailedServer, RetryCounts, object_of};
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
    Read,
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
    /// Per server of the part, those that it takes for failed.
    known: Store<List>,
    failed: Pool<FailedServer>,
}
journalled!(ErrandRetries { watched, known, failed });

impl ErrandRetries {
    pub(crate) fn new(servers: usize) -> Self {
        ErrandRetries {
            watched: Pool::new(),
            known: Store::filled(servers, List::EMPTY),
            failed: Pool::new(),
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        !self.known.is_empty()
    }

    /// Forgets part `slot`, which has ended.
    pub(crate) fn end<M: Mode>(&mut self, slot: u32) {
        if slot != NIL {
            self.watched.free::<M>(slot);
        }
    }

    fn takes_for_failed(&self, local: u32, server: u32) -> bool {
        let mut known = self.known.get(local).iter(&self.failed);
        known.any(|slot| self.failed.get(slot).server == server)
    }

    /// Bytes of memory held.
    pub(crate) fn footprint(&self) -> usize {
        self.watched.memory() + self.failed.memory()
    }
}

impl Hosts {
    /// Asks for `ask`, a part of `errand`.
    pub(crate) fn ask_for_errand<C: HostContext>(&mut self, ctx: &mut C, errand: u32, ask: Ask) {
        if !self.io.below.retries.is_on() {
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
        let missing = if ask.what == What::Read { ask.bytes } else { 0 };
        let operation = self.begin_errand_part::<C>(errand, missing, watched);
        let (client, owner) = (Requester::Server(ask.from).into(), ask.owner);
        let elsewhere = server != ask.home;
        let object = match elsewhere {
            true => object_of(ask.object, ask.home),
            false => ask.object,
        };
        let access = match ask.what {
            What::Write => IoAccess::Write,
            What::Read if elsewhere => IoAccess::ReadElsewhere,
            _ => IoAccess::Read,
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
            What::Write | What::Read => Payload::IoRequest {
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
            let rerouted = RetryCounts {
                rerouted: ask.bytes,
                ..RetryCounts::default()
            };
            self.io.clients.retries.count::<C>((ask.owner, ask.home), rerouted);
        }
        let operation = self.send_errand(ctx, errand, slot, ask, live);
        let lp = self.layout.server(ask.from).lp;
        ctx.schedule(lp, now + timeout, HostEvent::ErrandTimeout { operation });
    }

    /// The server of its tier that `from` asks for what the layout has on `home`.
    fn live_below(&self, from: u32, home: u32) -> Option<u32> {
        let local = self.layout.server(from).local;
        let tier = &self.params.tiers[self.layout.tier_of(home)];
        let place = home - tier.first;
        let mut others = (0..tier.servers).map(|step| tier.first + (place + step) % tier.servers);
        others.find(|&server| !self.io.below.retries.takes_for_failed(local, server))
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
        let again = vain <= client.retries;
        let counts = RetryCounts {
            timeouts: 1,
            retries: again.into(),
            rerouted: 0,
        };
        self.io.clients.retries.count::<C>((ask.owner, server), counts);
        let now = ctx.now();
        let wait = if again {
            client.backoff_after(vain - 1)
        } else {
            Time::ZERO
        };
        let fault_waits = &mut self.io.clients.retries.fault_waits;
        fault_waits.in_vain::<C>(server, ask.owner, (sent, now, now + wait));
        let place = self.layout.server(ask.from);
        if again {
            match wait {
                Time::ZERO => self.try_errand(ctx, slot),
                wait => ctx.schedule(place.lp, now + wait, HostEvent::ErrandRetry { part: slot }),
            }
            return;
        }
        if client.on_failure == OnFailure::Error {
            self.errand_unanswered(ctx, slot);
            return;
        }
        let retries = &mut self.io.below.retries;
        if !retries.takes_for_failed(place.local, server) {
            let failed = retries.failed.allocate::<C>(FailedServer { server, next: NIL });
            let mut known = *retries.known.get(place.local);
            known.push::<C, _>(&mut retries.failed, failed);
            *retries.known.edit::<C>(place.local) = known;
        }
        self.try_errand(ctx, slot);
    }

    /// Nobody answers watched part `slot`.
    fn errand_unanswered<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        let WatchedErrand { ask, server, since, .. } = *self.io.below.retries.watched.get(slot);
        let failure = Failure::NoAnswer {
            rank: ClientId::from(Requester::Server(ask.from)).0,
            server,
            call: match ask.what {
                What::Write => Call::Write,
                What::Read => Call::Read,
                What::Sync { .. } => Call::Metadata(MetadataCall::Sync),
                What::Remove => Call::Metadata(MetadataCall::Unlink),
            },
            since,
        };
        self.fail(ctx, failure);
    }
}
