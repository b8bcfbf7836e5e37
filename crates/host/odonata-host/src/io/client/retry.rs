//! Timeouts, retries and re-routing of a client (`storage.client`).
//!
//! ```text
//!   part -> attempt 0 --timeout--> attempt 1 ------timeout--> attempt 2 -- ... --> all in vain: Unanswered, or the next server
//!                       + backoff             + 2 backoff
//! ```
//!
//! A part is *watched* if its server may fail: for ranks every storage server, and every metadata server if one of those fails; for
//! servers those from the first lower tier on in which one fails. A client that re-routes (`on_failure = "re-route"`) goes to the
//! next server of the same group, which is a tier or all metadata servers, and remembers the failed one.

use std::ops::Range;

use odonata_engine::{Mode, NIL, Time};
use odonata_storage::settings::{Client as Settings, OnFailure};
use odonata_storage::{ClientId, Requester};
use odonata_units::mix64;

use super::{Client, Effect, Effects, NewRequest, RequestPart, Timer};

/// What a client does where no answer comes, and to which servers it can go.
#[derive(Clone, Debug)]
pub(crate) struct RetryRules {
    /// Timeouts and retries; `None`: clients wait without limit.
    pub(crate) settings: Option<Settings>,
    /// Jobs, and servers with counters of their own, of the machine.
    pub(crate) jobs: u32,
    pub(crate) counted_servers: u32,
    /// Servers that can stand in for each other, in ascending order; the last group are the metadata servers.
    pub(crate) groups: Vec<Range<u32>>,
    pub(crate) first_metadata: u32,
    /// Whether a metadata server fails.
    pub(crate) metadata_fails: bool,
    /// The first server that other servers watch, or [`NIL`].
    pub(crate) watched_by_servers: u32,
    /// Whether objects have a name per server, so that a rank's object has the same name on every server.
    pub(crate) tiered: bool,
}

/// A part of a request whose attempts have timeouts.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct WatchedPart {
    request: u32,
    part: RequestPart,
    /// The server that is asked, and attempts there that were in vain.
    server: u32,
    in_vain: u32,
    /// When the last attempt was sent.
    sent: Time,
    next: u32,
}
odonata_engine::slots!(WatchedPart);

/// Requests that clients had to repeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RetryCounts {
    /// Attempts without an answer in time.
    pub timeouts: u64,
    /// Requests that were sent again to the same server.
    pub retries: u64,
    /// Bytes of requests that went to another server.
    pub rerouted: u64,
}

impl RetryCounts {
    /// Adds `other`.
    pub fn absorb(&mut self, other: &RetryCounts) {
        self.timeouts += other.timeouts;
        self.retries += other.retries;
        self.rerouted += other.rerouted;
    }
}

/// The name that another server has for what is `object` on `home`, where objects are named per server.
fn object_of(object: u64, home: u32) -> u64 {
    mix64(object ^ mix64(!u64::from(home))).min(u64::MAX - 1)
}

impl RetryRules {
    /// Counters to keep: one per job, then one per server.
    pub(super) fn counters(&self) -> usize {
        match self.settings {
            Some(_) => (self.jobs + self.counted_servers) as usize,
            None => 0,
        }
    }

    /// Whether `client` watches its requests to `server`.
    #[inline]
    pub(super) fn watches(&self, client: ClientId, server: u32) -> bool {
        self.settings.is_some()
            && match client.requester() {
                Requester::Rank(_) => server < self.first_metadata || self.metadata_fails,
                Requester::Server(_) => server >= self.watched_by_servers,
            }
    }

    /// The servers that can stand in for `server`.
    fn group(&self, server: u32) -> Range<u32> {
        let group = self.groups.partition_point(|group| group.end <= server);
        self.groups.get(group).cloned().unwrap_or(server..server + 1)
    }

    /// Whether an object of `home` has another name on a server that stands in for it.
    fn renames(&self, client: ClientId, home: u32) -> bool {
        match client.requester() {
            Requester::Rank(_) => home < self.first_metadata && !self.tiered,
            Requester::Server(_) => true,
        }
    }
}

impl Client {
    /// Whether servers watch their requests to some lower tier.
    pub(crate) fn watches_lower_tiers(&self) -> bool {
        self.rules.watched_by_servers != NIL
    }

    /// Requests that were repeated, by job and by server.
    pub(crate) fn counts(&self) -> (Vec<RetryCounts>, Vec<RetryCounts>) {
        let all: Vec<RetryCounts> = self.counts.iter().copied().collect();
        let (jobs, servers) = all.split_at(all.len().min(self.rules.jobs as usize));
        (jobs.to_vec(), servers.to_vec())
    }

    /// Begins a watched part of `request`.
    pub(super) fn watch<M: Mode>(&mut self, now: Time, request: u32, part: RequestPart, effects: &mut Effects) {
        let watched = self.watched.allocate::<M>(WatchedPart {
            request,
            part,
            server: part.server,
            in_vain: 0,
            sent: now,
            next: NIL,
        });
        self.attempt::<M>(now, watched, effects);
    }

    /// Handles `timer`, which is due now.
    pub(crate) fn wake<M: Mode>(&mut self, now: Time, timer: Timer, effects: &mut Effects) {
        match timer {
            Timer::Timeout { attempt } => self.timed_out::<M>(now, attempt, effects),
            Timer::Retry { part } => self.attempt::<M>(now, part, effects),
        }
    }

    /// Sends watched part `slot` to its server, or to the next one where that has failed as far as the client knows.
    fn attempt<M: Mode>(&mut self, now: Time, slot: u32, effects: &mut Effects) {
        let Some(Settings { timeout, .. }) = self.rules.settings else {
            return;
        };
        let WatchedPart {
            request,
            mut part,
            server,
            ..
        } = *self.watched.get(slot);
        let NewRequest { client, owner, .. } = self.requests.get(request).what;
        let home = part.server;
        let Some(live) = self.failed.first_live(client, home, self.rules.group(home)) else {
            self.unanswered(slot, effects);
            return;
        };
        let cell = self.watched.edit::<M>(slot);
        cell.sent = now;
        if live != server {
            (cell.server, cell.in_vain) = (live, 0);
            let counts = RetryCounts {
                rerouted: part.bytes,
                ..RetryCounts::default()
            };
            self.count::<M>(owner, home, counts);
        }
        if live != home && self.rules.renames(client, home) {
            part.object = object_of(part.object, home);
        }
        part.server = live;
        let attempt = self.send::<M>(request, slot, part, live != home, effects);
        effects.push(Effect::Wake {
            client,
            at: now + timeout,
            timer: Timer::Timeout { attempt },
        });
    }

    /// The time of `attempt` is over: gives it up, unless it has ended.
    fn timed_out<M: Mode>(&mut self, now: Time, attempt: u32, effects: &mut Effects) {
        if self.has_ended(attempt) {
            self.attempts.free::<M>(attempt);
            return;
        }
        let cell = self.attempts.edit::<M>(attempt);
        (cell.request, cell.has_timer) = (NIL, false);
        let slot = cell.watched;
        let Some(settings) = self.rules.settings else { return };
        let cell = self.watched.edit::<M>(slot);
        cell.in_vain += 1;
        let WatchedPart {
            request,
            server,
            in_vain,
            sent,
            ..
        } = *cell;
        let cell = self.requests.edit::<M>(request);
        cell.timeouts += 1;
        let NewRequest { client, owner, .. } = cell.what;
        let again = in_vain <= settings.retries;
        let counts = RetryCounts {
            timeouts: 1,
            retries: again.into(),
            rerouted: 0,
        };
        self.count::<M>(owner, server, counts);
        let wait = match again {
            true => settings.backoff_after(in_vain - 1),
            false => Time::ZERO,
        };
        effects.push(Effect::TimedOut {
            server,
            owner,
            sent,
            next: now + wait,
        });
        match settings.on_failure {
            _ if again && wait > Time::ZERO => effects.push(Effect::Wake {
                client,
                at: now + wait,
                timer: Timer::Retry { part: slot },
            }),
            _ if again => self.attempt::<M>(now, slot, effects),
            OnFailure::ReRoute => {
                self.failed.add::<M>(client, server);
                self.attempt::<M>(now, slot, effects);
            }
            OnFailure::Error => self.unanswered(slot, effects),
        }
    }

    fn count<M: Mode>(&mut self, owner: u16, server: u32, counts: RetryCounts) {
        self.counts.edit::<M>(u32::from(owner)).absorb(&counts);
        self.counts.edit::<M>(self.rules.jobs + server).absorb(&counts);
    }

    /// No server answers watched part `slot`.
    fn unanswered(&self, slot: u32, effects: &mut Effects) {
        let WatchedPart { request, server, .. } = *self.watched.get(slot);
        let NewRequest {
            client,
            operation,
            since,
            ..
        } = self.requests.get(request).what;
        effects.push(Effect::Unanswered {
            client,
            server,
            operation,
            since,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_two_servers_have_two_names_on_a_third() {
        let names: std::collections::BTreeSet<u64> = (0..10)
            .flat_map(|object| (0..4).map(move |home| object_of(object, home)))
            .collect();
        assert_eq!(names.len(), 40);
    }
}
