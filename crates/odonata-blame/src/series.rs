//! Charges over time: one cell per interval, place, cause, victim and culprit.

use crate::{Cause, Owner};
use odonata_engine::{GrowableStore, Mode, Time};

/// What one owner has waited for another in one interval, over all lines of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesCharge {
    /// Start of the interval.
    pub start: Time,
    /// Place of the lines.
    pub place: u8,
    /// The kind of resource.
    pub cause: Cause,
    /// Who waited.
    pub victim: Owner,
    /// Who held the resource.
    pub culprit: Owner,
    /// How long, summed over waiters.
    pub time: Time,
}

#[derive(Debug)]
pub(crate) struct Series {
    cells: GrowableStore<Time>,
    interval: Option<Time>,
    /// Place of each line.
    places: Vec<u8>,
    place_count: usize,
    causes: usize,
    owners: usize,
    /// Intervals that are kept.
    bins: u64,
    /// The interval that was booked last, and its end: most bookings are in the same one.
    last: (u64, u64),
}

impl Series {
    /// Cells that are kept at most, 32 MB of them; what lies behind is not recorded.
    const MOST: usize = 1 << 22;

    pub(crate) fn new(places: Vec<u8>, place_count: u8, owners: u16, causes: u8, interval: Option<Time>) -> Series {
        let (place_count, causes, owners) = (usize::from(place_count), usize::from(causes), usize::from(owners));
        let width = (place_count * causes * owners * owners).max(1);
        Series {
            cells: GrowableStore::new(),
            places: if interval.is_some() { places } else { Vec::new() },
            interval,
            place_count,
            causes,
            owners,
            bins: (Self::MOST / width) as u64,
            last: (0, 0),
        }
    }

    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.interval.is_some()
    }

    pub(crate) fn end(&self) -> Option<Time> {
        self.interval.map(|interval| Time(interval.0.saturating_mul(self.bins)))
    }

    /// The interval of `at`, and its end.
    #[inline]
    fn bin(&mut self, at: Time, interval: Time) -> (u64, u64) {
        let (bin, end) = self.last;
        if at.0 < end && at.0 >= end - interval.0 {
            return (bin, end);
        }
        let bin = at.0 / interval.0;
        let found = (bin, (bin + 1).saturating_mul(interval.0));
        self.last = found;
        found
    }

    /// Books `waiters` waits from `from` to `to`, cut at the ends of intervals; modulo 2^64, so that waits can be
    /// taken back.
    #[inline(never)]
    pub(crate) fn book<M: Mode>(
        &mut self,
        line: u32,
        (from, to): (Time, Time),
        waiters: u64,
        victim: Owner,
        culprit: Owner,
        cause: Cause,
    ) {
        let Some(interval) = self.interval else { return };
        let mut at = from;
        while at < to {
            let (bin, end) = self.bin(at, interval);
            if bin >= self.bins {
                return;
            }
            let next = to.min(Time(end));
            self.add::<M>(line, at, (next - at).0.wrapping_mul(waiters), victim, culprit, cause);
            at = next;
        }
    }

    /// Books `time` as it passes evenly from `from` to `to`; in the interval of `from`, if that is one moment.
    pub(crate) fn spread<M: Mode>(
        &mut self,
        line: u32,
        (from, to): (Time, Time),
        time: u64,
        (victim, culprit): (Owner, Owner),
        cause: Cause,
    ) {
        let Some(interval) = self.interval else { return };
        let (mut at, mut left) = (from, time);
        while left > 0 {
            let (bin, end) = self.bin(at, interval);
            if bin >= self.bins {
                return;
            }
            let next = to.min(Time(end));
            let here = match next < to {
                true => (u128::from(left) * u128::from((next - at).0) / u128::from((to - at).0)) as u64,
                false => left,
            };
            self.add::<M>(line, at, here, victim, culprit, cause);
            (at, left) = (next, left - here);
        }
    }

    /// Books `time` in the interval of `at`.
    pub(crate) fn add<M: Mode>(&mut self, line: u32, at: Time, time: u64, victim: Owner, culprit: Owner, cause: Cause) {
        let Some(interval) = self.interval else { return };
        let (bin, _) = self.bin(at, interval);
        if bin >= self.bins {
            return;
        }
        let bin = bin as usize;
        let place = usize::from(self.places[line as usize]);
        let kind = (bin * self.place_count + place) * self.causes + usize::from(cause);
        let cell = (kind * self.owners + usize::from(victim)) * self.owners + usize::from(culprit);
        let cell = self.cells.edit::<M>(cell);
        *cell = Time(cell.0.wrapping_add(time));
    }

    pub(crate) fn charges(&self) -> impl Iterator<Item = SeriesCharge> + '_ {
        let interval = self.interval.unwrap_or(Time::ZERO);
        self.cells.iter().map(move |(cell, &time)| {
            let (rest, culprit) = (cell / self.owners, cell % self.owners);
            let (rest, victim) = (rest / self.owners, rest % self.owners);
            let (rest, cause) = (rest / self.causes, rest % self.causes);
            let (bin, place) = (rest / self.place_count, rest % self.place_count);
            SeriesCharge {
                start: Time(bin as u64 * interval.0),
                place: place as u8,
                cause: cause as Cause,
                victim: victim as Owner,
                culprit: culprit as Owner,
                time,
            }
        })
    }

    pub(crate) fn memory(&self) -> usize {
        self.cells.memory()
    }
}

odonata_engine::journalled!(Series { cells });
