//! Lost time of requests at storage servers and metadata servers.

use super::{LostTime, Of};
use odonata_blame::lost::{Kind, Loss, LostAt, Stamp, add};
use odonata_engine::{Mode, Time};
use odonata_storage::RequestLoss;

/// Who has asked a server, and its name for the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerRequest {
    pub(crate) client: u32,
    pub(crate) token: u64,
}

impl ServerRequest {
    fn of(self) -> Of {
        Of::Server(self.client, self.token as u32)
    }
}

impl LostTime {
    /// A request has arrived at a server.
    #[inline]
    pub(crate) fn asks<M: Mode>(&mut self, request: ServerRequest) {
        self.note::<M>(request.of());
    }

    /// A piece of a write has arrived there.
    pub(crate) fn piece_arrives<M: Mode>(&mut self, request: Option<ServerRequest>) {
        if let Some(request) = request
            && self.stamps.has(request.of().key())
        {
            self.needs_current::<M>(request.of());
        }
    }

    /// Requests at servers that are where `at` says have waited until `now`.
    pub(crate) fn waited<M: Mode>(
        &mut self,
        now: Time,
        of: impl Fn(u32, u32) -> Of,
        at: impl Fn(u32) -> LostAt,
        losses: &[RequestLoss],
    ) {
        for loss in losses {
            let of = of(loss.client, loss.token as u32);
            let Some(stamp) = self.stamp(of) else { continue };
            let Stamp {
                mut losses,
                origin,
                job,
                ..
            } = stamp;
            add(
                &mut losses,
                Loss {
                    culprit: 2 * loss.culprit + 1,
                    kind: kind_of(loss.resource),
                    place: self.at(at(loss.server)),
                    time: loss.time,
                },
            );
            // What it waits is all of its time since then, or part of it.
            self.is_now(Stamp {
                origin,
                ..Stamp::new(now, job, losses)
            });
            self.note::<M>(of);
        }
    }

    /// Part `part` of what a server has asked the tier below for comes to what is handled; the rest of it is still under way.
    #[inline]
    pub(crate) fn errand_part<M: Mode>(&mut self, part: u32) {
        self.needs_current::<M>(Of::ErrandPart(part));
    }

    /// Part `part` of `errand` has ended.
    pub(crate) fn end_errand_part<M: Mode>(&mut self, errand: u32, part: u32) {
        if self.is_on() {
            self.takes::<M>(Of::ErrandPart(part));
            self.needs_current::<M>(Of::Errand(errand));
        }
    }

    /// All of `errand`, which was a piece of `request`, has ended.
    pub(crate) fn end_errand<M: Mode>(&mut self, errand: u32, request: Option<ServerRequest>) {
        if self.is_on() {
            self.takes::<M>(Of::Errand(errand));
            self.piece_arrives::<M>(request);
        }
    }

    /// What is done now is done for `request`.
    #[inline]
    pub(crate) fn works_for(&mut self, request: ServerRequest, now: Time) {
        if self.is_on() {
            self.begins(now);
            self.continues(request.of(), now);
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
