//! Credits in flight: how they come back, and when they are counted.
//!
//! Credits of packets have places beside each other, those of single flits a queue of their own ([`FlitCredits`]).
//!
//! [`FlitCredits`]: super::FlitCredits

use super::Flow;
use super::exhaustion::Exhaustion;
use super::port::PortFlags;
use crate::features::{HandlerContext, Uses};
use crate::message::Traffic;
use crate::observe::{Observer, PackedTag, Tag};
use odonata_engine::{Mode, NIL, Slot, Time};
use odonata_topology::LinkClass;

/// Space in a buffer that is given back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    pub(crate) flits: u16,
    /// The owner of the packet that held it.
    pub(crate) owner: Traffic,
    pub(crate) tag: Tag,
}

/// Flits of a buffer that will be free again at `due`.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Credit {
    due: Time,
    flits: u16,
    /// The owner of the packet that held the space.
    owner: Traffic,
    vc: u8,
    next: u32,
    tag: PackedTag,
}

impl Slot for Credit {
    #[inline]
    fn next(&self) -> u32 {
        self.next
    }
    #[inline]
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// Credits on their way to one port, side by side, with what has to be known of the port when another one comes: two cache
/// lines, of which a credit that comes touches one or both. Few buffers hold more packets than there are places; the rest
/// goes to the list.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[repr(C, align(64))]
pub(super) struct CreditsInFlight {
    /// When the first of them counts, those of the list too; [`Time::NEVER`] if none is on its way.
    earliest: Time,
    /// Those that have no place.
    listed: u32,
    len: u8,
    /// Whether the port [awaits credits](super::OutPort::awaits_credit).
    awaited: bool,
    /// The class of the link.
    pub(super) class: LinkClass,
    places: [Place; CreditsInFlight::MOST],
}

const _: () = assert!(size_of::<CreditsInFlight>() == 128);

/// A credit on its way.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Place {
    due: Time,
    flits: u16,
    owner: Traffic,
    vc: u8,
    tag: PackedTag,
}

impl CreditsInFlight {
    const MOST: usize = 7;

    /// No credits, on a link of this class.
    pub(super) fn none(class: LinkClass) -> CreditsInFlight {
        let place = Place {
            due: Time::NEVER,
            flits: 0,
            owner: 0,
            vc: 0,
            tag: PackedTag::default(),
        };
        CreditsInFlight {
            earliest: Time::NEVER,
            listed: NIL,
            len: 0,
            awaited: false,
            class,
            places: [place; CreditsInFlight::MOST],
        }
    }
}

impl Flow {
    /// Gives `space` of virtual channel `vc` back to the sender of `link`, from `due` on. Not where routers are pipelined, see [`flits`](Self::flits).
    #[inline(always)]
    pub(crate) fn return_credit<C: HandlerContext>(&mut self, ctx: &mut C, link: u32, vc: u8, space: Space, due: Time) {
        let Space { flits, owner, tag } = space;
        let (links, observers) = (&self.links, &mut self.observers);
        let channel = || links.first_vc(link) + u32::from(vc);
        let tag = observers.credit_departs::<C>(channel, owner, due, tag);
        let credits = self.in_flight.edit::<C>(link);
        credits.earliest = credits.earliest.min(due);
        match credits.places.get_mut(usize::from(credits.len)) {
            Some(place) => {
                *place = Place {
                    due,
                    flits,
                    owner,
                    vc,
                    tag,
                };
                credits.len += 1;
            }
            None => self.list_credit::<C>(
                link,
                Place {
                    due,
                    flits,
                    owner,
                    vc,
                    tag,
                },
            ),
        }
        if self.in_flight.get(link).awaited {
            self.wake_up(ctx, link, due);
        }
    }

    /// A credit for which there is no place.
    #[inline(never)]
    fn list_credit<M: Mode>(&mut self, link: u32, credit: Place) {
        let Place {
            due,
            flits,
            owner,
            vc,
            tag,
        } = credit;
        let next = self.in_flight.get(link).listed;
        let slot = self.credits.allocate::<M>(Credit {
            due,
            flits,
            owner,
            vc,
            next,
            tag,
        });
        self.in_flight.edit::<M>(link).listed = slot;
    }

    /// Whether `link`'s port wants an event for each credit from now on.
    #[inline]
    pub(crate) fn set_awaits_credit<M: Uses>(&mut self, link: u32, awaits: bool) {
        if self.ports.get(link).awaits_credit() != awaits {
            let flags = &mut self.ports.edit::<M>(link).flags;
            flags.set(PortFlags::AWAITS_CREDIT, awaits);
            if !self.flits.are_used() {
                self.in_flight.edit::<M>(link).awaited = awaits;
            }
        }
    }

    /// Counts the credits of `link` that are due.
    #[inline(always)]
    pub(crate) fn count_credits<M: Uses>(&mut self, link: u32, now: Time) {
        if self.flits.are_used() {
            self.count_flit_credits::<M>(link, now);
        } else if self.in_flight.get(link).earliest <= now {
            self.count_due_credits::<M>(link, now);
        }
    }

    /// Whether [`count_credits`](Self::count_credits) has something to do.
    #[inline(always)]
    pub(crate) fn has_due_credits(&self, link: u32, now: Time) -> bool {
        match self.flits.are_used() {
            true => self.flits.next_due(link) <= now,
            false => self.in_flight.get(link).earliest <= now,
        }
    }

    /// Counts the credits of `link` that are due, of which there are some.
    #[inline(never)]
    fn count_due_credits<M: Uses>(&mut self, link: u32, now: Time) {
        if self.ports.get(link).is_exhausted() {
            self.make_room::<M>(link, now);
        }
        let (first_vc, waiting) = (self.first_vc(link), self.ports.get(link).waiting);
        let mut flits = 0;
        let credits = self.in_flight.edit::<M>(link);
        let is_awaited = waiting > 0 || credits.awaited;
        let mut earliest = Time::NEVER;
        let (len, mut kept) = (usize::from(credits.len), 0);
        for i in 0..len.min(CreditsInFlight::MOST) {
            let place = credits.places[i];
            if place.due <= now {
                flits += u32::from(place.flits);
                let at = first_vc + u32::from(place.vc);
                self.vcs.edit::<M>(at).used -= u32::from(place.flits);
                let tag = Tag::unpacked(place.tag);
                let flits = u32::from(place.flits);
                (self.observers).credit_arrives::<M>((at, place.owner), flits, place.due, tag, is_awaited);
            } else {
                earliest = earliest.min(place.due);
                credits.places[kept] = place;
                kept += 1;
            }
        }
        (credits.len, credits.earliest) = (kept as u8, earliest);
        if credits.listed != NIL {
            flits += self.count_listed_credits::<M>(link, (first_vc, is_awaited), now);
        }
        self.ports.edit::<M>(link).used -= flits;
    }

    /// Counts the due credits of `link`'s list, and returns their flits.
    fn count_listed_credits<M: Uses>(&mut self, link: u32, (first_vc, is_awaited): (u32, bool), now: Time) -> u32 {
        let mut at = self.in_flight.get(link).listed;
        let mut earliest = self.in_flight.get(link).earliest;
        let (mut kept, mut flits) = (NIL, 0);
        while at != NIL {
            let credit = *self.credits.get(at);
            if credit.due <= now {
                flits += u32::from(credit.flits);
                let vc = first_vc + u32::from(credit.vc);
                self.vcs.edit::<M>(vc).used -= u32::from(credit.flits);
                let tag = Tag::unpacked(credit.tag);
                let flits = u32::from(credit.flits);
                (self.observers).credit_arrives::<M>((vc, credit.owner), flits, credit.due, tag, is_awaited);
                self.credits.free::<M>(at);
            } else {
                earliest = earliest.min(credit.due);
                if credit.next != kept {
                    self.credits.edit::<M>(at).next = kept;
                }
                kept = at;
            }
            at = credit.next;
        }
        let credits = self.in_flight.edit::<M>(link);
        (credits.listed, credits.earliest) = (kept, earliest);
        flits
    }

    /// Calls `see` with the time, the virtual channel and the flits of each credit on its way to `link`.
    pub(crate) fn each_credit(&self, link: u32, mut see: impl FnMut(Time, u8, u16)) {
        if self.flits.are_used() {
            return self.flits.each(link, |vc, due| see(due, vc, 1));
        }
        let credits = self.in_flight.get(link);
        for place in credits.places.iter().take(usize::from(credits.len)) {
            see(place.due, place.vc, place.flits);
        }
        let mut at = credits.listed;
        while at != NIL {
            let credit = self.credits.get(at);
            see(credit.due, credit.vc, credit.flits);
            at = credit.next;
        }
    }

    /// Flits of `link` whose credits are due at `now` and have not been counted. Counts none: for who must leave no trace.
    pub(crate) fn due_flits(&self, link: u32, now: Time) -> u32 {
        if self.flits.are_used() {
            return self.flits.due(link, now);
        }
        let mut due = 0;
        self.each_credit(link, |at, _, flits| {
            due += if at <= now { u32::from(flits) } else { 0 };
        });
        due
    }

    /// When the next credit of `link` comes that is not due yet, if one is on its way.
    pub(crate) fn earliest_credit(&self, link: u32, now: Time) -> Option<Time> {
        if self.flits.are_used() {
            return self.flits.earliest(link, now);
        }
        let credits = self.in_flight.get(link);
        if credits.earliest > now {
            return Some(credits.earliest).filter(|&due| due != Time::NEVER);
        }
        let places = credits.places.iter().take(usize::from(credits.len));
        let mut earliest = places.map(|place| place.due).filter(|&due| due > now).min();
        let mut at = credits.listed;
        while at != NIL {
            let credit = self.credits.get(at);
            if credit.due > now && earliest.is_none_or(|due| credit.due < due) {
                earliest = Some(credit.due);
            }
            at = credit.next;
        }
        earliest
    }
}

/// [`Flow::count_credits`] for the features of a handler, which hands it to code that is compiled once for all sets of features.
pub(crate) type CountCredits = fn(&mut Flow, u32, Time);

impl Flow {
    /// Counts the credits of single flits of `link` that are due.
    #[inline]
    pub(crate) fn count_flit_credits<M: Uses>(&mut self, link: u32, now: Time) {
        if self.flits.next_due(link) > now {
            return;
        }
        if self.ports.get(link).is_exhausted() {
            self.count_flit_credits_of_exhausted::<M>(link, now);
        } else {
            self.take_flit_credits::<M>(link, now, |_, _, _, _| {});
        }
    }

    /// The same of a router port whose channels have had no room.
    #[inline(never)]
    fn count_flit_credits_of_exhausted<M: Uses>(&mut self, link: u32, now: Time) {
        let of = self.link(link);
        self.take_flit_credits::<M>(link, now, |exhaustion, vc, used, due| {
            exhaustion.has_room::<M>((link, &of), vc, of.capacity.saturating_sub(used), due);
        });
    }

    /// Counts the credits of single flits of `link`, of which some are due, and calls `see` with the channel of each, the flits that its
    /// buffer still has, and the time.
    #[inline(always)]
    fn take_flit_credits<M: Uses>(
        &mut self,
        link: u32,
        now: Time,
        mut see: impl FnMut(&mut Exhaustion, u8, u32, Time),
    ) {
        let first_vc = self.first_vc(link);
        let mut count = 0;
        let (vcs, observers, exhaustion) = (&mut self.vcs, &mut self.observers, &mut self.exhaustion);
        self.flits.take_due::<M>(link, now, |vc, owner, due| {
            let at = first_vc + u32::from(vc);
            let cell = vcs.edit::<M>(at);
            cell.used -= 1;
            count += 1;
            see(exhaustion, vc, cell.used, due);
            observers.credit_arrives::<M>((at, owner), 1, due, Tag::NONE, true);
        });
        self.ports.edit::<M>(link).used -= count;
    }

    /// Counts the credits of single flits of `link` if the first of them has been due at `overdue` already: looked at one by
    /// one, they cost more than the flits that they stand for.
    #[inline(always)]
    pub(crate) fn count_overdue_flits<M: Uses>(&mut self, link: u32, overdue: Time, now: Time) {
        if self.flits.next_due(link) <= overdue {
            self.count_flit_credits::<M>(link, now);
        }
    }

    /// A flit leaves on virtual channel `at` of `link`, at `ready` or as soon as the link is free; when it does, and since when
    /// packets had found no buffer ([`Time::NEVER`]: they had).
    #[inline(always)]
    pub(crate) fn send_flit<M: Uses>(&mut self, link: u32, at: u32, ready: Time, flit: Time) -> (Time, Time) {
        self.vcs.edit::<M>(at).used += 1;
        let sender = self.ports.edit::<M>(link);
        sender.used += 1;
        let departure = ready.max(sender.free_at);
        sender.free_at = departure + flit;
        (departure, std::mem::replace(&mut sender.stalled_since, Time::NEVER))
    }

    /// The space of a flit of `owner` in virtual channel `vc` of `link` is free again from `due` on.
    #[inline(always)]
    pub(crate) fn return_flit_credit<M: Uses>(&mut self, link: u32, (vc, owner): (u8, Traffic), tag: Tag, due: Time) {
        self.flits.put::<M>(link, (vc, owner), due);
        let (links, observers) = (&self.links, &mut self.observers);
        let channel = || links.first_vc(link) + u32::from(vc);
        observers.flit_credit_departs::<M>(channel, owner, due, tag);
    }

    /// When the next credit of a single flit of `link` comes that is not due yet; those that are get counted.
    pub(crate) fn next_flit_credit<M: Uses>(&mut self, link: u32, now: Time) -> Option<Time> {
        self.count_flit_credits::<M>(link, now);
        Some(self.flits.next_due(link)).filter(|&due| due != Time::NEVER)
    }
}
