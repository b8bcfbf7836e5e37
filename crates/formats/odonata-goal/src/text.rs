//! GOAL as text.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//!   l1: calc 500 cpu 0
//!   l2: send 64b to 1 tag 7 cpu 0 nic 0     // to the end of the line
//!   l2 requires l1                          // after the end of l1; irequires: after its start
//! }
//! rank 1 { l1: recv 64b from 0 tag 7 }      /* -1: any source, any tag */
//! ```
//!
//! A task without a label has no dependents. Labels belong to their rank, and are defined before they are used in a
//! dependency. A rank that is left out does nothing. Words are separated by white space; a line may hold several
//! statements.

use crate::error::GoalError;
use crate::schedule::{ANY, MOST_RANKS, RankSchedule, Schedule, Task, TaskKind};
use std::collections::HashMap;

/// Longest word, in bytes: labels are short.
const MOST_WORD: usize = 256;

/// The words of a text, with their lines; braces and colons are separate words.
struct Words<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
    peeked: Option<Option<(&'a str, u32)>>,
}

impl<'a> Words<'a> {
    fn new(text: &'a [u8]) -> Words<'a> {
        Words {
            text,
            at: 0,
            line: 1,
            peeked: None,
        }
    }

    fn skip_blanks(&mut self) -> Result<(), GoalError> {
        loop {
            match self.text.get(self.at..).unwrap_or_default() {
                [b'\n', ..] => {
                    self.line = self.line.saturating_add(1);
                    self.at += 1;
                }
                [byte, ..] if byte.is_ascii_whitespace() => self.at += 1,
                [b'/', b'/', ..] => {
                    let rest = &self.text[self.at..];
                    self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                }
                [b'/', b'*', ..] => {
                    let begun = self.line;
                    let rest = &self.text[self.at + 2..];
                    let Some(end) = rest.windows(2).position(|pair| pair == b"*/") else {
                        return Err(GoalError::line(begun, "a comment that begins here never ends", "*/"));
                    };
                    let lines = rest[..end].iter().filter(|&&byte| byte == b'\n').count();
                    self.line = self.line.saturating_add(lines as u32);
                    self.at += end + 4;
                }
                _ => return Ok(()),
            }
        }
    }

    fn read(&mut self) -> Result<Option<(&'a str, u32)>, GoalError> {
        self.skip_blanks()?;
        let rest = &self.text[self.at..];
        let stops = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'{' | b'}' | b':' | b'/');
        let length = match rest.first() {
            None => return Ok(None),
            Some(byte) if stops(byte) => 1,
            Some(_) => rest.iter().take(MOST_WORD + 1).position(stops).unwrap_or(rest.len()),
        };
        if length > MOST_WORD {
            let problem = format!("a word is longer than {MOST_WORD} bytes");
            return Err(GoalError::line(self.line, problem, "GOAL, or its binary form"));
        }
        let word = std::str::from_utf8(&rest[..length])
            .map_err(|_| GoalError::line(self.line, "the bytes are no text in UTF-8", "GOAL, or its binary form"))?;
        self.at += length;
        Ok(Some((word, self.line)))
    }

    fn next(&mut self) -> Result<Option<(&'a str, u32)>, GoalError> {
        match self.peeked.take() {
            Some(word) => Ok(word),
            None => self.read(),
        }
    }

    fn peek(&mut self) -> Result<Option<&'a str>, GoalError> {
        if self.peeked.is_none() {
            self.peeked = Some(self.read()?);
        }
        Ok(self.peeked.flatten().map(|(word, _)| word))
    }

    fn wanted(&mut self, expected: &str) -> Result<(&'a str, u32), GoalError> {
        let line = self.line;
        self.next()?
            .ok_or_else(|| GoalError::line(line, "the file ends here", expected))
    }

    fn exactly(&mut self, expected: &str) -> Result<(), GoalError> {
        match self.wanted(expected)? {
            (word, _) if word == expected => Ok(()),
            (word, line) => Err(GoalError::line(
                line,
                format!("found {word:?}"),
                format!("{expected:?}"),
            )),
        }
    }

    fn number<T: std::str::FromStr>(&mut self, expected: &str) -> Result<T, GoalError> {
        let (word, line) = self.wanted(expected)?;
        word.parse()
            .map_err(|_| GoalError::line(line, format!("found {word:?}"), expected))
    }

    /// A nonnegative number other than [`ANY`], or -1 for [`ANY`] if allowed.
    fn number_or_any(&mut self, any: bool, expected: &str) -> Result<u32, GoalError> {
        let (word, line) = self.wanted(expected)?;
        match word.parse::<u32>() {
            Ok(number) if number != ANY => Ok(number),
            _ if any && word == "-1" => Ok(ANY),
            _ => Err(GoalError::line(line, format!("found {word:?}"), expected)),
        }
    }
}

/// Reads a schedule.
///
/// # Errors
/// The text is not a schedule; if `stop` returns true, an error without a problem.
pub fn read(text: &[u8], stop: &dyn Fn() -> bool) -> Result<Schedule, GoalError> {
    let words = &mut Words::new(text);
    words.exactly("num_ranks")?;
    let expected = format!("the number of ranks, 1 to {MOST_RANKS}");
    let ranks: u32 = words.number(&expected)?;
    if ranks == 0 || ranks > MOST_RANKS {
        return Err(GoalError::line(words.line, format!("found \"{ranks}\""), expected));
    }
    let mut read: HashMap<u32, RankSchedule> = HashMap::new();
    while let Some((word, line)) = words.next()? {
        if word != "rank" {
            return Err(GoalError::line(line, format!("found {word:?}"), "\"rank\" or the end"));
        }
        let expected = format!("a rank, 0 to {}", ranks - 1);
        let rank: u32 = words.number(&expected)?;
        if rank >= ranks {
            return Err(GoalError::line(words.line, format!("found \"{rank}\""), expected));
        }
        words.exactly("{")?;
        let schedule = read_rank(words, ranks, stop)?;
        if read.insert(rank, schedule).is_some() {
            return Err(GoalError::line(
                line,
                format!("rank {rank} occurs twice"),
                "each rank once",
            ));
        }
    }
    let empty = || RankSchedule::new(Vec::new(), &[], &[]).expect("nothing waits");
    let all = (0..ranks).map(|rank| read.remove(&rank).unwrap_or_else(empty));
    Ok(Schedule::new(all.collect()))
}

/// Reads the body of a rank.
fn read_rank(words: &mut Words, ranks: u32, stop: &dyn Fn() -> bool) -> Result<RankSchedule, GoalError> {
    const EXPECTED: &str = "a label, \"send\", \"recv\", \"calc\" or \"}\"";
    let mut labels: HashMap<&str, u32> = HashMap::new();
    let mut tasks = Vec::new();
    let mut lines = Vec::new();
    let (mut ends, mut begins) = (Vec::new(), Vec::new());
    loop {
        if stop() {
            return Err(GoalError::line(words.line, "", ""));
        }
        let (word, line) = words.wanted(EXPECTED)?;
        let task = tasks.len() as u32;
        match word {
            "}" => break,
            "send" | "recv" | "calc" => {
                tasks.push(read_task(words, word, ranks)?);
                lines.push(line);
                continue;
            }
            "{" | ":" | "/" => return Err(GoalError::line(line, format!("found {word:?}"), EXPECTED)),
            _ => {}
        }
        match words.wanted("\":\", \"requires\" or \"irequires\"")? {
            (":", line) => {
                if labels.insert(word, task).is_some() {
                    let problem = format!("label {word:?} occurs twice in the rank");
                    return Err(GoalError::line(line, problem, "another label"));
                }
                let (kind, at) = words.wanted("\"send\", \"recv\" or \"calc\"")?;
                if !matches!(kind, "send" | "recv" | "calc") {
                    let problem = format!("found {kind:?}");
                    return Err(GoalError::line(at, problem, "\"send\", \"recv\" or \"calc\""));
                }
                tasks.push(read_task(words, kind, ranks)?);
                lines.push(line);
            }
            (relation @ ("requires" | "irequires"), _) => {
                let (other, at) = words.wanted("a label")?;
                let find = |label: &str| match labels.get(label) {
                    Some(&task) => Ok(task),
                    None => {
                        let near = labels.keys().min_by_key(|known| strsim::levenshtein(known, label));
                        let near = near.map_or(String::new(), |near| format!(", as {near:?}"));
                        let problem = format!("label {label:?} is not defined before in the rank");
                        Err(GoalError::line(at, problem, format!("a label{near}")))
                    }
                };
                let edge = (find(other)?, find(word)?);
                match relation {
                    "requires" => ends.push(edge),
                    _ => begins.push(edge),
                }
            }
            (other, line) => {
                let problem = format!("found {other:?} after {word:?}");
                return Err(GoalError::line(line, problem, "\":\", \"requires\" or \"irequires\""));
            }
        }
        if tasks.len() >= u32::MAX as usize {
            return Err(GoalError::line(line, "a rank has too many tasks", "less than 2^32"));
        }
    }
    RankSchedule::new(tasks, &ends, &begins).map_err(|cycle| {
        let line = lines[cycle.task as usize];
        let problem = "this task waits for itself through its requirements";
        GoalError::line(line, problem, "acyclic dependencies")
    })
}

/// Reads a task after its word `kind`.
fn read_task(words: &mut Words, kind: &str, ranks: u32) -> Result<Task, GoalError> {
    let mut task = Task {
        kind: TaskKind::Calc,
        peer: 0,
        tag: 0,
        size: 0,
        cpu: 0,
        nic: 0,
    };
    if kind == "calc" {
        task.size = words.number("a time in nanoseconds")?;
    } else {
        let (size, line) = words.wanted("a size such as \"64b\"")?;
        task.size = (size.strip_suffix('b').and_then(|size| size.parse().ok()))
            .ok_or_else(|| GoalError::line(line, format!("found {size:?}"), "a size such as \"64b\""))?;
        task.kind = if kind == "send" { TaskKind::Send } else { TaskKind::Recv };
        let receives = task.kind == TaskKind::Recv;
        words.exactly(if receives { "from" } else { "to" })?;
        let any = if receives { ", or -1 for any" } else { "" };
        let expected = format!("a rank, 0 to {}{any}", ranks - 1);
        task.peer = words.number_or_any(receives, &expected)?;
        if task.peer != ANY && task.peer >= ranks {
            return Err(GoalError::line(
                words.line,
                format!("found \"{}\"", task.peer),
                expected,
            ));
        }
    }
    loop {
        match words.peek()? {
            Some("tag") if task.kind != TaskKind::Calc => {
                words.next()?;
                let any = task.kind == TaskKind::Recv;
                task.tag = words.number_or_any(any, "a tag, 0 to 4294967294")?;
            }
            Some("cpu") => {
                words.next()?;
                task.cpu = words.number("a number of a CPU, 0 to 255")?;
            }
            Some("nic") => {
                words.next()?;
                task.nic = words.number("a number of a network interface, 0 to 255")?;
            }
            _ => return Ok(task),
        }
    }
}
