//! Credits in flight: how they return, and when they are counted.
//!
//! Credits of packets have fixed places beside each other ([`packet_credits`](super::packet_credits)), credits of single
//! flits a queue ([`FlitCredits`](super::FlitCredits)).

use super::Flow;
use super::exhaustion::Exhaustion;
use super::packet_credits::Place;
use super::port::PortFlags;
use crate::features::{HandlerContext, Uses};
use crate::message::Traffic;
use crate::observe::{Observer, Observers, Tag};
use odonata_engine::{Mode, Time};

/// Buffer space to give back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    pub(crate) flits: u16,
    /// The owner of the packet that held the space.
    pub(crate) owner: Traffic,
    pub(crate) tag: Tag,
}

impl Flow {
    /// Returns `space` of virtual channel `vc` to the sender of `link` at `due`. Not with pipelined routers, see
    /// [`flits`](Self::flits).
    #[inline(always)]
    pub(crate) fn return_credit<C: HandlerContext>(&mut self, ctx: &mut C, link: u32, vc: u8, space: Space, due: Time) {
        let Space { flits, owner, tag } = space;
        if self.packet_credits.is_full::<C>(link) {
            self.make_place::<C>(link, ctx.handled_before());
        }
        let (links, observers) = (&self.links, &mut self.observers);
        let channel = || links.first_vc::<C>(link) + u32::from(vc);
        let tag = observers.credit_departs::<C>(channel, owner, due, tag);
        let credit = Place {
            due,
            flits,
            owner,
            vc,
            tag,
        };
        self.packet_credits.put::<C>(link, credit);
        if self.packet_credits.flags::<C>(link).has(PortFlags::AWAITS_CREDIT)
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
        let credits = &mut self.packet_credits;
        let is_exhausted = credits.flags::<M>(link).has(PortFlags::EXHAUSTED);
        if credits.next_due::<M>(link) > before || is_exhausted || self.observers.follow_credits::<M>() {
            return;
        }
        if !M::EXTRAS && self.counts_early {
            self.count_due_credits::<M>(link, before);
        } else {
            credits.merge_due::<M>(link, before);
        }
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
                (self.packet_credits).set_flag::<M>(link, PortFlags::AWAITS_CREDIT, awaits);
            }
        }
    }

    /// Counts the due credits of `link`.
    #[inline(always)]
    pub(crate) fn count_credits<M: Uses>(&mut self, link: u32, now: Time) {
        if self.flits.are_used() {
            self.count_flit_credits::<M>(link, now);
        } else if self.packet_credits.next_due::<M>(link) <= now {
            self.count_due_credits::<M>(link, now);
        }
    }

    /// Whether [`count_credits`](Self::count_credits) has something to do.
    #[inline(always)]
    pub(crate) fn has_due_credits<M: Mode>(&self, link: u32, now: Time) -> bool {
        match self.flits.are_used() {
            true => self.flits.next_due::<M>(link) <= now,
            false => self.packet_credits.next_due::<M>(link) <= now,
        }
    }

    /// Counts the due credits of `link`; at least one is due.
    #[inline(never)]
    fn count_due_credits<M: Uses>(&mut self, link: u32, now: Time) {
        if self.ports.trusted::<M>(link).is_exhausted() {
            self.make_room::<M>(link, now);
        }
        let (first_vc, waiting) = (self.first_vc::<M>(link), self.ports.trusted::<M>(link).waiting);
        let is_awaited = waiting > 0 || self.packet_credits.flags::<M>(link).has(PortFlags::AWAITS_CREDIT);
        let mut total = 0;
        let (vcs, observers) = (&mut self.vcs, &mut self.observers);
        self.packet_credits.take_due::<M>(link, now, |credit| {
            let (at, flits) = (first_vc + u32::from(credit.vc), u32::from(credit.flits));
            total += flits;
            vcs.edit_trusted::<M>(at).used -= flits;
            let tag = Tag::unpacked(credit.tag);
            observers.credit_arrives::<M>((at, credit.owner), flits, credit.due, tag, is_awaited);
        });
        self.ports.edit_trusted::<M>(link).used -= total;
    }

    /// Calls `see` with the due time, virtual channel and flits of each credit in flight to `link`.
    pub(crate) fn each_credit(&self, link: u32, mut see: impl FnMut(Time, u8, u16)) {
        if self.flits.are_used() {
            return self.flits.each(link, |vc, due| see(due, vc, 1));
        }
        self.packet_credits.each(link, see);
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
        self.packet_credits.earliest::<M>(link, now)
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
            self.take_flit_credits::<M>(link, now, |_, _, _, _, _| {});
        }
    }

    /// The same for a router port with exhausted channels.
    #[inline(never)]
    fn count_flit_credits_of_exhausted<M: Uses>(&mut self, link: u32, now: Time) {
        let of = self.link::<M>(link);
        self.take_flit_credits::<M>(link, now, |exhaustion, observers, vc, used, due| {
            let free = of.capacity.saturating_sub(used);
            if let Some(lacking) = exhaustion.has_room::<M>(link, vc, free) {
                observers.channel_has_room::<M>((link, of.class, of.vcs), lacking, due);
            }
        });
    }

    /// Counts the due credits of single flits of `link`, at least one. Calls `see` with the channel of each, the flits
    /// still in its buffer, and the due time, before the observers hear of it.
    #[inline(always)]
    fn take_flit_credits<M: Uses>(
        &mut self,
        link: u32,
        now: Time,
        mut see: impl FnMut(&mut Exhaustion, &mut Observers, u8, u32, Time),
    ) {
        let first_vc = self.first_vc::<M>(link);
        let mut count = 0;
        let (vcs, observers, exhaustion) = (&mut self.vcs, &mut self.observers, &mut self.exhaustion);
        self.flits.take_due::<M>(link, now, |vc, owner, due| {
            let at = first_vc + u32::from(vc);
            let cell = vcs.edit_trusted::<M>(at);
            cell.used -= 1;
            count += 1;
            see(exhaustion, observers, vc, cell.used, due);
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
