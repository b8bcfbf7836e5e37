//! GOAL in its binary form, as written by LogGOPSim's `txt2bin`; little-endian, packed.
//!
//! ```text
//! u64 cookie 4223
//! u32 ranks, u8 highest cpu, u8 highest nic, per rank { u64 start, u64 end }   offsets count from the ranks' number
//! at each start: u32 nodes, u32 roots, roots x u32 node, nodes x node (39 bytes), then u32 nodes that wait
//! node: u32 unmet, u8 type (1 send, 2 recv, 3 calc), u32 peer, u64 size, u32 tag, u8 cpu, u8 nic,
//!       u32 waiting for its end, u32 where, u32 waiting for its start, u32 where
//! ```
//!
//! Any source and any tag are 0xFFFFFFFF. Counts are checked against the available bytes before memory is reserved, and
//! the number of unmet dependencies of a node against the lists that name it.

use crate::error::GoalError;
use crate::schedule::{ANY, MOST_RANKS, RankSchedule, Schedule, Task, TaskKind};

/// The number with which a file begins.
pub const COOKIE: u64 = 4223;
const HEADER: usize = 8;
const NODE: usize = 39;

/// Reads little-endian numbers with bounds checks.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&self, at: usize) -> Result<[u8; N], GoalError> {
        let bytes = at.checked_add(N).and_then(|end| self.0.get(at..end));
        bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| {
            let problem = format!("{N} bytes are needed, the file has {}", self.0.len());
            GoalError::byte(at, problem, "a file that is whole")
        })
    }
    fn byte(&self, at: usize) -> Result<u8, GoalError> {
        self.take::<1>(at).map(|[byte]| byte)
    }
    fn word(&self, at: usize) -> Result<u32, GoalError> {
        self.take(at).map(u32::from_le_bytes)
    }
    fn long(&self, at: usize) -> Result<u64, GoalError> {
        self.take(at).map(u64::from_le_bytes)
    }
    fn address(&self, at: usize) -> Result<usize, GoalError> {
        let offset = self.long(at)?;
        (usize::try_from(offset)
            .ok()
            .and_then(|offset| offset.checked_add(HEADER)))
        .filter(|&offset| offset <= self.0.len())
        .ok_or_else(|| {
            let problem = format!("offset {offset} is beyond the end of the file");
            GoalError::byte(at, problem, format!("0 to {}", self.0.len().saturating_sub(HEADER)))
        })
    }
}

/// Reads a schedule.
///
/// # Errors
/// The file is not a schedule; if `stop` returns true, an error without a problem.
pub fn read(file: &[u8], stop: &dyn Fn() -> bool) -> Result<Schedule, GoalError> {
    let bytes = Bytes(file);
    let cookie = bytes.long(0)?;
    if cookie != COOKIE {
        return Err(GoalError::byte(
            0,
            format!("the file begins with {cookie}"),
            COOKIE.to_string(),
        ));
    }
    let ranks = bytes.word(HEADER)?;
    let table = HEADER + 6;
    let room = (file.len().saturating_sub(table) / 16).min(MOST_RANKS as usize);
    if ranks == 0 || ranks as usize > room {
        let expected = format!("1 to {room}, which fit the file");
        return Err(GoalError::byte(HEADER, format!("{ranks} ranks"), expected));
    }
    let mut all = Vec::with_capacity(ranks as usize);
    // Without a budget, overlapping ranks would be read over and over.
    let mut budget = file.len();
    for rank in 0..ranks as usize {
        let at = table + 16 * rank;
        let (start, end) = (bytes.address(at)?, bytes.address(at + 8)?);
        let length = end.checked_sub(start).filter(|&length| length <= budget);
        let Some(length) = length else {
            let problem = format!(
                "rank {rank} has the bytes {start} to {end}, which are invalid or overlap another \
             rank"
            );
            return Err(GoalError::byte(at, problem, "consecutive ranks"));
        };
        budget -= length;
        all.push(read_rank(&Bytes(&file[..end]), start, ranks, stop)?);
    }
    Ok(Schedule::new(all))
}

/// Reads a rank from byte `start` on; `bytes` end where the rank ends.
fn read_rank(bytes: &Bytes, start: usize, ranks: u32, stop: &dyn Fn() -> bool) -> Result<RankSchedule, GoalError> {
    let (nodes, roots) = (bytes.word(start)? as usize, bytes.word(start + 4)? as usize);
    let room = (bytes.0.len() - start).saturating_sub(8);
    let taken = nodes
        .checked_mul(NODE)
        .and_then(|taken| taken.checked_add(roots.checked_mul(4)?));
    let Some(taken) = taken.filter(|&taken| taken <= room && roots <= nodes) else {
        let problem = format!("{nodes} nodes and {roots} roots, in {room} bytes");
        return Err(GoalError::byte(start, problem, "roots and nodes that fit"));
    };
    let first = start + 8 + 4 * roots;
    let appendix = start + 8 + taken;
    let entries = (bytes.0.len() - appendix) / 4;
    let mut tasks = Vec::with_capacity(nodes);
    let mut unmet = vec![0_u32; nodes];
    let (mut ends, mut begins) = (Vec::new(), Vec::new());
    for node in 0..nodes {
        if stop() {
            return Err(GoalError::byte(start, "", ""));
        }
        let at = first + NODE * node;
        let kind = match bytes.byte(at + 4)? {
            1 => TaskKind::Send,
            2 => TaskKind::Recv,
            3 => TaskKind::Calc,
            other => {
                return Err(GoalError::byte(
                    at + 4,
                    format!("type {other}"),
                    "1 send, 2 recv or 3 calc",
                ));
            }
        };
        let task = Task {
            kind,
            peer: bytes.word(at + 5)?,
            size: bytes.long(at + 9)?,
            tag: bytes.word(at + 17)?,
            cpu: bytes.byte(at + 21)?,
            nic: bytes.byte(at + 22)?,
        };
        let any = kind == TaskKind::Recv && task.peer == ANY;
        if kind != TaskKind::Calc && task.peer >= ranks && !any {
            return Err(GoalError::byte(
                at + 5,
                format!("peer {}", task.peer),
                format!("0 to {}", ranks - 1),
            ));
        }
        if kind == TaskKind::Send && task.tag == ANY {
            return Err(GoalError::byte(at + 17, "a send with any tag", "0 to 4294967294"));
        }
        tasks.push(task);
        for (place, list) in [(23, &mut ends), (31, &mut begins)] {
            let count = bytes.word(at + place)? as usize;
            let from = if count == 0 {
                0
            } else {
                bytes.word(at + place + 4)? as usize
            };
            if from.checked_add(count).is_none_or(|to| to > entries) || list.len() + count > entries {
                let problem = format!("{count} dependent nodes from entry {from} on, of {entries}");
                return Err(GoalError::byte(at + place, problem, "entries of the rank, each once"));
            }
            for entry in from..from + count {
                let place = appendix + 4 * entry;
                let to = bytes.word(place)?;
                if to as usize >= nodes {
                    return Err(GoalError::byte(
                        place,
                        format!("node {to}"),
                        format!("0 to {}", nodes - 1),
                    ));
                }
                list.push((node as u32, to));
                unmet[to as usize] += 1;
            }
        }
    }
    for (node, &counted) in unmet.iter().enumerate() {
        let at = first + NODE * node;
        let stated = bytes.word(at)?;
        if stated != counted {
            let problem = format!("node {node} states {stated} predecessors");
            return Err(GoalError::byte(
                at,
                problem,
                format!("{counted}, the number of nodes that name it"),
            ));
        }
    }
    RankSchedule::new(tasks, &ends, &begins).map_err(|cycle| {
        let at = first + NODE * cycle.task as usize;
        let problem = format!("node {} waits for itself through other nodes", cycle.task);
        GoalError::byte(at, problem, "acyclic dependencies")
    })
}

/// Writes a schedule in this form.
pub fn write(schedule: &Schedule) -> Vec<u8> {
    let ranks = schedule.ranks();
    let tasks = || ranks.iter().flat_map(RankSchedule::tasks);
    let mut file = COOKIE.to_le_bytes().to_vec();
    file.extend((ranks.len() as u32).to_le_bytes());
    file.push(tasks().map(|task| task.cpu).max().unwrap_or(0));
    file.push(tasks().map(|task| task.nic).max().unwrap_or(0));
    let table = file.len();
    file.resize(table + 16 * ranks.len(), 0);
    for (number, rank) in ranks.iter().enumerate() {
        let start = (file.len() - HEADER) as u64;
        file.extend((rank.tasks().len() as u32).to_le_bytes());
        file.extend((rank.roots().len() as u32).to_le_bytes());
        rank.roots().iter().for_each(|root| file.extend(root.to_le_bytes()));
        let mut appendix: Vec<u32> = Vec::new();
        for (node, task) in rank.tasks().iter().enumerate() {
            file.extend(rank.unmet()[node].to_le_bytes());
            file.push(match task.kind {
                TaskKind::Send => 1,
                TaskKind::Recv => 2,
                TaskKind::Calc => 3,
            });
            file.extend(task.peer.to_le_bytes());
            file.extend(task.size.to_le_bytes());
            file.extend(task.tag.to_le_bytes());
            file.extend([task.cpu, task.nic]);
            for edges in [rank.ends(), rank.begins()] {
                let waiting = edges.after(node as u32);
                file.extend((waiting.len() as u32).to_le_bytes());
                file.extend((appendix.len() as u32).to_le_bytes());
                appendix.extend(waiting);
            }
        }
        appendix.iter().for_each(|node| file.extend(node.to_le_bytes()));
        let end = (file.len() - HEADER) as u64;
        file[table + 16 * number..][..8].copy_from_slice(&start.to_le_bytes());
        file[table + 16 * number + 8..][..8].copy_from_slice(&end.to_le_bytes());
    }
    file
}
