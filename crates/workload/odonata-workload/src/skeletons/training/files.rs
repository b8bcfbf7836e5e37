//! Files: samples before an iteration, a checkpoint after it, and reading the checkpoint after a failure.

use odonata_units::Time;

use super::failures::Execution;
use super::{BEGIN, END, RESTART, Training, calls};
use crate::OpKind;
use crate::skeletons::barrier;

impl Training {
    /// Step `step` of the samples; `Err` after the last one. File r of the job has the samples of data rank r.
    pub(super) fn samples(&self, rank: u32, at: Execution, step: u32) -> Result<Option<OpKind>, ()> {
        let (tensor, data, stage) = self.layout.place(rank);
        let sequences = u64::from(self.params.micro_batches) * u64::from(self.params.micro_batch);
        let bytes = sequences.saturating_mul(self.params.sample.0);
        let reads = bytes > 0 && (tensor, stage) == (0, 0);
        let file = u64::from(data);
        let kind = match step {
            0 => at.is_first.then_some(OpKind::Open { file }),
            1 => Some(OpKind::Read {
                file,
                offset: u64::from(at.iteration).saturating_mul(bytes),
                bytes,
            }),
            2 => at.is_last.then_some(OpKind::Close { file }),
            _ => return Err(()),
        };
        Ok(kind.filter(|_| reads))
    }

    /// Step `step` of a checkpoint; `Err` after the last one. The first data-parallel ranks, and ranks with separate
    /// experts, write a file each. A failure strikes before it.
    pub(super) fn checkpoint(&self, rank: u32, at: Execution, step: u32) -> Result<Option<OpKind>, ()> {
        let interval = self.params.checkpoint_interval;
        let due = interval > 0 && (at.iteration + 1).is_multiple_of(interval) && !at.fails;
        let (shared, own) = self.saved(rank);
        let (file, bytes) = (self.checkpoint_file(rank, at.iteration), shared + own);
        let kind = match step {
            0 => OpKind::Open { file },
            1 => OpKind::Write { file, offset: 0, bytes },
            2 => OpKind::Close { file },
            _ => return Err(()),
        };
        Ok((due && bytes > 0).then_some(kind))
    }

    /// Step `step` of a restart before execution `at`; `Err` after the last one. All ranks wait for the restart and for
    /// each other, and each reads the parameters that it has: those of its experts from the first rank with the same ones,
    /// the others from the first data-parallel rank.
    pub(super) fn restart(&self, rank: u32, at: Execution, step: u32) -> Result<Option<OpKind>, ()> {
        let Some(failures) = self.params.failures.as_ref().filter(|_| at.restarts) else {
            return Err(());
        };
        let first = u32::from(rank == 0);
        let report = |index| calls::report_numbered(RESTART, index);
        let read = |step: u32| self.read_checkpoint(rank, at.iteration, step);
        Ok(match step {
            0 => (first == 1).then(|| report(BEGIN)),
            1 | 9 => Some(barrier()),
            2 => (failures.restart > Time::ZERO).then_some(OpKind::Compute {
                duration: failures.restart,
            }),
            3..9 => read(step - 3),
            10 => (first == 1).then(|| report(END)),
            _ => return Err(()),
        })
    }

    /// Step `step`, below 6, of reading the checkpoint before `iteration`; there is none before the first one.
    fn read_checkpoint(&self, rank: u32, iteration: u32, step: u32) -> Option<OpKind> {
        let (_, data, _) = self.layout.place(rank);
        let holder = rank - self.layout.tensor * (data - data % self.layout.expert);
        let first = rank - self.layout.tensor * data;
        // The first data-parallel rank has written the shared parameters, too.
        let (from, bytes) = match step / 3 {
            0 => (holder, self.saved(holder).0 + self.saved(holder).1),
            _ => (first, if holder == first { 0 } else { self.saved(first).0 }),
        };
        let written = iteration.checked_sub(1).filter(|_| bytes > 0)?;
        let file = self.checkpoint_file(from, written);
        Some(match step % 3 {
            0 => OpKind::Open { file },
            1 => OpKind::Read { file, offset: 0, bytes },
            _ => OpKind::Close { file },
        })
    }

    /// Bytes that `rank` writes to a checkpoint: of the parameters that all data-parallel ranks share, and of its experts.
    fn saved(&self, rank: u32) -> (u64, u64) {
        let (_, data, stage) = self.layout.place(rank);
        let (shared, own) = self.parameters(stage);
        let bytes = |parameters: u64| parameters.saturating_mul(self.params.checkpoint.0);
        (
            u64::from(data == 0) * bytes(shared),
            u64::from(data < self.layout.expert) * bytes(own),
        )
    }

    /// The file of `rank` in the checkpoint after `iteration`; files of samples come before those of checkpoints.
    fn checkpoint_file(&self, rank: u32, iteration: u32) -> u64 {
        let number = u64::from(iteration) * self.layout.ranks() + u64::from(rank);
        u64::from(self.layout.data) + number
    }
}
