//! Metadata servers: queues with `k` service threads for calls that open, create, look up or remove files.
//!
//! ```text
//!             call                   server                          answer
//!  MetadataRequest ──> [directory, FIFO] ──> [threads, FIFO] ──> done ──> its end, and that of its directory
//!                       only changes,         k at once,
//!                       if they are serial    each so long as its kind of call takes
//! ```
//!
//! Of `n` calls of `c` each at one instant, the last is answered `ceil(n / k) c` later. A call that changes a directory
//! ([`MetadataCall::changes_directory`]) may have to wait for the end of the previous call in the same directory; it occupies no
//! thread meanwhile.
//!
//! The state machine does not know the network: [`MetadataServers::request`] and [`MetadataServers::done`] return the calls that
//! begin and their ends, and the caller reports each end.

mod call;
mod failure;
mod settings;

pub use call::{CALLS, MetadataCall, MetadataName};
pub use settings::{Distribution, Metadata, MetadataParams};

use crate::faults::FaultClock;
use crate::observe::{MetadataWaits, ObservedCall};
use crate::{FaultPeriod, MetadataCharge, Outage, RequestHeader, RequestLoss};
use odonata_engine::{List, Mode, NIL, Pool, Store, journalled};
use odonata_units::{Time, mix64};
use serde::{Deserialize, Serialize};

/// The content of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct MetadataRequest {
    header: RequestHeader,
    call: MetadataCall,
    /// The directory ([`MetadataName::key_of_directory`]).
    directory: u64,
}

/// A call that a thread has begun. Call [`MetadataServers::done`] with `slot` at `at`, which is later than now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The server.
    pub server: u32,
    /// The call. It depends on history and must not influence a result.
    pub slot: u32,
    /// When it ends.
    pub at: Time,
}

/// The metrics of one metadata server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetadataMetrics {
    /// Calls answered, of each [kind](MetadataCall).
    pub calls: [u64; CALLS],
    /// Busy time, summed over threads, in ps.
    pub busy_ps: u128,
    /// Time that calls waited for a thread, summed, in ps.
    pub thread_wait_ps: u128,
    /// Time that calls waited for their directory, summed, in ps.
    pub directory_wait_ps: u128,
    /// The longest time from arrival to answer, in ps.
    pub longest: Time,
    /// Most calls that waited at the same time.
    pub peak_waiting: u32,
}

/// A call at a server.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Call {
    what: MetadataRequest,
    server: u32,
    arrived: Time,
    /// The start of its current wait, or of its service.
    since: Time,
    /// The directory that it changes, if changes are serial, or [`NIL`].
    directory: u32,
    /// Whether its server has failed.
    dead: bool,
    next: u32,
}

/// A directory that a call changes, and the calls that wait for it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Directory {
    key: u64,
    waiting: List,
    next: u32,
}

odonata_engine::slots!(Call Directory);

/// The threads of a server.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Threads {
    busy: u32,
    /// Calls that wait for a thread, in the order of their arrival.
    queue: List,
    /// Number of calls that wait for a thread or a directory.
    waiting: u32,
}

/// Buckets of directories per server, by a hash of their names.
const BUCKETS: u32 = 64;

/// The server of a bucket.
fn server_of(bucket: u32) -> u32 {
    bucket / BUCKETS
}

/// A set of metadata servers, numbered from 0.
#[derive(Debug)]
pub struct MetadataServers {
    params: Option<MetadataParams>,
    /// The clock of each server; empty without faults.
    clocks: Vec<FaultClock>,
    /// The outages of each server, and how many of them have begun; empty without failures.
    outages: Vec<Vec<Outage>>,
    begun: Store<u32>,
    threads: Store<Threads>,
    calls: Pool<Call>,
    directories: Pool<Directory>,
    buckets: Store<List>,
    metrics: Store<MetadataMetrics>,
    waits: MetadataWaits,
}
journalled!(MetadataServers {
    begun,
    threads,
    calls,
    directories,
    buckets,
    metrics,
    waits
});

impl MetadataServers {
    /// `servers` servers, all idle; without parameters there are none.
    pub fn new(servers: u32, params: Option<MetadataParams>) -> Self {
        let servers = if params.is_some() { servers as usize } else { 0 };
        MetadataServers {
            params,
            clocks: Vec::new(),
            outages: Vec::new(),
            begun: Store::new(),
            threads: Store::filled(servers, Threads::default()),
            calls: Pool::new(),
            directories: Pool::new(),
            buckets: Store::filled(servers * BUCKETS as usize, List::EMPTY),
            metrics: Store::filled(servers, MetadataMetrics::default()),
            waits: MetadataWaits::off(),
        }
    }

    /// Adds faults: `of` returns those of a server.
    pub fn with_faults(mut self, of: impl Fn(u32) -> Vec<FaultPeriod>) -> Self {
        let clocks: Vec<FaultClock> = (0..self.len()).map(|server| FaultClock::new(of(server))).collect();
        if clocks.iter().any(|clock| !clock.is_sound()) {
            self.clocks = clocks;
        }
        self
    }

    /// Number of servers.
    pub fn len(&self) -> u32 {
        self.threads.len() as u32
    }

    /// Whether there is no server.
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// A request for `call` in `directory` ([`MetadataName::key_of_directory`]) arrives at `server`. It begins or waits; a server
    /// that is away ignores it.
    pub fn request<M: Mode>(
        &mut self,
        now: Time,
        server: u32,
        header: RequestHeader,
        (call, directory): (MetadataCall, u64),
    ) -> Option<Begun> {
        if !self.is_up::<M>(now, server) {
            return None;
        }
        let what = MetadataRequest {
            header,
            call,
            directory,
        };
        let slot = self.calls.allocate::<M>(Call {
            what,
            server,
            arrived: now,
            since: now,
            directory: NIL,
            dead: false,
            next: NIL,
        });
        let serial = self.params.is_some_and(|params| params.serial_directories);
        if serial && what.call.changes_directory() && !self.takes_directory::<M>(now, slot) {
            return None;
        }
        self.wants_thread::<M>(now, slot)
    }

    /// Call `slot` has ended, as announced. Returns its server, its request, and the call that begins now. `None`: the server has
    /// failed meanwhile.
    pub fn done<M: Mode>(&mut self, now: Time, slot: u32) -> Option<(u32, RequestHeader, Option<Begun>)> {
        self.is_up::<M>(now, self.calls.get(slot).server);
        if self.calls.get(slot).dead {
            self.calls.free::<M>(slot);
            return None;
        }
        let Call {
            what,
            server,
            arrived,
            since,
            directory,
            ..
        } = *self.calls.get(slot);
        self.calls.free::<M>(slot);
        let metrics = self.metrics.edit::<M>(server);
        metrics.calls[what.call as usize] += 1;
        metrics.busy_ps += u128::from((now - since).0);
        metrics.longest = metrics.longest.max(now - arrived);
        (self.waits).thread_is_freed::<M>(now, server, what.header.owner, since);
        let threads = self.threads.edit::<M>(server);
        threads.busy -= 1;
        let mut queue = threads.queue;
        let first = queue.pop(&self.calls);
        // A free thread serves the next call in its queue, else the call that waited for the directory.
        let begun = first.map(|first| {
            self.threads.edit::<M>(server).queue = queue;
            self.waits.call_has_thread::<M>(now, self.observed(first));
            self.threads.edit::<M>(server).waiting -= 1;
            self.begin::<M>(now, first)
        });
        let next = match directory {
            NIL => None,
            directory => self.frees_directory::<M>(now, directory, (server, what.header.owner)),
        };
        let other = next.and_then(|next| self.wants_thread::<M>(now, next));
        debug_assert!(begun.is_none() || other.is_none(), "one thread has become free");
        Some((server, what.header, begun.or(other)))
    }

    /// The metrics of each server.
    pub fn metrics(&self) -> impl Iterator<Item = MetadataMetrics> + '_ {
        self.metrics.iter().copied()
    }

    /// Calls without an answer yet.
    pub fn live(&self) -> u32 {
        self.calls.live()
    }

    /// Checks, when no call is left, that no call waits and that the charges add up to the waits.
    ///
    /// # Errors
    /// Names the violation.
    pub fn audit(&self) -> Result<(), String> {
        if self.calls.live() + self.directories.live() > 0 {
            return Err(format!("metadata: {} calls are not answered", self.calls.live()));
        }
        if let Some(server) = self
            .threads
            .iter()
            .position(|threads| threads.busy + threads.waiting > 0)
        {
            return Err(format!("metadata server {server}: a thread is busy with nothing"));
        }
        self.waits.audit()
    }

    /// Keeps a ledger of the waits between `jobs` jobs; with `interval`, also as a time series. With `faults`, if a server of the
    /// machine has faults, delays due to faults are charged to the faults.
    pub fn with_blame(mut self, jobs: u16, interval: Option<Time>, faults: bool) -> Self {
        let faults = faults.then(|| self.clocks.clone());
        self.waits = MetadataWaits::new(self.len(), jobs, interval, faults);
        self
    }

    /// Records the waits of single calls, if there is a ledger.
    pub fn with_losses(mut self) -> Self {
        self.waits.record_calls();
        self
    }

    /// The waits of calls that the last input ended, if they are recorded.
    pub fn take_losses(&mut self) -> Vec<RequestLoss> {
        self.waits.take_losses()
    }

    /// The waiting times between jobs by server, resource, victim and culprit, in this order; empty without a ledger.
    pub fn blame(&self) -> impl Iterator<Item = MetadataCharge> + '_ {
        self.waits.charges()
    }

    /// The same as a time series, if one is kept: start of the interval, resource, victim, culprit, time.
    pub fn blame_series(&self) -> impl Iterator<Item = (Time, u8, u16, u16, Time)> + '_ {
        self.waits.series()
    }

    /// Charges the open waits at `now`, the end of the run; calls may still be open.
    pub fn charge_open_waits(&mut self, now: Time) {
        self.waits.close_threads(now);
        for bucket in 0..self.buckets.len() as u32 {
            for directory in self.buckets.get(bucket).iter(&self.directories) {
                self.waits.close_directory(now, server_of(bucket), directory);
            }
        }
    }

    /// Call `slot`, as its instrument sees it.
    fn observed(&self, slot: u32) -> ObservedCall {
        let Call { what, server, .. } = *self.calls.get(slot);
        ObservedCall {
            slot,
            server,
            header: what.header,
        }
    }

    fn bucket(server: u32, key: u64) -> u32 {
        server * BUCKETS + (mix64(key) % u64::from(BUCKETS)) as u32
    }

    /// One call more waits at `server`.
    fn count_waiting<M: Mode>(&mut self, server: u32) {
        let threads = self.threads.edit::<M>(server);
        threads.waiting += 1;
        let waiting = threads.waiting;
        if self.metrics.get(server).peak_waiting < waiting {
            self.metrics.edit::<M>(server).peak_waiting = waiting;
        }
    }

    /// Gives call `slot` its directory, or queues it for the directory.
    fn takes_directory<M: Mode>(&mut self, now: Time, slot: u32) -> bool {
        let Call { what, server, .. } = *self.calls.get(slot);
        let index = Self::bucket(server, what.directory);
        let mut bucket = *self.buckets.get(index);
        let known =
            (bucket.iter(&self.directories)).find(|&directory| self.directories.get(directory).key == what.directory);
        let Some(place) = known else {
            let place = self.directories.allocate::<M>(Directory {
                key: what.directory,
                waiting: List::EMPTY,
                next: NIL,
            });
            bucket.push::<M, _>(&mut self.directories, place);
            *self.buckets.edit::<M>(index) = bucket;
            self.calls.edit::<M>(slot).directory = place;
            return true;
        };
        let mut directory = *self.directories.get(place);
        directory.waiting.push::<M, _>(&mut self.calls, slot);
        *self.directories.edit::<M>(place) = directory;
        (self.waits).call_waits_for_directory::<M>(now, place, self.observed(slot));
        self.count_waiting::<M>(server);
        false
    }

    /// The call that had directory `place` has ended. Returns the next call that has it.
    fn frees_directory<M: Mode>(&mut self, now: Time, place: u32, (server, owner): (u32, u16)) -> Option<u32> {
        let mut directory = *self.directories.get(place);
        (self.waits).directory_is_freed::<M>(now, server, place, owner);
        let Some(slot) = directory.waiting.pop(&self.calls) else {
            self.waits.directory_ends::<M>(place);
            let index = Self::bucket(server, directory.key);
            let mut bucket = *self.buckets.get(index);
            let it = |other: &Directory| other.key == directory.key;
            bucket.remove_first::<M, _>(&mut self.directories, it);
            *self.buckets.edit::<M>(index) = bucket;
            self.directories.free::<M>(place);
            return None;
        };
        let Call { since, .. } = *self.calls.get(slot);
        (self.waits).call_has_directory::<M>(now, place, self.observed(slot));
        *self.directories.edit::<M>(place) = directory;
        self.metrics.edit::<M>(server).directory_wait_ps += u128::from((now - since).0);
        self.threads.edit::<M>(server).waiting -= 1;
        let call = self.calls.edit::<M>(slot);
        (call.directory, call.since) = (place, now);
        Some(slot)
    }

    /// Gives call `slot` a thread, or queues it for one.
    fn wants_thread<M: Mode>(&mut self, now: Time, slot: u32) -> Option<Begun> {
        let Call { server, .. } = *self.calls.get(slot);
        let all = self.params.map_or(1, |params| params.threads);
        if self.threads.get(server).busy < all {
            return Some(self.begin::<M>(now, slot));
        }
        let mut queue = self.threads.get(server).queue;
        queue.push::<M, _>(&mut self.calls, slot);
        self.threads.edit::<M>(server).queue = queue;
        (self.waits).call_waits_for_thread::<M>(now, self.observed(slot));
        self.count_waiting::<M>(server);
        None
    }

    /// A thread begins call `slot`.
    fn begin<M: Mode>(&mut self, now: Time, slot: u32) -> Begun {
        let call = self.calls.edit::<M>(slot);
        let waited = now - call.since;
        call.since = now;
        let Call { what, server, .. } = *call;
        self.threads.edit::<M>(server).busy += 1;
        if waited > Time::ZERO {
            self.metrics.edit::<M>(server).thread_wait_ps += u128::from(waited.0);
        }
        let cost = self
            .params
            .map_or(Time::ZERO, |params| params.costs[what.call as usize]);
        // An event comes strictly later than its cause, however fast the server.
        let cost = cost.max(Time::from_ps(1));
        let at = match self.clocks.get(server as usize) {
            Some(clock) => {
                let own = clock.device_time(now);
                clock.times_of(now, own, own + cost).1
            }
            None => now + cost,
        };
        Begun { server, slot, at }
    }
}

#[cfg(test)]
mod tests;
