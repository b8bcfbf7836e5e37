//! Who runs the events, on how many threads, over which parts of the machine: settled before a run, from what is known of
//! it. Results do not depend on it.
//!
//! Parts are consecutive routers, divided by what each is [expected](crate::estimate) to have to do. Between parts,
//! influence takes at least the lookahead of the cables that are cut; a conservative scheduler handles a window of that
//! length at a time, all parts side by side, then agrees on the next. [`decide`] weighs what a window holds against what
//! agreeing costs.

mod decide;
mod measured;

pub use decide::{Candidate, Decision, Situation, decide};

pub(crate) use measured::in_words;

use decide::fastest;

use crate::estimate::Estimate;
use crate::placement::Placement;
use crate::scenario::Problem;
use crate::scenario::resolved::{Parts, Resolved, RouterModel, Scheduler, Threads};
use crate::scenario::run::Optimism;
use odonata_engine::{Partition, Time};
use odonata_network::hand_over_of;
use odonata_network::lookahead::{self, LinkDelays};
use odonata_topology::{LinkClass, Topology, partition};

/// Bytes of a part that is to stay in a core's caches while it runs, where cuts cost something. Running 83,000 nodes group by
/// group (288 nodes) instead of from one queue made a probe 2.5 times as fast, a pipelined dragonfly of 1,056 nodes 2.2 times.
const CACHE: u32 = 2 << 20;

/// The same of parts that take turns over one state. Of 9,702 nodes in 1, 9, 25, 50 and 99 parts, 50 were the fastest (1.54, 1.25,
/// 1.20, 1.13 and 1.14 s), of 1,056 nodes with pipelined routers 33 faster than 10 by a sixth.
const CACHE_IN_TURN: u32 = 512 << 10;

/// State of a node, with its share of the routers: of event-driven ones, and of pipelined ones, which hold every credit
/// on its way.
const STATE_OF_A_NODE: (u32, u32) = (2 << 10, 20 << 10);

/// Parts per thread: more of them even out what the threads have to do, and cut more. Which pays is reckoned.
const PARTS_OF_A_THREAD: [u32; 3] = [1, 2, 4];

/// What a run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Cores that this process may use.
    pub cores: u32,
    /// Processes that share the run.
    pub processes: u32,
}

impl Resources {
    /// Those of this process, alone: limits by affinity and control groups count.
    pub fn here() -> Resources {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        Resources { cores, processes: 1 }
    }
}

/// How a run is carried out.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scheduler; never [`Scheduler::Auto`].
    pub scheduler: Scheduler,
    /// Threads of each process, at most.
    pub threads: u32,
    /// Whether the run measures how many of them pay.
    pub measured: bool,
    /// The parts; those of the sequential scheduler take turns over a machine that is not divided.
    pub partition: Partition,
    /// How far parts run ahead under the optimistic scheduler.
    pub optimism: Optimism,
    /// Why, in sentences without a full stop.
    pub reasons: Vec<String>,
    /// What the run is expected to do.
    pub(crate) estimate: Estimate,
}

/// Plans a run of `scenario` on the machine whose graph is `topology`.
///
/// # Errors
/// The scheduler is a sequential one and there are several processes, or parts that the scenario lists can influence each
/// other in no time.
pub fn plan(
    scenario: &Resolved,
    placement: &Placement,
    topology: &Topology,
    resources: Resources,
) -> Result<Plan, Problem> {
    let estimate = Estimate::new(scenario, placement, topology).map_err(|text| Problem::new("jobs", text, ""))?;
    let survey = Survey::new(scenario, placement, topology, &estimate, resources)?;
    let decision = survey.decide()?;
    let partition = match decision.candidate {
        Some(chosen) => survey.partition(&survey.divisions[chosen])?,
        None => Partition::whole(topology.routers()),
    };
    Ok(Plan {
        scheduler: decision.scheduler,
        threads: decision.threads,
        measured: decision.measured,
        partition,
        optimism: scenario.run.optimism,
        reasons: decision.reasons,
        estimate,
    })
}

/// A way to divide the machine.
#[derive(Clone, Debug)]
pub(crate) struct Division {
    /// The first router of each part, and the number of routers at the end.
    pub(crate) bounds: Vec<u32>,
    /// What it is worth.
    pub(crate) candidate: Candidate,
}

/// What is known before a decision.
pub(crate) struct Survey<'a> {
    topology: &'a Topology,
    estimate: &'a Estimate,
    pub(crate) delays: LinkDelays,
    parts: Parts,
    /// What each router has to do.
    pub(crate) weights: Vec<u64>,
    /// The ways to divide the machine among which to choose.
    pub(crate) divisions: Vec<Division>,
    pub(crate) situation: Situation,
}

impl<'a> Survey<'a> {
    pub(crate) fn new(
        scenario: &Resolved,
        placement: &Placement,
        topology: &'a Topology,
        estimate: &'a Estimate,
        resources: Resources,
    ) -> Result<Survey<'a>, Problem> {
        let links = &scenario.network.links;
        let delays = LinkClass::ALL.map(|class| (*links.of(class).latency, *links.of(class).credit_delay));
        // Blocks of the machines that have such groups are the groups.
        let size = topology.blocks().get(1).copied().unwrap_or(topology.routers());
        let groups = scenario.network.routing.knowledge_delay.map(|delay| (size, delay));
        let network = &scenario.network;
        let delays = LinkDelays::new(delays, network.router_delay).with_groups(groups);
        let flow = hand_over_of(*links.terminal.latency, network.router_delay);
        let analytic = network.analytic.latency.given().copied().unwrap_or(Time::NEVER);
        let delays = delays.with_messages(&scenario.fidelities(), flow, analytic);
        let mut survey = Survey {
            topology,
            estimate,
            delays,
            weights: estimate.weights(placement, topology),
            parts: scenario.run.parts.clone(),
            divisions: Vec::new(),
            situation: Situation {
                scheduler: scenario.run.scheduler,
                nodes: topology.nodes(),
                bytes_of_a_node: match scenario.network.router {
                    RouterModel::Pipelined => STATE_OF_A_NODE.1,
                    _ => STATE_OF_A_NODE.0,
                },
                events: estimate.events(),
                events_per_s: estimate.events_per_s(),
                cores: resources.cores,
                threads: threads(scenario, resources),
                processes: resources.processes.max(1),
                divided: scenario.run.parts != Parts::Auto,
            },
        };
        survey.divide()?;
        Ok(survey)
    }

    /// The same for so many threads.
    pub(crate) fn for_threads(mut self, threads: u32) -> Result<Survey<'a>, Problem> {
        self.situation.threads = threads;
        self.divisions.clear();
        self.divide()?;
        Ok(self)
    }

    /// The division that the conservative scheduler would take.
    pub(crate) fn fastest(&self) -> &Division {
        let candidates: Vec<Candidate> = self.divisions.iter().map(|division| division.candidate).collect();
        &self.divisions[fastest(&self.situation, &candidates)]
    }

    pub(crate) fn decide(&self) -> Result<Decision, Problem> {
        let candidates: Vec<Candidate> = self.divisions.iter().map(|division| division.candidate).collect();
        decide(&self.situation, &candidates)
    }

    /// The ways to divide: as the scenario says, or along blocks, and through them where there are fewer than threads.
    fn divide(&mut self) -> Result<(), Problem> {
        let (routers, blocks) = (self.topology.routers(), self.topology.blocks().len() as u32 - 1);
        let whole = vec![0, routers];
        let threads = self.situation.threads.saturating_mul(self.situation.processes);
        match &self.parts {
            Parts::Listed(listed) => {
                let bounds: Vec<u32> = listed.first_routers.iter().copied().chain([routers]).collect();
                return self.add(bounds);
            }
            Parts::Count(count) => return self.add(self.bounds(*count)?),
            Parts::Auto => {}
        }
        let in_turn = threads == 1 && matches!(self.situation.scheduler, Scheduler::Sequential | Scheduler::Auto);
        let cache = if in_turn { CACHE_IN_TURN } else { CACHE };
        let cached = partition::parts_of(self.topology, cache / self.situation.bytes_of_a_node);
        let along_blocks = |times: u32| match threads {
            1 => cached,
            _ => threads.saturating_mul(times).max(cached).min(blocks),
        };
        let mut numbers: Vec<u32> = PARTS_OF_A_THREAD.map(along_blocks).to_vec();
        // A few blocks more, and none has to share a part.
        numbers.extend(
            numbers
                .last()
                .filter(|&&most| threads > 1 && blocks < 2 * most)
                .map(|_| blocks),
        );
        numbers.extend(Some(threads.min(routers)).filter(|&parts| parts > blocks));
        numbers.dedup();
        for parts in numbers {
            // Where nothing takes any time there is no cut; that is an error only if the scenario asks for one.
            let bounds = self.bounds(parts)?;
            if lookahead::partition(self.topology, &self.delays, &bounds).is_ok() {
                self.add(bounds)?;
            }
        }
        if self.divisions.is_empty() {
            self.add(whole)
        } else {
            Ok(())
        }
    }

    fn bounds(&self, parts: u32) -> Result<Vec<u32>, Problem> {
        partition::divide(self.topology, &self.weights, parts).map_err(|text| Problem::new("run.parts", text, ""))
    }

    fn add(&mut self, bounds: Vec<u32>) -> Result<(), Problem> {
        let (heaviest, sum) = partition::largest(&self.weights, &bounds);
        let counts = lookahead::cut(self.topology, &bounds);
        let share =
            |class: LinkClass| f64::from(counts.cut[class as usize]) / f64::from(counts.cables[class as usize].max(1));
        // Links inside a group are of two classes in some machines.
        let of = |counts: [u32; LinkClass::COUNT]| {
            f64::from(counts[LinkClass::Local as usize]) + f64::from(counts[LinkClass::Column as usize])
        };
        let inside = of(counts.cut) / of(counts.cables).max(1.0);
        let mut division = Division {
            bounds,
            candidate: Candidate {
                parts: 0,
                lookahead: Time::NEVER,
                parallelism: sum as f64 / heaviest.max(1) as f64,
                crossings: self.estimate.crossings(inside, share(LinkClass::Global)),
            },
        };
        let partition = self.partition(&division)?;
        division.candidate.parts = partition.len() as u32;
        division.candidate.lookahead = partition.lookahead();
        self.divisions.push(division);
        Ok(())
    }

    fn partition(&self, division: &Division) -> Result<Partition, Problem> {
        lookahead::partition(self.topology, &self.delays, &division.bounds).map_err(|error| {
            let expected = "parts that can influence each other only after some time";
            Problem::new("run.parts", error.to_string(), expected)
        })
    }
}

/// Threads of each process, at most.
fn threads(scenario: &Resolved, resources: Resources) -> u32 {
    let cores = resources.cores.max(1);
    if scenario.run.scheduler == Scheduler::Sequential {
        return 1;
    }
    match scenario.run.threads {
        Threads::Count(threads) => threads,
        // Nobody knows which cores the other processes have.
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

    /// 9 groups of 8 nodes, uniform traffic of 72 ranks: 72 x 7 events in 500 ns.
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
        // Two parts of 5 and 4 groups keep 1.8 threads busy, nine parts cut more than four.
        assert_eq!(plan.partition.len(), 4);
        assert!(bounds(&plan).iter().all(|first| first % 4 == 0));
        // Default links: 300 ns for a credit over a global cable.
        assert_eq!(plan.partition.lookahead(), Time::from_ns(300));
    }

    /// Workload 1 of the MFNetSim paper in full, 700 million events: two threads, where credits take as long as packets; in the
    /// published runs credits take 1.419 ns, a hundredth of the events in a window.
    #[test]
    fn the_full_hybrid_runs_on_two_threads_unless_credits_are_immediate() {
        for (preset, expected) in [
            ("mfnetsim", (Scheduler::Conservative, 2)),
            ("codes-compatible", (Scheduler::Sequential, 1)),
        ] {
            let job = |name: &str| format!("[[jobs]]\nranks = 300\nplacement = \"random\"\nworkload.{name} = {{}}\n");
            let jobs = ["milc", "checkpoint", "cosmoflow"].map(job).concat();
            let text = format!("preset = {preset:?}\n[network.routing]\nalgorithm = \"progressive-adaptive\"\n{jobs}");
            let loaded = scenario::load(&text, "scenario.toml", &[], None, "").expect("it is a scenario");
            let routing = build::routing(&loaded.resolved).unwrap();
            let resources = Resources { cores: 2, processes: 1 };
            let plan = plan(&loaded.resolved, &loaded.placement, routing.topology(), resources).unwrap();
            assert!(plan.estimate.events() > 5e8, "{}", plan.estimate.events());
            assert_eq!((plan.scheduler, plan.threads), expected, "{preset}: {:?}", plan.reasons);
            assert_eq!(plan.measured, expected.1 > 1);
        }
    }

    #[test]
    fn a_machine_of_one_group_is_divided_inside_of_it() {
        let text = "[machine.dragonfly]\ngroups = 1\nrouters_per_group = 8\nnodes_per_router = 4\n\
                    global_ports_per_router = 0\n[[jobs]]\nranks = 32\n\
                    workload.uniform = { bytes = \"4 KiB\", mean_interval = \"300 ns\", messages = 100000 }\n";
        let loaded = scenario::load(text, "scenario.toml", &[], None, "").unwrap();
        let routing = build::routing(&loaded.resolved).unwrap();
        let resources = Resources { cores: 2, processes: 1 };
        let estimate = Estimate::new(&loaded.resolved, &loaded.placement, routing.topology()).unwrap();
        let survey = Survey::new(
            &loaded.resolved,
            &loaded.placement,
            routing.topology(),
            &estimate,
            resources,
        )
        .unwrap();
        assert_eq!(survey.fastest().bounds, [0, 4, 8]);
        let decision = survey.decide().unwrap();
        assert_eq!(decision.scheduler, Scheduler::Sequential);
        assert!(
            decision.reasons[2].contains("a lookahead of 50 ns"),
            "{:?}",
            decision.reasons
        );
    }

    #[test]
    fn the_same_scenario_on_one_core_is_one_part() {
        let plan = planned("", 1, 1).unwrap();
        assert_eq!((plan.scheduler, plan.threads), (Scheduler::Sequential, 1));
        assert_eq!(plan.partition, Partition::whole(36));
    }

    #[test]
    fn more_threads_than_groups_divide_groups() {
        let run = "[run]\nscheduler = \"optimistic\"\nthreads = 12\n";
        let plan = planned(run, 1, 1).unwrap();
        assert_eq!(
            (plan.scheduler, plan.threads, plan.partition.len()),
            (Scheduler::Optimistic, 12, 12)
        );
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
        let loaded = scenario::load(text, "scenario.toml", &[], None, "").unwrap();
        let routing = build::routing(&loaded.resolved).unwrap();
        let resources = Resources { cores: 2, processes: 1 };
        let plan = plan(&loaded.resolved, &loaded.placement, routing.topology(), resources).unwrap();
        assert_eq!(bounds(&plan), [0, 4, 8]);
    }

    #[test]
    fn this_process_may_use_a_core() {
        assert!(Resources::here().cores >= 1);
    }
}
