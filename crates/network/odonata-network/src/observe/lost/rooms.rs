//! Buffer space behind links: the losses to others of the packets that freed it return with their credits.

use crate::message::Traffic;
use odonata_blame::lost::{Loss, Origin, Vector, Vectors, add};
use odonata_engine::{GrowableStore, Mode, Pool, Time};

/// The space last freed in a virtual channel by a packet with losses to others, and the credits with losses that are
/// still in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Room {
    at: Time,
    losses_to_others: Vector,
    /// The first and the last credit, as slot + 1.
    pending: u32,
    last: u32,
    owner: Traffic,
}

/// A credit of a packet of `owner` that counts from `due`.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct PendingRoom {
    due: Time,
    losses_to_others: Vector,
    /// The next credit of the same virtual channel, as slot + 1.
    next: u32,
    owner: Traffic,
}

odonata_engine::slots!(PendingRoom);

/// Buffer space, by virtual channel of all links.
#[derive(Debug)]
pub(in crate::observe) struct Rooms {
    rooms: GrowableStore<Room>,
    pending: Pool<PendingRoom>,
    /// Whether routers send single flits.
    flits: bool,
}
odonata_engine::journalled!(Rooms { rooms, pending });

impl Rooms {
    pub(super) fn new(flits: bool) -> Rooms {
        Rooms {
            rooms: GrowableStore::new(),
            pending: Pool::new(),
            flits,
        }
    }

    /// The credit of `owner` due at `due` for `vc`, and the credit before it, each as slot + 1.
    fn find_credit(&self, vc: u32, owner: Traffic, due: Time) -> (u32, u32) {
        let (mut before, mut at) = (0, self.rooms.get(vc as usize).pending);
        while at > 0 {
            let credit = self.pending.get(at - 1);
            if (credit.owner, credit.due) == (owner, due) {
                break;
            }
            (before, at) = (at, credit.next);
        }
        (at, before)
    }

    /// A packet of `owner` with the losses `losses_to_others` frees space in virtual channel `vc` at `due`; its credit
    /// does not carry them.
    pub(in crate::observe) fn frees<M: Mode>(
        &mut self,
        vectors: &mut Vectors,
        (vc, owner): (u32, Traffic),
        due: Time,
        losses_to_others: Vector,
    ) {
        if losses_to_others.is_empty() {
            return;
        }
        let credit = PendingRoom {
            due,
            losses_to_others: vectors.share::<M>(losses_to_others),
            next: 0,
            owner,
        };
        let slot = self.pending.allocate::<M>(credit) + 1;
        let room = self.rooms.edit::<M>(vc as usize);
        let before = std::mem::replace(&mut room.last, slot);
        match room.pending {
            0 => room.pending = slot,
            _ => self.pending.edit::<M>(before - 1).next = slot,
        }
    }

    /// The combined losses of two packets or flits that free space at the same instant, independent of their order. Two
    /// packets that end at the same instant took different paths, and the next one waits for both; flits follow each
    /// other.
    fn together<M: Mode>(&self, vectors: &mut Vectors, one: Vector, other: Vector) -> Vector {
        let flits = self.flits;
        let mut all: Vec<Loss> = vectors.losses(one).collect();
        for loss in vectors.losses(other) {
            let name = |loss: &Loss| (loss.culprit, loss.kind, loss.place);
            match all.iter_mut().find(|known| flits && name(known) == name(&loss)) {
                Some(known) => known.time = known.time.max(loss.time),
                None => add(&mut all, loss),
            }
        }
        vectors.keep::<M>(Origin::NONE, &all)
    }

    /// The same for a packet that has lost `loss` to others, one of possibly several losses.
    pub(super) fn frees_by<M: Mode>(
        &mut self,
        vectors: &mut Vectors,
        (vc, owner): (u32, Traffic),
        due: Time,
        loss: Loss,
    ) {
        let vector = vectors.keep::<M>(Origin::NONE, &[loss]);
        match self.find_credit(vc, owner, due) {
            (0, _) => self.frees::<M>(vectors, (vc, owner), due, vector),
            (found, _) => {
                let before = self.pending.get(found - 1).losses_to_others;
                let both = self.together::<M>(vectors, before, vector);
                vectors.release::<M>(before);
                self.pending.edit::<M>(found - 1).losses_to_others = both;
            }
        }
        vectors.release::<M>(vector);
    }

    /// The credit of a packet of `owner` with the losses `losses_to_others` counts for virtual channel `vc`. With
    /// `last`, no later credit is in flight.
    #[inline]
    pub(in crate::observe) fn counts<M: Mode>(
        &mut self,
        vectors: &mut Vectors,
        of: (u32, Traffic),
        (due, last): (Time, bool),
        losses_to_others: Vector,
    ) {
        if !losses_to_others.is_empty() {
            self.makes::<M>(vectors, of, (due, last), losses_to_others);
        }
        if self.pending.live() > 0 {
            self.count_pending::<M>(vectors, of, (due, last));
        }
    }

    #[inline(never)]
    fn count_pending<M: Mode>(&mut self, vectors: &mut Vectors, (vc, owner): (u32, Traffic), when: (Time, bool)) {
        let (found, before) = self.find_credit(vc, owner, when.0);
        if found == 0 {
            return;
        }
        let PendingRoom {
            losses_to_others, next, ..
        } = *self.pending.get(found - 1);
        let room = self.rooms.edit::<M>(vc as usize);
        if room.last == found {
            room.last = before;
        }
        match before {
            0 => room.pending = next,
            slot => self.pending.edit::<M>(slot - 1).next = next,
        }
        self.pending.free::<M>(found - 1);
        self.makes::<M>(vectors, (vc, owner), when, losses_to_others);
    }

    /// A packet with the losses `losses_to_others`, of which the credit was a user, has freed space in `vc`.
    #[inline]
    fn makes<M: Mode>(
        &mut self,
        vectors: &mut Vectors,
        (vc, owner): (u32, Traffic),
        (due, last): (Time, bool),
        losses_to_others: Vector,
    ) {
        if !last {
            vectors.release::<M>(losses_to_others);
            return;
        }
        let Room {
            at,
            owner: by,
            losses_to_others: before,
            ..
        } = self.rooms.get(vc as usize);
        let mut all = losses_to_others;
        // Of several at the same instant all count, independent of their order.
        if (at, by) == (due, owner) && !before.is_empty() {
            all = self.together::<M>(vectors, before, losses_to_others);
            vectors.release::<M>(losses_to_others);
        }
        let room = self.rooms.edit::<M>(vc as usize);
        (room.at, room.owner, room.losses_to_others) = (due, owner, all);
        vectors.release::<M>(before);
    }

    /// The losses to others of the packet of `owner` that freed space in `vc` at `at`, if any.
    pub(in crate::observe) fn made(&self, vc: u32, owner: Traffic, at: Time) -> Option<Vector> {
        let room = self.rooms.get(vc as usize);
        ((room.at, room.owner) == (at, owner) && !room.losses_to_others.is_empty()).then_some(room.losses_to_others)
    }
}
