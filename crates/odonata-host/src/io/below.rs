//! A storage server as a client of the tier below: carries [`Action::Below`](odonata_storage::Action) there and back.
//!
//! What a server hands down, or asks for, is a request to every server of the tier below that has a part of its range, as a call
//! of a rank is, for the job whose data they are. Between tiers on the network all of it is messages. Towards the object
//! servers of a [`FileSystem`](odonata_storage::settings::FileSystem) only control messages are: the data take the link of the I/O node to the
//! file system, one block after the other in either direction, and its latency.

use std::sync::Arc;

use odonata_blame::lost::Stamp;
use odonata_engine::{Mode, NIL, Pool, Store, Time, journalled};
use odonata_storage::{FileLayout, SyncRequest};
use odonata_units::{Bandwidth, Bytes, mix64};

use crate::Hosts;
use crate::context::HostContext;
use crate::event::HostEvent;
use crate::io::below_retry::{Ask, ErrandRetries, What};
use crate::lost::{Dependent, OutsideBlock, ServerRequest};
use crate::payload::{Payload, Requester};
use crate::send::{SendRequest, traffic_of};

/// A tier of storage servers, as its clients know it.
#[derive(Clone, Debug)]
pub struct StorageTier {
    /// Its servers have the numbers from this one on.
    pub first: u32,
    /// How many they are.
    pub servers: u32,
    /// Which of them an object is on.
    pub layout: FileLayout,
    /// The server of each server of the tier above, counted within the tier, where the layout does not say it. Empty of the first
    /// tier.
    pub homes: Arc<[u32]>,
    /// Of the object servers of a file system: the way there.
    pub outside: Option<Outside>,
    /// Whether its servers drain what is of a job when that has ended: rank 0 of the job tells each of them.
    pub told: bool,
}

/// The way to a file system outside of the network.
#[derive(Clone, Copy, Debug)]
pub struct Outside {
    /// Rate of each I/O node's link, in either direction.
    pub link: Bandwidth,
    /// Of a block of data, or of an acknowledgement.
    pub latency: Time,
}

/// What a server asks the tier below for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum ErrandKind {
    /// To write or to read.
    Transfer,
    /// To synchronise a file.
    Sync,
    /// To remove a file.
    Removal,
}

/// A piece of a server that the tier below writes or reads.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Errand {
    /// The server, counted over the machine.
    server: u32,
    /// Its piece, its synchronisation or its removal.
    slot: u32,
    kind: ErrandKind,
    /// Parts that have not ended.
    open: u32,
    /// Whether one of those that have was told of something lost.
    lost: bool,
    next: u32,
}

/// The part of it that one server has.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct ErrandPart {
    /// [`NIL`] of a try that nobody waits for any more.
    errand: u32,
    /// Bytes of a read that have not arrived.
    missing: u64,
    responded: bool,
    /// Whether it was told that some of it is lost.
    lost: bool,
    /// What it is a try of, or [`NIL`].
    watched: u32,
    /// Whether its timer will mention it.
    timed: bool,
    next: u32,
}

odonata_engine::slots!(Errand ErrandPart);

/// What a server has to know of the tier below it.
struct TierBelow {
    first: u32,
    layout: FileLayout,
}

/// When the link of an I/O node to the file system is free, in each direction.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct LinkState {
    out: Time,
    into: Time,
}

/// What the servers of a part have asked the tiers below for.
#[derive(Debug)]
pub(crate) struct Errands {
    errands: Pool<Errand>,
    parts: Pool<ErrandPart>,
    /// Per server of the part; none where there is no file system.
    links: Store<LinkState>,
    pub(crate) retries: ErrandRetries,
}
journalled!(Errands {
    errands,
    parts,
    links,
    retries
});

impl Errands {
    /// Of so many servers of the part, which may have object servers outside; answers of servers from `watched` on have a timeout, if
    /// there is one.
    pub(crate) fn new(servers: usize, outside: bool, watched: Option<u32>) -> Self {
        Errands {
            errands: Pool::new(),
            parts: Pool::new(),
            links: Store::filled(if outside { servers } else { 0 }, LinkState::default()),
            retries: ErrandRetries::new(servers, watched),
        }
    }

    /// Errands under way.
    pub(crate) fn live(&self) -> u32 {
        self.errands.live()
    }

    /// Bytes of memory held.
    pub(crate) fn footprint(&self) -> usize {
        self.errands.memory() + self.parts.memory() + self.retries.footprint()
    }

    /// Whether nobody waits for try `slot`.
    pub(crate) fn has_ended(&self, slot: u32) -> bool {
        self.parts.get(slot).errand == NIL
    }

    /// The time of try `slot` is over: it is given up if it has not ended; what it was a try of.
    pub(crate) fn time_is_over<M: Mode>(&mut self, slot: u32) -> Option<u32> {
        if self.has_ended(slot) {
            self.parts.free::<M>(slot);
            return None;
        }
        let part = self.parts.edit::<M>(slot);
        (part.errand, part.timed) = (NIL, false);
        Some(part.watched)
    }
}

/// The name of what a server has of an object: where it is in stripes, bytes are numbered anew on each server.
pub(crate) fn object_on(layout: &FileLayout, object: u64, server: u32) -> u64 {
    match layout {
        FileLayout::Assigned => object,
        FileLayout::Striped(_) => mix64(object ^ mix64(u64::from(server) + 1)).min(u64::MAX - 1),
    }
}

/// The time at which `bytes` have gone over a link that is free at `free`, which becomes this time.
fn take_link(free: &mut Time, now: Time, rate: Bandwidth, bytes: u64) -> Time {
    *free = now.max(*free) + rate.time_for(Bytes(bytes));
    *free
}

impl Hosts {
    /// Writes a piece of `server` (its number in the part) to the tier below, or reads it from there.
    pub(crate) fn ask_below<C: HostContext>(
        &mut self,
        ctx: &mut C,
        (server, slot): (u32, u32),
        (what, owner): (What, u16),
        (object, offset, bytes): (u64, u64, u64),
    ) {
        let server = self.io.servers.number(server);
        let before = self.works_for_piece(slot, ctx.now());
        let (tier, home) = self.tier_below(server);
        let parts = tier.layout.parts(object, (offset, bytes), home);
        let errand = self.begin_errand::<C>((server, slot), ErrandKind::Transfer, parts.len());
        for part in parts {
            let ask = Ask {
                from: server,
                home: tier.first + part.server,
                owner,
                what,
                object: object_on(&tier.layout, object, part.server),
                offset: part.offset,
                bytes: part.bytes,
            };
            self.ask_for_errand(ctx, errand, ask);
        }
        if let Some(before) = before {
            self.ranks.lost.is_now(before);
        }
    }

    /// What is done now is done for the request that `piece` belongs to, where it is kept what that has lost. Returns the stamp
    /// to go on with.
    fn works_for_piece(&mut self, piece: u32, now: Time) -> Option<Stamp> {
        if !self.ranks.lost.is_on() {
            return None;
        }
        let before = self.ranks.lost.current.clone();
        match self.io.servers.request_of_piece(piece) {
            Some((client, token)) => (self.ranks.lost).works_for(ServerRequest { client, token }, now),
            // A drain, or what is read ahead: whatever is handled, it is not for its sake.
            None => self.ranks.lost.begins(now),
        }
        Some(before)
    }

    /// Synchronises what `server` (its number in the part) has handed down.
    pub(crate) fn sync_below<C: HostContext>(&mut self, ctx: &mut C, (server, slot): (u32, u32), what: SyncRequest) {
        let SyncRequest { owner, file, below, .. } = what;
        let kind = ErrandKind::Sync;
        self.ask_all_below(ctx, (server, slot), kind, (owner, file), What::Sync { below });
    }

    /// Asks all servers of the tier below that may have something of object `file` of `server` (its number in the part), each for `what`.
    pub(crate) fn ask_all_below<C: HostContext>(
        &mut self,
        ctx: &mut C,
        (server, slot): (u32, u32),
        kind: ErrandKind,
        (owner, file): (u16, u64),
        what: What,
    ) {
        let server = self.io.servers.number(server);
        let (tier, home) = self.tier_below(server);
        let servers = tier.layout.servers_of(file, home);
        let errand = self.begin_errand::<C>((server, slot), kind, servers.len());
        for below in servers {
            let ask = Ask {
                from: server,
                home: tier.first + below,
                owner,
                what,
                object: object_on(&tier.layout, file, below),
                offset: 0,
                bytes: 0,
            };
            self.ask_for_errand(ctx, errand, ask);
        }
    }

    /// The tier below `server`, and the server of it that is its own.
    fn tier_below(&self, server: u32) -> (TierBelow, u32) {
        let above = self.layout.tier_of(server);
        let tier = &self.params.tiers[above + 1];
        let place = server - self.params.tiers[above].first;
        // Of an object server: any will do, its layout never asks.
        let home = tier.homes.get(place as usize).copied().unwrap_or(0);
        let (first, layout) = (tier.first, tier.layout);
        (TierBelow { first, layout }, home)
    }

    fn begin_errand<M: Mode>(&mut self, (server, slot): (u32, u32), kind: ErrandKind, parts: usize) -> u32 {
        self.io.below.errands.allocate::<M>(Errand {
            server,
            slot,
            kind,
            open: parts as u32,
            lost: false,
            next: NIL,
        })
    }

    pub(crate) fn begin_errand_part<M: Mode>(&mut self, errand: u32, missing: u64, watched: u32) -> u32 {
        self.io.below.parts.allocate::<M>(ErrandPart {
            errand,
            missing,
            responded: false,
            lost: false,
            watched,
            timed: watched != NIL,
            next: NIL,
        })
    }

    pub(crate) fn ask_server_below<C: HostContext>(
        &mut self,
        ctx: &mut C,
        ends: (u32, u32),
        owner: u16,
        request: Payload,
    ) {
        let control = self.params.io_control_message.0;
        self.send_below(ctx, ends, (owner, control), request, Time::ZERO);
    }

    fn send_below<C: HostContext>(
        &mut self,
        ctx: &mut C,
        (from, to): (u32, u32),
        (owner, bytes): (u16, u64),
        payload: Payload,
        software: Time,
    ) {
        let request = SendRequest {
            created: ctx.now(),
            source: self.layout.endpoint_of_server(from),
            target: self.layout.endpoint_of_server(to),
            bytes,
            traffic: traffic_of(owner, true),
            payload,
            software,
            notify_sent: false,
            notify_arrived: true,
        };
        self.send(ctx, request);
    }

    /// The way to `server`, if it is an object server of a file system.
    pub(crate) fn way_outside(&self, server: u32) -> Option<Outside> {
        let tier = self.params.tiers.get(self.layout.tier_of(server));
        tier.and_then(|tier| tier.outside)
    }

    /// `below` wants a piece of what `server` hands down.
    pub(crate) fn pull_from_above<C: HostContext>(
        &mut self,
        ctx: &mut C,
        (server, below): (u32, u32),
        owner: u16,
        (piece, bytes): (u32, u64),
    ) {
        let data = Payload::WriteData {
            client: Requester::Server(server).into(),
            server: below,
            owner,
            piece,
        };
        let Some(Outside { link, latency }) = self.way_outside(below) else {
            self.send_below(ctx, (server, below), (owner, bytes), data, Time::ZERO);
            return;
        };
        let (now, local) = (ctx.now(), self.layout.server(server).local);
        let free = &mut self.io.below.links.edit::<C>(local).out;
        let begin = now.max(*free);
        let sent = take_link(free, now, link, bytes);
        let before = self.ranks.lost.current.clone();
        let block = OutsideBlock {
            link: (local, true),
            owner,
            ready: now,
            begin,
            end: sent,
        };
        self.ranks.lost.crosses::<C>(block, server);
        let control = self.params.io_control_message.0;
        self.send_below(ctx, (server, below), (owner, control), data, sent - now + latency);
        self.ranks.lost.is_now(before);
    }

    /// A piece that `server` reads has come from `below`.
    pub(crate) fn read_data_from_below<C: HostContext>(
        &mut self,
        ctx: &mut C,
        (server, below): (u32, u32),
        (operation, owner): (u32, u16),
        bytes: u64,
    ) {
        let Some(Outside { link, latency }) = self.way_outside(below) else {
            self.ranks.lost.errand_part::<C>(operation);
            self.io.below.parts.edit::<C>(operation).missing -= bytes;
            self.end_errand_part(ctx, operation);
            return;
        };
        // The message was the news: the data take the link now. An object server sends a part at once.
        let place = self.layout.server(server);
        let bytes = self.io.below.parts.get(operation).missing;
        let ready = ctx.now() + latency;
        let free = &mut self.io.below.links.edit::<C>(place.local).into;
        let begin = ready.max(*free);
        let at = take_link(free, ready, link, bytes);
        let block = OutsideBlock {
            link: (place.local, false),
            owner,
            ready,
            begin,
            end: at,
        };
        let before = self.ranks.lost.current.clone();
        self.ranks.lost.crosses::<C>(block, server);
        self.ranks.lost.errand_part::<C>(operation);
        self.ranks.lost.is_now(before);
        let event = HostEvent::FromFileSystem { operation };
        ctx.schedule(place.lp, at.max(ctx.now() + Time::from_ps(1)), event);
    }

    /// Data of part `operation` have come over the link from the file system.
    pub(crate) fn file_system_data_arrived<C: HostContext>(&mut self, ctx: &mut C, operation: u32) {
        self.ranks
            .lost
            .continues(Dependent::DownstreamPart(operation), ctx.now());
        self.io.below.parts.edit::<C>(operation).missing = 0;
        self.end_errand_part(ctx, operation);
    }

    /// The tier below has answered part `operation`; `lost`: some of what it was to read is.
    pub(crate) fn response_from_below<C: HostContext>(&mut self, ctx: &mut C, operation: u32, lost: bool) {
        self.ranks.lost.errand_part::<C>(operation);
        let part = self.io.below.parts.edit::<C>(operation);
        (part.responded, part.lost) = (true, lost);
        self.end_errand_part(ctx, operation);
    }

    /// Job `owner` has ended, of which `rank` is the first: tells the servers that wait for it.
    pub(crate) fn tell_servers<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        let owner = self.layout.place(rank).job;
        let takes_out = self.layout.job(owner).stage_out;
        let (from, control) = (rank, self.params.io_control_message.0);
        // The last tier has nobody below it.
        for tier in 0..self.params.tiers.len().saturating_sub(1) {
            let StorageTier {
                first, servers, told, ..
            } = self.params.tiers[tier];
            for server in (first..first + servers).filter(|_| told || takes_out) {
                let news = Payload::JobEnded { from, server, owner };
                self.send_to_server(ctx, rank, server, control, news);
            }
        }
    }

    /// `server` is told that job `owner` has ended.
    pub(crate) fn job_end_told<C: HostContext>(&mut self, ctx: &mut C, server: u32, owner: u16) {
        let (now, local) = (ctx.now(), self.layout.server(server).local);
        self.serve(ctx, |servers, actions| {
            servers.job_ended::<C>(now, local, owner, actions)
        });
    }

    /// Ends part `operation`, and what it belongs to, if everything is there.
    fn end_errand_part<C: HostContext>(&mut self, ctx: &mut C, operation: u32) {
        let ErrandPart {
            errand,
            missing,
            responded,
            lost,
            watched,
            timed,
            ..
        } = *self.io.below.parts.get(operation);
        if !responded || missing > 0 {
            return;
        }
        match timed {
            true => self.io.below.parts.edit::<C>(operation).errand = NIL,
            false => self.io.below.parts.free::<C>(operation),
        }
        if errand == NIL {
            // Too late.
            self.ranks.lost.forget::<C>(Dependent::DownstreamPart(operation));
            return;
        }
        self.io.below.retries.end::<C>(watched);
        self.ranks.lost.end_errand_part::<C>(errand, operation);
        let cell = self.io.below.errands.edit::<C>(errand);
        cell.open -= 1;
        cell.lost |= lost;
        if cell.open > 0 {
            return;
        }
        let Errand { slot, kind, lost, .. } = *cell;
        self.io.below.errands.free::<C>(errand);
        if self.ranks.lost.is_on() {
            let request = match kind {
                ErrandKind::Transfer => self.io.servers.request_of_piece(slot),
                ErrandKind::Sync => self.io.servers.servers().request_of_sync(slot),
                ErrandKind::Removal => self.io.servers.servers().request_of_removal(slot),
            };
            let request = request.map(|(client, token)| ServerRequest { client, token });
            self.ranks.lost.end_errand::<C>(errand, request);
        }
        let now = ctx.now();
        self.serve(ctx, |servers, actions| match kind {
            ErrandKind::Sync => servers.synced_below::<C>(now, slot, actions),
            ErrandKind::Removal => servers.removed_below::<C>(now, slot, actions),
            ErrandKind::Transfer => servers.below_done::<C>(now, slot, lost, actions),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_storage::Layout;

    #[test]
    fn a_link_carries_one_block_after_the_other() {
        let (mut free, ns) = (Time::ZERO, Time::from_ns);
        let rate = Bandwidth(1e9);
        assert_eq!(take_link(&mut free, ns(10), rate, 100), ns(110));
        assert_eq!(take_link(&mut free, ns(20), rate, 50), ns(160));
        assert_eq!(take_link(&mut free, ns(500), rate, 50), ns(550));
    }

    #[test]
    fn objects_in_stripes_have_a_name_on_every_server() {
        let striped = FileLayout::new(Layout::Hash, 4, 1, "below");
        let names: std::collections::BTreeSet<u64> = (0..10)
            .flat_map(|object| (0..4).map(move |server| object_on(&striped, object, server)))
            .collect();
        assert_eq!(names.len(), 40);
        assert_eq!(object_on(&FileLayout::Assigned, 7, 3), 7);
    }
}
