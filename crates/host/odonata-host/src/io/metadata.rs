//! The metadata servers of a part, by their numbers on the machine.

use crate::params::{HostParams, LedgerParams};
use odonata_engine::Time;
use odonata_storage::{
    DIRECTORY, METADATA_FAULT, MetadataMetrics, MetadataServers, RequestLoss, ServerCharge, ServerWaitSeries, THREAD,
};
use std::sync::Arc;

/// The metadata servers on the nodes of a part.
#[derive(Debug)]
pub(crate) struct MetadataNodes {
    pub(super) servers: MetadataServers,
    /// Their numbers on the machine.
    numbers: Arc<[u32]>,
}
odonata_engine::journalled!(MetadataNodes { servers });

impl MetadataNodes {
    pub(crate) fn new(numbers: Arc<[u32]>, params: &HostParams) -> Self {
        let faults = |server: u32| {
            let number = numbers[server as usize];
            let own = params.metadata_faults.iter().filter(|(server, _)| *server == number);
            own.map(|&(_, period)| period).collect()
        };
        let outages = |server: u32| params.outages_of(numbers[server as usize]);
        let servers = MetadataServers::new(numbers.len() as u32, params.metadata)
            .with_faults(faults)
            .with_failures(outages);
        let servers = match params.ledger {
            Some(LedgerParams { jobs, interval }) => {
                let faults = !params.metadata_faults.is_empty();
                servers.with_blame(jobs, interval, faults)
            }
            None => servers,
        };
        let servers = match params.lost_time {
            true => servers.with_losses(),
            false => servers,
        };
        MetadataNodes { servers, numbers }
    }

    /// The number on the machine of a server of the part.
    pub(crate) fn number(&self, local: u32) -> u32 {
        self.numbers[local as usize]
    }

    /// Losses of calls, by culprit, in the current event.
    pub(crate) fn take_losses(&mut self) -> Vec<RequestLoss> {
        self.servers.take_losses()
    }

    /// What was measured at each server.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = (u32, MetadataMetrics)> {
        self.numbers.iter().copied().zip(self.servers.metrics())
    }

    /// Waits at each server, by victim and culprit.
    pub(crate) fn blame(&self) -> impl Iterator<Item = ServerCharge> {
        self.servers.blame().map(|charge| ServerCharge {
            server: self.numbers[charge.server as usize],
            resource: match (charge.fault, charge.directory) {
                (true, _) => METADATA_FAULT,
                (false, true) => DIRECTORY,
                (false, false) => THREAD,
            },
            victim: charge.victim,
            culprit: charge.culprit,
            time: charge.time,
        })
    }

    /// The same over time.
    pub(crate) fn blame_series(&self) -> impl Iterator<Item = ServerWaitSeries> {
        let series = self.servers.blame_series();
        series.map(|(start, resource, victim, culprit, time)| ServerWaitSeries {
            start,
            tier: 0,
            resource,
            victim,
            culprit,
            time,
        })
    }

    /// Charges the open waits at `now`, the end of the run.
    pub(crate) fn charge_open_waits(&mut self, now: Time) {
        self.servers.charge_open_waits(now);
    }

    /// Lets those fail that have by `now`, the end of the run.
    pub(crate) fn fail_until(&mut self, now: Time) {
        self.servers.fail_until(now);
    }

    /// Checks that nothing is under way.
    ///
    /// # Errors
    /// Says what is.
    pub(crate) fn audit(&self) -> Result<(), String> {
        self.servers.audit()
    }
}
