//! The table `devices`: the activity of each storage device.

use super::row::row;
use super::sources::Sources;
use odonata_storage::FaultMetrics;

row! {
    /// One row per device of a storage server.
    "devices" => pub struct DeviceRow {
        /// Number of the server.
        server: u64,
        /// Number of the device, counted within the server.
        device: u64,
        /// Its name; that of the model if the scenario gives none.
        name: String,
        /// Model: "rate", "ssd", "nvme" or "hdd".
        model: String,
        /// Space on it.
        #[unit = "bytes"]
        capacity_bytes: u64,
        /// Writes for requests.
        writes: u64,
        /// Reads for requests.
        reads: u64,
        /// Reads for the drain.
        drain_reads: u64,
        /// Bytes written for requests.
        #[unit = "bytes"]
        bytes_written: u64,
        /// Bytes read for requests.
        #[unit = "bytes"]
        bytes_read: u64,
        /// Bytes read for the drain.
        #[unit = "bytes"]
        bytes_drained: u64,
        /// Accesses with a seek; for a hard disk, seeks of any kind.
        seeks: u64,
        /// Time with at least one access in service.
        #[unit = "s"]
        busy_s: f64,
        /// Service time, summed over accesses; more than `busy_s` if accesses are served in parallel.
        #[unit = "s"]
        service_s: f64,
        /// Waiting time in the queue, summed over accesses.
        #[unit = "s"]
        wait_s: f64,
        /// Accesses delayed by a fault (storage.faults).
        fault_accesses: u64,
        /// Their delay, summed over accesses.
        #[unit = "s"]
        fault_delay_s: f64,
        /// Maximum number of concurrent accesses, waiting and in service.
        peak_accesses: u64,
        /// Maximum space in use.
        #[unit = "bytes"]
        peak_used_bytes: u64,
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<DeviceRow> {
    let Some(storage) = &from.scenario.storage else {
        return Vec::new();
    };
    let ps = |time: u128| time as f64 * 1e-12;
    // All servers of a tier have the same devices; pass-through servers have none.
    let tiers: Vec<_> = (0..storage.tier_count())
        .map(|tier| storage.server(tier, from.scenario.seed, 0).devices)
        .collect();
    let passes_on = |server: u32| {
        let below = from.placement.tier_of(server).checked_sub(1);
        below
            .and_then(|below| storage.tiers.get(below))
            .is_some_and(|tier| tier.forwards())
    };
    let row = |&(server, device, m): &(u32, u32, odonata_storage::DeviceMetrics)| {
        let params = &tiers[from.placement.tier_of(server)][device as usize];
        let of = |fault: &&(u32, u32, FaultMetrics)| (fault.0, fault.1) == (server, device);
        let fault = from
            .hosts
            .faults
            .iter()
            .find(of)
            .map_or(FaultMetrics::default(), |fault| fault.2);
        DeviceRow {
            server: u64::from(server),
            device: u64::from(device),
            name: params.name.clone(),
            model: params.model.kind().to_owned(),
            capacity_bytes: params.capacity.0,
            writes: m.writes,
            reads: m.reads,
            drain_reads: m.drain_reads,
            bytes_written: m.bytes_written,
            bytes_read: m.bytes_read,
            bytes_drained: m.bytes_drained,
            seeks: m.seeks,
            busy_s: m.busy.seconds(),
            service_s: ps(m.service_ps),
            wait_s: ps(m.wait_ps),
            fault_accesses: fault.accesses,
            fault_delay_s: ps(fault.delay_ps),
            peak_accesses: u64::from(m.peak_accesses),
            peak_used_bytes: m.peak_used,
        }
    };
    let devices = from.hosts.devices.iter();
    devices.filter(|&&(server, _, _)| !passes_on(server)).map(row).collect()
}
