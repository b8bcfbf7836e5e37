//! Faults: periods in which devices and metadata servers are slower or stall; failures ([`failures`]) of servers, of their devices
//! and of metadata servers.
//!
//! A device has a clock of its own. It runs at the rate of time, at `1 / factor` of that rate while the device is slow, and not at
//! all while the device stalls:
//!
//! ```text
//!  device time                        ______/
//!        |                    _______/              at: slow by 4 for a while
//!        |          _________/                      at: stands still for a while
//!        |   ______/
//!        +--------------------------------------> time
//! ```
//!
//! This clock times accesses: an access of service time `c` ends when the clock has advanced by `c` since its turn, however much of
//! it was done when the fault began. Device models know nothing of faults. Without a failure, no data are lost.

pub(crate) mod failures;

use odonata_units::{Problem, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fault of one or all devices of a storage server, or of a metadata server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Number of the server, as in the tables `servers` and `metadata`.
    pub server: u32,
    /// Name of the device of a storage server of the first tier. Default: all of them.
    pub device: Option<String>,
    /// When it begins, simulated time.
    pub at: Time,
    /// Its duration; required for a stall. Default otherwise: to the end of the run.
    pub duration: Option<Time>,
    /// What happens.
    pub kind: FaultKind,
}

/// What a fault does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// It stops, and resumes its work afterwards.
    Stall,
    /// Factor on every duration, 1 to 1,000,000, to three decimals.
    Slow(f64),
    /// It fails, and returns empty after the fault. A failed storage server answers nothing, and loses the data in its
    /// memory and on its devices, except data on their way down. A failed device (`device`) loses its data, and its
    /// server continues with the others. A failed metadata server answers nothing and loses nothing. Needs
    /// `storage.client`, and switches on `storage.manager.extents`.
    Fail,
}

/// A period in which a server is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// The time of its failure.
    pub from: Time,
    /// The time of its return, empty.
    pub until: Time,
}

/// A period in which a clock runs slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultPeriod {
    /// Its start.
    pub from: Time,
    /// Its end.
    pub until: Time,
    /// Real time per device time, in thousandths; 0: the clock stands still.
    pub thousandths: u64,
}

impl Fault {
    /// Checks fault `number` of the scenario: what does not concern the machine.
    ///
    /// # Errors
    /// A key is out of its range.
    pub fn check(&self, number: usize) -> Result<(), Problem> {
        let key = |name: &str| format!("storage.faults.{number}.{name}");
        match self.kind {
            FaultKind::Slow(factor) if !(1.0..=1e6).contains(&factor) => {
                let problem = format!("{factor} is out of range");
                return Err(Problem::new(key("kind"), problem, "slow = 1 to 1,000,000"));
            }
            FaultKind::Stall if self.duration.is_none() => {
                let problem = "a component that stalls forever never serves again";
                return Err(Problem::new(key("duration"), problem, "the time for which it stalls"));
            }
            _ => {}
        }
        match self.duration {
            Some(Time::ZERO) => Err(Problem::new(key("duration"), "a fault of no time", "more than 0 s")),
            _ => Ok(()),
        }
    }

    /// The period of the fault.
    pub fn period(&self) -> FaultPeriod {
        let until = self.duration.map_or(Time::BEYOND, |duration| self.at + duration);
        FaultPeriod {
            from: self.at,
            until: until.min(Time::BEYOND),
            thousandths: match self.kind {
                FaultKind::Stall | FaultKind::Fail => 0,
                FaultKind::Slow(factor) => (factor * 1_000.0).round() as u64,
            },
        }
    }

    /// The period in which its server is away, if it fails.
    pub fn outage(&self) -> Option<Outage> {
        let FaultPeriod { from, until, .. } = self.period();
        (self.kind == FaultKind::Fail).then_some(Outage { from, until })
    }

    /// Whether both concern one device at the same time.
    pub fn overlaps(&self, other: &Fault) -> bool {
        let (one, two) = (self.period(), other.period());
        let device = self.device.is_none() || other.device.is_none() || self.device == other.device;
        self.server == other.server && device && one.from < two.until && two.from < one.until
    }
}

/// From `time` on, where the clock shows `device`, it runs at a constant rate.
#[derive(Clone, Copy, Debug)]
struct Section {
    time: Time,
    device: Time,
    thousandths: u64,
}

/// The clock of a device with faults; empty without faults.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultClock {
    sections: Vec<Section>,
}

impl FaultClock {
    /// The clock for faults in `periods`, which do not overlap.
    pub(crate) fn new(mut periods: Vec<FaultPeriod>) -> FaultClock {
        if periods.is_empty() {
            return FaultClock::default();
        }
        periods.sort_by_key(|period| period.from);
        let mut clock = FaultClock {
            sections: vec![Section {
                time: Time::ZERO,
                device: Time::ZERO,
                thousandths: 1_000,
            }],
        };
        for period in periods {
            for (time, thousandths) in [(period.from, period.thousandths), (period.until, 1_000)] {
                let device = clock.device_time(time);
                clock.sections.push(Section {
                    time,
                    device,
                    thousandths,
                });
            }
        }
        clock
    }

    /// Whether it runs at the rate of time.
    #[inline]
    pub(crate) fn is_sound(&self) -> bool {
        self.sections.is_empty()
    }

    /// The clock reading at `now`, rounded down.
    pub(crate) fn device_time(&self, now: Time) -> Time {
        let after = self.sections.partition_point(|section| section.time <= now);
        let Some(section) = after.checked_sub(1).map(|at| self.sections[at]) else {
            return now;
        };
        match section.thousandths {
            0 => section.device,
            slow => section.device + Time((u128::from((now - section.time).0) * 1_000 / u128::from(slow)) as u64),
        }
    }

    /// The time when the clock shows `device`, rounded up. `last`: the last such time, for the start of an access; otherwise the
    /// first, for its end.
    fn time_of(&self, device: Time, last: bool) -> Time {
        let after = (self.sections).partition_point(|section| {
            if last {
                section.device <= device
            } else {
                section.device < device
            }
        });
        let Some(&section) = self.sections.get(after.saturating_sub(1)) else {
            return device;
        };
        let passed = u128::from((device - section.device).0) * u128::from(section.thousandths);
        let passed = u64::try_from(passed.div_ceil(1_000)).unwrap_or(u64::MAX);
        Time(section.time.0.saturating_add(passed)).min(Time::BEYOND)
    }

    /// The start and end of an access that begins at `begin` and ends at `end` of this clock. The end is later than `now`.
    pub(crate) fn times_of(&self, now: Time, begin: Time, end: Time) -> (Time, Time) {
        let begin = self.time_of(begin, true).max(now);
        (begin, self.time_of(end, false).max(begin).max(now + Time::from_ps(1)))
    }
}

impl FaultClock {
    /// The time that the clock loses from `from` to `until`.
    pub(crate) fn lost(&self, from: Time, until: Time) -> Time {
        (until - from).saturating_sub(self.device_time(until) - self.device_time(from))
    }

    /// Splits the time from `from` to `until` at changes of the rate: the end of each part, and whether the clock stands still in
    /// it. In a slow period, the lost time comes first.
    pub(crate) fn stretches(&self, from: Time, until: Time) -> Vec<(Time, bool)> {
        let (mut at, mut stretches) = (from, Vec::new());
        let after = self.sections.partition_point(|section| section.time <= from);
        let ends = self.sections[after..].iter().map(|section| section.time);
        for end in ends.take_while(|&end| end < until).chain([until]) {
            let lost = self.lost(at, end);
            stretches.extend((lost > Time::ZERO).then_some((at + lost, true)));
            stretches.extend((at + lost < end).then_some((end, false)));
            at = end;
        }
        stretches
    }
}

/// The cost of faults at one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultMetrics {
    /// Delayed accesses.
    pub accesses: u64,
    /// Their delays, summed, in ps.
    pub delay_ps: u128,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(n: u64) -> Time {
        Time::from_ns(n)
    }

    fn clock(periods: &[(u64, u64, u64)]) -> FaultClock {
        let period = |&(from, until, thousandths)| FaultPeriod {
            from: ns(from),
            until: ns(until),
            thousandths,
        };
        FaultClock::new(periods.iter().map(period).collect())
    }

    /// Stands still from 100 to 150 ns, then a quarter as fast from 200 to 400 ns.
    #[test]
    fn work_takes_longer_by_what_lies_in_the_fault() {
        let clock = clock(&[(200, 400, 4_000), (100, 150, 0)]);
        let serve = |at: u64, takes: u64| {
            let now = clock.device_time(ns(at));
            let (begin, end) = clock.times_of(ns(at), now, now + ns(takes));
            (begin.0 / 1_000, end.0 / 1_000)
        };
        assert_eq!(serve(0, 100), (0, 100), "it ends as the fault begins");
        assert_eq!(serve(90, 20), (90, 160), "half before, half after");
        assert_eq!(serve(120, 20), (150, 170), "its turn comes after it");
        assert_eq!(serve(190, 20), (190, 240), "half of it at a quarter of the rate");
        assert_eq!(serve(200, 50), (200, 400));
        assert_eq!(serve(300, 50), (300, 425), "25 in the fault, 25 after it");
        assert_eq!(serve(50, 200), (50, 450), "through both: 50 and 150 longer");
        assert_eq!(serve(500, 7), (500, 507));
    }

    #[test]
    fn what_is_lost_is_what_the_clock_lags() {
        let clock = clock(&[(200, 400, 4_000), (100, 150, 0)]);
        assert_eq!(clock.lost(ns(0), ns(1_000)), ns(50 + 150));
        assert_eq!(clock.lost(ns(120), ns(300)), ns(30 + 75));
        let stretches = clock.stretches(ns(90), ns(240));
        let expected = [(100, false), (150, true), (200, false), (230, true), (240, false)];
        assert_eq!(stretches, expected.map(|(end, lost)| (ns(end), lost)));
        assert_eq!(clock.stretches(ns(110), ns(120)), [(ns(120), true)]);
    }

    #[test]
    fn device_time_goes_on_and_back() {
        let clock = clock(&[(10, 20, 0), (30, 1_030, 3_333), (1_500, 2_000, 1_000_000_000)]);
        let mut last = Time::ZERO;
        for at in (0..3_000_000).step_by(777) {
            let device = clock.device_time(Time(at));
            assert!(device >= last);
            last = device;
            let (first, latest) = (clock.time_of(device, false), clock.time_of(device, true));
            assert!(first <= Time(at) && first <= latest, "{at}");
            assert_eq!(clock.device_time(first), device, "{at}");
        }
        assert!(FaultClock::new(Vec::new()).is_sound());
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        let fault = |kind, duration| Fault {
            server: 0,
            device: None,
            at: Time::ZERO,
            duration,
            kind,
        };
        let wrong = |fault: Fault| fault.check(2).unwrap_err().key;
        assert_eq!(wrong(fault(FaultKind::Stall, None)), "storage.faults.2.duration");
        assert_eq!(wrong(fault(FaultKind::Slow(0.5), None)), "storage.faults.2.kind");
        assert_eq!(wrong(fault(FaultKind::Slow(f64::NAN), None)), "storage.faults.2.kind");
        assert_eq!(
            wrong(fault(FaultKind::Slow(2.0), Some(Time::ZERO))),
            "storage.faults.2.duration"
        );
        let slow = fault(FaultKind::Slow(2.0), None);
        assert_eq!(slow.check(0), Ok(()));
        let later = Fault {
            at: ns(5),
            ..fault(FaultKind::Stall, Some(ns(1)))
        };
        assert!(slow.overlaps(&later) && later.overlaps(&slow));
        let elsewhere = Fault {
            server: 1,
            ..later.clone()
        };
        assert!(!slow.overlaps(&elsewhere));
        let named = |name: &str| Fault {
            device: Some(name.into()),
            ..later.clone()
        };
        assert!(!named("ssd").overlaps(&named("hdd")) && named("ssd").overlaps(&later));
    }
}
