//! Max-min fair rates by progressive filling (D. Bertsekas, R. Gallager, Data Networks, 1992, 6.5.2).
//!
//! A demand takes a weight times its rate on each of its links, and no more than its own largest rate. The link with
//! the smallest fair share gives that share to its demands without a rate, and so on. The shares of the others only
//! grow, so a heap with stale entries finds the smallest.

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
