//! A device alone: how fast it is under one pattern of accesses.
//!
//! A host keeps a fixed number of accesses outstanding: when one ends, the next begins. After the last write the caches are
//! flushed, and that counts, as when a benchmark ends with a sync of its file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use odonata_engine::Stream;
use odonata_engine::random::Purpose;
use odonata_units::{Bytes, Time};
use serde::{Deserialize, Serialize};

use crate::problem::within;
use crate::{Access, Device, DeviceModel, DeviceState, Problem};

/// Most accesses of one measurement: each takes memory for its latency.
pub const MOST_ACCESSES: u64 = 10_000_000;

/// In which order a file is accessed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Reads from the first byte to the last.
    SequentialRead,
    /// Writes from the first byte to the last.
    SequentialWrite,
    /// From the first byte to the last; each access is a read or a write by chance.
    SequentialMixed,
    /// Reads at random pages.
    RandomRead,
    /// Writes at random pages.
    RandomWrite,
    /// At random pages, a read or a write by chance.
    RandomMixed,
}

impl Pattern {
    fn random(self) -> bool {
        matches!(self, Pattern::RandomRead | Pattern::RandomWrite | Pattern::RandomMixed)
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Workload {
    /// Order and direction.
    pub pattern: Pattern,
    /// Size of the file, which lies where the device begins.
    pub file: Bytes,
    /// Size of an access; if it is none, 512 KiB in sequence and a page at random.
    pub record: Option<Bytes>,
    /// Random accesses begin at multiples of this.
    pub page: Bytes,
    /// Accesses outstanding.
    pub queue_depth: u32,
    /// Accesses in all; if it is none, as many as the file has records.
    pub accesses: Option<u64>,
    /// Share of reads of the mixed patterns, 0 to 1.
    pub reads: f64,
    /// Seed of all that is random.
    pub seed: u64,
}

impl Default for Workload {
    fn default() -> Self {
        Workload {
            pattern: Pattern::SequentialRead,
            file: Bytes::mib(512),
            record: None,
            page: Bytes::kib(4),
            queue_depth: 1,
            accesses: None,
            reads: 0.5,
            seed: 1,
        }
    }
}

impl Workload {
    /// With every default filled in, if it can be run.
    fn resolved(mut self) -> Result<(Self, u64, u64), Problem> {
        within("page", self.page, Bytes(1), Bytes(1 << 40))?;
        let record = self.record.unwrap_or(if self.pattern.random() {
            self.page
        } else {
            Bytes::kib(512)
        });
        within("record", record, Bytes(1), Bytes(1 << 50))?;
        within("file", self.file, record, Bytes(1 << 60))?;
        within("queue_depth", self.queue_depth, 1, 65_536)?;
        within("reads", self.reads, 0.0, 1.0)?;
        let accesses = self.accesses.unwrap_or(self.file.0 / record.0);
        within("accesses", accesses, 1, MOST_ACCESSES)?;
        self.record = Some(record);
        self.accesses = Some(accesses);
        Ok((self, record.0, accesses))
    }
}

/// Latencies in microseconds: from the beginning of an access to its end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Of all accesses.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// As many are below as above.
    pub p50: f64,
    /// 95 of 100 are not above.
    pub p95: f64,
    /// 99 of 100 are not above.
    pub p99: f64,
    /// The most.
    pub max: f64,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// The workload with every default.
    pub workload: Workload,
    /// Accesses.
    pub accesses: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// From the first access to the last, and to the end of the flush, in s.
    pub seconds: f64,
    /// How long the flush behind the last access took, in s.
    pub flush_s: f64,
    /// Accesses per second.
    pub iops: f64,
    /// Bytes per second / 10^6.
    pub bandwidth_mb_s: f64,
    /// Latencies in us.
    pub latency_us: Latency,
}

/// Runs a workload on a device that nobody has accessed before.
///
/// ```
/// use odonata_device::bench::{Pattern, Workload, run};
/// use odonata_device::presets;
/// let ssd = presets::device("intel-d3-s4510").unwrap();
/// let figures = run(&ssd, Workload { pattern: Pattern::RandomRead, ..Workload::default() }).unwrap();
/// // One page at a time, of 118 us each.
/// assert!((figures.iops - 8_474.58).abs() < 0.01);
/// ```
pub fn run(device: &DeviceModel, workload: Workload) -> Result<Figures, Problem> {
    device.check()?;
    let (workload, record, accesses) = workload.resolved()?;
    let mut state = DeviceState::default();
    let mut random = Stream::new(workload.seed, 0, Purpose::Device);
    let mut choices = Stream::new(workload.seed, 1, Purpose::Device);
    let places = (workload.file.0 - record) / workload.page.0 + 1;
    let records = workload.file.0 / record;
    let mut outstanding = BinaryHeap::new();
    let mut latencies = Vec::with_capacity(accesses as usize);
    let (mut now, mut last) = (Time::ZERO, Time::ZERO);
    for number in 0..accesses {
        if outstanding.len() == workload.queue_depth as usize {
            let Reverse(ended) = outstanding.pop().expect("its depth is positive");
            now = now.max(ended);
        }
        let offset = if workload.pattern.random() {
            ((u128::from(choices.bits()) * u128::from(places)) >> 64) as u64 * workload.page.0
        } else {
            number % records * record
        };
        let write = match workload.pattern {
            Pattern::SequentialRead | Pattern::RandomRead => false,
            Pattern::SequentialWrite | Pattern::RandomWrite => true,
            Pattern::SequentialMixed | Pattern::RandomMixed => choices.unit() >= workload.reads,
        };
        let access = Access {
            write,
            object: 0,
            offset,
            bytes: record,
        };
        let finish = device.start(&mut state, now, access, &mut random);
        if finish > Time::LONGEST {
            let end = Problem::new("accesses", accesses, "fewer accesses, or a faster device");
            return Err(end.saying(format_args!(
                "after {number} of them simulated time ends, {}",
                Time::LONGEST
            )));
        }
        latencies.push((finish - now).0);
        last = last.max(finish);
        outstanding.push(Reverse(finish));
    }
    let end = device.flush(&mut state, last, &mut random);
    let bytes = accesses.saturating_mul(record);
    Ok(Figures {
        workload,
        accesses,
        bytes,
        seconds: end.seconds(),
        flush_s: (end - last).seconds(),
        iops: accesses as f64 / end.seconds(),
        bandwidth_mb_s: bytes as f64 / end.seconds() / 1e6,
        latency_us: latency(latencies),
    })
}

/// What there is to say of latencies in ps, of which there is one at least.
fn latency(mut latencies: Vec<u64>) -> Latency {
    latencies.sort_unstable();
    let us = |ps: u64| ps as f64 / 1e6;
    // The nearest rank: as many in a hundred are not above.
    let share = |percent: usize| us(latencies[(latencies.len() * percent).div_ceil(100).max(1) - 1]);
    let sum: u128 = latencies.iter().map(|&ps| u128::from(ps)).sum();
    Latency {
        mean: sum as f64 / latencies.len() as f64 / 1e6,
        min: us(latencies[0]),
        p50: share(50),
        p95: share(95),
        p99: share(99),
        max: share(100),
    }
}
