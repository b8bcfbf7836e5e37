//! The table `flows`: messages, from the sending call to the receiving call.

use super::row::row;
use super::sources::Sources;
use odonata_engine::Time;

row! {
    /// One row per MPI message sent within the period of run.timeline, from or to a rank selected by it. Messages of
    /// synthetic traffic and of protocols are left out.
    "flows" => pub struct FlowRow {
        /// Name of the job.
        job: String,
        /// Sending rank.
        source_rank: u64,
        /// Receiving rank.
        target_rank: u64,
        /// Payload.
        #[unit = "bytes"]
        bytes: u64,
        /// point-to-point or collective.
        kind: &'static str,
        /// Number of the sending call at the sender.
        sent_call: u64,
        /// When it was sent, simulated time.
        #[unit = "s"]
        sent_s: f64,
        /// When its last byte arrived; -1: not within the period.
        #[unit = "s"]
        arrived_s: f64,
        /// When it was matched: it (for a rendezvous, its request to send) had arrived and its receive was posted; -1:
        /// not within the period.
        #[unit = "s"]
        matched_s: f64,
        /// Number of the receiver's call that posted the receive; -1: not within the period.
        receive_call: i64,
        /// Number of the call that completed the receive: the receive itself, the collective, or the wait or test for
        /// its request; -1: not within the period.
        taken_call: i64,
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<FlowRow> {
    let time = |time: Option<Time>| time.map_or(-1.0, Time::seconds);
    let row = |flow: odonata_host::Flow| {
        let ((job, source), (_, target)) = (from.hosts.job_of(flow.source), from.hosts.job_of(flow.target));
        FlowRow {
            job: from.scenario.jobs[usize::from(job)].name.to_string(),
            source_rank: u64::from(source),
            target_rank: u64::from(target),
            bytes: flow.bytes,
            kind: if flow.collective {
                "collective"
            } else {
                "point-to-point"
            },
            sent_call: u64::from(flow.sent_by),
            sent_s: flow.sent.seconds(),
            arrived_s: time(flow.arrived),
            matched_s: time(flow.matched),
            receive_call: flow.received_by.map_or(-1, i64::from),
            taken_call: flow.taken_by.map_or(-1, i64::from),
        }
    };
    from.hosts.timeline.flows().into_iter().map(row).collect()
}
