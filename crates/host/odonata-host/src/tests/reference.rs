//! A literal MPI executor without network and time, slow and simple, to compare runs with.
//!
//! Its input is what depends on time: the order of arrivals at each rank, and the complete requests that a wait-some or
//! a test took. The rest follows from the rules. The pairs of receives and messages depend on the order of postings and
//! on the order of arrivals, but not on their interleaving, because both sides prefer the earlier.

mod waits;

use super::*;
use crate::MatchRecord;
use odonata_workload::Collective;
use odonata_workload::Counts;
use odonata_workload::collective::{Algorithm, choose, step};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Collectives of random programs have no size lists.
const NO_SIZES: fn(Counts, u32, u32) -> u64 = |_, _, _| 0;

/// (source, communicator, sequence number)
pub(super) type Name = (u32, u32, u32);

/// The ranks that could end a wait.
#[derive(Clone, Debug, PartialEq)]
enum Peers {
    None,
    Rank(u32),
    Any(Vec<u32>),
    /// A non-blocking collective, by its index in the list.
    Collective(usize),
}

#[derive(Clone, Debug)]
struct Entry {
    done: bool,
    peers: Peers,
}

#[derive(Clone, Debug)]
struct Message {
    name: Name,
    tag: u32,
    /// For a rendezvous: the completion that the match sets.
    sender: Option<usize>,
}

#[derive(Clone, Debug)]
struct Receive {
    source: Source,
    tag: Tag,
    comm: u32,
    op: u32,
    entry: usize,
}

impl Receive {
    fn takes(&self, message: &Message) -> bool {
        self.comm == message.name.1
            && (self.source == Source::Any || self.source == Source::Rank(message.name.0))
            && (self.tag == Tag::Any || self.tag == Tag::Is(message.tag))
    }
}

/// A collective in progress at a rank.
#[derive(Debug)]
struct Call {
    rank: u32,
    group: Vec<u32>,
    parts: VecDeque<Collective>,
    comm: u32,
    number: u32,
    index: u32,
    /// The current step: the source of its message, and the completion that its send waits for.
    step: Option<(Option<u32>, Option<usize>)>,
    entry: usize,
}

#[derive(Debug, Default)]
struct State {
    next: usize,
    /// The completions that the current operation waits for, once called.
    called: Option<Vec<usize>>,
    /// By number: the awaited completion of an active request, the operation of a persistent one.
    requests: BTreeMap<u32, (Option<usize>, Option<OpKind>)>,
    posted: Vec<Receive>,
    unexpected: Vec<Message>,
    /// Messages in the order of arrival.
    arrivals: VecDeque<Name>,
    calls: BTreeMap<u32, u32>,
}

/// The executor; `ranks[r]` are the operations of rank `r`.
#[derive(Debug)]
pub(super) struct Reference<'a> {
    script: &'a Script,
    threshold: u64,
    states: Vec<State>,
    entries: Vec<Entry>,
    /// Messages in flight, by receiver and name.
    flying: BTreeMap<(u32, Name), Message>,
    sent: BTreeMap<(u32, u32, u32), u32>,
    /// Messages of collectives, by receiver, source, communicator and call: the completions of their sends.
    steps: BTreeMap<(u32, u32, u32, u32), VecDeque<Option<usize>>>,
    running: Vec<Call>,
    chosen: BTreeMap<(u32, u32), BTreeSet<u32>>,
    /// The messages that the receives of an operation took.
    pub(super) matched: BTreeMap<(u32, u32), BTreeSet<Name>>,
}

/// The matches of a run, in the form of [`Reference::matched`].
pub(super) fn matches(records: &[MatchRecord]) -> BTreeMap<(u32, u32), BTreeSet<Name>> {
    let mut matched: BTreeMap<(u32, u32), BTreeSet<Name>> = BTreeMap::new();
    for record in records {
        if let MatchRecord::Matched {
            rank,
            op,
            source,
            context,
            sequence,
        } = *record
            && context & 1 == 0
        {
            let name = (source, context >> 1, sequence);
            assert!(matched.entry((rank, op)).or_default().insert(name), "{name:?} twice");
        }
    }
    matched
}

impl<'a> Reference<'a> {
    pub(super) fn new(script: &'a Script, threshold: u64, records: &[MatchRecord]) -> Self {
        let mut states: Vec<State> = script.0.iter().map(|_| State::default()).collect();
        let mut chosen: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
        for record in records {
            match *record {
                MatchRecord::Offered {
                    rank,
                    source,
                    context,
                    sequence,
                } if context & 1 == 0 => {
                    states[rank as usize]
                        .arrivals
                        .push_back((source, context >> 1, sequence));
                }
                MatchRecord::Completed { rank, op, number } => {
                    chosen.entry((rank, op.0)).or_default().insert(number);
                }
                _ => {}
            }
        }
        Reference {
            script,
            threshold,
            states,
            entries: Vec::new(),
            flying: BTreeMap::new(),
            sent: BTreeMap::new(),
            steps: BTreeMap::new(),
            running: Vec::new(),
            chosen,
            matched: BTreeMap::new(),
        }
    }

    /// Advances ranks until none can continue.
    pub(super) fn run(&mut self) {
        while (0..self.script.ranks()).fold(false, |moved, rank| {
            let arrived = self.arrive(rank);
            let advanced = self.advance(rank);
            moved | arrived | advanced
        }) | self.advance_collectives()
        {}
        assert!(self.flying.is_empty(), "sent and never arrived: {:?}", self.flying);
        assert!(
            self.states.iter().all(|state| state.arrivals.is_empty()),
            "arrived and never sent"
        );
    }

    fn members(&self, rank: u32, comm: Comm) -> Vec<u32> {
        let group = self.script.group(rank, comm).unwrap();
        (0..group.len()).map(|member| group.rank(member).unwrap()).collect()
    }

    fn entry(&mut self, done: bool, peers: Peers) -> usize {
        self.entries.push(Entry { done, peers });
        self.entries.len() - 1
    }

    fn arrive(&mut self, rank: u32) -> bool {
        let mut any = false;
        while let Some(name) = self.states[rank as usize].arrivals.front()
            && let Some(message) = self.flying.remove(&(rank, *name))
        {
            any = true;
            let state = &mut self.states[rank as usize];
            state.arrivals.pop_front();
            match state.posted.iter().position(|receive| receive.takes(&message)) {
                Some(at) => {
                    let receive = state.posted.remove(at);
                    self.meet(rank, &receive, &message);
                }
                None => state.unexpected.push(message),
            }
        }
        any
    }

    fn meet(&mut self, rank: u32, receive: &Receive, message: &Message) {
        self.matched.entry((rank, receive.op)).or_default().insert(message.name);
        self.entries[receive.entry].done = true;
        if let Some(sender) = message.sender {
            self.entries[sender].done = true;
        }
    }

    fn send(&mut self, rank: u32, to: u32, tag: u32, bytes: u64, comm: Comm, synchronous: bool) -> usize {
        if to == PROC_NULL {
            return self.entry(true, Peers::None);
        }
        let to = self.members(rank, comm)[to as usize];
        let rendezvous = synchronous || bytes > self.threshold;
        let entry = self.entry(!rendezvous, Peers::Rank(to));
        let sequence = self.sent.entry((rank, to, comm.0)).or_default();
        let name = (rank, comm.0, *sequence);
        *sequence += 1;
        let sender = rendezvous.then_some(entry);
        self.flying.insert((to, name), Message { name, tag, sender });
        entry
    }

    fn receive(&mut self, rank: u32, op: u32, from: Source, tag: Tag, comm: Comm) -> usize {
        let members = self.members(rank, comm);
        let (source, peers) = match from {
            Source::Rank(PROC_NULL) => return self.entry(true, Peers::None),
            Source::Rank(member) => {
                let source = members[member as usize];
                (Source::Rank(source), Peers::Rank(source))
            }
            Source::Any => (Source::Any, Peers::Any(members)),
        };
        let entry = self.entry(false, peers);
        let receive = Receive {
            source,
            tag,
            comm: comm.0,
            op,
            entry,
        };
        let state = &mut self.states[rank as usize];
        match state.unexpected.iter().position(|message| receive.takes(message)) {
            Some(at) => {
                let message = state.unexpected.remove(at);
                self.meet(rank, &receive, &message);
            }
            None => state.posted.push(receive),
        }
        entry
    }

    fn collective(&mut self, rank: u32, parts: Vec<Collective>) -> usize {
        let comm = parts[0].comm();
        let entry = self.entry(false, Peers::Collective(self.running.len()));
        let number = self.number(rank, comm);
        self.running.push(Call {
            rank,
            group: self.members(rank, comm),
            parts: parts.into(),
            comm: comm.0,
            number,
            index: 0,
            step: None,
            entry,
        });
        entry
    }

    fn number(&mut self, rank: u32, comm: Comm) -> u32 {
        let number = self.states[rank as usize].calls.entry(comm.0).or_default();
        *number += 1;
        *number
    }

    fn advance_collectives(&mut self) -> bool {
        let mut any = false;
        for at in 0..self.running.len() {
            while self.advance_collective(at) {
                any = true;
            }
        }
        any
    }

    fn advance_collective(&mut self, at: usize) -> bool {
        let call = &mut self.running[at];
        let Some(collective) = call.parts.front().copied() else {
            return false;
        };
        let (rank, comm, number) = (call.rank, call.comm, call.number);
        if let Some((receive, send)) = call.step {
            let mut changed = false;
            if let Some(from) = receive
                && let Some(sender) = self
                    .steps
                    .get_mut(&(rank, from, comm, number))
                    .and_then(VecDeque::pop_front)
            {
                if let Some(sender) = sender {
                    self.entries[sender].done = true;
                }
                call.step = Some((None, send));
                changed = true;
            }
            if let Some((None, send)) = call.step
                && send.is_none_or(|send| self.entries[send].done)
            {
                call.step = None;
                call.index += 1;
                changed = true;
            }
            return changed;
        }
        let ranks = call.group.len() as u32;
        let member = call.group.iter().position(|&other| other == rank).unwrap() as u32;
        let algorithm: Algorithm = choose(&collective, ranks, &Rules::default(), &NO_SIZES);
        let Some(step) = step(&collective, algorithm, member, ranks, call.index, &NO_SIZES) else {
            call.parts.pop_front();
            call.index = 0;
            if call.parts.is_empty() {
                self.entries[call.entry].done = true;
            } else {
                let number = self.number(rank, Comm(comm));
                self.running[at].number = number;
            }
            return true;
        };
        assert!(
            !step.more,
            "the collectives of random programs take one step after the other"
        );
        let receive = step.recv.map(|transfer| call.group[transfer.peer as usize]);
        let send = step
            .send
            .map(|transfer| (call.group[transfer.peer as usize], transfer.bytes));
        let mut sender = None;
        if let Some((to, bytes)) = send {
            sender = (bytes > self.threshold).then(|| self.entry(false, Peers::Rank(to)));
            self.steps
                .entry((to, rank, comm, number))
                .or_default()
                .push_back(sender);
        }
        self.running[at].step = Some((receive, sender));
        true
    }

    /// The active requests of `rank` among `first .. first + count`.
    fn active(&self, rank: u32, first: Request, count: u32) -> Vec<(u32, usize)> {
        let requests = &self.states[rank as usize].requests;
        let ours = requests
            .iter()
            .filter(|(number, _)| **number >= first.0 && **number - first.0 < count);
        ours.filter_map(|(number, (entry, _))| entry.map(|entry| (*number, entry)))
            .collect()
    }

    fn take(&mut self, rank: u32, number: u32) {
        let requests = &mut self.states[rank as usize].requests;
        match requests.get_mut(&number) {
            Some((entry, Some(_))) => *entry = None,
            _ => drop(requests.remove(&number)),
        }
    }

    fn open(&mut self, rank: u32, number: Request, entry: usize) {
        let before = self.states[rank as usize]
            .requests
            .insert(number.0, (Some(entry), None));
        assert!(before.is_none(), "request {number:?} is in use");
    }

    fn start(&mut self, rank: u32, op: u32, number: u32) {
        let plan = self.states[rank as usize].requests[&number].1.unwrap();
        let entry = match plan {
            OpKind::SendInit {
                to, tag, bytes, comm, ..
            } => self.send(rank, to, tag, bytes, comm, false),
            OpKind::RecvInit { from, tag, comm, .. } => self.receive(rank, op, from, tag, comm),
            _ => panic!("{plan:?}"),
        };
        self.states[rank as usize].requests.get_mut(&number).unwrap().0 = Some(entry);
    }

    /// Calls the next operation of `rank` if it has not been called, and ends it if it can end.
    fn advance(&mut self, rank: u32) -> bool {
        let Some(op) = self.script.0[rank as usize]
            .get(self.states[rank as usize].next)
            .copied()
        else {
            return false;
        };
        let id = op.id.0;
        let fresh = self.states[rank as usize].called.is_none();
        if fresh {
            let entries = self.call(rank, id, &op.kind);
            self.states[rank as usize].called = Some(entries);
        }
        let waits = self.states[rank as usize].called.clone().unwrap();
        let chosen = self.chosen.get(&(rank, id)).cloned().unwrap_or_default();
        let done = |this: &Self, entries: &[usize]| entries.iter().all(|&entry| this.entries[entry].done);
        let ended = match op.kind {
            OpKind::Wait { request } => self.take_all(rank, request, 1),
            OpKind::WaitAll { first, count } => self.take_all(rank, first, count),
            OpKind::WaitAny { first, count } | OpKind::WaitSome { first, count } => {
                let any = matches!(op.kind, OpKind::WaitAny { .. });
                assert!(!any || chosen.len() <= 1, "{chosen:?}");
                let active = self.active(rank, first, count);
                active.is_empty() || (!chosen.is_empty() && self.take_chosen(rank, &active, &chosen))
            }
            OpKind::Test { request: first } | OpKind::TestAny { first, .. } => {
                assert!(chosen.len() <= 1);
                let count = if let OpKind::TestAny { count, .. } = op.kind {
                    count
                } else {
                    1
                };
                self.take_chosen(rank, &self.active(rank, first, count), &chosen)
            }
            OpKind::TestSome { first, count } => self.take_chosen(rank, &self.active(rank, first, count), &chosen),
            OpKind::TestAll { first, count } => {
                let active = self.active(rank, first, count);
                assert!(chosen.is_empty() || chosen.len() == active.len());
                self.take_chosen(rank, &active, &chosen)
            }
            OpKind::Probe { from, tag, comm } => {
                let members = self.members(rank, comm);
                let source = match from {
                    Source::Rank(PROC_NULL) => None,
                    Source::Rank(member) => Some(Source::Rank(members[member as usize])),
                    Source::Any => Some(Source::Any),
                };
                source.is_none_or(|source| {
                    let probe = Receive {
                        source,
                        tag,
                        comm: comm.0,
                        op: id,
                        entry: 0,
                    };
                    self.states[rank as usize]
                        .unexpected
                        .iter()
                        .any(|message| probe.takes(message))
                })
            }
            _ => done(self, &waits),
        };
        if ended {
            let state = &mut self.states[rank as usize];
            state.next += 1;
            state.called = None;
        }
        fresh || ended
    }

    fn take_all(&mut self, rank: u32, first: Request, count: u32) -> bool {
        let active = self.active(rank, first, count);
        let done = active.iter().all(|&(_, entry)| self.entries[entry].done);
        if done {
            active.into_iter().for_each(|(number, _)| self.take(rank, number));
        }
        done
    }

    fn take_chosen(&mut self, rank: u32, active: &[(u32, usize)], chosen: &BTreeSet<u32>) -> bool {
        let of = |number: &u32| {
            active
                .iter()
                .find(|(other, _)| other == number)
                .expect("taken and not active")
                .1
        };
        let done = chosen.iter().all(|number| self.entries[of(number)].done);
        if done {
            chosen.iter().for_each(|&number| self.take(rank, number));
        }
        done
    }

    /// Begins operation `op`; returns the completions that it waits for, excluding requests.
    fn call(&mut self, rank: u32, op: u32, kind: &OpKind) -> Vec<usize> {
        let mask = |comm| Collective::Allreduce {
            comm,
            bytes: 256,
            count: 64,
        };
        match *kind {
            OpKind::Send { to, tag, bytes, comm } => vec![self.send(rank, to, tag, bytes, comm, false)],
            OpKind::Ssend { to, tag, bytes, comm } => vec![self.send(rank, to, tag, bytes, comm, true)],
            OpKind::Isend {
                to,
                tag,
                bytes,
                comm,
                request,
            } => {
                let entry = self.send(rank, to, tag, bytes, comm, false);
                self.open(rank, request, entry);
                Vec::new()
            }
            OpKind::Issend {
                to,
                tag,
                bytes,
                comm,
                request,
            } => {
                let entry = self.send(rank, to, tag, bytes, comm, true);
                self.open(rank, request, entry);
                Vec::new()
            }
            OpKind::Recv { from, tag, comm, .. } => vec![self.receive(rank, op, from, tag, comm)],
            OpKind::Irecv {
                from,
                tag,
                comm,
                request,
                ..
            } => {
                let entry = self.receive(rank, op, from, tag, comm);
                self.open(rank, request, entry);
                Vec::new()
            }
            OpKind::Sendrecv {
                to,
                send_tag,
                send_bytes,
                from,
                recv_tag,
                comm,
                ..
            } => vec![
                self.receive(rank, op, from, recv_tag, comm),
                self.send(rank, to, send_tag, send_bytes, comm, false),
            ],
            OpKind::SendInit { request, .. } | OpKind::RecvInit { request, .. } => {
                self.states[rank as usize]
                    .requests
                    .insert(request.0, (None, Some(*kind)));
                Vec::new()
            }
            OpKind::Start { request } => {
                self.start(rank, op, request.0);
                Vec::new()
            }
            OpKind::StartAll { first, count } => {
                (first.0..first.0 + count).for_each(|number| self.start(rank, op, number));
                Vec::new()
            }
            OpKind::RequestFree { request } => {
                self.states[rank as usize].requests.remove(&request.0);
                Vec::new()
            }
            OpKind::Collective(collective) => vec![self.collective(rank, vec![collective])],
            OpKind::Icollective { collective, request } => {
                let entry = self.collective(rank, vec![collective]);
                self.open(rank, request, entry);
                Vec::new()
            }
            OpKind::CommDup { comm, .. } | OpKind::CommCreate { comm, .. } => {
                vec![self.collective(rank, vec![mask(comm)])]
            }
            OpKind::CommSplit { comm, .. } => {
                let n = self.members(rank, comm).len() as u64;
                let gather = Collective::Allreduce {
                    comm,
                    bytes: 8 * n,
                    count: n,
                };
                vec![self.collective(rank, vec![gather, mask(comm)])]
            }
            _ => Vec::new(),
        }
    }
}
