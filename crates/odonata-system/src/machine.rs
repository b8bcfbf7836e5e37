//! The simulated machine as a model for the engine: the fabric and everything above it.

use crate::host::{HostEvent, Hosts};
use odonata_engine::{Context, Digest, Lp, Model, Time};
use odonata_network::{Fabric, FabricEvent};

/// An event of the machine; 12 bytes.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// Of the fabric.
    Fabric(FabricEvent),
    /// Of the hosts.
    Host(HostEvent),
}

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

/// A machine with its jobs. One logical process is a router with its nodes: their NICs, ranks and servers.
#[derive(Debug)]
pub struct Machine {
    /// NICs, routers, links.
    pub fabric: Fabric,
    /// Ranks and storage servers.
    pub hosts: Hosts,
}
odonata_engine::journalled!(Machine { fabric, hosts });

impl Machine {
    /// Until when all time series are kept, if there are any.
    pub fn series_end(&self) -> Option<Time> {
        self.fabric
            .series_end()
            .into_iter()
            .chain(self.hosts.servers().series_end())
            .min()
    }
}

impl Model for Machine {
    type Event = Event;

    fn processes(&self) -> u32 {
        self.fabric.processes()
    }

    fn start<C: Context<Event>>(&mut self, ctx: &mut C, lp: Lp) {
        self.hosts.start(ctx, lp, &mut self.fabric);
    }

    #[inline]
    fn handle<C: Context<Event>>(&mut self, ctx: &mut C, lp: Lp, event: Event) {
        match event {
            Event::Fabric(event) => {
                self.hosts.touch::<C>(lp, ctx.now());
                if let Some(notice) = self.fabric.handle::<Event, C>(ctx, lp, event) {
                    self.hosts.notice(ctx, &mut self.fabric, notice);
                }
            }
            Event::Host(event) => self.hosts.handle(ctx, &mut self.fabric, lp, event),
        }
    }

    fn lookahead(&self, from: Lp, to: Lp) -> Time {
        self.fabric.lookahead(from, to)
    }

    fn results(&self, digest: &mut Digest) {
        self.fabric.results(digest);
        self.hosts.results(digest);
    }
}
