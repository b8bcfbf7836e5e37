//! The result tables of a run, one file each.
//!
//! A row is a structure whose fields are the columns ([`Row`]): name, type, unit and description are declared once,
//! followed by the function that builds the rows. Parquet files and the reference page ([`table_docs`]) derive from it.

mod accesses;
mod blame;
mod calls;
mod checkpoint_restart;
mod data_loader;
mod devices;
mod ethernet;
mod flows;
mod footprint;
mod inference;
mod io;
mod ior;
mod iterations;
mod jobs;
mod link_series;
mod links;
mod logs;
mod lost_time;
mod lost_time_path;
mod lost_time_progress;
mod mdtest;
mod messages;
mod metadata;
mod packets;
mod queue_series;
mod ranks;
mod routers;
mod row;
mod series;
mod servers;
mod sources;
mod stages;
mod tiers;
mod training;

pub use accesses::AccessRow;
pub use arrow_array::RecordBatch;
pub use arrow_schema::ArrowError;
pub use blame::{BlameRow, BlameSeriesRow};
pub use calls::{CallRow, RequestRow};
pub use checkpoint_restart::CheckpointRestartRow;
pub use data_loader::DataLoaderRow;
pub use devices::DeviceRow;
pub use ethernet::{EthernetFlowRow, EthernetLinkRow, EthernetRow};
pub use flows::FlowRow;
pub(crate) use footprint::RowCounts;
pub use inference::InferenceRow;
pub use io::{FileRow, IoRow};
pub use ior::IorRow;
pub use iterations::IterationRow;
pub use jobs::JobRow;
pub use link_series::LinkSeriesRow;
pub use links::LinkRow;
pub use logs::LogRow;
pub use lost_time::LostTimeRow;
pub use lost_time_path::LostTimePathRow;
pub use lost_time_progress::{LostTimeIterationRow, LostTimeSeriesRow};
pub use mdtest::MdtestRow;
pub use messages::MessageRow;
pub use metadata::MetadataRow;
pub use packets::LatencyBucket;
pub use queue_series::QueueSeriesRow;
pub use ranks::RankRow;
pub use routers::RouterRow;
pub use row::{Column, Row, Table};
pub use series::SeriesRow;
pub use servers::{ServerRow, ServerSeriesRow};
pub use stages::StageRow;
pub use tiers::TierRow;
pub use training::TrainingRow;

use crate::placement::Placement;
use crate::scenario::resolved::Resolved;
use odonata_engine::Time;
use odonata_machine::MachineMeasured;
use odonata_topology::Topology;
use sources::Sources;
pub(crate) use sources::ends;

/// Declares [`Rows`]: for each table its field, the type of its rows, and its builder.
macro_rules! tables {
    ($($field:ident: $Row:ident = $rows:path,)+) => {
        /// All rows of a run.
        #[derive(Clone, Debug, Default)]
        pub struct Rows {
            $(
                #[doc = concat!("Those of the table `", stringify!($field), "`.")]
                pub $field: Vec<$Row>,
            )+
        }

        impl Rows {
            fn new(from: &Sources<'_>) -> Rows {
                Rows { $($field: $rows(from),)+ }
            }

            /// All tables.
            ///
            /// # Errors
            /// The texts of a column are more than 2 GiB.
            pub fn tables(&self) -> Result<Vec<Table>, ArrowError> {
                Ok(vec![$(Table::new(&self.$field)?,)+])
            }
        }

        /// Name, description and columns of each table.
        const TABLES: &[(&str, &str, &[Column])] = &[$(($Row::TABLE, $Row::DOC, $Row::COLUMNS),)+];
    };
}

tables! {
    jobs: JobRow = jobs::rows,
    ranks: RankRow = ranks::rows,
    messages: MessageRow = messages::rows,
    packets: LatencyBucket = packets::rows,
    links: LinkRow = links::rows,
    routers: RouterRow = routers::rows,
    io: IoRow = io::rows,
    files: FileRow = io::file_rows,
    ior: IorRow = ior::rows,
    checkpoint_restart: CheckpointRestartRow = checkpoint_restart::rows,
    data_loader: DataLoaderRow = data_loader::rows,
    training: TrainingRow = training::rows,
    inference: InferenceRow = inference::rows,
    servers: ServerRow = servers::rows,
    metadata: MetadataRow = metadata::rows,
    devices: DeviceRow = devices::rows,
    tiers: TierRow = tiers::rows,
    stages: StageRow = stages::rows,
    server_series: ServerSeriesRow = servers::series_rows,
    series: SeriesRow = series::rows,
    iterations: IterationRow = iterations::rows,
    logs: LogRow = logs::rows,
    mdtest: MdtestRow = mdtest::rows,
    calls: CallRow = calls::rows,
    requests: RequestRow = calls::request_rows,
    flows: FlowRow = flows::rows,
    accesses: AccessRow = accesses::rows,
    link_series: LinkSeriesRow = link_series::rows,
    queue_series: QueueSeriesRow = queue_series::rows,
    ethernet: EthernetRow = ethernet::rows,
    ethernet_links: EthernetLinkRow = ethernet::link_rows,
    ethernet_flows: EthernetFlowRow = ethernet::flow_rows,
    blame: BlameRow = blame::rows,
    blame_series: BlameSeriesRow = blame::series_rows,
    lost_time: LostTimeRow = lost_time::rows,
    lost_time_iterations: LostTimeIterationRow = lost_time_progress::iteration_rows,
    lost_time_series: LostTimeSeriesRow = lost_time_progress::series_rows,
    lost_time_path: LostTimePathRow = lost_time_path::rows,
}

/// The tables that exist only with network.fidelity = "ethernet".
pub(crate) const ETHERNET_TABLES: [&str; 3] = ["ethernet", "ethernet_links", "ethernet_flows"];

/// The tables that exist only with `run.timeline`.
pub(crate) const TIMELINE_TABLES: [&str; 5] = ["calls", "requests", "flows", "accesses", "link_series"];

/// Builds all rows from the measurements until `now` on `topology`. `starts`: per job, when its first rank started.
pub fn collect(
    scenario: &Resolved,
    placement: &Placement,
    topology: &Topology,
    measured: &MachineMeasured,
    starts: &[Option<Time>],
    now: Time,
) -> Rows {
    // A job that has not started has no run time.
    let starts: Vec<Time> = starts.iter().map(|start| start.unwrap_or(now)).collect();
    Rows::new(&Sources {
        scenario,
        placement,
        topology,
        fabric: &measured.fabric,
        hosts: &measured.hosts,
        starts: &starts,
        now,
    })
}

/// All tables with their columns, for the reference page: name, documentation, columns with name, type,
/// unit and documentation.
pub fn table_docs() -> serde_json::Value {
    let describe = |column: &Column| {
        serde_json::json!({
            "name": column.name,
            "type": column.type_name,
            "unit": column.unit,
            "doc": column.doc,
        })
    };
    TABLES
        .iter()
        .map(|(name, doc, columns)| {
            serde_json::json!({
                "table": name,
                "doc": doc,
                "columns": columns.iter().map(describe).collect::<Vec<_>>(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_names_are_unique_and_times_carry_their_unit() {
        for (table, _, columns) in TABLES {
            let mut names: Vec<_> = columns.iter().map(|column| column.name).collect();
            names.sort_unstable();
            let n = names.len();
            names.dedup();
            assert_eq!(names.len(), n, "{table}");
            for column in *columns {
                assert!(!column.doc.is_empty(), "{table}.{}", column.name);
                let seconds = column.name.ends_with("_s") && !column.name.ends_with("_per_s");
                assert_eq!(seconds, column.unit == "s", "{table}.{}", column.name);
            }
        }
    }

    #[test]
    fn a_field_is_a_column_with_unit_description_and_values() {
        let row = |link: u64, name: &str| LinkRow {
            link,
            name: name.into(),
            class: "local",
            busy_s: 0.5,
            ..LinkRow::default()
        };
        let table = Table::new(&[row(3, "r0>r1"), row(4, "")]).unwrap();
        assert_eq!((table.name, table.batch.num_rows()), ("links", 2));
        let schema = table.batch.schema();
        let field = schema.field_with_name("busy_s").unwrap();
        assert_eq!(field.metadata()["unit"], "s");
        assert_eq!(field.metadata()["description"], "Time in which the link transmits.");
        let text = format!("{:?}", table.batch.column_by_name("name").unwrap());
        assert!(text.contains("r0>r1"), "{text}");
        let none: Table = Table::new::<IoRow>(&[]).unwrap();
        assert_eq!((none.batch.num_rows(), none.batch.num_columns()), (0, 12));
    }
}
