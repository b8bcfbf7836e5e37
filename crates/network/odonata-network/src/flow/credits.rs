//! Credits in flight: how they return, and when they are counted.
//!
//! Credits of packets have fixed places beside each other, credits of single flits a queue ([`FlitCredits`]).
//!
//! [`FlitCredits`]: super::FlitCredits

use super::Flow;
use super::exhaustion::Exhaustion;
use super::port::PortFlags;
use crate::features::{HandlerContext, Uses};
use crate::message::Traffic;
use crate::observe::{Observer, PackedTag, Tag};
use odonata_engine::{Mode, NIL, Slot, Time};

/// Buffer space to give back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    pub(crate) flits: u16,
    /// The owner of the packet that held the space.
    pub(crate) owner: Traffic,
    pub(crate) tag: Tag,
}

/// Flits of a buffer that become free at `due`.
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

/// The credits in flight to one port, with the port state that a new credit needs. It takes two cache lines, of which a
/// new credit touches one or both. Small packets fill the places before their credits are counted: the due ones are then
/// counted or merged. Credits that still have no place go to the list.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[repr(C, align(64))]
pub(super) struct CreditsInFlight {
    /// Due time of the earliest credit, those of the list included; [`Time::NEVER`] if none is in flight. Due credits that
    /// have been merged leave it as it was.
    earliest: Time,
    /// The credits that have no place.
    listed: u32,
    len: u8,
    /// A copy of the flags of the port.
    pub(super) flags: PortFlags,
    /// The number of the link's credit delay.
    pub(super) delay: u16,
    places: [Place; CreditsInFlight::MOST],
}

const _: () = assert!(size_of::<CreditsInFlight>() == 128);

/// A credit in flight.
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

    /// No credits, on a link whose credit delay has this number.
    pub(super) fn none(delay: u16) -> CreditsInFlight {
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
            flags: PortFlags::NONE,
            delay,
            places: [place; CreditsInFlight::MOST],
        }
    }

    /// Merges the credits due by `before` that are of the same channel and owner. The latest due time remains, because it
    /// decides which owner freed the space.
    fn merge_due(&mut self, before: Time) {
        let mut kept: usize = 0;
        for i in 0..usize::from(self.len) {
            let place = self.places[i];
            let is_same = |other: &Place| other.due <= before && (other.vc, other.owner) == (place.vc, place.owner);
            let same = match place.due <= before {
                true => (0..kept).find(|&other| is_same(&self.places[other])),
                false => None,
            };
            let sum = same.and_then(|other| Some((other, self.places[other].flits.checked_add(place.flits)?)));
            if let Some((other, flits)) = sum {
                let due = self.places[other].due.max(place.due);
                self.places[other] = Place { due, flits, ..place };
            } else {
                self.places[kept] = place;
                kept += 1;
            }
        }
        self.len = kept as u8;
    }
}

impl Flow {
    /// Returns `space` of virtual channel `vc` to the sender of `link` at `due`. Not with pipelined routers, see
    /// [`flits`](Self::flits).
    #[inline(always)]
    pub(crate) fn return_credit<C: HandlerContext>(&mut self, ctx: &mut C, link: u32, vc: u8, space: Space, due: Time) {
        let Space { flits, owner, tag } = space;
        if usize::from(self.in_flight.trusted::<C>(link).len) == CreditsInFlight::MOST {
            self.make_place::<C>(link, ctx.handled_before());
        }
        let (links, observers) = (&self.links, &mut self.observers);
        let channel = || links.first_vc::<C>(link) + u32::from(vc);
        let tag = observers.credit_departs::<C>(channel, owner, due, tag);
        let credits = self.in_flight.edit_trusted::<C>(link);
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
        if self.in_flight.trusted::<C>(link).flags.has(PortFlags::AWAITS_CREDIT)
            && (self.channels_in_need::<C>(link)).is_none_or(|channels| channels & 1 << vc != 0)
        {
            self.wake_up(ctx, link, due);
        }
    }

    /// Makes a place for a credit of `link`. Credits that were due by `before`, until when its sender has handled everything,
    /// will be counted together in any case: they are counted now, or merged if the time of counting matters. Those of an
    /// exhausted port stay apart, because the one that makes room ends its exhaustion.
    #[inline(never)]
    fn make_place<M: Uses>(&mut self, link: u32, before: Time) {
        let credits = self.in_flight.trusted::<M>(link);
        let is_exhausted = credits.flags.has(PortFlags::EXHAUSTED);
        if credits.earliest > before || is_exhausted || self.observers.follow_credits::<M>() {
            return;
        }
        if !M::EXTRAS && self.counts_early {
            self.count_due_credits::<M>(link, before);
        } else {
            self.in_flight.edit_trusted::<M>(link).merge_due(before);
        }
    }

    /// Adds a credit to the list because all places are taken.
    #[inline(never)]
    fn list_credit<M: Mode>(&mut self, link: u32, credit: Place) {
        let Place {
            due,
            flits,
            owner,
            vc,
            tag,
        } = credit;
        let next = self.in_flight.trusted::<M>(link).listed;
        let slot = self.credits.allocate::<M>(Credit {
            due,
            flits,
            owner,
            vc,
            next,
            tag,
        });
        self.in_flight.edit_trusted::<M>(link).listed = slot;
    }

    /// Sets whether the port of `link` gets an event for each credit from now on.
    #[inline]
    pub(crate) fn set_awaits_credit<M: Uses>(&mut self, link: u32, awaits: bool) {
        if self.ports.trusted::<M>(link).awaits_credit() != awaits {
            let flags = &mut self.ports.edit_trusted::<M>(link).flags;
            flags.set(PortFlags::AWAITS_CREDIT, awaits);
            if self.flits.are_used() {
                self.flits.set_awaited::<M>(link, awaits);
            } else {
                let flags = &mut self.in_flight.edit_trusted::<M>(link).flags;
                flags.set(PortFlags::AWAITS_CREDIT, awaits);
            }
        }
    }

    /// Counts the due credits of `link`.
    #[inline(always)]
    pub(crate) fn count_credits<M: Uses>(&mut self, link: u32, now: Time) {
        if self.flits.are_used() {
            self.count_flit_credits::<M>(link, now);
        } else if self.in_flight.trusted::<M>(link).earliest <= now {
            self.count_due_credits::<M>(link, now);
        }
    }

    /// Whether [`count_credits`](Self::count_credits) has something to do.
    #[inline(always)]
    pub(crate) fn has_due_credits<M: Mode>(&self, link: u32, now: Time) -> bool {
        match self.flits.are_used() {
            true => self.flits.next_due::<M>(link) <= now,
            false => self.in_flight.trusted::<M>(link).earliest <= now,
        }
    }

    /// Counts the due credits of `link`; at least one is due.
    #[inline(never)]
    fn count_due_credits<M: Uses>(&mut self, link: u32, now: Time) {
        if self.ports.trusted::<M>(link).is_exhausted() {
            self.make_room::<M>(link, now);
        }
        let (first_vc, waiting) = (self.first_vc::<M>(link), self.ports.trusted::<M>(link).waiting);
        let mut flits = 0;
        let credits = self.in_flight.edit_trusted::<M>(link);
        let is_awaited = waiting > 0 || credits.flags.has(PortFlags::AWAITS_CREDIT);
        let mut earliest = Time::NEVER;
        let (len, mut kept) = (usize::from(credits.len), 0);
        for i in 0..len.min(CreditsInFlight::MOST) {
            let place = credits.places[i];
            if place.due <= now {
                flits += u32::from(place.flits);
                let at = first_vc + u32::from(place.vc);
                self.vcs.edit_trusted::<M>(at).used -= u32::from(place.flits);
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
        self.ports.edit_trusted::<M>(link).used -= flits;
    }

    /// Counts the due credits in the list of `link`, and returns their flits.
    fn count_listed_credits<M: Uses>(&mut self, link: u32, (first_vc, is_awaited): (u32, bool), now: Time) -> u32 {
        let mut at = self.in_flight.trusted::<M>(link).listed;
        let mut earliest = self.in_flight.trusted::<M>(link).earliest;
        let (mut kept, mut flits) = (NIL, 0);
        while at != NIL {
            let credit = *self.credits.trusted::<M>(at);
            if credit.due <= now {
                flits += u32::from(credit.flits);
                let vc = first_vc + u32::from(credit.vc);
                self.vcs.edit_trusted::<M>(vc).used -= u32::from(credit.flits);
                let tag = Tag::unpacked(credit.tag);
                let flits = u32::from(credit.flits);
                (self.observers).credit_arrives::<M>((vc, credit.owner), flits, credit.due, tag, is_awaited);
                self.credits.free::<M>(at);
            } else {
                earliest = earliest.min(credit.due);
                if credit.next != kept {
                    self.credits.edit_trusted::<M>(at).next = kept;
                }
                kept = at;
            }
            at = credit.next;
        }
        let credits = self.in_flight.edit_trusted::<M>(link);
        (credits.listed, credits.earliest) = (kept, earliest);
        flits
    }

    /// Calls `see` with the due time, virtual channel and flits of each credit in flight to `link`.
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

    /// Flits of `link` whose credits are due at `now` but not counted. Changes no state.
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

    /// Due time of the next credit of `link` after `now`, if one is in flight.
    pub(crate) fn earliest_credit<M: Mode>(&self, link: u32, now: Time) -> Option<Time> {
        if self.flits.are_used() {
            return self.flits.earliest(link, now);
        }
        let credits = self.in_flight.trusted::<M>(link);
        if credits.earliest > now {
            return Some(credits.earliest).filter(|&due| due != Time::NEVER);
        }
        let places = credits.places.iter().take(usize::from(credits.len));
        let mut earliest = places.map(|place| place.due).filter(|&due| due > now).min();
        let mut at = credits.listed;
        while at != NIL {
            let credit = self.credits.trusted::<M>(at);
            if credit.due > now && earliest.is_none_or(|due| credit.due < due) {
                earliest = Some(credit.due);
            }
            at = credit.next;
        }
        earliest
    }
}

impl Flow {
    /// Due time of the next credit after `now` for these channels of `link`, given as bits, if one is in flight.
    #[inline]
    pub(super) fn earliest_credit_of<M: Mode>(&self, link: u32, channels: u32, now: Time) -> Option<Time> {
        let mut earliest = Time::NEVER;
        let mut see = |vc: u8, due: Time| {
            if due > now && due < earliest && channels & 1 << vc != 0 {
                earliest = due;
            }
        };
        let credits = self.in_flight.trusted::<M>(link);
        for place in credits.places.iter().take(usize::from(credits.len)) {
            see(place.vc, place.due);
        }
        let mut at = credits.listed;
        while at != NIL {
            let credit = self.credits.trusted::<M>(at);
            see(credit.vc, credit.due);
            at = credit.next;
        }
        Some(earliest).filter(|&due| due != Time::NEVER)
    }
}

/// [`Flow::count_credits`] for the features of a handler, which hands it to code that is compiled once for all sets of features.
pub(crate) type CountCredits = fn(&mut Flow, u32, Time);

impl Flow {
    /// Counts the due credits of single flits of `link`.
    #[inline]
    pub(crate) fn count_flit_credits<M: Uses>(&mut self, link: u32, now: Time) {
        if self.flits.next_due::<M>(link) > now {
            return;
        }
        if self.ports.trusted::<M>(link).is_exhausted() {
            self.count_flit_credits_of_exhausted::<M>(link, now);
        } else {
            self.take_flit_credits::<M>(link, now, |_, _, _, _| {});
        }
    }

    /// The same for a router port with exhausted channels.
    #[inline(never)]
    fn count_flit_credits_of_exhausted<M: Uses>(&mut self, link: u32, now: Time) {
        let of = self.link::<M>(link);
        self.take_flit_credits::<M>(link, now, |exhaustion, vc, used, due| {
            exhaustion.has_room::<M>((link, &of), vc, of.capacity.saturating_sub(used), due);
        });
    }

    /// Counts the due credits of single flits of `link`, at least one. Calls `see` with the channel of each, the flits
    /// still in its buffer, and the due time.
    #[inline(always)]
    fn take_flit_credits<M: Uses>(
        &mut self,
        link: u32,
        now: Time,
        mut see: impl FnMut(&mut Exhaustion, u8, u32, Time),
    ) {
        let first_vc = self.first_vc::<M>(link);
        let mut count = 0;
        let (vcs, observers, exhaustion) = (&mut self.vcs, &mut self.observers, &mut self.exhaustion);
        self.flits.take_due::<M>(link, now, |vc, owner, due| {
            let at = first_vc + u32::from(vc);
            let cell = vcs.edit_trusted::<M>(at);
            cell.used -= 1;
            count += 1;
            see(exhaustion, vc, cell.used, due);
            observers.credit_arrives::<M>((at, owner), 1, due, Tag::NONE, true);
        });
        self.ports.edit_trusted::<M>(link).used -= count;
    }

    /// Counts the due credits of single flits of `link` if the first was due by `overdue`. Counting them one by one
    /// would cost more than the flits themselves.
    #[inline(always)]
    pub(crate) fn count_overdue_flits<M: Uses>(&mut self, link: u32, overdue: Time, now: Time) {
        if self.flits.next_due::<M>(link) <= overdue {
            self.count_flit_credits::<M>(link, now);
        }
    }

    /// A flit departs on virtual channel `at` of `link`, at `ready` or when the link is free. Returns its departure
    /// time, and since when packets have lacked a buffer ([`Time::NEVER`]: none has).
    #[inline(always)]
    pub(crate) fn send_flit<M: Uses>(&mut self, link: u32, at: u32, ready: Time, flit: Time) -> (Time, Time) {
        self.vcs.edit_trusted::<M>(at).used += 1;
        let sender = self.ports.edit_trusted::<M>(link);
        sender.used += 1;
        let departure = ready.max(sender.free_at);
        sender.free_at = departure + flit;
        (departure, std::mem::replace(&mut sender.stalled_since, Time::NEVER))
    }

    /// Returns the space of a flit of `owner` in virtual channel `vc` of `link` at `due`. Returns whether the sender gets
    /// an event for it.
    #[inline(always)]
    pub(crate) fn return_flit_credit<M: Uses>(
        &mut self,
        link: u32,
        (vc, owner): (u8, Traffic),
        tag: Tag,
        due: Time,
    ) -> bool {
        self.flits.put::<M>(link, (vc, owner), due);
        let (links, observers) = (&self.links, &mut self.observers);
        let channel = || links.first_vc::<M>(link) + u32::from(vc);
        observers.flit_credit_departs::<M>(channel, owner, due, tag);
        self.flits.are_awaited::<M>(link)
    }

    /// Due time of the next credit of a single flit of `link` after `now`; counts those that are due.
    pub(crate) fn next_flit_credit<M: Uses>(&mut self, link: u32, now: Time) -> Option<Time> {
        self.count_flit_credits::<M>(link, now);
        Some(self.flits.next_due::<M>(link)).filter(|&due| due != Time::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_credits_of_a_channel_and_owner_become_one_and_others_stay() {
        let mut credits = CreditsInFlight::none(0);
        // Due time, flits, owner, channel.
        let all = [
            (5, 1, 0, 2),
            (9, 4, 0, 2),
            (3, 2, 1, 2),
            (7, 8, 0, 2),
            (6, 16, 0, 1),
            (2, 32, 1, 2),
        ];
        for (place, (due, flits, owner, vc)) in credits.places.iter_mut().zip(all) {
            *place = Place {
                due: Time(due),
                flits,
                owner,
                vc,
                tag: PackedTag::default(),
            };
        }
        credits.len = 6;
        credits.merge_due(Time(7));
        let left = &credits.places[..usize::from(credits.len)];
        let left: Vec<_> = (left.iter())
            .map(|place| (place.due.0, place.flits, place.owner, place.vc))
            .collect();
        assert_eq!(left, [(7, 9, 0, 2), (9, 4, 0, 2), (3, 34, 1, 2), (6, 16, 0, 1)]);
    }

    #[test]
    fn credits_whose_sum_has_no_room_stay_apart() {
        let mut credits = CreditsInFlight::none(0);
        for place in &mut credits.places[..2] {
            (place.due, place.flits) = (Time(1), u16::MAX);
        }
        credits.len = 2;
        credits.merge_due(Time(1));
        assert_eq!(credits.len, 2);
    }
}
