//! Queues of flows: the backlog of flows in the buffers upstream of their bottlenecks (tree saturation), and the wait
//! of packets there.
//!
//! A flow is *backlogged* if its source could send faster than its bottleneck allows. As packets it would send anyway
//! until credits stop it: buffers upstream of the bottleneck fill, the nearest first. For a flow with demand d and rate
//! r, upstream of link l:
//!
//! ```text
//! backlog    dq/dt = d - r;  q <= the bytes left at its source, q <= its room
//! room       behind a link with a buffer of B bytes on a level: B r / R, R: rate of all backlogged flows and packets there
//! wait       in a buffer, of traffic for l: q / R of the flows over l, and the packets beside them (Little's law)
//! turn       of another buffer without backlog for l: N P / R, if N buffers have packets of P bytes for l
//! rate       r; with packets at its bottleneck at least a turn: S / M, if M limited flows and sources have the rate S
//! ```
//!
//! So a packet waits for the backlog in its own input buffer, and for a turn of the other buffers if its own has none:
//! routers serve inputs in turn. If l is the bottleneck, its bandwidth is shared already (see `coupled`) and there are
//! no turns to add. If the queue is due to a link further downstream, only packets of the same level wait, because they
//! need the same credits.

mod reported;

use super::max_min::Step;
use crate::flow::OUTPUTS;
use crate::params::NetworkParams;
use crate::routing::Routing;
use odonata_engine::{NIL, Store};
use reported::ReportedWaits;

/// The backlog of flows at a place, and its drain rate in bytes per picosecond.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    bytes: f64,
    rate: f64,
}

/// The backlogged flows with their bottleneck at a link: their number, and their total rate in bytes per picosecond.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    flows: u32,
    rate: f64,
}

impl Held {
    fn add(&mut self, rate: f64) {
        self.flows += 1;
        self.rate += rate;
    }
}

/// The backlog in a buffer for one output.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    /// The output, and the level on it; NIL without one.
    next: u32,
    level: u8,
    /// Whether the output is the bottleneck of all this backlog.
    last: bool,
    queue: Queue,
}

impl Ahead {
    const NONE: Ahead = Ahead {
        next: NIL,
        level: 0,
        last: true,
        queue: Queue { bytes: 0.0, rate: 0.0 },
    };

    fn is(&self, next: (u32, u8)) -> bool {
        (self.next, self.level) == next
    }
}

/// The buffer behind a link on a level, and the queue for room there.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    /// Rate of the backlogged flows that continue from here.
    rate: f64,
    /// Their first outputs.
    outputs: [Ahead; OUTPUTS],
    /// Number of buffers with packets waiting for room here, and their rate.
    inputs: u32,
    entering: f64,
    listed: bool,
}

impl Buffer {
    const EMPTY: Buffer = Buffer {
        rate: 0.0,
        outputs: [Ahead::NONE; OUTPUTS],
        inputs: 0,
        entering: 0.0,
        listed: false,
    };
}

/// Queues of flows, by link and level; empty unless packets and flows are coupled.
#[derive(Debug)]
pub(super) struct FlowQueues {
    /// Levels per link.
    levels: usize,
    /// The reported waits, by link and level.
    reported: Store<ReportedWaits>,
    /// The first place with a reported wait.
    first_reported: Store<u32>,
    /// Whether packets have used links of flows.
    has_packets: Store<bool>,
    /// Derived from the present flows, by link and level; and the list of non-empty ones.
    buffers: Vec<Buffer>,
    listed: Vec<u32>,
    /// By link: the backlogged flows with their bottleneck there.
    holds: Vec<Held>,
    /// By link: bytes of flows in the buffers behind it and waiting for it.
    loads: Vec<f64>,
    /// The paths of backlogged flows up to their bottlenecks, concatenated; each flow with its rate and the end of its
    /// path.
    flows: Vec<(u32, f64, usize)>,
    steps: Vec<(u32, u8)>,
}
odonata_engine::journalled!(FlowQueues {
    reported,
    first_reported,
    has_packets
});

impl FlowQueues {
    pub(super) fn new(params: &NetworkParams, routing: &Routing, links: usize) -> FlowQueues {
        let links = if params.coupling_interval.is_some() { links } else { 0 };
        let levels = usize::from(routing.virtual_channels().into_iter().max().unwrap_or(1).max(1));
        FlowQueues {
            levels,
            reported: Store::filled(links * levels, ReportedWaits::NOTHING),
            first_reported: Store::filled(1, NIL),
            has_packets: Store::filled(1, false),
            buffers: vec![Buffer::EMPTY; links * levels],
            listed: Vec::new(),
            holds: vec![Held::default(); links],
            loads: vec![0.0; links],
            flows: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Bytes of flows in the buffers behind `link`, or waiting for it.
    pub(super) fn load(&self, link: u32) -> f64 {
        self.loads[link as usize]
    }

    fn place(&self, (link, level): (u32, u8)) -> usize {
        link as usize * self.levels + usize::from(level)
    }

    fn list(&mut self, step: (u32, u8)) -> &mut Buffer {
        let place = self.place(step);
        let buffer = &mut self.buffers[place];
        if !buffer.listed {
            buffer.listed = true;
            self.listed.push(place as u32);
        }
        buffer
    }

    fn clear(&mut self) {
        for place in self.listed.drain(..) {
            self.buffers[place as usize] = Buffer::EMPTY;
            let link = place as usize / self.levels;
            (self.loads[link], self.holds[link]) = (0.0, Held::default());
        }
        self.flows.clear();
        self.steps.clear();
    }

    /// Adds `flow` with `rate` on this path, which ends at its bottleneck.
    fn add(&mut self, flow: u32, rate: f64, path: impl Iterator<Item = Step>) {
        let start = self.steps.len();
        self.steps.extend(path.map(|Step { link, level, .. }| (link, level)));
        for at in start..self.steps.len() {
            let (step, next) = (self.steps[at], self.steps.get(at + 1).copied());
            let buffer = self.list(step);
            let Some(next) = next else {
                continue;
            };
            buffer.rate += rate;
            let own = |output: &&mut Ahead| output.next == NIL || output.is(next);
            if let Some(output) = buffer.outputs.iter_mut().find(own) {
                (output.next, output.level) = next;
                output.queue.rate += rate;
            }
        }
        self.flows.push((flow, rate, self.steps.len()));
    }

    /// Distributes `backlog` bytes of a flow of `rate` with path `start..end` over the buffers upstream of its
    /// bottleneck; returns the bytes that do not fit. `packets`: load of packets on a link; `capacity`: bytes of a
    /// buffer.
    fn lay(
        &mut self,
        mut backlog: f64,
        rate: f64,
        (start, end): (usize, usize),
        packets: impl Fn(u32) -> f64,
        capacity: impl Fn(u32, u8) -> f64,
    ) -> f64 {
        for at in (start..end - 1).rev() {
            let (step, next) = (self.steps[at], self.steps[at + 1]);
            let place = self.place(step);
            let buffer = &mut self.buffers[place];
            let laid = backlog.min(capacity(step.0, step.1) * rate / (buffer.rate + packets(step.0)));
            if let Some(output) = buffer.outputs.iter_mut().find(|output| output.is(next)) {
                output.queue.bytes += laid;
                output.last &= at + 2 == end;
            }
            self.loads[step.0 as usize] += laid;
            self.loads[next.0 as usize] += laid;
            backlog -= laid;
            if backlog <= 0.0 {
                return 0.0;
            }
        }
        backlog
    }

    /// Counts the inputs of each queue.
    fn count_inputs(&mut self) {
        for at in 0..self.listed.len() {
            for output in self.buffers[self.listed[at] as usize].outputs {
                if output.queue.bytes > 0.0 && !output.last {
                    let next = self.place((output.next, output.level));
                    let buffer = &mut self.buffers[next];
                    buffer.inputs += 1;
                    buffer.entering += output.queue.rate;
                }
            }
        }
    }
}
