//! Flows and spans. A flow joins the steps of a message, from the call that sends it to the call that takes it. A span
//! joins the steps of a request, from the call that begins it to its completion.

use super::record::{CallRecord, Step, StepRecord};
use odonata_engine::{NIL, Time};
use std::collections::BTreeMap;

/// A message between ranks, with the recorded steps. Rank numbers run over all jobs, call numbers over the rank's
/// program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Sender.
    pub source: u32,
    /// Receiver.
    pub target: u32,
    /// Length.
    pub bytes: u64,
    /// Whether a collective sent it.
    pub collective: bool,
    /// The call that sent it.
    pub sent_by: u32,
    /// Time of the send.
    pub sent: Time,
    /// Arrival time of its data.
    pub arrived: Option<Time>,
    /// Time at which the message, or its RTS, matched a receive.
    pub matched: Option<Time>,
    /// The call that posted the receive.
    pub received_by: Option<u32>,
    /// The call that the receive ended, or that took the request of the receive.
    pub taken_by: Option<u32>,
}

/// A request, from begin to completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSpan {
    /// The call that began it.
    pub call: CallRecord,
    /// Its number.
    pub request: u32,
    /// Time of completion.
    pub end: Time,
}

/// The identity of a message.
type Name = (u32, u32, u32, u32);

/// The recorded messages in the order of time and sender, excluding those whose send was not recorded.
pub(super) fn flows(steps: &[StepRecord]) -> Vec<Flow> {
    let mut flows: BTreeMap<Name, Flow> = BTreeMap::new();
    for step in steps.iter().filter(|step| step.step == Step::Sent) {
        let flow = Flow {
            source: step.rank,
            target: step.peer,
            bytes: step.bytes(),
            collective: step.context % 2 == 1,
            sent_by: step.call,
            sent: step.time,
            arrived: None,
            matched: None,
            received_by: None,
            taken_by: None,
        };
        flows.insert((step.rank, step.peer, step.context, step.sequence), flow);
    }
    // The call that began a request distinguishes it from others of the same rank and number.
    let takers: BTreeMap<(u32, u32, u32), u32> = (steps.iter())
        .filter(|step| step.step == Step::Taken)
        .map(|step| ((step.rank, step.call, step.request()), step.by()))
        .collect();
    for step in steps {
        let Some(flow) = flows.get_mut(&(step.peer, step.rank, step.context, step.sequence)) else {
            continue;
        };
        match step.step {
            Step::Unexpected => flow.arrived = flow.arrived.or(Some(step.time)),
            Step::Data => {
                flow.arrived = Some(step.time);
                if step.by() != NIL {
                    flow.taken_by = Some(step.by());
                }
            }
            Step::Matched | Step::Asked => {
                flow.matched = Some(step.time);
                flow.received_by = Some(step.call);
                flow.taken_by = match (step.request(), step.by()) {
                    (NIL, _) => Some(step.call),
                    (request, NIL) => takers.get(&(step.rank, step.call, request)).copied(),
                    (_, by) => Some(by),
                };
                flow.arrived = match step.step {
                    Step::Matched => flow.arrived.or(Some(step.time)),
                    // The message that had arrived was an RTS, not the data.
                    _ => None,
                };
            }
            Step::Sent | Step::Complete | Step::Taken => {}
        }
    }
    let mut flows: Vec<(Name, Flow)> = flows.into_iter().collect();
    flows.sort_by_key(|&(name, flow)| (flow.sent, name));
    flows.into_iter().map(|(_, flow)| flow).collect()
}

/// The complete requests in the order of `calls` and of their numbers, excluding those whose begin was not recorded.
pub(super) fn spans(calls: &[CallRecord], steps: &[StepRecord]) -> Vec<RequestSpan> {
    let begun: BTreeMap<(u32, u32), usize> = (calls.iter().enumerate())
        .map(|(at, call)| ((call.rank, call.call), at))
        .collect();
    let completes = |step: &&StepRecord| match step.step {
        Step::Complete => true,
        // A request that is taken when its message arrives has no other step.
        Step::Matched | Step::Data => step.by() != NIL,
        Step::Sent | Step::Unexpected | Step::Asked | Step::Taken => false,
    };
    let mut ends: BTreeMap<(usize, u32), Time> = BTreeMap::new();
    for step in steps.iter().filter(completes) {
        if let Some(&at) = begun.get(&(step.rank, step.call)) {
            ends.insert((at, step.request()), step.time);
        }
    }
    let span = |((at, request), end): ((usize, u32), Time)| RequestSpan {
        call: calls[at],
        request,
        end,
    };
    ends.into_iter().map(span).collect()
}

impl super::TimelineMeasured {
    /// The messages in the order of sending.
    pub fn flows(&self) -> Vec<Flow> {
        flows(&self.steps)
    }

    /// The complete requests in the order of the calls that began them.
    pub fn requests(&self) -> Vec<RequestSpan> {
        spans(&self.calls, &self.steps)
    }
}
