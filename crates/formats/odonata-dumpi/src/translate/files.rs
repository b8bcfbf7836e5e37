//! File access.

use odonata_workload::{OpKind, Request};

use super::handles::{For, Handle};
use super::{News, Oddity, SharedAccess, Translator, WORLD};
use crate::label as l;
use crate::record::{Arg, Record};

/// An open file of a rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileState {
    /// The opening, by number.
    opening: u32,
    /// Start of its view, in bytes from the start of the file.
    displacement: u64,
    /// Unit of offsets, in bytes.
    unit: u64,
    /// The individual pointer, in bytes from the start of the view.
    position: u64,
    /// The largest offset written, from the start of the file.
    end: u64,
    /// The request of a split collective in progress.
    split: Option<u32>,
}

/// The position of an access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Explicit,
    Pointer,
    Shared,
    Ordered,
}

/// The completion of an access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Completion {
    Blocking,
    Request,
    Begin,
}

/// The access of a call; `None` if it moves no data.
fn access(label: u16) -> Option<(bool, At, Completion)> {
    let (read, write) = (false, true);
    Some(match label {
        l::FILE_READ_AT | l::FILE_READ_AT_ALL => (read, At::Explicit, Completion::Blocking),
        l::FILE_WRITE_AT | l::FILE_WRITE_AT_ALL => (write, At::Explicit, Completion::Blocking),
        l::FILE_IREAD_AT => (read, At::Explicit, Completion::Request),
        l::FILE_IWRITE_AT => (write, At::Explicit, Completion::Request),
        l::FILE_READ | l::FILE_READ_ALL => (read, At::Pointer, Completion::Blocking),
        l::FILE_WRITE | l::FILE_WRITE_ALL => (write, At::Pointer, Completion::Blocking),
        l::FILE_IREAD => (read, At::Pointer, Completion::Request),
        l::FILE_IWRITE => (write, At::Pointer, Completion::Request),
        l::FILE_READ_SHARED => (read, At::Shared, Completion::Blocking),
        l::FILE_WRITE_SHARED => (write, At::Shared, Completion::Blocking),
        l::FILE_IREAD_SHARED => (read, At::Shared, Completion::Request),
        l::FILE_IWRITE_SHARED => (write, At::Shared, Completion::Request),
        l::FILE_READ_ORDERED => (read, At::Ordered, Completion::Blocking),
        l::FILE_WRITE_ORDERED => (write, At::Ordered, Completion::Blocking),
        l::FILE_READ_AT_ALL_BEGIN => (read, At::Explicit, Completion::Begin),
        l::FILE_WRITE_AT_ALL_BEGIN => (write, At::Explicit, Completion::Begin),
        l::FILE_READ_ALL_BEGIN => (read, At::Pointer, Completion::Begin),
        l::FILE_WRITE_ALL_BEGIN => (write, At::Pointer, Completion::Begin),
        l::FILE_READ_ORDERED_BEGIN => (read, At::Ordered, Completion::Begin),
        l::FILE_WRITE_ORDERED_BEGIN => (write, At::Ordered, Completion::Begin),
        _ => return None,
    })
}

/// A nonnegative offset or size.
fn whole(value: Option<i64>) -> u64 {
    u64::try_from(value.unwrap_or(0)).unwrap_or(0)
}

impl Translator<'_> {
    pub(super) fn file(&mut self, record: &Record) {
        let handle = record.int(Arg::File);
        if record.label == l::FILE_OPEN {
            self.open_file(record);
            return;
        }
        let Some(file) = self.state.files.get(&handle).copied() else {
            if access(record.label).is_some() {
                self.odd(Oddity::UnknownFile);
                self.unknown_request(record);
            }
            return;
        };
        let number = self.file_number(&file);
        match record.label {
            l::FILE_CLOSE => {
                self.state.files.remove(&handle);
                if let Some(file) = number {
                    self.op(OpKind::Close { file });
                }
            }
            l::FILE_SET_VIEW => self.set_view(record, file),
            l::FILE_SEEK => self.seek(record, file),
            l::FILE_SEEK_SHARED => self.share(record, &file, 0, false, true),
            l::FILE_SET_SIZE | l::FILE_GET_SIZE => {
                let end = whole(record.get(Arg::Off));
                self.keep(handle, FileState { end, ..file });
            }
            l::FILE_READ_AT_ALL_END
            | l::FILE_WRITE_AT_ALL_END
            | l::FILE_READ_ALL_END
            | l::FILE_WRITE_ALL_END
            | l::FILE_READ_ORDERED_END
            | l::FILE_WRITE_ORDERED_END => {
                self.keep(handle, FileState { split: None, ..file });
                if let (Some(request), Some(_)) = (file.split, number) {
                    let request = Request(request);
                    self.op(OpKind::Wait { request });
                }
            }
            label => {
                if let Some((write, at, how)) = access(label) {
                    self.access(record, file, write, at, how);
                }
            }
        }
    }

    fn keep(&mut self, handle: i32, file: FileState) {
        self.state.files.insert(handle, file);
    }

    fn file_number(&self, file: &FileState) -> Option<u64> {
        self.knowledge?.files.get(file.opening as usize).copied()
    }

    fn open_file(&mut self, record: &Record) {
        let opening = self.state.opened;
        self.state.opened = opening.saturating_add(1);
        let file = FileState {
            opening,
            displacement: 0,
            unit: 1,
            position: 0,
            end: 0,
            split: None,
        };
        self.keep(record.int(Arg::File), file);
        if self.knowledge.is_none() {
            self.out.news.push(News::Opened(record.name().into()));
        }
        if let Some(file) = self.file_number(&file) {
            self.op(OpKind::Open { file });
        }
    }

    fn set_view(&mut self, record: &Record, file: FileState) {
        let (unit, tile) = (record.int(Arg::Et), record.int(Arg::Ft));
        if unit != tile {
            self.odd(Oddity::View);
        }
        let file = FileState {
            displacement: whole(record.get(Arg::Off)),
            unit: self.sizes().of(unit).max(1),
            position: 0,
            ..file
        };
        self.keep(record.int(Arg::File), file);
        self.share(record, &file, 0, true, true);
    }

    /// The target of a seek, in bytes from the start of the view; `from` is the current position.
    fn target(&mut self, record: &Record, file: &FileState, from: u64) -> u64 {
        let by = record.get(Arg::Off).unwrap_or(0).saturating_mul(file.unit as i64);
        let start = match record.int(Arg::Whence) {
            2 => from,
            3 => {
                self.odd(Oddity::SeekEnd);
                file.end.saturating_sub(file.displacement)
            }
            _ => 0,
        };
        start.saturating_add_signed(by)
    }

    fn seek(&mut self, record: &Record, file: FileState) {
        let position = self.target(record, &file, file.position);
        self.keep(record.int(Arg::File), FileState { position, ..file });
    }

    /// A shared-pointer access, whose position depends on the whole trace.
    fn share(&mut self, record: &Record, file: &FileState, bytes: u64, view: bool, seek: bool) {
        let number = self.state.shared;
        self.state.shared = number.saturating_add(1);
        if self.knowledge.is_some() {
            return;
        }
        let to = match seek && !view {
            true => self.target(record, file, 0),
            false => bytes,
        };
        let ordered = seek || matches!(access(record.label), Some((_, At::Ordered, _)));
        self.out.news.push(News::Shared(SharedAccess {
            file: file.opening,
            start: record.wall.map_or(0, |span| span.start),
            bytes: to,
            seek,
            ordered,
            displacement: file.displacement,
        }));
    }

    /// A request for an operation that is left out.
    fn unknown_request(&mut self, record: &Record) {
        if matches!(access(record.label), Some((_, _, Completion::Request))) {
            let number = self.number();
            self.bind_file(record, number, For::Buffered);
        }
    }

    fn bind_file(&mut self, record: &Record, number: u32, what: For) {
        let handle = Handle::begun(what, number, WORLD);
        self.bind(record.int(Arg::Ioreq), handle);
    }

    fn access(&mut self, record: &Record, mut file: FileState, write: bool, at: At, how: Completion) {
        let bytes = self.bytes(record, Arg::Count, Arg::Type);
        let request = match how {
            Completion::Blocking => None,
            _ => Some(self.number()),
        };
        let offset = match at {
            At::Explicit => {
                let units = whole(record.get(Arg::Off)).saturating_mul(file.unit);
                file.displacement.saturating_add(units)
            }
            At::Pointer => {
                let offset = file.displacement.saturating_add(file.position);
                file.position = file.position.saturating_add(bytes);
                offset
            }
            At::Shared | At::Ordered => {
                let number = self.state.shared;
                self.share(record, &file, bytes, false, false);
                let offsets = self.knowledge.map(|knowledge| knowledge.shared.as_slice());
                offsets
                    .and_then(|offsets| offsets.get(number as usize))
                    .copied()
                    .unwrap_or(0)
            }
        };
        if write {
            // Only the second pass knows the shared pointer: the first must not depend on it.
            let known = matches!(at, At::Explicit | At::Pointer);
            file.end = file.end.max(if known { offset.saturating_add(bytes) } else { 0 });
        }
        if how == Completion::Begin {
            file.split = request;
        }
        self.keep(record.int(Arg::File), file);
        if let (Completion::Request, Some(number)) = (how, request) {
            self.bind_file(record, number, For::File);
        }
        let Some(file) = self.file_number(&file) else { return };
        self.op(match (write, request.map(Request)) {
            (false, None) => OpKind::Read { file, offset, bytes },
            (true, None) => OpKind::Write { file, offset, bytes },
            (false, Some(request)) => OpKind::Iread {
                file,
                offset,
                bytes,
                request,
            },
            (true, Some(request)) => OpKind::Iwrite {
                file,
                offset,
                bytes,
                request,
            },
        });
    }
}
