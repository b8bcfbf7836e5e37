//! Effects of job control: signals between ranks, starts and ends of ranks.

use crate::layout::Layout;
use crate::payload::{JobSignal, Payload};
use crate::send::{SendRequest, traffic_of};
use crate::settings::Mpi;
use odonata_engine::Time;

/// Size of a control message between ranks, in bytes: an envelope with job, rank and kind.
pub const CONTROL_BYTES: u64 = 64;

/// An effect of an input to job control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobEffect {
    /// Send a signal between ranks.
    Signal { from: u32, to: u32, signal: JobSignal },
    /// The rank begins, immediately or after the start delay of its job.
    Begin { rank: u32 },
    /// The input of the job is staged: the program of the rank starts.
    StartProgram { rank: u32 },
    /// The source of the rank stops.
    Stop { rank: u32 },
    /// The job, whose rank 0 this is, has ended: storage servers wait for that.
    TellServers { rank: u32 },
    /// The ranks of a subtree below the rank have their input.
    ReportStaged { rank: u32 },
}

/// The message of `signal` between two ranks of one job or of two, sent at `now`.
pub(crate) fn signal_message(
    layout: &Layout,
    settings: &Mpi,
    now: Time,
    (from, to): (u32, u32),
    signal: JobSignal,
) -> SendRequest {
    SendRequest {
        source: layout.endpoint_of_rank(from),
        target: layout.endpoint_of_rank(to),
        bytes: CONTROL_BYTES,
        traffic: traffic_of(layout.place(from).job, false),
        payload: Payload::JobControl { from, to, signal },
        created: now,
        software: settings.send_software(CONTROL_BYTES),
        notify_sent: false,
        notify_arrived: true,
    }
}
