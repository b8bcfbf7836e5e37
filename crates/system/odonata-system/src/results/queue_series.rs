//! The table `queue_series`: how full the queues of chosen links are over time.

use super::row::row;
use super::sources::{Sources, ends};
use odonata_engine::Time;
use odonata_network::{LevelCell, QueueCell, QueueSeries};
use std::collections::BTreeMap;

row! {
    /// One row per interval of run.series_interval, link that run.queue_links names, and virtual channel; intervals in which a channel
    /// holds nothing and its link does not stall are left out. Messages that go as flows are not in it.
    "queue_series" => pub struct QueueSeriesRow {
        /// Number of the link, as in the table links.
        link: u64,
        /// Its ends: n = node, r = router.
        name: String,
        /// Number of the virtual channel.
        vc: u64,
        /// Start of the interval, simulated time.
        #[unit = "s"]
        start_s: f64,
        /// Bytes for which the sender has taken credits and not got them back, in whole flits, mean over the interval: what lies in the
        /// buffer behind the link, is on its way there, or has left it while its credit is on the way back.
        #[unit = "bytes"]
        buffered_bytes: f64,
        /// Size of the buffer of the channel.
        #[unit = "bytes"]
        capacity_bytes: u64,
        /// Packets that wait in the router for the channel, mean over the interval; 0 at NICs and in pipelined routers.
        waiting_packets: f64,
        /// Time in which the whole link waits for credits (stalled_s of the table links), in the row of channel 0.
        #[unit = "s"]
        stalled_s: f64,
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<QueueSeriesRow> {
    let Some(interval) = from.scenario.run.series_interval else {
        return Vec::new();
    };
    from.fabric
        .queues
        .iter()
        .flat_map(|queue| rows_of(from, queue, interval))
        .collect()
}

/// The rows of a virtual channel.
fn rows_of(from: &Sources<'_>, queue: &QueueSeries, interval: Time) -> Vec<QueueSeriesRow> {
    let Some(ends) = ends(from.topology, queue.link) else {
        return Vec::new();
    };
    let network = &from.scenario.network;
    let (flit, capacity) = (network.flit.0 as f64, network.links.of(ends.class).buffer.0);
    let cells: BTreeMap<u32, QueueCell> = queue.cells.iter().copied().collect();
    let stalls: BTreeMap<u32, Time> = queue.stalls.iter().copied().collect();
    let (mut buffered, mut waiting) = (Level::default(), Level::default());
    let mut rows = Vec::new();
    let mut number = 0;
    while let Some(begin) = u64::from(number)
        .checked_mul(interval.0)
        .filter(|&begin| begin < from.now.0)
    {
        let length = Time(interval.0.min(from.now.0 - begin));
        let cell = cells.get(&number).copied().unwrap_or_default();
        let row = QueueSeriesRow {
            link: u64::from(queue.link),
            name: ends.name(),
            vc: u64::from(queue.vc),
            start_s: Time(begin).seconds(),
            buffered_bytes: buffered.mean(&cell.buffered, interval, length) * flit,
            capacity_bytes: capacity,
            waiting_packets: waiting.mean(&cell.waiting, interval, length),
            stalled_s: stalls.get(&number).map_or(0.0, |stall| stall.seconds()),
        };
        if row.buffered_bytes > 0.0 || row.waiting_packets > 0.0 || row.stalled_s > 0.0 {
            rows.push(row);
        }
        // Nothing changes before the next cell.
        let is_empty = buffered.0 == 0 && waiting.0 == 0;
        let next = cells.range(number + 1..).next().map(|(&next, _)| next);
        let next_stall = stalls.range(number + 1..).next().map(|(&next, _)| next);
        number = match is_empty {
            true => match next.into_iter().chain(next_stall).min() {
                Some(next) => next,
                None => break,
            },
            false => number + 1,
        };
    }
    rows
}

/// A level at the end of the interval before.
#[derive(Default)]
struct Level(i64);

impl Level {
    /// The mean of the level over the first `length` of an interval, which is all of it or ends with the run.
    fn mean(&mut self, cell: &LevelCell, interval: Time, length: Time) -> f64 {
        let before = i128::from(self.0);
        self.0 += cell.change;
        // What changes count for behind the end of the run.
        let behind = i128::from(cell.change) * i128::from(interval.0 - length.0);
        let integral = before * i128::from(length.0) + cell.integral - behind;
        integral as f64 / length.0 as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3 from the start on, 2 more from 40 of 100 on: 3 + 2 * 0.6 on average; 3 + 2 * 0.2 if the run ends at 50; then 5.
    #[test]
    fn a_mean_is_the_integral_over_the_length() {
        let cell = LevelCell {
            change: 2,
            integral: 2 * 60,
        };
        let mut level = Level(3);
        assert!((level.mean(&cell, Time(100), Time(100)) - 4.2).abs() < 1e-12);
        assert_eq!(level.0, 5);
        let mut cut = Level(3);
        assert!((cut.mean(&cell, Time(100), Time(50)) - 3.4).abs() < 1e-12);
        assert!((level.mean(&LevelCell::default(), Time(100), Time(30)) - 5.0).abs() < 1e-12);
    }
}
