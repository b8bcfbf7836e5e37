//! A network behind a pointer of C: messages whose events are wanted, and the calls that advance the time.
//!
//! A callback may use the network, so no reference into it lives while a callback runs.

use std::collections::{HashMap, VecDeque};
use std::ffi::{c_char, c_void};
use std::ptr::NonNull;

use odonata_system::{LinkCounters, MessageEvent, NetworkSession, Time};

use crate::failure::{Failure, IN_CALLBACK, INTERNAL, Status, guarded, invalid};

/// The kind of an event: the last packet of a message starts to leave its node, whose buffer is free then.
pub const SENT: u32 = 1;
/// The kind of an event: the last byte of a message has arrived.
pub const DELIVERED: u32 = 2;

/// An event of a message.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When, in picoseconds.
    pub at_ps: u64,
    /// The tag of the message.
    pub tag: u64,
    /// The pointer of the message.
    pub user: *mut c_void,
    /// The number of the message.
    pub message: u32,
    /// [`SENT`] or [`DELIVERED`].
    pub kind: u32,
}

/// The function of C that takes an event.
pub type Callback = Option<unsafe extern "C" fn(network: *mut Network, event: *const Event)>;

/// A message to send.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// The sending node.
    pub source: u32,
    /// The receiving node.
    pub target: u32,
    /// Bytes.
    pub size: u64,
    /// When the message reaches its interface, if that is later than a picosecond after now.
    pub at_ps: u64,
    /// Copied into the events.
    pub tag: u64,
    /// Copied into the events.
    pub user: *mut c_void,
    /// Takes the events; without one, they are polled.
    pub callback: Callback,
    /// The wanted kinds of events, summed.
    pub notify: u32,
}

/// The counters of all messages together; see [`odonata_system::Totals`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Totals {
    /// Messages delivered.
    pub messages: u64,
    /// Packets delivered.
    pub packets: u64,
    /// Bytes delivered.
    pub bytes: u64,
    /// Routers visited by the packets, summed.
    pub hops: u64,
    /// Mean latency of packets in seconds.
    pub packet_latency_mean_s: f64,
    /// The largest latency of a packet in seconds.
    pub packet_latency_max_s: f64,
}

/// The counters of a direction of a link; see [`LinkCounters`]. A router or node that does not exist is -1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The sending router.
    pub from_router: i64,
    /// The receiving router.
    pub to_router: i64,
    /// The node at one end.
    pub node: i64,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Seconds in which the link transmitted.
    pub busy_s: f64,
    /// Seconds in which exhausted buffers stalled the link.
    pub stall_s: f64,
    /// The class, a C string.
    pub class_name: [c_char; 32],
}

impl From<&LinkCounters> for Link {
    fn from(link: &LinkCounters) -> Link {
        let number = |part: Option<u32>| part.map_or(-1, i64::from);
        let mut class_name = [0; 32];
        // The last one stays NUL.
        for (place, byte) in class_name[..31].iter_mut().zip(link.class.bytes()) {
            *place = byte as c_char;
        }
        Link {
            from_router: number(link.from_router),
            to_router: number(link.to_router),
            node: number(link.node),
            bytes: link.bytes,
            packets: link.packets,
            busy_s: link.busy_s,
            stall_s: link.stall_s,
            class_name,
        }
    }
}

/// A network of a C program.
pub struct Network {
    pub(crate) session: NetworkSession,
    /// The messages in flight whose events are wanted, by number.
    wanted: HashMap<u32, Message>,
    /// The events to poll.
    pub(crate) events: VecDeque<Event>,
    /// Whether a call advances the time, so that a callback may run.
    is_advancing: bool,
    /// Whether an earlier call panicked: its state is unknown.
    is_broken: bool,
}

impl Network {
    pub(crate) fn new(session: NetworkSession) -> Network {
        Network {
            session,
            wanted: HashMap::new(),
            events: VecDeque::new(),
            is_advancing: false,
            is_broken: false,
        }
    }

    /// Sends `message`; returns its number.
    pub(crate) fn send(&mut self, message: Message) -> Result<u32, Failure> {
        if message.notify & !(SENT | DELIVERED) != 0 {
            return Err(invalid(format!(
                "`notify` is {}; expected 0, or the sum of ODONATA_SENT and ODONATA_DELIVERED",
                message.notify
            )));
        }
        let ends = (message.source, message.target);
        let at = (message.at_ps > 0).then_some(Time(message.at_ps));
        let number = self
            .session
            .send(ends, message.size, at, message.notify & SENT != 0)
            .map_err(invalid)?;
        if message.notify != 0 {
            self.wanted.insert(number, message);
        }
        Ok(number)
    }

    /// Advances to the next wanted events, at most to `until`. None if `until` is reached or nothing is in flight.
    fn next_wanted(&mut self, until: Time) -> Vec<(Event, Callback)> {
        loop {
            let events = self.session.advance(until);
            let is_over = events.is_empty();
            let wanted: Vec<_> = events
                .into_iter()
                .filter_map(|event| self.wanted_event(event))
                .collect();
            if is_over || !wanted.is_empty() {
                return wanted;
            }
        }
    }

    /// `event` for C, with its callback, if it is wanted.
    fn wanted_event(&mut self, event: MessageEvent) -> Option<(Event, Callback)> {
        let (kind, message) = match event.is_delivered {
            true => (DELIVERED, self.wanted.remove(&event.message)?),
            false => (SENT, *self.wanted.get(&event.message)?),
        };
        let for_user = Event {
            at_ps: event.at.0,
            tag: message.tag,
            user: message.user,
            message: event.message,
            kind,
        };
        (message.notify & kind != 0).then_some((for_user, message.callback))
    }
}

/// How far a call advances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// To a time.
    Until(Time),
    /// To the next wanted event, at most to a time.
    Event(Time),
    /// Until nothing is in flight.
    Idle,
}

/// Calls `work` with the network at `network`; its status. A network in which a call has panicked takes no further one.
///
/// # Safety
/// `network` is null or a network that is not closed, and no other thread uses it.
pub(crate) unsafe fn with(network: *mut Network, work: impl FnOnce(NonNull<Network>) -> Result<(), Failure>) -> Status {
    let status = guarded(|| {
        let network = NonNull::new(network).ok_or_else(|| invalid("`network` is NULL; expected an open network"))?;
        // Safety: the caller's promise; the reference ends here.
        if unsafe { network.as_ref() }.is_broken {
            return Err((
                INTERNAL,
                "an earlier call failed within Odonata; close the network".into(),
            ));
        }
        work(network)
    });
    if status == INTERNAL {
        // Safety: the caller's promise; a null pointer is `INVALID`.
        unsafe { (*network).is_broken = true };
    }
    status
}

/// Refuses the call `name` while the network advances: a callback has made it.
pub(crate) fn outside_callbacks(network: &Network, name: &str) -> Result<(), Failure> {
    match network.is_advancing {
        true => Err((
            IN_CALLBACK,
            format!("a callback of the same network may not call `{name}`"),
        )),
        false => Ok(()),
    }
}

/// Advances the time, and hands out the wanted events in the order of time.
///
/// # Safety
/// No reference into the network lives, and no other thread uses it.
pub(crate) unsafe fn advance(mut network: NonNull<Network>, reach: Reach) {
    let until = match reach {
        Reach::Until(until) | Reach::Event(until) => until,
        Reach::Idle => Time::NEVER,
    };
    // Safety of all blocks: each reference ends with its block, so none lives while a callback runs.
    unsafe { network.as_mut() }.is_advancing = true;
    loop {
        let events = {
            let network = unsafe { network.as_mut() };
            if matches!(reach, Reach::Until(until) if network.session.now() >= until) {
                break;
            }
            network.next_wanted(until)
        };
        let is_over = events.is_empty();
        for (event, callback) in events {
            match callback {
                // Safety: the sender has given a function of this type.
                Some(callback) => unsafe { callback(network.as_ptr(), &event) },
                None => unsafe { network.as_mut() }.events.push_back(event),
            }
        }
        match reach {
            Reach::Until(_) => {}
            Reach::Event(_) => break,
            // A callback may have sent.
            Reach::Idle if is_over || unsafe { network.as_ref() }.session.is_idle() => break,
            Reach::Idle => {}
        }
    }
    unsafe { network.as_mut() }.is_advancing = false;
}
