//! Credits of packets in flight, in fixed places beside each other.

use super::port::PortFlags;
use crate::message::Traffic;
use crate::observe::PackedTag;
use odonata_engine::{Mode, NIL, Pool, Slot, Store, Time};

/// A credit that has found no place.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Credit {
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
struct CreditsInFlight {
    /// Due time of the earliest credit, those of the list included; [`Time::NEVER`] if none is in flight. Due credits that
    /// have been merged leave it as it was.
    earliest: Time,
    /// The credits that have no place.
    listed: u32,
    len: u8,
    /// A copy of the flags of the port.
    flags: PortFlags,
    /// The number of the link's credit delay.
    delay: u16,
    places: [Place; CreditsInFlight::MOST],
}

const _: () = assert!(size_of::<CreditsInFlight>() == 128);

/// A credit in flight: flits of a buffer that become free at `due`.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Place {
    pub(super) due: Time,
    pub(super) flits: u16,
    /// The owner of the packet that held the space.
    pub(super) owner: Traffic,
    pub(super) vc: u8,
    pub(super) tag: PackedTag,
}

impl CreditsInFlight {
    const MOST: usize = 7;

    /// No credits, on a link whose credit delay has this number.
    fn none(delay: u16) -> CreditsInFlight {
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

/// The credits of packets in flight to all ports.
#[derive(Debug)]
pub(super) struct PacketCredits {
    in_flight: Store<CreditsInFlight>,
    /// Credits that do not fit into the fixed places of their port.
    listed: Pool<Credit>,
}
odonata_engine::journalled!(PacketCredits { in_flight, listed });

impl PacketCredits {
    /// No credits, on links whose credit delays have these numbers.
    pub(super) fn new(delays: impl Iterator<Item = u16>) -> PacketCredits {
        PacketCredits {
            in_flight: Store::from_vec(delays.map(CreditsInFlight::none).collect()),
            listed: Pool::new(),
        }
    }

    /// Bytes per link.
    pub(super) const BYTES_PER_LINK: usize = size_of::<CreditsInFlight>();

    #[inline(always)]
    pub(super) fn prefetch(&self, link: u32) {
        self.in_flight.prefetch(link);
    }

    /// The number of the credit delay of `link`.
    #[inline(always)]
    pub(super) fn delay<M: Mode>(&self, link: u32) -> u16 {
        self.in_flight.trusted::<M>(link).delay
    }

    /// The copy of the flags of the port of `link`.
    #[inline(always)]
    pub(super) fn flags<M: Mode>(&self, link: u32) -> PortFlags {
        self.in_flight.trusted::<M>(link).flags
    }

    /// Sets `flag` in the copy of the flags of the port of `link`.
    #[inline(always)]
    pub(super) fn set_flag<M: Mode>(&mut self, link: u32, flag: u8, is_set: bool) {
        self.in_flight.edit_trusted::<M>(link).flags.set(flag, is_set);
    }

    /// Due time of the earliest credit of `link`, or earlier if due ones have been merged; [`Time::NEVER`] if none is in flight.
    #[inline(always)]
    pub(super) fn next_due<M: Mode>(&self, link: u32) -> Time {
        self.in_flight.trusted::<M>(link).earliest
    }

    /// Whether all places of `link` are taken.
    #[inline(always)]
    pub(super) fn is_full<M: Mode>(&self, link: u32) -> bool {
        usize::from(self.in_flight.trusted::<M>(link).len) == CreditsInFlight::MOST
    }

    /// Merges the credits of `link` due by `before` that are of the same channel and owner.
    pub(super) fn merge_due<M: Mode>(&mut self, link: u32, before: Time) {
        self.in_flight.edit_trusted::<M>(link).merge_due(before);
    }

    /// Adds a credit of `link`.
    #[inline(always)]
    pub(super) fn put<M: Mode>(&mut self, link: u32, credit: Place) {
        let credits = self.in_flight.edit_trusted::<M>(link);
        credits.earliest = credits.earliest.min(credit.due);
        match credits.places.get_mut(usize::from(credits.len)) {
            Some(place) => {
                *place = credit;
                credits.len += 1;
            }
            None => self.list::<M>(link, credit),
        }
    }

    /// Adds a credit to the list because all places are taken.
    #[inline(never)]
    fn list<M: Mode>(&mut self, link: u32, credit: Place) {
        let Place {
            due,
            flits,
            owner,
            vc,
            tag,
        } = credit;
        let next = self.in_flight.trusted::<M>(link).listed;
        let slot = self.listed.allocate::<M>(Credit {
            due,
            flits,
            owner,
            vc,
            next,
            tag,
        });
        self.in_flight.edit_trusted::<M>(link).listed = slot;
    }

    /// Removes the credits of `link` due at `now`, and calls `count` with each.
    #[inline(always)]
    pub(super) fn take_due<M: Mode>(&mut self, link: u32, now: Time, mut count: impl FnMut(&Place)) {
        let credits = self.in_flight.edit_trusted::<M>(link);
        let mut earliest = Time::NEVER;
        let (len, mut kept) = (usize::from(credits.len), 0);
        for i in 0..len.min(CreditsInFlight::MOST) {
            let place = credits.places[i];
            if place.due <= now {
                count(&place);
            } else {
                earliest = earliest.min(place.due);
                credits.places[kept] = place;
                kept += 1;
            }
        }
        (credits.len, credits.earliest) = (kept as u8, earliest);
        if credits.listed != NIL {
            self.take_due_listed::<M>(link, now, count);
        }
    }

    /// The same for the credits in the list.
    #[inline(never)]
    fn take_due_listed<M: Mode>(&mut self, link: u32, now: Time, mut count: impl FnMut(&Place)) {
        let mut at = self.in_flight.trusted::<M>(link).listed;
        let mut earliest = self.in_flight.trusted::<M>(link).earliest;
        let mut kept = NIL;
        while at != NIL {
            let credit = *self.listed.trusted::<M>(at);
            if credit.due <= now {
                count(&credit.place());
                self.listed.free::<M>(at);
            } else {
                earliest = earliest.min(credit.due);
                if credit.next != kept {
                    self.listed.edit_trusted::<M>(at).next = kept;
                }
                kept = at;
            }
            at = credit.next;
        }
        let credits = self.in_flight.edit_trusted::<M>(link);
        (credits.listed, credits.earliest) = (kept, earliest);
    }

    /// Calls `see` with the due time, virtual channel and flits of each credit of `link`.
    #[inline]
    pub(super) fn each(&self, link: u32, mut see: impl FnMut(Time, u8, u16)) {
        let credits = self.in_flight.get(link);
        for place in credits.places.iter().take(usize::from(credits.len)) {
            see(place.due, place.vc, place.flits);
        }
        let mut at = credits.listed;
        while at != NIL {
            let credit = self.listed.get(at);
            see(credit.due, credit.vc, credit.flits);
            at = credit.next;
        }
    }

    /// Due time of the first credit of `link` after `now`.
    #[inline]
    pub(super) fn earliest<M: Mode>(&self, link: u32, now: Time) -> Option<Time> {
        let first = self.next_due::<M>(link);
        if first > now {
            return Some(first).filter(|&due| due != Time::NEVER);
        }
        let credits = self.in_flight.trusted::<M>(link);
        let places = credits.places.iter().take(usize::from(credits.len));
        let mut earliest = places.map(|place| place.due).filter(|&due| due > now).min();
        let mut at = credits.listed;
        while at != NIL {
            let credit = self.listed.trusted::<M>(at);
            if credit.due > now && earliest.is_none_or(|due| credit.due < due) {
                earliest = Some(credit.due);
            }
            at = credit.next;
        }
        earliest
    }

    /// The same for these channels, given as bits.
    #[inline]
    pub(super) fn earliest_of<M: Mode>(&self, link: u32, channels: u32, now: Time) -> Option<Time> {
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
            let credit = self.listed.trusted::<M>(at);
            see(credit.vc, credit.due);
            at = credit.next;
        }
        Some(earliest).filter(|&due| due != Time::NEVER)
    }
}

impl Credit {
    fn place(&self) -> Place {
        Place {
            due: self.due,
            flits: self.flits,
            owner: self.owner,
            vc: self.vc,
            tag: self.tag,
        }
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
