//! Handles of requests, as the trace names them: the request that each means now.
//!
//! In some libraries, sends that are complete on return share a handle: they form a queue.

use std::collections::{HashMap, VecDeque};

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum For {
    Send,
    Receive,
    File,
    /// A buffered send, which is complete at once.
    Buffered,
}

/// The meaning of a handle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handle {
    pub(super) what: For,
    /// The request number in the program.
    pub(super) number: u32,
    /// The transfer in progress.
    pub(super) transfer: Option<u32>,
    pub(super) cancelled: bool,
    /// Whether source or tag is a wildcard.
    pub(super) wild: bool,
    /// The communicator.
    pub(super) object: u32,
    pub(super) persistent: Option<Description>,
    /// Whether the program has a persistent request for it; otherwise each start is a separate operation.
    pub(super) inside: bool,
}

/// The operation of a persistent request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Description {
    pub(super) peer: i32,
    pub(super) tag: i32,
    pub(super) bytes: u64,
}

impl Handle {
    /// Of a transfer that begins at once, number `number`.
    pub(super) fn begun(what: For, number: u32, object: u32) -> Handle {
        Handle {
            what,
            number,
            transfer: Some(number),
            cancelled: false,
            wild: false,
            object,
            persistent: None,
            inside: false,
        }
    }

    /// Whether it is a nonpersistent send.
    fn is_send(&self) -> bool {
        matches!(self.what, For::Send | For::Buffered) && self.persistent.is_none()
    }
}

/// Maximum number of sends that share a handle; beyond it, the first have completed in an unrecorded call.
const MOST_TWINS: usize = 4_096;

/// The bound handles of a rank.
#[derive(Clone, Debug, Default)]
pub(super) struct Handles {
    bound: HashMap<i32, Handle>,
    /// Further sends of a handle.
    twins: HashMap<i32, VecDeque<Handle>>,
}

impl Handles {
    pub(super) fn get(&self, request: i32) -> Option<Handle> {
        self.bound.get(&request).copied()
    }

    pub(super) fn get_mut(&mut self, request: i32) -> Option<&mut Handle> {
        self.bound.get_mut(&request)
    }

    /// Number of bound handles, further sends included.
    pub(super) fn len(&self) -> usize {
        self.bound.len() + self.twins.values().map(VecDeque::len).sum::<usize>()
    }

    /// Binds `request`. Returns the request to which no call will refer again: the previous one of the handle, unless
    /// both are sends.
    pub(super) fn bind(&mut self, request: i32, what: Handle) -> Option<Handle> {
        let Some(old) = self.get(request) else {
            self.bound.insert(request, what);
            return None;
        };
        if !(old.is_send() && what.is_send()) {
            self.bound.insert(request, what);
            return Some(old);
        }
        let twins = self.twins.entry(request).or_default();
        twins.push_back(what);
        if twins.len() <= MOST_TWINS {
            return None;
        }
        self.settle(request, &old);
        Some(old)
    }

    /// A transfer of `request` completed.
    pub(super) fn settle(&mut self, request: i32, handle: &Handle) {
        if handle.persistent.is_none() {
            self.unbind(request);
        } else if let Some(handle) = self.bound.get_mut(&request) {
            handle.transfer = None;
            handle.cancelled = false;
        }
    }

    /// Unbinds `request`, or moves on to the next of several sends; returns the previous meaning.
    pub(super) fn unbind(&mut self, request: i32) -> Option<Handle> {
        let handle = self.bound.remove(&request)?;
        if let Some(twins) = self.twins.get_mut(&request) {
            if let Some(next) = twins.pop_front() {
                self.bound.insert(request, next);
            }
            if twins.is_empty() {
                self.twins.remove(&request);
            }
        }
        Some(handle)
    }

    /// Unbinds all handles; returns their requests in the order of their numbers.
    pub(super) fn unbind_all(&mut self) -> Vec<Handle> {
        let mut left: Vec<Handle> = std::mem::take(&mut self.bound).into_values().collect();
        left.extend(std::mem::take(&mut self.twins).into_values().flatten());
        left.sort_unstable_by_key(|handle| handle.number);
        left
    }
}
