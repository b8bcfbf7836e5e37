//! The fat tree.

use super::{MOST, Table};
use crate::scenario::error::Problem;
use crate::scenario::resolve::within;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

/// Most levels of routers.
const MOST_LEVELS: u32 = 16;

pub(super) fn fat_tree(table: Table, tree: w::FatTree) -> Result<r::FatTree, Problem> {
    let (down, up) = match (tree.k, tree.n, tree.down, tree.up) {
        (Some(k), Some(n), None, None) => {
            let k = within(&table.key("k"), k, 1, MOST)?;
            let n = within(&table.key("n"), n, 1, MOST_LEVELS)? as usize;
            // A k-ary n-tree is XGFT(n; k, ..., k; 1, k, ..., k).
            let mut up = vec![k; n];
            up[0] = 1;
            (vec![k; n], up)
        }
        (None, None, Some(down), Some(up)) => (down, up),
        (k, n, down, up) => {
            let keys = [
                ("k", k.is_some()),
                ("n", n.is_some()),
                ("down", down.is_some()),
                ("up", up.is_some()),
            ];
            let there: Vec<&str> = keys.iter().filter(|(_, there)| *there).map(|(key, _)| *key).collect();
            let problem = match there.len() {
                0 => "the sizes are missing".into(),
                _ => format!("the sizes are not defined by {}", there.join(", ")),
            };
            return Err(table.whole(problem, "k and n, or down and up"));
        }
    };
    if down.is_empty() || down.len() > MOST_LEVELS as usize {
        let problem = format!("{} levels", down.len());
        return Err(table.problem("down", problem, format!("1 to {MOST_LEVELS} numbers")));
    }
    if up.len() != down.len() {
        let problem = format!("{} numbers for {} levels", up.len(), down.len());
        return Err(table.problem("up", problem, format!("{} numbers, as in down", down.len())));
    }
    let parallel = tree.parallel.unwrap_or_else(|| vec![1; down.len()]);
    if parallel.len() != down.len() {
        let problem = format!("{} numbers for {} levels", parallel.len(), down.len());
        return Err(table.problem("parallel", problem, format!("{} numbers, as in down", down.len())));
    }
    for (name, list) in [("down", &down), ("up", &up), ("parallel", &parallel)] {
        for (at, &number) in list.iter().enumerate() {
            within(&table.key(&format!("{name}.{at}")), number, 1, MOST)?;
        }
    }
    if up[0] != 1 {
        let problem = format!("a node with {} parents", up[0]);
        return Err(table.problem("up.0", problem, "1: a node has one link"));
    }
    if parallel[0] != 1 {
        let problem = format!("a node with {} cables", parallel[0]);
        return Err(table.problem("parallel.0", problem, "1: a node has one link"));
    }
    Ok(r::FatTree { down, up, parallel })
}
