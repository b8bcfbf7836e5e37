//! A device alone: its performance under one access pattern.
//!
//! A host keeps a fixed number of accesses outstanding: when one ends, the next begins. The flush of the caches after
//! the last write counts, as in a benchmark that ends with a sync of its file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use odonata_engine::Stream;
use odonata_engine::random::Purpose;
use odonata_units::{Bytes, Time};
use serde::{Deserialize, Serialize};

use crate::problem::within;
use crate::{Access, Device, DeviceModel, DeviceState, Problem};

/// Maximum number of accesses of one measurement: each latency is stored.
pub const MOST_ACCESSES: u64 = 10_000_000;

/// The order and kind of accesses to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Reads from the first byte to the last.
    SequentialRead,
    /// Writes from the first byte to the last.
    SequentialWrite,
    /// From the first byte to the last; each access is randomly a read or a write.
    SequentialMixed,
    /// Reads at random pages.
    RandomRead,
    /// Writes at random pages.
    RandomWrite,
    /// At random pages; each access is randomly a read or a write.
    RandomMixed,
}

impl Pattern {
    fn random(self) -> bool {
        matches!(self, Pattern::RandomRead | Pattern::RandomWrite | Pattern::RandomMixed)
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Workload {
    /// Order and direction.
    #[default(Pattern::SequentialRead)]
    pub pattern: Pattern,
    /// Size of the file, which begins at the first byte of the device.
    #[default(Bytes::mib(512))]
    pub file: Bytes,
    /// Size of an access. Default: 512 KiB for sequential patterns, a page for random ones.
    pub record: Option<Bytes>,
    /// Random accesses begin at multiples of this.
    #[default(Bytes::kib(4))]
    pub page: Bytes,
    /// Accesses outstanding.
    #[default = 1]
    pub queue_depth: u32,
    /// Number of accesses. Default: the number of records of the file.
    pub accesses: Option<u64>,
    /// Share of reads of the mixed patterns, 0 to 1.
    #[default = 0.5]
    pub reads: f64,
    /// Seed of all random choices.
    #[default = 1]
    pub seed: u64,
}

impl Workload {
    /// The workload with all defaults, its record size and its number of accesses.
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

/// Latencies in microseconds, from start to end of an access.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Of all accesses.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// The most.
    pub max: f64,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// The workload with all defaults.
    pub workload: Workload,
    /// Accesses.
    pub accesses: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Time from the first access to the end of the last, and to the end of the flush, in s.
    pub seconds: f64,
    /// Time of the flush after the last access, in s.
    pub flush_s: f64,
    /// Accesses per second.
    pub iops: f64,
    /// Bytes per second / 10^6.
    pub bandwidth_mb_s: f64,
    /// Latencies in us.
    pub latency_us: Latency,
}

/// Runs a workload on a fresh device.
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
                "simulated time, {}, ends after {number} accesses",
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

/// Statistics of latencies in ps; at least one.
fn latency(mut latencies: Vec<u64>) -> Latency {
    latencies.sort_unstable();
    let us = |ps: u64| ps as f64 / 1e6;
    // Nearest-rank percentile.
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
