//! A row of a table: one structure whose fields are the columns, each with its unit and its description.
//!
//! [`row!`] declares the structure; the columns of the table, their Arrow types and the reference page derive from it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};

/// The metadata of a column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name, with the unit as suffix if it has one.
    pub name: &'static str,
    /// The unit: `s`, `bytes`, `bytes/s`, or empty.
    pub unit: &'static str,
    /// What it says.
    pub doc: &'static str,
    /// The type of its values.
    pub data_type: DataType,
    /// The name of that type in Arrow's libraries.
    pub type_name: &'static str,
}

/// A row of a table.
pub trait Row: Sized {
    /// Name of the table; its file is `NAME.parquet`.
    const TABLE: &'static str;
    /// The description of a row.
    const DOC: &'static str;
    /// The columns, in the order of the fields.
    const COLUMNS: &'static [Column];

    /// The values of `rows`, an array per column.
    ///
    /// # Errors
    /// The texts of a column are more than 2 GiB.
    fn arrays(rows: &[Self]) -> Result<Vec<ArrayRef>, ArrowError>;
}

/// The type of a field of a row.
pub(super) trait Value {
    const TYPE: DataType;
    const NAME: &'static str;

    /// The array of `count` values. The value function is not a type parameter: each of the 350 columns would compile a
    /// copy of Arrow's loops.
    fn array<'a>(count: usize, value: &dyn Fn(usize) -> &'a Self) -> Result<ArrayRef, ArrowError>;
}

macro_rules! number {
    ($type:ty, $array:ty, $data_type:ident, $name:literal) => {
        impl Value for $type {
            const TYPE: DataType = DataType::$data_type;
            const NAME: &'static str = $name;

            fn array<'a>(count: usize, value: &dyn Fn(usize) -> &'a Self) -> Result<ArrayRef, ArrowError> {
                Ok(Arc::new(<$array>::from_iter_values(
                    (0..count).map(|at| *value(at)),
                )))
            }
        }
    };
}

number!(f64, Float64Array, Float64, "float64");
number!(u64, UInt64Array, UInt64, "uint64");
// -1: does not apply.
number!(i64, Int64Array, Int64, "int64");

macro_rules! text {
    ($type:ty) => {
        impl Value for $type {
            const TYPE: DataType = DataType::Utf8;
            const NAME: &'static str = "string";

            fn array<'a>(count: usize, value: &dyn Fn(usize) -> &'a Self) -> Result<ArrayRef, ArrowError> {
                texts((0..count).map(|at| &**value(at)))
            }
        }
    };
}

text!(String);
text!(&'static str);

/// Texts have 32-bit offsets in Arrow.
fn texts<'a>(values: impl Iterator<Item = &'a str> + Clone) -> Result<ArrayRef, ArrowError> {
    let (count, bytes) = values
        .clone()
        .fold((0, 0), |(n, bytes), text| (n + 1, bytes + text.len()));
    if i32::try_from(bytes).is_err() {
        return Err(ArrowError::OffsetOverflowError(bytes));
    }
    let mut builder = StringBuilder::with_capacity(count, bytes);
    values.for_each(|text| builder.append_value(text));
    Ok(Arc::new(builder.finish()))
}

/// Declares a structure of public fields as the row of the named table. The doc comment of a field is the description
/// of the column; `#[unit = "s"]` is its unit.
macro_rules! row {
    (
        $(#[doc = $about:literal])+
        $table:literal => pub struct $Row:ident {
            $(
                $(#[doc = $doc:literal])+
                $(#[unit = $unit:literal])?
                $field:ident: $type:ty,
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, Default)]
        pub struct $Row {
            $($(#[doc = $doc])+ pub $field: $type,)+
        }

        impl $crate::results::row::Row for $Row {
            const TABLE: &'static str = $table;
            const DOC: &'static str = concat!($($about),+).trim_ascii();
            const COLUMNS: &'static [$crate::results::row::Column] = &[$(
                $crate::results::row::Column {
                    name: stringify!($field),
                    unit: concat!("", $($unit)?),
                    doc: concat!($($doc),+).trim_ascii(),
                    data_type: <$type as $crate::results::row::Value>::TYPE,
                    type_name: <$type as $crate::results::row::Value>::NAME,
                },
            )+];

            fn arrays(rows: &[Self]) -> Result<Vec<arrow_array::ArrayRef>, arrow_schema::ArrowError> {
                Ok(vec![$(
                    <$type as $crate::results::row::Value>::array(rows.len(), &|at| &rows[at].$field)?,
                )+])
            }
        }
    };
}
pub(super) use row;

/// The metadata that describes a column or table.
fn described(doc: &str) -> (String, String) {
    ("description".to_owned(), doc.to_owned())
}

/// A table in memory, ready for Parquet.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name; the file is `NAME.parquet`.
    pub name: &'static str,
    /// The columns, with unit and description as metadata.
    pub batch: RecordBatch,
}

impl Table {
    /// The table of `rows`.
    ///
    /// # Errors
    /// Those of [`Row::arrays`].
    pub(super) fn new<R: Row>(rows: &[R]) -> Result<Table, ArrowError> {
        let field = |column: &Column| {
            let mut metadata = HashMap::from([described(column.doc)]);
            if !column.unit.is_empty() {
                metadata.insert("unit".to_owned(), column.unit.to_owned());
            }
            Field::new(column.name, column.data_type.clone(), false).with_metadata(metadata)
        };
        let schema = Schema::new(R::COLUMNS.iter().map(field).collect::<Vec<_>>())
            .with_metadata(HashMap::from([described(R::DOC)]));
        Ok(Table {
            name: R::TABLE,
            batch: RecordBatch::try_new(Arc::new(schema), R::arrays(rows)?)?,
        })
    }
}
