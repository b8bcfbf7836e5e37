//! The HyperX.

use super::{MOST, Table};
use crate::scenario::error::Problem;
use crate::scenario::resolve::within;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

pub(super) fn hyperx(table: Table, hyperx: w::HyperX) -> Result<r::HyperX, Problem> {
    let dims = table.extents("dims", hyperx.dims)?;
    let nodes = table.size("nodes_per_router", Some(hyperx.nodes_per_router), 1)?;
    let cables = match hyperx.cables {
        w::OneOrMany::One(count) => vec![within(&table.key("cables"), count, 1, MOST)?; dims.len()],
        w::OneOrMany::Many(list) => {
            if list.len() != dims.len() {
                let problem = format!("{} numbers for {} dimensions", list.len(), dims.len());
                let expected = format!("a number, or {} numbers", dims.len());
                return Err(table.problem("cables", problem, expected));
            }
            for (at, &count) in list.iter().enumerate() {
                within(&table.key(&format!("cables.{at}")), count, 1, MOST)?;
            }
            list
        }
    };
    let routers = dims
        .iter()
        .fold(1u64, |product, &k| product.saturating_mul(u64::from(k)));
    let others = dims.iter().zip(&cables);
    let ports: u64 = others.map(|(&k, &count)| u64::from(k - 1) * u64::from(count)).sum();
    table.ports(routers, u64::from(nodes) + ports)?;
    Ok(r::HyperX {
        dims,
        cables,
        nodes_per_router: nodes,
    })
}
