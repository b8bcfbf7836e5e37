//! Buffers that the outputs of a switch share, with dynamic thresholds (A. Choudhury, E. Hahne, "Dynamic queue length
//! thresholds for shared-memory packet switches", IEEE/ACM Transactions on Networking 6(2), 1998).
//!
//! While Q of the B bytes of a switch are in use, no queue may be longer than
//!
//! ```text
//! T = alpha (B - Q)
//! ```
//!
//! So n queues that are always full have T = alpha B / (1 + n alpha) each, and B / (1 + n alpha) stay free for a queue that
//! becomes busy. With pauses the queue is what came in by one port, and more than B may wait: the rest is in headroom.

use odonata_engine::{Mode, Store};

/// The shared buffers of the switches of a part.
#[derive(Debug)]
pub(crate) struct SharedBuffers {
    /// B and alpha; `None`: queues have fixed limits.
    rule: Option<(u64, f64)>,
    /// Q of each switch.
    used: Store<u64>,
}
odonata_engine::journalled!(SharedBuffers { used });

impl SharedBuffers {
    pub(crate) fn new(rule: Option<(u64, f64)>, switches: usize) -> SharedBuffers {
        SharedBuffers {
            rule,
            used: Store::filled(if rule.is_some() { switches } else { 0 }, 0),
        }
    }

    /// T of local switch `switch`, bytes; `None` without shared buffers.
    pub(crate) fn threshold(&self, switch: u32) -> Option<u64> {
        let (bytes, alpha) = self.rule?;
        Some((alpha * bytes.saturating_sub(*self.used.get(switch)) as f64) as u64)
    }

    /// Whether `bytes` more fit into a queue of `queued` bytes; `None` without shared buffers.
    pub(crate) fn has_room(&self, switch: u32, queued: u64, bytes: u64) -> Option<bool> {
        let threshold = self.threshold(switch)?;
        let (all, _) = self.rule?;
        Some(queued + bytes <= threshold && *self.used.get(switch) + bytes <= all)
    }

    /// `bytes` enter a queue of `switch`.
    pub(crate) fn takes<M: Mode>(&mut self, switch: u32, bytes: u64) {
        if self.rule.is_some() {
            *self.used.edit::<M>(switch) += bytes;
        }
    }

    /// `bytes` leave a queue of `switch`.
    pub(crate) fn frees<M: Mode>(&mut self, switch: u32, bytes: u64) {
        if self.rule.is_some() {
            let used = self.used.edit::<M>(switch);
            *used = used.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    /// Queues that take all they may, packet by packet in turn: T = alpha B / (1 + n alpha) within a packet.
    #[test]
    fn full_queues_leave_their_part_free() {
        const PACKET: u64 = 1000;
        for alpha in [0.125, 0.5, 1.0, 2.0, 8.0] {
            for queues in 1..6 {
                let bytes = 10_000 * PACKET;
                let mut buffers = SharedBuffers::new(Some((bytes, alpha)), 1);
                let mut queued = vec![0; queues];
                loop {
                    let before: u64 = queued.iter().sum();
                    for queue in &mut queued {
                        if buffers.has_room(0, *queue, PACKET) == Some(true) {
                            buffers.takes::<Plain>(0, PACKET);
                            *queue += PACKET;
                        }
                    }
                    if queued.iter().sum::<u64>() == before {
                        break;
                    }
                }
                let expected = alpha * bytes as f64 / (1.0 + queues as f64 * alpha);
                for queue in queued {
                    assert!(
                        (queue as f64 - expected).abs() <= PACKET as f64 * (1.0 + alpha),
                        "{alpha} {queues}: {queue}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_full_buffer_takes_nothing_whatever_alpha() {
        let mut buffers = SharedBuffers::new(Some((1000, 1e6)), 2);
        buffers.takes::<Plain>(1, 900);
        assert_eq!(buffers.has_room(1, 0, 101), Some(false));
        assert_eq!(buffers.has_room(0, 0, 101), Some(true));
        buffers.frees::<Plain>(1, 1);
        assert_eq!(buffers.has_room(1, 0, 101), Some(true));
        assert_eq!(SharedBuffers::new(None, 2).has_room(0, 0, 1), None);
    }
}
