//! Lost time: how much later something happens because of waits, by whose fault and of which kind; carried along what
//! depends on it.
//!
//! A [`Stamp`] says when something happened, when it would have happened had nobody else been there, and without any waits at all,
//! and to whom the differences are due
//! (delay vectors: D. Böhme, M. Geimer, F. Wolf, L. Arnold, "Identifying the root causes of wait states in large-scale
//! parallel applications", ICPP 2010). Stamps are [joined](Stamp::join) where something needs several others: all three clocks take
//! the maximum (max-plus algebra). The time lost to others is that of the one that came last, the time lost to itself that of the one
//! that would have been last alone, each cut down to what is left of it.
//!
//! [`Stamps`] keeps them by key, journalled like all state; [`Vectors`] keeps what was lost, once for all that have lost the same.
//!
//! Where the chain is asked for that ends a job, a loss says *where* it was ([`LostAt`]) as long as it is not older than the
//! last [`Origin`] of its stamp: a point in the life of a rank up to which another table says the same. [`Stamp::rebase`]
//! begins anew at such a point.

mod stamps;
mod vectors;

pub use stamps::{Key, Stamps};
pub use vectors::{Vector, Vectors};

use crate::Owner;
use odonata_engine::{NIL, Time};

/// What kind of thing was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum Kind {
    /// A link that sent something else.
    Link,
    /// Room in the buffer behind a link, or a packet in front in the same FIFO.
    Buffer,
    /// Memory of a storage server.
    Memory,
    /// Space of a storage server.
    Space,
    /// A storage device.
    Device,
    /// A metadata server: a thread, or a directory.
    Metadata,
    /// A lock on a range of a file.
    Lock,
    /// The start of a job, which came later because others that it waits for did.
    Start,
}

impl Kind {
    /// All of them, by number.
    pub const ALL: [Kind; 8] = [
        Kind::Link,
        Kind::Buffer,
        Kind::Memory,
        Kind::Space,
        Kind::Device,
        Kind::Metadata,
        Kind::Lock,
        Kind::Start,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Link => "link",
            Kind::Buffer => "buffer",
            Kind::Memory => "memory",
            Kind::Space => "space",
            Kind::Device => "device",
            Kind::Metadata => "metadata",
            Kind::Lock => "lock",
            Kind::Start => "start",
        }
    }

    /// That of number `number`.
    pub fn of(number: u8) -> Option<Kind> {
        Kind::ALL.get(usize::from(number)).copied()
    }
}

/// Where something was waited for: a link, a storage server or a metadata server, by its number in the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct LostAt(pub u32);

impl LostAt {
    /// Not asked for, or before the origin.
    pub const NOWHERE: LostAt = LostAt(0);

    /// Since the origin, at one of the places that are not kept one by one ([`bound_places`]).
    pub const ELSEWHERE: LostAt = LostAt(1);

    const CLASS: u32 = 30;

    const fn new(class: u32, number: u32) -> LostAt {
        LostAt(class << Self::CLASS | (number & ((1 << Self::CLASS) - 1)))
    }

    /// At link `number`.
    pub const fn link(number: u32) -> LostAt {
        Self::new(1, number)
    }

    /// At storage server `number`.
    pub const fn server(number: u32) -> LostAt {
        Self::new(2, number)
    }

    /// At metadata server `number`.
    pub const fn metadata(number: u32) -> LostAt {
        Self::new(3, number)
    }

    /// Its class (0: nowhere or elsewhere; link, server, metadata) and number.
    pub const fn parts(self) -> (u32, u32) {
        (self.0 >> Self::CLASS, self.0 & ((1 << Self::CLASS) - 1))
    }

    /// Whether it is one place.
    pub const fn is_known(self) -> bool {
        self.0 >> Self::CLASS > 0
    }
}

/// A point in the life of a rank: of its waits that are recorded, the one of this number was the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Origin {
    /// The rank, counted over all jobs.
    pub rank: u32,
    /// Counted from 1; 0 is its start.
    pub number: u32,
}

impl Origin {
    /// Not asked for.
    pub const NONE: Origin = Origin { rank: NIL, number: 0 };
}

impl Default for Origin {
    fn default() -> Origin {
        Origin::NONE
    }
}

/// What a message takes along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Where it stems from.
    pub origin: Origin,
    /// What was lost, in order.
    pub losses: Vec<Loss>,
}

impl Carried {
    /// Whether it is that of something of which nothing is known.
    pub fn is_empty(&self) -> bool {
        self.losses.is_empty() && self.origin == Origin::NONE
    }
}

/// Time lost by the fault of one culprit in one kind of wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Loss {
    /// Who held what was waited for: a job.
    pub culprit: Owner,
    /// What that was.
    pub kind: Kind,
    /// Where.
    pub place: LostAt,
    /// How long.
    pub time: Time,
}

impl Loss {
    /// Whether it is the fault of `job`.
    pub fn is_of(&self, job: u16) -> bool {
        job_of(self.culprit) == job
    }

    fn name(&self) -> (Owner, Kind, LostAt) {
        (self.culprit, self.kind, self.place)
    }
}

/// The sum of losses.
pub fn total(losses: &[Loss]) -> Time {
    total_of(losses, |_| true)
}

/// The sum of those losses that `are` says.
fn total_of(losses: &[Loss], are: impl Fn(&Loss) -> bool) -> Time {
    let those = losses.iter().filter(|loss| are(loss));
    those.fold(Time::ZERO, |sum, loss| sum + loss.time)
}

/// Adds `loss` to `losses`, which are in order of culprit, kind and place and stay so.
pub fn add(losses: &mut Vec<Loss>, loss: Loss) {
    if loss.time == Time::ZERO {
        return;
    }
    match losses.binary_search_by_key(&loss.name(), Loss::name) {
        Ok(at) => losses[at].time += loss.time,
        Err(at) => losses.insert(at, loss),
    }
}

/// Scales `losses` down so that they add up to `sum` exactly, if they are more: each by the same share, rounded so that the
/// sums of the first ones are rounded down. What all places of a culprit and kind have together does not depend on the places.
pub fn scale(losses: &mut Vec<Loss>, sum: Time) {
    scale_those(losses, sum, |_| true);
}

/// The same of those losses that `are` says, beside others.
fn scale_those(losses: &mut Vec<Loss>, sum: Time, are: impl Fn(&Loss) -> bool) {
    let whole = total_of(losses, &are);
    if whole <= sum {
        return;
    }
    if sum == Time::ZERO {
        losses.retain(|loss| !are(loss));
        return;
    }
    let (mut before, mut given) = (Time::ZERO, Time::ZERO);
    for loss in losses.iter_mut().filter(|loss| are(loss)) {
        before += loss.time;
        let until = part(before, sum, whole);
        loss.time = until - given;
        given = until;
    }
    losses.retain(|loss| loss.time > Time::ZERO);
}

/// What `time` of `whole` is where that is cut down to `sum`, rounded down.
#[inline]
pub fn part(time: Time, sum: Time, whole: Time) -> Time {
    // Divisions of more than 64 bits cost ten times as much.
    match time.0.checked_mul(sum.0) {
        Some(product) => Time(product / whole.0),
        None => Time((u128::from(time.0) * u128::from(sum.0) / u128::from(whole.0)) as u64),
    }
}

/// Places that are kept one by one, when there were more than [`MOST_PLACES`].
const KEPT_PLACES: usize = 8;

/// Losses with a place that there may be at a time.
pub const MOST_PLACES: usize = 16;

/// Where `losses` have more places than [`MOST_PLACES`], keeps those with the largest losses, of equal ones the first, and puts all others of a
/// culprit and kind under [`LostAt::ELSEWHERE`]: no sum changes.
pub fn bound_places(losses: &mut Vec<Loss>) {
    let known = |loss: &&Loss| loss.place.is_known();
    if losses.len() <= MOST_PLACES || losses.iter().filter(known).count() <= MOST_PLACES {
        return;
    }
    let mut largest: Vec<(std::cmp::Reverse<Time>, (Owner, Kind, LostAt))> = (losses
        .iter()
        .filter(known)
        .map(|loss| (std::cmp::Reverse(loss.time), loss.name())))
    .collect();
    let (_, &mut last, _) = largest.select_nth_unstable(KEPT_PLACES - 1);
    let mut elsewhere: Option<usize> = None;
    let mut kept: Vec<Loss> = Vec::with_capacity(losses.len());
    for loss in losses.drain(..) {
        // What is left of a culprit and kind comes after what has no place, before all places.
        let of = |at: usize| (kept[at].culprit, kept[at].kind) == (loss.culprit, loss.kind);
        let folds = loss.place == LostAt::ELSEWHERE
            || (loss.place.is_known() && (std::cmp::Reverse(loss.time), loss.name()) > last);
        match elsewhere.filter(|&at| of(at)) {
            Some(at) if folds => kept[at].time += loss.time,
            None if folds => {
                let first = kept.partition_point(|of| of.name() < (loss.culprit, loss.kind, LostAt::ELSEWHERE));
                let place = LostAt::ELSEWHERE;
                kept.insert(first, Loss { place, ..loss });
                elsewhere = Some(first);
            }
            _ => kept.push(loss),
        }
    }
    *losses = kept;
}

/// Forgets where `losses` were.
pub fn without_places(losses: &mut Vec<Loss>) {
    losses.iter_mut().for_each(|loss| loss.place = LostAt::NOWHERE);
    losses.dedup_by(|next, sum| {
        let same = next.name() == sum.name();
        if same {
            sum.time += next.time;
        }
        same
    });
}

/// What jobs lost that have to end before another one starts: by whose fault that one does later, wherever it was.
pub fn to_start(losses: &mut Vec<Loss>) {
    losses.iter_mut().for_each(|loss| loss.kind = Kind::Start);
    without_places(losses);
}

/// No job: of what belongs to nobody, all losses are the fault of others.
pub const NO_JOB: u16 = u16::MAX;

/// The job of a traffic: number `2 job` is its MPI, the next one its I/O.
pub const fn job_of(culprit: Owner) -> u16 {
    culprit / 2
}

/// When something happened, and what of that was lost to whom.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Stamp {
    /// When it happened.
    pub at: Time,
    /// When it would have happened had nobody else been there.
    pub alone: Time,
    /// When it would have happened without waits, for its own job too.
    pub undisturbed: Time,
    /// The job that it belongs to, or [`NO_JOB`].
    pub job: u16,
    /// The point from which on it is known where something was lost.
    pub origin: Origin,
    /// The difference, in order of culprit, kind and place.
    pub losses: Vec<Loss>,
}

impl Default for Stamp {
    fn default() -> Stamp {
        Stamp::start(Time::ZERO)
    }
}

impl Stamp {
    /// Something of `job` that happened at `at` with these losses.
    pub fn new(at: Time, job: u16, mut losses: Vec<Loss>) -> Stamp {
        scale(&mut losses, at);
        let mut stamp = Stamp {
            at,
            alone: at,
            undisturbed: at - total(&losses),
            job: NO_JOB,
            origin: Origin::NONE,
            losses,
        };
        stamp.belongs_to(job);
        stamp
    }

    /// Something of `job` that happened at `at`, with what was carried there.
    pub fn carried(at: Time, job: u16, carried: Carried) -> Stamp {
        Stamp {
            origin: carried.origin,
            ..Stamp::new(at, job, carried.losses)
        }
    }

    /// Something that began at `at`, with nothing lost.
    pub fn start(at: Time) -> Stamp {
        Stamp {
            at,
            alone: at,
            undisturbed: at,
            job: NO_JOB,
            origin: Origin::NONE,
            losses: Vec::new(),
        }
    }

    /// From here on it belongs to `job`: what is its own fault is that of this one.
    pub fn belongs_to(&mut self, job: u16) {
        self.job = job;
        self.alone = self.at - total_of(&self.losses, |loss| !loss.is_of(job));
    }

    /// From here on places count from `origin`: those until now are forgotten.
    pub fn rebase(&mut self, origin: Origin) {
        self.origin = origin;
        without_places(&mut self.losses);
    }

    /// What was lost in all.
    pub fn lost(&self) -> Time {
        self.at - self.undisturbed
    }

    /// What of that was lost to others.
    pub fn to_others(&self) -> Time {
        self.at - self.alone
    }

    /// The rest: what its own job has cost it.
    pub fn to_itself(&self) -> Time {
        self.alone - self.undisturbed
    }

    /// Where it leads to at `at`, when nothing more is lost.
    #[must_use]
    pub fn later(mut self, at: Time) -> Stamp {
        if at > self.at {
            self.alone += at - self.at;
            self.undisturbed += at - self.at;
            self.at = at;
        }
        self
    }

    /// What needs both this and `other`. It belongs to who this belongs to, if that is known.
    pub fn join(&mut self, other: &Stamp) {
        if self.job == NO_JOB {
            self.belongs_to(other.job);
        } else if other.job != self.job {
            let mut ours = other.clone();
            ours.belongs_to(self.job);
            self.join_own(&ours);
            return;
        }
        self.join_own(other);
    }

    /// The same where both belong to one job.
    fn join_own(&mut self, other: &Stamp) {
        let (alone, undisturbed) = (self.alone.max(other.alone), self.undisturbed.max(other.undisturbed));
        // Of two at the same instant the one that has lost less says how it would have been.
        let last = (other.at, self.to_others()) > (self.at, other.to_others());
        let last_alone = (other.alone, self.to_itself()) > (self.alone, other.to_itself());
        match (last, last_alone) {
            (true, true) => self.clone_from(other),
            (true, false) => {
                let own = self.clone();
                self.clone_from(other);
                self.takes_own_of(&own);
            }
            (false, true) => self.takes_own_of(other),
            (false, false) => {}
        }
        (self.alone, self.undisturbed) = (alone, undisturbed);
        self.cut();
    }

    /// It goes on until `until`, and loses `loss` of that time.
    pub fn loses(&mut self, loss: Loss, until: Time) {
        let passed = until.saturating_sub(self.at);
        let time = loss.time.min(passed);
        let alone = if loss.is_of(self.job) { passed } else { passed - time };
        self.at += passed;
        self.alone += alone;
        self.undisturbed += passed - time;
        add(&mut self.losses, Loss { time, ..loss });
    }

    /// It waits at `place` until `own` happens, for one of its own job that had what it waits for, and that it would have waited for alone,
    /// too; what it loses to itself by that is of this `kind`. Without others both would have been earlier, this one not before that.
    ///
    /// Of what that one had lost to others, this one had lost a part before, where it did; the rest it loses here.
    pub fn waits_for_own(&mut self, own: &Stamp, (culprit, kind, place): (Owner, Kind, LostAt)) {
        let job = self.job;
        self.at = own.at;
        self.alone = self.alone.max(own.alone);
        let mut to_others: Vec<Loss> = own.losses.iter().filter(|loss| !loss.is_of(job)).copied().collect();
        without_places(&mut to_others);
        scale(&mut to_others, self.to_others());
        let before = std::mem::take(&mut self.losses);
        for loss in to_others {
            let mut rest = loss.time;
            let alike = |known: &&Loss| (known.culprit, known.kind) == (loss.culprit, loss.kind);
            for known in before.iter().filter(alike) {
                let time = known.time.min(rest);
                add(&mut self.losses, Loss { time, ..*known });
                rest -= time;
            }
            let here = Loss {
                place,
                time: rest,
                ..loss
            };
            add(&mut self.losses, here);
        }
        let to_itself: Vec<Loss> = before.into_iter().filter(|loss| loss.is_of(job)).collect();
        let missing = Loss {
            culprit,
            kind,
            place,
            time: self.to_itself() - total(&to_itself),
        };
        to_itself.into_iter().for_each(|loss| add(&mut self.losses, loss));
        add(&mut self.losses, missing);
        bound_places(&mut self.losses);
    }

    /// What it has lost to itself is what `other` has. Of another origin it is not known where that was.
    fn takes_own_of(&mut self, other: &Stamp) {
        let job = self.job;
        self.losses.retain(|loss| !loss.is_of(job));
        for &loss in other.losses.iter().filter(|loss| loss.is_of(job)) {
            let place = match other.origin == self.origin {
                true => loss.place,
                false => LostAt::NOWHERE,
            };
            add(&mut self.losses, Loss { place, ..loss });
        }
    }

    /// Cuts down what was lost to others and to itself to what the clocks say.
    fn cut(&mut self) {
        let (others, own, job) = (self.to_others(), self.to_itself(), self.job);
        scale_those(&mut self.losses, others, |loss| !loss.is_of(job));
        scale_those(&mut self.losses, own, |loss| loss.is_of(job));
    }

    /// Without waits it would have happened at `undisturbed`, which is not earlier than it says.
    pub fn would_have_been(&mut self, undisturbed: Time) {
        self.undisturbed = undisturbed;
        self.cut();
    }

    /// Checks that the losses add up to the time lost, to others and to itself.
    ///
    /// # Errors
    /// Says what they add up to.
    pub fn audit(&self) -> Result<(), String> {
        let own = total_of(&self.losses, |loss| loss.is_of(self.job));
        let sums = (total(&self.losses), own);
        match sums == (self.lost(), self.to_itself()) {
            true => Ok(()),
            false => Err(format!(
                "lost time: contributions add up to {} ps, {} of them of its own, but {} ps were lost, {} to itself",
                sums.0.0,
                sums.1.0,
                self.lost().0,
                self.to_itself().0
            )),
        }
    }
}

#[cfg(test)]
mod tests;
