//! The memory of programs: words beside the cursor, kept by the rank.
//!
//! A rank whose program has memory has three additional words: the tag of the last message taken by a receive with any
//! tag, the number of values reported, and whether data read since the last query are lost.

use super::RankExecutor;
use crate::failure::InvalidOperation;
use crate::layout::Layout;
use crate::params::JobProgram;
use odonata_engine::{Mode, SparseStore, Store, Time};
use odonata_workload::{Op, Program, Seen};

/// Additional words per rank.
const OWN: u32 = 3;
/// Maximum number of values that a rank reports. Statistics over several values, such as a mean, use all of them.
pub(crate) const MOST_REPORTS: u64 = if cfg!(test) { 1 << 6 } else { 1 << 20 };

/// Words per rank if its program has `memory` of them.
pub fn words(memory: usize) -> u32 {
    match memory {
        0 => 0,
        memory => u32::try_from(memory).unwrap_or(u32::MAX).saturating_add(OWN),
    }
}

impl JobProgram {
    /// Words of memory of each rank's program.
    pub(crate) fn memory(&self) -> usize {
        match self {
            JobProgram::Program(program) => program.memory(),
            JobProgram::Synthetic { .. } => 0,
        }
    }
}

/// The words of all ranks.
#[derive(Debug)]
pub(crate) struct ProgramMemory {
    /// Index of the first word of each rank; never changes. Empty if no program has memory.
    first: SparseStore<u32>,
    words: Store<u64>,
    /// Empty between pulls; kept for its memory.
    scratch: Vec<u64>,
}
odonata_engine::journalled!(ProgramMemory { words });

#[derive(Clone, Copy)]
struct Words {
    first: u32,
    of_program: u32,
}

impl Words {
    /// Index of the tag of the last message taken by a receive with any tag.
    fn tag(self) -> u32 {
        self.first + self.of_program
    }

    /// Index of the number of reported values.
    fn reports(self) -> u32 {
        self.tag() + 1
    }

    /// Index of the flag that data read are lost.
    fn lost(self) -> u32 {
        self.tag() + 2
    }

    fn range(self) -> std::ops::Range<u32> {
        self.first..self.tag()
    }
}

impl ProgramMemory {
    /// `count` words in total, of which those of each rank start at `first`.
    pub(crate) fn new(first: SparseStore<u32>, count: u32) -> Self {
        ProgramMemory {
            first,
            words: Store::filled(count as usize, 0),
            scratch: Vec::new(),
        }
    }

    /// The program of `rank` and its words, if the program has memory.
    fn with_memory<'a>(&self, layout: &'a Layout, rank: u32) -> Option<(&'a dyn Program, Words)> {
        let program = layout.program(rank)?;
        let memory = program.memory();
        (memory > 0).then(|| {
            let words = Words {
                first: *self.first.get(rank),
                of_program: memory as u32,
            };
            (program, words)
        })
    }

    /// Records the `tag` of a message taken by a receive of `rank` with any tag.
    fn note_tag<M: Mode>(&mut self, layout: &Layout, rank: u32, tag: u32) {
        if let Some((_, words)) = self.with_memory(layout, rank) {
            *self.words.edit::<M>(words.tag()) = u64::from(tag);
        }
    }

    /// Records that data read by `rank` are lost.
    fn note_lost<M: Mode>(&mut self, layout: &Layout, rank: u32) {
        if let Some((_, words)) = self.with_memory(layout, rank) {
            *self.words.edit::<M>(words.lost()) = 1;
        }
    }

    /// Counts a value reported by `rank` and returns the number of earlier ones. For a program without memory, whose
    /// parameters bound the reports, it counts nothing and returns 0.
    ///
    /// # Errors
    /// The rank has already reported [`MOST_REPORTS`] values.
    fn count_report<M: Mode>(&mut self, layout: &Layout, rank: u32) -> Result<u64, InvalidOperation> {
        let Some((_, words)) = self.with_memory(layout, rank) else {
            return Ok(0);
        };
        let before = *self.words.get(words.reports());
        if before >= MOST_REPORTS {
            return Err(InvalidOperation::TooManyReports);
        }
        *self.words.edit::<M>(words.reports()) = before + 1;
        Ok(before)
    }
}

impl RankExecutor {
    /// Pulls the next operation of `rank`, whose program has memory. Only changed words are written. The second value is
    /// whether the program has failed.
    pub(super) fn pull_with_memory<M: Mode>(&mut self, now: Time, rank: u32) -> (Option<Op>, bool) {
        let memory = &mut self.memory;
        let Some((program, words)) = memory.with_memory(&self.layout, rank) else {
            return (None, false);
        };
        let mut scratch = std::mem::take(&mut memory.scratch);
        scratch.clear();
        scratch.extend(words.range().map(|word| *memory.words.get(word)));
        let mut cursor = self.ranks.get(rank).cursor;
        let mut seen = Seen {
            memory: &mut scratch,
            now: Some(now),
            answer: *memory.words.get(words.tag()) as u32,
            lost: *memory.words.get(words.lost()) != 0,
            failure: None,
        };
        if seen.lost {
            *memory.words.edit::<M>(words.lost()) = 0;
        }
        let op = program.next_with(self.layout.local(rank), &mut cursor, &mut seen);
        let failed = seen.failure.is_some();
        for (word, &value) in words.range().zip(&scratch) {
            if *memory.words.get(word) != value {
                *memory.words.edit::<M>(word) = value;
            }
        }
        self.ranks.edit::<M>(rank).cursor = cursor;
        memory.scratch = scratch;
        (op, failed)
    }

    /// Why the program of `rank` failed at `at`.
    pub(crate) fn program_failure(&self, rank: u32, at: Time) -> Option<String> {
        let local = self.layout.local(rank);
        let Some((program, words)) = self.memory.with_memory(&self.layout, rank) else {
            let program = self.layout.program(rank)?;
            return program.broken(local, &self.ranks.get(rank).cursor);
        };
        let words: Vec<u64> = words.range().map(|word| *self.memory.words.get(word)).collect();
        program.failure(local, &words, at)
    }

    /// Records the `tag` of a message taken by a receive of `rank` with any tag.
    pub(crate) fn note_tag<M: Mode>(&mut self, rank: u32, tag: u32) {
        self.memory.note_tag::<M>(&self.layout, rank, tag);
    }

    /// Records that data read by `rank` are lost; its program can query this.
    pub(crate) fn note_lost<M: Mode>(&mut self, rank: u32) {
        self.memory.note_lost::<M>(&self.layout, rank);
    }

    /// Whether the program of `rank` handles lost data, so that a loss is not an error.
    pub(crate) fn reads_survivors(&self, rank: u32) -> bool {
        let cursor = &self.ranks.get(rank).cursor;
        self.layout
            .program(rank)
            .is_some_and(|program| program.reads_survivors(cursor))
    }

    /// Counts a value that `rank` reports; returns the number of earlier ones.
    ///
    /// # Errors
    /// The rank has already reported [`MOST_REPORTS`] values.
    pub(super) fn count_report<M: Mode>(&mut self, rank: u32) -> Result<u64, InvalidOperation> {
        self.memory.count_report::<M>(&self.layout, rank)
    }
}
