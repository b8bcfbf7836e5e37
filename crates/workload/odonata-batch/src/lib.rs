//! A batch queue over days, and the contention of the jobs that run together.
//!
//! [`Batch`] handles submissions, starts, phases, ends and failures in the order of time. [`policy`] decides which
//! waiting job starts, [`pool`] on which nodes. [`Contention`] computes the speeds of running jobs from the loads of
//! links, which a machine states through [`LinkLoads`]; a slower job ends later, and so does the queue behind it.
//!
//! Read [`job`], [`settings`], then [`batch`]. Times are whole microseconds; work is seconds of a job's run time without
//! contention.

pub mod batch;
pub mod contention;
mod dependencies;
mod filling;
pub mod job;
mod link_use;
mod lost;
mod meeting;
pub mod policy;
pub mod pool;
pub mod record;
pub mod settings;
mod sharing;
mod timetable;
mod usage;

pub use batch::Batch;
pub use contention::{Contention, LinkLoads};
pub use job::{Demand, Job, Micros, Outcome, Phase, SECOND};
pub use link_use::{ClassLoad, LinkBytes, LinkLoadSeries};
pub use lost::Lost;
pub use record::{JobRecord, Moment, MomentJob, SeriesPoint};
pub use settings::{Failure, Limits, Order, Placement, Policy, Reservation, Settings};
pub use sharing::TrafficClass;
