//! How much a sender may have in flight: a constant window, or NSCC.
//!
//! NSCC (Ultra Ethernet Specification 1.0, 2025) looks at each acknowledgment's delay beyond the base round-trip time
//! and at its mark:
//!
//! | mark | delay | window |
//! |---|---|---|
//! | no | below target | grows with the distance to the target; faster where delay is below 1 us for a window |
//! | no | at target or above | grows slowly, equally for all flows |
//! | yes | at target or above | shrinks with the mean delay, once per round-trip time |
//! | yes | below target | stays |
//!
//! A trimmed packet takes its size off the window. *Quick adapt*: if less than an eighth of the largest window has
//! arrived in a period with loss, the window becomes what has arrived. Sizes are bytes on the wire, times picoseconds.

use crate::params::Params;
use crate::settings::Control;
use odonata_engine::Time;

/// Weight of a sample in the mean delay.
const WEIGHT: f64 = 0.0125;

/// Delay below which queues count as empty.
const EMPTY: f64 = 1e6;

/// Packets after whose arrival increases are applied.
const PACKETS: f64 = 8.0;

/// The window of a flow.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Window {
    pub(crate) size: f64,
    most: f64,
    base_rtt: f64,
    mean_delay: f64,
    /// Increases to apply, times the window.
    increase: f64,
    /// Bytes received since the last application, and its time.
    received: f64,
    adjusted: Time,
    decreased: Time,
    /// Bytes received with empty queues, and whether the window grows fast.
    unqueued: f64,
    fast: bool,
    /// Quick adapt: bytes received in the period, its end, whether a packet was trimmed in it.
    achieved: f64,
    period_end: Time,
    lossy: bool,
    /// Bytes whose feedback is ignored, and those received since.
    to_ignore: f64,
    ignored: f64,
}

impl Window {
    pub(crate) fn new(params: &Params, now: Time) -> Window {
        Window {
            size: params.window,
            most: params.window,
            base_rtt: params.rtt.0 as f64,
            mean_delay: 0.0,
            increase: 0.0,
            received: 0.0,
            adjusted: now,
            decreased: Time::ZERO,
            unqueued: 0.0,
            fast: false,
            achieved: 0.0,
            period_end: Time::ZERO,
            lossy: false,
            to_ignore: 0.0,
            ignored: 0.0,
        }
    }

    fn clamp(&mut self, params: &Params) {
        let least = f64::from(params.payload + params.header);
        self.size = self.size.min(self.most).max(least);
    }

    /// Takes a sample of the delay into the mean.
    fn sample(&mut self, params: &Params, delay: f64, marked: bool) {
        let above = !marked && delay > params.nscc.target;
        let sample = if above { 0.25 * self.base_rtt } else { delay };
        self.mean_delay += WEIGHT * (sample - self.mean_delay);
    }

    /// An acknowledgment of `bytes` more; `rtt` is that of the packet that caused it, if it was the first to report it.
    pub(crate) fn acknowledge(
        &mut self,
        params: &Params,
        now: Time,
        (bytes, in_flight): (f64, f64),
        rtt: Option<Time>,
        marked: bool,
    ) {
        if params.control_law != Control::Nscc {
            return;
        }
        self.achieved += bytes;
        self.received += bytes;
        self.ignored += bytes;
        let delay = match rtt {
            Some(rtt) => {
                let rtt = rtt.0 as f64;
                if rtt < self.base_rtt {
                    self.base_rtt = rtt;
                    self.most = params.products * rtt * params.rate;
                }
                self.sample(params, rtt - self.base_rtt, marked);
                rtt - self.base_rtt
            }
            None => self.mean_delay,
        };
        if self.adapt_quickly(params, now, in_flight, (false, marked), delay) {
            return;
        }
        let nscc = &params.nscc;
        match (marked, delay < nscc.target) {
            (false, false) => self.increase += nscc.fair * bytes,
            (false, true) => self.grow(params, bytes, delay),
            (true, false) => self.shrink(params, now),
            (true, true) => {}
        }
        self.clamp(params);
        let waited = (now.0 - self.adjusted.0) as f64;
        let least = PACKETS * f64::from(params.payload + params.header);
        if self.received > least || waited > params.rtt.0 as f64 {
            self.size += self.increase / self.size;
            if waited >= params.rtt.0 as f64 {
                self.size += nscc.eta;
                self.adjusted = now;
            }
            (self.increase, self.received) = (0.0, 0.0);
        }
        self.clamp(params);
    }

    /// Growth below the target: fast once queues have been empty for a window, otherwise in proportion.
    fn grow(&mut self, params: &Params, bytes: f64, delay: f64) {
        let nscc = &params.nscc;
        if delay < EMPTY {
            self.unqueued += bytes;
            if self.unqueued > self.size || self.fast {
                self.size += bytes * nscc.fast;
                self.fast = true;
                return;
            }
        } else {
            self.unqueued = 0.0;
        }
        self.fast = false;
        self.increase += nscc.alpha * bytes * (nscc.target - delay);
    }

    /// At most once per base round-trip time, by up to half.
    fn shrink(&mut self, params: &Params, now: Time) {
        (self.fast, self.unqueued) = (false, 0.0);
        let (mean, target) = (self.mean_delay, params.nscc.target);
        if mean > target && (now.0 - self.decreased.0) as f64 > self.base_rtt {
            self.size *= (1.0 - 0.8 * (mean - target) / mean).max(0.5);
            self.decreased = now;
        }
    }

    /// A packet of `bytes` arrived trimmed; `in_flight` includes it.
    pub(crate) fn lose(&mut self, params: &Params, now: Time, (bytes, in_flight): (f64, f64)) {
        if params.control_law != Control::Nscc {
            return;
        }
        self.ignored += bytes;
        self.sample(params, params.rtt.0 as f64, true);
        self.lossy = true;
        if !self.adapt_quickly(params, now, in_flight, (true, true), 0.0) {
            self.size -= bytes;
            self.clamp(params);
        }
    }

    /// Packets of `bytes` are presumed lost.
    pub(crate) fn time_out(&mut self, params: &Params, bytes: f64) {
        if params.control_law == Control::Nscc {
            self.size -= bytes;
            self.clamp(params);
        }
    }

    /// Whether this feedback is used up by quick adapt.
    fn adapt_quickly(
        &mut self,
        params: &Params,
        now: Time,
        in_flight: f64,
        (lost, marked): (bool, bool),
        delay: f64,
    ) -> bool {
        let mut done = false;
        if self.ignored < self.to_ignore && marked {
            done = true;
        } else if now > self.period_end {
            let trouble = self.lossy || lost || delay > 4.0 * params.nscc.target;
            if self.period_end > Time::ZERO && trouble && self.achieved < self.most / 8.0 {
                self.size = self.achieved.max(f64::from(params.payload + params.header));
                (self.to_ignore, self.ignored) = (in_flight, 0.0);
                self.lossy = false;
                done = true;
            }
            self.achieved = 0.0;
            self.period_end = Time(now.0 + (self.base_rtt + params.nscc.target) as u64);
        }
        if done {
            (self.increase, self.received) = (0.0, 0.0);
        }
        done
    }
}
