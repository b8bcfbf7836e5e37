//! Filling: new rates for some of the flows, while all others keep theirs.

use super::{MaxMin, RATE_UNIT, ROUNDING, Step, taken_on, uses_of};
use odonata_engine::NIL;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Marks of flows and links; incrementing the number clears them all.
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

    /// Sets a mark; returns whether it is new.
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

/// A flow inside the filling.
#[derive(Clone, Copy, Debug)]
struct Inside {
    flow: u32,
    /// Its new rate and bottleneck; NIL before it has one.
    rate: f64,
    bottleneck: u32,
    /// Start of its path in `paths`; it ends where the next one begins.
    path: u32,
}

/// A link that a flow inside crosses.
#[derive(Clone, Copy, Debug)]
struct Touched {
    link: u32,
    /// The capacity left, and the weights of flows inside without rate.
    left: f64,
    weights: f64,
    /// The previous load of flows inside, and the number of them that it limited.
    taken: i64,
    held: u32,
    /// Number of flows inside, and where they begin in `of_links`.
    flows: u32,
    first: u32,
    /// The highest new rate of one of them.
    highest: f64,
}

impl Touched {
    /// The capacity that flows outside leave.
    fn left_by_others(&self, of: &MaxMin) -> f64 {
        let state = of.links.get(self.link);
        let left = state.capacity - (state.taken - self.taken) as f64 / RATE_UNIT;
        left.max(0.0)
    }
}

/// The temporary data of a filling; not part of the state.
#[derive(Debug, Default)]
pub(super) struct Filling {
    inside: Vec<Inside>,
    is_inside: Marks,
    /// The paths of flows inside, concatenated: index of each link in `links`, and the flow's weight on it.
    paths: Vec<(u32, f64)>,
    links: Vec<Touched>,
    /// Index of a link in `links`; valid if it is marked.
    place_of_link: Vec<u32>,
    is_touched: Marks,
    /// The flows inside on each link, by index in `inside`.
    of_links: Vec<u32>,
    /// Shares in the order in which links are filled; some are outdated.
    heap: BinaryHeap<Turn>,
}

/// The order of links: smallest share first, among equals the lowest link. Shares are not negative, so their bits are
/// ordered like their values.
type Turn = Reverse<(u64, u32)>;

fn turn(share: f64, link: u32) -> Turn {
    debug_assert!(share >= 0.0, "a share of {share}");
    Reverse((share.to_bits(), link))
}

impl Filling {
    pub(super) fn begin(&mut self) {
        self.inside.clear();
        self.is_inside.clear();
        self.paths.clear();
        self.links.clear();
        self.is_touched.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.inside.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.inside.len()
    }

    /// Whether all flows are inside.
    pub(super) fn has_all(&self, of: &MaxMin) -> bool {
        self.inside.len() == of.count()
    }

    /// Adds all flows of `link`.
    pub(super) fn add_all(&mut self, of: &MaxMin, link: u32) {
        for of_link in uses_of(&of.uses, of.links.get(link).first) {
            self.add(of, of_link.flow);
        }
    }

    /// The flows inside, with their new rates and bottlenecks.
    pub(super) fn found(&self) -> impl Iterator<Item = (u32, f64, u32)> + '_ {
        self.inside.iter().map(|one| (one.flow, one.rate, one.bottleneck))
    }

    /// Adds flow `flow`.
    pub(super) fn add(&mut self, of: &MaxMin, flow: u32) {
        if !self.is_inside.set(flow) {
            return;
        }
        let (old, path) = (*of.flows.get(flow), self.paths.len() as u32);
        for Step { link, weight, .. } in of.path(flow) {
            let place = self.touch(link);
            let touched = &mut self.links[place as usize];
            touched.taken += taken_on(old.rate, weight);
            touched.held += u32::from(old.bottleneck == link);
            touched.flows += 1;
            self.paths.push((place, weight));
        }
        self.inside.push(Inside {
            flow,
            rate: 0.0,
            bottleneck: NIL,
            path,
        });
    }

    /// The index of `link` in `links`.
    fn touch(&mut self, link: u32) -> u32 {
        if self.is_touched.set(link) {
            if link as usize >= self.place_of_link.len() {
                self.place_of_link.resize(link as usize + 1, 0);
            }
            self.place_of_link[link as usize] = self.links.len() as u32;
            self.links.push(Touched {
                link,
                left: 0.0,
                weights: 0.0,
                taken: 0,
                held: 0,
                flows: 0,
                first: 0,
                highest: 0.0,
            });
        }
        self.place_of_link[link as usize]
    }

    /// The path of the flow at index `place` of `inside`, in `paths`.
    fn path(&self, place: usize) -> std::ops::Range<usize> {
        let end = self
            .inside
            .get(place + 1)
            .map_or(self.paths.len(), |next| next.path as usize);
        self.inside[place].path as usize..end
    }

    /// Progressive filling of the flows inside; all others keep their rates.
    pub(super) fn fill(&mut self, of: &MaxMin) {
        match self.inside.len() {
            1 => self.fill_one(of),
            _ => self.fill_several(of),
        }
    }

    /// The same for one flow: it gets the least capacity that others leave it.
    fn fill_one(&mut self, of: &MaxMin) {
        let mut least = turn(f64::INFINITY, NIL);
        for &(place, weight) in &self.paths {
            let touched = &mut self.links[place as usize];
            touched.left = touched.left_by_others(of);
            if weight > ROUNDING {
                // The greatest of these is the first in order.
                least = least.max(turn(touched.left / weight, touched.link));
            }
        }
        let Reverse((rate, bottleneck)) = least;
        let rate = f64::from_bits(rate);
        (self.inside[0].rate, self.inside[0].bottleneck) = (rate, bottleneck);
        self.of_links.clear();
        self.of_links.resize(self.paths.len(), 0);
        for (first, &(place, weight)) in (0..).zip(&self.paths) {
            let touched = &mut self.links[place as usize];
            touched.left = (touched.left - weight * rate).max(0.0);
            (touched.weights, touched.highest) = (0.0, rate);
            (touched.first, touched.flows) = (first, 1);
        }
    }

    fn fill_several(&mut self, of: &MaxMin) {
        self.heap.clear();
        let mut first = 0;
        for touched in &mut self.links {
            touched.left = touched.left_by_others(of);
            (touched.weights, touched.highest) = (0.0, 0.0);
            // Counted again as flows are added.
            (touched.first, first) = (first, first + touched.flows);
            touched.flows = 0;
        }
        self.of_links.clear();
        self.of_links.resize(first as usize, 0);
        for place in 0..self.inside.len() {
            self.inside[place].bottleneck = NIL;
            for at in self.path(place) {
                let (link, weight) = self.paths[at];
                let touched = &mut self.links[link as usize];
                touched.weights += weight;
                self.of_links[(touched.first + touched.flows) as usize] = place as u32;
                touched.flows += 1;
            }
        }
        let turns = self.links.iter().map(|on| turn(on.left / on.weights, on.link));
        self.heap.extend(turns);
        let mut missing = self.inside.len();
        while missing > 0
            && let Some(Reverse((share, link))) = self.heap.pop()
        {
            let Touched {
                left,
                weights,
                first,
                flows,
                ..
            } = self.links[self.place_of_link[link as usize] as usize];
            if weights <= ROUNDING {
                continue;
            }
            let now = left / weights;
            if now > f64::from_bits(share) {
                self.heap.push(turn(now, link));
                continue;
            }
            for at in first..first + flows {
                let place = self.of_links[at as usize] as usize;
                let one = &mut self.inside[place];
                if one.bottleneck != NIL {
                    continue;
                }
                (one.rate, one.bottleneck) = (now, link);
                missing -= 1;
                for at in self.path(place) {
                    let (other, weight) = self.paths[at];
                    let touched = &mut self.links[other as usize];
                    touched.left = (touched.left - weight * now).max(0.0);
                    touched.weights -= weight;
                    touched.highest = touched.highest.max(now);
                }
            }
        }
    }

    /// Adds flows outside that have lost their bottleneck, or exceed the share of one inside. Returns whether there
    /// were any.
    pub(super) fn widen(&mut self, of: &MaxMin) -> bool {
        let before = self.inside.len();
        for place in 0..self.links.len() {
            let Touched {
                link,
                left,
                held,
                flows,
                first,
                highest,
                ..
            } = self.links[place];
            let state = of.links.get(link);
            // Neither number includes flows that have joined meanwhile.
            if state.flows == flows {
                continue;
            }
            let of_link = &self.of_links[first as usize..];
            let held_inside = (of_link.iter().take(flows as usize))
                .map(|&at| &self.inside[at as usize])
                .find(|one| one.bottleneck == link)
                .map(|one| one.rate);
            let saturated = left <= state.capacity * ROUNDING;
            let lost = state.held > held && (!saturated || state.share < highest * (1.0 - ROUNDING));
            let limit = held_inside.map_or(f64::INFINITY, |share| share * (1.0 + ROUNDING));
            if !lost && held_inside.is_none() {
                continue;
            }
            for use_of in uses_of(&of.uses, state.first) {
                let flow = of.flows.get(use_of.flow);
                if flow.rate > limit || (lost && flow.bottleneck == link) {
                    self.add(of, use_of.flow);
                }
            }
        }
        self.inside.len() > before
    }
}
