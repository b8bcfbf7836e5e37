//! mdtest, the metadata benchmark (github.com/hpc/ior): rates at which tasks create, look up, read and remove files and
//! directories.
//!
//! The tasks share a tree of directories, with `depth` levels below its root and `branch` directories below each, or
//! have one tree each. Every task has `items` files and as many directories in the tree, spread evenly over its
//! directories. An iteration is
//!
//! ```text
//! tree creation | directory creation, stat, removal | file creation, stat, read, removal | tree removal
//! ```
//!
//! each between two barriers with clock readings, from which the table `mdtest` derives: a rate is the items of all
//! tasks over the time from the first task's start to the last one's end. With `stride` s, task `r` looks up the items
//! of task `r + s`, reads those of `r + 2 s` and removes those of `r + 3 s`, which avoids the caches of its node.

mod flags;

use std::borrow::Cow;
use std::fmt;

use odonata_units::{Bytes, Problem, counted};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Parameters, barrier};
use crate::program::check_length;
use crate::{Cursor, FileCall, Op, OpKind, Program};

/// The timed phases of an iteration, in order: their names in the table `mdtest`.
pub const PHASES: [&str; 9] = [
    "tree creation",
    "directory creation",
    "directory stat",
    "directory removal",
    "file creation",
    "file stat",
    "file read",
    "file removal",
    "tree removal",
];

/// The calls of mdtest on its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MdtestTest {
    /// Creates them (-C).
    Create,
    /// Looks them up (-T).
    Stat,
    /// Opens, reads and closes the files (-E).
    Read,
    /// Removes them (-r).
    Remove,
}

/// mdtest with its own parameters. The defaults are mdtest's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "MdtestParameters")]
pub struct MdtestParams {
    /// Files, and directories, of each task (-n), rounded down to a multiple of the directories of the tree. Default:
    /// `items_per_directory` times those; one of the two is needed.
    pub items: Option<u32>,
    /// Items of each task in each directory (-I), in place of `items`.
    pub items_per_directory: Option<u32>,
    /// Levels of the tree below its root (-z).
    pub depth: u32,
    /// Directories below each directory of the tree (-b), at least 1.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub branch: u32,
    /// Whether each task has a separate tree (-u).
    pub unique_directories: bool,
    /// Whether items are only on the lowest level of the tree (-L).
    pub leaf_only: bool,
    /// No directories as items (-F).
    pub files_only: bool,
    /// No files as items (-D).
    pub directories_only: bool,
    /// The tests (-C, -T, -E, -r): "create", "stat", "read", "remove". Default: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<MdtestTest>,
    /// Distance to the tasks whose items are looked up, read (twice the distance) and removed (three times) (-N).
    pub stride: u32,
    /// Bytes written to each created file (-w).
    pub write_bytes: Bytes,
    /// Bytes read from each file (-e).
    pub read_bytes: Bytes,
    /// Whether each written file is synchronized (-y).
    pub sync: bool,
    /// How often (-i).
    #[default = 1]
    pub iterations: u32,
    /// No barriers between the phases (-B).
    pub no_barriers: bool,
}

/// mdtest in a scenario: its command line, e.g. "-n 100 -F -u", or a table of its parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Mdtest(pub MdtestParams);

impl<'de> Deserialize<'de> for Mdtest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LineOrTable;
        impl<'de> Visitor<'de> for LineOrTable {
            type Value = Mdtest;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the command line of mdtest, such as \"-n 100 -F -u\", or a table of its parameters")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Mdtest, E> {
                flags::parse(text).map(|line| Mdtest(line.params)).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Mdtest, A::Error> {
                MdtestParams::deserialize(MapAccessDeserializer::new(map)).map(Mdtest)
            }
        }
        deserializer.deserialize_any(LineOrTable)
    }
}

impl JsonSchema for Mdtest {
    fn schema_name() -> Cow<'static, str> {
        "Mdtest".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<MdtestParams>();
        json_schema!({ "anyOf": [{ "type": "string", "description": "The command line of mdtest." }, table] })
    }
}

impl Mdtest {
    /// Flags of the command line `text` without effect, with reasons; empty for an invalid line.
    pub fn flags_without_effect(text: &str) -> Vec<String> {
        flags::parse(text).map_or_else(|_| Vec::new(), |line| line.without_effect)
    }
}

impl Parameters for Mdtest {
    fn resolve(&mut self, at: &str, ranks: u32) -> Result<(), Problem> {
        let p = &self.0;
        let wrong =
            |key: &str, problem: String, expected: &str| Err(Problem::new(format!("{at}.{key}"), problem, expected));
        if p.items.is_some() && p.items_per_directory.is_some() {
            let problem = "both items (-n) and items_per_directory (-I)".into();
            return wrong("items_per_directory", problem, "one of them");
        }
        if p.items.or(p.items_per_directory).unwrap_or(0) == 0 {
            return wrong(
                "items",
                "a task has no items".into(),
                "items (-n) or items_per_directory (-I), at least 1",
            );
        }
        if p.files_only && p.directories_only {
            let problem = "neither files (-D) nor directories (-F)".into();
            return wrong("directories_only", problem, "one of them");
        }
        if p.branch == 0 || p.iterations == 0 {
            let key = if p.branch == 0 { "branch" } else { "iterations" };
            return wrong(key, "0 is out of range".into(), "at least 1");
        }
        match Tree::of(p, ranks) {
            Err(problem) => wrong("depth", problem, "fewer levels (-z), or fewer directories in each (-b)"),
            Ok(tree) if tree.items_in_each == 0 => {
                let problem = format!("{} items for {} directories", p.items.unwrap_or(0), tree.with_items);
                wrong("items", problem, "at least one in each directory of the tree")
            }
            Ok(_) => Ok(()),
        }
    }

    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(MdtestProgram::new(ranks, self.0.clone())?))
    }

    fn does_io(&self) -> bool {
        true
    }
}

/// The directories of a tree, numbered from its root, level by level.
#[derive(Clone, Copy, Debug)]
struct Tree {
    directories: u32,
    /// The first directory with items, and their number.
    first: u32,
    with_items: u32,
    /// Items of a task in each of these directories.
    items_in_each: u32,
}

/// Maximum number of items of all tasks: the range of their names.
const MOST_ITEMS: u64 = 1 << 46;

/// Maximum number of directories of all trees: the range of their numbers.
const MOST_DIRECTORIES: u64 = 1 << 31;

impl Tree {
    fn of(params: &MdtestParams, ranks: u32) -> Result<Tree, String> {
        let trees = if params.unique_directories { u64::from(ranks) } else { 1 };
        let (mut directories, mut level) = (1_u64, 1_u64);
        for _ in 0..params.depth {
            level = level.saturating_mul(params.branch.into());
            directories = directories.saturating_add(level);
            if directories.saturating_mul(trees) > MOST_DIRECTORIES {
                return Err("more than 2^31 directories".into());
            }
        }
        let with_items = if params.leaf_only { level } else { directories };
        let items_in_each = match params.items_per_directory {
            Some(count) => u64::from(count),
            None => u64::from(params.items.unwrap_or(0)) / with_items,
        };
        let items = items_in_each.saturating_mul(with_items);
        if items > u64::from(u32::MAX) || items.saturating_mul(ranks.into()) > MOST_ITEMS {
            return Err("more than 2^32 items of a task, or 2^46 of all".into());
        }
        Ok(Tree {
            directories: directories as u32,
            first: (directories - with_items) as u32,
            with_items: with_items as u32,
            items_in_each: items_in_each as u32,
        })
    }

    /// Items of a task.
    fn items(&self) -> u32 {
        self.items_in_each * self.with_items
    }
}

/// mdtest, ready to run.
#[derive(Clone, Debug)]
pub struct MdtestProgram {
    ranks: u32,
    params: MdtestParams,
    tree: Tree,
    /// The phases of an iteration.
    phases: Vec<u32>,
}

impl MdtestProgram {
    /// The program on `ranks` ranks.
    ///
    /// # Errors
    /// There are no ranks, items or iterations, or too many operations.
    pub fn new(ranks: u32, params: MdtestParams) -> Result<Self, String> {
        if ranks == 0 {
            return Err("the job has no ranks".into());
        }
        let mut checked = Mdtest(params);
        checked
            .resolve("mdtest", ranks)
            .map_err(|problem| format!("{}: expected {}", problem.problem, problem.expected))?;
        let params = checked.0;
        let tree = Tree::of(&params, ranks)?;
        let does = |test| params.tests.is_empty() || params.tests.contains(&test);
        let (files, directories) = (!params.directories_only, !params.files_only);
        let (create, stat, read, remove) = (
            does(MdtestTest::Create),
            does(MdtestTest::Stat),
            does(MdtestTest::Read),
            does(MdtestTest::Remove),
        );
        let all = [
            create,
            directories && create,
            directories && stat,
            directories && remove,
            files && create,
            files && stat,
            files && read,
            files && remove,
            remove,
        ];
        let phases: Vec<u32> = (0..)
            .zip(all)
            .filter(|(_, does)| *does)
            .map(|(phase, _)| phase)
            .collect();
        let program = MdtestProgram {
            ranks,
            params,
            tree,
            phases,
        };
        let of_phase = |&phase: &u32| match phase {
            0 | 8 => 4 + u64::from(program.tree.directories),
            _ => 4 + 4 * u64::from(program.tree.items()),
        };
        let each: u64 = program.phases.iter().map(of_phase).sum();
        check_length(program.params.iterations, each + 1)?;
        Ok(program)
    }

    /// Number of items of `rank` in `phase`.
    fn items(&self, phase: u32, rank: u32) -> u32 {
        match phase {
            0 | 8 if rank == 0 || self.params.unique_directories => self.tree.directories,
            0 | 8 => 0,
            _ => self.tree.items(),
        }
    }

    /// Number of directory `number` in the tree of `rank`; 0 is the job's root directory, which contains the trees.
    fn directory(&self, rank: u32, number: u32) -> u32 {
        let tree = if self.params.unique_directories { rank } else { 0 };
        1 + tree * self.tree.directories + number
    }

    /// Operation `step` of item `item` in `phase`.
    fn operation(&self, phase: u32, rank: u32, item: u32, step: u32) -> Option<OpKind> {
        let metadata = |call, directory, file| Some(OpKind::Metadata { call, directory, file });
        if let 0 | 8 = phase {
            // Created from the root down, removed from below.
            let number = if phase == 0 {
                item
            } else {
                self.tree.directories - 1 - item
            };
            let parent = match number {
                0 => 0,
                _ => self.directory(rank, (number - 1) / self.params.branch),
            };
            let (call, file) = (
                if phase == 0 { FileCall::Mkdir } else { FileCall::Rmdir },
                1 << 48 | u64::from(self.directory(rank, number)),
            );
            return if step == 0 { metadata(call, parent, file) } else { None };
        }
        let strides = match phase {
            2 | 5 => 1,
            6 => 2,
            3 | 7 => 3,
            _ => 0,
        };
        let owner = (u64::from(rank) + strides * u64::from(self.params.stride)) % u64::from(self.ranks);
        let directory = self.directory(owner as u32, self.tree.first + item / self.tree.items_in_each);
        let files = phase >= 4;
        let file = 2 * (owner * u64::from(self.tree.items()) + u64::from(item)) + u64::from(files);
        let (written, read) = (self.params.write_bytes.0, self.params.read_bytes.0);
        let steps: [Option<OpKind>; 4] = match phase {
            1 => [metadata(FileCall::Mkdir, directory, file), None, None, None],
            3 => [metadata(FileCall::Rmdir, directory, file), None, None, None],
            2 | 5 => [metadata(FileCall::Stat, directory, file), None, None, None],
            4 => [
                metadata(FileCall::Create, directory, file),
                (written > 0).then_some(OpKind::Write {
                    file,
                    offset: 0,
                    bytes: written,
                }),
                self.params
                    .sync
                    .then_some(())
                    .and_then(|()| metadata(FileCall::Sync, directory, file)),
                metadata(FileCall::Close, directory, file),
            ],
            6 => [
                metadata(FileCall::Open, directory, file),
                (read > 0).then_some(OpKind::Read {
                    file,
                    offset: 0,
                    bytes: read,
                }),
                metadata(FileCall::Close, directory, file),
                None,
            ],
            _ => [metadata(FileCall::Unlink, directory, file), None, None, None],
        };
        steps.into_iter().flatten().nth(step as usize)
    }
}

impl Program for MdtestProgram {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        if rank >= self.ranks {
            return None;
        }
        cursor.advance(|[iteration, phase, part, item, step]| {
            loop {
                if *iteration >= self.params.iterations {
                    return None;
                }
                let Some(&number) = self.phases.get(*phase as usize) else {
                    let mark = OpKind::Mark { iteration: *iteration };
                    (*iteration, *phase) = (*iteration + 1, 0);
                    return Some(mark);
                };
                let report = |end: u32, value| OpKind::Report {
                    report: 2 * number + end,
                    index: 0,
                    value,
                };
                let barriers = !self.params.no_barriers;
                let at = *part;
                match at {
                    // Before and after the work.
                    0 | 3 => {
                        *part += 1;
                        if barriers {
                            return Some(barrier());
                        }
                    }
                    1 => {
                        (*part, *item, *step) = (2, 0, 0);
                        return Some(report(0, 0.0));
                    }
                    2 if *item >= self.items(number, rank) => *part = 3,
                    2 => match self.operation(number, rank, *item, *step) {
                        Some(op) => {
                            *step += 1;
                            return Some(op);
                        }
                        None => (*item, *step) = (*item + 1, 0),
                    },
                    _ => {
                        (*phase, *part) = (*phase + 1, 0);
                        return Some(report(1, f64::from(self.items(number, rank))));
                    }
                }
            }
        })
    }

    fn describe(&self) -> String {
        let trees = if self.params.unique_directories {
            "a tree each"
        } else {
            "a shared tree"
        };
        format!(
            "mdtest: {} items of each of {} tasks in {trees} of {} directories, {}",
            self.tree.items(),
            self.ranks,
            self.tree.directories,
            counted(self.params.iterations, "iteration")
        )
    }
}

#[cfg(test)]
mod tests;
