//! Numeric functions of the language: integer and floating forms, trees, meshes, and printing of numbers.
//!
//! Integer forms truncate at every step, like the reference's C run-time library; all arithmetic is checked.

/// The reason why an expression has no value.
pub(super) type Fault = &'static str;
pub(super) type Value<T> = Result<T, Fault>;

pub(super) const DIVISION: Fault = "division by zero";
pub(super) const OVERFLOW: Fault = "integer overflow";
pub(super) const POWER: Fault = "zero to the power zero";
const DOMAIN: Fault = "function argument out of range";

pub(super) fn divide(a: i64, b: i64) -> Value<i64> {
    if b == 0 {
        Err(DIVISION)
    } else {
        a.checked_div(b).ok_or(OVERFLOW)
    }
}

/// In `[0, |b|)`.
pub(super) fn modulo(a: i64, b: i64) -> Value<i64> {
    if b == 0 {
        Err(DIVISION)
    } else {
        Ok(a.checked_rem_euclid(b).unwrap_or(0))
    }
}

/// `a` to the power `b`; a negative power is 0 unless `a` is 1 or -1.
pub(super) fn power(a: i64, b: i64) -> Value<i64> {
    match (a, b) {
        (0, ..=0) => Err(POWER),
        (1, _) => Ok(1),
        (-1, _) => Ok(if b % 2 == 0 { 1 } else { -1 }),
        (_, ..0) => Ok(0),
        (0, _) => Ok(0),
        _ => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)).ok_or(OVERFLOW),
    }
}

/// Shifts left by `b`; a negative `b` shifts right, with sign.
pub(super) fn shift_left(a: i64, b: i64) -> i64 {
    match b {
        64.. => 0,
        0..64 => a << b,
        -63..0 => a >> -b,
        _ => a >> 63,
    }
}

pub(super) fn shift_right(a: i64, b: i64) -> i64 {
    shift_left(a, b.checked_neg().unwrap_or(i64::MAX))
}

/// Number of bits of `x`: 0 for 0, 64 for a negative number.
pub(super) fn bits(x: i64) -> i64 {
    i64::from(64 - (x as u64).leading_zeros())
}

/// Largest r with r^n <= x.
pub(super) fn root(n: i64, x: i64) -> Value<i64> {
    if n <= 0 || x < 0 {
        return Err(DOMAIN);
    }
    if n == 1 || x <= 1 {
        return Ok(x);
    }
    let n = u32::try_from(n).unwrap_or(u32::MAX).min(64);
    let within = |r: i64| r.checked_pow(n).is_some_and(|power| power <= x);
    let (mut low, mut high) = (1, 1 << (63 / n.min(63) + 1).min(62));
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if within(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

pub(super) fn log10(x: i64) -> Value<i64> {
    if x <= 0 { Err(DOMAIN) } else { Ok(i64::from(x.ilog10())) }
}

/// The leading digit, and zeros.
pub(super) fn factor10(x: i64) -> i64 {
    match x.checked_abs() {
        None => -9_000_000_000_000_000_000,
        Some(0) => 0,
        Some(size) => {
            let scale = 10i64.pow(size.ilog10());
            x / scale * scale
        }
    }
}

pub(super) fn float_factor10(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let scale = 10f64.powf(x.abs().log10().floor());
    (x / scale).trunc() * scale
}

fn arity(k: i64) -> Value<i64> {
    if k < 1 { Err(DOMAIN) } else { Ok(k) }
}

pub(super) fn tree_parent(task: i64, k: i64) -> Value<i64> {
    let k = arity(k)?;
    Ok(if task <= 0 { -1 } else { (task - 1) / k })
}

pub(super) fn tree_child(task: i64, child: i64, k: i64) -> Value<i64> {
    let k = arity(k)?;
    if child < 0 || child >= k {
        return Ok(-1);
    }
    task.checked_mul(k)
        .and_then(|first| first.checked_add(child + 1))
        .ok_or(OVERFLOW)
}

/// `task` without its most significant digit in base `k`.
pub(super) fn knomial_parent(task: i64, k: i64, n: i64) -> Value<i64> {
    if k < 2 {
        return Err(DOMAIN);
    }
    if task <= 0 || task >= n {
        return Ok(-1);
    }
    let mut scale = 1i64;
    while task / scale >= k {
        scale *= k;
    }
    Ok(task % scale)
}

/// The levels at which `task` has children in a `k`-nomial tree of `n` tasks, in order: the place value of the child's
/// additional digit, and the number of children. Child `d` is `task + d * worth`, for d from 1.
fn knomial_levels(task: i64, k: i64, n: i64) -> Value<impl Iterator<Item = (i64, i64)>> {
    if k < 2 {
        return Err(DOMAIN);
    }
    let mut worth = 1i64;
    if (0..n).contains(&task) {
        while worth <= task {
            worth = worth.checked_mul(k).ok_or(OVERFLOW)?;
        }
    }
    // The largest increment that stays within the tree.
    let room = if (0..n).contains(&task) { n - 1 - task } else { 0 };
    let worths = std::iter::successors(Some(worth), move |worth| worth.checked_mul(k));
    Ok(worths
        .map(move |worth| (worth, (room / worth).min(k - 1)))
        .take_while(|&(_, count)| count > 0))
}

/// Number of children of `task`; -1 for a task outside the tree.
pub(super) fn knomial_children(task: i64, k: i64, n: i64) -> Value<i64> {
    let count = knomial_levels(task, k, n)?.map(|(_, count)| count).sum();
    Ok(if (0..n).contains(&task) { count } else { -1 })
}

/// Child `index` of `task`; -1 if absent.
pub(super) fn knomial_child(task: i64, index: i64, k: i64, n: i64) -> Value<i64> {
    let mut left = index;
    if index < 0 {
        return Ok(-1);
    }
    for (worth, count) in knomial_levels(task, k, n)? {
        if left < count {
            return Ok(task + (left + 1) * worth);
        }
        left -= count;
    }
    Ok(-1)
}

/// A mesh or torus of one to three dimensions.
#[derive(Clone, Copy)]
pub(super) struct Mesh {
    pub extents: [i64; 3],
    pub wraps: [bool; 3],
}

impl Mesh {
    fn size(&self) -> Value<i64> {
        let [x, y, z] = self.extents;
        if x < 1 || y < 1 || z < 1 {
            return Ok(0);
        }
        x.checked_mul(y).and_then(|xy| xy.checked_mul(z)).ok_or(OVERFLOW)
    }

    /// The coordinates of `task`; `None` outside the mesh.
    pub(super) fn place(&self, task: i64) -> Value<Option<[i64; 3]>> {
        if task < 0 || task >= self.size()? {
            return Ok(None);
        }
        let [x, y, _] = self.extents;
        Ok(Some([task % x, task / x % y, task / x / y]))
    }

    pub(super) fn coordinate(&self, task: i64, axis: i64) -> Value<i64> {
        if !(0..3).contains(&axis) {
            return Err("coordinate of a mesh other than 0, 1, 2");
        }
        Ok(self.place(task)?.map_or(-1, |place| place[axis as usize]))
    }

    pub(super) fn neighbor(&self, task: i64, offsets: [i64; 3]) -> Value<i64> {
        let Some(place) = self.place(task)? else { return Ok(-1) };
        let mut at = [0; 3];
        for axis in 0..3 {
            let extent = self.extents[axis];
            let moved = place[axis].checked_add(offsets[axis]).ok_or(OVERFLOW)?;
            at[axis] = if self.wraps[axis] {
                moved.rem_euclid(extent)
            } else {
                moved
            };
            if !(0..extent).contains(&at[axis]) {
                return Ok(-1);
            }
        }
        Ok(at[0] + self.extents[0] * (at[1] + self.extents[1] * at[2]))
    }

    pub(super) fn distance(&self, from: i64, to: i64) -> Value<i64> {
        let (Some(from), Some(to)) = (self.place(from)?, self.place(to)?) else {
            return Ok(-1);
        };
        let mut total = 0;
        for axis in 0..3 {
            let way = (from[axis] - to[axis]).abs();
            total += if self.wraps[axis] {
                way.min(self.extents[axis] - way)
            } else {
                way
            };
        }
        Ok(total)
    }
}

/// To the nearest integer, halves away from zero.
pub(super) fn to_int(x: f64) -> Value<i64> {
    let rounded = x.round();
    if (-9.223_372_036_854_776e18..9.223_372_036_854_776e18).contains(&rounded) {
        Ok(rounded as i64)
    } else {
        Err("a number that is not finite or does not fit into 64 bits")
    }
}

/// `x` as printed by `%.10lg` in C.
pub fn print(x: f64) -> String {
    if x.is_nan() {
        return if x.is_sign_negative() { "-nan" } else { "nan" }.into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.into();
    }
    if x == 0.0 {
        return if x.is_sign_negative() { "-0" } else { "0" }.into();
    }
    let scientific = format!("{x:.9e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| -> String {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').into()
        } else {
            text.into()
        }
    };
    if (-4..10).contains(&exponent) {
        trim(&format!("{x:.*}", (9 - exponent) as usize))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trim(digits), exponent.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_the_largest_whose_power_fits() {
        for n in 1..66 {
            for x in [0, 1, 2, 3, 7, 8, 9, 99, 100, 12345, i64::MAX] {
                let r = root(n, x).unwrap();
                let pow = |r: i64| (0..n).try_fold(1i64, |p, _| p.checked_mul(r));
                assert!(pow(r).is_some_and(|p| p <= x) || x == 0, "{n} {x} {r}");
                assert!(n == 1 || pow(r + 1).is_none_or(|p| p > x), "{n} {x} {r}");
            }
        }
    }

    /// Children by definition: `task` with one more leading digit in base `k`.
    #[test]
    fn children_in_trees_have_their_parent_and_are_counted() {
        for k in 2..6 {
            for n in [1, 2, 7, 16, 40] {
                for task in 0..n {
                    let children: Vec<i64> = (0..n).filter(|&c| knomial_parent(c, k, n) == Ok(task)).collect();
                    assert_eq!(knomial_children(task, k, n), Ok(children.len() as i64));
                    for (index, &child) in (0..).zip(&children) {
                        assert_eq!(knomial_child(task, index, k, n), Ok(child));
                    }
                    assert_eq!(knomial_child(task, children.len() as i64, k, n), Ok(-1));
                }
            }
        }
        assert_eq!(knomial_children(0, i64::MAX, i64::MAX), Ok(i64::MAX - 1));
        assert_eq!(knomial_child(0, i64::MAX - 2, i64::MAX, i64::MAX), Ok(i64::MAX - 1));
        assert_eq!(knomial_child(5, 1 << 60, 2, i64::MAX), Ok(-1));
        assert_eq!(knomial_child(9, 0, 2, 9), Ok(-1));
        assert_eq!(knomial_children(9, 2, 9), Ok(-1));
        assert_eq!(knomial_children(0, 1, 9), Err(DOMAIN));
        assert_eq!(knomial_child(0, -1, 2, 9), Ok(-1));
    }

    #[test]
    fn numbers_print_with_ten_digits_as_in_c() {
        for (x, text) in [
            (0.25, "0.25"),
            (38.0, "38"),
            (1.0 / 3.0, "0.3333333333"),
            (1e6, "1000000"),
            (1e10, "1e+10"),
            (9_999_999_999.0, "9999999999"),
            (123_456_789_012.0, "1.23456789e+11"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (-12.0, "-12"),
        ] {
            assert_eq!(print(x), text);
        }
    }

    #[test]
    fn shifts_by_any_count_are_defined() {
        assert_eq!(shift_left(-7, -1), -4);
        assert_eq!(shift_left(1, 64), 0);
        assert_eq!(shift_right(-1, 100), -1);
        assert_eq!(shift_right(5, i64::MIN), 0);
    }
}
