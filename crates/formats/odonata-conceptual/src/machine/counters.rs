//! The counters of a rank, in its memory: messages and bytes since the last reset, with the time of that reset.

use super::super::ast::CounterAction;
use super::super::functions::Value;
use super::super::ir::word;
use super::RESTORE;

/// Maximum depth of the stack of stored counters.
const MOST_STORES: u32 = 8;

/// The words of one set of stored counters.
const KEPT: [usize; 5] = [
    word::ORIGIN,
    word::SENT,
    word::SENT_BYTES,
    word::RECEIVED,
    word::RECEIVED_BYTES,
];

/// Words of the stack of stored counters: its depth, and the sets.
pub(in super::super) const STACK_WORDS: u32 = 1 + MOST_STORES * KEPT.len() as u32;

pub(super) struct Counters<'m> {
    memory: &'m mut [u64],
}

impl<'m> Counters<'m> {
    pub(super) fn of(memory: &'m mut [u64]) -> Self {
        Counters { memory }
    }

    /// Counts a message: a send when it is issued, a receive when it is complete.
    pub(super) fn count(self, send: bool, bytes: u64, asynchronous: bool) {
        let (messages, total) = match (send, asynchronous) {
            (true, _) => (word::SENT, word::SENT_BYTES),
            (false, false) => (word::RECEIVED, word::RECEIVED_BYTES),
            (false, true) => (word::COMING, word::COMING_BYTES),
        };
        self.memory[messages] += 1;
        self.memory[total] = self.memory[total].wrapping_add(bytes);
    }

    /// Counts the receives that have been awaited.
    pub(super) fn complete(self) {
        self.memory[word::RECEIVED] += std::mem::take(&mut self.memory[word::COMING]);
        let bytes = std::mem::take(&mut self.memory[word::COMING_BYTES]);
        self.memory[word::RECEIVED_BYTES] = self.memory[word::RECEIVED_BYTES].wrapping_add(bytes);
    }

    /// Resets, stores or restores the counters; `stack` is the first word of the stored ones.
    pub(super) fn act(self, action: CounterAction, now: u64, stack: Option<u32>) -> Value<()> {
        if action == CounterAction::Reset {
            KEPT.into_iter().for_each(|slot| self.memory[slot] = 0);
            self.memory[word::ORIGIN] = now;
            self.memory[word::WAS_RESET] = 1;
            return Ok(());
        }
        let stores = action == CounterAction::Store;
        let depth = stack.ok_or(RESTORE)? as usize;
        let stored = self.memory[depth];
        if stores && stored >= u64::from(MOST_STORES) {
            return Err("more than 8 sets of stored counters");
        }
        let level = if stores {
            stored
        } else {
            stored.checked_sub(1).ok_or(RESTORE)?
        };
        let first = depth + 1 + level as usize * KEPT.len();
        for (at, slot) in KEPT.into_iter().enumerate() {
            let (from, to) = if stores { (slot, first + at) } else { (first + at, slot) };
            self.memory[to] = self.memory[from];
        }
        self.memory[depth] = if stores { level + 1 } else { level };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restored_counters_are_those_stored_last_and_the_stack_has_a_bound() {
        let stack = word::OWN as u32;
        let mut memory = vec![0; word::OWN + STACK_WORDS as usize];
        let act = |memory: &mut [u64], action| Counters::of(memory).act(action, 0, Some(stack));
        for bytes in 1..=u64::from(MOST_STORES) {
            Counters::of(&mut memory).count(true, bytes, false);
            act(&mut memory, CounterAction::Store).unwrap();
        }
        assert!(act(&mut memory, CounterAction::Store).unwrap_err().contains("8 sets"));
        act(&mut memory, CounterAction::Reset).unwrap();
        // After n sends of 1, 2, .. n bytes: n (n + 1) / 2 bytes.
        for sends in (1..=u64::from(MOST_STORES)).rev() {
            act(&mut memory, CounterAction::Restore).unwrap();
            let sent = (memory[word::SENT], memory[word::SENT_BYTES]);
            assert_eq!(sent, (sends, sends * (sends + 1) / 2));
        }
        assert_eq!(act(&mut memory, CounterAction::Restore), Err(RESTORE));
    }

    #[test]
    fn asynchronous_receives_count_once_they_are_awaited() {
        let mut memory = vec![0; word::OWN];
        Counters::of(&mut memory).count(false, 5, true);
        assert_eq!(memory[word::RECEIVED_BYTES], 0);
        Counters::of(&mut memory).complete();
        Counters::of(&mut memory).complete();
        assert_eq!((memory[word::RECEIVED], memory[word::RECEIVED_BYTES]), (1, 5));
    }
}
