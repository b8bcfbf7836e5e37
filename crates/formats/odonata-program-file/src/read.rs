//! Reading a program from files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use odonata_trace_format::Cancellation;
use odonata_units::Time;
use odonata_workload::collective::Kind;
use odonata_workload::{
    Collective, Comm, Counts, Cursor, Group, Op, OpId, OpKind, PROC_NULL, Program, Recent, Source, read_regular,
};
use serde::{Deserialize, Serialize};

use crate::communicators::Communicators;
use crate::error::{FileError, Lost};
use crate::lists::CountLists;
use crate::operations::Operations;
use crate::rank_rows::RankRows;
use crate::{COMMUNICATORS, COUNTS, DESCRIPTION, FORMAT, OPERATIONS, VERSION};

/// Decoded operations of all ranks together, roughly: about a hundred bytes each.
const DECODED: u32 = 1 << 21;

/// Maximum number of operations of a rank: numbered with 30 bits, repetitions included.
pub(crate) const MOST_OPERATIONS: u64 = 1 << 30;

/// Maximum number of ranks of a program.
const MOST_RANKS: u32 = if cfg!(fuzzing) { 1 << 10 } else { 1 << 24 };

/// Longest description of a program, in bytes.
const LONGEST_DESCRIPTION: u64 = 1 << 20;

/// What `program.json` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Always "odonata-program".
    pub format: String,
    /// Version of the format: 1.
    pub version: u32,
    /// Number of ranks, including ranks without operations.
    pub ranks: u32,
    /// A description of the program, one line.
    #[serde(default)]
    pub description: String,
    /// The tool that wrote the files.
    #[serde(default)]
    pub made_by: String,
}

/// The contents of a program file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Contents {
    /// Operations of all ranks.
    pub operations: u64,
    /// Operations of the rank with the most operations.
    pub most_operations: u64,
    /// Number of operations of each kind.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Communicators except the world.
    pub communicators: u32,
    /// Lists of sizes.
    pub lists: u32,
    /// Messages sent, without those of collectives and persistent requests.
    pub messages: u64,
    /// Their payload in bytes.
    pub message_bytes: u64,
    /// Receives posted, without those of collectives and persistent requests.
    pub receives: u64,
    /// Persistent requests that are started.
    pub starts: u64,
    /// Bytes that are read from files.
    pub read_bytes: u64,
    /// Bytes that are written to files.
    pub written_bytes: u64,
    /// The longest total computation of a rank, in picoseconds.
    pub longest_compute_ps: u64,
}

/// A program in files: a folder with `program.json`, `operations.parquet`, `communicators.parquet`, `counts.parquet`.
///
/// Opening reads and checks all of it once. Afterwards only the parts around the ranks' positions are in memory: the
/// files must not change while the program runs.
#[derive(Debug)]
pub struct ProgramFile {
    folder: PathBuf,
    description: Description,
    scale: f64,
    operations: Operations,
    rows: RankRows,
    communicators: Communicators,
    counts: CountLists,
    contents: Contents,
    does_io: bool,
    /// Rows per block.
    block: u64,
    /// Blocks held by ranks: ranks with few operations share them.
    shared: Mutex<BTreeMap<u64, Weak<Block>>>,
    /// Per rank with rows.
    recent: Vec<Recent<Block>>,
    lost: Lost,
}

/// A block of decoded rows, possibly of several ranks.
#[derive(Debug)]
struct Block {
    first: u64,
    ops: Vec<Op>,
}

impl ProgramFile {
    /// Whether the folder at `path` looks like a program folder.
    pub fn is_at(path: &Path) -> bool {
        path.join(DESCRIPTION).is_file() || path.join(OPERATIONS).is_file()
    }

    /// Opens the program in the folder `path`; computation times are multiplied by `scale`.
    ///
    /// # Errors
    /// It cannot be read, or has impossible contents: an unknown kind of operation, an invalid rank, an operation that
    /// waits for a later one, ...
    pub fn open(path: &Path, scale: f64) -> Result<ProgramFile, FileError> {
        ProgramFile::open_with(path, scale, &Cancellation::default())
    }

    /// Like [`open`](Self::open), with `cancellation`.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), or cancelled.
    pub fn open_with(path: &Path, scale: f64, cancellation: &Cancellation) -> Result<ProgramFile, FileError> {
        let description = describe(&path.join(DESCRIPTION))?;
        let ranks = description.ranks;
        let communicators = Communicators::read(&path.join(COMMUNICATORS), ranks, cancellation)?;
        let lost = Lost::default();
        let counts = CountLists::read(&path.join(COUNTS), ranks, lost.clone(), cancellation)?;
        let operations = Operations::open(&path.join(OPERATIONS))?;
        let mut program = ProgramFile {
            folder: path.into(),
            scale,
            rows: RankRows::new(),
            contents: Contents {
                communicators: communicators.len(),
                lists: counts.len(),
                ..Contents::default()
            },
            communicators,
            counts,
            does_io: false,
            block: u64::from((DECODED / 2 / ranks.max(1)).clamp(64, 4_096)),
            shared: Mutex::default(),
            recent: Vec::new(),
            lost,
            operations,
            description,
        };
        program.survey(cancellation)?;
        program.recent.resize_with(program.rows.len(), Recent::default);
        Ok(program)
    }

    /// Reads all operations: their start for each rank, their kinds, and their validity.
    fn survey(&mut self, cancellation: &Cancellation) -> Result<(), FileError> {
        let ranks = self.description.ranks;
        let table = &self.operations.table;
        let mut compute = 0u64;
        for group in 0..table.groups() {
            let rows = table.rows_of(group);
            let mut reader = self.operations.group(group)?;
            let mut first = rows.start;
            while first < rows.end {
                if cancellation.is_requested() {
                    return Err(FileError::cancelled(table.path()));
                }
                let count = (rows.end - first).min(4_096) as usize;
                let part = reader.read(count)?;
                for at in 0..count {
                    let row = first + at as u64;
                    let wrong = |column: &str, problem: String, expected: String| {
                        Err(FileError::about(table.path(), problem, expected).at(row).of(column))
                    };
                    let done = self.rows.last().unwrap_or(0);
                    let rank = match part.rank(at) {
                        Some(rank) if (i128::from(done)..i128::from(ranks)).contains(&rank) => rank as u32,
                        _ => {
                            let expected = format!("{done} to {}, ascending", i128::from(ranks) - 1);
                            return wrong("rank", part.rank_shown(at), expected);
                        }
                    };
                    if self.rows.last() != Some(rank) {
                        self.rows.begin(rank, row);
                        compute = 0;
                    }
                    let number = row - self.rows.last_start();
                    if number >= MOST_OPERATIONS {
                        let problem = format!("{number} operations and more of rank {rank}");
                        return wrong("rank", problem, format!("at most {MOST_OPERATIONS}"));
                    }
                    let op = part.op(table.path(), at, number as u32)?;
                    if let Err((column, problem, expected)) = self.check(rank, &op.kind) {
                        return wrong(column, problem, expected);
                    }
                    self.contents.count(&op.kind, &mut compute);
                    self.contents.most_operations = self.contents.most_operations.max(number + 1);
                }
                first += count as u64;
            }
        }
        self.does_io = [
            "open", "read", "write", "iread", "iwrite", "create", "stat", "unlink", "mkdir", "rmdir",
        ]
        .iter()
        .any(|kind| self.contents.kinds.contains_key(kind));
        self.contents.operations = table.rows();
        self.rows.end(table.rows());
        Ok(())
    }

    /// Checks that the references of an operation of `rank` exist.
    fn check(&self, rank: u32, kind: &OpKind) -> Result<(), (&'static str, String, String)> {
        let members = |comm: Comm| match self.group(rank, comm) {
            Some(group) => Ok(group.len()),
            None => Err((
                "comm",
                format!("{} of rank {rank}, which does not have it", comm.0),
                format!("0, or a communicator of {COMMUNICATORS} with this rank"),
            )),
        };
        let peer = |column, comm, peer: u32| {
            let members = members(comm)?;
            match peer {
                PROC_NULL => Ok(()),
                peer if peer < members => Ok(()),
                peer => {
                    let problem = format!("{peer} on a communicator of {members} ranks");
                    Err((column, problem, format!("0 to {}", members - 1)))
                }
            }
        };
        let source = |column, comm, source: Source| match source {
            Source::Any => members(comm).map(|_| ()),
            Source::Rank(rank) => peer(column, comm, rank),
        };
        match *kind {
            OpKind::Send { to, comm, .. }
            | OpKind::Ssend { to, comm, .. }
            | OpKind::Isend { to, comm, .. }
            | OpKind::Issend { to, comm, .. }
            | OpKind::SendInit { to, comm, .. } => peer("peer", comm, to),
            OpKind::Recv { from, comm, .. }
            | OpKind::Irecv { from, comm, .. }
            | OpKind::RecvInit { from, comm, .. }
            | OpKind::Probe { from, comm, .. }
            | OpKind::Iprobe { from, comm, .. } => source("peer", comm, from),
            OpKind::Sendrecv { to, from, comm, .. } => {
                peer("peer", comm, to)?;
                source("recv_peer", comm, from)
            }
            OpKind::Collective(collective) | OpKind::Icollective { collective, .. } => {
                let members = members(collective.comm())?;
                if let Some(root) = collective.root().filter(|&root| root >= members) {
                    let problem = format!("{root} on a communicator of {members} ranks");
                    return Err(("root", problem, format!("0 to {}", members - 1)));
                }
                self.check_counts(rank, &collective, members)
            }
            OpKind::OneSided(call) => {
                if let Some(group) = call.group() {
                    let of_group = members(group);
                    of_group.map_err(|(_, problem, expected)| ("new_comm", problem, expected))?;
                }
                match call.target() {
                    Some(target) => source("peer", call.comm(), target),
                    None => members(call.comm()).map(|_| ()),
                }
            }
            OpKind::CommDup { comm, .. }
            | OpKind::CommSplit { comm, .. }
            | OpKind::CommCreate { comm, .. }
            | OpKind::CommFree { comm } => members(comm).map(|_| ()),
            _ => Ok(()),
        }
    }

    fn check_counts(
        &self,
        rank: u32,
        collective: &Collective,
        members: u32,
    ) -> Result<(), (&'static str, String, String)> {
        let Some(counts) = counts_of(collective) else {
            return Ok(());
        };
        let Some(row) = self.counts.row(rank, counts) else {
            let problem = format!("{} of rank {rank}, which is not in {COUNTS}", counts.0);
            return Err(("counts", problem, "a list of the rank".into()));
        };
        let fits = |length: u32| length == members || length == 1;
        let (wanted, complete) = match collective.which() {
            Kind::Gatherv | Kind::Allgatherv => ("by_giver", fits(row.by_giver)),
            Kind::Scatterv | Kind::ReduceScatter => ("by_taker", fits(row.by_taker)),
            _ => ("by_giver and by_taker", fits(row.by_giver) && fits(row.by_taker)),
        };
        if complete {
            return Ok(());
        }
        let problem = format!(
            "list {} has {} sizes by giver and {} by taker",
            counts.0, row.by_giver, row.by_taker
        );
        Err(("counts", problem, format!("1 or {members} in {wanted}")))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What `program.json` says.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The contents of the files.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Whether the program accesses files.
    pub fn does_io(&self) -> bool {
        self.does_io
    }

    /// The block with `row`, a row of the rank at index `place`.
    ///
    /// # Errors
    /// It cannot be read again.
    fn block(&self, place: usize, row: u64) -> Result<Arc<Block>, FileError> {
        let group = self.operations.table.group_of(row);
        let start = self.operations.table.rows_of(group).start;
        let first = start + (row - start) / self.block * self.block;
        self.recent[place].get(first, || {
            let shared = || self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(block) = shared().get(&first).and_then(Weak::upgrade) {
                return Ok(block);
            }
            let block = Arc::new(self.load(group, first)?);
            let mut shared = shared();
            if shared.len() > 4 * self.recent.len() + 64 {
                shared.retain(|_, block| block.strong_count() > 0);
            }
            shared.insert(first, Arc::downgrade(&block));
            Ok(block)
        })
    }

    fn load(&self, group: usize, first: u64) -> Result<Block, FileError> {
        let table = &self.operations.table;
        let rows = table.rows_of(group);
        let count = (rows.end - first).min(self.block) as usize;
        let mut reader = self.operations.group(group)?;
        reader.skip((first - rows.start) as usize)?;
        let part = reader.read(count)?;
        let mut place = self.rows.place_of(first);
        let mut ops = Vec::with_capacity(count);
        for at in 0..count {
            let row = first + at as u64;
            if self.rows.rows(place).end <= row {
                place += 1;
            }
            let mut op = part.op(table.path(), at, (row - self.rows.rows(place).start) as u32)?;
            if let OpKind::Compute { duration } = &mut op.kind {
                *duration = scaled(*duration, self.scale);
            }
            ops.push(op);
        }
        Ok(Block { first, ops })
    }
}

/// `time` times `scale`; at most [`Time::BEYOND`].
fn scaled(time: Time, scale: f64) -> Time {
    if scale == 1.0 {
        return time;
    }
    Time(((time.0 as f64 * scale).round() as u64).min(Time::BEYOND.0))
}

/// The list of sizes of a v-variant collective.
pub(crate) fn counts_of(collective: &Collective) -> Option<Counts> {
    match *collective {
        Collective::Gatherv { counts, .. }
        | Collective::Scatterv { counts, .. }
        | Collective::Allgatherv { counts, .. }
        | Collective::ReduceScatter { counts, .. }
        | Collective::Alltoallv { counts, .. } => Some(counts),
        _ => None,
    }
}

fn describe(path: &Path) -> Result<Description, FileError> {
    let expected = "a program folder, with a file program.json of format \"odonata-program\"";
    let unreadable = |cause: std::io::Error| FileError::about(path, format!("cannot be read: {cause}"), expected);
    let text = read_regular(path, LONGEST_DESCRIPTION).map_err(unreadable)?;
    let found: Description =
        serde_json::from_slice(&text).map_err(|cause| FileError::about(path, cause.to_string(), expected))?;
    let wrong =
        |key: &str, value: String, expected: String| Err(FileError::about(path, format!("{key} is {value}"), expected));
    if found.format != FORMAT {
        return wrong("format", format!("{:?}", found.format), format!("{FORMAT:?}"));
    }
    if found.version != VERSION {
        return wrong("version", found.version.to_string(), VERSION.to_string());
    }
    if found.ranks == 0 || found.ranks > MOST_RANKS {
        return wrong("ranks", found.ranks.to_string(), format!("1 to {MOST_RANKS}"));
    }
    Ok(found)
}

impl Contents {
    fn count(&mut self, kind: &OpKind, compute: &mut u64) {
        *self.kinds.entry(crate::to_row(kind).0).or_default() += 1;
        let mut sent = |messages: u64, bytes: u64| {
            self.messages = self.messages.saturating_add(messages);
            self.message_bytes = self.message_bytes.saturating_add(bytes);
        };
        match *kind {
            OpKind::Send { bytes, to, .. }
            | OpKind::Ssend { bytes, to, .. }
            | OpKind::Isend { bytes, to, .. }
            | OpKind::Issend { bytes, to, .. }
                if to != PROC_NULL =>
            {
                sent(1, bytes);
            }
            OpKind::Sendrecv {
                send_bytes, to, from, ..
            } => {
                if to != PROC_NULL {
                    sent(1, send_bytes);
                }
                self.receives += u64::from(from != Source::Rank(PROC_NULL));
            }
            OpKind::Recv { from, .. } | OpKind::Irecv { from, .. } if from != Source::Rank(PROC_NULL) => {
                self.receives += 1;
            }
            OpKind::Start { .. } => self.starts += 1,
            OpKind::StartAll { count, .. } => self.starts = self.starts.saturating_add(count.into()),
            OpKind::Read { bytes, .. } | OpKind::Iread { bytes, .. } => {
                self.read_bytes = self.read_bytes.saturating_add(bytes);
            }
            OpKind::Write { bytes, .. } | OpKind::Iwrite { bytes, .. } => {
                self.written_bytes = self.written_bytes.saturating_add(bytes);
            }
            OpKind::Compute { duration } => {
                *compute = compute.saturating_add(duration.0);
                self.longest_compute_ps = self.longest_compute_ps.max(*compute);
            }
            _ => {}
        }
    }
}

impl Program for ProgramFile {
    fn ranks(&self) -> u32 {
        self.description.ranks
    }

    /// The operation number gives its row: the words of the cursor are unused.
    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        let (place, rows) = self.rows.of(rank)?;
        let row = rows.start + u64::from(cursor.op);
        if row >= rows.end || self.lost.why().is_some() {
            return None;
        }
        let block = self.block(place, row).inspect_err(|error| self.lost.note(error)).ok()?;
        let op = block.ops[(row - block.first) as usize];
        debug_assert_eq!(op.id, OpId(cursor.op));
        cursor.op += 1;
        Some(op)
    }

    /// A read error after opening: not all of the files stays in memory.
    fn broken(&self, rank: u32, cursor: &Cursor) -> Option<String> {
        let (_, rows) = self.rows.of(rank)?;
        let more = rows.start + u64::from(cursor.op) < rows.end;
        self.lost.why().filter(|_| more).map(str::to_owned)
    }

    fn group(&self, rank: u32, comm: Comm) -> Option<Group> {
        match comm {
            Comm::WORLD => Some(Group::world(self.ranks())),
            comm => self.communicators.group(rank, comm),
        }
    }

    fn bytes(&self, rank: u32, counts: Counts, from: u32, to: u32) -> u64 {
        self.counts.bytes(rank, counts, from, to)
    }

    fn describe(&self) -> String {
        let name = self.folder.file_name().map(|name| name.to_string_lossy().into_owned());
        format!(
            "program {}: {} ranks, {} operations",
            name.unwrap_or_default(),
            self.ranks(),
            self.contents.operations
        )
    }
}
