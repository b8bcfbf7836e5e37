//! The table `link_series`: the busiest links over time.

use super::row::row;
use super::sources::Sources;
use odonata_engine::Time;
use std::collections::{BTreeMap, BTreeSet};

row! {
    /// One row per interval of run.series_interval, within the period of run.timeline, and link that sent something in
    /// it; among links from routers, run.timeline.links selects those with the longest busy time in that period.
    "link_series" => pub struct LinkSeriesRow {
        /// Number of the link, as in the table links.
        link: u64,
        /// Start of the interval, simulated time.
        #[unit = "s"]
        start_s: f64,
        /// Payload sent.
        #[unit = "bytes"]
        bytes: u64,
        /// Packets sent.
        packets: u64,
        /// Time transmitting, for transmissions that began in the interval.
        #[unit = "s"]
        busy_s: f64,
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<LinkSeriesRow> {
    let run = &from.scenario.run;
    let (Some(timeline), Some(interval)) = (&run.timeline, run.series_interval) else {
        return Vec::new();
    };
    let series = &from.fabric.link_series;
    let mut busy: BTreeMap<u32, Time> = BTreeMap::new();
    for &(_, link, cell) in series {
        *busy.entry(link).or_insert(Time::ZERO) += cell.time;
    }
    let mut busiest: Vec<(Time, u32)> = busy.into_iter().map(|(link, time)| (time, link)).collect();
    busiest.sort_unstable_by_key(|&(time, link)| (std::cmp::Reverse(time), link));
    let hottest = busiest.iter().take(timeline.links as usize);
    let hottest: BTreeSet<u32> = hottest.map(|&(_, link)| link).collect();
    let mut rows: Vec<LinkSeriesRow> = (series.iter())
        .filter(|(_, link, _)| hottest.contains(link))
        .map(|&(number, link, cell)| LinkSeriesRow {
            link: u64::from(link),
            start_s: f64::from(number) * interval.seconds(),
            bytes: cell.bytes,
            packets: cell.packets,
            busy_s: cell.time.seconds(),
        })
        .collect();
    rows.sort_by_key(|row| row.link);
    rows
}
