//! Checkpointing: all ranks write to one file, again and again.

use odonata_units::Time;

use super::barrier;
use crate::program::check_length;
use crate::{Cursor, Op, OpKind, Program};

/// Where in the file a rank writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckpointOffset {
    /// Rank `r` at `r` times the bytes of a rank: the parts lie side by side.
    #[default]
    ByRank,
    /// Everybody at 0: what the published runs ask of their storage.
    Zero,
}

/// Parameters of [`Checkpoint`]. The default is the case study of MFNetSim, coordinated as its
/// paper describes.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointParams {
    /// Number of checkpoints.
    pub iterations: u32,
    /// Size of one checkpoint in bytes; every rank writes the same share, rounded down.
    pub total_bytes: u64,
    /// Computation before each checkpoint.
    pub interval: Time,
    /// Where in the file a rank writes.
    pub offset: CheckpointOffset,
    /// A barrier before and after the write, so that the file is open before anybody writes and
    /// complete when it is closed. Without it (as in the published runs) nobody waits for anybody.
    pub coordinated: bool,
}

impl Default for CheckpointParams {
    fn default() -> Self {
        CheckpointParams {
            iterations: 1,
            total_bytes: 50_000_000_000,
            interval: Time::from_ns(100_000_000),
            offset: CheckpointOffset::ByRank,
            coordinated: true,
        }
    }
}

/// Writes of a parallel job's state.
///
/// Iteration `i`: compute; rank 0 opens file `i`; barrier; every rank writes its share; barrier;
/// rank 0 closes the file.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    ranks: u32,
    params: CheckpointParams,
}

impl Checkpoint {
    /// The program on `ranks` ranks.
    ///
    /// # Errors
    /// There are no ranks or no iterations, or too many of them to number the operations.
    pub fn new(ranks: u32, params: CheckpointParams) -> Result<Self, String> {
        if ranks == 0 {
            return Err("the job has no ranks".into());
        }
        check_length(params.iterations, 6)?;
        Ok(Checkpoint { ranks, params })
    }

    /// What each rank writes per checkpoint, in bytes.
    pub fn bytes_per_rank(&self) -> u64 {
        self.params.total_bytes / u64::from(self.ranks)
    }
}

impl Program for Checkpoint {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        if rank >= self.ranks {
            return None;
        }
        let CheckpointParams {
            iterations,
            interval,
            offset,
            coordinated,
            ..
        } = self.params;
        cursor.advance(|[iteration, step, ..]| {
            loop {
                if *iteration >= iterations {
                    return None;
                }
                let file = u64::from(*iteration);
                let bytes = self.bytes_per_rank();
                let kind = match *step {
                    0 => Some(OpKind::Compute { duration: interval }),
                    1 => (rank == 0).then_some(OpKind::Open { file }),
                    2 | 4 => coordinated.then(barrier),
                    3 => {
                        let offset = match offset {
                            CheckpointOffset::ByRank => u64::from(rank) * bytes,
                            CheckpointOffset::Zero => 0,
                        };
                        Some(OpKind::Write { file, offset, bytes })
                    }
                    _ => (rank == 0).then_some(OpKind::Close { file }),
                };
                (*iteration, *step) = if *step == 5 {
                    (*iteration + 1, 0)
                } else {
                    (*iteration, *step + 1)
                };
                if kind.is_some() {
                    return kind;
                }
            }
        })
    }

    fn describe(&self) -> String {
        let CheckpointParams {
            iterations,
            total_bytes,
            coordinated,
            ..
        } = self.params;
        let how = if coordinated { "coordinated" } else { "uncoordinated" };
        format!(
            "Checkpoint, {} ranks, {iterations} times {total_bytes} B, {how}",
            self.ranks
        )
    }
}
