//! The worst case for minimal routing, which depends on the machine's topology.

use std::sync::Arc;

use super::{GridShift, Pattern, Step};

/// The topology properties that decide the worst-case traffic for minimal routing, in ranks that are numbered like its
/// nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorstCase {
    /// Groups with few cables between each pair, as in a dragonfly: all ranks of a group send to the next one, over the
    /// cables of one pair of groups ([`Pattern::NextGroup`]).
    Groups {
        /// Ranks of a group.
        ranks_per_group: u32,
    },
    /// A torus: tornado, which loads the links of one direction only, nearly half-way around ([`Step::Tornado`]).
    Torus {
        /// Routers along each dimension, the first fastest.
        extents: Vec<u32>,
        /// Ranks of a router.
        ranks_per_router: u32,
    },
    /// A tree: all ranks below one port of the top send to those below the next, so all packets pass the top
    /// ([`Pattern::Shift`]).
    Tree {
        /// Ranks below one port of a top router.
        ranks_per_subtree: u32,
    },
    /// A HyperX or flattened butterfly: all ranks of a router send to one router that differs in one dimension, over the
    /// one link between them ([`Step::Next`]).
    HyperX {
        /// Routers along each dimension, the first fastest.
        extents: Vec<u32>,
        /// Ranks of a router.
        ranks_per_router: u32,
    },
    /// Any graph of routers, such as a Slim Fly: all ranks of a router send to one neighboring router, over the link
    /// between them. The partners are a permutation of the routers without fixed points.
    Neighbours {
        /// The neighbor of each router.
        partners: Arc<[u32]>,
        /// Ranks of a router.
        ranks_per_router: u32,
    },
}

impl WorstCase {
    /// The pattern for `ranks` ranks.
    ///
    /// # Errors
    /// Those of [`Pattern::check`]: mainly ranks that do not fill the topology.
    pub fn pattern(&self, ranks: u32) -> Result<Pattern, String> {
        let pattern = match self {
            WorstCase::Groups { ranks_per_group } => Pattern::NextGroup {
                ranks_per_group: *ranks_per_group,
            },
            WorstCase::Torus {
                extents,
                ranks_per_router,
            } => Pattern::GridShift(GridShift::new(ranks, Some(extents), *ranks_per_router, Step::Tornado)?),
            WorstCase::Tree { ranks_per_subtree } => Pattern::Shift { by: *ranks_per_subtree },
            WorstCase::HyperX {
                extents,
                ranks_per_router,
            } => Pattern::GridShift(GridShift::new(ranks, Some(extents), *ranks_per_router, Step::Next)?),
            WorstCase::Neighbours {
                partners,
                ranks_per_router,
            } => {
                if u64::from(*ranks_per_router) * partners.len() as u64 != u64::from(ranks) {
                    return Err(format!(
                        "{} routers of {ranks_per_router} ranks for a job of {ranks}",
                        partners.len()
                    ));
                }
                let target = |rank: u32| {
                    let partner = partners[(rank / ranks_per_router) as usize];
                    partner
                        .saturating_mul(*ranks_per_router)
                        .saturating_add(rank % ranks_per_router)
                };
                Pattern::Permutation {
                    targets: (0..ranks).map(target).collect(),
                }
            }
        };
        pattern.check(ranks)?;
        Ok(pattern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The router to which all `per` ranks of router `router` send.
    fn partner_of(pattern: &Pattern, ranks: u32, per: u32, router: u32) -> Option<u32> {
        let mut targets = (0..per).map(|place| pattern.destination(router * per + place, ranks, 7, 0) / per);
        let first = targets.next();
        targets.all(|target| Some(target) == first).then_some(first).flatten()
    }

    #[test]
    fn all_ranks_of_a_router_share_one_link_of_a_hyperx_and_of_a_graph() {
        let hyperx = WorstCase::HyperX {
            extents: vec![4, 4],
            ranks_per_router: 4,
        };
        let pattern = hyperx.pattern(64).unwrap();
        for router in 0..16 {
            let next = router / 4 * 4 + (router + 1) % 4;
            assert_eq!(partner_of(&pattern, 64, 4, router), Some(next));
        }
        let graph = WorstCase::Neighbours {
            partners: [1, 0, 3, 2].into(),
            ranks_per_router: 5,
        };
        let pattern = graph.pattern(20).unwrap();
        assert!((0..4).all(|router| partner_of(&pattern, 20, 5, router) == Some(router ^ 1)));
        assert!(graph.pattern(19).is_err());
        let fixed = WorstCase::Neighbours {
            partners: [0, 2, 1].into(),
            ranks_per_router: 1,
        };
        assert!(fixed.pattern(3).unwrap_err().contains("itself"));
        let nowhere = WorstCase::Neighbours {
            partners: [1, u32::MAX].into(),
            ranks_per_router: 2,
        };
        assert!(nowhere.pattern(4).is_err());
    }

    #[test]
    fn everything_passes_the_top_of_a_tree_and_turns_one_way_around_a_torus() {
        // 4 subtrees of 16.
        let pattern = WorstCase::Tree { ranks_per_subtree: 16 }.pattern(64).unwrap();
        for rank in 0..64 {
            let target = pattern.destination(rank, 64, 0, 0);
            assert_eq!((target / 16, target % 16), ((rank / 16 + 1) % 4, rank % 16));
        }
        let torus = WorstCase::Torus {
            extents: vec![8],
            ranks_per_router: 2,
        };
        let pattern = torus.pattern(16).unwrap();
        assert!((0..8).all(|router| partner_of(&pattern, 16, 2, router) == Some((router + 3) % 8)));
        let groups = WorstCase::Groups { ranks_per_group: 8 };
        assert_eq!(groups.pattern(24).unwrap(), Pattern::NextGroup { ranks_per_group: 8 });
        assert!(groups.pattern(8).is_err());
        assert!(
            WorstCase::Tree { ranks_per_subtree: 64 }.pattern(64).is_err(),
            "one subtree"
        );
    }
}
