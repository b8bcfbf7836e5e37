//! Lost time: how much later something happens because of waits, by culprit and kind, carried along dependencies.
//!
//! A [`Stamp`] has three clocks: when something happened, when it would have happened without other jobs, and when
//! without any waits. It also says which culprits caused the differences (delay vectors: D. Böhme, M. Geimer, F. Wolf,
//! L. Arnold, "Identifying the root causes of wait states in large-scale parallel applications", ICPP 2010). Where
//! something depends on several stamps, they are [joined](Stamp::join): each clock takes the maximum (max-plus
//! algebra). Time lost to others comes from the stamp that is last, time lost to itself from the stamp that would be
//! last alone; both are cut to the remaining difference.
//!
//! [`Stamps`] keeps stamps by key, journaled like all state. [`Vectors`] shares equal losses.
//!
//! If the chain that ends a job is recorded, a loss has a place ([`LostAt`]) as long as it is newer than the [`Origin`]
//! of its stamp: a point in the life of a rank up to which another table has the places. [`Stamp::rebase`] moves the
//! origin.

mod stamps;
mod vectors;

pub use stamps::{Key, Stamps};
pub use vectors::{Vector, Vectors};

use crate::Owner;
use odonata_engine::{NIL, Time};

/// The kind of wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum Kind {
    /// A link that sends other packets.
    Link,
    /// Room in the buffer behind a link, or a packet ahead in the same FIFO.
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
    /// The start of a job, delayed by the jobs that it waits for.
    Start,
}

impl Kind {
    /// All kinds, by number.
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

    /// The kind with this number.
    pub fn of(number: u8) -> Option<Kind> {
        Kind::ALL.get(usize::from(number)).copied()
    }
}

/// Place of a wait: a link, a storage server or a metadata server, by its number in the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct LostAt(pub u32);

impl LostAt {
    /// No place: not recorded, or before the origin.
    pub const NOWHERE: LostAt = LostAt(0);

    /// After the origin, at a place that is not kept individually ([`bound_places`]).
    pub const OTHER: LostAt = LostAt(1);

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

    /// Its class (0: unknown or other; link, server, metadata) and number.
    pub const fn parts(self) -> (u32, u32) {
        (self.0 >> Self::CLASS, self.0 & ((1 << Self::CLASS) - 1))
    }

    /// Whether it is a single place.
    pub const fn is_known(self) -> bool {
        self.0 >> Self::CLASS > 0
    }
}

/// A point in the life of a rank: the number of its last recorded wait.
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

/// Losses carried by a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Where it stems from.
    pub origin: Origin,
    /// The losses, in order.
    pub losses: Vec<Loss>,
}

impl Carried {
    /// Whether there are neither losses nor an origin.
    pub fn is_empty(&self) -> bool {
        self.losses.is_empty() && self.origin == Origin::NONE
    }
}

/// Time lost to one culprit in one kind of wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Loss {
    /// The job that held the resource.
    pub culprit: Owner,
    /// What that was.
    pub kind: Kind,
    /// Where.
    pub place: LostAt,
    /// How long.
    pub time: Time,
}

impl Loss {
    /// Whether `job` is the culprit.
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

/// The sum of the losses that satisfy `are`.
fn total_of(losses: &[Loss], are: impl Fn(&Loss) -> bool) -> Time {
    let those = losses.iter().filter(|loss| are(loss));
    those.fold(Time::ZERO, |sum, loss| sum + loss.time)
}

/// Adds `loss` to `losses`, which are sorted by culprit, kind and place.
pub fn add(losses: &mut Vec<Loss>, loss: Loss) {
    if loss.time == Time::ZERO {
        return;
    }
    match losses.binary_search_by_key(&loss.name(), Loss::name) {
        Ok(at) => losses[at].time += loss.time,
        Err(at) => losses.insert(at, loss),
    }
}

/// Scales `losses` down to the exact sum `sum`, if they exceed it: each by the same factor, rounded such that prefix
/// sums are rounded down. The total of a culprit and kind does not depend on the places.
pub fn scale(losses: &mut Vec<Loss>, sum: Time) {
    scale_those(losses, sum, |_| true);
}

/// The same for the losses that satisfy `are`.
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

/// `time` scaled by `sum / whole`, rounded down.
#[inline]
pub fn part(time: Time, sum: Time, whole: Time) -> Time {
    // Divisions of more than 64 bits cost ten times as much.
    match time.0.checked_mul(sum.0) {
        Some(product) => Time(product / whole.0),
        None => Time((u128::from(time.0) * u128::from(sum.0) / u128::from(whole.0)) as u64),
    }
}

/// Places kept individually after exceeding [`MOST_PLACES`].
const KEPT_PLACES: usize = 8;

/// Maximum number of losses with a place.
pub const MOST_PLACES: usize = 16;

/// If `losses` have more than [`MOST_PLACES`] places, keeps the largest ones (the first of equals) and merges the rest
/// of each culprit and kind under [`LostAt::OTHER`]. All sums stay.
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
    let mut merged: Option<usize> = None;
    let mut kept: Vec<Loss> = Vec::with_capacity(losses.len());
    for loss in losses.drain(..) {
        // The merged rest of a culprit and kind sorts after the entry without a place, before all places.
        let of = |at: usize| (kept[at].culprit, kept[at].kind) == (loss.culprit, loss.kind);
        let folds = loss.place == LostAt::OTHER
            || (loss.place.is_known() && (std::cmp::Reverse(loss.time), loss.name()) > last);
        match merged.filter(|&at| of(at)) {
            Some(at) if folds => kept[at].time += loss.time,
            None if folds => {
                let first = kept.partition_point(|of| of.name() < (loss.culprit, loss.kind, LostAt::OTHER));
                let place = LostAt::OTHER;
                kept.insert(first, Loss { place, ..loss });
                merged = Some(first);
            }
            _ => kept.push(loss),
        }
    }
    *losses = kept;
}

/// Removes the places of `losses`.
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

/// Losses of jobs that another job waits for, as losses of its start; the places are dropped.
pub fn to_start(losses: &mut Vec<Loss>) {
    losses.iter_mut().for_each(|loss| loss.kind = Kind::Start);
    without_places(losses);
}

/// No job: for things without a job, all losses are losses to others.
pub const NO_JOB: u16 = u16::MAX;

/// The job of a traffic: number `2 job` is its MPI traffic, the next one its I/O.
pub const fn job_of(culprit: Owner) -> u16 {
    culprit / 2
}

/// When something happened, and the losses that delayed it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Stamp {
    /// When it happened.
    pub at: Time,
    /// When it would have happened without other jobs.
    pub alone: Time,
    /// When it would have happened without any waits, its own job's included.
    pub undisturbed: Time,
    /// Its job, or [`NO_JOB`].
    pub job: u16,
    /// Losses after this point have places.
    pub origin: Origin,
    /// The losses, by culprit, kind and place.
    pub losses: Vec<Loss>,
}

impl Default for Stamp {
    fn default() -> Stamp {
        Stamp::start(Time::ZERO)
    }
}

impl Stamp {
    /// A stamp of `job` at `at` with these losses.
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

    /// A stamp of `job` at `at` with the losses of a message.
    pub fn carried(at: Time, job: u16, carried: Carried) -> Stamp {
        Stamp {
            origin: carried.origin,
            ..Stamp::new(at, job, carried.losses)
        }
    }

    /// A stamp at `at` without losses.
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

    /// Moves the stamp to `job`, which decides which losses are its own.
    pub fn belongs_to(&mut self, job: u16) {
        self.job = job;
        self.alone = self.at - total_of(&self.losses, |loss| !loss.is_of(job));
    }

    /// Sets the origin and drops the places of earlier losses.
    pub fn rebase(&mut self, origin: Origin) {
        self.origin = origin;
        without_places(&mut self.losses);
    }

    /// Total time lost.
    pub fn lost(&self) -> Time {
        self.at - self.undisturbed
    }

    /// Time lost to other jobs.
    pub fn to_others(&self) -> Time {
        self.at - self.alone
    }

    /// Time lost to its own job.
    pub fn to_itself(&self) -> Time {
        self.alone - self.undisturbed
    }

    /// The stamp at `at`, without further losses.
    #[must_use]
    pub fn later(mut self, at: Time) -> Stamp {
        if at > self.at {
            self.alone += at - self.at;
            self.undisturbed += at - self.at;
            self.at = at;
        }
        self
    }

    /// Joins `other`: the result depends on both. Its job stays, if it has one.
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

    /// The same for two stamps of one job.
    fn join_own(&mut self, other: &Stamp) {
        let (alone, undisturbed) = (self.alone.max(other.alone), self.undisturbed.max(other.undisturbed));
        // Of two simultaneous stamps, the one with fewer losses decides.
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

    /// The stamp moves on to `until`, with `loss` on the way.
    pub fn loses(&mut self, loss: Loss, until: Time) {
        let passed = until.saturating_sub(self.at);
        let time = loss.time.min(passed);
        let alone = if loss.is_of(self.job) { passed } else { passed - time };
        self.at += passed;
        self.alone += alone;
        self.undisturbed += passed - time;
        add(&mut self.losses, Loss { time, ..loss });
    }

    /// Waits at `place` for `own`, a stamp of the same job, which also holds the resource in a run without other jobs;
    /// time lost to its own job by that is of this `kind`. Without other jobs both stamps would be earlier, this one
    /// not before `own`.
    ///
    /// This stamp loses the part of `own`'s losses to others that it had not lost already.
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

    /// Takes over the losses of `other` to its own job; without places if the origin differs.
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

    /// Cuts the losses to others and to itself to the differences of the clocks.
    fn cut(&mut self) {
        let (others, own, job) = (self.to_others(), self.to_itself(), self.job);
        scale_those(&mut self.losses, others, |loss| !loss.is_of(job));
        scale_those(&mut self.losses, own, |loss| loss.is_of(job));
    }

    /// Raises the undisturbed clock to `undisturbed`.
    pub fn would_have_been(&mut self, undisturbed: Time) {
        self.undisturbed = undisturbed;
        self.cut();
    }

    /// Checks that the losses add up to the differences of the clocks.
    ///
    /// # Errors
    /// The sums that differ.
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
