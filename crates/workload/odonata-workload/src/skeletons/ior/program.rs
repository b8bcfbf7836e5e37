//! The operations of IOR's tasks: a pure function of rank and cursor, except for the deadline of `-D`, which depends on
//! the clock (`stonewall`).

use odonata_units::{SplitMix64, Time};

use super::super::{barrier, fsync};
use super::IorParams;
use super::collective::CollectiveCall;
use super::stonewall::{Status, Wall};
use crate::permutation::Permutation;
use crate::program::{Seen, check_length};
use crate::{Cursor, FileCall, Op, OpKind, Program};

/// The kind of access to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It writes.
    Write,
    /// Reads written data to compare it.
    Check,
    /// It reads.
    Read,
}

impl Access {
    const ALL: [Access; 3] = [Access::Write, Access::Check, Access::Read];
}

/// Number of reported times of an access.
pub const TIMERS: u32 = 6;
/// The report after the transfers, whose value is the number of bytes moved by the task.
pub const TRANSFERRED: u32 = 3;

/// The report of a task at `timer` of its writes or reads.
pub const fn report_of(write: bool, timer: u32) -> u32 {
    timer + if write { 0 } else { TIMERS }
}

/// The report of a task at the beginning (timer 0) and at the end (the last timer) of a removal.
pub const fn report_of_removal(timer: u32) -> u32 {
    timer + 2 * TIMERS
}

/// Steps of an access.
const STEPS: u32 = 16;
/// Steps of the removal after all accesses.
const REMOVAL_STEPS: u32 = 4;

/// The ranks of IOR.
#[derive(Clone, Debug)]
pub struct IorProgram {
    pub(super) ranks: u32,
    pub(super) params: IorParams,
    pub(super) status: Status,
    /// Whether an earlier test of the list has left its files.
    after_kept: bool,
}

impl IorProgram {
    /// The program on `ranks` ranks, with resolved parameters.
    ///
    /// # Errors
    /// There are no ranks, or too many operations.
    pub fn new(ranks: u32, params: IorParams) -> Result<Self, String> {
        if ranks == 0 {
            return Err("the job has no ranks".into());
        }
        let status = match params.stone_walling_status_file.is_empty() {
            true => Status::NONE,
            false => Status::ONLY,
        };
        let program = IorProgram {
            ranks,
            params,
            status,
            after_kept: false,
        };
        let transfers = program.transfers();
        let each = match program.collective() {
            true => program.call(Access::Write, 0, 0).most_operations(),
            false => 2,
        };
        let access = transfers.saturating_mul(each).saturating_add(STEPS.into());
        check_length(
            program.params.repetitions,
            access.saturating_mul(3).saturating_add(1 + u64::from(REMOVAL_STEPS)),
        )?;
        if program.params.stone_walling_wear_out && transfers > Wall::MOST_TRANSFERS {
            return Err(format!(
                "stoneWallingWearOut with {transfers} transfers of a task: at most {}",
                Wall::MOST_TRANSFERS
            ));
        }
        Ok(program)
    }

    /// The same program as one test of a list: its status file is number `status` of a count, and whether an earlier
    /// test has left the files.
    #[must_use]
    pub fn in_list(mut self, status: Option<(u32, u32)>, after_kept: bool) -> Self {
        self.status = status.map_or(Status::NONE, |(number, files)| Status { number, files });
        self.after_kept = after_kept;
        self
    }

    /// Transfers of a task.
    pub(super) fn transfers(&self) -> u64 {
        self.params.block_size.0 / self.params.transfer_size.0 * u64::from(self.params.segment_count)
    }

    /// Whether tasks that share a file access it collectively.
    fn collective(&self) -> bool {
        self.params.collective && !self.params.file_per_proc
    }

    fn does(&self, access: Access) -> bool {
        match access {
            Access::Write => *self.params.write_file,
            Access::Check => self.params.check_write,
            Access::Read => *self.params.read_file || self.params.check_read,
        }
    }

    /// Distance between a rank and the task whose data it reads.
    fn shift(&self, rank: u32, access: Access, repetition: u32) -> u32 {
        let IorParams {
            reorder_tasks,
            reorder_tasks_random,
            reorder_tasks_random_seed: seed,
            task_per_node_offset: nodes,
            ..
        } = self.params;
        let per_node = u64::from(*self.params.tasks_per_node);
        let ranks = u64::from(self.ranks);
        let shift = match access {
            Access::Write => 0,
            Access::Check if reorder_tasks => 2 * per_node % ranks,
            Access::Read if reorder_tasks => u64::from(nodes) * per_node % ranks,
            Access::Read if reorder_tasks_random => {
                let of_job = ranks.div_ceil(per_node);
                let least = (u64::from(nodes).min(of_job - 1) * per_node).min(ranks - 1);
                let again = if seed < 0 { u64::from(repetition) } else { 0 };
                let mut draws = SplitMix64::named(seed.unsigned_abs(), [again, rank.into()]);
                least + ((u128::from(draws.next_u64()) * u128::from(ranks - least)) >> 64) as u64
            }
            Access::Check | Access::Read => 0,
        };
        shift as u32
    }

    /// The file that `rank` opens.
    fn file(&self, rank: u32, access: Access, repetition: u32) -> u64 {
        let number = if self.params.multi_file {
            u64::from(repetition)
        } else {
            0
        };
        match self.params.file_per_proc {
            false => number,
            true => {
                let owner = (u64::from(rank) + u64::from(self.shift(rank, access, repetition))) % u64::from(self.ranks);
                number * u64::from(self.ranks) + owner
            }
        }
    }

    /// Offset of transfer `index` of `rank`.
    fn offset(&self, rank: u32, access: Access, repetition: u32, index: u64) -> u64 {
        let (transfer, block) = (self.params.transfer_size.0, self.params.block_size.0);
        let all = self.transfers();
        let ranks = u64::from(self.ranks);
        if self.params.random_offset {
            // As in IOR, all tasks have the same order in per-task files, and writes and reads have different orders.
            let names = [u64::from(repetition), u64::from(access == Access::Read)];
            let place = match self.params.file_per_proc {
                true => Permutation::new(all, *self.params.random_seed, names).at(index),
                false => {
                    let of_file = Permutation::new(all * ranks, *self.params.random_seed, names);
                    of_file.at(u64::from(rank) * all + index)
                }
            };
            return place * transfer;
        }
        let per_block = block / transfer;
        let (segment, within) = (index / per_block, index % per_block * transfer);
        match self.params.file_per_proc {
            true => segment * block + within,
            false => {
                let pretended = (u64::from(rank) + u64::from(self.shift(rank, access, repetition))) % ranks;
                (segment * ranks + pretended) * block + within
            }
        }
    }

    /// Collective transfer number `index`.
    fn call(&self, access: Access, repetition: u32, index: u64) -> CollectiveCall {
        let (transfer, block) = (self.params.transfer_size.0, self.params.block_size.0);
        let per_block = block / transfer;
        CollectiveCall {
            ranks: self.ranks,
            aggregators: *self.params.cb_nodes,
            buffer: self.params.cb_buffer_size.0,
            write: access == Access::Write,
            file: self.file(0, Access::Write, repetition),
            base: index / per_block * u64::from(self.ranks) * block + index % per_block * transfer,
            stride: block,
            bytes: transfer,
            shift: self.shift(0, access, repetition),
        }
    }

    /// Transfer number `words[2]` of `rank`; `None` after the last.
    pub(super) fn transfer(&self, rank: u32, access: Access, words: &mut [u32; 5], wall: bool) -> Option<OpKind> {
        let [repetition, _, index, round, step] = words;
        let write = access == Access::Write;
        let all = self.transfers();
        if self.collective() {
            while u64::from(*index) < all {
                let call = self.call(access, *repetition, u64::from(*index));
                if let Some(op) = call.next(rank, round, step) {
                    return Some(op);
                }
                *index += 1;
            }
            return None;
        }
        let file = self.file(rank, access, *repetition);
        // The fsync of a write.
        if *step == 1 {
            *step = 0;
            return Some(fsync(file));
        }
        if u64::from(*index) >= all || wall {
            return None;
        }
        let offset = self.offset(rank, access, *repetition, u64::from(*index));
        let bytes = self.params.transfer_size.0;
        *index += 1;
        *step = u32::from(write && self.params.fsync_per_write);
        Some(match write {
            true => OpKind::Write { file, offset, bytes },
            false => OpKind::Read { file, offset, bytes },
        })
    }

    /// The operation at step `at` of an access, if it has one; all transfers are one step.
    fn step(&self, rank: u32, access: Access, at: u32, words: &mut [u32; 5]) -> Option<OpKind> {
        let p = &self.params;
        let report = |timer: u32, value: f64| {
            (access != Access::Check).then_some(OpKind::Report {
                report: report_of(access == Access::Write, timer),
                index: 0,
                value,
            })
        };
        let file = self.file(rank, access, words[0]);
        match at {
            // Files left by the previous repetition.
            1 => {
                let fresh = words[0] == 0 || p.multi_file;
                let left = if fresh { self.after_kept } else { p.keep_file } && !p.use_existing_test_file;
                (access == Access::Write && left)
                    .then(|| self.unlink(rank, file))
                    .flatten()
            }
            0 => (access != Access::Check && p.inter_test_delay > Time::ZERO).then_some(OpKind::Compute {
                duration: p.inter_test_delay,
            }),
            2 | 15 => Some(barrier()),
            3 => report(0, 0.0),
            4 => Some(OpKind::Open { file }),
            5 => report(1, 0.0),
            6 | 11 => p.intra_test_barriers.then(barrier),
            7 => report(2, 0.0),
            // 8 are the transfers.
            9 => (access == Access::Write && p.fsync).then_some(fsync(file)),
            10 => {
                let moved = u64::from(words[2]) * p.transfer_size.0;
                words[2] = 0;
                report(TRANSFERRED, moved as f64)
            }
            12 => report(4, 0.0),
            13 => Some(OpKind::Close { file }),
            _ => report(5, 0.0),
        }
    }

    /// The operation with which `rank` removes `file`: its own file, or as rank 0 the shared one.
    fn unlink(&self, rank: u32, file: u64) -> Option<OpKind> {
        let removes = self.params.file_per_proc || rank == 0;
        removes.then_some(OpKind::Metadata {
            call: FileCall::Unlink,
            directory: 0,
            file,
        })
    }

    /// The operation at step `at` of the removal of a repetition's files, if it has one.
    fn removal_step(&self, rank: u32, at: u32, repetition: u32) -> Option<OpKind> {
        let report = |timer: u32| OpKind::Report {
            report: report_of_removal(timer),
            index: 0,
            value: 0.0,
        };
        match at {
            0 => Some(report(0)),
            1 => {
                // The last file that the task has opened, unless it is random: then its own.
                let last = Access::ALL.into_iter().rev().find(|&access| self.does(access));
                let last = last.filter(|_| !self.params.reorder_tasks_random);
                self.unlink(rank, self.file(rank, last.unwrap_or(Access::Write), repetition))
            }
            2 => Some(barrier()),
            _ => Some(report(TIMERS - 1)),
        }
    }

    /// The next operation of `rank`; `wall` is its view of the clock, if there is one.
    fn find(&self, rank: u32, words: &mut [u32; 5], mut wall: Option<Wall>) -> Option<OpKind> {
        loop {
            if words[0] >= self.params.repetitions {
                return None;
            }
            let stage = words[1] as usize;
            let (access, at) = (stage / STEPS as usize, (stage % STEPS as usize) as u32);
            let Some(&access) = Access::ALL.get(access) else {
                let at = stage as u32 - Access::ALL.len() as u32 * STEPS;
                if at < REMOVAL_STEPS && !self.params.keep_file {
                    words[1] += 1;
                    match self.removal_step(rank, at, words[0]) {
                        Some(op) => return Some(op),
                        None => continue,
                    }
                }
                let iteration = words[0];
                (words[0], words[1]) = (words[0] + 1, 0);
                return Some(OpKind::Mark { iteration });
            };
            if !self.does(access) {
                words[1] += STEPS;
                continue;
            }
            if at == 8 {
                let op = match &mut wall {
                    Some(wall) => wall.transfer(self, rank, access, words),
                    None => {
                        let most = self.params.stone_walling_wear_out_iterations;
                        self.transfer(rank, access, words, most > 0 && words[2] >= most)
                    }
                };
                if op.is_some() {
                    return op;
                }
                words[1] += 1;
                continue;
            }
            words[1] += 1;
            if let Some(op) = self.step(rank, access, at, words) {
                return Some(op);
            }
        }
    }
}

impl Program for IorProgram {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        if rank >= self.ranks {
            return None;
        }
        cursor.advance(|words| self.find(rank, words, None))
    }

    fn memory(&self) -> usize {
        let remembers = self.params.deadline_for_stonewalling > Time::ZERO || self.status.files > 0;
        if remembers { self.kept() + Wall::WORDS } else { 0 }
    }

    fn kept(&self) -> usize {
        self.status.files as usize
    }

    fn next_with(&self, rank: u32, cursor: &mut Cursor, seen: &mut Seen) -> Option<Op> {
        if rank >= self.ranks {
            return None;
        }
        if seen.memory.len() < self.memory() || self.memory() == 0 {
            return self.next(rank, cursor);
        }
        let now = seen.now.unwrap_or(Time::ZERO);
        let answer = seen.answer;
        cursor.advance(|words| self.find(rank, words, Some(Wall::new(self, seen.memory, now, answer))))
    }

    fn clock(&self) -> Option<String> {
        (self.memory() > 0).then(|| "deadlineForStonewalling of IOR".into())
    }

    fn describe(&self) -> String {
        let IorParams {
            transfer_size,
            block_size,
            segment_count,
            file_per_proc,
            repetitions,
            ..
        } = self.params;
        let files = if file_per_proc {
            "a file per task"
        } else {
            "a shared file"
        };
        let repeated = match repetitions {
            1 => String::new(),
            times => format!("{times} times "),
        };
        let does = [(Access::Write, "writes"), (Access::Read, "reads")];
        let does: Vec<&str> = (does.into_iter().filter(|(access, _)| self.does(*access)))
            .map(|(_, word)| word)
            .collect();
        format!(
            "IOR, {} ranks, {files}, {repeated}{} of {segment_count} x {block_size} in transfers of {transfer_size}",
            self.ranks,
            does.join(" and ")
        )
    }
}
