//! TOML as a tree in which every key and value has its place in the text.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::error::{InputError, excerpt, quoted};

/// Maximum size of a scenario file, in bytes: enough for explicit lists of a million nodes.
pub(super) const LONGEST_FILE: usize = 16 << 20;

/// A text that contains keys.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// Its name in errors.
    pub(super) name: String,
    /// The text; `None` for overrides, where line numbers are meaningless.
    pub(super) text: Option<String>,
}

/// Where something was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Index of the source.
    pub(super) source: u32,
    /// Byte offset in its text.
    pub(super) offset: usize,
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) place: Place,
}

/// A value; tables are ordered by key, so that nothing depends on hashing.
#[derive(Clone, Debug)]
pub(super) enum Value {
    String(String),
    Integer(i64),
    /// With its text, without underscores, to distinguish `4.0` from `4`.
    Float(f64, String),
    Boolean(bool),
    Datetime(String),
    Array(Vec<Node>),
    Table(BTreeMap<String, Entry>),
}

/// A key's place and its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Place,
    pub(super) node: Node,
}

impl Node {
    /// The value below `key` (of a table) or at position `key` (of an array).
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Table(table) => table.get(key).map(|entry| &entry.node),
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// The value as an error shows it.
    pub(super) fn shown(&self) -> String {
        match &self.value {
            Value::String(text) => quoted(text),
            Value::Integer(number) => number.to_string(),
            Value::Float(_, written) => excerpt(written),
            Value::Boolean(flag) => flag.to_string(),
            Value::Datetime(text) => text.clone(),
            Value::Array(items) => format!("an array of {}", items.len()),
            Value::Table(_) => "a table".into(),
        }
    }
}

/// Reads `text` as the source number `source`.
///
/// # Errors
/// It is not TOML, or too long.
pub(super) fn parse(source: u32, name: &str, text: &str) -> Result<Node, InputError> {
    let error = |offset: usize, problem: String, expected: &str, hint: Option<String>| {
        let (line, column) = line_and_column(text, offset);
        InputError {
            file: name.into(),
            line: Some(line),
            column: Some(column),
            key: String::new(),
            message: problem,
            value: None,
            expected: expected.into(),
            hint,
        }
    };
    if text.len() > LONGEST_FILE {
        let problem = format!("the file has {} bytes", text.len());
        return Err(error(0, problem, "at most 16 MiB", None));
    }
    let table = DeTable::parse(text).map_err(|cause| {
        let offset = cause.span().map_or(0, |span| span.start);
        let problem = format!("not TOML: {}", cause.message().replace('\n', ", "));
        let hint = unquoted_quantity(text, offset).then(|| "quantities are strings: \"30 ns\"".into());
        error(offset, problem, "", hint)
    })?;
    let offset = table.span().start;
    Ok(Node {
        value: read_table(source, table.into_inner()).map_err(|(at, what)| error(at, what, "", None))?,
        place: Place { source, offset },
    })
}

/// Whether the line around `offset` assigns a number that is followed by a word.
fn unquoted_quantity(text: &str, offset: usize) -> bool {
    let bytes = text.as_bytes();
    let offset = offset.min(bytes.len());
    let start = bytes[..offset].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
    let end = bytes[offset..]
        .iter()
        .position(|&b| b == b'\n')
        .map_or(bytes.len(), |at| offset + at);
    let line = String::from_utf8_lossy(&bytes[start..end]);
    let Some((_, value)) = line.split_once('=') else {
        return false;
    };
    let value = value.trim();
    value.starts_with(|c: char| c.is_ascii_digit()) && value.contains(char::is_alphabetic)
}

type Unreadable = (usize, String);

fn read(source: u32, value: Spanned<DeValue<'_>>) -> Result<Node, Unreadable> {
    let offset = value.span().start;
    let value = match value.into_inner() {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Integer(digits) => {
            let number = i64::from_str_radix(digits.as_str(), digits.radix());
            Value::Integer(number.map_err(|_| (offset, "an integer beyond 64 bits".to_string()))?)
        }
        DeValue::Float(digits) => {
            let number = digits.as_str().parse::<f64>();
            let number = number.map_err(|_| (offset, "an unreadable number".to_string()))?;
            Value::Float(number, digits.as_str().into())
        }
        DeValue::Boolean(flag) => Value::Boolean(flag),
        DeValue::Datetime(when) => Value::Datetime(when.to_string()),
        DeValue::Array(items) => read_array(source, items)?,
        DeValue::Table(table) => read_table(source, table)?,
    };
    Ok(Node {
        value,
        place: Place { source, offset },
    })
}

fn read_array(source: u32, items: DeArray<'_>) -> Result<Value, Unreadable> {
    let nodes: Result<Vec<Node>, Unreadable> = items.into_iter().map(|item| read(source, item)).collect();
    nodes.map(Value::Array)
}

fn read_table(source: u32, table: DeTable<'_>) -> Result<Value, Unreadable> {
    let mut entries = BTreeMap::new();
    for (key, value) in table {
        let place = Place {
            source,
            offset: key.span().start,
        };
        let node = read(source, value)?;
        entries.insert(key.into_inner().into_owned(), Entry { key: place, node });
    }
    Ok(Value::Table(entries))
}

/// Line and column, from 1, of a byte offset.
pub(super) fn line_and_column(text: &str, offset: usize) -> (u32, u32) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = before.iter().filter(|&&byte| byte == b'\n').count();
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count();
    (line as u32 + 1, column as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_know_where_they_were_written() {
        let text = "seed = 1\n\n[run]\n  time_limit = \"1 ms\"\n";
        let root = parse(0, "a.toml", text).unwrap();
        let Value::Table(run) = &root.get("run").unwrap().value else {
            panic!("a table")
        };
        let entry = &run["time_limit"];
        assert_eq!(line_and_column(text, entry.key.offset), (4, 3));
        assert_eq!(line_and_column(text, entry.node.place.offset), (4, 16));
        assert_eq!(entry.node.shown(), "\"1 ms\"");
    }

    #[test]
    fn columns_count_characters() {
        assert_eq!(line_and_column("é = 1", "é = ".len()), (1, 5));
        assert_eq!(line_and_column("", 99), (1, 1));
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_stack_overflow() {
        let text = format!("a = {}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse(0, "a.toml", &text).is_err());
        let text = format!("[{}a]\n", "a.".repeat(200_000));
        let _ = parse(0, "a.toml", &text);
    }

    #[test]
    fn integers_in_every_notation_are_read_and_bounded() {
        let root = parse(0, "a.toml", "a = 0x1F\nb = 1_000\nc = -3\nd = +4\ne = 1_0.5\nf = -inf").unwrap();
        let shown = |key: &str| root.get(key).unwrap().shown();
        assert_eq!(
            ["a", "b", "c", "d", "e", "f"].map(shown),
            ["31", "1000", "-3", "4", "10.5", "-inf"]
        );
        let error = parse(0, "a.toml", "\na = 99999999999999999999").unwrap_err();
        assert_eq!(
            (error.line, error.column, error.message.as_str()),
            (Some(2), Some(5), "an integer beyond 64 bits")
        );
    }
}
