//! The tests of the fabric: one binary, as each would be linked with a copy of everything.

mod adaptive;
mod arbitration;
mod blame;
mod common;
mod congestion;
mod conservation;
mod deadlock;
mod families;
mod features;
mod flows;
mod knowledge;
mod lookahead;
mod lost_time;
mod mixed;
mod order;
mod pipelined;
mod pipelined_lost_time;
mod reference_pipeline;
mod reference_router;
mod send_queues;
mod snapshot;
mod stall;
mod statistics;
mod throughput;
mod traffic_classes;
mod zero_load;
