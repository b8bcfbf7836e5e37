//! How a link divides its capacity between traffic classes.
//!
//! Classes of higher priority go first. Classes of equal priority that want more than they get divide what is left in
//! proportion to their shares, and take what the others leave, as the links of the packet model do (start-time fair
//! queueing: P. Goyal, H. Vin, H. Cheng, SIGCOMM 1996). Within a class rates are max-min fair.

use serde::Serialize;
use std::cmp::Ordering;

/// A traffic class of the network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrafficClass {
    /// Its name.
    pub name: String,
    /// Share of a link among classes of equal priority.
    pub share: f64,
    /// Classes with a higher priority always go first.
    pub priority: i32,
}

/// A demand at a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    /// Its load for a rate of 1.
    pub weight: f64,
    /// The largest rate that it takes.
    pub wants: f64,
    /// Its class.
    pub class: u8,
}

/// Most traffic classes of a network.
pub(crate) const MOST_CLASSES: usize = 8;

/// The load of each class on a link.
pub(crate) type Loads = [f64; MOST_CLASSES];

/// The shares and priorities of the classes.
#[derive(Clone, Debug)]
pub(crate) struct Sharing {
    classes: Vec<(f64, i32)>,
}

impl Sharing {
    /// The shares of `classes`; without classes all traffic is in one.
    pub(crate) fn new(classes: &[TrafficClass]) -> Sharing {
        assert!(classes.len() <= MOST_CLASSES, "at most {MOST_CLASSES} traffic classes");
        let known = classes.iter().map(|class| (class.share, class.priority));
        Sharing {
            classes: if classes.is_empty() {
                vec![(1.0, 0)]
            } else {
                known.collect()
            },
        }
    }

    /// Number of classes.
    pub(crate) fn count(&self) -> usize {
        self.classes.len()
    }

    /// Whether traffic of `class` can delay that of `other`.
    pub(crate) fn delays(&self, class: u8, other: u8) -> bool {
        self.classes[usize::from(class)].1 >= self.classes[usize::from(other)].1
    }

    /// What a link of this capacity gives `class`, where the classes want these loads; infinite if all that it wants.
    pub(crate) fn part(&self, capacity: f64, loads: &Loads, class: u8) -> f64 {
        let own = usize::from(class);
        let mut left = capacity;
        let mut open = [false; MOST_CLASSES];
        for (at, &(_, priority)) in self.classes.iter().enumerate() {
            match priority.cmp(&self.classes[own].1) {
                Ordering::Greater => left -= loads[at],
                Ordering::Equal => open[at] = at == own || loads[at] > 0.0,
                Ordering::Less => {}
            }
        }
        left = left.max(0.0);
        loop {
            let shares: f64 = (self.classes.iter().zip(open).filter(|one| one.1))
                .map(|one| one.0.0)
                .sum();
            let part = left / shares;
            let satisfied = (0..self.count()).find(|&at| open[at] && loads[at] <= part * self.classes[at].0);
            match satisfied {
                Some(at) if at == own => return f64::INFINITY,
                Some(at) => {
                    left = (left - loads[at]).max(0.0);
                    open[at] = false;
                }
                None => return part * self.classes[own].0,
            }
        }
    }

    /// The rate of each demand at a link of this capacity.
    pub(crate) fn rates(&self, capacity: f64, wishes: &[Wish]) -> Vec<f64> {
        let mut loads = Loads::default();
        for wish in wishes {
            loads[usize::from(wish.class)] += wish.weight * wish.wants;
        }
        let mut rates: Vec<f64> = wishes.iter().map(|wish| wish.wants).collect();
        for class in 0..self.count() as u8 {
            if loads[usize::from(class)] > 0.0 {
                let part = self.part(capacity, &loads, class);
                if part.is_finite() {
                    fill_class(class, part, wishes, &mut rates);
                }
            }
        }
        rates
    }
}

/// Max-min fair rates of the demands of a class, which want more than `left` together.
fn fill_class(class: u8, mut left: f64, wishes: &[Wish], rates: &mut [f64]) {
    let mut order: Vec<usize> = (0..wishes.len()).filter(|&at| wishes[at].class == class).collect();
    order.sort_by(|&a, &b| wishes[a].wants.total_cmp(&wishes[b].wants).then(a.cmp(&b)));
    let mut open: f64 = order.iter().map(|&at| wishes[at].weight).sum();
    for at in order {
        let wish = wishes[at];
        let rate = wish.wants.min(left.max(0.0) / open);
        rates[at] = rate;
        left -= wish.weight * rate;
        open -= wish.weight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sharing(classes: &[(f64, i32)]) -> Sharing {
        let class = |&(share, priority): &(f64, i32)| TrafficClass {
            name: String::new(),
            share,
            priority,
        };
        Sharing::new(&classes.iter().map(class).collect::<Vec<_>>())
    }

    fn rates(classes: &[(f64, i32)], capacity: f64, wishes: &[(f64, f64, u8)]) -> Vec<f64> {
        let wish = |&(weight, wants, class): &(f64, f64, u8)| Wish { weight, wants, class };
        sharing(classes).rates(capacity, &wishes.iter().map(wish).collect::<Vec<_>>())
    }

    /// Shares 0.1 and 0.3 of a link of 8: 2 and 6. Two demands of a class have half of its part each.
    #[test]
    fn classes_divide_a_link_by_their_shares() {
        let classes = [(0.1, 0), (0.3, 0)];
        assert_eq!(rates(&classes, 8.0, &[(1.0, 9.0, 0), (1.0, 9.0, 1)]), [2.0, 6.0]);
        let three = [(1.0, 9.0, 0), (1.0, 9.0, 1), (2.0, 9.0, 1)];
        assert_eq!(rates(&classes, 8.0, &three), [2.0, 2.0, 2.0]);
        // A class that wants less than its part leaves the rest; one without traffic leaves all.
        assert_eq!(rates(&classes, 8.0, &[(1.0, 9.0, 0), (1.0, 1.5, 1)]), [6.5, 1.5]);
        assert_eq!(rates(&classes, 8.0, &[(1.0, 9.0, 0)]), [8.0]);
        assert_eq!(rates(&classes, 80.0, &[(1.0, 9.0, 0), (2.0, 9.0, 1)]), [9.0, 9.0]);
    }

    /// The first class takes 5 of 8, the other two divide 3 by 1 : 2.
    #[test]
    fn higher_priorities_go_first() {
        let classes = [(0.1, 0), (0.2, 0), (0.5, 3)];
        let wishes = [(1.0, 9.0, 0), (1.0, 9.0, 1), (1.0, 5.0, 2)];
        let found = rates(&classes, 8.0, &wishes);
        for (found, expected) in found.iter().zip([1.0, 2.0, 5.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert_eq!(rates(&classes, 4.0, &wishes), [0.0, 0.0, 4.0]);
        let order = sharing(&classes);
        assert!(order.delays(2, 0) && order.delays(1, 0) && !order.delays(0, 2));
    }

    /// On random demands: no link is overloaded, none is idle while a demand wants more, and with one class the rates
    /// are those of progressive filling.
    #[test]
    fn links_are_used_completely_and_one_class_is_max_min_fair() {
        for seed in 0..300 {
            let mut lot = odonata_units::SplitMix64(seed);
            let classes: Vec<(f64, i32)> = (0..1 + lot.below(4))
                .map(|_| (0.05 + 0.2 * lot.unit(), lot.below(2) as i32))
                .collect();
            let count = 1 + lot.below(8);
            let wishes: Vec<(f64, f64, u8)> = (0..count)
                .map(|_| {
                    (
                        0.5 + lot.unit(),
                        3.0 * lot.unit(),
                        lot.below(classes.len() as u32) as u8,
                    )
                })
                .collect();
            let found = rates(&classes, 4.0, &wishes);
            let load: f64 = found.iter().zip(&wishes).map(|(rate, wish)| rate * wish.0).sum();
            let wanted: f64 = wishes.iter().map(|wish| wish.0 * wish.1).sum();
            assert!((load - wanted.min(4.0)).abs() < 1e-9, "seed {seed}: {load} {wanted}");
            if classes.len() == 1 {
                let most: Vec<f64> = wishes.iter().map(|wish| wish.1).collect();
                let weights: Vec<Vec<(u32, f64)>> = wishes.iter().map(|wish| vec![(0, wish.0)]).collect();
                let users = (0..).zip(&wishes).map(|(at, wish)| (at, wish.0)).collect();
                let expected = crate::filling::fill(&most, &weights, &[4.0], &[users]);
                for (found, expected) in found.iter().zip(expected) {
                    assert!((found - expected).abs() < 1e-9, "seed {seed}");
                }
            }
        }
    }
}
