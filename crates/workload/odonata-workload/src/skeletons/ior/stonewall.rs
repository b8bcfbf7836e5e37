//! Stonewalling of IOR: when a task stops an access, and how all tasks reach the same number of transfers.
//!
//! As in IOR 4 (`WriteOrRead` of `src/ior.c`), a task stops after the first transfer that ends later than the deadline,
//! counted from the begin of its first transfer, or at its limit: the number written in the same test, or the number in
//! the status file. With `stoneWallingWearOut`, an all-reduce finds the largest number of transfers of all tasks (here
//! along a binomial tree, up and down, in messages of 8 B whose tag is the number), and each task continues up to it.

use odonata_units::Time;

use super::program::{Access, IorProgram};
use crate::{Comm, OpKind, Source, Tag};

/// Message size for a number of transfers.
const NUMBER_BYTES: u64 = 8;

/// The status file of a test among those of its list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Status {
    /// Its number.
    pub(super) number: u32,
    /// Number of status files; 0: none.
    pub(super) files: u32,
}

impl Status {
    /// None.
    pub(super) const NONE: Status = Status { number: 0, files: 0 };
    /// The only one of its list.
    pub(super) const ONLY: Status = Status { number: 0, files: 1 };
}

/// Stages of a task after its transfers have stopped.
mod stage {
    /// Transfers before the deadline.
    pub(super) const TRANSFER: u64 = 0;
    /// Receives the numbers of its children.
    pub(super) const GATHER: u64 = 1;
    /// Sends the maximum to its parent.
    pub(super) const GIVE: u64 = 2;
    /// Has received the global maximum.
    pub(super) const HEARD: u64 = 3;
    /// Tells its children.
    pub(super) const TELL: u64 = 4;
    /// Continues up to the global maximum.
    pub(super) const REST: u64 = 5;
}

/// Words of a task, after those of status files.
mod word {
    /// Start of its first transfer.
    pub(super) const STARTED: usize = 0;
    /// Maximum number of transfers; 0: limited by the clock only.
    pub(super) const LIMIT: usize = 1;
    pub(super) const STAGE: usize = 2;
    /// The next child, and the largest number received.
    pub(super) const CHILD: usize = 3;
    pub(super) const MOST: usize = 4;
    pub(super) const ALL: usize = 5;
}

/// A task's view of the clock, its limits and the other tasks.
#[derive(Debug)]
pub(super) struct Wall<'a> {
    status: Option<&'a mut u64>,
    words: &'a mut [u64],
    now: Time,
    answer: u32,
}

impl<'a> Wall<'a> {
    /// Number of memory words.
    pub(super) const WORDS: usize = word::ALL;
    /// Maximum number of transfers of a task: the numbers are tags.
    pub(super) const MOST_TRANSFERS: u64 = (1 << 30) - 1;

    /// The wall of `program` in `memory`, at `now`; `answer` is the tag of the last received message.
    pub(super) fn new(program: &IorProgram, memory: &'a mut [u64], now: Time, answer: u32) -> Self {
        let (files, words) = memory.split_at_mut(program.status.files as usize);
        Wall {
            status: files.get_mut(program.status.number as usize),
            words,
            now,
            answer,
        }
    }

    /// The next operation of an access of `rank`, between its open and its fsync; `None` when it has ended.
    pub(super) fn transfer(
        &mut self,
        program: &IorProgram,
        rank: u32,
        access: Access,
        words: &mut [u32; 5],
    ) -> Option<OpKind> {
        loop {
            match self.words[word::STAGE] {
                stage::TRANSFER => {
                    if words[2] == 0 && words[4] == 0 {
                        self.begin(program, access);
                    }
                    let limit = self.words[word::LIMIT];
                    let deadline = program.params.deadline_for_stonewalling.0;
                    let late = deadline > 0 && self.now.0.saturating_sub(self.words[word::STARTED]) > deadline;
                    let wall = late || (limit > 0 && u64::from(words[2]) >= limit);
                    if let Some(op) = program.transfer(rank, access, words, wall) {
                        return Some(op);
                    }
                    self.words[word::MOST] = words[2].into();
                    if !program.params.stone_walling_wear_out {
                        self.end(program, access, words[2]);
                        return None;
                    }
                    self.words[word::STAGE] = stage::GATHER;
                    self.words[word::CHILD] = 0;
                }
                // The received tag is the number of the previous child.
                stage::GATHER => {
                    if self.words[word::CHILD] > 0 {
                        self.hears();
                    }
                    let number = self.words[word::CHILD] as u32;
                    self.words[word::CHILD] += 1;
                    match child(rank, number, program.ranks) {
                        Some(child) => return Some(receive(child)),
                        None => self.words[word::STAGE] = stage::GIVE,
                    }
                }
                stage::GIVE => {
                    self.words[word::CHILD] = 0;
                    self.words[word::STAGE] = if rank == 0 { stage::TELL } else { stage::HEARD };
                    if rank > 0 {
                        return Some(self.tell(parent(rank)));
                    }
                }
                stage::HEARD if self.words[word::CHILD] == 0 => {
                    self.words[word::CHILD] = 1;
                    return Some(receive(parent(rank)));
                }
                stage::HEARD => {
                    self.hears();
                    self.words[word::CHILD] = 0;
                    self.words[word::STAGE] = stage::TELL;
                }
                stage::TELL => {
                    let number = self.words[word::CHILD] as u32;
                    self.words[word::CHILD] += 1;
                    match child(rank, number, program.ranks) {
                        Some(child) => return Some(self.tell(child)),
                        None => self.words[word::STAGE] = stage::REST,
                    }
                }
                _ => {
                    let all = u64::from(words[2]) >= self.words[word::MOST];
                    if let Some(op) = program.transfer(rank, access, words, all) {
                        return Some(op);
                    }
                    self.end(program, access, words[2]);
                    return None;
                }
            }
        }
    }

    /// The first transfer of an access begins.
    fn begin(&mut self, program: &IorProgram, access: Access) {
        self.words[word::STARTED] = self.now.0;
        let given = u64::from(program.params.stone_walling_wear_out_iterations);
        match (access, &self.status) {
            (Access::Write, _) => self.words[word::LIMIT] = given,
            (Access::Read, Some(status)) => self.words[word::LIMIT] = **status,
            // If the test has written: the number that it wrote.
            _ if !*program.params.write_file => self.words[word::LIMIT] = given,
            _ => {}
        }
    }

    /// An access has ended after `transfers` transfers.
    fn end(&mut self, program: &IorProgram, access: Access, transfers: u32) {
        self.words[word::STAGE] = stage::TRANSFER;
        if access == Access::Write && program.params.deadline_for_stonewalling > Time::ZERO {
            self.words[word::LIMIT] = transfers.into();
            if let Some(status) = &mut self.status {
                **status = transfers.into();
            }
        }
    }

    fn hears(&mut self) {
        self.words[word::MOST] = self.words[word::MOST].max(self.answer.into());
    }

    fn tell(&self, to: u32) -> OpKind {
        OpKind::Send {
            to,
            tag: self.words[word::MOST] as u32,
            bytes: NUMBER_BYTES,
            comm: Comm::WORLD,
        }
    }
}

/// The parent of `rank`, which is not 0, in the binomial tree from rank 0.
fn parent(rank: u32) -> u32 {
    rank & (rank - 1)
}

/// Child `number` of `rank` among `ranks`.
fn child(rank: u32, number: u32, ranks: u32) -> Option<u32> {
    let own = if rank == 0 { u32::BITS } else { rank.trailing_zeros() };
    let child = rank.checked_add(1_u32.checked_shl(number)?)?;
    (number < own && child < ranks).then_some(child)
}

fn receive(from: u32) -> OpKind {
    OpKind::Recv {
        from: Source::Rank(from),
        tag: Tag::Any,
        bytes: NUMBER_BYTES,
        comm: Comm::WORLD,
    }
}
