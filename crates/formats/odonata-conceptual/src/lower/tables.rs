//! The tables of FILE_DATA, one for each file and set of separators.

use std::collections::HashMap;

use super::super::ast;
use super::super::table::Table;
use super::Read;
use super::diagnostics::Diagnostics;

pub(super) struct Tables<'a> {
    /// Reads a file; `None` while a program is only checked.
    read: Option<Read<'a>>,
    numbers: HashMap<(String, Vec<String>), u32>,
    pub(super) tables: Vec<Table>,
}

impl<'a> Tables<'a> {
    pub(super) fn new(read: Option<Read<'a>>) -> Self {
        Tables {
            read,
            numbers: HashMap::new(),
            tables: Vec::new(),
        }
    }

    /// The number of the table in `file`, which is read if the program is to run.
    pub(super) fn number(&mut self, file: &ast::Word, separators: &[String], diagnostics: &mut Diagnostics) -> u32 {
        let next = self.tables.len() as u32;
        let number = *(self.numbers)
            .entry((file.text.clone(), separators.to_vec()))
            .or_insert(next);
        if number == next {
            let table = match self.read.map(|read| read(&file.text)) {
                None => Table::default(),
                Some(Ok(text)) => Table::new(&text, separators),
                Some(Err(message)) => {
                    diagnostics.error("file that cannot be read", message, file.span);
                    Table::default()
                }
            };
            self.tables.push(table);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Span;

    #[test]
    fn a_file_is_read_once_for_each_set_of_separators_and_a_fault_is_reported_once() {
        let reads = std::cell::Cell::new(0);
        let read = |_: &str| {
            reads.set(reads.get() + 1);
            Err("no such file".to_owned())
        };
        let (mut tables, mut diagnostics) = (Tables::new(Some(&read)), Diagnostics::default());
        let mut number = |name: &str, separator: &str| {
            let span = Span::default();
            let file = ast::Word {
                text: name.into(),
                span,
            };
            tables.number(&file, &[separator.to_owned()], &mut diagnostics)
        };
        let numbers = [number("a", ","), number("b", ","), number("a", ","), number("a", ";")];
        assert_eq!(numbers, [0, 1, 0, 2]);
        assert_eq!((reads.get(), diagnostics.errors.len()), (3, 1));
    }
}
