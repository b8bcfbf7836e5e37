//! Endless traffic: what is left of a run in which sources send until they are told.
//!
//! Such a run may have events for ever, and its last events may do nothing: what has happened, and whether anything else can,
//! is asked here.

use crate::event::HostEvent;
use crate::params::JobProgram;
use crate::{Hosts, Payload};
use odonata_engine::{Lp, Mode, Time};

impl Hosts {
    /// Whether [`note_effect`](Self::note_effect) has something to note.
    #[inline(always)]
    pub fn notes_effects(&self) -> bool {
        self.jobs.notes_effects()
    }

    /// Something has happened at `lp`; to be called for every event that the hosts do not handle themselves.
    #[inline]
    pub fn note_effect<M: Mode>(&mut self, lp: Lp, now: Time) {
        self.jobs.note_effect::<M>(lp, now);
    }

    /// Whether there are sources that send until they are told, so that a run may have events for ever.
    pub fn may_be_endless(&self) -> bool {
        self.layout.jobs.iter().any(|job| !job.until.is_empty())
    }

    /// Whether `event` does nothing: that of a source which has been told to stop, or the end of a time in which the answer came.
    pub fn is_without_effect(&self, event: &HostEvent) -> bool {
        match *event {
            HostEvent::Generate { rank } => self.sources.is_stopped(rank),
            HostEvent::ClientTimeout { attempt } => self.io.client.has_ended(attempt),
            HostEvent::DeviceFails { server } => !self.is_server_busy(server),
            _ => false,
        }
    }

    /// Whether `event` can do more than let a source send that has no end of its own: of the hosts, and not about a
    /// source's message. Who waits for a source that has one will be told.
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
            | HostEvent::DeviceBegins { .. }
            | HostEvent::DeviceDone { .. }
            | HostEvent::DrainDone { .. }
            | HostEvent::CachesWritten { .. }
            | HostEvent::FromFileSystem { .. }
            | HostEvent::MetadataDone { .. } => true,
        }
    }

    /// Whether a message with this payload is more than the message of a source.
    pub fn is_progress_message(payload: &Payload) -> bool {
        !payload.is_synthetic()
    }

    /// Whether the source on `rank` comes to its end even if nobody tells it to stop.
    fn ends_by_itself(&self, rank: u32) -> bool {
        match &self.layout.job_of(rank).program {
            JobProgram::Program(_) => true,
            JobProgram::Synthetic { source, .. } => source.messages.is_some() || source.stop.is_some(),
        }
    }
}
