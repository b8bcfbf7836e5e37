//! Lost time of messages: for whom each of their packets has waited on its way ([`odonata_blame::lost`]).
//!
//! The [ledger](super::blame) adds up the waits of all packets of a traffic. Here every message has what was lost before it was
//! sent (its host says so) and what it waits at its NIC; a packet takes that along when it starts, and adds what it waits at
//! routers. What the packet has that arrives last is what the message has lost when it arrives.
//!
//! A packet that waits behind one of its own traffic waits for the others that held up that one: a long message's packets
//! follow each other, and what the first have lost to others the last have, too ([`wait`]).
//!
//! So is one that waits for room which one of its own traffic has made: what that one had lost comes back with the credit ([`rooms`]).
//!
//! A packet that goes to another part is named by its message's source and number and by its creation. What it has lost goes
//! there ahead of it, as updates, and is put together with what it loses there when it leaves or arrives ([`remote`]).
//!
//! **Cost.** Most packets have lost nothing to others, or what the one of their own traffic before has: that is kept once ([`Vectors`])
//! and goes by its number, from message to packet, from packet to link and credit. What their own traffic has cost them is two
//! times in their own cache line ([`Account`]). Who has lost nothing, on a link where nobody waits, is asked for that and no more.

mod flits;
mod remote;
mod rooms;
mod wait;

use super::blame::{CREDIT, INPUT, LINK};
use super::facts::PacketDelivery;
use crate::features::Uses;
use crate::message::Traffic;
use flits::Flits;
pub(crate) use flits::OwnWait;
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
    /// The packet of an incomplete message that arrives last so far, by the message's slot. It waits no more.
    Arrived(u32),
}

fn kind_of(cause: Cause) -> Kind {
    match cause {
        LINK => Kind::Link,
        CREDIT | INPUT => Kind::Buffer,
        _ => unreachable!("there is no other cause"),
    }
}

/// What a packet or a message has lost, and where it waits; a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[repr(align(64))]
struct Account {
    lost: Lost,
    place: Place,
    /// When it would have asked alone for the link that it has waited for; [`Time::ZERO`] if it has not waited.
    asked: Time,
}

/// What one of some owner has lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Lost {
    to_others: Vector,
    /// By the fault of its own traffic, but for what is counted below; with its origin.
    own: Vector,
    /// By the fault of its own traffic, where places are not asked for: in waits for links, and for room.
    own_link: Time,
    own_buffer: Time,
}

impl Lost {
    const NOTHING: Lost = Lost {
        to_others: Vector::EMPTY,
        own: Vector::EMPTY,
        own_link: Time::ZERO,
        own_buffer: Time::ZERO,
    };
}

const _: () = assert!(size_of::<Account>() == 64);

/// What is known of a link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Taken {
    /// What the packet that had it last had lost to others.
    last: Vector,
    /// When that would have asked for it alone.
    asked: Time,
    /// While somebody waits: the last packets of each traffic that have had it since.
    owners: u32,
}

/// The last packet of `owner` on a link: until when it had that, and what it had lost to others.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct LastOf {
    until: Time,
    /// When it would have asked for the link alone; [`Time::ZERO`] where the order of requests is not looked at.
    asked: Time,
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
    /// Of packets that have arrived, by the slot of their incomplete message.
    arrived: GrowableStore<Account>,
    /// By the lines of the ledger.
    links: Store<Taken>,
    owners: Pool<LastOf>,
    /// By the virtual channels of all links.
    rooms: GrowableStore<Room>,
    pending: Pool<PendingRoom>,
    /// What single flits have lost, where routers are pipelined.
    flits: Flits,
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
    arrived,
    links,
    owners,
    rooms,
    pending,
    flits,
    names,
    incoming
});

impl LostTime {
    /// Of a part with so many lines in its ledger; with none, nothing is kept. With `places`, of all lines, it is known where
    /// something was lost.
    ///
    /// `fronts`: where flits wait one by one, the input virtual channels and NICs.
    pub(crate) fn new(lines: usize, places: Vec<LostAt>, fronts: usize) -> LostTime {
        let nobody = Taken {
            last: Vector::EMPTY,
            asked: Time::ZERO,
            owners: NIL,
        };
        LostTime {
            histories: Histories::new(lines > 0),
            vectors: Vectors::new(),
            packets: GrowableStore::new(),
            messages: GrowableStore::new(),
            arrived: GrowableStore::new(),
            links: Store::filled(lines, nobody),
            owners: Pool::new(),
            rooms: GrowableStore::new(),
            pending: Pool::new(),
            flits: Flits::new(if lines > 0 { fronts } else { 0 }),
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
        let accounts = self.packets.memory() + self.messages.memory() + self.arrived.memory();
        let accounts = accounts + self.names.memory() + 4 * self.places.len();
        let links = self.links.memory() + self.owners.memory() + self.rooms.memory() + self.pending.memory();
        let flits = self.flits.memory();
        self.histories.memory() + self.vectors.memory() + self.incoming.memory() + accounts + links + flits
    }

    #[inline(always)]
    fn account(&self, who: Waiter) -> Account {
        match who {
            Waiter::Packet(slot) => self.packets.get(slot as usize),
            Waiter::Message(slot) => self.messages.get(slot as usize),
            Waiter::Arrived(slot) => self.arrived.get(slot as usize),
        }
    }

    #[inline(always)]
    fn edit_account<M: Mode>(&mut self, who: Waiter) -> &mut Account {
        match who {
            Waiter::Packet(slot) => self.packets.edit::<M>(slot as usize),
            Waiter::Message(slot) => self.messages.edit::<M>(slot as usize),
            Waiter::Arrived(slot) => self.arrived.edit::<M>(slot as usize),
        }
    }

    /// `who` waits at `line` from `since` on, which is now or later, for whoever has the resource now.
    pub(super) fn join<M: Mode>(&mut self, line: u32, who: Waiter, (now, since): (Time, Time), hold: Option<Hold>) {
        let first = !self.histories.is_waited_for(line);
        let held = hold.filter(|hold| hold.free_at > now);
        let held = held.map(|hold| (hold.free_at, hold.holder, hold.cause));
        // Others may come before `since`: of them it counts who has it until then.
        let mut place = self.histories.join::<M>(line, now, held);
        place.since = since;
        self.edit_account::<M>(who).place = place;
        if let Some(hold) = hold.filter(|hold| first && hold.free_at >= since) {
            let Taken { last, asked, .. } = *self.links.get(line);
            self.took::<M>(line, hold.holder, (asked, hold.free_at), last);
        }
    }

    /// The resource of `line`, which was free since `free_at`, goes to another; `lacked`: those who wait have lacked
    /// something in between, and had it from this one.
    #[inline]
    pub(super) fn idles<M: Mode>(&mut self, line: u32, (free_at, now): (Time, Time), lacked: Option<(Traffic, Cause)>) {
        if now > free_at {
            self.histories.held::<M>(line, (free_at, now), lacked);
        }
        if let Some(lacked) = lacked {
            self.histories.settle::<M>(line, lacked);
        }
    }

    /// The resource of `line` is held from `now` on, for those who still wait.
    #[inline]
    pub(super) fn is_held<M: Mode>(&mut self, line: u32, now: Time, by: Hold) {
        if self.histories.is_waited_for(line) {
            self.histories
                .held::<M>(line, (now, by.free_at), Some((by.holder, by.cause)));
        }
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
        if place.since < now {
            self.put_together::<M>(who, owner);
            // Without others, the one of its own traffic that came last would have come earlier; but if it would have asked for the link
            // behind this one then, that one need not have waited for it.
            let asked = place
                .since
                .saturating_sub(self.vectors.total(self.account(who).lost.to_others));
            self.edit_account::<M>(who).asked = asked;
            let made = room.and_then(|(vc, at)| Some((at, self.room_made(vc, owner, at)?)));
            let last = || {
                let last = self.last_of(line, owner).filter(|last| last.asked <= asked)?;
                Some((last.until, last.to_others))
            };
            let own = made.or_else(last);
            let own = own.map(|(at, to_others)| Own { at, to_others });
            let wait = Wait {
                owner,
                since: place.since,
                now,
                own: own.filter(|own| own.at > place.since && own.at <= now),
            };
            let lacked = (lacked, idle.max(place.since));
            match self.places.get(line as usize) {
                None => self.lose::<M>((line, place), who, &wait, lacked),
                Some(&here) => self.lose_here::<M>((line, place, here), who, &wait, lacked),
            }
        } else {
            self.histories.leave::<M>(line, place, now, lacked, |_, _| ());
        }
        if !self.histories.is_waited_for(line) {
            self.forget_owners::<M>(line);
        }
    }

    /// `who` of `owner` takes the link `line` from `now` until `until`.
    #[inline]
    pub(super) fn take_link<M: Mode>(
        &mut self,
        line: u32,
        (who, owner): (Waiter, Traffic),
        (now, until): (Time, Time),
    ) {
        self.put_together::<M>(who, owner);
        let Account { lost, mut asked, .. } = self.account(who);
        match asked {
            Time::ZERO => asked = now.saturating_sub(self.vectors.total(lost.to_others)),
            _ => self.edit_account::<M>(who).asked = Time::ZERO,
        }
        self.take_link_having::<M>(line, (lost.to_others, owner), (asked, until));
    }

    /// The same of one of `owner` that has lost `to_others`, and would have asked for it then alone.
    #[inline]
    fn take_link_having<M: Mode>(&mut self, line: u32, (to_others, owner): (Vector, Traffic), when: (Time, Time)) {
        let Taken { last: before, .. } = *self.links.get(line);
        if before != to_others {
            self.vectors.share::<M>(to_others);
            self.vectors.release::<M>(before);
        }
        let taken = self.links.edit::<M>(line);
        (taken.last, taken.asked) = (to_others, when.0);
        if self.histories.is_waited_for(line) {
            self.took::<M>(line, owner, when, to_others);
        }
    }

    /// One of `owner`, who has lost that to others and would have asked for it then alone, has taken `line` until `until`, for
    /// which somebody waits.
    fn took<M: Mode>(&mut self, line: u32, owner: Traffic, (asked, until): (Time, Time), to_others: Vector) {
        self.vectors.share::<M>(to_others);
        match self.find_owner(line, owner) {
            NIL => {
                let next = self.links.get(line).owners;
                let slot = self.owners.allocate::<M>(LastOf {
                    until,
                    asked,
                    to_others,
                    next,
                    owner,
                });
                self.links.edit::<M>(line).owners = slot;
            }
            slot => {
                let cell = self.owners.edit::<M>(slot);
                (cell.until, cell.asked) = (until, asked);
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

    fn last_of(&self, line: u32, owner: Traffic) -> Option<LastOf> {
        match self.find_owner(line, owner) {
            NIL => None,
            slot => Some(*self.owners.get(slot)),
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
        self.account(Waiter::Packet(packet)).lost.to_others
    }

    /// What message `slot` of `owner` has lost so far.
    pub(crate) fn of_message(&self, slot: u32, owner: Traffic) -> Carried {
        let lost = self.account(Waiter::Message(slot)).lost;
        let mut losses = Vec::new();
        self.read(lost, owner, &mut losses);
        Carried {
            origin: self.vectors.origin(lost.own),
            losses,
        }
    }

    /// Message `slot` of `owner` has lost this.
    pub(crate) fn set_message<M: Mode>(&mut self, slot: u32, owner: Traffic, carried: &Carried) {
        self.set::<M>(Waiter::Message(slot), owner, carried.origin, &carried.losses);
    }

    /// Puts all that is `lost` of one of `owner` into `losses`, in order, in place of what is there.
    fn read(&self, lost: Lost, owner: Traffic, losses: &mut Vec<Loss>) {
        self.vectors.read(lost.to_others, losses);
        if lost.own_link + lost.own_buffer == Time::ZERO && lost.own.is_empty() {
            return;
        }
        let before = losses.partition_point(|loss| loss.culprit < owner);
        let after = losses.len() - before;
        for (kind, time) in [(Kind::Link, lost.own_link), (Kind::Buffer, lost.own_buffer)] {
            if time > Time::ZERO {
                losses.push(Loss {
                    culprit: owner,
                    kind,
                    place: LostAt::NOWHERE,
                    time,
                });
            }
        }
        self.vectors.append(lost.own, losses);
        losses[before..].rotate_left(after);
    }

    /// Sets what `who` of `owner` has lost so far.
    fn set<M: Mode>(&mut self, who: Waiter, owner: Traffic, origin: Origin, losses: &[Loss]) {
        let lost = self.keep::<M>(owner, origin, losses);
        self.replace::<M>(who, lost);
    }

    /// Keeps what one of `owner` has lost so far.
    fn keep<M: Mode>(&mut self, owner: Traffic, origin: Origin, losses: &[Loss]) -> Lost {
        // In order of culprits.
        let first = losses.partition_point(|loss| loss.culprit < owner);
        let (before, rest) = losses.split_at(first);
        let (own, after) = rest.split_at(rest.partition_point(|loss| loss.culprit == owner));
        let to_others = match (before, after) {
            (all, []) | ([], all) => self.vectors.keep::<M>(Origin::NONE, all),
            _ => {
                self.scratch.filtered.clear();
                self.scratch.filtered.extend_from_slice(before);
                self.scratch.filtered.extend_from_slice(after);
                self.vectors.keep::<M>(Origin::NONE, &self.scratch.filtered)
            }
        };
        self.with_own::<M>(to_others, origin, own)
    }

    /// What was lost to others, beside what was lost by the fault of the own traffic, in order of kinds.
    fn with_own<M: Mode>(&mut self, to_others: Vector, origin: Origin, own: &[Loss]) -> Lost {
        if !self.places.is_empty() {
            return Lost {
                to_others,
                own: self.vectors.keep::<M>(origin, own),
                ..Lost::NOTHING
            };
        }
        let of = |kind: Kind| {
            own.iter()
                .find(|loss| loss.kind == kind)
                .map_or(Time::ZERO, |loss| loss.time)
        };
        let others = own.partition_point(|loss| loss.kind <= Kind::Buffer);
        Lost {
            to_others,
            own: self.vectors.keep::<M>(origin, &own[others..]),
            own_link: of(Kind::Link),
            own_buffer: of(Kind::Buffer),
        }
    }

    /// `lost`, of which its vectors have a user for it, comes in place of what `who` had lost.
    fn replace<M: Mode>(&mut self, who: Waiter, lost: Lost) {
        let account = self.edit_account::<M>(who);
        let before = std::mem::replace(&mut account.lost, lost);
        self.release::<M>(before);
    }

    /// One more who has lost the same.
    #[inline]
    fn share_lost<M: Mode>(&mut self, lost: Lost) -> Lost {
        self.vectors.share::<M>(lost.to_others);
        self.vectors.share::<M>(lost.own);
        lost
    }

    /// One less.
    #[inline]
    fn release<M: Mode>(&mut self, lost: Lost) {
        self.vectors.release::<M>(lost.to_others);
        self.vectors.release::<M>(lost.own);
    }

    /// `who` has lost nothing any more.
    #[inline]
    fn clear<M: Mode>(&mut self, who: Waiter) {
        if self.account(who).lost != Lost::NOTHING {
            self.replace::<M>(who, Lost::NOTHING);
        }
    }

    /// `packet` starts: it takes along what its message has lost.
    #[inline]
    pub(crate) fn start<M: Mode>(&mut self, packet: u32, message: u32) {
        let lost = self.account(Waiter::Message(message)).lost;
        if lost != Lost::NOTHING {
            self.share_lost::<M>(lost);
            self.replace::<M>(Waiter::Packet(packet), lost);
        }
    }

    /// `packet` of `owner` is at its target, and its slot is free.
    #[inline]
    pub(super) fn deliver<M: Mode>(
        &mut self,
        (packet, owner): (u32, Traffic),
        message: u32,
        delivery: &PacketDelivery,
    ) {
        let who = Waiter::Packet(packet);
        self.put_together::<M>(who, owner);
        if self.account(who).asked > Time::ZERO {
            self.edit_account::<M>(who).asked = Time::ZERO;
        }
        let &PacketDelivery {
            is_latest,
            may_be_overtaken,
            completes,
            ..
        } = delivery;
        if is_latest && may_be_overtaken && !completes {
            // Kept for the message until a later packet arrives.
            self.exchange::<M>(who, Waiter::Arrived(message));
        }
        if completes {
            let latest = if is_latest { who } else { Waiter::Arrived(message) };
            // Its own slot then has what that of the message had.
            self.exchange::<M>(latest, Waiter::Message(message));
        }
        if completes || (is_latest && !may_be_overtaken) {
            self.clear::<M>(Waiter::Arrived(message));
        }
        self.clear::<M>(who);
    }

    /// Exchanges what two have lost.
    fn exchange<M: Mode>(&mut self, a: Waiter, b: Waiter) {
        let (of_a, of_b) = (self.account(a).lost, self.account(b).lost);
        if of_a != of_b || of_a != Lost::NOTHING {
            self.edit_account::<M>(a).lost = of_b;
            self.edit_account::<M>(b).lost = of_a;
        }
    }

    /// Nobody asks what message `slot` has lost any more.
    #[inline]
    pub(crate) fn forget_message<M: Mode>(&mut self, slot: u32) {
        self.clear::<M>(Waiter::Message(slot));
        self.clear::<M>(Waiter::Arrived(slot));
    }
}
