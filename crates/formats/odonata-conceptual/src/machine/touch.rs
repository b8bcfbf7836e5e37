//! The part of a memory region that each task touches, after that of the task before it.

use super::super::eval::Env;
use super::super::functions::{OVERFLOW, Value};
use super::super::ir::Touch;
use super::message::bytes;

/// The accesses of a task.
pub(super) struct Access {
    /// Bytes of the region.
    pub(super) region: u64,
    pub(super) count: u64,
    /// Bytes from one access to the next; `None` if they are random.
    pub(super) stride: Option<u64>,
    /// Bytes from the first access of a task to that of the next task.
    length: u128,
}

impl Access {
    pub(super) fn of(touch: &Touch, env: &Env) -> Value<Access> {
        let region = bytes(env, &touch.region)?;
        let positive = |value: i64| u64::try_from(value).map_err(|_| "negative memory access");
        let stride = match &touch.stride {
            Some((length, unit)) => Some(
                positive(env.int(length)?)?
                    .checked_mul(u64::from(*unit))
                    .ok_or(OVERFLOW)?,
            ),
            None => None,
        };
        let step = stride.unwrap_or(u64::from(touch.word));
        let times = positive(env.int(&touch.times)?)?;
        let each = match &touch.count {
            Some(count) => positive(env.int(count)?)?,
            None => region.checked_div(step).ok_or("a stride of zero")?,
        };
        let count = each.checked_mul(times).ok_or(OVERFLOW)?;
        Ok(Access {
            region,
            count,
            stride,
            length: u128::from(count) * u128::from(step),
        })
    }

    /// The first byte that the task after `tasks` others touches, if the first of them begins at `begin`.
    pub(super) fn start(&self, begin: u64, tasks: u32) -> u64 {
        let region = u128::from(self.region.max(1));
        ((u128::from(begin) + self.length % region * u128::from(tasks)) % region) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_follow_each_other_around_the_region_without_overflow() {
        let access = |region, length| Access {
            region,
            count: 0,
            stride: None,
            length,
        };
        let starts = [0, 1, 2, 3].map(|tasks| access(10, 7).start(2, tasks));
        assert_eq!(starts, [2, 9, 6, 3]);
        assert_eq!(access(0, 7).start(0, 3), 0, "an empty region");
        let most = u64::MAX;
        // 2^64 - 1 divides every multiple of itself.
        assert_eq!(access(most, u128::from(most) * u128::from(most)).start(5, u32::MAX), 5);
    }
}
