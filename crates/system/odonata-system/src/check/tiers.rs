//! Static report on storage tiers: space, rates, and the time to drain all data to the last tier.

use odonata_network::settings::Network;
use odonata_storage::settings::{Device, Storage, WritePolicy};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

use crate::placement::Placement;
use crate::scenario::resolved::Resolved;

/// A tier of storage servers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TierReport {
    /// Its name: "storage" for the servers used by jobs, "file-system" for the object servers at the end.
    pub name: String,
    /// Servers.
    pub servers: usize,
    /// Number of its nodes; for object servers, the nodes that hold their queues.
    pub nodes: usize,
    /// Space on all devices, bytes; null for object servers and pass-through servers.
    pub capacity: Option<u64>,
    /// Best drain rate to the next tier, B/s; null without a next tier.
    pub drain_rate: Option<f64>,
    /// The bottleneck of that rate: device, interface, next-tier, link (from I/O nodes to the file system),
    /// object-servers.
    pub bound: Option<&'static str>,
    /// Time to drain all data read and written by jobs at that rate, seconds; null without a next tier.
    pub drain_s: Option<f64>,
}

/// The tiers of `scenario`, whose jobs read and write about `bytes`; empty for a single tier.
pub(super) fn report(scenario: &Resolved, placement: &Placement, bytes: f64) -> Vec<TierReport> {
    let Some(storage) = scenario.storage.as_ref().filter(|storage| storage.tier_count() > 1) else {
        return Vec::new();
    };
    let count = storage.tier_count();
    let servers = |tier: usize| match tier.checked_sub(1) {
        None => &placement.servers[..],
        Some(below) => placement.tiers.get(below).map_or(&[][..], |tier| &tier.servers),
    };
    // From the last tier upwards: a pass-through tier accepts what it can hand down.
    let mut reports: Vec<TierReport> = Vec::with_capacity(count);
    let mut takes = f64::INFINITY;
    for tier in (0..count).rev() {
        let nodes = servers(tier).iter().collect::<BTreeSet<_>>().len();
        let of_each = |rate: f64| rate * servers(tier).len() as f64;
        let devices = devices(storage, tier);
        let mut report = TierReport {
            name: storage.tier_name(tier).to_owned(),
            servers: servers(tier).len(),
            nodes,
            capacity: (!devices.is_empty()).then(|| {
                let each: u64 = devices.iter().map(|device| device.capacity.0).sum();
                each.saturating_mul(servers(tier).len() as u64)
            }),
            drain_rate: None,
            bound: None,
            drain_s: None,
        };
        // A tier that writes around its devices is a pass-through tier.
        let devices = if passes_by(storage, tier) { &[][..] } else { devices };
        let block = storage.server(tier, 0, 0).manager.block.0;
        if tier + 1 < count {
            let outside = storage.file_system.filter(|_| tier + 2 == count);
            let interface = injection(scenario, tier) * nodes as f64;
            let mut bounds = vec![(takes, "next-tier")];
            if !devices.is_empty() {
                bounds.insert(0, (of_each(rate(devices, block, false)), "device"));
            }
            match outside {
                Some(system) => {
                    bounds.push((of_each(system.link.0), "link"));
                    bounds.push((system.bandwidth.0 * f64::from(system.object_servers), "object-servers"));
                }
                None => bounds.push((interface, "interface")),
            }
            let least = bounds.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
            (report.drain_rate, report.bound) = least.unzip();
            report.drain_s = report.drain_rate.map(|rate| bytes / rate);
        }
        takes = match (devices.is_empty(), report.drain_rate) {
            // Object servers with a given rate, and pass-through servers.
            (true, rate) => rate.unwrap_or(f64::INFINITY),
            (false, _) => of_each(rate(devices, block, true)),
        };
        reports.push(report);
    }
    reports.reverse();
    reports
}

/// The devices of a server of `tier`; empty for object servers.
fn devices(storage: &Storage, tier: usize) -> &[Device] {
    match tier.checked_sub(1) {
        None => storage.all_devices(),
        Some(below) => storage.tiers.get(below).map_or(&[][..], |tier| tier.all_devices()),
    }
}

/// Whether writes to `tier` bypass its devices.
fn passes_by(storage: &Storage, tier: usize) -> bool {
    let policy = match tier.checked_sub(1) {
        None => Some(storage.policy),
        Some(below) => storage.tiers.get(below).map(|tier| tier.policy),
    };
    policy.is_some_and(|policy| policy.write == WritePolicy::Around)
}

/// Rate of the last of `devices`, the default of the rules, in blocks, B/s.
fn rate(devices: &[Device], block: u64, write: bool) -> f64 {
    devices.last().map_or(f64::INFINITY, |device| {
        block as f64 / device.model().about(write, block).seconds().max(1e-12)
    })
}

/// Injection rate of a server of `tier`, B/s.
fn injection(scenario: &Resolved, tier: usize) -> f64 {
    let Network { links, .. } = &scenario.network;
    let rates = scenario.nic.rates;
    let local = tier == 0
        && scenario
            .storage
            .as_ref()
            .is_some_and(|storage| storage.nodes.class.is_some());
    let of_class = if local { rates.compute } else { rates.storage };
    let rate = of_class.or(scenario.nic.rate).map_or(f64::INFINITY, |rate| rate.0);
    rate.min(links.terminal.bandwidth.0)
}
