//! Failures of servers and of single devices: when they are due, which are away, and what they cost jobs.
//!
//! Failures are known in advance, so that a failure of a server needs no event: an input of the server first applies those that are
//! due ([`Failures::next_of_server`]), as of their own times.

use std::ops::Range;

use odonata_engine::{Mode, Store, journalled};
use odonata_units::Time;

use crate::Outage;
use crate::settings::LostReads;

/// The cost of a server's failures to a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Losses {
    /// Bytes of acknowledged writes that were on its devices alone.
    pub on_devices: u64,
    /// Bytes of acknowledged writes that were in its memory alone.
    pub in_memory: u64,
    /// Bytes that had come to a device for writes that were not acknowledged.
    pub dropped: u64,
    /// Requests that arrived while the server was away.
    pub while_down: u64,
    /// Bytes of reads that were lost or belonged to a server that was away, and were read as never written or reported to the
    /// reader.
    pub reads: u64,
}

impl Losses {
    /// Bytes of acknowledged writes that had no other copy.
    pub fn lost(&self) -> u64 {
        self.on_devices + self.in_memory
    }

    /// Adds the losses of other servers.
    pub fn absorb(&mut self, other: &Losses) {
        self.on_devices += other.on_devices;
        self.in_memory += other.in_memory;
        self.dropped += other.dropped;
        self.while_down += other.while_down;
        self.reads += other.reads;
    }
}

/// Lost bytes in the range of a read, and what their reader gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LostRead {
    /// None, or they are read as never written.
    Nothing,
    /// The answer reports them.
    Reported,
    /// They are an error.
    Refused,
}

/// The outages of servers or devices, and how many of them have begun; empty without outages.
#[derive(Debug)]
struct Outages {
    /// Per server or device, in order.
    all: Vec<Vec<Outage>>,
    begun: Store<u32>,
}
journalled!(Outages { begun });

impl Outages {
    fn new(all: Vec<Vec<Outage>>) -> Self {
        let some = all.iter().any(|outages| !outages.is_empty());
        Outages {
            begun: Store::filled(if some { all.len() } else { 0 }, 0),
            all: if some { all } else { Vec::new() },
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }

    /// The next outage of `which` that has not begun, if it is due.
    fn due(&self, which: u32, now: Time) -> Option<Outage> {
        if self.is_empty() {
            return None;
        }
        let outages = &self.all[which as usize];
        let next = outages.get(*self.begun.get(which) as usize);
        next.copied().filter(|outage| outage.from <= now)
    }

    /// Begins the next outage of `which`, if it is due. Returns its start.
    fn begin<M: Mode>(&mut self, which: u32, now: Time) -> Option<Time> {
        let outage = self.due(which, now)?;
        *self.begun.edit::<M>(which) += 1;
        Some(outage.from)
    }

    /// Whether an outage of `which` has begun and not ended.
    fn is_away(&self, which: u32, now: Time) -> bool {
        if self.is_empty() {
            return false;
        }
        let last = self.begun.get(which).checked_sub(1);
        last.is_some_and(|last| now < self.all[which as usize][last as usize].until)
    }
}

/// The failures of a set of servers and of their devices.
#[derive(Debug)]
pub(crate) struct Failures {
    servers: Outages,
    devices: Outages,
    jobs: usize,
    /// Per server and job.
    losses: Store<Losses>,
    lost_reads: LostReads,
}
journalled!(Failures {
    servers,
    devices,
    losses
});

impl Failures {
    /// No failures.
    pub(crate) fn none() -> Self {
        Failures {
            servers: Outages::new(Vec::new()),
            devices: Outages::new(Vec::new()),
            jobs: 0,
            losses: Store::new(),
            lost_reads: LostReads::default(),
        }
    }

    /// Sets the failures of servers, and counts what failures cost `jobs` jobs, at least one.
    pub(crate) fn of_servers(&mut self, outages: Vec<Vec<Outage>>, jobs: usize, lost_reads: LostReads) {
        self.jobs = jobs.max(1);
        self.losses = Store::filled(outages.len() * self.jobs, Losses::default());
        self.lost_reads = lost_reads;
        self.servers = Outages::new(outages);
    }

    /// Sets the failures of devices.
    pub(crate) fn of_devices(&mut self, outages: Vec<Vec<Outage>>) {
        self.devices = Outages::new(outages);
    }

    /// Begins the next failure of `server` that is due. Returns its time.
    #[inline]
    pub(crate) fn next_of_server<M: Mode>(&mut self, now: Time, server: u32) -> Option<Time> {
        if self.servers.is_empty() {
            return None;
        }
        self.servers.begin::<M>(server, now)
    }

    /// Whether `server` is up; its failures have been applied until `now`.
    #[inline]
    pub(crate) fn is_server_up(&self, now: Time, server: u32) -> bool {
        self.servers.is_empty() || !self.servers.is_away(server, now)
    }

    /// Whether a failure of one of `devices` is due.
    pub(crate) fn is_device_due(&self, now: Time, mut devices: Range<u32>) -> bool {
        !self.devices.is_empty() && devices.any(|device| self.devices.due(device, now).is_some())
    }

    /// Begins the next failure of `device` that is due. Returns its time.
    pub(crate) fn next_of_device<M: Mode>(&mut self, now: Time, device: u32) -> Option<Time> {
        self.devices.begin::<M>(device, now)
    }

    /// Whether none of `devices` is up.
    pub(crate) fn are_all_away(&self, now: Time, mut devices: Range<u32>) -> bool {
        !self.devices.is_empty() && devices.all(|device| self.devices.is_away(device, now))
    }

    /// The first of `devices` that is up, from the one with number `choice` on; that one if none is.
    pub(crate) fn device_up(&self, now: Time, devices: Range<u32>, choice: u32) -> u32 {
        let count = devices.len() as u32;
        let mut in_turn = (0..count).map(|step| devices.start + (choice + step) % count);
        let up = in_turn.find(|&device| !self.devices.is_away(device, now));
        up.unwrap_or(devices.start + choice)
    }

    /// The times when devices fail: device, time.
    pub(crate) fn device_times(&self) -> impl Iterator<Item = (u32, Time)> + use<'_> {
        let all = (0..).zip(&self.devices.all);
        all.flat_map(|(device, outages)| outages.iter().map(move |outage| (device, outage.from)))
    }

    /// Whether losses are counted, so that reads are asked about lost bytes.
    pub(crate) fn counts_losses(&self) -> bool {
        self.jobs > 0
    }

    /// The losses of `owner` at `server`, to add to.
    pub(crate) fn losses_of<M: Mode>(&mut self, server: u32, owner: u16) -> &mut Losses {
        // Speculation can reach impossible states: a job beyond the last counts as the last.
        let owner = usize::from(owner).min(self.jobs - 1);
        self.losses.edit::<M>((server as usize * self.jobs + owner) as u32)
    }

    /// The answer to a read of `bytes` lost bytes at `server`, which tolerates loss or not. Counts the bytes that are read.
    pub(crate) fn read_lost<M: Mode>(
        &mut self,
        (server, owner): (u32, u16),
        bytes: u64,
        tolerates_loss: bool,
    ) -> LostRead {
        if bytes == 0 {
            return LostRead::Nothing;
        }
        if !tolerates_loss && self.lost_reads == LostReads::Error {
            return LostRead::Refused;
        }
        self.losses_of::<M>(server, owner).reads += bytes;
        match tolerates_loss {
            true => LostRead::Reported,
            false => LostRead::Nothing,
        }
    }

    /// The cost of failures: server, job, losses, where there are some.
    pub(crate) fn losses(&self) -> impl Iterator<Item = (u32, u16, Losses)> + use<'_> {
        let jobs = self.jobs.max(1);
        let cells = self.losses.iter().enumerate();
        let named = cells.map(move |(cell, &losses)| ((cell / jobs) as u32, (cell % jobs) as u16, losses));
        named.filter(|(_, _, losses)| *losses != Losses::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    fn outage(from: u64, until: u64) -> Outage {
        Outage {
            from: Time::from_ns(from),
            until: Time::from_ns(until),
        }
    }

    #[test]
    fn failures_begin_once_in_their_order_as_of_their_own_times() {
        let (mut failures, ns) = (Failures::none(), Time::from_ns);
        assert!(failures.is_server_up(ns(0), 0), "without failures every server is up");
        failures.of_servers(vec![vec![outage(10, 20), outage(30, 40)], vec![]], 1, LostReads::Error);
        assert_eq!(failures.next_of_server::<Plain>(ns(9), 0), None);
        assert_eq!(failures.next_of_server::<Plain>(ns(35), 0), Some(ns(10)));
        assert_eq!(failures.next_of_server::<Plain>(ns(35), 0), Some(ns(30)));
        assert_eq!(failures.next_of_server::<Plain>(ns(35), 0), None);
        let up = [35, 39, 40].map(|at| failures.is_server_up(ns(at), 0));
        assert_eq!((up, failures.is_server_up(ns(35), 1)), ([false, false, true], true));
    }

    #[test]
    fn requests_go_to_the_next_device_that_is_up() {
        let (mut failures, ns) = (Failures::none(), Time::from_ns);
        failures.of_devices(vec![vec![], vec![outage(10, 20)], vec![outage(10, 15)], vec![]]);
        assert!(!failures.is_device_due(ns(9), 1..4) && failures.is_device_due(ns(10), 1..4));
        for device in [1, 2] {
            assert_eq!(failures.next_of_device::<Plain>(ns(10), device), Some(ns(10)));
        }
        let chosen = [(12, 0), (12, 1), (17, 0), (20, 0)].map(|(at, choice)| failures.device_up(ns(at), 1..4, choice));
        assert_eq!(chosen, [3, 3, 2, 1]);
        assert!(failures.are_all_away(ns(12), 1..3) && !failures.are_all_away(ns(12), 1..4));
        assert_eq!(failures.device_times().collect::<Vec<_>>(), [(1, ns(10)), (2, ns(10))]);
    }

    #[test]
    fn readers_of_lost_bytes_get_an_error_a_report_or_nothing() {
        let mut failures = Failures::none();
        failures.of_servers(vec![vec![]; 2], 3, LostReads::Error);
        let read = |failures: &mut Failures, bytes, tolerates| failures.read_lost::<Plain>((1, 2), bytes, tolerates);
        assert_eq!(read(&mut failures, 5, false), LostRead::Refused);
        assert_eq!(read(&mut failures, 5, true), LostRead::Reported);
        assert_eq!(read(&mut failures, 0, false), LostRead::Nothing);
        let losses: Vec<_> = failures
            .losses()
            .map(|(server, job, l)| (server, job, l.reads))
            .collect();
        assert_eq!(losses, [(1, 2, 5)], "a refused read has read nothing");
    }
}
