//! The notification point of DCQCN: a receiver tells the sender of a flow that packets arrive marked.
//!
//! The first marked packet causes a notification at once. Then a flow gets one per interval, at its end, if a packet
//! that arrived in it was marked. Notifications are 64 B by default, go before data, and no pause stops them in
//! switches or NICs, since their class is not that of the data.

use crate::frame::Frame;
use crate::params::Params;
use odonata_engine::{GrowableStore, Mode, Time};

/// What a receiver knows of the notifications of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Notifier {
    /// The end of the interval of the last notification.
    until: Time,
    /// A packet in this interval was marked: the next notification is due at its end.
    is_due: bool,
    /// The slot of the sender, and where its flow arrives.
    pub(crate) sender: u32,
    pub(crate) node: u32,
    pub(crate) traffic: u16,
}

/// The notifiers of a part, by slot of a receiver; empty without DCQCN.
#[derive(Debug)]
pub(crate) struct Notifiers {
    /// See [`Dcqcn::interval`](crate::dcqcn::Dcqcn::interval).
    interval: Time,
    notifiers: GrowableStore<Notifier>,
}
odonata_engine::journalled!(Notifiers { notifiers });

impl Notifiers {
    pub(crate) const BYTES_PER_FLOW: usize = size_of::<Notifier>();

    /// Of receivers without flows.
    pub(crate) fn new(params: &Params) -> Notifiers {
        Notifiers {
            interval: params.dcqcn().map_or(Time::ZERO, |law| law.interval),
            notifiers: GrowableStore::new(),
        }
    }

    /// `frame` of the flow of `receiver` has arrived marked. Returns when a notification is due that was not before.
    pub(crate) fn mark<M: Mode>(&mut self, now: Time, receiver: u32, frame: &Frame) -> Option<Time> {
        let known = self.notifiers.get(receiver as usize);
        if now < known.until {
            if known.is_due {
                return None;
            }
            self.notifiers.edit::<M>(receiver as usize).is_due = true;
            return Some(known.until);
        }
        *self.notifiers.edit::<M>(receiver as usize) = Notifier {
            until: now,
            is_due: true,
            sender: frame.sender,
            node: frame.target,
            traffic: frame.traffic,
        };
        Some(now)
    }

    /// Begins an interval if a notification of the flow of `receiver` is due, and returns what it needs.
    pub(crate) fn take<M: Mode>(&mut self, now: Time, receiver: u32) -> Option<Notifier> {
        let known = self.notifiers.get(receiver as usize);
        if !known.is_due || known.until != now {
            return None;
        }
        let state = self.notifiers.edit::<M>(receiver as usize);
        (state.until, state.is_due) = (now + self.interval, false);
        Some(known)
    }

    /// The flow in `receiver` is new, or has ended: nothing is due.
    pub(crate) fn forget<M: Mode>(&mut self, receiver: u32) {
        if self.notifiers.get(receiver as usize) != Notifier::default() {
            *self.notifiers.edit::<M>(receiver as usize) = Notifier::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::FrameKind;
    use odonata_engine::Plain;

    #[test]
    fn a_flow_has_one_notification_per_interval() {
        let mut notifiers = Notifiers {
            interval: Time(50),
            notifiers: GrowableStore::new(),
        };
        let frame = Frame::control(FrameKind::Data, (4, 0), (7, 2), 0);
        let mark = |notifiers: &mut Notifiers, now| notifiers.mark::<Plain>(Time(now), 2, &frame);
        let take = |notifiers: &mut Notifiers, now| notifiers.take::<Plain>(Time(now), 2).map(|due| due.sender);
        assert_eq!(take(&mut notifiers, 10), None);
        assert_eq!(mark(&mut notifiers, 10), Some(Time(10)));
        assert_eq!(take(&mut notifiers, 10), Some(7));
        // Two marks in the interval: one notification at its end.
        assert_eq!(mark(&mut notifiers, 30), Some(Time(60)));
        assert_eq!(mark(&mut notifiers, 59), None);
        assert_eq!(take(&mut notifiers, 59), None);
        assert_eq!(take(&mut notifiers, 60), Some(7));
        // No mark until 110: the next one counts at once.
        assert_eq!(take(&mut notifiers, 110), None);
        assert_eq!(mark(&mut notifiers, 110), Some(Time(110)));
        // The event of a flow that has ended does not count.
        notifiers.forget::<Plain>(2);
        assert_eq!(take(&mut notifiers, 110), None);
    }
}
