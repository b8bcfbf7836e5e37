//! Storage servers.

use std::collections::{BTreeMap, BTreeSet};

use odonata_storage::settings::{Architecture, Assignment, NodeClass, Nodes, Storage, Unwritten};
use odonata_units::Bytes;

use super::machine::routers_of_a_group;
use crate::scenario::error::Problem;
use crate::scenario::layout::Layout;
use crate::scenario::resolved::{Job, JobFiles, Resolved, Workload};

/// Number of compute nodes per server where the scenario does not define the servers' nodes.
const COMPUTE_NODES_PER_SERVER: usize = 32;

/// Fills in and checks the servers of a machine.
pub(super) fn storage(storage: &mut Storage, layout: &Layout) -> Result<(), Problem> {
    storage.arrange()?;
    let on_io_nodes = storage.architecture == Architecture::StorageSide;
    if on_io_nodes && storage.nodes == Nodes::default() && layout.service_nodes() > 0 {
        storage.nodes.class = Some(NodeClass::Service);
    }
    for tier in &mut storage.tiers {
        if tier.nodes == Nodes::default() && layout.service_nodes() > 0 {
            tier.nodes.class = Some(NodeClass::Service);
        }
    }
    default_servers(storage, layout)?;
    nodes("storage.nodes", &mut storage.nodes, layout)?;
    if let Some(spare) = &mut storage.spare {
        nodes("storage.nodes", spare, layout)?;
    }
    match storage.nodes.class {
        Some(NodeClass::Service) if !on_io_nodes => {
            let problem = "servers of jobs on service nodes";
            return Err(Problem::new("storage.nodes.class", problem, "compute"));
        }
        Some(NodeClass::Compute) if *storage.assignment != Assignment::default() => {
            let problem = "an assignment to servers on other nodes";
            return Err(Problem::new("storage.assignment", problem, "none"));
        }
        _ => {}
    }
    let mut taken: BTreeMap<u32, String> = BTreeMap::new();
    let first = layout.servers(&storage.nodes);
    if !on_io_nodes {
        no_service_node("storage.nodes", &first, layout)?;
    }
    taken.extend(first.into_iter().map(|node| (node, "storage.nodes".to_owned())));
    for (number, tier) in storage.tiers.iter_mut().enumerate() {
        let key = format!("storage.tiers.{number}.nodes");
        nodes(&key, &mut tier.nodes, layout)?;
        if tier.nodes.class == Some(NodeClass::Compute) {
            let problem = "a lower tier on compute nodes";
            return Err(Problem::new(format!("{key}.class"), problem, "service"));
        }
        for node in layout.servers(&tier.nodes) {
            if let Some(other) = taken.insert(node, key.clone()) {
                let problem = format!("node {node} has a server already, by {other}");
                return Err(Problem::new(key, problem, "nodes of their own"));
            }
        }
    }
    if let Some(metadata) = &mut storage.metadata {
        const KEY: &str = "storage.metadata.nodes";
        let named = &mut metadata.nodes;
        if named.class.is_some() {
            let problem = "metadata servers on a class of nodes";
            return Err(Problem::new(
                format!("{KEY}.class"),
                problem,
                "list, routers or per_group",
            ));
        }
        if *named == Nodes::default() {
            let mut free = (0..layout.nodes()).filter(|node| !taken.contains_key(node) && !layout.is_service(*node));
            named.list = free.next_back().map(|node| vec![node]);
        }
        nodes(KEY, named, layout)?;
        no_service_node(KEY, &layout.servers(&metadata.nodes), layout)?;
    }
    let compute = layout.compute_nodes(Some(storage)).len() as u32;
    if compute == 0 {
        return Err(Problem::new(
            "storage.nodes",
            "every node is a server",
            "at least one compute node",
        ));
    }
    let servers = layout.tiers(storage)[0].len() as u32;
    if let Assignment::List(list) = &*storage.assignment {
        let key = "storage.assignment.list";
        if list.len() as u64 != u64::from(compute) {
            let problem = format!("{} entries for {compute} compute nodes", list.len());
            return Err(Problem::new(
                key,
                problem,
                "one server number for every compute node of the machine",
            ));
        }
        if let Some(at) = list.iter().position(|&server| server >= servers) {
            let problem = format!("there is no server {}", list[at]);
            return Err(Problem::new(
                format!("{key}.{at}"),
                problem,
                format!("0 to {}", servers - 1),
            ));
        }
    }
    storage.layout.check("storage.layout", servers)?;
    for (number, tier) in storage.tiers.iter().enumerate() {
        let servers = layout.servers(&tier.nodes).len() as u32;
        tier.layout.check(&format!("storage.tiers.{number}.layout"), servers)?;
    }
    storage.check()?;
    let metadata = storage
        .metadata
        .as_ref()
        .map_or(0, |metadata| layout.servers(&metadata.nodes).len() as u32);
    let all = layout.tiers(storage).iter().map(|tier| tier.len() as u32).sum();
    storage.check_faults((servers, all), metadata)
}

/// Places servers whose nodes the scenario does not define: one for every 32 compute nodes, at least one, evenly spaced
/// over the nodes that are not otherwise used. This balances the ranks per server whatever the machine's groups are.
fn default_servers(storage: &mut Storage, layout: &Layout) -> Result<(), Problem> {
    let unsaid = Nodes::default();
    storage.assignment.fill(match storage.nodes == unsaid {
        true => Assignment::RoundRobin,
        false => Assignment::default(),
    });
    if storage.nodes == unsaid && !layout.storage_nodes().is_empty() {
        storage.nodes.list = Some(layout.storage_nodes().collect());
    }
    if storage.nodes != unsaid && storage.tiers.iter().all(|tier| tier.nodes != unsaid) {
        return Ok(());
    }
    let mut taken = BTreeSet::new();
    let first = std::iter::once(("storage.nodes".to_owned(), &mut storage.nodes));
    let tiers = storage.tiers.iter_mut().enumerate();
    let tiers = tiers.map(|(number, tier)| (format!("storage.tiers.{number}.nodes"), &mut tier.nodes));
    let metadata = storage.metadata.iter_mut();
    let metadata = metadata.map(|metadata| ("storage.metadata.nodes".to_owned(), &mut metadata.nodes));
    for (key, named) in first
        .chain(tiers)
        .chain(metadata)
        .filter(|(_, named)| **named != unsaid)
    {
        nodes(&key, named, layout)?;
        taken.extend(layout.servers(named));
    }
    let of_tiers = storage.tiers.iter_mut().map(|tier| &mut tier.nodes);
    for named in std::iter::once(&mut storage.nodes).chain(of_tiers) {
        if *named == unsaid {
            let free = (0..layout.nodes()).filter(|node| !taken.contains(node) && !layout.is_service(*node));
            let free: Vec<u32> = free.collect();
            let servers = free.len().div_ceil(COMPUTE_NODES_PER_SERVER + 1);
            let list: Vec<u32> = (0..servers).map(|server| free[server * free.len() / servers]).collect();
            taken.extend(&list);
            named.list = Some(list);
        }
    }
    Ok(())
}

fn no_service_node(key: &str, list: &[u32], layout: &Layout) -> Result<(), Problem> {
    match list.iter().find(|&&node| layout.is_service(node)) {
        Some(node) => {
            let problem = format!("node {node} is a service node");
            let error = Problem::new(key, problem, "nodes of other routers");
            Err(error.hint("machine.service_routers lists the routers of service nodes"))
        }
        None => Ok(()),
    }
}

/// Checks the file settings of the jobs in `scenario`.
pub(super) fn files(scenario: &Resolved) -> Result<(), Problem> {
    let layout = &scenario.layout;
    let servers = (scenario.storage.as_ref()).map_or(0, |storage| layout.tiers(storage)[0].len() as u32);
    let mut first: BTreeMap<&str, &Job> = BTreeMap::new();
    for job in &scenario.jobs {
        let at = format!("jobs.{}.io", job.entry);
        if servers == 0 && !job.io.are_defaults() {
            let problem = Problem::new(at, "there are no storage servers", "a table [storage]");
            return Err(problem);
        }
        if let Some(directory) = &job.io.directory {
            super::check_name(&format!("{at}.directory"), directory)?;
        }
        if let Some(layout) = job.io.layout {
            layout.check(&format!("{at}.layout"), servers)?;
        }
        if let Some(Assignment::List(_)) = job.io.assignment {
            let expected = "by-group, nearest, random or round-robin";
            return Err(Problem::new(
                format!("{at}.assignment"),
                "a list of servers is one of all compute nodes",
                expected,
            ));
        }
        stages(scenario, job, &at)?;
        let of = |job: &Job| scenario.layout_of_files(job, servers.max(1));
        let other = *first.entry(job.directory()).or_insert(job);
        if of(other) != of(job) {
            let problem = format!(
                "jobs \"{}\" and \"{}\" share the directory \"{}\", but with different layouts",
                other.name,
                job.name,
                job.directory()
            );
            return Err(Problem::new(format!("{at}.layout"), problem, "the same layout in both"));
        }
    }
    Ok(())
}

/// Checks the settings at `at` for files that `job` stages in and out.
fn stages(scenario: &Resolved, job: &Job, at: &str) -> Result<(), Problem> {
    let JobFiles {
        stage_in,
        stage_out,
        stage_wait,
        ..
    } = &job.io;
    let key = |name: &str| format!("{at}.{name}");
    if stage_wait.is_some() && stage_in.is_empty() {
        return Err(Problem::new(key("stage_wait"), "nothing to wait for", "stage_in"));
    }
    let Some(first) = (!stage_in.is_empty())
        .then_some("stage_in")
        .or(stage_out.then_some("stage_out"))
    else {
        return Ok(());
    };
    let storage = scenario.storage.as_ref();
    if storage.is_none_or(|storage| storage.tier_count() < 2) {
        let problem = "a job that stages data without a lower tier";
        return Err(Problem::new(
            key(first),
            problem,
            "storage.tiers or storage.file_system",
        ));
    }
    if matches!(&*job.workload, Workload::Synthetic(_)) {
        return Err(Problem::new(key(first), "synthetic traffic has no files", "a program"));
    }
    if !stage_in.is_empty() && storage.is_some_and(|storage| storage.manager.unwritten == Unwritten::Error) {
        let problem = "input files whose reads would fail";
        let expected = "storage.manager.unwritten = \"exists-below\"";
        return Err(Problem::new(key("stage_in"), problem, expected));
    }
    for (number, file) in stage_in.iter().enumerate() {
        let at = |name: &str| format!("{}.{number}.{name}", key("stage_in"));
        if file.bytes == Bytes::ZERO {
            return Err(Problem::new(at("bytes"), "nothing of a file", "at least 1 B"));
        }
        if file.offset.0.checked_add(file.bytes.0).is_none() || file.file.checked_add((*job.ranks).into()).is_none() {
            return Err(Problem::new(at("bytes"), "an end beyond 2^64", "a smaller number"));
        }
    }
    Ok(())
}

fn nodes(key: &str, nodes: &mut Nodes, layout: &Layout) -> Result<(), Problem> {
    let table = key;
    if nodes.class.is_some() {
        let class = nodes.class;
        let others = Nodes {
            class: None,
            ..nodes.clone()
        };
        if others != Nodes::default() {
            return Err(Problem::new(table, "class beside other keys", "one or the other"));
        }
        if class == Some(NodeClass::Service) && layout.service_nodes() == 0 {
            let problem = "the machine has no service nodes";
            return Err(Problem::new(
                format!("{table}.class"),
                problem,
                "machine.service_routers",
            ));
        }
        return Ok(());
    }
    if let Some(list) = &nodes.list {
        let key = format!("{table}.list");
        if nodes.per_group.is_some() || nodes.position.is_some() || nodes.routers.is_some() {
            let other = if nodes.routers.is_some() {
                "routers"
            } else {
                "per_group or position"
            };
            let problem = format!("list beside {other}");
            return Err(Problem::new(table, problem, "one or the other"));
        }
        if list.is_empty() {
            let problem = Problem::new(key, "no servers", "at least one node number");
            return Err(problem.hint("a machine without servers has no such table"));
        }
        let mut seen = BTreeSet::new();
        for (place, &node) in list.iter().enumerate() {
            if node >= layout.nodes() {
                let problem = format!("there is no node {node}");
                return Err(Problem::new(
                    format!("{key}.{place}"),
                    problem,
                    format!("0 to {}", layout.nodes() - 1),
                ));
            }
            if !seen.insert(node) {
                let problem = format!("node {node} is listed twice");
                return Err(Problem::new(format!("{key}.{place}"), problem, "every node once"));
            }
        }
        if list.len() as u64 >= u64::from(layout.nodes()) {
            return Err(Problem::new(key, "every node is a server", "at least one compute node"));
        }
        return Ok(());
    }
    if let Some(routers) = &nodes.routers {
        let key = format!("{table}.routers");
        if nodes.per_group.is_some() || nodes.position.is_some() {
            let problem = "routers beside per_group or position";
            return Err(Problem::new(table, problem, "one or the other"));
        }
        routers_of_a_group(&key, routers, layout)?;
        if layout.nodes_of_routers_of_groups(routers).is_empty() {
            return Err(Problem::new(key, "no servers", "routers that have nodes"));
        }
        return Ok(());
    }
    let count = *nodes.per_group.get_or_insert(2);
    let (group, _) = layout.group_sizes();
    if count == 0 || count >= group {
        let problem = format!("{count} servers in a group of {group} nodes");
        let key = format!("{table}.per_group");
        return Err(match group {
            1 => Problem::new(key, problem, "groups of at least 2 nodes, or a list of nodes"),
            _ => Problem::new(key, problem, format!("1 to {}", group - 1)),
        });
    }
    nodes.position.get_or_insert_default();
    Ok(())
}
