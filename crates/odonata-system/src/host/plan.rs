//! What all parts of the hosts have in common: the jobs, and where their ranks and servers are. It never changes.

use super::params::{HostParams, Job, JobProgram};
use super::{Hosts, jobs, letter, matching, peers, rank, source};
use odonata_engine::random::Purpose;
use odonata_engine::window::places;
use odonata_engine::{List, Lp, NIL, Pool, Rows, Sparse, Store, Stream, Time, Windowed};
use odonata_network::Histogram;
use odonata_storage::{Actions, Servers};
use odonata_topology::Topology;
use std::ops::Range;
use std::sync::Arc;

/// A job as the hosts keep it.
#[derive(Debug)]
pub(crate) struct JobPlan {
    pub(crate) name: String,
    pub(crate) program: JobProgram,
    /// When it starts, or how long after the jobs that it waits for.
    pub(crate) start: Time,
    /// Jobs that must have ended before it starts.
    pub(crate) start_after: Vec<u16>,
    /// Jobs whose end stops its sources.
    pub(crate) until: Vec<u16>,
    /// Jobs that want to know when it has ended, each once.
    pub(crate) watchers: Vec<u16>,
    pub(crate) ranks: u32,
    /// Number of its rank 0 among the ranks of all jobs.
    pub(crate) first_rank: u32,
    /// Chains of peers per rank.
    pub(crate) chains: u32,
}

/// Where a storage server is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerPlace {
    pub(crate) node: u32,
    /// The logical process of the node.
    pub(crate) lp: Lp,
    /// Its number among the servers of its part.
    pub(crate) local: u32,
}

/// The hosts of a machine, not yet built.
#[derive(Debug)]
pub struct HostPlan {
    params: HostParams,
    jobs: Arc<[JobPlan]>,
    places: Arc<[rank::Place]>,
    /// Node and logical process of each server.
    servers: Vec<(u32, Lp)>,
    /// (logical process, rank), sorted.
    starts: Arc<[(Lp, u32)]>,
    /// Names of the random streams of ranks and, behind them, of servers.
    owners: Vec<u64>,
    processes: Lp,
}

impl HostPlan {
    /// `jobs` on the nodes of `topology`; storage server `s` is on node `server_nodes[s]`.
    ///
    /// # Panics
    /// The lists do not belong together: a job with as many nodes (or servers, if it has any) as its program has
    /// ranks is expected, and nodes that exist.
    pub fn new(params: HostParams, jobs: Vec<Job>, server_nodes: &[u32], topology: &Topology) -> Self {
        let servers: Vec<(u32, Lp)> = server_nodes
            .iter()
            .map(|&node| (node, topology.node_router(node)))
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
        let mut plans = Vec::with_capacity(jobs.len());
        let mut places = Vec::new();
        // Who draws random numbers is named by node and order on the node, not by rank: jobs share no node, so a
        // job draws the same whether or not others run beside it.
        let mut owners: Vec<u64> = Vec::new();
        let mut on_node = std::collections::BTreeMap::<u32, u64>::new();
        for (number, job) in jobs.into_iter().enumerate() {
            assert!(number < 1 << 15, "two kinds of traffic per job have 16-bit numbers");
            let number = number as u16;
            let ranks = job.nodes.len() as u32;
            owners.extend(job.nodes.iter().map(|&node| {
                let order = on_node.entry(node).or_default();
                *order += 1;
                (*order - 1) << 33 | u64::from(node)
            }));
            let chains = match &job.program {
                JobProgram::Program(program) => {
                    assert_eq!(program.ranks(), ranks, "job {:?}: every rank has a node", job.name);
                    peers::chains(ranks)
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
            });
            assert!(
                job.servers.is_empty() || job.servers.len() == job.nodes.len(),
                "every rank has a server or none"
            );
            places.extend(job.nodes.iter().enumerate().map(|(rank, &node)| rank::Place {
                job: number,
                node,
                lp: topology.node_router(node),
                server: job.servers.get(rank).copied().unwrap_or(NIL),
            }));
        }
        assert!(places.len() < letter::MOST_ENDS as usize, "at most 2^28 ranks");
        let mut starts: Vec<(Lp, u32)> = (0..).zip(&places).map(|(rank, place)| (place.lp, rank)).collect();
        starts.sort_unstable();
        owners.extend((0..servers.len()).map(|server| 1 << 32 | server as u64));
        HostPlan {
            params,
            jobs: plans.into(),
            places: places.into(),
            servers,
            starts: starts.into(),
            owners,
            processes: topology.routers(),
        }
    }

    /// The jobs.
    pub(crate) fn jobs(&self) -> &[JobPlan] {
        &self.jobs
    }

    /// The hosts of the whole machine, with `servers`.
    pub fn whole(&self, servers: Servers) -> Hosts {
        let all: Vec<u32> = (0..servers.len()).collect();
        let mut servers = Some(servers);
        let whole = 0..self.processes;
        let mut parts = self.parts(std::slice::from_ref(&whole), |numbers| {
            assert_eq!(numbers, all, "every storage server has a node");
            servers.take().expect("there is one part")
        });
        parts.pop().expect("there is one part")
    }

    /// The hosts of each of `ranges` of logical processes; `servers` makes the storage servers of a part, given their
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
        let is_source = |rank: u32| {
            let job = &self.jobs[usize::from(self.places[rank as usize].job)];
            matches!(job.program, JobProgram::Synthetic { .. })
        };
        let of_rank = |rank: u32| part_of(self.places[rank as usize].lp);
        let of_end = |end: u32| match end.checked_sub(ranks) {
            None => of_rank(end),
            Some(server) => part_of(self.servers[server as usize].1),
        };
        let rank_places = places(ranks, parts, of_rank);
        let end_places = places(ranks + self.servers.len() as u32, parts, of_end);
        let source_places = places(ranks, parts, |rank| of_rank(rank).filter(|_| is_source(rank)));
        let (server_locals, server_lists) = places(self.servers.len() as u32, parts, |s| {
            part_of(self.servers[s as usize].1)
        });
        let server_places: Arc<[ServerPlace]> = (self.servers.iter().zip(server_locals.iter()))
            .map(|(&(node, lp), &local)| ServerPlace { node, lp, local })
            .collect();
        let unreported = self.unreported();
        let last_counts = self.params.looks_in_vain || self.jobs.iter().any(|job| !job.until.is_empty());
        let part = |part: usize| {
            let range = ranges[part].clone();
            let local = (rank_places.0.clone(), rank_places.1[part].clone());
            fn cells<T: Copy>((places, numbers): &(Arc<[u32]>, Arc<[u32]>), make: impl FnMut(u32) -> T) -> Sparse<T> {
                match numbers.len() == places.len() {
                    true => Sparse::all(numbers.iter().copied().map(make).collect()),
                    false => Sparse::some(places.clone(), numbers.clone(), make),
                }
            }
            let mut chains = 0;
            let first_chain = cells(&local, |rank| {
                let first = chains;
                chains += self.jobs[usize::from(self.places[rank as usize].job)].chains;
                first
            });
            let memory = |rank: u32| self.jobs[usize::from(self.places[rank as usize].job)].program.memory();
            let remembers = (0..ranks).any(|rank| memory(rank) > 0);
            let mut words = 0u32;
            let first_word = if remembers {
                cells(&local, |rank| {
                    let first = words;
                    let own = super::memory::words(memory(rank));
                    words = words.checked_add(own).expect("fewer than 2^32 words of memory in all");
                    first
                })
            } else {
                Sparse::default()
            };
            let awaited = self.jobs.iter().map(|job| jobs::Awaited {
                start: job.start_after.len() as u16,
                stop: job.until.len() as u16,
            });
            let source = |rank: u32| source::SourceCell {
                destination: Stream::new(self.params.seed, self.owners[rank as usize], Purpose::Destination),
                arrival: Stream::new(self.params.seed, self.owners[rank as usize], Purpose::Arrival),
                sent: 0,
                next: Time::ZERO,
                told: Time::NEVER,
            };
            let stream = |end: u32| Stream::new(self.params.seed, self.owners[end as usize], Purpose::Host);
            let reporting = if unreported.is_empty() { None } else { Some(&unreported) };
            Hosts {
                ranks: cells(&local, |_| rank::Rank::new()),
                activities: Pool::new(),
                inboxes: cells(&local, |_| matching::Inbox::default()),
                requests: Pool::new(),
                plans: Pool::new(),
                posted: Pool::new(),
                waiting: Pool::new(),
                first_chain,
                first_word,
                words: Store::filled(words as usize, 0),
                chains: Store::filled(chains as usize, NIL),
                peers: Pool::new(),
                streams: cells(&(end_places.0.clone(), end_places.1[part].clone()), stream),
                sources: cells(&(source_places.0.clone(), source_places.1[part].clone()), source),
                unreported: reporting
                    .map(|list| cells(&local, |rank| list[rank as usize]))
                    .unwrap_or_default(),
                awaited: Store::from_vec(awaited.collect()),
                last: Windowed::filled(if last_counts { range.clone() } else { 0..0 }, Time::ZERO),
                outgoing: Pool::new(),
                incoming: Pool::new(),
                deferred: Pool::new(),
                chores: cells(&local, |_| List::EMPTY),
                parcels: Pool::new(),
                io_ops: Pool::new(),
                servers: servers(&server_lists[part]),
                server_numbers: server_lists[part].clone(),
                metrics: cells(&local, |_| super::RankMetrics::default()),
                message_latency: Histogram::new(2 * self.jobs.len()),
                message_rows: Rows::new(),
                io_rows: Rows::new(),
                ends: Store::filled(2, Time::ZERO),
                iteration_rows: Rows::new(),
                report_rows: Rows::new(),
                failures: Rows::new(),
                facts: Rows::new(),
                actions: Actions::new(),
                scratch: Vec::new(),
                params: self.params.clone(),
                jobs: self.jobs.clone(),
                places: self.places.clone(),
                server_places: server_places.clone(),
                starts: self.starts.clone(),
                processes: range,
            }
        };
        (0..parts).map(part).collect()
    }

    /// Per rank, reports of ends that it waits for before it passes them on; empty if no job waits for another.
    fn unreported(&self) -> Vec<u32> {
        let mut unreported = Vec::new();
        if self.jobs.iter().any(|job| !job.watchers.is_empty()) {
            for job in self.jobs.iter() {
                let heard = !job.watchers.is_empty();
                unreported.extend(jobs::reports(job.ranks).map(|reports| if heard { reports } else { 0 }));
            }
        }
        unreported
    }
}
