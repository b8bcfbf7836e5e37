//! The partition of a model into ranges of LPs, with the lookahead between them.

use crate::{Lp, Time};
use std::ops::Range;

/// The parts of a model, in the order of their LPs, and the lookahead between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The first LP of each part, and the number of LPs at the end.
    bounds: Vec<Lp>,
    /// Per part, its senders, each with the smallest delay.
    senders: Vec<Vec<(u32, Time)>>,
}

impl Partition {
    /// One part of `processes` LPs.
    pub fn whole(processes: Lp) -> Partition {
        Partition {
            bounds: vec![0, processes],
            senders: vec![Vec::new()],
        }
    }

    /// Parts that begin at each of `bounds` except the last, which is the number of LPs; `senders[p]` are the parts
    /// that can send to part `p`, each with the smallest delay.
    ///
    /// # Errors
    /// The bounds are not ascending from 0, a part has no list of senders, a sender does not exist, or a delay is zero.
    pub fn new(bounds: Vec<Lp>, senders: Vec<Vec<(u32, Time)>>) -> Result<Partition, String> {
        if bounds.first() != Some(&0) || !bounds.is_sorted_by(|a, b| a < b) || bounds.len() < 2 {
            return Err("parts begin at LP 0, and none is empty".into());
        }
        let parts = bounds.len() - 1;
        if senders.len() != parts {
            return Err(format!("{parts} parts have {} lists of senders", senders.len()));
        }
        for (part, list) in senders.iter().enumerate() {
            for &(sender, delay) in list {
                if sender as usize >= parts || sender as usize == part {
                    return Err(format!("part {part} of {parts} hears from part {sender}"));
                }
                if delay == Time::ZERO {
                    return Err(format!("part {sender} reaches part {part} in no time"));
                }
            }
        }
        Ok(Partition { bounds, senders })
    }

    /// The first LP of each part, and the number of LPs at the end.
    pub fn bounds(&self) -> &[Lp] {
        &self.bounds
    }

    /// Number of parts.
    pub fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Always `false`: there is at least one part.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Number of LPs.
    pub fn processes(&self) -> Lp {
        self.bounds[self.len()]
    }

    /// The LPs of `part`.
    pub fn range(&self, part: usize) -> Range<Lp> {
        self.bounds[part]..self.bounds[part + 1]
    }

    /// The part of `lp`.
    #[inline]
    pub fn part_of(&self, lp: Lp) -> usize {
        self.bounds.partition_point(|&first| first <= lp) - 1
    }

    /// The parts that can send to `part`, with the smallest delay of each.
    pub fn senders(&self, part: usize) -> &[(u32, Time)] {
        &self.senders[part]
    }

    /// The smallest delay between any two parts; [`Time::NEVER`] if no part sends to another.
    pub fn lookahead(&self) -> Time {
        let delays = self.senders.iter().flatten().map(|&(_, delay)| delay);
        delays.min().unwrap_or(Time::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lp_belongs_to_the_part_whose_range_holds_it() {
        let partition = Partition::new(
            vec![0, 1, 5, 7],
            vec![Vec::new(), vec![(0, Time(3))], vec![(1, Time(2))]],
        )
        .unwrap();
        for part in 0..partition.len() {
            assert!(partition.range(part).all(|lp| partition.part_of(lp) == part));
        }
        assert_eq!(partition.lookahead(), Time(2));
        assert_eq!(Partition::whole(4).lookahead(), Time::NEVER);
    }

    #[test]
    fn partitions_that_make_no_sense_are_refused() {
        let none = || vec![Vec::new(), Vec::new()];
        assert!(Partition::new(vec![0, 2], none()).is_err());
        assert!(Partition::new(vec![0, 2, 2], none()).is_err());
        assert!(Partition::new(vec![1, 2, 3], none()).is_err());
        assert!(Partition::new(vec![0, 2, 3], vec![vec![(0, Time(1))], Vec::new()]).is_err());
        assert!(Partition::new(vec![0, 2, 3], vec![vec![(1, Time(0))], Vec::new()]).is_err());
        assert!(Partition::new(vec![0, 2, 3], vec![vec![(1, Time(1))], Vec::new()]).is_ok());
    }
}
