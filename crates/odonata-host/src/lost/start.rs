//! Lost time between jobs: how much later a job starts because those that it starts after, or its stage-in, were kept waiting.
//!
//! ```text
//!  ranks of a job end ──> rank 0 of it ──> rank 0 of the job that starts after it ──> its ranks
//!  (t, v + s)             join of all      join of all jobs that it starts after      (t, s)
//! ```
//!
//! `v` is what a rank has lost from its start on, `s` what it had lost by then, which is kept apart: how long a job takes does not
//! depend on when it starts, and a job alone starts at once. In `s` all is of [`Kind::Start`](odonata_blame::lost::Kind::Start).

use super::{LostTime, Of, Origin};
use odonata_blame::lost::{Stamp, add, to_start};
use odonata_engine::{Mode, Time};

impl LostTime {
    /// `rank` of a job may start, some time after now: because of what is handled.
    pub(crate) fn may_start<M: Mode>(&mut self, rank: u32) {
        if self.is_on() && !self.current.losses.is_empty() {
            self.current.origin = Origin::NONE;
            to_start(&mut self.current.losses);
            self.note::<M>(Of::Start(rank));
        }
    }

    /// The program of `rank` starts: what was lost before is kept apart.
    pub(crate) fn start_rank<M: Mode>(&mut self, rank: u32, job: u16, now: Time) {
        self.may_start::<M>(rank);
        self.begins(now);
        self.current.belongs_to(job);
        if self.path.is_on() {
            self.current.origin = Origin { rank, number: 0 };
        }
        self.note::<M>(Of::Rank(rank));
    }

    /// `rank` has come to its end, at `end`: what it has lost until then, before its start too, is handled. A source that was told to
    /// stop ends because of that; it has lost nothing itself, but who starts after it has.
    pub(crate) fn ends<M: Mode>(&mut self, rank: u32, end: Time) {
        if !self.is_on() {
            return;
        }
        if self.stamps.has(Of::Told(rank).key()) {
            self.is_complete::<M>(Of::Told(rank), end);
            return;
        }
        let Stamp {
            at,
            job,
            origin,
            mut losses,
            ..
        } = self.stamp(Of::Rank(rank)).unwrap_or_default().later(end);
        let before = self.stamp(Of::Start(rank)).unwrap_or_default();
        before.losses.into_iter().for_each(|loss| add(&mut losses, loss));
        self.current = Stamp {
            origin,
            ..Stamp::new(at, job, losses)
        };
    }

    /// Job `job` waits for what is handled: what that has lost is the fault of others.
    pub(crate) fn concerns(&mut self, job: u16) {
        if self.is_on() {
            self.current.belongs_to(job);
        }
    }
}
