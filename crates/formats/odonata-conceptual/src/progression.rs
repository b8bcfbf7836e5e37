//! Lists with an ellipsis: `{1, 2, 4, ..., 100}`.

use super::functions::Value;

/// The progression of a list with an ellipsis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Progression {
    /// One value.
    Constant,
    /// By this difference.
    Arithmetic(i64),
    /// By an integer ratio, up (`grow`) or down.
    Integer { ratio: i64, grow: bool },
    /// By a real ratio above 1; every value is rounded.
    Real(f64),
}

/// The progression that `starts` begin towards `end`.
///
/// One value steps by 1 towards the end; two give the difference; three or more give an arithmetic progression if all
/// differences agree, then a geometric one with an integer ratio, then with a real one.
pub(super) fn progression(starts: &[i64], end: i64) -> Value<Progression> {
    let difference = |i: usize| starts[i + 1].checked_sub(starts[i]).ok_or("integer overflow");
    if starts.len() == 1 {
        return Ok(Progression::Arithmetic(if end >= starts[0] { 1 } else { -1 }));
    }
    let first = difference(0)?;
    let mut arithmetic = true;
    for i in 1..starts.len() - 1 {
        arithmetic &= difference(i)? == first;
    }
    if arithmetic {
        return Ok(if first == 0 {
            Progression::Constant
        } else {
            Progression::Arithmetic(first)
        });
    }
    let pairs = || starts.windows(2).map(|pair| (pair[0], pair[1]));
    for grow in [true, false] {
        let (small, large) = if grow {
            (starts[0], starts[1])
        } else {
            (starts[1], starts[0])
        };
        if small == 0 || large % small != 0 {
            continue;
        }
        let ratio = large / small;
        let follows = |(a, b): (i64, i64)| match grow {
            true => a.checked_mul(ratio) == Some(b),
            false => b.checked_mul(ratio) == Some(a),
        };
        if pairs().all(follows) {
            return Ok(Progression::Integer { ratio, grow });
        }
    }
    // A real ratio: the square of each middle value must equal the product of its neighbors exactly. Values like 2, 3,
    // 5 are rounded powers of many ratios, so the choice would be a guess.
    let geometric = |of: &[i64]| i128::from(of[1]).pow(2) == i128::from(of[0]) * i128::from(of[2]);
    if starts.iter().all(|&start| start > 0) && starts[1] > starts[0] && starts.windows(3).all(geometric) {
        return Ok(Progression::Real(starts[1] as f64 / starts[0] as f64));
    }
    Err("a list that is neither an arithmetic nor a geometric progression")
}

/// Passes the values of `{starts, ..., end}` to `push`; none passes the end, none come if it is on the wrong side.
pub(super) fn expand(starts: &[i64], end: i64, mut push: impl FnMut(i64) -> Value<()>) -> Value<()> {
    let first = starts[0];
    match progression(starts, end)? {
        Progression::Constant => push(first),
        Progression::Arithmetic(step) => {
            let mut value = first;
            while if step > 0 { value <= end } else { value >= end } {
                push(value)?;
                match value.checked_add(step) {
                    Some(next) => value = next,
                    None => break,
                }
            }
            Ok(())
        }
        Progression::Integer { ratio, grow } => {
            // Away from zero, or towards it; a negative ratio alternates signs.
            let within = |value: i64| {
                let toward = if grow {
                    value.unsigned_abs() <= end.unsigned_abs()
                } else {
                    value.unsigned_abs() >= end.unsigned_abs()
                };
                toward && (ratio < 0 || (end == 0) || (value < 0) == (end < 0))
            };
            let mut value = first;
            while value != 0 && within(value) {
                push(value)?;
                let next = if grow {
                    value.checked_mul(ratio)
                } else {
                    Some(value / ratio)
                };
                match next {
                    Some(next) if next != value => value = next,
                    _ => break,
                }
            }
            Ok(())
        }
        Progression::Real(ratio) => {
            let mut value = first as f64;
            while value.round() <= end as f64 {
                push(value.round() as i64)?;
                value *= ratio;
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(starts: &[i64], end: i64) -> Vec<i64> {
        let mut out = Vec::new();
        expand(starts, end, |value| {
            out.push(value);
            Ok(())
        })
        .unwrap();
        out
    }

    #[test]
    fn lists_of_the_reference() {
        assert_eq!(list(&[2], 6), [2, 3, 4, 5, 6]);
        assert_eq!(list(&[5], 1), [5, 4, 3, 2, 1]);
        assert_eq!(list(&[7, 14], 40), [7, 14, 21, 28, 35]);
        assert_eq!(list(&[1, 2, 4], 100), [1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(list(&[3125, 625, 125], 1), [3125, 625, 125, 25, 5, 1]);
        assert_eq!(list(&[16, 24, 36], 500), [16, 24, 36, 54, 81, 122, 182, 273, 410]);
        assert_eq!(list(&[9, 12], 4), [0i64; 0]);
        assert_eq!(list(&[3, 3], 9), [3]);
        for neither in [&[64, 32, 15][..], &[2, 3, 5], &[10, 15, 23], &[1, 3, 8, 22]] {
            assert!(expand(neither, 1000, |_| Ok(())).is_err(), "{neither:?}");
        }
    }

    #[test]
    fn the_ends_of_the_integers_end_a_list() {
        assert_eq!(list(&[i64::MAX - 1], i64::MAX), [i64::MAX - 1, i64::MAX]);
        assert_eq!(list(&[1, 1000, 1_000_000], i64::MAX).len(), 7);
    }
}
