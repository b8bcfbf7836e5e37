//! Lost time of messages: how long the packets of a message have waited for each traffic ([`odonata_blame::lost`]).
//!
//! The [ledger](super::blame) sums the waits of all packets of a traffic. Here each message carries its losses from
//! before its submission, which its host provides, and those at its NIC. A packet inherits them when it starts, and
//! adds its waits at routers. A message's losses at delivery are those of its last packet to arrive.
//!
//! A packet that waits behind its own traffic waits for the traffics that delayed the packets ahead: it inherits their
//! losses to others ([`wait`]). A wait for a credit from its own traffic works alike: the losses of the packet that
//! freed the buffer return with the credit ([`rooms`]).
//!
//! A packet in another part is identified by its message's source and number and by its creation time. Its losses
//! travel ahead of it as updates. They are merged with its local losses when it leaves or arrives ([`remote`]).
//!
//! **Cost.** Most packets have lost nothing to others, or as much as the packet of their traffic ahead. So loss vectors
//! are shared ([`Vectors`]) and passed by number from message to packet to link and credit. The losses to its own
//! traffic are two times in the packet's cache line ([`Account`]). A packet without losses on an uncontended link takes
//! one check.

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

/// The waiting object, by its slot: a packet at a router, or a message at its NIC.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waiter {
    Packet(u32),
    Message(u32),
    /// The latest packet to arrive of an incomplete message, by the message's slot. It waits no more.
    Arrived(u32),
}

fn kind_of(cause: Cause) -> Kind {
    match cause {
        LINK => Kind::Link,
        CREDIT | INPUT => Kind::Buffer,
        _ => unreachable!("there is no other cause"),
    }
}

/// The losses of a packet or a message, and its place in the queue; one cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[repr(align(64))]
struct Account {
    lost: Lost,
    place: Place,
    /// When it would have requested the link if it had been alone; [`Time::ZERO`] if it has not waited.
    asked: Time,
}

/// The losses of a packet or message of one owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Lost {
    losses_to_others: Vector,
    /// Losses to its own traffic, except those counted below, with their origin.
    own: Vector,
    /// Losses to its own traffic if places are not recorded: in waits for links, and for credits.
    own_link: Time,
    own_buffer: Time,
}

impl Lost {
    const NOTHING: Lost = Lost {
        losses_to_others: Vector::EMPTY,
        own: Vector::EMPTY,
        own_link: Time::ZERO,
        own_buffer: Time::ZERO,
    };
}

const _: () = assert!(size_of::<Account>() == 64);

/// The last use of a link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Taken {
    /// The losses to others of the last packet on the link.
    last: Vector,
    /// When that packet would have requested the link if it had been alone.
    asked: Time,
    /// While packets wait: the last packet of each traffic on the link since then.
    owners: u32,
}

/// The last packet of `owner` on a link: the end of its transmission, and its losses to others.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct LastUse {
    until: Time,
    /// When it would have requested the link if it had been alone; [`Time::ZERO`] if the order of requests does not
    /// matter.
    asked: Time,
    losses_to_others: Vector,
    next: u32,
    owner: Traffic,
}

odonata_engine::slots!(LastUse);

/// The losses of the packets and messages of a part; empty if lost time is off.
#[derive(Debug)]
pub(crate) struct LostTime {
    /// The past holders of each link and input buffer, by ledger line.
    histories: Histories,
    vectors: Vectors,
    packets: GrowableStore<Account>,
    messages: GrowableStore<Account>,
    /// The losses of arrived packets, by the slot of their incomplete message.
    arrived: GrowableStore<Account>,
    /// Links, by ledger line.
    links: Store<Taken>,
    owners: Pool<LastUse>,
    /// Buffer space, by virtual channel of all links.
    rooms: GrowableStore<Room>,
    pending: Pool<PendingRoom>,
    /// The losses of single flits, with pipelined routers.
    flits: Flits,
    /// Names of packets from other parts whose losses there are not yet merged with local ones, and those losses.
    names: GrowableStore<Name>,
    incoming: Stamps,
    /// The place of each ledger line, if places are recorded.
    places: Vec<LostAt>,
    /// Buffers for temporary values; empty between events.
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
    /// The losses of a part with `lines` ledger lines; off without lines. With the `places` of all lines, losses carry
    /// their place.
    ///
    /// `fronts`: number of places where flits wait one by one, the input virtual channels and NICs.
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

    /// Whether lost time is on, for callers that do not know the feature set.
    pub(crate) fn is_kept(&self) -> bool {
        self.histories.is_on()
    }

    #[inline(always)]
    pub(crate) fn is_on<U: Uses>(&self) -> bool {
        U::LOST && self.is_kept()
    }

    #[inline(always)]
    fn account(&self, waiter: Waiter) -> Account {
        match waiter {
            Waiter::Packet(slot) => self.packets.get(slot as usize),
            Waiter::Message(slot) => self.messages.get(slot as usize),
            Waiter::Arrived(slot) => self.arrived.get(slot as usize),
        }
    }

    #[inline(always)]
    fn edit_account<M: Mode>(&mut self, waiter: Waiter) -> &mut Account {
        match waiter {
            Waiter::Packet(slot) => self.packets.edit::<M>(slot as usize),
            Waiter::Message(slot) => self.messages.edit::<M>(slot as usize),
            Waiter::Arrived(slot) => self.arrived.edit::<M>(slot as usize),
        }
    }

    /// `waiter` waits at `line` from `since`, which is now or later, for the current holder of the resource.
    pub(super) fn join<M: Mode>(&mut self, line: u32, waiter: Waiter, (now, since): (Time, Time), hold: Option<Hold>) {
        let first = !self.histories.is_waited_for(line);
        let held = hold.filter(|hold| hold.free_at > now);
        let held = held.map(|hold| (hold.free_at, hold.holder, hold.cause));
        // Others may arrive before `since`: the holder until then counts for them.
        let mut place = self.histories.join::<M>(line, now, held);
        place.since = since;
        self.edit_account::<M>(waiter).place = place;
        if let Some(hold) = hold.filter(|hold| first && hold.free_at >= since) {
            let Taken { last, asked, .. } = *self.links.get(line);
            self.took::<M>(line, hold.holder, (asked, hold.free_at), last);
        }
    }

    /// The resource of `line`, free since `free_at`, passes to another holder. `lacked`: the owner and cause to charge
    /// for the time between, in which the waiting packets lacked a credit.
    #[inline]
    pub(super) fn idles<M: Mode>(&mut self, line: u32, (free_at, now): (Time, Time), lacked: Option<(Traffic, Cause)>) {
        if now > free_at {
            self.histories.held::<M>(line, (free_at, now), lacked);
        }
        if let Some(lacked) = lacked {
            self.histories.settle::<M>(line, lacked);
        }
    }

    /// The resource of `line` is held from `now`, as seen by the packets that still wait.
    #[inline]
    pub(super) fn is_held<M: Mode>(&mut self, line: u32, now: Time, by: Hold) {
        if self.histories.is_waited_for(line) {
            self.histories
                .held::<M>(line, (now, by.free_at), Some((by.holder, by.cause)));
        }
    }

    /// The resource of `line` was held without a break until now.
    pub(super) fn held_until<M: Mode>(&mut self, line: u32, now: Time, by: (Traffic, Cause)) {
        self.histories.held_until::<M>(line, now, Some(by));
    }

    /// `waiter` of `owner` stops waiting at `line`; its wait becomes a loss. Since `idle` the resource was free and
    /// `waiter` lacked a credit. If its own traffic freed that buffer, `room` gives the virtual channel and the time.
    pub(super) fn leave<M: Mode>(
        &mut self,
        line: u32,
        (waiter, owner): (Waiter, Traffic),
        (now, idle): (Time, Time),
        lacked: (Traffic, Cause),
        room: Option<(u32, Time)>,
    ) {
        let place = self.account(waiter).place;
        if !place.is_taken() {
            return;
        }
        self.edit_account::<M>(waiter).place = Place::NONE;
        if place.since < now {
            self.put_together::<M>(waiter, owner);
            // Without the other traffics, the last packet of its own traffic would have come earlier. But if that
            // packet would then have requested the link after this one, this one would not have waited for it.
            let asked = place
                .since
                .saturating_sub(self.vectors.total(self.account(waiter).lost.losses_to_others));
            self.edit_account::<M>(waiter).asked = asked;
            let made = room.and_then(|(vc, at)| Some((at, self.room_made(vc, owner, at)?)));
            let last = || {
                let last = self.last_of(line, owner).filter(|last| last.asked <= asked)?;
                Some((last.until, last.losses_to_others))
            };
            let own = made.or_else(last);
            let own = own.map(|(at, losses_to_others)| Own { at, losses_to_others });
            let wait = Wait {
                owner,
                since: place.since,
                now,
                own: own.filter(|own| own.at > place.since && own.at <= now),
            };
            let lacked = (lacked, idle.max(place.since));
            match self.places.get(line as usize) {
                None => self.lose::<M>((line, place), waiter, &wait, lacked),
                Some(&here) => self.lose_here::<M>((line, place, here), waiter, &wait, lacked),
            }
        } else {
            self.histories.leave::<M>(line, place, now, lacked, |_, _| ());
        }
        if !self.histories.is_waited_for(line) {
            self.forget_owners::<M>(line);
        }
    }

    /// `waiter` of `owner` takes link `line` from `now` until `until`.
    #[inline]
    pub(super) fn take_link<M: Mode>(
        &mut self,
        line: u32,
        (waiter, owner): (Waiter, Traffic),
        (now, until): (Time, Time),
    ) {
        self.put_together::<M>(waiter, owner);
        let Account { lost, mut asked, .. } = self.account(waiter);
        match asked {
            Time::ZERO => asked = now.saturating_sub(self.vectors.total(lost.losses_to_others)),
            _ => self.edit_account::<M>(waiter).asked = Time::ZERO,
        }
        self.take_link_having::<M>(line, (lost.losses_to_others, owner), (asked, until));
    }

    /// The same for a packet of `owner` with the losses `losses_to_others`, which would have requested the link at
    /// `when.0` if it had been alone.
    #[inline]
    fn take_link_having<M: Mode>(
        &mut self,
        line: u32,
        (losses_to_others, owner): (Vector, Traffic),
        when: (Time, Time),
    ) {
        let Taken { last: before, .. } = *self.links.get(line);
        if before != losses_to_others {
            self.vectors.share::<M>(losses_to_others);
            self.vectors.release::<M>(before);
        }
        let taken = self.links.edit::<M>(line);
        (taken.last, taken.asked) = (losses_to_others, when.0);
        if self.histories.is_waited_for(line) {
            self.took::<M>(line, owner, when, losses_to_others);
        }
    }

    /// Records the last packet of `owner` on `line`, until `until`, for the packets that wait. It has lost
    /// `losses_to_others` and would have requested the link at `asked` if it had been alone.
    fn took<M: Mode>(&mut self, line: u32, owner: Traffic, (asked, until): (Time, Time), losses_to_others: Vector) {
        self.vectors.share::<M>(losses_to_others);
        match self.find_owner(line, owner) {
            NIL => {
                let next = self.links.get(line).owners;
                let slot = self.owners.allocate::<M>(LastUse {
                    until,
                    asked,
                    losses_to_others,
                    next,
                    owner,
                });
                self.links.edit::<M>(line).owners = slot;
            }
            slot => {
                let cell = self.owners.edit::<M>(slot);
                (cell.until, cell.asked) = (until, asked);
                let before = std::mem::replace(&mut cell.losses_to_others, losses_to_others);
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

    fn last_of(&self, line: u32, owner: Traffic) -> Option<LastUse> {
        match self.find_owner(line, owner) {
            NIL => None,
            slot => Some(*self.owners.get(slot)),
        }
    }

    /// Clears the last packets per owner of `line`, for which no packet waits any more.
    fn forget_owners<M: Mode>(&mut self, line: u32) {
        let mut at = self.links.get(line).owners;
        if at == NIL {
            return;
        }
        self.links.edit::<M>(line).owners = NIL;
        while at != NIL {
            let LastUse {
                losses_to_others, next, ..
            } = *self.owners.get(at);
            self.vectors.release::<M>(losses_to_others);
            self.owners.free::<M>(at);
            at = next;
        }
    }

    /// The losses to others of the last packet on link `line`.
    #[inline]
    pub(crate) fn of_last(&self, line: u32) -> Vector {
        self.links.get(line).last
    }

    /// The losses of `packet` of `owner` to others.
    pub(crate) fn losses_to_others<M: Mode>(&mut self, packet: u32, owner: Traffic) -> Vector {
        self.put_together::<M>(Waiter::Packet(packet), owner);
        self.account(Waiter::Packet(packet)).lost.losses_to_others
    }

    /// The losses of message `slot` of `owner` so far.
    pub(crate) fn of_message(&self, slot: u32, owner: Traffic) -> Carried {
        let lost = self.account(Waiter::Message(slot)).lost;
        let mut losses = Vec::new();
        self.read(lost, owner, &mut losses);
        Carried {
            origin: self.vectors.origin(lost.own),
            losses,
        }
    }

    /// Sets the losses of message `slot` of `owner`.
    pub(crate) fn set_message<M: Mode>(&mut self, slot: u32, owner: Traffic, carried: &Carried) {
        self.set::<M>(Waiter::Message(slot), owner, carried.origin, &carried.losses);
    }

    /// Replaces `losses` with all of `lost`, sorted.
    fn read(&self, lost: Lost, owner: Traffic, losses: &mut Vec<Loss>) {
        self.vectors.read(lost.losses_to_others, losses);
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

    /// Sets the losses of `waiter` of `owner`.
    fn set<M: Mode>(&mut self, waiter: Waiter, owner: Traffic, origin: Origin, losses: &[Loss]) {
        let lost = self.keep::<M>(owner, origin, losses);
        self.replace::<M>(waiter, lost);
    }

    /// Stores the losses of a packet or message of `owner`.
    fn keep<M: Mode>(&mut self, owner: Traffic, origin: Origin, losses: &[Loss]) -> Lost {
        // The losses are sorted by culprit.
        let first = losses.partition_point(|loss| loss.culprit < owner);
        let (before, rest) = losses.split_at(first);
        let (own, after) = rest.split_at(rest.partition_point(|loss| loss.culprit == owner));
        let losses_to_others = match (before, after) {
            (all, []) | ([], all) => self.vectors.keep::<M>(Origin::NONE, all),
            _ => {
                self.scratch.filtered.clear();
                self.scratch.filtered.extend_from_slice(before);
                self.scratch.filtered.extend_from_slice(after);
                self.vectors.keep::<M>(Origin::NONE, &self.scratch.filtered)
            }
        };
        self.with_own::<M>(losses_to_others, origin, own)
    }

    /// Combines the losses to others with those to its own traffic, sorted by kind.
    fn with_own<M: Mode>(&mut self, losses_to_others: Vector, origin: Origin, own: &[Loss]) -> Lost {
        if !self.places.is_empty() {
            return Lost {
                losses_to_others,
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
            losses_to_others,
            own: self.vectors.keep::<M>(origin, &own[others..]),
            own_link: of(Kind::Link),
            own_buffer: of(Kind::Buffer),
        }
    }

    /// Replaces the losses of `waiter` with `lost`, which already counts it as a user of its vectors.
    fn replace<M: Mode>(&mut self, waiter: Waiter, lost: Lost) {
        let account = self.edit_account::<M>(waiter);
        let before = std::mem::replace(&mut account.lost, lost);
        self.release::<M>(before);
    }

    /// Adds a user to the vectors of `lost`.
    #[inline]
    fn share_lost<M: Mode>(&mut self, lost: Lost) -> Lost {
        self.vectors.share::<M>(lost.losses_to_others);
        self.vectors.share::<M>(lost.own);
        lost
    }

    /// Removes a user.
    #[inline]
    fn release<M: Mode>(&mut self, lost: Lost) {
        self.vectors.release::<M>(lost.losses_to_others);
        self.vectors.release::<M>(lost.own);
    }

    /// Clears the losses of `waiter`.
    #[inline]
    fn clear<M: Mode>(&mut self, waiter: Waiter) {
        if self.account(waiter).lost != Lost::NOTHING {
            self.replace::<M>(waiter, Lost::NOTHING);
        }
    }

    /// `packet` starts with the losses of its message.
    #[inline]
    pub(crate) fn start<M: Mode>(&mut self, packet: u32, message: u32) {
        let lost = self.account(Waiter::Message(message)).lost;
        if lost != Lost::NOTHING {
            self.share_lost::<M>(lost);
            self.replace::<M>(Waiter::Packet(packet), lost);
        }
    }

    /// `packet` of `owner` has reached its destination, and its slot is free.
    #[inline]
    pub(super) fn deliver<M: Mode>(
        &mut self,
        (packet, owner): (u32, Traffic),
        message: u32,
        delivery: &PacketDelivery,
    ) {
        let waiter = Waiter::Packet(packet);
        self.put_together::<M>(waiter, owner);
        if self.account(waiter).asked > Time::ZERO {
            self.edit_account::<M>(waiter).asked = Time::ZERO;
        }
        let &PacketDelivery {
            is_latest,
            may_be_overtaken,
            completes,
            ..
        } = delivery;
        if is_latest && may_be_overtaken && !completes {
            // Keep these losses for the message until a later packet arrives.
            self.exchange::<M>(waiter, Waiter::Arrived(message));
        }
        if completes {
            let latest = if is_latest { waiter } else { Waiter::Arrived(message) };
            // Its slot then holds the previous losses of the message.
            self.exchange::<M>(latest, Waiter::Message(message));
        }
        if completes || (is_latest && !may_be_overtaken) {
            self.clear::<M>(Waiter::Arrived(message));
        }
        self.clear::<M>(waiter);
    }

    /// Exchanges the losses of two waiters.
    fn exchange<M: Mode>(&mut self, a: Waiter, b: Waiter) {
        let (of_a, of_b) = (self.account(a).lost, self.account(b).lost);
        if of_a != of_b || of_a != Lost::NOTHING {
            self.edit_account::<M>(a).lost = of_b;
            self.edit_account::<M>(b).lost = of_a;
        }
    }

    /// Clears the losses of message `slot`, which are no longer needed.
    #[inline]
    pub(crate) fn forget_message<M: Mode>(&mut self, slot: u32) {
        self.clear::<M>(Waiter::Message(slot));
        self.clear::<M>(Waiter::Arrived(slot));
    }
}
