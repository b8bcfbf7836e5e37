//! The table `series`: traffic and links over time.

use super::row::row;
use super::sources::{CLASSES, Sources, mean};
use odonata_topology::LinkClass;

row! {
    /// Time series, one row per interval and job's traffic or link class; empty unless run.series_interval is set.
    "series" => pub struct SeriesRow {
        /// Start of the interval, simulated time.
        #[unit = "s"]
        start_s: f64,
        /// traffic (delivered to a job) or links (sent over a class of links).
        kind: &'static str,
        /// Name of the job (traffic).
        job: String,
        /// mpi or io (traffic); terminal, local, column or global (links, from routers).
        class: &'static str,
        /// Bytes delivered or sent.
        #[unit = "bytes"]
        bytes: u64,
        /// Packets delivered or sent.
        packets: u64,
        /// Mean packet latency (traffic).
        #[unit = "s"]
        latency_mean_s: f64,
        /// Time transmitting, summed over the links of the class (links).
        #[unit = "s"]
        busy_s: f64,
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<SeriesRow> {
    let Some(interval) = from.scenario.run.series_interval else {
        return Vec::new();
    };
    let traffics = 2 * from.scenario.jobs.len();
    let width = traffics + LinkClass::ALL.len();
    let mut rows = Vec::new();
    for (&i, cell) in &from.fabric.series {
        let (bin, column) = (i / width, i % width);
        let mut row = SeriesRow {
            start_s: bin as f64 * interval.seconds(),
            bytes: cell.bytes,
            packets: cell.packets,
            ..SeriesRow::default()
        };
        if column < traffics {
            row.kind = "traffic";
            row.job.clone_from(&from.scenario.jobs[column / 2].name);
            row.class = CLASSES[column % 2];
            row.latency_mean_s = mean(cell.time.seconds(), cell.packets);
        } else {
            row.kind = "links";
            row.class = LinkClass::ALL[column - traffics].name();
            row.busy_s = cell.time.seconds();
        }
        rows.push(row);
    }
    rows
}
