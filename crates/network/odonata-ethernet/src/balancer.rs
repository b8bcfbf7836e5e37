//! Load balancing: the entropy value of each packet of a flow. Switches hash it, so it selects the path.
//!
//! Feedback comes with answers: a value that came back unmarked is good, one that came back marked or with a trimmed
//! packet is not.

use crate::params::Params;
use crate::settings::Balancing;
use odonata_engine::Stream;

/// Values in the ring of REPS, and most in the queue of its older form.
const RING: usize = 8;
const QUEUE: usize = 32;

/// Packets that a value is left out.
const MARKED: u64 = 1;
const TRIMMED: u64 = 4;
const MOST: u64 = 15;

/// What an answer says about the path of its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feedback {
    Good,
    Marked,
    Trimmed,
}

/// The state of a flow's load balancing.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Balancer {
    stream: Stream,
    /// The position in the round, and its order.
    index: u32,
    order: u32,
    /// The value of a flow with one; the last one in turn.
    own: u16,
    /// Values that came back: `fresh` of them before `head`.
    head: u8,
    fresh: u8,
    values: [u16; QUEUE],
    /// Four bits per value: how often it is still left out.
    penalties: [u64; 4],
}

impl Balancer {
    pub(crate) fn new(params: &Params, mut stream: Stream) -> Balancer {
        Balancer {
            own: stream.below(params.entropies) as u16,
            order: stream.below(params.entropies),
            stream,
            index: 0,
            head: 0,
            fresh: 0,
            values: [0; QUEUE],
            penalties: [0; 4],
        }
    }

    /// The value of packet `sequence`, with a window of `window` packets.
    pub(crate) fn next(&mut self, params: &Params, sequence: u32, window: u32) -> u16 {
        match params.balancing {
            Balancing::Ecmp => self.own,
            Balancing::Oblivious => self.in_turn(params),
            Balancing::Bitmap => self.unpunished(params),
            Balancing::Reps => match self.fresh {
                0 => self.stream.below(params.entropies) as u16,
                _ => self.oldest(RING),
            },
            Balancing::RepsLegacy if sequence < window.min(params.entropies) => {
                self.own = ((u32::from(self.own) + 1) % params.entropies) as u16;
                self.own
            }
            Balancing::RepsLegacy => match self.fresh {
                0 => self.stream.below(params.entropies) as u16,
                _ => self.oldest(QUEUE),
            },
            Balancing::Mixed => match self.fresh {
                0 => self.unpunished(params),
                _ => self.oldest(QUEUE),
            },
        }
    }

    /// An answer to a packet with value `entropy`.
    pub(crate) fn learn(&mut self, params: &Params, entropy: u16, feedback: Feedback) {
        let (ring, punishes) = match params.balancing {
            Balancing::Ecmp | Balancing::Oblivious => return,
            Balancing::Reps => (RING, false),
            Balancing::RepsLegacy => (QUEUE, false),
            Balancing::Bitmap => (0, true),
            Balancing::Mixed => (QUEUE, true),
        };
        let is_full = usize::from(self.fresh) == ring;
        // The ring forgets its oldest value, the queue takes no more.
        if feedback == Feedback::Good && ring > 0 && !(is_full && ring == QUEUE) {
            self.values[usize::from(self.head)] = entropy;
            self.head = ((usize::from(self.head) + 1) % ring) as u8;
            self.fresh += u8::from(!is_full);
        }
        let penalty = match feedback {
            Feedback::Good => 0,
            Feedback::Marked => MARKED,
            Feedback::Trimmed => TRIMMED,
        };
        if punishes && penalty > 0 {
            let now = self.penalty(entropy);
            self.set_penalty(entropy, (now + penalty).min(MOST));
        }
    }

    fn oldest(&mut self, ring: usize) -> u16 {
        let at = (usize::from(self.head) + ring - usize::from(self.fresh)) % ring;
        self.fresh -= 1;
        self.values[at]
    }

    fn current(&self) -> u16 {
        (self.index ^ self.order) as u16
    }

    fn step(&mut self, params: &Params) {
        self.index += 1;
        if self.index == params.entropies {
            self.index = 0;
            self.order = self.stream.below(params.entropies);
        }
    }

    fn in_turn(&mut self, params: &Params) -> u16 {
        let value = self.current();
        self.step(params);
        value
    }

    /// The next value without a penalty; the first one left out is punished less from now on.
    fn unpunished(&mut self, params: &Params) -> u16 {
        for tried in 0..=params.entropies {
            let penalty = self.penalty(self.current());
            if penalty == 0 {
                break;
            }
            if tried == 0 {
                self.set_penalty(self.current(), penalty - 1);
            }
            self.step(params);
        }
        self.in_turn(params)
    }

    fn penalty(&self, value: u16) -> u64 {
        self.penalties[usize::from(value / 16)] >> (value % 16 * 4) & MOST
    }

    fn set_penalty(&mut self, value: u16, penalty: u64) {
        let (word, shift) = (&mut self.penalties[usize::from(value / 16)], value % 16 * 4);
        *word = *word & !(MOST << shift) | penalty << shift;
    }
}
