//! Pacing: a flow with a rate below that of its link, or with a window below a packet, waits between packets.

use crate::carrier::{Ethernet, Event, Kind, Surroundings};
use crate::dcqcn::Rate;
use crate::frame::Frame;
use crate::swift::DelayWindow;
use odonata_engine::Time;

/// The rate of a flow under DCQCN, its window under Swift, and until when it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Pace {
    rate: Rate,
    window: DelayWindow,
    /// The start of its next packet, if it must wait for it.
    next: Option<Time>,
}

impl Ethernet {
    /// A new flow in slot `sender` has the rate of its link and the largest window.
    pub(crate) fn start_pace<S: Surroundings>(&mut self, sender: u32) {
        if self.params.is_paced {
            let packets = self.params.window / self.full_packet();
            let new = Pace {
                rate: Rate::NEW,
                window: DelayWindow::new(packets, self.params.rtt),
                next: None,
            };
            *self.paces.edit::<S>(sender as usize) = new;
        }
    }

    /// Whether the flow must not send yet.
    pub(crate) fn is_waiting(&self, sender: u32) -> bool {
        self.params.is_paced && self.paces.get(sender as usize).next.is_some()
    }

    /// A packet of `bytes` of a flow starts.
    pub(crate) fn pace_packet<S: Surroundings>(&mut self, s: &mut S, sender: u32, bytes: u32) {
        if !self.params.is_paced {
            return;
        }
        let now = s.now();
        let pace = self.paces.edit::<S>(sender as usize);
        let gap = match &self.params.dcqcn {
            Some(law) => {
                pace.rate.send(law, now, u64::from(bytes));
                let limit = pace.rate.limit();
                limit.map(|rate| Time::from_ps_f64(f64::from(bytes) / rate))
            }
            None => pace.window.pacing(),
        };
        let Some(gap) = gap else {
            return;
        };
        let next = now + gap;
        pace.next = Some(next);
        let process = self.process_of(self.senders.get(sender).source);
        s.send(process, next, Event::new(Kind::Paced, sender));
    }

    /// The wait of a flow ends; an event of an earlier flow does not count.
    pub(crate) fn paced<S: Surroundings>(&mut self, s: &mut S, sender: u32) {
        if self.paces.get(sender as usize).next == Some(s.now()) {
            self.paces.edit::<S>(sender as usize).next = None;
            self.offer(s, sender);
        }
    }

    /// The receiver has notified the sender of `frame` of marks.
    pub(crate) fn notified<S: Surroundings>(&mut self, s: &mut S, frame: &Frame) {
        if !self.is_for(frame) {
            return;
        }
        if let Some(law) = &self.params.dcqcn {
            let pace = self.paces.edit::<S>(frame.sender as usize);
            pace.rate.cut(law, s.now());
        }
    }

    /// Swift: `bytes` more of a flow are acknowledged, after `rtt` if it is known.
    pub(crate) fn follow_delay<S: Surroundings>(&mut self, s: &S, sender: u32, bytes: u64, rtt: Option<Time>) {
        let full = self.full_packet();
        if let Some(law) = &self.params.swift {
            let (packets, most) = (bytes as f64 / full, self.params.window / full);
            let pace = self.paces.edit::<S>(sender as usize);
            let window = pace.window.acknowledge(law, s.now(), packets, rtt, most);
            self.senders.edit::<S>(sender).window.size = window.max(1.0) * full;
        }
    }

    /// Swift: a packet of a flow was lost.
    pub(crate) fn follow_loss<S: Surroundings>(&mut self, s: &S, sender: u32) {
        let full = self.full_packet();
        if let Some(law) = &self.params.swift {
            let window = self.paces.edit::<S>(sender as usize).window.lose(law, s.now());
            self.senders.edit::<S>(sender).window.size = window.max(1.0) * full;
        }
    }

    /// Bytes on the wire of a full packet.
    fn full_packet(&self) -> f64 {
        f64::from(self.params.payload + self.params.header)
    }
}
