//! Losses of packets and credits that cross from part to part.

use super::LostTime;
use super::account::{Lost, Waiter};
use crate::boundary::RemoteLoss;
use crate::message::{Message, Traffic};
use crate::packet::Packet;
use odonata_blame::lost::{Key, Kind, Loss, LostAt, Origin, Stamp, Vector, add};
use odonata_engine::{Mode, Time};

/// The identity of a packet in all parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Name {
    source: u32,
    /// Counted from 1.
    number: u32,
    created: Time,
}

impl Name {
    fn of<P>(packet: &Packet, message: &Message<P>) -> Name {
        Name {
            source: message.source,
            number: message.number,
            created: packet.created,
        }
    }

    fn key(self) -> Key {
        let message = u64::from(self.source) << 32 | u64::from(self.number);
        (message, 1 << 63 | self.created.0)
    }
}

/// The kind of a [`RemoteLoss`] that carries the origin of the losses: a rank, and the number of its wait.
const ORIGIN: u8 = u8::MAX;

/// The number of a [`RemoteLoss`] of a credit for virtual channel `vc`, of a packet of `owner`; above all message
/// numbers.
fn credit_number(vc: u8, owner: Traffic) -> u32 {
    1 << 31 | u32::from(vc) << 16 | u32::from(owner)
}

/// The number of a [`RemoteLoss`] of a body flit; distinct from those of messages and credits.
const FLIT: u32 = 3 << 30;

/// The name of the body flit that arrives at input buffer `buffer` at `came`; it is unique.
pub(super) fn flit_name(buffer: u32, came: Time) -> Name {
    Name {
        source: buffer,
        number: FLIT,
        created: came,
    }
}

impl RemoteLoss {
    fn of((source, number, created): (u32, u32, Time), loss: Loss) -> RemoteLoss {
        RemoteLoss {
            source,
            number,
            created,
            culprit: loss.culprit,
            kind: loss.kind as u8,
            place: loss.place.0,
            time: loss.time,
        }
    }
}

impl LostTime {
    /// Merges the losses of `waiter` of `owner` in other parts with its local ones, if it is a packet from another
    /// part.
    #[inline]
    pub(super) fn put_together<M: Mode>(&mut self, waiter: Waiter, owner: Traffic) {
        if let Waiter::Packet(slot) = waiter
            && self.names.get(slot as usize) != Name::default()
        {
            self.put_together_remote::<M>(slot, owner);
        }
    }

    #[cold]
    fn put_together_remote<M: Mode>(&mut self, slot: u32, owner: Traffic) {
        let name = std::mem::take(self.names.edit::<M>(slot as usize));
        let before = self.take_incoming::<M>(name);
        let waiter = Waiter::Packet(slot);
        let mut losses = before.losses;
        let mut here = Vec::new();
        self.losses.read(self.accounts.get(waiter).lost, owner, &mut here);
        here.into_iter().for_each(|loss| add(&mut losses, loss));
        self.set::<M>(waiter, owner, before.origin, &losses);
    }

    /// Takes all losses of the packet in slot `slot`, in the form for another part.
    pub(crate) fn export<M: Mode, P>(&mut self, slot: u32, packet: &Packet, message: &Message<P>) -> Vec<RemoteLoss> {
        let waiter = Waiter::Packet(slot);
        self.put_together::<M>(waiter, packet.traffic);
        let lost = self.accounts.get(waiter).lost;
        let losses_there = self.to_remote(lost, packet.traffic, Name::of(packet, message));
        self.clear::<M>(waiter);
        losses_there
    }

    /// The losses of a packet or flit of `owner`, in the form for another part.
    pub(super) fn to_remote(&self, lost: Lost, owner: Traffic, name: Name) -> Vec<RemoteLoss> {
        let mut losses = Vec::new();
        self.losses.read(lost, owner, &mut losses);
        let Name {
            source,
            number,
            created,
        } = name;
        let origin = self.losses.vectors.origin(lost.own);
        let stems = RemoteLoss {
            source,
            number,
            created,
            culprit: 0,
            kind: ORIGIN,
            place: origin.rank,
            time: Time(origin.number.into()),
        };
        let stems = (origin != Origin::NONE).then_some(stems);
        let losses = (losses.into_iter()).map(|loss| RemoteLoss::of((source, number, created), loss));
        stems.into_iter().chain(losses).collect()
    }

    /// Takes the losses received from another part for `name`.
    pub(super) fn take_incoming<M: Mode>(&mut self, name: Name) -> Stamp {
        self.incoming.take::<M>(name.key()).unwrap_or_default()
    }

    /// The losses that travel to another part with the credit of a packet of `owner`, which has lost
    /// `losses_to_others`, for virtual channel `vc` of `link`.
    pub(crate) fn frees_remote(
        &self,
        (link, vc, owner): (u32, u8, Traffic),
        due: Time,
        losses_to_others: Vector,
    ) -> impl Iterator<Item = RemoteLoss> + '_ {
        let name = (link, credit_number(vc, owner), due);
        self.losses
            .vectors
            .losses(losses_to_others)
            .map(move |loss| RemoteLoss::of(name, loss))
    }

    /// `packet` of `message` arrives from another part, into slot `slot`.
    pub(crate) fn arrives<M: Mode, P>(&mut self, slot: u32, packet: &Packet, message: &Message<P>) {
        *self.names.edit::<M>(slot as usize) = Name::of(packet, message);
    }

    /// Receives a loss of a packet, of a body flit, or of a credit from another part. `first_vc` gives the first
    /// virtual channel of a link, `own_buffer` the local number of a buffer of the machine.
    pub(crate) fn import<M: Mode>(
        &mut self,
        remote: RemoteLoss,
        first_vc: impl FnOnce(u32) -> u32,
        own_buffer: impl FnOnce(u32) -> u32,
    ) {
        let RemoteLoss {
            source,
            number,
            created,
            culprit,
            kind,
            place,
            time,
        } = remote;
        let name = match number {
            FLIT => flit_name(own_buffer(source), created),
            _ => Name {
                source,
                number,
                created,
            },
        };
        if let Some(kind) = Kind::of(kind) {
            let place = LostAt(place);
            let loss = Loss {
                culprit,
                kind,
                place,
                time,
            };
            if number != FLIT && number >> 31 == 1 {
                let vc = first_vc(source) + (number >> 16 & 0xff);
                self.rooms
                    .frees_by::<M>(&mut self.losses.vectors, (vc, number as u16), created, loss);
                return;
            }
            self.incoming.lose::<M>(name.key(), loss);
        } else if kind == ORIGIN {
            let origin = Origin {
                rank: place,
                number: time.0 as u32,
            };
            self.incoming.stems::<M>(name.key(), origin);
        }
    }
}
