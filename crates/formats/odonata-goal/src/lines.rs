//! Items of a host that wait for the same CPU and NIC.
//!
//! All items of a line can begin at the same moments, so only the first of them has an event: a host with n waiting
//! items costs O(log n) per item, not an event per item and moment. The first is the item with the lowest number, as
//! if each item asked again whenever its resources were to be free.

use odonata_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A task, or the message of a send, as (number, rank, task); numbers follow the order in which items began to wait.
pub(crate) type Item = (u64, u32, u32);

/// What the items of a line do, and with which CPU and NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Needs {
    pub(crate) kind: ItemKind,
    pub(crate) cpu: u8,
    pub(crate) nic: u8,
}

/// Which resources an item needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ItemKind {
    /// A CPU.
    Calc,
    /// A CPU, and a NIC that may send.
    Send,
    /// A CPU, and a NIC that may receive.
    Message,
}

#[derive(Debug, Default)]
struct Line {
    items: BinaryHeap<Reverse<Item>>,
    /// Time and number of the one event that counts.
    event: (Time, u64),
}

/// The lines of one host.
#[derive(Debug, Default)]
pub(crate) struct Lines(Vec<(Needs, Line)>);

impl Lines {
    fn place(&self, needs: Needs) -> Result<usize, usize> {
        self.0.binary_search_by_key(&needs, |&(key, _)| key)
    }

    /// `item` has to wait until `free` or longer; true if it needs an event at that time.
    pub(crate) fn join(&mut self, needs: Needs, item: Item, free: Time) -> bool {
        let place = self.place(needs).unwrap_or_else(|place| {
            self.0.insert(place, (needs, Line::default()));
            place
        });
        let line = &mut self.0[place].1;
        let is_first = line.items.peek().is_none_or(|&Reverse((number, ..))| item.0 < number);
        line.items.push(Reverse(item));
        if is_first {
            line.event = (free, item.0);
        }
        is_first
    }

    /// Whether the event of item `number` at `now` counts: that of an item that is no longer the first does not.
    pub(crate) fn is_due(&self, needs: Needs, number: u64, now: Time) -> bool {
        self.place(needs)
            .is_ok_and(|place| self.0[place].1.event == (now, number) && !self.0[place].1.items.is_empty())
    }

    /// The resources are busy until `free`: the event of the first item moves there.
    pub(crate) fn postpone(&mut self, needs: Needs, free: Time) {
        if let Ok(place) = self.place(needs) {
            self.0[place].1.event.0 = free;
        }
    }

    /// The first item begins, after which the resources are busy until `free`; returns the next one, which needs an
    /// event at that time.
    pub(crate) fn begin(&mut self, needs: Needs, free: Time) -> Option<Item> {
        let place = self.place(needs).ok()?;
        let line = &mut self.0[place].1;
        line.items.pop();
        let &Reverse(next) = line.items.peek()?;
        line.event = (free, next.0);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEEDS: Needs = Needs {
        kind: ItemKind::Calc,
        cpu: 0,
        nic: 0,
    };

    #[test]
    fn the_lowest_number_is_served_first_and_an_older_event_no_longer_counts() {
        let mut lines = Lines::default();
        assert!(lines.join(NEEDS, (5, 0, 0), Time(10)));
        assert!(!lines.join(NEEDS, (7, 0, 1), Time(10)));
        assert!(lines.join(NEEDS, (3, 0, 2), Time(10)));
        assert!(!lines.is_due(NEEDS, 5, Time(10)));
        assert!(lines.is_due(NEEDS, 3, Time(10)));
        lines.postpone(NEEDS, Time(20));
        assert!(!lines.is_due(NEEDS, 3, Time(10)) && lines.is_due(NEEDS, 3, Time(20)));
        assert_eq!(lines.begin(NEEDS, Time(30)), Some((5, 0, 0)));
        assert_eq!(lines.begin(NEEDS, Time(40)), Some((7, 0, 1)));
        assert_eq!(lines.begin(NEEDS, Time(50)), None);
        assert!(!lines.is_due(NEEDS, 7, Time(40)));
    }

    #[test]
    fn lines_of_other_resources_are_apart() {
        let mut lines = Lines::default();
        for (kind, cpu, nic) in [
            (ItemKind::Send, 0, 0),
            (ItemKind::Send, 0, 1),
            (ItemKind::Message, 0, 0),
        ] {
            assert!(lines.join(Needs { kind, cpu, nic }, (9, 0, 0), Time(1)));
        }
        assert!(!lines.is_due(NEEDS, 9, Time(1)));
    }
}
