//! Classes of links: that the machine has them, and that none is far slower than the rest by mistake.

use odonata_topology::{LinkClass, Peer, Topology};

use super::Warning;
use crate::estimate::distances;
use crate::scenario::Scenario;

/// A class of links gets a warning if its rate is below this share of the rest of the machine's.
const FAR_BELOW: f64 = 1.0 / 8.0;

/// Tables of links that machines of this kind do not have.
pub(super) fn absent(scenario: &Scenario) -> Vec<Warning> {
    let kind = &scenario.resolved.machine.kind;
    let classes = written(scenario).filter(|class| !kind.link_classes().contains(class));
    classes
        .map(|class| without_effect(class, &format!("machines of kind {}", kind.name()), "have"))
        .collect()
}

/// Tables of links that only other sizes of this kind of machine have, e.g. global links of a single group.
pub(crate) fn unused(scenario: &Scenario, topology: &Topology) -> Vec<Warning> {
    let kind = &scenario.resolved.machine.kind;
    let exists = |class| {
        let mut connected = (0..topology.ports()).filter(|&port| topology.peer(port) != Peer::Free);
        connected.any(|port| topology.class(port) == class || topology.medium(port) == class)
    };
    let classes = written(scenario).filter(|&class| kind.link_classes().contains(&class) && !exists(class));
    classes
        .map(|class| without_effect(class, "this machine", "has"))
        .collect()
}

/// Classes with a table, unless it is from a preset, which may be for several machines.
fn written(scenario: &Scenario) -> impl Iterator<Item = LinkClass> {
    let of_preset = scenario.document.leftovers("network.links", "");
    LinkClass::ALL.into_iter().filter(move |class| {
        scenario.document.has(&format!("network.links.{}", class.name())) && !of_preset.contains(class.name())
    })
}

fn without_effect(class: LinkClass, machine: &str, has: &str) -> Warning {
    Warning {
        key: format!("network.links.{}", class.name()),
        message: format!("{machine} {has} no {} links: the table has no effect", class.name()),
        expected: "no such table".into(),
    }
}

/// A class of links whose rate for uniform traffic over all nodes is far below that of the other classes, e.g. because
/// one bandwidth was given and the others were left at their defaults. Not for presets, whose values are intended.
pub(crate) fn far_slower(scenario: &Scenario, topology: &Topology) -> Option<Warning> {
    if scenario.document.has("preset") {
        return None;
    }
    let rates = rates_per_node(scenario, topology);
    let (slowest, rate) = rates.iter().copied().min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let others = rates.iter().filter(|&&(class, _)| class != slowest);
    let rest = others.map(|&(_, rate)| rate).min_by(f64::total_cmp)?;
    (rate < FAR_BELOW * rest).then(|| Warning {
        key: format!("network.links.{}.bandwidth", slowest.name()),
        message: format!(
            "under uniform traffic, {} links carry {:.3} GB/s per node, the other links {:.3} GB/s",
            slowest.name(),
            rate * 1e-9,
            rest * 1e-9
        ),
        expected: "a bandwidth for every link class, unless the imbalance is intended".into(),
    })
}

/// The rate of uniform traffic that each class carries on shortest paths, in bytes per second and node. Columns count
/// as local links.
fn rates_per_node(scenario: &Scenario, topology: &Topology) -> Vec<(LinkClass, f64)> {
    let layout = &scenario.resolved.layout;
    let mut bandwidth = [0.0; LinkClass::COUNT];
    for port in 0..topology.ports() {
        if topology.peer(port) != Peer::Free {
            let class = match topology.class(port) {
                LinkClass::Column => LinkClass::Local,
                class => class,
            };
            let link = scenario.resolved.network.links.of(topology.medium(port));
            bandwidth[class as usize] += link.bandwidth.0 * topology.factor(port);
        }
    }
    let (inside, outside, far) = distances(layout, topology);
    let globals = if bandwidth[LinkClass::Global as usize] > 0.0 {
        far
    } else {
        0.0
    };
    let locals = (1.0 - far) * inside + far * outside - globals;
    let crossed = [
        (LinkClass::Terminal, 1.0),
        (LinkClass::Local, locals),
        (LinkClass::Global, globals),
    ];
    let nodes = f64::from(topology.nodes());
    let crossed = crossed.into_iter().filter(|&(_, times)| times > 0.0);
    crossed
        .map(|(class, times)| (class, bandwidth[class as usize] / (nodes * times)))
        .filter(|&(_, rate)| rate > 0.0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    fn slowest(text: &str) -> Option<Warning> {
        let loaded = scenario::load_to_check(text, "scenario.toml", &[], None, "").expect("it is a scenario");
        let routing = crate::build::routing(&loaded.resolved).unwrap();
        far_slower(&loaded, routing.topology())
    }

    /// One group has no global links, and a tree of two levels none above its pods; three levels have them.
    #[test]
    fn a_class_that_this_size_of_machine_lacks_is_named() {
        let found = |machine: &str| {
            let text = format!("{machine}[network.links.global]\nbandwidth = \"1 GB/s\"\n");
            let loaded = scenario::load_to_check(&text, "scenario.toml", &[], None, "").expect("it is a scenario");
            let routing = crate::build::routing(&loaded.resolved).unwrap();
            assert_eq!(absent(&loaded), []);
            unused(&loaded, routing.topology())
        };
        let dragonfly = |groups: u32| {
            let sizes = "routers_per_group = 4\nnodes_per_router = 1\nglobal_ports_per_router = 1\n";
            found(&format!("[machine.dragonfly]\ngroups = {groups}\n{sizes}"))
        };
        let tree = |levels: u32| found(&format!("[machine.fat-tree]\nradix = 4\nlevels = {levels}\n"));
        assert_eq!(dragonfly(1).len(), 1);
        assert_eq!(dragonfly(1)[0].key, "network.links.global");
        assert_eq!(
            dragonfly(1)[0].message,
            "this machine has no global links: the table has no effect"
        );
        assert_eq!((dragonfly(2), tree(3)), (vec![], vec![]));
        assert_eq!(tree(2).len(), 1);
    }

    /// On a torus of 4 x 4 a packet crosses 2 x 1 links in the mean, itself included, and 16 nodes have 64 links of
    /// 5.25 GiB/s: 10.5 GiB/s per node, 11.3 GB/s.
    #[test]
    fn a_class_that_was_left_far_slower_is_named() {
        let torus = |terminal: &str| {
            slowest(&format!(
                "[machine.torus]\ndims = [4, 4]\n[network.links.terminal]\nbandwidth = {terminal:?}\n"
            ))
        };
        let found = torus("200 GB/s").expect("17 times as much");
        assert_eq!(found.key, "network.links.local.bandwidth");
        assert!(
            found.message.contains("local links carry 11.274 GB/s per node"),
            "{}",
            found.message
        );
        assert!(
            found.message.contains("the other links 200.000 GB/s"),
            "{}",
            found.message
        );
        assert_eq!(torus("80 GB/s"), None);
        assert_eq!(slowest("preset = \"theta\"\n"), None);
        let sizes = "[machine.dragonfly]\ngroups = 9\nrouters_per_group = 4\nnodes_per_router = 2\nglobal_ports_per_router = 2\n";
        let own = "[network.links.terminal]\nbandwidth = \"200 GB/s\"\n\
                   [network.links.local]\nbandwidth = \"200 GB/s\"\n[network.links.global]\nbandwidth = \"1 GB/s\"\n";
        let found = slowest(&format!("{sizes}{own}")).expect("global links are far slower");
        assert_eq!(found.key, "network.links.global.bandwidth");
        assert_eq!(slowest(sizes), None);
    }
}
