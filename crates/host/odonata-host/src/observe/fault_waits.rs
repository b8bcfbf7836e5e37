//! Blame of faults: waits of clients for a server that is away.
//!
//! An attempt that timed out is charged to the fault if the server, or one of its devices, was away in its time: from the later of
//! sending and failure until the next attempt goes or the client gives the server up. Earlier waits at the server are in its own
//! ledger. An attempt that timed out at a server that is there is not charged: the server was slow. The victim is the job of the
//! request; clients are ranks and servers of the upper tier.

use crate::context::Uses;
use odonata_blame::Ledger;
use odonata_engine::Time;
use odonata_storage::{FAULT, METADATA_FAULT, Outage, ServerCharge, ServerWaitSeries};

use crate::io::facts::IoObserver;
use crate::observe::Observer;
use crate::params::{LedgerParams, ServerOutage};

/// The resources waited for, by cause.
const RESOURCES: [u8; 2] = [FAULT, METADATA_FAULT];

/// The ledger of the clients of a part; off without a ledger or without outages.
#[derive(Debug)]
pub(crate) struct FaultWaits {
    /// Per server, in order.
    outages: Vec<Vec<Outage>>,
    /// The first metadata server.
    first_metadata: u32,
    /// A line per server; the culprit is without meaning.
    ledger: Ledger,
}
odonata_engine::journalled!(FaultWaits { ledger });

impl FaultWaits {
    /// Of `servers` servers; `tiers` says in which place of a time series each is, of so many.
    pub(crate) fn new(
        (servers, first_metadata): (u32, u32),
        outages: &[ServerOutage],
        params: Option<LedgerParams>,
        tiers: (&[u8], u8),
    ) -> Self {
        let Some(LedgerParams { jobs, interval }) = params.filter(|_| !outages.is_empty()) else {
            return FaultWaits {
                outages: Vec::new(),
                first_metadata,
                ledger: Ledger::off(),
            };
        };
        let mut of_servers = vec![Vec::new(); servers as usize];
        for outage in outages {
            of_servers[outage.server as usize].push(outage.outage);
        }
        for outages in &mut of_servers {
            outages.sort_by_key(|outage: &Outage| outage.from);
        }
        FaultWaits {
            outages: of_servers,
            first_metadata,
            ledger: Ledger::new(tiers.0.to_vec(), tiers.1, jobs, 2, interval),
        }
    }

    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.ledger.is_on()
    }

    /// The charges, by server.
    pub(crate) fn blame(&self) -> impl Iterator<Item = ServerCharge> {
        self.ledger.charges().map(|charge| ServerCharge {
            server: charge.line,
            resource: RESOURCES[usize::from(charge.cause)],
            victim: charge.victim,
            culprit: None,
            time: charge.time,
        })
    }

    /// The same over time.
    pub(crate) fn blame_series(&self) -> impl Iterator<Item = ServerWaitSeries> {
        self.ledger.series().map(|charge| ServerWaitSeries {
            start: charge.start,
            tier: charge.place,
            resource: RESOURCES[usize::from(charge.cause)],
            victim: charge.victim,
            culprit: 0,
            time: charge.time,
        })
    }

    /// Checks that what was charged adds up to what was waited.
    ///
    /// # Errors
    /// Says where it does not.
    pub(crate) fn audit(&self) -> Result<(), String> {
        match self.ledger.is_on() {
            true => self.ledger.audit().map_err(|text| format!("faults: {text}")),
            false => Ok(()),
        }
    }
}

impl Observer for FaultWaits {}

impl IoObserver for FaultWaits {
    fn attempt_times_out<M: Uses>(&mut self, server: u32, owner: u16, (sent, now, next): (Time, Time, Time)) {
        if !self.ledger.is_on() {
            return;
        }
        let mut outages = self.outages[server as usize].iter();
        let Some(outage) = outages.find(|outage| outage.from < now && sent < outage.until) else {
            return;
        };
        let from = outage.from.max(sent);
        self.ledger.wait_begins::<M>(from, owner);
        let of_metadata = server >= self.first_metadata;
        self.ledger
            .charge_time::<M>(server, now, owner, next - from, (0, of_metadata.into()));
        self.ledger.wait_ends::<M>(next, owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    #[test]
    fn an_attempt_at_a_server_that_is_away_is_charged() {
        let ns = Time::from_ns;
        let outage = |from, until| ServerOutage {
            server: 1,
            device: None,
            outage: Outage {
                from: ns(from),
                until: ns(until),
            },
        };
        let ledger = LedgerParams {
            jobs: 2,
            interval: None,
        };
        let all = [outage(500, 600), outage(100, 200)];
        let mut waits = FaultWaits::new((2, 2), &all, Some(ledger), (&[0, 0], 1));
        waits.attempt_times_out::<Plain>(1, 0, (ns(0), ns(90), ns(95)));
        waits.attempt_times_out::<Plain>(0, 0, (ns(100), ns(190), ns(195)));
        assert_eq!(waits.blame().count(), 0, "it was there, or it was another");
        waits.attempt_times_out::<Plain>(1, 0, (ns(80), ns(140), ns(150)));
        waits.attempt_times_out::<Plain>(1, 0, (ns(150), ns(210), ns(230)));
        waits.attempt_times_out::<Plain>(1, 1, (ns(590), ns(650), ns(650)));
        let charged: Vec<_> = waits.blame().map(|c| (c.server, c.victim, c.time)).collect();
        assert_eq!(charged, [(1, 0, ns(50 + 80)), (1, 1, ns(60))]);
        waits.audit().unwrap();
    }
}
