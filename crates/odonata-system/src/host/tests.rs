//! Tests of the hosts as a whole.
