//! Choices among ports, groups and paths: random ones, and the lightest of several.

use super::{Choice, Path};
use odonata_topology::Topology;
use std::ops::Range;

/// One of the parallel cables at `ports`: the only one left, a random one, or the lightest.
#[inline]
pub(super) fn parallel(
    topology: &Topology,
    ports: Range<u32>,
    adaptive: bool,
    choice: &mut (impl Choice + ?Sized),
) -> u32 {
    let live = topology.live(ports.clone());
    if live < 2 {
        return topology.nth_live(ports, 0);
    }
    let nth = |n| topology.nth_live(ports.clone(), n);
    match adaptive {
        true => lightest_of_all(live, choice, nth),
        false => nth(choice.pick(live)),
    }
}

/// Most random paths or ports to compare.
const MOST_CANDIDATES: u32 = 64;

/// The lightest of `candidates` distinct random ports of the `count` given by `nth`; among equals the first drawn. If
/// all packets compared all ports at the same time, all would take the same one; the lighter of two random ports is
/// nearly as light and differs between packets (M. Mitzenmacher, "The power of two choices in randomized load
/// balancing", IEEE TPDS 12(10), 2001).
#[inline]
pub(super) fn lightest<C: Choice + ?Sized>(
    count: u32,
    candidates: u32,
    choice: &mut C,
    nth: impl Fn(u32, &mut C) -> u32,
) -> u32 {
    // The ports drawn so far, in ascending order.
    let mut drawn = [0; MOST_CANDIDATES as usize];
    let mut best = 0;
    for already in 0..choice.draws(candidates.min(count).min(MOST_CANDIDATES)) as usize {
        let mut n = choice.pick(count - already as u32);
        let mut place = 0;
        while place < already && drawn[place] <= n {
            n += 1;
            place += 1;
        }
        drawn.copy_within(place..already, place + 1);
        drawn[place] = n;
        let port = nth(n, choice);
        if already == 0 || choice.lighter(port, best) {
            best = port;
        }
    }
    best
}

/// The lightest of the `count` ports given by `nth`; among equals the first from a random start. It takes one draw;
/// [`lightest`] would take one per port.
#[inline]
pub(super) fn lightest_of_all(count: u32, choice: &mut (impl Choice + ?Sized), nth: impl Fn(u32) -> u32) -> u32 {
    let start = choice.pick(count);
    let mut best = nth(start);
    for step in 1..choice.draws(count) {
        let n = start + step;
        let port = nth(if n < count { n } else { n - count });
        if choice.lighter(port, best) {
            best = port;
        }
    }
    best
}

/// A random one of `groups` groups (or routers of a group), at least three, other than two different ones.
#[inline]
pub(super) fn other_group(groups: u32, here: u32, goal: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
    let (low, high) = (here.min(goal), here.max(goal));
    let mut group = choice.pick(groups - 2);
    group += u32::from(group >= low);
    group + u32::from(group >= high)
}

/// The lightest of up to `candidates` random candidates of `draw`, each with its first port; `None` if `draw` makes
/// none. Candidates with the same first port as the current best are skipped: they are no lighter.
#[inline]
pub(super) fn lightest_port<T: Copy, C: Choice + ?Sized>(
    candidates: u32,
    choice: &mut C,
    draw: impl FnMut(&mut C) -> Option<(T, u32)>,
) -> Option<(T, u32)> {
    let less = |choice: &mut C, &(_, a): &(T, u32), &(_, b): &(T, u32)| a != b && choice.lighter(a, b);
    lightest_drawn(candidates, choice, draw, less)
}

/// The same for paths, of which more than the load of the first port may be known.
#[inline]
pub(super) fn lightest_path<T: Copy, C: Choice + ?Sized>(
    candidates: u32,
    choice: &mut C,
    draw: impl FnMut(&mut C) -> Option<(T, Path)>,
) -> Option<(T, Path)> {
    let beyond = choice.knows_beyond();
    let less =
        |choice: &mut C, (_, a): &(T, Path), (_, b): &(T, Path)| !b.is_like(a, beyond) && choice.lighter_path(*a, *b);
    lightest_drawn(candidates, choice, draw, less)
}

#[inline]
fn lightest_drawn<T, C: Choice + ?Sized>(
    candidates: u32,
    choice: &mut C,
    mut draw: impl FnMut(&mut C) -> Option<T>,
    less: impl Fn(&mut C, &T, &T) -> bool,
) -> Option<T> {
    let mut best: Option<T> = None;
    for _ in 0..choice.draws(candidates) {
        let Some(found) = draw(choice) else { continue };
        best = match best {
            Some(other) if !less(choice, &found, &other) => Some(other),
            _ => Some(found),
        };
    }
    best
}
