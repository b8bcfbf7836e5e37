//! Saturation: how long the buffers behind each router port are exhausted, the "time that the buffers stay full for that
//! particular link" of M. Mubarak et al. (IEEE TPDS 28(1), 2017). The model states when they are (`flow/exhaustion.rs`).
//!
//! With pipelined routers, the time counts up to the last flit that the link sends. It depends only on flits and credits,
//! not on how often cycles are evaluated.

use super::facts::Observer;
use crate::features::Uses;
use odonata_engine::{Store, Time};

/// The exhaustion of a link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Exhausted {
    /// Since when the link is exhausted; with pipelined routers, that or the time of its last flit.
    since: Time,
    /// Total exhausted time before `since`.
    total: Time,
    /// Pipelined routers: exhausted time since the last flit, before `since`.
    pending: Time,
}

/// The exhausted times of router ports.
#[derive(Debug)]
pub(crate) struct Saturation {
    links: Store<Exhausted>,
    /// Whether time counts up to the last flit of a link.
    up_to_last_flit: bool,
}
odonata_engine::journalled!(Saturation { links });

impl Saturation {
    /// Of `ports` router ports, of pipelined routers or others.
    pub(crate) fn new(ports: u32, is_pipelined: bool) -> Saturation {
        let none = Exhausted {
            since: Time::ZERO,
            total: Time::ZERO,
            pending: Time::ZERO,
        };
        Saturation {
            links: Store::filled(ports as usize, none),
            up_to_last_flit: is_pipelined,
        }
    }

    pub(crate) const BYTES_PER_PORT: usize = size_of::<Exhausted>();

    /// Total exhausted time of router port `link`.
    pub(crate) fn of_link(&self, link: u32) -> Time {
        self.links.get(link).total
    }
}

impl Observer for Saturation {
    #[inline]
    fn link_is_exhausted<M: Uses>(&mut self, link: u32, now: Time) {
        self.links.edit_trusted::<M>(link).since = now;
    }

    #[inline]
    fn link_has_room<M: Uses>(&mut self, link: u32, since: Time) {
        let cell = self.links.edit_trusted::<M>(link);
        let time = since.saturating_sub(cell.since);
        match self.up_to_last_flit {
            true => cell.pending += time,
            false => cell.total += time,
        }
    }

    #[inline]
    fn short_link_sends<M: Uses>(&mut self, link: u32, is_exhausted: bool, now: Time) {
        let cell = self.links.edit_trusted::<M>(link);
        let since_then = match is_exhausted {
            true => now.saturating_sub(cell.since),
            false => Time::ZERO,
        };
        cell.total += std::mem::take(&mut cell.pending) + since_then;
        cell.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    #[test]
    fn time_counts_between_exhaustion_and_room() {
        let mut saturation = Saturation::new(2, false);
        for (from, to) in [(10, 25), (40, 47)] {
            saturation.link_is_exhausted::<Plain>(1, Time(from));
            saturation.link_has_room::<Plain>(1, Time(to));
        }
        assert_eq!([0, 1].map(|link| saturation.of_link(link)), [0, 22].map(Time));
    }

    /// Exhausted from the flit at 10 to 25, again from the flit at 40, which is not counted before the next flit.
    #[test]
    fn of_pipelined_routers_time_counts_up_to_the_last_flit() {
        let mut saturation = Saturation::new(1, true);
        saturation.short_link_sends::<Plain>(0, false, Time(10));
        saturation.link_has_room::<Plain>(0, Time(25));
        assert_eq!(saturation.of_link(0), Time::ZERO);
        saturation.short_link_sends::<Plain>(0, false, Time(40));
        assert_eq!(saturation.of_link(0), Time(15));
        saturation.short_link_sends::<Plain>(0, true, Time(46));
        assert_eq!(saturation.of_link(0), Time(21));
    }
}
