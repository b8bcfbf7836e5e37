//! A program with its parameters, number of tasks and seed, ready to run.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use odonata_workload::Group;

use super::diagnostic::line_and_column;
use super::eval::Map;
use super::functions::{Fault, Value};
use super::ir::{Code, Each, InstKind, Timed, count, each, timed, word};
use super::machine::{ASSERTION, MOST_STEPS, Machine, Moment, Step};
use super::random::Draws;
use super::sets::{Cache, Members, SiteData};

/// The communicator for decisions of timed loops.
pub(super) const CONTROL: u32 = 1;
/// The first request of named requests in injected calls.
pub(super) const NAMED: u32 = 1 << 24;

/// Maximum number of members of all communicators together, and of all mappings of tasks to processors.
const MOST_MEMBERS: usize = 1 << 26;
/// Maximum number of instructions of the communicator search.
const MOST_FORESIGHT: u64 = if cfg!(fuzzing) { 2_000 } else { 20_000_000 };

/// The reason why a program cannot run, or has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abort {
    /// The violated rule.
    pub reason: &'static str,
    /// The place and its text: `file:line:column: error: ...`.
    pub message: String,
    /// Whether it happens during expansion, before anything is sent.
    pub early: bool,
}

impl std::fmt::Display for Abort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Abort {}

/// The communicators of a program: the world, the one for timed loops, and those of its collectives.
#[derive(Debug, Default)]
pub(super) struct Groups {
    tasks: u32,
    numbers: HashMap<Arc<[u32]>, u32>,
    groups: Vec<Group>,
    members: usize,
}

impl Groups {
    /// The communicator of `members`; a single task needs none.
    pub(super) fn find(&self, members: &Members) -> Option<u32> {
        match members {
            Members::All(_) => Some(0),
            Members::List(list) => self.numbers.get(list).copied(),
            Members::One(_) => None,
        }
    }

    fn foresee(&mut self, members: &Members) -> Result<(), Fault> {
        let Members::List(list) = members else { return Ok(()) };
        if list.is_empty() || self.numbers.contains_key(list) {
            return Ok(());
        }
        self.members += list.len();
        if self.members > MOST_MEMBERS {
            return Err("collectives of more than 67,108,864 members in all communicators");
        }
        let stride = list[1] - list[0];
        let strided = list.windows(2).all(|pair| pair[1] - pair[0] == stride);
        self.groups.push(if strided {
            Group::Strided {
                first: list[0],
                stride,
                count: list.len() as u32,
            }
        } else {
            Group::List(list.clone())
        });
        self.numbers.insert(list.clone(), CONTROL + self.groups.len() as u32);
        Ok(())
    }

    /// The members of communicator `number`.
    pub(super) fn group(&self, number: u32) -> Option<Group> {
        match number {
            0 | CONTROL => Some(Group::world(self.tasks)),
            _ => self.groups.get((number - CONTROL - 1) as usize).cloned(),
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Instance {
    pub file: String,
    pub source: Arc<str>,
    pub tasks: u32,
    pub seed: u64,
    pub code: Code,
    pub caches: Vec<Cache>,
    pub groups: Groups,
    /// After each executed assignment of processors.
    pub maps: Vec<Arc<Map>>,
    /// Faults of ranks, by code.
    faults: Mutex<BTreeMap<u64, Fault>>,
}

impl Instance {
    pub(super) fn new(file: String, source: Arc<str>, tasks: u32, seed: u64, code: Code) -> Result<Instance, Abort> {
        let caches = (0..code.sites).map(|_| Cache::default()).collect();
        let mut instance = Instance {
            file,
            source,
            tasks,
            seed,
            code,
            caches,
            groups: Groups {
                tasks,
                ..Groups::default()
            },
            maps: Vec::new(),
            faults: Mutex::default(),
        };
        instance.foresee()?;
        // Drops lookups made before the communicators were known.
        instance.caches = (0..instance.code.sites).map(|_| Cache::default()).collect();
        Ok(instance)
    }

    pub(super) fn memory(&self) -> Vec<u64> {
        vec![0; self.code.words as usize]
    }

    /// The abort for `fault` at instruction `at`.
    pub(super) fn abort(&self, fault: Fault, at: u64) -> Abort {
        let inst = self.code.insts.get(at as usize);
        let span = inst.map(|inst| inst.span).unwrap_or_default();
        let (line, column) = line_and_column(&self.source, span.start);
        let about = match inst.map(|inst| &inst.kind) {
            Some(InstKind::Assert(about, _)) if fault == ASSERTION => format!("{fault}: {about}"),
            _ => fault.to_owned(),
        };
        Abort {
            reason: fault,
            message: format!("{}:{line}:{column}: error: {about}", self.file),
            early: fault != super::machine::RESTORE,
        }
    }

    /// An abort without a specific instruction.
    pub(super) fn abort_with(&self, reason: &'static str, detail: String) -> Abort {
        Abort {
            reason,
            message: format!("{}: error: {reason}: {detail}", self.file),
            early: true,
        }
    }

    /// Stores a fault and returns its code for the rank's memory: deterministic, nonzero, and distinct from the faults
    /// of other programs (FNV-1a).
    pub(super) fn book(&self, fault: Fault) -> u64 {
        let bytes = self.file.bytes().chain([0]).chain(fault.bytes());
        let code = bytes.fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let code = code.max(1);
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.insert(code, fault);
        code
    }

    /// The fault with this code.
    pub(super) fn booked(&self, code: u64) -> Option<Fault> {
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.get(&code).copied()
    }

    /// Finds the communicators and mappings of the run by walking through the program once for all ranks. Loops whose
    /// passes cannot differ in these are entered once.
    fn foresee(&mut self) -> Result<(), Abort> {
        let code = std::mem::take(&mut self.code);
        let wanted = code.assigns
            || code.insts.iter().any(|inst| {
                matches!(
                    inst.kind,
                    InstKind::Barrier { .. } | InstKind::Reduce { .. } | InstKind::Multicast { .. }
                )
            });
        self.code = code;
        if !wanted {
            return Ok(());
        }
        let mut memory = self.memory();
        let mut seen: HashSet<(u64, Vec<u64>)> = HashSet::new();
        let effort = Cell::new(10 * MOST_STEPS);
        for _ in 0..MOST_FORESIGHT {
            let at = memory[word::AT];
            if at as usize >= self.code.insts.len() {
                return Ok(());
            }
            // A fault ends the walk here like it will end the run.
            match self.foresee_one(&mut memory, &mut seen, &effort) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(fault) => return Err(self.abort(fault, at)),
            }
        }
        Err(self.abort(
            "more than 20,000,000 steps to find the communicators of the collectives",
            memory[word::AT],
        ))
    }

    /// Walks one instruction; returns whether the walk continues.
    fn foresee_one(
        &mut self,
        memory: &mut [u64],
        seen: &mut HashSet<(u64, Vec<u64>)>,
        effort: &Cell<u64>,
    ) -> Result<bool, Fault> {
        enum Walk {
            Next,
            To(u64),
            Run,
            Collective(Option<Value<SiteData>>),
            Map(Value<Map>),
        }
        let at = memory[word::AT];
        let kind = &self.code.insts[at as usize].kind;
        let walk = match kind {
            // Both arms, one after the other.
            InstKind::Jump { private: true, .. } | InstKind::Unless { private: true, .. } => Walk::Next,
            InstKind::Jump { .. } | InstKind::Unless { .. } | InstKind::Let(..) | InstKind::LetRandom { .. } => {
                Walk::Run
            }
            InstKind::CountStart(_) | InstKind::EachStart(_) => Walk::Run,
            InstKind::CountHead(shape) => {
                let state = shape.state as usize;
                let ordinal = memory[state + count::ORDINAL];
                let over =
                    ordinal >= memory[state + count::TOTAL] || (ordinal > 0 && !self.passes_differ(at, shape.end));
                Walk::To(if over { u64::from(shape.end) } else { at + 1 })
            }
            InstKind::EachHead(Each { state, end, .. }) => {
                let ordinal = memory[*state as usize + each::ORDINAL];
                if ordinal > 0 && !self.passes_differ(at, *end) && !self.sets_vary(at, *end) {
                    Walk::To(u64::from(*end))
                } else {
                    Walk::Run
                }
            }
            InstKind::TimedHead(Timed { state, end, .. }) => {
                let over = memory[*state as usize + timed::ORDINAL] > 0;
                Walk::To(if over { u64::from(*end) } else { at + 1 })
            }
            InstKind::TimedStart(Timed { state, .. }) => {
                memory[*state as usize + timed::ORDINAL] = 0;
                Walk::Next
            }
            InstKind::Next(..) => Walk::Run,
            InstKind::Barrier { site, .. } | InstKind::Reduce { site, .. } | InstKind::Multicast { site, .. } => {
                let key = site.reads.iter().map(|&slot| memory[slot as usize]).collect();
                if seen.len() < MOST_MEMBERS / 16 && seen.insert((at, key)) {
                    let machine = self.machine(memory, effort);
                    Walk::Collective(self.collective(kind, &mut machine.env()))
                } else {
                    Walk::Next
                }
            }
            InstKind::Assign {
                tasks,
                processor,
                site,
                loops,
            } => {
                let passes: Vec<u64> = loops.iter().map(|&slot| memory[slot as usize]).collect();
                let machine = self.machine(memory, effort);
                let mut env = machine.env();
                let mut map = match env.map {
                    Some(map) => Map {
                        processor_of: map.processor_of.clone(),
                        task_of: map.task_of.clone(),
                    },
                    None => Map {
                        processor_of: (0..self.tasks).collect(),
                        task_of: (0..self.tasks).collect(),
                    },
                };
                let mut assign = |env: &mut super::eval::Env| -> Value<()> {
                    let members = env.members(tasks)?;
                    for task in members.iter() {
                        env.bind(tasks, task);
                        let processor = match processor {
                            Some(processor) => env.int(processor)?,
                            None => {
                                let names = [u64::from(*site), u64::from(task)]
                                    .into_iter()
                                    .chain(passes.iter().copied());
                                Draws::new(self.seed, names).below(u64::from(self.tasks)) as i64
                            }
                        };
                        if !(0..env.tasks).contains(&processor) {
                            return Err("a processor outside of 0 to num_tasks - 1");
                        }
                        let (old, processor) = (map.processor_of[task as usize], processor as u32);
                        let displaced = map.task_of[processor as usize];
                        map.processor_of[task as usize] = processor;
                        map.processor_of[displaced as usize] = old;
                        map.task_of[processor as usize] = task;
                        map.task_of[old as usize] = displaced;
                    }
                    Ok(())
                };
                let result = assign(&mut env);
                Walk::Map(result.map(|()| map))
            }
            _ => Walk::Next,
        };
        match walk {
            Walk::Next => memory[word::AT] += 1,
            Walk::To(to) => memory[word::AT] = to,
            Walk::Run => {
                let mut machine = self.machine(memory, effort);
                if machine.one().is_err() {
                    return Ok(false);
                }
            }
            Walk::Collective(data) => {
                if let Some(Ok(data)) = data {
                    for circle in &data.circles {
                        self.groups.foresee(&circle.members)?;
                    }
                }
                memory[word::AT] += 1;
            }
            Walk::Map(map) => {
                let Ok(map) = map else {
                    return Err(map.err().unwrap_or(ASSERTION));
                };
                if (self.maps.len() + 1) * self.tasks as usize > MOST_MEMBERS {
                    return Err("too many assignments of processors");
                }
                self.maps.push(Arc::new(map));
                memory[word::MAPS] += 1;
                memory[word::AT] += 1;
            }
        }
        Ok(true)
    }

    fn machine<'a>(&'a self, memory: &'a mut [u64], effort: &'a Cell<u64>) -> Machine<'a> {
        Machine {
            program: self,
            rank: 0,
            memory,
            effort,
            moment: Moment {
                now: 0,
                clockless: true,
                answer: 0,
                op: 0,
                record: true,
            },
        }
    }

    /// Whether passes through a loop's instructions can differ without a variable.
    fn passes_differ(&self, head: u64, end: u32) -> bool {
        self.code.insts[head as usize..end as usize]
            .iter()
            .any(|inst| matches!(inst.kind, InstKind::LetRandom { .. } | InstKind::Assign { .. }))
    }

    /// Whether the sets of collectives in a loop may depend on its variable: whether any set reads a variable at all,
    /// because others may derive from it.
    fn sets_vary(&self, head: u64, end: u32) -> bool {
        self.code.insts[head as usize..end as usize]
            .iter()
            .any(|inst| match &inst.kind {
                InstKind::Barrier { site, .. } | InstKind::Reduce { site, .. } | InstKind::Multicast { site, .. } => {
                    !site.reads.is_empty()
                }
                _ => false,
            })
    }

    /// All steps of `rank`, for records: at most `most`.
    pub(super) fn steps(&self, rank: u32, most: usize, memory: &mut [u64]) -> Result<Vec<Step>, Abort> {
        let mut steps = Vec::new();
        loop {
            let effort = Cell::new(MOST_STEPS);
            let mut machine = self.machine(memory, &effort);
            machine.rank = rank;
            machine.moment.op = steps.len() as u32;
            match machine.step() {
                Ok(Some(_)) if steps.len() >= most => {
                    let at = memory[word::AT];
                    return Err(self.abort("too many operations to list", at));
                }
                Ok(Some(step)) => steps.push(step),
                Ok(None) => return Ok(steps),
                Err(fault) => {
                    let at = memory[word::AT];
                    return Err(self.abort(fault, at));
                }
            }
        }
    }
}
