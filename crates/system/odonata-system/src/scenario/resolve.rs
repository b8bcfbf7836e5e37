//! From the written to the resolved form: defaults are filled in and rules checked.
//!
//! Rules for single values (units, signs, names) are checked when they are read; this module checks bounds and rules
//! between values.

mod analytic;
mod ethernet;
mod jobs;
mod machine;
mod router_keys;
mod routing;
mod routing_keys;
mod rules;
mod storage;
mod traffic_classes;
mod workload;
mod worst_case;

use odonata_network::settings::{Fidelity, Links, Network};
use odonata_topology::Topology;
use odonata_units::{Bytes, Time, check_name, within};

use crate::memory;

use super::document::Document;
use super::error::Problem;
use super::resolved as r;
use super::written as w;

/// Resolves `written`, which was read from `document`. `stem` is the name of a scenario without one; relative paths
/// start at `folder`.
pub(super) fn resolve(
    written: w::Written,
    document: &Document,
    stem: &str,
    folder: &std::path::Path,
) -> Result<r::Resolved, Problem> {
    let available = memory::available(written.run.memory_limit);
    let (machine, layout, family) = machine::machine(written.machine, folder, &available)?;
    let queue_links = rules::queue_links(&written.run, family.topology())?;
    let mut network = written.network;
    self::network(&mut network, document, &machine, family.topology())?;
    routing::on_machine(&mut network, &machine, family, folder)?;
    written.nic.check()?;
    written.nic.check_interfaces(machine.interfaces)?;
    written.nic.check_send_queues(&network)?;
    written.nic.check_receive_rate(&network)?;
    written.mpi.check()?;
    let mut storage = written.storage;
    if let Some(storage) = &mut storage {
        storage::storage(storage, &layout)?;
    }
    let mut resolved = r::Resolved {
        name: name("name", written.name.unwrap_or_else(|| stem.into()))?,
        seed: written.seed,
        preset: written.preset,
        run: {
            written.run.check(layout.routers())?;
            written.run
        },
        machine,
        layout,
        queue_links,
        network,
        nic: written.nic,
        mpi: written.mpi,
        storage,
        jobs: Vec::new(),
    };
    resolved.jobs = jobs::jobs(written.jobs, &resolved, folder)?;
    if let Some(timeline) = &mut resolved.run.timeline {
        rules::timeline(timeline, &resolved.jobs)?;
    }
    rules::fidelity(&mut resolved)?;
    rules::reduction(&resolved)?;
    if resolved.has_fidelity(Fidelity::Analytic) {
        analytic::fill(&mut resolved.network, &resolved.machine)?;
    }
    if resolved.has_fidelity(Fidelity::Ethernet) {
        ethernet::fill(&mut resolved.network, &resolved.machine)?;
    }
    storage::files(&resolved)?;
    rules::blame(&mut resolved)?;
    rules::lost_time(&resolved)?;
    rules::blame_sampling(&resolved)?;
    Ok(resolved)
}

/// The problem of a scenario that needs jobs and has none.
pub(super) fn no_jobs() -> Problem {
    let expected = format!("1 to {} tables [[jobs]]", jobs::MOST_JOBS);
    let problem = Problem::new("jobs", "there are no jobs", expected);
    problem.hint("odonata describe and odonata check need none")
}

/// Resolves only the machine of `written` and its network; see [`resolve`].
pub(super) fn hardware(
    written: w::Written,
    document: &Document,
    stem: &str,
    folder: &std::path::Path,
) -> Result<r::Hardware, Problem> {
    let available = memory::available(written.run.memory_limit);
    let (machine, layout, family) = machine::machine(written.machine, folder, &available)?;
    let mut network = written.network;
    self::network(&mut network, document, &machine, family.topology())?;
    // A machine whose failures its routing does not survive can still be described.
    if routing::has_tables(&network) {
        routing::on_machine(&mut network, &machine, family, folder)?;
    }
    if network.fidelity == Fidelity::Analytic {
        analytic::fill(&mut network, &machine)?;
    }
    if network.fidelity == Fidelity::Ethernet {
        ethernet::fill(&mut network, &machine)?;
    }
    Ok(r::Hardware {
        name: name("name", written.name.unwrap_or_else(|| stem.into()))?,
        preset: written.preset,
        machine,
        layout,
        network,
    })
}

/// Checks that a name fits into titles and tables.
fn name(key: &str, name: String) -> Result<String, Problem> {
    check_name(key, &name).map(|()| name)
}

/// Fills in and checks the network of `machine`, whose graph is `topology`.
fn network(n: &mut Network, document: &Document, machine: &r::Machine, topology: &Topology) -> Result<(), Problem> {
    let kind = &machine.kind;
    n.analytic.check()?;
    n.check_packets()?;
    router_keys::check(n, document)?;
    n.fill_links()?;
    if n.router == r::RouterModel::Pipelined {
        flits_take_time(n.flit, &n.links, kind)?;
    }
    let leftovers = document.leftovers("network.routing", "algorithm");
    routing::routing(n, &leftovers, kind)?;
    n.check_bubble()?;
    let of_cables = match &machine.cables {
        Some(_) => machine::CABLES.to_owned(),
        None => format!("machine.{}", kind.name()),
    };
    n.check_buffers(topology, &of_cables)?;
    // Pipelined routers have stages instead.
    if n.router == r::RouterModel::Pipelined {
        n.router_delay = Time::ZERO;
    }
    n.check_classes()?;
    n.congestion_control.fill(n.packet)
}

/// Checks that flits take time: pipelined routers and their NICs send each flit when the one before has left. Degraded
/// cables are slower than their class, never faster.
fn flits_take_time(flit: Bytes, links: &Links, kind: &r::Kind) -> Result<(), Problem> {
    for &class in kind.link_classes() {
        let bandwidth = *links.of(class).bandwidth;
        if bandwidth.time_for(flit) == Time::ZERO {
            let key = format!("network.links.{}.bandwidth", class.name());
            let problem = format!("a flit of {flit} takes less than half a picosecond at {bandwidth}");
            let error = Problem::new(key, problem, "flits that take 1 ps at least");
            return Err(error.hint("make flits larger or the link slower"));
        }
    }
    Ok(())
}
