//! The instruments of a run, and what they ask of the model: which facts to state in full.

use super::blame::BlameLedger;
use super::lost::LostTime;
use super::queues::QueueRecording;
use super::statistics::{LinkPeriod, Sampling, Statistics};
use super::{Contention, Observers, Queues, Saturation};
use crate::features::Uses;
use crate::flow::{Links, VcRanges};
use crate::params::NetworkParams;
use crate::settings::RouterModel;
use odonata_engine::{Plain, Time};
use std::ops::Range;

impl Observers {
    /// The instruments that `params` switch on, for the links and the nodes of a part. `vcs`: the channels of each level.
    pub(crate) fn new(params: &NetworkParams, links: &Links, vcs: &VcRanges, nodes: Range<u32>) -> Observers {
        let blame = match params.blame {
            true => BlameLedger::new(links, params),
            false => BlameLedger::off(),
        };
        let (lines, places) = match (params.lost_time, params.lost_places) {
            (false, _) => (0, Vec::new()),
            (true, false) => (blame.lines(), Vec::new()),
            (true, true) => (blame.lines(), blame.places(links)),
        };
        let is_pipelined = params.router == RouterModel::Pipelined;
        let fronts = match is_pipelined {
            true => links.buffers + (links.len() - links.ports),
            false => 0,
        };
        let lost = LostTime::new(lines, places, fronts as usize);
        Observers {
            statistics: Statistics::new(params, links.len() as usize, nodes),
            saturation: Saturation::new(links.ports, (is_pipelined && vcs.are_several()).then(|| vcs.clone())),
            queues: Queues::default(),
            contention: Contention { blame, lost },
        }
    }

    /// Counts packets in sampling periods.
    pub(crate) fn sample(&mut self, sampling: Sampling) {
        self.statistics.sample(sampling);
    }

    /// Counts router ports separately in the intervals of `period`, if there is a time series.
    pub(crate) fn record_links(&mut self, period: LinkPeriod) {
        self.statistics.record_links(period);
    }

    /// Records the queues of chosen links over time; `own`: number in the machine, first channel and number of channels
    /// of each link of this part. A link has at most `channels` channels.
    pub(crate) fn record_queues(
        &mut self,
        recording: &QueueRecording,
        channels: usize,
        own: impl Iterator<Item = (u32, u32, u8)>,
    ) {
        self.queues.record(recording, channels, own);
    }

    /// Whether an instrument is on that handlers without [extras](crate::features) do not know.
    pub(crate) fn need_extras(&self) -> bool {
        self.statistics.has_samples() || self.queues.are_recorded()
    }

    /// Whether an instrument is on that handlers without [blame](crate::features) do not know, and without lost time.
    pub(crate) fn need_blame(&self) -> (bool, bool) {
        (self.contention.blame.is_on::<Plain>(), self.contention.lost.is_kept())
    }

    /// Whether an instrument follows single credits, so that they cannot be merged.
    #[inline(always)]
    pub(crate) fn follow_credits<M: Uses>(&self) -> bool {
        self.queues.is_on::<M>() || self.contention.lost.is_on::<M>()
    }

    /// Whether an instrument asks for the owners of links and of credits: then a NIC counts due credits before its flit
    /// departs, and a link that flows share names the owner of its packets.
    #[inline(always)]
    pub(crate) fn follow_owners<M: Uses>(&self) -> bool {
        self.contention.blame.is_on::<M>()
    }

    /// Whether the waits at routers of a packet that starts from node `source` at `start` are in the sample.
    #[inline(always)]
    pub(crate) fn sample_waits<M: Uses>(&self, source: u32, start: Time) -> bool {
        self.contention.blame.is_on::<M>() && self.contention.blame.samples(source, start)
    }
}
