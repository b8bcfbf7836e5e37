//! Layout: jobs, ranks and storage servers on their nodes. It never changes.
//!
//! Ranks are counted over all jobs, in the jobs' order; a *local* rank is a rank of its job.

use crate::io::stage::StageFile;
use crate::params::{FileAccess, JobProgram};
use crate::send::Endpoint;
use odonata_engine::{Lp, Time};
use odonata_storage::{ClientId, Requester};
use odonata_workload::Program;
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
    /// Chains of sequence numbers per rank.
    pub(crate) chains: u32,
    pub(crate) files: FileAccess,
    /// The servers of all ranks of jobs with the same directory, where each rank has one of its own, in order.
    pub(crate) directory_servers: Vec<u32>,
    /// Whether storage servers are told of its end.
    pub(crate) tells_servers: bool,
    /// Input files that are brought to its buffers, and whether it starts when they are there.
    pub(crate) stage_in: Vec<StageFile>,
    pub(crate) stage_wait: bool,
    /// Whether its data go down when it has ended.
    pub(crate) stage_out: bool,
}

impl JobPlan {
    /// Whether something else than the clock says when it starts.
    pub(crate) fn starts_later(&self) -> bool {
        !self.start_after.is_empty() || (self.stage_wait && !self.stage_in.is_empty())
    }
}

/// Where a rank is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankPlace {
    pub(crate) job: u16,
    pub(crate) node: u32,
    /// The logical process of the node.
    pub(crate) lp: Lp,
    /// Its storage server, or [`NIL`](odonata_engine::NIL).
    pub(crate) server: u32,
}

/// Where a storage or metadata server is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerPlace {
    pub(crate) node: u32,
    /// The logical process of the node.
    pub(crate) lp: Lp,
    /// Its number among the servers of its kind in its part.
    pub(crate) local: u32,
}

/// Jobs, ranks and servers of the machine, and which of them are of this part.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) jobs: Arc<[JobPlan]>,
    pub(crate) ranks: Arc<[RankPlace]>,
    pub(crate) servers: Arc<[ServerPlace]>,
    /// The first server of each tier, where there are several.
    pub(crate) tiers: Arc<[u32]>,
    /// The first metadata server among them: those of files come before.
    pub(crate) first_metadata: u32,
    /// (logical process, rank), sorted.
    pub(crate) starts: Arc<[(Lp, u32)]>,
    /// The logical processes of this part.
    pub(crate) processes: Range<Lp>,
}

impl Layout {
    /// Number of ranks of all jobs.
    pub(crate) fn rank_count(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// Where `rank` is.
    #[inline]
    pub(crate) fn place(&self, rank: u32) -> RankPlace {
        self.ranks[rank as usize]
    }

    /// How many metadata servers there are.
    #[inline]
    pub(crate) fn metadata_servers(&self) -> u32 {
        self.servers.len() as u32 - self.first_metadata
    }

    /// Where `server` is.
    #[inline]
    pub(crate) fn server(&self, server: u32) -> ServerPlace {
        self.servers[server as usize]
    }

    /// The tier of `server`, counted from the one that ranks use.
    pub(crate) fn tier_of(&self, server: u32) -> usize {
        self.tiers.partition_point(|&first| first <= server).saturating_sub(1)
    }

    /// Job number `job`.
    #[inline]
    pub(crate) fn job(&self, job: u16) -> &JobPlan {
        &self.jobs[usize::from(job)]
    }

    /// The job of `rank`.
    #[inline]
    pub(crate) fn job_of(&self, rank: u32) -> &JobPlan {
        self.job(self.place(rank).job)
    }

    /// The number of `rank` in its job.
    #[inline]
    pub(crate) fn local(&self, rank: u32) -> u32 {
        rank - self.job_of(rank).first_rank
    }

    /// The program of `rank`, if it is no source.
    #[inline]
    pub(crate) fn program(&self, rank: u32) -> Option<&dyn Program> {
        match &self.job_of(rank).program {
            JobProgram::Program(program) => Some(&**program),
            JobProgram::Synthetic { .. } => None,
        }
    }

    /// Whether `rank` is of this part.
    pub(crate) fn has(&self, rank: u32) -> bool {
        self.processes.contains(&self.place(rank).lp)
    }

    /// The ranks on the nodes of `lp`.
    pub(crate) fn ranks_at(&self, lp: Lp) -> Range<usize> {
        let first = self.starts.partition_point(|&(owner, _)| owner < lp);
        let count = self.starts[first..].partition_point(|&(owner, _)| owner == lp);
        first..first + count
    }

    /// The endpoint of messages at `rank`.
    #[inline]
    pub(crate) fn endpoint_of_rank(&self, rank: u32) -> Endpoint {
        let place = self.place(rank);
        Endpoint {
            node: place.node,
            lp: place.lp,
            stream: rank,
        }
    }

    /// The endpoint of messages at `server`.
    #[inline]
    pub(crate) fn endpoint_of_server(&self, server: u32) -> Endpoint {
        let ServerPlace { node, lp, .. } = self.server(server);
        Endpoint {
            node,
            lp,
            stream: self.rank_count() + server,
        }
    }

    /// The endpoint of messages at `client`.
    #[inline]
    pub(crate) fn endpoint_of_client(&self, client: ClientId) -> Endpoint {
        match client.requester() {
            Requester::Rank(rank) => self.endpoint_of_rank(rank),
            Requester::Server(server) => self.endpoint_of_server(server),
        }
    }

    /// `job "name" rank 3`.
    pub(crate) fn name(&self, rank: u32) -> String {
        format!("job \"{}\" rank {}", self.job_of(rank).name, self.local(rank))
    }
}
