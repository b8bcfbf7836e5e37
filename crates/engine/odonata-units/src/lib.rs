//! Quantities with units.
//!
//! Each quantity is a newtype over one machine word in one unit: a bandwidth cannot be added to a size, and GiB is
//! never mistaken for GB.
//!
//! | type | unit | stored as | written as |
//! |---|---|---|---|
//! | [`Time`] | picoseconds | `u64`; a run takes 2^62 of them at most (53 days) | `"30 ns"`, `"1.419 ns"`, `"129 ms"` |
//! | [`Bytes`] | bytes | `u64` | `"8 KiB"`, `"4 MB"`, `"128 B"` |
//! | [`Bandwidth`] | bytes per second | `f64` | `"5.25 GiB/s"`, `"100 Gbit/s"` |
//! | [`PerByte`] | picoseconds per byte | `f64` | `"0.55 ns/B"` |
//! | [`WallTime`] | seconds of the user's time | `f64` | `"10 min"` |
//!
//! In files and at the Python boundary, a quantity is a string with a number and a unit; [`UnitError`] lists what is
//! refused. A number without a unit is refused, too.
//!
//! The crate also has [`SplitMix64`], the random number generator of all crates, [`catch_panic`] and [`counted`]: it is the
//! only crate that all others share.

mod bandwidth;
mod bytes;
mod caught_panic;
mod counted;
mod filled;
mod name;
mod number;
mod one_or_many;
mod per_byte;
mod problem;
mod quantity;
mod serde_form;
mod split_mix;
mod time;
mod wall_time;

pub use bandwidth::Bandwidth;
pub use bytes::Bytes;
pub use caught_panic::{catch_panic, is_panic_caught};
pub use counted::counted;
pub use filled::Filled;
pub use name::check_name;
pub use number::Number;
pub use one_or_many::{ONE_OR_MANY, OneOrMany};
pub use per_byte::PerByte;
pub use problem::{Problem, positive, within};
pub use quantity::UnitError;
pub use split_mix::{GOLDEN_GAMMA, SplitMix64, mix64};
pub use time::Time;
pub use wall_time::WallTime;
