//! The dragonfly+.

use super::Table;
use crate::scenario::error::Problem;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

pub(super) fn dragonfly_plus(table: Table, d: &w::DragonflyPlus) -> Result<r::DragonflyPlus, Problem> {
    let g = table.size("groups", d.groups, 1)?;
    let leaves = table.size("leaves_per_group", d.leaves_per_group, 1)?;
    let spines = table.size("spines_per_group", d.spines_per_group, 1)?;
    let nodes = table.size("nodes_per_leaf", d.nodes_per_leaf, 1)?;
    let local = table.size("local_cables", Some(d.local_cables), 1)?;
    let h = table.size("global_ports_per_spine", d.global_ports_per_spine, 0)?;
    let ports = u64::from(spines) * u64::from(h);
    let reach = format!("{spines} spines_per_group x {h} global_ports_per_spine reach {ports} other groups");
    table.groups(g, ports, reach)?;
    let leaf = u64::from(nodes) + u64::from(spines) * u64::from(local);
    let spine = u64::from(h) + u64::from(leaves) * u64::from(local);
    let routers = u64::from(g) * (u64::from(leaves) + u64::from(spines));
    table.ports(routers, leaf.max(spine))?;
    Ok(r::DragonflyPlus {
        groups: g,
        leaves_per_group: leaves,
        spines_per_group: spines,
        nodes_per_leaf: nodes,
        local_cables: local,
        global_ports_per_spine: h,
        arrangement: d.arrangement,
        cables: table.cables(d.cables, g, ports)?,
    })
}
