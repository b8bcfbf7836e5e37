//! Checkpoints: state as bytes, and back.
//!
//! A long run is saved periodically, so it can resume after a failure of its computer. A process also sends the state
//! of its parts to another in this form. A checkpoint is complete: a resumed run has the same results.
//!
//! A [`Saver`] writes values to any [`Write`]r, a [`Loader`] reads them from any [`Read`]er, both through a small
//! buffer, so a large state is never in memory twice. All stores implement [`Saved`];
//! [`journalled!`](crate::journalled) implements it for structs of stores.
//!
//! The format is that of [postcard]: consecutive values, varint numbers, no names. Only the program that wrote a
//! checkpoint can read it, into an object built in the same way. A file needs a header with its origin, and a checksum:
//! this module only detects impossible values and counts. No input makes reading panic, or use memory out of proportion
//! to the input.

use crate::state::{FreeList, Rows};
use crate::{GrowableStore, Pool, RangeStore, Slot, SparseStore, Store};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::io::{self, Read, Write};

/// Size of the blocks for reading and writing.
const BLOCK: usize = 1 << 16;

/// Minimum number of bytes in the buffer of a [`Loader`] before it reads a value: more than most values take.
const MOST_BYTES_PER_VALUE: usize = 1 << 10;

/// Plain data that can be part of a state: the type of cells and events.
pub trait Cell: Copy + Serialize + DeserializeOwned {}
impl<T: Copy + Serialize + DeserializeOwned> Cell for T {}

/// A state that can be saved as bytes and loaded.
pub trait Saved {
    /// Writes the state.
    ///
    /// # Panics
    /// If changes can still be undone: their undo log would be lost.
    fn save(&self, to: &mut Saver<'_>);

    /// Replaces the state by one [saved](Self::save) by an object built in the same way. After an error the object must
    /// not be used.
    ///
    /// # Errors
    /// The input is not a state of this object.
    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged>;
}

/// The input is damaged, or belongs to another object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged(pub String);

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Damaged {}

/// The destination of a saved state.
pub struct Saver<'a> {
    to: &'a mut dyn Write,
    buffer: Vec<u8>,
    /// The first error of the writer; it stops all output.
    failed: Option<io::Error>,
}

impl<'a> Saver<'a> {
    /// Writes to `to`.
    pub fn new(to: &'a mut dyn Write) -> Self {
        Saver {
            to,
            buffer: Vec::with_capacity(BLOCK + MOST_BYTES_PER_VALUE),
            failed: None,
        }
    }

    /// Writes `value`.
    pub fn value<T: Serialize + ?Sized>(&mut self, value: &T) {
        let buffer = std::mem::take(&mut self.buffer);
        self.buffer = postcard::to_extend(value, buffer).expect("plain data can be written");
        if self.buffer.len() >= BLOCK {
            self.flush();
        }
    }

    /// Writes the number of `values`, and the values.
    pub fn values<'v, T: Serialize + 'v>(&mut self, values: impl ExactSizeIterator<Item = &'v T>) {
        self.value(&(values.len() as u64));
        for value in values {
            self.value(value);
        }
    }

    fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = self.to.write_all(&self.buffer).err();
        }
        self.buffer.clear();
    }

    /// Flushes the buffer.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush();
        self.failed.map_or(Ok(()), Err)
    }
}

/// The source of a saved state.
pub struct Loader<'a> {
    from: &'a mut dyn Read,
    buffer: Vec<u8>,
    /// Bytes consumed from the buffer.
    taken: usize,
    /// Bytes of all values so far.
    read: u64,
    /// Whether the reader is at its end.
    ended: bool,
}

impl<'a> Loader<'a> {
    /// Reads from `from`.
    pub fn new(from: &'a mut dyn Read) -> Self {
        Loader {
            from,
            buffer: Vec::new(),
            taken: 0,
            read: 0,
            ended: false,
        }
    }

    /// Reads a value.
    ///
    /// # Errors
    /// The input is not a value of this type.
    pub fn value<T: DeserializeOwned>(&mut self) -> Result<T, Damaged> {
        if self.buffer.len() - self.taken < MOST_BYTES_PER_VALUE {
            self.fill()?;
        }
        loop {
            let left = &self.buffer[self.taken..];
            match postcard::take_from_bytes(left) {
                Ok((value, rest)) => {
                    let length = left.len() - rest.len();
                    self.taken += length;
                    self.read += length as u64;
                    return Ok(value);
                }
                Err(postcard::Error::DeserializeUnexpectedEnd) if !self.ended => self.fill()?,
                Err(postcard::Error::DeserializeUnexpectedEnd) => return Err(Damaged("it ends too early".into())),
                Err(error) => return Err(Damaged(format!("it holds a value that is none: {error}"))),
            }
        }
    }

    /// Reads any number of values.
    ///
    /// # Errors
    /// The input has fewer values than it states, or others.
    pub fn values<T: DeserializeOwned>(&mut self) -> Result<Vec<T>, Damaged> {
        let number: u64 = self.value()?;
        let mut values = Vec::new();
        for _ in 0..number {
            // A wrong count must cost neither memory nor time: each value consumes input, which limits it.
            let before = self.read;
            values.push(self.value()?);
            if self.read == before {
                return Err(Damaged("it holds values of no size".into()));
            }
        }
        Ok(values)
    }

    /// Reads one value per element of `cells`.
    ///
    /// # Errors
    /// The count differs, or the values are invalid.
    pub fn fill_in<T: DeserializeOwned>(&mut self, cells: &mut [T]) -> Result<(), Damaged> {
        let number: u64 = self.value()?;
        if number != cells.len() as u64 {
            let expected = cells.len();
            return Err(Damaged(format!("it has {number} cells where there are {expected}")));
        }
        for cell in cells {
            *cell = self.value()?;
        }
        Ok(())
    }

    /// Reads more into the buffer.
    fn fill(&mut self) -> Result<(), Damaged> {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let read = (&mut self.from).take(BLOCK as u64).read_to_end(&mut self.buffer);
        let read = read.map_err(|error| Damaged(format!("it cannot be read: {error}")))?;
        self.ended = read < BLOCK;
        Ok(())
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// Input is left over.
    pub fn finish(mut self) -> Result<(), Damaged> {
        self.fill()?;
        match self.buffer.is_empty() {
            true => Ok(()),
            false => Err(Damaged("it goes on where it should end".into())),
        }
    }
}

/// The bytes of `state`.
pub fn to_bytes(state: &impl Saved) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut saver = Saver::new(&mut bytes);
    state.save(&mut saver);
    saver.finish().expect("memory takes all that is written");
    bytes
}

/// Replaces `state` by the state in `bytes`.
///
/// # Errors
/// The bytes are not a state of this object.
pub fn from_bytes(state: &mut impl Saved, mut bytes: &[u8]) -> Result<(), Damaged> {
    let mut loader = Loader::new(&mut bytes);
    state.load(&mut loader)?;
    loader.finish()
}

const TAKEN_BACK: &str = "what can be taken back is not saved";

/// Whether it is there follows from how the object was built.
impl<T: Saved> Saved for Option<Box<T>> {
    fn save(&self, to: &mut Saver<'_>) {
        if let Some(state) = self {
            state.save(to);
        }
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged> {
        self.as_mut().map_or(Ok(()), |state| state.load(from))
    }
}

impl<T: Cell> Saved for Store<T> {
    fn save(&self, to: &mut Saver<'_>) {
        assert!(self.log.is_empty(), "{TAKEN_BACK}");
        to.values(self.cells.iter());
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged> {
        self.log.clear();
        from.fill_in(&mut self.cells)
    }
}

impl<T: Slot + Cell> Saved for Pool<T> {
    fn save(&self, to: &mut Saver<'_>) {
        assert!(self.slots.log.is_empty(), "{TAKEN_BACK}");
        self.free.save(to);
        // Slots that were never allocated may hold leftovers of a rollback.
        to.values(self.slots.cells[..self.touched() as usize].iter());
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged> {
        self.free.load(from)?;
        self.slots = Store::from_vec(from.values()?);
        let FreeList { untouched, live, .. } = *self.free.get(0);
        if self.slots.len() != untouched as usize || live > untouched {
            return Err(Damaged("a pool does not fit to its free list".into()));
        }
        Ok(())
    }
}

impl<T: Serialize + DeserializeOwned> Saved for Rows<T> {
    fn save(&self, to: &mut Saver<'_>) {
        assert!(self.log.is_empty(), "{TAKEN_BACK}");
        to.values(self.rows.iter());
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged> {
        self.log.clear();
        self.rows = from.values()?;
        Ok(())
    }
}

impl<T: Cell + Default + PartialEq> Saved for GrowableStore<T> {
    fn save(&self, to: &mut Saver<'_>) {
        assert!(self.0.log.is_empty(), "{TAKEN_BACK}");
        // Trailing default cells are not part of the state: the size of the store does not matter.
        let used = self.0.cells.iter().rposition(|cell| *cell != T::default());
        to.values(self.0.cells[..used.map_or(0, |last| last + 1)].iter());
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged> {
        self.0 = Store::from_vec(from.values()?);
        Ok(())
    }
}

macro_rules! saved_cells {
    ($($type:ident)*) => { $(
        impl<T: Cell> Saved for $type<T> {
            fn save(&self, to: &mut Saver<'_>) {
                self.cells.save(to);
            }
            fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged> {
                self.cells.load(from)
            }
        }
    )* };
}
saved_cells!(RangeStore SparseStore);

#[cfg(test)]
mod tests;
