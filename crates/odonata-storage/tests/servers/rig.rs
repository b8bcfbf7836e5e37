//! A driver of the servers: an event queue and a network given as a function.

use odonata_device::{DeviceModel, Rate};
use odonata_engine::{Digest, Journalled, Mode, Savepoint, Speculative};
use odonata_storage::settings::LostReads;
use odonata_storage::{Action, Actions, Drain, NewRequest, Outage, RemoveRequest, ServerParams, Servers, SyncRequest};
use odonata_units::{Bandwidth, Bytes, Time};
use std::collections::BTreeMap;

/// 1 MB, the block size: 10^6 bytes.
pub(crate) const MB: u64 = 1_000_000;

#[derive(Clone, Copy, Debug)]
enum Event {
    Request(u32, NewRequest),
    Arrived(u32, u64),
    Sent(u32),
    Begins(u32),
    Done(u32),
    Drain(u32),
    /// Piece, and whether its data are lost in the lower tier.
    Below(u32, bool),
    JobEnded(u32, u16),
    Sync(u32, SyncRequest),
    Remove(u32, RemoveRequest),
    StageIn(u32, NewRequest),
    CachesWritten(u32),
    SyncedBelow(u32),
    RemovedBelow(u32),
    DeviceFails(u32),
}

/// The first token of a removal.
const REMOVALS: u64 = 1 << 40;

/// The arrival time of a piece that is pulled or sent: (now, server, client, bytes).
pub(crate) type Network = Box<dyn FnMut(Time, u32, u32, u64) -> Time>;

/// A network with latency `delay` for every message.
pub(crate) fn delay(delay: Time) -> Network {
    Box::new(move |now, _, _, _| now + delay)
}

/// Drives the servers to the end and records their actions.
pub(crate) struct Rig {
    pub(crate) servers: Servers,
    network: Network,
    events: BTreeMap<(Time, u64), Event>,
    sequence: u64,
    actions: Actions,
    pub(crate) now: Time,
    /// Responses: (time, token, bytes).
    pub(crate) answers: Vec<(Time, u64, u64)>,
    /// Answer times and numbers of removals.
    pub(crate) removals: Vec<(Time, u64)>,
    /// Tokens of rejected requests.
    pub(crate) impossible: Vec<u64>,
    /// Tokens of reads of bytes that were never written.
    pub(crate) unwritten: Vec<u64>,
    /// Tokens of requests whose device has failed.
    pub(crate) given_up: Vec<u64>,
    /// Rejected reads of lost bytes: (offset, bytes).
    pub(crate) lost: Vec<(u64, u64)>,
    /// Tokens of reads that were notified of lost bytes.
    pub(crate) told: Vec<u64>,
    /// Whether the lower tier has lost all data of reads with notification; otherwise it has all data that its server
    /// had.
    pub(crate) lost_below: bool,
    /// Requests to the lower tier: (time, whether it writes, object, offset, bytes).
    pub(crate) below: Vec<(Time, bool, u64, u64, u64)>,
    /// Pieces pulled or pushed and still in flight, by token.
    pub(crate) outstanding: BTreeMap<u64, u32>,
    /// The maximum of these at any time.
    pub(crate) most_outstanding: u32,
    /// Bytes pulled or pushed, by token.
    pub(crate) moved: BTreeMap<u64, u64>,
    tokens: BTreeMap<u32, u64>,
}

impl Rig {
    pub(crate) fn new(params: Vec<ServerParams>, network: Network) -> Self {
        Rig {
            servers: Servers::new(params)
                .unwrap()
                .shared_by(&[3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
                .in_tiers(2, 8)
                .staging_out(&[false, false, false, false, false, true, false, false])
                .with_blame(8, None)
                .with_occupancy(Time::from_ns(7_000_000), 5),
            network,
            events: BTreeMap::new(),
            sequence: 0,
            actions: Actions::new(),
            now: Time::ZERO,
            answers: Vec::new(),
            removals: Vec::new(),
            impossible: Vec::new(),
            unwritten: Vec::new(),
            given_up: Vec::new(),
            lost: Vec::new(),
            told: Vec::new(),
            lost_below: false,
            below: Vec::new(),
            outstanding: BTreeMap::new(),
            most_outstanding: 0,
            moved: BTreeMap::new(),
            tokens: BTreeMap::new(),
        }
    }

    /// Lets servers fail.
    pub(crate) fn failing(mut self, of: impl Fn(u32) -> Vec<Outage>, lost_reads: LostReads) -> Rig {
        self.servers = self.servers.with_failures(of, 8, lost_reads);
        self
    }

    /// Lets devices fail; call after [`failing`](Self::failing).
    pub(crate) fn failing_devices(mut self, of: impl Fn(u32, u32) -> Vec<Outage>) -> Rig {
        self.servers = self.servers.with_device_failures(of);
        let times: Vec<_> = self.servers.device_failure_times().collect();
        for (server, _, at) in times {
            self.schedule(at, Event::DeviceFails(server));
        }
        self
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.events.insert((at, self.sequence), event);
        self.sequence += 1;
    }

    pub(crate) fn request(&mut self, at: Time, server: u32, what: NewRequest) {
        self.schedule(at, Event::Request(server, what));
    }

    /// Notifies `server` at `at` of the end of `job`.
    pub(crate) fn job_ends(&mut self, at: Time, server: u32, job: u16) {
        self.schedule(at, Event::JobEnded(server, job));
    }

    /// Stages `what` in to `server` from the lower tier.
    pub(crate) fn stage_in(&mut self, at: Time, server: u32, what: NewRequest) {
        self.schedule(at, Event::StageIn(server, what));
    }

    /// A synchronization of `file` arrives at `server`.
    pub(crate) fn sync(&mut self, at: Time, server: u32, name: (u64, u64), below: bool) {
        self.sync_of(0, at, server, name, below);
    }

    /// A synchronization by job `owner`.
    pub(crate) fn sync_of(&mut self, owner: u16, at: Time, server: u32, (token, file): (u64, u64), below: bool) {
        let what = SyncRequest {
            client: token as u32,
            token,
            owner,
            file,
            below,
        };
        self.schedule(at, Event::Sync(server, what));
    }

    /// Removal number `number`, of `file`, arrives at `server`.
    pub(crate) fn remove(&mut self, at: Time, server: u32, (number, file): (u64, u64)) {
        let what = RemoveRequest {
            client: number as u32,
            token: REMOVALS + number,
            owner: 0,
            file,
        };
        self.schedule(at, Event::Remove(server, what));
    }

    fn input<M: Mode>(servers: &mut Servers, now: Time, event: Event, actions: &mut Actions) {
        match event {
            Event::Request(server, what) => servers.request::<M>(now, server, what, actions),
            Event::Arrived(slot, bytes) => servers.piece_arrived::<M>(now, slot, bytes, actions),
            Event::Sent(slot) => servers.piece_sent::<M>(now, slot, actions),
            Event::Begins(slot) => servers.device_begins::<M>(now, slot),
            Event::Done(slot) => servers.device_done::<M>(now, slot, actions),
            Event::Drain(server) => servers.drain_done::<M>(now, server, actions),
            Event::Below(slot, lost) => servers.below_done::<M>(now, slot, lost, actions),
            Event::JobEnded(server, job) => servers.job_ended::<M>(now, server, job, actions),
            Event::StageIn(server, what) => servers.stage_in::<M>(now, server, what, actions),
            Event::Sync(server, what) => servers.sync::<M>(now, server, what, actions),
            Event::Remove(server, what) => servers.remove::<M>(now, server, what, actions),
            Event::RemovedBelow(slot) => servers.removed_below::<M>(now, slot, actions),
            Event::CachesWritten(slot) => servers.caches_written::<M>(now, slot, actions),
            Event::DeviceFails(server) => servers.device_fails::<M>(now, server, actions),
            Event::SyncedBelow(slot) => servers.synced_below::<M>(now, slot, actions),
        }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Pull {
                server,
                slot,
                client,
                token,
                bytes,
                ..
            }
            | Action::Push {
                server,
                slot,
                client,
                token,
                bytes,
                ..
            } => {
                let at = (self.network)(self.now, server, client, bytes);
                let outstanding = self.outstanding.entry(token).or_default();
                *outstanding += 1;
                self.most_outstanding = self.most_outstanding.max(*outstanding);
                *self.moved.entry(token).or_default() += bytes;
                self.tokens.insert(slot, token);
                let pull = matches!(action, Action::Pull { .. });
                self.schedule(
                    at,
                    if pull {
                        Event::Arrived(slot, bytes)
                    } else {
                        Event::Sent(slot)
                    },
                );
            }
            Action::DeviceBegins { slot, at, .. } => {
                assert!(at > self.now);
                self.schedule(at, Event::Begins(slot));
            }
            Action::DeviceDone { slot, at, .. } => {
                assert!(at > self.now);
                self.schedule(at, Event::Done(slot));
            }
            Action::DrainUntil { server, at } => {
                assert!(at > self.now);
                self.schedule(at, Event::Drain(server));
            }
            Action::Below {
                server,
                slot,
                write,
                told,
                elsewhere,
                object,
                offset,
                bytes,
                ..
            } => {
                self.below.push((self.now, write, object, offset, bytes));
                // No client.
                let at = (self.network)(self.now, server, u32::MAX, bytes);
                self.schedule(
                    at.max(self.now + Time::from_ps(1)),
                    Event::Below(slot, told && (elsewhere || self.lost_below)),
                );
            }
            Action::CachesWritten { slot, at, .. } => {
                assert!(at > self.now);
                self.schedule(at, Event::CachesWritten(slot));
            }
            Action::SyncBelow { server, slot, .. } => {
                let at = (self.network)(self.now, server, u32::MAX, 0);
                self.schedule(at.max(self.now + Time::from_ps(1)), Event::SyncedBelow(slot));
            }
            Action::RemoveBelow { server, slot, .. } => {
                let at = (self.network)(self.now, server, u32::MAX, 0);
                self.schedule(at.max(self.now + Time::from_ps(1)), Event::RemovedBelow(slot));
            }
            Action::Respond { token, .. } if token >= REMOVALS => self.removals.push((self.now, token - REMOVALS)),
            Action::Respond { token, bytes, lost, .. } => {
                self.answers.push((self.now, token, bytes));
                self.told.extend(lost.then_some(token));
            }
            Action::Impossible { token, .. } => self.impossible.push(token),
            Action::Unwritten { token, .. } => self.unwritten.push(token),
            Action::GivenUp { token, .. } => self.given_up.push(token),
            Action::Lost { offset, bytes, .. } => self.lost.push((offset, bytes)),
        }
    }

    /// Handles the next event in mode `M`, and checks invariants; `false` if there is none.
    pub(crate) fn step<M: Mode>(&mut self) -> bool {
        let Some(((now, _), event)) = self.events.pop_first() else {
            return false;
        };
        self.now = now;
        if let Event::Arrived(slot, _) | Event::Sent(slot) = event {
            *self.outstanding.get_mut(&self.tokens[&slot]).unwrap() -= 1;
        }
        let mut actions = std::mem::take(&mut self.actions);
        Self::input::<M>(&mut self.servers, now, event, &mut actions);
        for action in actions.drain(..) {
            self.perform(action);
        }
        self.actions = actions;
        for server in 0..self.servers.len() {
            assert!(self.servers.memory_in_use(server) <= self.servers.params(server).manager.memory.0);
            assert!(self.servers.used(server) <= self.servers.params(server).capacity());
        }
        true
    }

    /// Handles all events.
    pub(crate) fn run<M: Mode>(&mut self) -> &mut Self {
        while self.step::<M>() {}
        self
    }

    /// Handles the next event, undoes it and handles it again, comparing the states; `false` if there is none.
    pub(crate) fn rehearse(&mut self) -> bool {
        let Some((&(now, _), &event)) = self.events.first_key_value() else {
            return false;
        };
        let before = self.fingerprint();
        self.servers.commit();
        Savepoint(0).begin();
        let mut first = Actions::new();
        Self::input::<Speculative>(&mut self.servers, now, event, &mut first);
        let after = self.fingerprint();
        self.servers.undo(Savepoint(0));
        assert_eq!(self.fingerprint(), before, "undo of {event:?} at {now:?}");
        let mut second = Actions::new();
        Self::input::<Speculative>(&mut self.servers, now, event, &mut second);
        assert_eq!(first, second, "redo of {event:?} at {now:?}");
        assert_eq!(self.fingerprint(), after, "redo of {event:?} at {now:?}");
        self.servers.undo(Savepoint(0));
        self.step::<Speculative>()
    }

    pub(crate) fn fingerprint(&self) -> u128 {
        let mut digest = Digest::new();
        self.servers.fingerprint(&mut digest);
        digest.value()
    }

    pub(crate) fn results(&self) -> u128 {
        let mut digest = Digest::new();
        self.servers.results(&mut digest);
        digest.text(&format!("{:?} {:?}", self.answers, self.removals));
        digest.value()
    }
}

/// The burst buffer of the MFNetSim study: 5,700 MiB/s, 20 us per access, 2.5 ms per seek, 6.4 TB, 64 GB.
pub(crate) fn burst_buffer() -> ServerParams {
    let rate = Bandwidth(5_700.0 * 1_048_576.0);
    let device = Rate {
        read: rate,
        write: rate,
        overhead: Time::from_ns(20_000),
        seek: Time::from_ns(2_500_000),
        seek_window: Bytes(512),
    };
    ServerParams::new(DeviceModel::Rate(device), 6_400_000 * MB, 64_000 * MB)
}

/// A device with 1 ns per byte and no other cost: 1 ms per piece of 1 MB.
pub(crate) fn plain_device(capacity: u64, memory: u64) -> ServerParams {
    let rate = Bandwidth(1e9);
    let device = Rate {
        read: rate,
        write: rate,
        overhead: Time::ZERO,
        seek: Time::ZERO,
        seek_window: Bytes(0),
    };
    ServerParams::new(DeviceModel::Rate(device), capacity, memory)
}

/// A drain of `per_mb` per MB.
pub(crate) fn drain(per_mb: Time, threshold: u64) -> Drain {
    Drain {
        bandwidth: Bandwidth(MB as f64 / per_mb.seconds()),
        latency: Time::ZERO,
        threshold: Bytes(threshold),
    }
}

/// `n` milliseconds.
pub(crate) const fn ms(n: u64) -> Time {
    Time::from_ns(n * 1_000_000)
}

/// A request by client `token` for file `token`, from its first byte.
pub(crate) fn transfer(write: bool, token: u64, bytes: u64) -> NewRequest {
    NewRequest {
        write,
        client: token as u32,
        token,
        file: token,
        offset: 0,
        bytes,
        owner: 0,
        elsewhere: false,
        told: false,
    }
}

/// Allows `pieces_in_flight` pieces of a request in flight.
pub(crate) fn pipelined(pieces_in_flight: u32, mut params: ServerParams) -> ServerParams {
    params.manager.pieces_in_flight = pieces_in_flight;
    params
}
