//! Sizes of datatypes.

use std::collections::HashMap;

use super::label as l;
use super::record::{Arg, Record};

/// Sizes in bytes of the predefined datatypes, by id, if a file states none: those of 64-bit machines.
pub(super) fn default_sizes() -> &'static [i32] {
    &[
        0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20,
    ]
}

/// Datatype sizes at a position of the stream.
///
/// A file states one size per id, the last one. Ids are reused, so a recorded call that creates the datatype takes
/// precedence.
#[derive(Clone, Debug, Default)]
pub(super) struct Types {
    made: HashMap<i32, u64>,
}

impl Types {
    /// Number of datatypes created by the program.
    pub(super) fn len(&self) -> usize {
        self.made.len()
    }

    /// The sizes here; `stated` are the sizes by id of the file.
    pub(super) fn sizes<'a>(&'a self, stated: &'a [i32]) -> Sizes<'a> {
        Sizes {
            made: &self.made,
            stated,
        }
    }

    /// Records a call that creates a datatype, or reports a size.
    pub(super) fn note(&mut self, stated: &[i32], record: &Record) {
        let positive = |arg| u64::from(record.int(arg).max(0) as u32);
        let sum = |list: &[i32]| list.iter().map(|&count| u64::from(count.max(0) as u32)).sum::<u64>();
        let sizes = self.sizes(stated);
        let old = || sizes.of(record.int(Arg::Old));
        let size = match record.label {
            l::TYPE_CONTIGUOUS => positive(Arg::Count).saturating_mul(old()),
            l::TYPE_VECTOR | l::TYPE_HVECTOR | l::TYPE_CREATE_HVECTOR | l::TYPE_CREATE_INDEXED_BLOCK => {
                let elements = positive(Arg::Count).saturating_mul(positive(Arg::Bl));
                elements.saturating_mul(old())
            }
            l::TYPE_INDEXED | l::TYPE_HINDEXED | l::TYPE_CREATE_HINDEXED => {
                sum(record.list(Arg::Lens)).saturating_mul(old())
            }
            l::TYPE_STRUCT | l::TYPE_CREATE_STRUCT => {
                let fields = record.list(Arg::Lens).iter().zip(record.list(Arg::Olds));
                fields.fold(0, |sum: u64, (&count, &datatype)| {
                    sum.saturating_add(elements(count, sizes.of(datatype)))
                })
            }
            l::TYPE_CREATE_RESIZED | l::TYPE_DUP => old(),
            l::TYPE_CREATE_SUBARRAY => {
                let cells = record
                    .list(Arg::Sub)
                    .iter()
                    .map(|&extent| u64::from(extent.max(0) as u32));
                cells.fold(1, u64::saturating_mul).saturating_mul(old())
            }
            // The share of a rank of a distributed array, as stated in the file.
            l::TYPE_CREATE_DARRAY => {
                self.made.remove(&record.int(Arg::New));
                return;
            }
            l::TYPE_SIZE => {
                let size = positive(Arg::V);
                if record.int(Arg::Type) >= default_sizes().len() as i32 {
                    self.made.insert(record.int(Arg::Type), size);
                }
                return;
            }
            _ => return,
        };
        self.made.insert(record.int(Arg::New), size);
    }
}

/// The sizes of all datatypes at a position of the stream, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Sizes<'a> {
    made: &'a HashMap<i32, u64>,
    stated: &'a [i32],
}

impl Sizes<'_> {
    /// The size of `datatype`; 0 if unknown.
    #[inline]
    pub(super) fn of(&self, datatype: i32) -> u64 {
        if let Some(&size) = self.made.get(&datatype) {
            return size;
        }
        let size = self.stated.get(usize::from(datatype as u16)).copied().unwrap_or(0);
        u64::from(size.max(0) as u32)
    }

    /// Whether the size of `datatype` is known.
    #[inline]
    pub(super) fn knows(&self, datatype: i32) -> bool {
        usize::from(datatype as u16) < self.stated.len() || self.made.contains_key(&datatype)
    }

    /// Bytes of the elements that a call moves.
    #[inline]
    pub(super) fn bytes(&self, record: &Record, count: Arg, datatype: Arg) -> u64 {
        elements(record.int(count), self.of(record.int(datatype)))
    }

    /// Sizes of `counts` elements of one datatype each.
    pub(super) fn of_list(&self, counts: &[i32], datatype: i32) -> Box<[u64]> {
        let size = self.of(datatype);
        counts.iter().map(|&count| elements(count, size)).collect()
    }

    /// Sizes of `counts` elements of the datatype at the same index each.
    pub(super) fn of_each(&self, counts: &[i32], datatypes: &[i32]) -> Box<[u64]> {
        let pairs = counts.iter().zip(datatypes);
        pairs
            .map(|(&count, &datatype)| elements(count, self.of(datatype)))
            .collect()
    }
}

/// Bytes of `count` elements of `size` bytes.
#[inline]
fn elements(count: i32, size: u64) -> u64 {
    u64::from(count.max(0) as u32).saturating_mul(size)
}
