//! Checkpointing: all ranks write to one file, or each to its own, repeatedly.

use odonata_units::{Bytes, Time, counted};

use super::two_phase::{CollectiveIo, Progress, TwoPhase};
use super::{Parameters, barrier, fsync};
use crate::program::check_length;
use crate::{Cursor, Op, OpKind, Program};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sharing of files between ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckpointFile {
    /// All ranks write to one file per checkpoint (N-1).
    #[default]
    Shared,
    /// Every rank writes to its own file per checkpoint (N-N): number `i ranks + r` for rank `r`, checkpoint `i`.
    PerRank,
}

/// The offsets of the ranks in a checkpoint file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckpointOffset {
    /// Rank `r` at `r` times the bytes of a rank: the parts are contiguous (N-1 segmented). In its own file from offset
    /// 0.
    #[default]
    ByRank,
    /// Record `k` of rank `r` at `(k ranks + r)` times the size of a record: the ranks alternate (N-1 strided).
    Strided,
    /// Every rank at offset 0, as in the MFNetSim runs.
    Zero,
}

/// Checkpoints: compute, then every rank writes its share of a common file. The defaults are the MFNetSim case study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Checkpoint")]
pub struct CheckpointParams {
    /// Number of checkpoints.
    #[default = 1]
    pub iterations: u32,
    /// Size of one checkpoint of the whole job, e.g. "50 GB"; every rank writes an equal share, rounded down.
    #[default(Bytes(50_000_000_000))]
    pub total: Bytes,
    /// Computation before each checkpoint, e.g. "100 ms".
    #[default(Time::from_ns(100_000_000))]
    pub interval: Time,
    /// Whether all ranks write to one file, or each to its own.
    #[default(CheckpointFile::Shared)]
    pub file: CheckpointFile,
    /// Offset of each rank in the file.
    #[default(CheckpointOffset::ByRank)]
    pub offset: CheckpointOffset,
    /// Size of one write, at least 1 B; the last one of a rank may be shorter. Default: the whole share of a rank.
    pub record: Option<Bytes>,
    /// Two-phase collective writes as in MPI-IO, e.g. { aggregators = 4, buffer = "16 MiB" }: all ranks send their data
    /// to a few aggregators, which write. Only for a shared file without holes: records have equal size. Default: each
    /// rank writes its own data.
    pub collective: Option<CollectiveIo>,
    /// Whether there is a barrier before and after the writes (the MFNetSim runs have none).
    #[default = true]
    pub coordinated: bool,
    /// Whether every rank synchronizes its file (`fsync`) after its writes, and continues when the data is committed
    /// (`storage.sync`). Default: false.
    pub fsync: bool,
}

impl Parameters for CheckpointParams {
    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(Checkpoint::new(ranks, self.clone())?))
    }

    fn does_io(&self) -> bool {
        true
    }
}

/// Checkpoint writes of a parallel job.
///
/// Iteration `i`: compute; rank 0 opens file `i`; barrier; every rank writes its share, record by record, and may
/// synchronize the file; barrier; rank 0 closes the file. Per-rank files are opened and closed by their ranks.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    ranks: u32,
    params: CheckpointParams,
}

impl Checkpoint {
    /// The program on `ranks` ranks.
    ///
    /// # Errors
    /// There are no ranks or no iterations, or too many operations; records are empty, strided in per-rank files, or
    /// leave holes in a collective write.
    pub fn new(ranks: u32, params: CheckpointParams) -> Result<Self, String> {
        if ranks == 0 {
            return Err("the job has no ranks".into());
        }
        if params.record == Some(Bytes::ZERO) {
            return Err("record is 0 B: expected at least 1 B".into());
        }
        if params.file == CheckpointFile::PerRank && params.offset == CheckpointOffset::Strided {
            return Err("offset is strided in files of the ranks' own: expected by-rank, or file = \"shared\"".into());
        }
        let checkpoint = Checkpoint { ranks, params };
        let writes = checkpoint.bytes_per_rank().div_ceil(checkpoint.record()).max(1);
        let writes = match checkpoint.params.collective {
            Some(settings) => checkpoint.together(settings)?.most_operations(),
            None => writes,
        };
        check_length(checkpoint.params.iterations, writes.saturating_add(6))?;
        Ok(checkpoint)
    }

    /// Its collective write with these settings.
    fn together(&self, settings: CollectiveIo) -> Result<TwoPhase, String> {
        let CheckpointParams { file, offset, .. } = self.params;
        if file != CheckpointFile::Shared || offset == CheckpointOffset::Zero {
            return Err(
                "collective writes of files of the ranks' own, or at one offset: expected file = \"shared\" and \
                        offset = \"by-rank\" or \"strided\""
                    .into(),
            );
        }
        if !(1..=self.ranks).contains(&settings.aggregators) {
            return Err(format!(
                "{} aggregators of {} ranks: expected 1 to {}",
                settings.aggregators, self.ranks, self.ranks
            ));
        }
        if settings.buffer == Bytes::ZERO {
            return Err("the buffer of an aggregator is 0 B: expected at least 1 B".into());
        }
        let share = self.bytes_per_rank();
        let record = match offset {
            CheckpointOffset::Strided => self.record(),
            _ => share.max(1),
        };
        if !share.is_multiple_of(record) {
            return Err(format!(
                "a collective write of {share} B per rank in records of {record} B: expected records that divide it"
            ));
        }
        Ok(TwoPhase {
            ranks: self.ranks,
            settings,
            share,
            record,
        })
    }

    /// Bytes of each write except the last, at least 1.
    fn record(&self) -> u64 {
        let share = self.bytes_per_rank();
        self.params.record.map_or(share, |record| record.0.min(share)).max(1)
    }

    /// Write number `index` of `rank` to `file`, and whether it is the last one.
    fn write(&self, rank: u32, file: u64, index: u32) -> (OpKind, bool) {
        let (record, share) = (self.record(), self.bytes_per_rank());
        let done = u64::from(index) * record;
        let bytes = record.min(share - done);
        let offset = match (self.params.offset, self.params.file) {
            (CheckpointOffset::ByRank, CheckpointFile::Shared) => u64::from(rank) * share + done,
            (CheckpointOffset::ByRank | CheckpointOffset::Zero, _) => done,
            (CheckpointOffset::Strided, _) => (u64::from(index) * u64::from(self.ranks) + u64::from(rank)) * record,
        };
        (OpKind::Write { file, offset, bytes }, done + bytes >= share)
    }

    /// Bytes that each rank writes per checkpoint.
    pub fn bytes_per_rank(&self) -> u64 {
        self.params.total.0 / u64::from(self.ranks)
    }
}

impl Program for Checkpoint {
    fn has_one_stream(&self) -> bool {
        true
    }

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
            file,
            coordinated,
            fsync: syncs,
            ..
        } = self.params;
        let together = self.params.collective.and_then(|settings| self.together(settings).ok());
        cursor.advance(|[iteration, step, index, round, ..]| {
            loop {
                if *iteration >= iterations {
                    return None;
                }
                let (file, opens) = match file {
                    CheckpointFile::Shared => (u64::from(*iteration), rank == 0),
                    CheckpointFile::PerRank => (u64::from(*iteration) * u64::from(self.ranks) + u64::from(rank), true),
                };
                let kind = match *step {
                    0 => Some(OpKind::Compute { duration: interval }),
                    1 => opens.then_some(OpKind::Open { file }),
                    2 | 5 => coordinated.then(barrier),
                    3 => match &together {
                        Some(together) => {
                            let next = together.next(rank, file, Progress { round, step: index });
                            if next.is_some() {
                                return next;
                            }
                            None
                        }
                        None => {
                            let (write, last) = self.write(rank, file, *index);
                            *index += 1;
                            if !last {
                                return Some(write);
                            }
                            *index = 0;
                            Some(write)
                        }
                    },
                    4 => syncs.then(|| fsync(file)),
                    _ => opens.then_some(OpKind::Close { file }),
                };
                (*iteration, *step) = if *step == 6 {
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
            total,
            file,
            coordinated,
            ..
        } = self.params;
        let how = if coordinated { "coordinated" } else { "uncoordinated" };
        let files = match file {
            CheckpointFile::Shared => "",
            CheckpointFile::PerRank => ", a file per rank",
        };
        let files = match self.params.collective {
            None => files.to_string(),
            Some(settings) => format!(", together by {} aggregators", settings.aggregators),
        };
        format!(
            "Checkpoint, {} ranks, {} of {total}, {how}{files}",
            self.ranks,
            counted(iterations, "write"),
        )
    }
}
