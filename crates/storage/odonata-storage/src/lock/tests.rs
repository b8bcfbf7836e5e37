use super::*;
use crate::{RequestHeader, Requester, StorageOperation};
use odonata_engine::random::Purpose;
use odonata_engine::{Digest, Journalled, Plain, Savepoint, Speculative, Stream};

fn locks(granularity: u64) -> ExtentLocks {
    let settings = Locks {
        granularity: Bytes(granularity),
        revocation: Time::ZERO,
    };
    ExtentLocks::new(2, Some(settings))
}

fn access(write: bool, client: u32, offset: u64, bytes: u64) -> StorageRequest {
    StorageRequest {
        header: RequestHeader {
            client: rank(client),
            token: 0,
            owner: 0,
        },
        operation: match write {
            true => StorageOperation::Write,
            false => StorageOperation::READ,
        },
        object: 9,
        offset,
        bytes,
    }
}

fn rank(number: u32) -> ClientId {
    ClientId::from(Requester::Rank(number))
}

fn for_job(owner: u16, what: StorageRequest) -> StorageRequest {
    StorageRequest {
        header: RequestHeader { owner, ..what.header },
        ..what
    }
}

/// Requests a lock at time 0 for a client that is the only rank of its node. Returns the clients to ask.
fn ask(locks: &mut ExtentLocks, what: StorageRequest) -> (u32, Vec<ClientId>) {
    let mut asked = Vec::new();
    let holder = locks.request::<Plain>(Time::ZERO, 0, what, what.header.client.number(), &mut asked);
    (holder, asked)
}

#[test]
fn ranges_that_do_not_overlap_and_readers_do_not_meet() {
    let mut locks = locks(1);
    for what in [
        access(true, 0, 0, 100),
        access(true, 1, 100, 100),
        access(false, 2, 200, 50),
        access(false, 3, 220, 50),
    ] {
        let (holder, asked) = ask(&mut locks, what);
        assert_eq!((locks.waits(holder), asked), (false, vec![]), "{what:?}");
    }
    let access = access(true, 4, 0, 100);
    let other = StorageRequest { object: 8, ..access };
    let (holder, asked) = ask(&mut locks, other);
    assert_eq!((locks.waits(holder), asked), (false, vec![]), "another object");
    let mut asked = Vec::new();
    let holder = locks.request::<Plain>(Time::ZERO, 1, access, 4, &mut asked);
    assert_eq!((locks.waits(holder), asked), (false, vec![]), "another server");
}

/// A request waits for the later of the revocation and the end of the request that uses the lock.
#[test]
fn a_conflict_waits_for_the_lock_and_for_its_user() {
    for lock_first in [true, false] {
        let mut locks = locks(1);
        let (first, _) = ask(&mut locks, access(true, 7, 0, 100));
        let (second, asked) = ask(&mut locks, access(false, 8, 99, 1));
        assert_eq!((locks.waits(second), asked), (true, vec![rank(7)]));
        let (at, mut next) = (Time::from_ns(5), Vec::new());
        if lock_first {
            assert!(!locks.revoked::<Plain>(at, second, 0));
            locks.finished::<Plain>(at, first, &mut next);
            assert_eq!(next, [second]);
        } else {
            locks.finished::<Plain>(at, first, &mut next);
            assert!(next.is_empty() && locks.revoked::<Plain>(at, second, 0));
        }
        let metrics = locks.metrics().next().unwrap();
        assert_eq!((metrics.revocations, metrics.wait_ps), (1, 5_000));
        // The lock has moved: the next request asks the reader.
        locks.finished::<Plain>(at, second, &mut next);
        let (_, asked) = ask(&mut locks, access(true, 7, 0, 100));
        assert_eq!(asked, [rank(8)]);
    }
}

#[test]
fn a_lock_that_is_kept_costs_its_node_nothing_again() {
    let mut locks = locks(1);
    let (first, _) = ask(&mut locks, access(true, 7, 0, 100));
    locks.finished::<Plain>(Time::ZERO, first, &mut Vec::new());
    // The next range joins it; a read is covered.
    for what in [access(true, 7, 100, 100), access(false, 7, 50, 100)] {
        let (holder, asked) = ask(&mut locks, what);
        assert_eq!((locks.waits(holder), asked), (false, vec![]));
        locks.finished::<Plain>(Time::ZERO, holder, &mut Vec::new());
    }
    // One lock, one message.
    let (_, asked) = ask(&mut locks, access(true, 8, 150, 1));
    assert_eq!(asked, [rank(7)]);
}

/// Writes of 47,008 B side by side share pages of 4 KiB, and none of 1 B.
#[test]
fn ranges_that_share_a_page_conflict() {
    for (granularity, meets) in [(4_096, true), (1, false), (47_008, false)] {
        let mut locks = locks(granularity);
        ask(&mut locks, access(true, 0, 0, 47_008));
        let (second, _) = ask(&mut locks, access(true, 1, 47_008, 47_008));
        assert_eq!(locks.waits(second), meets, "{granularity}");
    }
}

/// A step of a random history, which a speculating run may take back.
fn step<M: Mode>(locks: &mut ExtentLocks, stream: &mut Stream, state: &mut Vec<(u32, u32)>, now: Time) {
    let mut next = Vec::new();
    if state.len() < 12 && stream.below(2) == 0 {
        let what = access(
            stream.below(2) == 0,
            stream.below(6),
            u64::from(stream.below(50)),
            1 + u64::from(stream.below(20)),
        );
        let mut ask = Vec::new();
        let what = StorageRequest {
            object: stream.below(2).into(),
            ..what
        };
        let what = for_job(stream.below(3) as u16, what);
        let holder = locks.request::<M>(now, 1, what, what.header.client.number(), &mut ask);
        state.push((holder, ask.len() as u32));
    } else if !state.is_empty() {
        let at = stream.below(state.len() as u32) as usize;
        let (holder, asked) = state[at];
        if asked > 0 {
            locks.revoked::<M>(now, holder, holder as u16 % 3);
            state[at].1 -= 1;
        } else if !locks.waits(holder) {
            locks.finished::<M>(now, holder, &mut next);
            state.remove(at);
        }
    }
    for holder in next {
        assert!(!locks.waits(holder));
    }
}

/// No two conflicting requests are served at the same time, the oldest continues when its locks are back, and every input can be
/// undone.
#[test]
fn random_histories_keep_conflicts_apart_and_can_be_undone() {
    for seed in 0..60 {
        let mut stream = Stream::new(seed, 0, Purpose::Arrival);
        let mut locks = locks(1 + seed % 3).with_blame(3, Some(Time::from_ns(50)));
        let mut state: Vec<(u32, u32)> = Vec::new();
        for round in 0..300u64 {
            let now = Time::from_ns(round);
            let print = |locks: &ExtentLocks| {
                let mut digest = Digest::new();
                locks.fingerprint(&mut digest);
                digest.value()
            };
            let before = print(&locks);
            let point = Savepoint(round as u32);
            point.begin();
            let (mut tried, mut other) = (state.clone(), stream);
            step::<Speculative>(&mut locks, &mut other, &mut tried, now);
            let after = print(&locks);
            locks.undo(point);
            assert_eq!(print(&locks), before, "seed {seed} round {round}");
            step::<Plain>(&mut locks, &mut stream, &mut state, now);
            assert_eq!(print(&locks), after, "seed {seed} round {round}");
            let served: Vec<Range> = (state.iter())
                .filter(|&&(holder, _)| !locks.waits(holder))
                .map(|&(holder, _)| locks.holders.get(holder).range)
                .collect();
            for (at, one) in served.iter().enumerate() {
                assert!(served[at + 1..].iter().all(|two| !one.conflicts(two)), "seed {seed}");
            }
            if let Some(&(oldest, asked)) = state.first() {
                assert_eq!(locks.waits(oldest), asked > 0, "seed {seed} round {round}");
            }
        }
    }
}

/// A wait is charged to the job whose lock comes back, then to the job whose request ends. If the run ends first, the culprit is
/// unknown.
#[test]
fn waits_for_locks_are_charged_to_their_holders() {
    let of = |owner, client| for_job(owner, access(true, client, 0, 100));
    let build = || locks(1).with_blame(3, None);
    let charges = |locks: &ExtentLocks| -> Vec<_> {
        let charges = locks.blame().map(|c| (c.server, c.victim, c.culprit, c.time.0 / 1_000));
        charges.collect()
    };
    let mut all = build();
    let (first, _) = ask(&mut all, of(0, 7));
    let (second, _) = ask(&mut all, of(1, 8));
    let (third, _) = ask(&mut all, of(2, 9));
    all.revoked::<Plain>(Time::from_ns(3), second, 0);
    all.revoked::<Plain>(Time::from_ns(4), third, 1);
    all.finished::<Plain>(Time::from_ns(10), first, &mut Vec::new());
    all.finished::<Plain>(Time::from_ns(25), second, &mut Vec::new());
    all.finished::<Plain>(Time::from_ns(30), third, &mut Vec::new());
    let expected = [
        (0, 1, Some(0), 10),
        // Its lock was with the second; then both before it had to end.
        (0, 2, Some(0), 6),
        (0, 2, Some(1), 4 + 15),
    ];
    assert_eq!(charges(&all), expected);
    all.audit().unwrap();

    let mut cut = build();
    ask(&mut cut, of(0, 7));
    ask(&mut cut, of(1, 8));
    cut.charge_open_waits(Time::from_ns(9));
    assert_eq!(charges(&cut), [(0, 1, None, 9)]);
}

/// Two nodes have locks and one request waits for them when server 0 fails at 20 ns. Locks that come back later have no effect, and
/// a new request meets no conflict. Undone and redone, the result is the same.
#[test]
fn locks_go_with_their_server() {
    let ns = Time::from_ns;
    let away = Outage {
        from: ns(20),
        until: ns(25),
    };
    let of = |server| if server == 0 { vec![away] } else { Vec::new() };
    let mut locks = locks(1).with_blame(1, None).with_failures(of);
    let (user, _) = ask(&mut locks, access(true, 7, 0, 100));
    let (idle, _) = ask(&mut locks, access(true, 8, 200, 100));
    locks.finished::<Plain>(ns(5), idle, &mut Vec::new());
    let (waiter, asked) = ask(&mut locks, access(true, 9, 50, 200));
    assert_eq!((asked, locks.waits(waiter)), (vec![rank(7), rank(8)], true));
    assert!(!locks.revoked::<Plain>(ns(10), waiter, 0));
    let print = |locks: &ExtentLocks| {
        let mut digest = Digest::new();
        locks.fingerprint(&mut digest);
        digest.value()
    };
    let before = print(&locks);
    Savepoint(1).begin();
    assert!(!locks.revoked::<Speculative>(ns(30), waiter, 0));
    let after = print(&locks);
    locks.undo(Savepoint(1));
    assert_eq!(print(&locks), before);
    assert!(!locks.revoked::<Plain>(ns(30), waiter, 0), "it is dead");
    assert_eq!((print(&locks), locks.live()), (after, 0));
    let mut asked = Vec::new();
    let again = locks.request::<Plain>(ns(40), 0, access(true, 9, 50, 200), 9, &mut asked);
    assert_eq!((locks.waits(again), asked), (false, vec![]));
    locks.finished::<Plain>(ns(50), again, &mut Vec::new());
    // The wait ends at the failure, not when an input notices the failure.
    assert_eq!(locks.metrics().next().unwrap().wait_ps, u128::from(ns(20).0));
    locks.audit().unwrap();
    let _ = user;
}
