//! The torus and the mesh.

use super::Table;
use crate::scenario::error::Problem;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

pub(super) fn torus(table: Table, torus: w::Torus) -> Result<r::Torus, Problem> {
    let dims = table.extents("dims", torus.dims)?;
    let nodes = table.size("nodes_per_router", Some(torus.nodes_per_router), 1)?;
    let routers = dims
        .iter()
        .fold(1u64, |product, &k| product.saturating_mul(u64::from(k)));
    let ports = 2 * dims.iter().filter(|&&k| k > 1).count() as u64;
    table.ports(routers, u64::from(nodes) + ports)?;
    Ok(r::Torus {
        dims,
        nodes_per_router: nodes,
    })
}
