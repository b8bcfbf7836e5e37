//! Max-min fair rates by progressive filling (D. Bertsekas, R. Gallager, Data Networks, 1992, 6.5.2).
//!
//! A demand takes a weight times its rate on each of its links, and no more than its own largest rate. The link with
//! the smallest fair share gives that share to its demands without a rate, and so on. The shares of the others only
//! grow, so a heap with stale entries finds the smallest.

use crate::sharing::{Sharing, Wish};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A share in a heap whose first entry is the smallest; equal shares go by number.
#[derive(PartialEq)]
struct Share(f64, u32);

impl Eq for Share {}

impl Ord for Share {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}

impl PartialOrd for Share {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The max-min fair rates of demands with the largest rates `most` and these weights by link. `capacities` and
/// `users` are those of the links: `users[l]` lists the demands on link `l` with their weights.
pub(crate) fn fill(
    most: &[f64],
    weights: &[Vec<(u32, f64)>],
    capacities: &[f64],
    users: &[Vec<(u32, f64)>],
) -> Vec<f64> {
    let mut rates = vec![f64::NAN; most.len()];
    let mut left = capacities.to_vec();
    let mut open: Vec<f64> = users
        .iter()
        .map(|users| users.iter().map(|user| user.1).sum())
        .collect();
    let mut count: Vec<usize> = users.iter().map(Vec::len).collect();
    let share = |left: f64, open: f64| left.max(0.0) / open;
    let mut links: BinaryHeap<Share> = (0..users.len())
        .filter(|&link| count[link] > 0)
        .map(|link| Share(share(left[link], open[link]), link as u32))
        .collect();
    let mut limits: Vec<u32> = (0..most.len() as u32).collect();
    limits.sort_by(|&a, &b| most[a as usize].total_cmp(&most[b as usize]).then(a.cmp(&b)));
    let mut limits = limits.into_iter().peekable();
    let mut settle = |demand: u32, rate: f64, left: &mut [f64], open: &mut [f64], count: &mut [usize]| {
        if rates[demand as usize].is_nan() {
            rates[demand as usize] = rate;
            for &(link, weight) in &weights[demand as usize] {
                let link = link as usize;
                left[link] -= weight * rate;
                open[link] -= weight;
                count[link] -= 1;
            }
        }
    };
    while let Some(Share(known, link)) = links.pop() {
        let at = link as usize;
        if count[at] == 0 {
            continue;
        }
        let now = share(left[at], open[at]);
        if now > known * (1.0 + 1e-12) {
            links.push(Share(now, link));
            continue;
        }
        // Demands that want less than this share are satisfied first.
        if let Some(demand) = limits.next_if(|&demand| most[demand as usize] <= now) {
            settle(demand, most[demand as usize], &mut left, &mut open, &mut count);
            links.push(Share(now, link));
            continue;
        }
        for &(demand, _) in &users[at] {
            settle(demand, now.min(most[demand as usize]), &mut left, &mut open, &mut count);
        }
    }
    for demand in limits {
        settle(demand, most[demand as usize], &mut left, &mut open, &mut count);
    }
    rates
}

/// Most rounds of [`fill_by_class`], and the relative change at which they end.
const ROUNDS: u32 = 64;
const TOLERANCE: f64 = 1e-9;

/// The smallest offer to a demand with its place, and the smallest of the others.
#[derive(Clone, Copy)]
struct Smallest {
    first: f64,
    place: usize,
    second: f64,
}

impl Default for Smallest {
    fn default() -> Self {
        Smallest {
            first: f64::INFINITY,
            place: 0,
            second: f64::INFINITY,
        }
    }
}

impl Smallest {
    fn of(offers: &[f64]) -> Smallest {
        let mut found = Smallest::default();
        for (place, &offer) in offers.iter().enumerate() {
            if offer < found.first {
                (found.second, found.first, found.place) = (found.first, offer, place);
            } else {
                found.second = found.second.min(offer);
            }
        }
        found
    }

    /// The smallest offer but that at `place`.
    fn without(self, place: Option<usize>) -> f64 {
        if place == Some(self.place) {
            self.second
        } else {
            self.first
        }
    }
}

/// The rates of demands of several traffic classes, whose number on each link `class_at(demand, link)` gives.
///
/// Each link in turn divides its capacity by class among its demands, which want what their other links leave them,
/// until nothing changes. With one class the result is that of [`fill`] (A. Charny, D. Clark, R. Jain, Congestion
/// control with explicit rate indication, ICC 1995).
pub(crate) fn fill_by_class(
    most: &[f64],
    weights: &[Vec<(u32, f64)>],
    capacities: &[f64],
    users: &[Vec<(u32, f64)>],
    class_at: impl Fn(u32, u32) -> u8,
    sharing: &Sharing,
) -> Vec<f64> {
    // What each link leaves each of its demands; infinite where the link does not limit it.
    let mut offers: Vec<Vec<f64>> = weights.iter().map(|own| vec![f64::INFINITY; own.len()]).collect();
    let mut smallest = vec![Smallest::default(); most.len()];
    let at = |demand: u32, link: u32| weights[demand as usize].binary_search_by_key(&link, |used| used.0).ok();
    for _ in 0..ROUNDS {
        let mut is_changed = false;
        for (link, (&capacity, users)) in capacities.iter().zip(users).enumerate() {
            let link = link as u32;
            let wish = |&(demand, weight): &(u32, f64)| Wish {
                weight,
                wants: smallest[demand as usize]
                    .without(at(demand, link))
                    .min(most[demand as usize]),
                class: class_at(demand, link),
            };
            let wishes: Vec<Wish> = users.iter().map(wish).collect();
            let rates = sharing.rates(capacity, &wishes);
            for ((&(demand, _), wish), rate) in users.iter().zip(&wishes).zip(rates) {
                let offer = if rate < wish.wants { rate } else { f64::INFINITY };
                let own = &mut offers[demand as usize];
                if let Some(place) = at(demand, link).filter(|&place| own[place] != offer) {
                    // An infinite offer that becomes finite is a change, too.
                    is_changed |= (offer - own[place]).abs() > TOLERANCE * offer.min(own[place]);
                    own[place] = offer;
                    smallest[demand as usize] = Smallest::of(own);
                }
            }
        }
        if !is_changed {
            break;
        }
    }
    let least = |(offers, most): (&Vec<f64>, &f64)| offers.iter().copied().fold(*most, f64::min);
    offers.iter().zip(most).map(least).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(most: &[f64], capacities: &[f64], uses: &[(u32, u32, f64)]) -> Vec<f64> {
        let (mut weights, mut users) = (vec![Vec::new(); most.len()], vec![Vec::new(); capacities.len()]);
        for &(demand, link, weight) in uses {
            weights[demand as usize].push((link, weight));
            users[link as usize].push((demand, weight));
        }
        fill(most, &weights, capacities, &users)
    }

    /// Bertsekas and Gallager's example: a flow over both links, two more on the first, one on the second.
    #[test]
    fn flows_share_their_bottlenecks_equally() {
        let uses = [(0, 0, 1.0), (0, 1, 1.0), (1, 0, 1.0), (2, 0, 1.0), (3, 1, 1.0)];
        let rates = filled(&[9.0; 4], &[3.0, 5.0], &uses);
        assert_eq!(rates, [1.0, 1.0, 1.0, 4.0]);
    }

    /// A demand below the fair share leaves the rest: 0.2 and 0.8 of 1.
    #[test]
    fn a_small_demand_leaves_the_rest() {
        assert_eq!(filled(&[0.25, 9.0], &[1.0], &[(0, 0, 1.0), (1, 0, 1.0)]), [0.25, 0.75]);
    }

    /// Weights 1 and 3 at capacity 8: the rate is 2 for both.
    #[test]
    fn weights_count_flows() {
        assert_eq!(filled(&[9.0, 9.0], &[8.0], &[(0, 0, 1.0), (1, 0, 3.0)]), [2.0, 2.0]);
    }

    /// With one class both ways give the same rates.
    #[test]
    fn links_that_take_turns_reach_max_min_fair_rates() {
        let sharing = Sharing::new(&[crate::TrafficClass {
            name: String::new(),
            share: 1.0,
            priority: 0,
        }]);
        for seed in 0..100 {
            let mut lot = odonata_units::SplitMix64(seed);
            let (demands, links) = (2 + lot.below(10), 1 + lot.below(6));
            let most: Vec<f64> = (0..demands).map(|_| 20.0 * lot.unit()).collect();
            let capacities: Vec<f64> = (0..links).map(|_| 1.0 + 30.0 * lot.unit()).collect();
            let (mut weights, mut users) = (vec![Vec::new(); demands as usize], vec![Vec::new(); links as usize]);
            for demand in 0..demands {
                for link in 0..links {
                    if lot.below(2) == 0 {
                        let weight = 0.5 + lot.unit();
                        weights[demand as usize].push((link, weight));
                        users[link as usize].push((demand, weight));
                    }
                }
            }
            let expected = fill(&most, &weights, &capacities, &users);
            let found = fill_by_class(&most, &weights, &capacities, &users, |_, _| 0, &sharing);
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "seed {seed}: {found} {expected}");
            }
        }
    }

    /// Link 0 of 12: class 0 has 1/3, class 1 has 2/3 among two demands. One of them is limited to 1 by link 1, so the
    /// other has 7 of the 8.
    #[test]
    fn a_demand_limited_elsewhere_leaves_its_part_to_its_class() {
        let class = |share| crate::TrafficClass {
            name: String::new(),
            share,
            priority: 0,
        };
        let sharing = Sharing::new(&[class(0.1), class(0.2)]);
        let weights = [vec![(0, 1.0)], vec![(0, 1.0)], vec![(0, 1.0), (1, 1.0)]];
        let users = [vec![(0, 1.0), (1, 1.0), (2, 1.0)], vec![(2, 1.0)]];
        let class_at = |demand, _| u8::from(demand > 0);
        let found = fill_by_class(&[99.0; 3], &weights, &[12.0, 1.0], &users, class_at, &sharing);
        for (found, expected) in found.iter().zip([4.0, 7.0, 1.0]) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }

    /// Random demands: every one has its largest rate, or a saturated link on which none has a higher rate.
    #[test]
    fn every_demand_has_a_bottleneck() {
        for seed in 0..200 {
            let mut lot = odonata_units::SplitMix64(seed);
            let (demands, links) = (2 + lot.below(12), 1 + lot.below(6));
            let most: Vec<f64> = (0..demands).map(|_| f64::from(1 + lot.below(20))).collect();
            let capacities: Vec<f64> = (0..links).map(|_| f64::from(1 + lot.below(30))).collect();
            let mut uses = Vec::new();
            for demand in 0..demands {
                for link in 0..links {
                    if lot.below(2) == 0 {
                        uses.push((demand, link, f64::from(1 + lot.below(4)) / 2.0));
                    }
                }
            }
            let rates = filled(&most, &capacities, &uses);
            let load = |link: u32| -> f64 {
                let on = uses.iter().filter(|used| used.1 == link);
                on.map(|used| used.2 * rates[used.0 as usize]).sum()
            };
            for demand in 0..demands {
                let rate = rates[demand as usize];
                let is_bottleneck = |link: u32| {
                    load(link) > capacities[link as usize] * (1.0 - 1e-9)
                        && uses
                            .iter()
                            .all(|used| used.1 != link || rates[used.0 as usize] <= rate * (1.0 + 1e-9))
                };
                let mut own = uses.iter().filter(|used| used.0 == demand);
                assert!(
                    rate == most[demand as usize] || own.any(|used| is_bottleneck(used.1)),
                    "seed {seed}"
                );
            }
            assert!((0..links).all(|link| load(link) <= capacities[link as usize] * (1.0 + 1e-9)));
        }
    }
}
