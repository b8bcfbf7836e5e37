//! Lost time between jobs: the delay of a job's start by the jobs that it starts after, or by its stage-in.
//!
//! ```text
//!  ranks of a job end ──> rank 0 of it ──> rank 0 of the job that starts after it ──> its ranks
//!  (t, v + s)             join of all      join of all jobs that it starts after      (t, s)
//! ```
//!
//! `v` is the loss of a rank since its start and `s` its loss before the start. They are kept apart: the duration of a
//! job does not depend on its start time, and a job alone starts immediately. All of `s` has
//! [`Kind::Start`](odonata_blame::lost::Kind::Start).

use super::{Dependent, LostTime, Origin};
use odonata_blame::lost::{Stamp, add, to_start};
use odonata_engine::{Mode, Time};

impl LostTime {
    /// Permits `rank` of a job to start at some later time, because of the current event.
    pub(crate) fn may_start<M: Mode>(&mut self, rank: u32) {
        if self.is_on() && !self.current.losses.is_empty() {
            self.current.origin = Origin::NONE;
            to_start(&mut self.current.losses);
            self.note::<M>(Dependent::Start(rank));
        }
    }

    /// Starts the program of `rank`; the loss before the start is kept apart.
    pub(crate) fn start_rank<M: Mode>(&mut self, rank: u32, job: u16, now: Time) {
        self.may_start::<M>(rank);
        self.begins(now);
        self.current.belongs_to(job);
        if self.path.is_on() {
            self.current.origin = Origin { rank, number: 0 };
        }
        self.note::<M>(Dependent::Rank(rank));
    }

    /// Ends `rank` at `end` and makes its loss current, including that before its start. A source that was stopped ends
    /// because of the stop signal: it has lost nothing itself, but the jobs that start after it have.
    pub(crate) fn ends<M: Mode>(&mut self, rank: u32, end: Time) {
        if !self.is_on() {
            return;
        }
        if self.stamps.has(Dependent::StopNotice(rank).key()) {
            self.is_complete::<M>(Dependent::StopNotice(rank), end);
            return;
        }
        let Stamp {
            at,
            job,
            origin,
            mut losses,
            ..
        } = self.stamp(Dependent::Rank(rank)).unwrap_or_default().later(end);
        let before = self.stamp(Dependent::Start(rank)).unwrap_or_default();
        before.losses.into_iter().for_each(|loss| add(&mut losses, loss));
        self.current = Stamp {
            origin,
            ..Stamp::new(at, job, losses)
        };
    }

    /// Makes job `job` depend on the current stamp, whose loss other jobs caused.
    pub(crate) fn concerns(&mut self, job: u16) {
        if self.is_on() {
            self.current.belongs_to(job);
        }
    }
}
