//! Process group: communication between the processes of a run. Collective throughout: all processes make the same
//! calls at the same point.

use odonata_engine::{SingleProcess, Transport};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::Range;

/// The parts of process `process` of `processes`, out of `parts`.
pub(crate) fn share_of(parts: usize, (process, processes): (usize, usize)) -> Range<usize> {
    let first = |process: usize| (parts as u128 * process as u128 / processes as u128) as usize;
    first(process)..first(process + 1)
}

/// The connection of this process to the others, for everything except the scheduler.
pub struct ProcessGroup {
    transport: Box<dyn Transport>,
    outgoing: Vec<Vec<u8>>,
    incoming: Vec<Vec<u8>>,
}

impl Default for ProcessGroup {
    /// One process, alone.
    fn default() -> Self {
        ProcessGroup::new(Box::new(SingleProcess))
    }
}

impl ProcessGroup {
    /// The processes connected by `transport`; the scheduler needs a separate transport between the same processes.
    pub fn new(transport: Box<dyn Transport>) -> ProcessGroup {
        let size = transport.size();
        ProcessGroup {
            transport,
            outgoing: vec![Vec::new(); size],
            incoming: vec![Vec::new(); size],
        }
    }

    /// The number of this process, and the number of processes.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.transport.rank(), self.transport.size())
    }

    /// Whether this is the first process, which gathers results and prints.
    pub(crate) fn is_first(&self) -> bool {
        self.transport.rank() == 0
    }

    /// Whether `flag` holds in all processes.
    ///
    /// # Errors
    /// Another process is lost.
    pub fn all(&mut self, flag: bool) -> Result<bool, String> {
        Ok(self.least(u64::from(flag))? == 1)
    }

    /// Whether each of `flags` holds in all processes.
    ///
    /// # Errors
    /// Another process is lost.
    pub(crate) fn all_of<const N: usize>(&mut self, flags: [bool; N]) -> Result<[bool; N], String> {
        let mut values = flags.map(u64::from);
        self.transport.all_min(&mut values)?;
        Ok(values.map(|value| value == 1))
    }

    /// The minimum of `value` over all processes.
    pub(crate) fn least(&mut self, value: u64) -> Result<u64, String> {
        let mut values = [value];
        self.transport.all_min(&mut values)?;
        Ok(values[0])
    }

    /// The `value`s of all processes, in order.
    pub(crate) fn share<T: Serialize + DeserializeOwned>(&mut self, value: T) -> Result<Vec<T>, String> {
        if self.transport.size() == 1 {
            return Ok(vec![value]);
        }
        let bytes = encode(&value)?;
        for buffer in &mut self.outgoing {
            buffer.clone_from(&bytes);
        }
        self.exchange()?;
        self.incoming.iter().map(|bytes| decode(bytes)).collect()
    }

    /// In the first process the `value`s of all, in order; `None` in the others.
    pub(crate) fn gather<T: Serialize + DeserializeOwned>(&mut self, value: T) -> Result<Option<Vec<T>>, String> {
        if self.transport.size() == 1 {
            return Ok(Some(vec![value]));
        }
        self.gather_bytes(encode(&value)?)?
            .map(|all| all.iter().map(|bytes| decode(bytes)).collect())
            .transpose()
    }

    /// In the first process the `bytes` of all, in order; `None` in the others.
    pub(crate) fn gather_bytes(&mut self, bytes: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>, String> {
        self.outgoing.iter_mut().for_each(Vec::clear);
        self.outgoing[0] = bytes;
        self.exchange()?;
        Ok(self
            .is_first()
            .then(|| std::mem::take(&mut self.incoming))
            .inspect(|all| {
                self.incoming = vec![Vec::new(); all.len()];
            }))
    }

    /// A process sends nothing to itself over the transport.
    fn exchange(&mut self) -> Result<(), String> {
        let own = self.transport.rank();
        let mine = std::mem::take(&mut self.outgoing[own]);
        self.transport.exchange(&mut self.outgoing, &mut self.incoming)?;
        self.incoming[own] = mine;
        Ok(())
    }
}

fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
    postcard::to_allocvec(value).map_err(|error| format!("data for the other processes cannot be encoded: {error}"))
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    postcard::from_bytes(bytes).map_err(|error| format!("data of another process cannot be decoded: {error}"))
}
