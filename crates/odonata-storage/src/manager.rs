//! The storage manager: space, memory and pipelining, after the burst-buffer server of the MFNetSim
//! study. The device's queue is in `service.rs`, the drain in `drain.rs`.

use crate::blame::Books;
use crate::request::{Piece, Request, Wait};
use crate::server::{DeviceQueue, DrainStage, Space};
use crate::{Action, Actions, Metrics, NewRequest, ParamsError, ServerParams};
use odonata_engine::{Mode, Pool, Store, journalled};
use odonata_units::Time;

/// A set of storage servers, numbered from 0.
///
/// All state that changes is journalled; every input is generic over the [`Mode`], so that an input
/// made under [`Speculative`](odonata_engine::Speculative) can be taken back.
#[derive(Debug)]
pub struct Servers {
    pub(crate) params: Vec<ServerParams>,
    pub(crate) requests: Pool<Request>,
    pub(crate) pieces: Pool<Piece>,
    pub(crate) spaces: Store<Space>,
    pub(crate) devices: Store<DeviceQueue>,
    pub(crate) drains: Store<DrainStage>,
    pub(crate) metrics: Store<Metrics>,
    pub(crate) books: Books,
}
journalled!(Servers {
    requests,
    pieces,
    spaces,
    devices,
    drains,
    metrics,
    books
});

impl Servers {
    /// One server per element of `params`, all empty and idle.
    ///
    /// # Errors
    /// The first server whose parameters [cannot work](ServerParams::check), and why.
    pub fn new(params: Vec<ServerParams>) -> Result<Self, (u32, ParamsError)> {
        for (server, params) in (0..).zip(&params) {
            params.check().map_err(|why| (server, why))?;
        }
        let n = params.len();
        Ok(Servers {
            params,
            requests: Pool::new(),
            pieces: Pool::new(),
            spaces: Store::filled(n, Space::default()),
            devices: Store::filled(n, DeviceQueue::default()),
            drains: Store::filled(n, DrainStage::default()),
            metrics: Store::filled(n, Metrics::default()),
            books: Books::off(),
        })
    }

    /// A request arrives at `server`.
    ///
    /// A write first reserves all its space, and waits for it behind every earlier write of this
    /// server, whatever its size; a read starts at once. An empty request is answered at once.
    pub fn request<M: Mode>(&mut self, now: Time, server: u32, what: NewRequest, actions: &mut Actions) {
        let NewRequest {
            write,
            client,
            token,
            bytes,
            ..
        } = what;
        if bytes == 0 {
            self.metrics.edit::<M>(server).requests += 1;
            actions.push(what.response(server));
            return;
        }
        let capacity = self.params[server as usize].capacity;
        if write && bytes > capacity {
            actions.push(Action::Impossible {
                server,
                client,
                token,
                owner: what.owner,
                bytes,
                capacity,
            });
            return;
        }
        let request = self.requests.take::<M>(Request::new(now, server, what));
        if write {
            let space = self.spaces.edit::<M>(server);
            space.reservations.push::<M, _>(&mut self.requests, request);
            self.set_wait::<M>(now, request, Wait::Space);
            self.reserve::<M>(now, server, actions);
            self.feed_drain::<M>(now, server, actions);
        } else {
            self.issue::<M>(now, request, actions);
        }
    }

    /// The piece in `slot`, asked for with [`Action::Pull`], has arrived from its client with `bytes`
    /// bytes, which must be as many as were asked for.
    pub fn piece_arrived<M: Mode>(&mut self, now: Time, slot: u32, bytes: u64, actions: &mut Actions) {
        let piece = *self.pieces.get(slot);
        debug_assert_eq!(piece.bytes, bytes, "a piece arrives as it was asked for");
        debug_assert!(self.requests.get(piece.request).what.write, "only writes pull");
        self.join_device::<M>(now, piece.server, slot, actions);
    }

    /// The piece in `slot`, handed out with [`Action::Push`], has been delivered to its client.
    pub fn piece_sent<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let piece = *self.pieces.get(slot);
        debug_assert!(!self.requests.get(piece.request).what.write, "only reads push");
        self.metrics.edit::<M>(piece.server).bytes_read += piece.bytes;
        self.finish_piece::<M>(now, slot, actions);
    }

    /// The request that is next to get space, if any waits.
    pub(crate) fn first_reservation(&self, server: u32) -> Option<u32> {
        self.spaces.get(server).reservations.iter(&self.requests).next()
    }

    /// Gives space to the requests that wait for it, in their order, until one does not fit.
    pub(crate) fn reserve<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        let capacity = self.params[server as usize].capacity;
        while let Some(request) = self.first_reservation(server) {
            let Request { what, arrived, .. } = *self.requests.get(request);
            // `used` never exceeds the capacity, so that this cannot wrap where a sum could.
            if what.bytes > capacity - self.spaces.get(server).used {
                break;
            }
            let space = self.spaces.edit::<M>(server);
            space.reservations.pop(&self.requests);
            space.used += what.bytes;
            let metrics = self.metrics.edit::<M>(server);
            metrics.space_wait_ps += u128::from((now - arrived).0);
            metrics.peak_used = metrics.peak_used.max(space.used);
            self.set_wait::<M>(now, request, Wait::Nothing);
            self.issue::<M>(now, request, actions);
        }
    }

    /// Makes pieces of `request` until the pipelining factor or its end is reached; each asks for memory.
    fn issue<M: Mode>(&mut self, now: Time, request: u32, actions: &mut Actions) {
        loop {
            let Request {
                what,
                server,
                in_flight,
                issued,
                ..
            } = *self.requests.get(request);
            let params = &self.params[server as usize];
            if in_flight == params.pieces_in_flight || issued == what.bytes {
                self.reconsider::<M>(now, request);
                return;
            }
            let bytes = params.block.min(what.bytes - issued);
            let (object, offset) = if params.object_per_file {
                (what.file, what.offset + issued)
            } else {
                (0, issued)
            };
            let cell = self.requests.edit::<M>(request);
            cell.in_flight += 1;
            cell.issued += bytes;
            let piece = self
                .pieces
                .take::<M>(Piece::new(now, server, (request, what.owner), object, offset, bytes));
            self.want_memory::<M>(now, server, piece, actions);
        }
    }

    fn want_memory<M: Mode>(&mut self, now: Time, server: u32, piece: u32, actions: &mut Actions) {
        // A block that comes back goes to the next in line at once: while one is free, nobody waits.
        if self.spaces.get(server).blocks_taken < self.params[server as usize].blocks() {
            self.grant_memory::<M>(now, server, piece, actions);
        } else {
            let space = self.spaces.edit::<M>(server);
            space.memory_queue.push::<M, _>(&mut self.pieces, piece);
            let request = self.pieces.get(piece).request;
            self.requests.edit::<M>(request).at_memory += 1;
        }
    }

    fn grant_memory<M: Mode>(&mut self, now: Time, server: u32, slot: u32, actions: &mut Actions) {
        let Piece {
            request, bytes, since, ..
        } = *self.pieces.get(slot);
        let space = self.spaces.edit::<M>(server);
        space.blocks_taken += 1;
        let in_use = space.blocks_taken * self.params[server as usize].block;
        let metrics = self.metrics.edit::<M>(server);
        metrics.memory_wait_ps += u128::from((now - since).0);
        metrics.peak_memory = metrics.peak_memory.max(in_use);
        let NewRequest {
            write,
            client,
            token,
            owner,
            ..
        } = self.requests.get(request).what;
        if write {
            actions.push(Action::Pull {
                server,
                slot,
                client,
                token,
                owner,
                bytes,
            });
        } else {
            self.join_device::<M>(now, server, slot, actions);
        }
    }

    /// A piece is written, or delivered: its memory goes to the next in line, its request goes on.
    pub(crate) fn finish_piece<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let Piece {
            server,
            request,
            bytes,
            owner,
            ..
        } = *self.pieces.get(slot);
        self.pieces.give::<M>(slot);

        self.settle_memory::<M>(now, server, owner);
        let space = self.spaces.edit::<M>(server);
        space.blocks_taken -= 1;
        // Those who wait come before the next piece of this request, which has had its turn.
        if let Some(piece) = space.memory_queue.pop(&self.pieces) {
            let waiter = self.pieces.get(piece).request;
            self.requests.edit::<M>(waiter).at_memory -= 1;
            self.reconsider::<M>(now, waiter);
            self.grant_memory::<M>(now, server, piece, actions);
        }

        let cell = self.requests.edit::<M>(request);
        cell.in_flight -= 1;
        cell.done += bytes;
        let Request {
            what, done, arrived, ..
        } = *cell;
        if done < what.bytes {
            self.issue::<M>(now, request, actions);
            return;
        }
        self.requests.give::<M>(request);
        let metrics = self.metrics.edit::<M>(server);
        metrics.requests += 1;
        metrics.request_time_ps += u128::from((now - arrived).0);
        actions.push(what.response(server));
    }
}
