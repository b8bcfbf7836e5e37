//! Lost time of requests at storage servers and metadata servers.

use super::{LostTime, Of};
use odonata_blame::lost::{Kind, Loss, LostAt, Stamp, add};
use odonata_engine::{Mode, Time};
use odonata_storage::{DeviceAccess, RequestHeader, RequestLoss};

impl Of {
    /// A request at a storage server.
    pub(crate) fn server(request: RequestHeader) -> Of {
        Of::Server(request.client.number(), request.token)
    }

    /// A call at a metadata server.
    pub(crate) fn metadata(request: RequestHeader) -> Of {
        Of::Metadata(request.client.number(), request.token)
    }
}

impl LostTime {
    /// A request has arrived at a server.
    #[inline]
    pub(crate) fn asks<M: Mode>(&mut self, request: RequestHeader) {
        self.note::<M>(Of::server(request));
    }

    /// A piece of a write has arrived there.
    pub(crate) fn piece_arrives<M: Mode>(&mut self, request: Option<RequestHeader>) {
        if let Some(request) = request
            && self.stamps.has(Of::server(request).key())
        {
            self.needs_current::<M>(Of::server(request));
        }
    }

    /// Requests at servers that are where `at` says have waited until `now`.
    pub(crate) fn waited<M: Mode>(
        &mut self,
        now: Time,
        of: impl Fn(RequestHeader) -> Of,
        at: impl Fn(u32) -> LostAt,
        losses: &[RequestLoss],
    ) {
        let of_one =
            |a: &RequestLoss, b: &RequestLoss| (a.header, a.server, a.device) == (b.header, b.server, b.device);
        for wait in losses.chunk_by(of_one) {
            let of = of(wait[0].header);
            let place = self.at(at(wait[0].server));
            let Some(mut stamp) = self.stamp(of) else { continue };
            let own = wait[0].device.and_then(|device| {
                let own = self.stamp(Of::Device(device, stamp.job))?;
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
            // What it waits is all of its time since then, or part of it.
            let Stamp {
                losses, origin, job, ..
            } = stamp;
            self.is_now(Stamp {
                origin,
                ..Stamp::new(now, job, losses)
            });
            self.note::<M>(of);
        }
    }

    /// A device begins to serve a piece of a request.
    pub(crate) fn access_begins<M: Mode>(&mut self, now: Time, access: &DeviceAccess) {
        if let Some(stamp) = self.stamp(Of::server(access.header)) {
            self.stamps.set::<M>(Of::Access(access.piece).key(), &stamp.later(now));
        }
    }

    /// It has served it until now: the request needs that, and so does whoever of its job waits behind it there. What it has sought
    /// because others were there between is lost to the last of them, `at` the server.
    pub(crate) fn access_ends<M: Mode>(&mut self, now: Time, access: &DeviceAccess, at: LostAt) {
        let Some(mut stamp) = self.stamps.take::<M>(Of::Access(access.piece).key()) else {
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
        let request = Of::server(access.header).key();
        if self.stamps.has(request) {
            self.stamps.join::<M>(request, &stamp);
        }
        self.stamps
            .set::<M>(Of::Device(access.device, access.owner).key(), &stamp);
    }

    /// A part of `request`, which a server has sent to the lower tier, has ended with `attempt`.
    pub(crate) fn end_attempt<M: Mode>(&mut self, request: u32, attempt: u32) {
        if self.is_on() {
            self.takes::<M>(Of::Attempt(attempt));
            self.needs_current::<M>(Of::StorageRequest(request));
        }
    }

    /// What is done now is done for `request`.
    #[inline]
    pub(crate) fn works_for(&mut self, request: RequestHeader, now: Time) {
        if self.is_on() {
            self.begins(now);
            self.continues(Of::server(request), now);
        }
    }
}

fn kind_of(resource: u8) -> Kind {
    match odonata_storage::SERVER_RESOURCES[usize::from(resource)] {
        "space" => Kind::Space,
        // The reserve is of memory: that of blocks on their way down.
        "memory" | "reserve" => Kind::Memory,
        "device" => Kind::Device,
        "lock" => Kind::Lock,
        _ => Kind::Metadata,
    }
}
