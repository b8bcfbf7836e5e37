//! From a resolved scenario to a machine that is ready to run.

mod routing;

use crate::host::{
    HostParams, HostPlan, IoParams, Job, JobProgram, MpiParams, Progress, RecordParams, Standing, WaitingJob,
};
use crate::machine::Machine;
use crate::placement::Placement;
use crate::scenario::Scenario;
use crate::scenario::choices::AlgorithmSizes;
use crate::scenario::resolved::{self, Resolved};
use odonata_network::routing::Routing;
use odonata_network::{
    Allocator, Arbitration, Blueprint, Broadcast, CongestionControl, Detour, DetourRule, Ecn, InputQueues, Knowledge,
    LinkParams, NetworkParams, NicParams, PerFlow, Pipeline, RouterModel, Switching, TrafficClass, TrafficClasses,
    VirtualChannels,
};
use odonata_storage::{DeviceModel, DrainParams, RateDevice, ServerParams, Servers};
use odonata_topology::{LinkClass, Topology};
use odonata_units::Time;
use odonata_workload::collective::{Kind, Library, Rules};
use std::ops::Range;

/// The routing of the scenario on its machine.
///
/// # Errors
/// A text saying which size of the machine is impossible, or which broken cable leaves it no way.
pub fn routing(scenario: &Resolved) -> Result<Routing, String> {
    routing_on(&scenario.machine, &scenario.network.routing)
}

/// The routing that `r` describes on `machine`.
///
/// # Errors
/// As [`routing()`].
pub fn routing_on(machine: &resolved::Machine, r: &resolved::Routing) -> Result<Routing, String> {
    routing::new(machine, r)
}

/// Virtual channels per link class: what the routing needs, or more where the scenario says so.
pub fn virtual_channels(scenario: &Resolved, routing: &Routing) -> VirtualChannels {
    virtual_channels_of(&scenario.network.routing, routing)
}

/// The same, from the scenario's keys of routing.
pub(crate) fn virtual_channels_of(r: &resolved::Routing, routing: &Routing) -> VirtualChannels {
    let (need, vcs) = (routing.virtual_channels(), r.vcs);
    LinkClass::ALL.map(|class| need[class as usize].max(vcs.and_then(|vcs| vcs.of(class)).unwrap_or(0)))
}

/// A machine with its jobs, to be built whole or in parts.
#[derive(Debug)]
pub struct Plan {
    fabric: Blueprint,
    hosts: HostPlan,
    servers: Vec<ServerParams>,
    /// Number of jobs and interval of the time series, where waits are booked.
    books: Option<(u16, Option<Time>)>,
}

impl Plan {
    /// The machine of `scenario` with its jobs placed as `placement` says.
    ///
    /// # Errors
    /// A text saying what does not fit together; everything a user can get wrong was checked when the
    /// scenario was resolved.
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
        let servers = servers(scenario, placement.servers.len());
        Servers::new(servers.clone()).map_err(|(server, error)| format!("server {server}: {error}"))?;
        let jobs = scenario
            .jobs
            .iter()
            .zip(&placement.jobs)
            .map(|(job, place)| {
                Ok(Job {
                    name: job.name.clone(),
                    program: program(job)?,
                    nodes: place.nodes.clone(),
                    servers: place.servers.clone(),
                    start: job.start,
                    start_after: job.start_after.clone(),
                    until: job.until.clone(),
                })
            })
            .collect::<Result<Vec<_>, String>>()?;
        let topology = fabric.routing().topology();
        let hosts = HostPlan::new(host_params(scenario), jobs, &placement.servers, topology);
        let books = scenario.run.blame;
        Ok(Plan {
            books: books.then_some((scenario.jobs.len() as u16, scenario.run.series_interval)),
            fabric,
            hosts,
            servers,
        })
    }

    /// The graph of the machine.
    pub fn topology(&self) -> &Topology {
        self.fabric.routing().topology()
    }

    /// The jobs that wait for others, in their order, given how all parts stand.
    pub(crate) fn waiting_jobs(&self, standing: &Standing) -> Vec<WaitingJob> {
        self.hosts.waiting_jobs(standing)
    }

    /// The parts of the machine with these ranges of routers, idle.
    pub fn parts(&self, routers: &[Range<u32>]) -> Vec<Machine> {
        let servers = |numbers: &[u32]| {
            let params = numbers.iter().map(|&server| self.servers[server as usize]).collect();
            let servers = Servers::new(params).expect("the parameters were checked");
            match self.books {
                Some((jobs, interval)) => servers.with_blame(jobs, interval),
                None => servers,
            }
        };
        let hosts = self.hosts.parts(routers, servers);
        (routers.iter().zip(hosts))
            .map(|(range, hosts)| Machine {
                fabric: self.fabric.part(range.clone()),
                hosts,
            })
            .collect()
    }
}

/// The machine of `scenario`, not divided.
///
/// # Errors
/// As [`Plan::new`].
pub fn whole(scenario: &Scenario) -> Result<Machine, String> {
    let plan = Plan::new(&scenario.resolved, &scenario.placement)?;
    let all = 0..plan.topology().routers();
    Ok(plan.parts(&[all]).remove(0))
}

/// The classes of the scenario, and those of each job's traffic.
fn traffic_classes(scenario: &Resolved) -> Result<TrafficClasses, String> {
    let list = scenario.network.traffic_classes.iter();
    let list: Vec<TrafficClass> = list
        .map(|class| TrafficClass {
            share: class.share,
            priority: class.priority,
        })
        .collect();
    if list.is_empty() {
        return Ok(TrafficClasses::default());
    }
    let of_jobs = scenario.jobs.iter().flat_map(|job| {
        let classes = job.traffic_class;
        [classes.mpi, classes.io]
    });
    TrafficClasses::new(list, of_jobs.collect())
}

fn network(scenario: &Resolved) -> Result<NetworkParams, String> {
    let n = &scenario.network;
    let link = |l: &resolved::Link| LinkParams {
        bandwidth: l.bandwidth,
        latency: l.latency,
        buffer: l.buffer.0,
        credit_delay: l.credit_delay,
    };
    Ok(NetworkParams {
        packet: n.packet.0,
        flit: n.flit.0,
        switching: match n.switching {
            resolved::Switching::CutThrough => Switching::CutThrough,
            resolved::Switching::StoreAndForward => Switching::StoreAndForward,
            resolved::Switching::Wormhole => Switching::Wormhole,
        },
        router: match n.router {
            resolved::RouterModel::InputQueued => RouterModel::InputQueued,
            resolved::RouterModel::OutputQueued => RouterModel::OutputQueued,
            resolved::RouterModel::Pipelined => RouterModel::Pipelined,
        },
        input_queues: match n.input_queues {
            resolved::InputQueues::VirtualOutput => InputQueues::VirtualOutput,
            resolved::InputQueues::Fifo => InputQueues::Fifo,
        },
        router_delay: n.router_delay,
        pipeline: pipeline(n),
        links: LinkClass::ALL.map(|class| link(n.links.of(class))),
        nic: NicParams {
            queue: scenario.nic.queue,
            rate: scenario.nic.rate,
        },
        detour: detour(&n.routing),
        knowledge: knowledge(&n.routing),
        classes: traffic_classes(scenario)?,
        congestion: congestion(n),
        traffics: 2 * scenario.jobs.len() as u16,
        series: scenario.run.series_interval,
        blame: scenario.run.blame,
        seed: scenario.seed,
    })
}

/// Algorithms that never leave a minimal path have no use for it.
fn detour(r: &resolved::Routing) -> Detour {
    let (Some(comparison), Some(threshold), Some(bias), Some(hops)) = (r.comparison, r.threshold, r.bias, r.weigh_hops)
    else {
        return Detour::default();
    };
    Detour {
        rule: match comparison {
            resolved::Comparison::Both => DetourRule::Both,
            resolved::Comparison::Sum => DetourRule::Sum,
        },
        threshold: threshold.0,
        bias,
        hops,
    }
}

fn congestion(n: &resolved::Network) -> CongestionControl {
    match n.congestion_control {
        resolved::CongestionControl::None => CongestionControl::None,
        resolved::CongestionControl::Ecn {
            threshold,
            decrease,
            interval,
            recovery,
        } => CongestionControl::Ecn(Ecn {
            threshold: threshold.0,
            decrease,
            interval,
            recovery,
        }),
        resolved::CongestionControl::PerFlow {
            threshold,
            interval,
            recovery,
        } => CongestionControl::PerFlow(PerFlow {
            threshold: threshold.0,
            interval,
            recovery,
        }),
    }
}

/// Resolved, all keys that go with a kind of knowledge are there.
fn knowledge(r: &resolved::Routing) -> Knowledge {
    let (Some(interval), Some(delay)) = (r.knowledge_interval, r.knowledge_delay) else {
        return Knowledge::Local;
    };
    let broadcast = Broadcast { interval, delay };
    match (r.congestion_factor, r.congestion_threshold) {
        (Some(factor), Some(threshold)) => Knowledge::Piggyback {
            broadcast,
            factor,
            threshold: threshold.0,
        },
        _ => Knowledge::Global { broadcast },
    }
}

fn pipeline(n: &resolved::Network) -> Pipeline {
    let p = &n.pipeline;
    Pipeline {
        clock: n
            .clock
            .map_or(Pipeline::default().clock, |clock| Time(clock.ps() as u64)),
        routing: p.routing,
        vc_allocation: p.vc_allocation,
        switch_allocation: p.switch_allocation,
        crossbar: p.crossbar,
        input_speedup: p.input_speedup,
        internal_speedup: p.internal_speedup,
        allocator: match p.allocator {
            resolved::Allocator::InputFirst => Allocator::InputFirst,
            resolved::Allocator::OutputFirst => Allocator::OutputFirst,
        },
        iterations: p.iterations,
        arbitration: match p.arbitration {
            resolved::Arbitration::RoundRobin => Arbitration::RoundRobin,
            resolved::Arbitration::LowestFirst => Arbitration::LowestFirst,
            resolved::Arbitration::Age => Arbitration::Age,
        },
        busy_when_full: p.busy_when_full,
    }
}

fn servers(scenario: &Resolved, count: usize) -> Vec<ServerParams> {
    let Some(storage) = &scenario.storage else {
        return Vec::new();
    };
    let resolved::DeviceModel::Rate(rate) = &storage.device.model;
    let params = ServerParams {
        device: DeviceModel::Rate(RateDevice {
            read: rate.read,
            write: rate.write,
            overhead: rate.overhead,
            seek: rate.seek,
            seek_window: rate.seek_window.0,
        }),
        capacity: storage.device.capacity.0,
        memory: storage.manager.memory.0,
        block: storage.manager.block.0,
        pieces_in_flight: storage.manager.pieces_in_flight,
        drain: storage.drain.as_ref().map(|drain| DrainParams {
            bandwidth: drain.bandwidth,
            latency: drain.latency,
            threshold: drain.threshold.0,
        }),
        object_per_file: storage.manager.object_per_file,
    };
    vec![params; count]
}

/// When which algorithm of a collective is taken.
pub(crate) fn rules(c: &resolved::Collectives) -> Rules {
    let sizes = AlgorithmSizes {
        segment: c.segment.0 as u32,
        window: c.window,
    };
    let named = [
        (Kind::Barrier, c.barrier.algorithm(sizes)),
        (Kind::Broadcast, c.broadcast.algorithm(sizes)),
        (Kind::Reduce, c.reduce.algorithm(sizes)),
        (Kind::Allreduce, c.allreduce.algorithm(sizes)),
        (Kind::Gather, c.gather.algorithm(sizes)),
        (Kind::Scatter, c.scatter.algorithm(sizes)),
        (Kind::Allgather, c.allgather.algorithm(sizes)),
        (Kind::Allgatherv, c.allgatherv.algorithm(sizes)),
        (Kind::ReduceScatter, c.reduce_scatter.algorithm(sizes)),
        (Kind::ReduceScatterBlock, c.reduce_scatter_block.algorithm(sizes)),
        (Kind::Scan, c.scan.algorithm(sizes)),
        (Kind::Exscan, c.exscan.algorithm(sizes)),
        (Kind::Alltoall, c.alltoall.algorithm(sizes)),
        (Kind::Alltoallv, c.alltoallv.algorithm(sizes)),
    ];
    let rules = Rules {
        library: match c.library {
            resolved::Library::Mpich => Library::Mpich,
            resolved::Library::OpenMpi => Library::OpenMpi,
        },
        allreduce_recursive_doubling_up_to: c.allreduce_recursive_doubling_up_to.0,
        broadcast_binomial_below: c.broadcast_binomial_below.0,
        broadcast_min_ranks: c.broadcast_min_ranks,
        broadcast_recursive_doubling_below: c.broadcast_recursive_doubling_below.0,
        ..Rules::default()
    };
    named
        .into_iter()
        .fold(rules, |rules, (kind, algorithm)| match algorithm {
            Some(algorithm) => rules.with(kind, algorithm),
            None => rules,
        })
}

fn host_params(scenario: &Resolved) -> HostParams {
    let m = &scenario.mpi;
    let span = |jitter: &Option<resolved::Jitter>| jitter.as_ref().map(|j| (j.min, j.max));
    HostParams {
        looks_in_vain: scenario.network.router == resolved::RouterModel::Pipelined,
        mpi: MpiParams {
            send_delay: m.send_delay,
            send_ps_per_byte: m.send_per_byte.0,
            send_overhead: m.send_overhead,
            recv_overhead: m.recv_overhead,
            call_jitter: span(&m.call_jitter),
            local_latency: m.local_latency,
            local_bandwidth: m.local_bandwidth,
            eager_threshold: m.eager_threshold.map_or(u64::MAX, |bytes| bytes.0),
            rendezvous_control: m.rendezvous_control.0,
            zero_copy: m.rendezvous_zero_copy,
            progress: match m.progress {
                resolved::Progress::Asynchronous => Progress::Asynchronous,
                resolved::Progress::InCalls => Progress::InCalls,
            },
            rules: rules(&m.collectives),
        },
        io: IoParams {
            control_bytes: scenario
                .storage
                .as_ref()
                .map_or(0, |storage| storage.manager.control_message.0),
            send_delay: odonata_units::Time::ZERO,
        },
        nic_message_delay: scenario.nic.message_delay,
        nic_handoff: span(&scenario.nic.handoff),
        seed: scenario.seed,
        records: RecordParams {
            messages: scenario.run.message_rows,
            io: scenario.run.io_rows,
            // Messages of open-loop sources are looked at one by one only if somebody wants to see them.
            source_arrivals: scenario.run.message_rows > 0,
        },
    }
}

fn program(job: &resolved::Job) -> Result<JobProgram, String> {
    if let resolved::Workload::Synthetic(traffic) = &job.workload {
        return Ok(JobProgram::Synthetic {
            source: traffic.traffic(job.ranks, !job.until.is_empty())?,
            mean_gap: traffic.mean_interval,
        });
    }
    match job.program()? {
        Some(program) => Ok(JobProgram::Program(program)),
        None => Err(format!("job {:?} has no program", job.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_workload::collective::Algorithm;

    const SCENARIO: &str = "[machine.dragonfly]\ngroups = 3\nrouters_per_group = 2\nnodes_per_router = 1\n\
                            global_ports_per_router = 1\n[[jobs]]\nranks = 2\nworkload = { milc = {} }\n";

    fn rules_of(collectives: &str) -> Rules {
        let text = format!("{SCENARIO}[mpi.collectives]\n{collectives}");
        let loaded = crate::scenario::load(&text, "scenario.toml", &[], None, "").expect("it is a scenario");
        rules(&loaded.resolved.mpi.collectives)
    }

    #[test]
    fn rules_are_those_of_mpich_unless_the_scenario_says_otherwise() {
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
                let text = format!("{SCENARIO}[mpi.collectives]\n{key} = \"{name}\"");
                let loaded = crate::scenario::load(&text, "scenario.toml", &[], None, "");
                assert_eq!(loaded.is_ok(), algorithm.serves(kind), "{key} = {name}");
                let Ok(loaded) = loaded else { continue };
                let rules = rules(&loaded.resolved.mpi.collectives);
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
