//! The machine's graph: sizes filled in and checked, then built once.
//!
//! Sizes that are wrong by themselves or against one other are refused here, with their key. What remains between
//! several sizes the family itself refuses when it is built, with the table as key.

mod dragonfly;
mod dragonfly_2d;
mod dragonfly_plus;
mod fat_tree;
mod graph;
mod hyperx;
mod slim_fly;
mod torus;

use std::collections::BTreeSet;
use std::path::Path;

use crate::family::Family;
use crate::scenario::error::Problem;
use crate::scenario::layout::Layout;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

/// Most ports of a machine; the topology's own bound.
const MOST_PORTS: u64 = 1 << 28;

/// Most ports of a router; the topology's own bound.
const MOST_PORTS_OF_A_ROUTER: u64 = 4_096;

/// Largest number that a size may be: products of two fit into 64 bits with room to spare.
const MOST: u32 = 1 << 20;

/// Most broken cables.
const MOST_FAULTS: usize = 1 << 20;

/// Resolves the machine and finds out where its nodes are. A graph's file starts from `folder`.
pub(super) fn machine(machine: Option<w::Machine>, folder: &Path) -> Result<(r::Machine, Layout), Problem> {
    let machine = machine.unwrap_or_default();
    let kinds = machine.kinds();
    let [name] = kinds[..] else {
        if kinds.is_empty() {
            let missing = Problem::new(
                "machine",
                "the machine is missing",
                "a table of its kind, such as [machine.dragonfly] or [machine.torus]",
            );
            return Err(missing.hint("or a preset that has a machine, such as preset = \"codes-compatible\""));
        }
        let problem = format!("{} kinds of machines ({})", kinds.len(), kinds.join(", "));
        let expected = format!("exactly one of {}", w::Machine::KINDS.join(", "));
        return Err(Problem::new("machine", problem, expected));
    };
    let (failed, degraded, service) = (machine.failed_links, machine.degraded_links, machine.service_routers);
    let table = Table(name);
    // Exactly one of them is there.
    let kind = if let Some(dragonfly) = machine.dragonfly {
        r::Kind::Dragonfly(dragonfly::dragonfly(table, &dragonfly)?)
    } else if let Some(dragonfly) = machine.dragonfly_2d {
        r::Kind::Dragonfly2d(dragonfly_2d::dragonfly_2d(table, dragonfly)?)
    } else if let Some(dragonfly) = machine.dragonfly_plus {
        r::Kind::DragonflyPlus(dragonfly_plus::dragonfly_plus(table, &dragonfly)?)
    } else if let Some(torus) = machine.torus {
        r::Kind::Torus(torus::torus(table, torus)?)
    } else if let Some(mesh) = machine.mesh {
        r::Kind::Mesh(torus::torus(table, mesh)?)
    } else if let Some(tree) = machine.fat_tree {
        r::Kind::FatTree(fat_tree::fat_tree(table, tree)?)
    } else if let Some(fly) = machine.slim_fly {
        r::Kind::SlimFly(slim_fly::slim_fly(table, &fly)?)
    } else if let Some(hyperx) = machine.hyperx {
        r::Kind::HyperX(hyperx::hyperx(table, hyperx)?)
    } else {
        r::Kind::Graph(graph::graph(table, machine.graph.unwrap_or_default(), folder)?)
    };
    let mut machine = r::Machine {
        kind,
        service_routers: Vec::new(),
        failed_links: Vec::new(),
        degraded_links: Vec::new(),
    };
    let family = Family::new(&machine).map_err(|problem| table.refuse(&machine.kind, problem))?;
    let layout = Layout::new(family.topology()).map_err(|problem| table.refuse(&machine.kind, problem))?;
    let layout = service_routers(&mut machine, service, layout)?;
    faults(&mut machine, &failed, &degraded, layout.routers())?;
    if !machine.faults().is_empty() || matches!(machine.kind, r::Kind::Graph(_)) {
        impaired(&machine)?;
    }
    Ok((machine, layout))
}

/// The table of a kind of machine.
#[derive(Clone, Copy)]
struct Table(&'static str);

impl Table {
    fn key(self, name: &str) -> String {
        format!("machine.{}.{name}", self.0)
    }

    fn problem(self, name: &str, problem: impl Into<String>, expected: impl Into<String>) -> Problem {
        Problem::new(self.key(name), problem, expected)
    }

    /// A problem of the table as a whole.
    fn whole(self, problem: impl Into<String>, expected: impl Into<String>) -> Problem {
        Problem::new(format!("machine.{}", self.0), problem, expected)
    }

    /// A required size.
    fn size(self, name: &str, value: Option<u32>, least: u32) -> Result<u32, Problem> {
        match value {
            None => Err(self.problem(name, "the key is missing", "a whole number")),
            Some(value) => super::within(&self.key(name), value, least, MOST),
        }
    }

    /// The extents of a grid: 1 to 16 positive numbers.
    fn extents(self, name: &str, extents: Option<Vec<u32>>) -> Result<Vec<u32>, Problem> {
        let Some(extents) = extents else {
            return Err(self.problem(name, "the key is missing", "a list such as [8, 8, 8]"));
        };
        if extents.is_empty() || extents.len() > 16 {
            let problem = format!("{} dimensions", extents.len());
            return Err(self.problem(name, problem, "1 to 16 numbers"));
        }
        for (at, &extent) in extents.iter().enumerate() {
            super::within(&self.key(&format!("{name}.{at}")), extent, 1, MOST)?;
        }
        Ok(extents)
    }

    /// Checks the number of ports of a router and of the machine.
    fn ports(self, routers: u64, per_router: u64) -> Result<(), Problem> {
        if per_router > MOST_PORTS_OF_A_ROUTER {
            let problem = format!("a router would have {per_router} ports");
            return Err(self.whole(problem, "at most 4096 ports per router"));
        }
        let all = routers.saturating_mul(per_router);
        if all > MOST_PORTS {
            let problem = format!("the machine would have {all} ports");
            return Err(self.whole(problem, "at most 2^28 ports"));
        }
        Ok(())
    }

    /// Cables between any two of `g` groups that have `ports` global ports each; `None`: as many as fit.
    fn cables(self, cables: w::Cables, g: u32, ports: u64) -> Result<Option<u32>, Problem> {
        let w::Cables::Count(count) = cables else {
            return Ok(None);
        };
        let fit = if g > 1 { ports / u64::from(g - 1) } else { 0 };
        if g > 1 && u64::from(count) > fit {
            let problem = format!("{count} cables between any two of {g} groups need more global ports");
            return Err(self.problem("cables", problem, format!("at most {fit}, or \"all\"")));
        }
        Ok(Some(count).filter(|_| g > 1))
    }

    /// Checks that groups with `ports` global ports each can reach `g - 1` others; `reach` says how many those are.
    fn groups(self, g: u32, ports: u64, reach: String) -> Result<(), Problem> {
        if u64::from(g) <= ports + 1 {
            return Ok(());
        }
        let problem = self.problem(
            "groups",
            format!("{g} groups need more global ports than there are"),
            format!("at most {} groups", ports + 1),
        );
        Err(problem.hint(reach))
    }

    /// What the family says of its sizes together.
    fn refuse(self, kind: &r::Kind, problem: String) -> Problem {
        match kind {
            r::Kind::Graph(graph) => {
                // The reader begins with the line, where it knows one.
                let line = problem.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
                let line = line.and_then(|(number, rest)| Some((number.parse().ok()?, rest)));
                let (line, problem) = match line {
                    Some((number, rest)) => (Some(number), rest),
                    None => (None, problem.as_str()),
                };
                let expected = "GraphML or a list of edges, as docs/networks.md has them";
                self.problem("file", problem, expected).within(graph.file.clone(), line)
            }
            _ => self.whole(problem, ""),
        }
    }
}

/// Checks the list of service routers and leaves compute nodes.
fn service_routers(machine: &mut r::Machine, list: Vec<u32>, layout: Layout) -> Result<Layout, Problem> {
    const KEY: &str = "machine.service_routers";
    if list.is_empty() {
        return Ok(layout);
    }
    routers_of_a_group(KEY, &list, &layout)?;
    let layout = layout.with_service_routers(&list);
    if layout.service_nodes() == layout.nodes() {
        return Err(Problem::new(
            KEY,
            "every node is a service node",
            "at least one compute node",
        ));
    }
    machine.service_routers = list;
    Ok(layout)
}

/// Checks a list of routers that are numbered in a group.
pub(super) fn routers_of_a_group(key: &str, list: &[u32], layout: &Layout) -> Result<(), Problem> {
    let routers = layout.routers_of_a_group();
    let mut seen = BTreeSet::new();
    for (at, &router) in list.iter().enumerate() {
        let key = format!("{key}.{at}");
        if router >= routers {
            let problem = format!("there is no router {router} in a group");
            return Err(Problem::new(key, problem, format!("0 to {}", routers - 1)));
        }
        if !seen.insert(router) {
            let problem = format!("router {router} is listed twice");
            return Err(Problem::new(key, problem, "every router once"));
        }
    }
    Ok(())
}

/// Checks that the broken cables exist, and that the rest still connects all nodes.
fn impaired(machine: &r::Machine) -> Result<(), Problem> {
    const SHOWN: usize = 4;
    let key = match (machine.failed_links.is_empty(), machine.faults().is_empty()) {
        (false, _) => "machine.failed_links",
        (true, false) => "machine.degraded_links",
        (true, true) => "machine.graph.file",
    };
    let family = Family::new(machine).map_err(|problem| Problem::new(key, problem, "cables that there are"))?;
    let apart = family.topology().cut_off(SHOWN);
    if apart.pairs == 0 {
        return Ok(());
    }
    let mut list: Vec<String> = apart.examples.iter().map(|(a, b)| format!("{a} and {b}")).collect();
    if apart.pairs > SHOWN as u64 {
        list.push("...".into());
    }
    let problem = format!(
        "{} pairs of routers with nodes have no way to each other: {}",
        apart.pairs,
        list.join(", ")
    );
    Err(Problem::new(
        key,
        problem,
        "cables that leave a way between any two nodes",
    ))
}

/// Checks the list of broken cables.
fn faults(
    machine: &mut r::Machine,
    failed: &[w::FailedLink],
    degraded: &[w::DegradedLink],
    routers: u32,
) -> Result<(), Problem> {
    let known = |key: &str, at: usize, pair: [u32; 2]| {
        for (end, router) in pair.into_iter().enumerate() {
            if router >= routers {
                let key = format!("machine.{key}.{at}.routers.{end}");
                let problem = format!("there is no router {router}");
                return Err(Problem::new(key, problem, format!("0 to {}", routers - 1)));
            }
        }
        Ok(())
    };
    for (key, count) in [("failed_links", failed.len()), ("degraded_links", degraded.len())] {
        if count > MOST_FAULTS {
            let problem = format!("{count} broken cables");
            return Err(Problem::new(
                format!("machine.{key}"),
                problem,
                format!("at most {MOST_FAULTS}"),
            ));
        }
    }
    for (at, link) in failed.iter().enumerate() {
        known("failed_links", at, link.routers)?;
        machine.failed_links.push(r::FailedLink {
            routers: link.routers,
            index: link.index,
        });
    }
    for (at, link) in degraded.iter().enumerate() {
        known("degraded_links", at, link.routers)?;
        if !(link.factor > 0.0 && link.factor <= 1.0) {
            let key = format!("machine.degraded_links.{at}.factor");
            let problem = format!("a factor of {}", link.factor);
            return Err(Problem::new(key, problem, "above 0, at most 1"));
        }
        machine.degraded_links.push(r::DegradedLink {
            routers: link.routers,
            index: link.index,
            factor: link.factor,
        });
    }
    Ok(())
}
