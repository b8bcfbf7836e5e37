//! The device of a server: one queue, one access in service, first come first served.

use crate::request::Piece;
use crate::{Access, Action, Actions, Device, NewRequest, Servers};
use odonata_engine::{Mode, NIL};
use odonata_units::Time;

impl Servers {
    /// The access in service at `server` has ended, as announced by [`Action::DeviceBusyUntil`].
    pub fn device_done<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        self.book_device::<M>(now, server);
        let device = self.devices.edit::<M>(server);
        let slot = device.in_service;
        debug_assert_ne!(slot, NIL, "the device of server {server} is in service");
        let busy = now - device.started;
        device.in_service = NIL;
        self.metrics.edit::<M>(server).device_busy += busy;

        let Piece { request, bytes, .. } = *self.pieces.get(slot);
        if request == NIL {
            self.metrics.edit::<M>(server).drain_reads += 1;
            self.fetched::<M>(now, server, actions);
        } else {
            let cell = self.requests.edit::<M>(request);
            cell.in_service = false;
            self.books.served::<M>(cell.what.owner, busy);
            self.reconsider::<M>(now, request);
            let NewRequest {
                write,
                client,
                token,
                owner,
                ..
            } = self.requests.get(request).what;
            let metrics = self.metrics.edit::<M>(server);
            if write {
                metrics.device_writes += 1;
                metrics.bytes_written += bytes;
                self.spaces.edit::<M>(server).written += bytes;
                self.books.wrote::<M>(server, owner, bytes);
                self.finish_piece::<M>(now, slot, actions);
                self.feed_drain::<M>(now, server, actions);
            } else {
                metrics.device_reads += 1;
                actions.push(Action::Push {
                    server,
                    slot,
                    client,
                    token,
                    owner,
                    bytes,
                });
            }
        }
        self.serve::<M>(now, server, actions);
    }

    /// Appends a piece to the device's queue.
    pub(crate) fn join_device<M: Mode>(&mut self, now: Time, server: u32, slot: u32, actions: &mut Actions) {
        self.pieces.edit::<M>(slot).since = now;
        self.devices
            .edit::<M>(server)
            .queue
            .push::<M, _>(&mut self.pieces, slot);
        let request = self.pieces.get(slot).request;
        if request != NIL {
            self.requests.edit::<M>(request).at_device += 1;
        }
        self.serve::<M>(now, server, actions);
        self.reconsider::<M>(now, request);
    }

    /// Begins the first access of the queue if the device is idle.
    fn serve<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        let device = self.devices.get(server);
        if device.in_service != NIL || device.queue.is_empty() {
            return;
        }
        let device = self.devices.edit::<M>(server);
        let slot = device.queue.pop(&self.pieces).expect("the queue is not empty");
        let Piece {
            request,
            object,
            offset,
            bytes,
            since,
            ..
        } = *self.pieces.get(slot);
        let write = request != NIL && self.requests.get(request).what.write;
        let model = &self.params[server as usize].device;
        let time = model.service_time(
            &mut device.state,
            Access {
                write,
                object,
                offset,
                bytes,
            },
        );
        device.in_service = slot;
        device.started = now;
        if request != NIL {
            let cell = self.requests.edit::<M>(request);
            cell.at_device -= 1;
            cell.in_service = true;
            self.reconsider::<M>(now, request);
        }
        self.metrics.edit::<M>(server).device_wait_ps += u128::from((now - since).0);
        // An event comes strictly later than its cause, however fast the device.
        actions.push(Action::DeviceBusyUntil {
            server,
            at: now + time.max(Time::from_ps(1)),
        });
    }
}
