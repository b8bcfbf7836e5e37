//! Layout: the immutable placement of jobs, ranks and storage servers on nodes.
//!
//! Rank numbers run over all jobs in order; a *local* rank is the number within its job.

use crate::io::stage::StageFile;
use crate::params::{FileAccess, JobProgram};
use odonata_engine::{Lp, NIL, SparseStore, Time};
use odonata_storage::{ClientId, Requester};
use odonata_workload::Program;
use std::ops::Range;
use std::sync::Arc;

/// The data of a job in the hosts.
#[derive(Debug)]
pub(crate) struct JobPlan {
    pub(crate) name: String,
    pub(crate) program: JobProgram,
    /// Start time, or the delay after the end of the jobs that it waits for.
    pub(crate) start: Time,
    /// Jobs that must end before it starts.
    pub(crate) start_after: Vec<u16>,
    /// Jobs whose end stops its sources.
    pub(crate) until: Vec<u16>,
    /// Jobs that its end starts or stops, without duplicates.
    pub(crate) watchers: Vec<u16>,
    pub(crate) ranks: u32,
    /// Number of its rank 0 among all ranks.
    pub(crate) first_rank: u32,
    /// Number of chains of sequence counters per rank.
    pub(crate) chains: u32,
    pub(crate) files: FileAccess,
    /// The servers of all ranks of the jobs in the same directory, if each rank has its own server, in order.
    pub(crate) directory_servers: Vec<u32>,
    /// Whether its end is reported to storage servers.
    pub(crate) tells_servers: bool,
    /// Input files to stage into its burst buffers, and whether it starts after that.
    pub(crate) stage_in: Vec<StageFile>,
    pub(crate) stage_wait: bool,
    /// Whether its data are staged out after its end.
    pub(crate) stage_out: bool,
}

impl JobPlan {
    /// Whether it is open-loop traffic.
    pub(crate) fn is_synthetic(&self) -> bool {
        matches!(self.program, JobProgram::Synthetic { .. })
    }

    /// Whether its start depends on more than the clock.
    pub(crate) fn starts_later(&self) -> bool {
        !self.start_after.is_empty() || (self.stage_wait && !self.stage_in.is_empty())
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RankPlace {
    pub(crate) job: u16,
    pub(crate) node: u32,
    /// The interface of its node that it uses, counted from 0 on the node.
    pub(crate) interface: u16,
    /// The logical process of its node.
    pub(crate) lp: Lp,
    /// Its storage server, or [`NIL`](odonata_engine::NIL).
    pub(crate) server: u32,
}

/// The place of a storage or metadata server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerPlace {
    pub(crate) node: u32,
    /// The logical process of its node.
    pub(crate) lp: Lp,
    /// Its number among the servers of its kind in its part.
    pub(crate) local: u32,
}

/// An end of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoint {
    pub(crate) node: u32,
    /// Its interface on the node, or [`NIL`] for that by the number of its peer.
    pub(crate) interface: u32,
    /// The logical process of the node.
    pub(crate) lp: Lp,
    /// Its random stream.
    pub(crate) stream: u32,
}

/// Jobs, ranks and servers of the machine, and which of them belong to this part.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) jobs: Arc<[JobPlan]>,
    pub(crate) ranks: Arc<[RankPlace]>,
    pub(crate) servers: Arc<[ServerPlace]>,
    /// The first server of each tier, if there are several tiers.
    pub(crate) tiers: Arc<[u32]>,
    /// The first metadata server; storage servers come before it.
    pub(crate) first_metadata: u32,
    /// (logical process, rank), sorted.
    pub(crate) starts: Arc<[(Lp, u32)]>,
    /// The logical processes of this part.
    pub(crate) processes: Range<Lp>,
    /// The tree of routers of each job, if there are trees.
    pub(crate) trees: Arc<[Option<u32>]>,
}

impl Layout {
    /// The tree of routers that sums for the job of `rank`.
    #[inline]
    pub(crate) fn tree_of(&self, rank: u32) -> Option<u32> {
        self.trees.get(usize::from(self.place(rank).job)).copied().flatten()
    }

    /// Number of ranks of all jobs.
    pub(crate) fn rank_count(&self) -> u32 {
        self.ranks.len() as u32
    }

    #[inline]
    pub(crate) fn place(&self, rank: u32) -> RankPlace {
        self.ranks[rank as usize]
    }

    /// Number of metadata servers.
    #[inline]
    pub(crate) fn metadata_servers(&self) -> u32 {
        self.servers.len() as u32 - self.first_metadata
    }

    #[inline]
    pub(crate) fn server(&self, server: u32) -> ServerPlace {
        self.servers[server as usize]
    }

    /// The tier of `server`, counted from the tier that ranks use.
    pub(crate) fn tier_of(&self, server: u32) -> usize {
        self.tiers.partition_point(|&first| first <= server).saturating_sub(1)
    }

    #[inline]
    pub(crate) fn job(&self, job: u16) -> &JobPlan {
        &self.jobs[usize::from(job)]
    }

    #[inline]
    pub(crate) fn job_of(&self, rank: u32) -> &JobPlan {
        self.job(self.place(rank).job)
    }

    /// Whether two ranks are on different nodes.
    #[inline]
    pub(crate) fn are_apart(&self, (a, b): (u32, u32)) -> bool {
        self.place(a).node != self.place(b).node
    }

    /// The number of `rank` in its job.
    #[inline]
    pub(crate) fn local(&self, rank: u32) -> u32 {
        rank - self.job_of(rank).first_rank
    }

    /// The parent of `rank` in the binomial tree of its job (`job`); `None` for rank 0.
    pub(crate) fn parent(&self, rank: u32) -> Option<u32> {
        let first = self.job_of(rank).first_rank;
        let local = rank - first;
        (local > 0).then(|| first + (local & (local - 1)))
    }

    /// The program of `rank`; `None` for a source.
    #[inline]
    pub(crate) fn program(&self, rank: u32) -> Option<&dyn Program> {
        match &self.job_of(rank).program {
            JobProgram::Program(program) => Some(&**program),
            JobProgram::Synthetic { .. } => None,
        }
    }

    /// Whether `rank` belongs to this part.
    pub(crate) fn has(&self, rank: u32) -> bool {
        self.processes.contains(&self.place(rank).lp)
    }

    /// The ranks on the nodes of `lp`.
    pub(crate) fn ranks_at(&self, lp: Lp) -> Range<usize> {
        let first = self.starts.partition_point(|&(owner, _)| owner < lp);
        let count = self.starts[first..].partition_point(|&(owner, _)| owner == lp);
        first..first + count
    }

    #[inline]
    pub(crate) fn endpoint_of_rank(&self, rank: u32) -> Endpoint {
        let place = self.place(rank);
        Endpoint {
            node: place.node,
            interface: u32::from(place.interface),
            lp: place.lp,
            stream: rank,
        }
    }

    #[inline]
    pub(crate) fn endpoint_of_server(&self, server: u32) -> Endpoint {
        let ServerPlace { node, lp, .. } = self.server(server);
        Endpoint {
            node,
            interface: NIL,
            lp,
            stream: self.rank_count() + server,
        }
    }

    #[inline]
    pub(crate) fn endpoint_of_client(&self, client: ClientId) -> Endpoint {
        match client.requester() {
            Requester::Rank(rank) => self.endpoint_of_rank(rank),
            Requester::Server(server) => self.endpoint_of_server(server),
        }
    }

    /// The name of `rank`, such as `job "name" rank 3`.
    pub(crate) fn name(&self, rank: u32) -> String {
        format!("job \"{}\" rank {}", self.job_of(rank).name, self.local(rank))
    }
}

/// The index in its part of every rank of the machine, and the ranks of the part.
pub(crate) type PartRanks = (Arc<[u32]>, Arc<[u32]>);

/// A cell per number of a part, given the place of every number and the numbers of the part.
pub(crate) fn cells<T: Copy>((places, numbers): &PartRanks, make: impl FnMut(u32) -> T) -> SparseStore<T> {
    match numbers.len() == places.len() {
        true => SparseStore::all(numbers.iter().copied().map(make).collect()),
        false => SparseStore::some(places.clone(), numbers.clone(), make),
    }
}
