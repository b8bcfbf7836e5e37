//! The tables that a run leaves behind.
//!
//! A table is defined once, by the function that builds it from its rows ([`tables`]): names, units, types
//! and documentation stand next to the values. The reference page is made by building every table from
//! no rows ([`table_docs`]), so it cannot drift.

mod blame;
mod collect;
mod logs;
mod rows;
mod table;
mod tables;

pub use blame::{BlameRow, BlameSeriesRow};
pub use collect::collect;
pub use rows::{
    IoRow, IterationRow, JobRow, LatencyBucket, LinkRow, MessageRow, RankRow, RouterRow, Rows, SeriesRow, ServerRow,
};
pub use table::{Column, ColumnData, Table};
pub use tables::tables;

/// All tables with their columns, for the reference page: name, documentation, columns with name, type,
/// unit and documentation.
pub fn table_docs() -> serde_json::Value {
    let describe = |column: &Column| {
        serde_json::json!({
            "name": column.name,
            "type": column.data.type_name(),
            "unit": column.unit,
            "doc": column.doc,
        })
    };
    tables(&Rows::default())
        .iter()
        .map(|table| {
            serde_json::json!({
                "table": table.name,
                "doc": table.doc,
                "columns": table.columns.iter().map(describe).collect::<Vec<_>>(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_names_are_unique_and_times_carry_their_unit() {
        for table in tables(&Rows::default()) {
            let mut names: Vec<_> = table.columns.iter().map(|column| column.name).collect();
            names.sort_unstable();
            let n = names.len();
            names.dedup();
            assert_eq!(names.len(), n, "{}", table.name);
            for column in &table.columns {
                assert!(!column.doc.is_empty(), "{}.{}", table.name, column.name);
                let seconds = column.name.ends_with("_s") && !column.name.ends_with("_per_s");
                assert_eq!(seconds, column.unit == "s", "{}.{}", table.name, column.name);
            }
        }
    }
}
