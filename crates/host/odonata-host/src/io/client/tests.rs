//! The storage client without a fabric: inputs by hand, effects as they come.

use super::*;
use odonata_engine::random::Purpose;
use odonata_engine::{Digest, Journalled, List, Plain, Savepoint, SparseStore, Speculative, Stream};
use odonata_storage::Requester;
use odonata_storage::settings::{Client as Settings, LostReads, OnFailure};
use std::collections::BTreeMap;

const TIMEOUT: Time = Time::from_ns(1_000);
const BACKOFF: Time = Time::from_ns(70);

/// Servers 0 to 2 are the first tier, 3 and 4 the lower tier, 5 and 6 metadata servers. Servers watch the lower tier.
fn rules(retries: u32, on_failure: OnFailure) -> RetryRules {
    RetryRules {
        settings: Some(Settings {
            timeout: TIMEOUT,
            retries,
            backoff: BACKOFF,
            on_failure,
            lost_reads: LostReads::Below,
        }),
        jobs: 2,
        counted_servers: 7,
        groups: vec![0..3, 3..5, 5..7],
        first_metadata: 5,
        metadata_fails: false,
        watched_by_servers: 3,
        tiered: false,
    }
}

fn client(rules: RetryRules) -> Client {
    let cells = |count| SparseStore::all(vec![List::EMPTY; count]);
    Client::new(rules, FailedServers::new(cells(2), cells(7)))
}

fn rank(rank: u32) -> ClientId {
    ClientId::from(Requester::Rank(rank))
}

fn request(client: ClientId, operation: StorageOperation, waiter: Waiter) -> NewRequest {
    NewRequest {
        client,
        owner: 1,
        operation,
        waiter,
        since: Time::ZERO,
    }
}

fn part(server: u32, bytes: u64) -> RequestPart {
    RequestPart {
        server,
        object: 9,
        offset: 100,
        bytes,
    }
}

/// Clients, their timers by time, and all other effects with their times.
struct Rig {
    client: Client,
    timers: BTreeMap<(Time, u32), Timer>,
    seen: Vec<(Time, Effect)>,
}

impl Rig {
    fn new(rules: RetryRules) -> Rig {
        Rig {
            client: client(rules),
            timers: BTreeMap::new(),
            seen: Vec::new(),
        }
    }

    fn input(&mut self, now: Time, input: impl FnOnce(&mut Client, &mut Effects)) {
        let mut effects = Effects::new();
        input(&mut self.client, &mut effects);
        for effect in effects {
            match effect {
                Effect::Wake { at, timer, .. } => {
                    assert!(at > now);
                    let number = self.timers.len() as u32;
                    assert!(self.timers.insert((at, number), timer).is_none());
                }
                other => self.seen.push((now, other)),
            }
        }
    }

    fn begin(&mut self, now: Time, what: NewRequest, parts: &[RequestPart]) {
        self.input(now, |client, effects| {
            client.begin::<Plain>(now, what, parts.iter().copied(), effects);
        });
    }

    /// Handles all timers that are due until `end`.
    fn run(&mut self, end: Time) {
        while let Some((&(now, number), &timer)) = self.timers.first_key_value().filter(|((at, _), _)| *at <= end) {
            self.timers.remove(&(now, number));
            self.input(now, |client, effects| client.wake::<Plain>(now, timer, effects));
        }
    }

    fn answer(&mut self, now: Time, attempt: u32) {
        self.run(now);
        self.input(now, |client, effects| client.answered::<Plain>(attempt, false, effects));
    }

    /// Requests that were sent: when, to which server, what.
    fn sent(&self) -> Vec<(Time, u32, StorageRequest)> {
        let sends = self.seen.iter().filter_map(|&(at, effect)| match effect {
            Effect::Send { server, request } => Some((at, server, request)),
            _ => None,
        });
        sends.collect()
    }

    fn completed(&self) -> Vec<(Time, Completed)> {
        let ends = self.seen.iter().filter_map(|&(at, effect)| match effect {
            Effect::Complete { completed, .. } => Some((at, completed)),
            _ => None,
        });
        ends.collect()
    }
}

/// Attempt `k` goes after `k` timeouts and the waits `b`, `2 b`, `4 b` ... between them; the last timeout ends the request.
#[test]
fn attempts_at_a_server_that_is_down_go_at_closed_times() {
    for retries in 0..6 {
        let mut rig = Rig::new(rules(retries, OnFailure::Error));
        rig.begin(
            Time::ZERO,
            request(rank(0), StorageOperation::Write, Waiter::Call(4)),
            &[part(1, 50)],
        );
        rig.run(Time::BEYOND);
        let at = |attempt: u32| TIMEOUT.times(attempt.into()) + BACKOFF.times((1 << attempt) - 1);
        let times: Vec<Time> = rig.sent().iter().map(|&(at, ..)| at).collect();
        assert_eq!(times, (0..=retries).map(at).collect::<Vec<_>>());
        let &(end, last) = rig.seen.last().unwrap();
        assert_eq!(end, at(retries) + TIMEOUT);
        assert!(matches!(last, Effect::Unanswered { server: 1, .. }), "{last:?}");
        let counts = RetryCounts {
            timeouts: u64::from(retries) + 1,
            retries: retries.into(),
            rerouted: 0,
        };
        let (jobs, servers) = rig.client.counts();
        assert_eq!((jobs[1], servers[1]), (counts, counts));
        // The wait after each attempt but the last one is charged until the next goes.
        let next: Vec<Time> = (rig.seen.iter())
            .filter_map(|(_, effect)| match effect {
                Effect::TimedOut { next, .. } => Some(*next),
                _ => None,
            })
            .collect();
        let expected: Vec<Time> = (1..=retries).map(at).chain([end]).collect();
        assert_eq!(next, expected);
    }
}

#[test]
fn an_answer_after_its_timeout_is_ignored() {
    let mut rig = Rig::new(rules(1, OnFailure::Error));
    let what = request(rank(0), StorageOperation::READ, Waiter::Call(4));
    rig.begin(Time::ZERO, what, &[part(1, 50)]);
    let second = TIMEOUT + BACKOFF;
    rig.run(second);
    let sent = rig.sent();
    let [first, again] = [sent[0].2.header.token, sent[1].2.header.token];
    assert!(first != again && rig.client.has_ended(first) && !rig.client.has_ended(again));
    // Data and answer of the first attempt come between those of the second one.
    let now = second + Time::from_ns(5);
    rig.input(now, |client, effects| {
        client.data_arrived::<Plain>(now, again, 50, effects)
    });
    rig.input(now, |client, effects| {
        client.data_arrived::<Plain>(now, first, 50, effects)
    });
    rig.answer(now, first);
    assert!(matches!(rig.seen.last(), Some((_, Effect::AnsweredLate { attempt, .. })) if *attempt == first));
    assert_eq!(rig.completed(), []);
    rig.answer(now, again);
    let expected = Completed {
        request: 0,
        operation: StorageOperation::READ,
        waiter: Waiter::Call(4),
        lost: false,
        timeouts: 1,
        first_data: now,
    };
    assert_eq!(rig.completed(), [(now, expected)]);
    // The timer of the second attempt is all that is left.
    rig.run(Time::BEYOND);
    assert_eq!((rig.completed().len(), rig.sent().len(), rig.client.live()), (1, 2, 0));
    assert_eq!(rig.client.attempts.live() + rig.client.watched.live(), 0);
}

#[test]
fn pulls_of_an_attempt_that_was_given_up_are_served() {
    let mut rig = Rig::new(rules(1, OnFailure::Error));
    rig.begin(
        Time::ZERO,
        request(rank(0), StorageOperation::Write, Waiter::Call(4)),
        &[part(1, 50)],
    );
    rig.run(TIMEOUT);
    let header = rig.sent()[0].2.header;
    rig.input(TIMEOUT, |client, effects| {
        client.pulled::<Plain>(TIMEOUT, (1, header), (7, 50), effects);
    });
    let data = Effect::SendData {
        server: 1,
        header,
        piece: 7,
        bytes: 50,
    };
    assert_eq!(rig.seen.last(), Some(&(TIMEOUT, data)));
}

/// A read in three parts ends with the last of their data and answers, in whatever order these come; what is lost of one is lost.
#[test]
fn a_request_in_several_parts_ends_with_the_last_one() {
    let settings = RetryRules {
        settings: None,
        ..rules(0, OnFailure::Error)
    };
    let mut rig = Rig::new(settings);
    let operation = StorageOperation::Read {
        rerouted: false,
        tolerates_loss: true,
    };
    let parts = [part(0, 10), part(1, 20), part(2, 30)];
    rig.begin(Time::ZERO, request(rank(0), operation, Waiter::Call(0)), &parts);
    assert!(rig.timers.is_empty());
    let sent: Vec<(u32, u64)> = rig
        .sent()
        .iter()
        .map(|(_, server, what)| (*server, what.bytes))
        .collect();
    assert_eq!(sent, [(0, 10), (1, 20), (2, 30)]);
    let tokens: Vec<u32> = rig.sent().iter().map(|(_, _, what)| what.header.token).collect();
    let ns = Time::from_ns;
    rig.answer(ns(1), tokens[1]);
    let data = |rig: &mut Rig, at: u64, part: usize, bytes| {
        let now = ns(at);
        rig.input(now, |client, effects| {
            client.data_arrived::<Plain>(now, tokens[part], bytes, effects)
        });
    };
    data(&mut rig, 2, 1, 15);
    data(&mut rig, 3, 0, 10);
    data(&mut rig, 4, 1, 5);
    data(&mut rig, 5, 2, 30);
    rig.input(ns(6), |client, effects| {
        client.answered::<Plain>(tokens[0], true, effects)
    });
    assert_eq!(rig.completed(), []);
    rig.answer(ns(7), tokens[2]);
    let ends = rig.completed();
    assert_eq!((ends.len(), ends[0].0), (1, ns(7)));
    assert_eq!((ends[0].1.lost, ends[0].1.first_data), (true, ns(2)));
    let parts = rig
        .seen
        .iter()
        .filter(|(_, effect)| matches!(effect, Effect::PartEnded { .. }));
    let times: Vec<Time> = parts.map(|(at, _)| *at).collect();
    assert_eq!(times, [ns(4), ns(6), ns(7)]);
    assert_eq!(rig.client.live() + rig.client.attempts.live(), 0);
}

/// The next server of the group gets the request under another name, as does the one behind it; a second request goes there at once.
#[test]
fn a_client_that_re_routes_remembers_the_failed_server() {
    for tiered in [false, true] {
        let mut rig = Rig::new(RetryRules {
            tiered,
            ..rules(1, OnFailure::ReRoute)
        });
        let what = request(rank(0), StorageOperation::READ, Waiter::Call(0));
        rig.begin(Time::ZERO, what, &[part(2, 50)]);
        let given_up = TIMEOUT.times(2) + BACKOFF;
        rig.run(given_up);
        let sent = rig.sent();
        let servers: Vec<u32> = sent.iter().map(|&(_, server, _)| server).collect();
        assert_eq!(
            (servers, sent[2].0),
            (vec![2, 2, 0], given_up),
            "around the end of its tier"
        );
        assert_eq!(sent[2].2.object == 9, tiered);
        assert_eq!(
            [0, 2].map(|at: usize| sent[at].2.operation.is_rerouted()),
            [false, true]
        );
        rig.answer(given_up + Time::from_ns(1), sent[2].2.header.token);
        rig.begin(given_up, what, &[part(2, 50)]);
        let other = request(rank(1), StorageOperation::READ, Waiter::Call(1));
        rig.begin(given_up, other, &[part(2, 50)]);
        let servers: Vec<u32> = rig.sent()[3..].iter().map(|&(_, server, _)| server).collect();
        assert_eq!(servers, [0, 2], "another client does not know");
        assert_eq!(rig.client.counts().1[2].rerouted, 100);
    }
}

/// A server is a client of the lower tier alone: it watches that one, and waits for an answer that comes late from a busy one.
#[test]
fn a_server_repeats_requests_to_a_lower_tier_that_answers_late() {
    let mut rig = Rig::new(rules(3, OnFailure::ReRoute));
    let server = ClientId::from(Requester::Server(1));
    let waiter = Waiter::Server(Origin::Piece(6));
    rig.begin(
        Time::ZERO,
        request(server, StorageOperation::Write, waiter),
        &[part(3, 50)],
    );
    // The answer to the first attempt comes after the second one has gone, the answer to that one in time.
    let second = TIMEOUT + BACKOFF;
    rig.run(second);
    let sent = rig.sent();
    rig.answer(second + Time::from_ns(1), sent[0].2.header.token);
    assert_eq!(rig.completed(), []);
    rig.answer(second + Time::from_ns(2), sent[1].2.header.token);
    let (at, end) = rig.completed()[0];
    assert_eq!((at, end.waiter, end.timeouts), (second + Time::from_ns(2), waiter, 1));
    // Its own tier, and metadata servers for a rank where none of them fails, are not watched.
    let timers = rig.timers.len();
    rig.begin(at, request(server, StorageOperation::Write, waiter), &[part(2, 50)]);
    rig.begin(
        at,
        request(rank(0), StorageOperation::Remove, Waiter::Call(0)),
        &[part(5, 0)],
    );
    assert_eq!(rig.timers.len(), timers);
}

/// A step of a random history: a request, an answer, data, or a timer.
fn step<M: Mode>(
    client: &mut Client,
    random: &mut Stream,
    now: Time,
    open: &mut Vec<(u32, u64)>,
    timers: &mut Vec<Timer>,
) {
    let mut effects = Effects::new();
    match random.below(4) {
        0 => {
            let operation = [StorageOperation::READ, StorageOperation::Write][random.below(2) as usize];
            let by = [
                rank(random.below(2)),
                ClientId::from(Requester::Server(random.below(3))),
            ];
            let by = by[random.below(2) as usize];
            let first = if by.requester() == Requester::Server(0) { 3 } else { 0 };
            let parts: Vec<RequestPart> = (0..1 + random.below(2)).map(|at| part(first + at, 7)).collect();
            client.begin::<M>(
                now,
                request(by, operation, Waiter::Call(0)),
                parts.into_iter(),
                &mut effects,
            );
        }
        1 if !open.is_empty() => {
            let (attempt, bytes) = open.swap_remove(random.below(open.len() as u32) as usize);
            if bytes > 0 {
                client.data_arrived::<M>(now, attempt, bytes, &mut effects);
            }
            client.answered::<M>(attempt, false, &mut effects);
        }
        _ if !timers.is_empty() => {
            let timer = timers.swap_remove(random.below(timers.len() as u32) as usize);
            client.wake::<M>(now, timer, &mut effects);
        }
        _ => {}
    }
    for effect in effects {
        match effect {
            Effect::Send { request, .. } => {
                let reads = matches!(request.operation, StorageOperation::Read { .. });
                open.push((request.header.token, if reads { request.bytes } else { 0 }));
            }
            Effect::Wake { timer, .. } => timers.push(timer),
            _ => {}
        }
    }
}

#[test]
fn every_input_of_random_histories_can_be_taken_back() {
    let print = |client: &Client| {
        let mut digest = Digest::new();
        client.fingerprint(&mut digest);
        digest.value()
    };
    for seed in 0..40 {
        let mut random = Stream::new(seed, 0, Purpose::Host);
        let mut client = client(rules(1, OnFailure::ReRoute));
        let (mut open, mut timers) = (Vec::new(), Vec::new());
        for round in 0..200u32 {
            let now = Time::from_ns(round.into());
            let before = print(&client);
            Savepoint(round).begin();
            let mut other = random;
            step::<Speculative>(&mut client, &mut other, now, &mut open.clone(), &mut timers.clone());
            let after = print(&client);
            client.undo(Savepoint(round));
            assert_eq!(print(&client), before, "seed {seed} round {round}");
            step::<Plain>(&mut client, &mut random, now, &mut open, &mut timers);
            assert_eq!(print(&client), after, "seed {seed} round {round}");
        }
        assert!(client.live() > 0, "seed {seed}");
    }
}
