//! Programs whose ranks are Python generators.
//!
//! A program is a function of rank and cursor; a generator only moves forward. So the last operations of a generator
//! are kept. If an earlier operation is needed, the generator restarts and runs forward: the same rank and arguments
//! must yield the same operations again.
//!
//! Lock order: the rank's lock first, then the interpreter's. Callers have released the interpreter.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use odonata_program_file::{Field, MOST_COMM, MOST_COUNTS, Numbers, Sizes, from_row, known_kind};
use odonata_system::PythonSource;
use odonata_workload::collective::Kind;
use odonata_workload::{After, Comm, Counts, Cursor, Group, Op, OpId, OpKind, Program};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::interrupt::keep;

/// Operations kept per rank: more than a host looks ahead (512); most rollbacks are shorter.
const KEPT: usize = 768;

/// Operations fetched together, because taking the interpreter's lock is slow.
const TOGETHER: u32 = 64;

/// Bytes of a generator: its object and a frame of some twenty variables, by `sys.getsizeof`.
const GENERATOR: u64 = 512;

/// The Python side.
const MODULE: &str = "odonata.programs.rank_programs";

/// An operation yielded by a generator.
#[derive(Clone, Debug)]
struct Made {
    op: Op,
    sizes: Option<Arc<Sizes>>,
}

/// A rank's generator, and its last operations.
#[derive(Debug, Default)]
struct Cell {
    generator: Option<Py<PyAny>>,
    /// Number of the first operation in `recent`.
    first: u32,
    recent: VecDeque<Made>,
    /// The number of operations once known, and the error if the generator failed.
    end: Option<(u32, Option<String>)>,
}

/// How a batch of a generator ended.
enum Ending {
    /// It has more.
    More,
    /// The generator is exhausted.
    Over,
    /// It raised this.
    Raised(PyErr),
}

/// A program of generators.
#[derive(Debug)]
struct Generated {
    name: String,
    ranks: u32,
    /// The object of [`MODULE`] that starts the generators.
    starter: Py<PyAny>,
    /// The class of yielded operations.
    operation: Py<PyAny>,
    groups: Vec<Group>,
    /// Index in `groups`, by communicator and rank.
    members: HashMap<(u32, u32), u32>,
    cells: Vec<Mutex<Cell>>,
    /// Whether a generator was interrupted: none continues after that.
    interrupted: AtomicBool,
}

/// The program of `source` for `ranks` ranks.
pub(crate) fn make(source: &PythonSource, ranks: u32) -> Result<Arc<dyn Program>, String> {
    Python::attach(|py| {
        generated(py, source, ranks).map_err(|error| {
            let value = error.value(py);
            match value.get_type().name() {
                // A `ProgramError` has its own text.
                Ok(name) if name == "ProgramError" => return value.to_string(),
                Ok(name) if name == "Interrupted" => keep(PyKeyboardInterrupt::new_err(())),
                _ if error.is_instance_of::<PyKeyboardInterrupt>(py) => keep(error.clone_ref(py)),
                _ => {}
            }
            text_of(py, &error)
        })
    })
}

fn generated(py: Python<'_>, source: &PythonSource, ranks: u32) -> PyResult<Arc<dyn Program>> {
    let args = serde_json::Value::Object(source.args.clone()).to_string();
    let module = py.import(MODULE)?;
    let starter = module.call_method1("load", (&source.path, &source.function, args, ranks))?;
    let listed: Vec<(u32, Vec<u32>)> = starter.getattr("groups")?.extract()?;
    let (mut groups, mut members) = (Vec::new(), HashMap::new());
    for (comm, ranks) in listed {
        members.extend(ranks.iter().map(|&rank| ((comm, rank), groups.len() as u32)));
        groups.push(Group::List(ranks.into()));
    }
    let mut cells = Vec::new();
    cells.resize_with(ranks as usize, Mutex::default);
    Ok(Arc::new(Generated {
        name: format!("{}:{}", source.path, source.function),
        ranks,
        operation: module.getattr("Operation")?.unbind(),
        starter: starter.unbind(),
        groups,
        members,
        cells,
        interrupted: AtomicBool::new(false),
    }))
}

/// The text of an exception, with traceback.
fn text_of(py: Python<'_>, error: &PyErr) -> String {
    let text = py
        .import(MODULE)
        .and_then(|module| module.call_method1("explain", (error.clone_ref(py).into_value(py),)))
        .and_then(|text| text.extract());
    text.unwrap_or_else(|_| error.to_string())
}

impl Generated {
    fn cell(&self, rank: u32) -> Option<MutexGuard<'_, Cell>> {
        let cell = self.cells.get(rank as usize)?;
        Some(cell.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Operation `number` of `rank`.
    fn made(&self, cell: &mut Cell, rank: u32, number: u32) -> Option<Made> {
        if number < cell.first {
            cell.generator = None;
            cell.recent.clear();
            cell.first = 0;
        }
        while number >= cell.first + cell.recent.len() as u32 {
            if cell
                .end
                .as_ref()
                .is_some_and(|&(end, _)| cell.first + cell.recent.len() as u32 >= end)
            {
                return None;
            }
            if self.interrupted.load(Ordering::Relaxed) {
                let end = cell.first + cell.recent.len() as u32;
                cell.end = Some((end, Some(self.why_interrupted(end))));
                return None;
            }
            Python::attach(|py| self.go_on(py, cell, rank));
        }
        cell.recent.get((number - cell.first) as usize).cloned()
    }

    /// Runs the generator of `rank` for a batch of operations.
    fn go_on(&self, py: Python<'_>, cell: &mut Cell, rank: u32) {
        let begin = cell.first + cell.recent.len() as u32;
        let (items, ending) = match self.taken(py, cell, rank) {
            Ok(taken) => taken,
            Err(error) => (Vec::new(), Ending::Raised(error)),
        };
        let mut end = match ending {
            Ending::More => None,
            Ending::Over => Some(None),
            Ending::Raised(error) => {
                let number = begin + items.len() as u32;
                Some(Some(self.why_raised(py, error, number)))
            }
        };
        for item in items {
            let number = cell.first + cell.recent.len() as u32;
            match self.numbered(&item.into_bound(py), rank, number) {
                Ok(made) => cell.recent.push_back(made),
                Err(why) => {
                    end = Some(Some(why));
                    break;
                }
            }
        }
        if let Some(why) = end {
            cell.end = Some((cell.first + cell.recent.len() as u32, why));
        }
        while cell.recent.len() > KEPT {
            cell.recent.pop_front();
            cell.first += 1;
        }
    }

    /// The next batch of the generator of `rank`, started on first use, and how it ended.
    fn taken(&self, py: Python<'_>, cell: &mut Cell, rank: u32) -> PyResult<(Vec<Py<PyAny>>, Ending)> {
        let starter = self.starter.bind(py);
        let generator = match &cell.generator {
            Some(generator) => generator.bind(py).clone(),
            None => {
                let new = starter.call_method1(intern!(py, "start"), (rank,))?;
                cell.generator = Some(new.clone().unbind());
                new
            }
        };
        let (items, more, raised): (Vec<Py<PyAny>>, bool, Option<Bound<'_, PyAny>>) = starter
            .call_method1(intern!(py, "take"), (generator, TOGETHER))?
            .extract()?;
        let ending = match raised {
            Some(raised) => Ending::Raised(PyErr::from_value(raised)),
            None if more => Ending::More,
            None => Ending::Over,
        };
        Ok((items, ending))
    }

    /// The reason why operation `number` is missing. Exceptions unrelated to the program are raised when the work is
    /// over.
    fn why_raised(&self, py: Python<'_>, error: PyErr, number: u32) -> String {
        let interrupted = py.import(MODULE).and_then(|module| module.getattr("Interrupted"));
        if interrupted.is_ok_and(|kind| error.is_instance(py, &kind)) {
            self.interrupted.store(true, Ordering::Relaxed);
            return self.why_interrupted(number);
        }
        let text = text_of(py, &error);
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            keep(error);
        }
        format!(
            "the Python program {} failed before operation {number}: {text}",
            self.name
        )
    }

    fn why_interrupted(&self, number: u32) -> String {
        format!(
            "the Python program {} was interrupted before operation {number}",
            self.name
        )
    }

    /// The operation that the generator of `rank` yielded as `item`, number `number`.
    fn numbered(&self, item: &Bound<'_, PyAny>, rank: u32, number: u32) -> Result<Made, String> {
        // Operation numbers have 30 bits, including repetitions.
        if number >= 1 << 30 {
            return Err(format!(
                "the Python program {} yields more than 2^30 operations",
                self.name
            ));
        }
        let read = self.operation_of(item, rank, number);
        read.map_err(|why| format!("the Python program {}, operation {number}: {why}", self.name))
    }

    fn operation_of<'py>(&self, item: &Bound<'py, PyAny>, rank: u32, number: u32) -> Result<Made, String> {
        let py = item.py();
        if !item.is_instance(self.operation.bind(py)).unwrap_or(false) {
            let name = item.get_type().name().map_or("?".into(), |name| name.to_string());
            let shown: String = item
                .repr()
                .map_or("?".into(), |repr| repr.to_string())
                .chars()
                .take(80)
                .collect();
            return Err(format!(
                "it yielded {shown} (of type {name}); expected an operation of odonata.operations, such as send(1, 1000)"
            ));
        }
        let wrong = |error: PyErr| error.to_string();
        let get = |name: &Bound<'py, PyString>| item.getattr(name).map_err(wrong);
        let name: String = get(intern!(py, "kind"))?.extract().map_err(wrong)?;
        let kind = known_kind(&name).ok_or_else(|| format!("{name:?} is not a kind of operation"))?;
        let given = get(intern!(py, "numbers"))?;
        let given = given.cast::<PyDict>().map_err(|error| error.to_string())?;
        let mut numbers: Numbers = [None; Field::ALL.len()];
        for (key, value) in given {
            let key: String = key.extract().map_err(wrong)?;
            let field = Field::ALL.into_iter().find(|field| field.name() == key);
            let field = field.ok_or_else(|| format!("an operation has no {key:?}"))?;
            let value: i128 = value
                .extract()
                .map_err(|_| format!("{key} is {value}; expected a whole number"))?;
            numbers[field as usize] = Some(value);
        }
        let list = |name: &Bound<'py, PyString>| -> Result<Box<[u64]>, String> {
            let value = get(name)?;
            if value.is_none() {
                return Ok(Box::default());
            }
            let list: Vec<u64> = value
                .extract()
                .map_err(|_| format!("{name} is {value}; expected a list of sizes in bytes"))?;
            Ok(list.into())
        };
        let sizes = Sizes {
            by_giver: list(intern!(py, "by_giver"))?,
            by_taker: list(intern!(py, "by_taker"))?,
            member: None,
        };
        let listed = !sizes.by_giver.is_empty() || !sizes.by_taker.is_empty();
        if listed {
            // The list has the number of its operation.
            numbers[Field::Counts as usize] = Some(number.into());
            if number > MOST_COUNTS {
                return Err(format!(
                    "lists of sizes are possible in the first {MOST_COUNTS} operations only"
                ));
            }
        }
        let kind = from_row(kind, &numbers)
            .map_err(|fault| format!("{} is {}; expected {}", fault.column, fault.problem, fault.expected))?;
        let sizes = listed.then(|| self.sizes_of(&kind, rank, sizes)).transpose()?;
        let stream: u16 = get(intern!(py, "stream"))?
            .extract()
            .ok()
            .filter(|&stream| stream < Op::STREAMS)
            .ok_or_else(|| format!("a stream is a number from 0 to {}", Op::STREAMS - 1))?;
        let ids: Vec<i64> = get(intern!(py, "after"))?
            .extract()
            .map_err(|_| "after is a list of numbers of operations".to_owned())?;
        let before = |&id: &i64| {
            // Negative numbers count back from the operation.
            let id = if id < 0 { i64::from(number) + id } else { id };
            u32::try_from(id).ok().filter(|&id| id < number).map(OpId)
        };
        let earlier: Option<Vec<OpId>> = ids.iter().map(before).collect();
        let after = earlier.and_then(|earlier| After::from_slice(&earlier));
        Ok(Made {
            op: Op {
                id: OpId(number),
                stream,
                after: after.ok_or_else(|| format!("it waits for {ids:?}; expected at most 4 operations before it"))?,
                kind,
            },
            sizes: sizes.map(Arc::new),
        })
    }

    /// The `sizes` of the collective `kind`, checked for their number.
    fn sizes_of(&self, kind: &OpKind, rank: u32, sizes: Sizes) -> Result<Sizes, String> {
        let (OpKind::Collective(collective) | OpKind::Icollective { collective, .. }) = *kind else {
            return Err("lists of sizes for an operation that takes none".into());
        };
        let comm = collective.comm();
        let group = self.group(rank, comm);
        let group = group.ok_or_else(|| format!("rank {rank} is not in communicator {}", comm.0))?;
        let fits = |list: &[u64]| list.len() == 1 || list.len() == group.len() as usize;
        let complete = match collective.which() {
            Kind::Gatherv | Kind::Allgatherv => fits(&sizes.by_giver) && sizes.by_taker.is_empty(),
            Kind::Scatterv | Kind::ReduceScatter => fits(&sizes.by_taker) && sizes.by_giver.is_empty(),
            Kind::Alltoallv => fits(&sizes.by_giver) && fits(&sizes.by_taker),
            _ => false,
        };
        if !complete {
            let (givers, takers) = (sizes.by_giver.len(), sizes.by_taker.len());
            let members = group.len();
            return Err(format!(
                "{givers} sizes by giver, {takers} by taker; expected 1 or {members} of each that applies"
            ));
        }
        Ok(Sizes {
            member: group.member(rank),
            ..sizes
        })
    }
}

impl Program for Generated {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        let mut cell = self.cell(rank)?;
        let made = self.made(&mut cell, rank, cursor.op)?;
        cursor.op += 1;
        Some(made.op)
    }

    fn broken(&self, rank: u32, cursor: &Cursor) -> Option<String> {
        let mut cell = self.cell(rank)?;
        // The end is known only after reaching it.
        if self.made(&mut cell, rank, cursor.op).is_some() {
            return None;
        }
        cell.end.as_ref().and_then(|(_, why)| why.clone())
    }

    fn group(&self, rank: u32, comm: Comm) -> Option<Group> {
        match comm {
            Comm::WORLD => Some(Group::world(self.ranks)),
            Comm(number) if number > MOST_COMM => None,
            Comm(number) => self
                .members
                .get(&(number, rank))
                .map(|&at| self.groups[at as usize].clone()),
        }
    }

    fn bytes(&self, rank: u32, counts: Counts, from: u32, to: u32) -> u64 {
        let Some(mut cell) = self.cell(rank) else { return 0 };
        let made = self.made(&mut cell, rank, counts.0);
        made.and_then(|made| made.sizes)
            .map_or(0, |sizes| sizes.bytes(from, to))
    }

    fn runs_user_code(&self) -> bool {
        true
    }

    /// The last operations, in a buffer that grows by doubling, and the generator.
    fn bytes_per_rank(&self, operations: u64) -> u64 {
        let kept = operations.min(u64::from(TOGETHER) + KEPT as u64).next_power_of_two();
        kept * size_of::<Made>() as u64 + GENERATOR
    }

    fn describe(&self) -> String {
        format!("Python {}: {} ranks", self.name, self.ranks)
    }
}
