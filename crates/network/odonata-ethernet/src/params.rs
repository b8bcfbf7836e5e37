//! Resolved values of a run. Sizes are bytes on the wire, rates bytes per picosecond.

use crate::dcqcn::{Dcqcn, REFERENCE_RATE};
use crate::settings::{Balancing, Control, Retransmission, Settings, Transport};
use crate::swift::Swift;
use odonata_engine::Time;
use odonata_units::Bandwidth;

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
    /// DCQCN, if flows have a rate; Swift, if their windows follow it. Both make flows wait between packets.
    pub(crate) dcqcn: Option<Dcqcn>,
    pub(crate) swift: Option<Swift>,
    pub(crate) is_paced: bool,
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

impl Params {
    /// The values of resolved settings for NICs of `bandwidth` and packets of `payload` and `header` bytes.
    pub fn new(settings: &Settings, bandwidth: Bandwidth, (payload, header): (u64, u64), seed: u64) -> Params {
        let rate = bandwidth.0 / 1e12;
        let control = settings.control_packet.0;
        let full = payload + header;
        let rtt = settings.base_rtt.0 as f64;
        let product = rtt * rate;
        // The product in whole packets, and parts of it in whole packets.
        let whole = (product / full as f64).ceil();
        let packets = |products: f64| (products * whole).ceil() as u64 * full;
        let trimming = *settings.trimming;
        let buffer = settings.buffer.map(|bytes| (bytes.0, *settings.alpha));
        // With a shared buffer: what a queue has alone.
        let default = match buffer {
            Some((bytes, alpha)) => (bytes as f64 * alpha / (1.0 + alpha)) as u64,
            None => packets(if trimming { 1.0 } else { 5.0 }),
        };
        let queue = settings.queue.given().map_or(default, |bytes| bytes.0);
        let timeout = || Time((15e6 + 6.0 * queue as f64 / rate) as u64);
        let is_roce = settings.transport == Transport::Roce;
        let pauses = settings.has_pauses();
        let goes_back = settings.retransmission.given() == Some(&Retransmission::GoBackN);
        let control_law = *settings.congestion_control;
        let is_dcqcn = control_law == Control::Dcqcn;
        let is_swift = control_law == Control::Swift;
        // DCQCN's thresholds at 40 Gb/s, else parts of the product.
        let reference = |bytes: f64| (bytes * rate / REFERENCE_RATE) as u64;
        let (low, high) = match is_dcqcn {
            true => (reference(5e3), reference(200e3)),
            false => (packets(0.2), packets(0.8)),
        };
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
            low: settings.ecn_low.given().map_or(low, |bytes| bytes.0),
            high: settings.ecn_high.given().map_or(high, |bytes| bytes.0),
            probability: *settings.ecn_probability,
            marks: !is_roce || is_dcqcn,
            trimming,
            buffer,
            pause: pauses.then(|| {
                let bytes = |packets: Option<&u32>| packets.map_or(0, |&packets| u64::from(packets) * full);
                (
                    bytes(settings.pause_above.given()),
                    bytes(settings.resume_below.given()),
                )
            }),
            window: settings
                .window
                .given()
                .map_or((1.5 * product).max(full as f64), |bytes| bytes.0 as f64),
            products: settings.window.given().map_or(1.5, |bytes| bytes.0 as f64 / product),
            control_law,
            has_window: !is_roce && control_law != Control::Rccc,
            has_credit: control_law == Control::Rccc,
            dcqcn: is_dcqcn.then(|| Dcqcn::new(&settings.dcqcn, rate)),
            swift: is_swift.then(|| Swift::new(&settings.swift, rtt)),
            is_paced: is_dcqcn || is_swift,
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

    /// Packets beyond the first unacknowledged one that a flow may send: several windows, a power of two.
    pub(crate) fn range(&self) -> u32 {
        let window = self.window / f64::from(self.payload + self.header);
        ((4.0 * window) as u32).clamp(256, 1 << 16).next_power_of_two()
    }
}
