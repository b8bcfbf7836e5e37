//! Read access to the hosts: metrics, records, progress, what can still happen.
//!
//! The remaining events of a run whose sources send until other jobs end may be endless, and its last events may have no
//! effect. [`Hosts::is_without_effect`] and [`Hosts::is_progress`] tell which.

use crate::Hosts;
use crate::event::HostEvent;
use crate::failure::Failure;
use crate::job::status::{JobStatus, JobStatuses};
use crate::layout::JobPlan;
use crate::measured::{self, HostMeasured};
use crate::metrics::RankMetrics;
use crate::observe::exposed::{ExposedLog, ExposedTime};
use crate::rank::activity::{Activity, Phase};
use crate::timeline::call::charge;
use crate::timeline::{Charge, TimelineMeasured};
use odonata_engine::{Lp, Mode, NIL, Time};
use odonata_storage::MeasuredServers;
use odonata_workload::{Op, OpKind};

/// Properties of a job.
#[derive(Clone, Copy, Debug)]
pub struct JobView<'a> {
    /// Its name.
    pub name: &'a str,
    /// Number of ranks.
    pub ranks: u32,
    /// The number of its rank 0 among all ranks.
    pub first_rank: u32,
    /// Start time of its ranks; for a job that waits for others, the delay after their end. See [`JobStatuses::started`].
    pub start: Time,
    /// Whether it is open-loop traffic, which never waits.
    pub synthetic: bool,
}

/// What was planned for the jobs of a run, in order.
#[derive(Clone, Copy, Debug)]
pub struct JobPlans<'a>(pub(crate) &'a [JobPlan]);

impl Hosts {
    /// Number of jobs.
    pub fn jobs(&self) -> u16 {
        self.layout.jobs.len() as u16
    }

    /// What was planned for the jobs.
    pub fn plans(&self) -> JobPlans<'_> {
        JobPlans(&self.layout.jobs)
    }

    /// Properties of job `job`.
    pub fn job(&self, job: u16) -> JobView<'_> {
        let plan = self.layout.job(job);
        JobView {
            name: &plan.name,
            ranks: plan.ranks,
            first_rank: plan.first_rank,
            start: plan.start,
            synthetic: plan.is_synthetic(),
        }
    }

    /// The job of a rank numbered over all jobs, and its number in the job.
    pub fn job_of(&self, rank: u32) -> (u16, u32) {
        (self.layout.place(rank).job, self.layout.local(rank))
    }

    /// The metrics of rank `rank` of `job`.
    pub fn metrics(&self, job: u16, rank: u32) -> &RankMetrics {
        self.observers.records.metrics(self.layout.job(job).first_rank + rank)
    }

    /// The node of rank `rank` of `job`.
    pub fn node(&self, job: u16, rank: u32) -> u32 {
        self.layout.place(self.layout.job(job).first_rank + rank).node
    }

    /// The measurements of this part if the run ends at `now`, including the cost of unfinished operations until then.
    pub fn measured(&self, now: Time) -> HostMeasured {
        HostMeasured::of(self, now)
    }

    /// The timeline of this part if the run ends at `now`, including the calls in progress.
    pub(crate) fn timeline_measured(&self, now: Time) -> TimelineMeasured {
        let activities = self.ranks.iter().flat_map(|(_, activities)| activities);
        let in_progress = activities.map(|activity| (activity, self.waits_for_io(activity)));
        (self.observers.timeline).measured(&self.layout, now, in_progress, self.observers.steps.rows())
    }

    /// What the storage servers have and have measured.
    pub fn servers(&self) -> MeasuredServers<'_> {
        self.io.servers.servers().measured()
    }

    /// Number of reads and writes in progress from ranks of this part.
    pub fn file_transfers(&self) -> u64 {
        self.io.calls.live().into()
    }

    /// Applies the failures of storage servers up to `now`, the end of the run.
    pub fn fail_servers(&mut self, now: Time) {
        self.io.fail_until(now);
    }

    /// Charges the open waits at the servers at `now`, for a run that ends in the middle of requests.
    pub fn charge_open_waits(&mut self, now: Time) {
        self.io.charge_open_waits(now);
    }

    /// Metrics of rank `rank` of `job` if the run ends at `now`, including the cost of its unfinished operations until
    /// then. A wait that I/O would complete counts as MPI, since the kind of its request is not yet known.
    pub fn metrics_until(&self, job: u16, rank: u32, now: Time) -> RankMetrics {
        let mut metrics = *self.metrics(job, rank);
        for activity in self.ranks.activities_of(self.layout.job(job).first_rank + rank) {
            if matches!(activity.phase, Phase::Parked | Phase::Ready) {
                continue;
            }
            let time = now.saturating_sub(activity.since);
            match charge(&activity.op, self.waits_for_io(activity)) {
                Charge::Mpi => metrics.mpi += time,
                Charge::Io => metrics.io += time,
                // Both are charged when they begin.
                Charge::Nothing => {
                    metrics.compute = metrics.compute.saturating_sub(left_of(&activity.op, time));
                }
                Charge::Compute => {}
            }
        }
        metrics.computes_until(now);
        metrics
    }

    /// Waits for communication of ranks whose program states its parallelism, if the run ends at `now`.
    pub(crate) fn exposed_until(&self, now: Time) -> Vec<(u32, ExposedTime)> {
        let of_rank = |(rank, mut time): (u32, ExposedTime)| {
            for activity in self.ranks.activities_of(rank) {
                let begun = !matches!(activity.phase, Phase::Parked | Phase::Ready);
                if begun && charge(&activity.op, self.waits_for_io(activity)) == Charge::Mpi {
                    ExposedLog::add(&mut time, &self.layout, (rank, &activity.op), activity.since, now);
                }
            }
            (rank, time)
        };
        self.observers.exposed.iter(&self.layout).map(of_rank).collect()
    }

    /// Whether the request of `activity` that completed last was for I/O.
    fn waits_for_io(&self, activity: &Activity) -> bool {
        activity.call != NIL && self.mpi.calls.get(activity.call).for_io
    }

    /// The status of all jobs in this part.
    pub fn job_statuses(&self) -> JobStatuses {
        let mut jobs = vec![JobStatus::default(); self.layout.jobs.len()];
        for (rank, metrics) in self.observers.records.all_metrics() {
            jobs[usize::from(self.layout.place(rank).job)].add_rank(metrics);
        }
        for (number, job) in (0..).zip(&mut jobs) {
            if self.layout.has(self.layout.job(number).first_rank) {
                job.awaited = self.jobs.awaited(number);
            }
        }
        JobStatuses::new(jobs, self.jobs.last_effective())
    }

    /// Whether [`note_effect`](Self::note_effect) records anything.
    #[inline(always)]
    pub fn notes_effects(&self) -> bool {
        self.jobs.notes_effects()
    }

    /// Records an effect at `lp`; call it for every event that the hosts do not handle themselves.
    #[inline]
    pub fn note_effect<M: Mode>(&mut self, lp: Lp, now: Time) {
        self.jobs.note_effect::<M>(lp, now);
    }

    /// Whether some sources send until other jobs end, so that the run may have events forever.
    pub fn may_be_endless(&self) -> bool {
        self.layout.jobs.iter().any(|job| !job.until.is_empty())
    }

    /// Whether `event` has no effect: the event of a stopped source, or a timeout whose answer has arrived.
    pub fn is_without_effect(&self, event: &HostEvent) -> bool {
        match *event {
            HostEvent::Generate { rank } => self.sources.is_stopped(rank),
            HostEvent::ClientTimeout { attempt } => self.io.client.has_ended(attempt),
            HostEvent::DeviceFails { server } => !self.io.is_server_busy(server),
            _ => false,
        }
    }

    /// Whether `event` can do more than make an endless source send. Messages of sources do not count. Sources that end
    /// by themselves do, since their end is a signal to the jobs that wait for them.
    pub fn is_progress(&self, event: &HostEvent) -> bool {
        match *event {
            HostEvent::Generate { rank } => {
                self.layout.job_of(rank).program.ends_by_itself() && !self.sources.is_stopped(rank)
            }
            HostEvent::LocalSent { message } | HostEvent::LocalArrived { message } => {
                !self.transport.local(message).payload.is_synthetic()
            }
            HostEvent::ClientTimeout { attempt } => !self.io.client.has_ended(attempt),
            HostEvent::DeviceFails { server } => self.io.is_server_busy(server),
            HostEvent::ClientRetry { .. }
            | HostEvent::Start { .. }
            | HostEvent::Resume { .. }
            | HostEvent::StepEnds { .. }
            | HostEvent::DeviceBegins { .. }
            | HostEvent::DeviceDone { .. }
            | HostEvent::DrainDone { .. }
            | HostEvent::CachesWritten { .. }
            | HostEvent::FromFileSystem { .. }
            | HostEvent::MetadataDone { .. } => true,
        }
    }

    /// The first failure in this part.
    pub(crate) fn first_failure(&self) -> Option<(Time, Failure)> {
        let failures = self.failures.as_slice().iter();
        failures.min_by_key(|(at, failure)| (*at, failure.place())).copied()
    }

    /// Checks that nothing is left in this part after a completed run: no receive, request, message or file transfer. A
    /// run with leftovers of programs does not count as completed
    /// ([`RunState::outcome`](crate::RunState::outcome)).
    ///
    /// # Errors
    /// Describes the first leftover and its place.
    pub fn audit(&self) -> Result<(), String> {
        measured::audit_lost_time(&self.observers.lost, &self.observers.records, &self.layout)?;
        let (matching, requests) = (&self.mpi.matching, &self.mpi.requests);
        // Persistent requests that were not freed are allowed.
        let mut kept = 0;
        for rank in matching.ranks() {
            let idle = requests.of_rank(rank).filter(|request| request.is_idle()).count();
            kept += idle as u32;
            let left = [
                (matching.posted(rank).count(), "receives have no message"),
                (matching.unexpected(rank).count(), "messages were never received"),
                (requests.of_rank(rank).count() - idle, "requests were never waited for"),
                (
                    matching.held(rank),
                    "messages wait for an earlier one that never arrived",
                ),
            ];
            if let Some((count, what)) = left.into_iter().find(|&(count, _)| count > 0) {
                return Err(format!("{}: {count} {what}", self.layout.name(rank)));
            }
        }
        let [outgoing, incoming] = self.mpi.rendezvous.live();
        let [locks, notices] = self.mpi.windows.live();
        let left = [
            (requests.live() - kept, "requests"),
            (outgoing, "messages to be sent"),
            (incoming, "messages to be received"),
            (self.mpi.deferred.live(), "deferred protocol actions"),
            (locks, "locks of windows"),
            (notices, "notices of one-sided epochs"),
            (self.ranks.live(), "operations"),
            (self.mpi.calls.live(), "calls"),
            (self.transport.live(), "messages within nodes"),
            (self.transport.interfaces.live(), "divided messages"),
            (self.io.calls.live(), "file transfers"),
            (self.io.client.live(), "requests to storage"),
            (self.io.servers.locks.live(), "requests that hold locks"),
        ];
        if let Some((count, what)) = left.into_iter().find(|&(count, _)| count > 0) {
            return Err(format!("{count} {what} are still open"));
        }
        self.jobs.audit()?;
        self.observers.fault_waits.audit()?;
        self.io.audit()
    }
}

/// The time that operation `op`, which began `time` ago, will still take, if its duration is known.
fn left_of(op: &Op, time: Time) -> Time {
    match op.kind {
        OpKind::Elapsed(times) => times.end.saturating_sub(time),
        _ => Time::ZERO,
    }
}
