//! How a fabric carries messages, and the parameters of its analytic form.

use odonata_units::{Filled, PerByte, Problem, Time, positive};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a fabric carries messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fidelity {
    /// In packets, from router to router.
    #[default]
    Packet,
    /// As flows, whose rates are max-min fair over the links of their paths (D. Bertsekas, R. Gallager, Data Networks, 1992,
    /// 6.5.2): links are shared, but there are no packets, queues or buffers.
    Flow,
    /// By the LogGP model (A. Alexandrov et al., SPAA 1995): nothing in the network is in the way of anything else. GOAL
    /// schedules go by the LogGOPS model of LogGOPSim.
    Analytic,
}

impl Fidelity {
    /// Whether it is the default.
    pub fn is_packet(&self) -> bool {
        *self == Fidelity::Packet
    }
}

/// The parameters of the LogGP model that are the network's; only where `network.fidelity`, or that of a job, is "analytic". Those of the hosts, o and S,
/// are `mpi.send_overhead`, `mpi.recv_overhead` and `mpi.eager_threshold`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Analytic {
    /// L: from the interface of the sender to that of the receiver; positive. Default: that of a message which meets nobody,
    /// over the links and routers of a shortest path, in the mean over the paths from the first router to all others.
    pub latency: Filled<Time>,
    /// g: an interface begins to send, or to receive, two messages at least so far apart, and their bytes after the first.
    pub gap: Time,
    /// G: time per byte of a message after its first, e.g. "0.08 ns/B". Default: that of terminal links.
    pub gap_per_byte: Filled<PerByte>,
    /// O: how long each byte of a message after its first occupies the processors at its ends. Of GOAL schedules only.
    pub overhead_per_byte: PerByte,
}

impl Analytic {
    /// Whether none of its keys is written.
    pub fn is_none(&self) -> bool {
        *self == Analytic::default()
    }

    /// Checks the values.
    ///
    /// # Errors
    /// There is no latency.
    pub fn check(&self) -> Result<(), Problem> {
        self.latency.given().map_or(Ok(()), |&latency| {
            positive("network.analytic.latency", latency).map(|_| ())
        })
    }
}
