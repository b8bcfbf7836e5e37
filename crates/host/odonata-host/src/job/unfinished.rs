//! Unfinished work: the amount of work that a scenario specifies, and the part that is done, for runs that end early.
//!
//! | job | required work |
//! |---|---|
//! | with a program | all ranks end |
//! | synthetic traffic with `messages` | that number of messages per sending rank |
//! | synthetic traffic without `messages` | none; it continues until its end |

use crate::job::status::{JobStatus, JobStatuses};
use crate::layout::JobPlan;
use crate::params::JobProgram;
use crate::view::JobPlans;

const MOST_DESCRIBED: usize = 10;

impl JobStatuses {
    /// Descriptions of the unfinished work of jobs; one text per job, at most ten.
    pub fn unfinished_work(&self, plans: JobPlans<'_>) -> Vec<String> {
        let each = (0..).zip(plans.0);
        shorten(each.filter_map(|(job, plan)| plan.unfinished_work(self.of(job))))
    }

    /// Descriptions of sources that ended correctly before their maximum number of messages: at a `stop` time or on a
    /// stop signal. One text per job, at most ten.
    pub fn unsent(&self, plans: JobPlans<'_>) -> Vec<String> {
        let one = |(job, plan): (u16, &JobPlan)| {
            let (sent, asked) = (self.of(job).sent, plan.required_messages()?);
            let end = match plan.program {
                JobProgram::Synthetic { ref source, .. } => match source.stop {
                    Some(stop) if source.stopped_by_job => {
                        format!("its stop at {stop}, or the end of the jobs that it waits for")
                    }
                    Some(stop) => format!("its stop at {stop}"),
                    None => "the end of the jobs that it waits for".into(),
                },
                JobProgram::Program(_) => return None,
            };
            let name = &plan.name;
            (sent < asked).then(|| format!("job \"{name}\" sent {sent} of {asked} messages by {end}"))
        };
        shorten((0..).zip(plans.0).filter_map(one))
    }
}

impl JobPlan {
    /// Number of messages required from its sources; `None` if the scenario sets none.
    fn required_messages(&self) -> Option<u64> {
        let JobProgram::Synthetic { source, .. } = &self.program else {
            return None;
        };
        let messages = source.messages?;
        let senders = (0..self.ranks).filter(|&rank| source.sends(rank, self.ranks)).count() as u64;
        Some(messages.saturating_mul(senders))
    }

    fn unfinished_work(&self, status: &JobStatus) -> Option<String> {
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
        let name = &self.name;
        if started.is_none() {
            return Some(format!("job \"{name}\" has not started"));
        }
        match (self.is_synthetic(), self.required_messages()) {
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
