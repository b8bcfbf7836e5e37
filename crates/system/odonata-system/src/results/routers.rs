//! The table `routers`: sums over the ports of each router, by the class of their links.

use super::row::row;
use super::sources::Sources;
use odonata_topology::LinkClass;

row! {
    /// One row per router: sums over its output ports.
    "routers" => pub struct RouterRow {
        /// Number of the router.
        router: u64,
        /// Its group.
        group: u64,
        /// Payload sent by all ports.
        #[unit = "bytes"]
        bytes: u64,
        /// Packets sent by all ports.
        packets: u64,
        /// Time transmitting, terminal ports.
        #[unit = "s"]
        busy_terminal_s: f64,
        /// Time transmitting, local ports.
        #[unit = "s"]
        busy_local_s: f64,
        /// Time transmitting, column ports.
        #[unit = "s"]
        busy_column_s: f64,
        /// Time transmitting, global ports.
        #[unit = "s"]
        busy_global_s: f64,
        /// Saturation time, terminal ports.
        #[unit = "s"]
        saturation_terminal_s: f64,
        /// Saturation time, local ports.
        #[unit = "s"]
        saturation_local_s: f64,
        /// Saturation time, column ports.
        #[unit = "s"]
        saturation_column_s: f64,
        /// Saturation time, global ports.
        #[unit = "s"]
        saturation_global_s: f64,
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<RouterRow> {
    let topology = from.topology;
    let row = |router: u32| {
        let mut row = RouterRow {
            router: u64::from(router),
            group: u64::from(from.scenario.layout.group_of_router(router)),
            ..RouterRow::default()
        };
        for port in topology.ports_of(router) {
            let s = from.fabric.link(port);
            row.bytes += s.bytes;
            row.packets += s.packets;
            let (busy, saturation) = match topology.class(port) {
                LinkClass::Terminal => (&mut row.busy_terminal_s, &mut row.saturation_terminal_s),
                LinkClass::Local => (&mut row.busy_local_s, &mut row.saturation_local_s),
                LinkClass::Column => (&mut row.busy_column_s, &mut row.saturation_column_s),
                LinkClass::Global => (&mut row.busy_global_s, &mut row.saturation_global_s),
            };
            *busy += s.busy.seconds();
            *saturation += s.saturation.seconds();
        }
        row
    };
    (0..topology.routers()).map(row).collect()
}
