//! The table `network.ethernet` of a scenario.

mod dcqcn;
mod hpcc;
mod swift;

pub use dcqcn::Dcqcn;
pub use hpcc::Hpcc;
pub use swift::Swift;

use crate::params::ecn_thresholds;
use odonata_units::{Bandwidth, Bytes, Filled, Problem, Time, positive, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Switches and transport of an Ethernet. They apply if `network.fidelity` is "ethernet". `network.packet` is the
/// payload of a full packet and `network.header` its header; `network.links` gives bandwidth and latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The protocol between hosts, and what switches do with packets that find no room.
    pub transport: Transport,
    /// How much a sender may have in flight, or how fast it sends. Default: "nscc" with transport "uec", "none" with
    /// "roce".
    pub congestion_control: Filled<Control>,
    /// Parameters of congestion control "dcqcn".
    #[serde(skip_serializing_if = "Dcqcn::is_none")]
    pub dcqcn: Dcqcn,
    /// Parameters of congestion control "hpcc".
    #[serde(skip_serializing_if = "Hpcc::is_none")]
    pub hpcc: Hpcc,
    /// Parameters of congestion control "swift".
    #[serde(skip_serializing_if = "Swift::is_none")]
    pub swift: Swift,
    /// How a packet gets its entropy value, from which each switch computes its path. Default: "oblivious" with
    /// transport "uec", "ecmp" with "roce".
    pub load_balancing: Filled<Balancing>,
    /// Entropy values of a flow: a power of two, 1 to 65536; at most 64 with load balancing "bitmap" and "mixed".
    /// Default: 64.
    pub entropies: Filled<u32>,
    /// Bytes on the wire of an acknowledgment and of a trimmed packet. Default: 64 B.
    pub control_packet: Filled<Bytes>,
    /// Bytes of data that wait at an output of a switch; control packets have twice as much. A packet beyond is trimmed
    /// or dropped; with pauses nothing else limits the queue. Default: the bandwidth-delay product,
    /// five times as much without trimming, in whole packets, in proportion to the rate of the link.
    pub queue: Filled<Bytes>,
    /// Bytes of data that all outputs of a switch share, in place of `queue`. While Q bytes are in use, a queue may have
    /// `alpha` times the others (A. Choudhury, E. Hahne, "Dynamic queue length thresholds for shared-memory packet switches",
    /// IEEE/ACM Transactions on Networking 6(2), 1998). With pauses this bounds what came in by one port, in place of
    /// `pause_above`. Default: no shared buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
    /// Factor of dynamic thresholds, with `buffer`. Default: 1.
    #[serde(skip_serializing_if = "Filled::is_empty")]
    pub alpha: Filled<f64>,
    /// Whether packets without room are trimmed to their header; otherwise they are dropped. Default: true.
    pub trimming: Filled<bool>,
    /// Bytes that wait behind a packet up to which it is never marked. Default: a fifth of the bandwidth-delay product;
    /// with "dcqcn" 5 kB at 40 Gb/s, in proportion to the rate of NICs.
    pub ecn_low: Filled<Bytes>,
    /// Bytes that wait behind a packet beyond which it is always marked; between, the probability is linear. Default:
    /// four fifths of the bandwidth-delay product; with "dcqcn" 200 kB at 40 Gb/s, in proportion to the rate of NICs.
    pub ecn_high: Filled<Bytes>,
    /// Probability of a mark at `ecn_high`. Default: 1; with "dcqcn" 0.01.
    pub ecn_probability: Filled<f64>,
    /// Round-trip time of a full packet and its acknowledgment over the longest path of an empty network. Default:
    /// computed from links and topology.
    pub base_rtt: Filled<Time>,
    /// Largest window of a flow, and its first. Default: 1.5 bandwidth-delay products; with "hpcc" 1.
    pub window: Filled<Bytes>,
    /// Bytes on the wire after which a receiver sends an acknowledgment. Default: 16384 B.
    pub acknowledge_every: Filled<Bytes>,
    /// What senders with transport "roce" send again. Default: "selective".
    pub retransmission: Filled<Retransmission>,
    /// Time without any acknowledgment after which a sender sends its packets in flight again. Default: 15 us and the
    /// time in which six full queues drain.
    pub timeout: Filled<Time>,
    /// Whether switches pause the senders of their inputs (priority flow control); otherwise they drop packets without
    /// room. Default: true with transport "roce", to which it belongs.
    pub pauses: Filled<bool>,
    /// Packets from one input that wait in a switch, above which it pauses the sender of that input. Default: 15; with
    /// "dcqcn" those of `ecn_high`, if they are more, so that marks come before pauses (Y. Zhu et al., section 4).
    pub pause_above: Filled<u32>,
    /// Packets from one input below which it lets the sender go on. Default: four fifths of `pause_above`.
    pub resume_below: Filled<u32>,
    /// Whether every packet is as long as a full one on the wire, as the RoCE of htsim sends it. Otherwise the last packet
    /// of a message has the bytes that are left.
    pub full_packets: bool,
    /// Whether the results have a table of all flows. Default: false.
    pub record_flows: bool,
}

/// The protocol between hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Ultra Ethernet: packets arrive in any order, trimmed packets are reported at once and sent again selectively.
    #[default]
    Uec,
    /// RoCE: one acknowledgment per packet, no window; a lossless network by priority flow control, or one that drops.
    Roce,
}

/// How much a sender may have in flight, or how fast it sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// NSCC of Ultra Ethernet (Ultra Ethernet Specification 1.0, 2025): a window by delay and marks.
    #[default]
    Nscc,
    /// RCCC of Ultra Ethernet: receivers grant credit, paced just below the rate of their link.
    Rccc,
    /// Swift: a window that keeps the delay at a target (G. Kumar et al., "Swift: delay is simple and effective for
    /// congestion control in the datacenter", SIGCOMM 2020).
    Swift,
    /// A constant window.
    Constant,
    /// The rate of the link; only with transport "roce".
    None,
    /// DCQCN: a rate by the receiver's notifications of marked packets; only with transport "roce" (Y. Zhu et al.,
    /// "Congestion control for large-scale RDMA deployments", SIGCOMM 2015).
    Dcqcn,
    /// HPCC: a window and a rate by the utilization of links that switches report; only with transport "roce" (Y. Li et
    /// al., "HPCC: high precision congestion control", SIGCOMM 2019).
    Hpcc,
}

impl Control {
    /// Whether a window limits what a flow has in flight.
    pub(crate) fn has_window(self) -> bool {
        !matches!(self, Control::Rccc | Control::None | Control::Dcqcn)
    }

    /// Whether it belongs to this transport.
    fn is_of(self, transport: Transport) -> bool {
        matches!(self, Control::None | Control::Dcqcn | Control::Hpcc) == (transport == Transport::Roce)
    }
}

/// What a sender sends again when packets are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Retransmission {
    /// The missing packets: receivers keep later ones.
    #[default]
    Selective,
    /// All packets from the first missing one on: receivers discard packets out of sequence.
    GoBackN,
}

/// How a packet gets its entropy value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Balancing {
    /// Every value once per round, in an order that each round draws anew.
    #[default]
    Oblivious,
    /// One random value per flow.
    Ecmp,
    /// Values that came back unmarked are used again, from a ring of eight; else a random one (T. Bonato et al., "REPS:
    /// recycled entropy packet spraying", 2024).
    Reps,
    /// The same with a queue of values in place of the ring, and the first window in turn.
    RepsLegacy,
    /// As "oblivious", but values that came back marked or trimmed are left out for a while.
    Bitmap,
    /// Values that came back unmarked first, else as "bitmap".
    Mixed,
}

/// Packets of one input that wait in a switch when it pauses the sender, unless marks come later; the most of the keys.
const PAUSE_ABOVE: u32 = 15;
const MOST_WAITING: u32 = 1 << 20;

impl Settings {
    /// Whether switches pause senders, as far as the scenario says.
    pub fn has_pauses(&self) -> bool {
        self.transport == Transport::Roce && self.pauses.given().copied().unwrap_or(true)
    }

    /// Whether no key is set.
    pub fn is_none(&self) -> bool {
        *self == Settings::default()
    }

    /// Fills in the base round-trip time from a longest path of `hops` links whose latencies add up to `latency`, NICs
    /// of `bandwidth` and full packets of `bytes` on the wire; after [`resolve`](Self::resolve).
    pub fn fill_base_rtt(&mut self, (hops, latency): (u32, Time), bandwidth: Bandwidth, bytes: u64) {
        let both = (bytes + self.control_packet.0) as f64;
        let transmission = f64::from(hops) * both * bandwidth.ps_per_byte();
        self.base_rtt.fill(Time(2 * latency.0 + transmission as u64));
    }

    /// Checks the values and fills in those that do not depend on the machine.
    ///
    /// # Errors
    /// A value is out of range, or keys exclude each other.
    pub fn resolve(&mut self) -> Result<(), Problem> {
        let key = |name: &str| format!("network.ethernet.{name}");
        let is_roce = self.transport == Transport::Roce;
        let default = if is_roce { Balancing::Ecmp } else { Balancing::Oblivious };
        let balancing = *self.load_balancing.fill(default);
        let entropies = within(key("entropies"), *self.entropies.fill(64), 1, 1 << 16)?;
        if !entropies.is_power_of_two() {
            let problem = format!("{entropies} entropy values");
            return Err(Problem::new(key("entropies"), problem, "a power of two"));
        }
        if matches!(balancing, Balancing::Bitmap | Balancing::Mixed) {
            within(key("entropies"), entropies, 1, 64)?;
        }
        within(key("control_packet"), self.control_packet.fill(Bytes(64)).0, 1, 1 << 16)?;
        within(
            key("acknowledge_every"),
            self.acknowledge_every.fill(Bytes(16_384)).0,
            1,
            1 << 40,
        )?;
        self.resolve_control(&key)?;
        self.trimming.fill(!is_roce);
        if is_roce && *self.trimming {
            let expected = "none, or transport = \"uec\"";
            return Err(Problem::new(key("trimming"), "RoCE knows no trimmed packets", expected));
        }
        let pauses = *self.pauses.fill(is_roce);
        let of_roce = [("pauses", pauses), ("retransmission", !self.retransmission.is_empty())];
        if let Some((name, _)) = of_roce.iter().find(|(_, given)| *given && !is_roce) {
            let expected = "none, or transport = \"roce\"";
            return Err(Problem::new(key(name), "this transport does not have it", expected));
        }
        if is_roce {
            self.retransmission.fill(Retransmission::Selective);
        }
        let of_pauses = [
            ("pause_above", !self.pause_above.is_empty()),
            ("resume_below", !self.resume_below.is_empty()),
        ];
        if let Some((name, _)) = of_pauses.iter().find(|(_, given)| *given && !pauses) {
            let expected = "none, or transport = \"roce\" with pauses";
            return Err(Problem::new(key(name), "switches pause no sender", expected));
        }
        self.resolve_buffer(&key)?;
        for (name, time) in [("base_rtt", &self.base_rtt), ("timeout", &self.timeout)] {
            time.given().map_or(Ok(Time::ZERO), |&time| positive(key(name), time))?;
        }
        for (name, bytes) in [("queue", &self.queue), ("window", &self.window)] {
            if let Some(bytes) = bytes.given() {
                within(key(name), bytes.0, 1, 1 << 40)?;
            }
        }
        Ok(())
    }

    /// Checks and fills in the values that depend on the rate of NICs and on the `full` bytes of a full packet on the wire;
    /// after [`fill_base_rtt`](Self::fill_base_rtt).
    ///
    /// # Errors
    /// A value is out of range.
    pub fn fill_sizes(&mut self, bandwidth: Bandwidth, (payload, header): (u64, u64)) -> Result<(), Problem> {
        let key = |name: &str| format!("network.ethernet.{name}");
        let full = payload + header;
        let sends_by_window = self.congestion_control.has_window();
        if let Some(&window) = self.window.given()
            && window.0 < full
            && sends_by_window
        {
            let expected = format!("{} at least, a full packet with its header", Bytes(full));
            return Err(Problem::new(key("window"), format!("a window of {window}"), expected));
        }
        let (low, high) = ecn_thresholds(self, bandwidth.0 / 1e12, full);
        let (low, high) = (Bytes(low), Bytes(high));
        if low > high {
            let (name, problem, expected) = match self.ecn_low.is_empty() {
                false => ("ecn_low", low, format!("up to network.ethernet.ecn_high, {high}")),
                true => ("ecn_high", high, format!("from network.ethernet.ecn_low, {low}, on")),
            };
            return Err(Problem::new(key(name), problem.to_string(), expected));
        }
        if let Some(buffer) = self.buffer {
            let most = (buffer.0 as f64).min(*self.alpha * buffer.0 as f64);
            if most < full as f64 {
                let problem = format!("a buffer of {buffer} with alpha = {}", *self.alpha);
                let expected = format!("room for a full packet, {}", Bytes(full));
                return Err(Problem::new(key("buffer"), problem, expected));
            }
            return Ok(());
        }
        let least = match *self.congestion_control {
            Control::Dcqcn => u32::try_from(high.0.div_ceil(full)).unwrap_or(u32::MAX),
            _ => 0,
        };
        let above = *self.pause_above.fill(least.clamp(PAUSE_ABOVE, MOST_WAITING));
        within(key("pause_above"), above, 1, MOST_WAITING)?;
        let below = *self.resume_below.fill((above / 5 * 4 + above % 5 * 4 / 5).max(1));
        within(key("resume_below"), below, 1, above)?;
        Ok(())
    }

    /// Fills in and checks the shared buffer.
    fn resolve_buffer(&mut self, key: &dyn Fn(&str) -> String) -> Result<(), Problem> {
        let Some(buffer) = self.buffer else {
            return match self.alpha.given() {
                None => Ok(()),
                Some(_) => {
                    let problem = "the outputs of a switch share no buffer";
                    Err(Problem::new(key("alpha"), problem, "none, or network.ethernet.buffer"))
                }
            };
        };
        within(key("buffer"), buffer.0, 1, 1 << 40)?;
        within(key("alpha"), *self.alpha.fill(1.0), 1e-3, 1e3)?;
        let of_queues = [
            ("queue", !self.queue.is_empty()),
            ("pause_above", !self.pause_above.is_empty()),
            ("resume_below", !self.resume_below.is_empty()),
        ];
        match of_queues.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((name, _)) => {
                let problem = "the outputs of a switch share network.ethernet.buffer";
                Err(Problem::new(key(name), problem, "none, or no buffer"))
            }
        }
    }

    /// Fills in and checks congestion control and its parameters.
    fn resolve_control(&mut self, key: &dyn Fn(&str) -> String) -> Result<(), Problem> {
        let (default, expected) = match self.transport {
            Transport::Uec => (
                Control::Nscc,
                "\"nscc\", \"rccc\", \"swift\" or \"constant\", or transport = \"roce\"",
            ),
            Transport::Roce => (Control::None, "\"none\", \"dcqcn\" or \"hpcc\", or transport = \"uec\""),
        };
        let control = *self.congestion_control.fill(default);
        if !control.is_of(self.transport) {
            let problem = "this transport has another congestion control";
            return Err(Problem::new(key("congestion_control"), problem, expected));
        }
        let is_dcqcn = control == Control::Dcqcn;
        let probability = *self.ecn_probability.fill(if is_dcqcn { 0.01 } else { 1.0 });
        within(key("ecn_probability"), probability, 0.0, 1.0)?;
        if is_dcqcn {
            self.dcqcn.resolve(&key("dcqcn"))?;
        }
        if control == Control::Hpcc {
            self.hpcc.resolve(&key("hpcc"))?;
        }
        if control == Control::Swift {
            self.swift.resolve(&key("swift"))?;
        }
        let tables = [
            ("dcqcn", is_dcqcn || self.dcqcn.is_none()),
            ("hpcc", control == Control::Hpcc || self.hpcc.is_none()),
            ("swift", control == Control::Swift || self.swift.is_none()),
        ];
        if let Some((name, _)) = tables.iter().find(|(_, fits)| !fits) {
            let problem = "the congestion control does not use it";
            let expected = format!("none, or congestion_control = \"{name}\"");
            return Err(Problem::new(key(name), problem, expected));
        }
        Ok(())
    }
}
