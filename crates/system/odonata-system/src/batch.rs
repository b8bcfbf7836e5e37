//! A batch queue on a machine: jobs with profiles, loads on the links of the machine, results.
//!
//! A node is a host of the machine, in the order of their numbers; storage servers are none.

mod hosts;
mod links;
mod traffic;

use crate::scenario::{InputError, Scenario};
use odonata_batch::{
    Batch, Job, JobRecord, LinkBytes, LinkLoadSeries, Lost, Moment, SeriesPoint, Settings, TrafficClass,
};
use odonata_engine::Digest;
use serde::{Deserialize, Serialize};

pub use links::MachineLinks;
pub use traffic::{Flow, Pattern, flows};

/// The nodes of a machine for jobs: its hosts.
#[derive(Clone, Debug, Serialize)]
pub struct BatchMachine {
    /// Name of the scenario.
    pub name: String,
    /// Its preset.
    pub preset: Option<String>,
    /// The group of each node.
    pub group_of: Vec<u32>,
    /// The end points of each node, numbered over the machine; the first one is interface 0.
    pub end_points: Vec<Vec<u32>>,
    /// Interfaces of an end point.
    pub interfaces: u32,
    /// Number of storage servers.
    pub servers: u32,
    /// The traffic classes of the network; empty: one without a name.
    pub traffic_classes: Vec<TrafficClass>,
    /// Names of the classes of links, by number.
    pub classes: Vec<&'static str>,
}

/// A queue and its jobs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchRequest {
    /// The settings of the queue.
    pub settings: Settings,
    /// The jobs.
    pub jobs: Vec<Job>,
}

/// The results of a batch queue.
#[derive(Debug, Serialize)]
pub struct BatchResults {
    /// A digest of all other results.
    pub digest: String,
    /// The jobs, in the order of the list.
    pub jobs: Vec<JobRecord>,
    /// Time that jobs lost to each other.
    pub lost: Vec<Lost>,
    /// The state of the machine over time.
    pub series: Vec<SeriesPoint>,
    /// The links that carried bytes of jobs.
    pub links: Vec<BatchLink>,
    /// The loads of each class of links over time.
    pub loads: LinkLoadSeries,
    /// The recorded moments.
    pub moments: Vec<Moment>,
}

/// A link and what it carried.
#[derive(Clone, Debug, Serialize)]
pub struct BatchLink {
    name: String,
    #[serde(flatten)]
    carried: LinkBytes,
}

/// A batch queue on a machine, over time.
pub struct BatchRun {
    batch: Batch,
    /// The names of links.
    names: Vec<String>,
}

/// The nodes of the scenario's machine for jobs.
pub fn batch_machine(scenario: &Scenario) -> BatchMachine {
    let resolved = &scenario.resolved;
    let end_points = hosts::of(resolved);
    let servers = (resolved.storage.as_ref()).map_or(0, |storage| resolved.layout.servers(&storage.nodes).len());
    BatchMachine {
        name: resolved.name.clone(),
        preset: resolved.preset.clone(),
        group_of: end_points
            .iter()
            .map(|host| resolved.layout.group_of(host[0]))
            .collect(),
        end_points,
        interfaces: resolved.machine.interfaces,
        servers: servers as u32,
        traffic_classes: links::traffic_classes(resolved),
        classes: links::CLASSES.to_vec(),
    }
}

impl BatchRun {
    /// The queue of `request` on the machine of `scenario`, before its first event.
    ///
    /// # Errors
    /// The machine cannot be built, or a number in the request is out of range.
    pub fn new(scenario: &Scenario, mut request: BatchRequest) -> Result<BatchRun, InputError> {
        let wrong = |message: String| InputError {
            file: String::new(),
            line: None,
            column: None,
            key: "jobs".into(),
            message,
            value: None,
            expected: "numbers in range".into(),
            hint: None,
        };
        let links = MachineLinks::new(&scenario.resolved, &scenario.placement).map_err(wrong)?;
        let (machine, layout) = (batch_machine(scenario), &scenario.resolved.layout);
        request.settings.router_of = machine
            .end_points
            .iter()
            .map(|host| layout.router_of(host[0]))
            .collect();
        request.settings.group_of = machine.group_of;
        check(&request, machine.traffic_classes.len()).map_err(wrong)?;
        Ok(BatchRun {
            names: links.names(),
            batch: Batch::new(request.settings, request.jobs, Box::new(links)),
        })
    }

    /// Handles the next instant; false if there is none.
    pub fn step(&mut self) -> bool {
        self.batch.step()
    }

    /// The present time in seconds, and the number of jobs that have ended.
    pub fn progress(&self) -> (f64, u32) {
        (self.batch.now() as f64 / odonata_batch::SECOND, self.batch.ended())
    }

    /// The results so far.
    pub fn results(&self) -> BatchResults {
        let (jobs, lost) = (self.batch.records(), self.batch.lost().collect::<Vec<Lost>>());
        let (series, moments) = (self.batch.series().to_vec(), self.batch.moments().to_vec());
        let link = |carried: LinkBytes| BatchLink {
            name: self.names[carried.link as usize].clone(),
            carried,
        };
        BatchResults {
            digest: digest(&jobs, &lost, &series),
            jobs,
            lost,
            series,
            links: self.batch.links().into_iter().map(link).collect(),
            loads: self.batch.loads(),
            moments,
        }
    }
}

/// A digest of what happened, to the microsecond; lost time to the millisecond.
fn digest(jobs: &[JobRecord], lost: &[Lost], series: &[SeriesPoint]) -> String {
    let mut digest = Digest::new();
    for job in jobs {
        digest.word(job.start.unwrap_or(u64::MAX));
        digest.word(job.end.unwrap_or(u64::MAX));
        digest.word(u64::from(job.starts) << 8 | job.outcome as u64);
        job.nodes.iter().for_each(|&node| digest.word(u64::from(node)));
    }
    for one in lost {
        digest.word(u64::from(one.victim) << 32 | u64::from(one.culprit));
        digest.word(u64::from(one.class) << 56 | (one.lost_s * 1e3).round() as u64);
    }
    for point in series {
        digest.word(point.time);
        digest.word(u64::from(point.busy) << 32 | u64::from(point.waiting));
    }
    format!("{:032x}", digest.value())
}

/// Checks that all numbers of a request are in range.
fn check(request: &BatchRequest, classes: usize) -> Result<(), String> {
    let (settings, jobs) = (&request.settings, &request.jobs);
    let nodes = settings.group_of.len();
    let mut partition_of = vec![false; nodes];
    for &node in settings.partitions.iter().flatten() {
        match partition_of.get_mut(node as usize) {
            Some(taken) if !*taken => *taken = true,
            Some(_) => return Err(format!("node {node} is in two partitions")),
            None => return Err(format!("there is no compute node {node}")),
        }
    }
    let reserved = settings.reservations.iter().flat_map(|one| one.nodes.iter());
    let mut named = reserved.chain(settings.failures.iter().map(|one| &one.node));
    if let Some(node) = named.find(|&&node| node as usize >= nodes) {
        return Err(format!("there is no compute node {node}"));
    }
    for (number, job) in jobs.iter().enumerate() {
        let known = |other: &u32| (*other as usize) < jobs.len() && *other as usize != number;
        let demands = job.phases.iter().flat_map(|phase| &phase.demands);
        let positive = |demand: &odonata_batch::Demand| {
            demand.rate.is_finite()
                && demand.rate >= 0.0
                && demand.share > 0.0
                && demand.share <= 1.0
                && usize::from(demand.class) < classes.max(1)
        };
        let is_right = (job.partition as usize) < settings.partitions.len()
            && (job.user as usize) < jobs.len()
            && job.nodes > 0
            && job.run > 0
            && job.after.iter().all(known)
            && demands
                .clone()
                .all(|demand| Pattern::of(demand.pattern).is_some() && positive(demand))
            && job
                .phases
                .iter()
                .all(|phase| phase.lasts_s.is_none_or(|lasts| lasts.is_finite()));
        if !is_right {
            return Err(format!("job {number} of the list has a number out of range"));
        }
    }
    Ok(())
}
