//! Placement files: CSV with a header that has the columns `slot`, `rank` and `terminal`, in any order and among
//! others. A row places one rank of one job: `terminal` is its node, numbered over the machine.

use std::collections::BTreeMap;
use std::path::Path;

use crate::scenario::Problem;
use crate::scenario::resolved::Job;
use crate::text_file::read_text;

/// Longest placement file, in bytes.
const LONGEST: u64 = 256 << 20;

const COLUMNS: [&str; 3] = ["slot", "rank", "terminal"];

/// The node and the line of each rank of `job`, from the rows of `slot`; `key` names the file in errors.
pub(super) fn read(key: &str, path: &str, slot: u32, job: &Job) -> Result<Vec<(u32, u32)>, Problem> {
    let text = read_text(Path::new(path), LONGEST)
        .map_err(|problem| Problem::new(key, problem, "a CSV file").within(path, None))?;
    parse(key, path, &text, slot, job)
}

fn parse(key: &str, path: &str, text: &str, slot: u32, job: &Job) -> Result<Vec<(u32, u32)>, Problem> {
    let wrong = |line: usize, problem: String, expected: String| {
        Problem::new(key, problem, expected).within(path, Some(line as u32 + 1))
    };
    let mut lines = text.lines().enumerate();
    let header: Vec<&str> = lines
        .next()
        .map_or("", |(_, line)| line)
        .split(',')
        .map(str::trim)
        .collect();
    let mut columns = [0; 3];
    for (column, name) in columns.iter_mut().zip(COLUMNS) {
        *column = header.iter().position(|title| *title == name).ok_or_else(|| {
            wrong(
                0,
                format!("the header has no column \"{name}\""),
                "a header with slot, rank and terminal".into(),
            )
        })?;
    }
    let mut ranks: Vec<Option<(u32, u32)>> = vec![None; *job.ranks as usize];
    let mut sharing: BTreeMap<u32, u32> = BTreeMap::new();
    for (line, row) in lines.filter(|(_, row)| !row.trim().is_empty()) {
        let fields: Vec<&str> = row.split(',').map(str::trim).collect();
        if fields.len() != header.len() {
            return Err(wrong(
                line,
                format!("{} fields", fields.len()),
                format!("{} fields, as the header", header.len()),
            ));
        }
        let mut numbers = [0u32; 3];
        for ((number, column), name) in numbers.iter_mut().zip(columns).zip(COLUMNS) {
            let field: String = fields[column].chars().take(40).collect();
            *number = fields[column]
                .parse()
                .map_err(|_| wrong(line, format!("{name} is {field:?}"), "a whole number".into()))?;
        }
        let [row_slot, rank, node] = numbers;
        if row_slot != slot {
            continue;
        }
        let Some(entry) = ranks.get_mut(rank as usize) else {
            let problem = format!("rank {rank} of a job with {} ranks", *job.ranks);
            return Err(wrong(line, problem, format!("0 to {}", *job.ranks - 1)));
        };
        if let Some((_, first)) = entry {
            return Err(wrong(
                line,
                format!("rank {rank} is placed twice, first on line {first}"),
                "every rank once".into(),
            ));
        }
        *entry = Some((node, line as u32 + 1));
        let count = sharing.entry(node).or_insert(0);
        *count += 1;
        if *count > job.ranks_per_node {
            let problem = format!("node {node} gets {count} ranks");
            return Err(wrong(
                line,
                problem,
                format!("at most ranks_per_node, {}", job.ranks_per_node),
            ));
        }
    }
    let missing = ranks.iter().position(Option::is_none);
    if let Some(rank) = missing {
        let problem = format!("slot {slot} has no row for rank {rank}");
        let error = Problem::new(key, problem, format!("rows for the ranks 0 to {}", *job.ranks - 1));
        return Err(error.within(path, None));
    }
    Ok(ranks.into_iter().flatten().collect())
}
