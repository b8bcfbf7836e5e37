//! Untimed execution: whether all ranks finish, and the cycle of waits if they do not.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::machine::Step;
use crate::sets::Members;

/// The members of a collective, and its identity.
type Meeting = (u8, u32, Arc<[u32]>);

fn meeting(step: &Step, tasks: u32) -> Option<Meeting> {
    let all = |members: &Members| members.iter().collect::<Arc<[u32]>>();
    Some(match step {
        Step::Barrier(None) => (0, 0, (0..tasks).collect()),
        Step::Barrier(Some(data)) => (0, 0, all(&data.circles[0].members)),
        Step::Multicast { data, root, circle, .. } => (1, *root, all(&data.circles[*circle].members)),
        Step::Reduce { data, .. } => (2, 0, all(&data.circles[2].members)),
        _ => return None,
    })
}

/// Messages of one sender to one receiver with one tag.
type Channel = (u32, u32, u32);

/// One rank of the untimed execution.
#[derive(Default)]
struct Runner {
    at: usize,
    /// Whether the current operation has begun.
    begun: bool,
    /// Asynchronous receives in progress: (channel, index in it).
    receives: Vec<(Channel, u64)>,
    sends: u64,
    waits_for: Vec<u32>,
}

/// Executes all operations as far as possible: sends are buffered, receives and collectives wait.
pub(super) fn completion(all: &[Vec<Step>], tasks: u32) -> Json {
    let mut runners: Vec<Runner> = all.iter().map(|_| Runner::default()).collect();
    let mut sent: BTreeMap<Channel, u64> = BTreeMap::new();
    let mut wanted: BTreeMap<Channel, u64> = BTreeMap::new();
    let mut arrived: HashMap<Meeting, HashMap<u32, u64>> = HashMap::new();
    let mut moved = true;
    while moved {
        moved = false;
        for rank in 0..tasks {
            let runner = &mut runners[rank as usize];
            while let Some(step) = all[rank as usize].get(runner.at) {
                let begins = !std::mem::replace(&mut runner.begun, true);
                moved |= begins;
                runner.waits_for.clear();
                let open = |list: &[(Channel, u64)], sent: &BTreeMap<Channel, u64>| -> Vec<u32> {
                    let missing =
                        |(channel, number): &&(Channel, u64)| sent.get(channel).copied().unwrap_or(0) < *number;
                    list.iter().filter(missing).map(|(channel, _)| channel.0).collect()
                };
                match step {
                    Step::Message {
                        send: true,
                        peer,
                        tag,
                        asynchronous,
                        detached,
                        ..
                    } => {
                        *sent.entry((rank, *peer, *tag)).or_default() += 1;
                        runner.sends += u64::from(*asynchronous && !*detached);
                    }
                    Step::Message {
                        peer,
                        tag,
                        asynchronous,
                        ..
                    } => {
                        let channel = (*peer, rank, *tag);
                        let number = wanted.entry(channel).or_default();
                        *number += u64::from(begins);
                        if *asynchronous {
                            runner.receives.push((channel, *number));
                        } else {
                            // No other receive of this rank intervenes: the index belongs to this receive.
                            runner.waits_for = open(&[(channel, *number)], &sent);
                        }
                    }
                    Step::WaitAll => {
                        runner.waits_for = open(&runner.receives, &sent);
                        if runner.waits_for.is_empty() {
                            runner.receives.clear();
                            runner.sends = 0;
                        }
                    }
                    step => {
                        if let Some(meeting) = meeting(step, tasks) {
                            let came = arrived.entry(meeting.clone()).or_default();
                            *came.entry(rank).or_default() += u64::from(begins);
                            let own = came[&rank];
                            let absent = |other: &&u32| came.get(other).copied().unwrap_or(0) < own;
                            runner.waits_for = meeting.2.iter().filter(absent).copied().collect();
                        }
                    }
                }
                if !runner.waits_for.is_empty() {
                    break;
                }
                runner.at += 1;
                runner.begun = false;
                moved = true;
            }
        }
    }
    let mut found = Vec::new();
    let finished = |rank: u32| runners[rank as usize].at >= all[rank as usize].len();
    let mut on_cycle = vec![false; tasks as usize];
    for rank in 0..tasks {
        if finished(rank) || on_cycle[rank as usize] {
            continue;
        }
        // Follows the first unfinished peer of each rank until one repeats.
        let mut way = vec![rank];
        let mut at = rank;
        while let Some(&next) = runners[at as usize].waits_for.iter().find(|&&peer| !finished(peer)) {
            if let Some(start) = way.iter().position(|&passed| passed == next) {
                let cycle = &way[start..];
                if !cycle.iter().any(|&member| on_cycle[member as usize]) {
                    cycle.iter().for_each(|&member| on_cycle[member as usize] = true);
                    found.push(json!(["deadlock", cycle]));
                }
                break;
            }
            way.push(next);
            at = next;
        }
    }
    for rank in 0..tasks {
        if finished(rank) {
            continue;
        }
        let runner = &runners[rank as usize];
        if let Some(&peer) = runner.waits_for.iter().find(|&&peer| finished(peer)) {
            let op = match &all[rank as usize][runner.at] {
                Step::Message { .. } => "recv",
                Step::WaitAll => "waitall",
                Step::Barrier(_) => "barrier",
                Step::Multicast { .. } => "mcast",
                _ => "reduce",
            };
            found.push(json!(["never-satisfied", rank, peer, op]));
        }
    }
    let mut lost: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for (channel, sent) in &sent {
        let left = sent.saturating_sub(wanted.get(channel).copied().unwrap_or(0));
        if left > 0 {
            *lost.entry((channel.0, channel.1)).or_default() += left;
        }
    }
    found.extend(
        lost.iter()
            .map(|((from, to), n)| json!(["never-received", from, to, n])),
    );
    for (rank, runner) in runners.iter().enumerate() {
        if !finished(rank as u32) {
            continue;
        }
        if !runner.receives.is_empty() {
            found.push(json!(["never-awaited", rank, runner.receives.len(), "recv"]));
        }
        if runner.sends > 0 {
            found.push(json!(["never-awaited", rank, runner.sends, "send"]));
        }
    }
    if found.is_empty() {
        found.push("complete".into());
    }
    found.into()
}
