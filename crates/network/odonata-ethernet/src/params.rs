//! Resolved values of a run. Sizes are bytes on the wire, rates bytes per picosecond.

use crate::dcqcn::{Dcqcn, REFERENCE_RATE};
use crate::hpcc::Hpcc;
use crate::pacing::Law;
use crate::settings::{Balancing, Control, Retransmission, Settings, Transport};
use crate::swift::Swift;
use odonata_engine::Time;
use odonata_units::{Bandwidth, Bytes};

/// Reference network of NSCC: 100 Gb/s with a round-trip time of 12 us.
const REFERENCE_RTT: f64 = 12e6;
const REFERENCE_PRODUCT: f64 = 150_000.0;

/// The parameters of Ethernet in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Payload of a full packet, and its header.
    pub(crate) payload: u32,
    pub(crate) header: u32,
    pub(crate) control: u32,
    /// Rate of NICs.
    pub(crate) rate: f64,
    /// Round-trip time of the longest path.
    pub(crate) rtt: Time,
    /// Queue and thresholds at links of the rate of NICs.
    pub(crate) queue: u64,
    pub(crate) low: u64,
    pub(crate) high: u64,
    /// Probability of a mark at the upper threshold, and whether switches mark.
    pub(crate) probability: f64,
    pub(crate) marks: bool,
    pub(crate) trimming: bool,
    /// Bytes that the outputs of a switch share, and their factor alpha.
    pub(crate) buffer: Option<(u64, f64)>,
    /// Pause above and resume below these bytes of one input; `None`: queues are bounded.
    pub(crate) pause: Option<(u64, u64)>,
    pub(crate) window: f64,
    /// Largest window in units of the product of rate and base round-trip time.
    pub(crate) products: f64,
    pub(crate) control_law: Control,
    pub(crate) has_window: bool,
    /// Whether receivers grant credit.
    pub(crate) has_credit: bool,
    /// The law that makes flows wait between packets, if one does.
    pub(crate) law: Option<Law>,
    /// Whether senders send again after a timeout.
    pub(crate) has_timer: bool,
    /// Whether receivers report packets that others overtake, and whether they discard the others.
    pub(crate) reports_gaps: bool,
    pub(crate) goes_back: bool,
    /// Whether every packet is a full one on the wire.
    pub(crate) pads: bool,
    pub(crate) balancing: Balancing,
    pub(crate) entropies: u32,
    pub(crate) acknowledge_every: u64,
    pub(crate) timeout: Time,
    pub(crate) nscc: Nscc,
    pub(crate) records: bool,
    pub(crate) seed: u64,
}

/// The constants of NSCC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Nscc {
    /// Delay that queues should have, ps.
    pub(crate) target: f64,
    /// Per byte and picosecond below the target.
    pub(crate) alpha: f64,
    /// Per byte at the target or above without a mark.
    pub(crate) fair: f64,
    /// Per round-trip time.
    pub(crate) eta: f64,
    /// Fraction of acknowledged bytes by which the window grows where queues are empty.
    pub(crate) fast: f64,
}

/// `products` bandwidth-delay products of `product` bytes, in whole packets of `full` bytes.
fn whole_packets(products: f64, product: f64, full: u64) -> u64 {
    (products * (product / full as f64).ceil()).ceil() as u64 * full
}

/// Lower and upper threshold of marks for NICs of `rate`, bytes per picosecond, and full packets of `full` bytes: those of
/// the settings, those of DCQCN at 40 Gb/s, or parts of the bandwidth-delay product.
pub(crate) fn ecn_thresholds(settings: &Settings, rate: f64, full: u64) -> (u64, u64) {
    let product = settings.base_rtt.0 as f64 * rate;
    let reference = |bytes: f64| (bytes * rate / REFERENCE_RATE) as u64;
    let (low, high) = match *settings.congestion_control {
        Control::Dcqcn => (reference(5e3), reference(200e3)),
        _ => (whole_packets(0.2, product, full), whole_packets(0.8, product, full)),
    };
    let given = |bytes: Option<&Bytes>, default| bytes.map_or(default, |bytes| bytes.0);
    (
        given(settings.ecn_low.given(), low),
        given(settings.ecn_high.given(), high),
    )
}

impl Params {
    /// The values of resolved settings for NICs of `bandwidth` and packets of `payload` and `header` bytes.
    pub fn new(settings: &Settings, bandwidth: Bandwidth, (payload, header): (u64, u64), seed: u64) -> Params {
        let rate = bandwidth.0 / 1e12;
        let control = settings.control_packet.0;
        let full = payload + header;
        let rtt = settings.base_rtt.0 as f64;
        let product = rtt * rate;
        let trimming = *settings.trimming;
        let buffer = settings.buffer.map(|bytes| (bytes.0, *settings.alpha));
        // With a shared buffer: what a queue has alone.
        let default = match buffer {
            Some((bytes, alpha)) => (bytes as f64 * alpha / (1.0 + alpha)) as u64,
            None => whole_packets(if trimming { 1.0 } else { 5.0 }, product, full),
        };
        let queue = settings.queue.given().map_or(default, |bytes| bytes.0);
        let timeout = || Time((15e6 + 6.0 * queue as f64 / rate) as u64);
        let is_roce = settings.transport == Transport::Roce;
        let pauses = settings.has_pauses();
        let goes_back = settings.retransmission.given() == Some(&Retransmission::GoBackN);
        let control_law = *settings.congestion_control;
        // HPCC starts with a product, the others with half a product more.
        let products = if control_law == Control::Hpcc { 1.0 } else { 1.5 };
        let given = settings.window.given().map(|bytes| bytes.0 as f64);
        let window = given.unwrap_or((products * product).max(full as f64));
        let (low, high) = ecn_thresholds(settings, rate, full);
        let target = if trimming { 0.75 * rtt } else { rtt };
        let scale = product / REFERENCE_PRODUCT;
        let segment = payload as f64;
        Params {
            payload: payload as u32,
            header: header as u32,
            control: control as u32,
            rate,
            rtt: Time(rtt as u64),
            queue: queue.max(full),
            low,
            high,
            probability: *settings.ecn_probability,
            marks: control_law != Control::None,
            trimming,
            buffer,
            pause: pauses.then(|| match buffer {
                Some(_) => (0, 0),
                None => (
                    u64::from(*settings.pause_above) * full,
                    u64::from(*settings.resume_below) * full,
                ),
            }),
            window,
            products: given.map_or(products, |bytes| bytes / product),
            control_law,
            has_window: control_law.has_window(),
            has_credit: control_law == Control::Rccc,
            law: match control_law {
                Control::Dcqcn => Some(Law::Dcqcn(Dcqcn::new(&settings.dcqcn, rate))),
                Control::Swift => Some(Law::Swift(Swift::new(&settings.swift, rtt))),
                Control::Hpcc => Some(Law::Hpcc(Hpcc::new(&settings.hpcc, window, rtt))),
                _ => None,
            },
            has_timer: !pauses,
            reports_gaps: is_roce && (goes_back || !pauses),
            goes_back,
            pads: settings.full_packets,
            balancing: *settings.load_balancing,
            entropies: *settings.entropies,
            acknowledge_every: if is_roce { 1 } else { settings.acknowledge_every.0 },
            timeout: settings.timeout.given().copied().unwrap_or_else(timeout),
            nscc: Nscc {
                target,
                alpha: 4.0 * segment * scale * (target / REFERENCE_RTT) / target,
                fair: 5.0 * segment * scale,
                eta: 0.15 * segment * scale,
                fast: 0.25 * scale,
            },
            records: settings.record_flows,
            seed,
        }
    }

    /// Round-trip time of a full packet and its acknowledgment over the longest path.
    pub fn base_rtt(&self) -> Time {
        self.rtt
    }

    /// DCQCN, if flows follow it.
    pub(crate) fn dcqcn(&self) -> Option<&Dcqcn> {
        match &self.law {
            Some(Law::Dcqcn(law)) => Some(law),
            _ => None,
        }
    }

    /// Whether switches measure the utilization of their outputs.
    pub(crate) fn is_hpcc(&self) -> bool {
        self.control_law == Control::Hpcc
    }

    /// Packets beyond the first unacknowledged one that a flow may send: several windows, a power of two.
    pub(crate) fn range(&self) -> u32 {
        let window = self.window / f64::from(self.payload + self.header);
        ((4.0 * window) as u32).clamp(256, 1 << 16).next_power_of_two()
    }
}
