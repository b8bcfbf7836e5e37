//! Who holds up whose packets: the fabric's books of [`odonata_blame`].
//!
//! A packet that waits at a router waits for one of three things, and a message at its NIC for the first two:
//!
//! | waits while | for | charged to the owner of |
//! |---|---|---|
//! | the link transmits | [`LINK`] | the packet on it |
//! | the link is idle, the far buffer has no room | [`CREDIT`] | the packet whose space is freed next |
//! | its FIFO has a packet in front (input FIFOs only) | [`INPUT`] | that packet |
//!
//! An owner is a [`Traffic`]: a job's MPI or its I/O. In a router with output queues the two kinds have lines of their
//! own: packets in a queue wait for the link only, those that found the queue full for room only.
//!
//! A message waits at its NIC from its submission until its first packet starts, and again while its next packet lacks
//! room; not while its own packets are on the link.

use crate::credit::Flow;
use crate::link::Links;
use crate::message::Traffic;
use crate::params::{InputQueues, NetworkParams, RouterModel};
use crate::port::OutPort;
use odonata_blame::{Cause, Ledger};
use odonata_engine::{Mode, NIL, Slot, Store, Time};

/// The link was busy.
const LINK: Cause = 0;
/// The buffer behind the link was full.
const CREDIT: Cause = 1;
/// A packet in front in the same FIFO.
const INPUT: Cause = 2;

/// Names of what is waited for, by number.
pub const RESOURCES: [&str; 3] = ["link", "credit", "input"];

/// Names of the places where packets wait, by number: the routers' ports by the class of their link, then the NICs.
pub const PLACES: [&str; 4] = ["terminal", "local", "global", "nic"];
const NIC: u8 = 3;

/// The books of the fabric; empty where none are kept.
///
/// Lines of input-queued routers: one per virtual channel of every sending port, NICs included; then, with FIFOs,
/// one per input buffer. Of output-queued ones: one per port; then one per virtual channel of every port, for the
/// packets that found its queue full.
#[derive(Debug)]
pub(crate) struct Books {
    ledger: Ledger,
    /// Whose packet each input FIFO had read last.
    heads: Store<Traffic>,
    /// Lines before those of FIFOs or of full queues.
    outputs: u32,
    /// Whether packets that lack room have lines of their own.
    overflows: bool,
}
odonata_engine::journalled!(Books { ledger, heads });

/// What packets of one traffic have waited for those of another at one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

impl Books {
    pub(crate) fn off() -> Books {
        Books {
            ledger: Ledger::off(),
            heads: Store::new(),
            outputs: 0,
            overflows: false,
        }
    }

    pub(crate) fn new(links: &Links, params: &NetworkParams) -> Books {
        let overflows = params.router == RouterModel::OutputQueued;
        let fifo = !overflows && params.input_queues == InputQueues::Fifo;
        let place = |number: usize| match number < links.ports as usize {
            true => links.links[number].class as u8,
            false => NIC,
        };
        let all = links.links.iter().enumerate();
        let per_vc = all.flat_map(|(number, link)| std::iter::repeat_n(place(number), usize::from(link.vcs)));
        let mut places: Vec<u8> = match overflows {
            true => (0..links.links.len()).map(place).collect(),
            false => per_vc.clone().collect(),
        };
        let outputs = places.len() as u32;
        if overflows {
            places.extend(per_vc);
        }
        if fifo {
            let of_feeding = |&link: &u32| if link == NIL { NIC } else { place(link as usize) };
            places.extend(links.feeding.iter().map(of_feeding));
        }
        Books {
            ledger: Ledger::new(places, params.traffics, RESOURCES.len() as u8, params.series),
            heads: Store::filled(if fifo { links.feeding.len() } else { 0 }, 0),
            outputs,
            overflows,
        }
    }

    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.outputs > 0
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn memory(&self) -> usize {
        self.ledger.memory() + self.heads.memory()
    }

    /// The line of packets that wait for `port` and virtual channel `at`.
    #[inline]
    fn line(&self, port: u32, at: u32) -> u32 {
        if self.overflows { port } else { at }
    }
}

impl Flow {
    /// Books the waits in `line` of `port` until `now`: while the link was busy they were for the packet on it, since
    /// then for a credit.
    #[inline]
    fn book<M: Mode>(&mut self, port: u32, line: u32, now: Time) {
        let OutPort { free_at, holder, .. } = *self.ports.get(port);
        let ledger = &mut self.books.ledger;
        ledger.charge::<M>(line, free_at.min(now), holder, LINK);
        if free_at < now {
            ledger.defer::<M>(line, now);
        }
    }

    /// A packet of `owner` begins to wait for virtual channel `at` of `port`.
    pub(crate) fn join_output<M: Mode>(&mut self, port: u32, at: u32, owner: Traffic, now: Time) {
        let line = self.books.line(port, at);
        self.book::<M>(port, line, now);
        self.books.ledger.join::<M>(line, now, owner);
    }

    /// It has its turn.
    pub(crate) fn leave_output<M: Mode>(&mut self, port: u32, at: u32, owner: Traffic, now: Time) {
        let line = self.books.line(port, at);
        self.book::<M>(port, line, now);
        self.books.ledger.leave::<M>(line, now, owner);
    }

    /// A packet of `owner` starts on `port` now, and is what all who wait there wait for until it is out.
    #[inline]
    pub(crate) fn hold_port<M: Mode>(&mut self, port: u32, owner: Traffic, now: Time) {
        if self.ports.get(port).waiting > 0 {
            let (first, vcs) = match self.books.overflows {
                true => (port, 1),
                false => {
                    let link = self.links.get(port);
                    (link.first_vc, u32::from(link.vcs))
                }
            };
            for line in first..first + vcs {
                if self.books.ledger.waiting(line) > 0 {
                    self.book::<M>(port, line, now);
                }
            }
        }
        self.ports.edit::<M>(port).holder = owner;
    }

    /// A packet of `owner` has found the output queue of virtual channel `at` full.
    pub(crate) fn join_overflow<M: Mode>(&mut self, at: u32, owner: Traffic, now: Time) {
        let line = self.books.outputs + at;
        self.books.ledger.defer::<M>(line, now);
        self.books.ledger.join::<M>(line, now, owner);
    }

    /// It is let in.
    pub(crate) fn leave_overflow<M: Mode>(&mut self, at: u32, owner: Traffic, now: Time) {
        let line = self.books.outputs + at;
        self.books.ledger.defer::<M>(line, now);
        self.books.ledger.leave::<M>(line, now, owner);
    }

    /// A packet of `owner` comes to wait in FIFO `buffer`.
    pub(crate) fn join_input<M: Mode>(&mut self, buffer: u32, owner: Traffic, now: Time) {
        let line = self.books.outputs + buffer;
        let head = *self.books.heads.get(buffer);
        self.books.ledger.charge::<M>(line, now, head, INPUT);
        self.books.ledger.join::<M>(line, now, owner);
    }

    /// It has come to the front.
    pub(crate) fn leave_input<M: Mode>(&mut self, buffer: u32, owner: Traffic, now: Time) {
        let line = self.books.outputs + buffer;
        let head = *self.books.heads.get(buffer);
        self.books.ledger.charge::<M>(line, now, head, INPUT);
        self.books.ledger.leave::<M>(line, now, owner);
    }

    /// The packet in front of FIFO `buffer` is one of `owner` from now on.
    pub(crate) fn hold_input<M: Mode>(&mut self, buffer: u32, owner: Traffic) {
        *self.books.heads.edit::<M>(buffer) = owner;
    }

    /// The line of messages at NIC `link`.
    fn nic_line(&self, link: u32) -> u32 {
        self.books.line(link, self.links.get(link).first_vc)
    }

    /// Books the waits at NIC `link` until `now`; its first message waits again from the moment at which its last
    /// packet was out.
    fn book_nic<M: Mode>(&mut self, link: u32, now: Time) {
        let line = self.nic_line(link);
        let port = *self.ports.get(link);
        if port.first_away && port.free_at < now {
            self.ports.edit::<M>(link).first_away = false;
            self.books.ledger.charge::<M>(line, port.free_at, port.holder, LINK);
            self.books.ledger.join::<M>(line, port.free_at, port.holder);
        }
        self.book::<M>(link, line, now);
    }

    /// A message of `owner` joins the queue of NIC `link`.
    pub(crate) fn join_nic<M: Mode>(&mut self, link: u32, owner: Traffic, now: Time) {
        self.book_nic::<M>(link, now);
        let line = self.nic_line(link);
        self.books.ledger.join::<M>(line, now, owner);
    }

    /// A packet of the first message starts; `last`: it has no further one.
    pub(crate) fn leave_nic<M: Mode>(&mut self, link: u32, owner: Traffic, now: Time, last: bool) {
        self.book_nic::<M>(link, now);
        if !self.ports.get(link).first_away {
            let line = self.nic_line(link);
            self.books.ledger.leave::<M>(line, now, owner);
        }
        let port = self.ports.edit::<M>(link);
        (port.first_away, port.holder) = (!last, owner);
    }

    /// Credits of `link` are about to be counted: the one that was due first says who held the room that was waited
    /// for, on each virtual channel. Of several due at once that of the lowest owner, because the order in which
    /// they lie here says nothing.
    #[inline]
    pub(crate) fn settle_credits<M: Mode>(&mut self, link: u32, now: Time) {
        let port = self.ports.get(link);
        let nic = link >= self.links.ports;
        // What a NIC's queue holds is not counted as waiting at its port.
        if !nic && port.waiting == 0 {
            return;
        }
        let mut at = port.credits;
        let shelf = self.shelves.get(link);
        for i in 0..usize::from(shelf.len) {
            let shelf = self.shelves.get(link);
            if shelf.due[i] <= now {
                self.settle_channel::<M>(link, shelf.vc[i], now);
            }
        }
        while at != NIL {
            let credit = *self.credits.get(at);
            if credit.due <= now {
                self.settle_channel::<M>(link, credit.vc, now);
            }
            at = credit.next();
        }
    }

    /// The same for virtual channel `vc`, of which a credit is due.
    fn settle_channel<M: Mode>(&mut self, link: u32, vc: u8, now: Time) {
        let at = self.links.get(link).first_vc + u32::from(vc);
        let nic = link >= self.links.ports;
        let line = match (nic, self.books.overflows) {
            (true, _) => self.nic_line(link),
            (false, true) => self.books.outputs + at,
            (false, false) => at,
        };
        if self.books.ledger.waiting(line) == 0 && !(nic && self.ports.get(link).first_away) {
            return;
        }
        let Some(owner) = self.first_credit(link, vc, now) else {
            return;
        };
        if nic {
            self.book_nic::<M>(link, now);
        } else if self.books.overflows {
            self.books.ledger.defer::<M>(line, now);
        } else {
            self.book::<M>(link, line, now);
        }
        self.books.ledger.settle::<M>(line, now, owner, CREDIT);
    }

    /// Whose credit of `vc` was due first, of those that are due.
    fn first_credit(&self, link: u32, vc: u8, now: Time) -> Option<Traffic> {
        let shelf = self.shelves.get(link);
        let on_shelf = (0..usize::from(shelf.len))
            .filter(|&i| shelf.vc[i] == vc)
            .map(|i| (shelf.due[i], shelf.owner[i]));
        let mut first = on_shelf.min();
        let mut at = self.ports.get(link).credits;
        while at != NIL {
            let credit = self.credits.get(at);
            if credit.vc == vc {
                let this = (credit.due, credit.owner);
                first = Some(first.map_or(this, |other| other.min(this)));
            }
            at = credit.next();
        }
        first.filter(|&(due, _)| due <= now).map(|(_, owner)| owner)
    }

    /// Books everything until `now`, the end of a run in the middle of waits.
    pub(crate) fn close_books(&mut self, now: Time) {
        use odonata_engine::Plain;
        if !self.books.is_on() {
            return;
        }
        for link in 0..self.ports.len() as u32 {
            if link >= self.links.ports {
                self.book_nic::<Plain>(link, now);
                continue;
            }
            let l = self.links.get(link);
            for at in l.first_vc..l.first_vc + u32::from(l.vcs) {
                let line = self.books.line(link, at);
                self.book::<Plain>(link, line, now);
            }
        }
        for buffer in 0..self.books.heads.len() as u32 {
            let head = *self.books.heads.get(buffer);
            self.books
                .ledger
                .charge::<Plain>(self.books.outputs + buffer, now, head, INPUT);
        }
        self.books.ledger.close(now);
    }

    /// All charges, in order of link, resource, victim, culprit.
    pub(crate) fn charges(&self) -> Vec<LinkCharge> {
        let links = &self.links;
        let Books {
            ref ledger,
            outputs,
            overflows,
            ..
        } = self.books;
        let mut link_of = Vec::new();
        for (number, link) in (0..).zip(&links.links) {
            link_of.extend(std::iter::repeat_n(number, usize::from(link.vcs)));
        }
        let mut charges: Vec<LinkCharge> = ledger
            .charges()
            .map(|charge| {
                let link = match (charge.line.checked_sub(outputs), overflows) {
                    (None, true) => charge.line,
                    (None, false) => link_of[charge.line as usize],
                    (Some(at), true) => link_of[at as usize],
                    (Some(buffer), false) => links.feeding[buffer as usize],
                };
                // What nobody was known to hold yet was room.
                let resource = if charge.culprit.is_some() { charge.cause } else { CREDIT };
                LinkCharge {
                    link,
                    resource,
                    victim: charge.victim,
                    culprit: charge.culprit,
                    time: charge.time,
                }
            })
            .collect();
        let name = |c: &LinkCharge| (c.link, c.resource, c.victim, c.culprit);
        charges.sort_unstable_by_key(name);
        charges.dedup_by(|next, sum| {
            let same = name(next) == name(sum);
            if same {
                sum.time += next.time;
            }
            same
        });
        charges
    }
}
