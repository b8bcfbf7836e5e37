//! Endless traffic: the remaining events of a run whose sources send until other jobs end.
//!
//! Such a run may have events forever, and its last events may have no effect. This module answers what has had an
//! effect, and whether anything else can.

use crate::event::HostEvent;
use crate::params::JobProgram;
use crate::{Hosts, Payload};
use odonata_engine::{Lp, Mode, Time};

impl Hosts {
    /// Whether [`note_effect`](Self::note_effect) records anything.
    #[inline(always)]
    pub fn notes_effects(&self) -> bool {
        self.jobs.notes_effects()
    }

    /// Records an effect at `lp`; call it for every event that the hosts do not handle themselves.
    #[inline]
    pub fn note_effect<M: Mode>(&mut self, lp: Lp, now: Time) {
        self.jobs.note_effect::<M>(lp, now);
    }

    /// Whether some sources send until other jobs end, so that the run may have events forever.
    pub fn may_be_endless(&self) -> bool {
        self.layout.jobs.iter().any(|job| !job.until.is_empty())
    }

    /// Whether `event` has no effect: the event of a stopped source, or a timeout whose answer has arrived.
    pub fn is_without_effect(&self, event: &HostEvent) -> bool {
        match *event {
            HostEvent::Generate { rank } => self.sources.is_stopped(rank),
            HostEvent::ClientTimeout { attempt } => self.io.client.has_ended(attempt),
            HostEvent::DeviceFails { server } => !self.is_server_busy(server),
            _ => false,
        }
    }

    /// Whether `event` can do more than make an endless source send. Messages of sources do not count. Sources that end
    /// by themselves do, since their end is a signal to the jobs that wait for them.
    pub fn is_progress(&self, event: &HostEvent) -> bool {
        match *event {
            HostEvent::Generate { rank } => self.ends_by_itself(rank) && !self.sources.is_stopped(rank),
            HostEvent::LocalSent { message } | HostEvent::LocalArrived { message } => {
                Hosts::is_progress_message(&self.transport.local(message).payload)
            }
            HostEvent::ClientTimeout { attempt } => !self.io.client.has_ended(attempt),
            HostEvent::DeviceFails { server } => self.is_server_busy(server),
            HostEvent::ClientRetry { .. }
            | HostEvent::Start { .. }
            | HostEvent::Resume { .. }
            | HostEvent::StepEnds { .. }
            | HostEvent::DeviceBegins { .. }
            | HostEvent::DeviceDone { .. }
            | HostEvent::DrainDone { .. }
            | HostEvent::CachesWritten { .. }
            | HostEvent::FromFileSystem { .. }
            | HostEvent::MetadataDone { .. } => true,
        }
    }

    /// Whether a message with this payload is anything but a message of a source.
    pub fn is_progress_message(payload: &Payload) -> bool {
        !payload.is_synthetic()
    }

    /// Whether the source on `rank` ends without a stop signal.
    fn ends_by_itself(&self, rank: u32) -> bool {
        match &self.layout.job_of(rank).program {
            JobProgram::Program(_) => true,
            JobProgram::Synthetic { source, .. } => source.messages.is_some() || source.stop.is_some(),
        }
    }
}
