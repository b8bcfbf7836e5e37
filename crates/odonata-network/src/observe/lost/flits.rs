//! What single flits have lost, where routers are pipelined: there flits of a packet wait one by one, in several routers at once.
//!
//! A *front* is where flits wait one by one: an input virtual channel, or a NIC. What the next flit there has lost lies there;
//! that of a head comes from its packet and goes back to it, that of a body flit is in a line on its way to the next front. The next
//! flit of a packet needs two things, itself and that the flit before it has gone:
//!
//! ```text
//! t = max(came, after)      u = max(came without waits, after - |v before|)      v: of what came last, cut down to t - u
//! ```
//!
//! So what holds up a head is passed on to its tail, which completes the packet, as far as the tail would not have been late anyway;
//! and what holds up two flits of a packet at a time, in two routers, is lost once.
//!
//! A wait for flits of the own traffic is a join with the last of these, whichever front it has passed. How often a
//! router looks at such a wait must not matter, as rounding would tell: its spans are put together until something else comes.

use super::remote::flit_name;
use super::wait::{Own, Wait};
use super::{LastOf, Lost, LostTime, Waiter};
use crate::boundary::RemoteLoss;
use crate::message::Traffic;
use odonata_blame::Cause;
use odonata_blame::lost::{Vector, scale};
use odonata_engine::{List, Mode, NIL, Pool, Store, Time};

/// What is known of the next flit at a front.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[repr(align(64))]
struct Front {
    /// What it has lost; while it has not come, what the one before it had.
    lost: Lost,
    /// A wait for its own traffic that is not in there yet, if it is not empty.
    since: Time,
    until: Time,
    /// When the flit before it lets it start.
    after: Time,
    /// Body flits that have come or are on their way, those of all packets.
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

/// A body flit, and when it comes or has come.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct BodyFlit {
    came: Time,
    lost: Lost,
    next: u32,
    /// It has come from another part, and what its own traffic has cost it is not told apart yet.
    mixed: bool,
}

odonata_engine::slots!(BodyFlit);

/// Flits at all fronts and on their way there.
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

    pub(super) fn memory(&self) -> usize {
        self.fronts.memory() + self.body.memory()
    }

    /// Whether routers send single flits.
    pub(super) fn are_told_apart(&self) -> bool {
        !self.fronts.is_empty()
    }
}

/// A wait for the own traffic that is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnWait {
    pub(crate) since: Time,
    pub(crate) until: Time,
    pub(crate) cause: Cause,
}

impl LostTime {
    /// The head of `packet` of `owner` is next at `front`.
    pub(crate) fn head_to_front<M: Mode>(&mut self, front: u32, packet: u32, owner: Traffic) {
        let who = Waiter::Packet(packet);
        self.put_together::<M>(who, owner);
        let lost = self.account(who).lost;
        if lost != Lost::NOTHING {
            self.edit_account::<M>(who).lost = Lost::NOTHING;
            self.flits.fronts.edit::<M>(front).lost = lost;
        }
    }

    /// What the flit at `front` has, which is not next there any more if it `leaves`.
    fn of_front<M: Mode>(&mut self, front: u32, leaves: bool) -> Lost {
        let lost = self.flits.fronts.get(front).lost;
        if lost == Lost::NOTHING {
            return lost;
        }
        match leaves {
            true => self.flits.fronts.edit::<M>(front).lost = Lost::NOTHING,
            false => _ = self.share_lost::<M>(lost),
        }
        lost
    }

    /// The flit at `front` goes as the head of `packet`, or completes it, and is the last one there of its packet if it `ends` that.
    pub(crate) fn front_to_packet<M: Mode>(&mut self, front: u32, packet: u32, ends: bool) {
        let lost = self.of_front::<M>(front, ends);
        if lost != Lost::NOTHING {
            self.replace::<M>(Waiter::Packet(packet), lost);
        }
    }

    /// The flit at `front`, a body flit, goes to front `to`, where it comes at `came`; `ends` as above.
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

    /// The same to buffer `buffer` of another part, by its number in the machine: what goes there ahead of it.
    pub(crate) fn export_body<M: Mode>(
        &mut self,
        (front, ends): (u32, bool),
        owner: Traffic,
        buffer: u32,
        came: Time,
    ) -> Vec<RemoteLoss> {
        let lost = self.of_front::<M>(front, ends);
        let told = self.tell(lost, owner, flit_name(buffer, came));
        self.release::<M>(lost);
        told
    }

    /// A body flit from another part comes to front `to`, an input buffer.
    pub(crate) fn body_arrives<M: Mode>(&mut self, to: u32, came: Time) {
        let told = self.take_told::<M>(flit_name(to, came));
        let lost = Lost {
            to_others: self.vectors.keep::<M>(told.origin, &told.losses),
            ..Lost::NOTHING
        };
        self.push_body::<M>(to, came, (lost, lost != Lost::NOTHING));
    }

    /// Tells apart what the own traffic of body flit `flit`, that of `owner`, has cost it.
    fn sort_out<M: Mode>(&mut self, flit: u32, owner: Traffic) -> BodyFlit {
        let of = *self.flits.body.get(flit);
        if !of.mixed {
            return of;
        }
        let (all, mut losses) = (of.lost.to_others, std::mem::take(&mut self.scratch.losses));
        self.vectors.read(all, &mut losses);
        let lost = self.keep::<M>(owner, self.vectors.origin(all), &losses);
        self.scratch.losses = losses;
        self.vectors.release::<M>(all);
        let cell = self.flits.body.edit::<M>(flit);
        (cell.lost, cell.mixed) = (lost, false);
        *cell
    }

    /// The next flit at `front` may start at `after`, as far as the one before it goes.
    pub(crate) fn next_after<M: Mode>(&mut self, front: u32, after: Time) {
        self.flits.fronts.edit::<M>(front).after = after;
    }

    /// The next flit at `front`, of `owner`, has come; `start` says when it could start that came at a time.
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

    /// All of the packet at `front`, of so many flits and of `owner`, has come, and its head needs its last flit.
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
        self.share_lost::<M>(lost);
        let lost = self.needs_both::<M>(owner, (begins, before), (came, lost), start);
        self.flits.fronts.edit::<M>(front).lost = lost;
    }

    /// What a flit of `owner` has lost that needs something else, which has lost `before` and lets it start at `after`, and to have come, at `came`
    /// with this lost.
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
        let (of_before, of_itself) = (self.total(before), self.total(lost));
        let could = start(came);
        let undisturbed = start(came.saturating_sub(of_itself)).max(after.saturating_sub(of_before));
        let itself = could > after || (could == after && of_itself < of_before);
        let (last, other) = if itself { (lost, before) } else { (before, lost) };
        self.release::<M>(other);
        self.cut_down::<M>(owner, last, could.max(after).saturating_sub(undisturbed))
    }

    /// Cuts down what `packet` of `owner`, whose head comes at `came`, has lost to what that costs it here: `start` says when that
    /// can go on which comes at a time.
    pub(crate) fn head_comes<M: Mode>(
        &mut self,
        packet: u32,
        owner: Traffic,
        came: Time,
        start: impl Fn(Time) -> Time,
    ) {
        let who = Waiter::Packet(packet);
        self.put_together::<M>(who, owner);
        let lost = self.account(who).lost;
        if lost != Lost::NOTHING {
            let most = start(came) - start(came.saturating_sub(self.total(lost)));
            let lost = self.cut_down::<M>(owner, lost, most);
            self.edit_account::<M>(who).lost = lost;
        }
    }

    fn total(&self, lost: Lost) -> Time {
        lost.own_link + lost.own_buffer + self.vectors.total(lost.to_others) + self.vectors.total(lost.own)
    }

    fn cut_down<M: Mode>(&mut self, owner: Traffic, lost: Lost, most: Time) -> Lost {
        if self.total(lost) <= most {
            return lost;
        }
        let mut losses = std::mem::take(&mut self.scratch.losses);
        self.read(lost, owner, &mut losses);
        scale(&mut losses, most);
        let cut = self.keep::<M>(owner, self.vectors.origin(lost.own), &losses);
        self.scratch.losses = losses;
        self.release::<M>(lost);
        cut
    }

    /// The flit at `front`, of `owner`, has waited at `line` during `span` for `by`: if that is its own traffic, for what one had gone through of which
    /// `own` says what it had lost to others, if it is known.
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
        let own = own.map(|to_others| Own { at: now, to_others });
        let wait = Wait { owner, since, now, own };
        let before = self.flits.fronts.get(front).lost;
        let lost = self.lose_span::<M>(line, before, &wait, by);
        self.flits.fronts.edit::<M>(front).lost = lost;
    }

    /// The flit at `front` has waited during `span` for its own traffic. Returns the wait before it, if that is another one.
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

    /// The wait of the flit at `front` for its own traffic, which is over.
    #[inline]
    pub(crate) fn end_own_wait<M: Mode>(&mut self, front: u32) -> Option<OwnWait> {
        let wait = Self::own_wait(self.flits.fronts.get(front))?;
        self.flits.fronts.edit::<M>(front).until = wait.since;
        Some(wait)
    }

    /// What the flit at `front` has lost to others, for one more user.
    pub(crate) fn share_of_front<M: Mode>(&mut self, front: u32) -> Vector {
        let to_others = self.flits.fronts.get(front).lost.to_others;
        self.vectors.share::<M>(to_others)
    }

    /// A user of `vector` less.
    #[inline]
    pub(crate) fn unshare<M: Mode>(&mut self, vector: Vector) {
        self.vectors.release::<M>(vector);
    }

    /// The flit at `front`, of `owner`, has link `line` until `until`. All of these are told, as who waits for a link is not known before.
    pub(crate) fn flit_takes_link<M: Mode>(&mut self, line: u32, front: u32, owner: Traffic, until: Time) {
        let to_others = self.flits.fronts.get(front).lost.to_others;
        self.took::<M>(line, owner, (Time::ZERO, until), to_others);
    }

    /// One of `owner` that has lost this to others was in front at `line` until `until`, where others wait.
    pub(crate) fn was_in_front<M: Mode>(&mut self, line: u32, owner: Traffic, until: Time, to_others: Vector) {
        self.took::<M>(line, owner, (Time::ZERO, until), to_others);
    }

    /// What the last one of `owner` on `line` had lost to others, if it had that later than `since`.
    pub(crate) fn last_own(&self, line: u32, owner: Traffic, since: Time) -> Option<Vector> {
        let LastOf { until, to_others, .. } = self.last_of(line, owner)?;
        (until > since).then_some(to_others)
    }

    /// Message `message` of `owner` is sent flit by flit at the NIC that is `front`: its next flits follow what it has lost.
    pub(crate) fn message_to_front<M: Mode>(&mut self, front: u32, message: u32) {
        let lost = self.account(Waiter::Message(message)).lost;
        if lost != Lost::NOTHING {
            self.share_lost::<M>(lost);
            self.flits.fronts.edit::<M>(front).lost = lost;
        }
    }

    /// What the last flit of a packet has lost at the NIC that is `front`, `message` has, whose next packet follows it.
    pub(crate) fn front_to_message<M: Mode>(&mut self, front: u32, message: u32) {
        let lost = self.of_front::<M>(front, false);
        if lost != self.account(Waiter::Message(message)).lost {
            self.replace::<M>(Waiter::Message(message), lost);
        } else {
            self.release::<M>(lost);
        }
    }

    /// Link `line` is taken by the flit at `front`, a NIC's.
    pub(crate) fn front_takes_link<M: Mode>(&mut self, line: u32, front: u32, owner: Traffic, until: Time) {
        let to_others = self.flits.fronts.get(front).lost.to_others;
        self.take_link_having::<M>(line, (to_others, owner), (Time::ZERO, until));
    }
}
