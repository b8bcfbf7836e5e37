//! Requests: the meaning of handles, and waits.
//!
//! Handle numbers are reused soon. The program numbers transfers consecutively instead, so the requests of one wait are
//! usually one range. Only transfers that completed in the trace are waited for.

use odonata_workload::{OpKind, Request};

use super::handles::{For, Handle};
use super::{News, Oddity, Translator};
use crate::knowledge::Fate;
use crate::label as l;
use crate::record::{Arg, Record, Status};

/// Handles without a request: error and null.
const NULLS: std::ops::RangeInclusive<i32> = 0..=1;

impl Translator<'_> {
    /// The number of the next transfer.
    pub(super) fn number(&mut self) -> u32 {
        let number = self.state.transfers;
        self.state.transfers = number.saturating_add(1);
        number
    }

    /// Binds `handle` to a request. If it had another, that one completed in an unrecorded call, unless both are sends.
    pub(super) fn bind(&mut self, handle: i32, what: Handle) {
        if let Some(old) = self.state.handles.bind(handle, what) {
            self.forget(old);
        }
    }

    /// No call will refer to this request again.
    fn forget(&mut self, handle: Handle) {
        if !self.open(&handle) {
            return;
        }
        let request = Request(handle.number);
        self.op(match handle.what {
            For::File => OpKind::Wait { request },
            _ => OpKind::RequestFree { request },
        });
    }

    /// Whether the program has an open request for it.
    fn open(&self, handle: &Handle) -> bool {
        let Some(knowledge) = self.knowledge else { return false };
        let there = handle.what == For::File || knowledge.comm(handle.object).is_some();
        let begun = handle.inside || handle.transfer.is_some();
        let cancelled = !handle.inside
            && handle
                .transfer
                .is_some_and(|transfer| knowledge.fate(transfer) == Some(Fate::Cancelled));
        there && begun && !cancelled && handle.what != For::Buffered
    }

    /// At the end of the stream: drops requests that were never waited for.
    pub(crate) fn end(&mut self) {
        for handle in self.state.handles.unbind_all() {
            self.forget(handle);
        }
    }

    pub(super) fn request(&mut self, record: &Record) {
        let statuses = record.statuses();
        let one = |arg: Arg| record.int(arg);
        let flag = record.int(Arg::Flag) != 0;
        match record.label {
            l::WAIT => self.complete(&[(one(Arg::Req), statuses.first().copied())]),
            l::TEST if flag => self.complete(&[(one(Arg::Req), statuses.first().copied())]),
            l::MPIO_WAIT => self.complete(&[(one(Arg::Ioreq), statuses.first().copied())]),
            l::MPIO_TEST if flag => self.complete(&[(one(Arg::Ioreq), statuses.first().copied())]),
            l::WAITANY | l::MPIO_WAITANY => self.complete_one(record),
            l::TESTANY | l::MPIO_TESTANY if flag => self.complete_one(record),
            l::WAITALL | l::MPIO_WAITALL => self.complete_all(record),
            l::TESTALL | l::MPIO_TESTALL if flag => self.complete_all(record),
            l::WAITSOME | l::TESTSOME | l::MPIO_WAITSOME | l::MPIO_TESTSOME => self.complete_some(record),
            l::REQUEST_FREE => self.free(one(Arg::Req)),
            l::CANCEL => {
                if let Some(handle) = self.state.handles.get_mut(one(Arg::Req)) {
                    handle.cancelled = true;
                }
            }
            l::START => self.start(&[one(Arg::Req)]),
            l::STARTALL => self.start(record.list(Arg::Reqs)),
            _ => {}
        }
    }

    fn complete_one(&mut self, record: &Record) {
        let index = usize::try_from(record.int(Arg::Index)).ok();
        if let Some(&request) = index.and_then(|index| record.list(Arg::Reqs).get(index)) {
            self.complete(&[(request, record.statuses().first().copied())]);
        }
    }

    fn complete_all(&mut self, record: &Record) {
        let requests = record.list(Arg::Reqs).iter().enumerate();
        let all: Vec<_> = requests
            .map(|(at, &request)| (request, record.statuses().get(at).copied()))
            .collect();
        self.complete(&all);
    }

    fn complete_some(&mut self, record: &Record) {
        let count = usize::try_from(record.int(Arg::Outcount)).unwrap_or(0);
        let indices = record.list(Arg::Indices).iter().take(count).enumerate();
        let some: Vec<_> = indices
            .filter_map(|(at, &index)| {
                let request = record.list(Arg::Reqs).get(usize::try_from(index).ok()?)?;
                Some((*request, record.statuses().get(at).copied()))
            })
            .collect();
        self.complete(&some);
    }

    /// These requests completed, with these statuses if stored.
    pub(super) fn complete(&mut self, requests: &[(i32, Option<Status>)]) {
        let mut numbers: Vec<u32> = Vec::with_capacity(requests.len());
        for &(request, status) in requests {
            let Some(handle) = self.state.handles.get(request) else {
                if !NULLS.contains(&request) {
                    self.odd(Oddity::UnknownRequest);
                }
                continue;
            };
            let Some(transfer) = handle.transfer else {
                continue; // persistent, and not started
            };
            self.learn(&handle, transfer, status);
            if self.open(&handle) {
                numbers.push(handle.number);
            }
            self.state.handles.settle(request, &handle);
        }
        numbers.sort_unstable();
        for run in numbers.chunk_by(|a, b| b - a <= 1) {
            let first = Request(run[0]);
            self.op(match run.len() {
                1 => OpKind::Wait { request: first },
                count => OpKind::WaitAll {
                    first,
                    count: count as u32,
                },
            });
        }
    }

    /// Records what a status reveals about transfer `transfer`.
    fn learn(&mut self, handle: &Handle, transfer: u32, status: Option<Status>) {
        if self.knowledge.is_some() {
            return;
        }
        let received = handle.what == For::Receive;
        let fate = match status {
            Some(status) if status.cancelled && (received || handle.cancelled) => Fate::Cancelled,
            None if received && handle.cancelled => Fate::Cancelled,
            Some(status) if received && handle.wild => fate_of(&status),
            None if received && handle.wild => {
                self.odd(Oddity::UnknownSource);
                return;
            }
            _ => return,
        };
        if fate == Fate::Cancelled {
            self.odd(Oddity::Cancelled);
        }
        self.out.news.push(News::Fate(transfer, fate));
    }

    fn free(&mut self, request: i32) {
        let Some(handle) = self.state.handles.unbind(request) else {
            if !NULLS.contains(&request) {
                self.odd(Oddity::UnknownRequest);
            }
            return;
        };
        if let (true, Some(transfer), None) = (handle.cancelled, handle.transfer, self.knowledge) {
            self.odd(Oddity::Cancelled);
            self.out.news.push(News::Fate(transfer, Fate::Cancelled));
        }
        self.forget(handle);
    }

    fn start(&mut self, requests: &[i32]) {
        let mut run: Option<(u32, u32)> = None;
        for &request in requests {
            let transfer = self.number();
            let Some(handle) = self.state.handles.get_mut(request) else {
                self.odd(Oddity::UnknownRequest);
                continue;
            };
            handle.transfer = Some(transfer);
            if !handle.inside {
                handle.number = transfer;
            }
            let handle = *handle;
            if handle.inside && self.open(&handle) && self.begins(transfer) {
                // Ranges keep the order of requests in the call.
                run = match run {
                    Some((first, count)) if first + count == handle.number => Some((first, count + 1)),
                    other => {
                        self.flush_starts(other);
                        Some((handle.number, 1))
                    }
                };
                continue;
            }
            self.flush_starts(run.take());
            if !handle.inside
                && let Some(description) = handle.persistent
            {
                self.start_again(&handle, transfer, description);
            }
        }
        self.flush_starts(run);
    }

    /// Whether transfer `transfer` took place.
    fn begins(&self, transfer: u32) -> bool {
        self.knowledge
            .is_some_and(|knowledge| knowledge.fate(transfer) != Some(Fate::Cancelled))
    }

    fn flush_starts(&mut self, run: Option<(u32, u32)>) {
        match run {
            None => {}
            Some((number, 1)) => self.op(OpKind::Start {
                request: Request(number),
            }),
            Some((first, count)) => self.op(OpKind::StartAll {
                first: Request(first),
                count,
            }),
        }
    }
}

/// The outcome of a wildcard receive that completed with `status`.
pub(super) fn fate_of(status: &Status) -> Fate {
    match status.source {
        ..0 => Fate::Null,
        source => Fate::From {
            source,
            tag: status.tag,
        },
    }
}
