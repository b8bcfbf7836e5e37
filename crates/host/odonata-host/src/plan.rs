//! The plan of a machine's hosts: the immutable data shared by all parts, from which each part is built.

use crate::interfaces::of_rank;
use crate::io::calls::{FileCalls, WritesBehind};
use crate::io::client::{Client, FailedServers, RetryRules};
use crate::io::lower_tier::OutsideLinks;
use crate::io::metadata::MetadataNodes;
use crate::io::server::StorageServers;
use crate::io::stage::{RankStage, Stages};
use crate::io::{Io, IoParts};
use crate::job::control::{Awaited, JobControl, reports};
use crate::layout::{JobPlan, Layout, RankPlace, ServerPlace, cells};
use crate::mpi::Mpi;
use crate::mpi::sequence::chains;
use crate::observe::Observers;
use crate::observe::exposed::{ExposedLog, ExposedTime};
use crate::observe::fault_waits::FaultWaits;
use crate::observe::lost::LostTime;
use crate::observe::records::Records;
use crate::params::{HostParams, Job, JobProgram};
use crate::rank::memory::{ProgramMemory, words};
use crate::rank::{Rank, RankExecutor};
use crate::send::Transport;
use crate::source::{Source, Sources};
use crate::turn::Effects;
use crate::{Hosts, Interrupt, RankMetrics};
use odonata_engine::partitioned::local_indices;
use odonata_engine::random::Purpose;
use odonata_engine::{List, Lp, NIL, RangeStore, Rows, SparseStore, Stream, Time};
use odonata_network::ReductionMember;
use odonata_network::settings::Affinity;
use odonata_storage::settings::OnFailure;
use odonata_storage::{FileLayout, Servers};
use odonata_topology::Topology;
use odonata_units::Bytes;
use odonata_workload::Algorithm;
use odonata_workload::collective::Kind;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of ranks and servers of a machine.
const MOST_ENDPOINTS: usize = 1 << 28;

/// The hosts of a machine before they are built.
#[derive(Debug)]
pub struct HostPlan {
    params: HostParams,
    interrupt: Interrupt,
    jobs: Arc<[JobPlan]>,
    places: Arc<[RankPlace]>,
    /// Node and logical process of each server: storage servers, then metadata servers.
    servers: Vec<(u32, Lp)>,
    first_metadata: u32,
    /// (logical process, rank), sorted.
    starts: Arc<[(Lp, u32)]>,
    /// Names of the random streams of ranks, then of servers.
    owners: Vec<u64>,
    processes: Lp,
    /// Interfaces of each node.
    interfaces: u32,
}

impl HostPlan {
    /// Places `jobs` on the nodes of `topology`, and storage server `s` on node `server_nodes[s]`.
    ///
    /// # Panics
    /// The lists are inconsistent: a job needs as many nodes, and servers if it has any, as its program has ranks, and
    /// all nodes must exist.
    pub fn new(params: HostParams, jobs: Vec<Job>, server_nodes: &[u32], topology: &Topology) -> Self {
        let servers: Vec<(u32, Lp)> = server_nodes
            .iter()
            .map(|&node| (node, topology.router_of_whole_node(node)))
            .collect();
        let mut watchers = vec![Vec::new(); jobs.len()];
        for (number, job) in (0..).zip(&jobs) {
            let mut watched: Vec<u16> = job.start_after.iter().chain(&job.until).copied().collect();
            watched.sort_unstable();
            watched.dedup();
            for other in watched {
                watchers[usize::from(other)].push(number);
            }
        }
        let mut directories: BTreeMap<u16, BTreeSet<u32>> = BTreeMap::new();
        for job in jobs.iter().filter(|job| job.files.layout == FileLayout::Assigned) {
            let servers = directories.entry(job.files.directory).or_default();
            servers.extend(job.servers.iter().filter(|&&server| server != NIL));
        }
        let mut plans = Vec::with_capacity(jobs.len());
        let mut places = Vec::new();
        // A random stream is named by its node and the order on the node, not by its rank: jobs share no node, so a job
        // draws the same numbers with and without other jobs.
        let mut owners: Vec<u64> = Vec::new();
        let mut on_node = BTreeMap::<u32, u64>::new();
        for (number, job) in jobs.into_iter().enumerate() {
            assert!(number < 1 << 15, "two kinds of traffic per job have 16-bit numbers");
            let number = number as u16;
            let ranks = job.nodes.len() as u32;
            owners.extend(job.nodes.iter().map(|&node| {
                let order = on_node.entry(node).or_default();
                *order += 1;
                (*order - 1) << 33 | u64::from(node)
            }));
            let has_program = matches!(job.program, JobProgram::Program(_));
            let chains = match &job.program {
                JobProgram::Program(program) => {
                    assert_eq!(program.ranks(), ranks, "job {:?}: every rank has a node", job.name);
                    chains(ranks)
                }
                JobProgram::Synthetic { .. } => 0,
            };
            plans.push(JobPlan {
                name: job.name,
                program: job.program,
                start: job.start,
                start_after: job.start_after,
                until: job.until,
                watchers: std::mem::take(&mut watchers[usize::from(number)]),
                ranks,
                first_rank: places.len() as u32,
                chains,
                files: job.files,
                directory_servers: match job.files.layout {
                    FileLayout::Assigned => directories[&job.files.directory].iter().copied().collect(),
                    FileLayout::Striped(_) => Vec::new(),
                },
                tells_servers: has_program
                    && (params.tiers.iter().any(|tier| tier.drains_at_job_end)
                        || (job.stage_out && !params.tiers.is_empty())),
                stage_in: job.stage_in,
                stage_wait: job.stage_wait,
                stage_out: job.stage_out,
            });
            assert!(
                job.servers.is_empty() || job.servers.len() == job.nodes.len(),
                "every rank has a server or none"
            );
            let interfaces = interfaces_of_ranks(&job.nodes, params.nic.affinity, topology.interfaces());
            places.extend(job.nodes.iter().enumerate().map(|(rank, &node)| RankPlace {
                job: number,
                node,
                interface: interfaces.get(rank).copied().unwrap_or(0),
                lp: topology.router_of_whole_node(node),
                server: job.servers.get(rank).copied().unwrap_or(NIL),
            }));
        }
        assert!(places.len() < MOST_ENDPOINTS, "at most 2^28 ranks");
        let mut starts: Vec<(Lp, u32)> = (0..).zip(&places).map(|(rank, place)| (place.lp, rank)).collect();
        starts.sort_unstable();
        owners.extend((0..servers.len()).map(|server| 1 << 32 | server as u64));
        HostPlan {
            first_metadata: servers.len() as u32,
            params,
            interrupt: Interrupt::default(),
            jobs: plans.into(),
            places: places.into(),
            servers,
            starts: starts.into(),
            owners,
            processes: topology.routers(),
            interfaces: topology.interfaces(),
        }
    }

    /// Adds metadata servers on these nodes, numbered after the storage servers.
    pub fn with_metadata_servers(mut self, nodes: &[u32], topology: &Topology) -> HostPlan {
        let places = nodes.iter().map(|&node| (node, topology.router_of_whole_node(node)));
        let first = self.servers.len() as u64;
        self.owners
            .extend((first..first + nodes.len() as u64).map(|server| 1 << 32 | server));
        self.servers.extend(places);
        self
    }

    /// The jobs whose collectives may run in routers, each with its interfaces.
    pub fn reduction_groups(&self) -> Vec<(u16, Vec<ReductionMember>)> {
        let forced = [Kind::Barrier, Kind::Allreduce].map(|kind| self.params.rules.forced[kind as usize]);
        let by_rule = forced.contains(&Some(Algorithm::Switches));
        let group = |(number, job): (u16, &JobPlan)| {
            let JobProgram::Program(program) = &job.program else {
                return None;
            };
            if !by_rule && !program.names(Algorithm::Switches) {
                return None;
            }
            let mut ranks = BTreeMap::new();
            let first = job.first_rank as usize;
            for place in &self.places[first..first + job.ranks as usize] {
                let interface = place.node * self.interfaces + u32::from(place.interface);
                *ranks.entry(interface).or_insert(0) += 1;
            }
            let member = |(interface, ranks)| ReductionMember { interface, ranks };
            Some((number, ranks.into_iter().map(member).collect()))
        };
        (0..).zip(self.jobs.iter()).filter_map(group).collect()
    }

    /// Gives each job its tree of routers, if it has one.
    #[must_use]
    pub fn with_trees(mut self, trees: Vec<Option<u32>>) -> HostPlan {
        self.params.trees = trees;
        self
    }

    /// Lets `interrupt` interrupt the run.
    pub fn interrupted_by(self, interrupt: Interrupt) -> HostPlan {
        HostPlan { interrupt, ..self }
    }

    pub(crate) fn jobs(&self) -> &[JobPlan] {
        &self.jobs
    }

    /// The hosts of the whole machine, with `servers`.
    pub fn whole(&self, servers: Servers) -> Hosts {
        let all: Vec<u32> = (0..servers.measured().len()).collect();
        let mut servers = Some(servers);
        let whole = 0..self.processes;
        let mut parts = self.parts(std::slice::from_ref(&whole), |numbers| {
            assert_eq!(numbers, all, "every storage server has a node");
            servers.take().expect("there is one part")
        });
        parts.pop().expect("there is one part")
    }

    /// The hosts of each of `ranges` of logical processes; `servers` makes the storage servers of a part from their
    /// numbers.
    pub fn parts(&self, ranges: &[Range<Lp>], mut servers: impl FnMut(&[u32]) -> Servers) -> Vec<Hosts> {
        let part_of = |lp: Lp| {
            let part = ranges.partition_point(|range| range.end <= lp);
            ranges
                .get(part)
                .is_some_and(|range| range.contains(&lp))
                .then_some(part)
        };
        let (ranks, parts) = (self.places.len() as u32, ranges.len());
        let is_source = |rank: u32| matches!(self.job_of(rank).program, JobProgram::Synthetic { .. });
        let of_rank = |rank: u32| part_of(self.places[rank as usize].lp);
        let of_endpoint = |end: u32| match end.checked_sub(ranks) {
            None => of_rank(end),
            Some(server) => part_of(self.servers[server as usize].1),
        };
        let rank_places = local_indices(ranks, parts, of_rank);
        let endpoint_places = local_indices(ranks + self.servers.len() as u32, parts, of_endpoint);
        let source_places = local_indices(ranks, parts, |rank| of_rank(rank).filter(|_| is_source(rank)));
        let (server_locals, server_lists) = local_indices(self.servers.len() as u32, parts, |s| {
            part_of(self.servers[s as usize].1)
        });
        // In every part, storage servers come first.
        let storage_of = |part: usize| server_lists[part].partition_point(|&server| server < self.first_metadata);
        let server_places: Arc<[ServerPlace]> = (0..)
            .zip(self.servers.iter().zip(server_locals.iter()))
            .map(|(server, (&(node, lp), &local))| ServerPlace {
                node,
                lp,
                local: match part_of(lp).filter(|_| server >= self.first_metadata) {
                    Some(part) => local - storage_of(part) as u32,
                    None => local,
                },
            })
            .collect();
        let unreported = self.unreported(|job| job.tells_servers || !job.watchers.is_empty());
        let unstaged = self.unreported(|job| !job.stage_in.is_empty());
        let some_have_no_effect = self.params.idle_wake_ups
            || self.params.client.is_some()
            || self.jobs.iter().any(|job| !job.until.is_empty());
        let tiers = &self.params.tiers;
        let outages = self.params.outages.iter().map(|outage| outage.server);
        let lower = tiers.get(1).map_or(self.first_metadata, |tier| tier.first)..self.first_metadata;
        let fails = outages.clone().filter(|server| lower.contains(server)).min();
        let fails = fails.filter(|_| self.params.client.is_some());
        // The whole tier of the first one that fails, and all tiers behind it.
        let watched_by_servers = fails.map_or(NIL, |server| {
            let tier = tiers.partition_point(|tier| tier.first <= server) - 1;
            tiers[tier].first
        });
        let metadata_fails =
            self.params.client.is_some() && outages.clone().any(|server| server >= self.first_metadata);
        let counted_servers = match metadata_fails {
            true => self.servers.len() as u32,
            false => self.first_metadata,
        };
        let all_servers = self.servers.len() as u32;
        let ends = tiers.iter().skip(1).map(|tier| tier.first);
        let ends: Vec<u32> = ends.chain([self.first_metadata, all_servers]).collect();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let rules = RetryRules {
            settings: self.params.client,
            jobs: self.jobs.len() as u32,
            counted_servers,
            groups: starts.zip(&ends).map(|(start, &end)| start..end).collect(),
            first_metadata: self.first_metadata,
            metadata_fails,
            watched_by_servers,
            tiered: !tiers.is_empty(),
        };
        let reroutes = self
            .params
            .client
            .is_some_and(|client| client.on_failure == OnFailure::ReRoute);
        // The places in the ledger of fault waits over time.
        let places: Vec<u8> = (0..self.servers.len() as u32)
            .map(|server| match server < self.first_metadata {
                true => tiers.partition_point(|tier| tier.first <= server).saturating_sub(1) as u8,
                false => 0,
            })
            .collect();
        let program_words = |rank: u32| words(self.job_of(rank).program.memory());
        let remembers = (0..ranks).any(|rank| program_words(rank) > 0);
        let part = |part: usize| {
            let range = ranges[part].clone();
            let local = (rank_places.0.clone(), rank_places.1[part].clone());
            let of_endpoints = (endpoint_places.0.clone(), endpoint_places.1[part].clone());
            let of_servers = (server_locals.clone(), server_lists[part].clone());
            let of_sources = (source_places.0.clone(), source_places.1[part].clone());
            let mut words = 0u32;
            let first_word = match remembers {
                true => cells(&local, |rank| {
                    let first = words;
                    words = words
                        .checked_add(program_words(rank))
                        .expect("fewer than 2^32 words of memory in all");
                    first
                }),
                false => SparseStore::default(),
            };
            let awaited = self.jobs.iter().map(|job| Awaited {
                start: job.start_after.len() as u16,
                stop: job.until.len() as u16,
            });
            let unreported = match unreported.is_empty() {
                true => SparseStore::default(),
                false => cells(&local, |rank| unreported[rank as usize]),
            };
            let effective = if some_have_no_effect { range.clone() } else { 0..0 };
            let stream =
                |endpoint: u32, purpose| Stream::new(self.params.seed, self.owners[endpoint as usize], purpose);
            let source = |rank| Source::new(stream(rank, Purpose::Destination), stream(rank, Purpose::Arrival));
            let metrics = cells(&local, |_| RankMetrics::default());
            let layout = Layout {
                jobs: self.jobs.clone(),
                ranks: self.places.clone(),
                servers: server_places.clone(),
                tiers: self.params.tiers.iter().map(|tier| tier.first).collect(),
                first_metadata: self.first_metadata,
                starts: self.starts.clone(),
                processes: range.clone(),
                trees: self.params.trees.as_slice().into(),
            };
            Hosts {
                ranks: RankExecutor::new(
                    layout.clone(),
                    self.interrupt.clone(),
                    cells(&local, |_| Rank::new()),
                    ProgramMemory::new(first_word, words),
                ),
                mpi: Mpi::new(&self.params, layout.clone(), &local, &self.owners),
                io: Io::new(
                    &self.params,
                    layout.clone(),
                    IoParts {
                        calls: FileCalls::new(
                            &self.params,
                            layout.clone(),
                            match self.jobs.iter().any(|job| job.files.write_behind > Bytes::ZERO) {
                                true => cells(&local, |_| WritesBehind::default()),
                                false => SparseStore::default(),
                            },
                        ),
                        client: Client::new(
                            rules.clone(),
                            FailedServers::new(
                                match reroutes {
                                    true => cells(&local, |_| List::EMPTY),
                                    false => SparseStore::default(),
                                },
                                match reroutes && watched_by_servers != NIL {
                                    true => cells(&of_servers, |_| List::EMPTY),
                                    false => SparseStore::default(),
                                },
                            ),
                        ),
                        servers: StorageServers::new(
                            servers(&server_lists[part][..storage_of(part)]),
                            server_lists[part][..storage_of(part)].into(),
                            &self.params,
                        ),
                        links: OutsideLinks::new(match self.params.tiers.iter().any(|tier| tier.outside.is_some()) {
                            true => server_lists[part].len(),
                            false => 0,
                        }),
                        metadata: MetadataNodes::new(server_lists[part][storage_of(part)..].into(), &self.params),
                        stages: Stages::new(
                            match unstaged.is_empty() {
                                true => SparseStore::default(),
                                false => cells(&local, |rank| RankStage::new(unstaged[rank as usize])),
                            },
                            self.jobs.len(),
                        ),
                    },
                ),
                jobs: JobControl::new(
                    layout.clone(),
                    unreported,
                    awaited.collect(),
                    RangeStore::filled(effective, Time::ZERO),
                ),
                sources: Sources::new(&self.params, layout.clone(), cells(&of_sources, source)),
                transport: Transport::new(
                    &self.params,
                    self.interfaces,
                    cells(&of_endpoints, |endpoint| stream(endpoint, Purpose::Host)),
                ),
                observers: Observers::new(
                    &self.params,
                    Records::new(metrics, 2 * self.jobs.len(), &self.params),
                    LostTime::new(&self.params, &local, self.jobs.len()),
                    FaultWaits::new(
                        (all_servers, self.first_metadata),
                        &self.params.outages,
                        self.params.ledger,
                        (&places, tiers.len().max(1) as u8),
                    ),
                    ExposedLog::new(match self.states_parallelism() {
                        true => cells(&local, |_| ExposedTime::NONE),
                        false => SparseStore::default(),
                    }),
                ),
                failures: Rows::new(),
                params: self.params.clone(),
                layout,
                mpi_effects: Effects::new(),
                job_effects: Effects::new(),
                io_effects: Effects::new(),
            }
        };
        (0..parts).map(part).collect()
    }

    /// Whether the program of a job states its parallelism.
    fn states_parallelism(&self) -> bool {
        let states = |job: &JobPlan| matches!(&job.program, JobProgram::Program(program) if program.has_parallelism());
        self.jobs.iter().any(states)
    }

    fn job_of(&self, rank: u32) -> &JobPlan {
        &self.jobs[usize::from(self.places[rank as usize].job)]
    }

    /// Per rank of a job that others wait for (`awaited`), the number of end reports that it needs before it reports: its
    /// own and one per child. Empty if there is no such job.
    fn unreported(&self, awaited: impl Fn(&JobPlan) -> bool) -> Vec<u32> {
        let mut unreported = Vec::new();
        if self.jobs.iter().any(&awaited) {
            for job in self.jobs.iter() {
                let awaited = awaited(job);
                unreported.extend(reports(job.ranks).map(|reports| if awaited { reports } else { 0 }));
            }
        }
        unreported
    }
}

/// The interface of each of a job's ranks, by their order on their nodes; empty if nodes have one.
fn interfaces_of_ranks(nodes: &[u32], affinity: Affinity, interfaces: u32) -> Vec<u16> {
    if interfaces == 1 {
        return Vec::new();
    }
    let mut ranks = BTreeMap::<u32, u32>::new();
    let order = |&node: &u32| {
        let count = ranks.entry(node).or_default();
        *count += 1;
        *count - 1
    };
    let orders: Vec<u32> = nodes.iter().map(order).collect();
    let places = orders.iter().zip(nodes);
    // At most 64 interfaces.
    places
        .map(|(&order, node)| of_rank(affinity, interfaces, order, ranks[node]) as u16)
        .collect()
}
