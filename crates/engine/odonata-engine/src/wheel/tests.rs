//! The order of events, against a sorted reference.

use super::*;
use crate::random::{Purpose, Stream};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

fn drain(wheel: &mut Wheel<u32>) -> Vec<(u64, u64)> {
    std::iter::from_fn(|| wheel.pop())
        .map(|item| (item.time.0, item.order))
        .collect()
}

fn key(time: u64, sender: u32, sequence: u32) -> Key {
    Key {
        time: Time(time),
        sender,
        sequence,
    }
}

#[test]
fn ties_come_out_by_sender_then_sequence_whatever_the_insertion_order() {
    let mut keys: Vec<Key> = (0..3).flat_map(|s| (0..3).map(move |q| key(5_000, s, q))).collect();
    let mut random = Stream::new(3, 0, Purpose::Host);
    let mut expected: Option<Vec<(u64, u64)>> = None;
    for _ in 0..50 {
        random.shuffle(&mut keys);
        let mut wheel = Wheel::new();
        for &k in &keys {
            wheel.push(Scheduled::new(0, k, 0));
        }
        let order = drain(&mut wheel);
        assert!(order.is_sorted());
        assert_eq!(expected.get_or_insert_with(|| order.clone()), &order);
    }
}

/// Against a sorted reference: random pushes and pops over densities from ps to ms exercise the open bucket, the
/// wheel, the overflow and refits.
#[test]
fn order_equals_a_binary_heap_over_random_pushes_and_pops() {
    for (seed, spread) in [(1u64, 1_000u64), (2, 1_000_000), (3, 10_000_000_000), (4, 40)] {
        for buckets in [BUCKETS, 64] {
            against_a_heap(seed, spread, buckets);
        }
    }
}

/// Removes events from the open bucket, the wheel and the overflow.
#[test]
fn removed_events_do_not_occur_and_all_others_do() {
    for spread in [40, 100_000, 10_000_000_000] {
        let mut random = Stream::new(spread, 0, Purpose::Host);
        let mut wheel = Wheel::with_buckets(64);
        let mut all = Vec::new();
        for i in 0..2_000u32 {
            // Some events are equal except for their receivers, some completely.
            let (lp, sequence) = (random.below(2), i / 4);
            let at = 1 + (random.unit().powi(4) * spread as f64) as u64;
            all.push((lp, key(at, 3, sequence)));
            wheel.push(Scheduled::new(lp, key(at, 3, sequence), 0));
        }
        all.sort_by_key(|&(lp, key)| (key, lp));
        for _ in 0..500 {
            wheel.pop();
        }
        let (mut gone, kept): (Vec<_>, Vec<_>) = all[500..].iter().partition(|_| random.below(3) == 0);
        random.shuffle(&mut gone);
        wheel.remove_all(gone.into_iter());
        assert_eq!(wheel.len(), kept.len());
        let kept: Vec<_> = kept.iter().map(|(_, key)| (key.time.0, order(*key))).collect();
        assert_eq!(drain(&mut wheel), kept, "{spread}");
    }
}

/// Messages from other parts may come before a bucket that is open, by any time.
#[test]
fn events_before_the_open_bucket_come_first() {
    let mut wheel = Wheel::new();
    let times = [
        1 << 40,
        (1 << 40) + 1,
        (1 << 40) - 5,
        (1 << 40) - (1 << 31),
        1 << 33,
        7,
        (1 << 33) + 3,
        7,
    ];
    for (i, time) in (0..).zip(times) {
        wheel.push(Scheduled::new(0, key(time, 0, i), i));
        assert!(wheel.peek_before(Time::NEVER).is_some(), "its bucket is open");
    }
    let mut sorted: Vec<_> = (0..).zip(times).map(|(i, time)| (time, i)).collect();
    sorted.sort_unstable();
    assert_eq!(drain(&mut wheel), sorted);
}

/// Buckets of all sizes, with events of one time and without.
#[test]
fn buckets_of_any_size_come_out_in_order() {
    let mut random = Stream::new(5, 0, Purpose::Host);
    for count in 1..50 {
        for times in [1, 4, 1000] {
            let mut wheel = Wheel::new();
            let keys: Vec<Key> = (0..count)
                .map(|i| key(1 << 20 | u64::from(random.below(times)), i, 0))
                .collect();
            let mut expected: Vec<_> = keys.iter().map(|&key| (key.time.0, order(key))).collect();
            expected.sort_unstable();
            keys.iter().for_each(|&key| wheel.push(Scheduled::new(0, key, 0)));
            assert_eq!(drain(&mut wheel), expected);
        }
    }
}

/// Many sources on a large machine, each with one event ahead, exponentially distributed: at first 200 events per
/// bucket, over 10,000 buckets.
#[test]
fn a_dense_queue_takes_little_more_memory_than_its_events() {
    let mut random = Stream::new(1, 0, Purpose::Host);
    let mut later = |now: u64| now + 1 + (-500_000.0 * (1.0 - random.unit()).ln()) as u64;
    let mut wheel = Wheel::new();
    for i in 0..100_000 {
        wheel.push(Scheduled::new(0, key(later(0), i, 0), i));
    }
    for i in 0..1_000_000 {
        let now = wheel.pop().expect("each is followed by another").time.0;
        wheel.push(Scheduled::new(0, key(later(now), i, 1), i));
    }
    let held = wheel.slots.capacity() + wheel.open.capacity() + wheel.overflow.iter().count();
    assert!(held < 5 * wheel.len(), "{held}");
}

fn against_a_heap(seed: u64, spread: u64, buckets: usize) {
    let mut random = Stream::new(seed, 0, Purpose::Host);
    let mut wheel = Wheel::with_buckets(buckets);
    let mut reference = BinaryHeap::new();
    let mut now = 0;
    for i in 0..60_000u32 {
        if random.below(100) < 52 {
            let delay = 1 + (random.unit().powi(4) * spread as f64) as u64;
            wheel.push(Scheduled::new(0, key(now + delay, i % 7, i), i));
            reference.push(Reverse((now + delay, u64::from(i % 7) << 32 | u64::from(i))));
            continue;
        }
        let first = reference.peek().map(|&Reverse((time, _))| time);
        if i % 5 == 0 {
            assert_eq!(wheel.next_time(), first.map(Time));
        }
        // Mostly too early, exactly then, or just late enough.
        let bound = match i % 3 {
            0 => u64::MAX,
            1 => now + u64::from(random.below(3)) * spread / 8,
            _ => first.unwrap_or(0) + u64::from(random.below(2)),
        };
        let expected = first
            .is_some_and(|time| time < bound)
            .then(|| reference.pop())
            .flatten();
        let got = wheel.pop_before(Time(bound)).map(|item| (item.time.0, item.order));
        assert_eq!(got, expected.map(|Reverse(k)| k));
        now = got.map_or(now, |k| k.0);
    }
    let rest: Vec<_> = std::iter::from_fn(|| reference.pop()).map(|Reverse(k)| k).collect();
    assert_eq!(drain(&mut wheel), rest);
    assert!(wheel.is_empty());
}
