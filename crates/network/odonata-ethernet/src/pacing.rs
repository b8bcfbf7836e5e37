//! Pacing: a flow with a rate below that of its link, or with a window below a packet, waits between packets.

use crate::dcqcn::{Dcqcn, Rate};
use crate::params::Params;
use crate::swift::{DelayWindow, Swift};
use odonata_engine::{GrowableStore, Mode, Time};

/// The rate of a flow under DCQCN, its window under Swift, and until when it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Pace {
    rate: Rate,
    window: DelayWindow,
    /// The start of its next packet, if it must wait for it.
    next: Option<Time>,
}

/// The paces of a part, by slot of a sender; empty without DCQCN and Swift.
#[derive(Debug)]
pub(crate) struct Paces {
    dcqcn: Option<Dcqcn>,
    swift: Option<Swift>,
    is_paced: bool,
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
            dcqcn: params.dcqcn,
            swift: params.swift,
            is_paced: params.is_paced,
            full,
            most: params.window / full,
            rtt: params.rtt,
            paces: GrowableStore::new(),
        }
    }

    /// A new flow in slot `sender` has the rate of its link and the largest window.
    pub(crate) fn start<M: Mode>(&mut self, sender: u32) {
        if self.is_paced {
            *self.paces.edit::<M>(sender as usize) = Pace {
                rate: Rate::NEW,
                window: DelayWindow::new(self.most, self.rtt),
                next: None,
            };
        }
    }

    /// Whether the flow must not send yet.
    pub(crate) fn is_waiting(&self, sender: u32) -> bool {
        self.is_paced && self.paces.get(sender as usize).next.is_some()
    }

    /// A packet of `bytes` of a flow starts. Returns until when the flow waits, if it does.
    pub(crate) fn send<M: Mode>(&mut self, now: Time, sender: u32, bytes: u32) -> Option<Time> {
        if !self.is_paced {
            return None;
        }
        let pace = self.paces.edit::<M>(sender as usize);
        let gap = match &self.dcqcn {
            Some(law) => {
                pace.rate.send(law, now, u64::from(bytes));
                let limit = pace.rate.limit();
                limit.map(|rate| Time::from_ps_f64(f64::from(bytes) / rate))
            }
            None => pace.window.pacing(),
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
        if let Some(law) = &self.dcqcn {
            self.paces.edit::<M>(sender as usize).rate.cut(law, now);
        }
    }

    /// Swift: `bytes` more of a flow are acknowledged, after `rtt` if it is known. Returns its window in bytes.
    pub(crate) fn acknowledge<M: Mode>(
        &mut self,
        now: Time,
        sender: u32,
        bytes: u64,
        rtt: Option<Time>,
    ) -> Option<f64> {
        let law = self.swift.as_ref()?;
        let packets = bytes as f64 / self.full;
        let window = &mut self.paces.edit::<M>(sender as usize).window;
        let packets = window.acknowledge(law, now, packets, rtt, self.most);
        Some(packets.max(1.0) * self.full)
    }

    /// Swift: a packet of a flow was lost. Returns the window of the flow in bytes.
    pub(crate) fn lose<M: Mode>(&mut self, now: Time, sender: u32) -> Option<f64> {
        let law = self.swift.as_ref()?;
        let packets = self.paces.edit::<M>(sender as usize).window.lose(law, now);
        Some(packets.max(1.0) * self.full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dcqcn::REFERENCE_RATE;
    use crate::settings;
    use odonata_engine::Plain;

    fn paces(dcqcn: Option<Dcqcn>, swift: Option<Swift>) -> Paces {
        Paces {
            is_paced: dcqcn.is_some() || swift.is_some(),
            dcqcn,
            swift,
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
        let mut paces = paces(Some(Dcqcn::new(&settings, REFERENCE_RATE)), None);
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
        let mut paces = paces(None, Some(Swift::new(&settings, 20e6)));
        paces.start::<Plain>(0);
        assert_eq!(paces.send::<Plain>(Time(0), 0, 1_000), None);
        // A loss takes half of a window of one packet.
        assert_eq!(paces.lose::<Plain>(Time(20_000_000), 0), Some(1_000.0));
        assert_eq!(paces.send::<Plain>(Time(20_000_000), 0, 1_000), Some(Time(60_000_000)));
        assert!(paces.is_waiting(0));
    }

    #[test]
    fn without_either_law_nothing_waits() {
        let mut paces = paces(None, None);
        paces.start::<Plain>(0);
        paces.cut::<Plain>(Time(0), 0);
        assert_eq!(paces.send::<Plain>(Time(0), 0, 1_000), None);
        assert_eq!(paces.acknowledge::<Plain>(Time(0), 0, 1_000, None), None);
        assert_eq!(paces.lose::<Plain>(Time(0), 0), None);
        assert!(!paces.is_waiting(0));
    }
}
