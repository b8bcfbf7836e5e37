//! Every event of a run with everything in it can be taken back and done again, and the run can be saved after any.

use super::*;
use odonata_engine::{Rehearsal, relay};
use odonata_workload::{Arrival, Collective, Pattern, Synthetic};

/// A small machine with jitter everywhere: messages in and between nodes, wildcards, collectives, two
/// streams, reads and writes, a full server that drains, and sources in the background.
fn everything() -> World {
    let mut world = World::new().server(3, 5_000);
    world.shape = DragonflyShape {
        groups: 3,
        routers: 2,
        nodes: 2,
        global_ports: 1,
        cables: None,
    };
    world.algorithm = Algorithm::ProgressiveAdaptive;
    let params = &mut world.params;
    params.mpi.call_jitter = Some((Time::from_ns(1), Time::from_ns(50)));
    params.nic_handoff = Some((Time::ZERO, Time::from_ns(9)));
    (params.mpi.send_overhead, params.mpi.recv_overhead) = (Time::from_ns(10), Time::from_ns(20));
    world.servers[0].drain = Some(odonata_storage::DrainParams {
        bandwidth: Bandwidth(1e8),
        latency: Time::from_ns(100),
        threshold: 3_000,
    });
    let n = 4u32;
    let rank = |r: u32| {
        let (left, right) = ((r + n - 1) % n, (r + 1) % n);
        let any = |request| OpKind::Irecv {
            from: Source::Any,
            tag: Tag::Is(1),
            bytes: 20_000,
            comm: Comm::WORLD,
            request: Request(request),
        };
        let collective = OpKind::Collective;
        let kinds = [
            any(0),
            irecv(left, 0, 100, 1),
            isend(right, 0, 100, 2),
            isend(left, 1, 20_000, 3),
            wait_all(4),
            collective(Collective::Allreduce {
                comm: Comm::WORLD,
                bytes: 8,
                count: 1,
            }),
            OpKind::Write {
                file: u64::from(r),
                offset: 0,
                bytes: 1_900,
            },
            OpKind::Iread {
                file: u64::from(r),
                offset: 0,
                bytes: 1_500,
                request: Request(9),
            },
            collective(Collective::Barrier { comm: Comm::WORLD }),
            OpKind::Wait { request: Request(9) },
            OpKind::Mark { iteration: 0 },
        ];
        let mut ops = sequence(kinds);
        let id = OpId(ops.len() as u32);
        let read = OpKind::Read {
            file: 77,
            offset: 0,
            bytes: 500,
        };
        ops.push(Op {
            id,
            stream: 1,
            after: After::ops(&[OpId(4)]),
            kind: read,
        });
        ops
    };
    let source = Synthetic {
        pattern: Pattern::Uniform,
        bursts: None,
        told: false,
        itself: false,
        bytes: 10_000,
        arrival: Arrival::Exponential,
        messages: Some(5),
        stop: None,
    };
    let world = world.script((0..n).map(rank).collect(), &[0, 0, 5, 10]);
    world.job(
        JobProgram::Synthetic {
            source,
            mean_gap: Time::from_ns(3_000),
        },
        &[1, 1, 6, 11],
    )
}

#[test]
fn every_event_can_be_taken_back_and_redone() {
    rehearse(&everything(), 500);
}

#[test]
fn every_event_of_rendezvous_with_progress_in_calls_can_be_taken_back_and_redone() {
    let mut world = everything();
    (world.params.mpi.eager_threshold, world.params.mpi.progress) = (50, Progress::InCalls);
    rehearse(&world, 500);
}

/// Runs `world` in order, again with every event done, undone and redone, more than `least` of them, and once more
/// from one fresh machine to the next; what the first leaves.
pub(super) fn rehearse(world: &World, least: u64) -> Rig {
    let sequential = world.complete();
    let mut rehearsal = Rehearsal::new(world.build());
    let events = rehearsal.run(u64::MAX).unwrap();
    assert!(events > least, "{events}");
    assert_eq!(rehearsal.model().outcome(), HostOutcome::Completed { unmatched: 0 });
    assert_eq!(digest(rehearsal.model()), digest(&sequential));
    hand_over(world, 5);
    sequential
}

/// Runs `world` in order, and in legs of up to `longest` events, each on a fresh machine that gets the state of the one
/// before: both must come to the same end.
pub(super) fn hand_over(world: &World, longest: u32) {
    let whole = world.run();
    let mut random = Stream::new(world.params.seed, 0, Purpose::Placement);
    let run = relay(|| world.build(), || 1 + u64::from(random.below(longest))).unwrap();
    assert_eq!(digest(run.model()), digest(&whole));
    assert_eq!(fingerprint(run.model()), fingerprint(&whole));
    assert_eq!(run.model().outcome(), whole.outcome());
}

fn fingerprint(rig: &Rig) -> u128 {
    let mut digest = Digest::new();
    odonata_engine::Journalled::fingerprint(rig, &mut digest);
    digest.value()
}

#[test]
fn a_seed_makes_one_run_and_another_seed_another() {
    let mut world = everything();
    let first = digest(&world.complete());
    assert_eq!(digest(&world.complete()), first);
    world.params.seed += 1;
    assert_ne!(digest(&world.complete()), first);
}
