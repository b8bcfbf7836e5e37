//! Lost time at storage and metadata servers, and its propagation.

use super::lost_time::{end, lost, setup, to_others};
use super::*;
use odonata_blame::lost::Kind;
use odonata_storage::{METADATA_CALLS, MetadataParams};
use odonata_workload::FileCall;

/// One rank writes before an all-reduce, and the piece of another job is ahead of its own at the device: all ranks lose
/// the same time.
#[test]
fn a_straggler_at_a_storage_server_delays_all_ranks_that_wait_for_it() {
    let write = OpKind::Write {
        file: 5,
        offset: 0,
        bytes: 900,
    };
    let sum = OpKind::Collective(allreduce(8, 1));
    let ranks: Vec<Vec<Op>> = (0..4)
        .map(|rank| match rank {
            0 => sequence([compute(300), write, sum]),
            _ => sequence([sum]),
        })
        .collect();
    let run = |noise: bool| {
        let setup = setup().server(40, 1 << 40).script(ranks.clone(), &[0, 10, 20, 30]);
        let setup = match noise {
            true => setup.script(vec![sequence([write])], &[2]),
            false => setup,
        };
        setup.complete()
    };
    let (alone, both) = (run(false), run(true));
    for rank in 0..4 {
        let delay = end(&both, rank) - end(&alone, rank);
        assert!(delay > Time::ZERO, "rank {rank} is late");
        let stamp = lost(&both, 0, rank);
        let (others, names) = to_others(&stamp, 0);
        assert_eq!(others, delay, "rank {rank}: {stamp:?}");
        assert!(names.contains(&(3, Kind::Device)), "{names:?}");
        assert_eq!(stamp.undisturbed, end(&alone, rank));
    }
}

/// A call waits behind that of another job for the only thread, or for a directory that both change.
#[test]
fn a_metadata_call_loses_its_wait_for_a_thread_or_a_directory() {
    for serial_directories in [false, true] {
        let run = |noise: bool| {
            let mut setup = setup().server(40, 1 << 40);
            setup.metadata_nodes = vec![50];
            setup.params.metadata = Some(MetadataParams {
                threads: if serial_directories { 2 } else { 1 },
                by_directory: false,
                serial_directories,
                costs: [Time::from_ns(50_000); METADATA_CALLS],
            });
            setup.params.ledger = Some(LedgerParams {
                jobs: 2,
                interval: None,
            });
            let create = OpKind::Metadata {
                call: FileCall::Create,
                directory: 0,
                file: 5,
            };
            let setup = setup.script(vec![sequence([compute(10_000), create])], &[20]);
            let mut setup = match noise {
                true => setup.script(vec![sequence([create])], &[0]),
                false => setup,
            };
            let shared = setup.jobs[0].files;
            setup.jobs.iter_mut().for_each(|job| job.files = shared);
            setup.complete()
        };
        let (alone, both) = (run(false), run(true));
        let delay = end(&both, 0) - end(&alone, 0);
        assert!(delay > Time::ZERO, "the calls meet");
        let stamp = lost(&both, 0, 0);
        assert_eq!(to_others(&stamp, 0), (delay, vec![(3, Kind::Metadata)]));
        assert_eq!(stamp.undisturbed, end(&alone, 0));
    }
}

/// A rank writes to a range locked by a node of another job, while that node writes to it or only keeps the lock.
#[test]
fn a_write_loses_its_wait_for_the_lock_of_another_job() {
    let write = OpKind::Write {
        file: 5,
        offset: 0,
        bytes: 900,
    };
    for later in [300, 100_000] {
        let run = |noise: bool| {
            let mut setup = setup().server(40, 1 << 40);
            setup.params.locks = Some(odonata_storage::Locks {
                granularity: Bytes(1),
                revocation: Time::from_ns(700),
            });
            setup.params.ledger = Some(LedgerParams {
                jobs: 2,
                interval: None,
            });
            let mut setup = setup.script(vec![sequence([compute(later), write])], &[0]);
            if noise {
                setup = setup.script(vec![sequence([write])], &[2]);
            }
            let shared = setup.jobs[0].files;
            setup.jobs.iter_mut().for_each(|job| job.files = shared);
            setup.complete()
        };
        let (alone, both) = (run(false), run(true));
        let delay = end(&both, 0) - end(&alone, 0);
        assert!(delay > Time::from_ns(700), "they meet: {delay:?}");
        let stamp = lost(&both, 0, 0);
        let (others, names) = to_others(&stamp, 0);
        assert_eq!((others, stamp.undisturbed), (delay, end(&alone, 0)), "{stamp:?}");
        assert!(names.contains(&(3, Kind::Lock)), "{names:?}");
        assert_eq!(lost(&alone, 0, 0).losses, []);
    }
}

/// The write of a rank is acknowledged in memory, and its sync waits while the piece of another job is ahead at the
/// device.
#[test]
fn an_fsync_inherits_the_loss_of_the_writes_that_it_waits_for() {
    let write = |file, bytes| OpKind::Write { file, offset: 0, bytes };
    let sync = OpKind::Metadata {
        call: FileCall::Sync,
        directory: 0,
        file: 5,
    };
    let run = |later: u64, noise: bool| {
        let mut setup = setup().server(40, 1 << 40);
        setup.params.ledger = Some(LedgerParams {
            jobs: 2,
            interval: None,
        });
        let setup = setup.script(vec![sequence([compute(later), write(5, 900), sync])], &[0]);
        let setup = match noise {
            true => setup.script(vec![sequence([write(7, 2_500)])], &[2]),
            false => setup,
        };
        setup.complete()
    };
    // Both writes fit into the memory of the server; the network decides when the first piece reaches the device.
    let meets = (0..20_000).step_by(250).find_map(|later| {
        let (alone, both) = (run(later, false), run(later, true));
        let stamp = lost(&both, 0, 0);
        let (lost_to_others, names) = to_others(&stamp, 0);
        let delay = end(&both, 0) - end(&alone, 0);
        assert_eq!(
            (lost_to_others, stamp.undisturbed),
            (delay, end(&alone, 0)),
            "{later} ns: {stamp:?}"
        );
        names.contains(&(3, Kind::Device)).then_some(delay)
    });
    assert!(meets.is_some_and(|delay| delay > Time::ZERO), "one of them meets");
}

/// A rank continues a write at its previous end, but another job has accessed the device in between. The device seeks
/// again, which is not a wait of any request, and delays the rank by the seek time.
#[test]
fn a_write_loses_the_seek_caused_by_the_access_of_another_job() {
    let seek = Time::from_ns(50_000);
    let write = |file, offset| OpKind::Write {
        file,
        offset,
        bytes: 900,
    };
    let run = |noise: Option<(u64, u64)>| {
        let mut setup = setup().server(40, 1 << 40);
        let DeviceModel::Rate(device) = &mut setup.servers[0].devices[0].model else {
            unreachable!("it is one of these")
        };
        device.seek = seek;
        let setup = setup.script(vec![sequence([write(5, 0), compute(200_000), write(5, 900)])], &[0]);
        let setup = match noise {
            Some((later, offset)) => setup.script(vec![sequence([compute(later), write(7, offset)])], &[2]),
            None => setup,
        };
        setup.complete()
    };
    let alone = run(None);
    for later in [100_000, 120_000] {
        let both = run(Some((later, 0)));
        let stamp = lost(&both, 0, 0);
        assert_eq!(end(&both, 0) - end(&alone, 0), seek);
        assert_eq!(to_others(&stamp, 0), (seek, vec![(3, Kind::Device)]));
        assert_eq!(stamp.undisturbed, end(&alone, 0));
    }
    // An access behind both writes causes no seek.
    let after = run(Some((900_000, 0)));
    assert_eq!((end(&after, 0), lost(&after, 0, 0).losses), (end(&alone, 0), vec![]));
}
