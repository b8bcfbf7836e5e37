//! Job rules: a job that starts when others have ended, and sources that send until they are told.
//!
//! The news travels as messages, like everything that a rank hears of another; a daemon on each node of
//! a job, which is there before the job starts, passes it on:
//!
//! ```text
//!  ranks of the job that ends        its rank 0          rank 0 of a job that waits        its ranks
//!   Ended, up a binomial tree ────────> JobEnded, one message per job ──> Go or Stop, down a binomial tree
//! ```
//!
//! In the tree the parent of rank `r` is `r` with its lowest set bit cleared, so a job of `n` ranks takes
//! `n - 1` messages and `ceil(log2 n)` steps each way. A rank reports when it and all ranks below it have ended.
//! Rank 0 of a waiting job passes the news on when it has heard from every job that the rule names.
//!
//! Each is a message of [`CONTROL_BYTES`] that pays the software's delay and the interface's like one of MPI,
//! or takes the local path between ranks of a node. It counts as packets of the sender's job, but not
//! among the messages of its ranks, and occupies no rank.

use super::Hosts;
use super::event::{HostEvent, Outside};
use super::letter::{Kind, Letter, words};
use super::params::JobProgram;
use super::post::Shipment;
use odonata_engine::{Lp, Mode, Time};
use odonata_network::Content;

/// Size of a control message between ranks, in bytes: an envelope with job, rank and kind.
pub const CONTROL_BYTES: u64 = 64;

/// What a control message says; the first word of its letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    /// The sender and all ranks below it have ended.
    Ended = 0,
    /// The sender's job has ended.
    JobEnded = 1,
    /// The receiver's job may start.
    Go = 2,
    /// The receiver's source shall stop.
    Stop = 3,
}

/// What rank 0 of a job has yet to hear of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Awaited {
    /// Jobs whose end it starts after.
    pub(crate) start: u16,
    /// Jobs whose end stops it.
    pub(crate) stop: u16,
}

/// A job that a rule keeps waiting at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingJob {
    /// Job, by its number.
    pub job: u16,
    /// Whether it has not started; else it sends until the others have ended.
    pub unstarted: bool,
    /// The jobs that it waits for and that have ranks which have not ended, with the number of these.
    pub waits_for: Vec<(u16, u32)>,
}

/// The ranks directly below `rank` of `ranks` in the binomial tree, those with most ranks below them first.
fn below(rank: u32, ranks: u32) -> impl Iterator<Item = u32> {
    let bits = match rank {
        0 => u32::BITS - ranks.saturating_sub(1).leading_zeros(),
        _ => rank.trailing_zeros(),
    };
    (0..bits)
        .rev()
        .map(move |bit| rank + (1 << bit))
        .filter(move |&child| child < ranks)
}

/// What each rank of a job of `ranks` ranks has to wait for before it reports: itself and those below it.
pub(crate) fn reports(ranks: u32) -> impl Iterator<Item = u32> {
    (0..ranks).map(move |rank| 1 + below(rank, ranks).count() as u32)
}

impl Hosts {
    /// Lets `rank` begin: at once, or after the delay that its job asks for.
    fn go<X: Outside>(&mut self, x: &mut X, rank: u32) {
        let place = self.places[rank as usize];
        match self.jobs[usize::from(place.job)].start {
            Time::ZERO => self.start_rank(x, rank),
            delay => x.schedule(place.lp, x.now() + delay, HostEvent::Start { rank }),
        }
    }

    /// Starts the program or the source of `rank`.
    pub(crate) fn start_rank<X: Outside>(&mut self, x: &mut X, rank: u32) {
        self.metrics.edit::<X>(rank).start = Some(x.now());
        match self.jobs[usize::from(self.places[rank as usize].job)].program {
            JobProgram::Program(_) => self.advance(x, rank),
            JobProgram::Synthetic { .. } => self.start_source(x, rank),
        }
    }

    /// `rank` has come to its end, which counts from `end`.
    pub(crate) fn end_rank<X: Outside>(&mut self, x: &mut X, rank: u32, end: Time) {
        let metrics = self.metrics.edit::<X>(rank);
        metrics.finished = true;
        metrics.end = end;
        let job = &self.jobs[usize::from(self.places[rank as usize].job)];
        if !job.watchers.is_empty() {
            self.report(x, rank);
        }
    }

    /// `rank`, or all ranks of a branch below it, have ended.
    fn report<X: Outside>(&mut self, x: &mut X, rank: u32) {
        let missing = self.unreported.edit::<X>(rank);
        *missing -= 1;
        if *missing > 0 {
            return;
        }
        let number = self.places[rank as usize].job;
        let job = &self.jobs[usize::from(number)];
        let local = rank - job.first_rank;
        if local > 0 {
            let parent = job.first_rank + (local & (local - 1));
            self.tell(x, rank, parent, News::Ended);
            return;
        }
        for watcher in 0..job.watchers.len() {
            let waiting = self.jobs[usize::from(number)].watchers[watcher];
            let root = self.jobs[usize::from(waiting)].first_rank;
            self.tell(x, rank, root, News::JobEnded);
        }
    }

    /// Passes `news` on to the ranks directly below `rank`.
    fn pass_on<X: Outside>(&mut self, x: &mut X, rank: u32, news: News) {
        let job = &self.jobs[usize::from(self.places[rank as usize].job)];
        let (first, ranks) = (job.first_rank, job.ranks);
        for child in below(rank - first, ranks) {
            self.tell(x, rank, first + child, news);
        }
    }

    fn tell<X: Outside>(&mut self, x: &mut X, from: u32, to: u32, news: News) {
        let shipment = Shipment {
            source: self.end_of_rank(from),
            target: self.end_of_rank(to),
            bytes: CONTROL_BYTES,
            traffic: Self::traffic(self.places[from as usize].job, false),
            letter: Letter {
                kind: Kind::News,
                to,
                from,
                words: words(&[news as u32]),
            },
            created: x.now(),
            software: self.send_software(CONTROL_BYTES),
            notify_sent: false,
            notify_arrived: true,
        };
        self.ship(x, shipment);
    }

    /// A control message has arrived.
    pub(crate) fn news_arrived<X: Outside>(&mut self, x: &mut X, letter: Letter) {
        let rank = letter.to;
        match letter.words[0] {
            news if news == News::Ended as u32 => self.report(x, rank),
            news if news == News::JobEnded as u32 => {
                let ended = self.places[letter.from as usize].job;
                self.job_ended(x, rank, ended);
            }
            news if news == News::Go as u32 => {
                self.pass_on(x, rank, News::Go);
                self.go(x, rank);
            }
            _ => {
                self.pass_on(x, rank, News::Stop);
                self.stop_source(x, rank);
            }
        }
    }

    /// `rank`, which is rank 0 of its job, hears that job `ended` has.
    fn job_ended<X: Outside>(&mut self, x: &mut X, rank: u32, ended: u16) {
        let number = self.places[rank as usize].job;
        let job = &self.jobs[usize::from(number)];
        let (starts, stops) = (job.start_after.contains(&ended), job.until.contains(&ended));
        let awaited = self.awaited.edit::<X>(u32::from(number));
        awaited.start -= u16::from(starts);
        awaited.stop -= u16::from(stops);
        let (go, stop) = (starts && awaited.start == 0, stops && awaited.stop == 0);
        if go {
            self.pass_on(x, rank, News::Go);
            self.go(x, rank);
        }
        if stop {
            self.pass_on(x, rank, News::Stop);
            self.stop_source(x, rank);
        }
    }

    /// Something has happened at `lp`; to be called for every event that the hosts do not handle themselves.
    #[inline]
    pub fn touch<M: Mode>(&mut self, lp: Lp, now: Time) {
        if !self.last.is_empty() {
            *self.last.edit::<M>(lp) = now;
        }
    }

    /// When something last happened in this part: sources that were told to stop leave events behind that do nothing
    /// and may lie far ahead, and pipelined routers look for credits in vain. `None`: at the last event.
    pub(crate) fn last_event(&self) -> Option<Time> {
        self.last.iter().max().copied()
    }

    /// Whether there are sources that send until they are told, so that a run may have events for ever.
    pub fn may_be_endless(&self) -> bool {
        self.jobs.iter().any(|job| !job.until.is_empty())
    }

    /// Whether `event` is that of a source which has been told to stop, and does nothing.
    pub fn is_void_event(&self, event: &HostEvent) -> bool {
        matches!(*event, HostEvent::Generate { rank } if self.is_void(rank))
    }

    /// Whether `event` can do more than let a source send that has no end of its own: of the hosts, and not about a
    /// source's message. Who waits for a source that has one will be told.
    pub fn is_progress(&self, event: &HostEvent) -> bool {
        match *event {
            HostEvent::Generate { rank } => self.ends_by_itself(rank) && !self.is_void(rank),
            HostEvent::LocalSent { parcel } | HostEvent::LocalArrived { parcel } => {
                Letter::unpack(self.parcels.get(parcel).content).kind != Kind::Source
            }
            HostEvent::Start { .. }
            | HostEvent::Resume { .. }
            | HostEvent::DeviceDone { .. }
            | HostEvent::DrainDone { .. } => true,
        }
    }

    /// Whether the source on `rank` comes to its end even if nobody tells it to stop.
    fn ends_by_itself(&self, rank: u32) -> bool {
        let job = &self.jobs[usize::from(self.places[rank as usize].job)];
        match &job.program {
            JobProgram::Program(_) => true,
            JobProgram::Synthetic { source, .. } => source.messages.is_some() || source.stop.is_some(),
        }
    }

    /// Whether a message with this content is more than the message of a source.
    pub fn is_progress_message(content: Content) -> bool {
        Letter::unpack(content).kind != Kind::Source
    }

    /// What rank 0 of `job`, which is of this part, has yet to hear of.
    pub(crate) fn awaited(&self, job: u16) -> Awaited {
        *self.awaited.get(u32::from(job))
    }

    /// Checks that all news of jobs has come to those whom it is for.
    ///
    /// # Errors
    /// Says who has not heard.
    pub(crate) fn audit_news(&self) -> Result<(), String> {
        if let Some((rank, _)) = self.unreported.iter().find(|&(_, &missing)| missing > 0) {
            return Err(format!("{} has not reported its end", self.name(rank)));
        }
        let heard = |job: &u16| !self.has(self.job(*job).first_rank) || self.awaited(*job) == Awaited::default();
        match (0..self.jobs()).find(|job| !heard(job)) {
            None => Ok(()),
            Some(job) => Err(format!("job \"{}\" has not heard of another's end", self.job(job).name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_but_the_first_has_one_parent_which_clears_its_lowest_bit() {
        for ranks in 1..70 {
            let mut parents = vec![None; ranks as usize];
            for rank in 0..ranks {
                for child in below(rank, ranks) {
                    assert_eq!(child & (child - 1), rank);
                    assert_eq!(parents[child as usize].replace(rank), None);
                }
            }
            assert!(parents[0].is_none() && parents[1..].iter().all(Option::is_some));
            // A rank is as many steps from rank 0 as it has set bits.
            assert_eq!(reports(ranks).sum::<u32>(), ranks + ranks - 1);
        }
        assert_eq!(below(0, 8).collect::<Vec<_>>(), [4, 2, 1]);
    }
}
