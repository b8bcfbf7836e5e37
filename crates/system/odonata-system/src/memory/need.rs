//! The memory of a run, as a list of items, and its comparison with the memory that there is.

use super::Available;
use crate::scenario::Problem;
use odonata_topology::Topology;
use odonata_units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

/// An item of memory.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MemoryItem {
    /// Its content.
    pub what: String,
    /// The key that determines it; empty: none.
    pub key: String,
    /// Bytes.
    pub bytes: u64,
}

/// The memory of a run, computed before it starts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MemoryReport {
    /// Probable peak, bytes.
    pub bytes: u64,
    /// State before the first event, without the program itself, bytes.
    pub idle_bytes: u64,
    /// Memory that this process may use, bytes; null: unknown.
    pub available: Option<u64>,
    /// The source of that limit: "free", "control-group", "address-space" or "run.memory_limit".
    pub bound: &'static str,
    /// The items of the peak, the largest first.
    pub items: Vec<MemoryItem>,
}

/// The division of the machine of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spread {
    /// Parts of this process with a separate state.
    pub(crate) parts: u64,
    /// Processes that share the run.
    pub(crate) processes: u64,
}

impl Spread {
    /// One part in one process.
    pub(crate) const WHOLE: Spread = Spread { parts: 1, processes: 1 };
}

/// The memory of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Need {
    pub(super) items: Vec<MemoryItem>,
    /// Bytes before the first event.
    pub(super) idle: u64,
}

impl Need {
    pub(super) fn add(&mut self, what: impl Into<String>, key: impl Into<String>, bytes: u64) {
        if bytes > 0 {
            self.items.push(MemoryItem {
                what: what.into(),
                key: key.into(),
                bytes,
            });
        }
    }

    /// The total, bytes.
    pub(crate) fn sum(&self) -> u64 {
        self.items
            .iter()
            .fold(0, |sum: u64, item| sum.saturating_add(item.bytes))
    }

    /// The graph of the machine that is the value of `key`: a lower bound.
    pub(crate) fn graph(key: String, routers: u64, ports: u64) -> Need {
        let mut need = Need::default();
        need.add(
            format!("the graph of {ports} ports"),
            key,
            Topology::bytes(routers, 0, ports),
        );
        need
    }

    /// The open trace that is the value of `key`: a lower bound.
    pub(crate) fn trace(key: String, bytes: u64) -> Need {
        let mut need = Need::default();
        need.add("what is known of the trace's lists and communicators", key, bytes);
        need
    }

    /// Refuses a run that certainly exceeds the `available` memory, at the key of its largest item; a hint has the others.
    ///
    /// # Errors
    /// It does not fit.
    pub(crate) fn refuse(&self, available: &Available) -> Result<(), Problem> {
        let sum = self.sum().saturating_add(available.taken);
        if sum <= available.bytes {
            return Ok(());
        }
        let (largest, others) = self.largest();
        let key = largest.map_or(String::new(), |item| item.key.clone());
        let problem = format!("at least {} of memory would be needed", Bytes(sum).rounded());
        let expected = format!(
            "at most {}, {}",
            Bytes(available.bytes).rounded(),
            available.bound.words()
        );
        Err(Problem::new(key, problem, expected).hint(others))
    }

    /// The largest item, and the three largest as text.
    pub(super) fn largest(&self) -> (Option<&MemoryItem>, String) {
        const SHOWN: usize = 3;
        let mut items: Vec<&MemoryItem> = self.items.iter().collect();
        items.sort_by_key(|item| std::cmp::Reverse(item.bytes));
        let words = |item: &&MemoryItem| match item.key.as_str() {
            "" => format!("{} for {}", Bytes(item.bytes).rounded(), item.what),
            key => format!("{} for {} ({key})", Bytes(item.bytes).rounded(), item.what),
        };
        let list: Vec<String> = items.iter().take(SHOWN).map(words).collect();
        (items.first().copied(), list.join(", "))
    }

    /// The report of `odonata check`.
    pub(crate) fn report(&self, available: &Available) -> MemoryReport {
        let mut items = self.items.clone();
        items.sort_by_key(|item| std::cmp::Reverse(item.bytes));
        MemoryReport {
            bytes: self.sum(),
            idle_bytes: self.idle,
            available: (available.bytes < u64::MAX).then_some(available.bytes),
            bound: available.bound.name(),
            items,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Bound;

    #[test]
    fn a_trace_that_takes_more_than_there_is_is_refused_at_its_key() {
        let available = Available {
            bytes: 3 << 30,
            bound: Bound::Key,
            taken: 1 << 30,
        };
        let refused = |bytes| Need::trace("jobs.2.trace".into(), bytes).refuse(&available);
        assert!(refused(2 << 30).is_ok());
        let problem = refused(4 << 30).unwrap_err();
        assert_eq!(problem.key, "jobs.2.trace");
        assert_eq!(problem.problem, "at least 5.0 GiB of memory would be needed");
        assert_eq!(problem.expected, "at most 3.0 GiB, which run.memory_limit allows");
    }
}
