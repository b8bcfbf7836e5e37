//! The builder of a set of servers: what they share, what fails, and what is recorded.

use odonata_units::Time;

use crate::observe::Observers;
use crate::servers::ServerParts;
use crate::settings::{DrainPolicy, LostReads, Policy};
use crate::sharing::Turns;
use crate::stage::Stages;
use crate::{FaultPeriod, Outage, ParamsError, ServerParams, Servers};

/// A set of servers to be built, all empty and idle.
#[derive(Debug)]
pub struct ServersBuilder(Servers);

impl From<Servers> for ServersBuilder {
    /// Changes servers that have had no input yet.
    fn from(servers: Servers) -> Self {
        ServersBuilder(servers)
    }
}

impl ServersBuilder {
    /// One server per element of `params`. By default, service is first come, first served, nothing fails, and only counters are kept.
    ///
    /// # Errors
    /// The first server whose parameters [cannot work](ServerParams::check), and the reason.
    pub fn new(params: Vec<ServerParams>) -> Result<Self, (u32, ParamsError)> {
        for (server, params) in (0..).zip(&params) {
            params.check().map_err(|why| (server, why))?;
        }
        let parts = ServerParts::new(params);
        let (servers, devices) = (parts.params.len(), parts.devices.len() as usize);
        let observers = Observers::new(servers, devices);
        Ok(ServersBuilder(Servers { parts, observers }))
    }

    /// The servers.
    pub fn build(self) -> Servers {
        self.0
    }

    /// Adds faults: `of` returns those of a device of a server, both counted from 0.
    pub fn with_faults(mut self, of: impl Fn(u32, u32) -> Vec<FaultPeriod>) -> Self {
        self.0.parts.devices.set_faults(of);
        self
    }

    /// Lets jobs with these weights share the servers as [`Sharing`](crate::settings::Sharing) says, and counts what each job commits.
    pub fn shared_by(mut self, weights: &[f64]) -> Self {
        let Servers { parts, observers } = &mut self.0;
        observers.count_jobs(weights.len());
        parts.index.count_jobs(weights.len());
        let fair = |params: &ServerParams| params.manager.sharing != Default::default();
        if parts.params.iter().any(fair) {
            parts.turns = Turns::new(parts.devices.len() as usize, weights);
        }
        self
    }

    /// Sets a chain of `tiers` tiers, object servers included, and `jobs` jobs. With one tier, no data leave it.
    pub fn in_tiers(mut self, tiers: usize, jobs: usize) -> Self {
        let Servers { parts, observers } = &mut self.0;
        parts.tiers = tiers.clamp(1, 255) as u8;
        if tiers > 1 {
            let any = |which: fn(Policy) -> bool| parts.params.iter().any(|server| server.next.is_some_and(which));
            let at_job_end = any(|policy| policy.drain == DrainPolicy::JobEnd);
            let ahead = any(|policy| policy.read_ahead.0 > 0);
            parts.stages = Stages::new(parts.params.len(), ahead);
            observers.count_tiers(tiers, jobs);
            if at_job_end {
                parts.reserves.remember_ends(jobs);
            }
        }
        self
    }

    /// Lets the data of the jobs marked in `jobs` leave after the end of their job. Call [`in_tiers`](Self::in_tiers) first.
    pub fn staging_out(mut self, jobs: &[bool]) -> Self {
        let parts = &mut self.0.parts;
        if jobs.contains(&true) && parts.stages.is_on() {
            parts.stages.stage_out(jobs);
            parts.reserves.remember_ends(jobs.len());
        }
        self
    }

    /// Adds failures for `jobs` jobs, at least one: `of` returns the times when a server is away, and `lost_reads` says what a read
    /// of lost bytes is.
    pub fn with_failures(mut self, of: impl Fn(u32) -> Vec<Outage>, jobs: usize, lost_reads: LostReads) -> Self {
        let parts = &mut self.0.parts;
        let outages = (0..parts.len()).map(of).collect();
        parts.failures.of_servers(outages, jobs, lost_reads);
        self
    }

    /// Adds failures of devices: `of` returns those of a device of a server, both counted from 0. Call
    /// [`with_failures`](Self::with_failures) first.
    pub fn with_device_failures(mut self, of: impl Fn(u32, u32) -> Vec<Outage>) -> Self {
        let ServerParts { devices, failures, .. } = &mut self.0.parts;
        let outages = |device: u32| {
            let server = devices.server_of(device);
            of(server, device - devices.of(server).start)
        };
        let outages = (0..devices.len()).map(outages).collect();
        failures.of_devices(outages);
        self
    }

    /// Keeps a time series of resources in use for a machine of `servers` servers in all; this number alone decides how long the series
    /// is.
    pub fn with_occupancy(mut self, interval: Time, servers: u32) -> Self {
        let own = self.0.parts.params.len();
        self.0.observers.record_occupancy(interval, own, servers);
        self
    }

    /// Keeps a ledger of the waits between `jobs` jobs; with `interval`, also as a time series. With `charges_faults`, alike for all
    /// parts of a machine, delays due to device faults are charged to the faults. Call [`in_tiers`](Self::in_tiers) and
    /// [`with_faults`](Self::with_faults) first.
    pub fn with_blame(mut self, jobs: u16, interval: Option<Time>, charges_faults: bool) -> Self {
        let Servers { parts, observers } = &mut self.0;
        observers.record_waits(parts, jobs, interval, charges_faults);
        self
    }

    /// Records the waits of single requests, if there is a ledger.
    pub fn with_losses(mut self) -> Self {
        let Servers { parts, observers } = &mut self.0;
        observers.record_requests(parts);
        self
    }
}
