//! What is wrong with a trace.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use serde::Serialize;

use super::error::TraceError;
use super::matching::Inbox;
use super::rank_file::{Ending, RankFile};
use super::record::{Record, call_name};
use super::set::TraceFiles;
use super::table::CALLS;
use super::trace::Trace;
use super::traffic::{End, visit};
use crate::{Collective, Comm, Counts, OpKind, PROC_NULL, Program, Source, Tag};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The trace contradicts itself or is not complete: what is replayed is not what was run, or gets stuck.
    Error,
    /// Something is replayed other than it was recorded, or could not be decided.
    Note,
}

/// Something that is worth to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Which check it is of.
    pub check: &'static str,
    /// What was found.
    pub text: String,
}

/// Most findings of one check that are described one by one.
const MOST: usize = 20;

/// The findings of one check.
struct Check<'a> {
    name: &'static str,
    found: usize,
    list: &'a mut Vec<Finding>,
}

impl Check<'_> {
    fn error(&mut self, text: String) {
        self.found += 1;
        if self.found <= MOST {
            self.list.push(Finding {
                severity: Severity::Error,
                check: self.name,
                text,
            });
        }
    }
}

impl Drop for Check<'_> {
    fn drop(&mut self) {
        if self.found > MOST {
            self.list.push(Finding {
                severity: Severity::Error,
                check: self.name,
                text: format!("and {} more", self.found - MOST),
            });
        }
    }
}

fn check<'a>(name: &'static str, list: &'a mut Vec<Finding>) -> Check<'a> {
    Check { name, found: 0, list }
}

/// Looks for what is wrong with a trace: reads all files three times.
///
/// # Errors
/// A file cannot be read.
pub fn lint(files: &TraceFiles) -> Result<Vec<Finding>, TraceError> {
    let mut list = Vec::new();
    for (rank, path) in (0..).zip(&files.ranks) {
        file(rank, path, &mut list)?;
    }
    let trace = Trace::of(files.clone(), 1.0)?;
    let mut communicators = check("communicators", &mut list);
    for problem in trace.problems() {
        communicators.error(problem.clone());
    }
    drop(communicators);
    list.extend(lint_program(&trace));
    if let Some(error) = trace.lost() {
        return Err(error.clone());
    }
    for (oddity, count) in trace.oddities() {
        list.push(Finding {
            severity: Severity::Note,
            check: "replay",
            text: format!("{count} {}", oddity.describe()),
        });
    }
    Ok(list)
}

/// Looks for what does not fit together in any program: messages without a receive, collectives that differ.
pub fn lint_program(program: &dyn Program) -> Vec<Finding> {
    let mut list = Vec::new();
    let collectives = messages(program, &mut list);
    agreement(program, &collectives, &mut list);
    list
}

/// What one file says of itself.
fn file(rank: u32, path: &Path, list: &mut Vec<Finding>) -> Result<(), TraceError> {
    let mut file = RankFile::open(path)?;
    let footer = file.trailer().and_then(|trailer| trailer.footer.clone());
    let mut calls = vec![0u32; CALLS];
    let mut stops: HashMap<u16, i64> = HashMap::new();
    let mut times = check("times", list);
    let ending = file.for_each(path, |record: &Record| {
        if let Some(count) = calls.get_mut(usize::from(record.label)) {
            *count = count.wrapping_add(1);
        }
        let Some(span) = record.wall else { return };
        let name = call_name(record.label);
        if span.stop < span.start {
            let by = span.start - span.stop;
            times.error(format!(
                "rank {rank}, byte {}: {name} ends {by} ns before it starts",
                record.offset
            ));
        }
        let stop = stops.entry(record.thread).or_insert(i64::MIN);
        if span.start < *stop {
            let by = stop.saturating_sub(span.start);
            times.error(format!(
                "rank {rank}, byte {}: {name} starts {by} ns before the call before it has ended",
                record.offset
            ));
        }
        *stop = span.stop.max(*stop);
    })?;
    drop(times);
    if let Ending::Truncated { offset } = ending {
        let text = format!("{}: truncated in the record at byte {offset}", path.display());
        check("complete", list).error(text);
    }
    let mut counts = check("footer", list);
    for (label, &seen) in calls.iter().enumerate() {
        let Some(footer) = &footer else { break };
        let stated = footer.calls[label].wrapping_sub(footer.ignored[label]);
        if stated != seen {
            let name = call_name(label as u16);
            counts.error(format!(
                "rank {rank}: {seen} records of {name}, the footer counts {stated}"
            ));
        }
    }
    Ok(())
}

/// Sends less receives of one kind: communicator, source, destination (ranks of the job), tag.
type Balance = HashMap<(u32, u32, u32, u32), i64>;

/// By communicator and its first member (disjoint communicators may share a number), and rank: how many collectives,
/// and a digest of what they are.
type Collectives = BTreeMap<(u32, u32), BTreeMap<u32, (u64, u64)>>;

/// Every send needs a receive, and the other way round.
fn messages(trace: &dyn Program, list: &mut Vec<Finding>) -> Collectives {
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
        visit(trace, rank, |end| match end {
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
                    let (calls, digest) = of_comm.entry(rank).or_default();
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
    let mut unmatched = check("messages", list);
    for ((comm, to), inbox) in inboxes {
        let left = inbox.settle();
        if left.undecided {
            undecided += 1;
            continue;
        }
        for ((from, tag), receives) in left.wild {
            let from = from.map_or("anybody".to_owned(), |from| format!("rank {from}"));
            let tag = tag.map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
            unmatched.error(format!(
                "{receives} receives of rank {to} from {from}, {tag}, on communicator {comm} get nothing"
            ));
        }
        for ((from, tag), count) in left.balance {
            let what = format!("from rank {from} to rank {to}, tag {tag}, on communicator {comm}");
            match count {
                0.. => unmatched.error(format!("{count} sends {what} are not received")),
                _ => unmatched.error(format!("{} receives {what} get nothing", -count)),
            }
        }
    }
    drop(unmatched);
    if undecided > 0 {
        list.push(Finding {
            severity: Severity::Note,
            check: "messages",
            text: format!(
                "at {undecided} ranks and communicators: too many receives of any source or any tag to decide whether all \
                 get a message"
            ),
        });
    }
    collectives
}

/// A collective call without what may differ from rank to rank.
fn collective(op: &OpKind) -> Option<(Comm, String)> {
    Some(match *op {
        OpKind::Collective(mut collective) | OpKind::Icollective { mut collective, .. } => {
            if let Some(counts) = collective.counts_mut() {
                *counts = Counts(0);
            }
            (collective.comm(), describe(&collective))
        }
        OpKind::CommDup { comm, .. } => (comm, "CommDup".into()),
        OpKind::CommSplit { comm, .. } => (comm, "CommSplit".into()),
        OpKind::CommCreate { comm, .. } => (comm, "CommCreate".into()),
        _ => return None,
    })
}

fn describe(collective: &Collective) -> String {
    format!("{collective:?}")
}

/// All members of a communicator have to call the same collectives in the same order.
fn agreement(trace: &dyn Program, collectives: &Collectives, list: &mut Vec<Finding>) {
    let mut mismatched = check("collectives", list);
    for (&(comm, _), ranks) in collectives {
        let (Some((&first, expected)), Some(group)) = (
            ranks.first_key_value(),
            trace.group(ranks.keys().copied().next().unwrap_or(0), Comm(comm)),
        ) else {
            continue;
        };
        let members = (0..group.len()).filter_map(|member| group.rank(member));
        for rank in members {
            let seen = ranks.get(&rank).copied().unwrap_or_default();
            if seen == *expected {
                continue;
            }
            let calls = [first, rank].map(|rank| calls_on(trace, rank, Comm(comm)));
            let at = calls[0]
                .iter()
                .zip(&calls[1])
                .take_while(|(one, other)| one == other)
                .count();
            let call = |at: usize, list: &[String]| list.get(at).cloned().unwrap_or("no further call".into());
            mismatched.error(format!(
                "call {at} on communicator {comm}: rank {first} {}, rank {rank} {}",
                call(at, &calls[0]),
                call(at, &calls[1])
            ));
        }
    }
}

fn calls_on(trace: &dyn Program, rank: u32, comm: Comm) -> Vec<String> {
    let mut calls = Vec::new();
    visit(trace, rank, |end| {
        if let Err(op) = end
            && let Some((on, what)) = collective(op)
            && on == comm
        {
            calls.push(what);
        }
    });
    calls
}
