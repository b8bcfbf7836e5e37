//! Occupancy over time: the resources of each server in use, integrated over intervals of simulated time.

use std::collections::BTreeMap;

use odonata_engine::{GrowableStore, Mode, Store, journalled};
use odonata_units::Time;

use super::facts::Observer;
use crate::servers::ServerParts;

/// The resources of a server in use; or their integrals over time, in units times ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Occupancy {
    /// Accesses at its devices, waiting and in service.
    pub accesses: u128,
    /// Memory, in bytes (whole blocks).
    pub memory: u128,
    /// Space on its devices, in bytes.
    pub used: u128,
}

impl Occupancy {
    fn add(&mut self, level: Occupancy, time: Time) {
        let time = u128::from(time.0);
        self.accesses += level.accesses * time;
        self.memory += level.memory * time;
        self.used += level.used * time;
    }
}

/// A level that is not integrated yet.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Since {
    level: Occupancy,
    since: Time,
}

/// The time series of a set of servers.
#[derive(Debug)]
pub(crate) struct OccupancySeries {
    interval: Option<Time>,
    /// Number of intervals kept.
    bins: u64,
    now: Store<Since>,
    /// Per interval and server.
    sums: GrowableStore<Occupancy>,
}
journalled!(OccupancySeries { now, sums });

/// Cells kept for all servers of a machine together, at most 24 MB. Later intervals are not recorded.
const MOST: u64 = 1 << 19;

impl OccupancySeries {
    pub(crate) fn off() -> Self {
        OccupancySeries {
            interval: None,
            bins: 0,
            now: Store::new(),
            sums: GrowableStore::new(),
        }
    }

    pub(crate) fn end(&self) -> Option<Time> {
        self.interval.map(|interval| Time(interval.0.saturating_mul(self.bins)))
    }

    /// Splits the time from `from` to `to` at the intervals that are kept: interval, length.
    fn parts(&self, from: Time, to: Time) -> impl Iterator<Item = (u64, Time)> + use<> {
        let interval = self.interval.unwrap_or(Time(1)).0;
        let to = Time(to.0.min(self.bins.saturating_mul(interval)));
        let mut at = from;
        std::iter::from_fn(move || {
            if at >= to {
                return None;
            }
            let bin = at.0 / interval;
            let end = to.min(Time((bin + 1).saturating_mul(interval)));
            let part = (bin, end - at);
            at = end;
            Some(part)
        })
    }
}

impl OccupancySeries {
    /// A series of `servers` servers, of `all` on the whole machine; this number alone decides how long the series is.
    pub(crate) fn new(interval: Time, servers: usize, all: u32) -> Self {
        OccupancySeries {
            interval: Some(interval.max(Time(1))),
            bins: MOST / u64::from(all.max(1)),
            now: Store::filled(servers, Since::default()),
            sums: GrowableStore::new(),
        }
    }

    /// The integrals until `now`, by interval (counted from 0) and server. Empty without a series; missing elements are zero.
    pub(crate) fn until(&self, now: Time) -> BTreeMap<(u64, u32), Occupancy> {
        let servers = self.now.len();
        let name = |cell: usize| ((cell / servers) as u64, (cell % servers) as u32);
        let sums = self.sums.iter();
        let mut all: BTreeMap<_, _> = sums.map(|(cell, &sum)| (name(cell), sum)).collect();
        for (server, open) in (0..).zip(self.now.iter()) {
            if open.level != Occupancy::default() {
                for (bin, time) in self.parts(open.since, now) {
                    let sum: &mut Occupancy = all.entry((bin, server)).or_default();
                    sum.add(open.level, time);
                }
            }
        }
        all
    }

    fn record<M: Mode>(&mut self, parts: &ServerParts, now: Time, server: u32) {
        let level = Occupancy {
            accesses: (parts.devices.of(server))
                .map(|device| u128::from(parts.queues.accesses(device)))
                .sum(),
            memory: u128::from(parts.memories.bytes_in_use(server)),
            used: u128::from(parts.used(server)),
        };
        let old = *self.now.get(server);
        if old.level == level {
            return;
        }
        if old.level != Occupancy::default() {
            let servers = self.now.len();
            for (bin, time) in self.parts(old.since, now) {
                let cell = bin as usize * servers + server as usize;
                self.sums.edit::<M>(cell).add(old.level, time);
            }
        }
        *self.now.edit::<M>(server) = Since { level, since: now };
    }
}

impl Observer for OccupancySeries {
    #[inline]
    fn levels_change<M: Mode>(&mut self, parts: &ServerParts, now: Time, server: u32) {
        if self.interval.is_some() {
            self.record::<M>(parts, now, server);
        }
    }
}
