//! Noise of the operating system, against closed forms.

use super::*;
use crate::settings::{Noise, NoiseDurations, NoiseTiming};
use odonata_workload::Collective;

const PERIOD: Time = Time::from_ns(100_000);
const DETOUR: Time = Time::from_ns(20_000);

/// A detour at the beginning of each period.
fn noisy(timing: NoiseTiming) -> Setup {
    let mut setup = Setup::new();
    setup.params.mpi.noise = vec![Noise {
        period: PERIOD,
        duration: DETOUR,
        durations: NoiseDurations::Fixed,
        timing,
    }];
    setup
}

fn work(time: Time) -> OpKind {
    OpKind::Compute { duration: time }
}

fn send(bytes: u64) -> OpKind {
    OpKind::Send {
        to: 1,
        tag: 0,
        bytes,
        comm: Comm::WORLD,
    }
}

fn receive(bytes: u64) -> OpKind {
    OpKind::Recv {
        from: Source::Rank(0),
        tag: Tag::Is(0),
        bytes,
        comm: Comm::WORLD,
    }
}

#[test]
fn a_computation_gets_what_detours_leave_of_each_period() {
    for periods in [1, 10] {
        let busy = (PERIOD - DETOUR).times(periods);
        let machine = noisy(NoiseTiming::Synchronized)
            .script(vec![sequence([work(busy)])], &[0])
            .complete();
        assert_eq!(machine.hosts.metrics(0, 0).end, PERIOD.times(periods));
        // As two computations.
        let halves = sequence([work(Time(busy.0 / 2)), work(Time(busy.0 / 2))]);
        let machine = noisy(NoiseTiming::Synchronized).script(vec![halves], &[0]).complete();
        assert_eq!(machine.hosts.metrics(0, 0).end, PERIOD.times(periods));
    }
}

#[test]
fn detours_while_a_rank_waits_cost_nothing() {
    let ranks = || {
        let sender = [work(Time::from_ns(150_000)), send(100)];
        vec![sequence(sender), sequence([receive(100)])]
    };
    let quiet = Setup::new().script(ranks(), &[0, 71]).complete();
    let machine = noisy(NoiseTiming::Synchronized).script(ranks(), &[0, 71]).complete();
    // Two detours delay the computation of the sender; the second one comes while the receiver waits.
    assert_eq!(
        machine.hosts.metrics(0, 1).end,
        quiet.hosts.metrics(0, 1).end + DETOUR.times(2)
    );
}

#[test]
fn a_detour_delays_calls_and_their_overheads() {
    let overhead = Time::from_ns(200);
    let mut setup = noisy(NoiseTiming::Synchronized);
    (setup.params.mpi.send_overhead, setup.params.mpi.recv_overhead) = (overhead, overhead);
    let mut quiet = Setup::new();
    (quiet.params.mpi.send_overhead, quiet.params.mpi.recv_overhead) = (overhead, overhead);
    let ranks = || vec![sequence([send(100)]), sequence([receive(100)])];
    let (machine, quiet) = (
        setup.script(ranks(), &[0, 71]).complete(),
        quiet.script(ranks(), &[0, 71]).complete(),
    );
    // Both calls begin in the detour at 0, and so after it.
    for rank in [0, 1] {
        let alone = quiet.hosts.metrics(0, rank).end;
        assert_eq!(machine.hosts.metrics(0, rank).end, DETOUR + alone, "{rank}");
    }
    // A message that arrives in a detour is handled after it.
    let ranks = || {
        let sender = [work(PERIOD - DETOUR - Time::from_ns(1_000)), send(100)];
        vec![sequence(sender), sequence([receive(100)])]
    };
    let machine = {
        let mut setup = noisy(NoiseTiming::Synchronized);
        setup.params.mpi.recv_overhead = overhead;
        setup.script(ranks(), &[0, 71]).complete()
    };
    assert_eq!(machine.hosts.metrics(0, 1).end, PERIOD + DETOUR + overhead);
}

/// Each rank is hit by its own detours: a barrier after a computation ends when the last rank comes.
#[test]
fn a_barrier_waits_for_the_rank_with_the_worst_detours() {
    let barrier = OpKind::Collective(Collective::Barrier { comm: Comm::WORLD });
    let (nodes, busy): (Vec<u32>, _) = ((0..16).map(|rank| 4 * rank).collect(), Time::from_ns(50_000));
    let ends = |last: Option<OpKind>| -> Vec<Time> {
        let program = || sequence([work(busy)].into_iter().chain(last));
        let setup = noisy(NoiseTiming::Random).script((0..16).map(|_| program()).collect(), &nodes);
        let machine = setup.complete();
        (0..16).map(|rank| machine.hosts.metrics(0, rank).end).collect()
    };
    let alone = ends(None);
    let (first, last) = (alone.iter().min().unwrap(), *alone.iter().max().unwrap());
    assert_eq!(
        (*first, last),
        (busy, busy + DETOUR),
        "half of the ranks are hit in half a period"
    );
    assert!(ends(Some(barrier)).iter().all(|&end| end >= last));
}
