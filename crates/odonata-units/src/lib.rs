//! Quantities with units.
//!
//! Inside the simulator every quantity is a newtype over one machine word in one unit, so that
//! a bandwidth cannot be added to a size and GiB is never mistaken for GB:
//!
//! | type | unit | stored as |
//! |---|---|---|
//! | [`Time`] | picoseconds | `u64` (213 days of simulated time) |
//! | [`Bytes`] | bytes | `u64` |
//! | [`Bandwidth`] | bytes per second | `f64` |

mod bandwidth;
mod bytes;
mod time;

pub use bandwidth::Bandwidth;
pub use bytes::Bytes;
pub use time::Time;
