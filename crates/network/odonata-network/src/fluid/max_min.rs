//! Max-min fair rates of flows over shared links, updated incrementally as flows start and end.
//!
//! A flow f takes w(f, l) of its rate on link l. The rates are max-min fair if every flow has a *bottleneck*: a
//! saturated link on which no other flow has a higher rate (D. Bertsekas, R. Gallager, Data Networks, 1992, 6.5.2).
//! They are unique, and progressive filling finds them: the link with the smallest fair share, (capacity - load) /
//! weights of flows without rate, gives that share to all of these, and so on.
//!
//! When flows start or end, only flows whose bottleneck has changed get new rates ([`filling`]). Then every link that
//! one of them crosses is checked: a flow outside that has lost its bottleneck, or exceeds the share of one inside,
//! joins, and filling repeats. When no flow joins, every flow has a bottleneck, so the rates equal those of filling
//! all.
//!
//! A link stores the load of its flows, and the number and rate of the flows that it limits. So filling costs in
//! proportion to the paths of the flows inside, not to all flows on their links. On a large machine a link has hundreds
//! of flows, and one or two of them have changed.

mod filling;

use filling::Filling;
use odonata_engine::{Mode, NIL, Pool, Store, slots};

/// Relative differences below this are rounding errors.
const ROUNDING: f64 = 1e-9;

/// After this number of rounds all flows join, which bounds the work.
const PATIENCE: u32 = 12;

/// All flows also join when one in this many has: the change affects the whole machine, and one full filling is cheaper
/// than ever larger ones.
const MOST_APART: usize = 4;

/// A new flow gets no rate before the next filling if a link without flows that it limits leaves less than this fraction
/// of the flow's rate alone.
const LEAST_REST: f64 = 1.0 / 16.0;

/// Flows without a filling overload a link if it has more than this multiple of its capacity.
const OVERLOAD: f64 = 1.125;

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct LinkState {
    /// Bytes per picosecond.
    capacity: f64,
    /// The sum of its flows' demands in 2^-32 bytes per picosecond: an integer, so that additions can be undone
    /// exactly.
    demand: u64,
    /// The load of its flows in units of [`RATE_UNIT`]: an integer, for the same reason.
    taken: i64,
    /// The part of that load whose flows a link further on their paths limits.
    queued: i64,
    /// The rate of the flows that it limits, if any.
    share: f64,
    /// Number of flows that it limits, of its flows without rate, and of all its flows.
    held: u32,
    fresh: u32,
    flows: u32,
    /// The first of its [uses](Use).
    first: u32,
    /// The next link with flows started or ended since the last filling; itself if last; NIL if not in the list.
    next_dirty: u32,
}

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct FlowState {
    /// Bytes per picosecond: now, and alone.
    rate: f64,
    demand: f64,
    /// Its bottleneck; NIL before it has a rate.
    bottleneck: u32,
    /// The first of its uses.
    first: u32,
    next: u32,
}

/// A step of a path: a link, the fraction of the flow's rate on it, the fraction of its bytes that count there, and the
/// level of the routing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) link: u32,
    pub(crate) weight: f64,
    pub(crate) counted: f32,
    pub(crate) level: u8,
}

impl From<(u32, f64)> for Step {
    fn from((link, weight): (u32, f64)) -> Step {
        Step {
            link,
            weight,
            counted: 1.0,
            level: 0,
        }
    }
}

/// A flow on a link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Use {
    weight: f64,
    counted: f32,
    flow: u32,
    link: u32,
    level: u8,
    /// The other uses of the link.
    before: u32,
    after: u32,
    /// The next use of the flow, or the next free slot.
    next: u32,
}

slots!(FlowState Use);

impl LinkState {
    /// The rate of each flow that it limits if flows without rate shared equally with these, and `rest` were left; zero
    /// if it limits none.
    fn share_with_fresh(&self, rest: f64) -> f64 {
        if self.held == 0 {
            return 0.0;
        }
        let (held, fresh) = (f64::from(self.held), f64::from(self.fresh));
        self.share.min((self.share * held + rest) / (held + fresh))
    }
}

impl FlowState {
    /// Whether this is its rate, up to rounding.
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
    /// The first link with flows started or ended since the last filling.
    dirty: Store<u32>,
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
    /// Links with these capacities in bytes per picosecond, without flows.
    pub(crate) fn new(capacities: impl Iterator<Item = f64>) -> MaxMin {
        let link = |capacity| LinkState {
            capacity,
            demand: 0,
            taken: 0,
            queued: 0,
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

    /// Adds a flow with rate `demand` alone that takes these fractions of it on links, each listed once. It has rate 0
    /// until [`fill`](Self::fill).
    pub(crate) fn start<M: Mode>(&mut self, demand: f64, path: impl Iterator<Item: Into<Step>>) -> u32 {
        let flow = self.flows.allocate::<M>(FlowState {
            rate: 0.0,
            demand,
            bottleneck: NIL,
            first: NIL,
            next: NIL,
        });
        self.lay::<M>(flow, demand, path);
        flow
    }

    /// Gives `flow`, which has no rate yet, a rate until the next filling; returns it. On each of its links this is the
    /// capacity left, or its share with the flows that the link limits, if that is more. It is zero if little is left,
    /// see [`LEAST_REST`].
    pub(crate) fn take_share<M: Mode>(&mut self, flow: u32) -> f64 {
        let (mut rate, mut alone, mut is_share) = (f64::INFINITY, f64::INFINITY, false);
        for step in self.path(flow) {
            let state = self.links.get(step.link);
            let rest = ((state.capacity - state.taken as f64 / RATE_UNIT) / step.weight).max(0.0);
            let share = state.share_with_fresh(rest);
            if share.max(rest) < rate {
                (rate, is_share) = (share.max(rest), share > rest);
            }
            alone = alone.min(state.capacity / step.weight);
        }
        let rate = if !is_share && rate < LEAST_REST * alone {
            0.0
        } else {
            rate
        };
        let mut at = self.flows.get(flow).first;
        while at != NIL {
            let of = *self.uses.get(at);
            self.links.edit::<M>(of.link).taken += taken_on(rate, of.weight);
            at = of.next;
        }
        self.flows.edit::<M>(flow).rate = rate;
        rate
    }

    /// Whether some link of `flow` has clearly more load than its capacity.
    pub(crate) fn overloads(&self, flow: u32) -> bool {
        self.path(flow)
            .any(|step| self.taken(step.link) > self.capacity(step.link) * OVERLOAD)
    }

    /// Puts `flow`, which is on no links, on these.
    fn lay<M: Mode>(&mut self, flow: u32, demand: f64, path: impl Iterator<Item: Into<Step>>) {
        let rate = self.flows.get(flow).rate;
        if self.flows.get(flow).demand != demand {
            self.flows.edit::<M>(flow).demand = demand;
        }
        for step in path {
            let Step {
                link,
                weight,
                counted,
                level,
            } = step.into();
            let state = *self.links.get(link);
            let next = self.flows.get(flow).first;
            let number = self.uses.allocate::<M>(Use {
                weight,
                counted,
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
            state.demand += demand_on(demand, weight);
            state.taken += taken_on(rate, weight);
            state.flows += 1;
            state.fresh += 1;
            self.has_changed::<M>(link);
        }
        *self.count.edit::<M>(0) += u32::from(self.flows.get(flow).first != NIL);
    }

    /// Removes `flow` from its links.
    fn lift<M: Mode>(&mut self, flow: u32) {
        let FlowState {
            rate,
            demand,
            bottleneck,
            first,
            ..
        } = *self.flows.get(flow);
        let mut is_upstream = false;
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
            state.demand -= demand_on(demand, of.weight);
            state.taken -= taken_on(rate, of.weight);
            state.queued -= i64::from(is_upstream) * taken_on(rate, of.weight);
            is_upstream |= bottleneck == of.link;
            state.flows -= 1;
            state.fresh -= u32::from(bottleneck == NIL);
            state.held -= u32::from(bottleneck == of.link);
            self.has_changed::<M>(of.link);
            self.uses.free::<M>(at);
            at = of.next;
        }
        self.flows.edit::<M>(flow).first = NIL;
    }

    /// Moves `flow` to other links.
    pub(crate) fn move_to<M: Mode>(&mut self, flow: u32, demand: f64, path: impl Iterator<Item: Into<Step>>) {
        self.lift::<M>(flow);
        self.flows.edit::<M>(flow).bottleneck = NIL;
        self.lay::<M>(flow, demand, path);
    }

    /// Removes `flow`.
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

    /// The path of `flow`, in the given or in reverse order.
    pub(crate) fn path(&self, flow: u32) -> impl Iterator<Item = Step> + '_ {
        let mut at = self.flows.get(flow).first;
        std::iter::from_fn(move || {
            let &Use {
                link,
                weight,
                counted,
                level,
                next,
                ..
            } = (at != NIL).then(|| self.uses.get(at))?;
            at = next;
            Some(Step {
                link,
                weight,
                counted,
                level,
            })
        })
    }

    /// Some of the flows that `link` limits, the last ones to come: at most `most` of its flows are looked at.
    pub(crate) fn limited_by(&self, link: u32, most: usize) -> impl Iterator<Item = u32> + '_ {
        let state = self.links.get(link);
        let of_link = uses_of(&self.uses, if state.held > 0 { state.first } else { NIL });
        let flows = of_link.take(most).map(|of| of.flow);
        flows.filter(move |&flow| self.flows.get(flow).bottleneck == link)
    }

    /// The load of `link`, bytes per picosecond, whose flows a link further on limits.
    pub(crate) fn queued(&self, link: u32) -> f64 {
        self.links.get(link).queued as f64 / RATE_UNIT
    }

    /// The demand on `link` as a fraction of its capacity: of its flows, plus `more` (bytes per picosecond).
    pub(crate) fn demand(&self, link: u32, more: f64) -> f64 {
        let state = self.links.get(link);
        (state.demand as f64 / DEMAND_UNIT + more) / state.capacity
    }

    /// The load of `link`, bytes per picosecond.
    pub(crate) fn taken(&self, link: u32) -> f64 {
        self.links.get(link).taken as f64 / RATE_UNIT
    }

    pub(crate) fn capacity(&self, link: u32) -> f64 {
        self.links.get(link).capacity
    }

    /// Sets the capacity of `link`.
    pub(crate) fn set_capacity<M: Mode>(&mut self, link: u32, capacity: f64) {
        if self.links.get(link).capacity != capacity {
            self.links.edit::<M>(link).capacity = capacity;
            self.has_changed::<M>(link);
        }
    }

    /// The load, the sum of weights, and the demand of the flows on `link` except `other`.
    pub(crate) fn without(&self, link: u32, other: u32) -> (f64, f64, f64) {
        let (mut taken, mut weights, mut demand) = (0.0, 0.0, 0);
        for of in uses_of(&self.uses, self.links.get(link).first).filter(|of| of.flow != other) {
            let flow = self.flows.get(of.flow);
            taken += of.weight * flow.rate;
            weights += of.weight;
            demand += demand_on(flow.demand, of.weight);
        }
        (taken, weights, demand as f64 / DEMAND_UNIT)
    }

    /// Number of flows on links.
    pub(crate) fn count(&self) -> usize {
        *self.count.get(0) as usize
    }

    /// Makes the rates max-min fair again. Calls `changed` with each flow whose rate changes, before the change, and
    /// the new rate; without a rate if only its bottleneck changes. Returns the number of flows examined.
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
        // First remove changed flows from their links' sums, then add them with new rates.
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
            // From the last link on, the links after the bottleneck come first.
            let (mut was_upstream, mut is_upstream) = (false, false);
            while at != NIL {
                let of = self.uses.get(at);
                let state = self.links.edit::<M>(of.link);
                let (before, after) = (taken_on(old.rate, of.weight), taken_on(rate, of.weight));
                state.taken += after - before;
                state.queued += i64::from(is_upstream) * after - i64::from(was_upstream) * before;
                was_upstream |= old.bottleneck == of.link;
                is_upstream |= bottleneck == of.link;
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

/// Units of demand per byte per picosecond.
const DEMAND_UNIT: f64 = (1_u64 << 32) as f64;

fn demand_on(demand: f64, weight: f64) -> u64 {
    (demand * weight * DEMAND_UNIT) as u64
}

/// Units of load per byte per picosecond: 63 bits hold the load of many links of the highest bandwidth.
const RATE_UNIT: f64 = (1_u64 << 50) as f64;

/// The load of a flow of `rate` on a link.
fn taken_on(rate: f64, weight: f64) -> i64 {
    (rate * weight * RATE_UNIT) as i64
}

/// The uses of a link, from its first.
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
