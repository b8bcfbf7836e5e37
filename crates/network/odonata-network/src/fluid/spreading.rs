//! The wait of packets that choose among the links of a pipe: a link gets more packets at times than it sends.
//!
//! Links with the utilization u, whose packets of the same time come at random:
//!
//! ```text
//! wait       u / (2 (1 - u)) packet times   (M/D/1: F. Pollaczek, 1930; A. Khinchine, 1932)
//!            at most sqrt(2 N / pi)         the mean of a reflected random walk of N steps, for a message of N packets
//!            at most B                      a buffer of B packets
//! ```
//!
//! Packets of the message itself do not delay each other. The last one waits on each of its links, after the message has
//! left its source.

use super::max_min::Step;
use super::paths::Network;

impl Network<'_> {
    /// The waits of the last packet of `flow`, of `bytes`: link, and picoseconds.
    pub(super) fn waits_in_pipes(&self, flow: u32, bytes: u64) -> Vec<(u32, f64)> {
        if self.pipes.are_none() {
            return Vec::new();
        }
        let rate = self.rates.rate(flow).0;
        let waits = (self.rates.path(flow)).filter_map(|step| Some((step.link, self.wait_in_pipe(step, rate, bytes)?)));
        waits.collect()
    }

    fn wait_in_pipe(&self, step: Step, rate: f64, bytes: u64) -> Option<f64> {
        let members = self.pipes.members(step.link);
        if members < 2 || step.counted <= 0.0 {
            return None;
        }
        let class = self.pipes.class_between(self.routing.topology(), step.link)?;
        let (capacity, taken) = (self.rates.capacity(step.link), self.rates.taken(step.link));
        let utilization = (taken / capacity).clamp(0.0, 1.0);
        let of_others = 1.0 - (step.weight * rate / taken).clamp(0.0, 1.0);
        let packet = self.params.packet as f64;
        let steady = utilization / (2.0 * (1.0 - utilization));
        let grown = (2.0 * (bytes as f64 / packet).ceil() / std::f64::consts::PI).sqrt();
        let room = self.params.link(class).buffer.0 as f64 / packet;
        let time = packet.min(bytes as f64) / (capacity / f64::from(members));
        let wait = steady.min(grown).min(room) * of_others * time * f64::from(step.counted);
        (wait >= 1.0).then_some(wait)
    }
}
