//! The devices of a server: a queue in front of each device, shared fairly between jobs, and the accesses handed to the device.
//!
//! A device returns at once when the turn of an access comes and when the access ends; until its turn, the access waits for others.
//! A device with a queue of its own is handed several accesses ([`queue_depth`](crate::DeviceParams::queue_depth)).

use crate::blame::{DEVICE, line};
use crate::open_request::{Piece, PieceKind};
use crate::sync::Block;
use crate::{Action, Actions, Servers};
use odonata_device::{Access, Service};
use odonata_engine::{Mode, NIL};
use odonata_units::Time;

impl Servers {
    /// The turn of the piece in `slot` has come at its device, as announced by [`Action::DeviceBegins`].
    pub fn device_begins<M: Mode>(&mut self, now: Time, slot: u32) {
        let dead = self.is_dead::<M>(now, slot);
        let piece = *self.pieces.get(slot);
        let Piece {
            request,
            server,
            device,
            since,
            owner,
            ..
        } = piece;
        self.book_device::<M>(now, device);
        let cell = self.pieces.edit::<M>(slot);
        (cell.since, cell.begun) = (now, true);
        self.queues.begins::<M>(now, device, owner);
        if request != NIL {
            let cell = self.requests.edit::<M>(request);
            cell.at_device -= 1;
            cell.in_service += 1;
            self.books.accesses.begins((server, device, slot), cell);
            self.reconsider::<M>(now, request);
        } else if piece.kind == PieceKind::Drain && !dead {
            self.block_moves::<M>(now, &piece, Some(Block::Queued), Some(Block::Served));
        }
        self.device_metrics.edit::<M>(device).wait_ps += u128::from((now - since).0);
    }

    /// The access of the piece in `slot` has ended, as announced by [`Action::DeviceDone`].
    pub fn device_done<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let dead = self.is_dead::<M>(now, slot);
        let Piece {
            request,
            server,
            device,
            bytes,
            since,
            owner,
            moved_by,
            ..
        } = *self.pieces.get(slot);
        self.book_device::<M>(now, device);
        self.settle_device::<M>(now, device, owner);
        let idle_since = self.queues.ends::<M>(device);
        let metrics = self.device_metrics.edit::<M>(device);
        if let Some(since) = idle_since {
            metrics.busy += now - since;
        }
        let service = now - since;
        metrics.service_ps += u128::from(service.0);
        if dead {
            self.bury::<M>(now, slot, actions);
            self.serve::<M>(now, device, actions);
            self.note_occupancy::<M>(now, server);
            return;
        }

        let kind = self.pieces.get(slot).kind;
        if request == NIL {
            if kind == PieceKind::Fill {
                self.filled::<M>(now, slot, actions);
            } else {
                metrics.drain_reads += 1;
                metrics.bytes_drained += bytes;
                match self.params[server as usize].next {
                    Some(_) => self.fetched_to_leave::<M>(now, slot, actions),
                    None => self.fetched::<M>(now, server, actions),
                }
            }
        } else {
            let cell = self.requests.edit::<M>(request);
            cell.in_service -= 1;
            let waits = !cell.write_back && !cell.answered;
            let seek = moved_by.map(|by| (by, self.devices.seek(device, service)));
            self.books.accesses.ends((server, device, slot), cell, seek);
            self.books.served::<M>(cell.what.header.owner, service);
            if waits {
                self.served_in_fault::<M>(now, device, since, owner);
            }
            self.reconsider::<M>(now, request);
            if kind == PieceKind::Fill {
                self.stage_stored::<M>(now, slot, actions);
                self.serve::<M>(now, device, actions);
                self.note_occupancy::<M>(now, server);
                return;
            }
            let write = self.requests.get(request).what.operation.is_write();
            let metrics = self.device_metrics.edit::<M>(device);
            if write {
                metrics.writes += 1;
                metrics.bytes_written += bytes;
                self.spaces.edit::<M>(device).written += bytes;
                if self.pieces.get(slot).missing > 0 {
                    self.pieces.edit::<M>(slot).missing -= 1;
                    self.end_write_through::<M>(now, slot, actions);
                } else {
                    self.store_on_device::<M>(slot);
                    self.finish_piece::<M>(now, slot, actions);
                }
                self.feed_drain::<M>(now, server, actions);
            } else {
                metrics.reads += 1;
                metrics.bytes_read += bytes;
                self.push_piece(slot, actions);
            }
        }
        self.serve::<M>(now, device, actions);
        self.note_occupancy::<M>(now, server);
    }

    /// Appends a piece to the queue of its device.
    pub(crate) fn join_device<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let piece = self.pieces.edit::<M>(slot);
        (piece.since, piece.joined) = (now, now);
        let (device, request) = (piece.device, piece.request);
        let accesses = self.queues.join::<M>(device, slot, &mut self.pieces);
        if self.device_metrics.get(device).peak_accesses < accesses {
            self.device_metrics.edit::<M>(device).peak_accesses = accesses;
        }
        if request != NIL {
            self.requests.edit::<M>(request).at_device += 1;
        }
        self.serve::<M>(now, device, actions);
        self.reconsider::<M>(now, request);
    }

    /// Hands queued accesses to `device`, up to its queue depth.
    fn serve<M: Mode>(&mut self, now: Time, device: u32, actions: &mut Actions) {
        loop {
            let depth = self.devices.params(device).queue_depth;
            let Some(mut waiting) = self.queues.next_of(device, depth) else {
                return;
            };
            let sharing = self.params[self.devices.server_of(device) as usize].manager.sharing;
            let next = self
                .turns
                .pop::<M, _>(sharing, line(device, DEVICE), &mut waiting, &mut self.pieces);
            let slot = next.expect("the queue is not empty");
            self.queues.hand_over::<M>(device, waiting);
            let Piece {
                request,
                server,
                object,
                offset,
                bytes,
                owner,
                ..
            } = *self.pieces.get(slot);
            let fills = self.pieces.get(slot).kind == PieceKind::Fill;
            let write = fills || (request != NIL && self.requests.get(request).what.operation.is_write());
            let access = Access {
                write,
                object,
                offset,
                bytes,
            };
            let Service { begin, finish } = self.devices.serve::<M>(device, now, access);
            let model = &self.devices.params(device).model;
            let moved_by = self.books.accesses.accessed::<M>(device, model, owner, access);
            if moved_by.is_some() {
                self.pieces.edit::<M>(slot).moved_by = moved_by;
            }
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
}
