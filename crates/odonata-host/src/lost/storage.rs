//! Lost time of requests at storage servers and metadata servers.

use super::{LostTime, Of};
use odonata_blame::lost::{Kind, Loss, Stamp, add};
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
            && self.stamp(request.of()).is_some()
        {
            self.needs_current::<M>(request.of());
        }
    }

    /// Requests there have waited until `now`.
    pub(crate) fn waited<M: Mode>(&mut self, now: Time, of: impl Fn(u32, u32) -> Of, losses: &[RequestLoss]) {
        for loss in losses {
            let of = of(loss.client, loss.token as u32);
            let Some(stamp) = self.stamp(of) else { continue };
            let mut losses = stamp.losses;
            add(
                &mut losses,
                Loss {
                    culprit: 2 * loss.culprit + 1,
                    kind: kind_of(loss.resource),
                    time: loss.time,
                },
            );
            // What it waits is all of its time since then, or part of it.
            self.is_now(Stamp::new(now, losses));
            self.note::<M>(of);
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
        "memory" => Kind::Memory,
        "device" => Kind::Device,
        _ => Kind::Metadata,
    }
}
