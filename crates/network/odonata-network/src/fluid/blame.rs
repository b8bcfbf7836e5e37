//! Blame among flows: by share of the bottleneck.
//!
//! A flow with rate r whose rate alone would be a, that of the slowest link of its path, waits 1 - r / a seconds per
//! second at its bottleneck. The wait is charged to the other flows there, in proportion to their rates
//! ([`odonata_blame::Shares`]); a part of a message on one of several paths waits in proportion. So the wait of a
//! message is the excess of its time over its time alone. Before it flows, it waits
//!
//! | while | for the owner of | at |
//! |---|---|---|
//! | its NIC sends earlier messages | each of these in its turn | its NIC |
//! | others have a backlog upstream of a bottleneck on its path | these flows, by their rates | that bottleneck |
//! | an earlier message of its node uses the same bottleneck | that message | that bottleneck |
//!
//! All waits are [`LINK`]: rates include the effect of full buffers. Packets beside flows can be culprits like flows;
//! their own waits are charged in the packet model.

use super::max_min::{MaxMin, Step};
use super::pipes::Pipes;
use crate::features::Uses;
use crate::message::Traffic;
use crate::observe::blame::{LINK, LinkCharge, NIC, PLACES, RESOURCES, WaitSeries};
use crate::params::NetworkParams;
use odonata_blame::{Ledger, Shares, Taking};
use odonata_engine::{GrowableStore, NIL, Time};
use odonata_topology::Topology;

/// A flow in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, smart_default::SmartDefault)]
struct Entry {
    owner: Traffic,
    /// Its fraction of the message.
    part: f64,
    /// Its rate alone, bytes per picosecond.
    alone: f64,
    /// The recorded rate, and the bottleneck.
    rate: f64,
    #[default(NIL)]
    bottleneck: u32,
    /// The link at which it waits behind another message, that message's owner, and the start of the wait; NIL without
    /// a wait.
    #[default(NIL)]
    behind: u32,
    by: Traffic,
    since: Time,
}

impl Entry {
    /// Its share of a link with this capacity on its path.
    fn taking(&self, step: Step, capacity: f64) -> Taking {
        let wait = match self.bottleneck == step.link && self.rate < self.alone {
            true => self.part * (1.0 - self.rate / self.alone),
            false => 0.0,
        };
        Taking {
            part: step.weight * self.rate / capacity,
            wait,
        }
    }
}

/// The rate of a flow over this path alone.
fn rate_alone(rates: &MaxMin, path: &[Step]) -> f64 {
    let most = path.iter().map(|step| rates.capacity(step.link) / step.weight);
    most.fold(f64::INFINITY, f64::min)
}

/// The cause of a message's wait: flows of an owner ahead of a link, or at it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Behind {
    pub(super) link: u32,
    pub(super) owner: Traffic,
}

/// The ledger of flows; empty if blame is off.
#[derive(Debug)]
pub(super) struct FlowBlame {
    /// By the machine's number of link.
    shares: Shares,
    /// Waits of messages in the queues of NICs: a line per queue of each node.
    queues: Ledger,
    /// By number of flow.
    entries: GrowableStore<Entry>,
    queues_of_node: u32,
    ports: u32,
}
odonata_engine::journalled!(FlowBlame {
    shares,
    queues,
    entries
});

impl FlowBlame {
    /// The ledger of a machine whose nodes have this many queues each; empty unless `booked`.
    pub(super) fn new(
        params: &NetworkParams,
        topology: &Topology,
        pipes: &Pipes,
        queues_of_node: u8,
        booked: bool,
    ) -> FlowBlame {
        let (ports, nodes) = (topology.ports(), topology.nodes());
        let (kinds, causes) = (PLACES.len() as u8, RESOURCES.len() as u8);
        let of_links = (0..ports).map(|port| topology.class(port) as u8);
        let of_sets = (0..pipes.sets()).map(|set| pipes.lowest(ports + nodes + set));
        let class = |link: u32| topology.class(link) as u8;
        let places = of_links
            .chain((0..nodes).map(|_| NIC))
            .chain(of_sets.map(class))
            .collect();
        let queues = nodes as usize * usize::from(queues_of_node);
        let (shares, queues) = match booked {
            true => (
                Shares::new(places, kinds, params.traffics, (LINK, causes), params.series),
                Ledger::new(vec![NIC; queues], kinds, params.traffics, causes, params.series),
            ),
            false => (Shares::off(), Ledger::off()),
        };
        FlowBlame {
            shares,
            queues,
            entries: GrowableStore::new(),
            queues_of_node: u32::from(queues_of_node),
            ports,
        }
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.queues.is_on()
    }

    /// Adds flow `flow` of `owner`, the fraction `part` of a message, over `path`.
    pub(super) fn enter<M: Uses>(&mut self, rates: &MaxMin, flow: u32, (owner, part): (Traffic, f64), path: &[Step]) {
        if self.is_on() {
            *self.entries.edit::<M>(flow as usize) = Entry {
                owner,
                part,
                alone: rate_alone(rates, path),
                ..Entry::default()
            };
        }
    }

    /// `flow` takes this path from now on.
    pub(super) fn has_moved<M: Uses>(&mut self, rates: &MaxMin, flow: u32, path: &[Step]) {
        if self.is_on() {
            self.entries.edit::<M>(flow as usize).alone = rate_alone(rates, path);
        }
    }

    /// `flow` has a new rate or bottleneck.
    pub(super) fn book<M: Uses>(&mut self, rates: &MaxMin, flow: u32, now: Time) {
        self.set::<M>(rates, flow, now, rates.rate(flow));
    }

    /// `flow` is about to leave the links of its path.
    pub(super) fn lift<M: Uses>(&mut self, rates: &MaxMin, flow: u32, now: Time) {
        self.set::<M>(rates, flow, now, (0.0, NIL));
    }

    fn set<M: Uses>(&mut self, rates: &MaxMin, flow: u32, now: Time, (rate, bottleneck): (f64, u32)) {
        if !self.is_on() {
            return;
        }
        let old = self.entries.get(flow as usize);
        let new = Entry {
            rate,
            bottleneck,
            ..old
        };
        if new == old {
            return;
        }
        let lines = self.shares.lines();
        for step in rates.path(flow).filter(|step| step.link < lines) {
            let capacity = rates.capacity(step.link);
            let (before, after) = (old.taking(step, capacity), new.taking(step, capacity));
            self.shares.change::<M>(step.link, now, new.owner, before, after);
        }
        *self.entries.edit::<M>(flow as usize) = new;
    }

    /// Removes `flow`.
    pub(super) fn leave<M: Uses>(&mut self, rates: &MaxMin, flow: u32, now: Time) {
        self.lift::<M>(rates, flow, now);
        if self.is_on() {
            *self.entries.edit::<M>(flow as usize) = Entry::default();
        }
    }

    /// The load of packets, represented by flow `flow`, belongs to `owner` from now on.
    pub(super) fn belongs_to<M: Uses>(&mut self, rates: &MaxMin, flow: u32, now: Time, owner: Traffic) {
        let Entry {
            rate,
            bottleneck,
            owner: known,
            ..
        } = self.entries.get(flow as usize);
        if self.is_on() && known != owner {
            self.lift::<M>(rates, flow, now);
            self.entries.edit::<M>(flow as usize).owner = owner;
            self.set::<M>(rates, flow, now, (rate, bottleneck));
        }
    }

    /// From `start` on `flow` waits behind another message, or no longer does.
    pub(super) fn waits_behind<M: Uses>(&mut self, flow: u32, start: Time, behind: Option<Behind>) {
        if !self.is_on() {
            return;
        }
        self.book_behind::<M>(flow, start);
        let entry = self.entries.edit::<M>(flow as usize);
        (entry.behind, entry.by) = behind.map_or((NIL, 0), |behind| (behind.link, behind.owner));
        entry.since = if behind.is_some() {
            start.max(entry.since)
        } else {
            Time::ZERO
        };
    }

    fn book_behind<M: Uses>(&mut self, flow: u32, now: Time) {
        let entry = self.entries.get(flow as usize);
        if entry.behind != NIL && now > entry.since {
            let time = entry.part * (now - entry.since).0 as f64;
            (self.shares).charge::<M>(entry.behind, (entry.since, now), (entry.owner, entry.by), time);
        }
    }

    /// The flow waits `time` from `now` on for the backlog ahead of a link.
    pub(super) fn waits_for<M: Uses>(&mut self, flow: u32, now: Time, behind: Behind, time: f64) {
        let Entry { owner, part, .. } = self.entries.get(flow as usize);
        let until = Time(now.0 + time as u64);
        (self.shares).charge::<M>(behind.link, (now, until), (owner, behind.owner), time * part);
    }

    /// The last packet of the flow waits `time` from `now` on for other packets on a link of pipe `link`.
    pub(super) fn waits_at<M: Uses>(&mut self, flow: u32, now: Time, link: u32, time: f64) {
        if self.is_on() {
            let Entry { owner, part, .. } = self.entries.get(flow as usize);
            let until = Time(now.0 + time as u64);
            self.shares.charge_takers::<M>(link, (now, until), owner, time * part);
        }
    }

    /// A message of `owner` joins `queue`, which sends a message of `holder`.
    pub(super) fn joins_queue<M: Uses>(&mut self, queue: u32, now: Time, owner: Traffic, holder: Traffic) {
        if self.is_on() {
            self.queues.charge::<M>(queue, now, holder, LINK);
            self.queues.join::<M>(queue, now, owner);
        }
    }

    /// `queue` has sent a message of `holder`.
    pub(super) fn has_sent<M: Uses>(&mut self, queue: u32, now: Time, holder: Traffic) {
        if self.is_on() {
            self.queues.charge::<M>(queue, now, holder, LINK);
        }
    }

    /// A message of `owner` that has waited in `queue` becomes its next one.
    pub(super) fn leaves_queue<M: Uses>(&mut self, queue: u32, now: Time, owner: Traffic) {
        if self.is_on() {
            self.queues.leave::<M>(queue, now, owner);
        }
    }

    /// Closes all waits at `now`, the end of a run; `holder` gives the owner of the message that each queue sends.
    pub(super) fn close(&mut self, now: Time, holder: impl Fn(u32) -> Option<Traffic>) {
        use odonata_engine::Plain;
        if !self.is_on() {
            return;
        }
        self.shares.close(now);
        let held: Vec<usize> = self.entries.iter().map(|(flow, _)| flow).collect();
        for flow in held {
            self.book_behind::<Plain>(flow as u32, now);
        }
        for queue in 0..self.queues.lines() {
            if let Some(holder) = holder(queue) {
                self.queues.charge::<Plain>(queue, now, holder, LINK);
            }
        }
    }

    /// Checks that no message waits in a queue.
    ///
    /// # Errors
    /// Names a place where one does.
    pub(super) fn audit(&self) -> Result<(), String> {
        self.queues.audit()
    }

    /// All charges, unsorted.
    pub(super) fn charges<'a>(&'a self, pipes: &'a Pipes) -> impl Iterator<Item = LinkCharge> + 'a {
        let of_queue = |line: u32| self.ports + line / self.queues_of_node.max(1);
        let of_queues = self.queues.charges().map(move |charge| (of_queue(charge.line), charge));
        let of_links = (self.shares.charges()).map(|charge| (pipes.lowest(charge.line), charge));
        of_links.chain(of_queues).map(|(link, charge)| LinkCharge {
            link,
            resource: charge.cause,
            victim: charge.victim,
            culprit: charge.culprit,
            time: charge.time,
        })
    }

    /// The charges over time.
    pub(super) fn series(&self) -> impl Iterator<Item = WaitSeries> + '_ {
        let both = self.shares.series().chain(self.queues.series());
        both.map(|charge| WaitSeries {
            start: charge.start,
            place: charge.place,
            resource: charge.cause,
            victim: charge.victim,
            culprit: charge.culprit,
            time: charge.time,
        })
    }

    /// The end of that series, if there is one.
    pub(super) fn series_end(&self) -> Option<Time> {
        self.queues.series_end()
    }
}
