//! Reads and writes: a request takes space, its pieces take memory and device time, and the client is answered.
//!
//! A device returns at once when the turn of an access comes and when the access ends; until its turn, the access waits for others.
//! A device with a queue of its own is handed several accesses ([`queue_depth`](crate::DeviceParams::queue_depth)).

use odonata_device::{Access, Service};
use odonata_engine::{Mode, NIL};
use odonata_units::Time;

use super::{Action, Actions, Observer, OpenRequest, Servers, Staged, StorageRequest};
use crate::faults::failures::LostRead;
use crate::index::SpaceAccount;
use crate::index::SpaceUse;
use crate::observe::BlockStep;
use crate::open_request::{Piece, PieceKind};
use crate::settings::Acknowledge;
use crate::sharing::Line;

impl Servers {
    /// A read or write arrives at `server`.
    ///
    /// A write first reserves all its space. It waits behind every earlier write to the same device, whatever its size. A read
    /// starts at once. An empty request is answered at once.
    pub(super) fn admit<M: Mode>(
        &mut self,
        now: Time,
        server: u32,
        (what, lock): (StorageRequest, Option<u32>),
        actions: &mut Actions,
    ) {
        let StorageRequest {
            header, offset, bytes, ..
        } = what;
        let write = what.operation.is_write();
        if bytes == 0 {
            self.observers.empty_request_is_answered::<M>(&self.parts, server);
            actions.push(Action::answer(server, header));
            return;
        }
        let device = self.parts.device_for(now, server, bytes);
        let capacity = self.parts.space.capacity(device);
        let passes_by = write && self.parts.passes_by(server);
        if write && !passes_by && bytes > capacity {
            actions.push(Action::Impossible {
                server,
                header,
                bytes,
                capacity,
            });
            return;
        }
        let lost = self.parts.reads_lost::<M>(server, &what);
        if lost == LostRead::Refused {
            actions.push(Action::Lost {
                server,
                header,
                offset,
                bytes,
            });
            return;
        }
        let device = if write {
            device
        } else if let Some(device) = self.parts.device_of_read(server, &what, device) {
            device
        } else {
            actions.push(Action::Unwritten {
                server,
                header,
                offset,
                bytes,
            });
            return;
        };
        let write_back = write && self.parts.params[server as usize].manager.acknowledge == Acknowledge::Memory;
        let mut request = OpenRequest::new(now, (server, device), what);
        (request.lock, request.write_back, request.lost) = (lock, write_back, lost == LostRead::Reported);
        let request = self.parts.requests.allocate::<M>(request);
        if write && !passes_by {
            let parts = &mut self.parts;
            parts.space.wait::<M>(device, request, &mut parts.requests);
            self.observers.request_waits_for_space::<M>(&self.parts, now, request);
            self.reserve::<M>(now, device, actions);
            self.feed_drain::<M>(now, server, actions);
        } else {
            self.issue::<M>(now, request, actions);
            if !write {
                self.read_ahead::<M>(now, server, &what, actions);
            }
        }
        self.observers.levels_change::<M>(&self.parts, now, server);
    }

    /// The piece in `slot`, requested with [`Action::Pull`], has arrived from its client with `bytes` bytes, which must equal the
    /// requested length.
    pub fn piece_arrived<M: Mode>(&mut self, now: Time, slot: u32, bytes: u64, actions: &mut Actions) {
        if self.is_dead::<M>(now, slot) {
            self.bury::<M>(now, slot, actions);
            return;
        }
        let parts = &mut self.parts;
        let piece = parts.pieces.get(slot);
        let (request, server) = (piece.request, piece.server);
        debug_assert_eq!(piece.bytes, bytes, "a piece arrives as it was asked for");
        debug_assert!(
            parts.requests.get(request).what.operation.is_write(),
            "only writes pull"
        );
        if parts.index.is_kept(server) && !piece.removed && !parts.passes_by(server) {
            let piece = *piece;
            parts.index.is_in_memory_now::<M>(&piece, &mut parts.space);
        }
        if self.parts.requests.get(request).write_back {
            let cell = self.parts.requests.edit::<M>(request);
            cell.in_flight -= 1;
            cell.received += bytes;
            if cell.received == cell.what.bytes {
                self.answer::<M>(now, request, actions);
                let parts = &mut self.parts;
                parts.syncs.acknowledge_early::<M>(request, &mut parts.requests);
            }
            self.go_on::<M>(now, slot, actions);
            self.issue::<M>(now, request, actions);
        } else {
            self.go_on::<M>(now, slot, actions);
        }
        self.observers.levels_change::<M>(&self.parts, now, server);
    }

    /// The piece in `slot`, sent with [`Action::Push`], has been delivered to its client.
    pub fn piece_sent<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        if self.is_dead::<M>(now, slot) {
            self.bury::<M>(now, slot, actions);
            return;
        }
        let piece = *self.parts.pieces.get(slot);
        let request = self.parts.requests.get(piece.request);
        debug_assert!(!request.what.operation.is_write(), "only reads push");
        self.observers.piece_is_delivered::<M>(&self.parts, &piece);
        self.finish_piece::<M>(now, slot, actions);
        self.keep_copy::<M>(now, &piece, actions);
        self.observers.levels_change::<M>(&self.parts, now, piece.server);
    }

    /// `owner` has given space of `device` back: it goes to the requests that wait for it.
    pub(super) fn space_is_free<M: Mode>(&mut self, now: Time, device: u32, owner: u16, actions: &mut Actions) {
        self.observers.space_is_freed::<M>(&self.parts, now, device, owner);
        self.reserve::<M>(now, device, actions);
    }

    /// Gives space to the waiting requests in their turn, until one does not fit.
    fn reserve<M: Mode>(&mut self, now: Time, device: u32, actions: &mut Actions) {
        while let Some(request) = self.parts.first_reservation(device) {
            let OpenRequest { what, server, .. } = *self.parts.requests.get(request);
            let (free, needs) = (self.parts.space.free(device), self.parts.needs(device, &what));
            if needs > free {
                // Eviction may take ranges for which the request itself needs no space.
                if self.evict::<M>(device, needs - free) == 0 {
                    break;
                }
                continue;
            }
            let parts = &mut self.parts;
            let (sharing, mut waiting) = (parts.sharing(server), parts.space.waiting(device));
            let line = Line::Space(device);
            parts
                .turns
                .pop::<M, _>(sharing, line, &mut waiting, &mut parts.requests);
            parts.space.set_waiting::<M>(device, waiting);
            let is_indexed = parts.index.is_kept(server);
            match is_indexed {
                true => (parts.index).reserve::<M>((server, device), &what, &mut parts.space),
                false => parts.space.occupy::<M>(device, SpaceUse::Reserved, what.bytes),
            }
            self.observers.request_has_space::<M>(&self.parts, now, request);
            self.issue::<M>(now, request, actions);
            // The replaced range may have freed space on another device.
            if is_indexed {
                for other in self.parts.devices.of(server).filter(|&other| other != device) {
                    if self.parts.first_reservation(other).is_some() {
                        self.space_is_free::<M>(now, other, what.header.owner, actions);
                    }
                }
            }
        }
    }

    /// Makes pieces of `request` up to the pipelining factor or its end. Each piece requests memory.
    pub(super) fn issue<M: Mode>(&mut self, now: Time, request: u32, actions: &mut Actions) {
        loop {
            let OpenRequest {
                what,
                server,
                device,
                in_flight,
                issued,
                stages,
                removed,
                ..
            } = *self.parts.requests.get(request);
            let params = &self.parts.params[server as usize];
            if in_flight == params.manager.pieces_in_flight || issued == what.bytes {
                self.observers.request_advances::<M>(&self.parts, now, request);
                return;
            }
            let mut bytes = params.block().min(what.bytes - issued);
            if params.next.is_some() && !what.operation.is_write() && params.manager.extents {
                let start = what.offset.saturating_add(issued);
                let range = start..start.saturating_add(bytes);
                let (run, here) = self.parts.index.run_of(server, what.object, range);
                if here && stages {
                    let cell = self.parts.requests.edit::<M>(request);
                    (cell.issued, cell.done) = (cell.issued + run, cell.done + run);
                    let is_awaited = !cell.answered;
                    if is_awaited {
                        let owner = what.header.owner;
                        self.observers.stage_moves::<M>(&self.parts, owner, Staged::Found, run);
                    }
                    continue;
                }
                bytes = run;
                let parts = &self.parts;
                if !here
                    && !stages
                    && let Some(end) = (parts.stages).comes_until(server, what.object, start, &parts.pieces)
                {
                    bytes = bytes.min(end - start);
                }
            }
            let (object, offset) = match self.parts.params[server as usize].manager.object_per_file {
                true => (what.object, what.offset + issued),
                false => (0, issued),
            };
            let cell = self.parts.requests.edit::<M>(request);
            cell.in_flight += 1;
            cell.issued += bytes;
            let place = (server, device);
            let mut piece = Piece::new(now, place, (request, what.header.owner), object, offset, bytes);
            piece.removed = removed;
            let piece = self.parts.pieces.allocate::<M>(piece);
            let parts = &mut self.parts;
            // A returned block goes to the next piece in line at once: no piece waits while a block is free.
            if parts.memories.has_free_block(server) {
                let line = Line::Memory(parts.devices.of(server).start);
                let sharing = parts.sharing(server);
                (parts.turns).charge::<M>(sharing, line, what.header.owner, bytes);
                self.grant_memory::<M>(now, server, piece, actions);
            } else {
                parts.memories.wait::<M>(server, piece, &mut parts.pieces);
                parts.requests.edit::<M>(request).at_memory += 1;
            }
        }
    }

    fn grant_memory<M: Mode>(&mut self, now: Time, server: u32, slot: u32, actions: &mut Actions) {
        self.parts.memories.take::<M>(server);
        self.observers.memory_is_granted::<M>(&self.parts, now, slot);
        let piece = *self.parts.pieces.get(slot);
        let OpenRequest { what, stages, .. } = *self.parts.requests.get(piece.request);
        let parts = &mut self.parts;
        if what.operation.is_write() {
            actions.push(Action::Pull {
                server,
                slot,
                header: what.header,
                bytes: piece.bytes,
            });
        } else if stages {
            parts.stages.request::<M>(server, slot, &mut parts.pieces);
            self.ask_lower_tier::<M>(now, slot, false, actions);
        } else if parts.is_in_lower_tier(slot) {
            if !parts.stages.wait::<M>(slot, &mut parts.pieces) {
                self.ask_lower_tier::<M>(now, slot, false, actions);
            }
        } else {
            self.observers.data_are_found::<M>(&self.parts, &piece);
            if self.parts.is_in_memory(slot) {
                self.parts.push_piece(slot, actions);
            } else {
                self.parts.touch::<M>(&piece);
                self.join_device::<M>(now, slot, actions);
            }
        }
    }

    /// A piece is written or delivered: its memory goes to the next piece in line, and its request continues.
    pub(super) fn finish_piece<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let Piece {
            server,
            request,
            bytes,
            owner,
            ..
        } = *self.parts.pieces.get(slot);
        self.parts.pieces.free::<M>(slot);

        // Waiting pieces come before the next piece of this request, which has had its turn.
        self.release_memory::<M>(now, server, owner, actions);

        let cell = self.parts.requests.edit::<M>(request);
        cell.in_flight -= u32::from(!cell.write_back);
        cell.done += bytes;
        let OpenRequest {
            what,
            done,
            answered,
            stages,
            ..
        } = *cell;
        if done < what.bytes {
            self.issue::<M>(now, request, actions);
            if stages {
                self.end_stage_without_pieces::<M>(now, request, actions);
            }
            return;
        }
        if what.operation.is_write() {
            self.observers.write_is_committed::<M>(&self.parts, now, request);
        }
        if stages && answered {
            // A read-ahead has no client to answer.
        } else if answered {
            self.committed_at_last::<M>(now, request, actions);
        } else {
            self.answer::<M>(now, request, actions);
        }
        self.parts.requests.free::<M>(request);
    }

    /// A block of memory of `owner` goes to the next piece in line.
    pub(super) fn release_memory<M: Mode>(&mut self, now: Time, server: u32, owner: u16, actions: &mut Actions) {
        self.observers.memory_is_freed::<M>(&self.parts, now, server, owner);
        let parts = &mut self.parts;
        let (sharing, line) = (parts.sharing(server), Line::Memory(parts.devices.of(server).start));
        let mut waiting = parts.memories.waiting(server);
        let next = (parts.turns).pop::<M, _>(sharing, line, &mut waiting, &mut parts.pieces);
        parts.memories.give_back::<M>(server, waiting);
        if let Some(piece) = next {
            let waiter = parts.pieces.get(piece).request;
            parts.requests.edit::<M>(waiter).at_memory -= 1;
            self.observers.request_advances::<M>(&self.parts, now, waiter);
            self.grant_memory::<M>(now, server, piece, actions);
        }
    }

    /// Answers the client: its request is complete.
    pub(super) fn answer<M: Mode>(&mut self, now: Time, request: u32, actions: &mut Actions) {
        let cell = self.parts.requests.edit::<M>(request);
        cell.answered = true;
        let OpenRequest {
            what,
            lock,
            server,
            lost,
            ..
        } = *cell;
        self.observers.request_is_answered::<M>(&self.parts, now, request);
        actions.push(Action::Respond {
            server,
            header: what.header,
            lock,
            bytes: what.bytes,
            lost,
        });
    }

    /// Appends a piece to the queue of its device.
    pub(super) fn join_device<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let parts = &mut self.parts;
        let piece = parts.pieces.edit::<M>(slot);
        (piece.since, piece.joined) = (now, now);
        let (device, request) = (piece.device, piece.request);
        let accesses = parts.queues.join::<M>(device, slot, &mut parts.pieces);
        if request != NIL {
            parts.requests.edit::<M>(request).at_device += 1;
        }
        self.observers.access_is_queued::<M>(&self.parts, device, accesses);
        self.serve::<M>(now, device, actions);
        if request != NIL {
            self.observers.request_advances::<M>(&self.parts, now, request);
        }
    }

    /// Hands queued accesses to `device`, up to its queue depth.
    fn serve<M: Mode>(&mut self, now: Time, device: u32, actions: &mut Actions) {
        loop {
            let parts = &mut self.parts;
            let depth = parts.devices.params(device).queue_depth;
            let Some(mut waiting) = parts.queues.next_of(device, depth) else {
                return;
            };
            let sharing = parts.sharing(parts.devices.server_of(device));
            let line = Line::Device(device);
            let next = (parts.turns).pop::<M, _>(sharing, line, &mut waiting, &mut parts.pieces);
            let slot = next.expect("the queue is not empty");
            parts.queues.hand_over::<M>(device, waiting);
            let Piece {
                request,
                server,
                object,
                offset,
                bytes,
                kind,
                ..
            } = *parts.pieces.get(slot);
            let fills = kind == PieceKind::Fill;
            let write = fills || (request != NIL && parts.requests.get(request).what.operation.is_write());
            let access = Access {
                write,
                object,
                offset,
                bytes,
            };
            let Service { begin, finish } = parts.devices.serve::<M>(device, now, access);
            self.observers.access_is_handed::<M>(&self.parts, slot, access);
            if begin <= now {
                self.device_begins::<M>(now, slot);
            } else {
                actions.push(Action::DeviceBegins {
                    server,
                    slot,
                    at: begin,
                });
            }
            actions.push(Action::DeviceDone {
                server,
                slot,
                at: finish,
            });
        }
    }

    /// The turn of the piece in `slot` has come at its device, as announced by [`Action::DeviceBegins`].
    pub fn device_begins<M: Mode>(&mut self, now: Time, slot: u32) {
        let dead = self.is_dead::<M>(now, slot);
        self.observers.access_begins::<M>(&self.parts, now, slot);
        let parts = &mut self.parts;
        let cell = parts.pieces.edit::<M>(slot);
        (cell.since, cell.begun) = (now, true);
        let Piece {
            request,
            device,
            owner,
            kind,
            ..
        } = *cell;
        parts.queues.begins::<M>(now, device, owner);
        if request != NIL {
            let cell = parts.requests.edit::<M>(request);
            cell.at_device -= 1;
            cell.in_service += 1;
            self.observers.request_advances::<M>(&self.parts, now, request);
        } else if kind == PieceKind::Drain && !dead {
            let piece = *parts.pieces.get(slot);
            let (from, to) = (Some(BlockStep::Queued), Some(BlockStep::Served));
            self.observers.block_moves::<M>(&self.parts, now, &piece, from, to);
        }
    }

    /// The access of the piece in `slot` has ended, as announced by [`Action::DeviceDone`].
    pub fn device_done<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let dead = self.is_dead::<M>(now, slot);
        self.observers.access_ends::<M>(&self.parts, now, slot);
        let Piece {
            request,
            server,
            device,
            kind,
            ..
        } = *self.parts.pieces.get(slot);
        self.parts.queues.ends::<M>(device);
        if dead {
            self.bury::<M>(now, slot, actions);
        } else if request == NIL {
            match (kind, self.parts.params[server as usize].next) {
                (PieceKind::Fill, _) => self.filled::<M>(now, slot, actions),
                (_, Some(_)) => self.fetched_to_leave::<M>(now, slot, actions),
                (_, None) => self.fetched::<M>(now, server, actions),
            }
        } else {
            self.parts.requests.edit::<M>(request).in_service -= 1;
            self.observers.request_advances::<M>(&self.parts, now, request);
            if kind == PieceKind::Fill {
                self.filled::<M>(now, slot, actions);
            } else if self.parts.requests.get(request).what.operation.is_write() {
                self.written::<M>(now, slot, actions);
            } else {
                self.parts.push_piece(slot, actions);
            }
        }
        self.serve::<M>(now, device, actions);
        self.observers.levels_change::<M>(&self.parts, now, server);
    }

    /// The device has written a piece of a write.
    fn written<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let parts = &mut self.parts;
        let piece = *parts.pieces.get(slot);
        parts.space.count_written::<M>(piece.device, piece.bytes);
        if piece.missing > 0 {
            parts.pieces.edit::<M>(slot).missing -= 1;
            self.end_write_through::<M>(now, slot, actions);
            self.feed_drain::<M>(now, piece.server, actions);
            return;
        }
        if parts.index.is_kept(piece.server) {
            parts.index.commit::<M>(&piece, &mut parts.space);
            parts.reserves.data_of::<M>(piece.server, piece.owner);
            self.observers.data_are_received::<M>(&self.parts, &piece);
        } else {
            let states = (SpaceUse::Reserved, SpaceUse::Dirty);
            parts.space.change::<M>(piece.device, states, piece.bytes);
            if crate::drain::is_in_order_of_writes(&parts.params[piece.server as usize]) {
                parts.cursors.append::<M>(piece.device, piece.owner, piece.bytes);
            }
        }
        self.finish_piece::<M>(now, slot, actions);
        self.feed_drain::<M>(now, piece.server, actions);
    }
}
