//! Lost time in closed cases: the undisturbed end of each rank equals its end in a run without other jobs, and the loss
//! to each culprit is exact to the picosecond.

use super::*;
use odonata_blame::lost::{Kind, Loss, Stamp, total};
use odonata_engine::RollbackCheck;
use odonata_workload::Collective;

pub(super) const BYTES: u64 = 8_000;
/// Delay in ns of a message that is to wait for those of other jobs.
pub(super) const LATER: u64 = 200;

pub(super) fn setup() -> Setup {
    let mut setup = Setup::new();
    setup.params.lost_time = true;
    setup
}

/// The lost time of `rank` of `job`.
pub(super) fn lost(machine: &TestMachine, job: u16, rank: u32) -> Stamp {
    let number = machine.hosts.job(job).first_rank + rank;
    let measured = HostMeasured::join([machine.hosts.measured(Time::ZERO)]).unwrap();
    let (_, stamp) = measured.lost.into_iter().find(|&(rank, _)| rank == number).unwrap();
    stamp.audit().unwrap();
    assert_eq!(stamp.at, machine.hosts.metrics(job, rank).end);
    stamp
}

/// The part of the loss caused by others, and their traffic classes with the kinds of wait.
pub(super) fn to_others(stamp: &Stamp, job: u16) -> (Time, Vec<(u16, Kind)>) {
    let others: Vec<Loss> = (stamp.losses.iter().copied())
        .filter(|loss| loss.culprit / 2 != job)
        .collect();
    let names = others.iter().map(|loss| (loss.culprit, loss.kind)).collect();
    (total(&others), names)
}

pub(super) fn end(machine: &TestMachine, rank: u32) -> Time {
    machine.hosts.metrics(0, rank).end
}

/// `ranks` on `nodes`, beside jobs that send one message each: time, source, destination.
fn beside(ranks: &[Vec<Op>], nodes: &[u32], others: &[(u64, u32, u32)]) -> Setup {
    beside_in(setup(), ranks, nodes, others)
}

pub(super) fn beside_in(setup: Setup, ranks: &[Vec<Op>], nodes: &[u32], others: &[(u64, u32, u32)]) -> Setup {
    with_noise(setup.script(ranks.to_vec(), nodes), others)
}

/// Jobs that send one message each: time, source, destination.
pub(super) fn with_noise(setup: Setup, others: &[(u64, u32, u32)]) -> Setup {
    others.iter().fold(setup, |setup, &(at, from, to)| {
        let noise = vec![
            sequence([compute(at), send(1, 0, BYTES)]),
            sequence([recv(0, 0, BYTES)]),
        ];
        setup.script(noise, &[from, to])
    })
}

/// Two ranks. Their first messages, of one packet each and from nodes of one router, meet at the link to the node of
/// the second.
pub(super) fn pair() -> Vec<Vec<Op>> {
    vec![
        sequence([compute(LATER), send(1, 0, BYTES)]),
        sequence([recv(0, 0, BYTES)]),
    ]
}

#[test]
fn on_a_shared_link_the_wait_for_the_other_job_equals_the_delay() {
    let (alone, both) = (
        beside(&pair(), &[1, 8], &[]).complete(),
        beside(&pair(), &[1, 8], &[(0, 0, 8)]).complete(),
    );
    let delay = end(&both, 1) - end(&alone, 1);
    assert!(delay > Time::ZERO, "the messages meet");
    let stamp = lost(&both, 0, 1);
    assert_eq!(to_others(&stamp, 0), (delay, vec![(2, Kind::Link)]));
    assert_eq!((stamp.lost(), stamp.undisturbed), (delay, end(&alone, 1)));
    // The first message has lost nothing, and without others neither has lost anything.
    assert_eq!(lost(&both, 1, 1).losses, []);
    assert_eq!(lost(&alone, 0, 1).losses, []);
}

/// A long message also waits for its own packets; without other jobs it waits only for these.
#[test]
fn a_message_of_many_packets_has_the_same_undisturbed_end_with_and_without_others() {
    let long = 6 * PACKET;
    let ranks = vec![
        sequence([compute(LATER), send(1, 0, long)]),
        sequence([recv(0, 0, long)]),
    ];
    let (alone, both) = (
        beside(&ranks, &[1, 8], &[]).complete(),
        beside(&ranks, &[1, 8], &[(24_500, 0, 8), (26_000, 3, 8)]).complete(),
    );
    assert!(end(&both, 1) > end(&alone, 1));
    let (stamp, own) = (lost(&both, 0, 1), lost(&alone, 0, 1));
    assert_eq!(stamp.undisturbed, own.undisturbed);
    assert!(own.losses.iter().all(|loss| loss.culprit == 0) && own.lost() > Time::ZERO);
    let (others, _) = to_others(&stamp, 0);
    assert_eq!(others, end(&both, 1) - end(&alone, 1), "{stamp:?}");
}

/// Two long messages meet at the last link, and the buffers behind it fill with packets of both. Packets further back
/// wait for space that packets of their own message release. The loss of those packets to the other message returns
/// with the credits, so that nearly all of the delay is charged to the other.
#[test]
fn losses_of_own_packets_return_with_their_credits() {
    let long = 60 * PACKET;
    let pair = |at| vec![sequence([compute(at), send(1, 0, long)]), sequence([recv(0, 0, long)])];
    let alone = setup().script(pair(0), &[1, 8]).complete();
    let both = setup().script(pair(0), &[1, 8]).script(pair(0), &[40, 8]).complete();
    let delay = end(&both, 1) - end(&alone, 1);
    let stamp = lost(&both, 0, 1);
    let (others, _) = to_others(&stamp, 0);
    assert!(delay > Time::ZERO, "they meet");
    assert!(
        others.0.abs_diff(delay.0) * 20 <= delay.0,
        "{others:?} of {delay:?}: {stamp:?}"
    );
}

#[test]
fn slack_absorbs_a_delay_up_to_its_length() {
    let run = |work: u64, others: &[(u64, u32, u32)]| {
        let receiver = sequence([compute(work), recv(0, 0, BYTES)]);
        let ranks = vec![sequence([compute(LATER), send(1, 0, BYTES)]), receiver];
        beside(&ranks, &[1, 8], others).complete()
    };
    let noise = [(0, 0, 8)];
    let (came, late) = (end(&run(0, &[]), 1), end(&run(0, &noise), 1));
    // First with enough work for the late message to arrive in time, then with half of that.
    let plenty = late.0 / 1_000 + 1;
    assert_eq!(lost(&run(plenty, &noise), 0, 1).losses, []);
    let some = (came.0 + late.0) / 2 / 1_000;
    let stamp = lost(&run(some, &noise), 0, 1);
    let expected = late - Time::from_ns(some);
    assert_eq!(to_others(&stamp, 0), (expected, vec![(2, Kind::Link)]));
    assert_eq!(stamp.undisturbed, end(&run(some, &[]), 1));
}

#[test]
fn a_delay_propagates_over_four_ranks() {
    for threshold in [None, Some(Bytes(100))] {
        let ranks = vec![
            sequence([compute(LATER), send(1, 0, BYTES)]),
            sequence([recv(0, 0, BYTES), compute(500), send(2, 0, BYTES)]),
            sequence([recv(1, 0, BYTES), compute(700), send(3, 0, BYTES)]),
            sequence([recv(2, 0, BYTES)]),
        ];
        let run = |others: &[(u64, u32, u32)]| {
            let mut setup = setup();
            setup.params.mpi.eager_threshold = threshold;
            beside_in(setup, &ranks, &[1, 8, 24, 40], others).complete()
        };
        // The other message is ready 8 us after its call, about when the data of the rendezvous leave.
        let at = match threshold {
            None => 0,
            Some(_) => end(&run(&[]), 0).0 / 1_000 - 9_000,
        };
        let alone = run(&[]);
        let near = (0..=6_000).step_by(250).map(|later| (at + later, 0, 8));
        let both = near
            .map(|noise| run(&[noise]))
            .find(|both| end(both, 3) > end(&alone, 3));
        let both = both.expect("one of them meets a message");
        let delay = end(&both, 3) - end(&alone, 3);
        let stamp = lost(&both, 0, 3);
        assert_eq!(to_others(&stamp, 0).0, delay, "{threshold:?} {stamp:?}");
        assert_eq!(stamp.undisturbed, end(&alone, 3));
    }
}

/// Messages from two sides, each delayed by another job; the receiver waits for both.
#[test]
fn of_two_culprits_the_one_of_the_later_message_counts() {
    let ranks = vec![
        sequence([compute(LATER), send(2, 0, BYTES)]),
        sequence([compute(3_000 + LATER), send(2, 1, BYTES)]),
        sequence([irecv(0, 0, BYTES, 0), irecv(1, 1, BYTES, 1), wait_all(2)]),
    ];
    let nodes = [1, 17, 33];
    let run = |others: &[(u64, u32, u32)]| beside(&ranks, &nodes, others).complete();
    let alone = run(&[]);
    let both = run(&[(0, 0, 32), (3_000, 16, 32)]);
    assert!(end(&both, 2) > end(&alone, 2));
    let stamp = lost(&both, 0, 2);
    let (others, names) = to_others(&stamp, 0);
    assert_eq!((stamp.lost(), end(&both, 2) - others), (others, end(&alone, 2)));
    assert!(names.iter().all(|&(culprit, _)| culprit == 4), "{stamp:?}");
    assert_eq!(stamp.undisturbed, end(&alone, 2));
}

/// A delayed packet is overtaken at the last link by a later one of its job, which would have followed it in a run
/// alone. Its wait for that packet is not slack: it was late before and stays late.
#[test]
fn a_packet_overtaken_by_a_later_one_of_its_job_stays_late() {
    let run = |later: u64, others: &[(u64, u32, u32)]| {
        let ranks = vec![
            sequence([compute(LATER), send(2, 0, BYTES)]),
            sequence([compute(later), send(2, 1, BYTES)]),
            sequence([irecv(0, 0, BYTES, 0), irecv(1, 1, BYTES, 1), wait_all(2)]),
        ];
        beside(&ranks, &[1, 10, 8], others).complete()
    };
    let noise = [(0, 0, 9)];
    // The second packet has passed before.
    let (came, late) = (end(&run(0, &[]), 2), end(&run(0, &noise), 2));
    assert!(late > came, "the first is held up");
    let delays: Vec<(Time, Time)> = (0..20_000)
        .step_by(100)
        .map(|later| (run(later, &[]), run(later, &noise)))
        .filter(|(alone, both)| end(both, 2) > late && end(both, 2) > end(alone, 2))
        .map(|(alone, both)| (to_others(&lost(&both, 0, 2), 0).0, end(&both, 2) - end(&alone, 2)))
        .collect();
    assert!(!delays.is_empty(), "the first waits for the second");
    assert!(delays.iter().any(|(others, delay)| others == delay), "{delays:?}");
}

#[test]
fn a_receive_from_any_source_inherits_the_loss_of_its_message() {
    let any = OpKind::Recv {
        from: Source::Any,
        tag: Tag::Any,
        bytes: BYTES,
        comm: Comm::WORLD,
    };
    let ranks = vec![
        sequence([compute(LATER), send(2, 0, BYTES)]),
        sequence([compute(100_000), send(2, 1, BYTES)]),
        sequence([any, any]),
    ];
    let run = |others: &[(u64, u32, u32)]| beside(&ranks, &[1, 17, 8], others).complete();
    let (alone, both) = (run(&[]), run(&[(0, 0, 8)]));
    // The delay of the first has ended when the second arrives.
    assert_eq!((end(&both, 2), lost(&both, 0, 2).losses), (end(&alone, 2), vec![]));
    let one = vec![sequence([compute(LATER), send(1, 0, BYTES)]), sequence([any])];
    let (alone, both) = (
        beside(&one, &[1, 8], &[]).complete(),
        beside(&one, &[1, 8], &[(0, 0, 8)]).complete(),
    );
    let delay = end(&both, 1) - end(&alone, 1);
    assert_eq!(to_others(&lost(&both, 0, 1), 0), (delay, vec![(2, Kind::Link)]));
}

/// Recording lost time alters no result, and undone events leave no trace.
#[test]
fn lost_time_does_not_alter_results_and_is_journalled() {
    let ranks: Vec<Vec<Op>> = (0..6)
        .map(|rank: u32| {
            let (right, left) = ((rank + 1) % 6, (rank + 5) % 6);
            sequence([
                irecv(left, 0, 3 * PACKET, 0),
                isend(right, 0, 3 * PACKET, 1),
                compute(200 * u64::from(rank)),
                wait_all(2),
                OpKind::Collective(Collective::Barrier { comm: Comm::WORLD }),
            ])
        })
        .collect();
    for threshold in [None, Some(Bytes(1_000))] {
        let of = |lost_time| {
            let mut setup = Setup::new();
            setup.params.lost_time = lost_time;
            setup.params.mpi.eager_threshold = threshold;
            setup.params.mpi.progress = Progress::InCalls;
            beside_in(setup, &ranks, &[0, 9, 18, 27, 36, 45], &[(0, 1, 8), (100, 2, 8)])
        };
        let (with, without) = (of(true).complete(), of(false).complete());
        for rank in 0..6 {
            assert_eq!(with.hosts.metrics(0, rank), without.hosts.metrics(0, rank));
        }
        assert!(
            HostMeasured::join([without.hosts.measured(Time::ZERO)])
                .unwrap()
                .lost
                .is_empty()
        );
        let mut check = RollbackCheck::new(of(true).build());
        check.run(u64::MAX).unwrap();
        let again = HostMeasured::join([check.model().hosts.measured(Time::ZERO)])
            .unwrap()
            .lost;
        assert_eq!(
            again,
            HostMeasured::join([with.hosts.measured(Time::ZERO)]).unwrap().lost
        );
    }
}
