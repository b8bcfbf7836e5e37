//! `communicators.parquet`: the members of each communicator.

use std::path::Path;
use std::sync::Arc;

use odonata_trace_format::Cancellation;
use odonata_workload::{Comm, Group};

use crate::error::FileError;
use crate::row::MOST_COMM;
use crate::table::{Content, Table};

/// Maximum number of members in all communicators together.
const MOST_MEMBERS: u64 = 1 << 28;

/// The communicators of a program except the world.
#[derive(Debug, Default)]
pub(crate) struct Communicators {
    groups: Vec<Group>,
    /// Communicator, member rank, index in `groups`; ascending.
    index: Vec<(u32, u32, u32)>,
}

/// `members` as a group: equally spaced members need no list.
fn group(members: Vec<u32>) -> Group {
    let stride = match members[..] {
        [first, second, ..] => second.saturating_sub(first),
        _ => 1,
    };
    let regular = stride > 0
        && members
            .windows(2)
            .all(|pair| pair[1].checked_sub(pair[0]) == Some(stride));
    match members.first() {
        Some(&first) if regular => Group::Strided {
            first,
            stride,
            count: members.len() as u32,
        },
        _ => Group::List(members.into()),
    }
}

impl Communicators {
    /// Lower bound of the bytes to open the table at `path`, by the number of members; 0 if it cannot be read.
    pub(crate) fn least_memory(path: &Path) -> u64 {
        let members = || {
            let table = Table::open(path).ok()?;
            let column = table.required("members", Content::Numbers).ok()?;
            Some(table.values(column))
        };
        // Bounded: the file is not trusted.
        let members = members().unwrap_or(0).min(MOST_MEMBERS);
        members * size_of::<(u32, u32, u32)>() as u64
    }

    /// Reads them from `path`, for a program of `ranks` ranks.
    pub(crate) fn read(path: &Path, ranks: u32, cancellation: &Cancellation) -> Result<Communicators, FileError> {
        let table = Table::open(path)?;
        let comm = table.required("comm", Content::Number)?;
        let members = table.required("members", Content::Numbers)?;
        let users = table.column("users", Content::Numbers)?;
        let mut found = Communicators::default();
        let mut total = 0u64;
        for part in 0..table.groups() {
            let mut comms = table.read(part, comm)?;
            let mut lists = table.read(part, members)?;
            let mut of_users = users.map(|users| table.read(part, users)).transpose()?;
            for row in table.rows_of(part) {
                if cancellation.is_requested() {
                    return Err(FileError::cancelled(path));
                }
                let wrong = |column: &str, problem: String, expected: String| {
                    Err(FileError::about(path, problem, expected).at(row).of(column))
                };
                let number = match comms.numbers(1)?[0] {
                    Some(number) if (1..=i128::from(MOST_COMM)).contains(&number) => number as u32,
                    number => {
                        return wrong("comm", shown(number), format!("1 to {MOST_COMM}; 0 is the world"));
                    }
                };
                let in_job = |column: &'static str, list: &[i128]| -> Result<Vec<u32>, FileError> {
                    let outside = list.iter().find(|&&rank| !(0..i128::from(ranks)).contains(&rank));
                    match outside {
                        None => Ok(list.iter().map(|&rank| rank as u32).collect()),
                        Some(rank) => {
                            let expected = format!("ranks 0 to {}", ranks.saturating_sub(1));
                            Err(FileError::about(path, format!("rank {rank}"), expected)
                                .at(row)
                                .of(column))
                        }
                    }
                };
                let list = in_job("members", lists.lists(1)?.get(0))?;
                let users_list = match &mut of_users {
                    None => Vec::new(),
                    Some(users) => in_job("users", users.lists(1)?.get(0))?,
                };
                total += list.len() as u64 + users_list.len() as u64;
                if total > MOST_MEMBERS {
                    let problem = format!("more than {MOST_MEMBERS} members in all communicators");
                    return wrong("members", problem, "fewer".into());
                }
                let mut sorted = list.clone();
                sorted.sort_unstable();
                if list.is_empty() || sorted.windows(2).any(|pair| pair[0] == pair[1]) {
                    let problem = if list.is_empty() { "no rank" } else { "a rank twice" };
                    return wrong("members", problem.into(), "different ranks, at least one".into());
                }
                let place = found.groups.len() as u32;
                found
                    .index
                    .extend(sorted.into_iter().chain(users_list).map(|rank| (number, rank, place)));
                found.groups.push(group(list));
            }
        }
        found.index.sort_unstable();
        if let Some(pair) = found
            .index
            .windows(2)
            .find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1))
        {
            let (comm, rank, _) = pair[0];
            let problem = format!("rank {rank} is twice in communicator {comm}");
            return Err(FileError::about(path, problem, "one row per communicator and rank"));
        }
        found.index.shrink_to_fit();
        Ok(found)
    }

    /// The members of `comm` as seen by `rank`.
    pub(crate) fn group(&self, rank: u32, comm: Comm) -> Option<Group> {
        let at = self
            .index
            .binary_search_by_key(&(comm.0, rank), |&(comm, rank, _)| (comm, rank));
        at.ok().map(|at| self.groups[self.index[at].2 as usize].clone())
    }

    /// Number of communicators.
    pub(crate) fn len(&self) -> u32 {
        self.groups.len() as u32
    }
}

/// A number or null, as text.
pub(crate) fn shown(number: Option<i128>) -> String {
    number.map_or("null".into(), |number| number.to_string())
}

/// The members of a group, in its order.
pub(crate) fn members(group: &Group) -> Arc<[u32]> {
    match group {
        Group::List(list) => list.clone(),
        group => (0..group.len()).filter_map(|member| group.rank(member)).collect(),
    }
}
