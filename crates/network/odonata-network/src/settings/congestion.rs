//! End-to-end congestion control.

use odonata_units::{Bytes, Filled, Number, Problem, Time, positive};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Congestion control. Notifications travel at zero-load latency and use no bandwidth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CongestionControl {
    /// The kind. Default: "none"; the other keys apply to the other kinds.
    pub kind: CongestionKind,
    /// ECN: a port marks a packet if more than this waits behind it. Per flow and per pair: the backlog for the link to
    /// a node that slows down no flow. Default: 8 packets; per flow and per pair: 4 packets.
    #[serde(skip_serializing_if = "Filled::is_empty")]
    pub threshold: Filled<Bytes>,
    /// ECN: the fraction of its rate that a notified flow gives up; more than 0 and less than 1. Default: 0.5.
    #[serde(skip_serializing_if = "Filled::is_empty")]
    pub decrease: Filled<f64>,
    /// Least time between two rate reductions of a flow (ECN), or between two changes of the rate to a node (per flow) or
    /// of its window (per pair); about one round trip. Per pair: limited sources have at most what the link to the node
    /// carries in this time in flight. Default: "5 us".
    #[serde(skip_serializing_if = "Filled::is_empty")]
    pub interval: Filled<Time>,
    /// Time in which a flow recovers from rate zero to the rate of its link; per pair: time without packets after which
    /// a source is unlimited again. Default: "500 us".
    #[serde(skip_serializing_if = "Filled::is_empty")]
    pub recovery: Filled<Time>,
}

impl CongestionControl {
    /// Explicit congestion notification: ports mark packets, and the sources of marked packets slow down.
    pub const fn ecn(threshold: Bytes, decrease: f64, interval: Time, recovery: Time) -> Self {
        CongestionControl {
            kind: CongestionKind::Ecn,
            threshold: Filled::new(threshold),
            decrease: Filled::new(decrease),
            interval: Filled::new(interval),
            recovery: Filled::new(recovery),
        }
    }

    /// The last router before a node slows down the flows to that node.
    pub const fn per_flow(threshold: Bytes, interval: Time, recovery: Time) -> Self {
        CongestionControl {
            kind: CongestionKind::PerFlow,
            threshold: Filled::new(threshold),
            decrease: Filled::EMPTY,
            interval: Filled::new(interval),
            recovery: Filled::new(recovery),
        }
    }

    /// The last router before a node gives every pair of endpoints with that node a window.
    pub const fn per_pair(threshold: Bytes, interval: Time, recovery: Time) -> Self {
        CongestionControl {
            kind: CongestionKind::PerPair,
            ..Self::per_flow(threshold, interval, recovery)
        }
    }

    /// Whether congestion control is off.
    pub fn is_none(&self) -> bool {
        self.kind == CongestionKind::None
    }
}

/// Kinds of congestion control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionKind {
    /// None: only the credits between routers limit senders.
    #[default]
    None,
    /// Ports mark packets that have a large backlog behind them. The source of a marked packet reduces its rate to that
    /// node and recovers over time (as in InfiniBand and DCQCN).
    Ecn,
    /// The last router before an overloaded node computes a rate for the senders to that node. Only these senders slow
    /// down (after Slingshot).
    PerFlow,
    /// The last router before a congested node limits the packets that each source has in flight to that node; further
    /// packets wait at the source (after Slingshot).
    PerPair,
}

impl CongestionControl {
    /// Fills in and checks the keys for a network with packets of size `packet`.
    ///
    /// # Errors
    /// A key has no effect or is out of range.
    pub fn fill(&mut self, packet: Bytes) -> Result<(), Problem> {
        let key = |name: &str| format!("network.congestion_control.{name}");
        let given = [
            (
                "threshold",
                !self.threshold.is_empty(),
                self.kind != CongestionKind::None,
            ),
            ("decrease", !self.decrease.is_empty(), self.kind == CongestionKind::Ecn),
            ("interval", !self.interval.is_empty(), self.kind != CongestionKind::None),
            ("recovery", !self.recovery.is_empty(), self.kind != CongestionKind::None),
        ];
        if let Some((name, ..)) = given.iter().find(|(_, given, used)| *given && !used) {
            let kinds = if *name == "decrease" {
                "\"ecn\""
            } else {
                "\"ecn\", \"per-flow\" or \"per-pair\""
            };
            let problem = "this kind of congestion control does not use it";
            return Err(Problem::new(key(name), problem, format!("kind = {kinds}")));
        }
        let time = |name: &str, time: &mut Filled<Time>, default: Time| {
            let time = positive(key(name), *time.fill(default))?;
            match time <= Time::LONGEST {
                true => Ok(()),
                false => Err(Problem::new(
                    key(name),
                    format!("{time}"),
                    format!("up to {}", Time::LONGEST),
                )),
            }
        };
        let packets = match self.kind {
            CongestionKind::None => return Ok(()),
            CongestionKind::Ecn => 8,
            CongestionKind::PerFlow | CongestionKind::PerPair => 4,
        };
        time("interval", &mut self.interval, Time::from_ns(5_000))?;
        time("recovery", &mut self.recovery, Time::from_ns(500_000))?;
        if self.kind == CongestionKind::Ecn {
            let decrease = *self.decrease.fill(0.5);
            if !(decrease > 0.0 && decrease < 1.0) {
                let problem = format!("a loss of {}", Number(decrease));
                return Err(Problem::new(key("decrease"), problem, "more than 0 and less than 1"));
            }
        }
        self.threshold.fill(Bytes(packets * packet.0));
        Ok(())
    }
}
