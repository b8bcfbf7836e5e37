//! Extent locks: who may use which range of an object, as the distributed lock manager of Lustre keeps them (Braam, "The
//! Lustre storage architecture", 2004; a lock per object and client, granted for the range that was asked for).
//!
//! A request asks for its range, rounded outwards to the granularity: shared for a read, exclusive for a write. A client is a
//! node: the ranks on it share its locks, and keep them until somebody asks for them back.
//!
//! | a request meets | it waits for |
//! |---|---|
//! | locks of its own node that cover it, or none | nothing |
//! | locks of other nodes that conflict | all of them to be given back: a message to each, what the node needs for it, and its answer |
//! | requests before it that conflict, of other nodes | their end at this server |
//!
//! It goes on when the later of both is over. Requests that conflict are served in the order of their arrival at the server,
//! and a request waits for nothing at other servers: there is no deadlock. A lock is kept when its request has ended, and is
//! given back as a whole.
//!
//! **Failures.** With a server that fails, its locks are gone, and the requests that wait for them or use them are nobody's. Their clients
//! try again, there when it is back or at another server, and get their locks anew. A real lock server lets its clients replay
//! the locks that they have in a recovery window before it grants others (Lustre); here nodes keep no list of theirs, so that
//! none are asked back from them afterwards.
//!
//! **Blame.** What a request waits from its arrival on is charged to the job whose lock comes back next, or whose request ends
//! next, of those that it waits for: its way, what its node needs, its time at the server. The parts add up to the wait.
//!
//! The state machine knows no network: it says whom to ask ([`ExtentLocks::request`]), and is told of answers
//! ([`ExtentLocks::revoked`]) and of ends ([`ExtentLocks::finished`]).

use crate::{ClientId, LOCK, Outage, RequestLoss, StorageRequest};
use odonata_blame::Ledger;
use odonata_engine::{List, Mode, NIL, Plain, Pool, Store, journalled};
use odonata_units::{Bytes, Problem, Time, mix64};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Locks on ranges of files, as in Lustre: an access of another node to a range that a node has locked waits until that
/// has given the lock back, if one of the two writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Locks {
    /// Ranges are rounded outwards to multiples of it, at least 1 B: accesses of two nodes to the same page conflict
    /// although they do not overlap.
    pub granularity: Bytes,
    /// What a node needs to give a lock back, e.g. to write its cache, beside the messages there and back.
    pub revocation: Time,
}

impl Default for Locks {
    fn default() -> Self {
        Locks {
            granularity: Bytes(4_096),
            revocation: Time::ZERO,
        }
    }
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

/// What was measured of the locks of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockMetrics {
    /// Locks that were asked back.
    pub revocations: u64,
    /// From arrival to grant, summed over requests, in ps.
    pub wait_ps: u128,
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

    /// Whether both are one lock, overlapping or side by side.
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
    /// Who has asked for it last: whom to ask.
    client: ClientId,
    next: u32,
}

/// A request that waits for its lock, or uses it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Holder {
    range: Range,
    what: StorageRequest,
    server: u32,
    arrived: Time,
    /// Until when its wait is charged to somebody; only where books are kept.
    since: Time,
    /// Locks that it waits for.
    revocations: u32,
    /// Requests that it waits for.
    blockers: u32,
    /// Whether its server has failed since: it is forgotten with the last lock that comes back for it.
    dead: bool,
    next: u32,
}

odonata_engine::slots!(Lock Holder);

/// The locks and the requests of some objects of a server, in the order of their arrival.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Bucket {
    locks: List,
    holders: List,
}

/// Buckets of a server, by a hash of the object.
const BUCKETS: u32 = 64;

/// The locks of a set of servers, numbered from 0.
#[derive(Debug)]
pub struct ExtentLocks {
    settings: Option<Locks>,
    buckets: Store<Bucket>,
    locks: Pool<Lock>,
    holders: Pool<Holder>,
    metrics: Store<LockMetrics>,
    /// A line per server.
    ledger: Ledger,
    /// Whether somebody asks what single requests have waited; that of the input that was handled last.
    tells_losses: bool,
    losses: Vec<RequestLoss>,
    /// When each server fails, and how many of these failures have begun; nothing where none does.
    outages: Vec<Vec<Outage>>,
    begun: Store<u32>,
}
journalled!(ExtentLocks {
    buckets,
    locks,
    holders,
    metrics,
    ledger,
    begun
});

/// What requests of one job have waited for locks of another at one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockCharge {
    /// The server.
    pub server: u32,
    /// Whose requests waited.
    pub victim: u16,
    /// Whose locks or requests they waited for; `None` where the run ended before that was known.
    pub culprit: Option<u16>,
    /// How long, summed over requests.
    pub time: Time,
}

impl ExtentLocks {
    /// Those of `servers` servers; without settings there are none, and nobody waits.
    pub fn new(servers: u32, settings: Option<Locks>) -> Self {
        let servers = if settings.is_some() { servers } else { 0 };
        ExtentLocks {
            settings,
            buckets: Store::filled((servers * BUCKETS) as usize, Bucket::default()),
            locks: Pool::new(),
            holders: Pool::new(),
            metrics: Store::filled(servers as usize, LockMetrics::default()),
            ledger: Ledger::off(),
            tells_losses: false,
            losses: Vec::new(),
            outages: Vec::new(),
            begun: Store::new(),
        }
    }

    /// With servers that fail when `of` says.
    pub fn with_failures(mut self, of: impl Fn(u32) -> Vec<Outage>) -> Self {
        let outages: Vec<_> = (0..self.metrics.len() as u32).map(of).collect();
        if outages.iter().any(|outages| !outages.is_empty()) {
            self.begun = Store::filled(outages.len(), 0);
            self.outages = outages;
        }
        self
    }

    /// Keeps books of who waited for whom, for `jobs` jobs; with `interval`, also over time.
    pub fn with_blame(mut self, jobs: u16, interval: Option<Time>) -> Self {
        self.ledger = Ledger::new(vec![0; self.metrics.len()], 1, jobs, 1, interval);
        self
    }

    /// Keeps in mind whom each single request waits for, where books are kept.
    pub fn with_losses(mut self) -> Self {
        self.tells_losses = self.ledger.is_on();
        self
    }

    /// What requests that go on have waited for whom since this was asked last, where that is kept in mind.
    pub fn take_losses(&mut self) -> Vec<RequestLoss> {
        std::mem::take(&mut self.losses)
    }

    /// The settings, if there are locks.
    #[inline]
    pub fn settings(&self) -> Option<Locks> {
        self.settings
    }

    /// `what`, of at least a byte, has arrived at `server` from a rank on `node`: its number here, which it keeps until it has
    /// [`finished`](Self::finished). The clients in `ask` are to be asked for a lock each. If nothing is in its way, it goes
    /// on at once ([`waits`](Self::waits)).
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
            since: now,
            revocations,
            blockers,
            dead: false,
            next: NIL,
        });
        bucket.holders.push::<M, _>(&mut self.holders, holder);
        *self.buckets.edit::<M>(index) = bucket;
        if revocations > 0 {
            self.metrics.edit::<M>(server).revocations += u64::from(revocations);
        }
        if self.ledger.is_on() && revocations + blockers > 0 {
            self.ledger.wait_begins::<M>(now, what.header.owner);
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

    /// A lock that request `holder` waits for has been given back by a client of job `culprit`. Whether it goes on now.
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
        self.charge_and_lose::<M>(now, holder, culprit);
        self.holders.edit::<M>(holder).revocations -= 1;
        self.granted::<M>(now, holder)
    }

    /// Lets those servers fail that have by `now`, which is the end of the run.
    pub fn fail_until(&mut self, now: Time) {
        for server in 0..self.outages.len() as u32 {
            self.fail_by::<Plain>(now, server);
        }
    }

    /// Lets `server` fail if it has by `now`; nothing has happened to its locks since.
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
            // With the first of them all is gone.
            self.forget::<M>(times[0], server);
        }
    }

    /// `server` fails: its locks are void, and its requests nobody's.
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
                let Holder { what, revocations, .. } = *self.holders.get(slot);
                if self.waits(slot) {
                    // For its own job: whoever it was that it waited for has gone with the server.
                    self.charge::<M>(now, slot, what.header.owner);
                    let cell = self.holders.edit::<M>(slot);
                    cell.blockers = 0;
                    let arrived = cell.arrived;
                    self.wait_is_over::<M>(now, server, what.header.owner, arrived);
                }
                match revocations {
                    0 => self.holders.free::<M>(slot),
                    _ => self.holders.edit::<M>(slot).dead = true,
                }
            }
            *self.buckets.edit::<M>(index) = Bucket::default();
        }
    }

    fn wait_is_over<M: Mode>(&mut self, now: Time, server: u32, owner: u16, arrived: Time) {
        if self.ledger.is_on() {
            self.ledger.wait_ends::<M>(now, owner);
        }
        self.metrics.edit::<M>(server).wait_ps += u128::from((now - arrived).0);
    }

    /// Request `holder` has ended. Those that go on now, in the order of their arrival, come to `next`.
    pub fn finished<M: Mode>(&mut self, now: Time, holder: u32, next: &mut Vec<u32>) {
        let Holder {
            range, server, what, ..
        } = *self.holders.get(holder);
        let index = Self::bucket(server, range.object);
        let mut bucket = *self.buckets.get(index);
        // Whoever came later and conflicts has counted it.
        let mut later = false;
        let mut slot = bucket.holders.head;
        while slot != NIL {
            if later && self.holders.get(slot).range.conflicts(&range) {
                self.charge_and_lose::<M>(now, slot, what.header.owner);
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

    /// The server and what is asked of it by `holder`.
    pub fn holder(&self, holder: u32) -> (u32, StorageRequest) {
        let Holder { server, what, .. } = *self.holders.get(holder);
        (server, what)
    }

    /// What was measured at each server; nothing without locks.
    pub fn metrics(&self) -> impl Iterator<Item = LockMetrics> {
        self.metrics.iter().copied()
    }

    /// Requests that wait for locks, or use them.
    pub fn live(&self) -> u32 {
        self.holders.live()
    }

    /// Who waited for whom at which server, in order of server, victim, culprit; empty unless books are kept.
    pub fn blame(&self) -> impl Iterator<Item = LockCharge> + '_ {
        self.ledger.charges().map(|charge| LockCharge {
            server: charge.line,
            victim: charge.victim,
            culprit: charge.culprit,
            time: charge.time,
        })
    }

    /// The same over time, if a time series is kept: start of the interval, victim, culprit, time.
    pub fn blame_series(&self) -> impl Iterator<Item = (Time, u16, u16, Time)> + '_ {
        let series = self.ledger.series();
        series.map(|charge| (charge.start, charge.victim, charge.culprit, charge.time))
    }

    /// Ends the books at `now`, when a run ends in the middle of requests.
    pub fn close_books(&mut self, now: Time) {
        if !self.ledger.is_on() {
            return;
        }
        for bucket in 0..self.buckets.len() as u32 {
            for slot in self.buckets.get(bucket).holders.iter(&self.holders) {
                let Holder {
                    what, server, since, ..
                } = *self.holders.get(slot);
                if self.waits(slot) && now > since {
                    self.ledger.defer_time::<Plain>(server, what.header.owner, now - since);
                }
            }
        }
    }

    /// Checks, when nothing is under way, that what was charged adds up to what was waited.
    ///
    /// # Errors
    /// Says where it does not.
    pub fn audit(&self) -> Result<(), String> {
        match self.ledger.is_on() {
            true => self.ledger.audit().map_err(|text| format!("locks: {text}")),
            false => Ok(()),
        }
    }

    /// What request `holder`, which waits, has waited since it was charged last was for job `culprit`: so long.
    fn charge<M: Mode>(&mut self, now: Time, holder: u32, culprit: u16) -> Time {
        if !self.ledger.is_on() {
            return Time::ZERO;
        }
        let cell = self.holders.edit::<M>(holder);
        let (server, owner, time) = (cell.server, cell.what.header.owner, now - cell.since);
        cell.since = now;
        self.ledger.charge_time::<M>(server, now, owner, time, (culprit, 0));
        time
    }

    /// The same of one that goes on some time, whose client waits for that.
    fn charge_and_lose<M: Mode>(&mut self, now: Time, holder: u32, culprit: u16) {
        let time = self.charge::<M>(now, holder, culprit);
        if self.tells_losses && time > Time::ZERO {
            let Holder { server, what, .. } = *self.holders.get(holder);
            self.losses.push(RequestLoss {
                header: what.header,
                server,
                culprit,
                resource: LOCK,
                device: None,
                from: now - time,
                until: now,
            });
        }
    }

    fn bucket(server: u32, object: u64) -> u32 {
        server * BUCKETS + (mix64(object) % u64::from(BUCKETS)) as u32
    }

    /// Books the wait of `holder` if it is over; whether it is.
    fn granted<M: Mode>(&mut self, now: Time, holder: u32) -> bool {
        let Holder {
            server, arrived, what, ..
        } = *self.holders.get(holder);
        let waits = self.waits(holder);
        if !waits {
            self.wait_is_over::<M>(now, server, what.header.owner, arrived);
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

/// Takes `wanted` out of `list`.
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
