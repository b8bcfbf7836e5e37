//! Components alone: inputs by hand, effects as they come, no fabric and no scheduler.

use super::*;
use crate::context::Uses;
use crate::io::calls::{Call, CallTurn, OpenCall};
use crate::io::client::{Effect, Effects as Requests};
use crate::io::effect::IoEffect;
use crate::job::effect::JobEffect;
use crate::payload::JobSignal;
use crate::send::{SendRequest, traffic_of};
use crate::source::NextMessage;
use crate::turn::Turn;
use odonata_blame::lost::Carried;
use odonata_engine::Plain;
use odonata_network::{Contribution, Message};
use odonata_storage::MetadataCall;
use odonata_workload::{Arrival, Pattern, Synthetic};

/// A context that notes what it is asked for.
struct Noted {
    now: Time,
    events: Vec<(Time, HostEvent)>,
    messages: Vec<(Time, Message<Payload>)>,
}

impl Mode for Noted {
    const JOURNAL: bool = false;
}

impl Uses for Noted {
    const OBSERVED: bool = true;
}

impl HostContext for Noted {
    fn now(&self) -> Time {
        self.now
    }
    fn schedule(&mut self, _: Lp, at: Time, event: HostEvent) {
        self.events.push((at, event));
    }
    fn submit(&mut self, at: Time, message: Message<Payload>, _: Carried) {
        self.messages.push((at, message));
    }
    fn submit_now(&mut self, message: Message<Payload>) {
        self.messages.push((self.now, message));
    }
    fn reduce(&mut self, _: Time, contribution: Contribution) {
        panic!("{contribution:?} without trees of routers");
    }
    fn halt(&mut self, _: u32) {}
}

fn noted(now: u64) -> Noted {
    Noted {
        now: Time::from_ns(now),
        events: Vec::new(),
        messages: Vec::new(),
    }
}

/// Gives the calls of `hosts` an input; returns the servers that are asked, and the effects.
fn ask_calls(
    hosts: &mut Hosts,
    now: u64,
    input: impl FnOnce(&mut crate::io::calls::FileCalls, &mut CallTurn<'_>),
) -> (Vec<u32>, Vec<IoEffect>) {
    let (mut requests, mut effects) = (Requests::new(), Effects::new());
    let turn = &mut CallTurn {
        now: Time::from_ns(now),
        client: &mut hosts.io.client,
        requests: &mut requests,
        observers: &mut hosts.observers,
        effects: &mut effects,
    };
    input(&mut hosts.io.calls, turn);
    let asked = requests.iter().filter_map(|effect| match effect {
        Effect::Send { server, .. } => Some(*server),
        _ => None,
    });
    (asked.collect(), effects.take_list())
}

/// Answers the request of the call in slot `slot`, as its servers do.
fn answer(hosts: &mut Hosts, now: u64, slot: u32, operation: odonata_storage::StorageOperation) -> Vec<IoEffect> {
    let completed = crate::io::client::Completed {
        request: 0,
        operation,
        waiter: crate::io::client::Waiter::Call(slot),
        lost: false,
        timeouts: 0,
        first_data: Time::NEVER,
    };
    let (_, effects) = ask_calls(hosts, now, |calls, turn| {
        assert_eq!(calls.answered::<Plain>(turn, slot, completed), None);
    });
    effects
}

fn with_server(write_behind: u64) -> TestMachine {
    let mut setup = Setup::new().script(vec![Vec::new()], &[0]).server(1, 1 << 20);
    setup.jobs[0].servers = vec![0];
    setup.jobs[0].files.write_behind = Bytes(write_behind);
    setup.build()
}

fn write(now: u64, request: u32, bytes: u64) -> OpenCall {
    OpenCall::new(Time::from_ns(now), Call::Write, (0, request), (0, 0, bytes))
}

/// A write returns when at most `write_behind` bytes are unacknowledged, its own included: 600 at once; 600 more with
/// the acknowledgement of the first. A read asks its server when 0 bytes are unacknowledged.
#[test]
fn a_write_returns_within_the_bound_and_a_read_waits_for_all_writes() {
    let hosts = &mut with_server(1_000).hosts;
    let (complete, again) = (
        |request| IoEffect::Complete { request },
        IoEffect::ReturnCalls { rank: 0 },
    );
    let write_ends = odonata_storage::StorageOperation::Write;
    let first = ask_calls(hosts, 10, |calls, turn| calls.begin::<Plain>(turn, write(10, 1, 600)));
    assert_eq!(first, (vec![0], vec![complete(1), again]));
    let second = ask_calls(hosts, 20, |calls, turn| calls.begin::<Plain>(turn, write(20, 2, 600)));
    assert_eq!(second, (vec![0], vec![]), "its data leave, but it waits");
    let read = OpenCall::new(Time::from_ns(30), Call::Read, (0, 3), (0, 0, 5));
    let third = ask_calls(hosts, 30, |calls, turn| calls.begin::<Plain>(turn, read));
    assert_eq!(third, (vec![], vec![]), "it has not asked");
    assert_eq!(answer(hosts, 40, 0, write_ends), [again, IoEffect::Advance { rank: 0 }]);
    let returned = ask_calls(hosts, 40, |calls, turn| calls.return_calls::<Plain>(turn, 0));
    assert_eq!(returned, (vec![], vec![complete(2), again]));
    assert_eq!(answer(hosts, 50, 1, write_ends), [again, IoEffect::Advance { rank: 0 }]);
    let asked = ask_calls(hosts, 50, |calls, turn| calls.return_calls::<Plain>(turn, 0));
    assert_eq!(asked, (vec![0], vec![]), "no byte is unacknowledged");
    let metrics = hosts.metrics(0, 0);
    assert_eq!((metrics.bytes_written, metrics.io_operations), (1_200, 2));
    assert_eq!(metrics.io_duration_ps, u128::from((30 + 30) * NS));
}

/// Without write-behind, a write completes when it is acknowledged.
#[test]
fn a_write_completes_with_its_acknowledgement() {
    let hosts = &mut with_server(0).hosts;
    let begun = ask_calls(hosts, 10, |calls, turn| calls.begin::<Plain>(turn, write(10, 1, 600)));
    assert_eq!(begun, (vec![0], vec![]));
    let ended = answer(hosts, 25, 0, odonata_storage::StorageOperation::Write);
    assert_eq!(
        ended,
        [IoEffect::Complete { request: 1 }, IoEffect::Advance { rank: 0 }]
    );
    assert_eq!(
        (hosts.metrics(0, 0).io_first, hosts.metrics(0, 0).io_last),
        (Time::from_ns(10), Time::from_ns(25))
    );
}

/// A close takes time only while writes are unacknowledged, if there are no metadata servers.
#[test]
fn a_close_takes_time_while_writes_are_open() {
    let hosts = &mut with_server(1_000).hosts;
    assert!(!hosts.io.calls.takes_time(0, MetadataCall::Close));
    ask_calls(hosts, 0, |calls, turn| calls.begin::<Plain>(turn, write(0, 1, 600)));
    assert!(hosts.io.calls.takes_time(0, MetadataCall::Close));
    assert!(!hosts.io.calls.takes_time(0, MetadataCall::Open));
    assert!(
        hosts.io.calls.takes_time(0, MetadataCall::Sync),
        "servers hear of it in any case"
    );
}

/// Message k joins the queue at first + k gap + software + interface, and the last ends the rank when it is created.
#[test]
fn a_source_sends_after_the_software_and_ends_with_its_last_message() {
    let source = Synthetic {
        pattern: Pattern::Uniform,
        bursts: None,
        stopped_by_job: false,
        itself: false,
        bytes: 500,
        arrival: Arrival::Fixed,
        messages: Some(3),
        stop: None,
    };
    let mean_gap = Time::from_ns(1_000);
    let program = JobProgram::Synthetic { source, mean_gap };
    let setup = Setup::new().job(program, &[0, 1, 2]);
    let Hosts { sources, transport, .. } = &mut setup.build().hosts;
    let delays = setup.params.mpi.send_software(500) + setup.params.nic.message_delay;
    let Some(NextMessage::At(mut joins)) = sources.start::<Plain>(Time::ZERO, 0, transport) else {
        panic!("it sends three messages");
    };
    let first = joins - delays;
    assert!(first < mean_gap);
    for k in 0..3 {
        let (message, next) = sources.generate::<Plain>(joins, 0, transport).unwrap();
        let created = first + Time(k * mean_gap.0);
        assert_eq!((message.created, message.bytes), (created, 500));
        assert!((1..3).contains(&message.target));
        match next {
            NextMessage::At(at) => {
                assert_eq!(at, created + mean_gap + delays);
                joins = at;
            }
            NextMessage::End(end) => assert_eq!((k, end), (2, created)),
        }
    }
    let stopped = sources.start::<Plain>(Time::ZERO, 1, transport);
    assert!(matches!(stopped, Some(NextMessage::At(_))));
    assert!(!sources.is_stopped(1));
    assert!(sources.stop::<Plain>(1, Time::ZERO), "no message was created before");
    assert!(sources.is_stopped(1));
}

/// On a node: software, then latency + bytes / bandwidth. Between nodes: software and interface, then the fabric.
#[test]
fn a_message_takes_the_local_path_or_joins_the_queue_of_its_interface() {
    let setup = Setup::new().script(vec![Vec::new(); 3], &[0, 0, 1]);
    let Hosts {
        transport,
        observers,
        layout,
        ..
    } = &mut setup.build().hosts;
    let request = |target| SendRequest {
        source: layout.endpoint_of_rank(0),
        target: layout.endpoint_of_rank(target),
        bytes: 700,
        traffic: traffic_of(0, false),
        payload: Payload::Synthetic { from: 0, to: target },
        created: Time::from_ns(90),
        software: Time::from_ns(30),
        notify_sent: true,
        notify_arrived: true,
    };
    let mut ctx = noted(100);
    transport.send(&mut ctx, observers, request(1));
    let mpi = &setup.params.mpi;
    let (left, arrives) = (
        Time::from_ns(130),
        mpi.local_latency + mpi.local_bandwidth.time_for(Bytes(700)),
    );
    let sent = (left, HostEvent::LocalSent { message: 0 });
    assert_eq!(
        ctx.events,
        [sent, (left + arrives, HostEvent::LocalArrived { message: 0 })]
    );
    assert_eq!((transport.live(), transport.take_local::<Plain>(0).bytes), (1, 700));
    transport.send(&mut ctx, observers, request(2));
    let (at, message) = ctx.messages[0];
    assert_eq!(at, left + setup.params.nic.message_delay);
    assert_eq!((message.bytes, message.created), (700, Time::from_ns(90)));
    assert_eq!((ctx.events.len(), transport.live()), (2, 0));
}

/// Rank r reports to r with its lowest bit cleared; rank 0 lets all programs start, along the same tree.
#[test]
fn staged_ranks_report_up_a_tree_and_start_down_the_same_tree() {
    let machine = &mut Setup::new().script(vec![Vec::new(); 4], &[0, 1, 2, 3]).build();
    let mut effects_of = |rank| {
        let mut effects = Effects::new();
        let turn = &mut Turn {
            now: Time::ZERO,
            observers: &mut machine.hosts.observers,
            effects: &mut effects,
        };
        machine.hosts.jobs.ranks_are_staged(turn, rank);
        effects.take_list()
    };
    let signal = |from, to, signal| JobEffect::Signal { from, to, signal };
    assert_eq!(effects_of(3), [signal(3, 2, JobSignal::RanksStaged)]);
    assert_eq!(effects_of(2), [signal(2, 0, JobSignal::RanksStaged)]);
    let down = [signal(0, 2, JobSignal::Staged), signal(0, 1, JobSignal::Staged)];
    assert_eq!(
        effects_of(0),
        [&down[..], &[JobEffect::StartProgram { rank: 0 }]].concat()
    );
}
