//! Control: traffic classes and congestion control.

mod class_scheduler;
mod congestion;
mod flow_table;
mod forwarding;
mod last_hop;
mod notification;
mod rate_limits;

pub(crate) use class_scheduler::ClassScheduler;
pub(crate) use congestion::{Congestion, Departure};
pub(crate) use notification::Notification;
pub(crate) use rate_limits::{HOLD, LEAST_RATE};
