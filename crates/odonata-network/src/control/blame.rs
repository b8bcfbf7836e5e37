//! Blame: the ledger of who holds up whose packets ([`odonata_blame`]).
//!
//! A packet that waits at a router waits for one of three things, and a message at its NIC for the first two:
//!
//! | waits while | for | charged to the owner of |
//! |---|---|---|
//! | the link transmits | [`LINK`] | the packet on it |
//! | the link is idle, the far buffer has no room | [`CREDIT`] | the packet that made the room with which the next one goes |
//! | its FIFO has a packet in front (input FIFOs, pipelined routers) | [`INPUT`] | that packet |
//!
//! An owner is a [`Traffic`]: a job's MPI or its I/O. The rule is the same for all router models; with output queues
//! room is room in the queue, which covers what is in flight behind it. Pipelined routers, where packets hold virtual channels and
//! flits compete for the crossbar, say the same of each flit: see `waits.rs` there.
//!
//! A message waits at its NIC from its submission until its first packet starts, and again while its next packet lacks
//! room; not while its own packets are on the link. While congestion control holds it back, that is its own traffic's doing:
//! it is charged to itself, as [`CREDIT`].

use super::lost::Waiter;
use crate::fabric::has_fifos;
use crate::features::Uses;
use crate::flow::{Flow, Links, OutPort};
use crate::message::Traffic;
use crate::params::NetworkParams;
use crate::settings::RouterModel;
use odonata_blame::lost::{LostAt, Vector};
use odonata_blame::{Cause, Hold, Ledger, Taker};
use odonata_engine::{Store, Time};
use odonata_topology::LinkClass;
use odonata_units::mix64;

/// The link was busy.
pub(crate) const LINK: Cause = 0;
/// The buffer behind the link was full.
pub(crate) const CREDIT: Cause = 1;
/// A packet in front in the same FIFO.
pub(crate) const INPUT: Cause = 2;

/// Names of what is waited for, by number.
pub const RESOURCES: [&str; 3] = ["link", "credit", "input"];

/// Names of the places where packets wait, by number: the routers' ports by the class of their link, then the NICs.
pub const PLACES: [&str; 5] = ["terminal", "local", "global", "column", "nic"];
pub(crate) const NIC: u8 = 4;

/// The blame ledger of the fabric; empty where none is kept.
///
/// Lines: one per link, those of NICs included; then, with FIFOs, one per input buffer.
#[derive(Debug)]
pub(crate) struct BlameLedger {
    ledger: Ledger,
    /// Whose packet each input FIFO had read last.
    heads: Store<Traffic>,
    /// Per virtual channel of every sending port: who has made room there last.
    freed: Store<Freed>,
    /// Lines of links.
    outputs: u32,
    /// Whether packets wait for room where their port does not count them: in output queues.
    uncounted: bool,
    /// Of so many packets one is drawn whose waits at routers are booked.
    sampling: u32,
}
odonata_engine::journalled!(BlameLedger { ledger, heads, freed });

/// Whose packet has made room, and since when there is that room.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Freed {
    at: Time,
    by: Traffic,
}

impl Freed {
    /// Who had that room until then, of those who have lacked it.
    fn lacked(&self) -> (Traffic, Cause) {
        (self.by, CREDIT)
    }
}

/// What packets of one traffic have waited for those of another at one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct LinkCharge {
    /// The link that was waited for, or whose far buffer was; as in [`Fabric::link_stats`](crate::Fabric::link_stats).
    pub link: u32,
    /// What was waited for: an index into [`RESOURCES`].
    pub resource: u8,
    /// Whose packets waited.
    pub victim: Traffic,
    /// Whose packets held the resource; `None` where the run ended before that was known.
    pub culprit: Option<Traffic>,
    /// How long, summed over packets (at a NIC: messages).
    pub time: Time,
}

/// The same over time, for all links of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitSeries {
    /// Start of the interval.
    pub start: Time,
    /// Where: an index into [`PLACES`].
    pub place: u8,
    /// What was waited for: an index into [`RESOURCES`].
    pub resource: u8,
    /// Whose packets waited.
    pub victim: Traffic,
    /// Whose packets held the resource.
    pub culprit: Traffic,
    /// How long, summed over packets.
    pub time: Time,
}

/// Whether packets wait behind others in their buffers.
pub(crate) fn has_input_lines(params: &NetworkParams) -> bool {
    has_fifos(params) || params.router == RouterModel::Pipelined
}

impl BlameLedger {
    pub(crate) fn off() -> BlameLedger {
        BlameLedger {
            ledger: Ledger::off(),
            heads: Store::new(),
            freed: Store::new(),
            outputs: 0,
            uncounted: false,
            sampling: 1,
        }
    }

    pub(crate) fn new(links: &Links, params: &NetworkParams) -> BlameLedger {
        let fifo = has_input_lines(params);
        let of_link = |link: u32| match link < links.ports {
            true => links.get(link).class as u8,
            false => NIC,
        };
        // What comes to a router over a terminal link comes from a NIC.
        let of_buffer = |buffer| match links.upstream_link(buffer) {
            None | Some((_, LinkClass::Terminal)) => NIC,
            Some((_, class)) => class as u8,
        };
        let (outputs, buffers) = (links.len(), if fifo { links.buffers } else { 0 });
        let places = (0..outputs).map(of_link).chain((0..buffers).map(of_buffer)).collect();
        BlameLedger {
            ledger: Ledger::new(
                places,
                PLACES.len() as u8,
                params.traffics,
                RESOURCES.len() as u8,
                params.series,
            ),
            heads: Store::filled(buffers as usize, 0),
            freed: Store::filled(links.vcs() as usize, Freed::default()),
            outputs,
            uncounted: params.router == RouterModel::OutputQueued,
            sampling: params.blame_sampling,
        }
    }

    /// Whether the waits of the packet that node `source` sends at `start` are booked: no other starts there then.
    #[inline]
    pub(crate) fn draws(&self, source: u32, start: Time) -> bool {
        self.sampling == 1 || {
            let random = mix64(mix64(u64::from(source)) ^ start.0) >> 32;
            (random * u64::from(self.sampling)) >> 32 == 0
        }
    }

    /// What is booked at a place for waits for a resource stands for: as much at NICs, where messages wait, of which none is left out;
    /// and of packets, as often as many are.
    fn stands_for(&self, at_nic: bool, time: Time) -> Time {
        match at_nic {
            true => time,
            false => Time(time.0.saturating_mul(u64::from(self.sampling))),
        }
    }

    /// The charges over time.
    pub(crate) fn series(&self) -> impl Iterator<Item = WaitSeries> + '_ {
        self.ledger.series().map(|charge| WaitSeries {
            start: charge.start,
            place: charge.place,
            resource: charge.cause,
            victim: charge.victim,
            culprit: charge.culprit,
            // Who waits behind others in a buffer that a NIC feeds is a packet.
            time: self.stands_for(charge.place == NIC && charge.cause != INPUT, charge.time),
        })
    }

    /// Bytes of the ledger of so many links, sending channels and input buffers of FIFOs, in which nobody has waited yet.
    pub(crate) fn bytes(links: u64, channels: u64, buffers: u64) -> u64 {
        Ledger::bytes(links + buffers) + buffers * size_of::<Traffic>() as u64 + channels * size_of::<Freed>() as u64
    }

    #[inline(always)]
    pub(crate) fn is_on<U: Uses>(&self) -> bool {
        U::BLAME && self.outputs > 0
    }

    /// Lines of the ledger.
    pub(crate) fn lines(&self) -> usize {
        self.outputs as usize + self.heads.len()
    }

    /// Where each line is.
    pub(crate) fn places(&self, links: &Links) -> Vec<LostAt> {
        let of_links = (0..self.outputs).map(|link| links.number(link));
        let of_buffers =
            (0..self.heads.len() as u32).map(|buffer| links.upstream_link(buffer).map_or(u32::MAX, |(link, _)| link));
        of_links.chain(of_buffers).map(LostAt::link).collect()
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn memory(&self) -> usize {
        self.ledger.memory() + self.heads.memory() + self.freed.memory()
    }

    /// Whether it is to be told who makes room for a port at which so many packets wait: who makes room that nobody wants is never
    /// asked.
    #[inline(always)]
    pub(crate) fn asks<U: Uses>(&self, waiting: u32, awaits_credit: bool) -> bool {
        self.is_on::<U>() && (waiting > 0 || awaits_credit || self.uncounted)
    }

    /// A packet of `owner` has made room in virtual channel `at`, since `due`. Of several at the same time the lowest
    /// owner counts, because the order in which credits are counted says nothing.
    /// Returns whether it is this one.
    #[inline]
    pub(crate) fn freed<M: Uses>(&mut self, at: u32, owner: Traffic, due: Time) -> bool {
        let last = *self.freed.get(at);
        let counts = due > last.at || (due == last.at && owner < last.by);
        if counts {
            *self.freed.edit::<M>(at) = Freed { at: due, by: owner };
        }
        counts || (due, owner) == (last.at, last.by)
    }
}

/// A flit that a NIC sends.
#[derive(Clone, Copy)]
pub(crate) struct FlitOfMessage {
    /// Whether it is the head of its packet, and the tail.
    pub(crate) head: bool,
    pub(crate) tail: bool,
    /// Whether its packet is the last one of the message.
    pub(crate) last: bool,
    /// Whether its flow is limited: then what it has lacked is its own.
    pub(crate) limited: bool,
}

impl OutPort {
    /// Whose packet is on the link, or was last, and until when.
    fn hold(&self) -> Hold {
        Hold {
            free_at: self.free_at,
            holder: self.holder,
            cause: LINK,
        }
    }
}

impl Flow {
    /// `who`, of `owner`, begins to wait for `link`: a packet; at a NIC, a message.
    #[inline]
    pub(crate) fn join_output<M: Uses>(&mut self, link: u32, (who, owner): (Waiter, Traffic), now: Time) {
        let hold = self.port(link).hold();
        self.blame.ledger.join_held::<M>(link, now, owner, hold);
        if self.lost.is_on::<M>() {
            self.lost.join::<M>(link, who, (now, now), Some(hold));
        }
    }

    /// `packet` of `owner` gives up waiting for virtual channel `vc` of router port `link`, which is idle.
    pub(crate) fn leave_output<M: Uses>(&mut self, link: u32, vc: u8, (packet, owner): (u32, Traffic), now: Time) {
        let free_at = self.port(link).free_at;
        let lacked = self.lacked(link, vc);
        self.blame.ledger.leave_held::<M>(link, (free_at, now), owner, lacked);
        if self.lost.is_on::<M>() {
            let who = (Waiter::Packet(packet), owner);
            let room = self.room(link, vc, owner, free_at);
            self.lost.leave::<M>(link, who, (now, free_at), lacked, room);
        }
    }

    /// The room for which a packet of `owner` has waited in virtual channel `vc` of `link`, which is idle since `free_at`: which
    /// and when it was made, if it was made since then by one of the same owner.
    fn room(&self, link: u32, vc: u8, owner: Traffic, free_at: Time) -> Option<(u32, Time)> {
        let at = self.first_vc(link) + u32::from(vc);
        let Freed { at: made, by } = *self.blame.freed.get(at);
        (by == owner && made > free_at).then_some((at, made))
    }

    /// Who had the room that a waiter for virtual channel `vc` of `link` has lacked, now that there is some.
    fn lacked(&self, link: u32, vc: u8) -> (Traffic, Cause) {
        self.blame.freed.get(self.first_vc(link) + u32::from(vc)).lacked()
    }

    /// `packet` of `owner` takes router port `port` from `now` to `until`. If it has waited there, it was for
    /// virtual channel `waited`, and is in the books or not. To be called before the port's state changes.
    #[inline]
    pub(crate) fn hold_port<M: Uses>(
        &mut self,
        port: u32,
        (packet, owner): (u32, Traffic),
        (now, until): (Time, Time),
        waited: Option<(u8, bool)>,
    ) {
        let OutPort { free_at, waiting, .. } = *self.port(port);
        self.edit_port::<M>(port).holder = owner;
        let who = (Waiter::Packet(packet), owner);
        if waiting == 0 && waited.is_none() {
            if self.lost.is_on::<M>() {
                self.lost.take_link::<M>(port, who, (now, until));
            }
            return;
        }
        let next = Hold {
            free_at: until,
            holder: owner,
            cause: LINK,
        };
        let first_vc = self.first_vc(port);
        let BlameLedger { ledger, freed, .. } = &mut self.blame;
        let freed = &*freed;
        let taker = waited.map(|(vc, booked)| Taker {
            joined: booked,
            returns: false,
            lacked: move || freed.get(first_vc + u32::from(vc)).lacked(),
        });
        ledger.pass::<M, _>(port, (free_at, now), next, taker);
        if self.lost.is_on::<M>() {
            let lacked = waited.map(|(vc, _)| self.lacked(port, vc));
            self.lost.idles::<M>(port, (free_at, now), lacked);
            if let Some(lacked) = lacked {
                let room = waited.and_then(|(vc, _)| self.room(port, vc, owner, free_at));
                self.lost.leave::<M>(port, who, (now, now), lacked, room);
            }
            self.lost.is_held::<M>(port, now, next);
            self.lost.take_link::<M>(port, who, (now, until));
        }
    }

    /// The same at NIC `link` for a packet of `message` on virtual channel `vc`, which waits again when the packet is out
    /// unless it was the `last`. If its flow is `limited`, what it lacked is held by itself.
    pub(crate) fn hold_nic<M: Uses>(
        &mut self,
        (link, vc): (u32, u8),
        (message, owner): (u32, Traffic),
        (now, until): (Time, Time),
        (last, limited): (bool, bool),
    ) {
        let free_at = self.port(link).free_at;
        let (next, lacked) = self.pass_nic::<M>((link, vc), owner, (now, until), (!last, limited));
        if self.lost.is_on::<M>() {
            let who = Waiter::Message(message);
            self.lost.idles::<M>(link, (free_at, now), Some(lacked));
            let room = self.room(link, vc, owner, free_at);
            self.lost
                .leave::<M>(link, (who, owner), (now, now), lacked, room.filter(|_| !limited));
            self.lost.is_held::<M>(link, now, next);
            self.lost.take_link::<M>(link, (who, owner), (now, until));
            if !last {
                self.lost.join::<M>(link, who, (now, until), Some(next));
            }
        }
    }

    /// The same in front of a pipelined router, for a flit: the head of a packet of `message`, or one behind it.
    pub(crate) fn hold_nic_by_flit<M: Uses>(
        &mut self,
        (link, vc): (u32, u8),
        (message, owner): (u32, Traffic),
        (now, until): (Time, Time),
        flit: FlitOfMessage,
    ) {
        let FlitOfMessage {
            head,
            tail,
            last,
            limited,
        } = flit;
        let free_at = self.port(link).free_at;
        let (next, lacked) = self.pass_nic::<M>((link, vc), owner, (now, until), (!(tail && last), limited));
        if self.lost.is_on::<M>() {
            let (who, front) = (Waiter::Message(message), self.front_of_nic(link));
            self.lost.idles::<M>(link, (free_at, now), Some(lacked));
            if head {
                let room = self.room(link, vc, owner, free_at).filter(|_| !limited);
                (self.lost).leave::<M>(link, (who, owner), (now, now), lacked, room);
                self.lost.message_to_front::<M>(front, message);
            } else {
                // Its packet has the link: it can have waited for room alone.
                let own = (lacked.0 == owner).then(|| self.room_vector(link, vc, owner));
                (self.lost).flit_waits::<M>((front, link), owner, (free_at, now), lacked, own);
            }
            self.lost.is_held::<M>(link, now, next);
            self.lost.front_takes_link::<M>(link, front, owner, until);
            if tail && !last {
                self.lost.front_to_message::<M>(front, message);
                self.lost.join::<M>(link, who, (now, until), Some(next));
            }
        }
    }

    /// NIC `link` is taken from `now` until `until` for virtual channel `vc` by one of `owner` that has waited, and `returns` to wait. The hold, and who
    /// has had what it lacked: itself, if its flow is `limited`.
    fn pass_nic<M: Uses>(
        &mut self,
        (link, vc): (u32, u8),
        owner: Traffic,
        (now, until): (Time, Time),
        (returns, limited): (bool, bool),
    ) -> (Hold, (Traffic, Cause)) {
        let next = Hold {
            free_at: until,
            holder: owner,
            cause: LINK,
        };
        let lacked = match limited {
            true => (owner, CREDIT),
            false => self.lacked(link, vc),
        };
        let port = self.edit_port::<M>(link);
        port.holder = owner;
        let free_at = port.free_at;
        let taker = Taker {
            joined: true,
            returns,
            lacked: || lacked,
        };
        self.blame.ledger.pass::<M, _>(link, (free_at, now), next, Some(taker));
        (next, lacked)
    }

    /// Where flits of NIC `link` wait, among all [fronts](super::lost).
    pub(crate) fn front_of_nic(&self, link: u32) -> u32 {
        self.links.buffers + (link - self.links.ports)
    }

    /// What the flit of `owner` had lost to others that has made room last in virtual channel `vc` of `link`.
    pub(crate) fn room_vector(&self, link: u32, vc: u8, owner: Traffic) -> Vector {
        let at = self.first_vc(link) + u32::from(vc);
        let made = self.blame.freed.get(at).at;
        self.lost.room_made(at, owner, made).unwrap_or(Vector::EMPTY)
    }

    /// `packet` of `owner`, whose waits are `booked`, comes to wait in FIFO `buffer`.
    pub(crate) fn join_input<M: Uses>(
        &mut self,
        buffer: u32,
        (packet, owner, booked): (u32, Traffic, bool),
        now: Time,
    ) {
        if !booked {
            return;
        }
        let line = self.blame.outputs + buffer;
        let head = *self.blame.heads.get(buffer);
        self.blame.ledger.charge::<M>(line, now, head, INPUT);
        self.blame.ledger.join::<M>(line, now, owner);
        if self.lost.is_on::<M>() {
            self.lost.held_until::<M>(line, now, (head, INPUT));
            self.lost.join::<M>(line, Waiter::Packet(packet), (now, now), None);
        }
    }

    /// It has come to the front.
    pub(crate) fn leave_input<M: Uses>(
        &mut self,
        buffer: u32,
        (packet, owner, booked): (u32, Traffic, bool),
        now: Time,
    ) {
        let line = self.blame.outputs + buffer;
        let head = *self.blame.heads.get(buffer);
        self.blame.ledger.charge::<M>(line, now, head, INPUT);
        if !booked {
            return;
        }
        self.blame.ledger.leave::<M>(line, now, owner);
        if self.lost.is_on::<M>() {
            let by = (head, INPUT);
            self.lost.held_until::<M>(line, now, by);
            self.lost
                .leave::<M>(line, (Waiter::Packet(packet), owner), (now, now), by, None);
        }
    }

    /// The packet in front of FIFO `buffer` is one of `owner` from now on.
    pub(crate) fn hold_input<M: Uses>(&mut self, buffer: u32, owner: Traffic) {
        *self.blame.heads.edit::<M>(buffer) = owner;
    }

    /// A flit of `owner`, in a pipelined router, has waited at `line` from `from` to `until`, if that is later, for `by`.
    pub(crate) fn charge_wait<M: Uses>(
        &mut self,
        line: u32,
        owner: Traffic,
        (from, until): (Time, Time),
        by: (Traffic, Cause),
    ) {
        let time = until.saturating_sub(from);
        self.blame.ledger.charge_time::<M>(line, until, owner, time, by);
    }

    /// Such a flit has waited from `from` to `until` in all, if it has.
    pub(crate) fn waited<M: Uses>(&mut self, owner: Traffic, (from, until): (Time, Time)) {
        if until > from {
            self.blame.ledger.wait_begins::<M>(from, owner);
            self.blame.ledger.wait_ends::<M>(until, owner);
        }
    }

    /// Such a flit has waited `time` at `link`, for room that nobody had made when the run ended.
    pub(crate) fn lacked_room(&mut self, link: u32, owner: Traffic, time: Time) {
        self.blame.ledger.defer_time::<odonata_engine::Plain>(link, owner, time);
    }

    /// The line of those who wait in input buffer `buffer`.
    pub(crate) fn line_of_buffer(&self, buffer: u32) -> u32 {
        self.blame.outputs + buffer
    }

    /// Whose flit has last made room in virtual channel `vc` of `link` that counts at `now`.
    pub(crate) fn room_made_by<M: Uses>(&mut self, link: u32, vc: u8, now: Time) -> Traffic {
        self.count_flit_credits::<M>(link, now);
        self.blame.freed.get(self.first_vc(link) + u32::from(vc)).by
    }

    /// Books everything until `now`, the end of a run in the middle of waits.
    pub(crate) fn close_books(&mut self, now: Time) {
        use odonata_engine::Plain;
        if !self.blame.is_on::<Plain>() {
            return;
        }
        for link in 0..self.links.len() {
            let hold = self.port(link).hold();
            self.blame.ledger.close_held(link, now, hold);
        }
        for buffer in 0..self.blame.heads.len() as u32 {
            let head = *self.blame.heads.get(buffer);
            let line = self.blame.outputs + buffer;
            self.blame.ledger.charge::<Plain>(line, now, head, INPUT);
        }
    }

    /// All charges, in order of link, resource, victim, culprit.
    pub(crate) fn charges(&self) -> Vec<LinkCharge> {
        let mut charges: Vec<LinkCharge> = self
            .blame
            .ledger
            .charges()
            .map(|charge| {
                let link = match charge.line.checked_sub(self.blame.outputs) {
                    None => self.links.number(charge.line),
                    Some(buffer) => self.links.upstream_link(buffer).map_or(u32::MAX, |(link, _)| link),
                };
                let at_nic = (self.links.ports..self.blame.outputs).contains(&charge.line);
                // What nobody was known to hold yet was room.
                let resource = if charge.culprit.is_some() { charge.cause } else { CREDIT };
                LinkCharge {
                    link,
                    resource,
                    victim: charge.victim,
                    culprit: charge.culprit,
                    time: self.blame.stands_for(at_nic, charge.time),
                }
            })
            .collect();
        merge(&mut charges);
        charges
    }
}

/// Sorts charges, and adds up those of the same link, resource, victim and culprit.
pub(crate) fn merge(charges: &mut Vec<LinkCharge>) {
    let name = |c: &LinkCharge| (c.link, c.resource, c.victim, c.culprit);
    charges.sort_by_key(name);
    charges.dedup_by(|next, sum| {
        let same = name(next) == name(sum);
        if same {
            sum.time += next.time;
        }
        same
    });
}
