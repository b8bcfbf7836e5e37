//! Blame: the ledger of delays between traffics ([`odonata_blame`]).
//!
//! A packet waits at a router for one of three resources, a message at its NIC for one of the first two:
//!
//! | state | resource | charged to the owner of |
//! |---|---|---|
//! | the link transmits | [`LINK`] | the packet on the link |
//! | the link is idle, the downstream buffer is full | [`CREDIT`] | the packet whose departure freed the buffer |
//! | another packet is ahead in its FIFO (input FIFOs, pipelined routers) | [`INPUT`] | the packet ahead |
//!
//! An owner is a [`Traffic`]: a job's MPI or its I/O. The rule is the same for all router models. With output queues,
//! `CREDIT` is room in the queue, which includes flits in flight downstream. Pipelined routers apply the rule to each
//! flit: see [`FlitWaits`](super::FlitWaits).
//!
//! A message waits at its NIC from its submission until its first packet starts, and whenever its next packet lacks a
//! credit; not while its own packets occupy the link. Delays by congestion control are charged to the message's own
//! traffic, as [`CREDIT`].

use crate::fabric::has_fifos;
use crate::features::Uses;
use crate::flow::Links;
use crate::message::Traffic;
use crate::params::NetworkParams;
use crate::settings::RouterModel;
use odonata_blame::lost::LostAt;
use odonata_blame::{Cause, Charge, Hold, Ledger, Taker};
use odonata_engine::{Plain, Store, Time};
use odonata_topology::LinkClass;
use odonata_units::mix64;

/// The link was busy.
pub(crate) const LINK: Cause = 0;
/// The buffer behind the link was full.
pub(crate) const CREDIT: Cause = 1;
/// Another packet was ahead in the same FIFO.
pub(crate) const INPUT: Cause = 2;

/// Names of the resources, by number.
pub const RESOURCES: [&str; 3] = ["link", "credit", "input"];

/// Names of the places where packets wait, by number: router ports by link class, then NICs.
pub const PLACES: [&str; 5] = ["terminal", "local", "global", "column", "nic"];
pub(crate) const NIC: u8 = 4;

/// The blame ledger of the fabric; empty if blame is off.
///
/// Lines: one per link, NICs included; then, with FIFOs, one per input buffer.
#[derive(Debug)]
pub(crate) struct BlameLedger {
    pub(super) ledger: Ledger,
    /// The owner of the packet last read from each input FIFO.
    pub(super) heads: Store<Traffic>,
    /// Per virtual channel of every sending port: the owner of the last packet that freed buffer space downstream.
    pub(super) freed: Store<Freed>,
    /// Number of lines for links.
    outputs: u32,
    /// Whether packets wait for room that their port does not count: with output queues.
    uncounted: bool,
    /// Sampling factor: the waits at routers of one in this many packets are recorded.
    sampling: u32,
}
odonata_engine::journalled!(BlameLedger { ledger, heads, freed });

/// Free space in a buffer: since when, and the owner of the packet that freed it.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Freed {
    pub(super) at: Time,
    pub(super) by: Traffic,
}

impl Freed {
    /// The owner and the cause to charge for the wait of packets that lacked this space.
    pub(super) fn lacked(&self) -> (Traffic, Cause) {
        (self.by, CREDIT)
    }
}

/// Waits of one traffic's packets behind another's at one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct LinkCharge {
    /// The contended link, or the link whose downstream buffer was full; numbered as in
    /// [`Fabric::link_stats`](crate::Fabric::link_stats).
    pub link: u32,
    /// The resource: an index into [`RESOURCES`].
    pub resource: u8,
    /// The owner of the waiting packets.
    pub victim: Traffic,
    /// The owner of the packets that held the resource; `None` if the run ended before it was known.
    pub culprit: Option<Traffic>,
    /// Waiting time, summed over packets (at a NIC: messages).
    pub time: Time,
}

/// Waits over time, summed over all links of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitSeries {
    /// Start of the interval.
    pub start: Time,
    /// The place: an index into [`PLACES`].
    pub place: u8,
    /// The resource: an index into [`RESOURCES`].
    pub resource: u8,
    /// The owner of the waiting packets.
    pub victim: Traffic,
    /// The owner of the packets that held the resource.
    pub culprit: Traffic,
    /// Waiting time, summed over packets.
    pub time: Time,
}

/// A link that a packet of `owner` occupies until `until`.
pub(super) fn held_until(until: Time, owner: Traffic) -> Hold {
    Hold {
        free_at: until,
        holder: owner,
        cause: LINK,
    }
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
        // The upstream of a router's terminal link is a NIC.
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

    /// Whether the waits at routers of a packet that starts from node `source` at `start` are recorded: drawn by a hash,
    /// one in [`sampling`](Self::sampling).
    #[inline(always)]
    pub(super) fn samples(&self, source: u32, start: Time) -> bool {
        self.sampling == 1 || {
            let random = mix64(mix64(u64::from(source)) ^ start.0) >> 32;
            (random * u64::from(self.sampling)) >> 32 == 0
        }
    }

    /// The time that a recorded wait represents: all messages at NICs are recorded, but only a sample of the packets at
    /// routers.
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
            // In a buffer fed by a NIC, packets wait, not messages.
            time: self.stands_for(charge.place == NIC && charge.cause != INPUT, charge.time),
        })
    }

    /// Bytes of a ledger without charges, for this many links, sending channels and input buffers of FIFOs.
    pub(crate) fn bytes(links: u64, channels: u64, buffers: u64) -> u64 {
        Ledger::bytes(links + buffers) + buffers * size_of::<Traffic>() as u64 + channels * size_of::<Freed>() as u64
    }

    #[inline(always)]
    pub(crate) fn is_on<U: Uses>(&self) -> bool {
        U::BLAME && self.outputs > 0
    }

    /// Prefetches the account of `link`, and the owners that freed space in its channels from `channel` on.
    #[inline(always)]
    pub(super) fn prefetch(&self, link: u32, channel: u32) {
        self.ledger.prefetch(link);
        self.freed.prefetch(channel);
    }

    /// Number of lines in the ledger.
    pub(crate) fn lines(&self) -> usize {
        self.outputs as usize + self.heads.len()
    }

    /// The place of each line.
    pub(crate) fn places(&self, links: &Links) -> Vec<LostAt> {
        let of_links = (0..self.outputs).map(|link| links.number(link));
        let of_buffers =
            (0..self.heads.len() as u32).map(|buffer| links.upstream_link(buffer).map_or(u32::MAX, |(link, _)| link));
        of_links.chain(of_buffers).map(LostAt::link).collect()
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Whether the owner of a credit is recorded. A wait is charged only to credits that a waiting packet needs.
    #[inline(always)]
    pub(super) fn is_asked<U: Uses>(&self, is_awaited: bool) -> bool {
        self.is_on::<U>() && (is_awaited || self.uncounted)
    }

    /// The owner and cause to charge for the wait of a packet for `channel`, now that it has room.
    pub(super) fn lacked(&self, channel: u32) -> (Traffic, Cause) {
        self.freed.get(channel).lacked()
    }

    /// The channel and the time of the credit that a packet of `owner` has waited for, in `channel` of a link idle
    /// since `free_at`, if a packet of the same owner freed the buffer since then.
    pub(super) fn room(&self, channel: u32, owner: Traffic, free_at: Time) -> Option<(u32, Time)> {
        let Freed { at: made, by } = *self.freed.get(channel);
        (by == owner && made > free_at).then_some((channel, made))
    }

    /// The owner of the last flit that freed buffer space behind `channel`.
    pub(crate) fn last_freed(&self, channel: u32) -> Traffic {
        self.freed.get(channel).by
    }

    /// The line for packets that wait in input buffer `buffer`.
    pub(crate) fn line_of_buffer(&self, buffer: u32) -> u32 {
        self.outputs + buffer
    }

    /// Charges to `by` the wait of a flit of `owner` in a pipelined router at `line`, from `from` to `until`, if it is
    /// not empty.
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

    /// Adds the total wait of such a flit, from `from` to `until`.
    pub(crate) fn waited<M: Uses>(&mut self, owner: Traffic, (from, until): (Time, Time)) {
        if until > from {
            self.ledger.wait_begins::<M>(from, owner);
            self.ledger.wait_ends::<M>(until, owner);
        }
    }

    /// Adds the wait `time` of such a flit at `link` for a credit that was still missing at the end of the run.
    pub(crate) fn lacked_room(&mut self, link: u32, owner: Traffic, time: Time) {
        self.ledger.defer_time::<Plain>(link, owner, time);
    }

    /// Charges the waits for `link`, free since `free_at`, to the packet of `owner` that holds it from `now` until
    /// `until`. It has waited for channel `waited`; the flag is whether its waits are recorded.
    #[inline(never)]
    pub(super) fn link_passes<M: Uses>(
        &mut self,
        link: u32,
        (free_at, now): (Time, Time),
        until: Time,
        (owner, is_sampled): (Traffic, bool),
        waited: Option<u32>,
    ) {
        let BlameLedger { ledger, freed, .. } = self;
        let freed = &*freed;
        let taker = waited.map(|channel| Taker {
            joined: is_sampled,
            returns: false,
            lacked: move || freed.get(channel).lacked(),
        });
        ledger.pass::<M, _>(link, (free_at, now), held_until(until, owner), taker);
    }

    /// Charges the waits for NIC `link`, free since `free_at`, to the message of `owner` that holds it from `now` until
    /// `until`, and waits again if it `returns`. `lacked`: what to charge for idle time.
    #[inline(never)]
    pub(super) fn nic_passes<M: Uses>(
        &mut self,
        link: u32,
        (free_at, now): (Time, Time),
        until: Time,
        (owner, returns): (Traffic, bool),
        lacked: (Traffic, Cause),
    ) {
        let taker = Taker {
            joined: true,
            returns,
            lacked: || lacked,
        };
        (self.ledger).pass::<M, _>(link, (free_at, now), held_until(until, owner), Some(taker));
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
                // A charge without culprit is a wait for a credit that did not arrive.
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

    /// A packet of `owner` has freed space in virtual channel `at` at `due`. Among several at the same time the lowest
    /// owner counts, because the order in which credits are counted is arbitrary. Returns whether it is this one.
    #[inline]
    pub(crate) fn freed<M: Uses>(&mut self, at: u32, owner: Traffic, due: Time) -> bool {
        let last = *self.freed.trusted::<M>(at);
        let counts = due > last.at || (due == last.at && owner < last.by);
        if counts {
            *self.freed.edit_trusted::<M>(at) = Freed { at: due, by: owner };
        }
        counts || (due, owner) == (last.at, last.by)
    }
}

/// Sorts charges and merges those with the same link, resource, victim and culprit.
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
