//! Queues of chosen links over time: occupancy of each buffer, number of waiting packets, stall time of the link.
//!
//! The recorder keeps, per virtual channel and interval, the time integral of two levels: the flits whose credits the
//! sender has taken and not got back, and the packets that wait for the channel. A level that changes by `d` at time
//! `t` of an interval that ends at `e` adds `d (e - t)` to the integral of that interval, and `d` to the level at its
//! end:
//!
//! ```text
//! mean(k) = (level(k-1) T + integral(k)) / T        level(k) = level(k-1) + sum of d in interval k
//! ```
//!
//! So facts may be stated in any order: credits are counted late, with the time at which they were due. Times are in
//! picoseconds, levels in flits and packets.

use super::facts::{LinkDeparture, Observed, Observer, Tag};
use crate::features::Uses;
use crate::flow::OutPort;
use crate::message::Traffic;
use odonata_engine::{GrowableStore, Mode, Time};

/// Most cells that a part keeps, 200 MB; later intervals are not recorded.
const MOST_CELLS: usize = 1 << 22;

/// Marks a link or channel that is not recorded.
const NONE: u32 = u32::MAX;

/// The links to record, and the interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueRecording {
    /// Numbers of the links in the machine, ascending.
    pub links: Vec<u32>,
    /// Length of an interval.
    pub interval: Time,
}

/// Change of a level within an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LevelCell {
    /// Change of the level.
    pub change: i64,
    /// The integral of the changes over the rest of the interval, picoseconds times units of the level.
    pub integral: i128,
}

impl LevelCell {
    fn add(&mut self, change: i64, rest: Time) {
        self.change += change;
        self.integral += i128::from(change) * i128::from(rest.0);
    }
}

/// One interval of a virtual channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct QueueCell {
    /// Flits whose credits the sender has taken.
    pub buffered: LevelCell,
    /// Packets that wait for the channel.
    pub waiting: LevelCell,
}

/// The cells of a virtual channel of a link, and the stall time of the link, by interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct QueueSeries {
    /// Number of the link in the machine.
    pub link: u32,
    /// The virtual channel.
    pub vc: u8,
    /// Per interval with an event: its number, and the cell.
    pub cells: Vec<(u32, QueueCell)>,
    /// Per interval in which the link stalls: its number, and the stall time. Only with channel 0.
    pub stalls: Vec<(u32, Time)>,
}

/// A recorded virtual channel.
#[derive(Clone, Copy, Debug)]
struct Column {
    link: u32,
    vc: u8,
}

/// The recorder of queues, if links are chosen.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    recorder: Option<Box<Recorder>>,
}
odonata_engine::journalled!(Queues { recorder });

/// What is recorded.
#[derive(Debug)]
struct Recorder {
    interval: Time,
    /// Changes after this time are not recorded.
    until: Time,
    /// Nor are changes from this time on: so many intervals fit.
    end: Time,
    /// The column of each virtual channel of this part, or [`NONE`].
    of_channel: Vec<u32>,
    /// The row of stalls of each link of this part, or [`NONE`].
    of_link: Vec<u32>,
    columns: Vec<Column>,
    rows: u32,
    /// By interval and column.
    cells: GrowableStore<QueueCell>,
    /// By interval and row.
    stalls: GrowableStore<Time>,
}
odonata_engine::journalled!(Recorder { cells, stalls });

impl Queues {
    /// Records queues from now on, before the first event. `links` has, for each link of this part in the order of their own numbers,
    /// its number in the machine, its first channel, and how many it has: at most `most_channels`, in all parts.
    pub(crate) fn record(
        &mut self,
        recording: &QueueRecording,
        most_channels: usize,
        links: impl Iterator<Item = (u32, u32, u8)>,
    ) {
        self.recorder = Some(Box::new(Recorder::new(recording, most_channels, links)));
    }

    /// The run ends at `now`: what is stated from now on, as credits come home, counts no more.
    pub(crate) fn end_at(&mut self, now: Time) {
        if let Some(recorder) = &mut self.recorder {
            recorder.until = now;
        }
    }

    /// Whether queues are recorded.
    pub(crate) fn are_recorded(&self) -> bool {
        self.recorder.is_some()
    }

    /// Until when they are recorded, if they are.
    pub(crate) fn end(&self) -> Option<Time> {
        self.recorder.as_ref().map(|recorder| recorder.end)
    }

    /// What is recorded; see [`Recorder::series`].
    pub(crate) fn series(&self, on_the_way: impl FnOnce(&mut dyn FnMut(u32, u32, Time))) -> Vec<QueueSeries> {
        (self.recorder.as_ref()).map_or(Vec::new(), |recorder| recorder.series(on_the_way))
    }

    /// Whether buffers are recorded.
    #[inline(always)]
    pub(super) fn is_on<U: Uses>(&self) -> bool {
        U::EXTRAS && self.recorder.is_some()
    }

    /// The recorder, if it is on.
    #[inline(always)]
    fn on<U: Uses>(&mut self) -> Option<&mut Recorder> {
        if !U::EXTRAS {
            return None;
        }
        self.recorder.as_deref_mut()
    }
}

impl Recorder {
    fn new(recording: &QueueRecording, most_channels: usize, links: impl Iterator<Item = (u32, u32, u8)>) -> Recorder {
        assert!(recording.interval > Time::ZERO, "an interval takes no time");
        let intervals = MOST_CELLS / (recording.links.len() * most_channels).max(1);
        let mut recorder = Recorder {
            interval: recording.interval,
            until: Time::NEVER,
            end: Time(recording.interval.0.saturating_mul(intervals as u64)),
            of_channel: Vec::new(),
            of_link: Vec::new(),
            columns: Vec::new(),
            rows: 0,
            cells: GrowableStore::new(),
            stalls: GrowableStore::new(),
        };
        for (number, first, channels) in links {
            let is_chosen = recording.links.binary_search(&number).is_ok();
            recorder.of_link.push(if is_chosen { recorder.rows } else { NONE });
            recorder.rows += u32::from(is_chosen);
            let end = first as usize + usize::from(channels);
            recorder.of_channel.resize(recorder.of_channel.len().max(end), NONE);
            for vc in (0..channels).filter(|_| is_chosen) {
                recorder.of_channel[first as usize + usize::from(vc)] = recorder.columns.len() as u32;
                recorder.columns.push(Column { link: number, vc });
            }
        }
        recorder
    }

    /// The cell of `channel` at `at`, and the rest of its interval; `None` if it is not recorded.
    fn cell<M: Mode>(&mut self, channel: u32, at: Time) -> Option<(&mut QueueCell, Time)> {
        let column = *self.of_channel.get(channel as usize)?;
        if column == NONE || at > self.until || at >= self.end {
            return None;
        }
        let number = at.0 / self.interval.0;
        let rest = Time((number + 1) * self.interval.0 - at.0);
        let place = number as usize * self.columns.len() + column as usize;
        Some((self.cells.edit::<M>(place), rest))
    }

    fn change_buffered<M: Mode>(&mut self, channel: u32, flits: i64, at: Time) {
        if let Some((cell, rest)) = self.cell::<M>(channel, at) {
            cell.buffered.add(flits, rest);
        }
    }

    fn change_waiting<M: Mode>(&mut self, channel: u32, packets: i64, at: Time) {
        if let Some((cell, rest)) = self.cell::<M>(channel, at) {
            cell.waiting.add(packets, rest);
        }
    }

    fn stall<M: Mode>(&mut self, link: u32, since: Time, now: Time) {
        let row = self.of_link.get(link as usize).copied().unwrap_or(NONE);
        if row == NONE || since == Time::NEVER {
            return;
        }
        let (mut begin, now) = (since, now.min(self.end).min(self.until));
        while begin < now {
            let number = begin.0 / self.interval.0;
            let until = Time((number + 1) * self.interval.0).min(now);
            let place = number as usize * self.rows as usize + row as usize;
            *self.stalls.edit::<M>(place) += until - begin;
            begin = until;
        }
    }

    /// What is recorded, with the credits on the way that are not counted yet: `on_the_way` calls its argument with the channel, the
    /// flits and the time of each.
    fn series(&self, on_the_way: impl FnOnce(&mut dyn FnMut(u32, u32, Time))) -> Vec<QueueSeries> {
        let series = |column: &Column| QueueSeries {
            link: column.link,
            vc: column.vc,
            ..QueueSeries::default()
        };
        let mut all: Vec<QueueSeries> = self.columns.iter().map(series).collect();
        let width = self.columns.len();
        for (place, &cell) in self.cells.iter() {
            all[place % width].cells.push(((place / width) as u32, cell));
        }
        on_the_way(&mut |channel, flits, due| {
            let column = self.of_channel.get(channel as usize).copied().unwrap_or(NONE);
            if column == NONE || due > self.until || due >= self.end {
                return;
            }
            let (cells, number) = (&mut all[column as usize].cells, (due.0 / self.interval.0) as u32);
            let at = match cells.binary_search_by_key(&number, |&(number, _)| number) {
                Ok(at) => at,
                Err(at) => {
                    cells.insert(at, (number, QueueCell::default()));
                    at
                }
            };
            let rest = Time((u64::from(number) + 1) * self.interval.0 - due.0);
            cells[at].1.buffered.add(-i64::from(flits), rest);
        });
        let rows = self.rows as usize;
        let first_of_row: Vec<usize> = (0..width).filter(|&column| self.columns[column].vc == 0).collect();
        for (place, &time) in self.stalls.iter() {
            let column = first_of_row[place % rows];
            all[column].stalls.push(((place / rows) as u32, time));
        }
        all
    }
}

impl Observer for Queues {
    #[inline(always)]
    fn credits_are_taken<M: Uses>(&mut self, channel: u32, flits: u32, now: Time) {
        if let Some(recorder) = self.on::<M>() {
            recorder.change_buffered::<M>(channel, i64::from(flits), now);
        }
    }

    #[inline(always)]
    fn credit_arrives<M: Uses>(&mut self, (channel, _): (u32, Traffic), flits: u32, due: Time, _: Tag, _: bool) {
        if let Some(recorder) = self.on::<M>() {
            recorder.change_buffered::<M>(channel, -i64::from(flits), due);
        }
    }

    #[inline(always)]
    fn packet_waits<M: Uses>(&mut self, (_, channel): (u32, u32), _: &OutPort, _: Observed, now: Time) {
        if let Some(recorder) = self.on::<M>() {
            recorder.change_waiting::<M>(channel, 1, now);
        }
    }

    #[inline(always)]
    fn packet_is_rerouted<M: Uses>(&mut self, (_, channel): (u32, u32), _: &OutPort, _: Observed, now: Time) {
        if let Some(recorder) = self.on::<M>() {
            recorder.change_waiting::<M>(channel, -1, now);
        }
    }

    #[inline(always)]
    fn packet_departs<M: Uses>(&mut self, departure: &LinkDeparture<'_>) {
        if let Some(recorder) = self.on::<M>() {
            if let Some(channel) = departure.waited {
                recorder.change_waiting::<M>(channel, -1, departure.now);
            }
            recorder.stall::<M>(departure.link, departure.port.stalled_since, departure.now);
        }
    }

    #[inline(always)]
    fn port_resumes<M: Uses>(&mut self, link: u32, since: Time, now: Time) {
        if let Some(recorder) = self.on::<M>() {
            recorder.stall::<M>(link, since, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    fn recorder() -> Queues {
        let mut queues = Queues::default();
        let recording = QueueRecording {
            links: vec![40],
            interval: Time(100),
        };
        // Two links: only the second is recorded, with two channels starting at 3.
        queues.record(&recording, 3, [(39, 0, 3), (40, 3, 2)].into_iter());
        queues
    }

    /// The integral of a level up to the end of interval `k`, by the formula at the head of this file.
    fn integral(series: &QueueSeries, k: u32, of: fn(&QueueCell) -> LevelCell) -> i128 {
        let (mut level, mut sum) = (0, 0);
        for number in 0..=k {
            let cell = series.cells.iter().find(|&&(at, _)| at == number);
            let cell = cell.map(|(_, cell)| of(cell)).unwrap_or_default();
            sum += i128::from(level) * 100 + cell.integral;
            level += cell.change;
        }
        sum
    }

    /// 8 flits from 30 to 250, counted late: 8 * 220 in total, of which 8 * 70, 8 * 100 and 8 * 50 in the three
    /// intervals.
    #[test]
    fn levels_are_integrated_over_time_however_late_a_credit_is_counted() {
        let mut queues = recorder();
        queues.credits_are_taken::<Plain>(4, 8, Time(30));
        queues.credits_are_taken::<Plain>(1, 8, Time(30));
        let counted = {
            let mut queues = recorder();
            queues.credits_are_taken::<Plain>(4, 8, Time(30));
            queues.credit_arrives::<Plain>((4, 0), 8, Time(250), Tag::NONE, false);
            queues.series(|_| ())
        };
        let series = queues.series(|see| see(4, 8, Time(250)));
        assert_eq!(series, counted);
        assert_eq!(
            series.iter().map(|of| (of.link, of.vc)).collect::<Vec<_>>(),
            [(40, 0), (40, 1)]
        );
        assert!(series[0].cells.is_empty());
        let buffered = |k| integral(&series[1], k, |cell| cell.buffered);
        assert_eq!(
            [buffered(0), buffered(1), buffered(2), buffered(9)],
            [560, 1360, 1760, 1760]
        );
    }

    /// A link that stalls from 80 to 330 stalls for 20, 100, 100 and 30 of the four intervals.
    #[test]
    fn stalls_are_divided_among_intervals() {
        let mut queues = recorder();
        queues.port_resumes::<Plain>(1, Time(80), Time(330));
        queues.port_resumes::<Plain>(0, Time(80), Time(330));
        queues.port_resumes::<Plain>(1, Time::NEVER, Time(400));
        let series = queues.series(|_| ());
        let expected = [20, 100, 100, 30].map(Time);
        assert_eq!(series[0].stalls, (0..4).zip(expected).collect::<Vec<_>>());
        assert!(series[1].stalls.is_empty());
    }
}
