//! The instrument of extent locks: revocations, and which job's requests wait for locks of which job.
//!
//! A request waits until the last lock that conflicts with it is given back and the last earlier request that conflicts has ended. Its
//! wait since the last such moment is charged to the job that has ended it.

use odonata_blame::Ledger;
use odonata_engine::{GrowableStore, Mode, Plain, Store, Time, journalled};
use serde::{Deserialize, Serialize};

use super::{LOCK, RequestLoss};
use crate::StorageRequest;

/// The lock metrics of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockMetrics {
    /// Revoked locks.
    pub revocations: u64,
    /// From arrival to grant, summed over requests, in ps.
    pub wait_ps: u128,
}

/// The time that requests of one job waited for locks of another job at one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockCharge {
    /// The server.
    pub server: u32,
    /// The job whose requests waited.
    pub victim: u16,
    /// The job whose locks or requests they waited for; `None` if the run ended before that was known.
    pub culprit: Option<u16>,
    /// The waiting time, summed over requests.
    pub time: Time,
}

/// The locks of a set of servers, as recorded.
#[derive(Debug)]
pub(crate) struct LockWaits {
    metrics: Store<LockMetrics>,
    /// A line per server.
    ledger: Ledger,
    /// The end of the charged part of the wait of each request, by its slot.
    charged: GrowableStore<Time>,
    /// Whether waits of single requests are recorded, in `losses`; these are empty between inputs.
    records_requests: bool,
    losses: Vec<RequestLoss>,
}
journalled!(LockWaits {
    metrics,
    ledger,
    charged
});

impl LockWaits {
    /// The counters of `servers` servers, without a ledger.
    pub(crate) fn new(servers: usize) -> Self {
        LockWaits {
            metrics: Store::filled(servers, LockMetrics::default()),
            ledger: Ledger::off(),
            charged: GrowableStore::new(),
            records_requests: false,
            losses: Vec::new(),
        }
    }

    /// Adds a ledger of the waits between `jobs` jobs; with `interval`, also as a time series.
    pub(crate) fn keep_ledger(&mut self, jobs: u16, interval: Option<Time>) {
        self.ledger = Ledger::new(vec![0; self.metrics.len()], 1, jobs, 1, interval);
    }

    /// Records the waits of single requests, if there is a ledger.
    pub(crate) fn record_requests(&mut self) {
        self.records_requests = self.ledger.is_on();
    }

    pub(crate) fn take_losses(&mut self) -> Vec<RequestLoss> {
        std::mem::take(&mut self.losses)
    }

    pub(crate) fn metrics(&self) -> impl Iterator<Item = LockMetrics> + use<'_> {
        self.metrics.iter().copied()
    }

    pub(crate) fn charges(&self) -> impl Iterator<Item = LockCharge> + use<'_> {
        self.ledger.charges().map(|charge| LockCharge {
            server: charge.line,
            victim: charge.victim,
            culprit: charge.culprit,
            time: charge.time,
        })
    }

    pub(crate) fn series(&self) -> impl Iterator<Item = (Time, u16, u16, Time)> + use<'_> {
        let series = self.ledger.series();
        series.map(|charge| (charge.start, charge.victim, charge.culprit, charge.time))
    }

    pub(crate) fn audit(&self) -> Result<(), String> {
        match self.ledger.is_on() {
            true => self.ledger.audit().map_err(|text| format!("locks: {text}")),
            false => Ok(()),
        }
    }

    /// So many locks of `server` are revoked.
    pub(crate) fn locks_are_revoked<M: Mode>(&mut self, server: u32, locks: u32) {
        self.metrics.edit::<M>(server).revocations += u64::from(locks);
    }

    /// Request `what`, in slot `holder`, begins to wait for its lock.
    pub(crate) fn request_waits<M: Mode>(&mut self, now: Time, holder: u32, what: &StorageRequest) {
        if self.ledger.is_on() {
            *self.charged.edit::<M>(holder as usize) = now;
            self.ledger.wait_begins::<M>(now, what.header.owner);
        }
    }

    /// Job `culprit` has given back a lock at `server` that `holder`, request `what`, waits for, or has ended an earlier request.
    pub(crate) fn lock_is_released<M: Mode>(
        &mut self,
        now: Time,
        holder: u32,
        (server, what): (u32, &StorageRequest),
        culprit: u16,
    ) {
        let time = self.charge::<M>(now, holder, (server, what), culprit);
        if self.records_requests && time > Time::ZERO {
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

    /// `server` fails while `holder`, request `what`, waits there: the holders of its locks are gone with the server.
    pub(crate) fn server_fails<M: Mode>(&mut self, now: Time, holder: u32, (server, what): (u32, &StorageRequest)) {
        self.charge::<M>(now, holder, (server, what), what.header.owner);
    }

    /// The wait of request `what` at `server`, which arrived at `arrived`, ends.
    pub(crate) fn wait_ends<M: Mode>(&mut self, now: Time, (server, what): (u32, &StorageRequest), arrived: Time) {
        if self.ledger.is_on() {
            self.ledger.wait_ends::<M>(now, what.header.owner);
        }
        self.metrics.edit::<M>(server).wait_ps += u128::from((now - arrived).0);
    }

    /// The run ends at `now`, while `holder`, request `what`, waits at `server`.
    pub(crate) fn close(&mut self, now: Time, holder: u32, (server, what): (u32, &StorageRequest)) {
        let since = self.charged.get(holder as usize);
        if self.ledger.is_on() && now > since {
            self.ledger.defer_time::<Plain>(server, what.header.owner, now - since);
        }
    }

    /// Charges the wait of `holder` since its last charge to job `culprit`. Returns its length.
    fn charge<M: Mode>(
        &mut self,
        now: Time,
        holder: u32,
        (server, what): (u32, &StorageRequest),
        culprit: u16,
    ) -> Time {
        if !self.ledger.is_on() {
            return Time::ZERO;
        }
        let charged = self.charged.edit::<M>(holder as usize);
        let time = now - *charged;
        *charged = now;
        self.ledger
            .charge_time::<M>(server, now, what.header.owner, time, (culprit, 0));
        time
    }
}
