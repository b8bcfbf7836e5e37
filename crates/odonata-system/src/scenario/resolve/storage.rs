//! Storage servers.

use std::collections::BTreeSet;

use odonata_units::Bytes;

use super::machine::routers_of_a_group;
use crate::scenario::choices::Assignment;
use crate::scenario::error::Problem;
use crate::scenario::layout::Layout;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

/// Most blocks of a server's memory: each takes a few bytes of ours.
const MOST_BLOCKS: u64 = 1 << 24;

pub(super) fn storage(storage: &w::Storage, layout: &Layout) -> Result<r::Storage, Problem> {
    let nodes = nodes(&storage.nodes, layout)?;
    let list = nodes.nodes(layout);
    if let Some(node) = list.iter().find(|&&node| layout.is_service(node)) {
        let problem = format!("node {node} is a service node");
        let error = Problem::new("storage.nodes", problem, "nodes of other routers");
        return Err(error.hint("machine.service_routers lists the routers of service nodes"));
    }
    let servers = list.len() as u32;
    let compute = layout.nodes() - layout.service_nodes() - servers;
    if compute == 0 {
        return Err(Problem::new(
            "storage.nodes",
            "every node is a server",
            "at least one compute node",
        ));
    }
    if let Assignment::List(list) = &storage.assignment {
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
    let device = &storage.device;
    Ok(r::Storage {
        nodes,
        assignment: storage.assignment.clone(),
        manager: manager(&storage.manager)?,
        device: r::Device {
            model: r::DeviceModel::Rate(r::RateDevice {
                read: device.rate.read,
                write: device.rate.write,
                overhead: device.rate.overhead,
                seek: device.rate.seek,
                seek_window: device.rate.seek_window,
            }),
            capacity: device.capacity,
        },
        drain: match &storage.drain {
            Some(drain) => Some(self::drain(drain, device.capacity)?),
            None => None,
        },
    })
}

fn nodes(nodes: &w::Nodes, layout: &Layout) -> Result<r::ServerNodes, Problem> {
    const KEY: &str = "storage.nodes";
    if let Some(list) = &nodes.list {
        let key = format!("{KEY}.list");
        if nodes.per_group.is_some() || nodes.position.is_some() || nodes.routers.is_some() {
            let other = if nodes.routers.is_some() {
                "routers"
            } else {
                "per_group or position"
            };
            let problem = format!("list beside {other}");
            return Err(Problem::new(KEY, problem, "one or the other"));
        }
        if list.is_empty() {
            let problem = Problem::new(key, "no servers", "at least one node number");
            return Err(problem.hint("a machine without servers has no [storage]"));
        }
        let mut seen = BTreeSet::new();
        for (at, &node) in list.iter().enumerate() {
            if node >= layout.nodes() {
                let problem = format!("there is no node {node}");
                return Err(Problem::new(
                    format!("{key}.{at}"),
                    problem,
                    format!("0 to {}", layout.nodes() - 1),
                ));
            }
            if !seen.insert(node) {
                let problem = format!("node {node} is listed twice");
                return Err(Problem::new(format!("{key}.{at}"), problem, "every node once"));
            }
        }
        if list.len() as u64 >= u64::from(layout.nodes()) {
            return Err(Problem::new(key, "every node is a server", "at least one compute node"));
        }
        return Ok(r::ServerNodes::List(list.clone()));
    }
    if let Some(routers) = &nodes.routers {
        let key = format!("{KEY}.routers");
        if nodes.per_group.is_some() || nodes.position.is_some() {
            let problem = "routers beside per_group or position";
            return Err(Problem::new(KEY, problem, "one or the other"));
        }
        routers_of_a_group(&key, routers, layout)?;
        if layout.nodes_of_routers_of_groups(routers).is_empty() {
            return Err(Problem::new(key, "no servers", "routers that have nodes"));
        }
        return Ok(r::ServerNodes::Routers(routers.clone()));
    }
    let count = nodes.per_group.unwrap_or(2);
    let (group, _) = layout.group_sizes();
    if count == 0 || count >= group {
        let problem = format!("{count} servers in a group of {group} nodes");
        let key = format!("{KEY}.per_group");
        return Err(match group {
            1 => Problem::new(key, problem, "groups of at least 2 nodes, or a list of nodes"),
            _ => Problem::new(key, problem, format!("1 to {}", group - 1)),
        });
    }
    Ok(r::ServerNodes::PerGroup {
        count,
        position: nodes.position.unwrap_or_default(),
    })
}

fn manager(manager: &w::Manager) -> Result<r::Manager, Problem> {
    let key = |name: &str| format!("storage.manager.{name}");
    if manager.block == Bytes::ZERO {
        return Err(Problem::new(key("block"), "a block of no bytes", "at least 1 B"));
    }
    if manager.pieces_in_flight == 0 {
        return Err(Problem::new(
            key("pieces_in_flight"),
            "no block may be in flight",
            "at least 1",
        ));
    }
    let blocks = manager.memory.0 / manager.block.0;
    if blocks == 0 {
        let problem = format!("a memory of {} does not hold one block", manager.memory);
        return Err(Problem::new(
            key("memory"),
            problem,
            format!("at least storage.manager.block, {}", manager.block),
        ));
    }
    if blocks > MOST_BLOCKS {
        let problem = format!("{} holds {blocks} blocks of {}", manager.memory, manager.block);
        return Err(Problem::new(
            key("memory"),
            problem,
            format!("at most {MOST_BLOCKS} blocks"),
        ));
    }
    Ok(r::Manager {
        block: manager.block,
        pieces_in_flight: manager.pieces_in_flight,
        memory: manager.memory,
        control_message: manager.control_message,
        object_per_file: manager.object_per_file,
    })
}

fn drain(drain: &w::Drain, capacity: Bytes) -> Result<r::Drain, Problem> {
    if drain.threshold > capacity {
        let problem = format!("draining would never begin below {}", drain.threshold);
        let expected = format!("at most storage.device.capacity, {capacity}");
        return Err(Problem::new("storage.drain.threshold", problem, expected));
    }
    Ok(r::Drain {
        bandwidth: drain.bandwidth,
        latency: drain.latency,
        threshold: drain.threshold,
    })
}
