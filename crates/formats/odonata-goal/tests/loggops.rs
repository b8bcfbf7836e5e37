//! The LogGOPS model against closed forms: small schedules whose end times can be computed by hand.
//!
//! L = 1000, o = 100 for sends and 150 for receives, g = 40, G = 2, O = 1, S = 64, in ns; s' = s - 1.

use odonata_goal::loggops::{Outcome, simulate};
use odonata_goal::text;
use odonata_units::{PerByte, Time};
use odonata_workload::LogGops;

const L: u64 = 1000;
const OS: u64 = 100;
const OR: u64 = 150;
const GAP: u64 = 40;
const G: u64 = 2;
const O: u64 = 1;

fn params() -> LogGops {
    LogGops {
        latency: Time::from_ns(L),
        send_overhead: Time::from_ns(OS),
        recv_overhead: Time::from_ns(OR),
        gap: Time::from_ns(GAP),
        gap_per_byte: PerByte(1000.0 * G as f64),
        overhead_per_byte: PerByte(1000.0 * O as f64),
        eager_threshold: 64,
    }
}

fn go(schedule: &str) -> Outcome {
    let schedule = text::read(schedule.as_bytes(), &|| false).unwrap();
    simulate(&schedule, &params(), 1.0, &|| false).unwrap()
}

/// End times of the ranks, in ns.
fn ends(schedule: &str) -> Vec<u64> {
    let outcome = go(schedule);
    assert_eq!((outcome.stuck, outcome.unexpected), (None, 0));
    outcome.ranks.iter().map(|rank| rank.end.0 / 1000).collect()
}

#[test]
fn a_message_takes_o_and_latency_and_o_and_its_bytes() {
    let s1 = 63;
    let ends = ends("num_ranks 2 rank 0 { send 64b to 1 } rank 1 { recv 64b from 0 }");
    assert_eq!(ends, [OS + s1 * O, OS + L + OR + s1 * G.max(O)]);
}

#[test]
fn an_unexpected_message_costs_its_receiver_on_arrival_and_not_again() {
    let late = 5000;
    let text =
        format!("num_ranks 2 rank 0 {{ send 1b to 1 }} rank 1 {{ c: calc {late} r: recv 1b from 0 r requires c }}");
    // The processor handles the message after the calculation, which came first.
    assert_eq!(ends(&text)[1], late + OR);
    let text = format!(
        "num_ranks 2 rank 0 {{ send 1b to 1 }}
         rank 1 {{ c: calc 0 d: calc {late} cpu 1 r: recv 1b from 0 cpu 1 r requires d }}"
    );
    // Processor 0 handled it long before.
    assert_eq!(ends(&text)[1], late);
}

#[test]
fn sends_of_a_host_are_apart_by_the_gap_of_its_interface_or_the_overhead_of_its_processor() {
    let sends = |keys: &str| {
        let one = format!("send 33b to 1 {keys} ");
        let schedule = format!(
            "num_ranks 2 rank 0 {{ {0}{0}{0} }} rank 1 {{ {1}{1}{1} }}",
            one, "recv 33b from 0 "
        );
        ends(&schedule)
    };
    let (s1, n) = (32, 3);
    let apart = (GAP + s1 * G).max(OS + s1 * O);
    assert_eq!(sends("")[0], (n - 1) * apart + OS + s1 * O);
    // The receiver handles one message after the other, each for longer than their distance.
    let handled = OR + s1 * G;
    assert_eq!(sends("")[1], OS + L + n * handled);
}

#[test]
fn processors_and_interfaces_of_a_host_work_beside_each_other() {
    let text = "num_ranks 2 rank 0 { send 33b to 1 cpu 0 nic 0 send 33b to 1 cpu 1 nic 1 }
                rank 1 { recv 33b from 0 recv 33b from 0 }";
    let s1 = 32;
    // Each message is handled by the processor and the interface that its send names.
    assert_eq!(ends(text), [OS + s1 * O, OS + L + OR + s1 * G]);
    let one_interface = text.replace("nic 1", "nic 0");
    assert_eq!(ends(&one_interface)[0], (GAP + s1 * G) + OS + s1 * O);
}

#[test]
fn requires_waits_for_the_end_and_irequires_for_the_start() {
    let on = |relation: &str| {
        ends(&format!(
            "num_ranks 1 rank 0 {{ a: calc 700 b: calc 50 cpu 1 b {relation} a }}"
        ))[0]
    };
    assert_eq!(on("requires"), 750);
    assert_eq!(on("irequires"), 700);
    let receive = |relation: &str| {
        ends(&format!(
            "num_ranks 2 rank 0 {{ c: calc 400 s: send 1b to 1 s requires c }}
             rank 1 {{ r: recv 1b from 0 b: calc 5000 b {relation} r }}"
        ))[1]
    };
    assert_eq!(receive("requires"), 400 + OS + L + OR + 5000);
    // The calculation begins when the receive is posted; the message waits for the processor.
    assert_eq!(receive("irequires"), 5000 + OR);
}

#[test]
fn a_rendezvous_holds_its_sender_until_the_receive_is_matched() {
    let text = |bytes| {
        format!(
            "num_ranks 2 rank 0 {{ s: send {bytes}b to 1 c: calc 10 c requires s }}
             rank 1 {{ c: calc 9000 r: recv {bytes}b from 0 cpu 1 r requires c }}"
        )
    };
    let eager = ends(&text(64));
    assert_eq!(eager[0], OS + 63 * O + 10);
    // Processor 0 handles the message after the calculation, and finds the posted receive.
    let end = 9000;
    assert_eq!(ends(&text(65)), [end + 10, end + OR + 64 * G]);
}

#[test]
fn a_ring_of_equal_messages_takes_its_length_times_a_message() {
    let p = 6;
    let ranks: String = (0..p)
        .map(|rank| {
            let (next, last) = ((rank + 1) % p, (rank + p - 1) % p);
            match rank {
                0 => format!("rank 0 {{ s: send 9b to {next} r: recv 9b from {last} }} "),
                _ => format!("rank {rank} {{ r: recv 9b from {last} s: send 9b to {next} s requires r }} "),
            }
        })
        .collect();
    let ends = ends(&format!("num_ranks {p} {ranks}"));
    assert_eq!(ends[0], p * (OS + L + OR + 8 * G));
}

#[test]
fn receives_take_the_oldest_message_of_their_source_and_tag_and_wild_ones_any() {
    let text = "num_ranks 3 rank 0 { send 1b to 2 tag 7 } rank 1 { c: calc 90 s: send 2b to 2 tag 8 s requires c }
                rank 2 { a: recv 2b from 1 tag -1 b: recv 1b from -1 tag 7 c: calc 1 c requires b }";
    let outcome = go(text);
    assert_eq!((outcome.stuck, outcome.unexpected), (None, 0));
    assert_eq!((outcome.ranks[2].recvs, outcome.ranks[2].bytes_received), (2, 3));
}

#[test]
fn missing_messages_are_named() {
    let outcome = go("num_ranks 2 rank 0 { calc 3 send 1b to 1 tag 4 } rank 1 { calc 1 recv 1b from 0 tag 5 }");
    assert_eq!((outcome.stuck, outcome.unexpected), (Some((1, 1)), 1));
}
