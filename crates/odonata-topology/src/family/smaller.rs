//! Smaller machines of the same shape, on which freedom from deadlock is proved for larger ones.
//!
//! Which channels depend on which follows from the kinds of hops that paths have, and not from how many there are of a
//! kind. Grids keep their dimensions, but no more than three if there are many; trees their levels; five groups hold every
//! kind of path of a dragonfly: source, two intermediates, destination, and one beside. Their groups have few cables
//! between them, so that some routers have one to a group and others have to go to a gateway first, as on machines with
//! many groups.

use super::settings::Cables;

/// Routers of the smaller machine that stands for a larger one.
pub(super) const ROUTERS: u32 = 120;

/// Cables between two groups of a smaller dragonfly.
const CABLES: u32 = 2;

/// Which of the dimensions of a grid are kept, and how long: all, as long as lines of four routers leave few enough, else
/// (or with `few`) the longest three. In shorter rings no packet takes two hops, and nothing could wait in a circle.
pub(super) fn grid(dims: &[u32], few: bool) -> (Vec<usize>, Vec<u32>) {
    let routers = |extents: &[u32]| extents.iter().fold(1u64, |all, &k| all.saturating_mul(u64::from(k)));
    let cut = |most: u32| -> Vec<u32> { dims.iter().map(|&k| k.min(most)).collect() };
    let fits = |extents: &Vec<u32>| routers(extents) <= u64::from(ROUTERS);
    if let Some(extents) = (4..=6).rev().map(cut).find(fits).filter(|_| !few) {
        return ((0..dims.len()).collect(), extents);
    }
    let mut kept: Vec<usize> = (0..dims.len()).collect();
    kept.sort_by_key(|&dimension| std::cmp::Reverse(dims[dimension]));
    kept.truncate(3);
    kept.sort_unstable();
    let extents = kept.iter().map(|&dimension| dims[dimension].min(4)).collect();
    (kept, extents)
}

/// Extents in words.
pub(super) fn shown(extents: &[u32]) -> String {
    extents.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ")
}

/// Cables between any two of `groups` groups with so many ports, where there are `cables` on the machine itself.
pub(super) fn cables(cables: Cables, groups: u32, ports: u32) -> Cables {
    let fit = if groups > 1 { ports / (groups - 1) } else { 0 };
    let few = cables.count().unwrap_or(CABLES).min(CABLES).min(fit);
    Cables::of(Some(few).filter(|&cables| cables > 0))
}

/// Global ports of each of so many routers: no more than cables to four other groups need, but two, which lead to
/// different ones.
pub(super) fn global_ports(ports: u32, routers: u32) -> u32 {
    ports.min((4 * CABLES).div_ceil(routers).max(2))
}
