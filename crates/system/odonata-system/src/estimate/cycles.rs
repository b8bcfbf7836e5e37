//! What pipelined routers do, cycle by cycle.
//!
//! Every cycle of a router in which something can go on is an event (`pipelined` of `odonata-network`); what comes in has none of
//! its own. Cycles are asked for, per packet, one of each allocation, and of its flits one each, or two where the link
//! sends fewer than one a cycle, for the cycle after a flit finds that there is nothing left to do.
//!
//! Packets that meet in a router share its cycles. With `x` cycles asked for per cycle, by packets that know nothing of
//! each other, a router is awake for the share `1 - exp(-x)` of all cycles in which something is sent.

use crate::scenario::resolved::{Resolved, RouterModel};
use odonata_units::Bytes;

/// Cycles of pipelined routers.
pub(super) struct Cycles {
    /// Of the clock, seconds.
    period_s: f64,
    /// That a router is awake for a packet of one flit.
    of_a_head: f64,
    /// The same for each further flit.
    of_a_flit: f64,
}

impl Cycles {
    /// Those of `scenario`; `None`: its routers are not pipelined.
    pub(super) fn new(scenario: &Resolved) -> Option<Cycles> {
        let network = &scenario.network;
        if network.router != RouterModel::Pipelined {
            return None;
        }
        let period_s = network.clock?.ps() * 1e-12;
        let flit_s = |bandwidth: odonata_units::Bandwidth| bandwidth.time_for(Bytes(network.flit.0)).seconds();
        let links = &network.links;
        let flit_s = flit_s(*links.local.bandwidth).max(flit_s(*links.global.bandwidth));
        let pipeline = &network.pipeline;
        // Both allocations fit into one cycle that has two steps.
        let allocations = if pipeline.internal_speedup >= 2.0 { 1 } else { 2 };
        Some(Cycles {
            period_s,
            of_a_head: f64::from(pipeline.routing + pipeline.vc_allocation - 1 + allocations),
            of_a_flit: (flit_s / period_s).clamp(1.0, 2.0),
        })
    }

    /// Cycles in which one of `routers` is awake, where packets visit `hops` of them in all, with `flit_hops` flits, in
    /// `busy_s` seconds.
    pub(super) fn ticks(&self, hops: f64, flit_hops: f64, routers: f64, busy_s: f64) -> f64 {
        let asked = hops * self.of_a_head + (flit_hops - hops).max(0.0) * self.of_a_flit;
        let all = routers * busy_s / self.period_s;
        if all > 0.0 {
            all * -(-asked / all).exp_m1()
        } else {
            asked
        }
    }
}

/// Flits of a message of `bytes`, packet by packet.
pub(super) fn flits(scenario: &Resolved, bytes: u64) -> u64 {
    let (packet, flit) = (scenario.network.packet.0, scenario.network.flit.0);
    let of = |bytes: u64| bytes.div_ceil(flit);
    ((bytes / packet).saturating_mul(of(packet)))
        .saturating_add(of(bytes % packet))
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CYCLES: Cycles = Cycles {
        period_s: 1e-9,
        of_a_head: 2.0,
        of_a_flit: 1.0,
    };

    #[test]
    fn packets_that_do_not_meet_have_cycles_for_themselves() {
        // 100 packets of 10 flits, at 10 routers, in a second.
        let ticks = CYCLES.ticks(100.0, 1_000.0, 10.0, 1.0);
        assert!((ticks - 1_100.0).abs() < 1e-3, "{ticks}");
        // Where nothing is sent in no time there is nothing to divide by.
        assert_eq!(CYCLES.ticks(0.0, 0.0, 10.0, 0.0), 0.0);
        assert_eq!(CYCLES.ticks(1.0, 1.0, 10.0, 0.0), 2.0);
    }

    #[test]
    fn a_router_has_no_more_cycles_than_there_are() {
        // A microsecond has 1,000 cycles at each of 10 routers.
        let ticks = |hops: f64| CYCLES.ticks(hops, hops, 10.0, 1e-6);
        assert!((ticks(1e9) - 10_000.0).abs() < 1e-6);
        // Half as many cycles asked for as there are: 1 - exp(-1/2) of them.
        assert!((ticks(2_500.0) - 10_000.0 * (1.0 - (-0.5_f64).exp())).abs() < 1e-6);
    }
}
