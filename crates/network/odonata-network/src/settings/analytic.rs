//! The fidelity of a fabric, and the parameters of its analytic model.

use odonata_units::{Filled, PerByte, Problem, Time, positive};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a fabric carries messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fidelity {
    /// As packets, from router to router.
    #[default]
    Packet,
    /// As flows with max-min fair rates over the links of their paths (D. Bertsekas, R. Gallager, Data Networks, 1992,
    /// 6.5.2). Flows share links; there are no packets, queues or buffers.
    Flow,
    /// As packets of an Ethernet, whose switches mark, trim, drop or pause, under a transport of the hosts.
    Ethernet,
    /// By the LogGP model (A. Alexandrov et al., SPAA 1995), without contention in the network. GOAL schedules follow
    /// the LogGOPS model of LogGOPSim.
    Analytic,
}

impl Fidelity {
    /// Whether this is the default.
    pub fn is_packet(&self) -> bool {
        *self == Fidelity::Packet
    }
}

/// The network parameters of the LogGP model. They apply where `network.fidelity` or the `fidelity` of a job is
/// "analytic". The host parameters o and S are `mpi.send_overhead`, `mpi.recv_overhead` and `mpi.eager_threshold`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Analytic {
    /// L: latency from the sender's interface to the receiver's interface; positive. Default: the zero-load latency
    /// over the links and routers of a shortest path, averaged over the paths from the first router to all others.
    pub latency: Filled<Time>,
    /// g: least time between the starts of two messages that an interface sends, or receives; their bytes after the
    /// first take additional time.
    pub gap: Time,
    /// G: time per byte of a message after its first, e.g. "0.08 ns/B". Default: the time per byte of terminal links.
    pub gap_per_byte: Filled<PerByte>,
    /// O: time for which each byte of a message after its first occupies the processors of sender and receiver. Only
    /// for GOAL schedules.
    pub overhead_per_byte: PerByte,
}

impl Analytic {
    /// Whether no key is set.
    pub fn is_none(&self) -> bool {
        *self == Analytic::default()
    }

    /// Checks the values.
    ///
    /// # Errors
    /// The latency is zero.
    pub fn check(&self) -> Result<(), Problem> {
        self.latency.given().map_or(Ok(()), |&latency| {
            positive("network.analytic.latency", latency).map(|_| ())
        })
    }
}
