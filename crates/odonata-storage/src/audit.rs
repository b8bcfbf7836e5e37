//! Reading the servers: metrics, what is stuck, and whether everything came home.

use crate::server::{DeviceQueue, DrainStage, Space};
use crate::{Metrics, ServerParams, Servers};
use odonata_engine::{Digest, NIL};
use odonata_units::Time;
use std::fmt;

/// A write request that waits for space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The server that is full.
    pub server: u32,
    /// Who asked.
    pub client: u32,
    /// The client's name for the request.
    pub token: u64,
    /// The job of the request.
    pub owner: u16,
    /// When the request arrived.
    pub since: Time,
    /// Bytes that it needs.
    pub needed: u64,
    /// Bytes that are free. May suffice, when an earlier request that needs more is in front.
    pub free: u64,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stuck {
            server,
            client,
            token,
            owner,
            since,
            needed,
            free,
        } = self;
        write!(
            f,
            "storage server {server}: request {token} of client {client} (job {owner}) needs {needed} B, \
             {free} B are free; waiting since {} s",
            since.seconds()
        )
    }
}

impl Servers {
    /// Number of servers.
    pub fn len(&self) -> u32 {
        self.params.len() as u32
    }

    /// Whether there is no server.
    pub fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    /// The parameters of `server`.
    pub fn params(&self, server: u32) -> &ServerParams {
        &self.params[server as usize]
    }

    /// What was measured at `server` so far.
    pub fn metrics(&self, server: u32) -> Metrics {
        // The device counts seeks itself: only its model knows what one is.
        Metrics {
            seeks: self.devices.get(server).state.seeks,
            ..*self.metrics.get(server)
        }
    }

    /// Space in use at `server`, in bytes: reserved and not drained.
    pub fn used(&self, server: u32) -> u64 {
        self.spaces.get(server).used
    }

    /// Memory of `server` in use, in bytes (whole blocks).
    pub fn memory_in_use(&self, server: u32) -> u64 {
        self.spaces.get(server).blocks_taken * self.params[server as usize].block
    }

    /// Requests open at all servers.
    pub fn open_requests(&self) -> u32 {
        self.requests.live()
    }

    /// Whether a block of `server` is on its way to the external file system.
    pub fn is_draining(&self, server: u32) -> bool {
        self.drains.get(server).in_transit > 0
    }

    /// The job whose access the device of `server` has in service; `None` while it is idle or works
    /// for the drain. Who waits for the device waits for this job.
    pub fn device_holder(&self, server: u32) -> Option<u16> {
        let slot = self.devices.get(server).in_service;
        let request = if slot == NIL {
            NIL
        } else {
            self.pieces.get(slot).request
        };
        (request != NIL).then(|| self.requests.get(request).what.owner)
    }

    /// The write requests that wait for space, by server and in their order. Back-pressure while the
    /// simulation goes on; when nothing more can happen, the outcome is *storage full* and these
    /// are its victims.
    pub fn stuck(&self) -> impl Iterator<Item = Stuck> + '_ {
        (0..self.len()).flat_map(move |server| {
            let space = self.spaces.get(server);
            let free = self.params[server as usize].capacity - space.used;
            space.reservations.iter(&self.requests).map(move |slot| {
                let request = self.requests.get(slot);
                let what = request.what;
                Stuck {
                    server,
                    client: what.client,
                    token: what.token,
                    owner: what.owner,
                    since: request.arrived,
                    needed: what.bytes,
                    free,
                }
            })
        })
    }

    /// Whether everything came home, at the end of a run: no request is open, all memory is back in
    /// its pool, the space in use is what was written less what was drained, and no device works for
    /// a request. A drain in progress is no fault: jobs end before their data has left the buffers.
    ///
    /// # Errors
    /// The first violation, with server and numbers.
    pub fn audit(&self) -> Result<(), String> {
        if let Some(stuck) = self.stuck().next() {
            return Err(stuck.to_string());
        }
        let mut draining = 0;
        for server in 0..self.len() {
            let Space {
                used,
                written,
                drained,
                blocks_taken,
                memory_queue,
                ..
            } = *self.spaces.get(server);
            let DeviceQueue { in_service, queue, .. } = *self.devices.get(server);
            let DrainStage { fetching, sending, .. } = *self.drains.get(server);
            draining += u32::from(fetching != NIL) + u32::from(sending != NIL);
            if blocks_taken != 0 || !memory_queue.is_empty() {
                return Err(format!(
                    "storage server {server}: {blocks_taken} blocks of memory are still taken"
                ));
            }
            if written < drained || used != written - drained {
                return Err(format!(
                    "storage server {server}: {used} B are in use, {written} B were written, {drained} B drained"
                ));
            }
            let mut at_device = queue
                .iter(&self.pieces)
                .chain((in_service != NIL).then_some(in_service));
            if at_device.any(|piece| piece != fetching) {
                return Err(format!("storage server {server}: the device still works for a request"));
            }
        }
        if self.requests.live() != 0 || self.pieces.live() != draining {
            let (requests, pieces) = (self.requests.live(), self.pieces.live() - draining);
            return Err(format!(
                "storage: {requests} requests and {pieces} pieces are still open"
            ));
        }
        self.books.ledger().audit()
    }

    /// Adds all metrics to a digest of results, by server.
    pub fn results(&self, digest: &mut Digest) {
        for server in 0..self.len() {
            digest.text(&format!("{:?}", self.metrics(server)));
        }
        self.books.ledger().results(digest);
    }
}
