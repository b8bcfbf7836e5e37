//! Layout: which server holds which bytes of a file.
//!
//! A file is a sequence of *stripes* of equal size, distributed in turn to `count` servers, as in Lustre and PVFS (Ross et al.,
//! "PVFS: a parallel file system for Linux clusters", 2000). The part of a file on one server is its *object*; the stripes of an
//! object are contiguous in it. With `s` the stripe size, `n` the count and `f` the first server, byte `b` of the file is
//!
//! ```text
//!   stripe  i = b / s          server  (f + i mod n) mod servers
//!   object  j = i mod n        offset  (i / n) s + b mod s
//! ```
//!
//! The inverse: byte `o` of object `j` is byte `((o / s) n + j) s + o mod s` of the file. So a range of a file is one range of each
//! object that it touches: a call costs a request per server, however many stripes it covers.
//!
//! | layout | servers of a file |
//! |---|---|
//! | assigned | the server of the requesting rank: a file of several nodes may be on several servers |
//! | hash, random, round-robin | one server, by the file's name, its name and the seed, or its number |
//! | striped | as above |
//!
//! Everything here is a pure function; units: bytes.

mod settings;

pub use settings::{Layout, Start, StripeCount, Striped};

use odonata_units::SplitMix64;

/// The name of a file. Numbers are unique in a directory; by default every job has a directory of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct FileName {
    /// The directory, by its number.
    pub directory: u16,
    /// The file in it.
    pub number: u64,
}

impl FileName {
    /// The name of the file's object on every server; less than `u64::MAX`, which is the object of the drain.
    pub fn object(self) -> u64 {
        (self.number ^ u64::from(self.directory) << 48).min(u64::MAX - 1)
    }
}

/// The distribution of the files of a directory over the servers of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLayout {
    /// On the server of the requesting rank.
    Assigned,
    /// In stripes.
    Striped(Striping),
}

/// The parameters of stripes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Striping {
    /// Servers of the machine.
    servers: u32,
    /// Bytes of a stripe, at least 1.
    stripe: u64,
    /// Servers per file, 1 to `servers`.
    count: u32,
    start: Start,
    /// The seed of random numbers, which also depend on the file's number: from the name of the directory, and from the seed of the
    /// run for `random`.
    stream: u64,
}

/// The part of a range of a file on one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The server.
    pub server: u32,
    /// First byte in the server's object of the file.
    pub offset: u64,
    /// Length.
    pub bytes: u64,
}

impl FileLayout {
    /// The layout of the files of `directory` on a machine with `servers` servers, at least one. It depends on the name of the
    /// directory, so that other jobs do not move a file.
    pub fn new(layout: Layout, servers: u32, seed: u64, directory: &str) -> FileLayout {
        let whole = |start| Striped {
            stripe: odonata_units::Bytes(u64::MAX),
            count: StripeCount::Number(1),
            start,
        };
        let striped = match layout {
            Layout::Assigned => return FileLayout::Assigned,
            Layout::Hash => whole(Start::Hash),
            Layout::Random => whole(Start::Random),
            Layout::RoundRobin => whole(Start::RoundRobin),
            Layout::Striped(striped) => striped,
        };
        FileLayout::Striped(Striping {
            servers,
            stripe: striped.stripe.0.max(1),
            count: match striped.count {
                StripeCount::All => servers,
                StripeCount::Number(count) => count.clamp(1, servers),
            },
            start: striped.start,
            stream: {
                let seed = if striped.start == Start::Random { seed } else { 0 };
                SplitMix64::named(seed, directory.bytes().map(u64::from)).next_u64()
            },
        })
    }

    /// The parts of bytes `offset..offset + bytes` of file number `file`, for a rank whose own server is `home`: one per server, in
    /// the order of their first bytes in the file. An empty range has one empty part.
    #[inline]
    pub fn parts(&self, file: u64, (offset, bytes): (u64, u64), home: u32) -> Parts {
        let (striping, first) = match self {
            FileLayout::Assigned => {
                let server = Part {
                    server: home,
                    offset,
                    bytes,
                };
                return Parts(Kind::One(Some(server)));
            }
            FileLayout::Striped(striping) => (*striping, striping.first_server(file)),
        };
        let end = u128::from(offset) + u128::from(bytes);
        let stripe = u128::from(striping.stripe);
        let first_stripe = u128::from(offset) / stripe;
        let touched = (end.max(u128::from(offset) + 1) - 1) / stripe - first_stripe + 1;
        Parts(Kind::Many {
            object: (first_stripe % u128::from(striping.count)) as u32,
            left: touched.min(u128::from(striping.count)) as u32,
            offset: offset.into(),
            end,
            first,
            striping,
        })
    }

    /// The servers that may have a part of file number `file`, for a rank whose own server is `home`.
    pub fn servers_of(&self, file: u64, home: u32) -> impl ExactSizeIterator<Item = u32> + use<> {
        let (count, first, striping) = match *self {
            FileLayout::Assigned => (1, home, None),
            FileLayout::Striped(striping) => (striping.count, striping.first_server(file), Some(striping)),
        };
        (0..count).map(move |object| striping.map_or(first, |striping| striping.server(first, object)))
    }
}

impl Striping {
    /// The server that has the first stripe of file number `file`.
    pub fn first_server(&self, file: u64) -> u32 {
        match self.start {
            Start::Hash | Start::Random => {
                let bits = SplitMix64::named(self.stream, [file]).next_u64();
                ((u128::from(bits) * u128::from(self.servers)) >> 64) as u32
            }
            Start::RoundRobin => (file % u64::from(self.servers)) as u32,
            Start::Server(server) => server % self.servers,
        }
    }

    /// The server of object `object` of a file whose first server is `first`.
    fn server(&self, first: u32, object: u32) -> u32 {
        ((u64::from(first) + u64::from(object)) % u64::from(self.servers)) as u32
    }

    /// Bytes of object `object` among the first `end` bytes of the file.
    fn before(&self, end: u128, object: u32) -> u128 {
        let (stripe, count) = (u128::from(self.stripe), u128::from(self.count));
        let (rounds, rest) = (end / (stripe * count), end % (stripe * count));
        rounds * stripe + rest.saturating_sub(u128::from(object) * stripe).min(stripe)
    }

    /// The position in the file of byte `offset` of object `object`.
    pub fn file_offset(&self, object: u32, offset: u64) -> u128 {
        let (stripe, offset) = (u128::from(self.stripe), u128::from(offset));
        ((offset / stripe) * u128::from(self.count) + u128::from(object)) * stripe + offset % stripe
    }
}

/// The parts of a range; see [`FileLayout::parts`].
#[derive(Clone, Copy, Debug)]
pub struct Parts(Kind);

#[derive(Clone, Copy, Debug)]
enum Kind {
    One(Option<Part>),
    Many {
        striping: Striping,
        first: u32,
        /// The next object, and the number of objects left.
        object: u32,
        left: u32,
        offset: u128,
        end: u128,
    },
}

impl Iterator for Parts {
    type Item = Part;

    #[inline]
    fn next(&mut self) -> Option<Part> {
        match &mut self.0 {
            Kind::One(part) => part.take(),
            Kind::Many {
                striping,
                first,
                object,
                left,
                offset,
                end,
            } => {
                *left = left.checked_sub(1)?;
                let from = striping.before(*offset, *object);
                let part = Part {
                    server: striping.server(*first, *object),
                    // Both are at most the bytes of the range, and fit.
                    offset: from as u64,
                    bytes: (striping.before(*end, *object) - from) as u64,
                };
                *object = (*object + 1) % striping.count;
                Some(part)
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match self.0 {
            Kind::One(part) => usize::from(part.is_some()),
            Kind::Many { left, .. } => left as usize,
        };
        (left, Some(left))
    }
}

impl ExactSizeIterator for Parts {}

#[cfg(test)]
mod tests;
