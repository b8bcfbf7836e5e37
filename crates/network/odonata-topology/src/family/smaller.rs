//! Smaller machines of the same shape, on which deadlock freedom is proved for larger ones.
//!
//! The dependencies between channels follow from the kinds of hops of paths, not from their numbers. Grids keep their
//! dimensions, at most three of them; trees keep their levels. Five groups have every kind of dragonfly path: source,
//! two intermediates, destination, and one more. Their groups have few cables between them, so some routers have a
//! cable to a group and others need a gateway, as on machines with many groups.

use super::settings::Cables;

/// Maximum number of routers of the smaller machine.
pub(super) const ROUTERS: u32 = 120;

/// Cables between two groups of a smaller dragonfly.
const CABLES: u32 = 2;

/// The dimensions of a grid that are kept, and their lengths: all, if lines of four routers give few enough routers;
/// otherwise (or with `few`) the longest three, closed ones first: an open one has no cycle. In shorter rings no packet takes two hops, so no cycle of waits could
/// arise.
pub(super) fn grid(dims: &[u32], is_open: impl Fn(&usize) -> bool, few: bool) -> (Vec<usize>, Vec<u32>) {
    let routers = |extents: &[u32]| extents.iter().fold(1u64, |all, &k| all.saturating_mul(u64::from(k)));
    let cut = |most: u32| -> Vec<u32> { dims.iter().map(|&k| k.min(most)).collect() };
    let fits = |extents: &Vec<u32>| routers(extents) <= u64::from(ROUTERS);
    if let Some(extents) = (4..=6).rev().map(cut).find(fits).filter(|_| !few) {
        return ((0..dims.len()).collect(), extents);
    }
    let mut kept: Vec<usize> = (0..dims.len()).collect();
    kept.sort_by_key(|dimension| (is_open(dimension), std::cmp::Reverse(dims[*dimension])));
    kept.truncate(3);
    kept.sort_unstable();
    let extents = kept.iter().map(|&dimension| dims[dimension].min(4)).collect();
    (kept, extents)
}

/// Extents in words.
pub(super) fn shown(extents: &[u32]) -> String {
    extents.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ")
}

/// Cables between each pair of `groups` groups with `ports` ports; `cables` are those of the full machine.
pub(super) fn cables(cables: Cables, groups: u32, ports: u32) -> Cables {
    let fit = if groups > 1 { ports / (groups - 1) } else { 0 };
    let few = cables.count().unwrap_or(CABLES).min(CABLES).min(fit);
    Cables::of(Some(few).filter(|&cables| cables > 0))
}

/// Global ports per router: enough cables to four other groups, but at least two ports, which lead to different groups.
pub(super) fn global_ports(ports: u32, routers: u32) -> u32 {
    ports.min((4 * CABLES).div_ceil(routers).max(2))
}
