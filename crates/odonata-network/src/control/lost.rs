//! Lost time of messages: for whom each of their packets has waited on its way ([`odonata_blame::lost`]).
//!
//! The [ledger](super::blame) adds up the waits of all packets of a traffic. Here every message has what was lost before it was
//! sent (its host says so) and what it waits at its NIC; a packet takes that along when it starts, and adds what it waits at
//! routers. What the packet has that completes a message is what the message has lost when it arrives.
//!
//! A packet that waits behind one of its own traffic waits for the others that held up that one: a long message's packets
//! follow each other, and what the first have lost to others the last have, too ([`wait`]).
//!
//! So is one that waits for room which one of its own traffic has made: what that one had lost comes back with the credit ([`rooms`]).
//!
//! A packet that goes to another part is named by its message's source and number and by its creation. What it has lost goes
//! there ahead of it, as updates, and is put together with what it loses there when it leaves or arrives ([`remote`]).
//!
//! **Cost.** Most packets have lost nothing, or what the one before has: losses are kept once ([`Vectors`]) and go by their number, from message
//! to packet, from packet to link and credit. Who has lost nothing, on a link where nobody waits, is asked for that and no more.

mod remote;
mod rooms;
mod wait;

use super::blame::{CREDIT, INPUT, LINK};
use crate::features::Uses;
use crate::message::Traffic;
use odonata_blame::lost::{Carried, Kind, Loss, LostAt, Origin, Stamps, Vector, Vectors};
use odonata_blame::{Cause, Histories, Hold, Place};
use odonata_engine::{GrowableStore, Mode, NIL, Pool, Store, Time};
use remote::Name;
use rooms::{PendingRoom, Room};
use wait::{Own, Scratch, Wait};

/// Who waits: a packet at a router, a message at its NIC; by its slot.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waiter {
    Packet(u32),
    Message(u32),
}

fn kind_of(cause: Cause) -> Kind {
    match cause {
        LINK => Kind::Link,
        CREDIT | INPUT => Kind::Buffer,
        _ => unreachable!("there is no other cause"),
    }
}

/// What a packet or a message has lost, and where it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Account {
    place: Place,
    lost: Vector,
    /// Of that, what was not lost by the fault of its own traffic.
    to_others: Vector,
}

/// What is known of a link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Taken {
    /// What the packet that had it last had lost to others.
    last: Vector,
    /// While somebody waits: the last packets of each traffic that have had it since.
    owners: u32,
}

/// The last packet of `owner` on a link: until when it had that, and what it had lost to others.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct LastOf {
    until: Time,
    to_others: Vector,
    next: u32,
    owner: Traffic,
}

odonata_engine::slots!(LastOf);

/// What packets and messages of a part have lost; empty where that is not kept.
#[derive(Debug)]
pub(crate) struct LostTime {
    /// Who had which link, or stood in front in which buffer; by the lines of the ledger.
    histories: Histories,
    vectors: Vectors,
    packets: GrowableStore<Account>,
    messages: GrowableStore<Account>,
    /// By the lines of the ledger.
    links: Store<Taken>,
    owners: Pool<LastOf>,
    /// By the virtual channels of all links.
    rooms: GrowableStore<Room>,
    pending: Pool<PendingRoom>,
    /// Of packets that have come from other parts, whose losses there are not yet put together with those here; and these.
    names: GrowableStore<Name>,
    incoming: Stamps,
    /// What each line is, where that is asked for.
    places: Vec<LostAt>,
    /// Empty between events.
    scratch: Scratch,
}
odonata_engine::journalled!(LostTime {
    histories,
    vectors,
    packets,
    messages,
    links,
    owners,
    rooms,
    pending,
    names,
    incoming
});

impl LostTime {
    /// Of a part with so many lines in its ledger; with none, nothing is kept. With `places`, of all lines, it is known where
    /// something was lost.
    pub(crate) fn new(lines: usize, places: Vec<LostAt>) -> LostTime {
        let nobody = Taken {
            last: Vector::EMPTY,
            owners: NIL,
        };
        LostTime {
            histories: Histories::new(lines > 0),
            vectors: Vectors::new(),
            packets: GrowableStore::new(),
            messages: GrowableStore::new(),
            links: Store::filled(lines, nobody),
            owners: Pool::new(),
            rooms: GrowableStore::new(),
            pending: Pool::new(),
            names: GrowableStore::new(),
            incoming: Stamps::new(lines.min(1 << 12)),
            places,
            scratch: Scratch::default(),
        }
    }

    /// Whether it is kept, asked where features are not known.
    pub(crate) fn is_kept(&self) -> bool {
        self.histories.is_on()
    }

    #[inline(always)]
    pub(crate) fn is_on<U: Uses>(&self) -> bool {
        U::LOST && self.is_kept()
    }

    pub(crate) fn memory(&self) -> usize {
        let accounts = self.packets.memory() + self.messages.memory() + self.names.memory() + 4 * self.places.len();
        let links = self.links.memory() + self.owners.memory() + self.rooms.memory() + self.pending.memory();
        self.histories.memory() + self.vectors.memory() + self.incoming.memory() + accounts + links
    }

    fn account(&self, who: Waiter) -> Account {
        match who {
            Waiter::Packet(slot) => self.packets.get(slot as usize),
            Waiter::Message(slot) => self.messages.get(slot as usize),
        }
    }

    fn edit_account<M: Mode>(&mut self, who: Waiter) -> &mut Account {
        match who {
            Waiter::Packet(slot) => self.packets.edit::<M>(slot as usize),
            Waiter::Message(slot) => self.messages.edit::<M>(slot as usize),
        }
    }

    /// `who` waits at `line` from `since` on, for whoever has the resource.
    pub(super) fn join<M: Mode>(&mut self, line: u32, who: Waiter, since: Time, hold: Option<Hold>) {
        let first = !self.histories.is_waited_for(line);
        let held = hold.filter(|hold| hold.free_at > since);
        let held = held.map(|hold| (hold.free_at, hold.holder, hold.cause));
        let place = self.histories.join::<M>(line, since, held);
        self.edit_account::<M>(who).place = place;
        if let Some(hold) = hold.filter(|hold| first && hold.free_at >= since) {
            let last = self.links.get(line).last;
            self.took::<M>(line, hold.holder, hold.free_at, last);
        }
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
        let place = self.account(who).place;
        if !place.is_taken() {
            return;
        }
        self.edit_account::<M>(who).place = Place::NONE;
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.spans.clear();
        self.histories
            .leave::<M>(line, place, now, lacked, |by, span| scratch.spans.push((by, span)));
        let idle = idle.max(place.since);
        if idle < now {
            scratch.spans.push((lacked, (idle, now)));
        }
        if place.since < now {
            self.put_together::<M>(who, owner);
            let wait = Wait {
                owner,
                since: place.since,
                now,
                here: self.places.get(line as usize).copied().unwrap_or_default(),
            };
            let lost = self.account(who).lost;
            self.vectors.read(lost, &mut scratch.before);
            // Without others, the one of its own traffic that came last would have come earlier.
            let made = room.and_then(|(vc, at)| Some((at, self.room_made(vc, owner, at)?)));
            let own = made.or_else(|| self.last_of(line, owner));
            let own = own.map(|(at, vector)| {
                self.vectors.read(vector, &mut scratch.of_own);
                Own { at }
            });
            wait.add_to(&mut scratch, own);
            let origin = self.vectors.origin(lost);
            self.set::<M>(who, owner, origin, &scratch.losses);
        }
        self.scratch = scratch;
        if !self.histories.is_waited_for(line) {
            self.forget_owners::<M>(line);
        }
    }

    /// `who` of `owner` takes the link `line` until `until`.
    #[inline]
    pub(super) fn take_link<M: Mode>(&mut self, line: u32, (who, owner): (Waiter, Traffic), until: Time) {
        self.put_together::<M>(who, owner);
        let to_others = self.account(who).to_others;
        let before = self.links.get(line).last;
        if before != to_others {
            self.vectors.share::<M>(to_others);
            self.vectors.release::<M>(before);
            self.links.edit::<M>(line).last = to_others;
        }
        if self.histories.is_waited_for(line) {
            self.took::<M>(line, owner, until, to_others);
        }
    }

    /// One of `owner`, who has lost that to others, has taken `line` until `until`, for which somebody waits.
    fn took<M: Mode>(&mut self, line: u32, owner: Traffic, until: Time, to_others: Vector) {
        self.vectors.share::<M>(to_others);
        match self.find_owner(line, owner) {
            NIL => {
                let next = self.links.get(line).owners;
                let slot = self.owners.allocate::<M>(LastOf {
                    until,
                    to_others,
                    next,
                    owner,
                });
                self.links.edit::<M>(line).owners = slot;
            }
            slot => {
                let cell = self.owners.edit::<M>(slot);
                cell.until = until;
                let before = std::mem::replace(&mut cell.to_others, to_others);
                self.vectors.release::<M>(before);
            }
        }
    }

    fn find_owner(&self, line: u32, owner: Traffic) -> u32 {
        let mut at = self.links.get(line).owners;
        while at != NIL && self.owners.get(at).owner != owner {
            at = self.owners.get(at).next;
        }
        at
    }

    fn last_of(&self, line: u32, owner: Traffic) -> Option<(Time, Vector)> {
        match self.find_owner(line, owner) {
            NIL => None,
            slot => {
                let of = self.owners.get(slot);
                Some((of.until, of.to_others))
            }
        }
    }

    /// Nobody waits for `line` any more.
    fn forget_owners<M: Mode>(&mut self, line: u32) {
        let mut at = self.links.get(line).owners;
        if at == NIL {
            return;
        }
        self.links.edit::<M>(line).owners = NIL;
        while at != NIL {
            let LastOf { to_others, next, .. } = *self.owners.get(at);
            self.vectors.release::<M>(to_others);
            self.owners.free::<M>(at);
            at = next;
        }
    }

    /// What the packet that took link `line` last had lost to others.
    #[inline]
    pub(crate) fn of_last(&self, line: u32) -> Vector {
        self.links.get(line).last
    }

    /// What `packet` of `owner` has lost to others.
    pub(crate) fn by_others<M: Mode>(&mut self, packet: u32, owner: Traffic) -> Vector {
        self.put_together::<M>(Waiter::Packet(packet), owner);
        self.account(Waiter::Packet(packet)).to_others
    }

    /// What message `slot` has lost so far.
    pub(crate) fn of_message(&self, slot: u32) -> Carried {
        let lost = self.account(Waiter::Message(slot)).lost;
        Carried {
            origin: self.vectors.origin(lost),
            losses: self.vectors.losses(lost).collect(),
        }
    }

    /// Message `slot` of `owner` has lost this.
    pub(crate) fn set_message<M: Mode>(&mut self, slot: u32, owner: Traffic, carried: &Carried) {
        self.set::<M>(Waiter::Message(slot), owner, carried.origin, &carried.losses);
    }

    /// Sets what `who` of `owner` has lost so far.
    fn set<M: Mode>(&mut self, who: Waiter, owner: Traffic, origin: Origin, losses: &[Loss]) {
        let lost = self.vectors.keep::<M>(origin, losses);
        let by_others = |loss: &Loss| loss.culprit != owner;
        let to_others = match losses.iter().filter(|loss| by_others(loss)).count() {
            0 => Vector::EMPTY,
            n if n == losses.len() => self.vectors.share::<M>(lost),
            _ => {
                let mut filtered = std::mem::take(&mut self.scratch.filtered);
                filtered.clear();
                filtered.extend(losses.iter().filter(|loss| by_others(loss)).copied());
                let kept = self.vectors.keep::<M>(Origin::NONE, &filtered);
                self.scratch.filtered = filtered;
                kept
            }
        };
        self.replace::<M>(who, (lost, to_others));
    }

    fn replace<M: Mode>(&mut self, who: Waiter, (lost, to_others): (Vector, Vector)) {
        let before = self.account(who);
        if (before.lost, before.to_others) == (lost, to_others) {
            return;
        }
        let account = self.edit_account::<M>(who);
        (account.lost, account.to_others) = (lost, to_others);
        self.vectors.release::<M>(before.lost);
        self.vectors.release::<M>(before.to_others);
    }

    /// `packet` starts: it takes along what its message has lost.
    #[inline]
    pub(crate) fn start<M: Mode>(&mut self, packet: u32, message: u32) {
        let Account { lost, to_others, .. } = self.account(Waiter::Message(message));
        if !lost.is_empty() {
            let shared = (self.vectors.share::<M>(lost), self.vectors.share::<M>(to_others));
            self.replace::<M>(Waiter::Packet(packet), shared);
        }
    }

    /// `packet` of `owner` is at its target, and its slot is free; with it `message` is complete, if there is one.
    #[inline]
    pub(crate) fn deliver<M: Mode>(&mut self, packet: u32, owner: Traffic, message: Option<u32>) {
        let who = Waiter::Packet(packet);
        self.put_together::<M>(who, owner);
        if let Some(message) = message {
            // Its own slot then has what that of the message had.
            let of_packet = self.account(who);
            let of_message = self.account(Waiter::Message(message));
            if of_packet.lost.is_empty() && of_message.lost.is_empty() {
                return;
            }
            let account = self.edit_account::<M>(Waiter::Message(message));
            (account.lost, account.to_others) = (of_packet.lost, of_packet.to_others);
            let account = self.edit_account::<M>(who);
            (account.lost, account.to_others) = (of_message.lost, of_message.to_others);
        }
        self.replace::<M>(who, (Vector::EMPTY, Vector::EMPTY));
    }

    /// Nobody asks what message `slot` has lost any more.
    #[inline]
    pub(crate) fn forget_message<M: Mode>(&mut self, slot: u32) {
        self.replace::<M>(Waiter::Message(slot), (Vector::EMPTY, Vector::EMPTY));
    }
}
