//! The scheduler of traffic classes: which class a link serves next.
//!
//! Start-time fair queueing (P. Goyal, H. Vin, H. Cheng, SIGCOMM 1996): each class has a tag, in bytes of the link
//! divided by its share. The class with the smallest tag sends, and its tag advances by `L / share` for a packet of `L`
//! bytes. Classes that are always backlogged get exactly their shares in the long run, and divide unused shares in
//! proportion. After a packet of every class, no two differ by more than the largest packet over the share of each.
//!
//! An idle class saves nothing: its tag is at least the current one, that of the packet sent last. A backlogged class
//! without room downstream may lag by the size of that room, so that it gets its share although credits arrive in
//! batches; any lag beyond that is lost.
//!
//! Classes of higher priority always go first; shares apply among classes of equal priority.

use crate::features::Uses;
use crate::params::{MOST_CLASSES, TrafficClasses};
use crate::router::NO_INPUT;
use odonata_engine::{Mode, Store};

/// Tag units per byte of a class with share 1: the resolution of shares is 1/65,536.
const UNITS: f64 = 65_536.0;
/// Largest lag of a class, in bytes.
const MOST_BEHIND: u64 = 1 << 32;

const MOST: usize = MOST_CLASSES as usize;

/// The scheduler state of one link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Tags {
    /// Tag of each class, relative to the current one.
    ahead: [i64; MOST],
    /// The virtual channel served last of each class, numbered in the class.
    last_vc: [u8; MOST],
    /// The input port served last of each class, see [`input_port`](crate::router::input_port).
    last_input: [u32; MOST],
}

/// The schedulers of all links; empty with one class.
#[derive(Debug)]
pub(crate) struct ClassScheduler {
    classes: u8,
    /// Tag units per byte.
    per_byte: [i64; MOST],
    priority: [i32; MOST],
    tags: Store<Tags>,
}
odonata_engine::journalled!(ClassScheduler { tags });

impl ClassScheduler {
    pub(crate) fn new(classes: &TrafficClasses, links: u32) -> ClassScheduler {
        let n = classes.count();
        let list = classes.list();
        let class = |i: usize| list.get(i).map_or((1.0, 0), |class| (class.share, class.priority));
        ClassScheduler {
            classes: n,
            per_byte: std::array::from_fn(|i| (UNITS / class(i).0).round() as i64),
            priority: std::array::from_fn(|i| class(i).1),
            tags: Store::filled(
                if n > 1 { links as usize } else { 0 },
                Tags {
                    ahead: [0; MOST],
                    last_vc: [0; MOST],
                    last_input: [NO_INPUT; MOST],
                },
            ),
        }
    }

    /// Bytes per link with several classes.
    pub(crate) const BYTES_PER_LINK: usize = size_of::<Tags>();

    #[inline(always)]
    pub(crate) fn count(&self) -> u8 {
        self.classes
    }

    /// Whether there is more than one class.
    #[inline(always)]
    pub(crate) fn is_on<U: Uses>(&self) -> bool {
        U::CONTROL && self.classes > 1
    }

    /// The classes in the order in which they may send on `link`; the first `count` entries are valid.
    pub(crate) fn order(&self, link: u32) -> [u8; MOST] {
        let mut order: [u8; MOST] = std::array::from_fn(|class| class as u8);
        if self.classes < 2 {
            return order;
        }
        let turn = self.tags.get(link);
        let key = |&class: &u8| {
            let class = usize::from(class);
            (std::cmp::Reverse(self.priority[class]), turn.ahead[class], class)
        };
        order[..usize::from(self.classes)].sort_unstable_by_key(key);
        order
    }

    /// The virtual channel of `class` served last on `link`, numbered in the class.
    pub(crate) fn last_vc(&self, link: u32, class: u8) -> u8 {
        self.tags.get(link).last_vc[usize::from(class)]
    }

    /// The input port of the packet of `class` sent last on `link`.
    pub(crate) fn last_input(&self, link: u32, class: u8) -> u32 {
        self.tags.get(link).last_input[usize::from(class)]
    }

    /// `class` sends a packet of `bytes` from input port `input` on `link`, on its channel `vc`, while the classes of
    /// the set `blocked` wait for room of at most `room` bytes.
    pub(crate) fn sent<M: Mode>(
        &mut self,
        link: u32,
        (class, vc, input): (u8, u8, u32),
        bytes: u32,
        blocked: u8,
        room: u64,
    ) {
        let turn = self.tags.edit::<M>(link);
        let sender = usize::from(class);
        let current = turn.ahead[sender].max(0);
        let room = room.min(MOST_BEHIND) as i64;
        for other in 0..usize::from(self.classes) {
            if self.priority[other] != self.priority[sender] {
                continue;
            }
            let least = match blocked >> other & 1 {
                1 => -room.saturating_mul(self.per_byte[other]),
                _ => 0,
            };
            // The sender's own lag is not cut: it is about to make it up.
            let least = if other == sender { i64::MIN } else { least };
            turn.ahead[other] = (turn.ahead[other] - current).max(least);
        }
        // An empty packet uses a turn as well.
        turn.ahead[sender] += i64::from(bytes.max(1)) * self.per_byte[sender];
        turn.last_vc[sender] = vc;
        turn.last_input[sender] = input;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::TrafficClass;
    use odonata_engine::Plain;

    fn shares(classes: &[(f64, i32)]) -> ClassScheduler {
        let list = classes.iter().map(|&(share, priority)| TrafficClass {
            name: String::new(),
            share,
            priority,
        });
        ClassScheduler::new(&TrafficClasses::new(list.collect(), Vec::new()).unwrap(), 1)
    }

    /// Sends packets of each class's size until `total` bytes are sent; only classes of `active` are backlogged.
    fn play(shares: &mut ClassScheduler, sizes: &[u32], active: u8, total: u64) -> Vec<u64> {
        let mut bytes = vec![0; sizes.len()];
        while bytes.iter().sum::<u64>() < total {
            let order = shares.order(0);
            let class = *order.iter().find(|&&class| active >> class & 1 == 1).unwrap();
            let size = sizes[usize::from(class)];
            shares.sent::<Plain>(0, (class, 0, 0), size, 0, 0);
            bytes[usize::from(class)] += u64::from(size);
        }
        bytes
    }

    /// |sent[i] / share[i] - sent[j] / share[j]| <= L[i] / share[i] + L[j] / share[j], for all sizes.
    #[test]
    fn backlogged_classes_never_differ_by_more_than_a_packet_of_each() {
        let weights = [0.5, 0.3, 0.2];
        let sizes = [64, 4096, 700];
        let mut all = shares(&weights.map(|share| (share, 0)));
        let bytes = play(&mut all, &sizes, 0b111, 50_000_000);
        let scaled: Vec<f64> = (0..3).map(|i| bytes[i] as f64 / weights[i]).collect();
        for i in 0..3 {
            for j in 0..i {
                let bound = f64::from(sizes[i]) / weights[i] + f64::from(sizes[j]) / weights[j];
                // Shares have a resolution of 2^-16.
                let bound = bound + scaled[i] / UNITS;
                assert!((scaled[i] - scaled[j]).abs() <= bound, "{bytes:?}");
            }
        }
    }

    #[test]
    fn an_idle_class_saves_no_share() {
        let mut two = shares(&[(0.5, 0), (0.5, 0)]);
        play(&mut two, &[100, 100], 0b01, 100_000);
        let bytes = play(&mut two, &[100, 100], 0b11, 10_000);
        assert!(bytes[0].abs_diff(bytes[1]) <= 200, "{bytes:?}");
    }

    #[test]
    fn a_class_without_room_lags_by_at_most_that_room() {
        let mut two = shares(&[(0.5, 0), (0.5, 0)]);
        for _ in 0..100 {
            two.sent::<Plain>(0, (0, 0, 0), 100, 0b10, 1000);
        }
        let first: Vec<u8> = (0..20)
            .map(|_| {
                let class = two.order(0)[0];
                two.sent::<Plain>(0, (class, 0, 0), 100, 0, 0);
                class
            })
            .collect();
        let made_up = first.iter().take_while(|&&class| class == 1).count();
        assert!((10..=12).contains(&made_up), "{first:?}");
    }

    #[test]
    fn higher_priorities_go_first_and_shares_count_within() {
        let mut all = shares(&[(0.2, 0), (0.4, 1), (0.2, 1)]);
        let bytes = play(&mut all, &[100; 3], 0b111, 30_000);
        assert_eq!((bytes[0], bytes[1]), (0, 20_000), "{bytes:?}");
        let bytes = play(&mut all, &[100; 3], 0b001, 1_000);
        assert_eq!(bytes[0], 1_000);
    }
}
