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

use super::{Dependent, StampTable};
use odonata_blame::lost::{Origin, Stamp, add, to_start};
use odonata_engine::{Mode, Time};

/// Permits `rank` of a job to start at some later time, because of the current event.
pub(super) fn may_start<M: Mode>(stamps: &mut StampTable, rank: u32) {
    if stamps.is_on() && !stamps.current.losses.is_empty() {
        stamps.current.origin = Origin::NONE;
        to_start(&mut stamps.current.losses);
        stamps.note::<M>(Dependent::Start(rank));
    }
}

/// Starts the program of `rank` of `job`; the loss before the start is kept apart. `has_path`: its waits are recorded.
pub(super) fn start_rank<M: Mode>(stamps: &mut StampTable, (rank, job): (u32, u16), has_path: bool, now: Time) {
    may_start::<M>(stamps, rank);
    stamps.begins(now);
    stamps.current.belongs_to(job);
    if has_path {
        stamps.current.origin = Origin { rank, number: 0 };
    }
    stamps.note::<M>(Dependent::Rank(rank));
}

/// Ends `rank` at `end` and makes its loss current, including that before its start. A source that was stopped ends
/// because of the stop signal: it has lost nothing itself, but the jobs that start after it have.
pub(super) fn end_rank<M: Mode>(stamps: &mut StampTable, rank: u32, end: Time) {
    if !stamps.is_on() {
        return;
    }
    if stamps.has(Dependent::StopNotice(rank)) {
        stamps.is_complete::<M>(Dependent::StopNotice(rank), end);
        return;
    }
    let Stamp {
        at,
        job,
        origin,
        mut losses,
        ..
    } = stamps.stamp(Dependent::Rank(rank)).unwrap_or_default().later(end);
    let before = stamps.stamp(Dependent::Start(rank)).unwrap_or_default();
    before.losses.into_iter().for_each(|loss| add(&mut losses, loss));
    stamps.is_now(Stamp {
        origin,
        ..Stamp::new(at, job, losses)
    });
}

/// Makes job `job` depend on the current stamp, whose loss other jobs caused.
pub(super) fn concerns(stamps: &mut StampTable, job: u16) {
    if stamps.is_on() {
        stamps.current.belongs_to(job);
    }
}
