//! A schedule under the LogGOPS model: the end time of every rank, without contention in the network.
//!
//! The model is by T. Hoefler, T. Schneider, A. Lumsdaine ("LogGOPSim: simulating large-scale applications in the
//! LogGOPS model", HPDC 2010); the rules equal those of LogGOPSim to the nanosecond. A rank is a host with processors
//! (CPUs) and network interfaces (NICs); `s` is the size of a message, `s'` = max(s - 1, 0).
//!
//! | what | begins when | and then |
//! |---|---|---|
//! | calculation | its CPU is free | the CPU is taken for its time |
//! | send | its CPU is free and its NIC may send | the CPU is taken for o + s'O, the NIC may send again after g + s'G; the message arrives o + L later |
//! | receive | its CPU was free when it became ready | it is posted, which takes no time; a message that is here already completes it at once |
//! | message | it has arrived, the CPU is free and the NIC may receive | the CPU is taken for o + max(s'O, s'G), the NIC may receive again after g + s'G; it is matched with the oldest receive that takes it, or kept |
//!
//! - Waiting items use a CPU or NIC in the order in which they began to wait; a message counts from the time of its
//!   send.
//! - Dependents on the end of a calculation, of a send of at most S, or of a receive may begin when the CPU has
//!   finished it. Dependents on the start (`irequires`) may begin when the task begins; a receive begins when it is
//!   posted.
//! - A send above S (rendezvous) ends at the moment its message is matched with a receive, by an acknowledgment that
//!   takes no time. There are no other messages.
//! - A message is handled by the CPU and the NIC of its receiver with the numbers named by the send.
//! - A rank ends when its last CPU is free; later gaps of NICs do not count.
//!
//! Nothing else on the machine can delay such a schedule, and an acknowledgment takes no time. So one event queue
//! simulates all ranks together.

use crate::lines::{ItemKind, Lines, Needs};
use crate::matching::Matching;
use crate::queue::{Queue, Timed};
use crate::schedule::{Schedule, Task, TaskKind};
use odonata_units::Time;
use odonata_workload::{LogGops, RankTimes};

/// A task of a rank, or its message in flight, that may begin.
#[derive(Clone, Copy, Debug)]
struct Event {
    time: Time,
    /// The order in which items began to wait.
    number: u64,
    /// The item has waited in a line of its host.
    waited: bool,
    message: bool,
    rank: u32,
    task: u32,
}

impl Timed for Event {
    fn time(&self) -> Time {
        self.time
    }

    fn number(&self) -> u64 {
        self.number
    }
}

/// The result of a schedule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// End time and activity of each rank.
    pub ranks: Vec<RankTimes>,
    /// The first task, by rank and number, that never ended.
    pub stuck: Option<(u32, u32)>,
    /// Messages without a receive.
    pub unexpected: u64,
}

struct Host {
    /// When each CPU is free.
    cpu: Vec<Time>,
    /// When each NIC may send, and receive, again.
    send: Vec<Time>,
    receive: Vec<Time>,
    /// Number of unmet dependencies of each task.
    unmet: Vec<u32>,
    /// When the dependencies of each task were met.
    ready: Vec<Time>,
    /// Tasks without unmet dependencies, in that order.
    free: Vec<u32>,
    left: u32,
    matching: Matching,
    /// Items that wait for a CPU or a NIC.
    lines: Lines,
}

impl Host {
    /// When the resources of an item are free.
    fn free_at(&self, Needs { kind, cpu, nic }: Needs) -> Time {
        let at = |times: &[Time], number: u8| times.get(usize::from(number)).copied().unwrap_or(Time::ZERO);
        match kind {
            ItemKind::Calc => at(&self.cpu, cpu),
            ItemKind::Send => at(&self.cpu, cpu).max(at(&self.send, nic)),
            ItemKind::Message => at(&self.cpu, cpu).max(at(&self.receive, nic)),
        }
    }
}

struct Simulation<'a> {
    schedule: &'a Schedule,
    params: &'a LogGops,
    /// Factor for calculation times.
    scale: f64,
    hosts: Vec<Host>,
    queue: Queue<Event>,
    number: u64,
    times: Vec<RankTimes>,
    /// Hosts with tasks that this event made ready.
    changed: Vec<u32>,
}

/// Simulates `schedule`; calculation times are multiplied by `scale`.
///
/// `None` if `stop` returns true.
pub fn simulate(schedule: &Schedule, params: &LogGops, scale: f64, stop: &dyn Fn() -> bool) -> Option<Outcome> {
    let host = |rank: &crate::schedule::RankSchedule| {
        let most = |number: fn(&Task) -> u8| rank.tasks().iter().map(number).max().map_or(0, usize::from);
        // A message names the CPU and the NIC of its send.
        Host {
            cpu: vec![Time::ZERO; most(|task| task.cpu) + 1],
            send: vec![Time::ZERO; most(|task| task.nic) + 1],
            receive: vec![Time::ZERO; most(|task| task.nic) + 1],
            unmet: rank.unmet().to_vec(),
            ready: vec![Time::ZERO; rank.tasks().len()],
            free: rank.roots().to_vec(),
            left: rank.tasks().len() as u32,
            matching: Matching::default(),
            lines: Lines::default(),
        }
    };
    let mut simulation = Simulation {
        schedule,
        params,
        scale,
        hosts: schedule.ranks().iter().map(host).collect(),
        queue: Queue::new(),
        number: 0,
        times: vec![RankTimes::default(); schedule.ranks().len()],
        changed: (0..schedule.ranks().len() as u32).collect(),
    };
    simulation.release(Time::ZERO);
    let mut events = 0_u32;
    while let Some(event) = simulation.queue.pop() {
        events = events.wrapping_add(1);
        if events.is_multiple_of(4096) && stop() {
            return None;
        }
        simulation.step(event);
        simulation.release(event.time);
    }
    Some(simulation.finish())
}

impl Simulation<'_> {
    fn task_of(&self, rank: u32, task: u32) -> Task {
        self.schedule.ranks()[rank as usize].tasks()[task as usize]
    }

    fn push(&mut self, time: Time, message: bool, rank: u32, task: u32) {
        self.number += 1;
        self.queue.push(Event {
            time,
            number: self.number,
            waited: false,
            message,
            rank,
            task,
        });
    }

    /// Queues the tasks that became ready by `now`.
    fn release(&mut self, now: Time) {
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        for &rank in &changed {
            let mut free = std::mem::take(&mut self.hosts[rank as usize].free);
            for &task in &free {
                let what = self.task_of(rank, task);
                let host = &self.hosts[rank as usize];
                let mut time = host.cpu[usize::from(what.cpu)].max(host.ready[task as usize]).max(now);
                if what.kind == TaskKind::Send {
                    time = time.max(host.send[usize::from(what.nic)]);
                }
                self.push(time, false, rank, task);
            }
            free.clear();
            self.hosts[rank as usize].free = free;
        }
        changed.clear();
        self.changed = changed;
    }

    /// Task `task` of `rank` began, or ended, at `at`: updates its dependents.
    fn follow(&mut self, rank: u32, task: u32, at: Time, ended: bool) {
        let schedule = &self.schedule.ranks()[rank as usize];
        let host = &mut self.hosts[rank as usize];
        let edges = if ended { schedule.ends() } else { schedule.begins() };
        for &waiting in edges.after(task) {
            let ready = &mut host.ready[waiting as usize];
            *ready = (*ready).max(at);
            host.unmet[waiting as usize] -= 1;
            if host.unmet[waiting as usize] == 0 {
                host.free.push(waiting);
            }
        }
        host.left -= u32::from(ended);
        self.changed.push(rank);
    }

    /// Begins a task or handles a message if its CPU and its NIC are free; otherwise it waits in its line.
    fn step(&mut self, event: Event) {
        let Event {
            time,
            number,
            rank,
            task,
            ..
        } = event;
        let what = self.task_of(rank, task);
        let kind = match what.kind {
            _ if event.message => ItemKind::Message,
            TaskKind::Calc => ItemKind::Calc,
            TaskKind::Send => ItemKind::Send,
            // A receive needs nothing once it is ready.
            TaskKind::Recv => return self.post(time, rank, task, &what),
        };
        let needs = Needs {
            kind,
            cpu: what.cpu,
            nic: what.nic,
        };
        let at = if event.message { what.peer } else { rank };
        let host = &mut self.hosts[at as usize];
        if event.waited && !host.lines.is_due(needs, number, time) {
            return;
        }
        let free = host.free_at(needs);
        if free > time {
            let has_event = match event.waited {
                true => {
                    host.lines.postpone(needs, free);
                    true
                }
                false => host.lines.join(needs, (number, rank, task), free),
            };
            if has_event {
                self.queue.push(Event {
                    time: free,
                    waited: true,
                    ..event
                });
            }
            return;
        }
        match kind {
            ItemKind::Calc => self.calculate(time, rank, task, &what),
            ItemKind::Send => self.send(time, rank, task, &what),
            ItemKind::Message => self.message(time, rank, task, &what),
        }
        if event.waited {
            let host = &mut self.hosts[at as usize];
            let free = host.free_at(needs);
            if let Some((number, rank, task)) = host.lines.begin(needs, free) {
                self.queue.push(Event {
                    time: free,
                    number,
                    rank,
                    task,
                    ..event
                });
            }
        }
    }

    fn calculate(&mut self, time: Time, rank: u32, task: u32, what: &Task) {
        let duration = calculation(what, self.scale);
        let end = time + duration;
        self.hosts[rank as usize].cpu[usize::from(what.cpu)] = end;
        self.times[rank as usize].compute += duration;
        self.follow(rank, task, time, false);
        self.follow(rank, task, end, true);
    }

    fn send(&mut self, time: Time, rank: u32, task: u32, what: &Task) {
        let params = self.params;
        let end = time + params.send_overhead + params.per_byte(what.size);
        let host = &mut self.hosts[rank as usize];
        host.cpu[usize::from(what.cpu)] = end;
        host.send[usize::from(what.nic)] = time + params.gap + params.gap_of(what.size);
        let times = &mut self.times[rank as usize];
        times.sends += 1;
        times.bytes_sent += what.size;
        self.follow(rank, task, time, false);
        self.push(time + params.send_overhead + params.latency, true, rank, task);
        if what.size <= params.eager_threshold {
            self.follow(rank, task, end, true);
        }
    }

    /// Posts a receive.
    fn post(&mut self, time: Time, rank: u32, task: u32, what: &Task) {
        self.follow(rank, task, time, false);
        let matching = &mut self.hosts[rank as usize].matching;
        if let Some((from, send)) = matching.post(task, what.peer, what.tag) {
            self.matched((from, send), (rank, task), time, time);
        }
    }

    /// The receiver handles the message of send `task` of `rank`.
    fn message(&mut self, time: Time, rank: u32, task: u32, what: &Task) {
        let params = self.params;
        let (cpu, nic) = (usize::from(what.cpu), usize::from(what.nic));
        let host = &mut self.hosts[what.peer as usize];
        // The receiver may have no task on this CPU.
        host.cpu.resize(host.cpu.len().max(cpu + 1), Time::ZERO);
        host.receive.resize(host.receive.len().max(nic + 1), Time::ZERO);
        let (per_byte, gap) = (params.per_byte(what.size), params.gap_of(what.size));
        let end = time + params.recv_overhead + per_byte.max(gap);
        host.cpu[cpu] = end;
        host.receive[nic] = time + params.gap + gap;
        let times = &mut self.times[what.peer as usize];
        times.recvs += 1;
        times.bytes_received += what.size;
        if let Some(receive) = host.matching.arrive(rank, what.tag, task) {
            self.matched((rank, task), (what.peer, receive), time, end);
        }
    }

    /// A receive was matched at `now` and ends at `end`.
    fn matched(&mut self, (from, send): (u32, u32), (to, receive): (u32, u32), now: Time, end: Time) {
        let sent = self.task_of(from, send);
        if sent.size > self.params.eager_threshold {
            let cpu = &mut self.hosts[from as usize].cpu[usize::from(sent.cpu)];
            *cpu = (*cpu).max(now);
            self.follow(from, send, now, true);
        }
        self.follow(to, receive, end, true);
    }

    fn finish(mut self) -> Outcome {
        let mut stuck = None;
        for (rank, host) in self.hosts.iter().enumerate() {
            self.times[rank].end = host.cpu.iter().copied().max().unwrap_or(Time::ZERO);
            if host.left > 0 && stuck.is_none() {
                let task = host.unmet.iter().position(|&unmet| unmet > 0).unwrap_or(0) as u32;
                stuck = Some((rank as u32, host.matching.oldest_posted().unwrap_or(task)));
            }
        }
        Outcome {
            ranks: self.times,
            stuck,
            unexpected: self.hosts.iter().map(|host| host.matching.unexpected()).sum(),
        }
    }
}

/// The time of calculation `task`.
pub(crate) fn calculation(task: &Task, scale: f64) -> Time {
    let duration = Time(task.size.saturating_mul(1000)).min(Time::BEYOND);
    match scale {
        1.0 => duration,
        scale => Time::from_ps_f64(duration.0 as f64 * scale),
    }
}
