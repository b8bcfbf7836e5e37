//! `operations.parquet`: the operations of all ranks.

use odonata_workload::{After, Op, OpId};

use crate::communicators::shown;
use crate::error::FileError;
use crate::row::{Field, Numbers, from_row, known_kind};
use crate::table::{Column, Content, Lists, Reading, Table};

/// The table, with its columns resolved.
#[derive(Debug)]
pub(crate) struct Operations {
    pub(crate) table: Table,
    rank: Column,
    kind: Column,
    stream: Option<Column>,
    after: Option<Column>,
    fields: [Option<Column>; Field::ALL.len()],
}

/// Consecutive rows.
pub(crate) struct Rows {
    first: u64,
    ranks: Vec<Option<i128>>,
    kinds: Vec<Option<&'static str>>,
    /// Unknown kinds, with their rows.
    unknown: Vec<(usize, String)>,
    streams: Option<Vec<Option<i128>>>,
    after: Option<Lists>,
    fields: [Option<Vec<Option<i128>>>; Field::ALL.len()],
}

/// The columns of a row group during reading.
pub(crate) struct GroupReader {
    next: u64,
    rank: Reading,
    kind: Reading,
    stream: Option<Reading>,
    after: Option<Reading>,
    fields: [Option<Reading>; Field::ALL.len()],
}

/// Applies `each` to the columns that exist.
fn all<A, B>(
    list: [Option<A>; Field::ALL.len()],
    mut each: impl FnMut(A) -> Result<B, FileError>,
) -> Result<[Option<B>; Field::ALL.len()], FileError> {
    let mut made = [const { None }; Field::ALL.len()];
    for (slot, value) in made.iter_mut().zip(list) {
        *slot = value.map(&mut each).transpose()?;
    }
    Ok(made)
}

impl Operations {
    pub(crate) fn open(path: &std::path::Path) -> Result<Operations, FileError> {
        let table = Table::open(path)?;
        let mut fields = [None; Field::ALL.len()];
        for field in Field::ALL {
            fields[field as usize] = table.column(field.name(), Content::Number)?;
        }
        Ok(Operations {
            rank: table.required("rank", Content::Number)?,
            kind: table.required("kind", Content::Text)?,
            stream: table.column("stream", Content::Number)?,
            after: table.column("after", Content::Numbers)?,
            fields,
            table,
        })
    }

    /// Starts to read a row group.
    pub(crate) fn group(&self, group: usize) -> Result<GroupReader, FileError> {
        let read = |column: Column| self.table.read(group, column);
        // Most columns apply to few kinds of operations.
        let used = |column: Option<Column>| column.filter(|&column| !self.table.is_null(group, column));
        Ok(GroupReader {
            next: self.table.rows_of(group).start,
            rank: read(self.rank)?,
            kind: read(self.kind)?,
            stream: used(self.stream).map(read).transpose()?,
            after: used(self.after).map(read).transpose()?,
            fields: all(self.fields.map(used), read)?,
        })
    }
}

impl GroupReader {
    /// Skips `rows` rows.
    pub(crate) fn skip(&mut self, rows: usize) -> Result<(), FileError> {
        self.next += rows as u64;
        let others = [self.stream.as_mut(), self.after.as_mut()];
        let fields = self.fields.iter_mut().map(Option::as_mut);
        for reading in others.into_iter().chain(fields).flatten() {
            reading.skip(rows)?;
        }
        self.rank.skip(rows)?;
        self.kind.skip(rows)
    }

    /// The next `rows` rows.
    pub(crate) fn read(&mut self, rows: usize) -> Result<Rows, FileError> {
        let mut unknown = Vec::new();
        let texts = self.kind.texts(rows)?;
        let mut last: (Vec<u8>, Option<&'static str>) = Default::default();
        let mut kinds = Vec::with_capacity(rows);
        for (at, text) in texts.iter().enumerate() {
            let Some(text) = text else {
                kinds.push(None);
                continue;
            };
            // Usually the same kind as in the previous row.
            if last.1.is_none() || last.0 != text.data() {
                last = (
                    text.data().to_vec(),
                    std::str::from_utf8(text.data()).ok().and_then(known_kind),
                );
            }
            if last.1.is_none() {
                unknown.push((at, String::from_utf8_lossy(text.data()).chars().take(80).collect()));
            }
            kinds.push(last.1);
        }
        let first = self.next;
        self.next += rows as u64;
        let fields = self.fields.each_mut().map(Option::as_mut);
        Ok(Rows {
            first,
            ranks: self.rank.numbers(rows)?,
            kinds,
            unknown,
            streams: self.stream.as_mut().map(|stream| stream.numbers(rows)).transpose()?,
            after: self.after.as_mut().map(|after| after.lists(rows)).transpose()?,
            fields: all(fields, |field| field.numbers(rows))?,
        })
    }
}

impl Rows {
    /// The rank of row `at`.
    pub(crate) fn rank(&self, at: usize) -> Option<i128> {
        self.ranks[at]
    }

    /// The operation in row `at`, number `id` of its rank.
    pub(crate) fn op(&self, path: &std::path::Path, at: usize, id: u32) -> Result<Op, FileError> {
        let wrong = |column: &str, problem: String, expected: String| {
            FileError::about(path, problem, expected)
                .at(self.first + at as u64)
                .of(column)
        };
        let Some(kind) = self.kinds[at] else {
            let name = self.unknown.iter().find(|&&(row, _)| row == at);
            let problem = name.map_or("null".into(), |(_, name)| format!("{name:?}"));
            return Err(wrong("kind", problem, "a kind of operation, such as \"send\"".into()));
        };
        let stream = match self.streams.as_ref().and_then(|streams| streams[at]) {
            None => 0,
            Some(stream) => match u16::try_from(stream) {
                Ok(stream) if stream < Op::STREAMS => stream,
                _ => {
                    let expected = format!("0 to {}", Op::STREAMS - 1);
                    return Err(wrong("stream", stream.to_string(), expected));
                }
            },
        };
        let before = self.after.as_ref().map_or(&[][..], |after| after.get(at));
        let after = if before.is_empty() {
            After::NONE
        } else {
            let ids: Vec<OpId> = before
                .iter()
                .filter_map(|&op| u32::try_from(op).ok().map(OpId))
                .collect();
            let earlier = ids.len() == before.len() && ids.iter().all(|op| op.0 < id);
            match After::from_slice(&ids).filter(|_| earlier) {
                Some(after) => after,
                None => {
                    let problem = format!("{:?} of operation {id}", &before[..before.len().min(8)]);
                    let expected = format!("at most {} operations before it", After::MOST);
                    return Err(wrong("after", problem, expected));
                }
            }
        };
        let mut numbers: Numbers = [None; Field::ALL.len()];
        for (number, values) in numbers.iter_mut().zip(&self.fields) {
            *number = values.as_ref().and_then(|values| values[at]);
        }
        let kind = from_row(kind, &numbers).map_err(|fault| wrong(fault.column, fault.problem, fault.expected))?;
        Ok(Op {
            id: OpId(id),
            stream,
            after,
            kind,
        })
    }

    /// Like [`shown`](crate::communicators::shown), for the rank in row `at`.
    pub(crate) fn rank_shown(&self, at: usize) -> String {
        shown(self.ranks[at])
    }
}
