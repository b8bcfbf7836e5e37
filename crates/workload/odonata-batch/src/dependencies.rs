//! Jobs that wait for the ends of others.
//!
//! A job is *due* once it was submitted and all jobs that it waits for have ended.

use crate::job::Job;

/// The dependencies of all jobs.
pub(crate) struct Dependencies {
    /// Jobs that wait for each job.
    followers: Vec<Vec<u32>>,
    /// Number of jobs that each one waits for, and whether it was submitted.
    awaits: Vec<u32>,
    submitted: Vec<bool>,
}

impl Dependencies {
    /// Those of a job list.
    pub(crate) fn new(jobs: &[Job]) -> Dependencies {
        let mut followers = vec![Vec::new(); jobs.len()];
        for (number, job) in jobs.iter().enumerate() {
            for &other in &job.after {
                followers[other as usize].push(number as u32);
            }
        }
        Dependencies {
            followers,
            awaits: jobs.iter().map(|job| job.after.len() as u32).collect(),
            submitted: vec![false; jobs.len()],
        }
    }

    /// A job is submitted.
    pub(crate) fn submit(&mut self, job: u32) {
        self.submitted[job as usize] = true;
    }

    /// A job has ended; returns the jobs that waited for it.
    pub(crate) fn end(&mut self, job: u32) -> Vec<u32> {
        let followers = std::mem::take(&mut self.followers[job as usize]);
        for &follower in &followers {
            self.awaits[follower as usize] -= 1;
        }
        followers
    }

    /// Whether a job is due.
    pub(crate) fn is_due(&self, job: u32) -> bool {
        self.submitted[job as usize] && self.awaits[job as usize] == 0
    }
}
