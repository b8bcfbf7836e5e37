//! Lost time of requests at storage servers and metadata servers.

use super::{Dependent, LostTime};
use odonata_blame::lost::{Kind, Loss, LostAt, Stamp, add};
use odonata_engine::{Mode, Time};
use odonata_storage::{DeviceAccess, RequestHeader, RequestLoss};

impl Dependent {
    /// A request at a storage server.
    pub(crate) fn server(request: RequestHeader) -> Dependent {
        Dependent::Server(request.client.number(), request.token)
    }

    /// A call at a metadata server.
    pub(crate) fn metadata(request: RequestHeader) -> Dependent {
        Dependent::Metadata(request.client.number(), request.token)
    }
}

impl LostTime {
    /// A request has arrived at a server.
    #[inline]
    pub(crate) fn asks<M: Mode>(&mut self, request: RequestHeader) {
        self.note::<M>(Dependent::server(request));
    }

    /// A piece of a write has arrived there.
    pub(crate) fn piece_arrives<M: Mode>(&mut self, request: Option<RequestHeader>) {
        if let Some(request) = request
            && self.stamps.has(Dependent::server(request).key())
        {
            self.needs_current::<M>(Dependent::server(request));
        }
    }

    /// Requests at servers, at the place `at`, have waited until `now`.
    pub(crate) fn waited<M: Mode>(
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
    pub(crate) fn access_begins<M: Mode>(&mut self, now: Time, access: &DeviceAccess) {
        if let Some(stamp) = self.stamp(Dependent::server(access.header)) {
            self.stamps
                .set::<M>(Dependent::Access(access.piece).key(), &stamp.later(now));
        }
    }

    /// A device has served a piece until now: its request depends on it, and so does the next access of its job at the
    /// device. Seek time caused by accesses of other jobs in between is lost to the last of them, `at` the server.
    pub(crate) fn access_ends<M: Mode>(&mut self, now: Time, access: &DeviceAccess, at: LostAt) {
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

    /// A part of `request`, which a server has sent to the lower tier, has ended with `attempt`.
    pub(crate) fn end_attempt<M: Mode>(&mut self, request: u32, attempt: u32) {
        if self.is_on() {
            self.takes::<M>(Dependent::Attempt(attempt));
            self.needs_current::<M>(Dependent::StorageRequest(request));
        }
    }

    /// Makes the stamp of `request` current, since the work is done for it.
    #[inline]
    pub(crate) fn works_for(&mut self, request: RequestHeader, now: Time) {
        if self.is_on() {
            self.begins(now);
            self.continues(Dependent::server(request), now);
        }
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
