//! Unfinished work: the amount of work that a scenario specifies, and the part that is done, for runs that end early.
//!
//! | job | required work |
//! |---|---|
//! | with a program | all ranks end |
//! | synthetic traffic with `messages` | that number of messages per sending rank |
//! | synthetic traffic without `messages` | none; it continues until its end |

use crate::Hosts;
use crate::job::status::{JobStatus, JobStatuses};
use crate::params::JobProgram;

const MOST_DESCRIBED: usize = 10;

impl Hosts {
    /// Descriptions of the unfinished work of jobs, given the status of all parts; one text per job, at most ten.
    pub fn unfinished_work(&self, statuses: &JobStatuses) -> Vec<String> {
        let each = (0..self.jobs()).filter_map(|job| self.unfinished_work_of(job, statuses.of(job)));
        shorten(each)
    }

    /// Descriptions of sources that ended correctly before their maximum number of messages: at a `stop` time or on a
    /// stop signal. One text per job, at most ten.
    pub fn unsent(&self, statuses: &JobStatuses) -> Vec<String> {
        let one = |job: u16| {
            let (sent, asked) = (statuses.of(job).sent, self.required_messages(job)?);
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
            (sent < asked).then(|| format!("job \"{name}\" sent {sent} of {asked} messages by {end}"))
        };
        shorten((0..self.jobs()).filter_map(one))
    }

    /// Number of messages required from the sources of `job`; `None` if the scenario sets none.
    fn required_messages(&self, job: u16) -> Option<u64> {
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
        match (self.job(job).synthetic, self.required_messages(job)) {
            (false, _) => Some(format!("job \"{name}\": {finished} of {ranks} ranks have ended")),
            (true, Some(asked)) if sent < asked => Some(format!("job \"{name}\" has sent {sent} of {asked} messages")),
            (true, _) => None,
        }
    }
}

/// The first texts, and the number of further ones.
fn shorten(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut all = texts.fuse();
    let mut list: Vec<String> = all.by_ref().take(MOST_DESCRIBED).collect();
    match all.count() {
        0 => {}
        more => list.push(format!("and {more} more jobs")),
    }
    list
}
