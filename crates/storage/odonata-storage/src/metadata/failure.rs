//! Metadata servers that fail: until its return, a server answers neither the calls that it has nor new calls. Created, renamed and
//! removed files are on its disks: nothing is lost.

use std::collections::BTreeSet;

use odonata_engine::{List, Mode, NIL, Plain, Store};
use odonata_units::Time;

use super::{BUCKETS, Call, MetadataServers, Threads};
use crate::Outage;

impl MetadataServers {
    /// Adds failures: `of` returns the times when a server is away.
    pub fn with_failures(mut self, of: impl Fn(u32) -> Vec<Outage>) -> Self {
        let outages: Vec<_> = (0..self.len()).map(of).collect();
        if outages.iter().any(|outages| !outages.is_empty()) {
            self.begun = Store::filled(outages.len(), 0);
            self.outages = outages;
        }
        self
    }

    /// Applies the failures of servers until `now`, the end of the run.
    pub fn fail_until(&mut self, now: Time) {
        for server in 0..self.outages.len() as u32 {
            self.is_up::<Plain>(now, server);
        }
    }

    /// Whether `server` is up. Applies its failures until `now`.
    pub(super) fn is_up<M: Mode>(&mut self, now: Time, server: u32) -> bool {
        if self.outages.is_empty() {
            return true;
        }
        loop {
            let begun = *self.begun.get(server);
            let outages = &self.outages[server as usize];
            match outages.get(begun as usize) {
                Some(outage) if outage.from <= now => {
                    let from = outage.from;
                    *self.begun.edit::<M>(server) = begun + 1;
                    self.fail::<M>(from, server);
                }
                _ => {
                    let last = begun.checked_sub(1).map(|last| outages[last as usize]);
                    return last.is_none_or(|last| last.until <= now);
                }
            }
        }
    }

    /// `server` fails at `at`: its waiting calls are dropped, and the calls in service end without effect.
    fn fail<M: Mode>(&mut self, at: Time, server: u32) {
        let queued: BTreeSet<u32> = self.threads.get(server).queue.iter(&self.calls).collect();
        let mut waiting = queued.clone();
        let all: Vec<u32> = (self.calls.slots().into_iter())
            .filter(|&slot| self.calls.get(slot).server == server && !self.calls.get(slot).dead)
            .collect();
        // The blame must not depend on slot numbers: it goes to the least owner of the calls in service.
        let serving = |slot: &&u32| !queued.contains(slot);
        let last = all
            .iter()
            .filter(serving)
            .map(|&slot| self.calls.get(slot).what.header.owner)
            .min();
        let last = last.unwrap_or(0);
        for index in server * BUCKETS..(server + 1) * BUCKETS {
            let mut bucket = *self.buckets.get(index);
            while let Some(place) = bucket.pop(&self.directories) {
                waiting.extend(self.empty_directory::<M>(at, (server, place), last));
            }
            *self.buckets.edit::<M>(index) = List::EMPTY;
        }
        for &slot in &queued {
            let call = *self.calls.get(slot);
            self.waits.call_has_thread::<M>(at, self.observed(slot));
            self.metrics.edit::<M>(server).thread_wait_ps += u128::from((at - call.since).0);
        }
        self.waits.server_fails::<M>(at, server, last);
        for slot in all {
            match waiting.contains(&slot) {
                true => self.calls.free::<M>(slot),
                false => {
                    let call = self.calls.edit::<M>(slot);
                    (call.dead, call.directory) = (true, NIL);
                }
            }
        }
        *self.threads.edit::<M>(server) = Threads::default();
    }

    /// Frees directory `place` of `server`. Returns the calls that waited for it.
    fn empty_directory<M: Mode>(&mut self, at: Time, (server, place): (u32, u32), last: u16) -> Vec<u32> {
        let waiting: Vec<u32> = self.directories.get(place).waiting.iter(&self.calls).collect();
        self.waits.directory_fails::<M>(at, server, place, last);
        for &slot in &waiting {
            let call: Call = *self.calls.get(slot);
            self.waits.call_has_directory::<M>(at, place, self.observed(slot));
            self.metrics.edit::<M>(server).directory_wait_ps += u128::from((at - call.since).0);
        }
        self.waits.directory_ends::<M>(place);
        self.directories.free::<M>(place);
        waiting
    }
}
