//! Linear least squares of a few parameters, by modified Gram-Schmidt (A. Bjorck, "Solving linear least squares problems by
//! Gram-Schmidt orthogonalization", BIT 1967).

/// The result of a fit.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    /// The parameters.
    Solved(Vec<f64>),
    /// Columns that the rows cannot separate.
    Undetermined(Vec<usize>),
}

/// Relative remainder of a column after projection, below which it depends on the preceding columns. Measurements have
/// three or four digits: the sixth is noise.
const SAME: f64 = 1e-6;

/// The `x` that minimizes `|A x - 1|`, for a matrix of rows.
pub(super) fn least_squares(rows: &[Vec<f64>]) -> Outcome {
    let count = rows.first().map_or(0, Vec::len);
    let column = |j: usize| rows.iter().map(|row| row[j]).collect::<Vec<f64>>();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut target = vec![1.0; rows.len()];
    let (mut basis, mut upper, mut right) = (Vec::<Vec<f64>>::new(), Vec::<Vec<f64>>::new(), Vec::new());
    for j in 0..count {
        let mut left = column(j);
        let whole = dot(&left, &left).sqrt();
        let mut factors = Vec::new();
        for unit in &basis {
            let factor = dot(unit, &left);
            left.iter_mut()
                .zip(unit)
                .for_each(|(entry, unit)| *entry -= factor * unit);
            factors.push(factor);
        }
        let length = dot(&left, &left).sqrt();
        if length <= SAME * whole {
            // Coefficients of the dependent column, by back substitution.
            let mut share = factors.clone();
            for k in (0..share.len()).rev() {
                share[k] /= upper[k][k];
                for i in 0..k {
                    share[i] -= upper[k][i] * share[k];
                }
            }
            let parts = |k: &usize| share[*k].abs() * dot(&column(*k), &column(*k)).sqrt() > SAME * whole;
            let mut among: Vec<usize> = (0..j).filter(parts).collect();
            among.push(j);
            return Outcome::Undetermined(among);
        }
        left.iter_mut().for_each(|entry| *entry /= length);
        let projected = dot(&left, &target);
        target
            .iter_mut()
            .zip(&left)
            .for_each(|(entry, unit)| *entry -= projected * unit);
        factors.push(length);
        basis.push(left);
        upper.push(factors);
        right.push(projected);
    }
    for k in (0..count).rev() {
        right[k] /= upper[k][k];
        for i in 0..k {
            right[i] -= upper[k][i] * right[k];
        }
    }
    Outcome::Solved(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_agree_are_solved_exactly() {
        // 2 x + 3 y = 1 and 4 x - y = 1: x = 4/14, y = 2/14.
        let Outcome::Solved(solution) = least_squares(&[vec![2.0, 3.0], vec![4.0, -1.0]]) else {
            panic!("it can be solved");
        };
        assert!((solution[0] - 4.0 / 14.0).abs() < 1e-12 && (solution[1] - 2.0 / 14.0).abs() < 1e-12);
    }

    #[test]
    fn rows_that_differ_give_the_least_squares() {
        // |a x - 1| for a = 1, 2, 3 is minimal at sum a / sum a^2.
        let rows = [1.0, 2.0, 3.0].map(|a| vec![a]);
        let Outcome::Solved(solution) = least_squares(&rows) else {
            panic!("it can be solved");
        };
        assert!((solution[0] - 6.0 / 14.0).abs() < 1e-12);
    }

    #[test]
    fn columns_that_are_sums_of_others_are_named() {
        let rows = [[1.0, 5.0, 2.0], [1.0, 7.0, 2.0], [1.0, 4.0, 2.0]].map(Vec::from);
        assert_eq!(least_squares(&rows), Outcome::Undetermined(vec![0, 2]));
        assert_eq!(least_squares(&[vec![1.0, 2.0]]), Outcome::Undetermined(vec![0, 1]));
    }
}
