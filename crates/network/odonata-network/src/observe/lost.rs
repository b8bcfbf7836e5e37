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
//! are shared ([`LossStore`]) and passed by number from message to packet to link and credit. The losses to its own
//! traffic are two times in the packet's cache line ([`Account`]). A packet without losses on an uncontended link takes
//! one check.

mod account;
mod flits;
mod remote;
mod rooms;
mod store;
mod uses;
mod wait;

use super::blame::{CREDIT, INPUT, LINK};
use super::facts::PacketDelivery;
use crate::features::Uses;
use crate::message::Traffic;
pub(crate) use account::Waiter;
use account::{Account, Accounts, Lost};
use flits::Flits;
pub(crate) use flits::OwnWait;
use odonata_blame::lost::{Carried, Kind, Loss, LostAt, Origin, Stamps, Vector};
use odonata_blame::{Cause, Histories, Hold, Place};
use odonata_engine::{GrowableStore, Mode, Time};
use remote::Name;
use rooms::Rooms;
use store::LossStore;
use uses::{LinkUses, Taken};
use wait::{Own, Scratch, Wait};

fn kind_of(cause: Cause) -> Kind {
    match cause {
        LINK => Kind::Link,
        CREDIT | INPUT => Kind::Buffer,
        _ => unreachable!("there is no other cause"),
    }
}

/// The losses of the packets and messages of a part; empty if lost time is off.
#[derive(Debug)]
pub(crate) struct LostTime {
    /// The past holders of each link and input buffer, by ledger line.
    histories: Histories,
    pub(super) losses: LossStore,
    accounts: Accounts,
    /// Links, by ledger line.
    pub(super) links: LinkUses,
    pub(super) rooms: Rooms,
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
    losses,
    accounts,
    links,
    rooms,
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
        let fronts = if lines > 0 { fronts } else { 0 };
        LostTime {
            histories: Histories::new(lines > 0),
            losses: LossStore::new(!places.is_empty()),
            accounts: Accounts::default(),
            links: LinkUses::new(lines),
            rooms: Rooms::new(fronts > 0),
            flits: Flits::new(fronts),
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

    /// `waiter` waits at `line` from `since`, which is now or later, for the current holder of the resource.
    pub(super) fn join<M: Mode>(&mut self, line: u32, waiter: Waiter, (now, since): (Time, Time), hold: Option<Hold>) {
        let first = !self.histories.is_waited_for(line);
        let held = hold.filter(|hold| hold.free_at > now);
        let held = held.map(|hold| (hold.free_at, hold.holder, hold.cause));
        // Others may arrive before `since`: the holder until then counts for them.
        let mut place = self.histories.join::<M>(line, now, held);
        place.since = since;
        self.accounts.edit::<M>(waiter).place = place;
        if let Some(hold) = hold.filter(|hold| first && hold.free_at >= since) {
            let Taken { last, asked, .. } = *self.links.links.get(line);
            self.links
                .took::<M>(&mut self.losses.vectors, line, hold.holder, (asked, hold.free_at), last);
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
        let place = self.accounts.get(waiter).place;
        if !place.is_taken() {
            return;
        }
        self.accounts.edit::<M>(waiter).place = Place::NONE;
        if place.since < now {
            self.put_together::<M>(waiter, owner);
            // Without the other traffics, the last packet of its own traffic would have come earlier. But if that
            // packet would then have requested the link after this one, this one would not have waited for it.
            let asked = place.since.saturating_sub(
                self.losses
                    .vectors
                    .total(self.accounts.get(waiter).lost.losses_to_others),
            );
            self.accounts.edit::<M>(waiter).asked = asked;
            let made = room.and_then(|(vc, at)| Some((at, self.rooms.made(vc, owner, at)?)));
            let last = || {
                let last = self.links.last_of(line, owner).filter(|last| last.asked <= asked)?;
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
            self.links.forget_owners::<M>(&mut self.losses.vectors, line);
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
        let Account { lost, mut asked, .. } = self.accounts.get(waiter);
        match asked {
            Time::ZERO => asked = now.saturating_sub(self.losses.vectors.total(lost.losses_to_others)),
            _ => self.accounts.edit::<M>(waiter).asked = Time::ZERO,
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
        let Taken { last: before, .. } = *self.links.links.get(line);
        if before != losses_to_others {
            self.losses.vectors.share::<M>(losses_to_others);
            self.losses.vectors.release::<M>(before);
        }
        let taken = self.links.links.edit::<M>(line);
        (taken.last, taken.asked) = (losses_to_others, when.0);
        if self.histories.is_waited_for(line) {
            self.links
                .took::<M>(&mut self.losses.vectors, line, owner, when, losses_to_others);
        }
    }

    /// The losses of `packet` of `owner` to others.
    pub(crate) fn losses_to_others<M: Mode>(&mut self, packet: u32, owner: Traffic) -> Vector {
        self.put_together::<M>(Waiter::Packet(packet), owner);
        self.accounts.get(Waiter::Packet(packet)).lost.losses_to_others
    }

    /// The losses of message `slot` of `owner` so far.
    pub(crate) fn of_message(&self, slot: u32, owner: Traffic) -> Carried {
        let lost = self.accounts.get(Waiter::Message(slot)).lost;
        let mut losses = Vec::new();
        self.losses.read(lost, owner, &mut losses);
        Carried {
            origin: self.losses.vectors.origin(lost.own),
            losses,
        }
    }

    /// Sets the losses of message `slot` of `owner`.
    pub(crate) fn set_message<M: Mode>(&mut self, slot: u32, owner: Traffic, carried: &Carried) {
        self.set::<M>(Waiter::Message(slot), owner, carried.origin, &carried.losses);
    }

    /// Sets the losses of `waiter` of `owner`.
    fn set<M: Mode>(&mut self, waiter: Waiter, owner: Traffic, origin: Origin, losses: &[Loss]) {
        let lost = self.losses.keep::<M>(owner, origin, losses);
        self.replace::<M>(waiter, lost);
    }

    /// Replaces the losses of `waiter` with `lost`, which already counts it as a user of its vectors.
    fn replace<M: Mode>(&mut self, waiter: Waiter, lost: Lost) {
        let account = self.accounts.edit::<M>(waiter);
        let before = std::mem::replace(&mut account.lost, lost);
        self.losses.release::<M>(before);
    }

    /// Clears the losses of `waiter`.
    #[inline]
    fn clear<M: Mode>(&mut self, waiter: Waiter) {
        if self.accounts.get(waiter).lost != Lost::NOTHING {
            self.replace::<M>(waiter, Lost::NOTHING);
        }
    }

    /// `packet` starts with the losses of its message.
    #[inline]
    pub(crate) fn start<M: Mode>(&mut self, packet: u32, message: u32) {
        let lost = self.accounts.get(Waiter::Message(message)).lost;
        if lost != Lost::NOTHING {
            self.losses.share::<M>(lost);
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
        if self.accounts.get(waiter).asked > Time::ZERO {
            self.accounts.edit::<M>(waiter).asked = Time::ZERO;
        }
        let &PacketDelivery {
            is_latest,
            may_be_overtaken,
            completes,
            ..
        } = delivery;
        if is_latest && may_be_overtaken && !completes {
            // Keep these losses for the message until a later packet arrives.
            self.accounts.exchange::<M>(waiter, Waiter::Arrived(message));
        }
        if completes {
            let latest = if is_latest { waiter } else { Waiter::Arrived(message) };
            // Its slot then holds the previous losses of the message.
            self.accounts.exchange::<M>(latest, Waiter::Message(message));
        }
        if completes || (is_latest && !may_be_overtaken) {
            self.clear::<M>(Waiter::Arrived(message));
        }
        self.clear::<M>(waiter);
    }

    /// Clears the losses of message `slot`, which are no longer needed.
    #[inline]
    pub(crate) fn forget_message<M: Mode>(&mut self, slot: u32) {
        self.clear::<M>(Waiter::Message(slot));
        self.clear::<M>(Waiter::Arrived(slot));
    }
}
