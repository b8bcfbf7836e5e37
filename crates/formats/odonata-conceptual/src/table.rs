//! Tables of numbers in files: FILE_DATA.

use super::functions::Value;

/// The cells of a file.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<f64>>,
}

impl Table {
    /// Parses `text`; columns and rows are separated by these strings, or by white space and line ends. A cell that is
    /// not a number is NaN, which is an error only when read.
    pub(super) fn new(text: &str, separators: &[String]) -> Table {
        let cell = |cell: &str| {
            let cell = cell.trim();
            super::lexer::signed_number(cell).map_or_else(|| cell.parse().unwrap_or(f64::NAN), |value| value as f64)
        };
        let columns = separators.first().filter(|separator| !separator.is_empty());
        let rows: Vec<&str> = match separators.get(1).filter(|separator| !separator.is_empty()) {
            Some(separator) => text.split(separator.as_str()).collect(),
            None => text.lines().collect(),
        };
        let rows = rows.into_iter().filter(|row| !row.trim().is_empty());
        Table {
            rows: rows
                .map(|row| match columns {
                    Some(separator) => row.split(separator.as_str()).map(cell).collect(),
                    None => row.split_whitespace().map(cell).collect(),
                })
                .collect(),
        }
    }

    /// The cell at `column` and `row`, both from 1; negative numbers count from the end.
    pub(super) fn cell(&self, column: i64, row: i64) -> Value<f64> {
        fn pick<T>(list: &[T], number: i64) -> Option<&T> {
            match number {
                1.. => list.get(usize::try_from(number - 1).ok()?),
                0 => None,
                _ => list
                    .len()
                    .checked_sub(usize::try_from(number.unsigned_abs()).ok()?)
                    .map(|at| &list[at]),
            }
        }
        let cell = pick(&self.rows, row).and_then(|row| pick(row, column));
        match cell {
            None => Err("a cell outside the file"),
            Some(value) if value.is_nan() => Err("a cell of the file that is not a number"),
            Some(value) => Ok(*value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_count_from_one_and_from_the_end() {
        let table = Table::new("1 2 3\n4K 5 x\n", &[]);
        assert_eq!(table.cell(1, 1), Ok(1.0));
        assert_eq!(table.cell(-3, -1), Ok(4096.0));
        assert!(table.cell(0, 1).is_err() && table.cell(3, 2).is_err() && table.cell(i64::MIN, 9).is_err());
        let table = Table::new("1,2;3,4", &[",".into(), ";".into()]);
        assert_eq!(table.cell(2, 2), Ok(4.0));
    }
}
