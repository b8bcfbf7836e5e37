//! Lost time of requests at storage servers and metadata servers.

use super::{Dependent, LostTime};
use crate::context::Uses;
use crate::io::facts::{Aside, IoObserver, OutsideBlock, ServerWaits};
use odonata_blame::lost::{Kind, Loss, LostAt, Stamp, add};
use odonata_engine::Time;
use odonata_storage::{DeviceAccess, RequestHeader, RequestLoss, RequestWaits};

impl Dependent {
    /// A request at a storage server.
    fn server(request: RequestHeader) -> Dependent {
        Dependent::Server(request.client.number(), request.token)
    }

    /// A call at a metadata server.
    fn metadata(request: RequestHeader) -> Dependent {
        Dependent::Metadata(request.client.number(), request.token)
    }
}

impl IoObserver for LostTime {
    #[inline]
    fn request_arrives<M: Uses>(&mut self, request: RequestHeader) {
        self.note::<M>(Dependent::server(request));
    }

    #[inline]
    fn piece_arrives<M: Uses>(&mut self, request: impl Fn() -> Option<RequestHeader> + Copy) {
        if self.is_on()
            && let Some(request) = request()
            && self.stamps.has(Dependent::server(request).key())
        {
            self.needs_current::<M>(Dependent::server(request));
        }
    }

    /// Makes the stamp of `request` current, since the work is done for it.
    #[inline]
    fn server_acts<M: Uses>(&mut self, request: RequestHeader, now: Time) {
        if self.is_on() {
            self.begins(now);
            self.continues(Dependent::server(request), now);
        }
    }

    #[inline]
    fn rank_hears<M: Uses>(&mut self, request: impl Fn() -> Option<u32> + Copy) {
        if self.is_on()
            && let Some(request) = request()
        {
            self.needs_current::<M>(Dependent::StorageRequest(request));
        }
    }

    #[inline]
    fn server_hears_from_below<M: Uses>(&mut self, attempt: u32) {
        self.needs_current::<M>(Dependent::Attempt(attempt));
    }

    #[inline]
    fn data_have_crossed<M: Uses>(&mut self, attempt: u32, now: Time) {
        self.continues(Dependent::Attempt(attempt), now);
    }

    #[inline]
    fn attempt_ends<M: Uses>(&mut self, request: u32, attempt: u32) {
        if self.is_on() {
            self.takes::<M>(Dependent::Attempt(attempt));
            self.needs_current::<M>(Dependent::StorageRequest(request));
        }
    }

    #[inline]
    fn attempt_is_late<M: Uses>(&mut self, attempt: u32) {
        self.forget::<M>(Dependent::Attempt(attempt));
    }

    #[inline]
    fn request_is_complete<M: Uses>(&mut self, request: u32) {
        self.takes::<M>(Dependent::StorageRequest(request));
    }

    #[inline]
    fn metadata_call_arrives<M: Uses>(&mut self, call: RequestHeader) {
        self.note::<M>(Dependent::metadata(call));
    }

    #[inline]
    fn metadata_call_ends<M: Uses>(&mut self, call: RequestHeader, now: Time) {
        self.is_complete::<M>(Dependent::metadata(call), now);
    }

    #[inline]
    fn files_are_staged<M: Uses>(&mut self, rank: u32) {
        self.needs_current::<M>(Dependent::Staged(rank));
    }

    #[inline]
    fn rank_is_staged<M: Uses>(&mut self, rank: u32, now: Time) {
        self.is_complete::<M>(Dependent::Staged(rank), now);
    }

    fn servers_have_worked<M: Uses>(&mut self, now: Time, waits: &ServerWaits, numbers: [&dyn Fn(u32) -> u32; 2]) {
        if !self.is_on() {
            return;
        }
        let RequestWaits { losses, begun, ended } = &waits.storage;
        let at = |server| LostAt::server(numbers[0](server));
        // An access that ends lets waiting ones begin.
        for access in ended {
            self.access_ends::<M>(now, access, at(access.server));
        }
        if !(losses.is_empty() && waits.locks.is_empty() && waits.metadata.is_empty()) {
            let before = std::mem::take(&mut self.current);
            // A request asks for space once it has its lock.
            self.waited::<M>(now, Dependent::server, at, &waits.locks);
            self.waited::<M>(now, Dependent::server, at, losses);
            let at = |server| LostAt::metadata(numbers[1](server));
            self.waited::<M>(now, Dependent::metadata, at, &waits.metadata);
            self.is_now(before);
        }
        for access in begun {
            self.access_begins::<M>(now, access);
        }
    }
}

impl LostTime {
    /// A storage server asks the lower tier for `request`, or for no request.
    #[inline]
    pub(crate) fn server_asks_below<M: Uses>(&mut self, request: Option<RequestHeader>, now: Time) -> Aside {
        let aside = Aside(self.is_on().then(|| self.current.clone()));
        match request {
            Some(request) => self.server_acts::<M>(request, now),
            None => self.begins(now),
        }
        aside
    }

    /// `block` crosses the link of I/O server `server` to a file system.
    pub(crate) fn block_crosses<M: Uses>(&mut self, block: OutsideBlock, server: u32) -> Aside {
        let aside = Aside(self.is_on().then(|| self.current.clone()));
        self.crosses::<M>(block, server);
        aside
    }

    /// The event goes on as before `aside`.
    #[inline]
    pub(crate) fn resume(&mut self, aside: Aside) {
        if let Some(before) = aside.0 {
            self.is_now(before);
        }
    }
}

impl LostTime {
    /// Requests at servers, at the place `at`, have waited until `now`.
    fn waited<M: Uses>(
        &mut self,
        now: Time,
        dependent: impl Fn(RequestHeader) -> Dependent,
        at: impl Fn(u32) -> LostAt,
        losses: &[RequestLoss],
    ) {
        let of_one =
            |a: &RequestLoss, b: &RequestLoss| (a.header, a.server, a.device) == (b.header, b.server, b.device);
        for wait in losses.chunk_by(of_one) {
            let dependent = dependent(wait[0].header);
            let place = self.at(at(wait[0].server));
            let Some(mut stamp) = self.stamp(dependent) else {
                continue;
            };
            let own = wait[0].device.and_then(|device| {
                let own = self.stamp(Dependent::Device(device, stamp.job))?;
                (own.at > wait[0].from && own.at <= now).then_some(own)
            });
            let mut from = wait[0].from;
            if let Some(own) = own {
                stamp = stamp.later(from);
                stamp.waits_for_own(&own, (2 * stamp.job + 1, Kind::Device, place));
                from = own.at;
            }
            for loss in wait {
                let loss = Loss {
                    culprit: 2 * loss.culprit + 1,
                    kind: kind_of(loss.resource),
                    place,
                    time: loss.until.saturating_sub(loss.from.max(from)),
                };
                add(&mut stamp.losses, loss);
            }
            // The wait is all of the time since its stamp, or a part of it.
            let Stamp {
                losses, origin, job, ..
            } = stamp;
            self.is_now(Stamp {
                origin,
                ..Stamp::new(now, job, losses)
            });
            self.note::<M>(dependent);
        }
    }

    /// A device begins to serve a piece of a request.
    fn access_begins<M: Uses>(&mut self, now: Time, access: &DeviceAccess) {
        if let Some(stamp) = self.stamp(Dependent::server(access.header)) {
            self.stamps
                .set::<M>(Dependent::Access(access.piece).key(), &stamp.later(now));
        }
    }

    /// A device has served a piece until now: its request depends on it, and so does the next access of its job at the
    /// device. Seek time caused by accesses of other jobs in between is lost to the last of them, `at` the server.
    fn access_ends<M: Uses>(&mut self, now: Time, access: &DeviceAccess, at: LostAt) {
        let Some(mut stamp) = self.stamps.take::<M>(Dependent::Access(access.piece).key()) else {
            return;
        };
        if let Some((culprit, time)) = access.seek {
            let place = self.at(at);
            let loss = Loss {
                culprit: 2 * culprit + 1,
                kind: Kind::Device,
                place,
                time,
            };
            stamp.loses(loss, now);
        }
        let stamp = stamp.later(now);
        let request = Dependent::server(access.header).key();
        if self.stamps.has(request) {
            self.stamps.join::<M>(request, &stamp);
        }
        self.stamps
            .set::<M>(Dependent::Device(access.device, access.owner).key(), &stamp);
    }
}

fn kind_of(resource: u8) -> Kind {
    match odonata_storage::SERVER_RESOURCES[usize::from(resource)] {
        "space" => Kind::Space,
        // The reserve is memory for blocks on their way to the lower tier.
        "memory" | "reserve" => Kind::Memory,
        "device" => Kind::Device,
        "lock" => Kind::Lock,
        _ => Kind::Metadata,
    }
}
