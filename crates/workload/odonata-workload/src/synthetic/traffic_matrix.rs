//! Traffic matrices from CSV files: the probability of each destination per rank.
//!
//! A header with the columns `source`, `target` and `weight`, in any order and among others; a row gives one pair of
//! ranks. Rank `s` sends to `t` with probability `w(s, t) / sum over t of w(s, t)`.

use std::path::Path;
use std::sync::Arc;

use crate::read_regular;

/// Longest file, in bytes.
const LONGEST: u64 = 256 << 20;

const COLUMNS: [&str; 3] = ["source", "target", "weight"];

/// The weights of a traffic matrix, by source.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficMatrix {
    /// Start of each source's targets, and the total.
    first: Arc<[u32]>,
    /// Each target, and the end of its interval among all 64-bit numbers of its source.
    targets: Arc<[(u32, u64)]>,
}

impl TrafficMatrix {
    /// The matrix of `ranks` ranks in the CSV file at `path`.
    ///
    /// # Errors
    /// The file cannot be read or has a bad row, reported with its line; no pair has a weight.
    pub fn read(path: &Path, ranks: u32) -> Result<TrafficMatrix, String> {
        let whole = || -> Result<TrafficMatrix, String> {
            let bytes = read_regular(path, LONGEST).map_err(|cause| format!("it cannot be read: {cause}"))?;
            let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_string())?;
            TrafficMatrix::parse(&text, ranks)
        };
        whole().map_err(|problem| format!("the traffic matrix {}: {problem}", path.display()))
    }

    /// The matrix in the text of a CSV file.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn parse(text: &str, ranks: u32) -> Result<TrafficMatrix, String> {
        let mut lines = (1..).zip(text.lines());
        let header: Vec<&str> = lines
            .next()
            .map_or("", |(_, line)| line)
            .split(',')
            .map(str::trim)
            .collect();
        let mut columns = [0; 3];
        for (column, name) in columns.iter_mut().zip(COLUMNS) {
            *column = header
                .iter()
                .position(|title| *title == name)
                .ok_or_else(|| format!("line 1: no column \"{name}\", expected source, target and weight"))?;
        }
        let mut pairs: Vec<(u32, u32, f64, u32)> = Vec::new();
        for (line, row) in lines.filter(|(_, row)| !row.trim().is_empty()) {
            let fields: Vec<&str> = row.split(',').map(str::trim).collect();
            if fields.len() != header.len() {
                return Err(format!(
                    "line {line}: {} fields, the header has {}",
                    fields.len(),
                    header.len()
                ));
            }
            let field = |column: usize| fields[columns[column]];
            let shown = |column: usize| -> String { field(column).chars().take(40).collect() };
            let rank = |column: usize| match field(column).parse::<u32>() {
                Ok(rank) if rank < ranks => Ok(rank),
                _ => Err(format!(
                    "line {line}: the {} is {:?}, expected a rank, 0 to {}",
                    COLUMNS[column],
                    shown(column),
                    ranks.saturating_sub(1)
                )),
            };
            let weight = match field(2).parse::<f64>() {
                Ok(weight) if (0.0..=1e300).contains(&weight) => weight,
                _ => {
                    let shown = shown(2);
                    return Err(format!(
                        "line {line}: the weight is {shown:?}, expected a number of at least 0"
                    ));
                }
            };
            pairs.push((rank(0)?, rank(1)?, weight, line));
        }
        pairs.sort_by_key(|&(source, target, _, line)| (source, target, line));
        if let Some(twice) = pairs
            .windows(2)
            .find(|two| (two[0].0, two[0].1) == (two[1].0, two[1].1))
        {
            let (source, target, _, line) = twice[1];
            return Err(format!(
                "line {line}: {source} to {target} is repeated, first on line {}",
                twice[0].3
            ));
        }
        pairs.retain(|&(_, _, weight, _)| weight > 0.0);
        if pairs.is_empty() {
            return Err("no pair of ranks has a weight above 0".into());
        }
        let mut first = vec![0; ranks as usize + 1];
        let mut targets = Vec::with_capacity(pairs.len());
        for row in pairs.chunk_by(|a, b| a.0 == b.0) {
            // Scaled, so that no sum is infinite.
            let largest = row.iter().map(|pair| pair.2).fold(0.0, f64::max);
            let total: f64 = row.iter().map(|pair| pair.2 / largest).sum();
            let mut sum = 0.0;
            for &(source, target, weight, _) in row {
                sum += weight / largest;
                targets.push((target, (sum / total * 2f64.powi(64)) as u64));
                first[source as usize + 1] = targets.len() as u32;
            }
        }
        for source in 0..ranks as usize {
            first[source + 1] = first[source + 1].max(first[source]);
        }
        Ok(TrafficMatrix {
            first: first.into(),
            targets: targets.into(),
        })
    }

    /// The targets of `source`, with the ends of their intervals.
    fn row(&self, source: u32) -> &[(u32, u64)] {
        let at = source as usize;
        match (self.first.get(at), self.first.get(at + 1)) {
            (Some(&from), Some(&to)) => &self.targets[from as usize..to as usize],
            _ => &[],
        }
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        (self.first.len() as u32).saturating_sub(1)
    }

    /// Whether `source` sends.
    pub fn sends(&self, source: u32) -> bool {
        !self.row(source).is_empty()
    }

    /// A rank that sends to itself, if any.
    pub fn itself(&self) -> Option<u32> {
        (0..self.ranks()).find(|&rank| self.row(rank).iter().any(|&(target, _)| target == rank))
    }

    /// Destination of `source` by 64 random bits; 0 if it sends nothing.
    #[inline]
    pub fn destination(&self, source: u32, draw: u64) -> u32 {
        let row = self.row(source);
        let place = row.partition_point(|&(_, end)| end <= draw);
        row.get(place).or(row.last()).map_or(0, |&(target, _)| target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::tests::draws;

    #[test]
    fn targets_are_drawn_by_their_weights() {
        let matrix = TrafficMatrix::parse("weight,source,target\n1,0,1\n3,0,2\n0,0,3\n5,2,0\n", 4).unwrap();
        let mut counts = [0u32; 4];
        for draw in draws().take(40_000) {
            counts[matrix.destination(0, draw) as usize] += 1;
            assert_eq!(matrix.destination(2, draw), 0);
        }
        // 10,000 and 30,000, standard deviation sqrt(40,000 x 3/16) = 87.
        assert!(
            counts[0] == 0 && counts[3] == 0 && counts[1].abs_diff(10_000) < 450,
            "{counts:?}"
        );
        assert_eq!(
            [0, 1, 2, 3, 4].map(|rank| matrix.sends(rank)),
            [true, false, true, false, false]
        );
        assert_eq!((matrix.ranks(), matrix.itself()), (4, None));
        assert_eq!(
            TrafficMatrix::parse("source,target,weight\n1,1,2", 2).unwrap().itself(),
            Some(1)
        );
        // Weights whose sum overflows.
        let huge = TrafficMatrix::parse("source,target,weight\n0,1,1e300\n0,2,1e300", 3).unwrap();
        assert_eq!([0, u64::MAX].map(|draw| huge.destination(0, draw)), [1, 2]);
    }

    #[test]
    fn bad_rows_are_named_by_their_lines() {
        let error = |text: &str| TrafficMatrix::parse(text, 4).unwrap_err();
        let rows = |rows: &str| error(&format!("source,target,weight\n{rows}"));
        assert_eq!(
            error("source,weight\n"),
            "line 1: no column \"target\", expected source, target and weight"
        );
        assert_eq!(rows("0,1\n"), "line 2: 2 fields, the header has 3");
        assert_eq!(
            rows("0,1,1\n\n4,1,1\n"),
            "line 4: the source is \"4\", expected a rank, 0 to 3"
        );
        assert_eq!(
            rows("0,-1,1\n"),
            "line 2: the target is \"-1\", expected a rank, 0 to 3"
        );
        for weight in ["-1", "nan", "inf", "x", "1e301"] {
            let expected = format!("line 2: the weight is {weight:?}, expected a number of at least 0");
            assert_eq!(rows(&format!("0,1,{weight}")), expected);
        }
        assert_eq!(
            rows("0,1,1\n1,0,1\n0,1,2\n"),
            "line 4: 0 to 1 is repeated, first on line 2"
        );
        assert_eq!(rows("0,1,0\n"), "no pair of ranks has a weight above 0");
        assert!(error("").starts_with("line 1: no column"));
    }
}
