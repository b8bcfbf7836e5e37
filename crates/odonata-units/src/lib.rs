//! Quantities with units.
//!
//! Inside the simulator every quantity is a newtype over one machine word in one unit, so that
//! a bandwidth cannot be added to a size and GiB is never mistaken for GB:
//!
//! | type | unit | stored as | written as |
//! |---|---|---|---|
//! | [`Time`] | picoseconds | `u64` (213 days of simulated time) | `"30 ns"`, `"1.419 ns"`, `"129 ms"` |
//! | [`Bytes`] | bytes | `u64` | `"8 KiB"`, `"4 MB"`, `"128 B"` |
//! | [`Bandwidth`] | bytes per second | `f64` | `"5.25 GiB/s"`, `"100 Gbit/s"` |
//! | [`PerByte`] | picoseconds per byte | `f64` | `"0.55 ns/B"` |
//! | [`WallTime`] | seconds of the user's time | `f64` | `"10 min"` |
//!
//! At the boundary a quantity is a string of a number and a unit, see [`UnitError`] for what is
//! refused. A bare number is refused too: whoever reads the file should not have to look up its unit.

mod bandwidth;
mod bytes;
mod per_byte;
mod quantity;
mod serde_form;
mod time;
mod wall_time;

pub use bandwidth::Bandwidth;
pub use bytes::Bytes;
pub use per_byte::PerByte;
pub use quantity::UnitError;
pub use time::Time;
pub use wall_time::WallTime;
