//! Inconsistencies of a program: messages without a receive, collectives that differ between ranks.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use odonata_workload::{Collective, Comm, Counts, OpKind, PROC_NULL, Program, Source, Tag};

use crate::cancellation::Cancellation;
use crate::finding::{Check, Finding, Severity};
use crate::matching::Inbox;
use crate::traffic::{End, visit};

/// Checks any program for messages without a receive and for collectives that differ between ranks. Cancelled checks
/// return a part of the findings.
pub fn lint_program(program: &dyn Program, cancellation: &Cancellation) -> Vec<Finding> {
    let mut list = Vec::new();
    let collectives = messages(program, cancellation, &mut list);
    agreement(program, &collectives, cancellation, &mut list);
    list
}

/// Sends minus receives per kind: communicator, source, destination (ranks of the job), tag.
type Balance = HashMap<(u32, u32, u32, u32), i64>;

/// By communicator and its first member (disjoint communicators may share a number): the ranks that call collectives on
/// it, ascending, with count and digest of the calls.
type Collectives = BTreeMap<(u32, u32), Vec<(u32, (u64, u64))>>;

/// Every send needs a receive, and vice versa.
fn messages(trace: &dyn Program, cancellation: &Cancellation, list: &mut Vec<Finding>) -> Collectives {
    let mut balance = Balance::new();
    // By communicator and destination.
    let mut inboxes: BTreeMap<(u32, u32), Inbox> = BTreeMap::new();
    let mut collectives = Collectives::new();
    let mut count = |key, by| {
        let left = balance.entry(key).or_insert(0i64);
        *left += by;
        if *left == 0 {
            balance.remove(&key);
        }
    };
    for rank in 0..trace.ranks() {
        visit(trace, rank, cancellation, |end| match end {
            Ok((comm, End::To { peer, tag, .. })) => {
                let to = trace.group(rank, comm).and_then(|group| group.rank(peer));
                if let Some(to) = to.filter(|_| peer != PROC_NULL) {
                    count((comm.0, rank, to, tag), 1);
                }
            }
            Ok((comm, End::From { peer, tag })) => {
                let from = match peer {
                    Source::Rank(PROC_NULL) => return,
                    Source::Rank(peer) => trace.group(rank, comm).and_then(|group| group.rank(peer)),
                    Source::Any => None,
                };
                let tag = match tag {
                    Tag::Is(tag) => Some(tag),
                    Tag::Any => None,
                };
                match (from, tag) {
                    (Some(from), Some(tag)) => count((comm.0, from, rank, tag), -1),
                    _ => {
                        *inboxes
                            .entry((comm.0, rank))
                            .or_default()
                            .wild
                            .entry((from, tag))
                            .or_default() += 1
                    }
                }
            }
            Err(op) => {
                if let Some((comm, what)) = collective(op) {
                    let leader = trace.group(rank, comm).and_then(|group| group.rank(0));
                    let of_comm = collectives.entry((comm.0, leader.unwrap_or(rank))).or_default();
                    if of_comm.last().is_none_or(|&(last, _)| last != rank) {
                        of_comm.push((rank, (0, 0)));
                    }
                    let (_, (calls, digest)) = of_comm.last_mut().expect("it was pushed");
                    let mut hasher = DefaultHasher::new();
                    (*digest, what).hash(&mut hasher);
                    (*calls, *digest) = (*calls + 1, hasher.finish());
                }
            }
        });
    }
    let balance: BTreeMap<(u32, u32, u32, u32), i64> = balance.into_iter().collect();
    for ((comm, from, to, tag), count) in balance {
        inboxes
            .entry((comm, to))
            .or_default()
            .balance
            .insert((from, tag), count);
    }
    let mut undecided = 0;
    let mut unmatched = Check::new("messages", list);
    for ((comm, to), inbox) in inboxes {
        if cancellation.is_requested() {
            break;
        }
        let left = inbox.settle();
        if left.undecided {
            undecided += 1;
            continue;
        }
        for ((from, tag), receives) in left.wild {
            let from = from.map_or("any rank".to_owned(), |from| format!("rank {from}"));
            let tag = tag.map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
            unmatched.error(|| {
                format!("{receives} receives of rank {to} from {from}, {tag}, on communicator {comm} never match")
            });
        }
        for ((from, tag), count) in left.balance {
            let what = format!("from rank {from} to rank {to}, tag {tag}, on communicator {comm}");
            match count {
                0.. => unmatched.error(|| format!("{count} sends {what} are not received")),
                _ => unmatched.error(|| format!("{} receives {what} never match", -count)),
            }
        }
    }
    drop(unmatched);
    if undecided > 0 {
        list.push(Finding {
            severity: Severity::Note,
            check: "messages",
            text: format!(
                "at {undecided} ranks and communicators: too many wildcard receives to decide whether all match"
            ),
        });
    }
    collectives
}

/// The attributes of a collective call on which all members must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Call {
    Collective(Collective),
    CommDup,
    CommSplit,
    CommCreate,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Call::Collective(collective) => write!(f, "{collective:?}"),
            other => write!(f, "{other:?}"),
        }
    }
}

/// A collective call without attributes that may differ between ranks.
fn collective(op: &OpKind) -> Option<(Comm, Call)> {
    Some(match *op {
        OpKind::Collective(mut collective) | OpKind::Icollective { mut collective, .. } => {
            if let Some(counts) = collective.counts_mut() {
                *counts = Counts(0);
            }
            (collective.comm(), Call::Collective(collective))
        }
        OpKind::CommDup { comm, .. } => (comm, Call::CommDup),
        OpKind::CommSplit { comm, .. } => (comm, Call::CommSplit),
        OpKind::CommCreate { comm, .. } => (comm, Call::CommCreate),
        _ => return None,
    })
}

/// All members of a communicator must call the same collectives in the same order.
fn agreement(trace: &dyn Program, collectives: &Collectives, cancellation: &Cancellation, list: &mut Vec<Finding>) {
    let mut mismatched = Check::new("collectives", list);
    for (&(comm, _), ranks) in collectives {
        let Some(&(first, expected)) = ranks.first() else {
            continue;
        };
        let Some(group) = trace.group(first, Comm(comm)) else {
            continue;
        };
        let mut next = 0;
        for rank in (0..group.len()).filter_map(|member| group.rank(member)) {
            if cancellation.is_requested() {
                return;
            }
            // Members are usually in rank order.
            let at = match ranks.get(next) {
                Some(&(other, _)) if other == rank => Some(next),
                _ => ranks.binary_search_by_key(&rank, |&(rank, _)| rank).ok(),
            };
            let seen = at.map_or((0, 0), |at| ranks[at].1);
            next = at.map_or(next, |at| at + 1);
            if seen == expected {
                continue;
            }
            mismatched.error(|| {
                let calls = [first, rank].map(|rank| calls_on(trace, rank, Comm(comm), cancellation));
                let at = calls[0]
                    .iter()
                    .zip(&calls[1])
                    .take_while(|(one, other)| one == other)
                    .count();
                let call = |list: &[Call]| list.get(at).map_or("no further call".into(), ToString::to_string);
                format!(
                    "call {at} on communicator {comm}: rank {first} {}, rank {rank} {}",
                    call(&calls[0]),
                    call(&calls[1])
                )
            });
        }
    }
}

fn calls_on(trace: &dyn Program, rank: u32, comm: Comm, cancellation: &Cancellation) -> Vec<Call> {
    let mut calls = Vec::new();
    visit(trace, rank, cancellation, |end| {
        if let Err(op) = end
            && let Some((on, what)) = collective(op)
            && on == comm
        {
            calls.push(what);
        }
    });
    calls
}
