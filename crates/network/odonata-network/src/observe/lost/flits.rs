//! Losses of single flits in pipelined routers, where the flits of a packet wait one by one, in several routers at
//! once.
//!
//! A *front* is where flits wait one by one: an input virtual channel or a NIC. It holds the losses of its next flit.
//! The losses of a head flit come from its packet and return to it; a body flit carries its own in a queue to the next
//! front. A flit can start once it has arrived (`came`) and the flit before it has left (`after`):
//!
//! ```text
//! t = max(came, after)      u = max(came without waits, after - |v before|)      v: of the later one, cut down to t - u
//! ```
//!
//! So a delay of the head passes on to the tail, which completes the packet, unless the tail would have been late
//! anyway. A delay of two flits of a packet in two routers at the same time counts once.
//!
//! A wait for flits of its own traffic inherits from the last of these, whichever front it has passed. The result must
//! not depend on how often a router evaluates such a wait, because of rounding: its spans are merged until a different
//! wait follows.

use super::LostTime;
use super::account::{Lost, Waiter};
use super::remote::flit_name;
use super::uses::LastUse;
use super::wait::{Own, Wait};
use crate::boundary::RemoteLoss;
use crate::message::Traffic;
use odonata_blame::Cause;
use odonata_blame::lost::{Vector, scale};
use odonata_engine::{List, Mode, NIL, Pool, Store, Time};

/// The state of the next flit at a front.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[repr(align(64))]
struct Front {
    /// Its losses; before it arrives, those of the flit before it.
    lost: Lost,
    /// A wait for its own traffic that `lost` does not include yet, unless it is empty.
    since: Time,
    until: Time,
    /// When the flit before it lets it start.
    after: Time,
    /// Body flits that have arrived or are in flight, of all packets.
    line: List,
    cause: Cause,
}

const _: () = assert!(size_of::<Front>() == 64);

impl Front {
    const EMPTY: Front = Front {
        lost: Lost::NOTHING,
        since: Time::ZERO,
        until: Time::ZERO,
        after: Time::ZERO,
        line: List::EMPTY,
        cause: 0,
    };
}

/// A body flit and its arrival time.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct BodyFlit {
    came: Time,
    lost: Lost,
    next: u32,
    /// Whether it comes from another part, so that the losses to its own traffic are not separated yet.
    mixed: bool,
}

odonata_engine::slots!(BodyFlit);

/// Flits at all fronts and in flight to them.
#[derive(Debug)]
pub(super) struct Flits {
    fronts: Store<Front>,
    body: Pool<BodyFlit>,
}
odonata_engine::journalled!(Flits { fronts, body });

impl Flits {
    pub(super) fn new(fronts: usize) -> Flits {
        Flits {
            fronts: Store::filled(fronts, Front::EMPTY),
            body: Pool::new(),
        }
    }
}

/// A completed wait for its own traffic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnWait {
    pub(crate) since: Time,
    pub(crate) until: Time,
    pub(crate) cause: Cause,
}

impl LostTime {
    /// The head of `packet` of `owner` is next at `front`.
    pub(crate) fn head_to_front<M: Mode>(&mut self, front: u32, packet: u32, owner: Traffic) {
        let waiter = Waiter::Packet(packet);
        self.put_together::<M>(waiter, owner);
        let lost = self.accounts.get(waiter).lost;
        if lost != Lost::NOTHING {
            self.accounts.edit::<M>(waiter).lost = Lost::NOTHING;
            self.flits.fronts.edit::<M>(front).lost = lost;
        }
    }

    /// Takes the losses of the flit at `front`; with `leaves`, the front gives them up.
    fn of_front<M: Mode>(&mut self, front: u32, leaves: bool) -> Lost {
        let lost = self.flits.fronts.get(front).lost;
        if lost == Lost::NOTHING {
            return lost;
        }
        match leaves {
            true => self.flits.fronts.edit::<M>(front).lost = Lost::NOTHING,
            false => _ = self.losses.share::<M>(lost),
        }
        lost
    }

    /// The flit at `front` departs as the head of `packet`, or completes it. With `ends`, it is the last flit of its
    /// packet there.
    pub(crate) fn front_to_packet<M: Mode>(&mut self, front: u32, packet: u32, ends: bool) {
        let lost = self.of_front::<M>(front, ends);
        if lost != Lost::NOTHING {
            self.replace::<M>(Waiter::Packet(packet), lost);
        }
    }

    /// The body flit at `front` departs for front `to`, where it arrives at `came`; `ends` as above.
    pub(crate) fn body_goes<M: Mode>(&mut self, (front, ends): (u32, bool), to: u32, came: Time) {
        let lost = self.of_front::<M>(front, ends);
        self.push_body::<M>(to, came, (lost, false));
    }

    fn push_body<M: Mode>(&mut self, to: u32, came: Time, (lost, mixed): (Lost, bool)) {
        let flit = self.flits.body.allocate::<M>(BodyFlit {
            came,
            lost,
            next: NIL,
            mixed,
        });
        let mut line = self.flits.fronts.get(to).line;
        line.push::<M, _>(&mut self.flits.body, flit);
        self.flits.fronts.edit::<M>(to).line = line;
    }

    /// The same for buffer `buffer` of another part, by its number in the machine. Returns the losses to send ahead.
    pub(crate) fn export_body<M: Mode>(
        &mut self,
        (front, ends): (u32, bool),
        owner: Traffic,
        buffer: u32,
        came: Time,
    ) -> Vec<RemoteLoss> {
        let lost = self.of_front::<M>(front, ends);
        let losses_there = self.to_remote(lost, owner, flit_name(buffer, came));
        self.losses.release::<M>(lost);
        losses_there
    }

    /// A body flit from another part arrives at front `to`, an input buffer.
    pub(crate) fn body_arrives<M: Mode>(&mut self, to: u32, came: Time) {
        let losses_there = self.take_incoming::<M>(flit_name(to, came));
        let lost = Lost {
            losses_to_others: self.losses.vectors.keep::<M>(losses_there.origin, &losses_there.losses),
            ..Lost::NOTHING
        };
        self.push_body::<M>(to, came, (lost, lost != Lost::NOTHING));
    }

    /// Separates the losses of body flit `flit` to its own traffic, `owner`.
    fn sort_out<M: Mode>(&mut self, flit: u32, owner: Traffic) -> BodyFlit {
        let of = *self.flits.body.get(flit);
        if !of.mixed {
            return of;
        }
        let (all, mut losses) = (of.lost.losses_to_others, std::mem::take(&mut self.scratch.losses));
        self.losses.vectors.read(all, &mut losses);
        let lost = self.losses.keep::<M>(owner, self.losses.vectors.origin(all), &losses);
        self.scratch.losses = losses;
        self.losses.vectors.release::<M>(all);
        let cell = self.flits.body.edit::<M>(flit);
        (cell.lost, cell.mixed) = (lost, false);
        *cell
    }

    /// The next flit at `front` may start at `after`, when the flit before it has left.
    pub(crate) fn next_after<M: Mode>(&mut self, front: u32, after: Time) {
        self.flits.fronts.edit::<M>(front).after = after;
    }

    /// The next flit at `front`, of `owner`, has arrived. `start` maps an arrival time to the earliest start.
    pub(crate) fn body_to_front<M: Mode>(&mut self, front: u32, owner: Traffic, start: impl Fn(Time) -> Time) {
        let Front {
            lost: before,
            after,
            mut line,
            ..
        } = *self.flits.fronts.get(front);
        let flit = line.head;
        line.pop(&self.flits.body);
        let BodyFlit { came, lost, .. } = self.sort_out::<M>(flit, owner);
        self.flits.body.free::<M>(flit);
        let lost = self.needs_both::<M>(owner, (after, before), (came, lost), start);
        let cell = self.flits.fronts.edit::<M>(front);
        (cell.lost, cell.line) = (lost, line);
    }

    /// The whole packet at `front`, with this many flits and of `owner`, has arrived; its head needs its last flit.
    pub(crate) fn whole_to_front<M: Mode>(
        &mut self,
        (front, flits): (u32, u16),
        owner: Traffic,
        begins: Time,
        start: impl Fn(Time) -> Time,
    ) {
        let Front { lost: before, line, .. } = *self.flits.fronts.get(front);
        let mut at = line.head;
        for _ in 2..flits {
            at = self.flits.body.get(at).next;
        }
        let BodyFlit { came, lost, .. } = self.sort_out::<M>(at, owner);
        self.losses.share::<M>(lost);
        let lost = self.needs_both::<M>(owner, (begins, before), (came, lost), start);
        self.flits.fronts.edit::<M>(front).lost = lost;
    }

    /// The losses of a flit of `owner` that needs two things: the flit before it, with losses `before`, which lets it
    /// start at `after`; and its own arrival at `came`, with its own losses.
    fn needs_both<M: Mode>(
        &mut self,
        owner: Traffic,
        (after, before): (Time, Lost),
        (came, lost): (Time, Lost),
        start: impl Fn(Time) -> Time,
    ) -> Lost {
        if before == Lost::NOTHING && lost == Lost::NOTHING {
            return lost;
        }
        let (of_before, of_itself) = (self.losses.total(before), self.losses.total(lost));
        let could = start(came);
        let undisturbed = start(came.saturating_sub(of_itself)).max(after.saturating_sub(of_before));
        let itself = could > after || (could == after && of_itself < of_before);
        let (last, other) = if itself { (lost, before) } else { (before, lost) };
        self.losses.release::<M>(other);
        self.cut_down::<M>(owner, last, could.max(after).saturating_sub(undisturbed))
    }

    /// Reduces the losses of `packet` of `owner`, whose head arrives at `came`, to the delay that they cause here.
    /// `start` maps an arrival time to the earliest start.
    pub(crate) fn head_comes<M: Mode>(
        &mut self,
        packet: u32,
        owner: Traffic,
        came: Time,
        start: impl Fn(Time) -> Time,
    ) {
        let waiter = Waiter::Packet(packet);
        self.put_together::<M>(waiter, owner);
        let lost = self.accounts.get(waiter).lost;
        if lost != Lost::NOTHING {
            let most = start(came) - start(came.saturating_sub(self.losses.total(lost)));
            let lost = self.cut_down::<M>(owner, lost, most);
            self.accounts.edit::<M>(waiter).lost = lost;
        }
    }

    fn cut_down<M: Mode>(&mut self, owner: Traffic, lost: Lost, most: Time) -> Lost {
        if self.losses.total(lost) <= most {
            return lost;
        }
        let mut losses = std::mem::take(&mut self.scratch.losses);
        self.losses.read(lost, owner, &mut losses);
        scale(&mut losses, most);
        let cut = self
            .losses
            .keep::<M>(owner, self.losses.vectors.origin(lost.own), &losses);
        self.scratch.losses = losses;
        self.losses.release::<M>(lost);
        cut
    }

    /// The flit at `front`, of `owner`, has waited at `line` during `span` for `by`. If that is its own traffic, `own`
    /// gives the losses to others of the flit that held the resource, if known.
    pub(crate) fn flit_waits<M: Mode>(
        &mut self,
        (front, line): (u32, u32),
        owner: Traffic,
        (since, now): (Time, Time),
        by: (Traffic, Cause),
        own: Option<Vector>,
    ) {
        if now <= since {
            return;
        }
        let own = own.map(|losses_to_others| Own {
            at: now,
            losses_to_others,
        });
        let wait = Wait { owner, since, now, own };
        let before = self.flits.fronts.get(front).lost;
        let lost = self.lose_span::<M>(line, before, &wait, by);
        self.flits.fronts.edit::<M>(front).lost = lost;
    }

    /// The flit at `front` has waited during `span` for its own traffic. Returns the previous wait, if it was a
    /// different one.
    pub(crate) fn waits_for_own<M: Mode>(
        &mut self,
        front: u32,
        (since, until): (Time, Time),
        cause: Cause,
    ) -> Option<OwnWait> {
        let cell = self.flits.fronts.edit::<M>(front);
        if (cell.until, cell.cause) == (since, cause) && cell.since < cell.until {
            cell.until = until;
            return None;
        }
        let before = Self::own_wait(cell);
        (cell.since, cell.until, cell.cause) = (since, until, cause);
        before
    }

    fn own_wait(front: &Front) -> Option<OwnWait> {
        let &Front {
            since, until, cause, ..
        } = front;
        (since < until).then_some(OwnWait { since, until, cause })
    }

    /// Ends and returns the wait of the flit at `front` for its own traffic.
    #[inline]
    pub(crate) fn end_own_wait<M: Mode>(&mut self, front: u32) -> Option<OwnWait> {
        let wait = Self::own_wait(self.flits.fronts.get(front))?;
        self.flits.fronts.edit::<M>(front).until = wait.since;
        Some(wait)
    }

    /// The losses to others of the flit at `front`, with one more user.
    pub(crate) fn share_of_front<M: Mode>(&mut self, front: u32) -> Vector {
        let losses_to_others = self.flits.fronts.get(front).lost.losses_to_others;
        self.losses.vectors.share::<M>(losses_to_others)
    }

    /// The flit at `front`, of `owner`, holds link `line` until `until`. Every use is recorded, because the flits that
    /// wait for a link are not known in advance.
    pub(crate) fn flit_takes_link<M: Mode>(&mut self, line: u32, front: u32, owner: Traffic, until: Time) {
        let losses_to_others = self.flits.fronts.get(front).lost.losses_to_others;
        self.links.took::<M>(
            &mut self.losses.vectors,
            line,
            owner,
            (Time::ZERO, until),
            losses_to_others,
        );
    }

    /// A flit of `owner` with the losses `losses_to_others` was ahead at `line` until `until`, while others wait.
    pub(crate) fn was_in_front<M: Mode>(&mut self, line: u32, owner: Traffic, until: Time, losses_to_others: Vector) {
        self.links.took::<M>(
            &mut self.losses.vectors,
            line,
            owner,
            (Time::ZERO, until),
            losses_to_others,
        );
    }

    /// The losses to others of the last flit of `owner` on `line`, if it held the line after `since`.
    pub(crate) fn last_own(&self, line: u32, owner: Traffic, since: Time) -> Option<Vector> {
        let LastUse {
            until,
            losses_to_others,
            ..
        } = self.links.last_of(line, owner)?;
        (until > since).then_some(losses_to_others)
    }

    /// Message `message` of `owner` is sent flit by flit at the NIC with front `front`: its next flits inherit its
    /// losses.
    pub(crate) fn message_to_front<M: Mode>(&mut self, front: u32, message: u32) {
        let lost = self.accounts.get(Waiter::Message(message)).lost;
        if lost != Lost::NOTHING {
            self.losses.share::<M>(lost);
            self.flits.fronts.edit::<M>(front).lost = lost;
        }
    }

    /// `message` inherits the losses of the last flit of a packet at the NIC with front `front`; its next packet
    /// follows that flit.
    pub(crate) fn front_to_message<M: Mode>(&mut self, front: u32, message: u32) {
        let lost = self.of_front::<M>(front, false);
        if lost != self.accounts.get(Waiter::Message(message)).lost {
            self.replace::<M>(Waiter::Message(message), lost);
        } else {
            self.losses.release::<M>(lost);
        }
    }

    /// The flit at `front`, a NIC's, takes link `line`.
    pub(crate) fn front_takes_link<M: Mode>(&mut self, line: u32, front: u32, owner: Traffic, until: Time) {
        let losses_to_others = self.flits.fronts.get(front).lost.losses_to_others;
        self.take_link_having::<M>(line, (losses_to_others, owner), (Time::ZERO, until));
    }
}
