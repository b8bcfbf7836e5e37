//! Free units over time: what conservative backfill plans with.

use crate::job::Micros;

/// The number of free units from each time on, ascending in time.
#[derive(Clone, Debug)]
pub(crate) struct Timetable {
    steps: Vec<(Micros, i64)>,
}

impl Timetable {
    /// `units` free units from `now` on.
    pub(crate) fn new(now: Micros, units: usize) -> Timetable {
        Timetable {
            steps: vec![(now, units as i64)],
        }
    }

    /// The step that begins at `time`; splits one if needed. Times before the first step are the first step.
    fn split(&mut self, time: Micros) -> usize {
        match self.steps.binary_search_by_key(&time, |step| step.0) {
            Ok(at) => at,
            Err(0) => 0,
            Err(at) => {
                let free = self.steps[at - 1].1;
                self.steps.insert(at, (time, free));
                at
            }
        }
    }

    /// Adds `units` (taken if negative) from `from` until `to`.
    pub(crate) fn change(&mut self, from: Micros, to: Micros, units: i64) {
        if from >= to {
            return;
        }
        let first = self.split(from);
        let last = self.split(to);
        for step in &mut self.steps[first..last] {
            step.1 += units;
        }
    }

    /// The earliest time with `units` free units for `lasts`.
    pub(crate) fn earliest(&self, units: i64, lasts: Micros) -> Option<Micros> {
        let mut at = 0;
        while at < self.steps.len() {
            if self.steps[at].1 < units {
                at += 1;
                continue;
            }
            let start = self.steps[at].0;
            let mut next = at + 1;
            while next < self.steps.len() && self.steps[next].0 < start.saturating_add(lasts) {
                if self.steps[next].1 < units {
                    break;
                }
                next += 1;
            }
            let is_enough = next == self.steps.len() || self.steps[next].0 >= start.saturating_add(lasts);
            if is_enough {
                return Some(start);
            }
            at = next + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4 units, 3 taken until 10, 2 reserved from 20 to 30: 2 units for 10 from 10 on, 3 units for 11 from 30 on.
    #[test]
    fn gaps_are_found() {
        let mut table = Timetable::new(0, 4);
        table.change(0, 10, -3);
        table.change(20, 30, -2);
        assert_eq!(table.earliest(1, 100), Some(0));
        assert_eq!(table.earliest(2, 10), Some(10));
        assert_eq!(table.earliest(3, 10), Some(10));
        assert_eq!(table.earliest(3, 11), Some(30));
        assert_eq!(table.earliest(5, 1), None);
        table.change(20, 30, 2);
        assert_eq!(table.earliest(3, 11), Some(10));
    }
}
