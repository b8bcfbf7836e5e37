//! Lost time at the links of I/O nodes to an external file system.
//!
//! A link carries one block at a time, so its schedule is known when a block arrives. A block depends on the previous
//! one of its own job, and waits for blocks of other jobs scheduled after that one:
//!
//! ```text
//!  link     | job A | job B | A |     a block of A that arrives now: A owns the link up to the end of its second block; no loss
//!           ^ now                     a block of B: loses the second A, scheduled after the block of B that it needs
//! ```

use super::{Dependent, StampTable};
use crate::io::facts::OutsideBlock;
use odonata_blame::lost::{Kind, Loss, LostAt, add, bound_places};
use odonata_engine::{GrowableStore, List, Mode, NIL, Pool, Time};

/// The end of consecutive blocks of `owner` on a link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Booked {
    until: Time,
    owner: u16,
    next: u32,
}

odonata_engine::slots!(Booked);

/// The schedule of each link: by server of the part and direction.
#[derive(Debug, Default)]
pub(super) struct OutsideLinks {
    links: GrowableStore<List>,
    booked: Pool<Booked>,
}
odonata_engine::journalled!(OutsideLinks { links, booked });

impl OutsideLinks {
    /// Removes the blocks on `link` that ended before `now`.
    fn prune<M: Mode>(&mut self, link: usize, now: Time) {
        let mut list = self.links.get(link);
        while list.head != NIL && self.booked.get(list.head).until <= now {
            if let Some(slot) = list.pop(&self.booked) {
                self.booked.free::<M>(slot);
            }
        }
        if list.head == NIL {
            list = List::EMPTY;
        }
        if list != self.links.get(link) {
            *self.links.edit::<M>(link) = list;
        }
    }

    fn book<M: Mode>(&mut self, link: usize, owner: u16, until: Time) {
        let mut list = self.links.get(link);
        if list.tail != NIL && self.booked.get(list.tail).owner == owner {
            self.booked.edit::<M>(list.tail).until = until;
            return;
        }
        let slot = self.booked.allocate::<M>(Booked {
            until,
            owner,
            next: NIL,
        });
        list.push::<M, _>(&mut self.booked, slot);
        *self.links.edit::<M>(link) = list;
    }

    /// The current stamp crosses the link as `block` at `place`, and is valid at the end of the transfer.
    pub(super) fn crosses<M: Mode>(&mut self, stamps: &mut StampTable, block: OutsideBlock, place: LostAt) {
        let OutsideBlock {
            link: (local, out),
            owner,
            ready,
            begin,
            end,
        } = block;
        let link = 2 * local + u32::from(out);
        self.prune::<M>(link as usize, ready);
        let mut stamp = std::mem::take(&mut stamps.current).later(ready);
        stamp.belongs_to(owner);
        if let Some(own) = stamps.stamp(Dependent::OutsideBlock(link, owner)) {
            stamp.join(&own);
        }
        let list = self.links.get(link as usize);
        let mut from = stamp.at;
        for slot in list.iter(&self.booked) {
            let Booked {
                until, owner: culprit, ..
            } = *self.booked.get(slot);
            if until > from {
                let loss = Loss {
                    culprit: 2 * culprit + 1,
                    kind: Kind::Link,
                    place,
                    time: until - from,
                };
                add(&mut stamp.losses, loss);
                from = until;
            }
        }
        debug_assert_eq!(from, begin.max(stamp.at), "a link is busy without a gap");
        bound_places(&mut stamp.losses);
        stamp.at = from;
        stamps.current = stamp.later(end);
        stamps.note::<M>(Dependent::OutsideBlock(link, owner));
        self.book::<M>(link as usize, owner, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_blame::lost::{Stamp, total};
    use odonata_engine::random::Purpose;
    use odonata_engine::{Plain, Stream};

    const LINK: (u32, bool) = (0, true);

    /// The stamps of blocks (owner, arrival, duration) at the end of their transfers.
    fn cross(blocks: &[(u16, u64, u64)]) -> Vec<Stamp> {
        let (mut stamps, mut links) = (StampTable::new(1), OutsideLinks::default());
        let mut free = Time::ZERO;
        let mut over = Vec::new();
        for &(owner, ready, takes) in blocks {
            let ready = Time(ready);
            stamps.current = Stamp::start(ready);
            let begin = free.max(ready);
            free = begin + Time(takes);
            let block = OutsideBlock {
                link: LINK,
                owner,
                ready,
                begin,
                end: free,
            };
            links.crosses::<Plain>(&mut stamps, block, LostAt::NOWHERE);
            assert_eq!(stamps.current.at, free);
            stamps.current.audit().unwrap();
            over.push(stamps.current.clone());
        }
        over
    }

    #[test]
    fn a_block_waits_for_blocks_of_other_jobs_after_the_last_of_its_own() {
        let blocks = [(0, 10, 100), (1, 20, 50), (0, 30, 40), (1, 35, 10)];
        let losses: Vec<Vec<(u16, u64)>> = cross(&blocks)
            .iter()
            .map(|stamp| stamp.losses.iter().map(|loss| (loss.culprit, loss.time.0)).collect())
            .collect();
        // The third block begins at 160 instead of 110; the fourth ends at 210 instead of 80.
        assert_eq!(losses, [vec![], vec![(1, 90)], vec![(3, 50)], vec![(1, 130)]]);
    }

    /// For any order of arrivals, the undisturbed time of each block is its end on a link without other jobs, and the
    /// rest is lost to them.
    #[test]
    fn undisturbed_ends_of_blocks_equal_their_ends_on_a_link_without_other_jobs() {
        let mut random = Stream::new(1, 0, Purpose::Host);
        for _ in 0..200 {
            let mut at = 0;
            let blocks: Vec<(u16, u64, u64)> = (0..30)
                .map(|_| {
                    at += u64::from(random.below(120));
                    (random.below(3) as u16, at, 1 + u64::from(random.below(100)))
                })
                .collect();
            let together = cross(&blocks);
            for job in 0..3 {
                let of_job = |block: &&(u16, u64, u64)| block.0 == job;
                let mine: Vec<(u16, u64, u64)> = blocks.iter().filter(of_job).copied().collect();
                let alone = cross(&mine);
                let stamps = together.iter().zip(&blocks).filter(|(_, block)| block.0 == job);
                for ((stamp, _), alone) in stamps.zip(&alone) {
                    assert_eq!(alone.losses, []);
                    assert_eq!(stamp.undisturbed, alone.at, "{blocks:?}");
                    assert_eq!(total(&stamp.losses), stamp.at - alone.at);
                    assert!(stamp.losses.iter().all(|loss| loss.culprit != 2 * job + 1));
                }
            }
        }
    }
}
