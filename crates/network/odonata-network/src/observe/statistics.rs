//! Statistics: counters of links, nodes and traffic, for the whole run, over time and in sampling periods.
mod counters;
mod histogram;
mod measured;
mod sampling;

pub use counters::{LinkStats, NodeStats, SeriesCell, TrafficStats};
pub use histogram::Histogram;
pub use measured::Measured;
pub use sampling::{CYCLE_BINS, Sample, Sampled, Sampling};

use super::facts::{LinkDeparture, Observer, PacketDelivery};
use crate::Traffic;
use crate::features::Uses;
use crate::message::Message;
use crate::packet::Packet;
use crate::params::NetworkParams;
use odonata_engine::{GrowableStore, RangeStore, Store, Time};
use odonata_topology::LinkClass;
use sampling::{Delivery, Sampler};
use std::ops::Range;

/// Most cells of the time series, 100 MB; later intervals are not recorded.
pub const MOST_SERIES_CELLS: usize = 1 << 22;

/// The first cell of an interval beyond the recorded ones.
const UNRECORDED: usize = usize::MAX;

/// The counters of a part of the fabric.
#[derive(Debug)]
pub(crate) struct Statistics {
    /// Per link; per node as a receiver; per traffic.
    links: Store<LinkStats>,
    nodes: RangeStore<NodeStats>,
    traffic: Store<TrafficStats>,
    /// Packet latency from its start on the terminal link, and from creation, per traffic.
    latency: Histogram,
    latency_created: Histogram,
    /// Per interval: one cell per traffic, then one per link class.
    series: GrowableStore<SeriesCell>,
    interval: Option<Time>,
    /// The last interval used.
    last: Interval,
    /// Number of intervals that are recorded.
    kept: u64,
    /// Per interval of the period with a record of each link: a cell per link.
    link_series: GrowableStore<SeriesCell>,
    recorded_links: Option<LinkPeriod>,
    traffics: u16,
    sampler: Sampler,
}
odonata_engine::journalled!(Statistics {
    links,
    nodes,
    traffic,
    latency,
    latency_created,
    series,
    link_series,
    sampler
});

/// The intervals of the time series in which links are counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkPeriod {
    /// Number of the first interval.
    pub first: u32,
    /// Number of intervals.
    pub count: u32,
}

/// An interval of the time series: its number, start, and first cell or [`UNRECORDED`].
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    number: u64,
    begin: Time,
    first_cell: usize,
}

/// A transmission on a link: a sequence of flits or packets.
#[derive(Clone, Copy)]
pub(crate) struct Transmission {
    /// Packets that count with it, and their bytes.
    pub(crate) packets: u64,
    pub(crate) bytes: u32,
    /// Transmission time.
    pub(crate) busy: Time,
}

impl Statistics {
    /// Statistics of a part with `links` links and `nodes`.
    pub(crate) fn new(params: &NetworkParams, links: usize, nodes: Range<u32>) -> Statistics {
        let traffics = usize::from(params.traffics);
        Statistics {
            links: Store::filled(links, LinkStats::default()),
            nodes: RangeStore::filled(nodes, NodeStats::NONE),
            traffic: Store::filled(traffics, TrafficStats::default()),
            latency: Histogram::new(traffics),
            latency_created: Histogram::new(traffics),
            series: GrowableStore::new(),
            interval: params.series,
            last: Interval::default(),
            kept: (MOST_SERIES_CELLS / (traffics + LinkClass::ALL.len())) as u64,
            link_series: GrowableStore::new(),
            recorded_links: None,
            traffics: params.traffics,
            sampler: Sampler::default(),
        }
    }

    /// Whether there are sampling periods.
    pub(crate) fn has_samples(&self) -> bool {
        self.sampler.on.is_some()
    }

    /// Counts packets in sampling periods from now on.
    pub(crate) fn sample(&mut self, sampling: Sampling) {
        self.sampler.on = Some(sampling);
    }

    /// Fetches the counters of `link` into the cache.
    #[inline(always)]
    pub(crate) fn prefetch(&self, link: u32) {
        self.links.prefetch(link);
    }

    /// A packet arrives at its node at `arrival`; `is_detour`: it has left its minimal path.
    #[inline]
    fn delivered<M: Uses>(&mut self, p: &Packet, is_detour: bool, created: Time, arrival: Time) {
        let latency = arrival - p.injected;
        let which = usize::from(p.traffic);
        self.latency.record::<M>(which, latency);
        self.latency_created.record::<M>(which, arrival - created);
        let traffic = self.traffic.edit_trusted::<M>(u32::from(p.traffic));
        traffic.packets += 1;
        traffic.bytes += u64::from(p.bytes);
        traffic.hops += u64::from(p.hops);
        traffic.latency_ps += u128::from(latency.0);
        traffic.latency_created_ps += u128::from((arrival - created).0);
        traffic.latency_max = traffic.latency_max.max(latency);
        traffic.nonminimal += u64::from(is_detour);
        let node = self.nodes.edit_trusted::<M>(p.header.target);
        node.packets += 1;
        node.hops += u64::from(p.hops);
        node.latency += latency;
        node.latency_max = node.latency_max.max(latency);
        node.latency_min = node.latency_min.min(latency);
        node.digest = (node.digest ^ arrival.0)
            .wrapping_mul(0xff51_afd7_ed55_8ccd)
            .rotate_left(29)
            ^ created.0;
        if self.interval.is_some() {
            self.count_in_series::<M>(arrival, which, (1, p.bytes), latency);
        }
        if M::EXTRAS && self.sampler.on.is_some() {
            self.sampler.delivered::<M>(&Delivery {
                traffic: p.traffic,
                created,
                injected: p.injected,
                arrival,
                bytes: p.bytes,
                hops: p.hops,
            });
        }
    }

    /// Makes the interval of `at` the last one; usually it already is.
    #[inline(always)]
    fn go_to_interval(&mut self, at: Time, interval: Time) {
        if at.0.wrapping_sub(self.last.begin.0) >= interval.0 {
            self.find_interval(at, interval);
        }
    }

    #[inline(never)]
    fn find_interval(&mut self, at: Time, interval: Time) {
        let number = at.0 / interval.0;
        let first_cell = number.min(self.kept) as usize * self.series_width();
        self.last = Interval {
            number,
            begin: Time(number * interval.0),
            first_cell: if number < self.kept { first_cell } else { UNRECORDED },
        };
    }

    #[inline(always)]
    fn count_in_series<M: Uses>(&mut self, at: Time, column: usize, (packets, bytes): (u64, u32), time: Time) {
        let Some(interval) = self.interval else { return };
        self.go_to_interval(at, interval);
        if self.last.first_cell == UNRECORDED {
            return;
        }
        let cell = self.series.edit::<M>(self.last.first_cell + column);
        cell.packets += packets;
        cell.bytes += u64::from(bytes);
        cell.time += time;
    }

    /// Counts a transmission on `link` that starts at `at`, if it is in the period with a record of each link.
    fn count_of_link<M: Uses>(&mut self, link: u32, at: Time, sent: Transmission) {
        let (Some(interval), Some(period)) = (self.interval, self.recorded_links) else {
            return;
        };
        self.go_to_interval(at, interval);
        let Some(row) = self.last.number.checked_sub(u64::from(period.first)) else {
            return;
        };
        if row >= u64::from(period.count) {
            return;
        }
        let width = self.links.len();
        let cell = self.link_series.edit::<M>(row as usize * width + link as usize);
        cell.packets += sent.packets;
        cell.bytes += u64::from(sent.bytes);
        cell.time += sent.busy;
    }

    /// Records router ports separately in the intervals of `period`.
    pub(crate) fn record_links(&mut self, period: LinkPeriod) {
        self.recorded_links = Some(period);
    }

    /// Transmissions in the intervals with a record of each link: number of the interval, link, counts; sorted by
    /// interval and link.
    pub(crate) fn link_series(&self) -> impl Iterator<Item = (u32, u32, SeriesCell)> + '_ {
        let first = self.recorded_links.map_or(0, |period| period.first);
        let width = self.links.len().max(1);
        (self.link_series.iter()).map(move |(at, &cell)| (first + (at / width) as u32, (at % width) as u32, cell))
    }

    /// Number of cells per interval.
    fn series_width(&self) -> usize {
        usize::from(self.traffics) + LinkClass::ALL.len()
    }

    /// The end of the time series, if there is one.
    pub(crate) fn series_end(&self) -> Option<Time> {
        self.interval.map(|interval| Time(interval.0.saturating_mul(self.kept)))
    }

    pub(crate) fn links(&self) -> &Store<LinkStats> {
        &self.links
    }

    pub(crate) fn nodes(&self) -> &RangeStore<NodeStats> {
        &self.nodes
    }

    pub(crate) fn traffic(&self) -> &Store<TrafficStats> {
        &self.traffic
    }

    /// Packet latency from its start on the terminal link, and from creation.
    pub(crate) fn latencies(&self) -> (&Histogram, &Histogram) {
        (&self.latency, &self.latency_created)
    }

    pub(crate) fn series(&self) -> &GrowableStore<SeriesCell> {
        &self.series
    }

    /// The counts of sampling period `period`, if sampling is on.
    pub(crate) fn sampled_in(&self, period: u32) -> Sample {
        self.sampler.sample(period)
    }

    pub(crate) fn sampled(&self) -> Option<Sampled> {
        self.sampler.sampled()
    }
}

impl Observer for Statistics {
    #[inline]
    fn message_submitted<M: Uses, P>(&mut self, message: &Message<P>, packet: u64) {
        self.traffic.edit_trusted::<M>(u32::from(message.traffic)).bytes_sent += message.bytes;
        if M::EXTRAS && self.sampler.on.is_some() {
            let packets = message.bytes.div_ceil(packet).max(1);
            self.sampler
                .created::<M>(message.traffic, message.created, packets, message.bytes);
        }
    }

    #[inline(always)]
    fn packet_departs<M: Uses>(&mut self, departure: &LinkDeparture<'_>) {
        let &LinkDeparture {
            link,
            port,
            class,
            now,
            sent,
            ..
        } = departure;
        self.port_resumes::<M>(link, port.stalled_since, now);
        self.port_sends::<M>((link, class), now, sent);
    }

    #[inline]
    fn packet_delivered<M: Uses>(&mut self, _: u32, packet: &Packet, delivery: &PacketDelivery) {
        self.delivered::<M>(packet, delivery.is_detour, delivery.created, delivery.arrival);
    }

    #[inline]
    fn message_delivered<M: Uses>(&mut self, owner: Traffic) {
        self.traffic.edit_trusted::<M>(u32::from(owner)).messages += 1;
    }

    #[inline]
    fn message_delivered_whole<M: Uses, P>(&mut self, message: &Message<P>, arrival: Time) {
        let mut left = message.bytes;
        loop {
            let bytes = left.min(u64::from(u32::MAX)) as u32;
            let packet = Packet::of_message(message, bytes);
            self.delivered::<M>(&packet, false, message.created, arrival);
            left -= u64::from(bytes);
            if left == 0 {
                break;
            }
        }
        self.message_delivered::<M>(message.traffic);
    }

    #[inline]
    fn port_stalls<M: Uses>(&mut self, link: u32) {
        self.links.edit_trusted::<M>(link).stalled += 1;
    }

    #[inline(always)]
    fn port_resumes<M: Uses>(&mut self, link: u32, since: Time, now: Time) {
        if since != Time::NEVER {
            self.links.edit_trusted::<M>(link).stall += now.saturating_sub(since);
        }
    }

    #[inline(always)]
    fn port_sends<M: Uses>(&mut self, (link, class): (u32, LinkClass), at: Time, sent: Transmission) {
        self.nic_sends::<M>(link, sent);
        if self.interval.is_some() {
            let column = usize::from(self.traffics) + class as usize;
            self.count_in_series::<M>(at, column, (sent.packets, sent.bytes), sent.busy);
            if self.recorded_links.is_some() {
                self.count_of_link::<M>(link, at, sent);
            }
        }
    }

    #[inline(always)]
    fn nic_sends<M: Uses>(&mut self, link: u32, sent: Transmission) {
        let stats = self.links.edit_trusted::<M>(link);
        stats.bytes += u64::from(sent.bytes);
        stats.packets += sent.packets;
        stats.busy = stats.busy.plus(sent.busy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::VcTerms;
    use crate::params::{Fidelities, RunParams, TrafficClasses};
    use crate::routing::Header;
    use crate::settings::{Fidelity, Network, Nic};
    use odonata_engine::{NIL, Plain};

    /// Statistics of two ports and a NIC, two nodes and three traffics, with intervals of 10 ps.
    fn statistics() -> Statistics {
        let run = RunParams {
            fidelities: Fidelities::Same(Fidelity::Packet),
            classes: TrafficClasses::default(),
            traffics: 3,
            series: Some(Time(10)),
            blame: false,
            blame_sampling: 1,
            lost_time: false,
            lost_places: false,
            seed: 0,
        };
        let params = NetworkParams::new(&Network::default(), &Nic::default(), run);
        Statistics::new(&params, 3, 0..2)
    }

    fn packet(traffic: Traffic, target: u32) -> Packet {
        Packet {
            created: Time(5),
            injected: Time(8),
            tail_in: Time(20),
            header: Header::new(target),
            message: 0,
            bytes: 100,
            buffer: 0,
            next: NIL,
            next_waiting: NIL,
            traffic,
            vc: 0,
            class: 0,
            flags: crate::packet::PacketFlags::default(),
            hops: 3,
            terms: VcTerms::default(),
        }
    }

    #[test]
    fn transmissions_are_counted_and_those_of_ports_over_time_as_well() {
        let mut stats = statistics();
        let sent = Transmission {
            packets: 2,
            bytes: 300,
            busy: Time(7),
        };
        stats.nic_sends::<Plain>(2, sent);
        assert_eq!(stats.series().iter().count(), 0);
        stats.port_sends::<Plain>((0, LinkClass::Global), Time(25), sent);
        stats.port_resumes::<Plain>(0, Time::NEVER, Time(25));
        stats.port_resumes::<Plain>(0, Time(21), Time(25));
        stats.port_stalls::<Plain>(0);
        let port = LinkStats {
            bytes: 300,
            packets: 2,
            busy: Time(7),
            saturation: Time::ZERO,
            stall: Time(4),
            stalled: 1,
        };
        let nic = LinkStats {
            stall: Time::ZERO,
            stalled: 0,
            ..port
        };
        assert_eq!(
            stats.links().iter().copied().collect::<Vec<_>>(),
            [port, LinkStats::default(), nic]
        );
        let cell = SeriesCell {
            packets: 2,
            bytes: 300,
            time: Time(7),
        };
        let column = 3 + LinkClass::Global as usize;
        let cells: Vec<_> = stats.series().iter().map(|(at, &cell)| (at, cell)).collect();
        assert_eq!(cells, [(2 * (3 + LinkClass::COUNT) + column, cell)]);
    }

    #[test]
    fn a_delivery_is_counted_for_its_traffic_and_its_node() {
        let mut stats = statistics();
        stats.delivered::<Plain>(&packet(1, 0), false, Time(5), Time(28));
        stats.delivered::<Plain>(&packet(1, 1), true, Time(5), Time(38));
        stats.message_delivered::<Plain>(1);
        let traffic = *stats.traffic().get(1);
        assert_eq!(
            (traffic.packets, traffic.bytes, traffic.hops, traffic.messages),
            (2, 200, 6, 1)
        );
        assert_eq!((traffic.latency_ps, traffic.latency_created_ps), (20 + 30, 23 + 33));
        assert_eq!((traffic.latency_max, traffic.nonminimal), (Time(30), 1));
        let nodes: Vec<_> = stats.nodes().iter().map(|node| (node.packets, node.latency)).collect();
        assert_eq!(nodes, [(1, Time(20)), (1, Time(30))]);
        assert_eq!(*stats.traffic().get(0), TrafficStats::default());
        assert_eq!(stats.latencies().0.quantile(0, 0.5), None);
        assert!(
            stats
                .latencies()
                .1
                .quantile(1, 1.0)
                .is_some_and(|latency| latency >= Time(33))
        );
    }
}
