//! A radix heap of events (R. K. Ahuja, K. Mehlhorn, J. Orlin, R. E. Tarjan, "Faster algorithms for the shortest path
//! problem", J. ACM 37, 1990): a priority queue whose keys never fall below the last one taken.
//!
//! Bucket i has the events whose times differ from the present in bit i - 1, but not in a higher bit. When the present
//! moves to the earliest time of a bucket, its events move to lower buckets, one after the other in memory. Events of
//! the present are ordered by number.

use odonata_units::Time;
use std::collections::VecDeque;

/// What is ordered by time, then by number.
pub(crate) trait Timed {
    fn time(&self) -> Time;
    fn number(&self) -> u64;
}

/// Events, the earliest first, and of one time the one with the lowest number.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    present: Time,
    /// The events of the present, by number.
    current: VecDeque<E>,
    buckets: [Vec<E>; 65],
}

impl<E: Timed> Queue<E> {
    pub(crate) fn new() -> Queue<E> {
        Queue {
            present: Time::ZERO,
            current: VecDeque::new(),
            buckets: std::array::from_fn(|_| Vec::new()),
        }
    }

    fn bucket(&self, time: Time) -> usize {
        (u64::BITS - (time.0 ^ self.present.0).leading_zeros()) as usize
    }

    /// Adds `event`, which is not before the last one taken.
    pub(crate) fn push(&mut self, event: E) {
        debug_assert!(event.time() >= self.present, "time moves forward");
        match self.bucket(event.time()) {
            0 if self.current.back().is_none_or(|last| last.number() < event.number()) => self.current.push_back(event),
            0 => {
                let place = self.current.partition_point(|other| other.number() < event.number());
                self.current.insert(place, event);
            }
            bucket => self.buckets[bucket].push(event),
        }
    }

    /// Takes the next event.
    pub(crate) fn pop(&mut self) -> Option<E> {
        if self.current.is_empty() {
            let bucket = self.buckets.iter().position(|bucket| !bucket.is_empty())?;
            let events = std::mem::take(&mut self.buckets[bucket]);
            self.present = events.iter().map(Timed::time).min()?;
            for event in events {
                match self.bucket(event.time()) {
                    0 => self.current.push_back(event),
                    lower => self.buckets[lower].push(event),
                }
            }
            self.current.make_contiguous().sort_unstable_by_key(Timed::number);
        }
        self.current.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    impl Timed for (Time, u64) {
        fn time(&self) -> Time {
            self.0
        }

        fn number(&self) -> u64 {
            self.1
        }
    }

    #[test]
    fn events_come_in_the_order_of_a_binary_heap() {
        // A linear congruential generator (Knuth, MMIX).
        let mut state = 1_u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let (mut queue, mut heap) = (Queue::new(), BinaryHeap::new());
        let mut present = Time::ZERO;
        for round in 0..50_000_u64 {
            // Numbers are not in the order of insertion; half of the delays are short, so that times coincide.
            let delay = if random() % 2 == 0 {
                random() % 4
            } else {
                random() % 1_000_000
            };
            let event = (present + Time(delay), (random() % 1_000) * 100_000 + round);
            queue.push(event);
            heap.push(Reverse(event));
            for _ in 0..random() % 3 {
                let next = queue.pop();
                assert_eq!(next, heap.pop().map(|Reverse(event)| event));
                present = next.map_or(present, |event| event.0);
            }
        }
        while let Some(Reverse(event)) = heap.pop() {
            assert_eq!(queue.pop(), Some(event));
        }
        assert_eq!(queue.pop(), None);
    }
}
