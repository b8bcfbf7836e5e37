//! Every collective with the decisions of every library and with every algorithm, on the hosts.

use super::*;
use odonata_engine::RollbackCheck;
use odonata_workload::collective::choice::AlgorithmSizes;
use odonata_workload::collective::{Algorithm as Way, Kind, Library, choose, step};
use odonata_workload::{Collective, Counts};

const COMM: Comm = Comm::WORLD;
const COUNTS: Counts = Counts(5);

/// Bytes from rank `from` to rank `to`; some are zero.
fn listed(counts: Counts, from: u32, to: u32) -> u64 {
    assert_eq!(counts, COUNTS);
    u64::from(7 * from + 4 * to) % 5 * 300
}

/// All ranks call the same collectives at different times.
#[derive(Debug)]
struct Calls {
    ranks: u32,
    calls: Vec<Collective>,
}

impl Program for Calls {
    fn ranks(&self) -> u32 {
        self.ranks
    }
    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        cursor.advance(|words| {
            let at = words[0] as usize;
            words[0] += 1;
            match at {
                0 => Some(compute(u64::from(rank * 37 % 11) * 5_000)),
                _ => self.calls.get(at - 1).copied().map(OpKind::Collective),
            }
        })
    }
    fn bytes(&self, rank: u32, counts: Counts, from: u32, to: u32) -> u64 {
        assert!(rank < self.ranks && from < self.ranks && to < self.ranks);
        listed(counts, from, to)
    }
    fn describe(&self) -> String {
        "calls".into()
    }
}

/// One collective of every kind, some of them in two sizes.
fn calls(ranks: u32) -> Vec<Collective> {
    let (comm, counts) = (COMM, COUNTS);
    let root = 1 % ranks;
    let mut all = vec![
        Collective::Barrier { comm },
        Collective::Gatherv { comm, root, counts },
        Collective::Scatterv { comm, root, counts },
        Collective::Allgatherv { comm, counts },
        Collective::ReduceScatter { comm, counts },
        Collective::Alltoallv { comm, counts },
    ];
    for bytes in [0, 80, 12_000] {
        let count = bytes / 4;
        all.extend([
            Collective::Broadcast { comm, root, bytes },
            Collective::Allreduce { comm, bytes, count },
            Collective::Reduce {
                comm,
                root,
                bytes,
                count,
            },
            Collective::Gather { comm, root, bytes },
            Collective::Scatter { comm, root, bytes },
            Collective::Allgather { comm, bytes },
            Collective::ReduceScatterBlock { comm, bytes, count },
            Collective::Scan { comm, bytes, count },
            Collective::Exscan { comm, bytes, count },
            Collective::Alltoall { comm, bytes },
        ]);
    }
    all
}

fn setup(ranks: u32, calls: Vec<Collective>, rules: Rules) -> Setup {
    let mut setup = Setup::new();
    setup.params.rules = rules;
    setup.params.mpi.send_overhead = Time::from_ns(100);
    let nodes: Vec<u32> = (0..ranks).map(|r| r * 4 % 71).collect();
    setup.job(JobProgram::Program(Arc::new(Calls { ranks, calls })), &nodes)
}

/// Runs the calls and compares the messages of each rank with the steps of the algorithms.
fn carry_out(ranks: u32, calls: &[Collective], rules: Rules) {
    let machine = setup(ranks, calls.to_vec(), rules).complete();
    for rank in 0..ranks {
        let mut expected = [0; 4];
        for collective in calls {
            let algorithm = choose(collective, ranks, &rules, &listed);
            for index in 0.. {
                let Some(step) = step(collective, algorithm, rank, ranks, index, &listed) else {
                    break;
                };
                for (i, transfer) in [step.send, step.recv].into_iter().enumerate() {
                    expected[2 * i] += u64::from(transfer.is_some());
                    expected[2 * i + 1] += transfer.map_or(0, |t| t.bytes);
                }
            }
        }
        let m = machine.hosts.metrics(0, rank);
        let got = [m.sends, m.bytes_sent, m.recvs, m.bytes_received];
        assert_eq!(got, expected, "rank {rank} of {ranks}: {rules:?}");
    }
}

#[test]
fn collectives_complete_by_the_decisions_of_every_library() {
    for library in [Library::Mpich, Library::OpenMpi] {
        let rules = Rules {
            library,
            ..Rules::default()
        };
        for ranks in [1, 2, 3, 4, 7, 8, 13, 16, 19] {
            carry_out(ranks, &calls(ranks), rules);
        }
    }
}

#[test]
fn collectives_complete_by_every_algorithm() {
    let sizes = AlgorithmSizes {
        segment: 1_000,
        window: 3,
        radix: 2,
    };
    for kind in Kind::ALL {
        for way in Way::ALL
            .into_iter()
            .filter(|way| way.serves(kind))
            .map(|way| way.sized(sizes))
        {
            for ranks in [3, 8, 13] {
                let calls: Vec<_> = calls(ranks).into_iter().filter(|call| call.which() == kind).collect();
                carry_out(ranks, &calls, Rules::default().with(kind, way));
            }
        }
    }
}

#[test]
fn sends_posted_together_are_spaced_by_the_send_overhead() {
    // The root of a linear broadcast within a node posts three sends, 70 ns apart.
    let mut setup = Setup::new();
    setup.params.rules = Rules::default().with(Kind::Broadcast, Way::Linear);
    let mpi = &mut setup.params.mpi;
    (mpi.send_overhead, mpi.recv_overhead) = (Time::from_ns(70), Time::from_ns(30));
    (mpi.send_delay, mpi.send_per_byte) = (Time::from_ns(100), PerByte(0.0));
    let call = OpKind::Collective(broadcast(0, 8));
    let machine = setup.script(vec![sequence([call]); 4], &[3; 4]).complete();
    // 100 ns of software, 400 ns + 8 B / (10 GB/s), 30 ns of receive overhead.
    let way = Time::from_ns(100) + Time::from_ns(400) + Time(800) + Time::from_ns(30);
    for rank in 1..4u64 {
        let end = machine.hosts.metrics(0, rank as u32).end;
        assert_eq!(end, Time::from_ns(70 * (rank - 1)) + way, "rank {rank}");
    }
    assert!(machine.hosts.metrics(0, 0).end >= Time::from_ns(3 * 70));
}

#[test]
fn ranks_handle_the_messages_of_a_linear_all_to_all_on_arrival() {
    // Each of the n ranks of a node gets a message every 70 ns and handles it in 30 ns: only the last one counts.
    let (ranks, between) = (4_u64, Time::from_ns(70));
    let mut setup = Setup::new();
    setup.params.rules = Rules::default().with(Kind::Alltoall, Way::Linear);
    let mpi = &mut setup.params.mpi;
    (mpi.send_overhead, mpi.recv_overhead) = (between, Time::from_ns(30));
    (mpi.send_delay, mpi.send_per_byte) = (Time::from_ns(100), PerByte(0.0));
    let call = OpKind::Collective(Collective::Alltoall { comm: COMM, bytes: 8 });
    let machine = setup.script(vec![sequence([call]); 4], &[3; 4]).complete();
    // 100 ns of software, 400 ns + 8 B / (10 GB/s), 30 ns of receive overhead.
    let way = Time::from_ns(100) + Time::from_ns(400) + Time(800) + Time::from_ns(30);
    for rank in 0..ranks as u32 {
        assert_eq!(
            machine.hosts.metrics(0, rank).end,
            between.times(ranks - 2) + way,
            "rank {rank}"
        );
    }
}

#[test]
fn every_event_of_every_collective_can_be_undone_and_redone() {
    take_back_collectives(3);
}

#[test]
#[ignore = "takes long"]
fn every_event_of_every_collective_of_more_ranks_can_be_taken_back_and_redone() {
    take_back_collectives(6);
}

fn take_back_collectives(ranks: u32) {
    for library in [Library::Mpich, Library::OpenMpi] {
        let rules = Rules {
            library,
            ..Rules::default()
        };
        let setup = setup(ranks, calls(ranks), rules);
        let sequential = setup.complete();
        let mut harness = RollbackCheck::new(setup.build());
        harness.run(u64::MAX).unwrap();
        assert_eq!(digest(harness.model()), digest(&sequential));
    }
}
