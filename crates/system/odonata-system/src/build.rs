//! Builds a machine, ready to run, from a resolved scenario.

use crate::placement::Placement;
use crate::reduction::plant;
use crate::scenario::Scenario;
use crate::scenario::resolved::{self, Resolved};
use odonata_host::Interrupt;
use odonata_host::{
    FileAccess, HostParams, HostPlan, Job, JobProgram, JobStatuses, LedgerParams, Outside, RecordParams, ServerOutage,
    StageFile, StorageTier, TimelineParams, WaitingJob,
};
use odonata_machine::Machine;
use odonata_network::routing::Routing;
use odonata_network::settings::{Fidelity, NicRates};
use odonata_network::{
    Blueprint, LinkPeriod, NetworkParams, QueueRecording, RunParams, TrafficClasses, VirtualChannels,
};
use odonata_storage::settings::{DrainPolicy, Storage};
use odonata_storage::{FileLayout, Metadata, ServerParams, ServersBuilder};
use odonata_topology::{LinkClass, Topology};
use odonata_units::{Bandwidth, Bytes, SplitMix64, Time};
use odonata_workload::LogGops;
use std::ops::Range;
use std::sync::Arc;

/// The routing of the scenario on its machine.
///
/// # Errors
/// The impossible size of the machine, or the failed cable without an alternative path.
pub fn routing(scenario: &Resolved) -> Result<Routing, String> {
    routing_on(&scenario.machine, &scenario.network.routing)
}

/// The routing `r` on `machine`.
///
/// # Errors
/// Those of [`routing()`].
pub fn routing_on(machine: &resolved::Machine, r: &resolved::Routing) -> Result<Routing, String> {
    Routing::on(machine.build()?, r)
}

/// The parameters of the LogGOPS model, if `job` uses it.
fn loggops(scenario: &Resolved, job: &resolved::Job) -> Option<LogGops> {
    let (mpi, model) = (&scenario.mpi, &scenario.network.analytic);
    (scenario.fidelity_of(job) == Fidelity::Analytic).then(|| LogGops {
        latency: *model.latency,
        send_overhead: mpi.send_overhead,
        recv_overhead: mpi.recv_overhead,
        gap: model.gap,
        gap_per_byte: *model.gap_per_byte,
        overhead_per_byte: model.overhead_per_byte,
        eager_threshold: mpi.eager_threshold.map_or(u64::MAX, |bytes| bytes.0),
    })
}

/// Virtual channels per link class: the number that the routing needs, or more if the scenario sets them.
pub fn virtual_channels(scenario: &Resolved, routing: &Routing) -> VirtualChannels {
    virtual_channels_of(&scenario.network.routing, routing)
}

/// The same, from the routing keys of the scenario.
pub(crate) fn virtual_channels_of(r: &resolved::Routing, routing: &Routing) -> VirtualChannels {
    let (need, vcs) = (routing.virtual_channels(), r.vcs);
    LinkClass::ALL.map(|class| need[class as usize].max(vcs.and_then(|vcs| vcs.of(class)).unwrap_or(0)))
}

/// Virtual channels that any routing needs at least: one per class with links, or more if the scenario sets them.
pub(crate) fn least_virtual_channels(scenario: &Resolved) -> VirtualChannels {
    let (ports, vcs) = (&scenario.layout.extent().ports, scenario.network.routing.vcs);
    LinkClass::ALL.map(|class| match ports[class as usize] {
        0 => 0,
        _ => vcs.and_then(|vcs| vcs.of(class)).unwrap_or(1).max(1),
    })
}

/// A machine with its jobs, to be built as a whole or in parts.
#[derive(Debug)]
pub struct Plan {
    fabric: Blueprint,
    hosts: HostPlan,
    servers: Vec<ServerParams>,
    /// Tiers of servers, at least one.
    tiers: usize,
    /// Interval of the time series.
    series: Option<Time>,
    /// The weight of each job, if jobs share servers by weight.
    weights: Vec<f64>,
    /// Whether each job stages out its data at its end.
    stage_out: Vec<bool>,
    /// Number of jobs and interval of the time series, if waits are charged.
    blame: Option<(u16, Option<Time>)>,
    /// Whether the waits of each request are recorded.
    lost_time: bool,
    /// The settings of the servers, if there are faults.
    storage: Option<Storage>,
    /// Intervals of the time series in which links are counted individually.
    link_period: Option<LinkPeriod>,
    /// The links whose queues are recorded.
    queues: Option<QueueRecording>,
    /// The jobs that found a router in too many trees of sums, and that router.
    without_trees: Vec<(u16, u32)>,
}

impl Plan {
    /// The machine of `scenario`, with its jobs placed by `placement`.
    ///
    /// # Errors
    /// The inconsistency; user errors were already reported when the scenario was resolved.
    pub fn new(scenario: &Resolved, placement: &Placement) -> Result<Plan, String> {
        let routing = routing(scenario)?;
        let vcs = virtual_channels(scenario, &routing);
        let network = network(scenario)?;
        let classes = network.classes.count();
        if let Some(n) = vcs.iter().find(|n| n.checked_mul(classes).is_none()) {
            return Err(format!(
                "{classes} traffic classes of {n} virtual channels each: a port has at most 255 channels"
            ));
        }
        let fabric = Blueprint::new(network, routing, vcs);
        let servers = servers(scenario, placement);
        ServersBuilder::new(servers.clone()).map_err(|(server, error)| format!("server {server}: {error}"))?;
        let jobs = scenario
            .jobs
            .iter()
            .zip(&placement.jobs)
            .zip(scenario.directories())
            .map(|((job, place), directory)| {
                Ok(Job {
                    name: job.name.to_string(),
                    program: program(scenario, job)?,
                    nodes: place.nodes.clone(),
                    servers: place.servers.clone(),
                    files: FileAccess {
                        directory,
                        key: SplitMix64::named(0, job.directory().bytes().map(u64::from)).next_u64(),
                        layout: scenario.layout_of_files(job, placement.servers.len() as u32),
                        write_behind: write_behind(scenario, job),
                    },
                    stage_in: (job.io.stage_in.iter())
                        .map(|stage| StageFile {
                            file: stage.file,
                            offset: stage.offset.0,
                            bytes: stage.bytes.0,
                            per_rank: stage.per_rank,
                        })
                        .collect(),
                    stage_wait: job.io.stage_wait.unwrap_or(true),
                    stage_out: job.io.stage_out,
                    start: job.start.at,
                    start_after: job.start_after.to_vec(),
                    until: job.until.to_vec(),
                })
            })
            .collect::<Result<Vec<_>, String>>()?;
        let topology = fabric.routing().topology();
        let link_period = link_period(scenario, topology);
        let queues = queue_recording(scenario);
        let (params, servers_at) = (host_params(scenario, placement), placement.all_servers());
        let hosts =
            HostPlan::new(params, jobs, &servers_at, topology).with_metadata_servers(&placement.metadata, topology);
        let (mut fabric, mut hosts, mut without_trees) = (fabric, hosts, Vec::new());
        if let Some(settings) = scenario.network.reduction {
            let planted = plant(settings, &hosts, scenario.jobs.len(), fabric.routing().topology());
            (fabric, hosts) = (fabric.with_reduction(planted.params), hosts.with_trees(planted.trees));
            without_trees = planted.refused;
        }
        let blame = *scenario.run.blame;
        Ok(Plan {
            without_trees,
            blame: blame.then_some((scenario.jobs.len() as u16, scenario.run.series_interval)),
            lost_time: scenario.run.lost_time,
            series: scenario.run.series_interval,
            weights: scenario.jobs.iter().map(|job| job.io_weight).collect(),
            stage_out: scenario.jobs.iter().map(|job| job.io.stage_out).collect(),
            fabric,
            hosts,
            servers,
            tiers: 1 + placement.tiers.len(),
            storage: scenario
                .storage
                .clone()
                .filter(|storage| !storage.faults.is_empty() || storage.client.is_some()),
            link_period,
            queues,
        })
    }

    /// The same plan, with an interruption handle.
    pub fn interrupted_by(self, interrupt: Interrupt) -> Plan {
        Plan {
            hosts: self.hosts.interrupted_by(interrupt),
            ..self
        }
    }

    /// The jobs whose collectives would run in routers and find one that sums in too many trees, with that router.
    pub(crate) fn without_trees(&self) -> &[(u16, u32)] {
        &self.without_trees
    }

    /// The graph of the machine.
    pub fn topology(&self) -> &Topology {
        self.routing().topology()
    }

    /// The routing on it.
    pub(crate) fn routing(&self) -> &Routing {
        self.fabric.routing()
    }

    /// The jobs that wait for others, in order, given the status of all parts.
    pub(crate) fn waiting_jobs(&self, statuses: &JobStatuses) -> Vec<WaitingJob> {
        statuses.waiting_jobs(self.hosts.plans())
    }

    /// Idle parts of the machine with these ranges of routers.
    pub fn parts(&self, routers: &[Range<u32>]) -> Vec<Machine> {
        let servers = |numbers: &[u32]| {
            let params = numbers
                .iter()
                .map(|&server| self.servers[server as usize].clone())
                .collect();
            let servers = ServersBuilder::new(params).expect("the parameters were checked");
            let faults = |server: u32, device: u32| {
                let storage = self.storage.as_ref();
                storage.map_or(Vec::new(), |storage| {
                    storage.faults_of(numbers[server as usize], device)
                })
            };
            let slow = self.storage.as_ref().is_some_and(Storage::has_slow_devices);
            let servers = (servers.with_faults(faults).shared_by(&self.weights))
                .in_tiers(self.tiers, self.weights.len())
                .staging_out(&self.stage_out);
            let servers = match self
                .storage
                .as_ref()
                .and_then(|storage| storage.client.map(|client| (storage, client)))
            {
                Some((storage, client)) => {
                    let outages = |server: u32| storage.outages_of(numbers[server as usize]);
                    let of_devices = |server: u32, device| storage.device_outages_of(numbers[server as usize], device);
                    servers
                        .with_failures(outages, self.weights.len(), client.lost_reads)
                        .with_device_failures(of_devices)
                }
                None => servers,
            };
            let servers = match self.series {
                Some(interval) => servers.with_occupancy(interval, self.servers.len() as u32),
                None => servers,
            };
            let servers = match self.blame {
                Some((jobs, interval)) => servers.with_blame(jobs, interval, slow),
                None => servers,
            };
            match self.lost_time {
                true => servers.with_losses().build(),
                false => servers.build(),
            }
        };
        let hosts = self.hosts.parts(routers, servers);
        let fabric = |range: &Range<u32>| {
            let mut fabric = self.fabric.part(range.clone());
            if let Some(period) = self.link_period {
                fabric.record_links(period);
            }
            if let Some(queues) = &self.queues {
                fabric.record_queues(queues);
            }
            fabric
        };
        (routers.iter().zip(hosts))
            .map(|(range, hosts)| Machine {
                fabric: fabric(range),
                hosts,
            })
            .collect()
    }
}

/// The undivided machine of `scenario`.
///
/// # Errors
/// Those of [`Plan::new`].
pub fn whole(scenario: &Scenario) -> Result<Machine, String> {
    let plan = Plan::new(&scenario.resolved, &scenario.placement)?;
    let all = 0..plan.topology().routers();
    Ok(plan.parts(&[all]).remove(0))
}

/// The traffic classes of the scenario, and those of each job's traffic.
fn traffic_classes(scenario: &Resolved) -> Result<TrafficClasses, String> {
    let list = scenario.network.traffic_classes.clone();
    if list.is_empty() {
        return Ok(TrafficClasses::default());
    }
    let of_jobs = scenario.jobs.iter().flat_map(|job| {
        let classes = &job.traffic_class;
        [*classes.mpi, *classes.io]
    });
    TrafficClasses::new(list, of_jobs.collect())
}

/// The parameters of its fabric.
///
/// # Errors
/// Those of [`Plan::new`].
pub(crate) fn network(scenario: &Resolved) -> Result<NetworkParams, String> {
    let run = RunParams {
        fidelities: scenario.fidelities(),
        classes: traffic_classes(scenario)?,
        traffics: 2 * scenario.jobs.len() as u16,
        series: scenario.run.series_interval,
        blame: *scenario.run.blame,
        blame_sampling: scenario.run.blame_sampling,
        lost_time: scenario.run.lost_time,
        lost_places: scenario.run.lost_time_path > 0,
        seed: scenario.seed,
    };
    Ok(NetworkParams {
        nic_rates: nic_rates(scenario),
        ..NetworkParams::new(&scenario.network, &scenario.nic, run)
    })
}

/// Maximum injection rate of each node's interface, if it depends on the node class.
pub(crate) fn nic_rates(scenario: &Resolved) -> Option<Arc<[Option<Bandwidth>]>> {
    let (nic, layout) = (&scenario.nic, &scenario.layout);
    let NicRates {
        compute,
        storage,
        service,
    } = nic.rates;
    if nic.rates == NicRates::default() {
        return None;
    }
    let mut rates = vec![compute.or(nic.rate); layout.nodes() as usize];
    let servers = scenario.storage.iter().flat_map(|storage| {
        let metadata = storage.metadata.iter().map(|metadata| &metadata.nodes);
        let below = storage.tiers.iter().map(|tier| &tier.nodes);
        std::iter::once(&storage.nodes).chain(below).chain(metadata)
    });
    let servers = servers.flat_map(|nodes| layout.servers(nodes));
    for server in servers {
        rates[server as usize] = storage.or(nic.rate);
    }
    for node in (0..layout.nodes()).filter(|&node| layout.is_service(node)) {
        rates[node as usize] = service.or(nic.rate);
    }
    let interfaces = scenario.machine.interfaces as usize;
    Some(
        rates
            .into_iter()
            .flat_map(|rate| std::iter::repeat_n(rate, interfaces))
            .collect(),
    )
}

/// Maximum number of cells that count links individually, over all links and intervals: 100 MB.
const MOST_LINK_CELLS: u64 = 1 << 22;

/// Intervals of the time series in which the links of `topology` are counted individually; `None` if they are not.
pub(crate) fn link_period(scenario: &Resolved, topology: &Topology) -> Option<LinkPeriod> {
    let (timeline, interval) = (scenario.run.timeline.as_ref()?, scenario.run.series_interval?);
    let (from, until) = timeline.period();
    let links = u64::from(topology.ports() + topology.nodes()).max(1);
    let (first, end) = (from.0 / interval.0, until.0.div_ceil(interval.0));
    let count = (end - first).min(MOST_LINK_CELLS / links);
    (timeline.links > 0).then_some(LinkPeriod {
        first: u32::try_from(first).ok()?,
        count: count as u32,
    })
}

/// The links whose queues are recorded; `None` if there are none.
fn queue_recording(scenario: &Resolved) -> Option<QueueRecording> {
    let interval = scenario.run.series_interval?;
    let links = scenario.queue_links.clone();
    (!links.is_empty()).then_some(QueueRecording { links, interval })
}

fn servers(scenario: &Resolved, placement: &Placement) -> Vec<ServerParams> {
    let Some(storage) = &scenario.storage else {
        return Vec::new();
    };
    let numbers = 0..placement.all_servers().len() as u32;
    numbers
        .map(|number| storage.server(placement.tier_of(number), scenario.seed, u64::from(number)))
        .collect()
}

/// The tiers of servers, as seen by their clients; empty for a single tier.
fn tiers(scenario: &Resolved, placement: &Placement) -> Arc<[StorageTier]> {
    let Some(storage) = scenario.storage.as_ref().filter(|storage| storage.tier_count() > 1) else {
        return Arc::new([]);
    };
    let below = placement.tiers.iter().map(|tier| (tier.servers.len(), &tier.homes[..]));
    let sizes = std::iter::once((placement.servers.len(), &[][..])).chain(below);
    let tier = |(number, (first, (servers, homes))): (usize, (u32, (usize, &[u32])))| {
        let lower = number.checked_sub(1);
        let settings = lower.and_then(|lower| storage.tiers.get(lower));
        let outside = storage.file_system.filter(|_| number + 1 == storage.tier_count());
        let layout = match (settings, outside) {
            (Some(tier), _) => tier.layout,
            (None, Some(system)) => system.layout,
            (None, None) => storage.layout,
        };
        StorageTier {
            first,
            servers: servers as u32,
            // The layouts of jobs apply to the first tier.
            layout: FileLayout::new(
                layout,
                (servers as u32).max(1),
                scenario.seed,
                &format!("tier {number}"),
            ),
            homes: homes.into(),
            drains_at_job_end: match number.checked_sub(1) {
                None => storage.policy.drain == DrainPolicy::JobEnd,
                Some(_) => settings.is_some_and(|tier| tier.policy.drain == DrainPolicy::JobEnd),
            },
            outside: outside.map(|system| Outside {
                link: system.link,
                latency: system.latency,
            }),
        }
    };
    placement
        .first_servers()
        .into_iter()
        .zip(sizes)
        .enumerate()
        .map(tier)
        .collect()
}

/// Maximum unacknowledged writes of a rank of `job`.
fn write_behind(scenario: &Resolved, job: &resolved::Job) -> Bytes {
    let storage = scenario.storage.as_ref();
    (job.io.write_behind).unwrap_or(storage.map_or(Bytes::ZERO, |storage| storage.write_behind))
}

fn host_params(scenario: &Resolved, placement: &Placement) -> HostParams {
    let storage = scenario.storage.as_ref();
    let below = placement.tiers.iter().map(|tier| tier.servers.len());
    let storage_servers = (placement.servers.len() + below.sum::<usize>()) as u32;
    let mut rules = scenario.mpi.rules();
    rules.offload.routers_up_to = scenario.network.reduction.map(|reduction| reduction.up_to.0);
    HostParams {
        rules,
        trees: Vec::new(),
        mpi: scenario.mpi.clone(),
        nic: scenario.nic.clone(),
        io_control_message: storage.map_or(Bytes(0), |storage| storage.manager.control_message),
        locks: storage.and_then(|storage| storage.locks),
        client: storage.and_then(|storage| storage.client),
        sync: storage.map_or(Default::default(), |storage| storage.sync),
        removes: storage.is_some_and(|storage| storage.manager.extents),
        tiers: tiers(scenario, placement),
        metadata: storage
            .and_then(|storage| storage.metadata.as_ref())
            .map(Metadata::params),
        outages: storage.map_or(Vec::new(), |storage| {
            storage
                .all_outages()
                .into_iter()
                .map(|(server, device, outage)| ServerOutage { server, device, outage })
                .collect()
        }),
        metadata_faults: storage.map_or(Vec::new(), |storage| {
            let faults = storage.faults.iter();
            let passing = faults.filter(|fault| fault.outage().is_none());
            let of_metadata = passing.filter(|fault| fault.server >= storage_servers);
            of_metadata.map(|fault| (fault.server, fault.period())).collect()
        }),
        lost_time: scenario.run.lost_time,
        lost_time_path: scenario.run.lost_time_path,
        lost_time_interval: scenario.run.series_interval,
        ledger: (*scenario.run.blame).then_some(LedgerParams {
            jobs: scenario.jobs.len() as u16,
            interval: scenario.run.series_interval,
        }),
        records: RecordParams {
            messages: scenario.run.message_rows,
            io: scenario.run.io_rows,
            // Messages of open-loop sources are recorded only if rows of messages are wanted.
            source_arrivals: scenario.run.message_rows > 0,
            matches: false,
        },
        timeline: scenario.run.timeline.as_ref().map(|timeline| {
            let chosen = timeline.chosen(scenario.jobs.iter().map(|job| *job.ranks));
            TimelineParams::new(chosen, timeline.period(), timeline.rows)
        }),
        // Idle cycles; obsolete ends of flows that ended earlier with more bandwidth; timers of acknowledged flows.
        idle_wake_ups: scenario.network.router == resolved::RouterModel::Pipelined
            || scenario.has_fidelity(Fidelity::Flow)
            || scenario.has_fidelity(Fidelity::Ethernet),
        seed: scenario.seed,
    }
}

fn program(scenario: &Resolved, job: &resolved::Job) -> Result<JobProgram, String> {
    if let resolved::Workload::Synthetic(traffic) = &*job.workload {
        return Ok(JobProgram::Synthetic {
            source: traffic.traffic(*job.ranks, !job.until.is_empty())?,
            mean_gap: *traffic.mean_interval,
        });
    }
    match job.program()? {
        Some(program) => {
            let as_a_whole = loggops(scenario, job).and_then(|params| program.under_loggops(&params));
            Ok(JobProgram::Program(as_a_whole.unwrap_or(program)))
        }
        None => Err(format!("job {:?} has no program", job.name)),
    }
}

#[cfg(test)]
mod tests {
    use odonata_workload::collective::{Algorithm, Kind, Library, Rules};

    const SCENARIO: &str = "[machine.dragonfly]\ngroups = 3\nrouters_per_group = 2\nnodes_per_router = 1\n\
                            global_ports_per_router = 1\n[[jobs]]\nranks = 2\nworkload = { milc = {} }\n";

    fn rules_of(collectives: &str) -> Rules {
        let text = format!("{SCENARIO}[network.reduction]\n[mpi.collectives]\n{collectives}");
        let loaded = crate::scenario::load(&text, "scenario.toml", &[], None, "").expect("it is a scenario");
        loaded.resolved.mpi.rules()
    }

    #[test]
    fn rules_are_those_of_mpich_by_default() {
        assert_eq!(rules_of(""), Rules::default());
        assert_eq!(rules_of("library = \"open-mpi\"").library, Library::OpenMpi);
        assert_eq!(rules_of("broadcast_min_ranks = 3").broadcast_min_ranks, 3);
    }

    /// Every algorithm can be named for every collective that it serves, and for no other.
    #[test]
    fn every_algorithm_has_its_name_in_every_collective_that_it_serves() {
        let keys = [
            ("barrier", Kind::Barrier),
            ("broadcast", Kind::Broadcast),
            ("reduce", Kind::Reduce),
            ("allreduce", Kind::Allreduce),
            ("gather", Kind::Gather),
            ("scatter", Kind::Scatter),
            ("allgather", Kind::Allgather),
            ("allgatherv", Kind::Allgatherv),
            ("reduce_scatter", Kind::ReduceScatter),
            ("reduce_scatter_block", Kind::ReduceScatterBlock),
            ("scan", Kind::Scan),
            ("exscan", Kind::Exscan),
            ("alltoall", Kind::Alltoall),
            ("alltoallv", Kind::Alltoallv),
        ];
        for (key, kind) in keys {
            for algorithm in Algorithm::ALL {
                let name = algorithm.name();
                let text = format!("{SCENARIO}[network.reduction]\n[mpi.collectives]\n{key} = \"{name}\"");
                let loaded = crate::scenario::load(&text, "scenario.toml", &[], None, "");
                assert_eq!(loaded.is_ok(), algorithm.serves(kind), "{key} = {name}");
                let Ok(loaded) = loaded else { continue };
                let rules = loaded.resolved.mpi.rules();
                let forced = rules.forced[kind as usize].expect("it was named");
                assert_eq!(forced.name(), name);
                assert_eq!(rules.check(), Ok(()));
                assert_eq!(rules.forced.iter().flatten().count(), 1);
            }
        }
        let sized = rules_of("segment = \"3 KiB\"\nwindow = 5\nreduce = \"chain\"\nalltoall = \"scattered\"");
        assert_eq!(
            sized.forced[Kind::Reduce as usize],
            Some(Algorithm::Chain { segment: 3_072 })
        );
        assert_eq!(
            sized.forced[Kind::Alltoall as usize],
            Some(Algorithm::Scattered { window: 5 })
        );
    }
}
