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
    /// Its load where it has its rate.
    fn load(&self) -> f64 {
        self.weight * self.wants
    }
}

/// Computes rates; keeps its memory.
#[derive(Debug, Default)]
pub(crate) struct Meeting {
    others: Vec<Other>,
    /// Others that count with their mean loads.
    rest: Vec<Other>,
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
        let rest = self.set_aside().iter().map(|other| other.load() * other.active);
        let left = (capacity - rest.sum::<f64>()).max(0.0);
        mean_over_sets(&self.others, own, |_| true, |_| left)
    }

    /// The same where others have another class.
    fn rate_among_classes(&mut self, own: Wish, capacity: f64, sharing: &Sharing) -> f64 {
        let class = |other: &Other| usize::from(other.class);
        let mut always = Loads::default();
        for other in self.set_aside() {
            always[class(other)] += other.load() * other.active;
        }
        let always_own = always[usize::from(own.class)];
        always[usize::from(own.class)] += own.weight * own.wants;
        let left = |set: u32| {
            let mut loads = always;
            for other in members(&self.others, set) {
                loads[class(other)] += other.load();
            }
            (sharing.part(capacity, &loads, own.class) - always_own).max(0.0)
        };
        mean_over_sets(&self.others, own, |other| other.class == own.class, left)
    }

    /// Keeps the [`MOST`] others with the largest loads, sorted by their rates; returns the rest.
    fn set_aside(&mut self) -> &[Other] {
        self.rest.clear();
        if self.others.len() > MOST {
            self.others.sort_by(|a, b| b.load().total_cmp(&a.load()));
            self.rest.extend(self.others.drain(MOST..));
        }
        self.others.sort_by(|a, b| a.wants.total_cmp(&b.wants));
        &self.rest
    }
}

/// The others in a set, of which each bit stands for one.
fn members(others: &[Other], set: u32) -> impl Iterator<Item = &Other> {
    others
        .iter()
        .enumerate()
        .filter(move |&(place, _)| set >> place & 1 == 1)
        .map(|(_, other)| other)
}

/// The mean rate of a demand over all sets of active others, which are sorted by the rates that they would take.
///
/// In each set the demands that `shares` names divide what `left` says max-min fairly: the smallest rates first.
fn mean_over_sets(others: &[Other], own: Wish, shares: impl Fn(&Other) -> bool, left: impl Fn(u32) -> f64) -> f64 {
    let mut mean = 0.0;
    for set in 0..1_u32 << others.len() {
        let (mut probability, mut open) = (1.0, own.weight);
        for (place, other) in others.iter().enumerate() {
            if set >> place & 1 == 1 {
                probability *= other.active;
                open += if shares(other) { other.weight } else { 0.0 };
            } else {
                probability *= 1.0 - other.active;
            }
        }
        if probability <= 0.0 {
            continue;
        }
        let mut left = left(set);
        for other in members(others, set).filter(|other| shares(other)) {
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
