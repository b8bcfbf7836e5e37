//! Reduction: routers sum the data of a group of interfaces and send the result back (barriers, all-reduces).
//!
//! ```text
//!  ranks of an interface ─ contributions ─► operation ─ chunks ─► router ─► .. ─► root
//!                                               ▲                                  │
//!                               notice          └──────── router ◄─── .. ◄─────────┘
//! ```
//!
//! An operation has a chunk for every [`data`](crate::settings::Reduction::data) bytes, or one without data. A router
//! waits for a chunk from each child in the [tree](ReductionTrees), sums them and sends one to its parent; the root sends
//! the sum to its children, which pass it on. An interface has at most
//! [`operations`](crate::settings::Reduction::operations) chunks under way, so a router has a place for each, and chunks
//! need no credits. Chunks of a tree keep their order on every link.
//!
//! Chunks share links with packets: on a link for which both wait, they take turns. A chunk arrives whole:
//! transmission, latency of the link and delay of the router after it. With one child, a router adds no further delay.

pub(crate) mod chunk;
mod link_turns;
pub(crate) mod params;
mod tree;

pub use chunk::Chunk;
pub use params::ReductionParams;
pub use tree::{ReductionMember, ReductionTrees};

use crate::boundary::RemoteEvent;
use crate::fabric::Shared;
use crate::features::HandlerContext;
use crate::nic::Nics;
use crate::{FabricEvent, Notice, Payload, Traffic};
use link_turns::LinkTurns;
use odonata_engine::{List, Mode, NIL, Pool, Store, Time};
use std::ops::Range;

/// The part of a rank in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Contribution {
    /// The interface of the rank.
    pub interface: u32,
    /// The tree.
    pub tree: u32,
    /// The number of the operation among those of the rank in the tree.
    pub number: u32,
    /// Length of the vector; the same for all ranks.
    pub bytes: u64,
    /// The traffic that sends it.
    pub owner: Traffic,
    /// The rank, and its name for the operation.
    pub rank: u32,
    /// See `rank`.
    pub request: u32,
    next: u32,
}

odonata_engine::slots!(Contribution);

impl Contribution {
    /// The part of `rank` at `interface` in operation `number` of `tree`.
    pub fn new(
        (rank, interface): (u32, u32),
        (tree, number): (u32, u32),
        bytes: u64,
        owner: Traffic,
        request: u32,
    ) -> Contribution {
        Contribution {
            interface,
            tree,
            number,
            bytes,
            owner,
            rank,
            request,
            next: NIL,
        }
    }
}

/// An operation at an interface.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Operation {
    number: u32,
    owner: Traffic,
    bytes: u64,
    /// Ranks that have contributed, and their contributions.
    inputs: u32,
    contributions: List,
    /// Chunks: all, sent, returned.
    chunks: u32,
    sent: u32,
    done: u32,
    next: u32,
}

odonata_engine::slots!(Operation);

/// The operations of a tree at one of its interfaces.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Member {
    operations: List,
    /// The operation that sends next, and the one that is the next to end.
    sending: u32,
    ending: u32,
    /// Chunks sent and returned.
    sent: u32,
    done: u32,
}

impl Member {
    const IDLE: Member = Member {
        operations: List::EMPTY,
        sending: 0,
        ending: 0,
        sent: 0,
        done: 0,
    };
}

/// Sums in the routers of a part.
#[derive(Debug)]
pub(crate) struct Reduction {
    params: Option<ReductionParams>,
    /// Per vertex of this part: its first place in `arrived`, or its place in `members`.
    places: Vec<u32>,
    /// Chunks that have arrived of each operation under way, by router and tree.
    arrived: Store<u32>,
    members: Store<Member>,
    operations: Pool<Operation>,
    contributions: Pool<Contribution>,
    chunks: Pool<Chunk>,
    turns: LinkTurns,
}
odonata_engine::journalled!(Reduction {
    arrived,
    members,
    operations,
    contributions,
    chunks,
    turns
});

impl Reduction {
    /// The state of `routers` with `links` links, which are idle.
    pub(crate) fn new(params: Option<&ReductionParams>, routers: &Range<u32>, links: u32) -> Reduction {
        let (mut places, mut cells, mut members) = (Vec::new(), 0, 0);
        if let Some(ReductionParams { trees, settings }) = params {
            places.extend(trees.vertices().iter().map(|vertex| {
                let (count, by) = match vertex.interface {
                    NIL => (&mut cells, settings.operations),
                    _ => (&mut members, 1),
                };
                let place = *count;
                match routers.contains(&vertex.router) {
                    true => *count += by,
                    false => return NIL,
                }
                place
            }));
        }
        let links = if places.is_empty() { 0 } else { links };
        Reduction {
            params: params.cloned(),
            places,
            arrived: Store::filled(cells as usize, 0),
            members: Store::filled(members as usize, Member::IDLE),
            operations: Pool::new(),
            contributions: Pool::new(),
            chunks: Pool::new(),
            turns: LinkTurns::new(links as usize),
        }
    }

    fn params(&self) -> &ReductionParams {
        self.params.as_ref().expect("a reduction has a tree")
    }

    /// Keeps the contribution of a rank until it reaches its interface. Returns its slot.
    pub(crate) fn hold<M: Mode>(&mut self, contribution: Contribution) -> u32 {
        self.contributions.allocate::<M>(contribution)
    }

    /// Takes a contribution of the ended operation `slot`; frees the operation if there is none left.
    pub(crate) fn take_ended<M: Mode>(&mut self, slot: u32) -> Option<Contribution> {
        let mut list = self.operations.get(slot).contributions;
        let Some(first) = list.pop(&self.contributions) else {
            self.operations.free::<M>(slot);
            return None;
        };
        self.operations.edit::<M>(slot).contributions = list;
        let contribution = *self.contributions.get(first);
        self.contributions.free::<M>(first);
        Some(contribution)
    }

    /// Receives a chunk from another part. Returns the event of its arrival.
    pub(crate) fn receive<M: Mode>(&mut self, chunk: Chunk) -> FabricEvent {
        let chunk = self.chunks.allocate::<M>(Chunk { next: NIL, ..chunk });
        FabricEvent::ChunkArrives { chunk }
    }

    /// Handles an event of a reduction.
    pub(crate) fn handle<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        nics: &Nics,
        event: FabricEvent,
    ) -> Option<Notice> {
        match event {
            FabricEvent::Contribute { contribution } => self.contribute(ctx, shared, nics, contribution),
            FabricEvent::ChunkArrives { chunk } => return self.arrive(ctx, shared, nics, chunk),
            FabricEvent::ChunkReady { chunk } => self.forward(ctx, shared, nics, chunk),
            FabricEvent::ChunkPort { link } => self.serve(ctx, shared, nics, link),
            _ => debug_assert!(false, "{event:?} is none of a reduction"),
        }
        None
    }

    /// A contribution has reached its interface.
    fn contribute<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        nics: &Nics,
        slot: u32,
    ) {
        let Contribution {
            interface,
            tree,
            number,
            bytes,
            owner,
            ..
        } = *self.contributions.get(slot);
        let data = self.params().settings.data.0;
        let vertex =
            (self.params().trees.member(tree, interface)).expect("a contribution comes from an interface of its tree");
        let place = self.places[vertex as usize];
        let found = self.find(place, number);
        let operation = found.unwrap_or_else(|| {
            let operation = self.operations.allocate::<C>(Operation {
                number,
                owner,
                bytes,
                inputs: 0,
                contributions: List::EMPTY,
                chunks: u32::try_from(bytes.div_ceil(data).max(1)).unwrap_or(u32::MAX),
                sent: 0,
                done: 0,
                next: NIL,
            });
            let mut list = self.members.get(place).operations;
            list.push::<C, _>(&mut self.operations, operation);
            self.members.edit::<C>(place).operations = list;
            operation
        });
        let mut list = self.operations.get(operation).contributions;
        list.push::<C, _>(&mut self.contributions, slot);
        let cell = self.operations.edit::<C>(operation);
        cell.contributions = list;
        cell.inputs += 1;
        self.send_from(ctx, shared, nics, vertex);
    }

    /// The operation with this number at the interface with place `place`.
    fn find(&self, place: u32, number: u32) -> Option<u32> {
        let list = self.members.get(place).operations;
        list.iter(&self.operations)
            .find(|&slot| self.operations.get(slot).number == number)
    }

    /// Sends the chunks that may leave an interface.
    fn send_from<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        nics: &Nics,
        vertex: u32,
    ) {
        let (settings, at) = (self.params().settings, *self.params().trees.vertex(vertex));
        let place = self.places[vertex as usize];
        loop {
            let member = *self.members.get(place);
            if member.sent.wrapping_sub(member.done) >= settings.operations {
                return;
            }
            let Some(slot) = self.find(place, member.sending) else {
                return;
            };
            let operation = *self.operations.get(slot);
            if operation.inputs < at.inputs {
                return;
            }
            let left = operation.bytes - u64::from(operation.sent) * settings.data.0;
            let chunk = Chunk {
                vertex: at.parent,
                number: member.sent,
                bytes: left.min(settings.data.0) as u32,
                owner: operation.owner,
                is_result: false,
                next: NIL,
            };
            self.operations.edit::<C>(slot).sent += 1;
            let cell = self.members.edit::<C>(place);
            cell.sent = cell.sent.wrapping_add(1);
            if operation.sent + 1 == operation.chunks {
                cell.sending = cell.sending.wrapping_add(1);
            }
            let link = shared.flow.links.ports + shared.flow.links.nic(at.interface);
            self.enqueue(ctx, shared, nics, link, chunk);
        }
    }

    /// A chunk has arrived at its vertex.
    fn arrive<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        nics: &Nics,
        slot: u32,
    ) -> Option<Notice> {
        let Chunk {
            vertex,
            number,
            is_result,
            ..
        } = *self.chunks.get(slot);
        let (settings, at) = (self.params().settings, *self.params().trees.vertex(vertex));
        let place = self.places[vertex as usize];
        if at.interface != NIL {
            self.chunks.free::<C>(slot);
            return self.end_chunk(ctx, shared, nics, vertex);
        }
        if is_result {
            self.forward(ctx, shared, nics, slot);
            return None;
        }
        let cell = self.arrived.edit::<C>(place + number % settings.operations);
        *cell += 1;
        if *cell < at.inputs {
            self.chunks.free::<C>(slot);
            return None;
        }
        *cell = 0;
        if at.inputs > 1 && settings.delay > Time::ZERO {
            ctx.send(
                at.router,
                ctx.now() + settings.delay,
                FabricEvent::ChunkReady { chunk: slot }.into(),
            );
        } else {
            self.forward(ctx, shared, nics, slot);
        }
        None
    }

    /// Sends a summed chunk to the parent of its vertex; the root and the results go to the children.
    fn forward<C: HandlerContext, P: Payload>(&mut self, ctx: &mut C, shared: &mut Shared<P>, nics: &Nics, slot: u32) {
        let chunk = *self.chunks.get(slot);
        self.chunks.free::<C>(slot);
        let trees = self.params().trees.clone();
        let at = trees.vertex(chunk.vertex);
        if !chunk.is_result && at.parent != NIL {
            let up = Chunk {
                vertex: at.parent,
                ..chunk
            };
            let link = shared.flow.links.port(at.up);
            return self.enqueue(ctx, shared, nics, link, up);
        }
        for &child in trees.children(chunk.vertex) {
            let down = Chunk {
                vertex: child,
                is_result: true,
                ..chunk
            };
            let link = shared.flow.links.port(trees.vertex(child).down);
            self.enqueue(ctx, shared, nics, link, down);
        }
    }

    /// A result has arrived at an interface: its operation may end, and the next chunk may leave.
    fn end_chunk<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        nics: &Nics,
        vertex: u32,
    ) -> Option<Notice> {
        let place = self.places[vertex as usize];
        let ending = self.members.get(place).ending;
        let slot = self.find(place, ending).expect("a result belongs to an operation");
        let cell = self.operations.edit::<C>(slot);
        cell.done += 1;
        let ended = cell.done == cell.chunks;
        let mut list = self.members.get(place).operations;
        if ended {
            list.remove_first::<C, _>(&mut self.operations, |operation| operation.number == ending);
        }
        let cell = self.members.edit::<C>(place);
        cell.operations = list;
        cell.done = cell.done.wrapping_add(1);
        cell.ending = ending.wrapping_add(u32::from(ended));
        self.send_from(ctx, shared, nics, vertex);
        ended.then_some(Notice::Reduced { operation: slot })
    }

    /// A chunk joins the queue of a link.
    fn enqueue<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        nics: &Nics,
        link: u32,
        chunk: Chunk,
    ) {
        let slot = self.chunks.allocate::<C>(chunk);
        if self.turns.push::<C>(&mut self.chunks, link, slot) {
            self.serve(ctx, shared, nics, link);
        }
    }

    /// Sends the next chunk on a link, if the link is free and it is the turn of chunks.
    fn serve<C: HandlerContext, P: Payload>(&mut self, ctx: &mut C, shared: &mut Shared<P>, nics: &Nics, link: u32) {
        let Some(slot) = self.turns.next(ctx, shared, nics, link) else {
            return;
        };
        let chunk = *self.chunks.get(slot);
        let arrival = self.turns.send(ctx, shared, nics, &self.chunks, link);
        let of_link = shared.flow.link::<C>(link);
        // Routers handle what has passed their pipeline.
        let at = match of_link.to_node {
            true => arrival,
            false => arrival + shared.setup.params.router_delay,
        };
        let at = at.max(Time(ctx.now().0 + 1));
        match of_link.leaves {
            true => {
                self.chunks.free::<C>(slot);
                let events = &mut shared.boundary.send_buffer.events;
                events.push((of_link.far_lp, at, RemoteEvent::Chunk(chunk)));
            }
            false => ctx.send(of_link.far_lp, at, FabricEvent::ChunkArrives { chunk: slot }.into()),
        }
    }

    /// Checks after a complete run that nothing is left.
    ///
    /// # Errors
    /// Says what is left.
    pub(crate) fn audit(&self) -> Result<(), String> {
        let (operations, chunks) = (self.operations.live(), self.chunks.live());
        let waiting = self.arrived.iter().filter(|&&count| count > 0).count();
        match (operations, chunks, waiting) {
            (0, 0, 0) => Ok(()),
            _ => Err(format!(
                "{operations} sums in routers have not ended: {chunks} chunks are under way, {waiting} wait for others"
            )),
        }
    }
}
