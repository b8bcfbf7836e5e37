//! The first pass over a file: resume points of the translation, and facts about the whole trace.

use std::collections::BTreeMap;
use std::path::Path;

use super::communicators::{Creation, Creations, Making};
use super::error::TraceError;
use super::knowledge::Fate;
use super::label as l;
use super::rank_file::{Layout, Place, RankFile};
use super::record::{Arg, Record};
use super::set::TraceFiles;
use super::translate::{News, Oddity, Output, RankState, SharedAccess, Translator, WORLD, makes};
use super::types::default_sizes;

/// A resume point of the translation.
#[derive(Clone, Debug)]
pub(super) struct Resume {
    pub(super) place: Place,
    pub(super) state: RankState,
}

/// The results of the first pass over a file.
#[derive(Debug)]
pub(super) struct Survey {
    /// In file order.
    pub(super) resumes: Vec<Resume>,
    /// Datatype sizes stated in the file.
    pub(super) sizes: Vec<i32>,
    pub(super) creations: Creations,
    pub(super) fates: Vec<(u32, Fate)>,
    /// Names of the files, by opening.
    pub(super) files: Vec<String>,
    pub(super) shared: Vec<SharedAccess>,
    pub(super) oddities: BTreeMap<Oddity, u64>,
    pub(super) records: u64,
    /// Lists of sizes.
    pub(super) lists: u32,
    /// The damage of the file.
    pub(super) damage: Option<TraceError>,
    pub(super) layout: Layout,
    /// Whether a call moves file data.
    pub(super) io: bool,
}

/// Reads the file at `path`, one of `files`, once, with a resume point after every `chunk` records, or later if the
/// state is larger: the total size of all copies is linear in the file.
pub(super) fn survey(files: &TraceFiles, path: &Path, chunk: u32) -> Result<Survey, TraceError> {
    let mut file = RankFile::open(path, files.incomplete)?.cancelled_by(&files.cancellation);
    let stated = file
        .trailer()
        .map(|trailer| trailer.sizes.clone())
        .filter(|sizes| !sizes.is_empty());
    let sizes = stated.unwrap_or_else(|| default_sizes().to_vec());
    let mut state = RankState::new();
    let mut creations = Creations::default();
    let mut survey = Survey {
        resumes: Vec::new(),
        sizes: Vec::new(),
        creations: Creations::default(),
        fates: Vec::new(),
        files: Vec::new(),
        shared: Vec::new(),
        oddities: BTreeMap::new(),
        records: 0,
        lists: 0,
        damage: None,
        layout: file.layout(),
        io: false,
    };
    let mut out = Output::default();
    let mut record = Record::default();
    let mut next = 0;
    loop {
        let place = (survey.records >= next).then(|| file.place());
        if !file.read(&mut record).map_err(|fault| fault.of(path))? {
            break;
        }
        if let Some(place) = place {
            let mut translator = Translator::new(&mut state, &sizes, None, &mut out);
            translator.end_chunk();
            next = survey.records + u64::from(chunk).max(state.entries());
            survey.resumes.push(Resume {
                place,
                state: state.clone(),
            });
        }
        survey.records += 1;
        survey.io |= (l::FILE_OPEN..=l::FILE_WRITE_ORDERED_END).contains(&record.label);
        note(&mut creations, &record, &state);
        Translator::new(&mut state, &sizes, None, &mut out).record(&record);
        if !out.news.is_empty() {
            for news in out.news.drain(..) {
                survey.take(news);
            }
        }
    }
    survey.fates.sort_unstable_by_key(|&(transfer, _)| transfer);
    // The last status of a transfer wins.
    survey.fates.reverse();
    survey.fates.dedup_by_key(|&mut (transfer, _)| transfer);
    survey.fates.reverse();
    creations.objects = state.made;
    survey.lists = state.lists();
    survey.creations = creations;
    survey.sizes = sizes;
    survey.damage = file.damage(path);
    Ok(survey)
}

impl Survey {
    fn take(&mut self, news: News) {
        match news {
            News::Fate(transfer, fate) => self.fates.push((transfer, fate)),
            News::Opened(name) => self.files.push(name),
            News::Shared(access) => self.shared.push(access),
            News::Odd(oddity) => *self.oddities.entry(oddity).or_default() += 1,
        }
    }
}

/// Records calls that create groups and communicators; `state` is the state before the call.
fn note(creations: &mut Creations, record: &Record, state: &RankState) {
    let comm = || state.comm(record.int(Arg::Comm));
    let list = |arg| record.list(arg).into();
    let reorder = record.int(Arg::Reorder) != 0;
    let making = match record.label {
        l::COMM_GROUP..=l::GROUP_FREE | l::COMM_REMOTE_GROUP => {
            creations.groups.note(record, comm());
            return;
        }
        l::COMM_RANK => {
            if let Some(object) = comm() {
                creations.ranks.insert(object, record.int(Arg::V));
            }
            return;
        }
        l::COMM_DUP => Making::Dup,
        l::COMM_CREATE => Making::Create(creations.groups.get(record.int(Arg::Group))),
        l::COMM_SPLIT => Making::Split {
            color: record.int(Arg::Color),
            key: record.int(Arg::Key),
        },
        l::CART_CREATE => Making::Cart {
            dims: list(Arg::Dims),
            reorder,
        },
        l::CART_SUB => Making::CartSub(list(Arg::Remain)),
        l::GRAPH_CREATE => Making::Graph {
            nodes: record.int(Arg::Nodes),
            reorder,
        },
        l::INTERCOMM_CREATE => Making::Inter {
            leader: record.int(Arg::Lleader),
            peer: state.comm(record.int(Arg::Remote)).unwrap_or(u32::MAX),
            remote: record.int(Arg::Rleader),
            tag: record.int(Arg::Tag),
        },
        l::INTERCOMM_MERGE => Making::Merge {
            high: record.int(Arg::High) != 0,
        },
        l::COMM_ACCEPT | l::COMM_CONNECT | l::COMM_SPAWN | l::COMM_SPAWN_MULTIPLE => Making::Foreign,
        // They have no parent, but create a communicator.
        l::COMM_GET_PARENT | l::COMM_JOIN => return,
        _ => return,
    };
    let parent = match record.label {
        l::INTERCOMM_CREATE => state.comm(record.int(Arg::Local)),
        _ => comm(),
    };
    let new = match record.label {
        l::COMM_SPAWN | l::COMM_SPAWN_MULTIPLE => Arg::Newcomm,
        _ => Arg::New,
    };
    creations.list.push(Creation {
        parent: parent.unwrap_or(WORLD.wrapping_sub(1)),
        making,
        object: makes(record.int(new)).then_some(state.made),
    });
}
