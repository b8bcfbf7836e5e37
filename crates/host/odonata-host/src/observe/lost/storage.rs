//! Lost time of requests at storage servers and metadata servers.

use super::{Dependent, LostTime, StampTable};
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
        self.stamps.note::<M>(Dependent::server(request));
    }

    #[inline]
    fn piece_arrives<M: Uses>(&mut self, request: impl Fn() -> Option<RequestHeader> + Copy) {
        if self.stamps.is_on()
            && let Some(request) = request()
            && self.stamps.has(Dependent::server(request))
        {
            self.stamps.needs_current::<M>(Dependent::server(request));
        }
    }

    /// Makes the stamp of `request` current, since the work is done for it.
    #[inline]
    fn server_acts<M: Uses>(&mut self, request: RequestHeader, now: Time) {
        if self.stamps.is_on() {
            self.stamps.begins(now);
            self.stamps.continues(Dependent::server(request), now);
        }
    }

    #[inline]
    fn rank_hears<M: Uses>(&mut self, request: impl Fn() -> Option<u32> + Copy) {
        if self.stamps.is_on()
            && let Some(request) = request()
        {
            self.stamps.needs_current::<M>(Dependent::StorageRequest(request));
        }
    }

    #[inline]
    fn server_hears_from_below<M: Uses>(&mut self, attempt: u32) {
        self.stamps.needs_current::<M>(Dependent::Attempt(attempt));
    }

    #[inline]
    fn data_have_crossed<M: Uses>(&mut self, attempt: u32, now: Time) {
        self.stamps.continues(Dependent::Attempt(attempt), now);
    }

    #[inline]
    fn attempt_ends<M: Uses>(&mut self, request: u32, attempt: u32) {
        if self.stamps.is_on() {
            self.stamps.takes::<M>(Dependent::Attempt(attempt));
            self.stamps.needs_current::<M>(Dependent::StorageRequest(request));
        }
    }

    #[inline]
    fn attempt_is_late<M: Uses>(&mut self, attempt: u32) {
        self.stamps.forget::<M>(Dependent::Attempt(attempt));
    }

    #[inline]
    fn request_is_complete<M: Uses>(&mut self, request: u32) {
        self.stamps.takes::<M>(Dependent::StorageRequest(request));
    }

    #[inline]
    fn metadata_call_arrives<M: Uses>(&mut self, call: RequestHeader) {
        self.stamps.note::<M>(Dependent::metadata(call));
    }

    #[inline]
    fn metadata_call_ends<M: Uses>(&mut self, call: RequestHeader, now: Time) {
        self.stamps.is_complete::<M>(Dependent::metadata(call), now);
    }

    #[inline]
    fn files_are_staged<M: Uses>(&mut self, rank: u32) {
        self.stamps.needs_current::<M>(Dependent::Staged(rank));
    }

    #[inline]
    fn rank_is_staged<M: Uses>(&mut self, rank: u32, now: Time) {
        self.stamps.is_complete::<M>(Dependent::Staged(rank), now);
    }

    fn servers_have_worked<M: Uses>(&mut self, now: Time, waits: &ServerWaits, numbers: [&dyn Fn(u32) -> u32; 2]) {
        if !self.stamps.is_on() {
            return;
        }
        let RequestWaits { losses, begun, ended } = &waits.storage;
        let LostTime { stamps, path, .. } = self;
        let at = |server| path.place(LostAt::server(numbers[0](server)));
        // An access that ends lets waiting ones begin.
        for access in ended {
            access_ends::<M>(stamps, now, access, at(access.server));
        }
        if !(losses.is_empty() && waits.locks.is_empty() && waits.metadata.is_empty()) {
            let before = std::mem::take(&mut stamps.current);
            // A request asks for space once it has its lock.
            has_waited::<M>(stamps, now, Dependent::server, at, &waits.locks);
            has_waited::<M>(stamps, now, Dependent::server, at, losses);
            let at = |server| path.place(LostAt::metadata(numbers[1](server)));
            has_waited::<M>(stamps, now, Dependent::metadata, at, &waits.metadata);
            stamps.is_now(before);
        }
        for access in begun {
            access_begins::<M>(stamps, now, access);
        }
    }
}

impl LostTime {
    /// A storage server asks the lower tier for `request`, or for no request.
    #[inline]
    pub(crate) fn server_asks_below<M: Uses>(&mut self, request: Option<RequestHeader>, now: Time) -> Aside {
        let aside = Aside(self.stamps.is_on().then(|| self.stamps.current.clone()));
        match request {
            Some(request) => self.server_acts::<M>(request, now),
            None => self.stamps.begins(now),
        }
        aside
    }

    /// `block` crosses the link of I/O server `server` to a file system.
    pub(crate) fn block_crosses<M: Uses>(&mut self, block: OutsideBlock, server: u32) -> Aside {
        let aside = Aside(self.stamps.is_on().then(|| self.stamps.current.clone()));
        if self.is_on() {
            let place = self.path.place(LostAt::server(server));
            self.outside.crosses::<M>(&mut self.stamps, block, place);
        }
        aside
    }

    /// The event goes on as before `aside`.
    #[inline]
    pub(crate) fn resume(&mut self, aside: Aside) {
        if let Some(before) = aside.0 {
            self.stamps.is_now(before);
        }
    }
}

/// Requests at servers, at the places `at`, have waited until `now`.
fn has_waited<M: Uses>(
    stamps: &mut StampTable,
    now: Time,
    dependent: impl Fn(RequestHeader) -> Dependent,
    at: impl Fn(u32) -> LostAt,
    losses: &[RequestLoss],
) {
    let of_one = |a: &RequestLoss, b: &RequestLoss| (a.header, a.server, a.device) == (b.header, b.server, b.device);
    for wait in losses.chunk_by(of_one) {
        let dependent = dependent(wait[0].header);
        let place = at(wait[0].server);
        let Some(mut stamp) = stamps.stamp(dependent) else {
            continue;
        };
        let own = wait[0].device.and_then(|device| {
            let own = stamps.stamp(Dependent::Device(device, stamp.job))?;
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
        stamps.is_now(Stamp {
            origin,
            ..Stamp::new(now, job, losses)
        });
        stamps.note::<M>(dependent);
    }
}

/// A device begins to serve a piece of a request.
fn access_begins<M: Uses>(stamps: &mut StampTable, now: Time, access: &DeviceAccess) {
    if let Some(stamp) = stamps.stamp(Dependent::server(access.header)) {
        stamps.set::<M>(Dependent::Access(access.piece), &stamp.later(now));
    }
}

/// A device has served a piece until now: its request depends on it, and so does the next access of its job at the
/// device. Seek time caused by accesses of other jobs in between is lost to the last of them, at `place`.
fn access_ends<M: Uses>(stamps: &mut StampTable, now: Time, access: &DeviceAccess, place: LostAt) {
    let Some(mut stamp) = stamps.take::<M>(Dependent::Access(access.piece)) else {
        return;
    };
    if let Some((culprit, time)) = access.seek {
        let loss = Loss {
            culprit: 2 * culprit + 1,
            kind: Kind::Device,
            place,
            time,
        };
        stamp.loses(loss, now);
    }
    let stamp = stamp.later(now);
    let request = Dependent::server(access.header);
    if stamps.has(request) {
        stamps.join::<M>(request, &stamp);
    }
    stamps.set::<M>(Dependent::Device(access.device, access.owner), &stamp);
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
