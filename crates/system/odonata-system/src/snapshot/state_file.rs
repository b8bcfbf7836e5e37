//! Atomic files of states.
//!
//! | bytes | what |
//! |---|---|
//! | 16 | [`MAGIC`] |
//! | any | program and [`Header`], as [`odonata_engine::saved`] writes them |
//! | any | the states, one after the other, likewise |
//! | 8 each | where each of them begins, and where the last one ends |
//! | 8 | number of all bytes before |
//! | 16 | checksum over all bytes before ([`Digest`]) |
//!
//! A file is written beside its final location, flushed to the disk, and renamed: at any time either the old or the new
//! one exists, complete. It is read twice, first for the checksum, so that damaged data are never used.

use super::{Header, Refused};
use odonata_engine::Digest;
use odonata_engine::saved::{Damaged, Loader, Saver};
use odonata_workload::open_regular;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The beginning of every snapshot.
const MAGIC: [u8; 16] = *b"odonata snapshot";

/// Number of bytes after the states and their offsets.
const TRAILER: u64 = 24;

/// The hash of the sources of the crates that hold state or change it, trace formats among them.
pub const SOURCES: &str = env!("ODONATA_SOURCES");

/// The version of the running program, and the hash of its sources.
pub(super) const PROGRAM: (&str, &str) = (env!("CARGO_PKG_VERSION"), SOURCES);

/// Writes `states` states to `path`, replacing an older file when the new one is complete; returns the size of the file
/// in bytes.
///
/// # Errors
/// The file cannot be written; the older one is still there.
pub(crate) fn write(
    path: &Path,
    header: &Header,
    states: usize,
    state: impl Fn(usize, &mut Saver<'_>),
) -> io::Result<u64> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".partial");
    let beside = Path::new(&beside);
    let written = write_whole(beside, header, states, state).and_then(|bytes| {
        std::fs::rename(beside, path)?;
        // The rename is durable once the folder is flushed; not every system supports that for folders.
        if let Some(folder) = path.parent() {
            let folder = if folder.as_os_str().is_empty() {
                Path::new(".")
            } else {
                folder
            };
            File::open(folder).and_then(|folder| folder.sync_all()).ok();
        }
        Ok(bytes)
    });
    if written.is_err() {
        std::fs::remove_file(beside).ok();
    }
    written
}

fn write_whole(path: &Path, header: &Header, states: usize, state: impl Fn(usize, &mut Saver<'_>)) -> io::Result<u64> {
    let mut file = Summed::new(File::create(path)?);
    file.write_all(&MAGIC)?;
    let mut saver = Saver::new(&mut file);
    saver.value(&PROGRAM);
    saver.value(header);
    saver.finish()?;
    let mut places = vec![file.sum.bytes];
    for number in 0..states {
        let mut saver = Saver::new(&mut file);
        state(number, &mut saver);
        saver.finish()?;
        places.push(file.sum.bytes);
    }
    for place in places {
        file.write_all(&place.to_le_bytes())?;
    }
    let Summed { mut to, sum } = file;
    to.write_all(&sum.bytes.to_le_bytes())?;
    to.write_all(&sum.value().to_le_bytes())?;
    to.sync_all()?;
    Ok(sum.bytes + TRAILER)
}

/// A complete file that this program has written.
pub(super) struct StateFile {
    pub(super) path: PathBuf,
    pub(super) header: Header,
    file: BufReader<File>,
    /// The offset of each state, and the end of the last one.
    places: Vec<u64>,
}

impl StateFile {
    /// Opens the file at `path`.
    pub(super) fn open(path: PathBuf) -> Result<StateFile, (PathBuf, Refused)> {
        match StateFile::read(&path) {
            Ok((file, header, places)) => Ok(StateFile {
                path,
                header,
                file,
                places,
            }),
            Err(refused) => Err((path, refused)),
        }
    }

    fn read(path: &Path) -> Result<(BufReader<File>, Header, Vec<u64>), Refused> {
        let mut file = BufReader::with_capacity(1 << 16, open_regular(path)?);
        let end = check(&mut file)?;
        let header = header(&mut Loader::new(&mut content(&mut file, MAGIC.len() as u64..end)?))?;
        let impossible = || Refused::Damaged(Damaged("the number of states differs from its header".into()));
        let states = header.states().ok_or_else(impossible)?.len() as u64;
        let table = (end.checked_sub(8 * (states + 1))).filter(|&table| table >= MAGIC.len() as u64);
        let table = table.ok_or_else(impossible)?;
        let mut bytes = Vec::new();
        content(&mut file, table..end)?.read_to_end(&mut bytes)?;
        let (words, _) = bytes.as_chunks();
        let places: Vec<u64> = words.iter().map(|&word| u64::from_le_bytes(word)).collect();
        match places.is_sorted() && places.last() == Some(&table) {
            true => Ok((file, header, places)),
            false => Err(impossible()),
        }
    }

    /// Lets `state` read state number `number` of this file.
    pub(super) fn load(
        &mut self,
        number: usize,
        state: impl FnOnce(&mut Loader<'_>) -> Result<(), Damaged>,
    ) -> Result<(), Refused> {
        let mut content = content(&mut self.file, self.places[number]..self.places[number + 1])?;
        let mut loader = Loader::new(&mut content);
        state(&mut loader)?;
        Ok(loader.finish()?)
    }
}

/// The bytes in `range` of a file.
fn content(file: &mut BufReader<File>, range: Range<u64>) -> io::Result<impl Read> {
    file.seek(SeekFrom::Start(range.start))?;
    Ok(file.take(range.end - range.start))
}

/// The header, if this program has written it.
fn header(from: &mut Loader<'_>) -> Result<Header, Refused> {
    let (version, sources): (String, String) = from.value()?;
    if (version.as_str(), sources.as_str()) != PROGRAM {
        return Err(Refused::OtherProgram(version));
    }
    Ok(from.value()?)
}

/// Checks that a file is complete; returns the number of bytes before the trailer.
fn check(file: &mut (impl Read + Seek)) -> Result<u64, Refused> {
    let length = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    let mut magic = [0; MAGIC.len()];
    if file.read_exact(&mut magic).is_err() || magic != MAGIC {
        return Err(Refused::Foreign);
    }
    let damaged = |text: &str| Refused::Damaged(Damaged(text.into()));
    let Some(end) = length.checked_sub(TRAILER).filter(|&end| end >= MAGIC.len() as u64) else {
        return Err(damaged("it ends too early"));
    };
    file.rewind()?;
    let mut summed = Summed::new(io::sink());
    io::copy(&mut file.take(end), &mut summed)?;
    let (mut bytes, mut sum) = ([0; 8], [0; 16]);
    file.read_exact(&mut bytes)?;
    file.read_exact(&mut sum)?;
    if u64::from_le_bytes(bytes) != end {
        return Err(damaged("its length differs from its header"));
    }
    if u128::from_le_bytes(sum) != summed.sum.value() {
        return Err(damaged("its checksum is wrong"));
    }
    Ok(end)
}

/// A writer that computes the checksum of all data written through it.
struct Summed<W> {
    to: W,
    sum: Sum,
}

/// A checksum of bytes, independent of how they are split into pieces. A single changed word always changes it.
#[derive(Clone, Debug)]
struct Sum {
    digest: Digest,
    /// The last bytes, which do not yet fill a word.
    word: [u8; 8],
    bytes: u64,
}

impl Sum {
    fn add(&mut self, mut bytes: &[u8]) {
        let begun = (self.bytes % 8) as usize;
        self.bytes += bytes.len() as u64;
        if begun > 0 {
            let (first, rest) = bytes.split_at(bytes.len().min(8 - begun));
            self.word[begun..begun + first.len()].copy_from_slice(first);
            if begun + first.len() < 8 {
                return;
            }
            self.digest.word(u64::from_le_bytes(self.word));
            bytes = rest;
        }
        let (words, rest) = bytes.as_chunks();
        words
            .iter()
            .for_each(|&word| self.digest.word(u64::from_le_bytes(word)));
        self.word[..rest.len()].copy_from_slice(rest);
    }

    fn value(&self) -> u128 {
        let mut digest = self.digest;
        let mut last = [0; 8];
        let begun = (self.bytes % 8) as usize;
        last[..begun].copy_from_slice(&self.word[..begun]);
        digest.word(u64::from_le_bytes(last));
        digest.word(self.bytes);
        digest.value()
    }
}

impl<W> Summed<W> {
    fn new(to: W) -> Self {
        let sum = Sum {
            digest: Digest::new(),
            word: [0; 8],
            bytes: 0,
        };
        Summed { to, sum }
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.sum.add(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
