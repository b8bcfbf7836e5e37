//! The rate of a demand that meets others at a link part of the time.
//!
//! Each other demand is active with its own probability, independently. In every set of active demands the link is
//! shared max-min fairly; the rate is the mean over these sets. The [`MOST`] others with the largest loads are on or
//! off, the rest count with their mean loads.

use crate::sharing::{Loads, Sharing, Wish};

/// Most other demands whose sets are enumerated.
const MOST: usize = 6;

/// Another demand at a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Other {
    /// Its load for a rate of 1.
    pub weight: f64,
    /// The rate that it would take.
    pub wants: f64,
    /// The probability that it is active.
    pub active: f64,
    /// Its traffic class.
    pub class: u8,
}

impl Other {
    /// Its load on the link.
    fn load(&self) -> f64 {
        self.weight * self.wants
    }
}

/// Whether the other at `place` is active in `set`.
fn is_in(set: u32, place: usize) -> bool {
    set >> place & 1 == 1
}

/// Computes rates; keeps its memory.
#[derive(Debug, Default)]
pub(crate) struct Meeting {
    others: Vec<Other>,
    /// The probability and the weight of each set of active others: bit `n` of its place stands for other `n`.
    sets: Vec<(f64, f64)>,
}

impl Meeting {
    /// The mean rate of a demand on a link of this capacity.
    pub(crate) fn rate(
        &mut self,
        own: Wish,
        capacity: f64,
        others: impl Iterator<Item = Other>,
        sharing: &Sharing,
    ) -> f64 {
        self.others.clear();
        self.others.extend(others);
        if self.others.iter().any(|other| other.class != own.class) {
            return self.rate_among_classes(own, capacity, sharing);
        }
        let mut always = 0.0;
        self.keep_most(|other| always += other.load() * other.active);
        let left = (capacity - always).max(0.0);
        self.mean_of_sets(own, |_, _| left, |_| true)
    }

    /// The same where others have another class.
    fn rate_among_classes(&mut self, own: Wish, capacity: f64, sharing: &Sharing) -> f64 {
        let class = |other: &Other| usize::from(other.class);
        let mut always = Loads::default();
        self.keep_most(|other| always[class(&other)] += other.load() * other.active);
        let always_own = always[usize::from(own.class)];
        always[usize::from(own.class)] += own.weight * own.wants;
        let left = |others: &[Other], set| {
            let mut loads = always;
            for (place, other) in others.iter().enumerate() {
                if is_in(set, place) {
                    loads[class(other)] += other.load();
                }
            }
            (sharing.part(capacity, &loads, own.class) - always_own).max(0.0)
        };
        self.mean_of_sets(own, left, |other| other.class == own.class)
    }

    /// Keeps the [`MOST`] others with the largest loads, in ascending order of their rates; passes the rest to
    /// `count`.
    fn keep_most(&mut self, count: impl FnMut(Other)) {
        if self.others.len() > MOST {
            self.others.sort_by(|a, b| b.load().total_cmp(&a.load()));
            self.others.drain(MOST..).for_each(count);
        }
        self.others.sort_by(|a, b| a.wants.total_cmp(&b.wants));
    }

    /// The mean rate of `own` over all sets of active others: in each, `own` shares `left` of the link with the members
    /// for which `shares` holds, max-min fairly.
    fn mean_of_sets(&mut self, own: Wish, left: impl Fn(&[Other], u32) -> f64, shares: impl Fn(&Other) -> bool) -> f64 {
        let Meeting { others, sets } = self;
        sets.clear();
        sets.push((1.0, own.weight));
        for other in others.iter() {
            let weight = if shares(other) { other.weight } else { 0.0 };
            for without in 0..sets.len() {
                let (probability, open) = sets[without];
                sets[without].0 = probability * (1.0 - other.active);
                sets.push((probability * other.active, open + weight));
            }
        }
        let mut mean = 0.0;
        for (set, &(probability, mut open)) in (0_u32..).zip(sets.iter()) {
            if probability <= 0.0 {
                continue;
            }
            let mut left = left(others, set);
            // Max-min fairness satisfies the smallest rates first.
            for (place, other) in others.iter().enumerate() {
                if !is_in(set, place) || !shares(other) {
                    continue;
                }
                if other.wants * open >= left {
                    break;
                }
                left -= other.load();
                open -= other.weight;
            }
            mean += probability * own.wants.min(left / open);
        }
        mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(weight: f64, wants: f64, active: f64) -> Other {
        let class = 0;
        Other {
            weight,
            wants,
            active,
            class,
        }
    }

    const OWN: Wish = Wish {
        weight: 1.0,
        wants: 1.0,
        class: 0,
    };

    /// Half of the time alone at 1, half beside another at 1/2: 3/4. One that wants 0.25 leaves 0.75: 7/8.
    #[test]
    fn a_demand_has_the_link_alone_when_the_others_are_silent() {
        let mut meeting = Meeting::default();
        let one = Sharing::new(&[]);
        let mut rate = |others: &[Other]| meeting.rate(OWN, 1.0, others.iter().copied(), &one);
        assert_eq!(rate(&[]), 1.0);
        assert_eq!(rate(&[other(1.0, 1.0, 0.5)]), 0.75);
        assert_eq!(rate(&[other(1.0, 0.25, 0.5)]), 0.875);
        // Sets of two others: none 1, one 1/2, both 1/3.
        let both = rate(&[other(1.0, 1.0, 0.5), other(1.0, 1.0, 0.5)]);
        assert!((both - (1.0 + 2.0 / 2.0 + 1.0 / 3.0) / 4.0).abs() < 1e-12);
    }

    /// Others that are always active: 10 of weight 1/10 that want 1/2 leave 1/2, enumerated or as a mean.
    #[test]
    fn many_others_count_with_their_mean() {
        let one = Sharing::new(&[]);
        let found = Meeting::default().rate(OWN, 1.0, (0..10).map(|_| other(0.1, 0.5, 1.0)), &one);
        assert!((found - 0.5).abs() < 1e-12, "{found}");
    }

    /// A demand with a quarter of the link beside one of another class that is active half of the time:
    /// (1 + 1/4) / 2. Behind a higher priority it waits half of the time: 1/2; ahead of it, it has the whole link.
    /// Ten others of the other class with a mean load of 1/2 leave it 1/2, and of higher priority as well.
    #[test]
    fn classes_count_by_share_and_priority() {
        for (priority, beside_one, beside_ten) in [(0, 0.625, 0.5), (1, 0.5, 0.5), (-1, 1.0, 1.0)] {
            let class = |share, priority| crate::TrafficClass {
                name: String::new(),
                share,
                priority,
            };
            let sharing = Sharing::new(&[class(0.25, 0), class(0.75, priority)]);
            let of_second = |other: Other| Other { class: 1, ..other };
            let mut meeting = Meeting::default();
            let one = std::iter::once(of_second(other(1.0, 1.0, 0.5)));
            assert_eq!(meeting.rate(OWN, 1.0, one, &sharing), beside_one);
            let ten = (0..10).map(|_| of_second(other(0.1, 0.5, 1.0)));
            let found = meeting.rate(OWN, 1.0, ten, &sharing);
            assert!((found - beside_ten).abs() < 1e-12, "{priority}: {found}");
        }
    }
}
