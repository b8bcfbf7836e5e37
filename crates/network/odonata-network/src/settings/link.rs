//! Link classes.

use odonata_topology::LinkClass;
use odonata_units::{Bandwidth, Bytes, Filled, Problem, Time, positive};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The link classes of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Links {
    /// Between a node and its router. Defaults: bandwidth "16 GiB/s", latency "30 ns", buffer "32 KiB".
    pub terminal: Link,
    /// Between routers of a group. Defaults: bandwidth "5.25 GiB/s", latency "50 ns", buffer "16 KiB".
    pub local: Link,
    /// Between groups. Defaults: bandwidth "4.7 GiB/s", latency "300 ns", buffer "16 KiB".
    pub global: Link,
    /// Between routers of a group that has two kinds of links: the columns of a two-dimensional dragonfly group. Keys
    /// that are left out default to those of `local`.
    pub column: Link,
}

impl Links {
    /// The settings of `class`.
    pub fn of(&self, class: LinkClass) -> &Link {
        match class {
            LinkClass::Terminal => &self.terminal,
            LinkClass::Local => &self.local,
            LinkClass::Global => &self.global,
            LinkClass::Column => &self.column,
        }
    }
}

/// A link class. Both directions are alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Link {
    /// Bandwidth of one direction, positive, e.g. "5.25 GiB/s". Default: by class, see `network.links`.
    pub bandwidth: Filled<Bandwidth>,
    /// Propagation delay from the departure of a bit to its arrival; positive, because it bounds the lookahead of
    /// parallel runs. Default: by class.
    pub latency: Filled<Time>,
    /// Buffer at the receiving end, per virtual channel; at least one packet, with wormhole switching one flit.
    /// Default: by class.
    pub buffer: Filled<Bytes>,
    /// Time that a credit takes to return; positive. Default: the latency.
    pub credit_delay: Filled<Time>,
}

impl Link {
    /// A link class with these values.
    pub const fn new(bandwidth: Bandwidth, latency: Time, buffer: Bytes, credit_delay: Time) -> Link {
        Link {
            bandwidth: Filled::new(bandwidth),
            latency: Filled::new(latency),
            buffer: Filled::new(buffer),
            credit_delay: Filled::new(credit_delay),
        }
    }

    /// These settings, with keys that are left out taken from `other`.
    #[must_use]
    pub fn or(&self, other: &Link) -> Link {
        fn first<T: Copy>(own: Filled<T>, other: Filled<T>) -> Filled<T> {
            if own.is_empty() { other } else { own }
        }
        // A class with its own latency does not inherit the credit delay: its default is that latency.
        let inherited = if self.latency.is_empty() {
            other.credit_delay
        } else {
            Filled::EMPTY
        };
        Link {
            bandwidth: first(self.bandwidth, other.bandwidth),
            latency: first(self.latency, other.latency),
            buffer: first(self.buffer, other.buffer),
            credit_delay: first(self.credit_delay, inherited),
        }
    }
}

/// Highest bandwidth, 1,000 TB/s, at which a byte takes 0.001 ps. No real link is near it.
const FASTEST_LINK: Bandwidth = Bandwidth(1e15);

impl Links {
    /// Fills in and checks the classes. Each buffer holds at least `least`.
    ///
    /// # Errors
    /// A value is out of range, or a buffer is too small.
    pub(super) fn fill(&mut self, least: Bytes) -> Result<(), Problem> {
        self.column = self.column.or(&self.local);
        link("terminal", &mut self.terminal, least, (16.0, 30, 32))?;
        link("local", &mut self.local, least, (5.25, 50, 16))?;
        link("global", &mut self.global, least, (4.7, 300, 16))?;
        link("column", &mut self.column, least, (5.25, 50, 16))
    }
}

/// Fills in and checks a class. Units of the defaults: bandwidth in GiB/s, latency in ns, buffer in KiB.
fn link(class: &str, link: &mut Link, packet: Bytes, defaults: (f64, u64, u64)) -> Result<(), Problem> {
    let key = |name: &str| format!("network.links.{class}.{name}");
    let latency = *link.latency.fill(Time::from_ns(defaults.1));
    positive(key("latency"), latency)?;
    let buffer = *link.buffer.fill(Bytes::kib(defaults.2));
    if buffer < packet {
        let problem = format!("a buffer of {buffer} does not hold one packet");
        let error = Problem::new(key("buffer"), problem, format!("at least network.packet, {packet}"));
        return Err(error.hint("the buffer is per virtual channel; make it larger or the packet smaller"));
    }
    if buffer.0 > 1 << 40 {
        return Err(Problem::new(
            key("buffer"),
            format!("a buffer of {buffer}"),
            "at most 1 TiB",
        ));
    }
    let bandwidth = *link.bandwidth.fill(Bandwidth::gib_per_s(defaults.0));
    if bandwidth.0 > FASTEST_LINK.0 {
        let problem = format!("a bandwidth of {bandwidth}");
        return Err(Problem::new(key("bandwidth"), problem, "at most 1000 TB/s"));
    }
    positive(key("credit_delay"), *link.credit_delay.fill(latency)).map(|_| ())
}
