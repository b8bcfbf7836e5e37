//! Control: traffic classes and congestion control.

mod class_scheduler;
mod congestion;
mod rate_limits;

pub(crate) use class_scheduler::ClassScheduler;
pub(crate) use congestion::{Congestion, Departure, HOLD, Notification};
