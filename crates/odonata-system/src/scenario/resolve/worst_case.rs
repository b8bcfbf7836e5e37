//! The traffic that is worst for minimal routing on a machine.

use odonata_workload::{Pattern, WorstCase};

use super::workload::Size;
use crate::scenario::choices::GridStep;
use crate::scenario::resolved as r;

/// How many ranks a group of the machine has room for; storage servers are left out.
pub(super) fn ranks_per_group(size: Size, machine: &r::Resolved) -> u32 {
    let servers = match machine.storage.as_ref().map(|storage| &storage.nodes) {
        Some(r::ServerNodes::PerGroup { count, .. }) => *count,
        _ => 0,
    };
    (machine.layout.group_sizes().1 - servers).saturating_mul(size.ranks_per_node)
}

/// What of the machine's topology decides which traffic is worst.
pub(super) fn shape(size: Size, machine: &r::Resolved) -> WorstCase {
    match machine.machine {
        r::Machine::Dragonfly(_) => WorstCase::Groups {
            ranks_per_group: ranks_per_group(size, machine),
        },
    }
}

/// The worst traffic on `shape` for `ranks` ranks.
///
/// # Errors
/// As [`WorstCase::pattern`].
pub(super) fn pattern(shape: &WorstCase, ranks: u32) -> Result<r::Pattern, String> {
    let grid = |step, extents: &[u32], ranks_per_router| r::Pattern::Grid {
        step,
        dims: Some(extents.to_vec()),
        ranks_per_router,
    };
    let checked = shape.pattern(ranks)?;
    Ok(match (shape, checked) {
        (_, Pattern::Permutation { targets }) => r::Pattern::Permutation {
            targets: targets.to_vec(),
        },
        (WorstCase::Groups { ranks_per_group }, _) => r::Pattern::NextGroup {
            ranks_per_group: *ranks_per_group,
        },
        (WorstCase::Tree { ranks_per_subtree }, _) => r::Pattern::Shift { by: *ranks_per_subtree },
        (
            WorstCase::Torus {
                extents,
                ranks_per_router,
            },
            _,
        ) => grid(GridStep::Tornado, extents, *ranks_per_router),
        (
            WorstCase::HyperX {
                extents,
                ranks_per_router,
            },
            _,
        ) => grid(GridStep::Next, extents, *ranks_per_router),
        (WorstCase::Neighbours { .. }, other) => return Err(format!("partners made {other:?}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_units::{Bytes, Time};

    #[test]
    fn the_resolved_pattern_is_the_worst_case_of_every_shape() {
        let extents = vec![4, 4];
        let shapes = [
            WorstCase::Groups { ranks_per_group: 8 },
            WorstCase::Tree { ranks_per_subtree: 8 },
            WorstCase::Torus {
                extents: extents.clone(),
                ranks_per_router: 2,
            },
            WorstCase::HyperX {
                extents,
                ranks_per_router: 2,
            },
            WorstCase::Neighbours {
                partners: [1, 0, 3, 2].into(),
                ranks_per_router: 8,
            },
        ];
        for shape in shapes {
            let resolved = r::Synthetic {
                pattern: pattern(&shape, 32).unwrap(),
                bytes: Bytes(64),
                mean_interval: Time::from_ns(1),
                arrival: crate::scenario::choices::Arrival::Exponential,
                period: None,
                on_off: None,
                bursts: None,
                itself: false,
                messages: Some(1),
                stop: None,
            };
            assert_eq!(resolved.traffic(32, false).unwrap().pattern, shape.pattern(32).unwrap());
        }
        assert!(pattern(&WorstCase::Groups { ranks_per_group: 32 }, 32).is_err());
    }
}
