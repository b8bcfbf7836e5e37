//! Programs as files: every operation of every rank, in a folder with Parquet tables.
//!
//! ```text
//!  any Program ── write ──> NAME.program/            ── ProgramFile ──> Program
//!                             program.json             format, number of ranks, ...
//!                             operations.parquet       in the order of rank, then operation
//!                             communicators.parquet    members
//!                             counts.parquet           sizes that differ from rank to rank
//! ```
//!
//! `row` converts operations to rows and back; docs/program-format.md lists all columns. Writing streams the operations
//! and holds one row group; reading checks all tables once and then holds the parts around the current position of the
//! ranks. The input is hostile: `source` and `pages` bound the decoded size, and every value is checked when a program
//! is opened.
//!
//! ```
//! use odonata_program_file::{Options, ProgramFile, write};
//! use odonata_workload::skeletons::{Stencil, StencilParams};
//! use odonata_workload::{Program, operations};
//!
//! let stencil = Stencil::new(8, StencilParams { iterations: 2, ..StencilParams::default() })?;
//! let folder = std::env::temp_dir().join(format!("stencil-{}.program", std::process::id()));
//! write(&stencil, &folder, &Options::default(), &mut |_, _| true)?;
//! let same = ProgramFile::open(&folder, 1.0)?;
//! assert!(operations(&stencil, 3).eq(operations(&same, 3)));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod communicators;
mod error;
mod format;
mod lists;
mod operations;
mod pages;
mod rank_rows;
mod read;
mod row;
mod rows_out;
mod source;
mod table;
mod write;

pub use error::{Fault, FileError};
pub use format::ProgramFolder;
pub use lists::Sizes;
pub use read::{Contents, Description, ProgramFile};
pub use row::{Field, MOST_COMM, MOST_COUNTS, Numbers, from_row, is_collective, kind_names, known_kind, to_row};
pub use write::{Options, Progress, write};

/// The name of the format in `program.json`.
pub const FORMAT: &str = "odonata-program";
/// The version of the format.
pub const VERSION: u32 = 1;
/// The file that describes the program.
pub const DESCRIPTION: &str = "program.json";
/// The table of operations.
pub const OPERATIONS: &str = "operations.parquet";
/// The table of communicators.
pub const COMMUNICATORS: &str = "communicators.parquet";
/// The table of sizes.
pub const COUNTS: &str = "counts.parquet";
