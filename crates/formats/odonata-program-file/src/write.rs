//! Programs into files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use odonata_workload::collective::Kind;
use odonata_workload::{Collective, Comm, Counts, Cursor, Group, Op, OpKind, Program, Seen};

use crate::communicators::members;
use crate::error::FileError;
use crate::read::{Description, MOST_OPERATIONS, ProgramFile, counts_of};
use crate::row::{Field, MOST_COMM, MOST_COUNTS, to_row};
use crate::rows_out::{Cells, RowsOut};
use crate::{COMMUNICATORS, COUNTS, DESCRIPTION, FORMAT, OPERATIONS, VERSION};

/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 16;

/// Values of lists in a row group.
const GROUP_VALUES: usize = 1 << 20;

/// Operations between two reports of progress.
const REPORT_EVERY: u64 = 1 << 16;

/// The contents of `program.json`, and whether to check the result.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A description, one line; empty: the program's own description.
    pub description: String,
    /// The tool that writes the files.
    pub made_by: String,
    /// Whether to read the program back before it appears: for programs that may name invalid ranks.
    pub check: bool,
}

/// Progress callback: complete ranks, operations; `false` stops.
pub type Progress<'a> = &'a mut dyn FnMut(u32, u64) -> bool;

/// Writes `program` to `folder`, which is created if missing; returns the number of operations. Only a part of it is in
/// memory at a time. The file that identifies a program ([`ProgramFile::is_at`]) comes last. If writing fails, a folder
/// that existed before is left as it is, for its owner to remove.
///
/// Numbers of communicators and lists that exceed the bits of the format, like those of
/// [`Phases`](odonata_workload::Phases), are renumbered. Reports of values are left out.
///
/// # Errors
/// The program's operations depend on time ([`Program::clock`]); `folder` has such files; it cannot be written; the
/// program fails, or has too many operations or communicators; the check fails; or `progress` stops it.
pub fn write(
    program: &dyn Program,
    folder: &Path,
    options: &Options,
    progress: Progress<'_>,
) -> Result<u64, FileError> {
    if let Some(what) = program.clock() {
        let problem = format!("the operations depend on simulated time, which a file cannot hold: {what}");
        return Err(FileError::about(folder, problem, "a program independent of time"));
    }
    let made = match fs::create_dir(folder) {
        Ok(()) => true,
        Err(_) if folder.is_dir() => false,
        Err(cause) => {
            return Err(FileError {
                expected: "a folder to write to".into(),
                os: cause.raw_os_error(),
                ..FileError::about(folder, format!("cannot be made: {cause}"), "")
            });
        }
    };
    let mut written = write_to(program, folder, options, progress);
    if options.check {
        written = written.and_then(|operations| ProgramFile::open(folder, 1.0).map(|_| operations));
    }
    if written.is_err() && made {
        // The folder is new. A failed removal is no worse than the original error.
        let _ = fs::remove_dir_all(folder);
    }
    written
}

fn number_column(field: Field) -> (String, Cells) {
    let name = field.name();
    match field.parquet_type() {
        "uint32" => (
            format!("optional int32 {name} (INTEGER(32,false));"),
            Cells::Some32(Vec::new(), Vec::new()),
        ),
        "uint64" => (
            format!("optional int64 {name} (INTEGER(64,false));"),
            Cells::Some64(Vec::new(), Vec::new()),
        ),
        _ => (format!("optional int64 {name};"), Cells::Some64(Vec::new(), Vec::new())),
    }
}

fn list_column(name: &str, bits: u8) -> (String, Cells) {
    let cells = match bits {
        32 => Cells::List32(Vec::new(), Vec::new(), Vec::new()),
        _ => Cells::List64(Vec::new(), Vec::new(), Vec::new()),
    };
    let text = format!(
        "required group {name} (LIST) {{ repeated group list {{ required int{bits} element (INTEGER({bits},false)); }} }}"
    );
    (text, cells)
}

fn whole_column(name: &str, bits: u8) -> (String, Cells) {
    (
        format!("required int32 {name} (INTEGER({bits},false));"),
        Cells::Whole32(Vec::new()),
    )
}

/// First column of the [`Field`]s in the table of operations.
const FIRST_FIELD: usize = 4;

fn operation_columns() -> Vec<(String, Cells)> {
    let mut columns = vec![
        whole_column("rank", 32),
        whole_column("stream", 16),
        list_column("after", 32),
        ("required binary kind (STRING);".into(), Cells::Text(Vec::new())),
    ];
    columns.extend(Field::ALL.into_iter().map(number_column));
    columns
}

/// Numbers too large for the format, and their replacements.
struct Renamed {
    most: u64,
    next: u64,
    names: HashMap<u64, u64>,
    given: BTreeSet<u64>,
}

impl Renamed {
    fn new(most: u64) -> Renamed {
        Renamed {
            most,
            next: most,
            names: HashMap::new(),
            given: BTreeSet::new(),
        }
    }

    /// The replacement of `number`.
    fn of(&mut self, number: u64, what: &str, folder: &Path) -> Result<u64, FileError> {
        if number > self.most {
            if let Some(&name) = self.names.get(&number) {
                return Ok(name);
            }
            self.names.insert(number, self.next);
            self.given.insert(self.next);
            self.next -= 1;
            return Ok(self.next + 1);
        }
        if self.given.contains(&number) {
            let problem = format!("too many numbers of {what}");
            return Err(FileError::about(folder, problem, format!("fewer than {}", self.most)));
        }
        Ok(number)
    }
}

struct Writing<'a> {
    program: &'a dyn Program,
    folder: &'a Path,
    operations: RowsOut,
    counts: RowsOut,
    count_values: usize,
    comms: Renamed,
    /// By number and first member: the members, and the ranks that name it without being members.
    groups: BTreeMap<(u32, u32), (Group, Vec<u32>)>,
    written: u64,
}

/// Data of a rank kept until its last operation.
#[derive(Default)]
struct OfRank {
    comms: BTreeSet<u32>,
    lists: HashMap<(u32, Kind, u32, u32), u32>,
    next_list: u32,
    left_out: u64,
}

fn write_to(program: &dyn Program, folder: &Path, options: &Options, progress: Progress<'_>) -> Result<u64, FileError> {
    let ranks = program.ranks();
    // Ranks run side by side, each with pages of its own: with more ranks, pages have fewer rows.
    let page_rows = ((1 << 20) / ranks.max(1)).clamp(256, 4_096) as usize;
    let lists = vec![
        whole_column("rank", 32),
        whole_column("counts", 32),
        (
            "optional int32 member (INTEGER(32,false));".into(),
            Cells::Some32(Vec::new(), Vec::new()),
        ),
        list_column("by_giver", 64),
        list_column("by_taker", 64),
    ];
    let mut writing = Writing {
        program,
        folder,
        operations: RowsOut::create(&folder.join(OPERATIONS), operation_columns(), page_rows)?,
        counts: RowsOut::create(&folder.join(COUNTS), lists, 64)?,
        count_values: 0,
        comms: Renamed::new(MOST_COMM.into()),
        groups: BTreeMap::new(),
        written: 0,
    };
    for rank in 0..ranks {
        writing.rank(rank, progress)?;
        if !progress(rank + 1, writing.written) {
            return Err(stopped(folder));
        }
    }
    let written = writing.written;
    writing.finish()?;
    let description = Description {
        format: FORMAT.into(),
        version: VERSION,
        ranks,
        description: match options.description.as_str() {
            "" => program.describe(),
            text => text.into(),
        },
        made_by: options.made_by.clone(),
    };
    let path = folder.join(DESCRIPTION);
    let text = serde_json::to_string_pretty(&description)
        .map_err(|cause| FileError::about(&path, format!("cannot be written: {cause}"), ""))?;
    let save = || {
        let mut file = File::create_new(&path)?;
        file.write_all((text + "\n").as_bytes())?;
        file.sync_all()
    };
    save().map_err(|cause| FileError::unwritable(&path, &cause))?;
    Ok(written)
}

fn stopped(folder: &Path) -> FileError {
    FileError::cancelled(folder)
}

impl Writing<'_> {
    fn rank(&mut self, rank: u32, progress: Progress<'_>) -> Result<(), FileError> {
        let mut cursor = Cursor::default();
        let mut own = OfRank::default();
        let mut number = 0u64;
        let mut memory = vec![0; self.program.memory()];
        let mut failure = None;
        loop {
            let mut seen = Seen {
                memory: &mut memory,
                now: None,
                answer: 0,
                lost: false,
                failure: None,
            };
            let next = self.program.next_with(rank, &mut cursor, &mut seen);
            failure = seen.failure.or(failure);
            let Some(op) = next else { break };
            if matches!(op.kind, OpKind::Report { .. }) {
                // It has no effect on the machine, and the format has no text.
                own.left_out += 1;
                continue;
            }
            if own.left_out > 0 && !op.after.is_none() {
                let problem = format!("rank {rank} has both operations with dependencies and reports of values");
                return Err(FileError::about(self.folder, problem, "one of them"));
            }
            if number >= MOST_OPERATIONS {
                let problem = format!("more than {MOST_OPERATIONS} operations of rank {rank}");
                return Err(FileError::about(self.folder, problem, "fewer"));
            }
            number += 1;
            self.op(rank, op, &mut own)?;
            if self.written.is_multiple_of(REPORT_EVERY) && !progress(rank, self.written) {
                return Err(stopped(self.folder));
            }
        }
        if let Some(why) = failure.or_else(|| self.program.broken(rank, &cursor)) {
            let problem = format!("the program of rank {rank} failed: {why}");
            return Err(FileError::about(self.folder, problem, ""));
        }
        for comm in own.comms {
            self.communicator(rank, Comm(comm))?;
        }
        Ok(())
    }

    fn op(&mut self, rank: u32, op: Op, own: &mut OfRank) -> Result<(), FileError> {
        let (name, mut numbers) = to_row(&op.kind);
        for field in [Field::Comm, Field::NewComm] {
            if let Some(number) = &mut numbers[field as usize]
                && *number != 0
            {
                own.comms.insert(*number as u32);
                *number = self.comms.of(*number as u64, "communicators", self.folder)?.into();
            }
        }
        if let OpKind::Collective(collective) | OpKind::Icollective { collective, .. } = op.kind
            && let Some(counts) = counts_of(&collective)
        {
            let number = self.list(rank, &collective, counts, own)?;
            numbers[Field::Counts as usize] = Some(number.into());
        }
        let out = &mut self.operations;
        out.cells[0].number(Some(rank.into()));
        out.cells[1].number(Some(op.stream.into()));
        let after: Vec<u64> = op.after.iter().map(|op| op.0.into()).collect();
        out.cells[2].list(after.into_iter());
        out.cells[3].text(name);
        for (cells, number) in out.cells[FIRST_FIELD..].iter_mut().zip(numbers) {
            cells.number(number);
        }
        out.rows += 1;
        self.written += 1;
        if out.rows >= GROUP_ROWS {
            out.flush()?;
        }
        Ok(())
    }

    /// Writes the list of sizes of a collective on first use; returns its number in the file.
    fn list(&mut self, rank: u32, collective: &Collective, counts: Counts, own: &mut OfRank) -> Result<u32, FileError> {
        let comm = collective.comm();
        let root = collective.root().unwrap_or(0);
        let key = (counts.0, collective.which(), comm.0, root);
        if let Some(&number) = own.lists.get(&key) {
            return Ok(number);
        }
        // Numbers ascend in the file. They are kept if they already ascend.
        let number = if counts.0 > MOST_COUNTS {
            own.next_list
        } else {
            counts.0.max(own.next_list)
        };
        if number > MOST_COUNTS {
            let problem = format!("more than {MOST_COUNTS} lists of sizes of rank {rank}");
            return Err(FileError::about(self.folder, problem, "fewer"));
        }
        own.next_list = number + 1;
        own.lists.insert(key, number);
        let Some(group) = self.program.group(rank, comm) else {
            let problem = format!("rank {rank} has no communicator {}", comm.0);
            return Err(FileError::about(
                self.folder,
                problem,
                "one on which it calls a collective",
            ));
        };
        let size = |from, to| self.program.bytes(rank, counts, from, to);
        let me = group.member(rank).unwrap_or(u32::MAX);
        let all = |size: &dyn Fn(u32) -> u64| (0..group.len()).map(size).collect::<Vec<u64>>();
        let (mut by_giver, mut by_taker) = (Vec::new(), Vec::new());
        match collective.which() {
            Kind::Gatherv if me == root => by_giver = all(&|from| size(from, root)),
            Kind::Gatherv => by_giver = vec![size(me, root)],
            Kind::Scatterv if me == root => by_taker = all(&|to| size(root, to)),
            Kind::Scatterv => by_taker = vec![size(root, me)],
            Kind::Allgatherv => by_giver = all(&|member| size(member, member)),
            Kind::ReduceScatter => by_taker = all(&|member| size(member, member)),
            _ => {
                by_giver = all(&|from| size(from, me));
                by_taker = all(&|to| size(me, to));
            }
        }
        let both = !by_giver.is_empty() && !by_taker.is_empty();
        self.count_values += by_giver.len() + by_taker.len();
        let out = &mut self.counts;
        out.cells[0].number(Some(rank.into()));
        out.cells[1].number(Some(number.into()));
        out.cells[2].number(both.then_some(me.into()));
        out.cells[3].list(by_giver.into_iter());
        out.cells[4].list(by_taker.into_iter());
        out.rows += 1;
        if self.count_values >= GROUP_VALUES || out.rows >= GROUP_ROWS {
            self.count_values = 0;
            out.flush()?;
        }
        Ok(number)
    }

    /// Records the members of a communicator that `rank` names.
    fn communicator(&mut self, rank: u32, comm: Comm) -> Result<(), FileError> {
        // A rank that calls a split without joining a part has no group.
        let Some(group) = self.program.group(rank, comm) else {
            return Ok(());
        };
        let Some(leader) = group.rank(0) else { return Ok(()) };
        let number = self.comms.of(comm.0.into(), "communicators", self.folder)? as u32;
        let member = group.member(rank).is_some();
        let (_, users) = self
            .groups
            .entry((number, leader))
            .or_insert_with(|| (group, Vec::new()));
        if !member {
            users.push(rank);
        }
        Ok(())
    }

    fn finish(self) -> Result<(), FileError> {
        self.operations.finish()?;
        self.counts.finish()?;
        let columns = vec![
            whole_column("comm", 32),
            list_column("members", 32),
            list_column("users", 32),
        ];
        let mut out = RowsOut::create(&self.folder.join(COMMUNICATORS), columns, 64)?;
        let mut values = 0;
        for ((comm, _), (group, users)) in self.groups {
            let members = members(&group);
            values += members.len() + users.len();
            out.cells[0].number(Some(comm.into()));
            out.cells[1].list(members.iter().map(|&rank| rank.into()));
            out.cells[2].list(users.iter().map(|&rank| rank.into()));
            out.rows += 1;
            if values >= GROUP_VALUES || out.rows >= GROUP_ROWS {
                values = 0;
                out.flush()?;
            }
        }
        out.finish()
    }
}
