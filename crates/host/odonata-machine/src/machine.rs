//! The simulated machine as a model for the engine: the fabric and everything above it.

use odonata_engine::{Context, Digest, Lp, Model, SendBuffer, Time};
use odonata_host::{Fabric, HostEvent, HostMeasured, Hosts, Payload};
use odonata_network::{FabricEvent, Measured, RemoteEvent, RemoteUpdate};
use std::ops::Range;

/// An event of the machine; 12 bytes.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub enum Event {
    /// Of the fabric.
    Fabric(FabricEvent),
    /// Of the hosts.
    Host(HostEvent),
}

const _: () = assert!(size_of::<Event>() == 12);

impl From<FabricEvent> for Event {
    #[inline]
    fn from(event: FabricEvent) -> Self {
        Event::Fabric(event)
    }
}

impl From<HostEvent> for Event {
    #[inline]
    fn from(event: HostEvent) -> Self {
        Event::Host(event)
    }
}

/// A machine with its jobs, or a part of one. One logical process is a router with its nodes: their NICs, ranks and servers.
#[derive(Debug)]
pub struct Machine {
    /// NICs, routers, links.
    pub fabric: Fabric,
    /// Ranks and storage servers.
    pub hosts: Hosts,
}
odonata_engine::journalled!(Machine { fabric, hosts });

impl Machine {
    /// The time at which the first time series ends for want of room, if there are time series.
    pub fn series_end(&self) -> Option<Time> {
        self.fabric
            .series_end()
            .into_iter()
            .chain(self.hosts.servers().series_end())
            .min()
    }

    /// The measurements of this part, if the run ends at `now`.
    pub fn measured(&self, now: Time) -> MachineMeasured {
        MachineMeasured {
            fabric: self.fabric.measured(),
            hosts: self.hosts.measured(now),
        }
    }
}

/// The measurements of a machine or of a part.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct MachineMeasured {
    /// NICs, routers, links.
    pub fabric: Measured,
    /// Ranks and storage servers.
    pub hosts: HostMeasured,
}

impl MachineMeasured {
    /// Joins the measurements of parts, in the order of their routers; `None` if there is no part.
    pub fn join(parts: impl IntoIterator<Item = MachineMeasured>) -> Option<MachineMeasured> {
        let (fabrics, hosts): (Vec<_>, Vec<_>) = parts.into_iter().map(|part| (part.fabric, part.hosts)).unzip();
        Some(MachineMeasured {
            fabric: Measured::join(fabrics)?,
            hosts: HostMeasured::join(hosts)?,
        })
    }

    /// Adds every result to a digest.
    pub fn results(&self, digest: &mut Digest) {
        self.fabric.results(digest);
        self.hosts.results(digest);
    }
}

impl Model for Machine {
    type Event = Event;
    type RemoteEvent = RemoteEvent<Payload>;
    type RemoteUpdate = RemoteUpdate;

    fn processes(&self) -> Range<Lp> {
        self.fabric.processes()
    }

    fn start<C: Context<Event = Event>>(&mut self, ctx: &mut C, lp: Lp) {
        self.hosts.start(ctx, lp, &mut self.fabric);
    }

    #[inline]
    fn handle<C: Context<Event = Event>>(&mut self, ctx: &mut C, lp: Lp, event: Event) {
        match event {
            Event::Fabric(event) => {
                if self.hosts.notes_effects() && !event.is_wake_up() {
                    self.hosts.note_effect::<C>(lp, ctx.now());
                }
                if let Some(notice) = self.fabric.handle(ctx, lp, event) {
                    self.hosts.notice(ctx, &mut self.fabric, notice);
                }
            }
            Event::Host(event) => self.hosts.handle(ctx, &mut self.fabric, lp, event),
        }
    }

    #[inline(always)]
    fn prefetch(&self, event: &Event) {
        if let Event::Fabric(event) = event {
            self.fabric.prefetch(event);
        }
    }

    fn send_buffer(&mut self) -> &mut SendBuffer<RemoteEvent<Payload>, RemoteUpdate> {
        self.fabric.send_buffer()
    }

    fn receive_event<C: Context<Event = Event>>(&mut self, _: &mut C, _: Lp, event: RemoteEvent<Payload>) -> Event {
        Event::Fabric(self.fabric.receive_event::<C>(event))
    }

    fn apply_update<C: Context<Event = Event>>(&mut self, ctx: &mut C, _: Lp, at: Time, update: RemoteUpdate) {
        self.fabric.apply_update(ctx, at, update);
    }

    fn lookahead(&self, from: Lp, to: Lp) -> Time {
        self.fabric.lookahead(from, to)
    }

    fn results(&self, digest: &mut Digest) {
        let all = MachineMeasured::join([self.measured(Time::NEVER)]);
        all.expect("a machine is a part").results(digest);
    }
}
