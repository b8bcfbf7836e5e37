//! Which waiting jobs start now.
//!
//! | policy | a job starts if its nodes are available, and |
//! |---|---|
//! | `replay` | its recorded start has come |
//! | `fcfs` | no job waits ahead of it |
//! | `easy` | the first waiting job is not delayed: the job ends before that one can start, or leaves it enough nodes |
//! | `conservative` | every job ahead of it keeps its planned start |
//!
//! Plans use time limits; a job that ends early makes room for new plans.

use crate::batch::Batch;
use crate::job::Micros;
use crate::settings::{Order, Policy};
use crate::timetable::Timetable;

impl Batch {
    /// Starts the waiting jobs of a partition that may start now.
    pub(crate) fn start_jobs(&mut self, partition: usize) {
        self.order(partition);
        match self.settings.policy {
            Policy::Replay => self.replay(partition),
            Policy::Fcfs => {
                self.start_first(partition);
            }
            Policy::Easy => self.easy(partition),
            Policy::Conservative => self.conservative(partition),
        }
    }

    /// Orders the waiting jobs.
    fn order(&mut self, partition: usize) {
        let (jobs, usage) = (&self.jobs, &self.usage);
        let waiting = &mut self.waiting[partition];
        match self.settings.order {
            _ if self.settings.policy == Policy::Replay => {
                waiting.sort_by_key(|&job| (jobs[job as usize].start, jobs[job as usize].submit, job));
            }
            Order::Fcfs => waiting.sort_by_key(|&job| (jobs[job as usize].submit, job)),
            Order::Priority => waiting.sort_by(|&a, &b| {
                let (one, other) = (&jobs[a as usize], &jobs[b as usize]);
                other
                    .priority
                    .total_cmp(&one.priority)
                    .then((one.submit, a).cmp(&(other.submit, b)))
            }),
            Order::FairShare => waiting.sort_by(|&a, &b| {
                let (one, other) = (&jobs[a as usize], &jobs[b as usize]);
                usage
                    .of(one.user)
                    .total_cmp(&usage.of(other.user))
                    .then((one.submit, a).cmp(&(other.submit, b)))
            }),
            Order::Shortest => {
                waiting.sort_by_key(|&job| (jobs[job as usize].planned(), jobs[job as usize].submit, job));
            }
        }
    }

    fn replay(&mut self, partition: usize) {
        let due: Vec<u32> = self.waiting[partition]
            .iter()
            .copied()
            .filter(|&job| self.jobs[job as usize].start.is_none_or(|start| start <= self.now))
            .collect();
        for job in due {
            self.try_start(partition, job);
        }
    }

    /// Starts jobs in order; returns the first that cannot start.
    fn start_first(&mut self, partition: usize) -> Option<u32> {
        while let Some(&job) = self.waiting[partition].first() {
            if !self.try_start(partition, job) {
                return Some(job);
            }
        }
        None
    }

    /// The most waiting jobs that a pass looks at.
    fn depth(&self) -> usize {
        match self.settings.depth {
            0 => usize::MAX,
            depth => depth as usize,
        }
    }

    fn easy(&mut self, partition: usize) {
        let Some(first) = self.start_first(partition) else {
            return;
        };
        let (shadow, mut extra) = self.shadow(partition, first);
        let others: Vec<u32> = self.waiting[partition]
            .iter()
            .copied()
            .skip(1)
            .take(self.depth())
            .collect();
        let mut free = self.free_units(partition);
        for job in others {
            if free == 0 {
                break;
            }
            let request = &self.jobs[job as usize];
            let Some(needs) = self.pools[partition].needs(request.nodes) else {
                continue;
            };
            let is_short = self.now.saturating_add(request.planned()) <= shadow;
            if needs <= free && (is_short || needs <= extra) && self.try_start(partition, job) {
                free -= needs;
                if !is_short {
                    extra -= needs;
                }
            }
        }
    }

    /// The time at which `first` can start, and the units that it leaves at that time.
    fn shadow(&self, partition: usize, first: u32) -> (Micros, usize) {
        let (pool, request) = (&self.pools[partition], &self.jobs[first as usize]);
        let lasts = request.planned();
        let earliest = |at: usize| pool.units[at].earliest(self.now, lasts);
        if let Some(units) = self.listed(partition, first) {
            return (units.into_iter().map(earliest).max().unwrap_or(self.now), 0);
        }
        let Some(needs) = pool.needs(request.nodes).filter(|&needs| needs > 0) else {
            return (Micros::MAX, usize::MAX);
        };
        let mut times: Vec<Micros> = (0..pool.units.len()).map(earliest).collect();
        let (_, &mut shadow, _) = times.select_nth_unstable(needs - 1);
        let available = times.iter().filter(|&&time| time <= shadow).count();
        (shadow, available - needs)
    }

    /// Every job keeps its plan or gets an earlier one, in order; those planned for now start.
    fn conservative(&mut self, partition: usize) {
        let pool = &self.pools[partition];
        let mut table = Timetable::new(self.now, pool.units.len());
        for unit in &pool.units {
            let free = unit.free_from(self.now);
            table.change(self.now, free, -1);
            for &(from, to) in &unit.reserved {
                table.change(from.max(free), to.max(free), -1);
            }
        }
        let jobs: Vec<u32> = self.waiting[partition].iter().copied().take(self.depth()).collect();
        let needs: Vec<i64> = jobs
            .iter()
            .map(|&job| {
                pool.needs(self.jobs[job as usize].nodes)
                    .map_or(0, |needs| needs as i64)
            })
            .collect();
        let planned = |job: u32, at: Micros| (at, at.saturating_add(self.jobs[job as usize].planned()));
        for (&job, &needs) in jobs.iter().zip(&needs) {
            if let Some(at) = self.plans[job as usize] {
                let (from, to) = planned(job, at.max(self.now));
                table.change(from, to, -needs);
            }
        }
        let mut due = Vec::new();
        for (&job, &needs) in jobs.iter().zip(&needs) {
            let lasts = self.jobs[job as usize].planned();
            if let Some(at) = self.plans[job as usize] {
                let (from, to) = planned(job, at.max(self.now));
                table.change(from, to, needs);
            }
            let at = table.earliest(needs, lasts);
            self.plans[job as usize] = at;
            if let Some(at) = at {
                table.change(at, at.saturating_add(lasts), -needs);
                if at == self.now {
                    due.push(job);
                }
            }
        }
        for job in due {
            self.try_start(partition, job);
        }
    }
}
