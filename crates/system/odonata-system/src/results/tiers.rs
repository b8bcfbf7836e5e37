//! The table `tiers`: data received by each tier of storage servers, its location, and data sent to the next tier.

use super::row::row;
use super::sources::Sources;

row! {
    /// One row per tier of storage servers and job that wrote to it or read through it; empty for a single tier. Every
    /// byte that a tier with devices received, or kept as an input, is in one of the columns from `overwritten_bytes`
    /// to `below_bytes`.
    "tiers" => pub struct TierRow {
        /// Tier: "storage" for the servers used by ranks, the name of a lower tier, or "file-system".
        tier: String,
        /// Its place in the chain, from 0.
        level: u64,
        /// Job that owns the data.
        job: String,
        /// Bytes written to its devices, or through it.
        #[unit = "bytes"]
        received_bytes: u64,
        /// Bytes of inputs (never written by a job) kept when they were read.
        #[unit = "bytes"]
        input_bytes: u64,
        /// Of both, bytes that were overwritten.
        #[unit = "bytes"]
        overwritten_bytes: u64,
        /// Of both, bytes on failed servers: lost, or dropped and written again elsewhere.
        #[unit = "bytes"]
        lost_bytes: u64,
        /// Of both, bytes of removed files.
        #[unit = "bytes"]
        removed_bytes: u64,
        /// On a device of the tier, and in no lower tier.
        #[unit = "bytes"]
        alone_bytes: u64,
        /// Of those, in transit to the next tier at the end of the run.
        #[unit = "bytes"]
        leaving_bytes: u64,
        /// On a device of the tier, and in a lower tier.
        #[unit = "bytes"]
        clean_bytes: u64,
        /// Below.
        #[unit = "bytes"]
        below_bytes: u64,
        /// Bytes acknowledged by the next tier.
        #[unit = "bytes"]
        sent_bytes: u64,
        /// Bytes read from the next tier.
        #[unit = "bytes"]
        fetched_bytes: u64,
        /// Bytes of reads served by the tier.
        #[unit = "bytes"]
        hit_bytes: u64,
        /// Of the fetched bytes, those kept as clean copies.
        #[unit = "bytes"]
        kept_bytes: u64,
        /// Bytes of clean copies evicted for other data.
        #[unit = "bytes"]
        evicted_bytes: u64,
        /// When the first block began to drain to the next tier; -1: none did.
        #[unit = "s"]
        first_left_s: f64,
        /// When the next tier had acknowledged the last block; -1: none.
        #[unit = "s"]
        last_safe_s: f64,
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<TierRow> {
    let Some(storage) = &from.scenario.storage else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for (&(level, job), (metrics, contents)) in &from.hosts.tiers {
        let none = metrics.received == 0 && metrics.fetched == 0 && contents.bytes() == 0;
        if none {
            continue;
        }
        let tier = usize::from(level);
        let passes_on = tier > 0 && storage.tiers.get(tier - 1).is_some_and(|tier| tier.forwards());
        let of_tier = |server: u32| from.placement.tier_of(server) == tier;
        let losses = from.hosts.losses.iter();
        let losses = losses.filter(|&&(server, owner, _)| owner == job && of_tier(server));
        let gone: u64 = losses.map(|(_, _, losses)| losses.on_devices + losses.dropped).sum();
        let removed = from.hosts.removed.iter();
        let removed = removed.filter(|&&(server, owner, _)| owner == job && of_tier(server));
        let removed: u64 = removed.map(|&(.., bytes)| bytes).sum();
        let seconds = |time: Option<odonata_engine::Time>| time.map_or(-1.0, |time| time.seconds());
        rows.push(TierRow {
            tier: storage.tier_name(tier).to_owned(),
            level: u64::from(level),
            job: from.scenario.jobs[usize::from(job)].name.to_string(),
            received_bytes: metrics.received,
            input_bytes: metrics.inputs,
            overwritten_bytes: match passes_on {
                true => 0,
                false => {
                    let stored = contents.bytes() - contents.arriving;
                    (metrics.received + metrics.inputs).saturating_sub(stored + gone + removed)
                }
            },
            lost_bytes: gone,
            removed_bytes: removed,
            alone_bytes: contents.alone,
            leaving_bytes: contents.leaving,
            clean_bytes: contents.clean,
            // A tier without devices passes all data on.
            below_bytes: if passes_on { metrics.sent } else { contents.below },
            sent_bytes: metrics.sent,
            fetched_bytes: metrics.fetched,
            hit_bytes: metrics.hits,
            kept_bytes: metrics.filled,
            evicted_bytes: metrics.evicted,
            first_left_s: seconds(metrics.first_left),
            last_safe_s: seconds(metrics.last_safe),
        });
    }
    rows
}
