//! The LogGOPS model against a slow, simple one, on random schedules with several CPUs and NICs per host.
//!
//! In the slow model every item has an event of its own. An item that finds its CPU or NIC busy asks again when they
//! are to be free, and keeps its place: of all events of an instant, the item that began to wait first is the next.
//! That is how LogGOPSim does it.

use odonata_goal::loggops::simulate;
use odonata_goal::schedule::{ANY, RankSchedule, Schedule, Task, TaskKind};
use odonata_units::{PerByte, Time};
use odonata_workload::LogGops;

/// In ns.
const LATENCY: u64 = 50;
const OVERHEAD: u64 = 7;
const GAP: u64 = 11;
const GAP_PER_BYTE: u64 = 2;
const OVERHEAD_PER_BYTE: u64 = 1;
const EAGER: u64 = 6;
const CPUS: usize = 3;

/// A linear congruential generator (Knuth, MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Tasks of a rank, and its edges: (predecessor, dependent, whether the dependent waits for the end).
type Rank = (Vec<Task>, Vec<(u32, u32, bool)>);

fn random_schedule(random: &mut Random) -> Vec<Rank> {
    let ranks = 2 + random.below(3) as u32;
    let mut tasks: Vec<Vec<Task>> = vec![Vec::new(); ranks as usize];
    let mut place = |random: &mut Random, rank: u32, kind, peer, tag, size| {
        let task = Task {
            kind,
            peer,
            tag,
            size,
            cpu: random.below(CPUS as u64) as u8,
            nic: random.below(CPUS as u64) as u8,
        };
        let list = &mut tasks[rank as usize];
        list.insert(random.below(list.len() as u64 + 1) as usize, task);
    };
    for _ in 0..10 + random.below(30) {
        let (from, to) = (random.below(ranks.into()) as u32, random.below(ranks.into()) as u32);
        let (tag, size) = (random.below(2) as u32, 1 + random.below(12));
        match random.below(3) {
            0 => place(random, from, TaskKind::Calc, 0, 0, random_size(size)),
            _ if from != to => {
                place(random, from, TaskKind::Send, to, tag, size);
                let wild = random.below(5) == 0;
                let (peer, tag) = if wild { (ANY, ANY) } else { (from, tag) };
                place(random, to, TaskKind::Recv, peer, tag, size);
            }
            _ => {}
        }
    }
    tasks
        .into_iter()
        .map(|tasks| {
            let count = tasks.len() as u64;
            let edges = (0..count / 3).filter_map(|_| {
                let (one, other) = (random.below(count) as u32, random.below(count) as u32);
                (one != other).then(|| (one.min(other), one.max(other), random.below(2) == 0))
            });
            (tasks, edges.collect())
        })
        .collect()
}

fn random_size(size: u64) -> u64 {
    size * 9 % 31
}

/// End of each rank in ns, and whether all tasks ended.
fn slow(ranks: &[Rank]) -> (Vec<u64>, bool) {
    let mut slow = Slow {
        ranks,
        busy: vec![[[0; CPUS]; 3]; ranks.len()],
        unmet: Vec::new(),
        ready: ranks.iter().map(|(tasks, _)| vec![0; tasks.len()]).collect(),
        free: Vec::new(),
        items: Vec::new(),
        number: 0,
        receives: vec![Vec::new(); ranks.len()],
        messages: vec![Vec::new(); ranks.len()],
        left: ranks.iter().map(|(tasks, _)| tasks.len()).sum(),
    };
    for (rank, (tasks, edges)) in ranks.iter().enumerate() {
        let unmet = |task: usize| edges.iter().filter(|edge| edge.1 as usize == task).count();
        slow.unmet.push((0..tasks.len()).map(unmet).collect());
        let roots = (0..tasks.len()).filter(|&task| slow.unmet[rank][task] == 0);
        slow.free.push(roots.collect());
    }
    slow.release(0);
    while let Some(next) = (0..slow.items.len()).min_by_key(|&item| slow.items[item]) {
        let (time, number, message, rank, task) = slow.items.swap_remove(next);
        slow.step(time, number, message, rank, task);
        slow.release(time);
    }
    let ends = slow.busy.iter().map(|[cpus, ..]| *cpus.iter().max().unwrap()).collect();
    (ends, slow.left == 0)
}

/// Which times of `busy`: of CPUs, of NICs that send, of NICs that receive.
const CPU: usize = 0;
const SEND: usize = 1;
const RECEIVE: usize = 2;

struct Slow<'a> {
    ranks: &'a [Rank],
    busy: Vec<[[u64; CPUS]; 3]>,
    unmet: Vec<Vec<usize>>,
    ready: Vec<Vec<u64>>,
    free: Vec<Vec<usize>>,
    /// Time, number, whether it is a message, rank, task.
    items: Vec<(u64, u64, bool, usize, usize)>,
    number: u64,
    /// Source, tag, task.
    receives: Vec<Vec<(u32, u32, usize)>>,
    messages: Vec<Vec<(u32, u32, usize)>>,
    left: usize,
}

impl Slow<'_> {
    fn push(&mut self, time: u64, message: bool, rank: usize, task: usize) {
        self.number += 1;
        self.items.push((time, self.number, message, rank, task));
    }

    fn release(&mut self, now: u64) {
        for rank in 0..self.ranks.len() {
            for task in std::mem::take(&mut self.free[rank]) {
                let what = self.ranks[rank].0[task];
                let mut time = now
                    .max(self.ready[rank][task])
                    .max(self.busy[rank][CPU][what.cpu as usize]);
                if what.kind == TaskKind::Send {
                    time = time.max(self.busy[rank][SEND][what.nic as usize]);
                }
                self.push(time, false, rank, task);
            }
        }
    }

    fn follow(&mut self, rank: usize, task: usize, at: u64, ended: bool) {
        for &(_, after, _) in self.ranks[rank]
            .1
            .iter()
            .filter(|edge| edge.0 as usize == task && edge.2 == ended)
        {
            let after = after as usize;
            self.ready[rank][after] = self.ready[rank][after].max(at);
            self.unmet[rank][after] -= 1;
            if self.unmet[rank][after] == 0 {
                self.free[rank].push(after);
            }
        }
        self.left -= usize::from(ended);
    }

    fn step(&mut self, time: u64, number: u64, message: bool, rank: usize, task: usize) {
        let what = self.ranks[rank].0[task];
        let (cpu, nic, s) = (what.cpu as usize, what.nic as usize, what.size.saturating_sub(1));
        let at = if message { what.peer as usize } else { rank };
        let busy = &mut self.busy[at];
        let free = match what.kind {
            _ if message => busy[CPU][cpu].max(busy[RECEIVE][nic]),
            TaskKind::Calc => busy[CPU][cpu],
            TaskKind::Send => busy[CPU][cpu].max(busy[SEND][nic]),
            TaskKind::Recv => 0,
        };
        if free > time {
            self.items.push((free, number, message, rank, task));
            return;
        }
        match what.kind {
            _ if message => {
                let end = time + OVERHEAD + (s * GAP_PER_BYTE).max(s * OVERHEAD_PER_BYTE);
                busy[CPU][cpu] = end;
                busy[RECEIVE][nic] = time + GAP + s * GAP_PER_BYTE;
                let fits = |&(from, tag, _): &(u32, u32, usize)| {
                    (from == ANY || from as usize == rank) && (tag == ANY || tag == what.tag)
                };
                match self.receives[at].iter().position(fits) {
                    Some(place) => {
                        let receive = self.receives[at].remove(place).2;
                        self.matched((rank, task), (at, receive), time, end);
                    }
                    None => self.messages[at].push((rank as u32, what.tag, task)),
                }
            }
            TaskKind::Calc => {
                let end = time + what.size;
                busy[CPU][cpu] = end;
                self.follow(rank, task, time, false);
                self.follow(rank, task, end, true);
            }
            TaskKind::Send => {
                let end = time + OVERHEAD + s * OVERHEAD_PER_BYTE;
                busy[CPU][cpu] = end;
                busy[SEND][nic] = time + GAP + s * GAP_PER_BYTE;
                self.follow(rank, task, time, false);
                self.push(time + OVERHEAD + LATENCY, true, rank, task);
                if what.size <= EAGER {
                    self.follow(rank, task, end, true);
                }
            }
            TaskKind::Recv => {
                self.follow(rank, task, time, false);
                let fits = |&(from, tag, _): &(u32, u32, usize)| {
                    (what.peer == ANY || what.peer == from) && (what.tag == ANY || what.tag == tag)
                };
                match self.messages[rank].iter().position(fits) {
                    Some(place) => {
                        let (from, _, send) = self.messages[rank].remove(place);
                        self.matched((from as usize, send), (rank, task), time, time);
                    }
                    None => self.receives[rank].push((what.peer, what.tag, task)),
                }
            }
        }
    }

    fn matched(&mut self, (from, send): (usize, usize), (to, receive): (usize, usize), now: u64, end: u64) {
        let sent = self.ranks[from].0[send];
        if sent.size > EAGER {
            let cpu = &mut self.busy[from][CPU][sent.cpu as usize];
            *cpu = now.max(*cpu);
            self.follow(from, send, now, true);
        }
        self.follow(to, receive, end, true);
    }
}

#[test]
fn every_rank_ends_when_it_does_in_the_slow_model() {
    let params = LogGops {
        latency: Time::from_ns(LATENCY),
        send_overhead: Time::from_ns(OVERHEAD),
        recv_overhead: Time::from_ns(OVERHEAD),
        gap: Time::from_ns(GAP),
        gap_per_byte: PerByte(1000.0 * GAP_PER_BYTE as f64),
        overhead_per_byte: PerByte(1000.0 * OVERHEAD_PER_BYTE as f64),
        eager_threshold: EAGER,
    };
    let mut random = Random(7);
    let (mut complete, cases) = (0, 2_000);
    for case in 0..cases {
        let ranks = random_schedule(&mut random);
        let of = |edges: &[(u32, u32, bool)], end| -> Vec<(u32, u32)> {
            edges
                .iter()
                .filter(|edge| edge.2 == end)
                .map(|&(one, other, _)| (one, other))
                .collect()
        };
        let schedule = ranks.iter().map(|(tasks, edges)| {
            RankSchedule::new(tasks.clone(), &of(edges, true), &of(edges, false)).expect("edges go forward")
        });
        let outcome = simulate(&Schedule::new(schedule.collect()), &params, 1.0, &|| false).unwrap();
        let ends: Vec<u64> = outcome.ranks.iter().map(|rank| rank.end.0 / 1000).collect();
        assert_eq!((ends, outcome.stuck.is_none()), slow(&ranks), "case {case}: {ranks:?}");
        complete += u32::from(outcome.stuck.is_none());
    }
    assert!(
        complete > cases / 2,
        "{complete} of {cases} schedules came to their end"
    );
}
