use super::keys::by_radix_shape;
use super::*;
use crate::{Effect, Fault};

fn tree(down: &[u32], up: &[u32], parallel: &[u32]) -> FatTree {
    FatTree::new(FatTreeShape {
        down: down.to_vec(),
        up: up.to_vec(),
        parallel: parallel.to_vec(),
    })
    .unwrap()
}

fn all() -> Vec<FatTree> {
    vec![
        FatTree::new(FatTreeShape::k_ary(4, 3)).unwrap(),
        FatTree::new(FatTreeShape::k_ary(2, 4)).unwrap(),
        FatTree::new(FatTreeShape::k_ary(3, 1)).unwrap(),
        tree(&[4, 6], &[1, 2], &[1, 1]),
        tree(&[2, 3, 4], &[1, 2, 3], &[1, 2, 1]),
        tree(&[3, 2, 2, 3], &[1, 1, 4, 2], &[1, 3, 1, 2]),
    ]
}

#[test]
fn sizes_are_known_before_anything_is_built() {
    for tree in all() {
        let (topology, sizes) = (tree.topology(), tree.shape.sizes());
        assert_eq!(sizes, (u64::from(topology.routers()), u64::from(topology.ports())));
    }
    let endless = FatTreeShape::k_ary(u32::MAX, 16);
    assert_eq!(endless.sizes(), (u64::MAX, u64::MAX));
}

#[test]
fn cabling_is_a_perfect_matching() {
    all()
        .iter()
        .for_each(|tree| sizes::assert_perfect_matching(tree.topology()));
}

/// n k^(n-1) routers, k^n nodes; all ports used; leaves 2 (n - 1) apart.
#[test]
fn trees_by_radix_have_all_ports_used_and_the_nodes_of_the_formula() {
    for (radix, levels, ratio) in [
        (4, 3, 1.0),
        (6, 2, 1.0),
        (6, 2, 2.0),
        (8, 3, 3.0),
        (8, 3, 1.0),
        (4, 4, 1.0),
        (9, 2, 2.0),
    ] {
        let shape = by_radix_shape(radix, levels, ratio).unwrap();
        let up = (f64::from(radix) / (1.0 + ratio)).round() as u32;
        // Leaves have `radix - up` nodes; there are as many leaves as in a tree of half the ports, twice that at the
        // top.
        let leaves = (radix / 2).pow(levels - 2) * radix;
        assert_eq!(shape.down.iter().product::<u32>(), leaves * (radix - up), "{shape:?}");
        if ratio == 1.0 {
            assert_eq!(leaves * (radix - up), 2 * (radix / 2).pow(levels));
        }
        assert!(shape.levels().all(|(_, ports)| ports == u64::from(radix)), "{shape:?}");
        let (routers, ports) = shape.sizes();
        assert_eq!(ports, routers * u64::from(radix));
        let tree = FatTree::new(shape).unwrap();
        assert_eq!(u64::from(tree.topology().routers()), routers);
    }
    assert_eq!(by_radix_shape(36, 1, 1.0).unwrap().down, [36]);
}

#[test]
fn trees_by_radix_that_leave_ports_over_are_refused() {
    let key = |radix, levels, ratio| by_radix_shape(radix, levels, ratio).unwrap_err().key;
    assert_eq!(key(5, 3, 1.0), "radix");
    assert_eq!(key(1, 2, 1.0), "radix");
    for ratio in [0.0, -1.0, f64::NAN, f64::INFINITY, 2.5, 100.0] {
        assert_eq!(key(8, 2, ratio), "oversubscription", "{ratio}");
    }
    assert_eq!(key(8, 1, 3.0), "oversubscription");
    let problem = by_radix_shape(8, 2, 2.0).unwrap_err();
    assert!(problem.expected.contains("one of 7, 3, 1"), "{problem:?}");
}

#[test]
fn k_ary_n_trees_have_the_counts_of_petrini_and_vanneschi() {
    for (k, n) in [(4u32, 3u32), (2, 4), (3, 1), (8, 2)] {
        let tree = FatTree::new(FatTreeShape::k_ary(k, n)).unwrap();
        let t = tree.topology();
        assert_eq!(
            (t.routers(), t.nodes(), t.free_ports()),
            (n * k.pow(n - 1), k.pow(n), 0)
        );
        let of_level = |level| (0..t.routers()).filter(|&router| tree.level(router) == level).count();
        assert!((1..=n).all(|level| of_level(level) as u32 == k.pow(n - 1)));
        let top = (0..t.routers()).filter(|&router| tree.level(router) == n);
        top.for_each(|router| assert_eq!(t.ports_of(router).len() as u32, k));
        assert_eq!(t.diameter().nodes, 2 * (n - 1));
        assert_eq!(
            tree.bisection(),
            Some(if n == 1 { 0 } else { u64::from(k / 2 * k.pow(n - 1)) })
        );
    }
}

/// Level l of an XGFT has Π_(j>l) m_j Π_(j<=l) w_j routers.
#[test]
fn levels_have_the_counts_of_the_definition() {
    for tree in all() {
        let (t, s) = (tree.topology(), tree.shape());
        assert_eq!(t.nodes(), s.down.iter().product::<u32>());
        for level in 1..=tree.levels() {
            let count = (0..t.routers()).filter(|&router| tree.level(router) == level).count();
            let (above, below) = (&s.down[level as usize..], &s.up[..level as usize]);
            assert_eq!(
                count as u32,
                above.iter().product::<u32>() * below.iter().product::<u32>()
            );
        }
        let local = t.cables_by_class()[LinkClass::Local as usize];
        let expected = if tree.levels() > 1 {
            s.down[1..].iter().product::<u32>() * s.up[1] * s.parallel[1]
        } else {
            0
        };
        assert_eq!(local, u64::from(expected));
    }
}

#[test]
fn down_ports_lead_to_every_leaf_below_and_no_other_router_is_above_it() {
    for tree in all() {
        let t = tree.topology();
        let leaves: Vec<u32> = (0..t.routers()).filter(|&router| tree.level(router) == 1).collect();
        for router in 0..t.routers() {
            for &leaf in &leaves {
                let mut reached = vec![router];
                while tree.is_above(reached[0], leaf) && tree.level(reached[0]) > 1 {
                    let mut next: Vec<u32> = tree
                        .down_ports(reached[0], leaf)
                        .map(|port| t.neighbour(port).unwrap())
                        .collect();
                    next.dedup();
                    assert_eq!(next.len(), 1);
                    assert_eq!(tree.level(next[0]) + 1, tree.level(reached[0]));
                    reached = next;
                }
                assert_eq!(reached[0] == leaf, tree.is_above(router, leaf));
            }
        }
    }
}

#[test]
fn pods_are_blocks() {
    for tree in all().iter().filter(|tree| tree.levels() > 1) {
        let t = tree.topology();
        for pod in t.blocks().windows(2) {
            let top = tree.level(pod[0]) == tree.levels();
            for router in pod[0]..pod[1] {
                assert_eq!(tree.level(router) == tree.levels(), top);
                let inside = |port| t.neighbour(port).is_none_or(|other| pod[0] <= other && other < pod[1]);
                let crossing = tree.level(router) + 1 >= tree.levels();
                assert!(crossing || t.ports_of(router).all(inside));
            }
        }
    }
}

/// For every permitted choice on the way up, the way down exists.
#[test]
fn ways_up_avoid_failed_cables_on_both_sides() {
    let mut tree = FatTree::new(FatTreeShape::k_ary(3, 3)).unwrap();
    let parent = tree.topology().neighbour(tree.up_ports(0, 1).start).unwrap();
    let upper = tree.topology().neighbour(tree.up_ports(parent, 2).start).unwrap();
    let fail = |routers| Fault {
        routers,
        index: None,
        effect: Effect::Failed,
    };
    tree.impair(&[fail((0, parent)), fail((parent, upper))]).unwrap();
    assert_eq!(tree.check_ways(), Ok(()));
    let t = tree.topology();
    for from in (0..t.routers()).filter(|&router| tree.level(router) == 1) {
        for to in (0..t.routers()).filter(|&router| tree.level(router) == 1) {
            let mut open = vec![from];
            while let Some(router) = open.pop() {
                if tree.is_above(router, to) {
                    let mut at = router;
                    while at != to {
                        assert!(t.live(tree.down_ports(at, to)) > 0);
                        at = t.neighbour(tree.down_ports(at, to).start).unwrap();
                    }
                    continue;
                }
                let ways: Vec<u32> = (0..tree.parents(router))
                    .filter(|&d| tree.is_way_up(router, d, to))
                    .collect();
                assert!(!ways.is_empty());
                open.extend(
                    ways.iter()
                        .map(|&d| t.neighbour(tree.up_ports(router, d).start).unwrap()),
                );
            }
        }
    }
    let all_of = |d| fail((0, t.neighbour(tree.up_ports(0, d).start).unwrap()));
    let more = [all_of(0), all_of(2)];
    let mut worse = tree.clone();
    worse.impair(&more).unwrap();
    assert!(worse.check_ways().unwrap_err().contains("level 1"));
}

#[test]
fn impossible_sizes_are_refused_with_the_bound() {
    let new = |down: &[u32], up: &[u32], parallel: &[u32]| {
        let shape = FatTreeShape {
            down: down.to_vec(),
            up: up.to_vec(),
            parallel: parallel.to_vec(),
        };
        FatTree::new(shape).unwrap_err()
    };
    assert!(new(&[], &[], &[]).contains("1 to 16"));
    assert!(
        FatTree::new(FatTreeShape::k_ary(2, u32::MAX))
            .unwrap_err()
            .contains("1 to 16")
    );
    assert!(new(&[2, 2], &[1], &[1, 1]).contains("1 parents"));
    assert!(new(&[2, 0], &[1, 1], &[1, 1]).contains("at least one"));
    assert!(new(&[2, 2], &[2, 1], &[1, 1]).contains("one port"));
    assert!(new(&[u32::MAX; 16], &[1; 16], &[1; 16]).contains("4096"));
    assert!(new(&[64; 16], &[1; 16], &[1; 16]).contains("2^28"));
}
