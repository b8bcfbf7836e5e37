//! Location of bytes: zones of tracks, each with a rate.
//!
//! All zones have the same number of tracks. Their rates fall in equal steps from the outermost zone, where address 0
//! is, to the innermost. Track lengths fall in proportion, since the disk rotates at constant speed.

use odonata_units::{Bandwidth, Bytes, Time};

use super::{Hdd, SeekCurve};

/// A zone, as an address range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Zone {
    /// Its number, from the outermost.
    number: u32,
    first: u64,
    /// The address after its last byte.
    end: u64,
    pub(super) rate: Bandwidth,
}

impl Hdd {
    /// Time of one rotation.
    pub fn rotation(&self) -> Time {
        Time::from_ps_f64(60e12 / f64::from(self.rpm.max(1)))
    }

    /// Rate of zone `number`, counted from the outermost.
    pub fn zone_rate(&self, number: u32) -> Bandwidth {
        let (outer, inner) = (self.outer_rate.0, self.inner_rate.0);
        let steps = f64::from(self.zones.saturating_sub(1).max(1));
        Bandwidth(outer + (inner - outer) * f64::from(number) / steps)
    }

    /// The zone of an address.
    pub(super) fn zone(&self, address: u64) -> Zone {
        let zones = self.zones.max(1);
        // Zone sizes fall in equal steps: the sum is an arithmetic series.
        let all = f64::from(zones) * (self.outer_rate.0 + self.zone_rate(zones - 1).0) / 2.0;
        let per_rate = self.capacity.0 as f64 / all;
        let (mut first, mut sum) = (0, 0.0);
        for number in 0..zones {
            let rate = self.zone_rate(number);
            sum += rate.0;
            let last = number + 1 == zones;
            let end = if last { u64::MAX } else { (sum * per_rate) as u64 };
            if address < end || last {
                return Zone {
                    number,
                    first,
                    end,
                    rate,
                };
            }
            first = end;
        }
        unreachable!("the last zone has an end")
    }

    /// Time to transfer all bytes from one address to another without a pause.
    pub(super) fn transfer(&self, from: u64, to: u64) -> Time {
        let (mut at, mut time) = (from, Time::ZERO);
        while at < to {
            let zone = self.zone(at);
            let end = to.min(zone.end);
            time += zone.rate.time_for(Bytes(end - at));
            at = end;
        }
        time.min(Time::BEYOND)
    }

    /// The track of an address, counted from the outermost, with its fraction.
    fn track(&self, address: u64) -> f64 {
        let zone = self.zone(address);
        let end = zone.end.min(self.capacity.0).max(zone.first + 1);
        let part = (address - zone.first) as f64 / (end - zone.first) as f64;
        (f64::from(zone.number) + part) * self.tracks() / f64::from(self.zones.max(1))
    }

    /// Tracks of all surfaces together.
    fn tracks(&self) -> f64 {
        let mean_rate = (self.outer_rate.0 + self.zone_rate(self.zones.max(1) - 1).0) / 2.0;
        (self.capacity.0 as f64 / (mean_rate * self.rotation().seconds())).max(1.0)
    }

    /// Bytes of the track at an address.
    pub(super) fn track_bytes(&self, address: u64) -> u64 {
        ((self.zone(address).rate.0 * self.rotation().seconds()) as u64).max(1)
    }

    /// Time to move the head from one address to another: zero within a track.
    pub(super) fn seek(&self, curve: &SeekCurve, from: u64, to: u64) -> Time {
        let tracks = (self.track(from) - self.track(to)).abs();
        if tracks < 1.0 {
            return Time::ZERO;
        }
        curve.time(tracks / self.tracks())
    }
}

impl SeekCurve {
    /// Time of a seek over this share of all tracks: proportional to the square root of the distance up to a third of
    /// them, where it is the average seek, and linear beyond.
    pub fn time(&self, share: f64) -> Time {
        let [short, average, full] = [self.track_to_track, self.average, self.full_stroke].map(|time| time.0 as f64);
        let thirds = 3.0 * share.clamp(0.0, 1.0);
        Time::from_ps_f64(if thirds <= 1.0 {
            short + (average - short) * thirds.sqrt()
        } else {
            average + (full - average) * (thirds - 1.0) / 2.0
        })
    }
}
