//! The dragonfly with one-dimensional groups.

use super::Table;
use crate::scenario::error::Problem;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

pub(super) fn dragonfly(table: Table, d: &w::Dragonfly) -> Result<r::Dragonfly, Problem> {
    let g = table.size("groups", d.groups, 1)?;
    let a = table.size("routers_per_group", d.routers_per_group, 1)?;
    let p = table.size("nodes_per_router", d.nodes_per_router, 1)?;
    let h = table.size("global_ports_per_router", d.global_ports_per_router, 0)?;
    let ports = u64::from(a) * u64::from(h);
    let reach = format!("{a} routers_per_group x {h} global_ports_per_router reach {ports} other groups");
    table.groups(g, ports, reach)?;
    let per_router = u64::from(p) + u64::from(a - 1) + u64::from(h);
    table.ports(u64::from(g) * u64::from(a), per_router)?;
    Ok(r::Dragonfly {
        groups: g,
        routers_per_group: a,
        nodes_per_router: p,
        global_ports_per_router: h,
        arrangement: d.arrangement,
        cables: table.cables(d.cables, g, ports)?,
    })
}
