//! Pacing: a flow with a rate below that of its link waits between packets.

use crate::carrier::{Ethernet, Event, Kind, Surroundings};
use crate::dcqcn::Rate;
use crate::frame::Frame;
use odonata_engine::Time;

/// The rate of a flow, and until when it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Pace {
    rate: Rate,
    /// The start of its next packet, if it must wait for it.
    next: Option<Time>,
}

impl Ethernet {
    /// A new flow in slot `sender` has the rate of its link.
    pub(crate) fn start_pace<S: Surroundings>(&mut self, sender: u32) {
        if self.params.dcqcn.is_some() {
            let new = Pace {
                rate: Rate::NEW,
                next: None,
            };
            *self.paces.edit::<S>(sender as usize) = new;
        }
    }

    /// Whether the flow must not send yet.
    pub(crate) fn is_waiting(&self, sender: u32) -> bool {
        self.params.dcqcn.is_some() && self.paces.get(sender as usize).next.is_some()
    }

    /// A packet of `bytes` of a flow starts.
    pub(crate) fn pace_packet<S: Surroundings>(&mut self, s: &mut S, sender: u32, bytes: u32) {
        let Some(law) = &self.params.dcqcn else {
            return;
        };
        let now = s.now();
        let pace = self.paces.edit::<S>(sender as usize);
        pace.rate.send(law, now, u64::from(bytes));
        let Some(rate) = pace.rate.limit() else {
            return;
        };
        let next = now + Time::from_ps_f64(f64::from(bytes) / rate);
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
}
