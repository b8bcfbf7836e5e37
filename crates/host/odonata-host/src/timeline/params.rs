//! Which actions a timeline records.

use odonata_engine::Time;
use std::sync::Arc;

/// Ranks, period and maximum number of rows of a timeline.
#[derive(Clone, Debug)]
pub struct TimelineParams {
    ranks: Arc<[u64]>,
    from: Time,
    until: Time,
    pub(super) rows: u64,
}

impl TimelineParams {
    /// Records the ranks, numbered over all jobs, for which `chosen` is true, from `from` until before `until`, with at
    /// most `rows` rows per table.
    pub fn new(chosen: impl IntoIterator<Item = bool>, (from, until): (Time, Time), rows: u64) -> Self {
        let mut ranks: Vec<u64> = Vec::new();
        for (rank, chosen) in chosen.into_iter().enumerate() {
            if rank % 64 == 0 {
                ranks.push(0);
            }
            ranks[rank / 64] |= u64::from(chosen) << (rank % 64);
        }
        let ranks = ranks.into();
        TimelineParams {
            ranks,
            from,
            until,
            rows,
        }
    }

    #[inline]
    pub(super) fn has(&self, rank: u32) -> bool {
        self.ranks
            .get(rank as usize / 64)
            .is_some_and(|word| word >> (rank % 64) & 1 == 1)
    }

    /// Whether `begin .. end` overlaps the period; an empty interval counts as an instant.
    #[inline]
    pub(super) fn overlaps(&self, begin: Time, end: Time) -> bool {
        begin < self.until && (end > self.from || begin >= self.from)
    }
}
