//! Workloads.

pub mod collective;
mod op;
mod program;

pub use op::{After, Collective, Comm, Op, OpId, OpKind, Request, Source, Tag};
pub use program::{Cursor, Program, operations};
