//! The memory of programs: words beside the cursor, kept by the rank.
//!
//! A rank whose program has memory has two words more: the tag that its last receive of any tag took, and how many values
//! it has reported.

use super::Hosts;
use super::event::Outside;
use super::metrics::ReportRecord;
use super::outcome::{Failure, Wrong};
use super::params::JobProgram;
use odonata_engine::{Mode, Time};
use odonata_workload::{Op, Program, Seen};

/// Words that a rank has beside those of its program.
const OWN: u32 = 2;
/// The most values that one rank reports: what is made of several, as a mean, is made of all of them.
pub(super) const MOST_REPORTS: u64 = if cfg!(test) { 1 << 6 } else { 1 << 20 };

/// Words of a rank whose program has `memory` of them.
pub(crate) fn words(memory: usize) -> u32 {
    match memory {
        0 => 0,
        memory => u32::try_from(memory).unwrap_or(u32::MAX).saturating_add(OWN),
    }
}

impl JobProgram {
    /// Words of memory that each rank's program has.
    pub(super) fn memory(&self) -> usize {
        match self {
            JobProgram::Program(program) => program.memory(),
            JobProgram::Synthetic { .. } => 0,
        }
    }
}

impl Hosts {
    /// The program of `rank`, if it has memory, with the first of the rank's words.
    fn remembering(&self, rank: u32) -> Option<(&dyn Program, u32, usize)> {
        let job = &self.jobs[usize::from(self.places[rank as usize].job)];
        let JobProgram::Program(program) = &job.program else {
            return None;
        };
        let memory = program.memory();
        (memory > 0).then(|| (&**program, *self.first_word.get(rank), memory))
    }

    /// The next operation of `rank`, whose program has memory. Only words that change are written.
    pub(super) fn pull_with_memory<X: Outside>(&mut self, x: &mut X, rank: u32) -> Option<Op> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let (program, first, memory) = self.remembering(rank)?;
        scratch.clear();
        scratch.extend((first..first + memory as u32).map(|word| *self.words.get(word)));
        let local = rank - self.jobs[usize::from(self.places[rank as usize].job)].first_rank;
        let mut cursor = self.ranks.get(rank).cursor;
        let mut seen = Seen {
            memory: &mut scratch,
            now: Some(x.now()),
            answer: *self.words.get(first + memory as u32) as u32,
            failure: None,
        };
        let op = program.next_with(local, &mut cursor, &mut seen);
        let failed = seen.failure.is_some();
        for (word, &value) in (first..).zip(&scratch) {
            if *self.words.get(word) != value {
                *self.words.edit::<X>(word) = value;
            }
        }
        self.ranks.edit::<X>(rank).cursor = cursor;
        self.scratch = scratch;
        if failed {
            let at = x.now();
            self.fail(x, Failure::Program { rank, at });
        }
        op
    }

    /// Why the program of `rank` failed at `at`.
    pub(super) fn program_failure(&self, rank: u32, at: Time) -> Option<String> {
        let Some((program, first, memory)) = self.remembering(rank) else {
            let job = &self.jobs[usize::from(self.places[rank as usize].job)];
            return match &job.program {
                JobProgram::Program(program) => program.broken(rank - job.first_rank, &self.ranks.get(rank).cursor),
                JobProgram::Synthetic { .. } => None,
            };
        };
        let words: Vec<u64> = (first..first + memory as u32)
            .map(|word| *self.words.get(word))
            .collect();
        let local = rank - self.jobs[usize::from(self.places[rank as usize].job)].first_rank;
        program.failure(local, &words, at)
    }

    /// A receive of any tag of `rank` has taken a message with `tag`.
    pub(super) fn note_tag<M: Mode>(&mut self, rank: u32, tag: u32) {
        if let Some((_, first, memory)) = self.remembering(rank) {
            *self.words.edit::<M>(first + memory as u32) = u64::from(tag);
        }
    }

    /// Keeps a value that `rank` reports.
    ///
    /// # Errors
    /// There are [`MOST_REPORTS`] of it already.
    pub(super) fn keep_report<M: Mode>(
        &mut self,
        rank: u32,
        report: u32,
        index: u32,
        value: f64,
        time: Time,
    ) -> Result<(), Wrong> {
        let Some((_, first, memory)) = self.remembering(rank) else {
            return Ok(());
        };
        let count = first + memory as u32 + 1;
        let order = *self.words.get(count);
        if order >= MOST_REPORTS {
            return Err(Wrong::TooManyReports);
        }
        *self.words.edit::<M>(count) = order + 1;
        let job = self.places[rank as usize].job;
        self.report_rows.push::<M>(ReportRecord {
            job,
            rank: rank - self.jobs[usize::from(job)].first_rank,
            order: order as u32,
            report,
            index,
            value: value.to_bits(),
            time,
        });
        Ok(())
    }
}
