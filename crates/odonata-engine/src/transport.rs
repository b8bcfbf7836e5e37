//! How processes that share a run talk to each other: two collective operations.
//!
//! [`Alone`] is one process, [`Crowd`] are threads of one process that behave as if they were several, to test
//! with. What speaks MPI lives elsewhere.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The way to the other processes. Used by the thread only that calls [`Scheduler::run`](crate::Scheduler::run).
///
/// An error is for good: the process, or its way to the others, is lost.
pub trait Transport: Send {
    /// The number of this process, from 0.
    fn rank(&self) -> usize;

    /// Number of processes.
    fn size(&self) -> usize;

    /// Collective: sends `outgoing[p]` to process `p` (the own entry is empty) and receives into `incoming[p]` what
    /// process `p` sends. What `incoming` held is forgotten, `outgoing` is empty afterwards; both have an entry per
    /// process, and keep their memory.
    ///
    /// # Errors
    /// What failed, in words for the user.
    fn exchange(&mut self, outgoing: &mut [Vec<u8>], incoming: &mut [Vec<u8>]) -> Result<(), String>;

    /// Collective: replaces every value by the smallest of all processes in its place.
    ///
    /// # Errors
    /// What failed, in words for the user.
    fn all_min(&mut self, values: &mut [u64]) -> Result<(), String>;
}

/// One process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Transport for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn exchange(&mut self, outgoing: &mut [Vec<u8>], incoming: &mut [Vec<u8>]) -> Result<(), String> {
        debug_assert!(outgoing.iter().all(Vec::is_empty), "nobody is there to receive it");
        outgoing.iter_mut().chain(incoming).for_each(Vec::clear);
        Ok(())
    }

    fn all_min(&mut self, _: &mut [u64]) -> Result<(), String> {
        Ok(())
    }
}

/// One of several threads that act as processes.
///
/// If one of them is dropped, or takes part in another operation than the others, all others see an error: nobody
/// waits for ever.
#[derive(Debug)]
pub struct Crowd {
    rank: usize,
    size: usize,
    /// Operations taken part in.
    count: u64,
    hall: Arc<Hall>,
}

#[derive(Debug)]
struct Hall {
    meeting: Mutex<Meeting>,
    over: Condvar,
}

/// What is laid on the table in an operation. Two tables are used in turn, for who is quick may begin the next
/// operation before others have picked up what the last one left them; it cannot come to the one after.
#[derive(Debug)]
struct Meeting {
    /// Operations that all have taken part in.
    count: u64,
    arrived: usize,
    what: What,
    trouble: Option<String>,
    /// Table, receiver, sender.
    letters: [Vec<Vec<Vec<u8>>>; 2],
    minima: [Vec<u64>; 2],
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Exchange,
    Minimum(usize),
}

impl Crowd {
    /// `size` processes, in order of their ranks.
    pub fn new(size: usize) -> Vec<Crowd> {
        let hall = Arc::new(Hall {
            meeting: Mutex::new(Meeting {
                count: 0,
                arrived: 0,
                what: What::Exchange,
                trouble: None,
                letters: [(); 2].map(|()| vec![vec![Vec::new(); size]; size]),
                minima: [Vec::new(), Vec::new()],
            }),
            over: Condvar::new(),
        });
        let member = |rank| Crowd {
            rank,
            size,
            count: 0,
            hall: hall.clone(),
        };
        (0..size).map(member).collect()
    }

    /// Takes part in the next operation: lays down, waits for the others, picks up. Both are told the table.
    fn meet(
        &mut self,
        what: What,
        lay_down: impl FnOnce(&mut Meeting, usize),
        pick_up: impl FnOnce(&mut Meeting, usize),
    ) -> Result<(), String> {
        let hall = self.hall.clone();
        let table = (self.count % 2) as usize;
        self.count += 1;
        let mut meeting = hall.enter();
        if meeting.arrived > 0 && meeting.what != what {
            let text = format!("process {} does {what:?} where others do {:?}", self.rank, meeting.what);
            meeting.trouble.get_or_insert(text);
            hall.over.notify_all();
        }
        if let Some(text) = &meeting.trouble {
            return Err(text.clone());
        }
        meeting.what = what;
        lay_down(&mut meeting, table);
        meeting.arrived += 1;
        if meeting.arrived == self.size {
            meeting.arrived = 0;
            meeting.count += 1;
            hall.over.notify_all();
        }
        while meeting.count < self.count {
            if let Some(text) = &meeting.trouble {
                return Err(text.clone());
            }
            meeting = hall.over.wait(meeting).unwrap_or_else(PoisonError::into_inner);
        }
        pick_up(&mut meeting, table);
        Ok(())
    }
}

impl Hall {
    fn enter(&self) -> MutexGuard<'_, Meeting> {
        self.meeting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for Crowd {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&mut self, outgoing: &mut [Vec<u8>], incoming: &mut [Vec<u8>]) -> Result<(), String> {
        let me = self.rank;
        self.meet(
            What::Exchange,
            |meeting, table| {
                for (to, letter) in outgoing.iter_mut().enumerate() {
                    std::mem::swap(letter, &mut meeting.letters[table][to][me]);
                    letter.clear();
                }
            },
            |meeting, table| {
                for (from, letter) in incoming.iter_mut().enumerate() {
                    letter.clear();
                    std::mem::swap(letter, &mut meeting.letters[table][me][from]);
                }
            },
        )
    }

    fn all_min(&mut self, values: &mut [u64]) -> Result<(), String> {
        let own = values.to_vec();
        self.meet(
            What::Minimum(own.len()),
            |meeting, table| {
                let first = meeting.arrived == 0;
                let minima = &mut meeting.minima[table];
                if first {
                    minima.clone_from(&own);
                } else {
                    minima
                        .iter_mut()
                        .zip(&own)
                        .for_each(|(all, one)| *all = (*all).min(*one));
                }
            },
            |meeting, table| values.copy_from_slice(&meeting.minima[table]),
        )
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        let text = format!("process {} has left", self.rank);
        self.hall.enter().trouble.get_or_insert(text);
        self.hall.over.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn together<R: Send>(size: usize, act: impl Fn(Crowd) -> R + Sync) -> Vec<R> {
        thread::scope(|scope| {
            let handles: Vec<_> = Crowd::new(size)
                .into_iter()
                .map(|member| scope.spawn(|| act(member)))
                .collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).collect()
        })
    }

    #[test]
    fn letters_come_to_whom_they_were_sent_in_every_one_of_many_operations() {
        let size = 3;
        together(size, |mut me| {
            let (mut outgoing, mut incoming) = (vec![Vec::new(); size], vec![Vec::new(); size]);
            for round in 0..200u8 {
                for (to, letter) in outgoing.iter_mut().enumerate().filter(|(to, _)| *to != me.rank) {
                    letter.resize(usize::from(round) % 5 + to, round ^ me.rank as u8);
                }
                me.exchange(&mut outgoing, &mut incoming).unwrap();
                for (from, letter) in incoming.iter().enumerate() {
                    let length = if from == me.rank {
                        0
                    } else {
                        usize::from(round) % 5 + me.rank
                    };
                    assert_eq!(*letter, vec![round ^ from as u8; length], "round {round}");
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
    fn who_leaves_is_an_error_for_all_who_wait() {
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
