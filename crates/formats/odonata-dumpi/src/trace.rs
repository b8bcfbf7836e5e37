//! A trace as a program.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use odonata_trace_format::{End, visit};
use odonata_workload::{After, Comm, Counts, Cursor, Group, Op, OpId, PROC_NULL, Program, Recent, Source, Tag};

use super::communicators::{Communicators, Creations, work_out};
use super::error::TraceError;
use super::knowledge::{CommOf, Knowledge};
use super::rank_file::{Layout, Records, opened};
use super::record::Record;
use super::set::TraceFiles;
use super::shared_pointer;
use super::survey::{Resume, Survey, survey};
use super::translate::{Blocks, FIRST, Oddity, Output, Planned, Translator};

/// Translated records of all ranks together, roughly: about a hundred bytes each.
const TRANSLATED: u32 = 1 << 21;

/// Maximum number of operations of a rank: numbered with 30 bits, repetitions included.
const MOST_OPERATIONS: u64 = 1 << 30;

/// Maximum number of communicators of a trace, and of size lists of a rank: the remaining bits number
/// [phases](odonata_workload::Phases) of a job.
const MOST_COMMUNICATORS: usize = 1 << 23;
const MOST_LISTS: u32 = 1 << 24;

/// A replayed DUMPI trace: messages, matching and computation times are as recorded; durations of calls are not.
///
/// Opening reads all files once. Afterwards only the parts around the ranks' positions are in memory: the files must
/// not change while the program runs.
#[derive(Debug)]
pub struct Trace {
    files: TraceFiles,
    ranks: Vec<Rank>,
    groups: Arc<[Group]>,
    oddities: BTreeMap<Oddity, u64>,
    problems: Vec<String>,
    damages: Vec<TraceError>,
    records: u64,
    io: bool,
    /// The first reason why a part of a file could not be read again.
    lost: OnceLock<TraceError>,
}

#[derive(Debug)]
struct Rank {
    layout: Layout,
    resumes: Vec<Resume>,
    sizes: Vec<i32>,
    knowledge: Knowledge,
    recent: Recent<Chunk>,
}

/// Some records, translated.
#[derive(Debug)]
struct Chunk {
    ops: Vec<Planned>,
    first_list: u32,
    lists: Vec<Blocks>,
}

impl Trace {
    /// Opens the trace at `path`, a folder or a `.meta` file; times between calls are multiplied by `scale`.
    ///
    /// # Errors
    /// It cannot be read; or a rank has too many operations.
    pub fn open(path: &Path, scale: f64) -> Result<Trace, TraceError> {
        Trace::of(TraceFiles::find(path)?, scale)
    }

    /// Like [`open`](Trace::open), for these files.
    ///
    /// # Errors
    /// Those of [`open`](Trace::open).
    pub fn of(files: TraceFiles, scale: f64) -> Result<Trace, TraceError> {
        let count = files.ranks.len().max(1) as u32;
        let chunk = (TRANSLATED / 2 / count).clamp(128, 4_096);
        Trace::with_chunks(files, scale, chunk)
    }

    /// With parts of `chunk` records.
    pub(super) fn with_chunks(files: TraceFiles, scale: f64, chunk: u32) -> Result<Trace, TraceError> {
        let mut surveys = Vec::with_capacity(files.ranks.len());
        for path in &files.ranks {
            let survey = survey(&files, path, chunk)?;
            // A record becomes few operations, or as many as it names requests.
            if survey.records >= MOST_OPERATIONS / 4 {
                let problem = format!("{} records", survey.records);
                let expected = format!("fewer than {}: a rank can have 2^30 operations", MOST_OPERATIONS / 4);
                return Err(TraceError::about(path, problem, expected));
            }
            if survey.lists > MOST_LISTS {
                let problem = format!("{} collectives with a list of sizes", survey.lists);
                return Err(TraceError::about(
                    path,
                    problem,
                    format!("at most {MOST_LISTS}, as they are numbered"),
                ));
            }
            surveys.push(survey);
        }
        let trace = Trace::assemble(files, surveys, scale);
        if trace.files.cancellation.is_requested() {
            return Err(TraceError::cancelled(&trace.files.ranks[0]));
        }
        if let Some(error) = trace.lost() {
            return Err(error.clone());
        }
        if trace.groups.len() > MOST_COMMUNICATORS {
            let folder = trace
                .files
                .ranks
                .first()
                .and_then(|path| path.parent())
                .unwrap_or(Path::new(""));
            let problem = format!("{} communicators", trace.groups.len());
            let expected = format!("at most {MOST_COMMUNICATORS}, as they are numbered");
            return Err(TraceError::about(folder, problem, expected));
        }
        Ok(trace)
    }

    fn assemble(files: TraceFiles, mut surveys: Vec<Survey>, scale: f64) -> Trace {
        let call_time = files.call_time;
        let creations: Vec<Creations> = surveys
            .iter_mut()
            .map(|survey| std::mem::take(&mut survey.creations))
            .collect();
        let Communicators {
            groups,
            of_ranks,
            problems,
        } = work_out(&creations);
        let problems = problems
            .into_iter()
            .chain(contradictions(&creations, &groups, &of_ranks))
            .collect();
        drop(creations);
        let mut oddities: BTreeMap<Oddity, u64> = BTreeMap::new();
        let mut damages = Vec::new();
        for survey in &mut surveys {
            for (&oddity, count) in &survey.oddities {
                *oddities.entry(oddity).or_default() += count;
            }
            damages.extend(survey.damage.take());
        }
        let mut names: HashMap<String, u64> = HashMap::new();
        let mut numbers = Vec::with_capacity(surveys.len());
        for survey in &mut surveys {
            let opened = std::mem::take(&mut survey.files);
            let number = |name: String| {
                let next = names.len() as u64;
                *names.entry(name).or_insert(next)
            };
            numbers.push(opened.into_iter().map(number).collect::<Vec<u64>>());
        }
        let accesses: Vec<_> = surveys
            .iter_mut()
            .map(|survey| std::mem::take(&mut survey.shared))
            .collect();
        let shared = shared_pointer::offsets(&accesses, &numbers);
        let (records, io) = surveys.iter().fold((0, false), |(records, io), survey| {
            (records + survey.records, io | survey.io)
        });
        let ranks = (0..)
            .zip(surveys)
            .zip(of_ranks.into_iter().zip(numbers).zip(shared))
            .map(|((rank, survey), ((comms, files), shared))| Rank {
                layout: survey.layout,
                resumes: survey.resumes,
                sizes: survey.sizes,
                knowledge: Knowledge {
                    rank,
                    comms,
                    fates: survey.fates,
                    files,
                    shared,
                    null_sources: BTreeSet::new(),
                    loose: BTreeSet::new(),
                    groups: groups.clone(),
                    scale,
                    call_time,
                },
                recent: Recent::default(),
            })
            .collect();
        let mut trace = Trace {
            files,
            ranks,
            groups,
            oddities,
            problems,
            damages,
            records,
            io,
            lost: OnceLock::new(),
        };
        if trace.oddities.contains_key(&Oddity::UnknownSource) {
            trace.settle_unknown_sources();
        }
        trace
    }

    /// Some MPI libraries have the same number for MPI_ANY_SOURCE and MPI_PROC_NULL, so a receive without a status is
    /// ambiguous. If all such receives of a rank, communicator and tag would stay unmatched, they are from
    /// MPI_PROC_NULL.
    fn settle_unknown_sources(&mut self) {
        // Wildcard receives, and all messages minus all receives, by rank, communicator and tag.
        let mut unknown: BTreeMap<(u32, u32, u32), (i64, i64)> = BTreeMap::new();
        let mut loose: BTreeSet<(u32, u32)> = BTreeSet::new();
        for rank in 0..self.ranks() {
            visit(self, rank, &self.files.cancellation, |end| match end {
                Ok((
                    comm,
                    End::From {
                        peer: Source::Any,
                        tag: Tag::Is(tag),
                    },
                )) => {
                    unknown.entry((rank, comm.0, tag)).or_default().0 += 1;
                }
                Ok((
                    comm,
                    End::From {
                        peer: Source::Any,
                        tag: Tag::Any,
                    },
                )) => {
                    loose.insert((rank, comm.0));
                }
                _ => {}
            });
        }
        for rank in 0..self.ranks() {
            visit(self, rank, &self.files.cancellation, |end| {
                let (key, by) = match end {
                    Ok((
                        comm,
                        End::From {
                            peer,
                            tag: Tag::Is(tag),
                        },
                    )) if peer != Source::Rank(PROC_NULL) => ((rank, comm.0, tag), -1),
                    Ok((comm, End::To { peer, tag, .. })) if peer != PROC_NULL => {
                        let to = self.group(rank, comm).and_then(|group| group.rank(peer));
                        ((to.unwrap_or(u32::MAX), comm.0, tag), 1)
                    }
                    _ => return,
                };
                if let Some((_, balance)) = unknown.get_mut(&key) {
                    *balance += by;
                }
            });
        }
        let mut settled = 0;
        for ((rank, comm, tag), (receives, balance)) in unknown {
            if receives + balance <= 0 {
                self.ranks[rank as usize].knowledge.null_sources.insert((comm, tag));
                settled += receives as u64;
            } else {
                loose.insert((rank, comm));
            }
        }
        for (rank, comm) in loose {
            self.ranks[rank as usize].knowledge.loose.insert(comm);
        }
        if let Some(count) = self.oddities.get_mut(&Oddity::UnknownSource) {
            *count -= settled.min(*count);
        }
        self.oddities.retain(|_, count| *count > 0);
        for rank in &mut self.ranks {
            rank.recent = Recent::default();
        }
    }

    /// The files of the trace.
    pub fn files(&self) -> &TraceFiles {
        &self.files
    }

    /// Deviations of the replay from the recording, with counts.
    pub fn oddities(&self) -> &BTreeMap<Oddity, u64> {
        &self.oddities
    }

    /// Problems with calls that create communicators.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The damage of truncated files that were read anyway.
    pub fn damages(&self) -> &[TraceError] {
        &self.damages
    }

    /// Calls in all files.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Number of communicators; MPI_COMM_SELF of all ranks counts once.
    pub fn communicators(&self) -> u32 {
        self.groups.len() as u32
    }

    /// Whether the program accesses files.
    pub fn does_io(&self) -> bool {
        self.io
    }

    /// A part that cannot be read again after opening: its ranks have ended early.
    pub(super) fn lost(&self) -> Option<&TraceError> {
        self.lost.get()
    }

    /// Part `index` of the operations of `rank`, if it exists and can be read again.
    fn chunk(&self, rank: u32, index: u32) -> Option<Arc<Chunk>> {
        let cell = self.ranks.get(rank as usize)?;
        cell.resumes.get(index as usize)?;
        let path = &self.files.ranks[rank as usize];
        let chunk = cell
            .recent
            .get(index.into(), || cell.translate(path, index).map(Arc::new));
        chunk.map_err(|error| self.lost.get_or_init(|| error)).ok()
    }
}

/// Results of `MPI_Comm_rank` that contradict the reconstruction.
fn contradictions(creations: &[Creations], groups: &[Group], of_ranks: &[Vec<Option<CommOf>>]) -> Vec<String> {
    let mut list = Vec::new();
    for (rank, (calls, comms)) in (0..).zip(creations.iter().zip(of_ranks)) {
        let unknown = comms.iter().filter(|of| of.is_none()).count();
        if unknown > 0 && list.len() < MOST_CONTRADICTIONS {
            list.push(format!(
                "rank {rank} has {unknown} communicators with unknown members: their calls are left out"
            ));
        }
        for (object, of) in comms.iter().enumerate().skip(FIRST as usize) {
            let (Some(of), Some(&recorded)) = (of, calls.ranks.get(&(object as u32))) else {
                continue;
            };
            let member = if of.inter { None } else { u32::try_from(recorded).ok() };
            let there = member.and_then(|member| groups[of.number as usize].rank(member));
            if !of.inter && there != Some(rank) && list.len() < MOST_CONTRADICTIONS {
                list.push(format!(
                    "rank {rank} recorded number {recorded} in communicator {}, but the calls that created it give rank \
                     {there:?}",
                    of.number
                ));
            }
        }
    }
    list
}

/// Maximum number of contradictions that are described.
const MOST_CONTRADICTIONS: usize = 100;

impl Rank {
    /// Reads and translates part `index`.
    fn translate(&self, path: &Path, index: u32) -> Result<Chunk, TraceError> {
        let resume = &self.resumes[index as usize];
        let end = self.resumes.get(index as usize + 1).map(|next| next.place.offset);
        let mut file = Records::resume(opened(path)?, self.layout, resume.place).map_err(|fault| fault.of(path))?;
        let mut state = resume.state.clone();
        let mut out = Output::default();
        let mut record = Record::default();
        let first_list = state.lists();
        while end.is_none_or(|end| file.place().offset < end)
            && file.read(&mut record).map_err(|fault| fault.of(path))?
        {
            Translator::new(&mut state, &self.sizes, Some(&self.knowledge), &mut out).record(&record);
        }
        if let Some(end) = end.filter(|&end| file.place().offset != end) {
            let problem = format!("records up to byte {}", file.place().offset);
            return Err(TraceError::about(
                path,
                problem,
                format!("one that begins at byte {end}, as before"),
            ));
        }
        let mut translator = Translator::new(&mut state, &self.sizes, Some(&self.knowledge), &mut out);
        if end.is_none() {
            translator.end();
        }
        translator.end_chunk();
        Ok(Chunk {
            ops: out.ops,
            first_list,
            lists: out.lists,
        })
    }
}

impl Program for Trace {
    fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// The words of the cursor are the part, and the operation within.
    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        let [mut index, mut at, ..] = cursor.words;
        if self.lost.get().is_some() {
            return None;
        }
        loop {
            let chunk = self.chunk(rank, index)?;
            let Some(&Planned { stream, kind }) = chunk.ops.get(at as usize) else {
                (index, at) = (index + 1, 0);
                continue;
            };
            let id = OpId(cursor.op);
            cursor.op = cursor.op.wrapping_add(1);
            (cursor.words[0], cursor.words[1]) = (index, at + 1);
            return Some(Op {
                id,
                stream,
                after: After::NONE,
                kind,
            });
        }
    }

    /// Every rank stops when a part of any file is lost.
    fn broken(&self, rank: u32, cursor: &Cursor) -> Option<String> {
        let resumes = &self.ranks.get(rank as usize)?.resumes;
        let more = (cursor.words[0] as usize) < resumes.len();
        let error = self.lost.get().filter(|_| more)?;
        Some(format!("the trace changed while it was replayed: {error}"))
    }

    fn group(&self, rank: u32, comm: Comm) -> Option<Group> {
        if comm.0 == super::translate::SELF {
            return Some(Group::Strided {
                first: rank,
                stride: 1,
                count: 1,
            });
        }
        self.groups.get(comm.0 as usize).cloned()
    }

    fn bytes(&self, rank: u32, counts: Counts, from: u32, to: u32) -> u64 {
        let Some(cell) = self.ranks.get(rank as usize) else {
            return 0;
        };
        // The last part that starts before the list.
        let after = cell.resumes.partition_point(|resume| resume.state.lists() <= counts.0);
        let Some(index) = after.checked_sub(1) else { return 0 };
        let chunk = self.chunk(rank, index as u32);
        let list = chunk
            .as_ref()
            .and_then(|chunk| chunk.lists.get((counts.0 - chunk.first_list) as usize));
        list.map_or(0, |list| list.bytes(from, to))
    }

    fn describe(&self) -> String {
        let first = self.files.ranks.first().and_then(|path| path.parent());
        let name = first
            .and_then(Path::file_name)
            .map(|name| name.to_string_lossy().into_owned());
        format!(
            "trace {}: {} ranks, {} calls",
            name.unwrap_or_default(),
            self.ranks.len(),
            self.records
        )
    }
}
