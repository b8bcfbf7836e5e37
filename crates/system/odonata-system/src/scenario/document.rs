//! The merged scenario: a preset, the user's file above it, overrides on top; and the origin of each key.

use std::collections::{BTreeMap, BTreeSet};

use super::clock::Measure;
use super::error::{InputError, Problem, nearest, quoted};
use super::job::MOST_RANKS;
use super::presets;
use super::reader::{Path, ReadError, Reader};
use super::tree::{self, Entry, Node, Place, Source, Value};
use super::written::Written;
use odonata_topology::FamilyName;

/// Longest override, in bytes.
const LONGEST_OVERRIDE: usize = 1 << 20;

/// Maximum number of overrides of one run.
const MOST_OVERRIDES: usize = 1_000;

/// A scenario as merged, with the origin of every key.
#[derive(Clone, Debug)]
pub struct Document {
    sources: Vec<Source>,
    root: Node,
}

impl Document {
    /// Merges the scenario `text` (called `name` in errors) with its preset and with `overrides` of the form
    /// `key.path=value`.
    ///
    /// # Errors
    /// The text is not TOML, the preset is unknown, or an override has another form.
    pub fn merge(name: &str, text: &str, overrides: &[String]) -> Result<Document, InputError> {
        let user = tree::parse(0, name, text)?;
        let mut document = Document {
            sources: vec![Source {
                name: name.into(),
                text: Some(text.into()),
            }],
            root: user,
        };
        let mut settings = Vec::new();
        for argument in overrides {
            settings.push(document.setting(argument, overrides.len())?);
        }
        // The preset must be known before merging.
        for setting in settings.iter().filter(|setting| setting.keys == ["preset"]) {
            document.apply(setting)?;
        }
        if let Some(preset) = document.root.get("preset") {
            let Value::String(preset) = &preset.value else {
                return Err(document.error_at("preset", None, "a string", None));
            };
            let preset = preset.clone();
            let Some(text) = presets::text(&preset) else {
                let problem = Problem {
                    hint: nearest(&preset, presets::names()),
                    ..Problem::new(
                        "preset",
                        format!("unknown preset {}", quoted(&preset)),
                        format!("one of {}", presets::names().collect::<Vec<_>>().join(", ")),
                    )
                };
                return Err(document.locate(problem));
            };
            let name = format!("preset {preset}");
            let base = tree::parse(document.sources.len() as u32, &name, text)?;
            document.sources.push(Source {
                name,
                text: Some(text.into()),
            });
            merge(&mut Vec::new(), &mut document.root, base);
        }
        for setting in &settings {
            document.apply(setting)?;
        }
        document.merge_mpi_library()?;
        Ok(document)
    }

    /// Merges the keys of the MPI library that `mpi.library` names below all others. Reading refuses unknown names.
    fn merge_mpi_library(&mut self) -> Result<(), InputError> {
        let named = self.text_at("mpi.library").map(String::from);
        let Some((library, text)) = named.and_then(|name| presets::mpi_library(&name).map(|text| (name, text))) else {
            return Ok(());
        };
        let name = format!("MPI library {library}");
        let base = tree::parse(self.sources.len() as u32, &name, text)?;
        self.sources.push(Source {
            name,
            text: Some(text.into()),
        });
        merge(&mut Vec::new(), &mut self.root, base);
        Ok(())
    }

    /// The written form.
    pub(super) fn read(&self) -> Result<Written, InputError> {
        let locate = |ReadError(error): ReadError| {
            let (key, place) = error.at.unwrap_or_else(|| (String::new(), self.root.place));
            // The number of ranks of a job is bounded below the range of its type.
            let expected = match is_ranks_of_job(&key) && error.expected.starts_with("a whole number") {
                true => format!("a whole number from 1 to {MOST_RANKS}"),
                false => error.expected,
            };
            InputError {
                message: error.problem,
                value: error.value,
                expected,
                hint: error.hint,
                ..self.error_in(key, place)
            }
        };
        // With wrong units, every value in these units would be wrong.
        let measure = Measure::read(&self.root).map_err(locate)?;
        let reader = Reader {
            node: &self.root,
            path: Path::Root,
            measure: &measure,
        };
        serde::Deserialize::deserialize(reader).map_err(locate)
    }

    /// An error about the value at `key` (a dotted path; positions in arrays count from 0). If the key does not exist,
    /// the line is that of the innermost enclosing table. `value`: the wrong value, if not the value as written.
    pub fn error_at(&self, key: &str, value: Option<String>, expected: &str, hint: Option<String>) -> InputError {
        let (node, found) = self.find(key);
        let value = value.or_else(|| found.then(|| node.shown()));
        InputError {
            message: match &value {
                Some(value) => format!("invalid value {value}"),
                None => "the key is missing".into(),
            },
            value,
            expected: expected.into(),
            hint,
            ..self.error_in(key.into(), node.place)
        }
    }

    /// The error for `problem`, with the place of its key.
    pub fn locate(&self, problem: Problem) -> InputError {
        let (node, found) = self.find(&problem.key);
        let mut error = InputError {
            value: found.then(|| node.shown()),
            message: problem.problem,
            expected: problem.expected,
            hint: problem.hint,
            ..self.error_in(problem.key, node.place)
        };
        if let Some((file, line)) = problem.source {
            error = InputError {
                file,
                line,
                column: None,
                ..error
            };
        }
        error
    }

    /// An error without message at a place.
    fn error_in(&self, key: String, place: Place) -> InputError {
        let source = &self.sources[place.source as usize];
        // Very long keys are shortened.
        let key = match key.char_indices().nth(200) {
            Some((end, _)) => format!("{}…", &key[..end]),
            None => key,
        };
        let position = source
            .text
            .as_ref()
            .map(|text| tree::line_and_column(text, place.offset));
        InputError {
            file: source.name.clone(),
            line: position.map(|(line, _)| line),
            column: position.map(|(_, column)| column),
            key,
            message: String::new(),
            value: None,
            expected: String::new(),
            hint: None,
        }
    }

    /// Whether the key `key` (a dotted path) is given in any layer.
    pub fn has(&self, key: &str) -> bool {
        self.find(key).1
    }

    /// The text at `key`, if given.
    pub(crate) fn text_at(&self, key: &str) -> Option<&str> {
        match self.find(key) {
            (
                Node {
                    value: Value::String(text),
                    ..
                },
                true,
            ) => Some(text),
            _ => None,
        }
    }

    /// The keys of the table at `table` written for another value of its key `choice`: those from a preset, which may
    /// have keys for other values; and those of the file if an override sets the choice.
    pub(crate) fn leftovers(&self, table: &str, choice: &str) -> BTreeSet<String> {
        let (node, found) = self.find(table);
        let Value::Table(entries) = &node.value else {
            return BTreeSet::new();
        };
        let layer = |entry: &Entry| match &self.sources[entry.node.place.source as usize] {
            _ if entry.node.place.source == 0 => Layer::File,
            Source { text: Some(_), .. } => Layer::Preset,
            Source { text: None, .. } => Layer::Override,
        };
        let chosen_in = entries.get(choice).map_or(Layer::Preset, layer);
        entries
            .iter()
            .filter(|_| found)
            .filter(|(_, entry)| layer(entry) == Layer::Preset || layer(entry) < chosen_in)
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// The node at `key`, or the innermost node on its path, and which of the two it is.
    fn find(&self, key: &str) -> (&Node, bool) {
        let mut node = &self.root;
        for part in key.split('.').filter(|part| !part.is_empty()) {
            match node.get(part) {
                Some(inner) => node = inner,
                None => return (node, false),
            }
        }
        (node, true)
    }

    /// Parses one override and registers it as a source.
    fn setting(&mut self, argument: &str, count: usize) -> Result<Setting, InputError> {
        let source = self.sources.len() as u32;
        let shown: String = argument.chars().take(80).collect();
        let name = format!("--set {shown}");
        self.sources.push(Source { name, text: None });
        let place = Place { source, offset: 0 };
        let refuse = |message: String| InputError {
            message,
            expected: "KEY=VALUE, such as network.packet=\"2 KiB\" or jobs.0.ranks=64".into(),
            ..self.error_in(String::new(), place)
        };
        if argument.len() > LONGEST_OVERRIDE || count > MOST_OVERRIDES {
            return Err(refuse("too long or too many".into()));
        }
        let Some((keys, value)) = argument.split_once('=') else {
            return Err(refuse(format!("no \"=\" in {}", quoted(argument))));
        };
        let keys: Vec<String> = keys.split('.').map(|key| key.trim().to_string()).collect();
        if keys.iter().any(String::is_empty) || keys.len() > 32 {
            return Err(refuse(format!("{} is no key", quoted(&keys.join(".")))));
        }
        Ok(Setting {
            keys,
            node: value_of(value.trim(), place),
        })
    }

    /// Sets a value in the tree.
    fn apply(&mut self, setting: &Setting) -> Result<(), InputError> {
        let place = setting.node.place;
        set(&mut self.root, &setting.keys, 0, &setting.node).map_err(|Missing { depth, count, names }| InputError {
            message: format!("there is no element {}", quoted(&setting.keys[depth])),
            expected: match (count, names.as_slice()) {
                (0, _) => "no position: the array is empty".into(),
                (_, []) => format!("a position from 0 to {}", count - 1),
                (1, [name]) => format!("{name}, or its position 0"),
                (_, names) => format!("one of {}, or a position from 0 to {}", names.join(", "), count - 1),
            },
            hint: nearest(&setting.keys[depth], names.iter().map(|name| &**name)),
            ..self.error_in(setting.keys[..=depth].join("."), place)
        })
    }
}

/// The layers of a scenario, from the lowest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    Preset,
    File,
    Override,
}

/// A missing element of an array.
struct Missing {
    /// The index of the key that names it.
    depth: usize,
    /// Number of elements.
    count: usize,
    /// The names of the first named elements.
    names: Vec<String>,
}

/// Maximum number of names in an error.
const SHOWN_NAMES: usize = 20;

/// The name of an element that is a table with a name: `[[jobs]]`, `[[storage.tiers]]` and the like.
fn name_of(item: &Node) -> Option<&str> {
    match &item.get("name")?.value {
        Value::String(name) => Some(name),
        _ => None,
    }
}

/// The element of an array for a key: a position, or the name of a table, as in sweeps.
fn position(items: &[Node], key: &str) -> Option<usize> {
    match key.parse::<usize>() {
        Ok(index) => Some(index),
        Err(_) => items.iter().position(|item| name_of(item) == Some(key)),
    }
}

/// Sets the value at `keys[depth..]` below `node`.
fn set(node: &mut Node, keys: &[String], depth: usize, value: &Node) -> Result<(), Missing> {
    let Some(key) = keys.get(depth) else {
        *node = value.clone();
        return Ok(());
    };
    let empty = || Node {
        value: Value::Table(BTreeMap::new()),
        place: value.place,
    };
    match &mut node.value {
        Value::Array(items) => {
            let found = position(items, key).filter(|&index| index < items.len());
            let Some(index) = found else {
                return Err(Missing {
                    depth,
                    count: items.len(),
                    names: items
                        .iter()
                        .filter_map(name_of)
                        .take(SHOWN_NAMES)
                        .map(String::from)
                        .collect(),
                });
            };
            set(&mut items[index], keys, depth + 1, value)
        }
        Value::Table(table) => {
            table.retain(|other, _| !excludes(&keys[..depth], key, other));
            let entry = table.entry(key.clone()).or_insert_with(|| Entry {
                key: value.place,
                node: empty(),
            });
            set(&mut entry.node, keys, depth + 1, value)
        }
        _ => {
            *node = empty();
            set(node, keys, depth, value)
        }
    }
}

/// One override.
#[derive(Debug)]
struct Setting {
    keys: Vec<String>,
    node: Node,
}

/// `text` as a TOML value; text that is not TOML is a string, so `"4 KiB"` needs no quotes in a shell.
fn value_of(text: &str, place: Place) -> Node {
    let parsed = tree::parse(place.source, "", &format!("value = {text}")).ok();
    let value = parsed.and_then(|node| match node.value {
        Value::Table(mut table) if table.len() == 1 => table.remove("value"),
        _ => None,
    });
    match value {
        Some(entry) => entry.node,
        None => Node {
            value: Value::String(text.into()),
            place,
        },
    }
}

/// Merges `below` into `node`: tables key by key; other values of `node` stay.
fn merge(path: &mut Vec<String>, node: &mut Node, below: Node) {
    let (Value::Table(above), Value::Table(below)) = (&mut node.value, below.value) else {
        return;
    };
    for (key, entry) in below {
        if above.keys().any(|other| excludes(path, other, &key)) {
            continue;
        }
        match above.get_mut(&key) {
            Some(existing) => {
                path.push(key);
                merge(path, &mut existing.node, entry.node);
                path.pop();
            }
            None => {
                above.insert(key, entry);
            }
        }
    }
}

/// Whether `key` in the table at `path` excludes `other` from a lower layer: only one of them may be given, and the
/// upper layer replaces the other.
fn excludes(path: &[String], key: &str, other: &str) -> bool {
    const ALTERNATIVES: [(&[&str], &[&[&str]]); 6] = [
        (
            &["storage", "nodes"],
            &[&["list"], &["routers"], &["per_group", "position"], &["class"]],
        ),
        (
            &["storage", "metadata", "nodes"],
            &[&["list"], &["routers"], &["per_group", "position"]],
        ),
        (
            &["storage", "device"],
            &[&["rate"], &["ssd"], &["nvme"], &["hdd"], &["preset"]],
        ),
        (&["storage"], &[&["device"], &["devices", "rules"]]),
        (
            &["jobs", "*", "placement"],
            &[&["nodes"], &["hosts"], &["clients"], &["file", "slot"]],
        ),
        (&["jobs", "*", "workload", "*"], &[&["load"], &["mean_interval"]]),
    ];
    let is = |pattern: &[&str]| {
        pattern.len() == path.len() && pattern.iter().zip(path).all(|(p, key)| *p == "*" || p == key)
    };
    let kind = |key: &str| FamilyName::of_key(key).is_some();
    if is(&["machine"]) {
        return key != other && kind(key) && kind(other);
    }
    let apart = |groups: &[&[&str]]| {
        let group = |key: &str| groups.iter().position(|group| group.contains(&key));
        matches!((group(key), group(other)), (Some(a), Some(b)) if a != b)
    };
    if is(&["machine", "*"]) {
        return FamilyName::of_key(&path[1]).is_some_and(|family| apart(family.alternatives()));
    }
    if is(&["jobs", "*", "workload"]) || is(&["storage", "assignment"]) {
        return key != other;
    }
    ALTERNATIVES
        .iter()
        .filter(|(pattern, _)| is(pattern))
        .any(|(_, groups)| apart(groups))
}

/// Whether `key` is the ranks key of a job.
fn is_ranks_of_job(key: &str) -> bool {
    let number = key.strip_prefix("jobs.").and_then(|rest| rest.strip_suffix(".ranks"));
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}
