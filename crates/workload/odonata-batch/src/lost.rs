//! Time that jobs lose to each other, by pair of jobs and class of the link where they meet.

use serde::Serialize;

/// Time that a job lost to another one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lost {
    /// The slowed job.
    pub victim: u32,
    /// The job that used the link.
    pub culprit: u32,
    /// The class of the link.
    pub class: u8,
    /// Seconds of the victim's run time.
    pub lost_s: f64,
}

/// The sums for each victim, ordered by culprit and class.
#[derive(Clone, Debug, Default)]
pub(crate) struct LostTime {
    of: Vec<Vec<(u32, u8, f64)>>,
}

impl LostTime {
    pub(crate) fn new(jobs: usize) -> LostTime {
        LostTime {
            of: vec![Vec::new(); jobs],
        }
    }

    /// Adds `lost_s` of `victim` because of `culprit`.
    pub(crate) fn add(&mut self, victim: u32, culprit: u32, class: u8, lost_s: f64) {
        let entries = &mut self.of[victim as usize];
        match entries.binary_search_by_key(&(culprit, class), |entry| (entry.0, entry.1)) {
            Ok(at) => entries[at].2 += lost_s,
            Err(at) => entries.insert(at, (culprit, class, lost_s)),
        }
    }

    /// All sums, by victim, culprit and class.
    pub(crate) fn all(&self) -> impl Iterator<Item = Lost> + '_ {
        self.of.iter().enumerate().flat_map(|(victim, entries)| {
            entries.iter().map(move |&(culprit, class, lost_s)| Lost {
                victim: victim as u32,
                culprit,
                class,
                lost_s,
            })
        })
    }
}
