//! Control: traffic classes and congestion control.

mod class_scheduler;
mod congestion;
mod forwarding;
mod notification;
mod pair_windows;
mod rate_limits;

pub(crate) use class_scheduler::ClassScheduler;
pub(crate) use congestion::{Congestion, Departure, HOLD};
pub(crate) use forwarding::forward_notification;
pub(crate) use notification::{Advice, Notification};
pub(crate) use pair_windows::{Probe, ROUNDS};
