//! The loads of links over time: the bytes of every link, and the mean and the largest load of each class.

use crate::job::{Micros, SECOND};
use serde::Serialize;

/// Most intervals of the series; twice as long ones replace them when they do not suffice.
const INTERVALS: usize = 1024;
/// The length of the first intervals.
const SHORTEST: Micros = 60_000_000;

/// The bytes of a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinkBytes {
    /// Its number.
    pub link: u32,
    /// Its class.
    pub class: u8,
    /// Bytes per second.
    pub capacity: f64,
    /// Bytes of the jobs.
    pub bytes: f64,
    /// Its largest load as a part of its capacity, averaged over the iterations of the jobs.
    pub peak: f64,
}

/// Loads of the links of a class in an interval, as a part of their capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ClassLoad {
    /// The mean over its links and over time.
    pub mean: f64,
    /// The largest of a link.
    pub most: f64,
}

/// The loads of links over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkLoadSeries {
    /// The length of an interval.
    pub interval: Micros,
    /// For each interval, a load per class.
    pub loads: Vec<Vec<ClassLoad>>,
}

#[derive(Clone, Debug, Default)]
struct Use {
    load: f64,
    since: Micros,
    bytes: f64,
    peak: f64,
    is_changed: bool,
}

/// Sums loads of links while they change.
#[derive(Debug)]
pub(crate) struct LinkUse {
    capacities: Vec<f64>,
    classes: Vec<u8>,
    uses: Vec<Use>,
    /// Links whose load changed at the present time. Of several changes at a time the last one counts.
    changed: Vec<u32>,
    /// The load and the capacity of the links of each class, without links of no limit.
    class_load: Vec<f64>,
    class_capacity: Vec<f64>,
    now: Micros,
    interval: Micros,
    /// For each interval and class, the load times seconds, and the largest load.
    sums: Vec<Vec<ClassLoad>>,
}

impl LinkUse {
    pub(crate) fn new(capacities: Vec<f64>, classes: Vec<u8>) -> LinkUse {
        let count = classes.iter().max().map_or(0, |&most| usize::from(most) + 1);
        let mut class_capacity = vec![0.0; count];
        for (&capacity, &class) in capacities.iter().zip(&classes) {
            class_capacity[usize::from(class)] += capacity;
        }
        LinkUse {
            uses: vec![Use::default(); capacities.len()],
            changed: Vec::new(),
            capacities,
            classes,
            class_load: vec![0.0; count],
            class_capacity,
            now: 0,
            interval: SHORTEST,
            sums: Vec::new(),
        }
    }

    /// Advances to `now`, with the loads of the last change.
    pub(crate) fn advance(&mut self, now: Micros) {
        while self.now < now {
            let place = (self.now / self.interval) as usize;
            if place >= INTERVALS {
                self.double();
                continue;
            }
            if place >= self.sums.len() {
                self.sums
                    .resize(place + 1, vec![ClassLoad::default(); self.class_load.len()]);
                self.take_most(place);
            }
            for link in self.changed.drain(..) {
                let at = link as usize;
                let one = &mut self.uses[at];
                one.is_changed = false;
                let part = one.load / self.capacities[at];
                one.peak = one.peak.max(part);
                let most = &mut self.sums[place][usize::from(self.classes[at])].most;
                *most = most.max(part);
            }
            let end = now.min((place as Micros + 1).saturating_mul(self.interval));
            let time = (end - self.now) as f64 / SECOND;
            for (sum, load) in self.sums[place].iter_mut().zip(&self.class_load) {
                sum.mean += load * time;
            }
            self.now = end;
        }
    }

    /// The links of a new interval begin with their present loads.
    fn take_most(&mut self, place: usize) {
        for (at, (one, class)) in self.uses.iter().zip(&self.classes).enumerate() {
            let most = &mut self.sums[place][usize::from(*class)].most;
            *most = most.max(one.load / self.capacities[at]);
        }
    }

    /// Makes intervals of twice the length of each pair.
    fn double(&mut self) {
        self.interval *= 2;
        let pairs = self.sums.chunks(2).map(|pair| {
            let mut sum = pair[0].clone();
            for (sum, next) in sum.iter_mut().zip(pair.iter().skip(1).flatten()) {
                sum.mean += next.mean;
                sum.most = sum.most.max(next.most);
            }
            sum
        });
        self.sums = pairs.collect();
    }

    /// The load of `link` changes by `difference` bytes per second, at the time of the last [`advance`](Self::advance).
    pub(crate) fn change(&mut self, link: u32, difference: f64) {
        let at = link as usize;
        let one = &mut self.uses[at];
        one.bytes += one.load * (self.now - one.since) as f64 / SECOND;
        one.since = self.now;
        // Rounding may leave less than nothing.
        one.load = (one.load + difference).max(0.0);
        if !std::mem::replace(&mut one.is_changed, true) {
            self.changed.push(link);
        }
        let class = usize::from(self.classes[at]);
        self.class_load[class] = (self.class_load[class] + difference).max(0.0);
    }

    /// The links that carried bytes.
    pub(crate) fn links(&self) -> Vec<LinkBytes> {
        let link = |(at, one): (usize, &Use)| LinkBytes {
            link: at as u32,
            class: self.classes[at],
            capacity: self.capacities[at],
            bytes: one.bytes + one.load * (self.now - one.since) as f64 / SECOND,
            peak: one.peak,
        };
        let found = self.uses.iter().enumerate().map(link);
        found.filter(|one| one.bytes > 0.0).collect()
    }

    /// The loads of classes over time.
    pub(crate) fn series(&self) -> LinkLoadSeries {
        let of = |(place, sums): (usize, &Vec<ClassLoad>)| {
            let begin = place as Micros * self.interval;
            let time = (self.now.min(begin + self.interval) - begin) as f64 / SECOND;
            let load = |(sum, capacity): (&ClassLoad, &f64)| ClassLoad {
                mean: sum.mean / (capacity * time).max(f64::MIN_POSITIVE),
                most: sum.most,
            };
            sums.iter().zip(&self.class_capacity).map(load).collect()
        };
        LinkLoadSeries {
            interval: self.interval,
            loads: self.sums.iter().enumerate().map(of).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Micros = 1_000_000;

    /// Two links of 10 B/s: one carries 5 B/s for 90 s, so 450 B, at half of its capacity. Over both links that is
    /// 1/4 in the first minute and 1/8 in the second.
    #[test]
    fn loads_are_summed_over_time() {
        let mut links = LinkUse::new(vec![10.0, 10.0], vec![0, 0]);
        // A load that lasts for no time does not count.
        links.change(1, 9.0);
        links.change(1, -4.0);
        links.advance(90 * S);
        links.change(1, -5.0);
        links.advance(120 * S);
        let found = links.links();
        assert_eq!(
            (found.len(), found[0].link, found[0].bytes, found[0].peak),
            (1, 1, 450.0, 0.5)
        );
        let series = links.series();
        assert_eq!(series.interval, 60 * S);
        let mean: Vec<f64> = series.loads.iter().map(|classes| classes[0].mean).collect();
        assert_eq!(mean, [0.25, 0.125]);
        assert_eq!((series.loads[0][0].most, series.loads[1][0].most), (0.5, 0.5));
    }

    /// 3,000 minutes at 2 B/s of 10: 750 intervals of 4 minutes, all with the same load.
    #[test]
    fn intervals_grow_with_the_time() {
        let mut links = LinkUse::new(vec![10.0], vec![0]);
        links.change(0, 2.0);
        for minute in 1..=3000 {
            links.advance(minute * 60 * S);
        }
        let series = links.series();
        assert_eq!((series.interval, series.loads.len()), (240 * S, 750));
        assert!(
            series
                .loads
                .iter()
                .all(|one| (one[0].mean - 0.2).abs() < 1e-9 && one[0].most == 0.2)
        );
    }
}
