//! Max-min fair rates of flows over shared links, kept up to date as flows come and go.
//!
//! A flow f takes w(f, l) of its rate on link l. The rates are max-min fair if every flow has a *bottleneck*: a link that is
//! saturated, and on which no other flow has a higher rate (D. Bertsekas, R. Gallager, Data Networks, 1992, 6.5.2). They are
//! unique, and progressive filling finds them: the link with the smallest fair share, (capacity - what is taken) / weights of
//! flows without rate, gives all of these that share, and so on.
//!
//! When flows come or go, only some rates are filled anew: of those whose bottleneck has changed. Then every link that one of
//! them crosses is looked at; where a flow outside has lost its bottleneck, or is above the share of one inside, it joins, and
//! they are filled again. When nobody joins every flow has a bottleneck, so that the rates are those that filling all would give.

use odonata_engine::{Mode, NIL, Pool, Store, slots};

/// Relative differences below this are rounding.
const ROUNDING: f64 = 1e-9;

/// After so many times of filling, everybody who shares a link with one inside joins: a bound on the work.
const PATIENCE: u32 = 12;

/// A link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct LinkState {
    /// Bytes per picosecond.
    capacity: f64,
    /// What its flows would take if nothing but their sources limited them, in 2^-32 bytes per picosecond: whole numbers, so that
    /// what is added can be taken off again.
    demand: u64,
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

/// A flow on a link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Use {
    weight: f64,
    demand: u64,
    flow: u32,
    link: u32,
    /// The others of the link.
    before: u32,
    after: u32,
    /// The next of the flow, or of free slots.
    next: u32,
}

slots!(FlowState Use);

/// Marks of flows and links that are good until they are taken together with the next number.
#[derive(Debug, Default)]
struct Marks {
    of: Vec<u32>,
    now: u32,
}

impl Marks {
    fn clear(&mut self) {
        self.now = self.now.wrapping_add(1);
        if self.now == 0 {
            self.of.fill(0);
            self.now = 1;
        }
    }

    fn has(&self, which: u32) -> bool {
        self.of.get(which as usize) == Some(&self.now)
    }

    /// Whether it is new.
    fn set(&mut self, which: u32) -> bool {
        let at = which as usize;
        if at >= self.of.len() {
            self.of.resize(at + 1, 0);
        }
        let new = self.of[at] != self.now;
        self.of[at] = self.now;
        new
    }
}

/// What a filling works with; empty between fillings.
#[derive(Debug, Default)]
struct Filling {
    /// Flows inside, their new rates and bottlenecks.
    inside: Vec<(u32, f64, u32)>,
    /// Where a flow stands in `inside`; good if it is marked.
    place: Vec<u32>,
    is_inside: Marks,
    /// Links that a flow inside crosses: what is left, the weights of flows inside that have no rate.
    links: Vec<(u32, f64, f64)>,
    /// Where a link stands in `links`.
    place_of_link: Vec<u32>,
    is_touched: Marks,
    /// Shares by which links come to their turn, some out of date.
    heap: std::collections::BinaryHeap<Turn>,
}

/// When a link comes to its turn: the smallest share first, of equal ones the lowest link.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Turn(f64, u32);

impl Eq for Turn {}

impl PartialOrd for Turn {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Turn {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
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
    filling: Filling,
}
odonata_engine::journalled!(MaxMin {
    links,
    flows,
    uses,
    dirty
});

impl MaxMin {
    /// Links with these capacities, bytes per picosecond, without flows.
    pub(crate) fn new(capacities: impl Iterator<Item = f64>) -> MaxMin {
        let link = |capacity| LinkState {
            capacity,
            demand: 0,
            first: NIL,
            next_dirty: NIL,
        };
        MaxMin {
            links: Store::from_vec(capacities.map(link).collect()),
            flows: Pool::new(),
            uses: Pool::new(),
            dirty: Store::filled(1, NIL),
            filling: Filling::default(),
        }
    }

    /// A flow that would have rate `demand` alone, and takes these parts of it on links, each of which is there once. It has rate 0 until
    /// [`fill`](Self::fill).
    pub(crate) fn start<M: Mode>(&mut self, demand: f64, path: impl Iterator<Item = (u32, f64)>) -> u32 {
        let flow = self.flows.allocate::<M>(FlowState {
            rate: 0.0,
            bottleneck: NIL,
            first: NIL,
            next: NIL,
        });
        self.lay::<M>(flow, demand, path);
        flow
    }

    /// Lays `flow`, which is on no links, over these.
    fn lay<M: Mode>(&mut self, flow: u32, demand: f64, path: impl Iterator<Item = (u32, f64)>) {
        for (link, weight) in path {
            let state = *self.links.get(link);
            let demand = demand_on(demand, weight);
            let next = self.flows.get(flow).first;
            let number = self.uses.allocate::<M>(Use {
                weight,
                demand,
                flow,
                link,
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
            self.has_changed::<M>(link);
        }
    }

    /// Takes `flow` off its links.
    fn lift<M: Mode>(&mut self, flow: u32) {
        let mut at = self.flows.get(flow).first;
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
            self.links.edit::<M>(of.link).demand -= of.demand;
            self.has_changed::<M>(of.link);
            self.uses.free::<M>(at);
            at = of.next;
        }
        self.flows.edit::<M>(flow).first = NIL;
    }

    /// `flow` goes over other links from now on.
    pub(crate) fn move_to<M: Mode>(&mut self, flow: u32, demand: f64, path: impl Iterator<Item = (u32, f64)>) {
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

    /// The links of `flow` and its weight on each.
    pub(crate) fn path(&self, flow: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let mut at = self.flows.get(flow).first;
        std::iter::from_fn(move || {
            let of = (at != NIL).then(|| self.uses.get(at))?;
            at = of.next;
            Some((of.link, of.weight))
        })
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

    /// Makes rates max-min fair again; calls `changed` with each flow whose rate is another one now, before it is.
    pub(crate) fn fill<M: Mode>(&mut self, mut changed: impl FnMut(u32, f64)) {
        let mut work = std::mem::take(&mut self.filling);
        work.begin();
        let mut link = std::mem::replace(self.dirty.edit::<M>(0), NIL);
        while link != NIL {
            for of in uses_of(&self.uses, self.links.get(link).first) {
                let bottleneck = self.flows.get(of.flow).bottleneck;
                if bottleneck == link || bottleneck == NIL {
                    work.add(of.flow);
                }
            }
            let next = std::mem::replace(&mut self.links.edit::<M>(link).next_dirty, NIL);
            link = if next == link { NIL } else { next };
        }
        let mut times = 0;
        while !work.inside.is_empty() {
            work.fill(self);
            times += 1;
            if !work.widen(self, times > PATIENCE) {
                break;
            }
        }
        for &(flow, rate, bottleneck) in &work.inside {
            let old = *self.flows.get(flow);
            let same = (old.rate - rate).abs() <= rate * ROUNDING * 1e-3;
            if !same {
                changed(flow, rate);
            }
            let state = self.flows.edit::<M>(flow);
            state.bottleneck = bottleneck;
            if !same {
                state.rate = rate;
            }
        }
        self.filling = work;
    }
}

/// Units of demand in a byte per picosecond.
const DEMAND_UNIT: f64 = (1_u64 << 32) as f64;

fn demand_on(demand: f64, weight: f64) -> u64 {
    (demand * weight * DEMAND_UNIT) as u64
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

impl Filling {
    fn begin(&mut self) {
        self.inside.clear();
        self.is_inside.clear();
    }

    /// Flow `flow` is filled, too.
    fn add(&mut self, flow: u32) {
        if self.is_inside.set(flow) {
            let at = flow as usize;
            if at >= self.place.len() {
                self.place.resize(at + 1, 0);
            }
            self.place[at] = self.inside.len() as u32;
            self.inside.push((flow, 0.0, NIL));
        }
    }

    /// Progressive filling of the flows inside; all others keep their rates.
    fn fill(&mut self, of: &MaxMin) {
        self.links.clear();
        self.is_touched.clear();
        self.heap.clear();
        for at in 0..self.inside.len() {
            self.inside[at].2 = NIL;
            for (link, _) in of.path(self.inside[at].0) {
                if self.is_touched.set(link) {
                    if link as usize >= self.place_of_link.len() {
                        self.place_of_link.resize(link as usize + 1, 0);
                    }
                    self.place_of_link[link as usize] = self.links.len() as u32;
                    let state = of.links.get(link);
                    let (mut left, mut weights) = (state.capacity, 0.0);
                    for of_link in uses_of(&of.uses, state.first) {
                        match self.is_inside.has(of_link.flow) {
                            true => weights += of_link.weight,
                            false => left -= of_link.weight * of.flows.get(of_link.flow).rate,
                        }
                    }
                    let left = left.max(0.0);
                    self.links.push((link, left, weights));
                    self.heap.push(Turn(left / weights, link));
                }
            }
        }
        while let Some(Turn(share, link)) = self.heap.pop() {
            let (_, left, weights) = self.links[self.place_of_link[link as usize] as usize];
            if weights <= ROUNDING {
                continue;
            }
            let now = left / weights;
            if now > share {
                self.heap.push(Turn(now, link));
                continue;
            }
            for of_link in uses_of(&of.uses, of.links.get(link).first) {
                let place = match self.is_inside.has(of_link.flow) {
                    true => self.place[of_link.flow as usize] as usize,
                    false => continue,
                };
                if self.inside[place].2 != NIL {
                    continue;
                }
                (self.inside[place].1, self.inside[place].2) = (now, link);
                for (other, weight) in of.path(of_link.flow) {
                    let state = &mut self.links[self.place_of_link[other as usize] as usize];
                    state.1 = (state.1 - weight * now).max(0.0);
                    state.2 -= weight;
                }
            }
        }
    }

    /// Lets those outside join who have lost their bottleneck, or are above the share of one inside; or, if `everybody`, all
    /// who share a link with one inside. Whether there were any.
    fn widen(&mut self, of: &MaxMin, everybody: bool) -> bool {
        let before = self.inside.len();
        for at in 0..self.links.len() {
            let link = self.links[at].0;
            let state = of.links.get(link);
            let (mut taken, mut highest, mut share) = (0.0, 0.0_f64, f64::INFINITY);
            for use_of in uses_of(&of.uses, state.first) {
                let rate = self.rate(of, use_of.flow, before);
                taken += use_of.weight * rate.0;
                highest = highest.max(rate.0);
                if rate.1 == link && rate.2 {
                    share = share.min(rate.0);
                }
            }
            let saturated = taken >= state.capacity * (1.0 - ROUNDING);
            for use_of in uses_of(&of.uses, state.first) {
                let (rate, bottleneck, inside) = self.rate(of, use_of.flow, before);
                let above = rate > share * (1.0 + ROUNDING);
                let lost = bottleneck == link && (!saturated || rate < highest * (1.0 - ROUNDING));
                if !inside && (everybody || above || lost) {
                    self.add(use_of.flow);
                }
            }
        }
        self.inside.len() > before
    }

    /// The rate and the bottleneck of `flow`, and whether it has been filled, being one of the first `filled` inside.
    fn rate(&self, of: &MaxMin, flow: u32, filled: usize) -> (f64, u32, bool) {
        let inside = self.is_inside.has(flow).then(|| self.place[flow as usize] as usize);
        match inside.filter(|&place| place < filled) {
            Some(place) => (self.inside[place].1, self.inside[place].2, true),
            None => {
                let state = of.flows.get(flow);
                (state.rate, state.bottleneck, false)
            }
        }
    }
}

#[cfg(test)]
mod tests;
