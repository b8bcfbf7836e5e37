//! The Slim Fly.

use super::Table;
use crate::scenario::error::Problem;
use crate::scenario::resolve::within;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

/// Largest q: 2 q^2 routers of 3 q / 2 ports stay below 2^28 ports.
const LARGEST: u32 = 400;

pub(super) fn slim_fly(table: Table, fly: &w::SlimFly) -> Result<r::SlimFly, Problem> {
    let Some(q) = fly.q else {
        return Err(table.problem("q", "the key is missing", "a prime power such as 5, 7, 9, 11, 13"));
    };
    let q = within(&table.key("q"), q, 3, LARGEST)?;
    // q = 4 w + d; a router has (3 q - d) / 2 ports towards others.
    let degree = match q % 4 {
        0 => 3 * q / 2,
        1 => (3 * q - 1) / 2,
        3 => (3 * q).div_ceil(2),
        _ => {
            let problem = format!("{q} is 2 more than a multiple of 4");
            return Err(table.problem("q", problem, "a prime power of the form 4 w - 1, 4 w or 4 w + 1"));
        }
    };
    let nodes = table.size(
        "nodes_per_router",
        Some(fly.nodes_per_router.unwrap_or(degree.div_ceil(2))),
        1,
    )?;
    table.ports(2 * u64::from(q) * u64::from(q), u64::from(nodes) + u64::from(degree))?;
    Ok(r::SlimFly {
        q,
        nodes_per_router: nodes,
    })
}
