//! A storage server as a client of the lower tier, and the links of I/O nodes to a file system outside of the network.
//!
//! What a server asks of the lower tier ([`Action::AskLowerTier`](odonata_storage::Action)) is a request to every server there that has
//! a part of its range, for the job whose data they are. Between tiers on the network all of it is messages. Towards the object
//! servers of a [`FileSystem`](odonata_storage::settings::FileSystem) only control messages are: the data take the link of the I/O node,
//! one block after the other in either direction, and its latency.

use std::sync::Arc;

use odonata_engine::{Store, Time, journalled};
use odonata_storage::{ClientId, FileLayout, Origin, RequestHeader, Requester, StorageOperation};
use odonata_units::{Bandwidth, Bytes, mix64};

use crate::Hosts;
use crate::context::HostContext;
use crate::event::HostEvent;
use crate::io::client::{NewRequest, RequestPart, Waiter};
use crate::lost::{Dependent, OutsideBlock};
use crate::payload::Payload;

/// A tier of storage servers, as its clients know it.
#[derive(Clone, Debug)]
pub struct StorageTier {
    /// Number of its first server.
    pub first: u32,
    /// How many servers it has.
    pub servers: u32,
    /// Which of them an object is on.
    pub layout: FileLayout,
    /// The server of each server of the upper tier, counted within this tier, where the layout does not say it. Empty for the first
    /// tier.
    pub homes: Arc<[u32]>,
    /// For the object servers of a file system: the way there.
    pub outside: Option<Outside>,
    /// Whether its servers drain the data of a job at the end of the job, so that rank 0 reports the end to each of them.
    pub drains_at_job_end: bool,
}

/// The way to a file system outside of the network.
#[derive(Clone, Copy, Debug)]
pub struct Outside {
    /// Rate of each I/O node's link, in either direction.
    pub link: Bandwidth,
    /// Of a block of data, or of an acknowledgement.
    pub latency: Time,
}

/// When the link of an I/O node to the file system is free, in each direction.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct LinkState {
    out: Time,
    into: Time,
}

/// The links of I/O nodes to a file system.
#[derive(Debug)]
pub(crate) struct OutsideLinks {
    /// Per server of the part; none without a file system.
    links: Store<LinkState>,
}
journalled!(OutsideLinks { links });

impl OutsideLinks {
    /// The links of that many servers of the part.
    pub(crate) fn new(servers: usize) -> Self {
        OutsideLinks {
            links: Store::filled(servers, LinkState::default()),
        }
    }
}

/// The name of what a server has of an object: bytes of a striped object are numbered anew on each server.
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
    /// Asks the lower tier for what `origin` at `server` (its number in the part) waits for.
    pub(crate) fn ask_lower_tier<C: HostContext>(
        &mut self,
        ctx: &mut C,
        (server, origin): (u32, Origin),
        owner: u16,
        operation: StorageOperation,
        (object, offset, bytes): (u64, u64, u64),
    ) {
        let (now, server) = (ctx.now(), self.io.servers.number(server));
        let before = self.observers.lost.is_on().then(|| self.observers.lost.current.clone());
        match self.io.servers.servers().request_of(origin) {
            Some(request) => self.observers.lost.works_for(request, now),
            // A drain, or data that are read ahead: no request needs them.
            None => self.observers.lost.begins(now),
        }
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
                self.ask_client(ctx, |client, effects| {
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
                self.ask_client(ctx, |client, effects| {
                    client.begin::<C>(now, what, parts, effects);
                });
            }
        }
        if let Some(before) = before {
            self.observers.lost.is_now(before);
        }
    }

    /// The lower tier has answered what `origin` asked for.
    pub(crate) fn lower_tier_answered<C: HostContext>(&mut self, ctx: &mut C, origin: Origin, lost: bool) {
        if self.observers.lost.is_on() {
            let request = self.io.servers.servers().request_of(origin);
            self.observers.lost.piece_arrives::<C>(request);
        }
        let now = ctx.now();
        self.serve(ctx, |servers, actions| {
            servers.lower_tier_answered::<C>(now, origin, lost, actions);
        });
    }

    /// The way to `server`, if it is an object server of a file system.
    pub(crate) fn way_outside(&self, server: u32) -> Option<Outside> {
        if server >= self.layout.first_metadata {
            return None;
        }
        let tier = self.params.tiers.get(self.layout.tier_of(server));
        tier.and_then(|tier| tier.outside)
    }

    /// Sends a piece of a write, which `server` has asked for, from the client of `header`.
    pub(crate) fn send_write_data<C: HostContext>(
        &mut self,
        ctx: &mut C,
        server: u32,
        header: RequestHeader,
        (piece, bytes): (u32, u64),
    ) {
        let RequestHeader { client, owner, .. } = header;
        let data = Payload::WriteData { server, header, piece };
        let outside = match client.requester() {
            Requester::Rank(_) => None,
            Requester::Server(upper) => self.way_outside(server).map(|way| (upper, way)),
        };
        let Some((upper, Outside { link, latency })) = outside else {
            self.send_to_server(ctx, (client, server), (owner, bytes), data, Time::ZERO);
            return;
        };
        let (now, local) = (ctx.now(), self.layout.server(upper).local);
        let free = &mut self.io.links.links.edit::<C>(local).out;
        let begin = now.max(*free);
        let sent = take_link(free, now, link, bytes);
        let before = self.observers.lost.current.clone();
        let block = OutsideBlock {
            link: (local, true),
            owner,
            ready: now,
            begin,
            end: sent,
        };
        self.observers.lost.crosses::<C>(block, upper);
        let control = self.params.io_control_message.0;
        self.send_to_server(ctx, (client, server), (owner, control), data, sent - now + latency);
        self.observers.lost.is_now(before);
    }

    /// `server` has sent a piece of a read of `bytes` bytes to the client of `header`.
    pub(crate) fn read_data_arrived<C: HostContext>(
        &mut self,
        ctx: &mut C,
        server: u32,
        header: RequestHeader,
        bytes: u64,
    ) {
        let outside = match header.client.requester() {
            Requester::Rank(_) => None,
            Requester::Server(upper) => self.way_outside(server).map(|way| (upper, way)),
        };
        let Some((upper, Outside { link, latency })) = outside else {
            self.data_arrived(ctx, header, bytes);
            return;
        };
        // The message announces the data, which take the link now. An object server sends a part at once.
        let RequestHeader { token, owner, .. } = header;
        let place = self.layout.server(upper);
        let bytes = self.io.client.missing(token);
        let ready = ctx.now() + latency;
        let free = &mut self.io.links.links.edit::<C>(place.local).into;
        let begin = ready.max(*free);
        let at = take_link(free, ready, link, bytes);
        let block = OutsideBlock {
            link: (place.local, false),
            owner,
            ready,
            begin,
            end: at,
        };
        let before = self.observers.lost.current.clone();
        self.observers.lost.crosses::<C>(block, upper);
        self.note_arrival::<C>(header);
        self.observers.lost.is_now(before);
        let event = HostEvent::FromFileSystem { attempt: token };
        ctx.schedule(place.lp, at.max(ctx.now() + Time::from_ps(1)), event);
    }

    /// The data of `attempt` have come over the link from the file system.
    pub(crate) fn file_system_data_arrived<C: HostContext>(&mut self, ctx: &mut C, attempt: u32) {
        let now = ctx.now();
        self.observers.lost.continues(Dependent::Attempt(attempt), now);
        let bytes = self.io.client.missing(attempt);
        self.ask_client(ctx, |client, effects| {
            client.data_arrived::<C>(now, attempt, bytes, effects);
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
        let striped = FileLayout::new(Layout::Hash, 4, 1, "lower");
        let names: std::collections::BTreeSet<u64> = (0..10)
            .flat_map(|object| (0..4).map(move |server| object_on(&striped, object, server)))
            .collect();
        assert_eq!(names.len(), 40);
        assert_eq!(object_on(&FileLayout::Assigned, 7, 3), 7);
    }
}
