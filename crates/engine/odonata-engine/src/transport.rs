//! The transport between the processes of a run: two collective operations.
//!
//! [`SingleProcess`] is for a run in one process. For tests, [`ThreadTransport`] makes threads of one process act as
//! several processes. The transport over MPI is a separate crate.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Communication with the other processes of a run. Used only by the thread that calls
/// [`Scheduler::run`](crate::Scheduler::run).
///
/// An error is final: the process, or its connection to the others, is lost.
pub trait Transport: Send {
    /// The number of this process, from 0.
    fn rank(&self) -> usize;

    /// Number of processes.
    fn size(&self) -> usize;

    /// Collective: sends `outgoing[p]` to process `p` (the own entry is empty) and receives into `incoming[p]` the data
    /// of process `p`. The previous content of `incoming` is dropped, and `outgoing` is empty afterwards. Both have an
    /// entry per process and keep their memory.
    ///
    /// # Errors
    /// The failure, in words for the user.
    fn exchange(&mut self, outgoing: &mut [Vec<u8>], incoming: &mut [Vec<u8>]) -> Result<(), String>;

    /// Collective: replaces every value by its minimum over all processes.
    ///
    /// # Errors
    /// The failure, in words for the user.
    fn all_min(&mut self, values: &mut [u64]) -> Result<(), String>;
}

/// One process.
#[derive(Clone, Copy, Debug, Default)]
pub struct SingleProcess;

impl Transport for SingleProcess {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn exchange(&mut self, outgoing: &mut [Vec<u8>], incoming: &mut [Vec<u8>]) -> Result<(), String> {
        debug_assert!(outgoing.iter().all(Vec::is_empty), "there is no other process");
        outgoing.iter_mut().chain(incoming).for_each(Vec::clear);
        Ok(())
    }

    fn all_min(&mut self, _: &mut [u64]) -> Result<(), String> {
        Ok(())
    }
}

/// One of several threads that act as processes.
///
/// If one thread is dropped, or starts another operation than the others, all others get an error: none waits forever.
#[derive(Debug)]
pub struct ThreadTransport {
    rank: usize,
    size: usize,
    /// Number of operations started by this process.
    count: u64,
    shared: Arc<SharedState>,
}

#[derive(Debug)]
struct SharedState {
    collective: Mutex<Collective>,
    complete: Condvar,
}

/// The state of the current collective operation. It has two alternating buffers: a fast process may begin the next
/// operation before others have collected the results of the last one, but not the one after that.
#[derive(Debug)]
struct Collective {
    /// Number of operations completed by all.
    count: u64,
    arrived: usize,
    operation: Operation,
    error: Option<String>,
    /// By buffer, receiver and sender.
    messages: [Vec<Vec<Vec<u8>>>; 2],
    minima: [Vec<u64>; 2],
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Exchange,
    Minimum(usize),
}

impl ThreadTransport {
    /// Creates `size` processes, in order of their ranks.
    pub fn new(size: usize) -> Vec<ThreadTransport> {
        let shared = Arc::new(SharedState {
            collective: Mutex::new(Collective {
                count: 0,
                arrived: 0,
                operation: Operation::Exchange,
                error: None,
                messages: [(); 2].map(|()| vec![vec![Vec::new(); size]; size]),
                minima: [Vec::new(), Vec::new()],
            }),
            complete: Condvar::new(),
        });
        let member = |rank| ThreadTransport {
            rank,
            size,
            count: 0,
            shared: shared.clone(),
        };
        (0..size).map(member).collect()
    }

    /// Takes part in the next operation: contributes, waits for the others, collects. Both closures get the index of
    /// the buffer.
    fn run_collective(
        &mut self,
        operation: Operation,
        contribute: impl FnOnce(&mut Collective, usize),
        collect: impl FnOnce(&mut Collective, usize),
    ) -> Result<(), String> {
        let shared = self.shared.clone();
        let table = (self.count % 2) as usize;
        self.count += 1;
        let mut collective = shared.enter();
        if collective.arrived > 0 && collective.operation != operation {
            let text = format!(
                "process {} does {operation:?} where others do {:?}",
                self.rank, collective.operation
            );
            collective.error.get_or_insert(text);
            shared.complete.notify_all();
        }
        if let Some(text) = &collective.error {
            return Err(text.clone());
        }
        collective.operation = operation;
        contribute(&mut collective, table);
        collective.arrived += 1;
        if collective.arrived == self.size {
            collective.arrived = 0;
            collective.count += 1;
            shared.complete.notify_all();
        }
        while collective.count < self.count {
            if let Some(text) = &collective.error {
                return Err(text.clone());
            }
            collective = shared.complete.wait(collective).unwrap_or_else(PoisonError::into_inner);
        }
        collect(&mut collective, table);
        Ok(())
    }
}

impl SharedState {
    fn enter(&self) -> MutexGuard<'_, Collective> {
        self.collective.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for ThreadTransport {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&mut self, outgoing: &mut [Vec<u8>], incoming: &mut [Vec<u8>]) -> Result<(), String> {
        let me = self.rank;
        self.run_collective(
            Operation::Exchange,
            |collective, table| {
                for (to, message) in outgoing.iter_mut().enumerate() {
                    std::mem::swap(message, &mut collective.messages[table][to][me]);
                    message.clear();
                }
            },
            |collective, table| {
                for (from, message) in incoming.iter_mut().enumerate() {
                    message.clear();
                    std::mem::swap(message, &mut collective.messages[table][me][from]);
                }
            },
        )
    }

    fn all_min(&mut self, values: &mut [u64]) -> Result<(), String> {
        let own = values.to_vec();
        self.run_collective(
            Operation::Minimum(own.len()),
            |collective, table| {
                let first = collective.arrived == 0;
                let minima = &mut collective.minima[table];
                if first {
                    minima.clone_from(&own);
                } else {
                    minima
                        .iter_mut()
                        .zip(&own)
                        .for_each(|(all, one)| *all = (*all).min(*one));
                }
            },
            |collective, table| values.copy_from_slice(&collective.minima[table]),
        )
    }
}

impl Drop for ThreadTransport {
    fn drop(&mut self) {
        let text = format!("process {} has left", self.rank);
        self.shared.enter().error.get_or_insert(text);
        self.shared.complete.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn together<R: Send>(size: usize, act: impl Fn(ThreadTransport) -> R + Sync) -> Vec<R> {
        thread::scope(|scope| {
            let handles: Vec<_> = ThreadTransport::new(size)
                .into_iter()
                .map(|member| scope.spawn(|| act(member)))
                .collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).collect()
        })
    }

    #[test]
    fn messages_arrive_where_they_were_sent_in_every_one_of_many_operations() {
        let size = 3;
        together(size, |mut me| {
            let (mut outgoing, mut incoming) = (vec![Vec::new(); size], vec![Vec::new(); size]);
            for round in 0..200u8 {
                for (to, message) in outgoing.iter_mut().enumerate().filter(|(to, _)| *to != me.rank) {
                    message.resize(usize::from(round) % 5 + to, round ^ me.rank as u8);
                }
                me.exchange(&mut outgoing, &mut incoming).unwrap();
                for (from, message) in incoming.iter().enumerate() {
                    let length = if from == me.rank {
                        0
                    } else {
                        usize::from(round) % 5 + me.rank
                    };
                    assert_eq!(*message, vec![round ^ from as u8; length], "round {round}");
                }
                assert!(outgoing.iter().all(Vec::is_empty));
                let mut values = [
                    me.rank as u64 + 7,
                    u64::from(round) * 3 - me.rank as u64 % (1 + u64::from(round)),
                ];
                me.all_min(&mut values).unwrap();
                let smallest = (0..3)
                    .map(|rank| u64::from(round) * 3 - rank % (1 + u64::from(round)))
                    .min();
                assert_eq!((values[0], Some(values[1])), (7, smallest));
            }
        });
    }

    #[test]
    fn a_lost_process_is_an_error_for_all_waiting_processes() {
        let results = together(3, |mut me| match me.rank {
            1 => Ok(()),
            _ => me.all_min(&mut [1]),
        });
        assert_eq!(results[0], Err("process 1 has left".into()));
        assert!(results[2].is_err());
    }

    #[test]
    fn different_operations_at_once_are_an_error_for_all() {
        let results = together(2, |mut me| {
            let values = &mut [1, 2][..me.rank + 1];
            me.all_min(values)
        });
        assert!(results.iter().all(Result::is_err), "{results:?}");
    }
}
