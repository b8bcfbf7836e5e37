//! Writes DUMPI files.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::super::record::call_name;
use super::super::table::{CALLS, END_OF_STREAM};
use super::super::trailer::{FOOTER, MAGIC, Version};

/// An argument.
#[derive(Clone, Debug)]
pub(super) enum V {
    B(u8),
    H(i16),
    I(i32),
    L(i64),
    Bytes(Vec<u8>),
    Hs(Vec<i16>),
    Is(Vec<i32>),
    Nested(Vec<Vec<i32>>),
    S(&'static str),
    Ss(Vec<&'static str>),
    Sss(Vec<Vec<&'static str>>),
    /// Bytes, source, tag, cancelled.
    Status(Vec<(i32, i32, i32, bool)>),
}

/// The file of one rank.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
    version: Version,
    pub(super) sizes: Vec<i32>,
    /// Start of the next call, in ns since the base.
    pub(super) now: u64,
    pub(super) thread: Option<u16>,
    calls: Vec<u32>,
    /// Words of the index, 5 to 8 with the magic: older files have fewer words, and lack the corresponding parts.
    pub(super) index: usize,
    /// Whether there are keyvals, counter labels and addresses, as far as the index has words for them.
    pub(super) labelled: bool,
    pub(super) ends: bool,
}

/// Start of the clocks, in s.
pub(super) const BASE: i32 = 1_000;

pub(super) fn label(name: &str) -> u16 {
    (0..CALLS as u16)
        .find(|&label| call_name(label) == format!("MPI_{name}") || call_name(label) == name)
        .expect("a call")
}

impl Writer {
    pub(super) fn new(version: Version) -> Writer {
        let mut bytes = MAGIC.to_be_bytes().to_vec();
        bytes.extend(BASE.to_be_bytes());
        bytes.extend(BASE.to_be_bytes());
        Writer {
            bytes,
            version,
            sizes: super::super::types::default_sizes().to_vec(),
            now: 0,
            thread: None,
            calls: vec![0; CALLS],
            index: 8,
            labelled: false,
            ends: true,
        }
    }

    fn put(bytes: &mut Vec<u8>, version: Version, value: &V) {
        let length = |bytes: &mut Vec<u8>, length: usize| bytes.extend((length as i32).to_be_bytes());
        match value {
            V::B(value) => bytes.push(*value),
            V::H(value) => bytes.extend(value.to_be_bytes()),
            V::I(value) => bytes.extend(value.to_be_bytes()),
            V::L(value) => bytes.extend(value.to_be_bytes()),
            V::Bytes(list) => {
                length(bytes, list.len());
                bytes.extend(list);
            }
            V::Hs(list) => {
                length(bytes, list.len());
                list.iter().for_each(|value| bytes.extend(value.to_be_bytes()));
            }
            V::Is(list) => {
                length(bytes, list.len());
                list.iter().for_each(|value| bytes.extend(value.to_be_bytes()));
            }
            V::Nested(lists) => {
                length(bytes, lists.len());
                lists
                    .iter()
                    .for_each(|list| Writer::put(bytes, version, &V::Is(list.clone())));
            }
            V::S(text) => {
                length(bytes, text.len());
                bytes.extend(text.as_bytes());
            }
            V::Ss(texts) => {
                length(bytes, texts.len());
                texts.iter().for_each(|text| Writer::put(bytes, version, &V::S(text)));
            }
            V::Sss(lists) => {
                length(bytes, lists.len());
                lists
                    .iter()
                    .for_each(|list| Writer::put(bytes, version, &V::Ss(list.clone())));
            }
            V::Status(list) => {
                length(bytes, list.len());
                for &(count, source, tag, cancelled) in list {
                    bytes.extend(count.to_be_bytes());
                    bytes.extend(source.to_be_bytes());
                    bytes.extend([u8::from(cancelled), 0]);
                    if version >= Version(0, 6, 3) {
                        bytes.extend(tag.to_be_bytes());
                    }
                }
            }
        }
    }

    /// A time stamp: seconds wrap around after 16 bits.
    fn stamp(&mut self, ns: u64) {
        self.bytes.extend(((ns / 1_000_000_000) as u16).to_be_bytes());
        self.bytes.extend(((ns % 1_000_000_000) as u32).to_be_bytes());
    }

    /// A call that takes 10 ns, 90 ns after the previous one, with `mask` in addition to wall times.
    pub(super) fn masked(&mut self, name: &str, mask: u8, values: &[V]) -> &mut Self {
        let label = label(name);
        self.bytes.extend(label.to_be_bytes());
        self.bytes
            .push(mask | 0x08 | if self.thread.is_some() { 0x40 } else { 0 });
        if let Some(thread) = self.thread {
            self.bytes.extend(thread.to_be_bytes());
        }
        if mask & 0x04 != 0 {
            self.bytes.extend([0; 12]);
        }
        self.now += 90;
        self.stamp(self.now);
        self.now += 10;
        self.stamp(self.now);
        if mask & 0x80 != 0 {
            self.bytes.push(2);
            self.bytes.extend([7; 32]);
        }
        for value in values {
            if !(matches!(value, V::Status(_)) && mask & 3 == 0) {
                Writer::put(&mut self.bytes, self.version, value);
            }
        }
        self.calls[usize::from(label)] += 1;
        self
    }

    pub(super) fn call(&mut self, name: &str, values: &[V]) -> &mut Self {
        self.masked(name, 3, values)
    }

    /// The whole file.
    pub(super) fn finish(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        if self.ends {
            bytes.extend(END_OF_STREAM.to_be_bytes());
        }
        let header = bytes.len() as u64;
        bytes.extend([self.version.0, self.version.1, self.version.2]);
        bytes.extend(1_234u64.to_be_bytes());
        for text in ["host", "user"] {
            bytes.extend((text.len() as u16).to_be_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes.extend([0; 8]);
        let footer = bytes.len() as u64;
        bytes.extend(FOOTER.to_be_bytes());
        let total: u32 = self.calls.iter().sum();
        self.calls
            .iter()
            .chain([&total])
            .for_each(|count| bytes.extend(count.to_be_bytes()));
        bytes.extend([0; 4 * (CALLS + 1)]);
        let text = |bytes: &mut Vec<u8>, text: &str| {
            bytes.extend((text.len() as u16).to_be_bytes());
            bytes.extend(text.as_bytes());
        };
        let mut part = |there: bool, write: &dyn Fn(&mut Vec<u8>)| {
            let at = bytes.len() as u64;
            if there {
                write(&mut bytes);
                return at;
            }
            0
        };
        // Like real tracers: the index omits the keyvals.
        part(self.labelled, &|bytes| {
            bytes.extend(1i32.to_be_bytes());
            text(bytes, "key");
            text(bytes, "its value");
        });
        let counters = part(self.labelled && self.index >= 6, &|bytes| {
            bytes.extend(2i32.to_be_bytes());
            text(bytes, "PAPI_TOT_CYC");
            text(bytes, "");
        });
        let sizes = part(self.index >= 8, &|bytes| {
            Writer::put(bytes, self.version, &V::Is(self.sizes.clone()));
        });
        let addresses = part(self.labelled && self.index >= 7, &|bytes| {
            bytes.extend(1i32.to_be_bytes());
            bytes.extend(0x40_0000u64.to_be_bytes());
            text(bytes, "main");
        });
        let words = [sizes, addresses, counters, header, 8, footer, 0];
        bytes.extend(MAGIC.to_be_bytes());
        words[8 - self.index..]
            .iter()
            .for_each(|word| bytes.extend(word.to_be_bytes()));
        bytes
    }
}

/// A folder that is removed at the end.
#[derive(Debug)]
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "odonata-dumpi-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder for files can be made");
        Folder(path)
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("a file can be written");
        path
    }

    /// A trace of these ranks.
    pub(super) fn trace(ranks: &[Writer]) -> Folder {
        let folder = Folder::new();
        for (rank, writer) in ranks.iter().enumerate() {
            folder.write(&format!("t-{rank:04}.bin"), &writer.finish());
        }
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}
