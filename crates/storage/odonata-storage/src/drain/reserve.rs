//! The reserve of a server towards the lower tier: blocks beside the memory pool for data that leave or are copied to a device.
//!
//! A block is *fetched* by a device and then *sent* to the lower tier, or it comes from there and is *filled* into a device. At most
//! [`blocks_in_flight`](crate::settings::Policy::blocks_in_flight) blocks of a server are taken.

use odonata_engine::{Mode, Store, journalled};

use crate::ServerParams;

/// The state of a block of the reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reserved {
    /// A device reads it for the lower tier.
    Fetching,
    /// It is on its way to the lower tier.
    Sending,
    /// A device writes it; it comes from the lower tier.
    Filling,
}

/// The reserve of one server, in blocks.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Reserve {
    fetching: u32,
    sending: u32,
    filling: u32,
    /// The first device to try for the next block, counted within the server.
    turn: u32,
    /// Whether the server may hold data of jobs that have ended.
    has_ended: bool,
    /// Blocks chosen so far to go to the lower tier.
    chosen: u64,
}

impl Reserve {
    fn count(&mut self, state: Reserved) -> &mut u32 {
        match state {
            Reserved::Fetching => &mut self.fetching,
            Reserved::Sending => &mut self.sending,
            Reserved::Filling => &mut self.filling,
        }
    }
}

/// The reserves of a set of servers; empty without lower tiers.
#[derive(Debug)]
pub(crate) struct Reserves {
    blocks: Vec<u32>,
    reserves: Store<Reserve>,
    /// Number of jobs, and whether each has ended, per server; empty where no policy depends on it.
    jobs: usize,
    ended: Store<bool>,
}
journalled!(Reserves { reserves, ended });

impl Reserves {
    /// The free reserves of `servers`.
    pub(crate) fn new(servers: &[ServerParams]) -> Self {
        let leads_down = servers.iter().any(|server| server.next.is_some());
        let blocks = |server: &ServerParams| server.next.map_or(0, |policy| policy.blocks_in_flight);
        Reserves {
            blocks: servers.iter().map(blocks).collect(),
            reserves: Store::filled(if leads_down { servers.len() } else { 0 }, Reserve::default()),
            jobs: 0,
            ended: Store::new(),
        }
    }

    /// Records the ends of `jobs` jobs.
    pub(crate) fn remember_ends(&mut self, jobs: usize) {
        self.jobs = jobs;
        self.ended = Store::filled(self.blocks.len() * jobs, false);
    }

    /// Whether a block of `server` is free.
    pub(crate) fn has_free_block(&self, server: u32) -> bool {
        let Reserve {
            fetching,
            sending,
            filling,
            ..
        } = *self.reserves.get(server);
        fetching + sending + filling < self.blocks[server as usize]
    }

    /// Takes a block of `server`.
    pub(crate) fn take<M: Mode>(&mut self, server: u32, state: Reserved) {
        *self.reserves.edit::<M>(server).count(state) += 1;
    }

    /// Gives a block of `server` back.
    pub(crate) fn give_back<M: Mode>(&mut self, server: u32, state: Reserved) {
        *self.reserves.edit::<M>(server).count(state) -= 1;
    }

    /// Takes a block for data that a device fetches. `turn`: the first device to try afterwards. Returns the number of the block among
    /// those of `server`.
    pub(crate) fn fetch<M: Mode>(&mut self, server: u32, turn: u32) -> u64 {
        let reserve = self.reserves.edit::<M>(server);
        let number = reserve.chosen;
        reserve.chosen += 1;
        reserve.fetching += 1;
        reserve.turn = turn;
        number
    }

    /// The first device of `server` to try for the next block.
    pub(crate) fn turn(&self, server: u32) -> u32 {
        self.reserves.get(server).turn
    }

    /// Blocks of `server` chosen so far to go to the lower tier.
    pub(crate) fn chosen(&self, server: u32) -> u64 {
        self.reserves.get(server).chosen
    }

    /// `server` fails: gives the blocks of its devices back. Blocks on their way to the lower tier arrive.
    pub(crate) fn fail<M: Mode>(&mut self, server: u32) {
        if self.reserves.len() > server as usize {
            let reserve = self.reserves.edit::<M>(server);
            (reserve.fetching, reserve.filling) = (0, 0);
        }
    }

    /// Blocks of `server` taken, those of them that devices have, and those that leave.
    pub(crate) fn blocks(&self, server: u32) -> (u32, u32, u32) {
        if self.reserves.is_empty() {
            return (0, 0, 0);
        }
        let Reserve {
            fetching,
            sending,
            filling,
            ..
        } = *self.reserves.get(server);
        (fetching + sending + filling, fetching + filling, fetching + sending)
    }

    fn end_of_job(&self, server: u32, owner: u16) -> Option<u32> {
        let cell = server as usize * self.jobs + usize::from(owner);
        (cell < self.ended.len()).then_some(cell as u32)
    }

    /// Whether the ends of jobs matter to `server`.
    pub(crate) fn remembers(&self, server: u32, owner: u16) -> bool {
        self.end_of_job(server, owner).is_some()
    }

    /// Records at `server` that `job` has ended.
    pub(crate) fn job_ended<M: Mode>(&mut self, server: u32, job: u16) {
        if let Some(cell) = self.end_of_job(server, job) {
            *self.ended.edit::<M>(cell) = true;
            self.reserves.edit::<M>(server).has_ended = true;
        }
    }

    /// Whether the end of `owner` has been reported to `server`.
    pub(crate) fn has_ended(&self, server: u32, owner: u16) -> bool {
        self.end_of_job(server, owner).is_some_and(|cell| *self.ended.get(cell))
    }

    /// Data of `owner` have come to a device of `server`.
    pub(crate) fn data_of<M: Mode>(&mut self, server: u32, owner: u16) {
        if self.has_ended(server, owner) {
            self.reserves.edit::<M>(server).has_ended = true;
        }
    }

    /// Which jobs have ended, if `server` may hold data of them.
    pub(crate) fn ended_jobs(&self, server: u32) -> Option<Vec<bool>> {
        let all = || (0..self.jobs as u16).map(|job| self.has_ended(server, job)).collect();
        self.reserves.get(server).has_ended.then(all)
    }

    /// `server` holds no data of jobs that have ended.
    pub(crate) fn has_no_ended<M: Mode>(&mut self, server: u32) {
        self.reserves.edit::<M>(server).has_ended = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Policy;
    use odonata_device::{DeviceModel, Rate};
    use odonata_engine::Plain;

    fn reserves(blocks_in_flight: u32) -> Reserves {
        let mut params = ServerParams::new(DeviceModel::Rate(Rate::default()), 1_000_000, 1_000_000);
        params.next = Some(Policy {
            blocks_in_flight,
            ..Policy::default()
        });
        Reserves::new(&[params])
    }

    #[test]
    fn blocks_that_are_fetched_sent_or_filled_share_the_reserve() {
        let mut reserves = reserves(3);
        assert_eq!([0, 1].map(|turn| reserves.fetch::<Plain>(0, turn)), [0, 1]);
        reserves.take::<Plain>(0, Reserved::Filling);
        assert!(!reserves.has_free_block(0));
        reserves.give_back::<Plain>(0, Reserved::Fetching);
        reserves.take::<Plain>(0, Reserved::Sending);
        assert_eq!((reserves.blocks(0), reserves.turn(0)), ((3, 2, 2), 1));
        reserves.fail::<Plain>(0);
        assert_eq!(reserves.blocks(0), (1, 0, 1), "what has left arrives");
    }

    #[test]
    fn data_of_a_job_that_has_ended_are_noticed_whenever_they_come() {
        let mut reserves = reserves(1);
        assert!(!reserves.remembers(0, 1));
        reserves.remember_ends(3);
        assert_eq!(reserves.ended_jobs(0), None);
        reserves.job_ended::<Plain>(0, 1);
        assert_eq!(reserves.ended_jobs(0), Some(vec![false, true, false]));
        reserves.has_no_ended::<Plain>(0);
        reserves.data_of::<Plain>(0, 2);
        assert_eq!(reserves.ended_jobs(0), None);
        reserves.data_of::<Plain>(0, 1);
        assert!(reserves.ended_jobs(0).is_some());
    }
}
