//! Windows of endpoint pairs at the last router before a node: the receiving side of `PerPair`
//! [congestion control](super::congestion).
//!
//! A *limited* pair has a window of `w` packets that may be in flight from its source to the node. The last router
//! acknowledges each of them. `n` limited pairs send, the link takes `t` for a packet and carries `C` packets in an
//! `interval` of at least a round trip, and `W` packets shall be in flight together.
//!
//! | | window | next packet |
//! |---|---|---|
//! | `n <= C` | `w = W / n` rounded up | `(n w - W) t` after the acknowledgement |
//! | `n > C` | `w = 1` | passes the router `(n - W) t + interval` after the last one |
//!
//! In a time `(n w - W) t` the link carries `n w - W` packets. So this many are not in flight but wait at their sources,
//! and `W` are in flight, whatever `n` is. If there are many sources, each sends its packet earlier by the time that the
//! acknowledgement took to return: then all have equal shares, whatever their round trips are.
//!
//! **Rounds.** A pair has one probe in flight, which tells the round that its source knows. The router counts it if that
//! round is over, or if the source had paused. `n` is the count of the last round, or that of this one if it is larger. A
//! round lasts one and a half times as long as the link takes for `n w` packets, and at least `interval`. After each one
//! `W` follows the least backlog in it:
//!
//! ```text
//! W <- W + (threshold - q) / 2,  and W / 4 more if q = 0;   1 <= W <= C,  or 2 C if n > C
//! ```
//!
//! At rest the backlog does not fall below the threshold, so the link is always busy.

use odonata_engine::{Mode, Store, Time};

/// Rounds have a number modulo this.
pub(crate) const ROUNDS: u8 = 4;

/// A packet by which a source is counted. A pair has one in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Probe {
    /// The round that the source knows.
    pub(crate) round: u8,
    /// The source had paused.
    pub(crate) is_first: bool,
}

/// What a source is told about the window of a pair.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Window {
    /// w.
    pub(crate) packets: u32,
    /// When the next packet may leave its source.
    pub(crate) next: Next,
    /// The number of the round, modulo [`ROUNDS`].
    pub(crate) round: u8,
    /// The acknowledged packet was a probe.
    pub(crate) probed: bool,
    /// A packet of the window is no longer in flight.
    pub(crate) acknowledges: bool,
}

/// When a source may send the next packet.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Next {
    /// So long after the acknowledgement has arrived.
    After(Time),
    /// So that it passes the last router so long after a packet that passed it at this time.
    Passes(Time, Time),
}

impl Next {
    /// The time, at a source that is told at `now`.
    pub(crate) fn due(self, now: Time) -> Time {
        match self {
            Next::After(wait) => now + wait,
            Next::Passes(cycle, last) => now.max((last + cycle).saturating_sub(now - last)),
        }
    }
}

/// A packet that departs from the last link before a node.
#[derive(Clone, Copy)]
pub(super) struct LastHop {
    /// Whether its pair is limited.
    pub(super) is_limited: bool,
    pub(super) probe: Option<Probe>,
    /// Packets that stay behind; and the most that slow down no source.
    pub(super) waiting: f64,
    pub(super) threshold: f64,
    /// The least time of a round, and the time of a packet.
    pub(super) interval: Time,
    pub(super) packet: Time,
}

/// The state of the last link before a node.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Round {
    /// W.
    all: f64,
    /// The count of the last round, and that of this one, which has begun `since`.
    pairs: u32,
    counted: u32,
    /// q.
    least: f64,
    since: Time,
    number: u8,
}

impl Round {
    /// n.
    fn pairs(&self) -> f64 {
        f64::from(self.pairs.max(self.counted).max(1))
    }

    /// w, if the link carries `most` packets in an interval.
    fn window(&self, most: f64) -> f64 {
        let pairs = self.pairs();
        if pairs > most { 1.0 } else { (self.all / pairs).ceil() }
    }
}

/// The windows of the nodes of a part.
#[derive(Debug)]
pub(super) struct PairWindows {
    rounds: Store<Round>,
}
odonata_engine::journalled!(PairWindows { rounds });

impl PairWindows {
    /// Bytes per node.
    pub(super) const BYTES_PER_NODE: usize = size_of::<Round>();

    pub(super) fn new(nodes: usize) -> PairWindows {
        let idle = Round {
            all: 1.0,
            pairs: 0,
            counted: 0,
            least: 0.0,
            since: Time::NEVER,
            number: 0,
        };
        PairWindows {
            rounds: Store::filled(nodes, idle),
        }
    }

    /// A packet departs for `node` now. Returns what its source is told, if anything.
    pub(super) fn packet_leaves<M: Mode>(&mut self, node: u32, hop: LastHop, now: Time) -> Option<Window> {
        let most = (hop.interval.0 as f64 / hop.packet.0.max(1) as f64).max(1.0);
        let time = |packets: f64| Time((packets.max(0.0) * hop.packet.0 as f64) as u64);
        let round = *self.rounds.get(node);
        let elapsed = now.saturating_sub(round.since);
        let length = time(1.5 * round.pairs() * round.window(most)).max(hop.interval);
        let are_limited = round.since != Time::NEVER && elapsed <= length + length;
        // Sources without a window may not take what the others leave.
        let are_held_back = are_limited && (round.all < most || round.pairs() > most);
        if !hop.is_limited && hop.waiting <= hop.threshold && !are_held_back {
            return None;
        }
        let round = self.rounds.edit::<M>(node);
        if !are_limited {
            (round.all, round.pairs) = (most, 0);
        } else if elapsed >= length {
            let unused = if round.least == 0.0 { 0.25 * round.all } else { 0.0 };
            let change = 0.5 * (hop.threshold - round.least) + unused;
            round.all = (round.all + change).clamp(1.0, if round.pairs() > most { 2.0 * most } else { most });
            round.pairs = round.counted;
        }
        if !are_limited || elapsed >= length {
            (round.counted, round.least) = (0, hop.waiting);
            (round.since, round.number) = (now, (round.number + 1) % ROUNDS);
        }
        round.least = round.least.min(hop.waiting);
        let is_new = |probe: Probe| probe.is_first || probe.round != round.number;
        round.counted += u32::from(hop.probe.is_some_and(is_new));
        let (pairs, packets) = (round.pairs(), round.window(most));
        let next = match hop.is_limited && pairs > most {
            true => Next::Passes(time(pairs - round.all + most), now),
            // What the packets of a source without a window have met shall have left.
            false if !hop.is_limited => Next::After(time((pairs * packets - round.all).max(hop.waiting))),
            false => Next::After(time(pairs * packets - round.all)),
        };
        Some(Window {
            packets: packets as u32,
            next,
            round: round.number,
            probed: hop.probe.is_some(),
            acknowledges: hop.is_limited,
        })
    }
}
