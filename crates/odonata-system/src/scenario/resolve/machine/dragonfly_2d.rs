//! The dragonfly with two-dimensional groups.

use std::collections::BTreeSet;

use super::{MOST, Table};
use crate::scenario::error::Problem;
use crate::scenario::resolve::within;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

pub(super) fn dragonfly_2d(table: Table, d: w::Dragonfly2d) -> Result<r::Dragonfly2d, Problem> {
    let g = table.size("groups", d.groups, 1)?;
    let rows = table.size("rows", Some(d.rows), 1)?;
    let columns = table.size("columns", Some(d.columns), 1)?;
    let column_cables = table.size("column_cables", Some(d.column_cables), 1)?;
    let nodes = table.size("nodes_per_router", d.nodes_per_router, 0)?;
    let h = table.size("global_ports_per_router", d.global_ports_per_router, 0)?;
    let routers = u64::from(rows) * u64::from(columns);
    let mut most_nodes = nodes;
    let mut seen = BTreeSet::new();
    for (at, exception) in d.exceptions.iter().enumerate() {
        let key = |name: &str| table.key(&format!("exceptions.{at}.{name}"));
        if u64::from(exception.router) >= routers {
            let problem = format!("there is no router {} in a group", exception.router);
            return Err(Problem::new(key("router"), problem, format!("0 to {}", routers - 1)));
        }
        if !seen.insert(exception.router) {
            let problem = format!("router {} is listed twice", exception.router);
            return Err(Problem::new(key("router"), problem, "every router once"));
        }
        most_nodes = most_nodes.max(within(&key("nodes"), exception.nodes, 0, MOST)?);
    }
    let ports = routers.saturating_mul(u64::from(h));
    let reach = format!("{rows} x {columns} routers with {h} global_ports_per_router reach {ports} other groups");
    table.groups(g, ports, reach)?;
    let local = u64::from(columns - 1) + u64::from(rows - 1) * u64::from(column_cables);
    table.ports(
        u64::from(g).saturating_mul(routers),
        u64::from(most_nodes) + local + u64::from(h),
    )?;
    let cables = table.cables(d.cables, g, ports)?;
    let bundle = table.size("bundle", Some(d.bundle), 1)?;
    if let Some(cables) = cables.filter(|cables| cables % bundle != 0) {
        let problem = format!("bundles of {bundle} do not make {cables} cables");
        return Err(table.problem("bundle", problem, format!("a divisor of cables, {cables}")));
    }
    Ok(r::Dragonfly2d {
        groups: g,
        rows,
        columns,
        column_cables,
        nodes_per_router: nodes,
        exceptions: d.exceptions,
        global_ports_per_router: h,
        arrangement: d.arrangement,
        cables,
        bundle,
    })
}
