//! Max-min fair rates of flows over shared links, kept up to date as flows come and go.
//!
//! A flow f takes w(f, l) of its rate on link l. The rates are max-min fair if every flow has a *bottleneck*: a link that is
//! saturated, and on which no other flow has a higher rate (D. Bertsekas, R. Gallager, Data Networks, 1992, 6.5.2). They are
//! unique, and progressive filling finds them: the link with the smallest fair share, (capacity - what is taken) / weights of
//! flows without rate, gives all of these that share, and so on.
//!
//! When flows come or go, only some rates are filled anew: of those whose bottleneck has changed ([`filling`]). Then every link that one of
//! them crosses is looked at; where a flow outside has lost its bottleneck, or is above the share of one inside, it joins, and
//! they are filled again. When nobody joins every flow has a bottleneck, so that the rates are those that filling all would give.
//!
//! A link keeps what its flows take, how many of them it holds up and at which rate, so that a filling costs what is on the paths of
//! the flows inside, not what is on their links: on a large machine a link has hundreds of flows of which one or two have changed.

mod filling;

use filling::Filling;
use odonata_engine::{Mode, NIL, Pool, Store, slots};

/// Relative differences below this are rounding.
const ROUNDING: f64 = 1e-9;

/// After so many times of filling, everybody joins: a bound on the work.
const PATIENCE: u32 = 12;

/// Everybody joins, too, when one of so many flows has: the change goes through all of the machine, and to fill all rates once is
/// cheaper than those of ever more.
const MOST_APART: usize = 16;

/// A flow that has no rate yet takes nothing until rates are filled where less than this part of what it would have alone is left.
const LEAST_REST: f64 = 1.0 / 16.0;

/// A link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct LinkState {
    /// Bytes per picosecond.
    capacity: f64,
    /// What its flows would take if nothing but their sources limited them, in 2^-32 bytes per picosecond: whole numbers, so that
    /// what is added can be taken off again.
    demand: u64,
    /// What its flows take, in units of [`RATE_UNIT`]: whole numbers, for the same reason.
    taken: i64,
    /// The rate of the flows whose bottleneck it is, if there are any.
    share: f64,
    /// How many these are, how many of its flows have no rate yet, and how many flows it has.
    held: u32,
    fresh: u32,
    flows: u32,
    /// First of its [uses](Use).
    first: u32,
    /// The next of the links on which flows have come or gone since rates were last filled; itself if it is the last; NIL if it is
    /// none of them.
    next_dirty: u32,
}

/// A flow.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct FlowState {
    /// Bytes per picosecond.
    rate: f64,
    /// Its bottleneck; NIL before it has a rate.
    bottleneck: u32,
    /// First of its uses.
    first: u32,
    next: u32,
}

/// Part of a path: a link, what part of its rate a flow takes on it, and on which level of the routing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) link: u32,
    pub(crate) weight: f64,
    pub(crate) level: u8,
}

impl From<(u32, f64)> for Step {
    fn from((link, weight): (u32, f64)) -> Step {
        Step { link, weight, level: 0 }
    }
}

/// A flow on a link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Use {
    weight: f64,
    demand: u64,
    flow: u32,
    link: u32,
    level: u8,
    /// The others of the link.
    before: u32,
    after: u32,
    /// The next of the flow, or of free slots.
    next: u32,
}

slots!(FlowState Use);

impl FlowState {
    /// Whether this is its rate, but for rounding.
    fn has(&self, rate: f64) -> bool {
        (self.rate - rate).abs() <= rate * ROUNDING * 1e-3
    }

    /// Whether these are its rate and bottleneck.
    fn is(&self, rate: f64, bottleneck: u32) -> bool {
        self.has(rate) && self.bottleneck == bottleneck
    }
}

/// The rates of flows over links.
#[derive(Debug)]
pub(crate) struct MaxMin {
    links: Store<LinkState>,
    flows: Pool<FlowState>,
    uses: Pool<Use>,
    /// The first link on which flows have come or gone since the last filling.
    dirty: Store<u32>,
    /// How many flows there are on links.
    count: Store<u32>,
    filling: Filling,
}
odonata_engine::journalled!(MaxMin {
    links,
    flows,
    uses,
    dirty,
    count
});

impl MaxMin {
    /// Links with these capacities, bytes per picosecond, without flows.
    pub(crate) fn new(capacities: impl Iterator<Item = f64>) -> MaxMin {
        let link = |capacity| LinkState {
            capacity,
            demand: 0,
            taken: 0,
            share: 0.0,
            held: 0,
            fresh: 0,
            flows: 0,
            first: NIL,
            next_dirty: NIL,
        };
        MaxMin {
            links: Store::from_vec(capacities.map(link).collect()),
            flows: Pool::new(),
            uses: Pool::new(),
            dirty: Store::filled(1, NIL),
            count: Store::filled(1, 0),
            filling: Filling::default(),
        }
    }

    /// A flow that would have rate `demand` alone, and takes these parts of it on links, each of which is there once. It has rate 0 until
    /// [`fill`](Self::fill).
    pub(crate) fn start<M: Mode>(&mut self, demand: f64, path: impl Iterator<Item: Into<Step>>) -> u32 {
        let flow = self.flows.allocate::<M>(FlowState {
            rate: 0.0,
            bottleneck: NIL,
            first: NIL,
            next: NIL,
        });
        self.lay::<M>(flow, demand, path);
        flow
    }

    /// Until rates are filled `flow`, which has none yet, takes what is left on all of its links: its rate. Nothing where that is hardly
    /// anything, see [`LEAST_REST`].
    pub(crate) fn take_rest<M: Mode>(&mut self, flow: u32) -> f64 {
        let (mut rate, mut alone) = (f64::INFINITY, f64::INFINITY);
        for step in self.path(flow) {
            let state = self.links.get(step.link);
            rate = rate.min((state.capacity - state.taken as f64 / RATE_UNIT) / step.weight);
            alone = alone.min(state.capacity / step.weight);
        }
        let rate = if rate < LEAST_REST * alone { 0.0 } else { rate };
        let mut at = self.flows.get(flow).first;
        while at != NIL {
            let of = *self.uses.get(at);
            self.links.edit::<M>(of.link).taken += taken_on(rate, of.weight);
            at = of.next;
        }
        self.flows.edit::<M>(flow).rate = rate;
        rate
    }

    /// Lays `flow`, which is on no links, over these.
    fn lay<M: Mode>(&mut self, flow: u32, demand: f64, path: impl Iterator<Item: Into<Step>>) {
        let rate = self.flows.get(flow).rate;
        for step in path {
            let Step { link, weight, level } = step.into();
            let state = *self.links.get(link);
            let demand = demand_on(demand, weight);
            let next = self.flows.get(flow).first;
            let number = self.uses.allocate::<M>(Use {
                weight,
                demand,
                flow,
                link,
                level,
                before: NIL,
                after: state.first,
                next,
            });
            if state.first != NIL {
                self.uses.edit::<M>(state.first).before = number;
            }
            self.flows.edit::<M>(flow).first = number;
            let state = self.links.edit::<M>(link);
            state.first = number;
            state.demand += demand;
            state.taken += taken_on(rate, weight);
            state.flows += 1;
            state.fresh += 1;
            self.has_changed::<M>(link);
        }
        *self.count.edit::<M>(0) += u32::from(self.flows.get(flow).first != NIL);
    }

    /// Takes `flow` off its links.
    fn lift<M: Mode>(&mut self, flow: u32) {
        let FlowState {
            rate,
            bottleneck,
            first,
            ..
        } = *self.flows.get(flow);
        *self.count.edit::<M>(0) -= u32::from(first != NIL);
        let mut at = first;
        while at != NIL {
            let of = *self.uses.get(at);
            if of.before == NIL {
                self.links.edit::<M>(of.link).first = of.after;
            } else {
                self.uses.edit::<M>(of.before).after = of.after;
            }
            if of.after != NIL {
                self.uses.edit::<M>(of.after).before = of.before;
            }
            let state = self.links.edit::<M>(of.link);
            state.demand -= of.demand;
            state.taken -= taken_on(rate, of.weight);
            state.flows -= 1;
            state.fresh -= u32::from(bottleneck == NIL);
            state.held -= u32::from(bottleneck == of.link);
            self.has_changed::<M>(of.link);
            self.uses.free::<M>(at);
            at = of.next;
        }
        self.flows.edit::<M>(flow).first = NIL;
    }

    /// `flow` goes over other links from now on.
    pub(crate) fn move_to<M: Mode>(&mut self, flow: u32, demand: f64, path: impl Iterator<Item: Into<Step>>) {
        self.lift::<M>(flow);
        self.flows.edit::<M>(flow).bottleneck = NIL;
        self.lay::<M>(flow, demand, path);
    }

    /// `flow` is no more.
    pub(crate) fn end<M: Mode>(&mut self, flow: u32) {
        self.lift::<M>(flow);
        self.flows.free::<M>(flow);
    }

    fn has_changed<M: Mode>(&mut self, link: u32) {
        if self.links.get(link).next_dirty != NIL {
            return;
        }
        let first = *self.dirty.get(0);
        self.links.edit::<M>(link).next_dirty = if first == NIL { link } else { first };
        *self.dirty.edit::<M>(0) = link;
    }

    /// The rate of `flow`, bytes per picosecond, and its bottleneck.
    pub(crate) fn rate(&self, flow: u32) -> (f64, u32) {
        let state = self.flows.get(flow);
        (state.rate, state.bottleneck)
    }

    /// The path of `flow`, in the order in which it was laid or the other way round.
    pub(crate) fn path(&self, flow: u32) -> impl Iterator<Item = Step> + '_ {
        let mut at = self.flows.get(flow).first;
        std::iter::from_fn(move || {
            let &Use {
                link,
                weight,
                level,
                next,
                ..
            } = (at != NIL).then(|| self.uses.get(at))?;
            at = next;
            Some(Step { link, weight, level })
        })
    }

    /// The flows on `link` on this level.
    pub(crate) fn flows_on(&self, link: u32, level: u8) -> impl Iterator<Item = u32> + '_ {
        let of_link = uses_of(&self.uses, self.links.get(link).first);
        of_link.filter(move |of| of.level == level).map(|of| of.flow)
    }

    /// What the flows on `link` would take if nothing but their sources limited them, and `more` (bytes per picosecond) beside: as a
    /// part of its capacity.
    pub(crate) fn demand(&self, link: u32, more: f64) -> f64 {
        let state = self.links.get(link);
        (state.demand as f64 / DEMAND_UNIT + more) / state.capacity
    }

    /// The capacity of `link`, bytes per picosecond.
    pub(crate) fn capacity(&self, link: u32) -> f64 {
        self.links.get(link).capacity
    }

    /// `link` has this capacity from now on.
    pub(crate) fn set_capacity<M: Mode>(&mut self, link: u32, capacity: f64) {
        if self.links.get(link).capacity != capacity {
            self.links.edit::<M>(link).capacity = capacity;
            self.has_changed::<M>(link);
        }
    }

    /// What the flows on `link` but `other` take of it, the sum of their weights, and what they would take if nothing but their
    /// sources limited them.
    pub(crate) fn without(&self, link: u32, other: u32) -> (f64, f64, f64) {
        let (mut taken, mut weights, mut demand) = (0.0, 0.0, 0);
        for of in uses_of(&self.uses, self.links.get(link).first).filter(|of| of.flow != other) {
            taken += of.weight * self.flows.get(of.flow).rate;
            weights += of.weight;
            demand += of.demand;
        }
        (taken, weights, demand as f64 / DEMAND_UNIT)
    }

    pub(crate) fn memory(&self) -> usize {
        self.links.memory() + self.flows.memory() + self.uses.memory()
    }

    /// How many flows there are.
    fn count(&self) -> usize {
        *self.count.get(0) as usize
    }

    /// Makes rates max-min fair again; calls `changed` with each flow whose rate is another one now, before it is, and that rate; without
    /// one where only its bottleneck is another. How many have been looked at.
    pub(crate) fn fill<M: Mode>(&mut self, mut changed: impl FnMut(u32, Option<f64>)) -> usize {
        let mut work = std::mem::take(&mut self.filling);
        work.begin();
        let mut link = std::mem::replace(self.dirty.edit::<M>(0), NIL);
        while link != NIL {
            let LinkState { first, held, fresh, .. } = *self.links.get(link);
            let of_link = uses_of(&self.uses, first).filter(|of| {
                let bottleneck = self.flows.get(of.flow).bottleneck;
                bottleneck == link || bottleneck == NIL
            });
            of_link
                .take((held + fresh) as usize)
                .for_each(|of| work.add(self, of.flow));
            let next = std::mem::replace(&mut self.links.edit::<M>(link).next_dirty, NIL);
            link = if next == link { NIL } else { next };
        }
        let mut times = 0;
        while !work.is_empty() {
            work.fill(self);
            times += 1;
            if work.has_all(self) {
                break;
            }
            let everybody = work.len() * MOST_APART > self.count() || times > PATIENCE;
            if everybody {
                (0..self.links.len() as u32).for_each(|link| work.add_all(self, link));
            } else if !work.widen(self) {
                break;
            }
        }
        let filled = work.len();
        // First those that change leave the books of their links, then they are in them anew.
        for (flow, rate, bottleneck) in work.found() {
            let old = *self.flows.get(flow);
            if !old.is(rate, bottleneck) && old.bottleneck != NIL {
                let links = &mut self.links;
                links.edit::<M>(old.bottleneck).held -= 1;
            }
        }
        for (flow, rate, bottleneck) in work.found() {
            let old = *self.flows.get(flow);
            if old.is(rate, bottleneck) {
                continue;
            }
            let same = old.has(rate);
            changed(flow, (!same).then_some(rate));
            let rate = if same { old.rate } else { rate };
            let mut at = old.first;
            while at != NIL {
                let of = self.uses.get(at);
                let state = self.links.edit::<M>(of.link);
                state.taken += taken_on(rate, of.weight) - taken_on(old.rate, of.weight);
                state.fresh -= u32::from(old.bottleneck == NIL);
                if bottleneck == of.link {
                    (state.held, state.share) = (state.held + 1, rate);
                }
                at = of.next;
            }
            let state = self.flows.edit::<M>(flow);
            (state.rate, state.bottleneck) = (rate, bottleneck);
        }
        self.filling = work;
        filled
    }
}

/// Units of demand in a byte per picosecond.
const DEMAND_UNIT: f64 = (1_u64 << 32) as f64;

fn demand_on(demand: f64, weight: f64) -> u64 {
    (demand * weight * DEMAND_UNIT) as u64
}

/// Units of what is taken in a byte per picosecond: so many links of the highest bandwidth fit into 63 bits.
const RATE_UNIT: f64 = (1_u64 << 50) as f64;

/// What a flow of `rate` takes on a link.
fn taken_on(rate: f64, weight: f64) -> i64 {
    (rate * weight * RATE_UNIT) as i64
}

/// The uses of a link, from its first on.
fn uses_of(uses: &Pool<Use>, first: u32) -> impl Iterator<Item = &Use> {
    let mut at = first;
    std::iter::from_fn(move || {
        let of = (at != NIL).then(|| uses.get(at))?;
        at = of.after;
        Some(of)
    })
}

#[cfg(test)]
mod tests;
