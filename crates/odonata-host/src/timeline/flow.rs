//! Flows and spans: the steps of a message put together, from the call that sends it to the call that takes it; and those
//! of a request, from the call that begins it to its completion.

use super::record::{CallRecord, Step, StepRecord};
use odonata_engine::{NIL, Time};
use std::collections::BTreeMap;

/// A message between ranks, as far as its way was recorded. Ranks count over all jobs, calls within their rank's program.
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
    /// When.
    pub sent: Time,
    /// When its data were there.
    pub arrived: Option<Time>,
    /// When it, or its request to send, met its receive.
    pub matched: Option<Time>,
    /// The call that posted the receive.
    pub received_by: Option<u32>,
    /// The call that the receive ended, or that took the receive's request.
    pub taken_by: Option<u32>,
}

/// A request, from its begin to its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSpan {
    /// The call that began it.
    pub call: CallRecord,
    /// Its number.
    pub request: u32,
    /// When it was complete.
    pub end: Time,
}

/// What a message is told from others by.
type Name = (u32, u32, u32, u32);

/// The messages that were sent, in the order of time and sender. Those whose sending was not recorded are none.
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
    // A request is told from others of its rank and number by the call that began it.
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
                    // What had come was not the data.
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

/// The requests that are complete, in the order of `calls` and their numbers. Those whose begin was not recorded are none.
pub(super) fn spans(calls: &[CallRecord], steps: &[StepRecord]) -> Vec<RequestSpan> {
    let begun: BTreeMap<(u32, u32), usize> = (calls.iter().enumerate())
        .map(|(at, call)| ((call.rank, call.call), at))
        .collect();
    let completes = |step: &&StepRecord| match step.step {
        Step::Complete => true,
        // A request that is taken when its message comes has no other step.
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
    /// The messages, in the order of their sending.
    pub fn flows(&self) -> Vec<Flow> {
        flows(&self.steps)
    }

    /// The requests that are complete, in the order of the calls that began them.
    pub fn requests(&self) -> Vec<RequestSpan> {
        spans(&self.calls, &self.steps)
    }
}
