//! Credits of single flits in flight: many on a long link, with non-decreasing due times.
//!
//! Each link has a queue of bundles. A bundle fills a cache line, so that a credit costs a fraction of a line.

use crate::Traffic;
use odonata_engine::{Mode, NIL, Pool, Slot, Store, Time};

const MOST: usize = 5;

/// Consecutive credits of a link; one cache line.
#[repr(align(64))]
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Bundle {
    due: [Time; MOST],
    vc: [u8; MOST],
    /// The owners of the flits that freed the space.
    owner: [Traffic; MOST],
    /// The first credit that is not counted.
    from: u8,
    next: u32,
}

impl Slot for Bundle {
    #[inline]
    fn next(&self) -> u32 {
        self.next
    }
    #[inline]
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// The credits of a link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Queue {
    /// Due time of the first credit; [`Time::NEVER`] without credits.
    first: Time,
    /// That of the last credit; without credits, any.
    last: Time,
    head: u32,
    tail: u32,
    /// Free places in the last bundle.
    room: u8,
    /// Whether its sender gets an event for each credit.
    is_awaited: bool,
}

impl Queue {
    /// Number of credits that bundle `slot`, one of this queue, has held.
    #[inline(always)]
    fn end_of(&self, slot: u32) -> usize {
        match slot == self.tail {
            true => MOST - usize::from(self.room).min(MOST),
            false => MOST,
        }
    }
}

/// The credits of all links.
#[derive(Debug)]
pub(crate) struct FlitCredits {
    queues: Store<Queue>,
    bundles: Pool<Bundle>,
}
odonata_engine::journalled!(FlitCredits { queues, bundles });

impl FlitCredits {
    /// The queues of `links` links; 0 if they carry none.
    pub(crate) fn new(links: usize) -> FlitCredits {
        let empty = Queue {
            first: Time::NEVER,
            last: Time::ZERO,
            head: NIL,
            tail: NIL,
            room: 0,
            is_awaited: false,
        };
        FlitCredits {
            queues: Store::filled(links, empty),
            bundles: Pool::new(),
        }
    }

    /// Bytes per link without credits in flight.
    pub(crate) const IDLE_LINK: usize = size_of::<Queue>();
    /// Bytes per credit in flight.
    pub(crate) const CREDIT: usize = size_of::<Bundle>() / MOST;

    #[inline(always)]
    pub(crate) fn are_used(&self) -> bool {
        !self.queues.is_empty()
    }

    /// Due time of the first credit of `link`; [`Time::NEVER`] if none is in flight.
    #[inline(always)]
    pub(crate) fn next_due<M: Mode>(&self, link: u32) -> Time {
        self.queues.trusted::<M>(link).first
    }

    /// Whether the sender of `link` gets an event for each credit.
    #[inline(always)]
    pub(crate) fn are_awaited<M: Mode>(&self, link: u32) -> bool {
        self.queues.trusted::<M>(link).is_awaited
    }

    pub(crate) fn set_awaited<M: Mode>(&mut self, link: u32, is_awaited: bool) {
        self.queues.edit_trusted::<M>(link).is_awaited = is_awaited;
    }

    /// Fetches the queues of `links` links from `first` on into the cache.
    #[inline(always)]
    pub(crate) fn prefetch(&self, first: u32, links: u32) {
        self.queues.prefetch_span(first, links);
    }

    /// Fetches the last bundle of `link` into the cache.
    #[inline(always)]
    pub(crate) fn prefetch_last<M: Mode>(&self, link: u32) {
        self.bundles.prefetch(self.queues.trusted::<M>(link).tail);
    }

    /// Fetches the first bundle of `link` into the cache if its first credit is due by `due`.
    #[inline(always)]
    pub(crate) fn prefetch_first<M: Mode>(&self, link: u32, due: Time) {
        let queue = self.queues.trusted::<M>(link);
        if queue.first <= due {
            self.bundles.prefetch(queue.head);
        }
    }

    /// The space of a flit of `owner` in virtual channel `vc` of `link` becomes free at `due`.
    #[inline(always)]
    pub(crate) fn put<M: Mode>(&mut self, link: u32, (vc, owner): (u8, Traffic), due: Time) {
        let queue = self.queues.trusted::<M>(link);
        if queue.room == 0 || queue.last > due {
            return self.put_out_of_line::<M>(link, (vc, owner), due);
        }
        let queue = self.queues.edit_trusted::<M>(link);
        let place = MOST - usize::from(queue.room).min(MOST);
        queue.room -= 1;
        queue.last = due;
        let last = self.bundles.edit_trusted::<M>(queue.tail);
        (last.due[place], last.vc[place], last.owner[place]) = (due, vc, owner);
    }

    /// Adds a credit that does not fit at the end of the last bundle, out of order or because the bundle is full.
    #[inline(never)]
    fn put_out_of_line<M: Mode>(&mut self, link: u32, (vc, owner): (u8, Traffic), due: Time) {
        let queue = *self.queues.get(link);
        if queue.head != NIL && queue.last > due {
            self.put_before::<M>(link, (vc, owner), due);
            return;
        }
        let mut bundle = Bundle {
            due: [Time::NEVER; MOST],
            vc: [0; MOST],
            owner: [0; MOST],
            from: 0,
            next: NIL,
        };
        (bundle.due[0], bundle.vc[0], bundle.owner[0]) = (due, vc, owner);
        let slot = self.bundles.allocate::<M>(bundle);
        if queue.tail != NIL {
            self.bundles.edit::<M>(queue.tail).next = slot;
        }
        let queue = self.queues.edit::<M>(link);
        (queue.last, queue.tail, queue.room) = (due, slot, MOST as u8 - 1);
        if queue.head == NIL {
            (queue.head, queue.first) = (slot, due);
        }
    }

    /// Inserts a credit that is due before queued ones: those move up by one.
    #[cold]
    fn put_before<M: Mode>(&mut self, link: u32, (vc, owner): (u8, Traffic), due: Time) {
        let (mut due, mut vc, mut owner) = (due, vc, owner);
        let queue = *self.queues.get(link);
        let mut at = queue.head;
        while at != NIL {
            let to = queue.end_of(at);
            let bundle = self.bundles.edit::<M>(at);
            for i in usize::from(bundle.from)..to {
                if bundle.due[i] > due {
                    std::mem::swap(&mut bundle.due[i], &mut due);
                    std::mem::swap(&mut bundle.vc[i], &mut vc);
                    std::mem::swap(&mut bundle.owner[i], &mut owner);
                }
            }
            at = bundle.next;
        }
        let head = self.bundles.get(queue.head);
        let first = head.due[usize::from(head.from)];
        self.queues.edit::<M>(link).first = first;
        self.put::<M>(link, (vc, owner), due);
    }

    /// Removes the credits of `link` due at `now`, and calls `count` with the virtual channel, owner and due time of
    /// each.
    #[inline]
    pub(crate) fn take_due<M: Mode>(&mut self, link: u32, now: Time, mut count: impl FnMut(u8, Traffic, Time)) {
        let mut queue = *self.queues.trusted::<M>(link);
        while queue.first <= now && queue.head != NIL {
            let slot = queue.head;
            let to = queue.end_of(slot);
            let bundle = self.bundles.edit_trusted::<M>(slot);
            let mut from = usize::from(bundle.from);
            while from < to && bundle.due[from] <= now {
                count(bundle.vc[from], bundle.owner[from], bundle.due[from]);
                from += 1;
            }
            bundle.from = from as u8;
            if from < to {
                queue.first = bundle.due[from];
                break;
            }
            queue.head = bundle.next;
            self.bundles.free::<M>(slot);
            queue.first = match queue.head {
                NIL => {
                    (queue.tail, queue.room) = (NIL, 0);
                    Time::NEVER
                }
                head => self.bundles.trusted::<M>(head).due[0],
            };
        }
        *self.queues.edit_trusted::<M>(link) = queue;
    }

    /// Calls `see` with the virtual channel and the due time of each credit of `link`.
    pub(crate) fn each(&self, link: u32, mut see: impl FnMut(u8, Time)) {
        let queue = self.queues.get(link);
        let mut at = queue.head;
        while at != NIL {
            let bundle = self.bundles.get(at);
            for i in usize::from(bundle.from)..queue.end_of(at) {
                see(bundle.vc[i], bundle.due[i]);
            }
            at = bundle.next;
        }
    }

    /// Number of credits of `link` that are due at `now` and still queued.
    pub(crate) fn due(&self, link: u32, now: Time) -> u32 {
        let queue = self.queues.get(link);
        let mut at = queue.head;
        let mut count = 0;
        while at != NIL {
            let bundle = self.bundles.get(at);
            let due = &bundle.due[usize::from(bundle.from)..queue.end_of(at)];
            let some = due.iter().take_while(|&&due| due <= now).count();
            count += some as u32;
            if some < due.len() {
                break;
            }
            at = bundle.next;
        }
        count
    }

    /// Due time of the first credit of `link` after `now`.
    pub(crate) fn earliest(&self, link: u32, now: Time) -> Option<Time> {
        let queue = self.queues.get(link);
        let mut at = queue.head;
        while at != NIL {
            let bundle = self.bundles.get(at);
            let due = &bundle.due[usize::from(bundle.from)..queue.end_of(at)];
            if let Some(&due) = due.iter().find(|&&due| due > now) {
                return Some(due);
            }
            at = bundle.next;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    /// Compares with a sorted list: credits added in any order come out by due time, each once.
    #[test]
    fn credits_come_out_in_the_order_of_their_times() {
        let mut state = 3u64;
        let mut draw = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % n
        };
        for disorder in [1, 4, 30] {
            let mut credits = FlitCredits::new(2);
            let mut waiting: Vec<(u64, u8)> = Vec::new();
            let owner_of = |due: u64, vc: u8| (7 * due + u64::from(vc)) as Traffic;
            for now in 0..2_000 {
                for _ in 0..draw(3) {
                    let (due, vc) = (now + 20 + draw(disorder), draw(4) as u8);
                    credits.put::<Plain>(1, (vc, owner_of(due, vc)), Time(due));
                    waiting.push((due, vc));
                }
                let next = waiting.iter().map(|&(due, _)| due).min();
                assert_eq!(credits.next_due::<Plain>(1), next.map_or(Time::NEVER, Time));
                let later = waiting.iter().filter(|w| w.0 > now).map(|&(due, _)| Time(due)).min();
                assert_eq!(credits.earliest(1, Time(now)), later);
                let count = waiting.iter().filter(|w| w.0 <= now).count();
                assert_eq!(credits.due(1, Time(now)), count as u32);
                if draw(4) == 0 {
                    let mut counts = [0i32; 4];
                    credits.take_due::<Plain>(1, Time(now), |vc, owner, due| {
                        assert_eq!(owner, owner_of(due.0, vc));
                        counts[usize::from(vc)] += 1;
                    });
                    waiting.retain(|&(due, vc)| {
                        counts[usize::from(vc)] -= i32::from(due <= now);
                        due > now
                    });
                    assert_eq!(counts, [0; 4]);
                }
            }
            assert_eq!(credits.next_due::<Plain>(0), Time::NEVER);
        }
    }
}
