//! The notification point of DCQCN: a receiver tells the sender of a flow that packets arrive marked.
//!
//! The first marked packet causes a notification at once. Then a flow gets one per interval, at its end, if a packet
//! that arrived in it was marked. Notifications are 64 B by default, go before data, and no pause stops them in
//! switches or NICs, since their class is not that of the data.

use crate::carrier::{Ethernet, Event, Kind, Surroundings};
use crate::frame::{Frame, FrameKind};
use odonata_engine::Time;

/// What a receiver knows of the notifications of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Notifier {
    /// The end of the interval of the last notification.
    until: Time,
    /// A packet in this interval was marked: the next notification is due at its end.
    is_due: bool,
    /// The slot of the sender, and where its flow arrives.
    sender: u32,
    node: u32,
    traffic: u16,
}

impl Ethernet {
    /// `frame` of the flow of `receiver` has arrived marked.
    pub(crate) fn note_mark<S: Surroundings>(&mut self, s: &mut S, receiver: u32, frame: &Frame) {
        let now = s.now();
        let known = self.notifiers.get(receiver as usize);
        if now < known.until {
            if !known.is_due {
                self.notifiers.edit::<S>(receiver as usize).is_due = true;
                s.send(
                    self.process_of(known.node),
                    known.until,
                    Event::new(Kind::Notify, receiver),
                );
            }
            return;
        }
        *self.notifiers.edit::<S>(receiver as usize) = Notifier {
            until: now,
            is_due: true,
            sender: frame.sender,
            node: frame.target,
            traffic: frame.traffic,
        };
        self.notify(s, receiver);
    }

    /// The notification of the flow of `receiver` is due; an event of an earlier flow does not count.
    pub(crate) fn notify<S: Surroundings>(&mut self, s: &mut S, receiver: u32) {
        let now = s.now();
        let known = self.notifiers.get(receiver as usize);
        let interval = self.params.dcqcn.map_or(Time::ZERO, |law| law.interval);
        if !known.is_due || known.until != now {
            return;
        }
        let state = self.notifiers.edit::<S>(receiver as usize);
        (state.until, state.is_due) = (now + interval, false);
        self.roce.edit::<S>(u32::from(known.traffic)).notifications += 1;
        let flow = self.receivers.get(receiver).flow();
        let notification = Frame {
            bytes: self.params.control,
            traffic: known.traffic,
            ..Frame::control(FrameKind::Notification, flow, (known.sender, receiver), 0)
        };
        let notification = self.frames.allocate::<S>(notification);
        self.send_control(s, known.node - self.nodes.start, notification);
    }

    /// The flow in `receiver` is new, or has ended: nothing is due.
    pub(crate) fn forget_marks<S: Surroundings>(&mut self, receiver: u32) {
        if self.notifiers.get(receiver as usize) != Notifier::default() {
            *self.notifiers.edit::<S>(receiver as usize) = Notifier::default();
        }
    }
}
