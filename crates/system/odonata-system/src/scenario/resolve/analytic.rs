//! The parameters L and G of the LogGP model, derived from the machine.

use odonata_network::settings::Network;
use odonata_topology::{LinkClass, Peer, Topology};
use odonata_units::{PerByte, Time};

use super::super::error::Problem;
use super::super::resolved as r;

/// Fills in what was left out of `network.analytic`.
pub(super) fn fill(n: &mut Network, machine: &r::Machine) -> Result<(), Problem> {
    if n.analytic.latency.is_empty() {
        let graph = machine
            .build()
            .map_err(|problem| Problem::new("machine", problem, "one that is possible"))?;
        let mean = mean_latency(graph.topology(), n);
        // If links take no time, no path takes time.
        n.analytic.latency.fill(mean.max(Time(1)));
    }
    let terminal = *n.links.terminal.bandwidth;
    n.analytic.gap_per_byte.fill(PerByte(1e12 / terminal.0));
    Ok(())
}

/// The unloaded latency of a message's first byte over the links and routers of a path with the fewest cables: the mean
/// over the paths from the first router to all others.
fn mean_latency(topology: &Topology, n: &Network) -> Time {
    let of = |class: LinkClass| *n.links.of(class).latency;
    let ends = of(LinkClass::Terminal) + of(LinkClass::Terminal) + n.router_delay;
    let mut latency: Vec<Option<Time>> = vec![None; topology.routers() as usize];
    latency[0] = Some(Time::ZERO);
    let mut reached = vec![0];
    let mut at = 0;
    let mut sum = 0_u128;
    while let Some(&router) = reached.get(at) {
        let here = latency[router as usize].unwrap_or(Time::ZERO);
        sum += u128::from(here.0);
        for port in topology.ports_of(router) {
            if let Peer::Router { router: far, .. } = topology.peer(port) {
                let entry = &mut latency[far as usize];
                if entry.is_none() {
                    *entry = Some(here + of(topology.medium(port)) + n.router_delay);
                    reached.push(far);
                }
            }
        }
        at += 1;
    }
    let others = (reached.len() as u128 - 1).max(1);
    ends + Time((sum / others) as u64)
}
