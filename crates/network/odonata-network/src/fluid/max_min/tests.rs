use super::*;
use odonata_engine::{Digest, Journalled, Plain, Savepoint, Speculative};
use odonata_units::SplitMix64;

/// Links of a path with the fraction of the flow on each.
type Path = Vec<(u32, f64)>;

fn links(capacities: &[f64]) -> MaxMin {
    MaxMin::new(capacities.iter().copied())
}

fn flow(of: &mut MaxMin, path: &[(u32, f64)]) -> u32 {
    of.start::<Plain>(10.0, path.iter().copied())
}

/// The rates of `flows` after filling.
fn rates<const N: usize>(of: &mut MaxMin, flows: [u32; N]) -> [f64; N] {
    of.fill::<Plain>(|_, _| {});
    flows.map(|flow| of.rate(flow).0)
}

fn assert_close(found: &[f64], expected: &[f64]) {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs();
    assert!(found.iter().zip(expected).all(close), "{found:?}, not {expected:?}");
}

/// Two flows on a link of capacity C: C/2 each; all of it when the other has ended.
#[test]
fn two_flows_share_a_link_in_halves() {
    let mut of = links(&[3.0]);
    let a = flow(&mut of, &[(0, 1.0)]);
    assert_close(&rates(&mut of, [a]), &[3.0]);
    let b = flow(&mut of, &[(0, 1.0)]);
    assert_close(&rates(&mut of, [a, b]), &[1.5, 1.5]);
    of.end::<Plain>(a);
    assert_close(&rates(&mut of, [b]), &[3.0]);
}

/// The parking lot: a flow over n links of capacity 1, and one more on each: 1/2 for all.
#[test]
fn in_a_parking_lot_every_flow_gets_half() {
    let mut of = links(&[1.0; 5]);
    let long: Path = (0..5).map(|link| (link, 1.0)).collect();
    let long = flow(&mut of, &long);
    let short: [u32; 5] = std::array::from_fn(|link| flow(&mut of, &[(link as u32, 1.0)]));
    assert_close(&rates(&mut of, short), &[0.5; 5]);
    assert_close(&[of.rate(long).0], &[0.5]);
}

/// A triangle: links of capacity 1, 2 and 3, a flow over each pair of them. The first link gives 1/2 to both of its
/// flows; on the second 2 - 1/2 is left for the flow on the second and third.
#[test]
fn in_a_triangle_the_smallest_link_is_filled_first() {
    let mut of = links(&[1.0, 2.0, 3.0]);
    let a = flow(&mut of, &[(0, 1.0), (1, 1.0)]);
    let b = flow(&mut of, &[(1, 1.0), (2, 1.0)]);
    let c = flow(&mut of, &[(2, 1.0), (0, 1.0)]);
    assert_close(&rates(&mut of, [a, b, c]), &[0.5, 1.5, 0.5]);
}

/// Three flows, capacities 1 and 2: two flows on the first link, one of them also on the second, where a third gets the
/// rest: 2 - 1/2. When the flow on both ends, the others have 1 and 2.
#[test]
fn a_flow_with_another_bottleneck_leaves_its_share_to_others() {
    let mut of = links(&[1.0, 2.0]);
    let a = flow(&mut of, &[(0, 1.0)]);
    let both = flow(&mut of, &[(0, 1.0), (1, 1.0)]);
    let c = flow(&mut of, &[(1, 1.0)]);
    assert_close(&rates(&mut of, [a, both, c]), &[0.5, 0.5, 1.5]);
    of.end::<Plain>(both);
    assert_close(&rates(&mut of, [a, c]), &[1.0, 2.0]);
}

/// A flow over two paths takes half of its rate on each: with a capacity of 1 each it has 2, less if another flow is on
/// one path.
#[test]
fn a_flow_over_two_paths_has_the_capacity_of_both() {
    let mut of = links(&[1.0, 1.0]);
    let split = flow(&mut of, &[(0, 0.5), (1, 0.5)]);
    assert_close(&rates(&mut of, [split]), &[2.0]);
    // r / 2 + r = 1 on the first link.
    let other = flow(&mut of, &[(0, 1.0)]);
    assert_close(&rates(&mut of, [split, other]), &[2.0 / 3.0, 2.0 / 3.0]);
}

/// Progressive filling of all flows from scratch, checking every link each time: the reference for the incremental one.
fn reference(capacities: &[f64], flows: &[Path]) -> Vec<f64> {
    let mut rates = vec![None; flows.len()];
    while rates.contains(&None) {
        let share = |link: u32| {
            let (mut left, mut weights) = (capacities[link as usize], 0.0);
            for (path, rate) in flows.iter().zip(&rates) {
                for (_, weight) in path.iter().filter(|(on, _)| *on == link) {
                    match rate {
                        Some(rate) => left -= weight * rate,
                        None => weights += weight,
                    }
                }
            }
            if weights > 0.0 { left / weights } else { f64::INFINITY }
        };
        let (link, share) = (0..capacities.len() as u32)
            .map(|link| (link, share(link)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .expect("there are links");
        for (path, rate) in flows.iter().zip(&mut rates) {
            if rate.is_none() && path.iter().any(|&(on, _)| on == link) {
                *rate = Some(share);
            }
        }
    }
    rates.into_iter().flatten().collect()
}

/// The stored sums of links equal those over their flows.
fn assert_stored_sums(of: &MaxMin) {
    for link in 0..of.links.len() as u32 {
        let state = of.links.get(link);
        let (mut taken, mut held, mut fresh, mut flows) = (0, 0, 0, 0);
        for of_link in uses_of(&of.uses, state.first) {
            let flow = of.flows.get(of_link.flow);
            taken += taken_on(flow.rate, of_link.weight);
            held += u32::from(flow.bottleneck == link);
            fresh += u32::from(flow.bottleneck == NIL);
            flows += 1;
            let at_share = (flow.rate - state.share).abs() <= 1e-9 * state.share;
            assert!(flow.bottleneck != link || at_share, "link {link}");
        }
        assert_eq!(
            (state.taken, state.held, state.fresh, state.flows),
            (taken, held, fresh, flows),
            "link {link}"
        );
    }
}

fn random_path(random: &mut SplitMix64, links: u64) -> Path {
    let mut below = |n: u64| random.next_u64() % n;
    let mut path = std::collections::BTreeMap::new();
    for _ in 0..=below(4) {
        let weight = [1.0, 0.5, 0.25][below(3) as usize];
        path.insert(below(links) as u32, weight);
    }
    path.into_iter().collect()
}

/// Until the next filling a new flow takes the capacity left, if that is a 16th of a link or more, or its share with the
/// flows that the link limits: C / 2 beside one, C / 3 if another has come before it; then all share equally.
#[test]
fn a_new_flow_takes_the_capacity_left_or_its_share() {
    let mut of = links(&[1.0, 4.0]);
    let first = flow(&mut of, &[(0, 1.0)]);
    of.fill::<Plain>(|_, _| {});
    let [wide, narrow] = [[(1, 1.0)], [(0, 1.0)]].map(|path| flow(&mut of, &path));
    assert_eq!([wide, narrow].map(|flow| of.take_share::<Plain>(flow)), [4.0, 0.5]);
    // No flow has a share of the second link yet.
    let [third, fourth] = [[(1, 1.0)], [(0, 1.0)]].map(|path| flow(&mut of, &path));
    assert_eq!(of.take_share::<Plain>(third), 0.0);
    assert_close(&[of.take_share::<Plain>(fourth)], &[1.0 / 3.0]);
    assert_stored_sums(&of);
    of.fill::<Plain>(|_, _| {});
    assert_close(
        &[first, wide, narrow, third, fourth].map(|flow| of.rate(flow).0),
        &[1.0 / 3.0, 2.0, 1.0 / 3.0, 2.0, 1.0 / 3.0],
    );
}

/// After every start and end: rates equal those of filling from scratch, no link exceeds its capacity, and every
/// changed flow is reported.
#[test]
fn rates_after_every_change_are_those_of_filling_from_scratch() {
    for seed in 0..60 {
        let mut random = SplitMix64(seed);
        let n = 3 + random.next_u64() % 20;
        let capacities: Vec<f64> = (0..n).map(|_| 1.0 + (random.next_u64() % 5) as f64).collect();
        let mut of = links(&capacities);
        let mut known: Vec<(u32, Path, f64)> = Vec::new();
        for _ in 0..80 {
            for _ in 0..=random.next_u64() % 3 {
                let what = random.next_u64() % 8;
                if known.is_empty() || what < 4 {
                    let path = random_path(&mut random, n);
                    let new = flow(&mut of, &path);
                    // A new flow may take a share until the next filling.
                    let rate = if what < 2 { of.take_share::<Plain>(new) } else { 0.0 };
                    known.push((new, path, rate));
                } else {
                    let at = random.next_u64() as usize % known.len();
                    if what < 7 {
                        of.end::<Plain>(known.swap_remove(at).0);
                    } else {
                        let path = random_path(&mut random, n);
                        of.move_to::<Plain>(known[at].0, 10.0, path.iter().copied());
                        known[at].1 = path;
                    }
                }
            }
            let mut changed = std::collections::BTreeMap::new();
            let before: Vec<(f64, u32)> = known.iter().map(|(flow, ..)| of.rate(*flow)).collect();
            of.fill::<Plain>(|flow, rate| {
                changed.insert(flow, rate);
            });
            for ((flow, _, rate), before) in known.iter_mut().zip(before) {
                match changed.get(flow) {
                    Some(new) => *rate = new.unwrap_or(*rate),
                    None => assert_eq!(of.rate(*flow), before, "a change of flow {flow} is reported"),
                }
            }
            assert_stored_sums(&of);
            let paths: Vec<_> = known.iter().map(|(_, path, _)| path.clone()).collect();
            let expected = reference(&capacities, &paths);
            let found: Vec<f64> = known.iter().map(|(flow, ..)| of.rate(*flow).0).collect();
            assert_close(&found, &expected);
            let recorded: Vec<f64> = known.iter().map(|known| known.2).collect();
            assert_close(&recorded, &expected);
            for (link, capacity) in (0..).zip(&capacities) {
                let taken: f64 = (paths.iter().flatten().zip(
                    paths
                        .iter()
                        .zip(&found)
                        .flat_map(|(path, rate)| path.iter().map(move |_| rate)),
                ))
                .filter(|((on, _), _)| *on == link)
                .map(|((_, weight), rate)| weight * rate)
                .sum();
                assert!(
                    taken <= capacity * (1.0 + 1e-9),
                    "link {link} carries {taken} of {capacity}"
                );
            }
        }
        for (flow, ..) in known {
            of.end::<Plain>(flow);
        }
        of.fill::<Plain>(|_, _| {});
        assert!(
            (0..n as u32).all(|link| of.demand(link, 0.0) == 0.0),
            "demand is left over"
        );
    }
}

/// Many flows on many links; one ends and one starts at a time.
#[test]
fn a_large_network_stays_exact_as_flows_come_and_go() {
    let mut random = SplitMix64(3);
    let capacities: Vec<f64> = (0..120).map(|_| 1.0 + (random.next_u64() % 3) as f64).collect();
    let mut of = links(&capacities);
    let mut known: Vec<(u32, Path)> = Vec::new();
    for step in 0..700 {
        let path = random_path(&mut random, 120);
        known.push((flow(&mut of, &path), path));
        if step > 400 {
            let gone = random.next_u64() as usize % known.len();
            of.end::<Plain>(known.swap_remove(gone).0);
        }
        of.fill::<Plain>(|_, _| {});
        if step % 50 == 49 {
            assert_stored_sums(&of);
            let paths: Vec<Path> = known.iter().map(|(_, path)| path.clone()).collect();
            let found: Vec<f64> = known.iter().map(|(flow, _)| of.rate(*flow).0).collect();
            assert_close(&found, &reference(&capacities, &paths));
        }
    }
}

/// Do, undo, redo: the state is the same as before, with the same rates.
#[test]
fn undo_restores_the_state() {
    let print = |of: &MaxMin| {
        let mut digest = Digest::new();
        of.fingerprint(&mut digest);
        digest.value()
    };
    let mut random = SplitMix64(7);
    let mut of = links(&[2.0, 1.0, 3.0, 1.5, 1.0]);
    let mut flows = Vec::new();
    for step in 1..200 {
        let (before, kept, drawn) = (print(&of), flows.clone(), random.0);
        let mut after = Vec::new();
        for _ in 0..2 {
            of.undo(Savepoint(step));
            assert_eq!(print(&of), before);
            (flows, random) = (kept.clone(), SplitMix64(drawn));
            Savepoint(step).begin();
            let path = random_path(&mut random, 5);
            flows.push(of.start::<Speculative>(10.0, path.into_iter()));
            if flows.len() > 12 {
                let gone = flows.swap_remove(random.next_u64() as usize % flows.len());
                of.end::<Speculative>(gone);
            }
            of.fill::<Speculative>(|_, _| {});
            after.push(print(&of));
        }
        assert_eq!(after[0], after[1]);
        of.commit();
    }
}
