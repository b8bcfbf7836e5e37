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

use crate::fabric::has_fifos;
use crate::features::Uses;
use crate::flow::Links;
use crate::message::Traffic;
use crate::params::NetworkParams;
use crate::settings::RouterModel;
use odonata_blame::lost::LostAt;
use odonata_blame::{Cause, Charge, Ledger};
use odonata_engine::{Plain, Store, Time};
use odonata_topology::LinkClass;

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
    pub(super) ledger: Ledger,
    /// The owner of the packet that each input FIFO had read last.
    pub(super) heads: Store<Traffic>,
    /// Per virtual channel of every sending port: the owner of the last packet that made room there.
    pub(super) freed: Store<Freed>,
    /// Lines of links.
    outputs: u32,
    /// Whether packets wait for room where their port does not count them: in output queues.
    uncounted: bool,
    /// One packet of this many is sampled: its waits at routers are booked.
    sampling: u32,
}
odonata_engine::journalled!(BlameLedger { ledger, heads, freed });

/// Room in a buffer: since when it is there, and the owner of the packet that made it.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Freed {
    pub(super) at: Time,
    pub(super) by: Traffic,
}

impl Freed {
    /// The owner of the room until then, and the cause, for the packets that lacked it.
    pub(super) fn lacked(&self) -> (Traffic, Cause) {
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

    /// Whether the owner of a credit is booked, which a packet awaits or not: no wait is ever charged to room that no packet awaits.
    #[inline(always)]
    pub(super) fn is_asked<U: Uses>(&self, is_awaited: bool) -> bool {
        self.is_on::<U>() && (is_awaited || self.uncounted)
    }

    /// The owner of the room that a packet waiting for `channel` has lacked, now that there is some; and the cause.
    pub(super) fn lacked(&self, channel: u32) -> (Traffic, Cause) {
        self.freed.get(channel).lacked()
    }

    /// The room for which a packet of `owner` has waited in `channel` of a link that is idle since `free_at`: the channel, and when
    /// the room was made, if a packet of the same owner made it since then.
    pub(super) fn room(&self, channel: u32, owner: Traffic, free_at: Time) -> Option<(u32, Time)> {
        let Freed { at: made, by } = *self.freed.get(channel);
        (by == owner && made > free_at).then_some((channel, made))
    }

    /// The owner of the flit that made room last in `channel`.
    pub(crate) fn last_freed(&self, channel: u32) -> Traffic {
        self.freed.get(channel).by
    }

    /// The line of packets that wait in input buffer `buffer`.
    pub(crate) fn line_of_buffer(&self, buffer: u32) -> u32 {
        self.outputs + buffer
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
        self.ledger.charge_time::<M>(line, until, owner, time, by);
    }

    /// Such a flit has waited from `from` to `until` in all, if it has.
    pub(crate) fn waited<M: Uses>(&mut self, owner: Traffic, (from, until): (Time, Time)) {
        if until > from {
            self.ledger.wait_begins::<M>(from, owner);
            self.ledger.wait_ends::<M>(until, owner);
        }
    }

    /// Such a flit has waited `time` at `link` for room that no packet had made when the run ended.
    pub(crate) fn lacked_room(&mut self, link: u32, owner: Traffic, time: Time) {
        self.ledger.defer_time::<Plain>(link, owner, time);
    }

    /// All charges, in order of link, resource, victim, culprit.
    pub(super) fn charges(&self, links: &Links) -> Vec<LinkCharge> {
        let charge = |charge: Charge| {
            let link = match charge.line.checked_sub(self.outputs) {
                None => links.number(charge.line),
                Some(buffer) => links.upstream_link(buffer).map_or(u32::MAX, |(link, _)| link),
            };
            let at_nic = (links.ports..self.outputs).contains(&charge.line);
            LinkCharge {
                link,
                // A culprit that is not known yet lacks room.
                resource: if charge.culprit.is_some() { charge.cause } else { CREDIT },
                victim: charge.victim,
                culprit: charge.culprit,
                time: self.stands_for(at_nic, charge.time),
            }
        };
        let mut charges: Vec<LinkCharge> = self.ledger.charges().map(charge).collect();
        merge(&mut charges);
        charges
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
