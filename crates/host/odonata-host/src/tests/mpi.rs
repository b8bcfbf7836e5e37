//! The MPI library by itself: calls and arrivals in, effects out. A wire without contention carries its messages.

use super::*;
use crate::layout::{JobPlan, RankPlace};
use crate::mpi::Mpi;
use crate::mpi::effect::{MpiEffect, OutgoingMessage};
use crate::mpi::matching::Envelope;
use crate::mpi::sequence::chains;
use crate::observe::Observers;
use crate::observe::exposed::ExposedLog;
use crate::observe::fault_waits::FaultWaits;
use crate::observe::lost::LostTime;
use crate::observe::records::Records;
use crate::settings::RendezvousForm;
use crate::turn::{Effects, Turn};
use odonata_engine::SparseStore;
use odonata_network::settings::RateAbove;
use odonata_units::Bandwidth;
use odonata_workload::Collective;
use std::collections::BTreeMap;

/// Time from the departure of a message to its arrival.
const LATENCY: Time = Time::from_ns(1_000);
const DELAY: Time = Time::from_ns(300);
const SEND: Time = Time::from_ns(70);
const RECEIVE: Time = Time::from_ns(30);
const CONTROL: u64 = 16;
const THRESHOLD: u64 = 1_000;

/// What happens next.
#[derive(Debug)]
enum Occurrence {
    Call(u32, OpKind),
    Leaves(u32),
    Arrives(Payload, u64),
    Resumes(u32),
    StepEnds(u32),
}

/// The library of the ranks of one job, each of which makes one call at a time.
pub(super) struct Library {
    pub(super) mpi: Mpi,
    observers: Observers,
    occurrences: BTreeMap<(Time, usize), Occurrence>,
    count: usize,
    /// By operation: its call, and the time at which it ended.
    calls: Vec<(u32, Option<Time>)>,
}

impl Library {
    pub(super) fn new(ranks: u32, adjust: impl FnOnce(&mut HostParams)) -> Library {
        let mut params = Setup::new().params;
        let mpi = &mut params.mpi;
        (mpi.send_delay, mpi.send_per_byte) = (DELAY, PerByte::ZERO);
        (mpi.send_overhead, mpi.recv_overhead) = (SEND, RECEIVE);
        (mpi.rendezvous_control, mpi.eager_threshold) = (Bytes(CONTROL), Some(Bytes(THRESHOLD)));
        params.records.matches = true;
        adjust(&mut params);
        let job = JobPlan {
            name: "job".into(),
            program: JobProgram::Program(Arc::new(Script(vec![Vec::new(); ranks as usize], Vec::new()))),
            start: Time::ZERO,
            start_after: Vec::new(),
            until: Vec::new(),
            watchers: Vec::new(),
            ranks,
            first_rank: 0,
            chains: chains(ranks),
            files: FileAccess::own(0),
            directory_servers: Vec::new(),
            tells_servers: false,
            stage_in: Vec::new(),
            stage_wait: false,
            stage_out: false,
        };
        let place = |node| RankPlace {
            interface: 0,
            job: 0,
            node,
            lp: 0,
            server: NIL,
        };
        let layout = Layout {
            jobs: [job].into(),
            ranks: (0..ranks).map(place).collect(),
            servers: [].into(),
            tiers: [].into(),
            first_metadata: 0,
            starts: (0..ranks).map(|rank| (0, rank)).collect(),
            processes: 0..1,
            trees: [].into(),
        };
        let all: Arc<[u32]> = (0..ranks).collect();
        let part = (all.clone(), all);
        Library {
            observers: Observers::new(
                &params,
                Records::new(SparseStore::default(), 2, &params),
                LostTime::new(&params, &part, 1),
                FaultWaits::new((0, 0), &[], None, (&[], 1)),
                ExposedLog::new(SparseStore::default()),
            ),
            mpi: Mpi::new(&params, layout, &part, &[]),
            occurrences: BTreeMap::new(),
            count: 0,
            calls: Vec::new(),
        }
    }

    /// The effects of an input.
    pub(super) fn at(&mut self, now: Time, input: impl FnOnce(&mut Mpi, &mut Turn<'_, MpiEffect>)) -> Vec<MpiEffect> {
        let mut effects = Effects::new();
        let turn = &mut Turn {
            now,
            observers: &mut self.observers,
            effects: &mut effects,
        };
        input(&mut self.mpi, turn);
        let failure = effects.take_failure();
        assert!(failure.is_none(), "{failure:?}");
        effects.take_list()
    }

    fn add(&mut self, at: Time, occurrence: Occurrence) {
        self.occurrences.insert((at, self.count), occurrence);
        self.count += 1;
    }

    /// Lets `rank` call `kind` at `at`; returns the number of the operation.
    fn call(&mut self, at: Time, rank: u32, kind: OpKind) {
        self.add(at, Occurrence::Call(rank, kind));
    }

    /// Runs until nothing happens any more; returns the end of every call, in the order of the calls.
    fn ends(&mut self) -> Vec<Option<Time>> {
        while let Some(((now, _), occurrence)) = self.occurrences.pop_first() {
            let effects = match occurrence {
                Occurrence::Call(rank, kind) => {
                    let caller = self.calls.len() as u32;
                    let op = Op {
                        id: OpId(caller),
                        stream: 0,
                        after: After::NONE,
                        kind,
                    };
                    let mut call = NIL;
                    let mut effects = self.at(now, |mpi, turn| {
                        call = mpi.enter::<Speculative>(turn, (caller, rank), &op, now);
                    });
                    self.calls.push((call, None));
                    effects.extend(self.at(now, |mpi, turn| mpi.perform::<Speculative>(turn, call, &op)));
                    effects
                }
                Occurrence::Leaves(request) => self.at(now, |mpi, turn| mpi.complete::<Speculative>(turn, request)),
                Occurrence::Arrives(payload, bytes) => self.arrives(now, payload, bytes),
                Occurrence::Resumes(caller) => {
                    let call = self.calls[caller as usize].0;
                    self.at(now, |mpi, turn| mpi.resume::<Speculative>(turn, call))
                }
                Occurrence::StepEnds(call) => self.at(now, |mpi, turn| mpi.resume::<Speculative>(turn, call)),
            };
            self.carry_out(now, effects);
        }
        self.calls.iter().map(|&(_, end)| end).collect()
    }

    fn arrives(&mut self, now: Time, payload: Payload, bytes: u64) -> Vec<MpiEffect> {
        let envelope = |source, tag, context, sequence, bytes, rendezvous| Envelope {
            source,
            tag,
            context,
            sequence,
            bytes,
            rendezvous,
            next: NIL,
        };
        self.at(now, |mpi, turn| match payload {
            Payload::Eager {
                from,
                to,
                tag,
                context,
                sequence,
                request,
            } => {
                mpi.acknowledge::<Speculative>(turn, (to, from), bytes, request);
                mpi.message_arrives::<Speculative>(turn, to, envelope(from, tag, context, sequence, bytes, NIL));
            }
            Payload::Rts {
                from,
                to,
                tag,
                context,
                sequence,
                outgoing,
                bytes: length,
            } => {
                assert_eq!(bytes, CONTROL);
                let rts = envelope(from, tag, context, sequence, length, outgoing);
                mpi.message_arrives::<Speculative>(turn, to, rts);
            }
            Payload::Cts {
                to, outgoing, incoming, ..
            } => mpi.cts_arrives::<Speculative>(turn, to, outgoing, incoming),
            Payload::RendezvousData {
                to, incoming, request, ..
            } => mpi.data_arrives::<Speculative>(turn, to, incoming, request),
            Payload::Ack { request, .. } => mpi.complete::<Speculative>(turn, request),
            other => panic!("{other:?} is no message of MPI"),
        })
    }

    fn carry_out(&mut self, now: Time, effects: Vec<MpiEffect>) {
        let mut woken = Vec::new();
        for effect in effects {
            match effect {
                MpiEffect::Send(OutgoingMessage {
                    payload,
                    bytes,
                    software,
                    ..
                }) => {
                    let leaves = now + software;
                    let completes = match payload {
                        Payload::Eager { from, to, request, .. } => {
                            (!self.mpi.settings.is_acknowledged(&self.mpi.layout, (from, to), bytes)).then_some(request)
                        }
                        Payload::RendezvousData { request, .. } => {
                            (self.mpi.settings.rendezvous == RendezvousForm::Put).then_some(request)
                        }
                        _ => None,
                    };
                    if let Some(request) = completes {
                        self.add(leaves, Occurrence::Leaves(request));
                    }
                    self.add(leaves + LATENCY, Occurrence::Arrives(payload, bytes));
                }
                MpiEffect::Occupy { caller, until } => self.add(until, Occurrence::Resumes(caller)),
                MpiEffect::End { caller, .. } => {
                    let end = self.calls[caller as usize].1.replace(now);
                    assert_eq!(end, None, "a call ends once");
                }
                MpiEffect::Wake { caller } => woken.push(caller),
                MpiEffect::StepEnds { call, at } => self.add(at, Occurrence::StepEnds(call)),
                MpiEffect::TakeTag { .. } => {}
                MpiEffect::Contribute(_) => panic!("there are no trees of routers"),
            }
        }
        woken.dedup();
        for caller in woken {
            let call = self.calls[caller as usize].0;
            let effects = self.at(now, |mpi, turn| mpi.wake::<Speculative>(turn, call));
            self.carry_out(now, effects);
        }
    }
}

fn ns(time: u64) -> Time {
    Time::from_ns(time)
}

#[test]
fn a_message_that_overtakes_an_earlier_one_waits_for_it() {
    let mut library = Library::new(2, |_| {});
    let message = |sequence, tag| Envelope {
        source: 1,
        tag,
        context: 0,
        sequence,
        bytes: 8,
        rendezvous: NIL,
        next: NIL,
    };
    let mut arrive = |sequence, tag| {
        library.at(Time::ZERO, |mpi, turn| {
            mpi.message_arrives::<Speculative>(turn, 0, message(sequence, tag));
        });
        let tags = library.mpi.matching.unexpected(0).map(|message| message.tag);
        (tags.collect::<Vec<u32>>(), library.mpi.matching.held(0))
    };
    assert_eq!(arrive(2, 12), (vec![], 1));
    assert_eq!(arrive(1, 11), (vec![], 2));
    assert_eq!(arrive(0, 10), (vec![10, 11, 12], 0));
}

#[test]
fn an_eager_message_takes_one_latency_and_a_rendezvous_three() {
    for (bytes, crossings) in [(THRESHOLD, 1), (THRESHOLD + 1, 3)] {
        let mut library = Library::new(2, |_| {});
        library.call(Time::ZERO, 0, send(1, 7, bytes));
        library.call(Time::ZERO, 1, recv(0, 7, bytes));
        let crossing = DELAY + LATENCY;
        let arrives = crossing.times(crossings);
        // The data leave the sender after its software; the call occupies it at least for its overhead.
        let sent = (arrives - LATENCY).max(SEND);
        assert_eq!(library.ends(), [Some(sent), Some(arrives + RECEIVE)]);
    }
}

#[test]
fn a_synchronous_send_waits_for_its_receive() {
    for late in [0, 5_000] {
        let mut library = Library::new(2, |_| {});
        let ssend = OpKind::Ssend {
            to: 1,
            tag: 7,
            bytes: 1,
            comm: Comm::WORLD,
        };
        library.call(Time::ZERO, 0, ssend);
        library.call(ns(late), 1, recv(0, 7, 1));
        let asked = (DELAY + LATENCY).max(ns(late));
        let sent = asked + DELAY + LATENCY + DELAY;
        assert_eq!(library.ends(), [Some(sent), Some(sent + LATENCY + RECEIVE)]);
    }
}

#[test]
fn a_late_receive_takes_only_its_overhead() {
    let mut library = Library::new(2, |_| {});
    library.call(Time::ZERO, 0, send(1, 7, 8));
    library.call(ns(9_000), 1, recv(0, 7, 8));
    assert_eq!(library.ends(), [Some(DELAY), Some(ns(9_000) + RECEIVE)]);
}

#[test]
fn a_receive_without_message_never_ends() {
    let mut library = Library::new(2, |_| {});
    library.call(Time::ZERO, 0, send(1, 7, 8));
    library.call(Time::ZERO, 1, recv(0, 8, 8));
    assert_eq!(library.ends(), [Some(DELAY), None]);
    assert_eq!((library.mpi.calls.live(), library.mpi.requests.live()), (1, 1));
}

#[test]
fn a_wait_for_any_ends_with_the_first_message_and_leaves_the_other_request() {
    let mut library = Library::new(3, |_| {});
    library.call(Time::ZERO, 0, irecv(1, 7, 8, 0));
    library.call(Time::ZERO, 0, irecv(2, 7, 8, 1));
    let any = OpKind::WaitAny {
        first: Request(0),
        count: 2,
    };
    library.call(Time::ZERO, 0, any);
    library.call(ns(4_000), 1, send(0, 7, 8));
    library.call(ns(100), 2, send(0, 7, 8));
    let ends = library.ends();
    assert_eq!(ends[2], Some(ns(100) + DELAY + LATENCY + RECEIVE));
    // The other request is complete and not taken.
    let left: Vec<u32> = library.mpi.requests.of_rank(0).map(|request| request.number).collect();
    assert_eq!(left, [0]);
    library.call(ns(20_000), 0, any);
    assert_eq!(library.ends()[5], Some(ns(20_000) + RECEIVE));
    assert_eq!(library.mpi.requests.live(), 0);
}

#[test]
fn a_barrier_takes_a_crossing_and_a_receive_per_step() {
    for (ranks, steps) in [(2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4)] {
        let barrier = Collective::Barrier { comm: Comm::WORLD };
        let mut library = Library::new(ranks, |_| {});
        for rank in 0..ranks {
            library.call(Time::ZERO, rank, OpKind::Collective(barrier));
        }
        let end = (DELAY + LATENCY + RECEIVE).times(steps);
        assert_eq!(library.ends(), vec![Some(end); ranks as usize], "{ranks} ranks");
        assert_eq!((library.mpi.calls.live(), library.mpi.requests.live()), (0, 0));
    }
}

#[test]
fn without_a_progress_thread_a_collective_goes_on_in_the_next_call() {
    for progress in [Progress::Asynchronous, Progress::InCalls] {
        let mut library = Library::new(4, |params| params.mpi.progress = progress);
        for rank in 0..4 {
            let barrier = OpKind::Icollective {
                collective: Collective::Barrier { comm: Comm::WORLD },
                request: Request(0),
            };
            library.call(Time::ZERO, rank, barrier);
            library.call(ns(50_000), rank, wait_all(1));
        }
        let ends = library.ends();
        let waited: Vec<Time> = ends[4..].iter().map(|end| end.unwrap() - ns(50_000)).collect();
        let second = RECEIVE + DELAY + LATENCY + RECEIVE;
        let expected = match progress {
            Progress::Asynchronous => Time::ZERO,
            Progress::InCalls => second,
        };
        assert_eq!(waited, [expected; 4], "{progress:?}");
    }
}

/// Answers of a rendezvous, and acknowledgments.
const ANSWER: Time = Time::from_ns(40);

#[test]
fn copies_of_eager_messages_occupy_both_ranks() {
    let mut library = Library::new(2, |params| {
        let mpi = &mut params.mpi;
        (mpi.send_overhead_per_byte, mpi.recv_overhead_per_byte) = (PerByte(500.0), PerByte(200.0));
    });
    library.call(Time::ZERO, 0, send(1, 7, 800));
    library.call(Time::ZERO, 1, recv(0, 7, 800));
    // The copy of 800 B takes 400 ns, then the message leaves; the call lasts until then, or for its overhead and copy.
    let (out, copied) = (ns(400), ns(160));
    let arrives = out + DELAY + LATENCY;
    assert_eq!(
        library.ends(),
        [Some((out + DELAY).max(SEND + out)), Some(arrives + RECEIVE + copied)]
    );
}

#[test]
fn a_receive_that_a_later_wait_takes_is_copied_by_the_wait() {
    let mut library = Library::new(2, |params| params.mpi.recv_overhead_per_byte = PerByte(200.0));
    library.call(Time::ZERO, 1, send(0, 7, 800));
    library.call(Time::ZERO, 0, irecv(1, 7, 800, 0));
    library.call(ns(9_000), 0, wait_all(1));
    assert_eq!(library.ends()[2], Some(ns(9_000) + RECEIVE + ns(160)));
}

#[test]
fn messages_beyond_the_inline_limit_are_fetched_by_the_interface() {
    for (bytes, fetch) in [(192, Time::ZERO), (193, ns(670))] {
        let mut library = Library::new(2, |params| {
            (params.mpi.inline_up_to, params.mpi.fetch_delay) = (Some(Bytes(192)), ns(670));
        });
        library.call(Time::ZERO, 0, send(1, 7, bytes));
        library.call(Time::ZERO, 1, recv(0, 7, bytes));
        let leaves = DELAY + fetch;
        assert_eq!(library.ends(), [Some(leaves), Some(leaves + LATENCY + RECEIVE)]);
    }
}

#[test]
fn a_send_above_the_limit_completes_by_acknowledgment() {
    for (bytes, acknowledged) in [(192, false), (193, true)] {
        let mut library = Library::new(2, |params| {
            (params.mpi.acknowledged_above, params.mpi.control_delay) = (Some(Bytes(192)), Some(ANSWER));
        });
        library.call(Time::ZERO, 0, send(1, 7, bytes));
        library.call(ns(9_000), 1, recv(0, 7, bytes));
        let sent = if acknowledged {
            DELAY + LATENCY + ANSWER + LATENCY
        } else {
            DELAY
        };
        // The interface acknowledges before any receive.
        assert_eq!(library.ends(), [Some(sent), Some(ns(9_000) + RECEIVE)]);
        assert_eq!((library.mpi.calls.live(), library.mpi.requests.live()), (0, 0));
    }
}

#[test]
fn a_rendezvous_by_get_needs_nothing_of_the_sender() {
    for late in [0, 7_000] {
        let mut library = Library::new(2, |params| {
            let mpi = &mut params.mpi;
            (mpi.rendezvous, mpi.control_delay) = (RendezvousForm::Get, Some(ANSWER));
            mpi.progress = Progress::InCalls;
        });
        let bytes = THRESHOLD + 1;
        let isend = OpKind::Isend {
            to: 1,
            tag: 7,
            bytes,
            comm: Comm::WORLD,
            request: Request(0),
        };
        library.call(Time::ZERO, 0, isend);
        library.call(ns(late), 1, recv(0, 7, bytes));
        library.call(ns(50_000), 0, wait_all(1));
        // Request to send; read request and data without software of the sender, which makes no call meanwhile.
        let matched = (DELAY + LATENCY).max(ns(late));
        let data = matched + ANSWER + LATENCY + LATENCY;
        let ends = library.ends();
        assert_eq!(ends[1], Some(data + RECEIVE));
        // The notice arrived long ago.
        assert_eq!(ends[2], Some(ns(50_000)));
        assert_eq!(library.mpi.rendezvous.live(), [0, 0]);
    }
}

#[test]
fn a_blocking_send_by_get_ends_with_the_notice() {
    let mut library = Library::new(2, |params| {
        (params.mpi.rendezvous, params.mpi.control_delay) = (RendezvousForm::Get, Some(ANSWER));
    });
    library.call(Time::ZERO, 0, send(1, 7, THRESHOLD + 1));
    library.call(Time::ZERO, 1, recv(0, 7, THRESHOLD + 1));
    let data = DELAY + LATENCY + ANSWER + LATENCY.times(2);
    assert_eq!(library.ends(), [Some(data + ANSWER + LATENCY), Some(data + RECEIVE)]);
}

/// A ring of eager messages takes o_r + L + O b + the sum per step, after the begin of the collective; the copy of the
/// input follows the first step.
#[test]
fn sums_and_copies_of_a_collective_follow_its_messages() {
    const BEGIN: Time = Time::from_ns(90);
    let ranks = 4;
    let mut library = Library::new(ranks, |params| {
        let mpi = &mut params.mpi;
        (mpi.reduce_rate, mpi.copy_rate) = (Some(Bandwidth(1e9)), Some(Bandwidth(2e9)));
        mpi.reduce_rates = vec![RateAbove {
            above: Bytes(100),
            rate: Bandwidth(0.5e9),
        }];
        // The last entry that is exceeded counts; 800 B are not above 800 B.
        mpi.copy_rates = [(500, 4e9), (800, 1e9)]
            .map(|(above, rate)| RateAbove {
                above: Bytes(above),
                rate: Bandwidth(rate),
            })
            .to_vec();
        mpi.collective_overhead = BEGIN;
        mpi.collectives.allreduce = odonata_workload::collective::choice::Allreduce::Ring;
        params.rules = params.mpi.rules();
    });
    let allreduce = allreduce(800, 100);
    for rank in 0..ranks {
        library.call(Time::ZERO, rank, OpKind::Collective(allreduce));
    }
    // Blocks of 200 B, summed at 0.5 GB/s in three of six steps; 800 B copied at 4 GB/s once.
    let step = DELAY + LATENCY + RECEIVE;
    let end = BEGIN + step.times(6) + ns(400).times(3) + ns(200);
    assert_eq!(library.ends(), vec![Some(end); ranks as usize]);
}

#[test]
fn messages_within_a_node_are_neither_copied_nor_acknowledged() {
    let mut library = Library::new(2, |params| {
        let mpi = &mut params.mpi;
        (mpi.acknowledged_above, mpi.inline_up_to) = (Some(Bytes(0)), Some(Bytes(0)));
        (mpi.send_overhead_per_byte, mpi.fetch_delay) = (PerByte(500.0), ns(670));
    });
    let mut places: Vec<RankPlace> = library.mpi.layout.ranks.to_vec();
    places[1].node = places[0].node;
    library.mpi.layout.ranks = places.into();
    library.call(Time::ZERO, 0, send(1, 7, 100));
    library.call(Time::ZERO, 1, recv(0, 7, 100));
    assert_eq!(library.ends(), [Some(DELAY), Some(DELAY + LATENCY + RECEIVE)]);
}
