//! The storage servers of a part, by their numbers on the machine.

use crate::params::{HostParams, LedgerParams};
use odonata_engine::Time;
use odonata_storage::{
    Actions, BlockedWrite, DeviceMetrics, ExtentLocks, FaultMetrics, LOCK, LockMetrics, Losses, Metrics, Occupancy,
    RequestLoss, RequestWaits, ServerCharge, ServerWaitSeries, Servers, TierContents, TierMetrics,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The storage servers on the nodes of a part, which have numbers of their own there.
#[derive(Debug)]
pub(crate) struct StorageServers {
    pub(super) servers: Servers,
    /// The numbers of the part's servers on the machine.
    numbers: Arc<[u32]>,
    /// Locks on ranges of objects, by node.
    pub(crate) locks: ExtentLocks,
    /// Empty between events; kept for its memory.
    pub(super) actions: Actions,
}
odonata_engine::journalled!(StorageServers { servers, locks });

impl StorageServers {
    /// `servers` with these numbers.
    pub(crate) fn new(servers: Servers, numbers: Arc<[u32]>, params: &HostParams) -> Self {
        let outages = |server: u32| params.outages_of(numbers[server as usize]);
        let locks = ExtentLocks::new(servers.measured().len(), params.locks).with_failures(outages);
        StorageServers {
            locks: match params.ledger {
                Some(LedgerParams { jobs, interval }) if params.lost_time => {
                    locks.with_blame(jobs, interval).with_losses()
                }
                Some(LedgerParams { jobs, interval }) => locks.with_blame(jobs, interval),
                None => locks,
            },
            servers,
            numbers,
            actions: Actions::new(),
        }
    }

    /// The number on the machine of a server of the part.
    pub(crate) fn number(&self, local: u32) -> u32 {
        self.numbers[local as usize]
    }

    /// The waits and accesses of requests that the last input began or ended, at the devices and for locks.
    pub(crate) fn take_waits(&mut self) -> (RequestWaits, Vec<RequestLoss>) {
        (self.servers.take_waits(), self.locks.take_losses())
    }

    /// The servers, by the numbers of the part.
    pub(crate) fn servers(&self) -> &Servers {
        &self.servers
    }

    /// What was measured at each server.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = (u32, Metrics)> {
        let servers = (0..).zip(self.numbers.iter());
        servers.map(|(local, &server)| (server, self.servers.measured().metrics(local)))
    }

    /// What failures have cost: server, job.
    pub(crate) fn losses(&self) -> impl Iterator<Item = (u32, u16, Losses)> {
        let losses = self.servers.measured().losses();
        losses.map(|(local, job, losses)| (self.numbers[local as usize], job, losses))
    }

    /// Bytes of files that were removed: server, job.
    pub(crate) fn removed(&self) -> impl Iterator<Item = (u32, u16, u64)> {
        let removed = self.servers.measured().removed();
        removed.map(|(local, job, bytes)| (self.numbers[local as usize], job, bytes))
    }

    /// When devices fail: server, time.
    pub(crate) fn device_failures(&self) -> Vec<(u32, Time)> {
        let times = self.servers.measured().device_failure_times();
        times.map(|(local, _, at)| (self.numbers[local as usize], at)).collect()
    }

    /// Lets those fail that have by `now`, the end of the run.
    pub(crate) fn fail_until(&mut self, now: Time) {
        self.servers.fail_until(now);
        self.locks.fail_until(now);
    }

    /// What was measured of the locks of each server; nothing where there are none.
    pub(crate) fn lock_metrics(&self) -> impl Iterator<Item = (u32, LockMetrics)> {
        self.numbers.iter().copied().zip(self.locks.metrics())
    }

    /// What was measured at each device: server, number of the device there.
    pub(crate) fn devices(&self) -> impl Iterator<Item = (u32, u32, DeviceMetrics)> {
        let servers = (0..).zip(self.numbers.iter());
        servers.flat_map(|(local, &server)| {
            let devices = (0..).zip(self.servers.measured().device_metrics(local));
            devices.map(move |(device, (_, metrics))| (server, device, metrics))
        })
    }

    /// What each tier did here for each job, and where its bytes are.
    pub(crate) fn tiers(&self) -> BTreeMap<(u8, u16), (TierMetrics, TierContents)> {
        let mut all: BTreeMap<_, (TierMetrics, TierContents)> = BTreeMap::new();
        for (tier, job, metrics) in self.servers.measured().tier_metrics() {
            all.entry((tier, job)).or_default().0 = metrics;
        }
        for (name, contents) in self.servers.measured().tier_contents() {
            all.entry(name).or_default().1 = contents;
        }
        all
    }

    /// What faults have cost: server, number of the device there; of those with faults.
    pub(crate) fn faults(&self) -> impl Iterator<Item = (u32, u32, FaultMetrics)> {
        let servers = (0..).zip(self.numbers.iter());
        let all = servers.flat_map(|(local, &server)| {
            let devices = (0..).zip(self.servers.measured().fault_metrics(local));
            devices.map(move |(device, metrics)| (server, device, metrics))
        });
        all.filter(|(_, _, metrics)| metrics.accesses > 0)
    }

    /// Waits at each server, by victim and culprit.
    pub(crate) fn blame(&self) -> impl Iterator<Item = ServerCharge> {
        let locks = self.locks.blame().map(|charge| ServerCharge {
            server: charge.server,
            resource: LOCK,
            victim: charge.victim,
            culprit: charge.culprit,
            time: charge.time,
        });
        self.servers.measured().blame().chain(locks).map(|charge| ServerCharge {
            server: self.numbers[charge.server as usize],
            ..charge
        })
    }

    /// The same over time.
    pub(crate) fn blame_series(&self) -> impl Iterator<Item = ServerWaitSeries> {
        let locks = self.locks.blame_series();
        let locks = locks.map(|(start, victim, culprit, time)| ServerWaitSeries {
            start,
            tier: 0,
            resource: LOCK,
            victim,
            culprit,
            time,
        });
        self.servers.measured().blame_series().chain(locks)
    }

    /// What was in use until `now`, by interval and server.
    pub(crate) fn occupancy(&self, now: Time) -> impl Iterator<Item = (u64, u32, Occupancy)> {
        let sums = self.servers.measured().occupancy(now).into_iter();
        sums.map(|((bin, server), sum)| (bin, self.numbers[server as usize], sum))
    }

    /// Time in which devices served requests of `job`, in ps.
    pub(crate) fn device_time_ps(&self, job: u16) -> u128 {
        self.servers.measured().device_time_ps(job)
    }

    /// When the last byte of a write of `job` came to a device here.
    pub(crate) fn last_commit(&self, job: u16) -> Option<Time> {
        self.servers.measured().last_commit(job)
    }

    /// The writes that wait for space, with the numbers of their servers.
    pub(crate) fn blocked_writes(&self) -> impl Iterator<Item = (u32, BlockedWrite)> {
        let writes = self.servers.measured().blocked_writes();
        writes.map(|write| (self.numbers[write.server as usize], write))
    }

    /// Charges the open waits at `now`, the end of the run.
    pub(crate) fn charge_open_waits(&mut self, now: Time) {
        self.servers.charge_open_waits(now);
        self.locks.charge_open_waits(now);
    }

    /// Checks that nothing is under way.
    ///
    /// # Errors
    /// Says what is.
    pub(crate) fn audit(&self) -> Result<(), String> {
        self.locks.audit()?;
        self.servers.measured().audit()
    }
}
