//! A caller for the servers: an event queue and a network that is a function.

use odonata_device::{DeviceModel, Rate};
use odonata_engine::{Digest, Journalled, Mode, Plain, Savepoint, Speculative};
use odonata_storage::settings::LostReads;
use odonata_storage::{
    Action, Actions, ClientId, Drain, Origin, Outage, Place, RequestHeader, Requester, ServerParams, Servers,
    ServersBuilder, StorageOperation, StorageRequest,
};
use odonata_units::{Bandwidth, Bytes, Time};
use std::collections::BTreeMap;

/// MB as the block has it: 10^6 bytes.
pub(crate) const MB: u64 = 1_000_000;

#[derive(Clone, Copy, Debug)]
enum Event {
    Request(u32, StorageRequest),
    Arrived(u32, u64),
    Sent(u32),
    Begins(u32),
    Done(u32),
    Drain(u32),
    /// What was asked for, and whether it is lost in the lower tier.
    LowerTier(Origin, bool),
    JobEnded(u32, u16),
    CachesWritten(u32),
    DeviceFails(u32),
}

/// The first token of a removal.
const REMOVALS: u32 = 1 << 30;

/// The number of the client of requests to the lower tier.
pub(crate) const LOWER_TIER: u32 = u32::MAX;

/// When a piece that is asked for, or sent, at a time arrives: (now, server, client, bytes).
pub(crate) type Network = Box<dyn FnMut(Time, u32, u32, u64) -> Time>;

/// A network in which everything takes `delay`.
pub(crate) fn delay(delay: Time) -> Network {
    Box::new(move |now, _, _, _| now + delay)
}

/// A network without latency, and a lower tier that takes `time`.
pub(crate) fn slow_lower_tier(time: Time) -> Network {
    Box::new(move |now, _, client, _| if client == LOWER_TIER { now + time } else { now })
}

/// Drives the servers to the end and watches them.
pub(crate) struct Rig {
    pub(crate) servers: Servers,
    network: Network,
    events: BTreeMap<(Time, u64), Event>,
    sequence: u64,
    actions: Actions,
    pub(crate) now: Time,
    /// Responses: (when, token, bytes).
    pub(crate) answers: Vec<(Time, u64, u64)>,
    /// When removals were answered, and their numbers.
    pub(crate) removals: Vec<(Time, u64)>,
    /// Tokens of requests that were refused.
    pub(crate) impossible: Vec<u64>,
    /// Tokens of reads of unwritten bytes.
    pub(crate) unwritten: Vec<u64>,
    /// Tokens of requests whose device has failed.
    pub(crate) given_up: Vec<u64>,
    /// Reads of lost bytes that were refused: (offset, bytes).
    pub(crate) lost: Vec<(u64, u64)>,
    /// Tokens of reads whose answers reported lost bytes.
    pub(crate) reported: Vec<u64>,
    /// Whether the lower tier has lost the bytes of redirected reads; otherwise it has the bytes of its server.
    pub(crate) lost_in_lower_tier: bool,
    /// What was asked of the lower tier: (when, whether it writes, object, offset, bytes).
    pub(crate) lower_tier: Vec<(Time, bool, u64, u64, u64)>,
    /// Pieces pulled or pushed and not yet arrived, by token, now.
    pub(crate) outstanding: BTreeMap<u64, u32>,
    /// The largest of those at any time.
    pub(crate) most_outstanding: u32,
    /// Bytes pulled or pushed, by token.
    pub(crate) moved: BTreeMap<u64, u64>,
    tokens: BTreeMap<u32, u64>,
}

impl Rig {
    pub(crate) fn new(params: Vec<ServerParams>, network: Network) -> Self {
        Rig {
            servers: ServersBuilder::new(params)
                .unwrap()
                .shared_by(&[3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
                .in_tiers(2, 8)
                .staging_out(&[false, false, false, false, false, true, false, false])
                .with_blame(8, None, false)
                .with_occupancy(Time::from_ns(7_000_000), 5)
                .build(),
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
            reported: Vec::new(),
            lost_in_lower_tier: false,
            lower_tier: Vec::new(),
            outstanding: BTreeMap::new(),
            most_outstanding: 0,
            moved: BTreeMap::new(),
            tokens: BTreeMap::new(),
        }
    }

    /// The same with servers that fail.
    pub(crate) fn failing(mut self, of: impl Fn(u32) -> Vec<Outage>, lost_reads: LostReads) -> Rig {
        let servers = ServersBuilder::from(self.servers);
        self.servers = servers.with_failures(of, 8, lost_reads).build();
        self
    }

    /// The same with devices that fail; behind [`failing`](Self::failing).
    pub(crate) fn failing_devices(mut self, of: impl Fn(u32, u32) -> Vec<Outage>) -> Rig {
        let servers = ServersBuilder::from(self.servers);
        self.servers = servers.with_device_failures(of).build();
        let times: Vec<_> = self.servers.measured().device_failure_times().collect();
        for (server, _, at) in times {
            self.schedule(at, Event::DeviceFails(server));
        }
        self
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.events.insert((at, self.sequence), event);
        self.sequence += 1;
    }

    pub(crate) fn request(&mut self, at: Time, server: u32, what: StorageRequest) {
        self.schedule(at, Event::Request(server, what));
    }

    /// Tells `server` that `job` has ended.
    pub(crate) fn job_ends(&mut self, at: Time, server: u32, job: u16) {
        self.schedule(at, Event::JobEnded(server, job));
    }

    /// `what` shall be brought to `server` from the lower tier.
    pub(crate) fn stage_in(&mut self, at: Time, server: u32, what: StorageRequest) {
        let what = StorageRequest {
            operation: StorageOperation::Stage,
            ..what
        };
        self.schedule(at, Event::Request(server, what));
    }

    /// A synchronization of `file` arrives at `server`.
    pub(crate) fn sync(&mut self, at: Time, server: u32, name: (u64, u64), to_last_tier: bool) {
        self.sync_of(0, at, server, name, to_last_tier);
    }

    /// The same, which job `owner` asks for.
    pub(crate) fn sync_of(&mut self, owner: u16, at: Time, server: u32, (token, file): (u64, u64), to_last_tier: bool) {
        let what = StorageRequest {
            header: header(token, owner),
            operation: StorageOperation::Sync { to_last_tier },
            object: file,
            offset: 0,
            bytes: 0,
        };
        self.schedule(at, Event::Request(server, what));
    }

    /// Removal number `number`, of `file`, arrives at `server`.
    pub(crate) fn remove(&mut self, at: Time, server: u32, (number, file): (u64, u64)) {
        let token = REMOVALS + number as u32;
        let client = ClientId::from(Requester::Rank(number as u32));
        let what = removal(
            RequestHeader {
                client,
                token,
                owner: 0,
            },
            file,
        );
        self.schedule(at, Event::Request(server, what));
    }

    fn input<M: Mode>(servers: &mut Servers, now: Time, event: Event, actions: &mut Actions) {
        match event {
            Event::Request(server, what) => servers.request::<M>(now, server, (what, None), actions),
            Event::Arrived(slot, bytes) => servers.piece_arrived::<M>(now, slot, bytes, actions),
            Event::Sent(slot) => servers.piece_sent::<M>(now, slot, actions),
            Event::Begins(slot) => servers.device_begins::<M>(now, slot),
            Event::Done(slot) => servers.device_done::<M>(now, slot, actions),
            Event::Drain(server) => servers.drain_done::<M>(now, server, actions),
            Event::LowerTier(origin, lost) => servers.lower_tier_answered::<M>(now, origin, lost, actions),
            Event::JobEnded(server, job) => servers.job_ended::<M>(now, server, job, actions),
            Event::CachesWritten(slot) => servers.caches_written::<M>(now, slot, actions),
            Event::DeviceFails(server) => servers.device_fails::<M>(now, server, actions),
        }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Pull {
                server,
                slot,
                header,
                bytes,
            }
            | Action::Push {
                server,
                slot,
                header,
                bytes,
            } => {
                let token = u64::from(header.token);
                let at = (self.network)(self.now, server, header.client.number(), bytes);
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
            Action::AskLowerTier {
                server,
                origin,
                operation,
                object,
                offset,
                bytes,
                ..
            } => {
                if let Origin::Piece(_) = origin {
                    self.lower_tier
                        .push((self.now, operation.is_write(), object, offset, bytes));
                }
                let at = (self.network)(self.now, server, LOWER_TIER, bytes);
                let lost = operation.tolerates_loss() && (operation.is_rerouted() || self.lost_in_lower_tier);
                self.schedule(at.max(self.now + Time::from_ps(1)), Event::LowerTier(origin, lost));
            }
            Action::CachesWritten { slot, at, .. } => {
                assert!(at > self.now);
                self.schedule(at, Event::CachesWritten(slot));
            }
            Action::Respond { header, .. } if header.token >= REMOVALS => {
                self.removals.push((self.now, (header.token - REMOVALS).into()));
            }
            Action::Respond {
                header, bytes, lost, ..
            } => {
                let token = u64::from(header.token);
                self.answers.push((self.now, token, bytes));
                self.reported.extend(lost.then_some(token));
            }
            Action::Impossible { header, .. } => self.impossible.push(header.token.into()),
            Action::Unwritten { header, .. } => self.unwritten.push(header.token.into()),
            Action::GivenUp { header, .. } => self.given_up.push(header.token.into()),
            Action::Lost { offset, bytes, .. } => self.lost.push((offset, bytes)),
        }
    }

    /// Handles the next event in mode `M`; `false` if there is none. Checks what must hold at any time.
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
        for server in 0..self.servers.measured().len() {
            assert!(
                self.servers.measured().memory_in_use(server)
                    <= self.servers.measured().params(server).manager.memory.0
            );
            assert!(self.servers.measured().used(server) <= self.servers.measured().params(server).capacity());
        }
        true
    }

    /// Handles every event to the end.
    pub(crate) fn run<M: Mode>(&mut self) -> &mut Self {
        while self.step::<M>() {}
        self
    }

    /// Handles the next event three times: do, undo, redo, comparing the state; `false` if there is none.
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
        self.servers.measured().results(&mut digest);
        digest.text(&format!("{:?} {:?}", self.answers, self.removals));
        digest.value()
    }
}

/// The burst buffer of MFNetSim's study: 5,700 MiB/s, 20 us per access, 2.5 ms per seek, 6.4 TB, 64 GB.
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

/// A device of 1 ns per byte and nothing else: 1 ms per piece of 1 MB.
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

/// A request of client and file `token`, from its beginning.
pub(crate) fn transfer(write: bool, token: u64, bytes: u64) -> StorageRequest {
    StorageRequest {
        header: header(token, 0),
        operation: match write {
            true => StorageOperation::Write,
            false => StorageOperation::READ,
        },
        object: token,
        offset: 0,
        bytes,
    }
}

/// The header of a request of client `token`, for job `owner`.
pub(crate) fn header(token: u64, owner: u16) -> RequestHeader {
    RequestHeader {
        client: ClientId::from(Requester::Rank(token as u32)),
        token: token as u32,
        owner,
    }
}

/// `request`, for job `owner`.
pub(crate) fn for_job(owner: u16, request: StorageRequest) -> StorageRequest {
    StorageRequest {
        header: RequestHeader {
            owner,
            ..request.header
        },
        ..request
    }
}

/// The removal of `object`.
pub(crate) fn removal(header: RequestHeader, object: u64) -> StorageRequest {
    StorageRequest {
        header,
        operation: StorageOperation::Remove,
        object,
        offset: 0,
        bytes: 0,
    }
}

/// The same, with so many pieces of a request in flight.
pub(crate) fn pipelined(pieces_in_flight: u32, mut params: ServerParams) -> ServerParams {
    params.manager.pieces_in_flight = pieces_in_flight;
    params
}

/// A request of client `token` for a range of a file.
pub(crate) fn range(write: bool, token: u64, file: u64, (offset, bytes): (u64, u64)) -> StorageRequest {
    StorageRequest {
        object: file,
        offset,
        ..transfer(write, token, bytes)
    }
}

/// The answer time of each token, in the order of tokens.
pub(crate) fn answers(rig: &mut Rig) -> Vec<Time> {
    rig.run::<Plain>();
    rig.servers.measured().audit().unwrap();
    let mut answers = rig.answers.clone();
    answers.sort_by_key(|&(_, token, _)| token);
    answers.into_iter().map(|(at, ..)| at).collect()
}

/// The extents of server 0: file, first byte, end, place.
pub(crate) fn contents(rig: &Rig) -> Vec<(u64, u64, u64, Place)> {
    let extents = rig.servers.measured().contents(0);
    extents
        .map(|(file, extent)| (file, extent.start, extent.end, extent.place))
        .collect()
}
