//! Distributions, closed forms, silent ranks, and refused sizes.

use super::*;
use crate::synthetic::tests::draws;

#[test]
fn uniform_reaches_all_others_alike_and_never_itself() {
    let mut counts = [0u32; 10];
    for draw in draws().take(90_000) {
        counts[Pattern::Uniform.destination(3, 10, draw, 0) as usize] += 1;
    }
    assert_eq!(counts[3], 0);
    // 90,000 / 9 = 10,000 each, standard deviation sqrt(10,000 x 8 / 9) = 94.
    assert!(
        counts
            .iter()
            .enumerate()
            .all(|(rank, &n)| rank == 3 || n.abs_diff(10_000) < 500),
        "{counts:?}"
    );
}

#[test]
fn the_last_group_sends_to_the_first_and_a_short_group_is_hit_only_within() {
    // Groups 0..4, 4..8, 8..10.
    let pattern = Pattern::NextGroup { ranks_per_group: 4 };
    for draw in draws().take(1_000) {
        assert!((4..8).contains(&pattern.destination(1, 10, draw, 0)));
        assert!((8..10).contains(&pattern.destination(7, 10, draw, 0)));
        assert!((0..4).contains(&pattern.destination(9, 10, draw, 0)));
    }
}

#[test]
fn a_permutation_has_every_rank_once_as_target_and_none_as_its_own() {
    for ranks in 2..50 {
        let mut random = draws();
        let pattern = Pattern::permutation(ranks, |n| below(n, random.next().unwrap_or(0))).unwrap();
        assert_eq!(pattern.check(ranks), Ok(()));
        let mut hit: Vec<u32> = (0..ranks).map(|rank| pattern.destination(rank, ranks, 0, 0)).collect();
        assert!(hit.iter().enumerate().all(|(rank, &to)| rank as u32 != to));
        hit.sort_unstable();
        assert!(hit.iter().copied().eq(0..ranks));
    }
    assert!(Pattern::permutation(1, |_| 0).is_err());
}

#[test]
fn patterns_that_cannot_run_are_errors_and_still_do_not_panic() {
    let targets = |list: &[u32]| Pattern::Permutation { targets: list.into() };
    let next_group = |ranks_per_group| Pattern::NextGroup { ranks_per_group };
    let bad = [
        (Pattern::Uniform, 1),
        (Pattern::Uniform, 0),
        (next_group(0), 4),
        (next_group(4), 4),
        (targets(&[1, 0]), 3),
        (targets(&[1, 2]), 2),
        (targets(&[0, 1]), 2),
        (targets(&[2, 2, 1]), 3),
        (Pattern::BitReverse, 0),
        (Pattern::BitComplement, 6),
        (Pattern::Shuffle, 1),
        (Pattern::Transpose, 0),
        (Pattern::AllToAll, 0),
    ];
    for (pattern, ranks) in bad {
        assert!(pattern.check(ranks).is_err(), "{pattern:?} on {ranks}");
        for draw in [0, u64::MAX] {
            for rank in [0, 1, u32::MAX] {
                assert!(pattern.destination(rank, ranks, draw, 0) < ranks.max(1));
            }
        }
    }
}

fn hot(targets: &[u32], share: f64) -> Pattern {
    let targets = targets.into();
    Pattern::HotSpot { targets, share }
}

#[test]
fn hot_ranks_get_their_share_and_the_rest_is_uniform() {
    let pattern = hot(&[2, 7], 0.4);
    assert_eq!(pattern.check(10), Ok(()));
    // 90,000 messages of rank 3: 36,000 to hot ranks, 18,000 each, and 54,000 / 9 = 6,000 to each other rank. Standard
    // deviations are below sqrt(90,000 x 0.27 x 0.73) = 133.
    let mut counts = [0u32; 10];
    for draw in draws().take(90_000) {
        counts[pattern.destination(3, 10, draw, 0) as usize] += 1;
    }
    for (rank, &count) in counts.iter().enumerate() {
        let expected = match rank {
            3 => 0,
            2 | 7 => 24_000,
            _ => 6_000,
        };
        assert!(
            count.abs_diff(expected) < 700 && (rank != 3 || count == 0),
            "{counts:?}"
        );
    }
}

#[test]
fn a_hot_rank_turns_to_the_other_hot_ranks_and_the_only_one_to_all() {
    let (pair, single) = (hot(&[2, 7], 1.0), hot(&[2], 1.0));
    let mut all = [0u32; 4];
    for draw in draws().take(3_000) {
        assert_eq!(pair.destination(2, 10, draw, 0), 7);
        assert_eq!(single.destination(0, 4, draw, 0), 2);
        all[single.destination(2, 4, draw, 0) as usize] += 1;
    }
    // 1,000 each, standard deviation 26.
    assert!(
        all[2] == 0 && [0, 1, 3].iter().all(|&rank| all[rank].abs_diff(1_000) < 150),
        "{all:?}"
    );
    for (targets, share) in [
        (&[2][..], 0.0),
        (&[2], 1.1),
        (&[2], f64::NAN),
        (&[], 0.5),
        (&[2, 2], 0.5),
        (&[4], 0.5),
    ] {
        assert!(hot(targets, share).check(4).is_err(), "{targets:?} {share}");
    }
}

#[test]
fn incast_sends_to_the_targets_which_send_nothing() {
    let incast = |targets: &[u32]| Pattern::Incast {
        targets: targets.into(),
    };
    let pattern = incast(&[5, 1]);
    assert_eq!(pattern.check(8), Ok(()));
    let senders: Vec<u32> = (0..8).filter(|&rank| pattern.sends(rank, 8)).collect();
    assert_eq!(senders, [0, 2, 3, 4, 6, 7]);
    let to_five = draws()
        .take(10_000)
        .filter(|&draw| pattern.destination(0, 8, draw, 0) == 5)
        .count();
    // 5,000, standard deviation 50.
    assert!(to_five.abs_diff(5_000) < 300, "{to_five}");
    assert!(
        draws()
            .take(100)
            .all(|draw| [1, 5].contains(&pattern.destination(3, 8, draw, 0)))
    );
    for targets in [&[][..], &[8], &[0, 0], &[0, 1, 2, 3, 4, 5, 6, 7]] {
        assert!(incast(targets).check(8).is_err(), "{targets:?}");
    }
}

#[test]
fn all_to_all_walks_over_all_others_from_the_next_rank_on() {
    let walk: Vec<u32> = (0..8).map(|k| Pattern::AllToAll.destination(3, 5, 0, k)).collect();
    assert_eq!(walk, [4, 0, 1, 2, 4, 0, 1, 2]);
    // At every step the destinations are a permutation.
    for step in 0..6 {
        let mut hit: Vec<u32> = (0..7)
            .map(|rank| Pattern::AllToAll.destination(rank, 7, 0, step))
            .collect();
        hit.sort_unstable();
        assert!(hit.into_iter().eq(0..7));
    }
}

/// Destination of every rank; `None`: it sends nothing.
fn table(pattern: &Pattern, ranks: u32) -> Vec<Option<u32>> {
    assert_eq!(pattern.check(ranks), Ok(()), "{pattern:?}");
    let of = |rank| {
        pattern
            .sends(rank, ranks)
            .then(|| pattern.destination(rank, ranks, 77, 5))
    };
    (0..ranks).map(of).collect()
}

#[test]
fn patterns_of_bits_are_those_of_the_book() {
    // Table 3.1 of Dally and Towles for b = 3 (transpose: b = 4).
    let (none, to) = (None, Some);
    assert_eq!(
        table(&Pattern::BitComplement, 8),
        [to(7), to(6), to(5), to(4), to(3), to(2), to(1), to(0)]
    );
    assert_eq!(
        table(&Pattern::BitReverse, 8),
        [none, to(4), none, to(6), to(1), none, to(3), none]
    );
    assert_eq!(
        table(&Pattern::Shuffle, 8),
        [none, to(2), to(4), to(6), to(1), to(3), to(5), none]
    );
    let halves_swapped = |rank: u32| (rank >> 2) | (rank & 3) << 2;
    for (rank, target) in (0..).zip(table(&Pattern::Transpose, 16)) {
        assert_eq!(target, Some(halves_swapped(rank)).filter(|&other| other != rank));
    }
    // Rows and columns of 3 x 3.
    assert_eq!(
        table(&Pattern::Transpose, 9),
        [none, to(3), to(6), to(1), none, to(7), to(2), to(5), none]
    );
}

#[test]
fn bit_patterns_are_permutations_with_the_stated_number_of_fixed_points() {
    for b in 1..13 {
        let n = 1 << b;
        for (pattern, fixed) in [
            (Pattern::BitComplement, 0),
            (Pattern::BitReverse, 1 << ((b + 1) / 2)),
            (Pattern::Shuffle, 2),
            (Pattern::BitRotation, 2),
            (Pattern::Transpose, 1 << (b / 2)),
        ] {
            if pattern == Pattern::Transpose && b % 2 == 1 {
                assert!(pattern.check(n).unwrap_err().contains("square"), "{n}");
                continue;
            }
            let silent = table(&pattern, n).into_iter().filter(Option::is_none).count();
            assert_eq!(silent, fixed, "{pattern:?} on {n}");
            let mut hit: Vec<u32> = (0..n).map(|rank| pattern.destination(rank, n, 0, 0)).collect();
            hit.sort_unstable();
            assert!(hit.into_iter().eq(0..n), "{pattern:?} on {n}");
        }
    }
    for pattern in [
        Pattern::BitComplement,
        Pattern::BitReverse,
        Pattern::Shuffle,
        Pattern::BitRotation,
    ] {
        let error = pattern.check(12).unwrap_err();
        assert!(
            error.contains("a power of two of ranks, such as 8 or 16, not 12"),
            "{error}"
        );
    }
    let error = Pattern::Transpose.check(8).unwrap_err();
    assert!(error.contains("such as 4 or 9, not 8"), "{error}");
}

#[test]
fn rotation_shift_and_halves_are_their_formulas() {
    // BookSim 2, bitrot: d = s >> 1 | (s & 1) << (b - 1); it undoes the shuffle.
    for rank in 0..64 {
        let rotated = Pattern::BitRotation.destination(rank, 64, 0, 0);
        assert_eq!(rotated, rank >> 1 | (rank & 1) << 5);
        assert_eq!(Pattern::Shuffle.destination(rotated, 64, 0, 0), rank);
        assert_eq!(Pattern::Shift { by: 50 }.destination(rank, 64, 0, 0), (rank + 50) % 64);
        // asymmetric: d = s mod n/2 + (0 or n/2), half of the messages each.
        assert_eq!(Pattern::Asymmetric.destination(rank, 64, 9, 0), (rank + 32) % 64);
        let mut high = 0;
        for draw in draws().take(1_000) {
            let target = Pattern::Asymmetric.destination_or_itself(rank, 64, draw, 0);
            assert_eq!(target % 32, rank % 32);
            high += target / 32;
        }
        // Standard deviation 16.
        assert!(high.abs_diff(500) < 90, "{high}");
    }
    assert!(Pattern::Asymmetric.check(7).is_err() && Pattern::Asymmetric.check(8).is_ok());
    assert!(Pattern::Shift { by: 0 }.check(8).is_err() && Pattern::Shift { by: 24 }.check(8).is_err());
}

#[test]
fn a_permutation_from_all_of_them_has_one_fixed_point_on_average() {
    let mut random = draws();
    let mut fixed = 0;
    for _ in 0..2_000 {
        let pattern = Pattern::any_permutation(20, |n| below(n, random.next().unwrap_or(0)));
        let mut hit: Vec<u32> = (0..20).map(|rank| pattern.destination(rank, 20, 0, 0)).collect();
        fixed += (0..20).zip(&hit).filter(|(from, to)| from == *to).count();
        hit.sort_unstable();
        assert!(hit.into_iter().eq(0..20));
    }
    // Mean 1, variance 1: 2,000 with a standard deviation of 45.
    assert!(fixed.abs_diff(2_000) < 230, "{fixed}");
}

#[test]
fn a_share_to_hot_ranks_of_which_the_sender_is_one() {
    // With itself: 0.4 / 2 to each hot rank and 0.6 / 10 to each rank, of 90,000.
    let pattern = hot(&[2, 7], 0.4);
    let mut counts = [0u32; 10];
    for draw in draws().take(90_000) {
        counts[pattern.destination_or_itself(2, 10, draw, 0) as usize] += 1;
    }
    for (rank, &count) in counts.iter().enumerate() {
        let expected = if rank == 2 || rank == 7 { 23_400 } else { 5_400 };
        assert!(count.abs_diff(expected) < 700, "{counts:?}");
    }
}

/// Rank y n + x sends to rank r n + y, with r uniform over all n rows; if x = y, to itself only if allowed.
#[test]
fn badperm_yarc_sends_rows_to_columns() {
    let n = 8;
    for rank in 0..n * n {
        let (row, column) = (rank / n, rank % n);
        let mut rows = [[0u32; 8]; 2];
        for draw in draws().take(4_000) {
            let target = Pattern::BadpermYarc.destination(rank, n * n, draw, 0);
            let any = Pattern::BadpermYarc.destination_or_itself(rank, n * n, draw, 0);
            assert_eq!((target % n, any % n), (row, row));
            rows[0][(target / n) as usize] += 1;
            rows[1][(any / n) as usize] += 1;
        }
        // 500 each, standard deviation 21; 571 where it is one of seven.
        assert!(rows[1].iter().all(|&count| count.abs_diff(500) < 120), "{rows:?}");
        let expected = |r: u32| {
            if row != column {
                500
            } else if r == row {
                0
            } else {
                571
            }
        };
        assert!(
            (0..n).all(|r| rows[0][r as usize].abs_diff(expected(r)) < 120),
            "{rows:?}"
        );
    }
    assert!(Pattern::BadpermYarc.check(63).is_err() && Pattern::BadpermYarc.check(64).is_ok());
    assert!((0..64).all(|rank| Pattern::BadpermYarc.sends(rank, 64)));
}
