//! Pacing: a flow with a rate below that of its link, or with a window below a packet, waits between packets. The laws
//! are DCQCN, Swift and HPCC.

use crate::dcqcn::{Dcqcn, Rate};
use crate::hpcc::{Hpcc, UtilizationWindow};
use crate::params::Params;
use crate::swift::{DelayWindow, Swift};
use odonata_engine::{GrowableStore, Mode, Time};

/// The law by which flows wait between packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Law {
    Dcqcn(Dcqcn),
    Swift(Swift),
    Hpcc(Hpcc),
}

/// What the law adapts.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
enum State {
    Rate(Rate),
    Delay(DelayWindow),
    Utilization(UtilizationWindow),
}

impl Default for State {
    fn default() -> State {
        State::Rate(Rate::NEW)
    }
}

/// The state of a flow, and until when it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Pace {
    state: State,
    /// The start of its next packet, if it must wait for it.
    next: Option<Time>,
}

/// The paces of a part, by slot of a sender; empty without a law.
#[derive(Debug)]
pub(crate) struct Paces {
    law: Option<Law>,
    /// Bytes on the wire of a full packet, and how many of them the largest window has.
    full: f64,
    most: f64,
    rtt: Time,
    paces: GrowableStore<Pace>,
}
odonata_engine::journalled!(Paces { paces });

impl Paces {
    pub(crate) const BYTES_PER_FLOW: usize = size_of::<Pace>();

    /// Of senders without flows.
    pub(crate) fn new(params: &Params) -> Paces {
        let full = f64::from(params.payload + params.header);
        Paces {
            law: params.law,
            full,
            most: params.window / full,
            rtt: params.rtt,
            paces: GrowableStore::new(),
        }
    }

    /// A new flow in slot `sender` has the rate of its link or the largest window. Returns what it may have in flight, if
    /// that is not the window.
    pub(crate) fn start<M: Mode>(&mut self, sender: u32) -> Option<f64> {
        let state = match self.law.as_ref()? {
            Law::Dcqcn(_) => State::Rate(Rate::NEW),
            Law::Swift(_) => State::Delay(DelayWindow::new(self.most, self.rtt)),
            Law::Hpcc(law) => State::Utilization(UtilizationWindow::new(law)),
        };
        *self.paces.edit::<M>(sender as usize) = Pace { state, next: None };
        match &state {
            State::Utilization(window) => Some(self.in_flight(window)),
            _ => None,
        }
    }

    /// HPCC: a flow may send while less than its window is in flight, so a packet more.
    fn in_flight(&self, window: &UtilizationWindow) -> f64 {
        window.bytes() + self.full
    }

    /// Whether the flow must not send yet.
    pub(crate) fn is_waiting(&self, sender: u32) -> bool {
        self.law.is_some() && self.paces.get(sender as usize).next.is_some()
    }

    /// A packet of `bytes` of a flow starts. Returns until when the flow waits, if it does.
    pub(crate) fn send<M: Mode>(&mut self, now: Time, sender: u32, bytes: u32) -> Option<Time> {
        let law = self.law.as_ref()?;
        let pace = self.paces.edit::<M>(sender as usize);
        let gap = match (law, &mut pace.state) {
            (Law::Dcqcn(law), State::Rate(rate)) => {
                rate.send(law, now, u64::from(bytes));
                let limit = rate.limit();
                limit.map(|rate| Time::from_ps_f64(f64::from(bytes) / rate))
            }
            (Law::Swift(_), State::Delay(window)) => window.pacing(),
            (Law::Hpcc(law), State::Utilization(window)) => window.pacing(law, bytes),
            _ => None,
        };
        let next = now + gap?;
        pace.next = Some(next);
        pace.next
    }

    /// Whether the wait of a flow ends now; an event of an earlier flow does not count.
    pub(crate) fn end_wait<M: Mode>(&mut self, now: Time, sender: u32) -> bool {
        let ends = self.paces.get(sender as usize).next == Some(now);
        if ends {
            self.paces.edit::<M>(sender as usize).next = None;
        }
        ends
    }

    /// DCQCN: a receiver has notified the sender of a flow of marks.
    pub(crate) fn cut<M: Mode>(&mut self, now: Time, sender: u32) {
        if let Some(Law::Dcqcn(law)) = &self.law
            && let State::Rate(rate) = &mut self.paces.edit::<M>(sender as usize).state
        {
            rate.cut(law, now);
        }
    }

    /// Swift: `bytes` more of a flow are acknowledged, after `rtt` if it is known. HPCC: packet `sequence` is, after a path
    /// of this utilization, and `next` is the next new one. Returns what the flow may have in flight.
    pub(crate) fn acknowledge<M: Mode>(
        &mut self,
        now: Time,
        sender: u32,
        (bytes, rtt): (u64, Option<Time>),
        (packets, utilization): ((u32, u32), f64),
    ) -> Option<f64> {
        let law = self.law.as_ref().filter(|law| !matches!(law, Law::Dcqcn(_)))?;
        match (law, &mut self.paces.edit::<M>(sender as usize).state) {
            (Law::Swift(law), State::Delay(window)) => {
                let acknowledged = bytes as f64 / self.full;
                let packets = window.acknowledge(law, now, acknowledged, rtt, self.most);
                Some(packets.max(1.0) * self.full)
            }
            (Law::Hpcc(law), State::Utilization(window)) => {
                window.acknowledge(law, packets, utilization);
                let window = *window;
                Some(self.in_flight(&window))
            }
            _ => None,
        }
    }

    /// Swift: a packet of a flow was lost. Returns the window of the flow in bytes.
    pub(crate) fn lose<M: Mode>(&mut self, now: Time, sender: u32) -> Option<f64> {
        let Some(Law::Swift(law)) = &self.law else {
            return None;
        };
        let State::Delay(window) = &mut self.paces.edit::<M>(sender as usize).state else {
            return None;
        };
        let packets = window.lose(law, now);
        Some(packets.max(1.0) * self.full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dcqcn::REFERENCE_RATE;
    use crate::settings;
    use odonata_engine::Plain;

    fn paces(law: Option<Law>) -> Paces {
        Paces {
            law,
            full: 1_000.0,
            most: 1.0,
            rtt: Time(20_000_000),
            paces: GrowableStore::new(),
        }
    }

    #[test]
    fn a_flow_waits_between_packets_after_a_notification() {
        let mut settings = settings::Dcqcn::default();
        settings.resolve("dcqcn").unwrap();
        let mut paces = paces(Some(Law::Dcqcn(Dcqcn::new(&settings, REFERENCE_RATE))));
        paces.start::<Plain>(3);
        assert_eq!(paces.send::<Plain>(Time(0), 3, 1_000), None);
        // The first notification halves the rate: 1 kB takes 400 ns at 20 Gb/s.
        paces.cut::<Plain>(Time(0), 3);
        assert_eq!(paces.send::<Plain>(Time(0), 3, 1_000), Some(Time(400_000)));
        assert!(paces.is_waiting(3) && !paces.is_waiting(2));
        assert!(!paces.end_wait::<Plain>(Time(399_999), 3) && paces.is_waiting(3));
        assert!(paces.end_wait::<Plain>(Time(400_000), 3) && !paces.is_waiting(3));
        // The next flow in this slot has the rate of its link.
        paces.start::<Plain>(3);
        assert_eq!(paces.send::<Plain>(Time(500_000), 3, 1_000), None);
    }

    #[test]
    fn a_window_below_a_packet_is_a_wait_and_counts_as_a_packet() {
        let mut settings = settings::Swift::default();
        settings.resolve("swift").unwrap();
        let mut paces = paces(Some(Law::Swift(Swift::new(&settings, 20e6))));
        paces.start::<Plain>(0);
        assert_eq!(paces.send::<Plain>(Time(0), 0, 1_000), None);
        // A loss takes half of a window of one packet.
        assert_eq!(paces.lose::<Plain>(Time(20_000_000), 0), Some(1_000.0));
        assert_eq!(paces.send::<Plain>(Time(20_000_000), 0, 1_000), Some(Time(60_000_000)));
        assert!(paces.is_waiting(0));
    }

    #[test]
    fn without_a_law_nothing_waits() {
        let mut paces = paces(None);
        paces.start::<Plain>(0);
        paces.cut::<Plain>(Time(0), 0);
        assert_eq!(paces.send::<Plain>(Time(0), 0, 1_000), None);
        assert_eq!(
            paces.acknowledge::<Plain>(Time(0), 0, (1_000, None), ((0, 1), 1.0)),
            None
        );
        assert_eq!(paces.lose::<Plain>(Time(0), 0), None);
        assert!(!paces.is_waiting(0));
    }
}
