//! What the instruments have recorded, for reports.

use super::blame::{LinkCharge, WaitSeries};
use super::queues::QueueSeries;
use super::{Observers, Statistics};
use crate::flow::{Links, OutPort};
use crate::message::Traffic;
use odonata_blame::Waited;
use odonata_engine::Time;

impl Observers {
    /// Closes the waits that last until `now`, the end of the run. `ports` are the sending sides of all links.
    pub(crate) fn run_ends<'a>(&mut self, ports: impl Iterator<Item = &'a OutPort>, now: Time) {
        self.contention.close(ports, now);
    }

    /// Ignores facts after `now`, such as credits that return during the audit.
    pub(crate) fn end_recording(&mut self, now: Time) {
        self.queues.end_at(now);
    }

    /// The counters.
    pub(crate) fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Total time for which the buffers behind router port `link` were exhausted.
    pub(crate) fn saturation_of(&self, link: u32) -> Time {
        self.saturation.of_link(link)
    }

    /// The recorded queues. `on_the_way` calls with each credit in flight: its channel, its flits, its due time.
    pub(crate) fn queue_series(&self, on_the_way: impl FnOnce(&mut dyn FnMut(u32, u32, Time))) -> Vec<QueueSeries> {
        self.queues.series(on_the_way)
    }

    /// The first end of a time series.
    pub(crate) fn series_end(&self) -> Option<Time> {
        let ends = [
            self.statistics.series_end(),
            self.contention.blame.ledger().series_end(),
            self.queues.end(),
        ];
        ends.into_iter().flatten().min()
    }

    /// All charges, sorted by link, resource, victim, culprit.
    pub(crate) fn charges(&self, links: &Links) -> Vec<LinkCharge> {
        self.contention.blame.charges(links)
    }

    /// The charges over time.
    pub(crate) fn wait_series(&self) -> impl Iterator<Item = WaitSeries> + '_ {
        self.contention.blame.series()
    }

    /// The completed waits of `traffic`.
    pub(crate) fn waited(&self, traffic: Traffic) -> Waited {
        self.contention.blame.ledger().waited(traffic)
    }

    /// Compares the charges with the waits.
    ///
    /// # Errors
    /// The owner whose charges differ from its waits.
    pub(crate) fn audit(&self) -> Result<(), String> {
        self.contention.blame.ledger().audit()
    }
}
