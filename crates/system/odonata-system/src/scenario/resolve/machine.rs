//! The machine's graph: sizes are filled in and checked, then the graph is built once.
//!
//! Sizes that are wrong by themselves or in relation to one other size are refused by the
//! [family](odonata_topology::family) with their key. Problems between several sizes are refused when the graph is
//! built, with the table as key.

use std::collections::BTreeSet;
use std::path::Path;

use odonata_topology::family::{Family, FamilyName, ReadFile, Rest};
use odonata_topology::{CableFile, MapError};
use odonata_units::{Number, within};

use crate::memory::{Available, Need};
use crate::scenario::error::Problem;
use crate::scenario::layout::Layout;
use crate::scenario::resolved as r;
use crate::scenario::written as w;
use crate::text_file::read_text;

/// Most broken cables.
const MOST_FAULTS: usize = 1 << 20;

pub(super) const CABLES: &str = "machine.cables";
const CABLES_EXPECTED: &str = "CSV with columns a, b, index, class, bandwidth, latency, buffer (docs/networks.md)";

/// Maximum size of a graph file, in bytes.
const LONGEST: u64 = 256 << 20;

/// Resolves the machine, locates its nodes, and builds its graph with all faults. The path of a graph file is relative to `folder`. Refuses a machine
/// whose graph alone does not fit into `available` memory.
pub(super) fn machine(
    machine: Option<w::Machine>,
    folder: &Path,
    available: &Available,
) -> Result<(r::Machine, Layout, Family), Problem> {
    let (kinds, mut rest) = machine.unwrap_or_default().split();
    let kind = the_only(kinds)?;
    let mut machine = r::Machine::whole(kind);
    let table = format!("machine.{}", machine.kind.name());
    let in_table = |problem: Problem| Problem {
        key: match problem.key.is_empty() {
            true => table.clone(),
            false => format!("{table}.{}", problem.key),
        },
        ..problem
    };
    let read = |file: &str| {
        let path = folder.join(file);
        (path.display().to_string(), read_text(&path, LONGEST))
    };
    let size = machine.kind.resolve(&read).map_err(in_table)?;
    if size.routers > 0 {
        Need::graph(table.clone(), size.routers, size.ports).refuse(available)?;
    }
    let refuse = |kind: &r::Kind, problem| in_table(kind.refusal(problem));
    let mut family = machine.kind.build().map_err(|problem| refuse(&machine.kind, problem))?;
    interfaces(&mut machine, &mut family, rest.interfaces)?;
    let layout = Layout::new(family.topology()).map_err(|problem| refuse(&machine.kind, problem))?;
    let layout = layout.with_storage_nodes(family.storage_nodes());
    let layout = service_routers(&mut machine, rest.service_routers.clone(), layout)?;
    let map = rest.cables.take();
    faults(&mut machine, rest, layout.routers())?;
    machine.cables = cables(map, &read)?;
    if let Some(cables) = &machine.cables {
        cables
            .apply(&mut family)
            .map_err(|error| cables_error(&cables.file, error))?;
    }
    impair(&mut family, &machine)?;
    Ok((machine, layout, family))
}

/// The kind of a machine, exactly one of which must be given.
fn the_only(mut kinds: Vec<r::Kind>) -> Result<r::Kind, Problem> {
    if kinds.len() > 1 {
        let names: Vec<&str> = kinds.iter().map(r::Kind::name).collect();
        let problem = format!("{} kinds of machines ({})", names.len(), names.join(", "));
        let expected = format!("exactly one of {}", FamilyName::keys().join(", "));
        return Err(Problem::new("machine", problem, expected));
    }
    kinds.pop().ok_or_else(|| {
        let missing = Problem::new(
            "machine",
            "the scenario has no machine",
            "a table of its kind, such as [machine.dragonfly] or [machine.torus]",
        );
        missing.hint("or a preset that has a machine, such as preset = \"codes-compatible\"")
    })
}

/// Gives every node its interfaces.
fn interfaces(machine: &mut r::Machine, family: &mut Family, interfaces: Option<u32>) -> Result<(), Problem> {
    const KEY: &str = "machine.interfaces";
    const MOST: u32 = 64;
    let Some(count) = interfaces else { return Ok(()) };
    machine.interfaces = within(KEY, count, 1, MOST)?;
    let refuse = |problem| {
        let expected = "a divisor of the number of links to nodes of every router";
        Problem::new(KEY, problem, expected).hint("the sizes of the machine's kind count interfaces, not nodes")
    };
    family.set_interfaces(count).map_err(refuse)
}

/// Checks the list of service routers and that it leaves compute nodes.
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

/// Checks a list of routers numbered within a group.
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

/// Reads the file of cables that differ from their class.
fn cables(file: Option<String>, read: ReadFile<'_>) -> Result<Option<CableFile>, Problem> {
    let Some(file) = file else { return Ok(None) };
    let (path, text) = read(&file);
    let text = text.map_err(|problem| Problem::new(CABLES, problem, CABLES_EXPECTED))?;
    let map = CableFile::read(path.clone(), &text);
    map.map(Some).map_err(|error| cables_error(&path, error))
}

fn cables_error(path: &str, error: MapError) -> Problem {
    Problem::new(CABLES, error.problem, CABLES_EXPECTED).within(path, error.line)
}

/// Applies the faults of `machine` to its graph: the failed cables exist, and the remaining ones connect all nodes.
fn impair(family: &mut Family, machine: &r::Machine) -> Result<(), Problem> {
    const SHOWN: usize = 4;
    let key = match (machine.failed_links.is_empty(), machine.degraded_links.is_empty()) {
        (false, _) => "machine.failed_links".to_owned(),
        (true, false) => "machine.degraded_links".to_owned(),
        (true, true) => match machine.kind.drawn_in() {
            Some(key) => format!("machine.{}.{key}", machine.kind.name()),
            None => return Ok(()),
        },
    };
    let refuse = |problem| Problem::new(&key, problem, "cables of the machine");
    machine.impair(family).map_err(refuse)?;
    let apart = family.topology().cut_off(SHOWN);
    if apart.pairs == 0 {
        return Ok(());
    }
    let mut list: Vec<String> = apart.examples.iter().map(|(a, b)| format!("{a} and {b}")).collect();
    if apart.pairs > SHOWN as u64 {
        list.push("...".into());
    }
    let problem = format!(
        "{} pairs of routers with nodes are disconnected: {}",
        apart.pairs,
        list.join(", ")
    );
    let expected = match machine.failed_links.is_empty() {
        true => "cables that connect all nodes",
        false => "failures that leave all nodes connected",
    };
    Err(Problem::new(key, problem, expected))
}

/// Checks the lists of failed cables.
fn faults(machine: &mut r::Machine, rest: Rest, routers: u32) -> Result<(), Problem> {
    let (failed, degraded) = (rest.failed_links, rest.degraded_links);
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
    }
    for (at, link) in degraded.iter().enumerate() {
        known("degraded_links", at, link.routers)?;
        if !(link.factor > 0.0 && link.factor <= 1.0) {
            let key = format!("machine.degraded_links.{at}.factor");
            let problem = format!("a factor of {}", Number(link.factor));
            return Err(Problem::new(key, problem, "above 0, at most 1"));
        }
    }
    (machine.failed_links, machine.degraded_links) = (failed, degraded);
    Ok(())
}
