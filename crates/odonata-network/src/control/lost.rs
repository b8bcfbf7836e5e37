//! Lost time of messages: for whom each of their packets has waited on its way ([`odonata_blame::lost`]).
//!
//! The [ledger](super::blame) adds up the waits of all packets of a traffic. Here every message has what was lost before it was
//! sent (its host says so) and what it waits at its NIC; a packet takes that along when it starts, and adds what it waits at
//! routers. What the packet has that completes a message is what the message has lost when it arrives.
//!
//! A packet that waits behind one of its own traffic waits for the others that held up that one: a long message's packets
//! follow each other, and what the first have lost to others the last have, too.
//!
//! So is one that waits for room which one of its own traffic has made: what that one had lost comes back with the credit.
//!
//! A packet that goes to another part is named by its message's source and number and by its creation. What it has lost goes
//! there ahead of it, as updates, and is put together with what it loses there when it leaves or arrives.

use super::blame::{CREDIT, INPUT, LINK};
use crate::boundary::RemoteLoss;
use crate::features::Uses;
use crate::message::{Message, Traffic};
use crate::packet::Packet;
use odonata_blame::lost::{Carried, Key, Kind, Loss, LostAt, Origin, Stamp, Stamps, add, scale, total};
use odonata_blame::{Cause, Histories, Hold, Place};
use odonata_engine::{GrowableStore, Mode, Time};

/// Who waits: a packet at a router, a message at its NIC; by its slot.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waiter {
    Packet(u32),
    Message(u32),
}

impl Waiter {
    fn key(self) -> Key {
        match self {
            Waiter::Packet(slot) => (u64::from(slot), 0),
            Waiter::Message(slot) => (u64::from(slot), 1),
        }
    }
}

/// The name of a packet in all parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Name {
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

fn kind_of(cause: Cause) -> Kind {
    match cause {
        LINK => Kind::Link,
        CREDIT | INPUT => Kind::Buffer,
        _ => unreachable!("there is no other cause"),
    }
}

/// The last packet of `owner` on link `line`: until when it had that, and what it had lost to others.
fn line_key(line: u32, owner: Traffic) -> Key {
    (u64::from(line), 2 + u64::from(owner))
}

/// The kind of a [`RemoteLoss`] that says where the packet's losses stem from: a rank, and the number of its wait.
const ORIGIN: u8 = u8::MAX;

/// `by_others` of another packet, beside a packet with the losses `mine`. What was lost before it is known where, and more
/// than this packet had lost then, counts as lost `here`.
fn beside(by_others: Vec<Loss>, mine: &[Loss], here: LostAt) -> Vec<Loss> {
    if here == LostAt::NOWHERE {
        return by_others;
    }
    let mut known = Vec::with_capacity(by_others.len());
    for loss in by_others {
        let before = match loss.place {
            LostAt::NOWHERE => mine
                .iter()
                .find(|of| (of.culprit, of.kind, of.place) == (loss.culprit, loss.kind, LostAt::NOWHERE)),
            _ => Some(&loss),
        };
        let kept = before.map_or(Time::ZERO, |of| of.time.min(loss.time));
        add(&mut known, Loss { time: kept, ..loss });
        let rest = Loss {
            time: loss.time - kept,
            place: here,
            ..loss
        };
        add(&mut known, rest);
    }
    known
}

/// The last packet that has made room in sending virtual channel `vc`, if it was of `owner`: when, and what it had lost to others.
fn room_key(vc: u32, owner: Traffic) -> Key {
    (u64::from(vc), 1 << 61 | u64::from(owner))
}

/// A credit of a packet of `owner` on its way to virtual channel `vc`, which counts from `due` on.
fn credit_key(vc: u32, owner: Traffic, due: Time) -> Key {
    (u64::from(vc) << 16 | u64::from(owner), 1 << 62 | due.0)
}

/// The number of a [`RemoteLoss`] of a credit for virtual channel `vc`, of a packet of `owner`: no message has one that large.
fn credit_number(vc: u8, owner: Traffic) -> u32 {
    1 << 31 | u32::from(vc) << 16 | u32::from(owner)
}

/// Those of `losses` that are not by the fault of `owner`.
fn others(mut losses: Vec<Loss>, owner: Traffic) -> Vec<Loss> {
    losses.retain(|loss| loss.culprit != owner);
    losses
}

/// A wait that is over.
struct Wait {
    owner: Traffic,
    since: Time,
    now: Time,
    /// Where it was, if that is asked for.
    here: LostAt,
    /// Who had what was waited for, and from when to when.
    spans: Vec<((Traffic, Cause), (Time, Time))>,
}

impl Wait {
    /// Adds to `losses` those of the wait after `from`.
    fn add_after(&self, from: Time, losses: &mut Vec<Loss>) {
        for &((culprit, cause), (begin, end)) in &self.spans {
            let time = end.saturating_sub(begin.max(from));
            let kind = kind_of(cause);
            let place = self.here;
            add(
                losses,
                Loss {
                    culprit,
                    kind,
                    place,
                    time,
                },
            );
        }
    }

    /// What is lost with this wait, of `losses` before it. If a packet of the same owner has had the link meanwhile, `own`
    /// says until when and what it had lost to others: without these it would have gone earlier, and this one after it.
    fn add_to(&self, mut losses: Vec<Loss>, own: Option<Stamp>) -> Vec<Loss> {
        let before = losses.clone();
        self.add_after(self.since, &mut losses);
        let Some(own) = own.filter(|own| own.at > self.since && own.at <= self.now) else {
            return losses;
        };
        let all = total(&losses);
        let mut by_others = beside(own.losses, &before, self.here);
        let most = total(&others(before, self.owner)) + (self.now - self.since);
        self.add_after(own.at, &mut by_others);
        let mut by_others = others(by_others, self.owner);
        scale(&mut by_others, most.min(all));
        // All else is its owner's own doing.
        let rest = all - total(&by_others);
        losses.retain(|loss| loss.culprit == self.owner);
        scale(&mut losses, rest);
        let missing = Loss {
            culprit: self.owner,
            kind: Kind::Link,
            place: self.here,
            time: rest - total(&losses),
        };
        add(&mut losses, missing);
        by_others.into_iter().for_each(|loss| add(&mut losses, loss));
        losses
    }
}

/// What packets and messages of a part have lost; empty where that is not kept.
#[derive(Debug)]
pub(crate) struct LostTime {
    /// Who had which link, or stood in front in which buffer; by the lines of the ledger.
    histories: Histories,
    stamps: Stamps,
    packets: GrowableStore<Place>,
    messages: GrowableStore<Place>,
    /// Of packets that have come from other parts, whose losses there are not yet put together with those here.
    names: GrowableStore<Name>,
    /// What each line is, where that is asked for.
    places: Vec<LostAt>,
}
odonata_engine::journalled!(LostTime {
    histories,
    stamps,
    packets,
    messages,
    names
});

impl LostTime {
    /// Of a part with so many lines in its ledger; with none, nothing is kept. With `places`, of all lines, it is known where
    /// something was lost.
    pub(crate) fn new(lines: usize, places: Vec<LostAt>) -> LostTime {
        LostTime {
            histories: Histories::new(lines > 0),
            stamps: Stamps::new(4 * lines),
            packets: GrowableStore::new(),
            messages: GrowableStore::new(),
            names: GrowableStore::new(),
            places,
        }
    }

    /// Whether it is kept, asked where features are not known.
    pub(crate) fn is_kept(&self) -> bool {
        self.stamps.is_on()
    }

    #[inline(always)]
    pub(crate) fn is_on<U: Uses>(&self) -> bool {
        U::LOST && self.is_kept()
    }

    pub(crate) fn memory(&self) -> usize {
        let places = self.packets.memory() + self.messages.memory() + self.names.memory() + 4 * self.places.len();
        self.histories.memory() + self.stamps.memory() + places
    }

    fn place<M: Mode>(&mut self, who: Waiter) -> &mut Place {
        match who {
            Waiter::Packet(slot) => self.packets.edit::<M>(slot as usize),
            Waiter::Message(slot) => self.messages.edit::<M>(slot as usize),
        }
    }

    /// `who` waits at `line` from `since` on, for whoever has the resource.
    pub(super) fn join<M: Mode>(&mut self, line: u32, who: Waiter, since: Time, hold: Option<Hold>) {
        let held = hold.filter(|hold| hold.free_at > since);
        let held = held.map(|hold| (hold.free_at, hold.holder, hold.cause));
        let place = self.histories.join::<M>(line, since, held);
        *self.place::<M>(who) = place;
    }

    /// The resource of `line`, which was free since `free_at`, goes to another; `lacked`: those who wait have lacked
    /// something in between, and had it from this one.
    pub(super) fn pass<M: Mode>(
        &mut self,
        line: u32,
        (free_at, now): (Time, Time),
        next: Hold,
        lacked: Option<(Traffic, Cause)>,
    ) {
        self.histories.held::<M>(line, (free_at, now), lacked);
        if let Some(lacked) = lacked {
            self.histories.settle::<M>(line, lacked);
        }
        self.histories
            .held::<M>(line, (now, next.free_at), Some((next.holder, next.cause)));
    }

    /// Whoever has the resource of `line` has had it without a break.
    pub(super) fn held_until<M: Mode>(&mut self, line: u32, now: Time, by: (Traffic, Cause)) {
        self.histories.held_until::<M>(line, now, Some(by));
    }

    /// `who` of `owner` does not wait at `line` any more; what it has waited is lost. Since `idle` nobody had the resource, and
    /// `who` lacked something: if it was room that its own traffic has made, `room` says at which virtual channel and when.
    pub(super) fn leave<M: Mode>(
        &mut self,
        line: u32,
        (who, owner): (Waiter, Traffic),
        (now, idle): (Time, Time),
        lacked: (Traffic, Cause),
        room: Option<(u32, Time)>,
    ) {
        let place = std::mem::take(self.place::<M>(who));
        if !place.is_taken() {
            return;
        }
        let mut wait = Wait {
            owner,
            since: place.since,
            now,
            here: self.places.get(line as usize).copied().unwrap_or_default(),
            spans: Vec::new(),
        };
        self.histories
            .leave::<M>(line, place, now, lacked, |by, span| wait.spans.push((by, span)));
        let idle = idle.max(place.since);
        if idle < now {
            wait.spans.push((lacked, (idle, now)));
        }
        let made = room.and_then(|(vc, at)| self.stamps.get(room_key(vc, owner)).filter(|made| made.at == at));
        // Without others, the one of its own traffic that came last would have come earlier.
        let own = made.or_else(|| self.stamps.get(line_key(line, owner)));
        let Carried { origin, losses } = self.all_losses::<M>(who);
        let losses = wait.add_to(losses, own);
        self.set_losses::<M>(who, Carried { origin, losses });
    }

    /// `who` of `owner` takes the link `line` until `until`.
    pub(super) fn take_link<M: Mode>(&mut self, line: u32, (who, owner): (Waiter, Traffic), until: Time) {
        let stamp = Stamp {
            at: until,
            undisturbed: until,
            origin: Origin::NONE,
            losses: others(self.all_losses::<M>(who).losses, owner),
        };
        self.stamps.set::<M>(line_key(line, owner), &stamp);
    }

    /// What the packet of `owner` that took link `line` last had lost to others.
    pub(crate) fn of_last(&self, line: u32, owner: Traffic) -> Vec<Loss> {
        (self.stamps.get(line_key(line, owner))).map_or_else(Vec::new, |stamp| stamp.losses)
    }

    /// What `packet` of `owner` has lost to others.
    pub(crate) fn by_others<M: Mode>(&mut self, packet: u32, owner: Traffic) -> Vec<Loss> {
        others(self.all_losses::<M>(Waiter::Packet(packet)).losses, owner)
    }

    /// A packet of `owner` that has lost this to others makes room in virtual channel `vc`, from `due` on.
    pub(crate) fn frees<M: Mode>(&mut self, (vc, owner): (u32, Traffic), due: Time, losses: &[Loss]) {
        for &loss in losses {
            self.stamps.lose::<M>(credit_key(vc, owner, due), loss);
        }
    }

    /// The same of virtual channel `vc` of `link`, which is in another part.
    pub(crate) fn frees_remote(
        (link, vc, owner): (u32, u8, Traffic),
        due: Time,
        losses: &[Loss],
    ) -> impl Iterator<Item = RemoteLoss> + '_ {
        losses.iter().map(move |loss| RemoteLoss {
            source: link,
            number: credit_number(vc, owner),
            created: due,
            culprit: loss.culprit,
            kind: loss.kind as u8,
            place: loss.place.0,
            time: loss.time,
        })
    }

    /// The credit of a packet of `owner` that is due counts for virtual channel `vc`; if `last`, there is none that is due later.
    pub(crate) fn counts<M: Mode>(&mut self, (vc, owner): (u32, Traffic), due: Time, last: bool) {
        let Some(stamp) = self.stamps.take::<M>(credit_key(vc, owner, due)) else {
            return;
        };
        if last {
            let stamp = Stamp {
                at: due,
                undisturbed: due,
                ..stamp
            };
            self.stamps.set::<M>(room_key(vc, owner), &stamp);
        }
    }

    /// What `who` has lost so far; of a packet, in this part.
    pub(crate) fn losses(&self, who: Waiter) -> Carried {
        (self.stamps.get(who.key())).map_or_else(Carried::default, |stamp| Carried {
            origin: stamp.origin,
            losses: stamp.losses,
        })
    }

    /// What `who` has lost so far, in all parts.
    fn all_losses<M: Mode>(&mut self, who: Waiter) -> Carried {
        let mut carried = self.losses(who);
        if let Waiter::Packet(slot) = who {
            let name = self.names.get(slot as usize);
            if name != Name::default() {
                *self.names.edit::<M>(slot as usize) = Name::default();
                let before = self.stamps.take::<M>(name.key()).unwrap_or_default();
                (before.losses.into_iter()).for_each(|loss| add(&mut carried.losses, loss));
                carried.origin = before.origin;
                self.set_losses::<M>(who, carried.clone());
            }
        }
        carried
    }

    /// Sets what `who` has lost so far.
    pub(crate) fn set_losses<M: Mode>(&mut self, who: Waiter, carried: Carried) {
        if carried.is_empty() {
            self.stamps.forget::<M>(who.key());
            return;
        }
        let stamp = Stamp {
            origin: carried.origin,
            losses: carried.losses,
            ..Stamp::default()
        };
        self.stamps.set::<M>(who.key(), &stamp);
    }

    /// `packet` starts: it takes along what its message has lost.
    pub(crate) fn start<M: Mode>(&mut self, packet: u32, message: u32) {
        let losses = self.losses(Waiter::Message(message));
        self.set_losses::<M>(Waiter::Packet(packet), losses);
    }

    /// All that the packet in slot `slot` has lost; it is not kept any more.
    pub(crate) fn take<M: Mode>(&mut self, slot: u32) -> Carried {
        let losses = self.all_losses::<M>(Waiter::Packet(slot));
        self.set_losses::<M>(Waiter::Packet(slot), Carried::default());
        losses
    }

    /// The same, as what goes to another part.
    pub(crate) fn export<M: Mode, P>(&mut self, slot: u32, packet: &Packet, message: &Message<P>) -> Vec<RemoteLoss> {
        let Name {
            source,
            number,
            created,
        } = Name::of(packet, message);
        let remote = |loss: Loss| RemoteLoss {
            source,
            number,
            created,
            culprit: loss.culprit,
            kind: loss.kind as u8,
            place: loss.place.0,
            time: loss.time,
        };
        let Carried { origin, losses } = self.take::<M>(slot);
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
        stems.into_iter().chain(losses.into_iter().map(remote)).collect()
    }

    /// `packet` of `message` comes from another part, into slot `slot`.
    pub(crate) fn arrives<M: Mode, P>(&mut self, slot: u32, packet: &Packet, message: &Message<P>) {
        *self.names.edit::<M>(slot as usize) = Name::of(packet, message);
    }

    /// It has lost this there. `first_vc` says of a link which is the first of its virtual channels.
    pub(crate) fn import<M: Mode>(&mut self, remote: RemoteLoss, first_vc: impl FnOnce(u32) -> u32) {
        let RemoteLoss {
            source,
            number,
            created,
            culprit,
            kind,
            place,
            time,
        } = remote;
        let name = Name {
            source,
            number,
            created,
        };
        if let Some(kind) = Kind::of(kind) {
            let place = LostAt(place);
            let loss = Loss {
                culprit,
                kind,
                place,
                time,
            };
            if number >> 31 == 1 {
                let vc = first_vc(source) + (number >> 16 & 0xff);
                self.frees::<M>((vc, number as u16), created, &[loss]);
                return;
            }
            self.stamps.lose::<M>(name.key(), loss);
        } else if kind == ORIGIN {
            let origin = Origin {
                rank: place,
                number: time.0 as u32,
            };
            self.stamps.stems::<M>(name.key(), origin);
        }
    }
}
