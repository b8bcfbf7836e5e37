//! Decayed use of nodes by each user, for the fair share.
//!
//! Past use loses half in a half-life, linearly within one.

use crate::job::{Micros, SECOND};

/// The use of every user.
pub(crate) struct Usage {
    half_life: Micros,
    /// Decayed node-seconds, and nodes in use now.
    used: Vec<f64>,
    nodes: Vec<u32>,
    since: Micros,
}

impl Usage {
    /// No use by `users` users; without a half-life (0) past use counts in full.
    pub(crate) fn new(users: usize, half_life: Micros) -> Usage {
        Usage {
            half_life,
            used: vec![0.0; users],
            nodes: vec![0; users],
            since: 0,
        }
    }

    /// Node-seconds of a user up to the last count.
    pub(crate) fn of(&self, user: u32) -> f64 {
        self.used[user as usize]
    }

    /// A user takes nodes.
    pub(crate) fn take(&mut self, user: u32, nodes: u32) {
        self.nodes[user as usize] += nodes;
    }

    /// A user gives nodes back.
    pub(crate) fn give_back(&mut self, user: u32, nodes: u32) {
        self.nodes[user as usize] -= nodes;
    }

    /// Counts the use since the last call.
    pub(crate) fn count(&mut self, now: Micros) {
        let time = now - self.since;
        if time == 0 {
            return;
        }
        self.since = now;
        let factor = match self.half_life {
            0 => 1.0,
            half_life => {
                let (halvings, rest) = (time / half_life, time % half_life);
                let whole = (0..halvings.min(64)).fold(1.0, |factor, _| factor * 0.5);
                whole * (1.0 - 0.5 * rest as f64 / half_life as f64)
            }
        };
        for (used, &nodes) in self.used.iter_mut().zip(&self.nodes) {
            *used = *used * factor + f64::from(nodes) * time as f64 / SECOND;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 nodes for 10 s are 20 node-seconds; a half-life of 10 s later 10, half of one later again 7.5.
    #[test]
    fn past_use_decays() {
        let mut usage = Usage::new(1, 10_000_000);
        usage.take(0, 2);
        usage.count(10_000_000);
        usage.give_back(0, 2);
        assert_eq!(usage.of(0), 20.0);
        usage.count(20_000_000);
        assert_eq!(usage.of(0), 10.0);
        usage.count(25_000_000);
        assert_eq!(usage.of(0), 7.5);
    }
}
