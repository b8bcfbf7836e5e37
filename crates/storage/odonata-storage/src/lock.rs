//! Extent locks: which node may use which range of an object, as in the distributed lock manager of Lustre (Braam, "The Lustre
//! storage architecture", 2004; a lock per object and client, granted for the requested range).
//!
//! A request needs a lock on its range, rounded outwards to the granularity: shared for a read, exclusive for a write. A client is
//! a node: the ranks on it share its locks and keep them until the server revokes them.
//!
//! | a request meets | it waits for |
//! |---|---|
//! | locks of its own node that cover it, or none | nothing |
//! | locks of other nodes that conflict | the revocation of all of them: a message to each node, the node's time, and its answer |
//! | earlier requests of other nodes that conflict | their end at this server |
//!
//! The request continues when both waits are over. Conflicting requests are served in the order of their arrival at the server, and
//! no request waits for another server: there is no deadlock. A lock outlives its request, and is given back as a whole.
//!
//! **Failures.** The locks of a failed server are void, and it drops the requests that wait for them or use them. The clients
//! retry, at the same server after its return or at another server, and get new locks. In Lustre, clients replay their locks in a
//! recovery window before the server grants others. Here, nodes keep no list of their locks, and none are revoked after a failure.
//!
//! **Blame.** The wait of a request from its arrival is charged in parts, to the job whose lock comes back next or whose request
//! ends next among those that it waits for. The parts add up to the wait.
//!
//! The state machine does not know the network. It names the clients to ask ([`ExtentLocks::request`]); its caller reports answers
//! ([`ExtentLocks::revoked`]) and ends of requests ([`ExtentLocks::finished`]).

use crate::observe::LockWaits;
use crate::{ClientId, LockCharge, LockMetrics, Outage, RequestLoss, StorageRequest};
use odonata_engine::{List, Mode, NIL, Plain, Pool, Store, journalled};
use odonata_units::{Bytes, Problem, Time, mix64};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Locks on ranges of files, as in Lustre. An access to a range that another node has locked waits until that node
/// returns the lock, if one of the two accesses writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Locks {
    /// Size of a page, at least 1 B. Ranges are rounded outwards to pages, so accesses of two nodes to the same page
    /// conflict even without overlap.
    #[default(Bytes(4_096))]
    pub granularity: Bytes,
    /// Time that a node needs to return a lock, e.g. to write its cache, in addition to the messages.
    pub revocation: Time,
}

impl Locks {
    /// Checks the keys.
    ///
    /// # Errors
    /// One is out of its range.
    pub fn check(&self) -> Result<(), Problem> {
        match self.granularity {
            Bytes::ZERO => {
                let key = "storage.locks.granularity";
                Err(Problem::new(key, "locks on ranges of no bytes", "at least 1 B"))
            }
            _ => Ok(()),
        }
    }
}

/// A range of an object.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Range {
    object: u64,
    low: u64,
    high: u64,
    exclusive: bool,
    node: u32,
}

impl Range {
    fn conflicts(&self, other: &Range) -> bool {
        self.object == other.object
            && self.node != other.node
            && (self.exclusive || other.exclusive)
            && self.low < other.high
            && other.low < self.high
    }

    fn covers(&self, other: &Range) -> bool {
        self.object == other.object
            && self.node == other.node
            && (self.exclusive || !other.exclusive)
            && self.low <= other.low
            && other.high <= self.high
    }

    /// Whether the ranges overlap or are adjacent, and become one lock.
    fn joins(&self, other: &Range) -> bool {
        self.object == other.object
            && self.node == other.node
            && self.exclusive == other.exclusive
            && self.low <= other.high
            && other.low <= self.high
    }
}

/// A lock that a node has.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Lock {
    range: Range,
    /// The client that used it last, which gets the revocation.
    client: ClientId,
    next: u32,
}

/// A request that waits for its lock or uses it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Holder {
    range: Range,
    what: StorageRequest,
    server: u32,
    arrived: Time,
    /// Locks whose revocation it waits for.
    revocations: u32,
    /// Requests whose end it waits for.
    blockers: u32,
    /// Whether its server has failed. It is freed with the last lock that comes back for it.
    dead: bool,
    next: u32,
}

odonata_engine::slots!(Lock Holder);

/// The locks and the requests of the objects with one hash, in the order of their arrival.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Bucket {
    locks: List,
    holders: List,
}

/// Buckets of a server.
const BUCKETS: u32 = 64;

/// The locks of a set of servers, numbered from 0.
#[derive(Debug)]
pub struct ExtentLocks {
    settings: Option<Locks>,
    buckets: Store<Bucket>,
    locks: Pool<Lock>,
    holders: Pool<Holder>,
    waits: LockWaits,
    /// The outages of each server, and how many of them have begun; empty without failures.
    outages: Vec<Vec<Outage>>,
    begun: Store<u32>,
}
journalled!(ExtentLocks {
    buckets,
    locks,
    holders,
    waits,
    begun
});

impl ExtentLocks {
    /// The locks of `servers` servers. Without settings there are no locks, and no request waits.
    pub fn new(servers: u32, settings: Option<Locks>) -> Self {
        let servers = if settings.is_some() { servers } else { 0 };
        ExtentLocks {
            settings,
            buckets: Store::filled((servers * BUCKETS) as usize, Bucket::default()),
            locks: Pool::new(),
            holders: Pool::new(),
            waits: LockWaits::new(servers as usize),
            outages: Vec::new(),
            begun: Store::new(),
        }
    }

    /// Adds failures: `of` returns the times when a server is away.
    pub fn with_failures(mut self, of: impl Fn(u32) -> Vec<Outage>) -> Self {
        let outages: Vec<_> = (0..self.buckets.len() as u32 / BUCKETS).map(of).collect();
        if outages.iter().any(|outages| !outages.is_empty()) {
            self.begun = Store::filled(outages.len(), 0);
            self.outages = outages;
        }
        self
    }

    /// Keeps a ledger of the waits between `jobs` jobs; with `interval`, also as a time series.
    pub fn with_blame(mut self, jobs: u16, interval: Option<Time>) -> Self {
        self.waits.keep_ledger(jobs, interval);
        self
    }

    /// Records the waits of single requests, if there is a ledger.
    pub fn with_losses(mut self) -> Self {
        self.waits.record_requests();
        self
    }

    /// The waits that have ended since the last call, if they are recorded.
    pub fn take_losses(&mut self) -> Vec<RequestLoss> {
        self.waits.take_losses()
    }

    /// The settings, if there are locks.
    #[inline]
    pub fn settings(&self) -> Option<Locks> {
        self.settings
    }

    /// `what`, of at least one byte, has arrived at `server` from a rank on `node`. Returns its number, which is valid until
    /// [`finished`](Self::finished). The caller sends a revocation to each client in `ask`. Without a conflict, the request
    /// continues at once ([`waits`](Self::waits)).
    pub fn request<M: Mode>(
        &mut self,
        now: Time,
        server: u32,
        what: StorageRequest,
        node: u32,
        ask: &mut Vec<ClientId>,
    ) -> u32 {
        self.fail_by::<M>(now, server);
        let granularity = self.settings.map_or(1, |settings| settings.granularity.0.max(1));
        let end = what.offset.saturating_add(what.bytes);
        let range = Range {
            object: what.object,
            low: what.offset / granularity * granularity,
            high: end.div_ceil(granularity).saturating_mul(granularity),
            exclusive: what.operation.is_write(),
            node,
        };
        let index = Self::bucket(server, what.object);
        let mut bucket = *self.buckets.get(index);
        let conflicts = |lock: &Lock| lock.range.conflicts(&range);
        let mut revocations = 0;
        while let Some(slot) = bucket.locks.remove_first::<M, _>(&mut self.locks, conflicts) {
            ask.push(self.locks.get(slot).client);
            self.locks.free::<M>(slot);
            revocations += 1;
        }
        self.lock::<M>(&mut bucket.locks, range, what.header.client);
        let before = bucket.holders.iter(&self.holders);
        let blockers = before
            .filter(|&slot| self.holders.get(slot).range.conflicts(&range))
            .count() as u32;
        let holder = self.holders.allocate::<M>(Holder {
            range,
            what,
            server,
            arrived: now,
            revocations,
            blockers,
            dead: false,
            next: NIL,
        });
        bucket.holders.push::<M, _>(&mut self.holders, holder);
        *self.buckets.edit::<M>(index) = bucket;
        if revocations > 0 {
            self.waits.locks_are_revoked::<M>(server, revocations);
        }
        if revocations + blockers > 0 {
            self.waits.request_waits::<M>(now, holder, &what);
        }
        holder
    }

    /// Whether request `holder` waits for its lock.
    pub fn waits(&self, holder: u32) -> bool {
        let Holder {
            revocations, blockers, ..
        } = *self.holders.get(holder);
        revocations + blockers > 0
    }

    /// A client of job `culprit` has given back a lock that request `holder` waits for. Returns whether the request continues now.
    pub fn revoked<M: Mode>(&mut self, now: Time, holder: u32, culprit: u16) -> bool {
        self.fail_by::<M>(now, self.holders.get(holder).server);
        if self.holders.get(holder).dead {
            let cell = self.holders.edit::<M>(holder);
            cell.revocations -= 1;
            if cell.revocations == 0 {
                self.holders.free::<M>(holder);
            }
            return false;
        }
        let Holder { server, what, .. } = *self.holders.get(holder);
        (self.waits).lock_is_released::<M>(now, holder, (server, &what), culprit);
        self.holders.edit::<M>(holder).revocations -= 1;
        self.granted::<M>(now, holder)
    }

    /// Applies the failures of servers until `now`, the end of the run.
    pub fn fail_until(&mut self, now: Time) {
        for server in 0..self.outages.len() as u32 {
            self.fail_by::<Plain>(now, server);
        }
    }

    /// Applies the failures of `server` until `now`; its locks have not changed since then.
    fn fail_by<M: Mode>(&mut self, now: Time, server: u32) {
        let Some(outages) = self.outages.get(server as usize) else {
            return;
        };
        let mut begun = *self.begun.get(server);
        let before = begun;
        let mut times = Vec::new();
        while let Some(outage) = outages.get(begun as usize).filter(|outage| outage.from <= now) {
            times.push(outage.from);
            begun += 1;
        }
        if begun > before {
            *self.begun.edit::<M>(server) = begun;
            // The first failure removes everything.
            self.forget::<M>(times[0], server);
        }
    }

    /// `server` fails: its locks are void, and its requests are dropped.
    fn forget<M: Mode>(&mut self, now: Time, server: u32) {
        for index in server * BUCKETS..(server + 1) * BUCKETS {
            let Bucket { mut locks, mut holders } = *self.buckets.get(index);
            if locks.is_empty() && holders.is_empty() {
                continue;
            }
            while let Some(slot) = locks.pop(&self.locks) {
                self.locks.free::<M>(slot);
            }
            while let Some(slot) = holders.pop(&self.holders) {
                let Holder {
                    what,
                    revocations,
                    arrived,
                    ..
                } = *self.holders.get(slot);
                if self.waits(slot) {
                    self.waits.server_fails::<M>(now, slot, (server, &what));
                    self.holders.edit::<M>(slot).blockers = 0;
                    self.waits.wait_ends::<M>(now, (server, &what), arrived);
                }
                match revocations {
                    0 => self.holders.free::<M>(slot),
                    _ => self.holders.edit::<M>(slot).dead = true,
                }
            }
            *self.buckets.edit::<M>(index) = Bucket::default();
        }
    }

    /// Request `holder` has ended. Appends the requests that continue now, in the order of their arrival, to `next`.
    pub fn finished<M: Mode>(&mut self, now: Time, holder: u32, next: &mut Vec<u32>) {
        let Holder {
            range, server, what, ..
        } = *self.holders.get(holder);
        let index = Self::bucket(server, range.object);
        let mut bucket = *self.buckets.get(index);
        // Later requests that conflict count it among their blockers.
        let mut later = false;
        let mut slot = bucket.holders.head;
        while slot != NIL {
            if later && self.holders.get(slot).range.conflicts(&range) {
                let waiting = self.holders.get(slot).what;
                (self.waits).lock_is_released::<M>(now, slot, (server, &waiting), what.header.owner);
                self.holders.edit::<M>(slot).blockers -= 1;
                if self.granted::<M>(now, slot) {
                    next.push(slot);
                }
            }
            later |= slot == holder;
            slot = self.holders.get(slot).next;
        }
        remove::<M>(&mut bucket.holders, &mut self.holders, holder);
        self.holders.free::<M>(holder);
        *self.buckets.edit::<M>(index) = bucket;
    }

    /// The server of `holder`, and its request.
    pub fn holder(&self, holder: u32) -> (u32, StorageRequest) {
        let Holder { server, what, .. } = *self.holders.get(holder);
        (server, what)
    }

    /// The metrics of each server; empty without locks.
    pub fn metrics(&self) -> impl Iterator<Item = LockMetrics> {
        self.waits.metrics()
    }

    /// Requests that wait for locks or use them.
    pub fn live(&self) -> u32 {
        self.holders.live()
    }

    /// The waiting times between jobs by server, victim and culprit, in this order; empty without a ledger.
    pub fn blame(&self) -> impl Iterator<Item = LockCharge> + '_ {
        self.waits.charges()
    }

    /// The same as a time series, if one is kept: start of the interval, victim, culprit, time.
    pub fn blame_series(&self) -> impl Iterator<Item = (Time, u16, u16, Time)> + '_ {
        self.waits.series()
    }

    /// Charges the open waits at `now`, the end of the run; requests may still wait.
    pub fn charge_open_waits(&mut self, now: Time) {
        for bucket in 0..self.buckets.len() as u32 {
            let holders = self.buckets.get(bucket).holders;
            for slot in holders
                .iter(&self.holders)
                .filter(|&slot| self.waits(slot))
                .collect::<Vec<_>>()
            {
                let Holder { what, server, .. } = *self.holders.get(slot);
                self.waits.close(now, slot, (server, &what));
            }
        }
    }

    /// Checks, when no request is left, that the charges add up to the waits.
    ///
    /// # Errors
    /// Names the sum that does not match.
    pub fn audit(&self) -> Result<(), String> {
        self.waits.audit()
    }

    fn bucket(server: u32, object: u64) -> u32 {
        server * BUCKETS + (mix64(object) % u64::from(BUCKETS)) as u32
    }

    /// Ends the wait of `holder` if nothing blocks it any more. Returns whether it ends.
    fn granted<M: Mode>(&mut self, now: Time, holder: u32) -> bool {
        let Holder {
            server, arrived, what, ..
        } = *self.holders.get(holder);
        let waits = self.waits(holder);
        if !waits {
            self.waits.wait_ends::<M>(now, (server, &what), arrived);
        }
        !waits
    }

    /// Gives `client` the lock on `range`.
    fn lock<M: Mode>(&mut self, locks: &mut List, range: Range, client: ClientId) {
        let mut joined = None;
        for slot in locks.iter(&self.locks) {
            let lock = &self.locks.get(slot).range;
            if lock.covers(&range) {
                return;
            }
            if joined.is_none() && lock.joins(&range) {
                joined = Some(slot);
            }
        }
        match joined {
            Some(slot) => {
                let lock = self.locks.edit::<M>(slot);
                lock.range.low = lock.range.low.min(range.low);
                lock.range.high = lock.range.high.max(range.high);
                lock.client = client;
            }
            None => {
                let slot = self.locks.allocate::<M>(Lock {
                    range,
                    client,
                    next: NIL,
                });
                locks.push::<M, _>(&mut self.locks, slot);
            }
        }
    }
}

/// Removes `wanted` from `list`.
fn remove<M: Mode>(list: &mut List, pool: &mut Pool<Holder>, wanted: u32) {
    let (mut before, mut at) = (NIL, list.head);
    while at != wanted {
        (before, at) = (at, pool.get(at).next);
    }
    let next = pool.get(at).next;
    match before {
        NIL => list.head = next,
        _ => pool.edit::<M>(before).next = next,
    }
    if next == NIL {
        list.tail = before;
    }
}

#[cfg(test)]
mod tests;
