//! Every event of a run with all features can be undone and repeated, and the run can be saved after any event.

use super::*;
use crate::settings::RendezvousForm;
use crate::{Outside, StorageTier};
use odonata_engine::{RollbackCheck, run_with_restarts};
use odonata_storage::settings::{DrainPolicy, Policy, ReadPolicy, WritePolicy};
use odonata_storage::{FileLayout, Layout, Striped};
use odonata_workload::{Arrival, Collective, Pattern, Synthetic};

/// A small machine with jitter everywhere: messages within and between nodes, wildcards, collectives, two streams,
/// reads and writes, a full server that drains, and background sources.
pub(super) fn everything() -> Setup {
    let mut setup = Setup::new().server(3, 5_000);
    setup.shape = DragonflyShape {
        groups: 3,
        routers: 2,
        nodes: 2,
        global_ports: 1,
        cables: None,
    };
    setup.algorithm = Algorithm::ProgressiveAdaptive;
    let params = &mut setup.params;
    params.mpi.call_jitter = Some(Jitter {
        min: Time::from_ns(1),
        max: Time::from_ns(50),
    });
    params.nic.handoff = Some(Jitter {
        min: Time::ZERO,
        max: Time::from_ns(9),
    });
    (params.mpi.send_overhead, params.mpi.recv_overhead) = (Time::from_ns(10), Time::from_ns(20));
    setup.servers[0].drain = Some(odonata_storage::Drain {
        bandwidth: Bandwidth(1e8),
        latency: Time::from_ns(100),
        threshold: odonata_units::Bytes(3_000),
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
            collective(allreduce(8, 1)),
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
        stopped_by_job: false,
        itself: false,
        bytes: 10_000,
        arrival: Arrival::Exponential,
        messages: Some(5),
        stop: None,
    };
    let setup = setup.script((0..n).map(rank).collect(), &[0, 0, 5, 10]);
    setup.job(
        JobProgram::Synthetic {
            source,
            mean_gap: Time::from_ns(3_000),
        },
        &[1, 1, 6, 11],
    )
}

#[test]
fn every_event_can_be_undone_and_redone() {
    rehearse(&everything(), 500);
}

#[test]
fn every_event_of_rendezvous_with_progress_in_calls_can_be_undone_and_redone() {
    let mut setup = everything();
    (setup.params.mpi.eager_threshold, setup.params.mpi.progress) = (Some(Bytes(50)), Progress::InCalls);
    rehearse(&setup, 500);
}

#[test]
fn every_event_of_reads_acknowledgments_and_local_work_can_be_undone_and_redone() {
    for progress in [Progress::Asynchronous, Progress::InCalls] {
        let mut setup = everything();
        let mpi = &mut setup.params.mpi;
        (mpi.eager_threshold, mpi.progress) = (Some(Bytes(10_000)), progress);
        (mpi.acknowledged_above, mpi.rendezvous) = (Some(Bytes(10)), RendezvousForm::Get);
        (mpi.send_overhead_per_byte, mpi.recv_overhead_per_byte) = (PerByte(300.0), PerByte(200.0));
        (mpi.inline_up_to, mpi.fetch_delay) = (Some(Bytes(50)), Time::from_ns(30));
        (mpi.reduce_rate, mpi.copy_rate) = (Some(Bandwidth(1e9)), Some(Bandwidth(2e9)));
        mpi.collective_overhead = Time::from_ns(15);
        rehearse(&setup, 500);
    }
}

/// [`everything`] with a burst buffer that drains through an I/O node to two object servers, and reads missing data
/// from there.
fn tiers(drain: DrainPolicy) -> Setup {
    let mut setup = everything().server(7, 5_000).server(7, 1 << 40).server(7, 1 << 40);
    let tier = |first, servers, layout, homes: &[u32], outside, drains_at_job_end| StorageTier {
        first,
        servers,
        layout,
        homes: homes.into(),
        outside,
        drains_at_job_end,
    };
    let outside = Outside {
        link: Bandwidth(1e9),
        latency: Time::from_ns(100),
    };
    let striped = Layout::Striped(Striped {
        stripe: Bytes(700),
        ..Striped::default()
    });
    let at_job_end = drain == DrainPolicy::JobEnd;
    setup.params.tiers = [
        tier(0, 1, FileLayout::Assigned, &[], None, at_job_end),
        tier(1, 1, FileLayout::Assigned, &[0], None, false),
        tier(2, 2, FileLayout::new(striped, 2, 1, "below"), &[], Some(outside), false),
    ]
    .into();
    let policy = Policy {
        drain,
        keep: true,
        read: ReadPolicy::Cache,
        blocks_in_flight: 3,
        ..Policy::default()
    };
    for (number, (tier, next)) in [(0, Some(policy)), (1, Some(policy)), (2, None), (2, None)]
        .into_iter()
        .enumerate()
    {
        let params = &mut setup.servers[number];
        (params.tier, params.next, params.drain) = (tier, next, None);
        params.manager.extents = true;
    }
    setup.servers[1].next = Some(Policy {
        write: WritePolicy::Around,
        ..policy
    });
    setup.servers[1].manager.extents = false;
    setup
}

#[test]
fn every_event_of_tiers_can_be_undone_and_redone() {
    for drain in [DrainPolicy::Immediately, DrainPolicy::JobEnd] {
        let machine = rehearse(&tiers(drain), 500);
        let servers = machine.hosts.servers();
        // The object servers hold exactly what four ranks have written.
        let stored: u64 = [2, 3].map(|server| servers.metrics(server).bytes_written).iter().sum();
        assert_eq!(
            (stored, servers.metrics(0).bytes_drained),
            (4 * 1_900, 4 * 1_900),
            "{drain:?}"
        );
        assert!(servers.metrics(2).bytes_read + servers.metrics(3).bytes_read > 0);
    }
}

/// Runs `setup` three times: in order; with every event done, undone and repeated, more than `least` events in total;
/// and moving to a fresh machine repeatedly. Returns the machine of the first run.
pub(super) fn rehearse(setup: &Setup, least: u64) -> TestMachine {
    let sequential = setup.complete();
    let mut harness = RollbackCheck::new(setup.build());
    let events = harness.run(u64::MAX).unwrap();
    assert!(events > least, "{events}");
    assert_eq!(harness.model().outcome(), HostOutcome::Completed);
    assert_eq!(digest(harness.model()), digest(&sequential));
    hand_over(setup, 5);
    sequential
}

/// Runs `setup` in order, and again in segments of up to `longest` events, each on a fresh machine with the saved state
/// of the previous one. Both runs must end in the same state.
pub(super) fn hand_over(setup: &Setup, longest: u32) {
    let whole = setup.run();
    let mut random = Stream::new(setup.params.seed, 0, Purpose::Placement);
    let run = run_with_restarts(|| setup.build(), || 1 + u64::from(random.below(longest))).unwrap();
    assert_eq!(digest(run.model()), digest(&whole));
    assert_eq!(fingerprint(run.model()), fingerprint(&whole));
    assert_eq!(run.model().outcome(), whole.outcome());
}

fn fingerprint(machine: &TestMachine) -> u128 {
    let mut digest = Digest::new();
    odonata_engine::Journalled::fingerprint(machine, &mut digest);
    digest.value()
}

#[test]
fn equal_seeds_give_equal_runs_and_different_seeds_different_ones() {
    let mut setup = everything();
    let first = digest(&setup.complete());
    assert_eq!(digest(&setup.complete()), first);
    setup.params.seed += 1;
    assert_ne!(digest(&setup.complete()), first);
}
