//! The whole machine: from a scenario file to a finished run.
//!
//! [`scenario`] reads, merges and checks what the user wrote; [`placement`] gives ranks their nodes
//! and nodes their storage servers.

pub mod host;
pub mod placement;
pub mod scenario;
