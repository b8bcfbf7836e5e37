//! The scheduler, the threads and the parts of a run. Results do not depend on them.
//!
//! Parts are consecutive routers with about equal [weights](crate::estimate). The cables between two parts delay any
//! influence by the lookahead, so the parts work side by side for that long. A run with `scheduler = "auto"` starts on
//! one thread; [`trial`](crate::simulation) measures whether parts on several threads shorten it.

mod measured;

pub(crate) use measured::in_words;

use crate::build;
use crate::estimate::{Estimate, OPERATIONS_FOR_A_RUN};
use crate::placement::Placement;
use crate::scenario::Problem;
use crate::scenario::resolved::{Parts, Resolved, RouterModel, Scheduler, Threads, Workload};
use crate::scenario::run::Optimism;
use odonata_engine::{Partition, ThreadTrial, Time};
use odonata_network::lookahead::{self, LinkDelays};
use odonata_network::{FLIT_CREDIT_BYTES, Footprint, hand_over_of};
use odonata_topology::{LinkClass, Topology, partition};
use odonata_units::counted;

/// Caches of a core: a machine with more state than this runs in clusters on one thread.
const LAST_CACHE: u64 = 8 << 20;
/// Share of the caches for a cluster of the sequential scheduler, and for a part with a state of its own.
const CLUSTER: u64 = 512 << 10;
const PART: u64 = 2 << 20;

/// Parts per thread to choose from: more parts balance the threads better, but cut more cables.
const PARTS_PER_THREAD: [u32; 3] = [1, 2, 4];
/// A division with fewer parts is taken if it keeps this share of the busy threads of another.
const AS_GOOD: f64 = 0.95;

/// The computer of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Cores available to this process.
    pub cores: u32,
    /// Processes that share the run.
    pub processes: u32,
}

impl Resources {
    /// Those of this process alone, within its affinity and control groups.
    pub fn here() -> Resources {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        Resources { cores, processes: 1 }
    }
}

/// How a run is executed.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scheduler; never [`Scheduler::Auto`].
    pub scheduler: Scheduler,
    /// Maximum threads of each process.
    pub threads: u32,
    /// Whether the run measures how many of them pay.
    pub measured: bool,
    /// The parts; for the sequential scheduler, clusters of a machine that is not divided.
    pub partition: Partition,
    /// How far parts run ahead under the optimistic scheduler.
    pub optimism: Optimism,
    /// The reasons, in sentences without a full stop.
    pub reasons: Vec<String>,
    /// Other plans, which the run tries after its first second.
    pub(crate) alternatives: Vec<Plan>,
    /// The expected traffic of the run.
    pub(crate) estimate: Estimate,
}

/// Plans a run of `scenario` on the machine whose graph is `topology`.
///
/// # Errors
/// The sequential scheduler for several processes, fewer parts than processes, or listed parts that can influence each
/// other immediately.
pub fn plan(
    scenario: &Resolved,
    placement: &Placement,
    topology: &Topology,
    resources: Resources,
) -> Result<Plan, Problem> {
    let estimate = Estimate::new(scenario, placement, topology, OPERATIONS_FOR_A_RUN)
        .map_err(|text| Problem::new("jobs", text, ""))?;
    Survey::new(scenario, placement, topology, &estimate, resources).plan()
}

/// A way to divide the machine.
#[derive(Clone, Debug)]
pub(crate) struct Division {
    pub(crate) partition: Partition,
    /// Total weight over the weight of the heaviest part.
    parallelism: f64,
}

impl Division {
    /// Threads, of `threads`, that have work.
    pub(crate) fn busy(&self, threads: u32) -> f64 {
        f64::from(threads.min(self.partition.len() as u32)).min(self.parallelism)
    }
}

/// The facts for a plan.
pub(crate) struct Survey<'a> {
    scenario: &'a Resolved,
    topology: &'a Topology,
    estimate: &'a Estimate,
    resources: Resources,
    pub(crate) delays: LinkDelays,
    /// The expected work of each router.
    pub(crate) weights: Vec<u64>,
    /// Maximum threads of each process.
    pub(crate) threads: u32,
    /// State of a node with its share of the routers.
    bytes_per_node: u64,
}

impl<'a> Survey<'a> {
    pub(crate) fn new(
        scenario: &'a Resolved,
        placement: &Placement,
        topology: &'a Topology,
        estimate: &'a Estimate,
        resources: Resources,
    ) -> Survey<'a> {
        let (network, links) = (&scenario.network, &scenario.network.links);
        let delays = LinkClass::ALL.map(|class| (*links.of(class).latency, *links.of(class).credit_delay));
        // Blocks of the machines that have such groups are the groups.
        let size = topology.blocks().get(1).copied().unwrap_or(topology.routers());
        let groups = network.routing.knowledge_delay.map(|delay| (size, delay));
        let delays = LinkDelays::new(delays, network.router_delay).with_groups(groups);
        let flow = hand_over_of(*links.terminal.latency, network.router_delay);
        let analytic = network.analytic.latency.given().copied().unwrap_or(Time::NEVER);
        Survey {
            scenario,
            topology,
            estimate,
            resources,
            delays: delays.with_messages(&scenario.fidelities(), flow, analytic),
            weights: estimate.weights(placement, topology),
            threads: threads(scenario, resources),
            bytes_per_node: bytes_per_node(scenario),
        }
    }

    pub(crate) fn plan(&self) -> Result<Plan, Problem> {
        let processes = self.resources.processes.max(1);
        let asked = self.scenario.run.scheduler;
        match asked {
            Scheduler::Sequential if processes > 1 => {
                let problem = format!("{processes} processes share the run, and the sequential scheduler runs in one");
                let expected = "\"auto\", \"conservative\" or \"optimistic\"";
                Err(Problem::new("run.scheduler", problem, expected))
            }
            Scheduler::Sequential => self.sequential(vec!["run.scheduler requests the sequential scheduler".into()]),
            Scheduler::Conservative | Scheduler::Optimistic => {
                let reason = format!("run.scheduler requests the {} scheduler", asked.name());
                self.parallel(asked, vec![self.threads_in_words(), reason])
            }
            Scheduler::Auto if processes > 1 => {
                let reason = "several processes share the run, which needs parts".into();
                self.parallel(Scheduler::Conservative, vec![self.threads_in_words(), reason])
            }
            Scheduler::Auto => self.automatic(),
        }
    }

    /// One thread; parts on several threads are the alternative.
    fn automatic(&self) -> Result<Plan, Problem> {
        let mut plan = self.sequential(vec![self.threads_in_words()])?;
        let runs_user_code = (self.scenario.jobs.iter()).any(|job| matches!(*job.workload, Workload::Python(_)));
        if self.threads == 1 {
            return Ok(plan);
        }
        if runs_user_code {
            plan.reasons.push("Python programs run on one thread".into());
            return Ok(plan);
        }
        let mut other = self.parallel(Scheduler::Conservative, vec![self.threads_in_words()])?;
        if other.partition.len() == 1 {
            plan.reasons.push("there is nothing to divide".into());
            return Ok(plan);
        }
        other.measured = true;
        plan.reasons.push(format!(
            "after its first second the run tries {} parts on {} threads, and keeps them if they save {:.0}% of the \
             elapsed time",
            other.partition.len(),
            other.threads,
            100.0 * ThreadTrial::LEAST_GAIN
        ));
        plan.alternatives.push(other);
        Ok(plan)
    }

    /// One thread, in clusters if the state exceeds the caches.
    fn sequential(&self, mut reasons: Vec<String>) -> Result<Plan, Problem> {
        let plan = |partition: Partition, reasons| Plan {
            scheduler: Scheduler::Sequential,
            threads: 1,
            measured: false,
            partition,
            optimism: self.scenario.run.optimism,
            reasons,
            alternatives: Vec::new(),
            estimate: self.estimate.clone(),
        };
        let whole = Partition::whole(self.topology.routers());
        let nodes = self.topology.nodes();
        let clusters = match &self.scenario.run.parts {
            Parts::Auto if self.bytes_per_node * u64::from(nodes) <= LAST_CACHE => {
                reasons.push(format!("the state of {nodes} nodes fits into the caches of a core"));
                return Ok(plan(whole, reasons));
            }
            Parts::Auto => {
                let bounds = self.bounds(self.parts_of(CLUSTER))?;
                self.partition(&bounds).unwrap_or_else(|_| whole.clone())
            }
            _ => self.best(1)?.partition,
        };
        if clusters.len() == 1 {
            reasons.push("there is nothing to divide".into());
            return Ok(plan(whole, reasons));
        }
        let in_words = format!(
            "{} clusters take turns, {} at a time",
            clusters.len(),
            clusters.lookahead()
        );
        if self.scenario.run.parts != Parts::Auto {
            reasons.push(format!("run.parts requests it: {in_words}"));
            return Ok(plan(clusters, reasons));
        }
        reasons.push(format!(
            "the state of {nodes} nodes exceeds the caches of a core: {in_words}"
        ));
        let mut found = plan(clusters, reasons);
        found
            .alternatives
            .push(plan(whole, vec!["clusters had less than one event per window".into()]));
        Ok(found)
    }

    fn parallel(&self, scheduler: Scheduler, mut reasons: Vec<String>) -> Result<Plan, Problem> {
        let division = self.best(self.threads)?;
        let (parts, processes) = (division.partition.len() as u32, self.resources.processes.max(1));
        if parts < processes {
            let problem = format!("{parts} parts for {processes} processes");
            let expected = format!("at least {processes} parts, or fewer processes");
            return Err(Problem::new("run.parts", problem, expected));
        }
        reasons.push(match division.partition.lookahead() {
            Time::NEVER if parts == 1 => "there is one part".into(),
            Time::NEVER => format!("{parts} parts cannot influence each other"),
            lookahead => format!("{parts} parts affect each other after {lookahead} at the earliest"),
        });
        Ok(Plan {
            scheduler,
            threads: self.threads.min(parts.div_ceil(processes)),
            measured: false,
            partition: division.partition,
            optimism: self.scenario.run.optimism,
            reasons,
            alternatives: Vec::new(),
            estimate: self.estimate.clone(),
        })
    }

    /// The division for `threads` threads of each process: of those that keep half of the threads busy, one with the
    /// longest lookahead, and among these one with few parts and balanced work.
    pub(crate) fn best(&self, threads: u32) -> Result<Division, Problem> {
        let processes = self.resources.processes.max(1);
        let all = threads.saturating_mul(processes);
        let blocks = self.topology.blocks().len() as u32 - 1;
        let mut found = match &self.scenario.run.parts {
            Parts::Listed(listed) => {
                let bounds: Vec<u32> = (listed.first_routers.iter().copied())
                    .chain([self.topology.routers()])
                    .collect();
                return self.division(&bounds);
            }
            Parts::Count(count) => return self.division(&self.bounds(*count)?),
            Parts::Auto => Vec::new(),
        };
        let along_blocks = |times: u32| all.saturating_mul(times).max(self.parts_of(PART)).min(blocks);
        let mut counts: Vec<u32> = PARTS_PER_THREAD.map(along_blocks).to_vec();
        counts.extend(Some(all.min(self.topology.routers())).filter(|&parts| parts > blocks));
        counts.dedup();
        for parts in counts {
            // Parts without any delay between them are an error only if the scenario requests them.
            found.extend(self.division(&self.bounds(parts)?).ok());
        }
        let divided = |one: &Division| one.partition.len() as u32 >= processes.max(2);
        let enough = |one: &Division| divided(one) && 2.0 * one.busy(all) >= f64::from(all);
        let longest = |among: &dyn Fn(&Division) -> bool| {
            let among = found.iter().filter(|one| among(one));
            among.map(|one| one.partition.lookahead()).max()
        };
        let Some(lookahead) = longest(&enough).or_else(|| longest(&divided)) else {
            return self.division(&[0, self.topology.routers()]);
        };
        found.retain(|one| divided(one) && one.partition.lookahead() == lookahead);
        let most = found.iter().map(|one| one.busy(all)).fold(0.0, f64::max);
        found.retain(|one| one.busy(all) >= AS_GOOD * most);
        Ok(found.swap_remove(0))
    }

    /// Parts of at most `bytes` of state, along blocks.
    fn parts_of(&self, bytes: u64) -> u32 {
        partition::parts_of(self.topology, (bytes / self.bytes_per_node).max(1) as u32)
    }

    fn bounds(&self, parts: u32) -> Result<Vec<u32>, Problem> {
        partition::divide(self.topology, &self.weights, parts).map_err(|text| Problem::new("run.parts", text, ""))
    }

    pub(crate) fn division(&self, bounds: &[u32]) -> Result<Division, Problem> {
        let (heaviest, sum) = partition::largest(&self.weights, bounds);
        Ok(Division {
            partition: self.partition(bounds)?,
            parallelism: sum as f64 / heaviest.max(1) as f64,
        })
    }

    fn partition(&self, bounds: &[u32]) -> Result<Partition, Problem> {
        lookahead::partition(self.topology, &self.delays, bounds).map_err(|error| {
            let expected = "parts that can influence each other only after some time";
            Problem::new("run.parts", error.to_string(), expected)
        })
    }

    fn threads_in_words(&self) -> String {
        let each = match self.resources.processes {
            0 | 1 => String::new(),
            processes => format!(" in each of {processes} processes"),
        };
        let (threads, cores) = (counted(self.threads, "thread"), counted(self.resources.cores, "core"));
        format!("{threads}{each} on {cores}")
    }
}

/// State of a node with its share of the routers: before the first event, and the flit credits of full buffers.
fn bytes_per_node(scenario: &Resolved) -> u64 {
    let (extent, network) = (scenario.layout.extent(), &scenario.network);
    let state = build::network(scenario).map_or(0, |params| {
        Footprint::new(&params, build::least_virtual_channels(scenario), extent).sum()
    });
    let credits = LinkClass::ALL.map(|class| match network.router {
        RouterModel::Pipelined => {
            let flits = network.links.of(class).buffer.0 / network.flit.0;
            extent.ports[class as usize]
                .saturating_mul(flits)
                .saturating_mul(FLIT_CREDIT_BYTES)
        }
        _ => 0,
    });
    (credits.into_iter().fold(state, u64::saturating_add) / extent.nodes.max(1)).max(1)
}

/// Maximum threads of each process.
fn threads(scenario: &Resolved, resources: Resources) -> u32 {
    let cores = resources.cores.max(1);
    if scenario.run.scheduler == Scheduler::Sequential {
        return 1;
    }
    match scenario.run.threads {
        Threads::Count(threads) => threads,
        // The cores of the other processes are unknown.
        Threads::Auto if resources.processes > 1 => 1,
        Threads::Auto => {
            let alone = if scenario.run.baselines && scenario.jobs.len() > 1 {
                scenario.jobs.len() as u32
            } else {
                0
            };
            cores / (1 + alone).min(cores)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::scenario::{self, Scenario};

    /// 9 groups of 8 nodes, uniform traffic of 72 ranks.
    fn scenario(rest: &str) -> Scenario {
        let text = format!(
            "[machine.dragonfly]\ngroups = 9\nrouters_per_group = 4\nnodes_per_router = 2\nglobal_ports_per_router = 2\n\
             [[jobs]]\nranks = 72\n\
             workload.uniform = {{ bytes = \"4 KiB\", mean_interval = \"500 ns\", messages = 100000 }}\n{rest}"
        );
        scenario::load(&text, "scenario.toml", &[], None, "").expect("it is a scenario")
    }

    fn planned(rest: &str, cores: u32, processes: u32) -> Result<Plan, Problem> {
        let Scenario {
            resolved, placement, ..
        } = scenario(rest);
        let routing = build::routing(&resolved).unwrap();
        plan(
            &resolved,
            &placement,
            routing.topology(),
            Resources { cores, processes },
        )
    }

    fn plan_of(text: &str, cores: u32) -> Plan {
        let loaded = scenario::load(text, "scenario.toml", &[], None, "").unwrap();
        let routing = build::routing(&loaded.resolved).unwrap();
        let resources = Resources { cores, processes: 1 };
        plan(&loaded.resolved, &loaded.placement, routing.topology(), resources).unwrap()
    }

    fn bounds(plan: &Plan) -> Vec<u32> {
        (0..plan.partition.len())
            .map(|part| plan.partition.range(part).start)
            .collect()
    }

    #[test]
    fn two_cores_run_whole_groups_with_the_lookahead_of_global_links() {
        let plan = planned("[run]\nscheduler = \"conservative\"\n", 2, 1).unwrap();
        assert_eq!(
            (plan.scheduler, plan.threads, plan.measured),
            (Scheduler::Conservative, 2, false)
        );
        // Two parts of 5 and 4 groups keep 1.8 threads busy, four parts 2.
        assert_eq!(plan.partition.len(), 4);
        assert!(bounds(&plan).iter().all(|first| first % 4 == 0));
        // Default links: 300 ns for a credit over a global cable.
        assert_eq!(plan.partition.lookahead(), Time::from_ns(300));
    }

    /// One part on one thread, to be compared with parts on two threads.
    #[test]
    fn auto_begins_on_one_thread_and_tries_parts() {
        let plan = planned("", 2, 1).unwrap();
        assert_eq!((plan.scheduler, plan.threads), (Scheduler::Sequential, 1));
        assert_eq!(plan.partition, Partition::whole(36));
        let [other] = &plan.alternatives[..] else {
            panic!("{:?}", plan.alternatives)
        };
        assert_eq!(
            (other.scheduler, other.threads, other.measured),
            (Scheduler::Conservative, 2, true)
        );
        assert_eq!((other.partition.len(), other.alternatives.len()), (4, 0));
        assert!(
            plan.reasons
                .iter()
                .any(|one| one.contains("tries 4 parts on 2 threads")),
            "{:?}",
            plan.reasons
        );
    }

    #[test]
    fn one_core_and_named_schedulers_leave_nothing_to_try() {
        let run = |keys: &str| format!("[run]\n{keys}\n");
        for (rest, cores) in [
            (String::new(), 1),
            (run("threads = 1"), 2),
            (run("scheduler = \"sequential\""), 2),
            (run("scheduler = \"optimistic\""), 2),
        ] {
            let plan = planned(&rest, cores, 1).unwrap();
            assert!(plan.alternatives.is_empty() && !plan.measured, "{rest}: {plan:?}");
        }
    }

    /// The state of 20,000 nodes exceeds the caches: clusters, with a single queue as the alternative.
    #[test]
    fn large_machines_run_in_clusters_on_one_thread() {
        let text = "[machine.dragonfly]\ngroups = 100\nrouters_per_group = 20\nnodes_per_router = 10\n\
                    global_ports_per_router = 10\n[[jobs]]\nranks = 10\n\
                    workload.uniform = { bytes = \"4 KiB\", mean_interval = \"500 ns\", messages = 10 }\n";
        let plan = plan_of(text, 1);
        assert_eq!(plan.scheduler, Scheduler::Sequential);
        assert!(plan.partition.len() > 10, "{:?}", plan.reasons);
        assert_eq!(plan.alternatives.len(), 1);
        assert_eq!(plan.alternatives[0].partition.len(), 1);
    }

    #[test]
    fn a_machine_of_one_group_is_divided_inside_of_it() {
        let plan = plan_of(
            "[machine.dragonfly]\ngroups = 1\nrouters_per_group = 8\nnodes_per_router = 4\n\
             global_ports_per_router = 0\n[[jobs]]\nranks = 32\n\
             workload.uniform = { bytes = \"4 KiB\", mean_interval = \"300 ns\", messages = 100000 }\n",
            2,
        );
        assert_eq!(bounds(&plan.alternatives[0]), [0, 4]);
        assert_eq!(plan.alternatives[0].partition.lookahead(), Time::from_ns(50));
    }

    /// Nine groups keep 9 of 12 threads busy with six times the lookahead; of two groups, both are divided.
    #[test]
    fn groups_are_divided_for_twice_as_many_threads() {
        let plan = planned("[run]\nscheduler = \"optimistic\"\nthreads = 12\n", 1, 1).unwrap();
        assert_eq!(
            (plan.scheduler, plan.threads, plan.partition.len()),
            (Scheduler::Optimistic, 9, 9)
        );
        assert_eq!(plan.partition.lookahead(), Time::from_ns(300));
        let plan = planned("[run]\nscheduler = \"optimistic\"\nthreads = 30\n", 1, 1).unwrap();
        assert_eq!((plan.threads, plan.partition.len()), (30, 30));
        assert_eq!(plan.partition.lookahead(), Time::from_ns(50));
    }

    #[test]
    fn parts_are_those_that_the_scenario_lists() {
        let run = "[run]\nscheduler = \"conservative\"\nparts = { first_routers = [0, 5, 6, 30] }\n";
        let plan = planned(run, 2, 1).unwrap();
        assert_eq!(bounds(&plan), [0, 5, 6, 30]);
        assert_eq!((plan.scheduler, plan.threads), (Scheduler::Conservative, 2));
        let plan = planned("[run]\nscheduler = \"conservative\"\nparts = 3\n", 8, 1).unwrap();
        assert_eq!((bounds(&plan), plan.threads), (vec![0, 12, 24], 3));
    }

    #[test]
    fn processes_share_the_parts() {
        let plan = planned("", 8, 3).unwrap();
        // A process on a computer that others use too has one thread, unless the scenario says more.
        assert_eq!(
            (plan.scheduler, plan.threads, plan.partition.len()),
            (Scheduler::Conservative, 1, 3)
        );
        let plan = planned("[run]\nthreads = 2\nparts = 4\n", 8, 3).unwrap();
        assert_eq!((plan.threads, plan.partition.len()), (2, 4));
        let problem = planned("[run]\nscheduler = \"sequential\"\n", 8, 3).unwrap_err();
        assert_eq!(problem.key, "run.scheduler");
    }

    #[test]
    fn runs_that_go_on_together_share_the_cores() {
        let job = |name: &str| {
            format!(
                "[[jobs]]\nname = \"{name}\"\nranks = 1\nplacement.nodes = [{}]\nworkload.stencil = {{ dims = [1] }}\n",
                name.len()
            )
        };
        let threads_of = |text: &str, cores| {
            let text = format!(
                "[machine.dragonfly]\ngroups = 2\nrouters_per_group = 4\nnodes_per_router = 2\n\
                 global_ports_per_router = 2\n{text}"
            );
            let loaded = scenario::load(&text, "scenario.toml", &[], None, "").unwrap();
            threads(&loaded.resolved, Resources { cores, processes: 1 })
        };
        let two = format!("{}{}", job("a"), job("bb"));
        assert_eq!(threads_of(&two, 12), 12);
        let run = format!("{two}[run]\nbaselines = true\n");
        assert_eq!(threads_of(&run, 12), 4);
        assert_eq!(threads_of(&run, 2), 1);
        assert_eq!(threads_of(&format!("{run}threads = 5\n"), 2), 5);
        // A job alone has no baseline.
        assert_eq!(threads_of(&format!("{}[run]\nbaselines = true\n", job("a")), 12), 12);
    }

    /// All work is on the first two groups: they make parts of their own.
    #[test]
    fn parts_follow_the_work() {
        let text = "[machine.dragonfly]\ngroups = 9\nrouters_per_group = 4\nnodes_per_router = 2\n\
                    global_ports_per_router = 2\n[run]\nscheduler = \"conservative\"\nparts = 3\n[[jobs]]\nranks = 16\n\
                    workload.uniform = { bytes = \"4 KiB\", mean_interval = \"500 ns\", messages = 1000 }\n";
        let plan = plan_of(text, 2);
        assert_eq!(bounds(&plan), [0, 4, 8]);
    }

    #[test]
    fn this_process_may_use_a_core() {
        assert!(Resources::here().cores >= 1);
    }
}
