//! Streams that no tracer has written: record types and versions that real traces lack, and hostile ones.

mod hostile;
mod layouts;
mod meaning;
mod writer;
