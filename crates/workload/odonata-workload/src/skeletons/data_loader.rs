//! Training with a data loader: each step takes a batch of samples that readers have prefetched, computes, and sums the
//! gradient.
//!
//! The data set is `files` files of `samples_per_file` samples. As with a distributed sampler, an epoch is a random
//! order of all samples, different in each epoch and equal for all ranks; each step takes the next `batch` samples for
//! every rank, and the rest at the end of an epoch is dropped. As in PyTorch's `DataLoader`, reader `i mod readers` of
//! a rank reads batch `i`, one read after the other, starting when step `i - prefetch` takes its batch. So a rank has
//! `prefetch` batches in flight, and at most as many active readers.
//!
//! ```text
//! stream 0        begin ── batch i is there ── compute ── all-reduce ── begin ...
//! stream 1 + r    └─ reads of batch i + prefetch
//! ```
//!
//! With enough readers, a step takes the longer of the computation (with all-reduce) and the time to read its batch.

use odonata_units::{Bytes, Filled, Problem, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{OfJob, Parameters, allreduce};
use crate::permutation::Permutation;
use crate::{After, Cursor, Op, OpId, OpKind, Program};

/// Maximum number of reader operations ahead of the step: the look-ahead of a rank with several streams.
const MOST_AHEAD: u64 = 200;

/// Training that prefetches samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "DataLoader")]
pub struct DataLoaderParams {
    /// Files of the data set, at least 1.
    #[default = 64]
    pub files: u32,
    /// Samples per file; 1: a file per sample.
    #[default = 1_024]
    pub samples_per_file: u32,
    /// Size of a sample, e.g. "128 KiB".
    #[default(Bytes::kib(128))]
    pub sample: Bytes,
    /// Adjacent samples of a file read with one call, and shuffled together. A divisor of samples_per_file and of
    /// batch.
    #[default = 1]
    pub samples_per_read: u32,
    /// Samples of each rank in a step.
    #[default = 8]
    pub batch: u32,
    /// Number of passes over the data set.
    #[default = 1]
    pub epochs: u32,
    /// Steps of an epoch. Default and maximum: the number of whole batches for all ranks.
    pub steps: Filled<u32>,
    /// Whether samples come in random order.
    #[default = true]
    pub shuffle: bool,
    /// Seed of the order. Default: the seed of the scenario.
    pub seed: Filled<u64>,
    /// Readers of a rank, 1 to 64; a node has this number times its ranks.
    #[schemars(range(min = 1, max = 64))]
    #[default = 4]
    pub readers: u32,
    /// Batches prefetched ahead of the current step; 0: each step reads its own batch when it begins.
    #[default = 4]
    pub prefetch: u32,
    /// Whether a file is opened for each read, and closed after it.
    pub reopen: bool,
    /// Computation of a step, e.g. "100 ms".
    #[default(Time::from_ns(100_000_000))]
    pub compute: Time,
    /// Gradient summed over all ranks after the computation; "0 B": none.
    #[default(Bytes(100_000_000))]
    pub gradient: Bytes,
}

impl DataLoaderParams {
    fn samples(&self) -> u64 {
        u64::from(self.files) * u64::from(self.samples_per_file)
    }
}

impl Parameters for DataLoaderParams {
    fn of_job(&mut self, job: OfJob) {
        self.seed.fill(job.seed);
    }

    fn resolve(&mut self, at: &str, ranks: u32) -> Result<(), Problem> {
        let key = |name: &str| format!("{at}.{name}");
        self.seed.fill(0);
        let counts = [
            ("files", self.files),
            ("samples_per_file", self.samples_per_file),
            ("samples_per_read", self.samples_per_read),
            ("batch", self.batch),
            ("epochs", self.epochs),
            ("readers", self.readers),
        ];
        for (name, count) in counts {
            if count == 0 {
                return Err(Problem::new(key(name), "0 is out of range", "at least 1"));
            }
        }
        if self.readers > 64 {
            return Err(Problem::new(
                key("readers"),
                format!("{} is out of range", self.readers),
                "1 to 64",
            ));
        }
        if self.sample == Bytes::ZERO {
            return Err(Problem::new(key("sample"), "samples of 0 B", "at least 1 B"));
        }
        for (name, whole) in [("samples_per_file", self.samples_per_file), ("batch", self.batch)] {
            if !whole.is_multiple_of(self.samples_per_read) {
                let problem = format!("{} do not divide {name} = {whole}", self.samples_per_read);
                return Err(Problem::new(
                    key("samples_per_read"),
                    problem,
                    "a divisor of samples_per_file and batch",
                ));
            }
        }
        let bytes = u128::from(self.sample.0) * u128::from(self.samples_per_file);
        if bytes > 1 << 62 {
            return Err(Problem::new(
                key("sample"),
                format!("files of {bytes} B"),
                "files of 2^62 B at most",
            ));
        }
        let reads = u64::from(self.batch / self.samples_per_read) * if self.reopen { 3 } else { 1 };
        let ahead = u64::from(self.prefetch.max(1)).saturating_mul(reads);
        if ahead > MOST_AHEAD {
            let problem = format!("{ahead} operations of a rank ahead of its step");
            let expected =
                format!("prefetch x batch / samples_per_read of {MOST_AHEAD} at most, with reopen a third of it");
            return Err(Problem::new(key("prefetch"), problem, expected)
                .hint("samples_per_read reads adjacent samples with one call"));
        }
        let per_step = u64::from(self.batch) * u64::from(ranks);
        let most = self.samples() / per_step;
        if most == 0 {
            let problem = format!(
                "a step of {ranks} ranks takes {per_step} samples; the files hold {}",
                self.samples()
            );
            return Err(Problem::new(
                key("batch"),
                problem,
                "files x samples_per_file of at least one step",
            ));
        }
        let steps = *self.steps.fill(u32::try_from(most).unwrap_or(u32::MAX));
        if steps == 0 || u64::from(steps) > most {
            return Err(Problem::new(
                key("steps"),
                format!("{steps} is out of range"),
                format!(
                    "1 to {most}: {} samples, of which a step of {ranks} ranks takes {per_step}",
                    self.samples()
                ),
            ));
        }
        Ok(())
    }

    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(DataLoader::new(ranks, self.clone())?))
    }

    fn does_io(&self) -> bool {
        true
    }
}

/// Reports of ranks about a step, without a value.
pub mod reports {
    /// The step begins and needs its batch.
    pub const BEGIN: u32 = 0;
    /// The batch is there.
    pub const READY: u32 = 1;
    /// It has ended.
    pub const END: u32 = 2;
}

/// The ranks of a training job.
#[derive(Clone, Debug)]
pub struct DataLoader {
    ranks: u32,
    params: DataLoaderParams,
}

impl DataLoader {
    /// The program on `ranks` ranks, with resolved parameters.
    ///
    /// # Errors
    /// There are no ranks, or too many operations.
    pub fn new(ranks: u32, params: DataLoaderParams) -> Result<Self, String> {
        if ranks == 0 {
            return Err("the job has no ranks".into());
        }
        let loader = DataLoader { ranks, params };
        let last = loader.first_op(loader.steps()).saturating_add(1);
        if last >= u64::from(u32::MAX) {
            return Err(format!(
                "{last} operations: a rank can have 2^32 - 2 operations at most"
            ));
        }
        Ok(loader)
    }

    /// Steps of all epochs.
    fn steps(&self) -> u64 {
        u64::from(self.params.epochs) * u64::from(*self.params.steps)
    }

    /// Reads of a batch.
    fn reads(&self) -> u64 {
        u64::from(self.params.batch / self.params.samples_per_read)
    }

    /// Operations that read a batch.
    fn operations_of_batch(&self) -> u64 {
        self.reads() * if self.params.reopen { 3 } else { 1 }
    }

    /// Operations of a step except reads: begin, join, ready, compute, all-reduce, end, mark.
    fn operations_of_step(&self) -> u64 {
        6 + u64::from(self.params.gradient > Bytes::ZERO)
    }

    fn prefetch(&self) -> u64 {
        u64::from(self.params.prefetch)
    }

    /// The number of the first operation of step `step`.
    fn first_op(&self, step: u64) -> u64 {
        let (all, ahead) = (self.steps(), self.prefetch());
        // Batches read before the first step, and one in each step with a batch to read.
        let batches = ahead.min(all) + step.min(all.saturating_sub(ahead));
        batches
            .saturating_mul(self.operations_of_batch())
            .saturating_add(step.saturating_mul(self.operations_of_step()))
    }

    /// The last read operation of the batch of step `step`.
    fn last_read(&self, step: u64) -> OpId {
        let (ahead, batch) = (self.prefetch(), self.operations_of_batch());
        let first = match step.checked_sub(ahead) {
            None => step * batch,
            // After the begin of its own step, or after begin to ready of another.
            Some(reader) => self.first_op(reader) + if ahead == 0 { 1 } else { 3 },
        };
        OpId((first + batch - 1) as u32)
    }

    /// Read number `index` of the batch of `step` of `rank`: file, offset and bytes.
    fn read(&self, rank: u32, step: u64, index: u64) -> (u64, u64, u64) {
        let p = &self.params;
        let (epoch, step) = (step / u64::from(*p.steps), step % u64::from(*p.steps));
        let place = (step * u64::from(self.ranks) + u64::from(rank)) * self.reads() + index;
        let group = match p.shuffle {
            true => {
                let groups = p.samples() / u64::from(p.samples_per_read);
                Permutation::new(groups, *p.seed, [epoch]).at(place)
            }
            false => place,
        };
        let sample = group * u64::from(p.samples_per_read);
        let of_file = u64::from(p.samples_per_file);
        let bytes = u64::from(p.samples_per_read) * p.sample.0;
        (sample / of_file, sample % of_file * p.sample.0, bytes)
    }

    /// Operation `at` among the reads of the batch of `step`.
    fn batch_operation(&self, rank: u32, step: u64, at: u64) -> OpKind {
        let (index, part) = match self.params.reopen {
            true => (at / 3, at % 3),
            false => (at, 1),
        };
        let (file, offset, bytes) = self.read(rank, step, index);
        match part {
            0 => OpKind::Open { file },
            1 => OpKind::Read { file, offset, bytes },
            _ => OpKind::Close { file },
        }
    }

    /// Operation number `number` of `rank`.
    fn operation(&self, rank: u32, number: u64) -> Option<Op> {
        let (all, ahead, batch) = (self.steps(), self.prefetch(), self.operations_of_batch());
        let id = OpId(number as u32);
        let reading = |step: u64, at: u64, after: After| Op {
            id,
            stream: 1 + (step % u64::from(self.params.readers)) as u16,
            after: if at == 0 { after } else { After::NONE },
            kind: self.batch_operation(rank, step, at),
        };
        let before = ahead.min(all) * batch;
        if number < before {
            return Some(reading(number / batch, number % batch, After::NONE));
        }
        // Steps that read a batch are longer than the last steps, which read none.
        let (own, reads) = (self.operations_of_step(), all.saturating_sub(ahead));
        let since = number - before;
        let step = match since / (own + batch) {
            step if step < reads => step,
            _ => reads + (since - reads * (own + batch)) / own,
        };
        if step >= all {
            return None;
        }
        let mut at = number - self.first_op(step);
        let first_read = if ahead == 0 { 1 } else { 3 };
        if step < reads && at >= first_read {
            if at - first_read < batch {
                let taken = OpId((self.first_op(step) + first_read - 1) as u32);
                return Some(reading(step + ahead, at - first_read, After::ops(&[taken])));
            }
            at -= batch;
        }
        let report = |report: u32| OpKind::Report {
            report,
            index: 0,
            value: 0.0,
        };
        let gradient = self.params.gradient;
        let kind = match at {
            0 => report(reports::BEGIN),
            1 => OpKind::Compute { duration: Time::ZERO },
            2 => report(reports::READY),
            3 => OpKind::Compute {
                duration: self.params.compute,
            },
            // Elements of 4 B.
            4 if gradient > Bytes::ZERO => allreduce(gradient.0, gradient.0.div_ceil(4)),
            at if at + 1 < own => report(reports::END),
            _ => OpKind::Mark { iteration: step as u32 },
        };
        let after = if at == 1 {
            After::ops(&[self.last_read(step)])
        } else {
            After::NONE
        };
        Some(Op {
            id,
            stream: 0,
            after,
            kind,
        })
    }
}

impl Program for DataLoader {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        if rank >= self.ranks {
            return None;
        }
        let op = self.operation(rank, u64::from(cursor.op))?;
        cursor.op += 1;
        Some(op)
    }

    fn describe(&self) -> String {
        let DataLoaderParams {
            files,
            samples_per_file,
            sample,
            batch,
            readers,
            prefetch,
            ..
        } = self.params;
        format!(
            "Training, {} ranks, {} steps of {batch} samples from {files} files of {samples_per_file} x {sample}, {readers} readers, \
             {prefetch} batches ahead",
            self.ranks,
            self.steps()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::operations;
    use std::collections::BTreeSet;

    fn loader(ranks: u32, change: impl Fn(&mut DataLoaderParams)) -> DataLoader {
        let mut params = DataLoaderParams {
            files: 6,
            samples_per_file: 12,
            sample: Bytes(100),
            batch: 4,
            epochs: 2,
            readers: 3,
            prefetch: 2,
            seed: Filled::new(7),
            ..DataLoaderParams::default()
        };
        change(&mut params);
        params
            .resolve("data-loader", ranks)
            .unwrap_or_else(|problem| panic!("{problem:?}"));
        DataLoader::new(ranks, params).unwrap()
    }

    /// In each epoch, every sample is read at most once over all ranks: steps x ranks x batch samples.
    #[test]
    fn an_epoch_reads_every_sample_once() {
        for (ranks, per_read, shuffle) in [(3, 1, true), (3, 2, true), (2, 4, false), (5, 1, true)] {
            let loader = loader(ranks, |p| {
                p.samples_per_read = per_read;
                p.shuffle = shuffle;
            });
            let mut orders = Vec::new();
            for epoch in 0..2 {
                let mut seen = BTreeSet::new();
                let mut order = Vec::new();
                let steps = u64::from(*loader.params.steps);
                for step in epoch * steps..(epoch + 1) * steps {
                    for rank in 0..ranks {
                        for index in 0..loader.reads() {
                            let (file, offset, bytes) = loader.read(rank, step, index);
                            assert!(file < 6 && offset + bytes <= 1_200 && bytes == 100 * u64::from(per_read));
                            assert!(seen.insert((file, offset)), "{epoch} {step}");
                            order.push((file, offset));
                        }
                    }
                }
                let whole = 72 / (4 * ranks) * 4 * ranks;
                assert_eq!(seen.len(), (whole / per_read) as usize);
                orders.push(order);
            }
            assert_eq!(orders[0] == orders[1], !shuffle);
        }
    }

    /// Operations are numbered without gaps; a step joins with the last read of its batch; reads of a batch begin when
    /// the batch `prefetch` steps earlier is taken, on the reader of the batch number.
    #[test]
    fn batches_are_read_ahead_by_their_reader() {
        for (prefetch, reopen, gradient) in [(0, false, 8), (1, true, 0), (2, false, 8), (5, true, 8), (50, false, 0)] {
            let loader = loader(3, |p| {
                p.prefetch = prefetch;
                p.reopen = reopen;
                p.gradient = Bytes(gradient);
            });
            let ops: Vec<Op> = operations(&loader, 1).collect();
            let steps = loader.steps();
            assert_eq!(steps, 12);
            assert!(ops.iter().zip(0..).all(|(op, number)| op.id == OpId(number)));
            let batch = loader.operations_of_batch() as usize;
            assert_eq!(ops.len() as u64, steps * (loader.operations_of_step() + batch as u64));
            let reading: Vec<&Op> = ops.iter().filter(|op| op.stream > 0).collect();
            let marked = |report: u32| -> Vec<OpId> {
                let is = |op: &&Op| matches!(op.kind, OpKind::Report { report: found, .. } if found == report);
                ops.iter().filter(is).map(|op| op.id).collect()
            };
            let (begins, readies) = (marked(reports::BEGIN), marked(reports::READY));
            assert_eq!((begins.len() as u64, readies.len() as u64), (steps, steps));
            for (step, operations) in reading.chunks(batch).enumerate() {
                assert!(operations.iter().all(|op| usize::from(op.stream) == 1 + step % 3));
                let after = match step.checked_sub(prefetch as usize) {
                    None => After::NONE,
                    Some(earlier) if prefetch == 0 => After::ops(&[begins[earlier]]),
                    Some(earlier) => After::ops(&[readies[earlier]]),
                };
                assert_eq!(operations[0].after, after, "prefetch {prefetch}, step {step}");
                let join = &ops[readies[step].0 as usize - 1];
                assert_eq!(join.after, After::ops(&[operations[batch - 1].id]));
                // Its predecessors come before it in the program.
                assert!(join.after.iter().all(|id| id < join.id));
                let expected: Vec<OpKind> = (0..batch as u64)
                    .map(|at| loader.batch_operation(1, step as u64, at))
                    .collect();
                assert!(operations.iter().map(|op| op.kind).eq(expected));
            }
        }
    }

    #[test]
    fn parameters_that_do_not_fit_are_named() {
        let refused = |change: &dyn Fn(&mut DataLoaderParams)| {
            let mut params = DataLoaderParams::default();
            change(&mut params);
            params.resolve("d", 4).unwrap_err().key
        };
        assert_eq!(refused(&|p| p.files = 0), "d.files");
        assert_eq!(refused(&|p| p.batch = 0), "d.batch");
        assert_eq!(refused(&|p| p.readers = 65), "d.readers");
        assert_eq!(refused(&|p| p.sample = Bytes(0)), "d.sample");
        assert_eq!(refused(&|p| p.samples_per_read = 3), "d.samples_per_read");
        assert_eq!(refused(&|p| p.prefetch = 26), "d.prefetch");
        assert_eq!(refused(&|p| p.batch = 200_000), "d.prefetch");
        assert_eq!(refused(&|p| (p.files, p.samples_per_file) = (1, 8)), "d.batch");
        assert_eq!(refused(&|p| p.steps = Filled::new(1_000_000)), "d.steps");
        assert!(DataLoader::new(0, DataLoaderParams::default()).is_err());
    }
}
