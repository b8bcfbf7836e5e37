//! Unfinished work: what a scenario asks for in numbers, and how much of it has been done: for runs that end before all is.
//!
//! | a job | asks for |
//! |---|---|
//! | with a program | that all its ranks come to their end |
//! | of synthetic traffic with `messages` | so many messages of each rank that sends |
//! | of synthetic traffic without | nothing but to go on until its end |

use crate::Hosts;
use crate::job::status::{JobStatus, JobStatuses};
use crate::params::JobProgram;

/// The most jobs that are described.
const MOST_DESCRIBED: usize = 10;

impl Hosts {
    /// What jobs were asked for and have not done, given how all parts stand; a text per job, of ten at most.
    pub fn unfinished_work(&self, statuses: &JobStatuses) -> Vec<String> {
        let each = (0..self.jobs()).filter_map(|job| self.unfinished_work_of(job, statuses.of(job)));
        shorten(each)
    }

    /// Sources that have ended as they should before they had sent as many messages as they may: at a `stop` that the
    /// scenario names, or when they were told. A text per job, of ten at most.
    pub fn unsent(&self, statuses: &JobStatuses) -> Vec<String> {
        let one = |job: u16| {
            let (sent, asked) = (statuses.of(job).sent, self.asked(job)?);
            let end = match self.layout.job(job).program {
                JobProgram::Synthetic { ref source, .. } => match source.stop {
                    Some(stop) if source.stopped_by_job => {
                        format!("its stop at {stop}, or the end of the jobs that it waits for")
                    }
                    Some(stop) => format!("its stop at {stop}"),
                    None => "the end of the jobs that it waits for".into(),
                },
                JobProgram::Program(_) => return None,
            };
            let name = self.job(job).name;
            (sent < asked).then(|| format!("job \"{name}\" has sent {sent} of {asked} messages until {end}"))
        };
        shorten((0..self.jobs()).filter_map(one))
    }

    /// Messages that the scenario asks of the sources of `job`; `None` if it asks for no number.
    fn asked(&self, job: u16) -> Option<u64> {
        let plan = self.layout.job(job);
        let JobProgram::Synthetic { source, .. } = &plan.program else {
            return None;
        };
        let messages = source.messages?;
        let senders = (0..plan.ranks).filter(|&rank| source.sends(rank, plan.ranks)).count() as u64;
        Some(messages.saturating_mul(senders))
    }

    fn unfinished_work_of(&self, job: u16, status: &JobStatus) -> Option<String> {
        let JobStatus {
            ranks,
            finished,
            started,
            sent,
            ..
        } = *status;
        if finished == ranks {
            return None;
        }
        let name = self.job(job).name;
        if started.is_none() {
            return Some(format!("job \"{name}\" has not started"));
        }
        match (self.job(job).synthetic, self.asked(job)) {
            (false, _) => Some(format!(
                "job \"{name}\": {finished} of {ranks} ranks have come to their end"
            )),
            (true, Some(asked)) if sent < asked => Some(format!("job \"{name}\" has sent {sent} of {asked} messages")),
            (true, _) => None,
        }
    }
}

/// The first texts, and how many more there are.
fn shorten(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut all = texts.fuse();
    let mut list: Vec<String> = all.by_ref().take(MOST_DESCRIBED).collect();
    match all.count() {
        0 => {}
        more => list.push(format!("and {more} jobs more")),
    }
    list
}
